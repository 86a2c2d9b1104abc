/* quick.h: exp, log, tanh, erf of floats in a few GPU instructions, for models that store values in 16 bits: their
 * errors are far below the rounding errors of 16 bits.  fp32 uses the functions of math/math.h.
 *
 * The instructions are functions, which have substitutes without a GPU; the code that uses them is the same everywhere.
 * Largest errors in units of the last place, over all floats, with the substitutes (tests/math/test_math.c), and with
 * the instructions (tests/gpu/fragments.cu):
 *
 *     exp 6.1, 8.5 (|x| < 20: 3.1, 5)   log 2.4, 13   tanh 1.6, 3.5   erf 1.3, 2
 *
 * NaN, infinities and zeros as in math/math.h; an exp below the smallest normal number may be 0. */
#ifndef LATHE_MATH_QUICK_H
#define LATHE_MATH_QUICK_H

#include "math/math.h"

#define LN2_F32 0x1.62e430p-1f

/* ---- instructions, under their names */

#if ON_GPU
#if BY_NAMES
MATH float ex2_f32(float x) { return __nvvm_ex2_approx_ftz_f(x); } /* within 2 units of the last place */
MATH float rcp_f32(float x) { return __nvvm_div_approx_ftz_f(1.0f, x); }
#else
MATH float ex2_f32(float x) { return exp2f(x); }
MATH float rcp_f32(float x) { return __fdividef(1.0f, x); } /* within 2; of more than 2^126 it is 0 */
#endif
MATH float lg2_f32(float x) { return __log2f(x); } /* error 2^-22, relative if the result is above 1 */
MATH float add_sat_f32(float a, float b) { return __saturatef(a + b); }
#else
MATH float ex2_f32(float x)
{
    float y = (float)exp2_for_f32(x);
    return y < 0x1p-126f ? 0.0f : y;
}
MATH float lg2_f32(float x) { return x < 0.0f ? NAN : (float)log2_of_f32(x); }
MATH float rcp_f32(float x) { return 1.0f / x; }
MATH float add_sat_f32(float a, float b) /* the nearest number in [0, 1]; for NaN 0 */
{
    float y = a + b;
    return y > 0.0f ? y < 1.0f ? y : 1.0f : 0.0f;
}
#endif

/* ---- functions made of them */

/* a = h ln 2 + r, and e^a = 2^h (1 + r), |r| < 2^-17.  If 2^h is 0 or infinity, r may have any value, so the factor is
 * kept between 1/2 and 3/2. */
MATH float quick_exp_f32(float a)
{
    float h = a * LOG2_E_F32, r = fma_f32(h, -LN2_F32, a);
    return ex2_f32(h) * (0.5f + add_sat_f32(0.5f, r));
}

/* Near a = 1, with s = (a - 1) / (a + 1): 2 (s + s^3 / 3 + s^5 / 5 + s^7 / 7) */
MATH float quick_log_f32(float a)
{
    float f = a - 1.0f, s = f * rcp_f32(a + 1.0f), ss = s * s;
    float q = fma_f32(fma_f32(0x1.24924ap-3f, ss, 0x1.99999ap-3f), ss, 0x1.555556p-2f);
    float near_1 = fma_f32(q, (s + s) * ss, s + s), far = lg2_f32(a) * LN2_F32;
    return fabsf(f) < 0.25f ? near_1 : far;
}

MATH float quick_tanh_f32(float a)
{
    float x = fabsf(a), small = tanh_near_0_f32(a);
    float large = fma_f32(-2.0f, rcp_f32(ex2_f32(2.0f * LOG2_E_F32 * x) + 1.0f), 1.0f);
    return copysignf(x < 0.6f ? small : large, a);
}

MATH float quick_sigmoid_f32(float a) { return 0.5f + 0.5f * quick_tanh_f32(0.5f * a); }

MATH float quick_erf_f32(float a)
{
    float x = fabsf(a), small = erf_near_0_f32(a), large = 1.0f - ex2_f32(-LOG2_E_F32 * erf_fall_f32(x));
    return x < 1.0f ? small : copysignf(large, a);
}

#endif
