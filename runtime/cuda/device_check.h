/* device_check.h: whether a GPU will do for a trainer.  What is returned is to be told to the user; NULL: it will. */
#ifndef LATHE_CUDA_DEVICE_CHECK_H
#define LATHE_CUDA_DEVICE_CHECK_H

#include "cuda/device.h"

const char *gpu_refuse(const char *format, ...) __attribute__((format(printf, 1, 2)));
const char *gpu_check_driver(const Gpu_needs *n); /* the driver, and how many GPUs there are */
const char *gpu_check_device(const Gpu_needs *n); /* that GPU, and its memory */

#endif
