/* emit_rows.c: ROWS kernels as C: a nest over the row axes, and for each row the phases' sweeps over the inner axis.
 *
 * Values per row are `const float mean = …;` before the sweep that reads them.  In a sweep what is used once is written
 * where it is used, the rest is named.  A reduction over the inner axis runs in LANES lanes and ends in a fixed tree.
 * A reduction over all rows is a row of partial results for each block of rows, added up in order at the end. */
#include "emit_rows.h"

#include <string.h>

/* ------------------------------------------------------------------ values per row */

enum { LONG_TEXT = 110 };

static void row_values(Rows *r)
{
    const Phase *p = r->phase;
    for (int i = 0; i < p->row.n; i++) {
        const Node *n = p->row.at[i];
        if (known(r, n)) continue;
        Expr e = computed_here(r, n);
        if (row_named(r, n) || strlen(e.text) > LONG_TEXT) declare(r, n, new_name(&r->f->names, word_for(n)), e);
        else know(r, n, e);
    }
}

/* What a sweep reads once a row is read before it, if more than one place needs it. */
static void row_loads(Rows *r)
{
    for (int i = 0; i < r->k->loads.n; i++) {
        const Operand *o = &r->k->loads.at[i];
        const Use *u = &r->f->uses.at[r->load[i]];
        if (!o->once_a_row || known(r, o->node) || !sweep_uses(r, r->phase, o->node)) continue;
        if (!u->view.buffer || r->f->args.at[u->arg].by_value || !row_named(r, o->node)) continue;
        declare(r, o->node, load_name(r), value_at(r->f, r->load[i]));
    }
}

static void row_stores(Rows *r, const int *use)
{
    for (int i = 0; i < r->phase->row_stores.n; i++) {
        const Operand *o = &r->phase->row_stores.at[i];
        char *at = element(r->f, use[i]);
        line(&r->f->w, "%s %s %s;", at, o->add ? "+=" : "=", value_of(r, o->node).text);
    }
}

/* ------------------------------------------------------------------ sweeps */

static bool in_lanes(const Rows *r, const Node *sum)
{
    return is_real(sum->dtype) && r->f->axis[r->inner].extent >= 16;
}

static const char *start_of(const Node *n)
{
    return n->op == OP_sum ? "0" : is_real(n->dtype) ? "-INFINITY" : "INT32_MIN";
}

static void start_totals(Rows *r)
{
    r->totals.n = 0;
    for (int i = 0; i < r->phase->sums.n; i++) {
        const Node *n = r->phase->sums.at[i];
        Total t = {.node = n, .lanes = in_lanes(r, n)};
        bool sum = n->op == OP_sum;
        t.name = new_name(&r->f->names, t.lanes ? sum ? "sums" : "maxima" : sum ? "sum" : "largest");
        if (!t.lanes) line(&r->f->w, "%s %s = %s;", c_type(n->dtype), t.name, start_of(n));
        else if (sum) line(&r->f->w, "%s %s[LANES] = {0};", c_type(n->dtype), t.name);
        else {
            line(&r->f->w, "%s %s[LANES];", c_type(n->dtype), t.name);
            line(&r->f->w, "for (int l = 0; l < LANES; l++) %s[l] = %s;", t.name, start_of(n));
        }
        push(&r->totals, t);
    }
}

/* The finished reductions, for the phases to come. */
static void finish_totals(Rows *r)
{
    for (int i = 0; i < r->totals.n; i++) {
        Total t = r->totals.at[i];
        Expr e = {t.name, PRIMARY};
        if (t.lanes) {
            e.text =
                format("%s_lanes_%s(%s)", t.node->op == OP_sum ? "sum" : "max", type_suffix(t.node->dtype), t.name);
            if (row_named(r, t.node)) {
                declare(r, t.node, new_name(&r->f->names, t.node->op == OP_sum ? "sum" : "largest"), e);
                continue;
            }
        }
        know(r, t.node, e);
    }
}

static bool overwritten(const Rows *r, const Phase *p, int load)
{
    const Use *u = &r->f->uses.at[r->load[load]];
    return u->view.buffer && u->arg >= 0 && r->f->args.at[u->arg].written && p->stores.n + p->sums.n + p->columns.n > 1;
}

/* Where a store overwrites what a later statement reads, the old value is read first. */
static void rescue_loads(Rows *r)
{
    for (int i = 0; i < r->k->loads.n; i++) {
        const Node *n = r->k->loads.at[i].node;
        if (known(r, n) || !overwritten(r, r->phase, i) || !sweep_uses(r, r->phase, n)) continue;
        declare(r, n, load_name(r), value_at(r->f, r->load[i]));
    }
}

typedef struct Phase_uses {
    int *row_store, *store, *partial;
} Phase_uses;

/* One element: named values, stores, what feeds the reductions. */
static void body(Rows *r, const Phase_uses *uses, const char *lane)
{
    const Phase *p = r->phase;
    int mark = r->known.n, names = r->f->names.n;
    r->sweeping = true;
    rescue_loads(r);
    for (int i = 0; i < p->each.n; i++) {
        const Node *n = p->each.at[i];
        Expr e = computed_here(r, n);
        int kept = kept_number(r, n);
        if (kept >= 0 || sweep_uses(r, p, n) > 1 || strlen(e.text) > LONG_TEXT)
            declare(r, n, new_name(&r->f->names, word_for(n)), e);
        else know(r, n, e);
        if (kept >= 0) line(&r->f->w, "%s = %s;", kept_element(r, kept), known(r, n)->expr.text);
    }
    Writer *w = &r->f->w;
    Expr in[64];
    must(p->stores.n + p->sums.n + p->columns.n <= COUNT_OF(in));
    int at = 0; /* all loads that have to be named are, before the first store */
    for (int i = 0; i < p->stores.n; i++) in[at++] = value_of(r, p->stores.at[i].node);
    for (int i = 0; i < p->sums.n; i++) in[at++] = value_of(r, p->sums.at[i]->in[0]);
    for (int i = 0; i < p->columns.n; i++) in[at++] = value_of(r, p->columns.at[i]->in[0]);
    at = 0;
    for (int i = 0; i < p->stores.n; i++)
        line(w, "%s %s %s;", element(r->f, uses->store[i]), p->stores.at[i].add ? "+=" : "=", in[at++].text);
    for (int i = 0; i < p->sums.n; i++) {
        Total t = r->totals.at[i];
        line(w, "%s;", reduction_step(t.node, t.lanes ? format("%s[%s]", t.name, lane) : t.name, in[at++]));
    }
    for (int i = 0; i < p->columns.n; i++)
        line(w, "%s;", reduction_step(p->columns.at[i], element(r->f, uses->partial[i]), in[at++]));
    r->known.n = mark;
    r->f->names.n = names;
    r->sweeping = false;
}

static const char *lane_name(Rows *r) { return new_name(&r->f->names, "l"); }

/* Sweeps that store are marked where gcc would check for overlaps. */
static const char *each_mark(const Rows *r)
{
    const Phase *p = r->phase;
    return r->threaded && (p->stores.n || p->columns.n) ? "EACH " : "";
}

static void sweep_in_lanes(Rows *r, const Phase_uses *uses)
{
    Axis *c = &r->f->axis[r->inner];
    Writer *w = &r->f->w;
    int names = r->f->names.n;
    const char *lane = lane_name(r);
    int64_t tail = c->extent % 16;
    const char *whole = tail ? format("%s - %s %% LANES", c->count, c->count) : c->count;
    if (tail && strchr(c->count, ' ')) whole = format("%lld", (long long)(c->extent - tail));
    open_block(w, "for (int %s = 0; %s < %s; %s += LANES)", c->name, c->name, whole, c->name);
    open_block(w, "SIMD for (int %s = 0; %s < LANES; %s++)", lane, lane, lane);
    c->now = format("%s + %s", c->name, lane);
    body(r, uses, lane);
    close_block(w);
    close_block(w);
    c->now = c->name;
    if (tail) {
        open_block(w, "for (int %s = %s; %s < %s; %s++)", c->name, whole, c->name, c->count, c->name);
        body(r, uses, format("%s %% LANES", c->name));
        close_block(w);
    }
    r->f->names.n = names;
}

static bool has_sweep(const Rows *r, const Phase *p)
{
    bool keeps = false;
    for (int i = 0; i < p->each.n; i++) keeps |= kept_number(r, p->each.at[i]) >= 0;
    return p->stores.n || p->sums.n || p->columns.n || keeps;
}

static void sweep(Rows *r, const Phase_uses *uses, bool parallel)
{
    Axis *c = &r->f->axis[r->inner];
    bool lanes = false;
    start_totals(r);
    for (int i = 0; i < r->totals.n; i++) lanes |= r->totals.at[i].lanes;
    if (lanes) sweep_in_lanes(r, uses);
    else if (c->extent == 1) body(r, uses, "0");
    else {
        const char *mark = parallel ? "PARALLEL " : each_mark(r);
        open_block(&r->f->w, "%sfor (int %s = 0; %s < %s; %s++)", mark, c->name, c->name, c->count, c->name);
        body(r, uses, "0");
        close_block(&r->f->w);
    }
    finish_totals(r);
}

/* ------------------------------------------------------------------ rows and columns */

static void one_row(Rows *r, const Phase_uses *uses, bool parallel)
{
    int names = r->f->names.n;
    r->known.n = 0;
    for (int i = 0; i < r->k->kept.n; i++) {
        const Node *n = r->k->kept.at[i];
        r->kept[i] = new_name(&r->f->names, format("%s_row", word_for(n)));
        line(&r->f->w, "%s %s[%s];", c_type(n->dtype), r->kept[i], r->f->axis[r->inner].count);
    }
    for (int p = 0; p < r->k->phases.n; p++) {
        r->phase = &r->k->phases.at[p];
        row_values(r);
        row_loads(r);
        if (has_sweep(r, r->phase)) sweep(r, &uses[p], parallel);
        row_stores(r, uses[p].row_store);
    }
    r->f->names.n = names;
}

static int64_t row_count(const Rows *r)
{
    int64_t n = 1;
    for (int j = 0; j < r->rows; j++) n *= r->f->axis[j].extent;
    return n;
}

static int work_of(const Kernel *k)
{
    int n = 1;
    for (int p = 0; p < k->phases.n; p++)
        n += k->phases.at[p].each.n + k->phases.at[p].sums.n + k->phases.at[p].columns.n;
    return n;
}

static void all_rows(Rows *r, const Phase_uses *uses)
{
    Function *f = r->f;
    int64_t rows = row_count(r), inner = f->axis[r->inner].extent;
    bool parallel = worth_threads(rows * inner, work_of(r->k));
    int opened = 0;
    r->threaded = parallel && r->rows > 0;
    for (int j = 0; j < r->rows; j++) {
        Axis *a = &f->axis[j];
        const char *share = "";
        if (parallel && !opened) share = a->extent >= 16 || r->rows == 1 ? "PARALLEL " : "PARALLEL_2 ";
        open_block(&f->w, "%sfor (int %s = 0; %s < %s; %s++)", share, a->name, a->name, a->count, a->name);
        opened++;
    }
    one_row(r, uses, parallel && rows == 1 && r->k->phases.n == 1 && !r->k->phases.at[0].sums.n);
    while (opened-- > 0) close_block(&f->w);
}

static bool axis_matters(const Function *f, int j)
{
    for (int i = 0; i < f->uses.n; i++) {
        const View *v = &f->uses.at[i].view;
        if (v->stride[j] || (v->guarded && (v->low[j] > 0 || v->high[j] < f->axis[j].extent))) return true;
    }
    return false;
}

/* for (r …) over a block's rows; with several row axes their indices are worked out from it. */
static void rows_of_block(Rows *r, int64_t blocks, const Phase_uses *uses)
{
    Function *f = r->f;
    int64_t rows = row_count(r), block = r->k->block;
    const char *k = f->axis[r->block].name;
    const char *row = r->rows == 1 ? f->axis[0].name : new_name(&f->names, "r");
    Text count = {0};
    for (int j = 0; j < r->rows; j++) say(&count, "%s%s", j ? " * " : "", f->axis[j].count);
    if (blocks == 1) open_block(&f->w, "for (int %s = 0; %s < %s; %s++)", row, row, count.at, row);
    else {
        const char *also = rows % block ? format("%s < %s && ", row, count.at) : "";
        open_block(&f->w, "for (int %s = %s * %lld; %s%s < (%s + 1) * %lld; %s++)", row, k, (long long)block, also, row,
                   k, (long long)block, row);
    }
    if (r->rows > 1) {
        int64_t below = rows;
        for (int j = 0; j < r->rows; j++) {
            Axis *a = &f->axis[j];
            below /= a->extent;
            if (!axis_matters(f, j)) continue;
            const char *quotient = below == 1 ? row : format("%s / %lld", row, (long long)below);
            line(&f->w, j ? "const int %s = %s %% %s;" : "const int %s = %s;", a->name, quotient, a->count);
        }
    }
    one_row(r, uses, false);
    close_block(&f->w);
}

static void clear_partials(Rows *r, const Phase_uses *uses)
{
    Axis *c = &r->f->axis[r->inner];
    if (c->extent > 1) open_block(&r->f->w, "for (int %s = 0; %s < %s; %s++)", c->name, c->name, c->count, c->name);
    for (int p = 0; p < r->k->phases.n; p++)
        for (int i = 0; i < r->k->phases.at[p].columns.n; i++)
            line(&r->f->w, "%s = %s;", element(r->f, uses[p].partial[i]), start_of(r->k->phases.at[p].columns.at[i]));
    if (c->extent > 1) close_block(&r->f->w);
}

static void say_column(Rows *r, const Node *n, bool add, int64_t blocks, int store, int partial)
{
    Function *f = r->f;
    Axis *c = &f->axis[r->inner], *k = &f->axis[r->block];
    bool loop = c->extent > 1;
    for (int from = 0; from < (blocks > 1 ? 2 : 1); from++) {
        bool first = from == 0, feed = add || !first;
        if (add && first && blocks > 1) continue; /* one loop does them all */
        k->now = "0";
        if (!first) {
            k->now = k->name;
            open_block(&f->w, "for (int %s = %d; %s < %lld; %s++)", k->name, !add, k->name, (long long)blocks, k->name);
        }
        if (loop) open_block(&f->w, "for (int %s = 0; %s < %s; %s++)", c->name, c->name, c->count, c->name);
        char *to = element(f, store);
        Expr part = {element(f, partial), PRIMARY};
        if (feed) line(&f->w, "%s;", reduction_step(n, to, part));
        else line(&f->w, "%s = %s;", to, part.text);
        if (loop) close_block(&f->w);
        if (!first) close_block(&f->w);
    }
}

/* The partial of a stored column: found by node, in the order of phases. */
static void say_columns(Rows *r, const Phase_uses *uses, int *const *column_use, int64_t blocks)
{
    for (int p = 0; p < r->k->phases.n; p++)
        for (int i = 0; i < r->k->phases.at[p].column_stores.n; i++) {
            const Operand *o = &r->k->phases.at[p].column_stores.at[i];
            const Node *n = o->node;
            int partial = -1;
            while (partial < 0) {
                for (int q = 0; q < r->k->phases.n; q++)
                    for (int c = 0; c < r->k->phases.at[q].columns.n; c++)
                        if (r->k->phases.at[q].columns.at[c] == n) partial = uses[q].partial[c];
                if (partial < 0 && !absorbed(n)) die("kernel %s stores a column that it does not sum", r->k->name);
                if (partial < 0) n = n->in[0];
            }
            say_column(r, n, o->add, blocks, column_use[p][i], partial);
        }
}

static void rows_with_columns(Rows *r, const Phase_uses *uses, int *const *column_use)
{
    Function *f = r->f;
    Axis *k = &f->axis[r->block];
    int64_t rows = row_count(r), blocks = (rows + r->k->block - 1) / r->k->block;
    bool parallel = worth_threads(rows * f->axis[r->inner].extent, work_of(r->k));
    k->now = blocks > 1 ? k->name : "0";
    r->threaded = parallel && blocks > 1;
    if (blocks > 1)
        open_block(&f->w, "%sfor (int %s = 0; %s < %lld; %s++)", parallel ? "PARALLEL " : "", k->name, k->name,
                   (long long)blocks, k->name);
    clear_partials(r, uses);
    rows_of_block(r, blocks, uses);
    if (blocks > 1) close_block(&f->w);
    say_columns(r, uses, column_use, blocks);
}

/* ------------------------------------------------------------------ setting up */

typedef VEC(View *) Views;

/* A column's view runs over the inner axis alone: over the space. */
static View over_space(View v, int rank)
{
    if (v.shape.rank == rank) return v;
    int from[MAXRANK];
    for (int j = 0; j < rank; j++) from[j] = j == rank - 1 && v.shape.rank ? v.shape.rank - 1 : -1;
    return view_axes(v, rank, from);
}

static void all_views(Kernel *k, Views *out)
{
    for (int i = 0; i < k->loads.n; i++) push(out, &k->loads.at[i].view);
    for (int p = 0; p < k->phases.n; p++) {
        Phase *q = &k->phases.at[p];
        for (int i = 0; i < q->row_stores.n; i++) push(out, &q->row_stores.at[i].view);
        for (int i = 0; i < q->stores.n; i++) push(out, &q->stores.at[i].view);
        for (int i = 0; i < q->column_stores.n; i++) push(out, &q->column_stores.at[i].view);
    }
}

static Operands own_operands(const Operands *o)
{
    Operands r = {0};
    for (int i = 0; i < o->n; i++) push(&r, o->at[i]);
    return r;
}

/* Views are changed while axes are merged: on a copy. */
static Kernel *own_copy(const Kernel *k)
{
    Kernel *c = copy_of(k, sizeof *k);
    c->loads = own_operands(&k->loads);
    c->phases.at = copy_of(k->phases.at, sizeof *k->phases.at * (size_t)k->phases.n);
    for (int p = 0; p < k->phases.n; p++) {
        Phase *q = &c->phases.at[p];
        q->row_stores = own_operands(&q->row_stores);
        q->stores = own_operands(&q->stores);
        q->column_stores = own_operands(&q->column_stores);
        for (int i = 0; i < q->column_stores.n; i++)
            q->column_stores.at[i].view = over_space(q->column_stores.at[i].view, k->space.rank);
    }
    return c;
}

/* A narrow inner axis of plain maps may become one with the row axis before it. */
static bool may_flatten(const Kernel *k, int64_t inner)
{
    if (inner >= 64 || k->block || k->phases.n != 1) return false;
    const Phase *p = &k->phases.at[0];
    if (p->row.n || p->sums.n || p->columns.n || p->row_stores.n) return false;
    for (int i = 0; i < k->loads.n; i++)
        if (k->loads.at[i].once_a_row && k->loads.at[i].view.buffer) return false;
    return true;
}

static void set_axes(Rows *r, Kernel *k)
{
    Function *f = r->f;
    Views views = {0};
    all_views(k, &views);
    f->naxes = k->space.rank;
    for (int j = 0; j < f->naxes; j++) f->axis[j] = (Axis){.name = k->axis[j], .extent = k->space.dim[j]};
    r->inner =
        merge_axes(f, f->naxes, views.at, views.n, f->naxes - 1 + may_flatten(k, f->axis[f->naxes - 1].extent)) - 1;
    r->rows = r->inner;
    r->block = -1;
    if (!k->block) return;
    r->block = f->naxes++;
    f->axis[r->block] = (Axis){.extent = (row_count(r) + k->block - 1) / k->block};
    for (int i = 0; i < views.n; i++) {
        views.at[i]->stride[r->block] = views.at[i]->low[r->block] = 0;
        views.at[i]->high[r->block] = f->axis[r->block].extent;
    }
    f->axis[r->block].name = f->axis[r->block].now = new_name(&f->names, "k");
}

static View partial_view(const Rows *r, Buffer *b)
{
    View v = {.buffer = b};
    v.shape.rank = r->f->naxes;
    v.stride[r->inner] = 1;
    v.stride[r->block] = r->f->axis[r->inner].extent;
    return v;
}

static int *operand_uses(Function *f, const Operands *o, bool write)
{
    int *use = NEW_ARRAY(int, o->n + 1);
    for (int i = 0; i < o->n; i++) use[i] = add_use(f, o->at[i].view, write);
    return use;
}

void emit_rows(Function *f, const Kernel *original)
{
    Kernel *k = own_copy(original);
    Rows r = {.f = f, .k = k, .kept = NEW_ARRAY(const char *, k->kept.n + 1)};
    set_axes(&r, k);
    Phase_uses *uses = NEW_ARRAY(Phase_uses, k->phases.n);
    int **column_use = NEW_ARRAY(int *, k->phases.n), partial = 0;
    for (int p = 0; p < k->phases.n; p++) {
        const Phase *q = &k->phases.at[p];
        uses[p].store = operand_uses(f, &q->stores, true);
        uses[p].row_store = operand_uses(f, &q->row_stores, true);
        column_use[p] = operand_uses(f, &q->column_stores, true);
        uses[p].partial = NEW_ARRAY(int, q->columns.n + 1);
        for (int i = 0; i < q->columns.n; i++)
            uses[p].partial[i] = add_use(f, partial_view(&r, k->partials.at[partial++]), true);
    }
    r.load = operand_uses(f, &k->loads, false);
    fit_args(f);
    open_block(&f->w, "%s", "");
    if (k->block) rows_with_columns(&r, uses, column_use);
    else all_rows(&r, uses);
    close_block(&f->w);
}
