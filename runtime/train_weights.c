/* train_weights.c: the flat array of parameters (or gradients) as tensors under their export names, out and in.
 *
 * A parameter [copies…, shape…] becomes one tensor a copy: "h.%d.mlp.weight" is h.0.mlp.weight, h.1.mlp.weight, … */
#include "trainer.h"

#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ copies of a parameter */

static int64_t copies_of(const Lathe_param *p)
{
    int64_t n = 1;
    for (int k = 0; k < p->loops; k++) n *= p->dim[k];
    return n;
}

/* The copy's number along each leading axis. */
static void copy_index(const Lathe_param *p, int64_t copy, int64_t *index)
{
    for (int k = p->loops - 1; k >= 0; k--) {
        index[k] = copy % p->dim[k];
        copy /= p->dim[k];
    }
}

/* The export name with each %d replaced by a number. */
static char *copy_name(const Lathe_param *p, int64_t copy)
{
    int64_t index[LATHE_MAXRANK];
    char *name = text_of("%s", "");
    const char *at = p->export_name, *hole;
    copy_index(p, copy, index);
    for (int k = 0; k < p->loops && (hole = strstr(at, "%d")); k++) {
        char *longer = text_of("%s%.*s%lld", name, (int)(hole - at), at, (long long)index[k]);
        free(name);
        name = longer;
        at = hole + 2;
    }
    char *whole = text_of("%s%s", name, at);
    free(name);
    return whole;
}

static int64_t copy_start(const Lathe_param *p, int64_t copy)
{
    int64_t index[LATHE_MAXRANK], at = p->offset;
    copy_index(p, copy, index);
    for (int k = 0; k < p->loops; k++) at += index[k] * p->stride[k];
    return at;
}

/* Calls act for every run of elements that lie side by side, in C order; place counts elements of the flat array. */
typedef void Run_action(void *self, int64_t place, int64_t n);

static void each_run(const Lathe_param *p, int axis, int64_t place, Run_action *act, void *self)
{
    int64_t inner = 1;
    int contiguous = p->rank;
    while (contiguous > axis && p->stride[contiguous - 1] == inner) inner *= p->dim[--contiguous];
    if (contiguous == axis) {
        act(self, place, inner);
        return;
    }
    for (int64_t i = 0; i < p->dim[axis]; i++) each_run(p, axis + 1, place + i * p->stride[axis], act, self);
}

/* ------------------------------------------------------------------ out */

typedef struct Putter {
    Store_writer *w;
    const char *flat;
    Lathe_dtype real;
} Putter;

static void put_run(void *self, int64_t place, int64_t n)
{
    const Putter *p = self;
    put_elements(p->w, p->flat + place * dtype_size(p->real), n, p->real);
}

void declare_parameters(Store_writer *w, const Lathe_model *m, const char *prefix)
{
    for (int i = 0; i < m->params; i++) {
        const Lathe_param *p = &m->param[i];
        for (int64_t c = 0; c < copies_of(p); c++) {
            char *name = copy_name(p, c), *full = text_of("%s%s", prefix, name);
            declare_tensor(w, full, m->real, p->rank - p->loops, p->dim + p->loops);
            free(full);
            free(name);
        }
    }
}

void put_parameters(Store_writer *w, const Lathe_model *m, const void *flat)
{
    Putter putter = {w, flat, m->real};
    for (int i = 0; i < m->params; i++)
        for (int64_t c = 0; c < copies_of(&m->param[i]); c++)
            each_run(&m->param[i], m->param[i].loops, copy_start(&m->param[i], c), put_run, &putter);
}

void save_weights(const Lathe_model *m, const char *path, const void *flat)
{
    Store_writer *w = start_store(path);
    declare_parameters(w, m, "");
    put_parameters(w, m, flat);
    finish_store(w);
}

/* ------------------------------------------------------------------ in */

typedef struct Taker {
    const Stored *from;
    int64_t at;                         /* elements taken so far */
    char *flat;
    Lathe_dtype real;
} Taker;

static void take_run(void *self, int64_t place, int64_t n)
{
    Taker *t = self;
    for (int64_t i = 0; i < n; i++) {
        double x = stored_element(t->from, t->at + i);
        if (t->real == LATHE_F64) ((double *)t->flat)[place + i] = x;
        else ((float *)t->flat)[place + i] = (float)x;
    }
    t->at += n;
}

static bool same_dims(const Lathe_param *p, const Stored *s)
{
    if (s->rank != p->rank - p->loops) return false;
    return s->rank == 0 || memcmp(s->dim, p->dim + p->loops, sizeof *s->dim * (size_t)s->rank) == 0;
}

/* What does not fit is gathered, so that one message names it all. */
typedef struct Misfits {
    int n;
    char *text;
} Misfits;

enum { NAMED_MISFITS = 10 };

static void add_misfit(Misfits *m, char *line)
{
    if (m->n++ < NAMED_MISFITS) m->text = text_of("%s\n    %s", m->text ? m->text : "", line);
}

static void take_copy(const Lathe_model *m, const Store *s, const Lathe_param *p, int64_t copy, char *flat, Misfits *bad)
{
    char *name = copy_name(p, copy);
    const Stored *from = find_stored(s, name);
    char *wanted = dims_text(p->rank - p->loops, p->dim + p->loops);
    if (!from) {
        add_misfit(bad, text_of("%s: missing; expected %s (%s)", name, wanted, p->where));
    } else if (!same_dims(p, from)) {
        add_misfit(bad, text_of("%s: expected %s, found %s (%s)", name, wanted, dims_text(from->rank, from->dim), p->where));
    } else if (!stored_is(from, "F32 F64")) {
        add_misfit(bad, text_of("%s: expected F32 or F64, found %s", name, from->dtype));
    } else {
        Taker taker = {from, 0, flat, m->real};
        each_run(p, p->loops, copy_start(p, copy), take_run, &taker);
    }
    free(wanted);
    free(name);
}

static bool is_among(const char *name, char **sorted, int64_t n)
{
    int64_t low = 0, high = n;
    while (low < high) {
        int64_t middle = (low + high) / 2;
        int order = strcmp(name, sorted[middle]);
        if (order == 0) return true;
        if (order < 0) high = middle;
        else low = middle + 1;
    }
    return false;
}

static int by_text(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static void find_extras(const Lathe_model *m, const Store *s, Misfits *bad)
{
    int64_t n = 0, k = 0;
    for (int i = 0; i < m->params; i++) n += copies_of(&m->param[i]);
    char **names = must_alloc(sizeof *names * (size_t)n);
    for (int i = 0; i < m->params; i++)
        for (int64_t c = 0; c < copies_of(&m->param[i]); c++) names[k++] = copy_name(&m->param[i], c);
    qsort(names, (size_t)n, sizeof *names, by_text);
    for (int i = 0; i < s->n; i++)
        if (!is_among(s->tensor[i].name, names, n)) add_misfit(bad, text_of("%s: not a parameter of this model", s->tensor[i].name));
    for (k = 0; k < n; k++) free(names[k]);
    free(names);
}

void load_weights(const Lathe_model *m, const char *path, void *flat)
{
    Store s;
    Misfits bad = {0};
    read_store(&s, path);
    memset(flat, 0, (size_t)(m->flat_elements * dtype_size(m->real)));
    for (int i = 0; i < m->params; i++)
        for (int64_t c = 0; c < copies_of(&m->param[i]); c++) take_copy(m, &s, &m->param[i], c, flat, &bad);
    find_extras(m, &s, &bad);
    if (bad.n) {
        const char *more = bad.n > NAMED_MISFITS ? text_of("\n    and %d more", bad.n - NAMED_MISFITS) : "";
        fail(EXIT_DATA, path, "does not hold the parameters of %s%s; %d tensors do not fit; use weights of a model built with "
             "the same configuration:%s%s", m->name, config_of(m), bad.n, bad.text, more);
    }
    close_store(&s);
}
