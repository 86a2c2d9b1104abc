/* folder.c: the folder of a run, and where weights are found in it. */
#include "base/words.h"
#include "interface/lathe_model.h"
#include "model/import.h"
#include "model/run.h"
#include "trainer/trainer.h"

#include <string.h>
#include <unistd.h>

const char *run_folder(const Trainer *t) { return t->out; }

/* runs/NAME-CONFIG, then -2, -3, …: training takes the first without a run, other commands the last with one. */
const char *default_folder(const Trainer *t)
{
    const Lathe_model *m = t->model;
    const char *base = text_of(m->config && *m->config ? "runs/%s-%s" : "runs/%s", m->name, m->config), *last = base;
    const char *next = base;
    for (int n = 2; holds_a_run(next); n++) {
        last = next;
        next = text_of("%s-%d", base, n);
    }
    return strcmp(t->command, "train") == 0 && !t->resume ? next : last;
}

/* --resume=auto, for schedulers that start a command again: what the command line starts from counts for a new run
 * alone. */
void settle_resume(Trainer *t)
{
    if (strcmp(t->command, "train") != 0 || !t->resume || strcmp(t->resume, "auto") != 0) return;
    t->resume = newest_checkpoint(t->out, INT64_MAX) < 0 ? NULL : "";
    if (t->resume) t->weights = t->adapter = t->init_except = NULL;
}

char *run_weights(const char *run, const char *remedy)
{
    char *path = newest_weights(run);
    bool there = access(run, F_OK) == 0;
    if (access(path, F_OK) != 0)
        fail(EXIT_DATA, run, "expected a run's folder, found %s; %s", there ? "no weights in it" : "nothing there",
             remedy);
    return path;
}

char *weights_path(const Trainer *t)
{
    if (t->weights) return text_of("%s", t->weights);
    return run_weights(run_folder(t), "name the run with --out RUN, or a file or folder with --weights PATH");
}
