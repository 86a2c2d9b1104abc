/* draws.c: C: random bits that are drawn for a whole row, before the sweep that uses them (schedule/draws.c):
 *
 *     int bits[WIDTH];
 *     philox_row(bits, WIDTH, seed, step, 2, b + first_row, i * WIDTH);
 */
#include "emit/rows.h"

static int number_of_draw(const Rows *r, const Node *n)
{
    for (int i = 0; i < r->n->draws.n; i++)
        if (r->n->draws.at[i] == n) return i;
    return -1;
}

bool is_drawn(const Rows *r, const Node *n) { return number_of_draw(r, n) >= 0; }

Expr drawn_bits(const Rows *r, const Node *n)
{
    return (Expr){format("%s[%s]", r->drawn[number_of_draw(r, n)], r->f->axis[r->inner].now), PRIMARY};
}

/* The value of the row's first element, of which nothing has been computed. */
static Expr first_value(Rows *r, const Node *n)
{
    Expr in[8];
    n = value_meant(&r->values, phase_number(r), n);
    if (known(r, n) || kept_number(r, n) >= 0 || load_of(&r->values, n) >= 0 || is_filled(n, NULL))
        return value_of(r, n);
    must(n->nin <= COUNT_OF(in));
    for (int i = 0; i < n->nin; i++) in[i] = first_value(r, n->in[i]);
    if (n->op == OP_add && same(in[0].text, "0")) return in[1];
    return apply(r->f->page, n, in);
}

/* A value that is kept has an array already. */
static const char *array_of_bits(Rows *r, const Node *n)
{
    if (kept_number(r, n) >= 0) return r->kept[kept_number(r, n)];
    const char *name = new_name(&r->f->names, "bits");
    line(&r->f->w, "int %s[%s];", name, r->f->axis[r->inner].count);
    return name;
}

static void draw(Rows *r, const Node *n, const char **array)
{
    Axis *c = &r->f->axis[r->inner];
    Text arguments = {0};
    *array = array_of_bits(r, n);
    c->now = "0";
    for (int i = 0; i < n->nin; i++) say(&arguments, ", %s", first_value(r, n->in[i]).text);
    c->now = c->name;
    line(&r->f->w, "philox_row(%s, %s%s);", *array, c->count, arguments.at);
}

static void mark_needed(Rows *r, const Node *n)
{
    *table_at(&r->needed, value_meant(&r->values, phase_number(r), n)) = r;
}

/* Marks the values that stores, sums and kept rows need. Values that are needed only to number bits stay unmarked. */
static void find_needed(Rows *r)
{
    const Phase *p = r->phase;
    r->needed = (Table){0};
    for (int i = 0; i < p->stores.n; i++) mark_needed(r, p->stores.at[i].node);
    for (int i = 0; i < p->sums.n; i++) mark_needed(r, p->sums.at[i]->in[0]);
    for (int i = 0; i < p->columns.n; i++) mark_needed(r, p->columns.at[i]->in[0]);
    for (int i = p->each.n; i-- > 0;) {
        const Node *n = p->each.at[i];
        if (kept_number(r, n) >= 0) mark_needed(r, n);
        if (is_drawn(r, n) || !is_needed(r, n)) continue;
        for (int k = 0; k < n->nin; k++) mark_needed(r, n->in[k]);
    }
}

bool is_needed(const Rows *r, const Node *n) { return !r->n->draws.n || table_get(&r->needed, n); }

void draw_bits(Rows *r)
{
    const Nodes *each = &r->phase->each;
    if (r->n->draws.n) find_needed(r);
    for (int i = 0; i < each->n; i++) {
        int k = number_of_draw(r, each->at[i]);
        if (k >= 0 && !r->drawn[k]) draw(r, each->at[i], &r->drawn[k]);
    }
}
