/* pass_precision.c: what --precision asks for, and the type of reals.  Traced graphs are in F32, which stays for all
 * but fp64; that makes every real of it F64: leaves, constants, and what is computed of them. */
#include "lathe.h"

/* The last is of tests: the roundings of bf16 alone. */
static const Precision precisions[] = {
    {.name = "fp32", .real = F32, .saved = F32},  {.name = "tf32", .real = F32, .saved = F32, .tf32 = true},
    {.name = "bf16", .real = F32, .saved = BF16}, {.name = "fp16", .real = F32, .saved = F16, .scaled = true},
    {.name = "fp64", .real = F64, .saved = F64},  {.name = "fp64-bf16", .real = F64, .saved = BF16},
};

static DType type_of_weights(DType real)
{
    return options.parameters && same(options.parameters, "bf16") ? BF16 : real;
}

static _Noreturn void refuse_precision(void)
{
    usage_error("--precision %s: expected fp32, tf32, bf16, fp16 or fp64", options.precision);
}

/* What is asked for, as far as the target goes along. */
const Precision *precision(void)
{
    static Precision asked;
    int i = 0;
    while (options.precision && i < COUNT_OF(precisions) && !same(options.precision, precisions[i].name)) i++;
    if (i == COUNT_OF(precisions)) refuse_precision();
    asked = precisions[i];
    asked.multiplied = asked.real == F32 && options.target->narrow_products ? asked.saved : asked.real;
    asked.weights = type_of_weights(asked.real);
    return &asked;
}

void check_precision(void)
{
    if (same(precision()->name, precisions[COUNT_OF(precisions) - 1].name)) refuse_precision();
    if (precision()->tf32 && !options.target->narrow_products)
        usage_error("--precision tf32: how a GPU multiplies (--target cuda); a CPU has fp32, bf16, fp16 and fp64");
    if (options.parameters && !same(options.parameters, "fp32") && !same(options.parameters, "bf16"))
        usage_error("--parameters %s: expected fp32 or bf16", options.parameters);
    if (precision()->weights == BF16 && !same(precision()->name, "bf16"))
        usage_error("--parameters bf16 goes with --precision bf16, and not with %s", precision()->name);
    if (options.parameters && precision()->real == F64)
        usage_error("--parameters %s: with --precision fp64 they are in 64 bits", options.parameters);
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
