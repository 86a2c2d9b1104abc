/* draws.c: random bits as operators: Philox4x32-10, as runtime/math/philox.h has it, in integers of 64 bits.
 *
 * All numbers are 0 … 2^32 - 1.  Products are made of halves of a factor, so that none is beyond 2^63. */
#include "onnx/onnx.h"

static const char *low_half(Onnx *o, const char *a) { return operator_2(o, "BitwiseAnd", a, long_in_file(o, 0xffff)); }
static const char *high_half(Onnx *o, const char *a) { return operator_2(o, "Div", a, long_in_file(o, 1 << 16)); }

static const char *as_word(Onnx *o, const char *a)
{
    return operator_2(o, "BitwiseAnd", a, long_in_file(o, 0xffffffff));
}

static const char *both_bits(Onnx *o, const char *a, const char *b) { return operator_2(o, "BitwiseXor", a, b); }

/* The upper and the lower word of a · by. */
static void wide_product(Onnx *o, const char *a, int64_t by, const char **high, const char **low)
{
    const char *t = operator_2(o, "Mul", a, long_in_file(o, by & 0xffff));
    const char *u = operator_2(o, "Mul", a, long_in_file(o, by >> 16));
    const char *p = operator_2(o, "Add", u, high_half(o, t));
    *high = high_half(o, p);
    *low = operator_2(o, "Add", operator_2(o, "Mul", low_half(o, p), long_in_file(o, 1 << 16)), low_half(o, t));
}

static const char *next_key(Onnx *o, const char *key, int64_t by)
{
    return as_word(o, operator_2(o, "Add", key, long_in_file(o, by)));
}

static const char *word_in_file(Onnx *o, const char *a)
{
    return cast_in_file(o, cast_in_file(o, a, ONNX_U32), ONNX_I64);
}

/* As a number from -2^31. */
static const char *signed_word(Onnx *o, const char *a)
{
    const char *below = operator_2(o, "Less", a, long_in_file(o, 1ll << 31));
    return cast_in_file(o, operator_3(o, "Where", below, a, operator_2(o, "Sub", a, long_in_file(o, 1ll << 32))),
                        ONNX_I32);
}

static const char *choice_of_word(Onnx *o, const char *index, const char *const *c)
{
    const char *place = operator_2(o, "BitwiseAnd", index, long_in_file(o, 3)), *chosen = c[3];
    for (int k = 2; k >= 0; k--)
        chosen = operator_3(o, "Where", operator_2(o, "Equal", place, long_in_file(o, k)), c[k], chosen);
    return signed_word(o, chosen);
}

/* in: seed, step, site, row, index */
const char *philox_in_file(Onnx *o, const char *const *in)
{
    const char *index = word_in_file(o, in[4]), *k0 = word_in_file(o, in[0]), *k1 = word_in_file(o, in[2]);
    const char *c[4] = {operator_2(o, "Div", index, long_in_file(o, 4)), word_in_file(o, in[3]), word_in_file(o, in[1]),
                        long_in_file(o, 0)};
    for (int round = 0; round < 10; round++) {
        const char *high0, *low0, *high1, *low1;
        wide_product(o, c[0], 0xD2511F53, &high0, &low0);
        wide_product(o, c[2], 0xCD9E8D57, &high1, &low1);
        c[0] = both_bits(o, both_bits(o, high1, c[1]), k0);
        c[1] = low1;
        c[2] = both_bits(o, both_bits(o, high0, c[3]), k1);
        c[3] = low0;
        k0 = next_key(o, k0, 0x9E3779B9);
        k1 = next_key(o, k1, 0xBB67AE85);
    }
    return choice_of_word(o, index, c);
}
