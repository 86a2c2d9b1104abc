/* optim.h: an optimizer's step on a GPU: norm, clipping and the update of all parameters, in three launches that read what
 * changes from step to step from the device's memory, so that they can be captured.  The same bits every time; an element's are
 * those of the CPU's optimizer_step where the norm's are.  Of several GPUs each takes its parts of the arrays (interface/shard.h), and
 * settles by the sums of all.  For C as well. */
#ifndef LATHE_CUDA_OPTIM_H
#define LATHE_CUDA_OPTIM_H

#include "cuda/ids.h"
#include "step/optim.h"
#include "interface/shard.h"

#ifdef __cplusplus
#include <cuda_runtime.h>
extern "C" {
#endif

/* At the beginning of the step's part of the block (lathe_step_bytes); behind it the segments, what their elements go by, sums
 * of chunks. */
typedef struct Gpu_step {
    /* the host's, before each step: as in Rates, but for scale, which follows from clip; clip 0: none */
    Rates rates;
    double clip;
    int64_t number;         /* steps before it */
    /* a step's results */
    double loss, norm;
    int64_t stopped;        /* 1: loss or norm of this step or one before it is not finite: nothing is updated any more */
    int64_t bad_id;         /* 1: an id out of range is on record (cuda/ids.h) */
    int64_t skipped;        /* 1: this step's gradients overflowed, and a smaller loss scale may help (step/scale.h) */
    Loss_scale loss_scale;  /* of the next step: the device's own from the start on */
} Gpu_step;

typedef struct Gpu_rank_sum { /* what a GPU's batch and its parts of the gradients have come to */
    double squares, loss;
} Gpu_rank_sum;

typedef struct Gpu_optimizer {
    Optimizer o;            /* the device's pointers; segment, partial: into the step's part; moments: of the GPU's parts */
    Gpu_step *step;
    void *updates;          /* Update_f32 or _f64 [segments] */
    Gpu_rank_sum *sums;     /* [gpus], where there are several */
    int gpus, rank;
    bool some_frozen;
} Gpu_optimizer;

/* of: the host's, its segments lie at `step` of the host's block afterwards, to be copied up with it.  device: where the
 * device has that part. */
Gpu_optimizer gpu_optimizer(const Optimizer *of, Gpu_step *step, void *device, int gpus, int rank);

#ifdef __cplusplus
}
/* Behind the entry, in its stream.  All pointers are the device's; bad may be NULL. */
void gpu_optimize(const Gpu_optimizer *o, void *params, const void *grads, const void *loss, Lathe_dtype loss_type,
                  const Cuda_bad_id *bad, cudaStream_t stream);

/* The same for several: each of its parts' squares, in the order of their chunks (*chunks counts them); of those and the loss
 * its sum among sums; when all ranks' are there, what is settled by them; each part's update. */
void gpu_squares(const Gpu_optimizer *o, const void *grads, const Lathe_part *part, int *chunks, cudaStream_t stream);
void gpu_sum_rank(const Gpu_optimizer *o, int chunks, const void *loss, Lathe_dtype loss_type, cudaStream_t stream);
void gpu_settle(const Gpu_optimizer *o, int chunks, const void *loss, Lathe_dtype loss_type, const Cuda_bad_id *bad, cudaStream_t stream);
void gpu_update(const Gpu_optimizer *o, void *params, const void *grads, const Lathe_part *part, cudaStream_t stream);
#endif
#endif
