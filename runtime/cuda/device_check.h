/* device_check.h: checks whether a GPU is suitable for a trainer.  Returns a message for the user, or NULL. */
#ifndef LATHE_CUDA_DEVICE_CHECK_H
#define LATHE_CUDA_DEVICE_CHECK_H

#include "cuda/device.h"

const char *gpu_refuse(const char *format, ...) __attribute__((format(printf, 1, 2)));
const char *gpu_check_driver(const Gpu_needs *n); /* the driver, and the number of GPUs */
const char *gpu_check_device(const Gpu_needs *n); /* that GPU, and its memory */

#endif
