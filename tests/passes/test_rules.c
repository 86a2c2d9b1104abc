/* test_rules.c: both sides of every rule of passes/rules.def have the same value, for every type the rule fits, on random and
 * on odd numbers; and the rule is the one that applies. */
#include "harness.h"
#include "passes/simplify.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

enum { WIDTH = 40 }; /* numbers tried at once */
static const Shape shape = {.rank = 1, .dim = {WIDTH}};

/* What letters stand for in one trial. */
typedef struct Trial {
    const Rules *rules;
    Node *bound[26];
    DType any;   /* the type of a, b, c */
    DType whole; /* the type of a cast or a number that is the whole */
    uint64_t seed;
} Trial;

static DType letter_type(char letter, const Trial *t)
{
    if (strchr("ijkmn", letter)) return I32;
    if (strchr("pq", letter)) return BOOL;
    return strchr("xyz", letter) ? F64 : t->any;
}

static void bind(const Pattern *p, Trial *t)
{
    for (int i = 0; i < p->n; i++) bind(p->in[i], t);
    if (p->kind != LETTER || t->bound[p->letter - 'a']) return;
    DType type = letter_type(p->letter, t);
    Rng r = rng_of(t->seed + (uint64_t)p->letter);
    bool constant = strchr("mn", p->letter);
    t->bound[p->letter - 'a'] = constant ? filled((double)below(&r, 4000000000) - 2e9, type, shape)
                                         : input_node(format("%c_%s", p->letter, dtype_name(type)), type, shape);
}

/* Made as written, without simplifying; NULL where the types do not fit. */
static Node *made(const Pattern *p, const Trial *t, DType type)
{
    Node *in[3] = {0};
    if (p->kind == NUMBER) return filled(p->value, type, shape);
    if (p->kind == LETTER) return t->bound[p->letter - 'a'];
    for (int i = 0; i < p->n; i++)
        if (p->in[i]->kind != NUMBER && !(in[i] = made(p->in[i], t, t->whole))) return NULL;
    DType other = t->any;
    for (int i = p->n; i-- > 0;)
        if (in[i] && !(p->op == OP_where && i == 0)) other = in[i]->dtype;
    for (int i = 0; i < p->n; i++)
        if (!in[i]) in[i] = filled(p->in[i]->value, p->op == OP_where && i == 0 ? BOOL : other, shape);
    bool truth = same(op_info[p->op].class, "CMP");
    Node key = {.op = p->op, .shape = shape, .nin = p->n, .in = in};
    key.dtype = truth ? BOOL : p->op == OP_cast ? type : in[p->n - 1]->dtype;
    return node_fault(&key) ? NULL : intern(key);
}

/* ------------------------------------------------------------------ values */

static Value feed(void *user, const Node *leaf)
{
    static const double odd[] = {0, -0.0, 1, -1, INFINITY, -INFINITY, NAN, 1e-300, 1e300, 0.5, -2.5};
    static const double whole[] = {0, 1, -1, 2147483647, -2147483648.0, 7};
    Rng r = rng_of(hash_bytes(leaf->name, strlen(leaf->name), *(uint64_t *)user));
    Value v = {.shape = leaf->shape, .at = NEW_ARRAY(double, WIDTH)};
    for (int i = 0; i < WIDTH; i++) {
        bool special = below(&r, 2) == 0;
        if (leaf->dtype == BOOL) v.at[i] = (double)below(&r, 2);
        else if (leaf->dtype == I32)
            v.at[i] = special ? whole[below(&r, COUNT_OF(whole))] : (double)below(&r, 4000000000) - 2e9;
        else v.at[i] = special ? odd[below(&r, COUNT_OF(odd))] : normal(&r);
    }
    return v;
}

static const double *evaluated(Node *n, uint64_t seed)
{
    Graph g = {.name = "eval"};
    Value v;
    push(&g.outs, ((Output){OUT_VALUE, "value", n}));
    eval_graph(&g, feed, &seed, &v);
    return v.at;
}

static bool same_values(const double *a, const double *b)
{
    for (int i = 0; i < WIDTH; i++)
        if (a[i] != b[i] && !(isnan(a[i]) && isnan(b[i]))) return false;
    return true;
}

/* ------------------------------------------------------------------ rules */

static bool try_rule(int k, Trial *t)
{
    const Pattern *from = parse_pattern(rule_texts[k].from), *to = parse_pattern(rule_texts[k].to);
    bind(from, t);
    Node *left = made(from, t, t->whole);
    if (!left) return false;
    Node *right = made(to, t, left->dtype), *step = by_rules(t->rules, left), *whole = simplified(t->rules, left);
    const char *rule = format("\"%s\" to \"%s\" for %s", rule_texts[k].from, rule_texts[k].to, dtype_name(t->any));
    if (!expect(right, "%s: the right side has no type", rule)) return true;
    expect(right->dtype == left->dtype, "%s: the type changes", rule);
    const double *x = evaluated(left, t->seed);
    expect(same_values(x, evaluated(right, t->seed)), "%s: the values differ", rule);
    if (!expect(step, "%s: no rule applies", rule)) return true;
    expect(same_values(x, evaluated(step, t->seed)), "%s: what is built differs", rule);
    expect(same_values(x, evaluated(whole, t->seed)), "%s: the simplified value differs", rule);
    return true;
}

static void test_rule(const Rules *rules, int k)
{
    bool fits = false;
    for (int any = 0; any <= F64; any++) /* what is computed with */
        for (int whole = 0; whole <= F64; whole++)
            for (uint64_t seed = 0; seed < 3; seed++) {
                if (any == F32 || whole == F32) continue; /* the interpreter computes in doubles */
                Trial t = {.rules = rules, .any = (DType)any, .whole = (DType)whole, .seed = seed};
                fits |= try_rule(k, &t);
            }
    expect(fits, "\"%s\" fits no type", rule_texts[k].from);
}

int main(void)
{
    const Rules *rules = read_rules();
    for (int k = 0; k < rule_count; k++) test_rule(rules, k);
    printf("%d rules\n", rule_count);
    return finish();
}
