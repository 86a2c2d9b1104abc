/* reference.c: what preference pairs are compared with: the log-probability of each answer by the model that a run
 * began with.  It is computed once, before the first step, and kept in RUN/reference.safetensors.
 *
 * The file has a tensor [pairs][2] for the pairs of --data and one for those of --val-data.  Their names have the hash
 * of the pairs' ids, so that other data, or another tokenizer, is noticed. */
#include "base/file.h"
#include "base/words.h"
#include "data/data.h"
#include "data/preferences.h"
#include "model/safetensors.h"
#include "model/tables.h"
#include "step/entry.h"
#include "trainer/reference.h"
#include "trainer/state.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const Lathe_entry *reference_entry(const Trainer *t) { return find_entry(t->model, ENTRY_reference); }

static char *name_of_pairs(const Preferences *p)
{
    return text_of("pairs_%016llx", (unsigned long long)preferences_hash(p));
}

static void make_room(Preferences *p) { p->reference = must_alloc(sizeof *p->reference * 2 * (size_t)p->n); }

/* ------------------------------------------------------------------ computing */

static void compute_pairs(Data *d, const Trainer *t, const Memory *m)
{
    const Lathe_entry *e = reference_entry(t);
    Preferences *p = d->preferences;
    Lathe_call call = call_of(m, e);
    const Lathe_tensor *out = output_named(e, "log_likelihood");
    int64_t *item = must_alloc(sizeof *item * (size_t)e->rows);
    double from = seconds_now();
    make_room(p);
    for (int64_t k = 0; k < p->n; k += e->rows) {
        for (int64_t r = 0; r < e->rows; r++) item[r] = k + r < p->n ? k + r : k; /* the last batch is filled up */
        fill_preferences(p, e, m->call, item);
        set_scalars(e, m->call, t->seed, 0, 0);
        run_entry(e, &call);
        for (int64_t i = 2 * k; i < 2 * (k + e->rows) && i < 2 * p->n; i++)
            p->reference[i] = read_element(out->dtype, (const char *)call.out + out->offset, i - 2 * k);
    }
    free(item);
    show(stderr, "reference: log-probabilities of %s pairs, in %.1f s\n", grouped_text(p->n), seconds_now() - from);
}

void compute_reference(Data *d, const Trainer *t, const Memory *m)
{
    if (!reference_entry(t)) return;
    compute_pairs(d, t, m);
    if (d->held) compute_pairs(d->held, t, m);
}

/* ------------------------------------------------------------------ keeping */

static void declare_pairs(Store_writer *w, const Preferences *p)
{
    declare_tensor(w, name_of_pairs(p), LATHE_F64, 2, (int64_t[]){p->n, 2});
}

void keep_reference(const Data *d, const Trainer *t, const char *run)
{
    if (!reference_entry(t)) return;
    char *path = text_of("%s/reference.safetensors", run);
    bool held = d->held && preferences_hash(d->preferences) != preferences_hash(d->held->preferences);
    Store_writer *w = start_store(path);
    declare_pairs(w, d->preferences);
    if (held) declare_pairs(w, d->held->preferences);
    put_note(w, "about", "log-probabilities of answers by the weights that the run began with");
    put_elements(w, d->preferences->reference, 2 * d->preferences->n, LATHE_F64);
    if (held) put_elements(w, d->held->preferences->reference, 2 * d->held->preferences->n, LATHE_F64);
    finish_store(w);
    free(path);
}

static void read_pairs(Preferences *p, const Store *s)
{
    char *name = name_of_pairs(p);
    const Stored *x = find_stored(s, name);
    if (!x)
        fail(EXIT_DATA, s->path,
             "these are not the preference pairs that the run began with: the data, the tokenizer or the form of chats "
             "has changed; give those pairs, or start a new run");
    if (!stored_is(x, "F64") || x->rank != 2 || x->dim[0] != p->n || x->dim[1] != 2)
        fail(EXIT_DATA, s->path, "tensor %s: expected F64 [%lld, 2]; the file is damaged", name, (long long)p->n);
    make_room(p);
    read_stored(x, 0, 2 * p->n, p->reference);
    free(name);
}

/* Beside the weights, or in the folder of the run whose checkpoint they are of. */
static char *path_of_reference(const char *weights)
{
    char *file = realpath(weights, NULL), *folder = folder_of(file ? file : weights), *in_run = NULL;
    char *path = text_of("%s/reference.safetensors", folder);
    for (char *next = folder; (next = strstr(next, "/checkpoints/")); next++) in_run = next;
    if (in_run && access(path, F_OK) != 0) {
        *in_run = 0;
        free(path);
        path = text_of("%s/reference.safetensors", folder);
    }
    if (access(path, F_OK) != 0)
        fail(EXIT_DATA, path,
             "expected the log-probabilities that preference pairs are compared with, found no such file; take weights "
             "from the folder of their run, or start a new run");
    free(file);
    free(folder);
    return path;
}

void read_reference(Data *d, const Trainer *t, const char *weights)
{
    if (!reference_entry(t)) return;
    Store s;
    char *path = path_of_reference(weights);
    read_store(&s, path);
    read_pairs(d->preferences, &s);
    if (d->held) read_pairs(d->held->preferences, &s);
    close_store(&s);
    free(path);
}
