/* timing.h: how long a step of training takes, told before it runs. */
#ifndef TIMING_H
#define TIMING_H

#include "kernels/kernels.h"

#define COST(name, ...) name,
typedef enum Cost {
#include "timing/costs.def"
    COSTS
} Cost;

#define UNIT_LIST(X) X(PRODUCT, "product") X(CURVE, "curve") X(BYTE, "byte") X(CALL, "call")
typedef enum Unit { UNIT_LIST(LIST_MEMBER) UNITS } Unit;

typedef struct Gpu {                /* gpus.def */
    const char *name, *title;
    int architecture, processors;
    double narrow, tf32, fp32, fp64;
    double memory, cache, link, launch, room;
} Gpu;
const Gpu *gpu_named(const char *name);             /* gpu.c; NULL: there is none of that name */
const char *gpu_meant(const char *name);            /* "; did you mean l40s?"; "": none is near, or no name is given */
const char *names_of_gpus(void);

/* What a machine does with all its threads; rates.c. */
typedef struct Rates {
    double seconds[UNITS];  /* that a unit takes (costs.def) */
    double cache;           /* bytes of the largest cache */
    int threads;
    const char *engine;     /* of products; NULL: these are no measured rates */
    const Gpu *gpu;         /* NULL: a CPU; a GPU has none of `seconds` */
    bool tf32;              /* how the GPU multiplies fp32 */
} Rates;
Rates gpu_rates(const Gpu *g, bool tf32);
double gpu_product_rate(const Rates *r, DType t);   /* FLOP a second of large products */
Rates usual_rates(void);            /* of a machine of a few years ago, with 8 cores */
bool measure_rates(Rates *r);       /* runs lathe-measure, about a second; false: it does not run */
Rates asked_rates(const Options *o, bool tf32);   /* of --gpu, or measured */

/* What one execution of a kernel does, but for bytes that no cache holds. */
typedef struct Work {
    double amount[COSTS];   /* costs.def; of what one thread does alone, times the number of threads */
} Work;
Work kernel_work(const Kernel *k, int threads);
bool threads_share(const Kernel *k);    /* or does one run it while the others wait? */
double seconds_of_work(const Work *w, const Rates *r);  /* step.c */

/* cache.c: which blocks of memory are in a cache that drops the block that was used longest ago. */
typedef struct Cache Cache;
Cache *new_cache(int64_t blocks, int64_t room);     /* both in blocks */
bool use_block(Cache *c, int64_t block);            /* was it there */

/* step.c */
typedef struct Time_part {       /* of a step */
    const Kernel *kernel;   /* NULL: the optimizer's */
    const char *name;       /* the optimizer's; NULL: the kernel's */
    const Program *program;
    double calls, seconds;  /* of all calls */
    const char *bound;      /* on a GPU: what takes the time */
    Work work;              /* of one */
} Time_part;
typedef struct Step_time {
    double seconds;
    VEC(Time_part) parts;
} Step_time;
/* Of a step of `turn` (an entry that is a step); NULL: of the longest. */
Step_time step_time(const Module *m, const Rates *r, const Program *turn);
void time_on_gpu(Time_part *p, const Rates *r);     /* gpu.c: its seconds and what bounds it */
void time_update_on_gpu(Step_time *t, const Module *m, const Gpu *g);  /* and what moves the inputs */
const Program *longest_step(const Module *m, const Rates *r, Step_time *t);    /* of all turns; NULL: no entry trains */
double step_ms(const Module *m, const Rates *r);    /* of it; 0: there is none */

/* serial.c */
typedef struct Serial {
    double share;           /* of the longest step's time on one thread: 0 … 1 */
    double most_times;      /* as fast as with one thread, with very many */
    int kernels;            /* of the step */
    VEC(Time_part) alone;   /* those that one thread runs, the longest first */
} Serial;
Serial serial_part(const Module *m, const Rates *r);

/* page.c: `lathe plan --time`; the page's kernels have their names */
struct Page;
char *milliseconds(double ms);  /* "23.2 ms", "1174 ms" */
void say_times(struct Page *page, Text *t, const Rates *r);
void say_times_json(struct Page *page, Text *t, const Rates *r);
void say_serial(struct Page *page, Text *t, const Rates *r);    /* of a CPU, if there is a step */
void say_serial_json(struct Page *page, Text *t, const Rates *r);

#endif
