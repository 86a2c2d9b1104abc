/* values.c: where the values of a ROWS kernel come from, and how often each is read. Computed once for each kernel. */
#include "kernels/nest.h"

#include <ctype.h>
#include <string.h>

static bool same_view(const View *a, const View *b, int axes)
{
    bool equal = a->buffer == b->buffer && a->base == b->base && a->nover == b->nover && a->guarded == b->guarded;
    for (int o = 0; equal && o < a->nover; o++)
        equal = a->over[o].loop == b->over[o].loop && a->over[o].stride == b->over[o].stride;
    for (int j = 0; equal && j < axes; j++)
        equal = a->stride[j] == b->stride[j] && (!a->guarded || (a->low[j] == b->low[j] && a->high[j] == b->high[j]));
    return equal;
}

static void add_number(Table *t, const Node *n, intptr_t number)
{
    void **slot = table_at(t, n);
    if (!*slot) *slot = (void *)number;
}

static int number_of_load(const Table *t, const Node *n) { return (int)(intptr_t)table_get(t, n); }

/* The load of a node; if several read the same, the first of them. */
static int first_load(const Kernel *k, int axes, int i)
{
    const Operand *o = &k->loads.at[i];
    for (int j = 0; j < i; j++) {
        const Operand *other = &k->loads.at[j];
        if (other->view.buffer == o->view.buffer && same_view(&other->view, &o->view, axes) &&
            other->node->dtype == o->node->dtype)
            return j;
    }
    return i;
}

int load_of(const Values *v, const Node *n) { return number_of_load(&v->loads, n) - 1; }
int kept_of(const Values *v, const Node *n) { return number_of_load(&v->kept, n) - 1; }

static bool is_each(const Values *v, int phase, const Node *n) { return table_get(&v->each[phase], n); }

static bool computed(const Values *v, int phase, const Node *n)
{
    int by = number_of_load(&v->rows, n);
    return (by && by - 1 <= phase) || is_each(v, phase, n) || kept_of(v, n) >= 0;
}

const Node *value_meant(const Values *v, int phase, const Node *n)
{
    while (!computed(v, phase, n) && load_of(v, n) < 0 && !is_filled(n, NULL)) {
        if (!is_view(n)) die("kernel %s: no value for %s node %d", v->k->name, op_info[n->op].name, n->id);
        n = n->in[0];
    }
    int load = computed(v, phase, n) ? -1 : load_of(v, n);
    return load < 0 ? n : v->k->loads.at[load].node;
}

bool is_per_row(const Values *v, int phase, const Node *n)
{
    if (is_each(v, phase, n) || kept_of(v, n) >= 0) return false;
    int load = load_of(v, n);
    return computed(v, phase, n) || (load >= 0 && v->k->loads.at[load].once_a_row);
}

/* How often the element text of an op mentions its input k, as one of the letters a, b, … */
static int mentions(const Node *n, int k)
{
    int count = 0;
    const char *text = op_info[n->op].text, *before = " ";
    for (const char *s = text; *s; before = s++)
        count += *s == 'a' + k && !isalnum((unsigned char)*before) && !isalnum((unsigned char)s[1]);
    return count > 1 && op_info[n->op].kind == MAP ? count : 1;
}

static void count_use(Table *uses, const Node *n, int count)
{
    void **slot = table_at(uses, n);
    *slot = (void *)((intptr_t)*slot + count);
}

/* Counts how often the readers of a phase read each value. */
static void count_reads(const Values *v, int phase, const Nodes *readers, Table *uses)
{
    for (int i = 0; i < readers->n; i++)
        for (int k = 0; k < readers->at[i]->nin; k++)
            count_use(uses, value_meant(v, phase, readers->at[i]->in[k]), mentions(readers->at[i], k));
}

static void count_stores(const Values *v, int phase, const Operands *stores, Table *uses)
{
    for (int i = 0; i < stores->n; i++) count_use(uses, value_meant(v, phase, stores->at[i].node), 1);
}

static void find_places(Values *v, int axes)
{
    const Kernel *k = v->k;
    for (int i = 0; i < k->loads.n; i++) add_number(&v->loads, k->loads.at[i].node, first_load(k, axes, i) + 1);
    for (int i = 0; i < k->kept.n; i++) add_number(&v->kept, k->kept.at[i], i + 1);
    for (int p = 0; p < k->phases.n; p++) {
        const Phase *q = &k->phases.at[p];
        for (int i = 0; i < q->row.n; i++) add_number(&v->rows, q->row.at[i], p + 1);
        for (int i = 0; i < q->sums.n; i++) add_number(&v->rows, q->sums.at[i], p + 1);
        for (int i = 0; i < q->each.n; i++) add_number(&v->each[p], q->each.at[i], 1);
    }
}

Values values_of(const Nest *n)
{
    const Kernel *k = n->rows;
    Values v = {.k = k, .each = NEW_ARRAY(Table, k->phases.n + 1), .sweep = NEW_ARRAY(Table, k->phases.n + 1)};
    find_places(&v, n->space.shape.rank + (n->blocks > 0));
    for (int p = 0; p < k->phases.n; p++) {
        const Phase *q = &k->phases.at[p];
        count_reads(&v, p, &q->each, &v.sweep[p]);
        count_reads(&v, p, &q->sums, &v.sweep[p]);
        count_reads(&v, p, &q->columns, &v.sweep[p]);
        count_stores(&v, p, &q->stores, &v.sweep[p]);
        count_reads(&v, p, &q->row, &v.row_uses);
        count_stores(&v, p, &q->row_stores, &v.row_uses);
    }
    return v;
}

int uses_in_sweep(const Values *v, int phase, const Node *n) { return number_of_load(&v->sweep[phase], n); }

bool is_swept(const Values *v, const Node *n)
{
    for (int p = 0; p < v->k->phases.n; p++)
        if (table_get(&v->sweep[p], n)) return true;
    return false;
}

int uses_in_rows(const Values *v, const Node *n) { return number_of_load(&v->row_uses, n); }
