/* pass_precision.c: what --precision asks for, and the type of reals.  Traced graphs are in F32, which stays for all
 * but fp64; that makes every real of it F64: leaves, constants, and what is computed of them. */
#include "lathe.h"

/* The last is of tests: the roundings of bf16 alone. */
static const Precision precisions[] = {
    {"fp32", F32, F32},
    {"fp64", F64, F64},
    {"bf16", F32, BF16},
    {"fp64-bf16", F64, BF16},
};

static _Noreturn void refuse_precision(void)
{
    usage_error("--precision %s: expected fp32, bf16 or fp64", options.precision);
}

const Precision *precision(void)
{
    for (int i = 0; i < COUNT_OF(precisions); i++)
        if (!options.precision || same(options.precision, precisions[i].name)) return &precisions[i];
    refuse_precision();
}

void check_precision(void)
{
    if (precision() == &precisions[COUNT_OF(precisions) - 1]) refuse_precision();
}

static Node *widened(Rewrite *r, Node *old, Node *const *in)
{
    (void)r;
    if (old->op == OP_cast && is_real(old->dtype) && is_real(old->in[0]->dtype)) return in[0];
    if (old->dtype != F32 || old->op == OP_pick) return NULL;
    Node key = *old;
    key.in = (Node **)in;
    key.dtype = F64;
    return intern(key);
}

void pass_precision(Graph *g, const Desc *d)
{
    (void)d;
    Rewrite r = {.node = widened};
    if (precision()->real == F64) rewrite_graph(&r, g);
}
