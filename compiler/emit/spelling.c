/* spelling.c: common algebra as a person writes it: sigmoid_f32(x) for 0.5f + 0.5f * tanh_f32(0.5f * x). The
 * runtime's sigmoid_f32 computes just that, so the bits are the same. */
#include "emit/emit.h"

#include <string.h>

static const char *behind(const char *text, const char *start)
{
    size_t n = strlen(start);
    return text && strncmp(text, start, n) == 0 ? text + n : NULL;
}

/* Does the parenthesis that opens here close at the last character? */
static bool closes_last(const char *s)
{
    for (int open = 1; *s; s++) {
        open += (*s == '(') - (*s == ')');
        if (!open) return !s[1];
    }
    return false;
}

const Node *beneath_views(const Node *n)
{
    while (is_view(n) && !is_filled(n, NULL)) n = n->in[0];
    return n;
}

/* If n is 0.5 * x, its x; else NULL. */
static const Node *of_half(const Node *n)
{
    double half;
    n = beneath_views(n);
    return n->op == OP_mul && is_filled(n->in[0], &half) && half == 0.5 ? n->in[1] : NULL;
}

static bool is_sigmoid(const Node *n)
{
    double half;
    if (n->op != OP_add || !is_filled(n->in[0], &half) || half != 0.5) return false;
    const Node *tanh = of_half(n->in[1]);
    return tanh && beneath_views(tanh)->op == OP_tanh && of_half(beneath_views(tanh)->in[0]);
}

Expr as_written(const Node *n, Expr e)
{
    static const struct {
        const char *half, *tanh, *sigmoid;
    } kinds[] = {{"0.5f", "tanh_f32(", "sigmoid_f32("},
                 {"0.5f", "quick_tanh_f32(", "quick_sigmoid_f32("},
                 {"0.5", "tanh_f64(", "sigmoid_f64("},
                 {"0.5", "tanh(", "sigmoid("}};
    for (int i = 0; i < COUNT_OF(kinds) && is_sigmoid(n); i++) {
        const char *half = kinds[i].half, *inner = behind(e.text, format("%s + %s * %s", half, half, kinds[i].tanh));
        const char *x = inner && closes_last(inner) ? behind(inner, format("%s * ", half)) : NULL;
        int n = x ? (int)strlen(x) - 1 : 0;
        if (!x) continue;
        bool in_parentheses = *x == '(' && closes_last(copy_bytes_as_string(x + 1, (size_t)n - 1));
        return (Expr){in_parentheses ? format("%s%.*s", kinds[i].sigmoid, n - 1, x + 1)
                                     : format("%s%.*s)", kinds[i].sigmoid, n, x),
                      PRIMARY};
    }
    return e;
}
