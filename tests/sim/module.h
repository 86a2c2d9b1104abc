/* module.h: what module.cc and the text of any model include, to be compiled once. */
#include "cuda/attention_choice.cuh"
#include "cuda/gemm.h"
#include "cuda/ids.cuh"
#include "cuda/persistent.cuh"
#include "lathe_cuda.cuh"
#include "sim.h"
#include "step/device.h"
