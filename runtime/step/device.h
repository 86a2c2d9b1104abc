/* device.h: the interface of a device that runs a trainer's entries instead of this processor.  The device has a copy
 * of the host's block (trainer/memory.c), byte for byte.  For C and C++.
 *
 * Calls take effect in order, and only `down`, `run` and `end_step` wait.  An error is kept for `failure`; calls after
 * it do nothing. */
#ifndef LATHE_STEP_DEVICE_H
#define LATHE_STEP_DEVICE_H

#include "interface/lathe_model.h"
#include "interface/shard.h"
#include "step/optim.h"

enum { LATHE_RANKS_ID = 128, LATHE_ID_WORDS = 200 };

typedef struct Device_needs {
    const char *command;                /* for messages: "train" */
    int rank, gpus;                     /* number of this device; number of devices */
    int place, places;                  /* likewise of those in this machine */
    const Lathe_model *model;
    void *block;                        /* the host's */
    int64_t bytes, inputs;              /* of the block; of the largest entry's inputs */
    int64_t workspace;                  /* planned for its libraries; 0: no entry calls them */
    int64_t ahead;                      /* bytes beside the block for arriving inputs of steps; 0: no steps */
    int64_t most;                       /* --memory-limit; 0: all the device has */
    const char *products;               /* the file of the products' fastest algorithms; NULL: none */
    bool afresh;                        /* that file is ignored */
    const struct Device_parts *parts;   /* step/device_parts.h; NULL: it keeps all parameters and gradients */
} Device_needs;

typedef struct Step_result {
    double loss, norm, seconds;         /* seconds: of the step on the device, by its own clock */
    double forward, backward, update;   /* parts of seconds, after time_parts(true) */
    double part[LATHE_LOSSES];          /* losses by name, in the order of the entry's outputs behind the loss */
    bool skipped;                       /* its gradients overflowed fp16, so it did not update parameters */
    Loss_scale loss_scale;              /* after the step */
} Step_result;

typedef struct Bad_id {                 /* an id out of range: step/bad_id.c reports it */
    char place[LATHE_ID_WORDS], what[LATHE_ID_WORDS];
    int id, below;
    bool data;
} Bad_id;

typedef struct Lathe_device {
    const char *word;                   /* "GPU" */
    /* Allocates the device's memory, zeroed.  Returns NULL, or a message about why it could not.  *remark: a note for
     * the user; NULL: none. */
    const char *(*open)(const Device_needs *needs, const char **remark);
    void (*close)(void);
    const char *(*failure)(void);       /* the first error; NULL: none */

    /* Bytes of the block: up copies them to the device, and the host may then change them; down copies them back; clear
     * zeroes them on the device. */
    void (*up)(const void *at, int64_t bytes);
    void (*down)(void *at, int64_t bytes);
    void (*clear)(void *at, int64_t bytes);
    /* Copies on the device: n pieces of `piece` bytes, `apart` bytes from each other on both sides. */
    void (*copy)(void *to, const void *from, int64_t piece, int64_t n, int64_t apart);

    /* Copies an entry's inputs up and runs it.  False: it met an id out of range. */
    bool (*run)(const Lathe_entry *e, const Lathe_call *call, Bad_id *bad);

    /* Steps begin and end in order; `lag` of them run while the host continues.  A step's inputs are copied while the
     * step before it runs. */
    int lag;
    /* Called once for each turn of a step, from 0, before steps; moments: of all turns, the mean of the weights of its parts,
     * then those of its parts, one after the other; step: its part of the block; direction: the entry that replaces gradients before the update, with its call,
     * whose inputs the device writes; NULL: none.  Each turn begins and ends as a step of its own. */
    void (*optimizer)(int turn, const Optimizer *o, void *moments, void *step, const Lathe_entry *direction, const Lathe_call *directing);
    /* clip: limit of the norm; 0: none.  After a loss or norm that is not finite, neither this step nor later ones
     * change parameters, except after steps that a loss scale skips (step/scale.h).  number: updates before it. */
    void (*begin_step)(int turn, const Lathe_entry *e, const Lathe_call *call, const Rates *rates, double clip, int64_t number);
    bool (*end_step)(Step_result *result, Bad_id *bad);

    /* The mean of the weights (step/average.h) to the trained parameters, in their type; all of several devices call it. */
    void (*show)(void *params);

    /* Several devices, one process per device.  The first calls name, for an id of LATHE_RANKS_ID bytes; all join with
     * it and wait for each other.  Then each updates its parts in every step (interface/shard.h).  They return the same
     * as open.  share: copies bytes of the first device's block to all.  return_parameters: after steps, before anything else
     * reads parameters, all devices get those that the last step has updated. */
    const char *(*name)(char *id);
    const char *(*join)(const char *id, const Lathe_shards *shards);
    void (*share)(void *at, int64_t bytes);
    void (*return_parameters)(void *params);
    /* Parameters of which each keeps its own (Device_needs.parts), by all devices: the host of the first has all of them,
     * spread gives each its own; collect brings all to that host. */
    void (*spread)(void *params);
    void (*collect)(void *params);

    /* Calls lap(kernel) after each kernel of a step's entry, with the time by the device's clock; NULL: stops. */
    void (*watch)(void (*lap)(int kernel, double seconds));
    /* Whether results of steps include the times of their parts; then each step must end before the next begins. */
    void (*time_parts)(bool wanted);
    /* Best rates: bytes read and written per second by a copy, flop per second of one large product (0 if there is no
     * room for one).  The block on the device is zero afterwards. */
    void (*rates)(double *copy, double *product);

    /* Ways of computing that have a second, slower way (loops in one launch; kernels that address by ids; attention by
     * a library): number met so far; name of one, NULL: it is no longer one; exact: both give the same bits.  second:
     * whether its second way is used from now on. */
    int (*ways)(void);
    const char *(*way)(int i, bool *exact);
    void (*second)(const char *name, bool wanted);
    /* Number of products whose algorithms were compared with the plain kernel when the device was opened; *wrong:
     * number with a wrong algorithm. */
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
