/* optim.h: optimizers and schedules. */
#ifndef LATHE_STEP_OPTIM_H
#define LATHE_STEP_OPTIM_H

#include "interface/lathe_model.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What the model uses.  A trainer has code for all; a library's compiler says what to leave out (emit/library.c). */
#ifndef LATHE_LIBRARY
#define LATHE_USES_F64             true
#define LATHE_USES_BF16            true
#define LATHE_USES_CODED           true
#define LATHE_USES_OPTIMIZER(kind) true
#endif

/* How a parameter is updated, groups included. */
typedef struct Rule {
    double lr_scale, decay; /* decay: weight decay; negative: the recipe's */
    bool frozen;            /* or another turn's */
    bool directed;          /* what is subtracted stands in the place of the gradient (step/direction.h); it has no moments */
} Rule;
Rule rule_of(const Lathe_model *m, const Lathe_recipe *r, const Lathe_param *p, int64_t copy);

/* A range of elements of the flat arrays with one rule; segments cover all trained ones, padding included. */
typedef struct Segment {
    int64_t begin, end;
    Rule rule;
} Segment;

/* For fp16 (step/scale.h); all zero for other programs. */
typedef struct Loss_scale {
    float scale;     /* a power of two, at least 1; 0: not begun */
    int32_t good;    /* steps since it changed */
    int64_t skipped; /* number of skipped steps */
} Loss_scale;

typedef struct Optimizer {
    Lathe_optimizer kind;
    Lathe_dtype real, weights; /* of gradients and moments; of parameters */
    double beta2, eps, decay, bound; /* bound: of parameters after an update; 0: none */
    bool nesterov, centered;
    double ema;      /* decay of `average`; 0: none, or another mean */
    int64_t n;       /* elements of each flat array */
    int moments;     /* number of the next that are in use */
    /* Adam: mean of g, mean of g²; Lion: mean of g; SGD with momentum: velocity; RMSprop: mean of g², then velocity if
     * it has momentum, then mean of g if it is centered; schedule-free: mean of g², then z.  For checkpoints */
    void *moment[LATHE_MOMENTS];
    const char *moment_name[LATHE_MOMENTS]; /* exp_avg, exp_avg_sq; momentum */
    struct Coded *coded; /* the moments are in 8 bits (step/coded.h), and moment[] is NULL; NULL: they are not */
    void *average;   /* of parameters, of type `real` (step/average.h); NULL: none */
    struct Rate_sum {
        int64_t updates;
        double most, squares;
    } rates;         /* of schedule-free: of the updates so far, for averaged_share() */
    int segments;
    Segment *segment;
    double *partial; /* one per chunk, for gradient_norm */
    Loss_scale loss_scale;
} Optimizer;

/* Bytes of the moments, moments · lathe_moment_elements() · element or lathe_coded_bytes(), and of the mean of weights: the plan's category
 * "optimizer". */
size_t optimizer_bytes(const Lathe_model *m, const Lathe_recipe *r);
int64_t optimizer_runs(const Lathe_model *m); /* contiguous ranges of elements: at least the number of segments */
int64_t optimizer_table_bytes(const Lathe_model *m, const Lathe_recipe *r);
void clear_moments(const Lathe_model *m, const Lathe_recipe *r, void *memory); /* as they are in a new run */
/* memory: optimizer_bytes() bytes, already cleared; tables: optimizer_table_bytes(); both 64-byte aligned.  turn: whose
 * parameters it updates; NULL: all. */
void place_optimizer(Optimizer *o, const Lathe_model *m, const Lathe_turn *turn, const Lathe_recipe *r, void *memory,
                     void *tables);
/* step/heap.c: the same with tables from malloc, of all parameters. */
void optimizer_init(Optimizer *o, const Lathe_model *m, const Lathe_recipe *r, void *memory);
/* Takes a checkpoint's scale.  A run in fp16 may be resumed in fp32 and vice versa; the scale then starts again. */
void go_on_with_scale(Optimizer *o, Loss_scale *saved);
void optimizer_free(Optimizer *o);

/* Clears gradients of frozen parameters, so that they do not count in norms. */
void drop_frozen(const Optimizer *o, void *grads);
void drop_frozen_range(const Optimizer *o, void *grads, int64_t first, int64_t last); /* of elements first … last - 1 */
/* 2-norm of a flat array, summed in double in an order fixed by its length; NaN or infinite if an element is. */
double gradient_norm(const Optimizer *o, const void *grads);
/* The same in two steps, for ranks that each have some chunks (interface/dealt.h): first is the beginning of a chunk. */
void squares_of_range(const Optimizer *o, const void *grads, int64_t first, int64_t end);
double norm_of_squares(const Optimizer *o);

typedef struct Pace {    /* of one update */
    double lr, momentum; /* momentum: beta1 of Adam and Lion */
    double scale, most;  /* gradients are multiplied by scale, then kept within ±most */
    double averaged;     /* the share of the new weights in their mean (step/average.h) */
    int64_t step;        /* of the run, and its seed: for rounding (math/round.h) */
    int32_t seed;
} Pace;
/* Keeps the elements of gradients that are directed within ± most, once they are scaled. */
void clip_directed(const Optimizer *o, void *grads, const Pace *pace);
typedef struct Rates {              /* of one update, for every element */
    double scale, most, lr, momentum; /* as Pace has them */
    double correction1, correction2;  /* 1 - β^(step + 1) */
    double averaged;                  /* the share of the new weights in their mean */
    int64_t step;
    int32_t seed;
} Rates;
Rates rates_of(const Optimizer *o, int64_t step, const Pace *pace);
/* By the recipe, for gradients with that norm. */
Pace pace_at(const Lathe_recipe *r, int64_t step, double norm); /* seed 0 */
enum { LAP_NORM = -1, LAP_DIRECTION = -2, LAP_UPDATE = -3, LAP_ASIDE = -4 }; /* the laps that a step adds to its entry's: see LAP; aside: no part of it */
/* Updates params in one pass; step counts from 0. */
void optimizer_step(Optimizer *o, void *params, const void *grads, int64_t step, const Pace *pace);
/* The same of elements first … end - 1; first is the beginning of a chunk.  Not for moments in 8 bits. */
void optimizer_range(const Optimizer *o, void *params, const void *grads, int64_t first, int64_t end, const Rates *rates);

/* ---- step/schedule.c */

/* The learning rate of update `step` (from 0), and momentum of SGD, beta1 of the others; formulas there. */
double rate_at(const Lathe_recipe *r, int64_t step);
double momentum_at(const Lathe_recipe *r, int64_t step);
bool are_milestones(const char *text); /* steps above 0, ascending, separated by commas */

#ifdef __cplusplus
}
#endif

#endif
