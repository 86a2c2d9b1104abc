/* device.h: where a trainer's entries run if not on this processor: what the trainer asks of a device, which has a
 * picture of the host's block (trainer/memory.c), byte for byte.  For C and C++.
 *
 * Everything happens in one order, and nothing waits but `down`, `run` and `end_step`.  What goes wrong is kept until
 * `failure` asks; calls after it do nothing. */
#ifndef LATHE_STEP_DEVICE_H
#define LATHE_STEP_DEVICE_H

#include "interface/lathe_model.h"
#include "interface/shard.h"
#include "step/optim.h"

enum { LATHE_RANKS_ID = 128 };

typedef struct Device_needs {
    const char *command;                /* for messages: "train" */
    int rank, gpus;                     /* of several devices: the number of this one; how many */
    const Lathe_model *model;
    void *block;                        /* the host's */
    int64_t bytes, inputs;              /* of it; of the largest entry's inputs */
    int64_t workspace;                  /* planned for its libraries; 0: no entry calls them */
    int64_t ahead;                      /* what inputs of steps take beside it, on their way; 0: there are no steps */
    int64_t most;                       /* --memory-limit; 0: all the device has */
    const char *products;               /* the file of the products' fastest algorithms; NULL: none */
    bool afresh;                        /* what it says is not believed */
} Device_needs;

typedef struct Step_result {
    double loss, norm, seconds;         /* seconds: of the step on the device, by its own clock */
    double forward, backward, update;   /* of them, after time_parts(true) */
    bool skipped;                       /* its gradients overflowed under fp16: it was not taken */
    Loss_scale loss_scale;              /* behind it */
} Step_result;

typedef struct Bad_id {                 /* an id out of range: step/ids.c says what is told of it */
    char place[200], what[200];
    int id, below;
    bool data;
} Bad_id;

typedef struct Lathe_device {
    const char *word;                   /* "GPU" */
    /* Takes the device's memory, all of it zero.  NULL: done; else what to tell the user, and nothing is taken.  remark: what
     * they should know all the same; NULL: nothing. */
    const char *(*open)(const Device_needs *needs, const char **remark);
    void (*close)(void);
    const char *(*failure)(void);       /* the first; NULL: none */

    /* Bytes of the block: to the device, after which the host may change them; from it; zero there. */
    void (*up)(const void *at, int64_t bytes);
    void (*down)(void *at, int64_t bytes);
    void (*clear)(void *at, int64_t bytes);
    /* There: n pieces of so many bytes, on both sides `apart` from each other. */
    void (*copy)(void *to, const void *from, int64_t piece, int64_t n, int64_t apart);

    /* An entry: its inputs go up, it runs.  False: it met an id out of range. */
    bool (*run)(const Lathe_entry *e, const Lathe_call *call, Bad_id *bad);

    /* Steps: begun in order, ended in order, `lag` of them under way while the host goes on; a step's inputs go up while the one
     * before it runs. */
    int lag;
    /* Once, before them; moments: those of its parts, one after the other; step: its part of the block. */
    void (*optimizer)(const Optimizer *o, void *moments, void *step);
    /* clip: of the norm; 0: none.  A step whose loss or norm is not finite changes no parameter, nor does one after it, but for
     * those that a loss scale skips (step/scale.h).  number: steps before it. */
    void (*begin_step)(const Lathe_entry *e, const Lathe_call *call, const Rates *rates, double clip, int64_t number);
    bool (*end_step)(Step_result *result, Bad_id *bad);

    /* Several devices, a process each.  name: by the first, of LATHE_RANKS_ID bytes; the others join by it, and wait for each
     * other: after that each takes its parts of every step (interface/shard.h).  What comes back: as from open.  share: bytes of the
     * block there, the first one's to all. */
    const char *(*name)(char *id);
    const char *(*join)(const char *id, const Lathe_shards *shards);
    void (*share)(void *at, int64_t bytes);

    /* Calls lap(kernel) where a kernel of a step's entry has ended, with the device's clock; NULL: no more. */
    void (*watch)(void (*lap)(int kernel, double seconds));
    /* Whether the results of steps say what their parts took; each step is to be ended before the next one begins, then. */
    void (*time_parts)(bool wanted);
    /* At its best: bytes read and written a second by a copy, flop a second of one large product, 0 where there is no room for one.
     * What the block holds there is zero afterwards. */
    void (*rates)(double *copy, double *product);

    /* Ways of computing that have a second, slower one (loops in one launch; kernels that address by ids; attention by a library): how many have been met so far;
     * the name of one, NULL: it is none any more; exact: both give the same bits.  second: whether it is taken by its second way
     * from now on. */
    int (*ways)(void);
    const char *(*way)(int i, bool *exact);
    void (*second)(const char *name, bool wanted);
    /* Products whose algorithms were compared with the plain kernel when the device was opened; of how many one was wrong. */
    int (*products)(int *wrong);
    const char *(*about)(void);         /* the device, its driver, its libraries */
} Lathe_device;

#ifdef __cplusplus
extern "C" {
#endif
extern const Lathe_device lathe_cuda; /* cuda/trainer.cu */
#ifdef __cplusplus
}
#endif

#endif
