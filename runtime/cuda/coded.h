/* coded.h: AdamW on a GPU with moments in 8 bits (step/coded.h): tables of codes and pieces in the step's part of the block. */
#ifndef LATHE_CUDA_CODED_H
#define LATHE_CUDA_CODED_H

#include "cuda/optim.h"

/* Writes them, lathe_coded_step_bytes() bytes, at `at` in the host's block, to be copied to `device`; place: the device's
 * address of a byte of the block. */
Gpu_coded gpu_coded(const Coded *of, char *at, void *device, void *place(const void *host));

#endif
