/* adapters.h: adapters that are given beside weights: one, or several over one base. */
#ifndef LATHE_TRAINER_ADAPTERS_H
#define LATHE_TRAINER_ADAPTERS_H

#include "model/block.h"
#include "trainer/trainer.h"

/* Reads an adapter over the weights of a file or folder, which are in flat.  Ends the program (3) if it is of another
 * base, unless --other-base, or does not fit the trainer, or if the weights have adapters of their own. */
void take_adapter(const Trainer *t, const char *adapter, const char *weights, void *flat);

/* Several: each has its own copy of what is trained, and the one in use is copied into the parameters.  The first is the
 * base's own, called after the model. */
typedef struct Adapters {
    const Lathe_model *m;
    Memory *memory;
    int n, used;
    const char **name; /* [n] */
    char *kept;        /* [n][bytes] */
    int64_t bytes;
} Adapters;

/* of --adapter NAME=PATH…, over weights that are loaded; n is 0 where none has a name */
void open_adapters(Adapters *a, Trainer *t, const char *weights, Memory *memory);
/* Puts one into the parameters; entries that run later see it.  name: NULL: the base alone.  false: there is none of
 * that name. */
bool use_adapter(Adapters *a, const char *name);
bool is_in_use(const Adapters *a, const char *name); /* true, too, if there is none of that name */

#endif
