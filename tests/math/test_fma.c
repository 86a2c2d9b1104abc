/* test_fma.c: math/fma.h's fma in software against the processor's instruction (libm's, where there is none), on
 * numbers of all sizes and on hard cases: sums that cancel all but the last bits, ties, results beside a tie, subnormal
 * results, overflow. */
#include "harness.h"
#include "math/fma.h"
#include <string.h>

static uint64_t state = 88172645463325252u;

static uint64_t drawn(void) /* Marsaglia's xorshift */
{
    state ^= state << 13, state ^= state >> 7;
    return state ^= state << 17;
}

static int any_below(int n) { return (int)(drawn() % (uint64_t)n); }

static const double special[] = {
    0,
    -0.0,
    INFINITY,
    -INFINITY,
    NAN,
    1,
    -1,
    0x1p-1074,
    -0x1p-1074,
    0x1p-1022,
    0x1p-1023,
    0x1p-537,
    0x1p511,
    0x1p512,
    1 + 0x1p-52,
    1 - 0x1p-53,
    0x1p-149,
    0x1p-150,
    0x1p-126,
    0x1.fffffep127,
    0x1p-75,
    0x1p64,
    1 + 0x1p-23,
    1 - 0x1p-24,
    0x1.fffffffffffffp1023,
    -0x1.fffffffffffffp1023,
};

/* A number of sign and digits drawn, between 2^low and 2^(low + range); some with few digits. */
static double sized(int low, int range)
{
    uint64_t digits = drawn() & 0x800fffffffffffff;
    if (any_below(3) == 0) digits &= ~(((uint64_t)1 << any_below(52)) - 1);
    return ldexp(f64_of_bits(digits | (uint64_t)1023 << 52), low + any_below(range));
}

static double some(void)
{
    switch (any_below(8)) {
    case 0: return f64_of_bits(drawn());
    case 1: return special[any_below(COUNT_OF(special))];
    case 2: return sized(-1080, 60);
    case 3: return sized(964, 60);
    case 4: return sized(-580, 80);
    case 5: return sized(-160, 90);
    case 6: return (double)(int64_t)(drawn() >> any_below(63));
    default: return sized(-20, 40);
    }
}

/* What is added to the product y: anything, or so that almost all cancels, or as large as half a unit of the other's
 * last place. */
static double added(double y, int digits)
{
    switch (any_below(8)) {
    case 0: return -y;
    case 1: return f64_of_bits(bits_of_f64(-y) + (uint64_t)any_below(5) - 2);
    case 2: return ldexp(y, digits - any_below(3));
    case 3: return -ldexp(y, -digits + any_below(3));
    case 4: return ldexp(1 - 2 * any_below(2), ilogb(y == 0 || y - y != 0 ? 1 : y) + digits - any_below(3));
    default: return some();
    }
}

static bool alike(double x, double y) { return x != x ? y != y : bits_of_f64(x) == bits_of_f64(y); }

static void test_doubles(int n)
{
    for (int i = 0; i < n; i++) {
        double a = some(), b = some(), c = added(a * b, 53), wanted = fma(a, b, c), own = software_fma_f64(a, b, c);
        expect(alike(own, wanted), "%a * %a + %a is %a, not %a", a, b, c, wanted, own);
    }
}

static float float_of_bits(uint32_t u)
{
    float x;
    memcpy(&x, &u, sizeof x);
    return x;
}

/* Among them such as are half-way between floats but for the last bits of the product. */
static void test_floats(int n)
{
    int ties = 0;
    for (int i = 0; i < n; i++) {
        float a = any_below(2) ? (float)some() : float_of_bits((uint32_t)drawn()),
              b = any_below(2) ? (float)some() : (float)sized(-60, 90);
        float c = (float)added((double)a * b, 24);
        double twice = (double)a * b + c;
        ties += (bits_of_f64(twice) & 0x1fffffff) == 0x10000000 && (float)twice != fmaf(a, b, c);
        expect(alike((double)software_fma_f32(a, b, c), (double)fmaf(a, b, c)), "%a * %a + %a is %a, not %a", (double)a,
               (double)b, (double)c, (double)fmaf(a, b, c), (double)software_fma_f32(a, b, c));
    }
    expect(ties > 100, "%d cases only that a sum in double gets wrong", ties);
}

int main(void)
{
    test_doubles(2000000);
    test_floats(2000000);
    return finish();
}
