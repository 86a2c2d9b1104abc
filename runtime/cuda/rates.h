/* rates.h: measuring a GPU's best rates, in its block of memory, which is zero afterwards. */
#ifndef LATHE_CUDA_RATES_H
#define LATHE_CUDA_RATES_H

#include "interface/lathe_model.h"

/* multiplies: whether products have been started; without, *product is 0. */
void gpu_rates(const Lathe_model *model, char *block, int64_t bytes, bool multiplies, double *copy, double *product);

#endif
