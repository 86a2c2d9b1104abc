/* hear.h: a recording to features, as it is or as it varies in training. */
#ifndef LATHE_DATA_HEAR_H
#define LATHE_DATA_HEAR_H

#include "data/files.h"
#include "data/mel.h"
#include "source/sound.h"

typedef struct Sound_form { /* of the model's input, and how recordings vary */
    Mel_form mel;
    int64_t frames; /* room of the input */
    const Lathe_recipe *recipe;
    int32_t seed;
} Sound_form;

typedef struct Hearer Hearer; /* of a thread */

Hearer *open_hearer(const Sound_form *f);
void close_hearer(Hearer *h);
int64_t hearer_numbers(const Hearer *h); /* of the features of a recording, with room for all frames */
int64_t hearer_bytes(const Sound_form *f);
int64_t frames_of_sound(const Sound_form *f, const Sound_about *about);
/* Features [frames][mels], zeros after the recording's end.  turn NULL: as it is.  Returns NULL, or what is wrong. */
char *hear(Hearer *h, const Sound_bytes *from, const File_turn *turn, float *out, int32_t *frames);
bool was_too_long(const Hearer *h); /* the recording that it heard last: it has more frames than there is room for */

#endif
