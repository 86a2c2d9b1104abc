/* parameters.c: parameters by name, and where they lie in the flat arrays: those of one stack are an array of structs.
 */
#include "desc/desc.h"

#include <string.h>

/* ------------------------------------------------------------------ names */

/* Parameters by name, as of the last request; if two have one name, the first. */
struct Param_names {
    Strings number; /* of `all`, from 1 */
    VEC(Param *) all;
    int seen, taught; /* of the description's, and of its teacher's */
};

static void name_param(struct Param_names *names, Param *p)
{
    int *number = strings_at(&names->number, p->name);
    if (!*number) {
        push(&names->all, p);
        *number = names->all.n;
    }
    if (p->wide) name_param(names, p->wide);
}

static struct Param_names *param_names(const Desc *d)
{
    if (!d->param_names) ((Desc *)d)->param_names = NEW(struct Param_names);
    struct Param_names *names = d->param_names;
    for (; names->seen < d->params.n; names->seen++) name_param(names, d->params.at[names->seen]);
    for (; d->teacher && names->taught < d->teacher->params.n; names->taught++)
        name_param(names, d->teacher->params.at[names->taught]);
    return names;
}

void know_param(const Desc *d, Param *p) { name_param(param_names(d), p); }

Param *find_param(const Desc *d, const char *name)
{
    struct Param_names *names = param_names(d);
    int number = strings_get(&names->number, name);
    return number ? names->all.at[number - 1] : NULL;
}

/* ------------------------------------------------------------------ places */

/* Do a and b lie side by side in one struct, repeated over the same axes? */
static bool same_stack(const Param *a, const Param *b)
{
    if (a->loops == 0 || a->loops != b->loops || !same(a->stack, b->stack) || a->frozen != b->frozen ||
        a->directed != b->directed || a->blocks != b->blocks)
        return false;
    return memcmp(a->shape.dim, b->shape.dim, sizeof *a->shape.dim * (size_t)a->loops) == 0;
}

static int64_t own_elements(const Param *p)
{
    int64_t n = 1;
    for (int i = p->loops; i < p->shape.rank; i++) n *= p->shape.dim[i];
    return round_up(n, 16);
}

typedef struct Kind {
    bool frozen, directed;
    DType blocks;
} Kind;

/* Places those of one kind, from element `at` on; returns the element behind them. Parameters of one stack are an array
 * of structs; every tensor starts at a multiple of 16 elements. */
static int64_t layout_some(const Desc *d, Kind kind, int64_t at)
{
    bool *done = NEW_ARRAY(bool, d->params.n + 1);
    for (int i = 0; i < d->params.n; i++) {
        Param *p = d->params.at[i];
        if (done[i] || p->frozen != kind.frozen || p->directed != kind.directed || p->blocks != kind.blocks) continue;
        int64_t size = 0, copies = 1;
        for (int k = 0; k < p->loops; k++) copies *= p->shape.dim[k];
        int end = p->loops ? d->params.n : i + 1;
        for (int j = i; j < end; j++) {
            Param *q = d->params.at[j];
            if (done[j] || (j != i && !same_stack(p, q))) continue;
            done[j] = true;
            q->offset = at + size;
            size += own_elements(q);
        }
        for (int j = i; j < end; j++) {
            Param *q = d->params.at[j];
            if (j != i && !same_stack(p, q)) continue;
            dense_strides(q->shape, q->stride);
            int64_t step = size;
            for (int k = q->loops; k-- > 0; step *= q->shape.dim[k]) q->stride[k] = step;
            q->struct_of = q->loops ? p : NULL;
        }
        at += size * copies;
    }
    return at;
}

/* Those with gradients first, and of these those with moments: gradients and moments are arrays of these alone, in the
 * same layout. Those in blocks come last, type by type, and begin with a block. Returns the element behind them. */
static int64_t layout_own(const Desc *d, int64_t at)
{
    at = layout_some(d, (Kind){.blocks = BOOL}, at);
    at = layout_some(d, (Kind){.directed = true, .blocks = BOOL}, at);
    int64_t end = layout_some(d, (Kind){.frozen = true, .blocks = BOOL}, at);
    for (DType t = 0; t < DTYPES; t++)
        if (in_blocks(t)) end = layout_some(d, (Kind){.frozen = true, .blocks = t}, round_up(end, LATHE_BLOCK));
    return end;
}

/* A teacher's have an array of their own; their offsets go on from those of the model. */
void layout_parameters(const Desc *d)
{
    int64_t end = layout_own(d, 0);
    if (d->teacher) layout_own(d->teacher, round_up(end, 2 * LATHE_BLOCK));
}

int64_t first_of_teacher(const Desc *d)
{
    int64_t first = INT64_MAX;
    for (int i = 0; i < d->teacher->params.n; i++) first = min64(first, d->teacher->params.at[i]->offset);
    return first;
}
