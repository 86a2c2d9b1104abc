/* about.c: run.json: commands and machine of each start of a run, layers, memory by category, and the memory plan of a
 * step as the compiler made it.  Reports are drawn from it, so a trainer needs no other file of its build folder. */
#include "trainer/about.h"
#include "base/file.h"
#include "base/json_text.h"
#include "base/words.h"
#include "interface/lathe_model.h"
#include "model/place.h"
#include "model/tables.h"
#include "trainer/memory.h"
#include "trainer/ranks.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

/* ------------------------------------------------------------------ a start */

static char *processor(void)
{
    static const char key[] = "model name";
    char line[512], *name = NULL;
    FILE *f = open_stream_to_read("/proc/cpuinfo");
    while (f && !name && fgets(line, sizeof line, f)) {
        const char *colon = strncmp(line, key, sizeof key - 1) == 0 ? strchr(line, ':') : NULL;
        if (colon) name = text_of("%.*s", (int)strcspn(colon + 2, "\n"), colon + 2);
    }
    if (f) fclose(f);
    return name;
}

/* The words of this program's command line, which the system keeps. */
static json_t *command_words(void)
{
    char word[4096];
    size_t n = 0;
    json_t *all = json_array();
    FILE *f = open_stream_to_read("/proc/self/cmdline");
    for (int c; f && (c = fgetc(f)) != EOF;) {
        if (n < sizeof word - 1) word[n++] = (char)c;
        if (c) continue;
        add_json(all, word_json(word));
        n = 0;
    }
    if (f) fclose(f);
    return all;
}

static json_t *own_word(char *text)
{
    json_t *word = text ? word_json(text) : json_null();
    free(text);
    return word;
}

static json_t *start_json(const Trainer *t, const Progress *at)
{
    char began[32];
    time_t now = time(NULL);
    struct utsname u;
    json_t *all = json_object();
    strftime(began, sizeof began, "%Y-%m-%dT%H:%M:%SZ", gmtime(&now));
    put_json(all, "began", json_string(began));
    put_json(all, "step", json_integer(at->step));
    put_json(all, "words", command_words());
    put_json(all, "program", own_word(realpath("/proc/self/exe", NULL)));
    put_json(all, "folder", own_word(getcwd(NULL, 0)));
    put_json(all, "processor", own_word(processor()));
    put_json(all, "cores", json_integer(sysconf(_SC_NPROCESSORS_ONLN)));
    put_json(all, "threads", json_integer(omp_get_max_threads()));
    put_json(all, "ranks", json_integer(gpus_of(t)));
    put_json(all, "memory", json_integer((json_int_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE)));
    put_json(all, "system",
             uname(&u) == 0 ? own_word(text_of("%s %s %s", u.sysname, u.release, u.machine)) : json_null());
    put_json(all, "compiler", json_string(__VERSION__));
    return all;
}

/* ------------------------------------------------------------------ layers and memory */

static json_t *sizes_json(const int64_t *dim, int n)
{
    json_t *all = json_array();
    for (int k = 0; k < n; k++) add_json(all, json_integer(dim[k]));
    return all;
}

static json_t *layer_json(const Lathe_model *m, const Lathe_param *p)
{
    int64_t count = 1;
    Lathe_dtype type = type_of_weight(m, p);
    for (int k = 0; k < p->rank; k++) count *= p->dim[k];
    json_t *all = json_object();
    put_json(all, "name", word_json(p->name));
    put_json(all, "copies", sizes_json(p->dim, p->loops));
    put_json(all, "shape", sizes_json(p->dim + p->loops, p->rank - p->loops));
    put_json(all, "count", json_integer(count));
    put_json(all, "bytes", json_integer(bytes_of_numbers(type, count)));
    put_json(all, "trained", json_boolean(lathe_is_trained(m, p)));
    put_json(all, "where", word_json(p->where));
    return all;
}

static json_t *layers_json(const Lathe_model *m)
{
    json_t *all = json_array();
    for (int i = 0; i < m->params; i++) add_json(all, layer_json(m, &m->param[i]));
    return all;
}

/* Of one rank. */
static json_t *memory_json(const Trainer *t)
{
    const Lathe_model *m = t->model;
    const Rank_plan own = plan_of_rank(t);
    json_t *all = json_object(), *categories = json_object();
    for (int i = 0; i < m->categories; i++) put_json(categories, m->plan[i].category, json_integer(m->plan[i].bytes));
    put_json(categories, "optimizer", json_integer(own.optimizer));
    if (own.step) put_json(categories, "step", json_integer(own.step));
    if (own.shared) put_json(categories, "ranks", json_integer(own.shared));
    put_json(all, "planned", json_integer(own.all));
    put_json(all, "lower_bound", json_integer(m->lower_bound_bytes + own.all - m->planned_bytes));
    put_json(all, "categories", categories);
    return all;
}

/* ------------------------------------------------------------------ the plan of a step */

static json_t *buffer_json(const Lathe_buffer *b)
{
    json_t *all = json_object();
    put_json(all, "name", word_json(b->name));
    put_json(all, "shape", word_json(b->shape));
    put_json(all, "bytes", json_integer(b->bytes));
    put_json(all, "offset", json_integer(b->offset));
    put_json(all, "first", json_integer(b->first));
    put_json(all, "last", json_integer(b->last));
    put_json(all, "where", word_json(b->where));
    return all;
}

static json_t *planned_kernel_json(const Lathe_kernel *k)
{
    json_t *all = json_object();
    put_json(all, "lap", json_integer(k->lap));
    put_json(all, "name", word_json(k->name));
    put_json(all, "formula", word_json(k->formula));
    put_json(all, "path", word_json(k->path));
    put_json(all, "where", word_json(k->where));
    put_json(all, "flops", json_integer((json_int_t)k->flops));
    put_json(all, "bytes", json_integer((json_int_t)k->bytes));
    put_json(all, "backward", json_boolean(k->backward));
    return all;
}

json_t *planned_kernels(const Lathe_entry *e)
{
    json_t *all = json_array();
    for (int i = 0; i < e->kernels; i++) add_json(all, planned_kernel_json(&e->kernel[i]));
    return all;
}

/* Of a description with turns: that of the turn whose arena is the largest. */
static const Lathe_entry *largest_step(const Lathe_model *m)
{
    const Lathe_entry *found = NULL;
    for (int i = 0; i < m->entries; i++)
        if (m->entry[i].buffers && strcmp(m->entry[i].name, "train") == 0 &&
            (!found || m->entry[i].work_bytes > found->work_bytes))
            found = &m->entry[i];
    return found;
}

static json_t *plan_json(const Lathe_model *m)
{
    const Lathe_entry *e = largest_step(m);
    json_t *all = json_object(), *buffers = json_array();
    for (int i = 0; e && i < e->buffers; i++) add_json(buffers, buffer_json(&e->buffer[i]));
    put_json(all, "turn", e ? word_json(e->turn) : json_null());
    put_json(all, "work_bytes", json_integer(e ? e->work_bytes : 0));
    put_json(all, "buffers", buffers);
    put_json(all, "kernels", e ? planned_kernels(e) : json_array());
    return all;
}

/* ------------------------------------------------------------------ the file */

static char *about_path(const Trainer *t) { return text_of("%s/run.json", run_folder(t)); }

static void write_json(const Trainer *t, json_t *all, Fault *f)
{
    char *text = json_written(all, JSON_COMPACT | JSON_REAL_PRECISION(15)), *line = text_of("%s\n", text),
         *path = about_path(t);
    replace_text(path, line, f);
    free(path);
    free(line);
    free(text);
    json_decref(all);
}

/* The starts before, if the run goes on in its folder. */
static json_t *starts_before(const Trainer *t)
{
    char *path = about_path(t);
    json_t *old = t->resume ? json_load_file(path, 0, NULL) : NULL,
           *starts = json_incref(json_object_get(old, "starts"));
    free(path);
    json_decref(old);
    if (json_is_array(starts)) return starts;
    json_decref(starts);
    return json_array();
}

void write_about(const Trainer *t, const Progress *at)
{
    const Lathe_model *m = t->model;
    Fault f = {0};
    json_t *all = json_object(), *starts = starts_before(t);
    add_json(starts, start_json(t, at));
    put_json(all, "form", json_integer(1));
    put_json(all, "starts", starts);
    put_json(all, "ended", json_null());
    put_json(all, "parameters", layers_json(m));
    put_json(all, "memory", memory_json(t));
    put_json(all, "plan", plan_json(m));
    write_json(t, all, &f);
    if (f.path) fail(EXIT_DATA, f.path, "%s; %s or choose another folder with --out", f.text, room_remedy(f.number));
}

void end_about(const Trainer *t, const char *how, int64_t step)
{
    Fault f = {0};
    char *path = about_path(t);
    json_t *all = json_load_file(path, 0, NULL);
    free(path);
    if (!json_is_object(all)) return json_decref(all);
    put_json(all, "ended", json_pack("{s:s, s:I}", "how", how, "step", (json_int_t)step));
    write_json(t, all, &f);
    clear_fault(&f);
}
