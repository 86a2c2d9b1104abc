/* test_stored.c: reals in 16 bits (math/math.h): there and back, to the nearest, ties to even, against arithmetic in
 * doubles; in arrays, so that what is tested is what loops become. */
#include "harness.h"
#include "math/math.h"

#include <math.h>
#include <string.h>

enum { BATCH = 4096 };

typedef struct Format {
    const char *name;
    int digits, least; /* with the hidden one; exponent of the smallest normal number, as frexp counts */
    double largest;
} Format;

static const Format formats[] = {{"bf16", 8, -125, 0x1.fep127}, {"f16", 11, -13, 65504}};

/* x to the nearest of the format: two neighbours, and of equally near ones that with an even last digit. */
static double nearest_of(const Format *f, double x)
{
    int exponent;
    if (isnan(x) || isinf(x) || x == 0) return x;
    frexp(x, &exponent);
    double unit = ldexp(1, (exponent < f->least ? f->least : exponent) - f->digits);
    double below = floor(fabs(x) / unit), rest = fabs(x) / unit - below;
    double y = (below + (rest > 0.5 || (rest == 0.5 && fmod(below, 2) == 1))) * unit;
    return copysign(y > f->largest ? INFINITY : y, x);
}

static void there_and_back(int format, const float *x, float *y, uint16_t *to)
{
    if (format == 0) {
        for (int i = 0; i < BATCH; i++) to[i] = to_bf16_f32(x[i]);
        for (int i = 0; i < BATCH; i++) y[i] = from_bf16_f32(to[i]);
    } else {
        for (int i = 0; i < BATCH; i++) to[i] = to_f16_f32(x[i]);
        for (int i = 0; i < BATCH; i++) y[i] = from_f16_f32(to[i]);
    }
}

static int64_t check_batch(int format, const float *x)
{
    static float y[BATCH];
    static uint16_t to[BATCH];
    int64_t wrong = 0;
    there_and_back(format, x, y, to);
    for (int i = 0; i < BATCH; i++) {
        double want = nearest_of(&formats[format], x[i]);
        bool right = isnan(want) ? isnan(y[i]) != 0 : want == (double)y[i] && !signbit(want) == !signbit(y[i]);
        if (!right && wrong++ < 3) expect(false, "%s of %a is %a, not %a", formats[format].name, x[i], y[i], want);
    }
    return wrong;
}

/* Floats at even distances over all of them: a prime number of bits apart. */
static void check_all(int format)
{
    static float x[BATCH];
    int64_t wrong = 0, step = long_run() ? 1 : 509;
    int n = 0;
    for (int64_t bits = 0; bits < (int64_t)1 << 32; bits += step) {
        x[n++] = f32_of_bits((uint32_t)bits);
        if (n == BATCH) wrong += check_batch(format, x), n = 0;
    }
    expect(!wrong, "%s: %lld floats are rounded wrongly", formats[format].name, (long long)wrong);
}

/* Each number of the format is itself; half way to the next, and a float less or more. */
static void check_each(int format)
{
    static float x[BATCH];
    int n = 0;
    for (int bits = 0; bits < 65536; bits++) {
        float a = format ? from_f16_f32((f16)bits) : from_bf16_f32((bf16)bits);
        uint16_t back = format ? to_f16_f32(a) : to_bf16_f32(a);
        if (isnan(a)) expect(isnan(format ? from_f16_f32(back) : from_bf16_f32(back)), "a NaN is lost");
        else expect(back == bits, "%s %04x is %04x again", formats[format].name, bits, back);
        if (!isfinite(a)) continue;
        int exponent;
        frexp(a, &exponent);
        float half = ldexpf(1, (exponent < formats[format].least ? formats[format].least : exponent) -
                                   formats[format].digits - 1);
        const float near[] = {a + half, nextafterf(a + half, 0), nextafterf(a + half, INFINITY), a};
        memcpy(x + n, near, sizeof near);
        n += 4;
        if (n == BATCH) check_batch(format, x), n = 0;
    }
}

int main(void)
{
    for (int format = 0; format < COUNT_OF(formats); format++) {
        check_each(format);
        check_all(format);
    }
    expect(to_bf16_f64(1 + 0x1p-8 + 0x1p-40) == to_bf16_f32(1), "a double goes through a float");
    return finish();
}
