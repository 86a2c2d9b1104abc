/* rows.c: ROWS kernels: what both targets share: values of a row, the body of a sweep, the arguments of the function.
 * emit/nest.c puts loops around it, emit/threads.c CUDA's threads.
 *
 * Values of a row are `const float mean = …;` before the sweep that reads them. In a sweep, a value that is used once
 * is written where it is used; others get a name. */
#include "desc/target.h"
#include "emit/index.h"
#include "lower/lower.h"

#include <string.h>

/* ------------------------------------------------------------------ values per row */

enum { LONG_TEXT = 110, LONG_TITLED_TEXT = 32, LONG_ROW_TEXT = 40 };

static bool is_kept(const Operands *stores, const Node *n)
{
    for (int i = 0; i < stores->n; i++)
        if (stores->at[i].node == n) return true;
    return false;
}

/* Is the expression so long that a person would name it? A value that is stored has a name already. */
static bool is_long(const Node *n, const Operands *stores, const Expr *e, int long_titled)
{
    bool titled = n->title_rank > TITLE_ARGUMENT && !is_kept(stores, n);
    return (int)strlen(e->text) > (titled ? long_titled : LONG_TEXT);
}

static void row_values(Rows *r)
{
    const Phase *p = r->phase;
    for (int i = 0; i < p->row.n; i++) {
        const Node *n = p->row.at[i];
        if (known(r, n)) continue;
        Expr e = computed_here(r, n);
        if (row_named(r, n) || is_long(n, &p->row_stores, &e, LONG_ROW_TEXT)) declare(r, n, name_for(r, n), e);
        else know(r, n, e);
    }
}

/* A load that is the same for the whole row is read before the sweep, if it is used more than once. */
static void row_loads(Rows *r)
{
    for (int i = 0; i < r->k->loads.n; i++) {
        const Operand *o = &r->k->loads.at[i];
        const Use *u = &r->f->uses.at[r->load[i]];
        if (!o->once_a_row || known(r, o->node) || !sweep_uses(r, o->node)) continue;
        if (!u->view.buffer || single_number(&r->f->args.at[u->arg]) || !row_named(r, o->node)) continue;
        declare(r, o->node, load_name(r, i), value_at(r->f, r->load[i]));
    }
}

const Phase_uses *uses_now(const Rows *r) { return &r->uses[r->phase - r->k->phases.at]; }

/* Does the phase store per row into what the kernel reads too? */
static bool row_stores_meet_loads(const Rows *r)
{
    for (int i = 0; i < r->phase->row_stores.n; i++)
        if (r->f->args.at[r->f->uses.at[uses_now(r)->row_store[i]].arg].read) return true;
    return false;
}

static void row_stores(Rows *r)
{
    const Operands *stores = &r->phase->row_stores;
    bool wait = r->meet && row_stores_meet_loads(r);
    if (!stores->n) return;
    if (wait) line(&r->f->w, "%s", r->meet);
    if (r->first) open_block(&r->f->w, "if (%s)", r->first);
    for (int i = 0; i < stores->n; i++) {
        char *at = element(r->f, uses_now(r)->row_store[i]);
        line(&r->f->w, "%s;",
             store_text(stores->at[i].node->dtype, at, stores->at[i].add, value_of(r, stores->at[i].node).text));
    }
    if (r->first) close_block(&r->f->w);
    if (wait) line(&r->f->w, "%s", r->meet);
}

/* ------------------------------------------------------------------ sweeps */

const char *start_of(const Node *n)
{
    if (n->op == OP_sum) return "0";
    if (n->op == OP_rmin) return is_real(n->dtype) ? "INFINITY" : "INT32_MAX";
    return is_real(n->dtype) ? "-INFINITY" : "INT32_MIN";
}

const char *end_of(const Node *n) { return n->op == OP_sum ? "sum" : n->op == OP_rmin ? "min" : "max"; }

static bool overwritten(const Rows *r, const Phase *p, int load)
{
    const Use *u = &r->f->uses.at[r->load[load]];
    if (!u->view.buffer || u->arg < 0 || is_local_load(r, load)) return false;
    return is_another(r, load) || (r->f->args.at[u->arg].written && p->stores.n + p->sums.n + p->columns.n > 1);
}

/* If a store overwrites what a later statement reads, the old value is read first. So is a value that has another
 * name than the array that contains it. */
static void rescue_loads(Rows *r)
{
    for (int i = 0; i < r->k->loads.n; i++) {
        const Node *n = r->k->loads.at[i].node;
        if (known(r, n) || !overwritten(r, r->phase, i) || !sweep_uses(r, n)) continue;
        declare(r, n, load_name(r, i), value_at(r->f, r->load[i]));
    }
}

static char *running_column(Rows *r, int i)
{
    const Phase_uses *u = uses_now(r);
    if (u->running) return format("%s[%s]", u->running[i], r->running_at ? r->running_at : r->f->axis[r->inner].now);
    return element(r->f, u->partial[i]);
}

/* The text for one element: named values, stores, steps of reductions. */
void one_element(Rows *r, const char *lane)
{
    const Phase *p = r->phase;
    int mark = r->known.n, names = r->f->names.n;
    r->sweeping = true;
    rescue_loads(r);
    for (int i = 0; i < p->each.n; i++) {
        const Node *n = p->each.at[i];
        if (!is_needed(r, n)) continue;
        if (is_drawn(r, n)) {
            know(r, n, drawn_bits(r, n));
            continue;
        }
        Expr e = computed_here(r, n);
        int kept = kept_number(r, n);
        if (kept >= 0 || sweep_uses(r, n) > 1 || is_long(n, &p->stores, &e, LONG_TITLED_TEXT))
            declare(r, n, name_for(r, n), e);
        else know(r, n, e);
        if (kept >= 0) line(&r->f->w, "%s = %s;", kept_element(r, kept), known(r, n)->expr.text);
    }
    Writer *w = &r->f->w;
    Expr *in = NEW_ARRAY(Expr, p->stores.n + p->sums.n + p->columns.n + 1);
    int at = 0; /* all loads that need a name get it before the first store */
    for (int i = 0; i < p->stores.n; i++) in[at++] = value_of(r, p->stores.at[i].node);
    for (int i = 0; i < p->sums.n; i++) in[at++] = value_of(r, p->sums.at[i]->in[0]);
    for (int i = 0; i < p->columns.n; i++) in[at++] = value_of(r, p->columns.at[i]->in[0]);
    at = 0;
    for (int i = 0; i < p->stores.n; i++)
        line(w, "%s;", store_text(p->stores.at[i].node->dtype, store_at(r, i), p->stores.at[i].add, in[at++].text));
    for (int i = 0; i < p->sums.n; i++) {
        Total t = r->totals.at[i];
        line(w, "%s;",
             reduction_step(r->f->page, t.node, t.several ? format("%s[%s]", t.name, lane) : t.name, in[at++]));
    }
    for (int i = 0; i < p->columns.n; i++)
        line(w, "%s;", reduction_step(r->f->page, p->columns.at[i], running_column(r, i), in[at++]));
    r->known.n = mark;
    r->f->names.n = names;
    r->sweeping = false;
}

bool has_sweep(const Rows *r)
{
    const Phase *p = r->phase;
    bool keeps = false;
    for (int i = 0; i < p->each.n; i++) keeps |= kept_number(r, p->each.at[i]) >= 0;
    return p->stores.n || p->sums.n || p->columns.n || keeps;
}

/* ------------------------------------------------------------------ rows and columns */

void one_row(Rows *r)
{
    int names = r->f->names.n;
    r->known.n = 0;
    for (int i = 0; i < r->k->kept.n; i++) {
        const Node *n = r->k->kept.at[i];
        r->kept[i] = new_name(&r->f->names, format("%s_row", word_of(r, n)));
        line(&r->f->w, "%s %s[%s];", c_type(n->dtype), r->kept[i],
             r->kept_count ? r->kept_count : r->f->axis[r->inner].count);
    }
    r->drawn = NEW_ARRAY(const char *, r->n->draws.n + 1);
    for (int p = 0; p < r->k->phases.n; p++) {
        r->phase = &r->k->phases.at[p];
        row_values(r);
        row_loads(r);
        if (has_sweep(r)) sweep(r);
        row_stores(r);
    }
    r->f->names.n = names;
}

/* The text of a row whose reductions are known: everything but its sweeps. */
void row_without_sweeps(Rows *r)
{
    for (int p = 0; p < r->k->phases.n; p++) {
        r->phase = &r->k->phases.at[p];
        row_values(r);
        row_stores(r);
    }
}

int64_t row_count(const Rows *r)
{
    int64_t n = 1;
    for (int j = 0; j < r->rows; j++) n *= r->f->axis[j].extent;
    return n;
}

const char *row_count_text(const Rows *r)
{
    const char *all = NULL;
    for (int j = 0; j < r->rows; j++) all = multiplied(all, r->f->axis[j].count);
    return all;
}

const char *row_name(Rows *r) { return r->rows == 1 ? r->f->axis[0].name : new_index(&r->f->names, "r", "row"); }

void row_indices(Rows *r, const char *row)
{
    int axes[MAXRANK];
    for (int j = 0; j < r->rows; j++) axes[j] = j;
    if (r->rows > 1) say_indices(r->f, axes, r->rows, row);
}

/* Partial results are found by node, in the order of phases. */
int partial_of(const Rows *r, const Node **column)
{
    for (const Node *n = *column;; n = n->in[0]) {
        int partial = -1;
        for (int q = 0; q < r->k->phases.n; q++)
            for (int c = 0; c < r->k->phases.at[q].columns.n; c++)
                if (r->k->phases.at[q].columns.at[c] == n) partial = r->uses[q].partial[c];
        *column = n;
        if (partial >= 0) return partial;
        if (!is_view(n)) die("kernel %s stores a column that it does not sum", r->k->name);
    }
}

void print_part(Rows *r, const char *remark, const char *(*body)(Rows *))
{
    int names = r->f->names.n;
    begin_part(r->f);
    end_part(r->f, remark, body(r));
    r->f->names.n = names;
}

/* ------------------------------------------------------------------ setting up */

static void set_row_axes(Rows *r, const Nest *n)
{
    Function *f = r->f;
    begin_axes(f, &n->space);
    r->inner = r->rows = f->naxes - 1;
    r->block = -1;
    if (!n->blocks) return;
    r->block = f->naxes++;
    f->axis[r->block] = (Axis){.extent = n->blocks};
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

static void add_uses(Rows *r)
{
    int partial = 0;
    r->uses = NEW_ARRAY(Phase_uses, r->k->phases.n);
    for (int p = 0; p < r->k->phases.n; p++) {
        const Phase *q = &r->k->phases.at[p];
        Phase_uses *u = &r->uses[p];
        if (r->k->share != COLUMN_SUMS) {
            u->store = operand_uses(r->f, &q->stores, true);
            u->row_store = operand_uses(r->f, &q->row_stores, true);
        }
        if (r->k->share != SOME_ROWS) u->column_store = operand_uses(r->f, &q->column_stores, true);
        u->partial = NEW_ARRAY(int, q->columns.n + 1);
        for (int i = 0; i < q->columns.n; i++)
            u->partial[i] = add_use(r->f, partial_view(r, r->k->partials.at[partial++]), true);
    }
    if (r->k->share == COLUMN_SUMS) return;
    r->load = operand_uses(r->f, &r->k->loads, false);
    for (int i = 0; i < r->k->loads.n; i++) r->f->uses.at[r->load[i]].before = meets_its_next(r->k, &r->k->loads.at[i]);
}

void emit_rows(Function *f, const Nest *n)
{
    const Kernel *k = n->rows;
    Rows r = {.f = f, .k = k, .n = n, .kept = NEW_ARRAY(const char *, k->kept.n + 1), .values = values_of(n)};
    for (const char *const *word = f->page->target->words; *word; word++) push(&f->names, *word);
    f->some_rows = k->share == SOME_ROWS;
    if (f->some_rows) push(&f->names, "from"), push(&f->names, "to");
    set_row_axes(&r, n);
    add_uses(&r);
    fit_args(f);
    find_users(&r);
    if (n->blocks) sums_over_rows(&r);
    else if (n->team) rows_by_threads(&r);
    else nest_of_loops(&r);
}
