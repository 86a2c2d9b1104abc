/* vary.h: what a batch takes of a picture, in evaluation and in training. */
#ifndef LATHE_DATA_VARY_H
#define LATHE_DATA_VARY_H

#include "data/files.h"
#include "data/resample.h"

typedef struct Picture_form { /* of the model's input, and how pictures vary */
    const char *input; /* its name */
    int width, height, channels;
    const Lathe_recipe *recipe;
    int32_t seed;
} Picture_form;

/* Of a picture of width x height pixels.  turn: in training; NULL: from the middle, as it is. */
Cut settle_cut(const Picture_form *f, const File_turn *turn, int64_t width, int64_t height);
void vary_pixels(const Picture_form *f, const File_turn *turn, uint8_t *pixels); /* in training, after the cut */
/* Draws, which depend on the seed, the turn and site. */
int64_t drawn_below(const Picture_form *f, const File_turn *turn, int site, int64_t n);
double drawn_between(const Picture_form *f, const File_turn *turn, int site, double least, double most);

/* ------------------------------------------------------------------ data/mixup.c: pairs of pictures */

typedef struct Picture_mix { /* of a picture and another */
    double share;        /* of its class; the rest is the other's */
    double blend;        /* of its pixels in the rectangle; outside they are all its own */
    int64_t left, top, right, bottom;
} Picture_mix;

bool mixes_pictures(const Lathe_recipe *r); /* in training */
Picture_mix drawn_mixture(const Picture_form *f, const File_turn *turn);
/* NAME_other and NAME_share of the class NAME, which are not in the data. */
bool is_made_by_mixing(const Lathe_recipe *r, const Lathe_entry *e, const Lathe_tensor *t);
bool reads_mixtures(const Lathe_entry *e); /* both of them */

typedef struct Next_row { /* the row behind those of a call: the last one is mixed with it */
    Lathe_entry entry;    /* of this row alone: the same inputs by name, at other places */
    char *in;
} Next_row;
Next_row *open_next_row(const Lathe_entry *e); /* to be filled as a call of `entry` */
void close_next_row(Next_row *next);
/* Once the picture and its class are in the inputs, mixes them.  turn [e->rows]: in training; NULL: nothing is mixed.
 * next: NULL where nothing is. */
void mix_pictures(const Picture_form *f, const Lathe_entry *e, char *in, const File_turn *turn, const Next_row *next);

#endif
