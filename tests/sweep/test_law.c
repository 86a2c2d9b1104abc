/* test_law.c: the law of synthetic losses is found again, with noise too, and an outlier does not spoil it; what it
 * says of ten times the size is within its error. */
#include "sweep/law.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>

static int failures;
#define holds(c) ((c) ? (void)0 : (void)(failures++, printf("%s:%d: %s\n", __FILE__, __LINE__, #c)))
enum { SIZES = 8 };

static bool near_to(double x, double y, double share) { return fabs(x - y) <= share * fabs(y); }

static void sizes(double *n, double *loss, const Law *l, double noise)
{
    static const double draws[SIZES] = {0.6, -1.1, 0.2, 0.9, -0.4, -0.8, 1.2, -0.3};
    for (int i = 0; i < SIZES; i++) {
        n[i] = 1e4 * pow(3, i);
        loss[i] = law_value(l, n[i]) * (1 + noise * draws[i]);
    }
}

static void test_exact(void)
{
    static const Law laws[] = {{1.69, 406.4, 0.34}, {0.5, 20, 0.15}, {2.5, 3000, 0.8}};
    double n[SIZES], loss[SIZES];
    for (int i = 0; i < 3; i++) {
        sizes(n, loss, &laws[i], 0);
        Law l = fit_law(n, loss, SIZES, NULL);
        printf("E %.4f, A %.2f, alpha %.4f\n", l.e, l.a, l.alpha);
        holds(near_to(l.e, laws[i].e, 0.01) && near_to(l.a, laws[i].a, 0.02) && near_to(l.alpha, laws[i].alpha, 0.01));
    }
}

static void test_noise(void)
{
    const Law law = {1.69, 406.4, 0.34};
    double n[SIZES], loss[SIZES];
    Law without[SIZES];
    sizes(n, loss, &law, 0.003);
    Law l = fit_law(n, loss, SIZES, without);
    double far = 10 * n[SIZES - 1], error = jackknife(without, SIZES, far);
    printf("of ten times the size: %.4f ± %.4f, truly %.4f\n", law_value(&l, far), error, law_value(&law, far));
    holds(error > 0.001 && error < 0.2);
    holds(fabs(law_value(&l, far) - law_value(&law, far)) < 2 * error);
    sizes(n, loss, &law, 0);
    loss[3] *= 1.3; /* one that diverged a little */
    l = fit_law(n, loss, SIZES, NULL);
    holds(near_to(law_value(&l, far), law_value(&law, far), 0.01));
}

static void test_power(void)
{
    double n[3] = {1, 10, 100}, y[3] = {2, 2 * pow(10, 1.5), 2 * pow(100, 1.5)}, factor, exponent;
    fit_power(n, y, 3, &factor, &exponent);
    holds(near_to(factor, 2, 1e-9) && near_to(exponent, 1.5, 1e-9));
}

int main(void)
{
    test_exact();
    test_noise();
    test_power();
    return failures > 0;
}
