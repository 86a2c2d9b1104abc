/* vary.h: what a batch takes of a picture, in evaluation and in training. */
#ifndef LATHE_DATA_VARY_H
#define LATHE_DATA_VARY_H

#include "data/files.h"
#include "data/resample.h"

typedef struct Picture_form { /* of the model's input, and how pictures vary */
    int width, height, channels;
    const Lathe_recipe *recipe;
    int32_t seed;
} Picture_form;

/* Of a picture of width x height pixels.  turn: in training; NULL: from the middle, as it is. */
Cut settle_cut(const Picture_form *f, const File_turn *turn, int64_t width, int64_t height);
void vary_pixels(const Picture_form *f, const File_turn *turn, uint8_t *pixels); /* in training, after the cut */

#endif
