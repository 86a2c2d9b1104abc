/* simplify_rules.c: rewrite rules read from passes/rules.def, indexed by the op that they start with. */
#include "passes/simplify.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

const Rule_text rule_texts[] = {
#define RULE(from, to) {from, to},
#include "passes/rules.def"
};
const int rule_count = COUNT_OF(rule_texts);

typedef struct Rule {
    Pattern *from, *to;
    struct Rule *next; /* of the same op */
} Rule;
struct Rules {
    Rule *of[OPS]; /* the first of each op */
};

/* ------------------------------------------------------------------ reading */

static Op op_by_name(const char *name, size_t n)
{
    for (int i = 0; i < OPS; i++)
        if (strlen(op_info[i].name) == n && strncmp(op_info[i].name, name, n) == 0) return (Op)i;
    die("no operation is called %.*s", (int)n, name);
}

static Pattern *read_pattern(const char **at)
{
    Pattern *p = NEW(Pattern);
    while (**at == ' ') ++*at;
    if (!isalpha((unsigned char)**at)) {
        char *end;
        *p = (Pattern){.kind = NUMBER, .value = strtod(*at, &end)};
        must(end != *at);
        *at = end;
        return p;
    }
    size_t n = strcspn(*at, "(), ");
    const char *name = *at;
    *at += n;
    if (**at != '(') {
        must(n == 1 && islower((unsigned char)*name));
        *p = (Pattern){.kind = LETTER, .letter = *name};
        return p;
    }
    *p = (Pattern){.kind = CALL, .op = op_by_name(name, n)};
    do {
        ++*at;
        must(p->n < 3);
        p->in[p->n++] = read_pattern(at);
    } while (**at == ',');
    must(*(*at)++ == ')' && p->n == op_info[p->op].arity);
    return p;
}

Pattern *parse_pattern(const char *text)
{
    Pattern *p = read_pattern(&text);
    if (*text) die("a rule ends in '%s'", text);
    return p;
}

const Rules *read_rules(void)
{
    Rules *rules = NEW(Rules);
    for (int i = rule_count; i-- > 0;) {
        Rule *r = NEW(Rule);
        *r = (Rule){parse_pattern(rule_texts[i].from), parse_pattern(rule_texts[i].to), NULL};
        must(r->from->kind == CALL);
        r->next = rules->of[r->from->op];
        rules->of[r->from->op] = r;
    }
    return rules;
}

/* ------------------------------------------------------------------ matching */

static bool commutes(Op op)
{
    return op == OP_add || op == OP_mul || op == OP_bitand || op == OP_bitxor || op == OP_land || op == OP_lor ||
           op == OP_eq || op == OP_ne;
}

static bool may_stand_for(char letter, const Node *n)
{
    if (strchr("ijk", letter)) return n->dtype == I32;
    if (strchr("pq", letter)) return n->dtype == BOOL;
    if (strchr("xyz", letter)) return is_real(n->dtype);
    if (strchr("mn", letter)) return is_filled(n, NULL);
    return true;
}

static bool rule_matches(const Pattern *p, Node *n, Node **bound);

/* Matches the inputs in order, or exchanged (swapped).  A failed try leaves nothing bound. */
static bool matches_inputs(const Pattern *p, Node *n, Node **bound, bool swapped)
{
    Node *before[26];
    memcpy(before, bound, sizeof before);
    for (int i = 0; i < p->n; i++) {
        if (rule_matches(p->in[i], n->in[swapped ? 1 - i : i], bound)) continue;
        memcpy(bound, before, sizeof before);
        return false;
    }
    return true;
}

static bool rule_matches(const Pattern *p, Node *n, Node **bound)
{
    double value;
    switch (p->kind) {
    case NUMBER: return is_filled(n, &value) && value == p->value;
    case LETTER: {
        Node **place = &bound[p->letter - 'a'];
        if (!*place && may_stand_for(p->letter, n)) *place = n;
        return *place == n;
    }
    case CALL:
        if (n->op != p->op) return false;
        return matches_inputs(p, n, bound, false) || (commutes(p->op) && matches_inputs(p, n, bound, true));
    }
    return false;
}

/* ------------------------------------------------------------------ building */

static Node *call(Op op, int nin, Node *const *in, DType t)
{
    if (op == OP_where) return where_op(in[0], in[1], in[2]);
    if (op == OP_cast) return cast_op(in[0], t);
    if (op == OP_stop_gradient) return stop_gradient(in[0]);
    return map_op(op, nin, in);
}

/* The dtype of a call's inputs: of its first letter. */
static DType type_inside(const Pattern *p, Node *const bound[26], DType otherwise)
{
    if (p->kind == LETTER) return bound[p->letter - 'a']->dtype;
    for (int i = 0; i < p->n; i++)
        if (p->in[i]->kind != NUMBER) return type_inside(p->in[i], bound, otherwise);
    return otherwise;
}

Node *built(const Rules *rules, const Pattern *p, Node *const bound[26], DType t, Shape s)
{
    if (p->kind == NUMBER) return filled(p->value, t, s);
    if (p->kind == LETTER) {
        if (!bound[p->letter - 'a']) die("a rule's right side has the unknown letter %c", p->letter);
        return bound[p->letter - 'a'];
    }
    Node *in[3];
    for (int i = 0; i < p->n; i++) in[i] = built(rules, p->in[i], bound, type_inside(p, bound, t), s);
    return simplified(rules, call(p->op, p->n, in, t));
}

Node *by_rules(const Rules *rules, Node *n)
{
    for (const Rule *r = rules->of[n->op]; r; r = r->next) {
        Node *bound[26] = {0};
        if (rule_matches(r->from, n, bound)) return built(rules, r->to, bound, n->dtype, n->shape);
    }
    return NULL;
}
