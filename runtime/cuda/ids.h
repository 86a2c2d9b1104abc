/* ids.h: the record of the first id out of range on a GPU, which kernels write and the trainer reads.  For C as
 * well. */
#ifndef LATHE_CUDA_IDS_H
#define LATHE_CUDA_IDS_H

/* All zero: none yet.  It has the smallest id of the first kernel with any, as on a CPU (step/ids.c). */
typedef struct Cuda_bad_id {
    unsigned long long check;           /* number of the check */
    int below, data;                    /* ids are 0 … below - 1; whether they depend on the data alone */
    unsigned over;                      /* the smallest id as id = (int)(INT_MAX - over) */
    char place[200], what[200];         /* "gpt.lua:12", "gather in wte"; truncated */
} Cuda_bad_id;

#ifdef __cplusplus
extern "C"
#endif
void *cuda_bad_id(void);                /* the model's, in device memory; an error stays CUDA's last error */

#endif
