/* target.h: what kernels run on: limits that passes read, spellings that the emitter reads. */
#ifndef DESC_TARGET_H
#define DESC_TARGET_H

#include "base/util.h"

struct Kernel;
struct Page;
typedef struct Target {
    const char *name;
    int64_t row_budget;         /* bytes of live row vectors in a ROWS kernel; random bits take as many at most */
    int64_t column_blocks;      /* at most so many blocks of column partials */
    int64_t columns_alone;      /* from this number of columns on they are work enough for all threads, and rows stay one block */
    int64_t row_bytes;          /* rows of a product's matrices begin at multiples of it, where they can; 0: anywhere */
    int64_t narrow;             /* an inner axis below it may become one with the rows of plain maps */
    bool panels;                /* kernels may run panel by panel */
    int ends;                   /* ENDS_…: what products of fp32 may end with */
    bool packs;                 /* products in a loop read what was packed before it */
    bool persists;              /* a loop of small kernels may be one launch */
    int64_t (*shared)(const struct Kernel *);   /* bytes of a block's shared memory that its sums take: of one launch all together */
    bool narrow_products;       /* products and attention take operands of 16 bits */
    bool by_value;              /* a kernel takes a single number as such: what called it can read it */
    const char *call, *first_argument;              /* what begins a kernel's call, and its arguments: "", "" in C */
    const char *interface;      /* the header of the runtime that model.h includes */
    const char *stream, *entry, *run;               /* the first parameter of entries, and what stands before them and before what
                                 * the trainer calls: "", "", "static" in C */
    const char *untyped, *table, *table_at, *fill_work;     /* a cast that fits any pointer; what begins a constant array, and where it
                                 * lies; NaN into so many bytes of c->work */
    const char *device;         /* by which the trainer knows where entries run (runtime/step/device.h); NULL: on its processor */
    const char *over_ranks;     /* a call: to, from, bytes */
    const char *says[4];        /* by Lathe_saying: a call, twice of the same place in the parameters or gradients; NULL: it is not said */
    char *(*product)(struct Page *, const struct Kernel *), *(*attention)(struct Page *, const struct Kernel *); /* the call */
    const char *const *quick;   /* words of graph/ops.def that are quick_… of floats where a model keeps values in 16 bits; ends in NULL; NULL: none */
    const char *const *words;   /* that kernels and what they name must not be called, beside C's; ends in NULL */
    bool loops;                 /* kernels are loops of C; else CUDA's threads */
    const struct Spelling *spelling;        /* emit/emit.h: how kernels are written */
} Target;

extern const Target target_cpu, target_cuda;

#endif
