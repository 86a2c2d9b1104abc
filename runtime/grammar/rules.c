/* rules.c: the parts that a grammar is made of: rules, ways, sets of bytes, repetitions. */
#include "grammar/rules.h"

#include <stdlib.h>
#include <string.h>

static void *room_for(void *at, int32_t n, int32_t *room, size_t size)
{
    if (n < *room) return at;
    *room = 2 * n + 16;
    return must_grow(at, size * (size_t)*room);
}

Grammar *new_grammar(void)
{
    Grammar *g = must_alloc(sizeof *g);
    g->root = -1;
    for (int b = 0; b < 256; b++) {
        Byte_set one = {0};
        one.bit[b >> 6] = UINT64_C(1) << (b & 63);
        add_set(g, &one);
    }
    return g;
}

void free_grammar(Grammar *g)
{
    if (!g) return;
    for (int32_t i = 0; i < g->rules; i++) free(g->rule[i].name);
    free(g->rule);
    free(g->way);
    free(g->element);
    free(g->set);
    free(g);
}

int32_t add_rule(Grammar *g, const char *name)
{
    if (g->rules == MOST_RULES) return -1;
    g->rule = room_for(g->rule, g->rules, &g->rule_room, sizeof *g->rule);
    g->rule[g->rules] = (Rule){.name = name ? text_of("%s", name) : NULL, .first = -1, .last = -1, .defined = !name};
    return g->rules++;
}

static bool put_element(Grammar *g, Element e)
{
    if (g->elements == MOST_ELEMENTS) return false;
    g->element = room_for(g->element, g->elements, &g->element_room, sizeof *g->element);
    g->element[g->elements++] = e;
    return true;
}

bool add_way(Grammar *g, int32_t rule, const Element *e, int32_t n)
{
    g->way = room_for(g->way, g->ways, &g->way_room, sizeof *g->way);
    g->way[g->ways] = (Way){rule, g->elements, -1};
    Rule *r = &g->rule[rule];
    if (r->first < 0) r->first = g->ways;
    else g->way[r->last].next = g->ways;
    r->last = g->ways++;
    for (int32_t i = 0; i < n; i++)
        if (!put_element(g, e[i])) return false;
    return put_element(g, (Element){WAY_ENDS, 0});
}

int32_t add_set(Grammar *g, const Byte_set *s)
{
    if (g->sets == MOST_SETS) return -1;
    g->set = room_for(g->set, g->sets, &g->set_room, sizeof *g->set);
    g->set[g->sets] = *s;
    return g->sets++;
}

bool add_element(Part *p, Element_kind kind, int32_t value)
{
    if (value < 0 || p->n == MOST_ELEMENTS) return false;
    p->at = room_for(p->at, p->n, &p->room, sizeof *p->at);
    p->at[p->n++] = (Element){kind, value};
    return true;
}

/* ------------------------------------------------------------------ repetitions */

/* A rule: `body` and then `rest` (NULL: the rule again), or nothing. */
static int32_t perhaps_more(Grammar *g, Element body, const Element *rest, int32_t rests)
{
    int32_t rule = add_rule(g, NULL);
    if (rule < 0) return -1;
    Element way[2] = {body, rest ? *rest : (Element){RULE_HERE, rule}};
    g->rule[rule].repeats = !rest;
    return add_way(g, rule, way, 1 + rests) && add_way(g, rule, NULL, 0) ? rule : -1;
}

/* The optional ones are nested, so that a text has one way to be read. */
static bool add_optional(Grammar *g, Part *p, Element body, int32_t times)
{
    Element inner = {0};
    for (int32_t i = 0; i < times; i++) {
        int32_t rule = perhaps_more(g, body, &inner, i > 0);
        if (rule < 0) return false;
        inner = (Element){RULE_HERE, rule};
    }
    return times == 0 || add_element(p, inner.kind, inner.value);
}

bool repeat_part(Grammar *g, Part *p, int32_t from, int32_t least, int32_t most)
{
    Element body;
    if (p->n == from) return true;
    if (p->n == from + 1) {
        body = p->at[from];
    } else {
        body = (Element){RULE_HERE, add_rule(g, NULL)};
        if (body.value < 0 || !add_way(g, body.value, p->at + from, p->n - from)) return false;
    }
    p->n = from;
    for (int32_t i = 0; i < least; i++)
        if (!add_element(p, body.kind, body.value)) return false;
    if (most == ALL_TIMES) return add_element(p, RULE_HERE, perhaps_more(g, body, NULL, 1));
    return add_optional(g, p, body, most - least);
}
