/* sweep.c: the sweep of a phase over the inner axis of a row, as its nest says:
 *
 *     in lanes      for (int c = 0; c < WIDTH; c += LANES)
 *                       SIMD for (int l = 0; l < LANES; l++)
 *     in turns      for (int c = 0; c < WIDTH; c++), which C's threads may share; of a team
 *                   for (int c = lane; c < WIDTH; c += WARP)
 *     side by side  in each turn UNROLL for (int c = c4; c < c4 + 4; c++)
 *     with a rest   likewise, and what is left over one by one
 *     no loop       a thread of CUDA has its elements already */
#include "emit/threads.h"

#include <string.h>

const char *inner_type(const Rows *r) { return index_type(r->f->axis[r->inner].extent); }

const char *short_mark(const Rows *r, int axis) { return r->n->rolled >> axis & 1 ? "SHORT " : ""; }

/* A sweep that stores is marked if gcc would otherwise check for overlaps. */
static const char *mark_of_sweep(const Rows *r)
{
    const Phase *p = r->phase;
    const char *each = r->n->apart && (p->stores.n || p->columns.n) ? "EACH " : "";
    return r->n->sweep_shared ? "PARALLEL " : format("%s%s", each, short_mark(r, r->inner));
}

/* ------------------------------------------------------------------ in lanes */

/* A variable without lanes, an integer's, must be named to OpenMP. */
static const char *mark_of_lanes(const Rows *r)
{
    const char *clauses = "";
    for (int i = 0; i < r->totals.n; i++) {
        const Total *t = &r->totals.at[i];
        if (t->several) continue;
        must(!is_real(t->node->dtype)); /* a real sum has one order */
        const char *how = t->node->op == OP_sum ? "+" : end_of(t->node);
        clauses = format("%s%sreduction(%s : %s)", clauses, *clauses ? " " : "", how, t->name);
    }
    return *clauses ? format("SIMD_AND(%s) ", clauses) : "SIMD ";
}

static void sweep_in_lanes(Rows *r)
{
    Axis *c = &r->f->axis[r->inner];
    Writer *w = &r->f->w;
    int names = r->f->names.n;
    const char *lane = new_name(&r->f->names, "l");
    int64_t tail = c->extent % 16;
    const char *whole = tail ? format("%s - %s %% LANES", c->count, c->count) : c->count;
    if (tail && strchr(c->count, ' ')) whole = format("%lld", (long long)(c->extent - tail));
    open_for(w, (For){.name = c->name, .to = whole, .step = "LANES"});
    open_for(w, (For){.mark = mark_of_lanes(r), .name = lane, .to = "LANES"});
    c->now = format("%s + %s", c->name, lane);
    one_element(r, lane);
    close_block(w);
    close_block(w);
    c->now = c->name;
    if (tail) {
        open_for(w, (For){.name = c->name, .from = whole, .to = c->count});
        one_element(r, format("%s %% LANES", c->name));
        close_block(w);
    }
    r->f->names.n = names;
}

/* ------------------------------------------------------------------ in turns */

/* UNROLL for (int c = c4; c < c4 + 4; c++) */
void open_beside(Rows *r, const char *from)
{
    Axis *c = &r->f->axis[r->inner];
    const char *to = format("%s + %d", from, r->beside);
    open_for(&r->f->w, (For){.mark = "UNROLL ", .type = inner_type(r), .name = c->name, .from = from, .to = to});
}

static const char *first_of_team(const Rows *r) { return r->team == WARP ? "lane" : "threadIdx.x"; }
static const char *size_of_team(const Rows *r) { return r->team == WARP ? "WARP" : "THREADS"; }

/* for (int c = lane; c < C; c += WARP), or several elements at a time. If a thread keeps elements of its row, the
 * loop counts its turns instead: then the compiler knows which element is which, and keeps them in registers. */
static void open_steps(Rows *r, const char *from, const char *first, const char *size)
{
    const Axis *c = &r->f->axis[r->inner];
    Writer *w = &r->f->w;
    const char *each = r->beside == 1 ? "" : format(" * %d", r->beside);
    if (!r->turn) {
        first = format("%s%s", first, each), size = format("%s%s", size, each);
        open_for(w, (For){.type = inner_type(r), .name = from, .from = first, .to = c->count, .step = size});
        return;
    }
    open_for(w, (For){.mark = "UNROLL ", .name = r->turn, .to = r->turns});
    line(w, r->beside == 1 ? "const int %s = %s * %s + %s;" : "const int %s = (%s * %s + %s) * %d;", from, r->turn,
         size, first, r->beside);
    if (c->extent % (r->team * r->beside)) line(w, "if (%s >= %s) break;", from, c->count);
}

/* The loop over the inner axis. In each sweep, a thread of the team takes the same elements. */
static void open_turns(Rows *r, const char *mark)
{
    Axis *c = &r->f->axis[r->inner];
    if (r->team == TEAM_OF_ELEMENTS || r->n->columns == APART) return;
    if (r->team > 1) {
        open_steps(r, r->four, first_of_team(r), size_of_team(r));
        c->now = c->name;
    } else if (c->extent > 1) {
        open_for(&r->f->w, (For){.mark = mark, .type = inner_type(r), .name = c->name, .to = c->count});
    }
}

/* Also opens the loop over the elements of a turn. */
void open_sweep(Rows *r)
{
    open_turns(r, NULL);
    if ((r->team > 1 && r->beside > 1) || r->n->columns == APART) open_beside(r, r->four);
}

static void sweep_in_turns(Rows *r)
{
    int depth = r->f->w.depth, names = r->f->names.n;
    open_turns(r, mark_of_sweep(r));
    if (r->beside > 1 || r->n->columns == APART) elements_beside(r);
    else one_element(r, "");
    close_down_to(&r->f->w, depth);
    r->f->names.n = names;
}

/* Counts the turns, so that arrays can hold an element for each: what a thread keeps of its row, or its sums. */
void count_turns(Rows *r)
{
    const Axis *c = &r->f->axis[r->inner];
    const char *size = size_of_team(r);
    r->turn = new_name(&r->f->names, "k");
    r->turns = ceil_text(c->count, r->beside == 1 ? size : format("%s * %d", size, r->beside));
    r->kept_count = r->beside == 1 ? r->turns : format("%s][%d", r->turns, r->beside);
    r->kept_at = r->beside == 1 ? r->turn : format("%s][%s - %s", r->turn, c->name, r->four);
}

/* ------------------------------------------------------------------ with a rest */

/* Does the text of an element mention its index? */
static bool says_which(Rows *r)
{
    Writer kept = r->f->w;
    r->f->w = (Writer){.depth = kept.depth};
    one_element(r, "");
    bool says = r->f->w.text.n && has_word(r->f->w.text.at, r->f->axis[r->inner].name);
    r->f->w = kept;
    return says;
}

/* each(c, own_logits[c - c4]); */
static void call_each(Rows *r, const char *each, bool which)
{
    const char *elements = elements_to_give(r), *c = r->f->axis[r->inner].name;
    line(&r->f->w, "%s(%s%s);", each, which ? c : "", which || !*elements ? elements : elements + strlen(", "));
}

/* const auto each = [&](int c, float logits) { … }; is called for each element. Most elements go side by side; those
 * that are read or written as wholes are arguments. */
static void sweep_with_rest(Rows *r)
{
    Axis *c = &r->f->axis[r->inner];
    Writer *w = &r->f->w;
    const char *first = first_of_team(r), *size = size_of_team(r), *all = in_parentheses(c->count);
    const char *each = new_name(&r->f->names, "each");
    int n = r->beside, names = r->f->names.n;
    c->now = c->name;
    const char *given = given_elements(r);
    bool which = says_which(r);
    if (which) open_block(w, "const auto %s = [&](%s %s%s)", each, inner_type(r), c->name, given);
    else open_block(w, "const auto %s = [&](%s)", each, *given ? given + strlen(", ") : "");
    one_element(r, "");
    close_lambda(w);
    r->f->names.n = names;
    open_block(w, "ROLLED for (%s %s = %s * %d; %s + %d <= %s; %s += %s * %d)", inner_type(r), r->four, first, n,
               r->four, n, c->count, r->four, size, n);
    begin_wholes(r);
    open_beside(r, r->four);
    call_each(r, each, which);
    close_block(w);
    end_wholes(r);
    close_block(w);
    const char *behind = format("%s / %d * %d + %s", all, n, n, first);
    open_for(w, (For){.type = inner_type(r), .name = c->name, .from = behind, .to = c->count, .step = size});
    call_each(r, each, which);
    close_block(w);
    r->f->names.n = names;
}

/* ------------------------------------------------------------------ all of them */

void sweep(Rows *r)
{
    draw_bits(r);
    start_totals(r, "LANES");
    if (any_in_lanes(r)) sweep_in_lanes(r);
    else if (r->n->rest) sweep_with_rest(r);
    else sweep_in_turns(r);
    finish_totals(r, NULL);
}
