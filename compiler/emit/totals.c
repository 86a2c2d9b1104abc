/* totals.c: the reductions of a sweep: how each begins and ends. The nest says which way it runs: in lanes, across
 * rows, or by a team of threads. A table has the text of each way:
 *
 *     alone       float sum = 0;                                  sum
 *     in lanes    float sums[LANES] = {0};                        sum_lanes_f32(sums)
 *     across      float sums[64] = {0};                           sums[c - from]
 *     by a warp   float sum = 0;  sum = warp_sum_f32(sum);        sum
 *     by a block  float sum = 0;  sum = block_sum_f32(sum);       sum */
#include "emit/rows.h"

typedef enum Way { ALONE, IN_LANES, ACROSS, BY_WARP, BY_BLOCK } Way;

static const struct Way_spelled {
    const char *index; /* of the running values, if there are several; else NULL */
    const char *end;   /* the call that ends it: of the reduction, the type, the running values; NULL: none is needed */
    bool by_team;      /* all threads of a team make that call, so it is a statement of its own */
} ways[] = {
    [ALONE] = {NULL, NULL, false},
    [IN_LANES] = {"l", "%s_lanes_%s(%s)", false},
    [ACROSS] = {"i", NULL, false},
    [BY_WARP] = {NULL, "warp_%s_%s(%s)", true},
    [BY_BLOCK] = {NULL, "block_%s_%s(%s)", true},
};

static Way way_of(const Rows *r, const Node *sum)
{
    const Nest *n = r->n;
    for (int i = 0; i < n->lanes.n; i++)
        if (n->lanes.at[i] == sum) return IN_LANES;
    return n->across ? ACROSS : n->team == TEAM_OF_WARP ? BY_WARP : n->team == TEAM_OF_BLOCK ? BY_BLOCK : ALONE;
}

bool any_in_lanes(const Rows *r)
{
    for (int i = 0; i < r->phase->sums.n; i++)
        if (way_of(r, r->phase->sums.at[i]) == IN_LANES) return true;
    return false;
}

/* Declares the running value, or `many` of them. */
static void start_total(Rows *r, const Total *t, const char *index, const char *many)
{
    const char *type = c_type(t->node->dtype), *start = start_of(t->node);
    Writer *w = &r->f->w;
    if (!index) line(w, "%s %s = %s;", type, t->name, start);
    else if (t->node->op == OP_sum) line(w, "%s %s[%s] = {0};", type, t->name, many);
    else {
        line(w, "%s %s[%s];", type, t->name, many);
        line(w, "for (int %s = 0; %s < %s; %s++) %s[%s] = %s;", index, index, many, index, t->name, index, start);
    }
}

void start_totals(Rows *r, const char *many)
{
    r->totals.n = 0;
    for (int i = 0; i < r->phase->sums.n; i++) {
        const Node *n = r->phase->sums.at[i];
        const char *index = ways[way_of(r, n)].index;
        const char *name = name_told_apart(r, n, index ? word_for_lanes(r, n) : word_for_total(r, n));
        Total t = {n, name, index != NULL};
        start_total(r, &t, index, many);
        push(&r->totals, t);
    }
}

static void finish_total(Rows *r, const Total *t, const char *at)
{
    const Node *n = t->node;
    const struct Way_spelled *way = &ways[way_of(r, n)];
    Expr e = {t->several && !way->end ? format("%s[%s]", t->name, at) : t->name, PRIMARY};
    if (way->end) {
        const char *ended = format(way->end, end_of(n), type_suffix(n->dtype), t->name);
        if (way->by_team) line(&r->f->w, "%s = %s;", t->name, ended);
        else e.text = ended;
    }
    if (way->end && !way->by_team && row_named(r, n)) declare(r, n, name_told_apart(r, n, word_for_total(r, n)), e);
    else know(r, n, e);
}

void finish_totals(Rows *r, const char *at)
{
    for (int i = 0; i < r->totals.n; i++) finish_total(r, &r->totals.at[i], at);
}
