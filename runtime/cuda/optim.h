/* optim.h: an optimizer's step on a GPU: norm, clipping and the update of all parameters, in three launches.  They read
 * all that changes from step to step from device memory, so they can be captured.  The bits are always the same; with
 * an equal norm, elements equal those of the CPU's optimizer_step.  Each of several GPUs updates its parts of the
 * arrays (interface/shard.h), with the sums of all.  For C as well. */
#ifndef LATHE_CUDA_OPTIM_H
#define LATHE_CUDA_OPTIM_H

#include "cuda/ids.h"
#include "step/code_table.h"
#include "interface/shard.h"

#ifdef __cplusplus
#include <cuda_runtime.h>
extern "C" {
#endif

/* At the beginning of the step's part of the block (lathe_step_bytes); then come segments, their factors, and sums of
 * chunks. */
typedef struct Gpu_step {
    /* from the host before each step: like Rates, except scale, which the step computes from clip; clip 0: none */
    Rates rates;
    double clip;
    int64_t number;         /* steps before it */
    /* a step's results */
    double loss, norm;
    int64_t stopped;        /* 1: loss or norm of this step or an earlier one is not finite: updates have stopped */
    int64_t bad_id;         /* 1: an id out of range is on record (cuda/ids.h) */
    int64_t skipped;        /* 1: this step's gradients overflowed, and a smaller loss scale may help (step/scale.h) */
    Loss_scale loss_scale;  /* of the next step; only the device changes it */
    double part[LATHE_LOSSES]; /* losses by name, in their own type */
} Gpu_step;

typedef struct Gpu_rank_sum { /* sums over a GPU's batch and its parts of the gradients */
    double squares, loss;
} Gpu_rank_sum;

typedef struct Gpu_coded {  /* moments in 8 bits; device pointers */
    const Codes *codes;     /* [2]; NULL: they are not in 8 bits */
    const Piece *piece;
    int pieces;
    int64_t blocks;         /* of all pieces */
    void *plain[2];
    float *largest[2];
    uint8_t *code[2];
} Gpu_coded;

typedef struct Gpu_optimizer {
    Optimizer o;            /* device pointers, `coded` apart; segment, partial: in the step's part; moments: of its parts */
    Gpu_step *step;
    int64_t *stopped;       /* of step; of turns, which stop together, the first one's */
    void *updates;          /* Update_f32 or _f64 [segments] */
    Gpu_rank_sum *sums;     /* [gpus], if there are several */
    int gpus, rank;
    bool some_frozen;
    Gpu_coded coded;
    void (*direct)(void);   /* enqueues, between norm and update, what replaces gradients by directions; NULL: nothing does */
} Gpu_optimizer;

/* of: the host's; its segments are written at `step` in the host's block, to be copied to the device.  device: the
 * device's address of that part. */
Gpu_optimizer gpu_optimizer(const Optimizer *of, Gpu_step *step, void *device, int gpus, int rank);

#ifdef __cplusplus
}
/* Called after the entry, in its stream.  All pointers are to device memory; bad may be NULL. */
void gpu_optimize(const Gpu_optimizer *o, void *params, const void *grads, const void *loss, Lathe_dtype loss_type,
                  const Cuda_bad_id *bad, cudaStream_t stream);

/* The part's mean of the weights (step/average.h) as parameters, in their type. */
void gpu_show_average(const Gpu_optimizer *o, void *params, const Lathe_part *part, cudaStream_t stream);

/* The same for several GPUs: squares of each part, in the order of their chunks (*chunks counts them); their sum and
 * the loss, as this rank's element of sums; when all ranks' are present, the settings that follow from them; the update
 * of each part. */
void gpu_squares(const Gpu_optimizer *o, const void *grads, const Lathe_part *part, int *chunks, cudaStream_t stream);
void gpu_sum_rank(const Gpu_optimizer *o, int chunks, const void *loss, Lathe_dtype loss_type, cudaStream_t stream);
void gpu_settle(const Gpu_optimizer *o, int chunks, const void *loss, Lathe_dtype loss_type, const Cuda_bad_id *bad, cudaStream_t stream);
void gpu_update(const Gpu_optimizer *o, void *params, const void *grads, const Lathe_part *part, cudaStream_t stream);
void gpu_update_coded(const Gpu_optimizer *o, void *params, const void *grads, cudaStream_t stream); /* of one GPU (cuda/coded.cu) */
#endif
#endif
