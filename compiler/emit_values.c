/* emit_values.c: the values of a ROWS kernel as expressions: where each is found, which get names, and what names. */
#include "emit_rows.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

/* ------------------------------------------------------------------ finding values */

static bool same_view(const View *a, const View *b, int axes)
{
    bool equal = a->buffer == b->buffer && a->base == b->base && a->nover == b->nover && a->guarded == b->guarded;
    for (int o = 0; equal && o < a->nover; o++)
        equal = a->over[o].loop == b->over[o].loop && a->over[o].stride == b->over[o].stride;
    for (int j = 0; equal && j < axes; j++)
        equal = a->stride[j] == b->stride[j] && (!a->guarded || (a->low[j] == b->low[j] && a->high[j] == b->high[j]));
    return equal;
}

/* What is asked of nodes again and again, found once when their kernel is begun. */
static void add_number(Table *t, const Node *n, intptr_t number)
{
    void **slot = table_at(t, n);
    if (!*slot) *slot = (void *)number;
}

static int number_of(const Table *t, const Node *n) { return (int)(intptr_t)table_get(t, n); }

/* The load of a node; of several that read the same the first. */
static int first_load(const Rows *r, int i)
{
    const Operand *o = &r->k->loads.at[i];
    for (int j = 0; j < i; j++) {
        const Operand *other = &r->k->loads.at[j];
        if (other->view.buffer == o->view.buffer && same_view(&other->view, &o->view, r->f->naxes) &&
            other->node->dtype == o->node->dtype)
            return j;
    }
    return i;
}

static int load_of(const Rows *r, const Node *n) { return number_of(&r->found.loads, n) - 1; }

static bool is_each(const Rows *r, const Phase *p, const Node *n)
{
    return table_get(&r->found.each[p - r->k->phases.at], n);
}

static bool computed(const Rows *r, const Phase *p, const Node *n)
{
    int by = number_of(&r->found.rows, n); /* 1 + the first phase that has it among its values per row */
    return (by && by - 1 <= p - r->k->phases.at) || is_each(r, p, n) || kept_number(r, n) >= 0;
}

/* The value that n stands for in this phase: a computed one, a load or a constant, seen through absorbed moves. */
static const Node *source(const Rows *r, const Phase *p, const Node *n)
{
    while (!computed(r, p, n) && load_of(r, n) < 0 && !is_filled(n, NULL)) {
        if (!absorbed(n)) die("kernel %s: no value for %s node %d", r->k->name, op_info[n->op].name, n->id);
        n = n->in[0];
    }
    int load = computed(r, p, n) ? -1 : load_of(r, n);
    return load < 0 ? n : r->k->loads.at[load].node;
}

static bool per_row(const Rows *r, const Phase *p, const Node *n)
{
    if (is_each(r, p, n) || kept_number(r, n) >= 0) return false;
    int load = load_of(r, n);
    return computed(r, p, n) || (load >= 0 && r->k->loads.at[load].once_a_row);
}

/* How often the element text of an op names its input k: the word a, b, … of one letter. */
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

/* How often the readers of a phase read what. */
static void count_reads(const Rows *r, const Phase *p, const Nodes *readers, Table *uses)
{
    for (int i = 0; i < readers->n; i++)
        for (int k = 0; k < readers->at[i]->nin; k++)
            count_use(uses, source(r, p, readers->at[i]->in[k]), mentions(readers->at[i], k));
}

static void count_stores(const Rows *r, const Phase *p, const Operands *stores, Table *uses)
{
    for (int i = 0; i < stores->n; i++) count_use(uses, source(r, p, stores->at[i].node), 1);
}

static void find_places(Rows *r)
{
    const Kernel *k = r->k;
    for (int i = 0; i < k->loads.n; i++) add_number(&r->found.loads, k->loads.at[i].node, first_load(r, i) + 1);
    for (int i = 0; i < k->kept.n; i++) add_number(&r->found.kept, k->kept.at[i], i + 1);
    for (int p = 0; p < k->phases.n; p++) {
        const Phase *q = &k->phases.at[p];
        for (int i = 0; i < q->row.n; i++) add_number(&r->found.rows, q->row.at[i], p + 1);
        for (int i = 0; i < q->sums.n; i++) add_number(&r->found.rows, q->sums.at[i], p + 1);
        for (int i = 0; i < q->each.n; i++) add_number(&r->found.each[p], q->each.at[i], 1);
    }
}

/* Needs: axes, loads. */
void find_values(Rows *r)
{
    int phases = r->k->phases.n;
    r->found.each = NEW_ARRAY(Table, phases + 1);
    r->found.sweep = NEW_ARRAY(Table, phases + 1);
    find_places(r);
    for (const Phase *p = r->k->phases.at; p < r->k->phases.at + phases; p++) {
        Table *sweep = &r->found.sweep[p - r->k->phases.at];
        count_reads(r, p, &p->each, sweep);
        count_reads(r, p, &p->sums, sweep);
        count_reads(r, p, &p->columns, sweep);
        count_stores(r, p, &p->stores, sweep);
        count_reads(r, p, &p->row, &r->found.row_uses);
        count_stores(r, p, &p->row_stores, &r->found.row_uses);
    }
}

int sweep_uses(const Rows *r, const Phase *p, const Node *n)
{
    return number_of(&r->found.sweep[p - r->k->phases.at], n);
}

/* A row's value is named if a sweep reads it or if it is read twice. */
bool row_named(const Rows *r, const Node *n)
{
    for (int p = 0; p < r->k->phases.n; p++)
        if (table_get(&r->found.sweep[p], n)) return true;
    return number_of(&r->found.row_uses, n) > 1;
}

Known *known(Rows *r, const Node *n)
{
    for (int i = r->known.n; i-- > 0;)
        if (r->known.at[i].node == n) return &r->known.at[i];
    return NULL;
}

void know(Rows *r, const Node *n, Expr e) { push(&r->known, ((Known){n, e})); }

/* ------------------------------------------------------------------ names of values */

const char *word_for(const Node *n)
{
    if (n->title) return identifier(n->gradient ? format("d_%s", n->title) : n->title);
    return n->dtype == BOOL ? "holds" : n->gradient ? "gradient" : "value";
}

const char *word_for_total(const Node *n)
{
    return n->title_rank > TITLE_ARGUMENT ? word_for(n) : n->op == OP_sum ? "total" : "largest";
}

bool is_another(const Rows *r, int load)
{
    const Use *u = &r->f->uses.at[r->load[load]];
    return u->view.buffer && u->arg >= 0 && r->f->args.at[u->arg].written &&
           r->f->args.at[u->arg].buffer != u->view.buffer;
}

const char *name_of_one(const Rows *r, const char *array)
{
    bool taken = false;
    for (int i = 0; i < r->f->args.n; i++) taken |= same(r->f->args.at[i].name, array);
    return new_name(&r->f->names, taken ? format("one_%s", array) : array);
}

const char *load_name(Rows *r, int load)
{
    static const char *const letters[] = {"x", "y", "z", "u", "v", "w"};
    const Use *u = &r->f->uses.at[r->load[load]];
    bool before = u->before && u->arg >= 0 && r->f->args.at[u->arg].written;
    if (is_another(r, load) || before) return name_of_one(r, name_before(wished_name(u->view.buffer), before));
    for (int i = 0; i < COUNT_OF(letters); i++)
        if (!name_taken(&r->f->names, letters[i])) return new_name(&r->f->names, letters[i]);
    return new_name(&r->f->names, "x");
}

Expr declare(Rows *r, const Node *n, const char *name, Expr e)
{
    line(&r->f->w, "const %s %s = %s;", c_type(n->dtype), name, e.text);
    Expr named = {name, PRIMARY};
    know(r, n, named);
    return named;
}

/* ------------------------------------------------------------------ expressions */

/* Is the number next to it a value of its type, so that C converts a plain 2?  A division by a plain 0 is warned of. */
static bool brief_literal(const Rows *r, const Node *reader, int k)
{
    double x;
    if (!is_real(reader->in[k]->dtype)) return true;
    if (reader->op == OP_div && k == 1 && is_filled(reader->in[k], &x) && (float)x == 0) return false;
    for (int i = 0; i < reader->nin; i++) {
        const Node *other = reader->in[i];
        if (i != k && is_real(other->dtype) && !is_filled(source(r, r->phase, other), NULL)) return true;
    }
    return reader->nin == 1 && op_info[reader->op].text[0] != '-' && reader->op != OP_cast;
}

static Expr value(Rows *r, const Node *n, bool brief);

char *kept_element(const Rows *r, int i)
{
    return format("%s[%s]", r->kept[i], r->kept_at ? r->kept_at : r->f->axis[r->inner].now);
}

int kept_number(const Rows *r, const Node *n) { return number_of(&r->found.kept, n) - 1; }

Expr computed_here(Rows *r, const Node *n)
{
    Expr in[8];
    must(n->nin <= COUNT_OF(in));
    for (int k = 0; k < n->nin; k++) in[k] = value(r, n->in[k], brief_literal(r, n, k));
    double x; /* a mean is divided by an extent: it has a name */
    if (n->op == OP_div && is_filled(n->in[1], &x) && brief_literal(r, n, 1) && axis_counted(n->in[1]))
        in[1] = (Expr){factor_text((int64_t)x, axis_counted(n->in[1])), PRIMARY};
    return as_written(n, apply(n, in));
}

bool is_kept_load(const Rows *r, int load) { return r->kept_load && r->kept_load[load]; }

Expr load_at(Rows *r, int load)
{
    if (!is_kept_load(r, load)) return value_at(r->f, r->load[load]);
    return (Expr){format("%s[%s]", r->kept_load[load], r->f->axis[r->inner].now), PRIMARY};
}

/* 1.0f / (BATCH * SEQ), where that is the number to the bit. */
Expr share_text(const Node *n, double x, Expr number)
{
    int axis = axis_shared(n);
    double extent = axis ? (double)axis_numbered(axis)->extent : 1;
    bool single = n->dtype == F32,
         same_bits = single ? (float)x == copysignf(1, (float)x) / (float)extent : n->dtype == F64;
    const char *text = factor_text((int64_t)extent, axis);
    if (!axis || !same_bits || extent > 1 << 24 || (*text >= '0' && *text <= '9')) return number;
    return (Expr){format("%s1.0%s / %s", x < 0 ? "-" : "", single ? "f" : "", text), TIMES};
}

/* A load that is read twice in the sweep gets a name, where it is first needed. */
static Expr loaded(Rows *r, const Node *n, int load)
{
    const Operand *o = &r->k->loads.at[load];
    Expr e = load_at(r, load);
    const Use *u = &r->f->uses.at[r->load[load]];
    bool simple = !u->view.buffer || (u->arg >= 0 && single_number(&r->f->args.at[u->arg]));
    if (simple && e.binding == PRIMARY) return e;
    bool twice = r->sweeping && !per_row(r, r->phase, n) && sweep_uses(r, r->phase, n) > 1;
    if (!twice || (simple && strlen(e.text) < 8)) return e;
    return declare(r, o->node, load_name(r, load), e);
}

static Expr value(Rows *r, const Node *n, bool brief)
{
    n = source(r, r->phase, n);
    Known *v = known(r, n);
    double x;
    if (v) return v->expr;
    if (kept_number(r, n) >= 0) return (Expr){kept_element(r, kept_number(r, n)), PRIMARY};
    int load = load_of(r, n);
    if (load >= 0) return loaded(r, n, load);
    if (is_filled(n, &x)) return share_text(n, x, literal(x, n->dtype, brief));
    die("kernel %s reads %s node %d before it is computed", r->k->name, op_info[n->op].name, n->id);
}

Expr value_of(Rows *r, const Node *n) { return value(r, n, true); }
