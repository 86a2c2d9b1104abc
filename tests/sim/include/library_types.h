/* library_types.h of the simulator: the types of numbers that its cublasLt.h knows, with CUDA's values. */
#ifndef SIM_LIBRARY_TYPES_H
#define SIM_LIBRARY_TYPES_H

typedef enum cudaDataType_t { CUDA_R_32F = 0, CUDA_R_64F = 1, CUDA_R_16F = 2, CUDA_R_16BF = 14 } cudaDataType;

#endif
