/* precision.c: what --precision asks for, and the type of reals.  Traced graphs are in F32, which stays for all
 * but fp64; that makes every real of it F64: leaves, constants, and what is computed of them.
 *
 * bf16 and fp16 store values in 16 bits and compute in fp32: passes/store.c rounds what backward reads of forward, so
 * the forward part has the bits of fp32, and gradients are off by about 2^-9 (bf16) or 2^-12 (fp16).  On a GPU
 * passes/narrow.c gives products and attention operands of 16 bits, as torch.autocast does; their sums run in fp32.
 * Norms, softmax, losses, carries, reductions and the update stay in fp32.  tf32 is a kind of product and nothing else;
 * a CPU refuses it.  Under fp16 the loss has a scale (runtime/step/scale.h). */
#include "desc/target.h"
#include "passes/passes.h"

/* The last is of tests: the roundings of bf16 alone. */
static const Precision precisions[] = {
    {.name = "fp32", .real = F32, .saved = F32},  {.name = "tf32", .real = F32, .saved = F32, .tf32 = true},
    {.name = "bf16", .real = F32, .saved = BF16}, {.name = "fp16", .real = F32, .saved = F16, .scaled = true},
    {.name = "fp64", .real = F64, .saved = F64},  {.name = "fp64-bf16", .real = F64, .saved = BF16},
};

static DType type_of_weights(const Options *o, DType real)
{
    return o->parameters && same(o->parameters, "bf16") ? BF16 : real;
}

static _Noreturn void refuse_precision(const Options *o)
{
    usage_error("--precision %s: expected fp32, tf32, bf16, fp16 or fp64", o->precision);
}

/* The precision that the options ask for, as far as the target supports it. */
Precision precision_of(const Options *o)
{
    int i = 0;
    while (o->precision && i < COUNT_OF(precisions) && !same(o->precision, precisions[i].name)) i++;
    if (i == COUNT_OF(precisions)) refuse_precision(o);
    Precision asked = precisions[i];
    asked.multiplied = asked.real == F32 && o->target->narrow_products ? asked.saved : asked.real;
    asked.weights = type_of_weights(o, asked.real);
    return asked;
}

static void check_cache(const Options *o, const Precision *p)
{
    bool narrow = cache_type(o) != F32;
    if (o->cache && !narrow && !same(o->cache, "fp32"))
        usage_error("--cache %s: expected fp32, bf16 or q8_0", o->cache);
    if (narrow && !o->target->loops) usage_error("--cache %s: for a CPU only; a GPU's has the type of reals", o->cache);
    if (narrow && p->real == F64) usage_error("--cache %s: with --precision fp64 it has 64 bits", o->cache);
}

void check_precision(const Options *o)
{
    Precision p = precision_of(o);
    check_cache(o, &p);
    if (same(p.name, precisions[COUNT_OF(precisions) - 1].name)) refuse_precision(o);
    if (p.tf32 && !o->target->narrow_products)
        usage_error("--precision tf32: how a GPU multiplies (--target cuda); a CPU has fp32, bf16, fp16 and fp64");
    if (o->parameters && !same(o->parameters, "fp32") && !same(o->parameters, "bf16") && !only_answers(o))
        usage_error("--parameters %s: expected fp32, bf16, q8_0 or q4_0; the latter two also for some matrices, as "
                    "q4_0,PATTERN=q8_0",
                    o->parameters);
    if (only_answers(o) && (o->lora || o->frozen))
        usage_error("--parameters %s trains nothing; --lora trains adapters beside weights in %s with --frozen %s",
                    o->parameters, o->parameters, o->parameters);
    if (p.weights == BF16 && !same(p.name, "bf16"))
        usage_error("--parameters bf16 goes with --precision bf16, and not with %s", p.name);
    const char *fault = block_types(o).fault;
    if (fault || (o->frozen && !*o->frozen))
        usage_error("--frozen %s: expected fp32, q8_0 or q4_0, and behind it, for some of the matrices, PATTERN=TYPE, "
                    "separated by commas%s",
                    o->frozen, fault && !same(fault, o->frozen) ? format("; found '%s'", fault) : "");
    if (has_blocks(o) && !o->target->loops)
        usage_error("%s: for a CPU only; a GPU's weights are fp32, or bf16 (--parameters bf16)", block_option(o));
    if (o->parameters && p.real == F64)
        usage_error("--parameters %s: with --precision fp64 they are in 64 bits", o->parameters);
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
    Rewrite r = {.node = widened};
    if (precision_of(d->options).real == F64) rewrite_graph(&r, g);
}
