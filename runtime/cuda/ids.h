/* ids.h: ids out of range on a GPU: where its kernels leave the first one for the trainer to find.  For C as well. */
#ifndef LATHE_CUDA_IDS_H
#define LATHE_CUDA_IDS_H

/* All zero: none yet.  Of the first kernel that meets some the smallest id, as on a CPU (step/ids.c). */
typedef struct Cuda_bad_id {
    unsigned long long check;           /* which check it was */
    int below, data;                    /* ids are 0 … below - 1; whether they follow from the data alone */
    unsigned over;                      /* by which the smallest is less than the largest of ints: id = (int)(INT_MAX - over) */
    char place[200], what[200];         /* "gpt.lua:12", "gather in wte"; cut where longer */
} Cuda_bad_id;

#ifdef __cplusplus
extern "C"
#endif
void *cuda_bad_id(void);                /* the model's, in the device's memory; what went wrong asking stays with the runtime */

#endif
