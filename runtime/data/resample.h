/* resample.h: a picture in another size, from its rows as they come. */
#ifndef LATHE_DATA_RESAMPLE_H
#define LATHE_DATA_RESAMPLE_H

#include "interface/lathe_model.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct Resampler Resampler;

/* What is wanted of a resized picture begins at column x, row y; where it reaches beyond the picture, it is 0. */
typedef struct Cut {
    int64_t left, top, across, down; /* the part of the picture that is resized */
    int64_t width, height;           /* what it becomes */
    int64_t x, y;
    bool mirrored; /* left and right, after the cut */
} Cut;

/* For parts of width x height pixels of `channels` numbers, 3, or 1: grey.  It has room for any picture. */
Resampler *open_resampler(int width, int height, int channels, Lathe_interpolation by);
int64_t resampler_bytes(int width, int height, int channels, Lathe_interpolation by);
/* Then each row of the picture, [width][3], from the top. */
void start_picture(Resampler *r, int width, int height, const Cut *cut);
void add_picture_row(Resampler *r, int y, const uint8_t *rgb);
void end_picture(Resampler *r, uint8_t *out); /* [height][width][channels] */
void close_resampler(Resampler *r);

#endif
