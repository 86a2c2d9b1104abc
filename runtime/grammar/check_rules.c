/* check_rules.c: whether a grammar can be followed: its rules are defined, have ends, and none begins with itself,
 * which would never read a byte.  Also which bytes need to be told apart. */
#include "grammar/rules.h"

#include <stdlib.h>
#include <string.h>

static bool refuse_rule(const Grammar *g, int32_t rule, Grammar_fault *f, const char *why)
{
    const Rule *r = &g->rule[rule];
    f->line = r->line;
    f->column = r->column;
    snprintf(f->words, sizeof f->words, "the rule \"%.60s\" %s", r->name ? r->name : "of a group", why);
    return false;
}

/* ------------------------------------------------------------------ rules all of whose ways …  */

typedef struct Uses { /* in which ways a rule occurs: way[first[r]] … way[first[r + 1] - 1] */
    int32_t *first, *way;
} Uses;

static Uses uses_of(const Grammar *g)
{
    Uses u = {must_alloc(sizeof *u.first * (size_t)(g->rules + 2)), must_alloc(sizeof *u.way * (size_t)g->elements)};
    for (int32_t i = 0; i < g->elements; i++)
        if (g->element[i].kind == RULE_HERE) u.first[g->element[i].value + 2]++;
    for (int32_t r = 2; r < g->rules + 2; r++) u.first[r] += u.first[r - 1];
    for (int32_t w = 0; w < g->ways; w++)
        for (const Element *e = &g->element[g->way[w].first]; e->kind != WAY_ENDS; e++)
            if (e->kind == RULE_HERE) u.way[u.first[e->value + 1]++] = w;
    return u;
}

/* Elements of a way that are not settled yet: its rules, and its bytes unless they count as settled. */
static int32_t unsettled(const Grammar *g, int32_t way, bool bytes)
{
    int32_t n = 0;
    for (const Element *e = &g->element[g->way[way].first]; e->kind != WAY_ENDS; e++)
        n += e->kind == RULE_HERE || !bytes;
    return n;
}

/* Marks the rules with a way all of whose elements are such rules: with bytes, those that end; without, those that may
 * be empty. */
static void mark_rules(const Grammar *g, bool bytes, bool *marked)
{
    const Uses u = uses_of(g);
    int32_t *left = must_alloc(sizeof *left * (size_t)(g->ways + 1)), n = 0;
    int32_t *queue = must_alloc(sizeof *queue * (size_t)(g->rules + 1));
    for (int32_t w = 0; w < g->ways; w++) {
        left[w] = unsettled(g, w, bytes);
        int32_t rule = g->way[w].rule;
        if (left[w] == 0 && !marked[rule]) marked[rule] = true, queue[n++] = rule;
    }
    for (int32_t i = 0; i < n; i++)
        for (int32_t k = u.first[queue[i]]; k < u.first[queue[i] + 1]; k++) {
            int32_t rule = g->way[u.way[k]].rule;
            if (--left[u.way[k]] == 0 && !marked[rule]) marked[rule] = true, queue[n++] = rule;
        }
    free(left);
    free(queue);
    free(u.first);
    free(u.way);
}

static bool all_end(const Grammar *g, Grammar_fault *f)
{
    bool *ends = must_alloc(sizeof *ends * (size_t)g->rules), good = true;
    mark_rules(g, true, ends);
    for (int32_t r = 0; r < g->rules && good; r++)
        if (!ends[r] && g->rule[r].name) good = refuse_rule(g, r, f, "never ends: each of its ways needs it again");
    free(ends);
    return good;
}

/* ------------------------------------------------------------------ rules that begin with themselves */

typedef struct Frame { /* of a search: the element of a rule that is looked at */
    int32_t rule, way, element;
} Frame;

typedef struct Search {
    const Grammar *g;
    bool *empty;     /* rules that may be empty */
    uint8_t *colour; /* of rules: 0 new, 1 on the path, 2 done */
    Frame *path;
    int32_t n;
} Search;

static void enter_rule(Search *s, int32_t rule)
{
    int32_t way = s->g->rule[rule].first;
    s->colour[rule] = 1;
    s->path[s->n++] = (Frame){rule, way, s->g->way[way].first};
}

/* The next rule that the last one on the path may begin with; -1: none is left.  A repetition's own end is left out:
 * the matcher sees that it was there. */
static int32_t next_beginning(const Search *s)
{
    Frame *p = &s->path[s->n - 1];
    while (p->way >= 0) {
        const Element e = s->g->element[p->element];
        bool rule = e.kind == RULE_HERE, over = e.kind == WAY_ENDS || e.kind == ONE_BYTE || !s->empty[e.value];
        if (!over) p->element++;
        else if ((p->way = s->g->way[p->way].next) >= 0) p->element = s->g->way[p->way].first;
        if (rule && !(e.value == p->rule && s->g->rule[p->rule].repeats)) return e.value;
    }
    return -1;
}

/* Of the rules from `rule` to the end of the path one with a name. */
static int32_t named_on_path(const Search *s, int32_t rule)
{
    int32_t i = s->n - 1, named = rule;
    for (;; i--) {
        if (s->g->rule[s->path[i].rule].name) named = s->path[i].rule;
        if (s->path[i].rule == rule) return named;
    }
}

static int32_t circle_from(Search *s, int32_t rule)
{
    enter_rule(s, rule);
    while (s->n) {
        int32_t to = next_beginning(s);
        if (to < 0) s->colour[s->path[--s->n].rule] = 2;
        else if (s->colour[to] == 1) return named_on_path(s, to);
        else if (s->colour[to] == 0) enter_rule(s, to);
    }
    return -1;
}

static bool none_begins_with_itself(const Grammar *g, Grammar_fault *f)
{
    int32_t n = g->rules, found = -1;
    Search s = {g, must_alloc((size_t)n), must_alloc((size_t)n), must_alloc(sizeof *s.path * (size_t)n), 0};
    mark_rules(g, false, s.empty);
    for (int32_t r = 0; r < n && found < 0; r++)
        if (s.colour[r] == 0) found = circle_from(&s, r);
    free(s.empty);
    free(s.colour);
    free(s.path);
    return found < 0 ||
           refuse_rule(g, found, f, "begins with itself (left recursion): write it so that something comes first");
}

/* ------------------------------------------------------------------ all of it */

/* Splits the classes of bytes by each set. */
static void make_classes(Grammar *g)
{
    g->classes = 1;
    memset(g->class_of, 0, sizeof g->class_of);
    for (int32_t i = 0; i < g->elements && g->classes < 256; i++) {
        if (g->element[i].kind != ONE_BYTE) continue;
        int32_t inside[256];
        bool outside[256] = {false};
        const Byte_set *s = &g->set[g->element[i].value];
        memset(inside, -1, sizeof inside);
        for (int b = 0; b < 256; b++)
            if (!set_has(s, b)) outside[g->class_of[b]] = true;
        for (int b = 0; b < 256; b++) {
            int32_t *to = &inside[g->class_of[b]];
            if (!set_has(s, b) || !outside[g->class_of[b]]) continue;
            if (*to < 0) *to = g->classes++;
            g->class_of[b] = (uint8_t)*to;
        }
    }
}

bool check_grammar(Grammar *g, Grammar_fault *f)
{
    for (int32_t r = 0; r < g->rules; r++)
        if (!g->rule[r].defined) return refuse_rule(g, r, f, "is used here, and nowhere defined");
    if (g->root < 0) {
        snprintf(f->words, sizeof f->words, "there is no rule \"root\", with which texts begin");
        return false;
    }
    if (!all_end(g, f) || !none_begins_with_itself(g, f)) return false;
    make_classes(g);
    return true;
}
