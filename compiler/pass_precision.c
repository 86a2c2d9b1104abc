/* pass_precision.c: gives reals the type that --precision asks for.  Traced graphs are in F32, which stays for fp32;
 * fp64 makes every real of it F64: leaves, constants, and what is computed of them. */
#include "lathe.h"

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
    const char *wanted = options.precision;
    if (!wanted || same(wanted, "fp32")) return;
    if (!same(wanted, "fp64")) usage_error("unknown precision '%s': expected fp32 or fp64", wanted);
    Rewrite r = {.node = widened};
    rewrite_graph(&r, g);
}
