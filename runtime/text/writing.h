/* writing.h: what a command asks of the texts that it writes. */
#ifndef LATHE_TEXT_WRITING_H
#define LATHE_TEXT_WRITING_H

#include "base/words.h"
#include "interface/lathe_model.h"

struct Origin;

typedef struct Writing {
    const Lathe_model *model;
    const Lathe_recipe *recipe;  /* of the run: the model's with --set applied */
    const struct Origin *origin; /* what the weights came with (model/origin.h); NULL: nothing */
    Words stop, stop_tokens;     /* what ends texts (text/stop.c) */
    int32_t seed;
    bool ignore_eos;   /* no token ends a text */
    bool tokens_given; /* --tokens says how long texts become, not the recipe */
} Writing;

#endif
