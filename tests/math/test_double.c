/* test_double.c: math/double.h: errors against long double on random arguments of all sizes, special values, exact
 * cases. */
#include "harness.h"
#include "math/math.h"
#include <float.h>
#include <math.h>
#include <stdio.h>

typedef struct Function {
    const char *name;
    double (*own)(double);
    long double (*exact)(long double);
    double least, most; /* where most arguments are drawn from; one of four is any double */
    double limit;       /* units of the last place */
} Function;

#define OWN(name)                                                                                                      \
    static double own_##name(double x) { return name##_f64(x); }
OWN(exp)
OWN(expm1)
OWN(log)
OWN(log1p)
OWN(log2)
OWN(log10)
OWN(sin)
OWN(cos)
OWN(tanh)
OWN(erf)

static const Function functions[] = {
    {"exp", own_exp, expl, -750, 712, 0.53}, {"expm1", own_expm1, expm1l, -3, 3, 0.62},
    {"log", own_log, logl, 0, 3, 0.501},     {"log1p", own_log1p, log1pl, -1, 2, 0.501},
    {"log2", own_log2, log2l, 0, 3, 0.501},  {"log10", own_log10, log10l, 0, 3, 0.501},
    {"sin", own_sin, sinl, -20, 20, 0.56},   {"cos", own_cos, cosl, -20, 20, 0.56},
    {"tanh", own_tanh, tanhl, -3, 3, 0.58},  {"erf", own_erf, erfl, -6.2, 6.2, 0.77},
};

/* |y - exact| in units of the last place of a double of exact's size; infinity counts as 2^1024. */
static double ulps(double y, long double exact)
{
    if (isnan(exact) || isnan(y)) return isnan(exact) && isnan(y) ? 0 : INFINITY;
    if (exact == 0 && y == 0) return !signbit(y) == !signbit(exact) ? 0 : INFINITY;
    if (isinf(exact)) return y == exact ? 0 : INFINITY;
    if (isinf(y) && (double)exact == y) return 0;
    int e = exact == 0 ? -1022 : ilogbl(exact);
    if (e < -1022) e = -1022;
    return (double)(fabsl(y - exact) * ldexpl(1, 52 - e));
}

/* Of subnormal results, which are rounded twice, a little more is off. */
static double allowed(double limit, long double exact) { return fabsl(exact) < (long double)DBL_MIN ? 0.76 : limit; }

static double any_double(Rng *r)
{
    uint64_t high = (uint64_t)below(r, 1ll << 32), low = (uint64_t)below(r, 1ll << 32);
    return f64_of_bits(high << 32 | low);
}

static const double edges[] = {0,
                               -0.0,
                               INFINITY,
                               -INFINITY,
                               NAN,
                               DBL_MAX,
                               -DBL_MAX,
                               DBL_MIN,
                               -DBL_MIN,
                               0x1p-1074,
                               1,
                               -1,
                               -0x1p-1074,
                               0.5,
                               -0.5,
                               2,
                               3,
                               10,
                               100,
                               1e22,
                               709.79,
                               -745.2,
                               0x1p-54,
                               -0x1p-54,
                               0x1p-28,
                               6,
                               -6,
                               20,
                               22,
                               -20,
                               60,
                               -60,
                               60.1,
                               0x1p53,
                               0x1p60,
                               1e300,
                               0x1.921fb54442d18p-1,
                               0x1.921fb54442d18p+0,
                               0x1.921fb54442d18p+1,
                               0x1.6ac5b262ca1ffp+849, /* nearest to a multiple of pi/2 */
                               0x1.6a09e667f3bcdp-1,
                               0x1.6a09e667f3bccp-1,
                               0x1.fffffffffffffp-1,
                               0x1.0000000000001p+0,
                               0x1.62e42fefa39efp-2,
                               -0.9999999999,
                               -2};

static void test_function(const Function *f)
{
    Rng r = rng_of(5);
    double worst = 0, at = 0;
    for (int i = -COUNT_OF(edges); i < (long_run() ? 20000000 : 200000); i++) {
        double x = i < 0 ? edges[-i - 1] : i % 4 ? f->least + uniform(&r) * (f->most - f->least) : any_double(&r);
        long double exact = f->exact(x);
        double y = f->own(x), u = ulps(y, exact);
        expect(u <= allowed(f->limit, exact), "%s(%a) is %a, %.4f ulp off", f->name, x, y, u);
        if (u > worst && fabsl(exact) >= (long double)DBL_MIN) worst = u, at = x;
    }
    printf("%-6s %.4f ulp at %a\n", f->name, worst, at);
}

static double check_of_two(const char *name, double limit, double a, double b, double y, long double exact)
{
    double u = ulps(y, exact);
    expect(u <= allowed(limit, exact), "%s(%a, %a) is %a, %.4f ulp off", name, a, b, y, u);
    return fabsl(exact) >= (long double)DBL_MIN ? u : 0;
}

static void test_two(void)
{
    Rng r = rng_of(6);
    double pow_worst = 0, hypot_worst = 0;
    for (int i = 0; i < COUNT_OF(edges); i++)
        for (int k = 0; k < COUNT_OF(edges); k++) {
            double a = edges[i], b = edges[k];
            check_of_two("pow", 0.53, a, b, pow_f64(a, b), powl(a, b));
            check_of_two("hypot", 0.501, a, b, hypot_f64(a, b), hypotl(a, b));
        }
    for (int i = 0; i < (long_run() ? 20000000 : 200000); i++) {
        double a = fabs(any_double(&r)), c = any_double(&r), d = c * (4 * uniform(&r) - 2);
        if (i % 2) a = 3 * uniform(&r);
        double b = (2 * uniform(&r) - 1) * 800 / (fabs(log(a)) + 1e-3); /* results from subnormal to infinite */
        pow_worst = fmax(pow_worst, check_of_two("pow", 0.53, a, b, pow_f64(a, b), powl(a, b)));
        hypot_worst = fmax(hypot_worst, check_of_two("hypot", 0.501, c, d, hypot_f64(c, d), hypotl(c, d)));
    }
    printf("pow    %.4f ulp\nhypot  %.4f ulp\n", pow_worst, hypot_worst);
}

/* Where the exact result is a double, it comes out. */
static void test_exact(void)
{
    double power = 1;
    for (int i = 0; i <= 22; i++, power *= 10) {
        expect(pow_f64(10, i) == power, "10^%d is %a", i, pow_f64(10, i));
        expect(log10_f64(power) == i, "log10(1e%d) is %a", i, log10_f64(power));
        expect(pow_f64(power, 2) == power * power || i > 11, "(1e%d)^2", i);
    }
    for (int n = -1074; n < 1024; n++) expect(pow_f64(2, n) == ldexp(1, n), "2^%d is %a", n, pow_f64(2, n));
    for (int n = -1074; n < 1024; n++) expect(log2_f64(ldexp(1, n)) == n, "log2(2^%d)", n);
    for (int n = 0; n < 2000; n++) expect(pow_f64((double)n * n, 0.5) == n, "the root of %d squared", n);
    for (int k = 0; k < COUNT_OF(edges); k++) {
        double x = edges[k];
        expect(pow_f64(x, 0) == 1 && pow_f64(1, x) == 1, "%a^0, 1^%a", x, x);
        expect(pow_f64(x, 1) == x || x != x, "%a^1 is %a", x, pow_f64(x, 1));
    }
    expect(exp_f64(0) == 1 && cos_f64(0) == 1 && hypot_f64(3, 4) == 5 && log_f64(1) == 0, "exact results");
}

int main(void)
{
    for (int i = 0; i < COUNT_OF(functions); i++) test_function(&functions[i]);
    test_two();
    test_exact();
    return finish();
}
