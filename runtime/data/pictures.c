/* pictures.c: pictures as the rows of a batch: decoded, cut, resized, and varied in training. */
#include "base/words.h"
#include "data/pictures.h"
#include "data/resample.h"
#include "data/split.h"
#include "data/vary.h"
#include "model/tables.h"
#include "source/picture.h"

#include <stdlib.h>

typedef struct Pictures { /* what threads share */
    const Reading *reading;
    const File_index *index;
    Picture_form form;
    int64_t pixels; /* numbers of a picture */
    int beyond;     /* as in Files_form */
} Pictures;

typedef struct Decoder { /* of a thread */
    const Pictures *p;
    Resampler *resampler;
    unsigned char *chunk;
    const File_turn *turn; /* the one at work; NULL: not varied */
} Decoder;

/* ------------------------------------------------------------------ one picture */

static void take_size(void *with, int width, int height)
{
    Decoder *d = with;
    Cut cut = settle_cut(&d->p->form, d->turn, width, height);
    start_picture(d->resampler, width, height, &cut);
}

static void take_row(void *with, int y, const uint8_t *rgb)
{
    const Decoder *d = with;
    add_picture_row(d->resampler, y, rgb);
}

static char *read_to_pixels(void *thread, int fd, const Data_file *q, const File_turn *turn, char *room)
{
    Decoder *d = thread;
    d->turn = turn;
    char *wrong =
        read_picture(&(Picture_bytes){fd, q->first, q->bytes, d->chunk}, &(Picture_taker){d, take_size, take_row});
    if (wrong) return wrong;
    end_picture(d->resampler, (uint8_t *)room);
    if (turn) vary_pixels(&d->p->form, turn, (uint8_t *)room);
    return NULL;
}

static void *open_picture_thread(const void *with)
{
    const Pictures *p = with;
    const Picture_form *f = &p->form;
    Decoder *d = must_alloc(sizeof *d);
    *d = (Decoder){.p = p,
                   .resampler = open_resampler(f->width, f->height, f->channels, f->recipe->interpolation),
                   .chunk = must_alloc(PICTURE_CHUNK)};
    return d;
}

/* ------------------------------------------------------------------ batches */

static bool is_picture_input(const Pictures *p, const Lathe_entry *e, const Lathe_tensor *t)
{
    return t->role == LATHE_FEATURES && t->dtype != LATHE_I32 && tensor_size(t) == e->rows * p->pixels;
}

static void put_pixels(const Lathe_tensor *t, char *at, const uint8_t *from, int64_t n)
{
    for (int64_t i = 0; i < n && t->dtype == LATHE_F32; i++) ((float *)(void *)at)[i] = from[i];
    for (int64_t i = 0; i < n && t->dtype != LATHE_F32; i++) write_real(t->dtype, at, i, from[i]);
}

static void put_pictures(const Pictures *p, const Lathe_entry *e, char *in, const File_turn *turn, const char *rooms)
{
    for (int i = 0; i < e->inputs; i++) {
        const Lathe_tensor *t = &e->input[i];
        char *at = in + t->offset;
        if (is_picture_input(p, e, t)) put_pixels(t, at, (const uint8_t *)rooms, e->rows * p->pixels);
        for (int64_t r = 0; r < e->rows && t->role == LATHE_TARGETS; r++)
            if (t->dtype == LATHE_I32) ((int32_t *)(void *)at)[r] = p->index->at[turn[r].item].class;
    }
}

/* The row behind those of one rank is its first. */
static void fill_pixels(const void *with, const Lathe_entry *e, char *in, const File_turn *turn, bool training,
                        const char *rooms)
{
    const Pictures *p = with;
    const int64_t behind = p->beyond ? e->rows : 0;
    Next_row *next = training && mixes_pictures(p->form.recipe) ? open_next_row(e) : NULL;
    put_pictures(p, e, in, turn, rooms);
    if (next) put_pictures(p, &next->entry, next->in, turn + behind, rooms + behind * p->pixels);
    mix_pictures(&p->form, e, in, training ? turn : NULL, next);
    close_next_row(next);
}

/* ------------------------------------------------------------------ opening */

/* [rows][height][width][channels], also with micro-batches. */
static void settle_form(Pictures *p, const Lathe_entry *e)
{
    for (int i = 0; i < e->inputs; i++) {
        const Lathe_tensor *t = &e->input[i];
        if (t->role != LATHE_FEATURES || t->dtype == LATHE_I32 || t->rank < 4) continue;
        const int64_t *last = t->dim + t->rank - 3;
        p->form.input = t->name;
        p->form.height = (int)last[0], p->form.width = (int)last[1], p->form.channels = (int)last[2];
    }
    p->form.recipe = p->reading->recipe;
    p->form.seed = p->reading->seed;
    p->pixels = (int64_t)p->form.height * p->form.width * p->form.channels;
    bug_if(p->form.channels != 1 && p->form.channels != 3);
}

static int64_t most_rows(const Pictures *p)
{
    int64_t most = 0;
    for (int i = 0; i < p->reading->model->entries; i++) {
        const Lathe_entry *e = &p->reading->model->entry[i];
        for (int k = 0; k < e->inputs; k++)
            if (is_picture_input(p, e, &e->input[k]) && e->rows > most) most = e->rows;
    }
    return most;
}

static const char *hasten_pictures(const void *with)
{
    (void)with;
    return ", or make the pictures as small as the model reads them, if they are larger";
}

static char *pictures_text(const void *with)
{
    return text_of("pictures of %s", class_counts(((const Pictures *)with)->index));
}

Files *open_pictures(const Reading *reading, const Lathe_entry *e, const Words *known)
{
    Pictures *p = must_alloc(sizeof *p);
    p->reading = reading;
    settle_form(p, e);
    int64_t resampler =
        resampler_bytes(p->form.width, p->form.height, p->form.channels, reading->recipe->interpolation);
    File_index *index =
        find_data_files(&picture_files, &reading->paths, reading->predicting ? UNLABELLED : CLASS_LABELS, known,
                        group_to_read(reading->recipe));
    p->index = index;
    p->beyond = reading->training && reading->gpus > 1 && mixes_pictures(reading->recipe);
    if (!reading->predicting) {
        check_class_count(index, tensor_with_role(e, LATHE_TARGETS), reading);
        shuffle_data_files(index);
    }
    return open_files(reading, index,
                      &(Files_form){.with = p,
                                    .room = p->pixels,
                                    .beyond = p->beyond,
                                    .thread_bytes = resampler + PICTURE_CHUNK + PICTURE_ROOM,
                                    .open_thread = open_picture_thread,
                                    .read = read_to_pixels,
                                    .fill = fill_pixels,
                                    .hasten = hasten_pictures,
                                    .tell = pictures_text},
                      most_rows(p));
}
