/* optim_element.cuh: the update of one element on a GPU, by the formulas that it shares with the CPU. */
#ifndef LATHE_CUDA_OPTIM_ELEMENT_CUH
#define LATHE_CUDA_OPTIM_ELEMENT_CUH

#include "lathe_cuda.cuh"
#include "math/round.h"
#include "step/step.h"

#define REAL    float
#define NAME(x) x##_f32
#include "step/optim_element.h"
#undef REAL
#undef NAME
#define REAL    double
#define NAME(x) x##_f64
#include "step/optim_element.h"
#undef REAL
#undef NAME

enum Way { ADAM, LION, SGD, SGD_MOMENTUM, RMSPROP, SCHEDULE_FREE };

/* Directed: what is subtracted stands in the place of the gradient.  x: the mean of p, which moves if it is `running`, or by
 * schedule-free. */
#define ELEMENT(suffix, Real)                                                                                          \
    template <Way way>                                                                                                 \
    DEVICE void element(Real *p, Real g, Real *m, Real *v, Real *a, Real *x, bool running, const Update_##suffix *u)   \
    {                                                                                                                  \
        if (u->directed) sgd_##suffix(p, g, u);                                                                        \
        else if (way == ADAM) adam_##suffix(p, g, m, v, u);                                                            \
        else if (way == LION) lion_##suffix(p, g, m, u);                                                               \
        else if (way == SGD) sgd_##suffix(p, g, u);                                                                    \
        else if (way == SGD_MOMENTUM) sgd_momentum_##suffix(p, g, m, u);                                               \
        else if (way == RMSPROP) rmsprop_##suffix(p, g, v, m, a, u);                                                   \
        else schedule_free_##suffix(p, g, m, v, x, u);                                                                 \
        bounded_##suffix(p, u);                                                                                        \
        if (running) *x += u->averaged * (*p - *x);                                                                    \
    }
ELEMENT(f32, float)
ELEMENT(f64, double)
#undef ELEMENT

/* A parameter in storage: in the computing type, or in bf16 with stochastic rounding. */
DEVICE float widened(bf16 x) { return from_bf16_f32(x); }
template <class Real> DEVICE Real widened(Real x) { return x; }
template <class Real> DEVICE void put(Real *p, Real x, const Rates &, int64_t) { *p = x; }
DEVICE void put(bf16 *p, float x, const Rates &rates, int64_t i)
{
    *p = round_at_random(x, rounding_draw(rates.seed, rates.step, i));
}

#endif
