/* options.h: what a compilation is asked for. */
#ifndef DESC_OPTIONS_H
#define DESC_OPTIONS_H

#include "graph/graph.h"

typedef struct Target Target; /* desc/target.h */

typedef struct Options {        /* of a compilation */
    const char *model_file, *config, *precision, *parameters, *out_dir;    /* NULL where not given */
    VEC(const char *) sets;     /* k=v */
    VEC(const char *) for_run;  /* those of them that the trainer knows, and nobody before it (front/config.c) */
    bool runs;                  /* the trainer is started, and gets them */
    const Target *target;
    int64_t gpus;               /* plan: so many; 0: one */
    int64_t head_rows;          /* of linear_cross_entropy at a time; 0: what the plan allows */
    uint64_t without;           /* passes that are left out: 1 << PASS_fuse, … */
    const char *memory;         /* the budget, as given; NULL: none */
    double recompute;           /* share of what layers save that is computed again: 0 … 1 (budget.c) */
    int split;                  /* micro-batches that each of the description's is cut into; 0: as it is */
    const char *dump_after;     /* pass name; prints the stage and stops */
    bool check_stages, json, source;    /* source: nothing is compiled */
    bool bundle;                /* build: the folder gets the runtime's sources as well */
    bool brief;                 /* dumps of kernels: a line each */
    bool all_in_place;          /* test build: in entries as well whose arena is small enough without */
    bool instrument;            /* for `trainer replay`: a kernel an operation, and tables of what each touches */
    bool all_persist;           /* test build: every loop that can be one launch, whatever it costs */
    VEC(const char *) panels;   /* names of the groups of kernels that run in panels (compile.c) */
    bool all_panels;            /* test build: wherever it can be, in panels of single rows */
    bool poison;                /* test build: the arena is filled with NaN before each call of an entry */
} Options;
extern Options options;

typedef struct Precision {
    const char *name;           /* as --precision says */
    DType real, saved;          /* what is computed with; how values of forward are kept for backward */
    DType multiplied;           /* what products and attention take: real, or 16 bits where the target multiplies those */
    DType weights;              /* how parameters are stored: real, or 16 bits, updated by rounding at random (--parameters bf16) */
    bool tf32;                  /* products of F32 round their operands to 10 bits of fraction */
    bool scaled;                /* gradients are those of the loss times the input loss_scale */
} Precision;

#endif
