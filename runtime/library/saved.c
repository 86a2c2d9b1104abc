/* saved.c: the tensors that an instance saves: parameters and statistics; moments, means, states. */
#include "library/saved.h"
#include "model/init.h"
#include "model/place.h"
#include "model/tables.h"
#include "step/statistics.h"

#include <stdio.h>
#include <string.h>

typedef struct Visiting {
    Visit_saved *visit;
    void *with;
    Saved at;
} Visiting;

static bool visit_next(Visiting *v)
{
    bool on = v->visit(v->with, &v->at);
    v->at.number++;
    return on;
}

/* Parameters whose offsets are below `below`, as PREFIX.NAME. */
static bool visit_parameters(Visiting *v, const Lathe_param *table, int n, const char *prefix, int64_t below,
                             Lathe_dtype type, void *flat)
{
    for (const Lathe_param *p = table; p < table + n; p++)
        for (int64_t copy = 0; p->offset < below && copy < copies_of_parameter(p); copy++) {
            const size_t ahead = strlen(prefix);
            memcpy(v->at.name, prefix, ahead);
            copy_name(v->at.name + ahead, sizeof v->at.name - ahead, p, copy);
            v->at.type = type;
            v->at.rank = p->rank - p->loops;
            v->at.dim = p->dim + p->loops;
            v->at.param = p;
            v->at.copy = copy;
            v->at.flat = flat;
            if (!visit_next(v)) return false;
        }
    return true;
}

/* States of a role, as ROLE.NAME. */
static bool visit_states(Visiting *v, const Library *l, Lathe_role role, const char *prefix)
{
    for (const Lathe_tensor *s = l->model->state; s < l->model->state + l->model->states; s++) {
        if (s->role != role) continue;
        snprintf(v->at.name, sizeof v->at.name, "%s%s", prefix, s->name);
        v->at.type = s->dtype;
        v->at.rank = s->rank;
        v->at.dim = s->dim;
        v->at.param = NULL;
        v->at.flat = l->memory.state ? (char *)l->memory.state + s->offset : NULL;
        if (!visit_next(v)) return false;
    }
    return true;
}

static bool visit_moments_of(Visiting *v, Library *l)
{
    const Lathe_model *m = l->model;
    const Optimizer *o = saved_optimizer(&l->turns);
    for (int k = 0; k < o->moments; k++) {
        char prefix[64];
        snprintf(prefix, sizeof prefix, "%s.", o->moment_name[k]);
        if (!visit_parameters(v, m->param, m->params, prefix, lathe_moment_elements(m), m->real, o->moment[k]))
            return false;
    }
    return !o->average ||
           visit_parameters(v, m->param, m->params, "average.", lathe_trained_elements(m), m->real, o->average);
}

bool each_saved(Library *l, bool all, Visit_saved *visit, void *with)
{
    const Lathe_model *m = l->model;
    Visiting v = {visit, with, {.weight = true}};
    if (!visit_parameters(&v, m->param, m->params, "", INT64_MAX, lathe_weights(m), l->memory.params)) return false;
    if (!visit_parameters(&v, m->statistic, m->statistics, "", INT64_MAX, m->real, l->memory.statistics)) return false;
    v.at.weight = false;
    if (!all || !is_trained_here(l->model)) return true;
    return visit_moments_of(&v, l) && visit_states(&v, l, LATHE_MOMENT, "") && visit_states(&v, l, LATHE_CARRIED, "");
}

static int copies_in(const Lathe_param *table, int n)
{
    int64_t all = 0;
    for (const Lathe_param *p = table; p < table + n; p++) all += copies_of_parameter(p);
    return (int)all;
}

/* At most. */
int saved_tensors(const Lathe_model *m)
{
    const bool trains = is_trained_here(m);
    return copies_in(m->param, m->params) * (trains ? 2 + LATHE_MOMENTS : 1) + copies_in(m->statistic, m->statistics) +
           m->states;
}

int64_t saved_bytes_of(const Saved *s)
{
    int64_t n = dtype_size(s->type);
    for (int k = 0; k < s->rank; k++) n *= s->dim[k];
    return n;
}

const char *saved_type(Lathe_dtype t)
{
    static const char *const words[] = {[LATHE_BOOL] = "U8", [LATHE_I32] = "I32",   [LATHE_F32] = "F32",
                                        [LATHE_F64] = "F64", [LATHE_BF16] = "BF16", [LATHE_F16] = "F16"};
    return words[t];
}

int64_t saved_run(const Saved *s)
{
    return s->param ? contiguous_elements(s->param) : saved_bytes_of(s) / dtype_size(s->type);
}

char *saved_piece(const Saved *s, int64_t element)
{
    const int64_t at = s->param ? copy_place(s->param, s->copy, element) : element;
    return s->flat + at * dtype_size(s->type);
}

void write_checksum(char to[CHECKSUM_DIGITS + 1], Hash *of_tensors, const Progress *p)
{
    const int64_t numbers[] = {p->step, p->seed, p->scale, p->good, p->skipped};
    hash_add(of_tensors, numbers, sizeof numbers);
    const uint64_t hash = hash_end(of_tensors);
    for (int i = 0; i < CHECKSUM_DIGITS; i++) to[i] = "0123456789abcdef"[hash >> (60 - 4 * i) & 15];
    to[CHECKSUM_DIGITS] = 0;
}
