/* law.h: a law of the loss by the size of the model. */
#ifndef SWEEP_LAW_H
#define SWEEP_LAW_H

enum { LAW_TERMS = 3 };
typedef struct Law { double e, a, alpha; } Law;                 /* e + a / n^alpha */

double law_value(const Law *l, double n);
/* Of at least four sizes in ascending order.  without: the laws that leave out each of them; may be NULL. */
Law fit_law(const double *n, const double *loss, int count, Law *without);
double jackknife(const Law *without, int count, double n);      /* the standard error of what the law says of n */
/* y = factor · n^exponent */
void fit_power(const double *n, const double *y, int count, double *factor, double *exponent);

#endif
