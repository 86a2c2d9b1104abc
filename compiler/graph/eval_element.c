/* eval_element.c: the interpreter's arithmetic: one element of a map, one step of a reduction, rounding to a type.  I32
 * wraps around as in hardware. */
#include "graph/eval.h"
#include "runtime/math/double.h"

#include <math.h>
#include <string.h>

void philox4x32(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4])
{
    uint32_t c[4] = {counter[0], counter[1], counter[2], counter[3]}, k0 = key[0], k1 = key[1];
    for (int round = 0; round < 10; round++) {
        uint64_t p = (uint64_t)0xD2511F53u * c[0], q = (uint64_t)0xCD9E8D57u * c[2];
        uint32_t next[4] = {(uint32_t)(q >> 32) ^ c[1] ^ k0, (uint32_t)q, (uint32_t)(p >> 32) ^ c[3] ^ k1, (uint32_t)p};
        memcpy(c, next, sizeof c);
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    memcpy(out, c, sizeof c);
}

static uint32_t word(double x) { return (uint32_t)(int64_t)x; }
static int64_t wrapped(int64_t x) { return (int32_t)(uint32_t)(uint64_t)x; }

static double philox_word(double seed, double step, double site, double row, double index)
{
    uint32_t counter[] = {word(index) / 4, word(row), word(step), 0}, key[] = {word(seed), word(site)}, out[4];
    philox4x32(counter, key, out);
    return (double)(int32_t)out[word(index) % 4];
}

static int64_t floor_quotient(int64_t a, int64_t b) { return b == 0 ? 0 : a / b - (a % b != 0 && (a < 0) != (b < 0)); }
static int64_t floor_mod(int64_t a, int64_t b) { return b == 0 ? a : a - floor_quotient(a, b) * b; }

/* The words of graph/ops.def; MAX and MIN pass NaNs on. */
#define ABS(x)    ((x) < 0 ? -(x) : (x) + 0)
#define SIGN(x)   ((x) > 0 ? 1 : (x) < 0 ? -1 : (x))
#define EXP       exp_f64
#define EXPM1     expm1_f64
#define LOG       log_f64
#define SQRT      sqrt
#define RSQRT(x)  (1 / sqrt(x))
#define SIN       sin_f64
#define COS       cos_f64
#define TANH      tanh_f64
#define ERF       erf_f64
#define FLOOR     floor
#define POW       pow_f64
#define MAX(x, y) ((x) >= (y) || (x) != (x) ? (x) : (y))
#define MIN(x, y) ((x) <= (y) || (x) != (x) ? (x) : (y))
#define IDIV      floor_quotient
#define MOD       floor_mod
#define ULT(x, y) (word(x) < word(y))
#define PHILOX    philox_word
#define U01(x)    ((word(x) >> 8) / 16777216.0)

/* Each map as a function of doubles; maps that take integers also as one of 64-bit integers. */
typedef double real;
typedef double T; /* cast: fit_type() converts */
#define REALS(name, text)                                                                                              \
    static real real_##name(real a, real b, real c, real d, real e)                                                    \
    {                                                                                                                  \
        (void)a, (void)b, (void)c, (void)d, (void)e;                                                                   \
        return text;                                                                                                   \
    }
#define INTEGERS(name, text)                                                                                           \
    static int64_t int_##name(int64_t a, int64_t b)                                                                    \
    {                                                                                                                  \
        (void)a, (void)b;                                                                                              \
        return text;                                                                                                   \
    }
#define DEFINE_REAL(name, text)                      REALS(name, text)
#define DEFINE_NUM(name, text)                       REALS(name, text) INTEGERS(name, text)
#define DEFINE_INT(name, text)                       INTEGERS(name, text)
#define MAP1(name, class, text, da, domain, doc)     DEFINE_##class(name, (text))
#define MAP2(name, class, text, da, db, domain, doc) DEFINE_##class(name, (text))
#define CMP2(name, text, doc)                        REALS(name, (text))
#define LOGIC1(name, text, doc)                      REALS(name, (text))
#define LOGIC2(name, text, doc)                      REALS(name, (text))
#define MAPX(name, arity, text, doc)                 REALS(name, (text))
#include "graph/ops_default.h"
#include "graph/ops.def"

static real (*const real_map[OPS])(real, real, real, real, real) = {
#define ENTRY_REAL(name) [OP_##name] = real_##name,
#define ENTRY_NUM(name)  [OP_##name] = real_##name,
#define ENTRY_INT(name)
#define MAP1(name, class, text, da, domain, doc)     ENTRY_##class(name)
#define MAP2(name, class, text, da, db, domain, doc) ENTRY_##class(name)
#define CMP2(name, text, doc)                        [OP_##name] = real_##name,
#define LOGIC1(name, text, doc)                      [OP_##name] = real_##name,
#define LOGIC2(name, text, doc)                      [OP_##name] = real_##name,
#define MAPX(name, arity, text, doc)                 [OP_##name] = real_##name,
#include "graph/ops_default.h"
#include "graph/ops.def"
};

static int64_t (*const int_map[OPS])(int64_t, int64_t) = {
#undef ENTRY_REAL
#undef ENTRY_NUM
#undef ENTRY_INT
#define ENTRY_REAL(name)
#define ENTRY_NUM(name)                              [OP_##name] = int_##name,
#define ENTRY_INT(name)                              [OP_##name] = int_##name,
#define MAP1(name, class, text, da, domain, doc)     ENTRY_##class(name)
#define MAP2(name, class, text, da, db, domain, doc) ENTRY_##class(name)
#include "graph/ops_default.h"
#include "graph/ops.def"
};

/* x rounded to a number of binary digits, ties to even, fewer below 2^(least - 1); infinite above the largest. */
static double rounded(double x, int digits, int least, double largest)
{
    int exponent;
    if (!isfinite(x)) return x;
    frexp(x, &exponent);
    double unit = ldexp(1, (exponent > least ? exponent : least) - digits), y = nearbyint(x / unit) * unit;
    return fabs(y) > largest ? copysign(INFINITY, x) : y;
}

bool eval_rounds_stored = true;

/* x as a value of dtype t: 16-bit reals via float, as in C; reals to integers truncate, out of range as on x86; bools
 * are 0 or 1. */
static double fit_type(DType t, double x)
{
    if (t == BOOL) return x != 0;
    if (is_stored(t) && !eval_rounds_stored) return x;
    if (t == BF16) return rounded((double)(float)x, 8, -125, 0x1.fep127);
    if (t == F16) return rounded((double)(float)x, 11, -13, 65504);
    if (t != I32) return x;
    return x > -2147483649.0 && x < 2147483648.0 ? trunc(x) : -2147483648.0;
}

/* 32 neighbours as Q8_0 has them: a code of -127 … 127 each, and a scale that is rounded to 16 bits behind the codes.
 */
static void round_block(double *x)
{
    float most = 0, inverse;
    for (int i = 0; i < LATHE_BLOCK; i++) most = fmaxf(most, fabsf((float)x[i]));
    inverse = most > 0 ? 1 / (most / 127) : 0;
    double scale = fit_type(F16, most / 127);
    for (int i = 0; i < LATHE_BLOCK; i++) x[i] = scale * roundf((float)x[i] * inverse);
}

void eval_stored(DType t, Value *v)
{
    if (t == Q8_0) {
        for (int64_t i = 0; eval_rounds_stored && i < elements(v->shape); i += LATHE_BLOCK) round_block(v->at + i);
        return;
    }
    for (int64_t i = 0; i < elements(v->shape); i++) v->at[i] = fit_type(t, v->at[i]);
}

double eval_element(Op op, DType operands, DType result, const double *in)
{
    int arity = op_info[op].arity;
    if (operands == I32 && int_map[op])
        return (double)wrapped(int_map[op]((int64_t)in[0], arity > 1 ? (int64_t)in[1] : 0));
    double x[5] = {0};
    for (int i = 0; i < arity; i++) x[i] = in[i];
    return fit_type(result, real_map[op](x[0], x[1], x[2], x[3], x[4]));
}

static double stepped(Op op, double r, double a)
{
    switch (op) {
#define RED(name, start, step, doc)                                                                                    \
    case OP_##name:                                                                                                    \
        return step;
#include "graph/ops_default.h"
#include "graph/ops.def"
    default: die("%s is no reduction", op_info[op].name);
    }
}

double reduce_start(Op op)
{
    switch (op) {
#define RED(name, start, step, doc)                                                                                    \
    case OP_##name:                                                                                                    \
        return start;
#include "graph/ops_default.h"
#include "graph/ops.def"
    default: die("%s is no reduction", op_info[op].name);
    }
}

double reduce_step(Op op, DType t, double r, double a)
{
    double x = stepped(op, r, a);
    return t == I32 && isfinite(x) ? (double)wrapped((int64_t)x) : x;
}
