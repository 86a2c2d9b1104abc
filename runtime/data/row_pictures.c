/* row_pictures.c: pictures that are rows of arrays, which vary in training as those of files do: the same draws make
 * the same bytes. */
#include "base/words.h"
#include "data/row_pictures.h"
#include "model/tables.h"

#include <stdlib.h>
#include <string.h>

struct Row_pictures {
    Picture_form form;
    Resampler *resampler;
    uint8_t *own, *made; /* a row's pixels [height][width][channels]: as they are, and varied */
    uint8_t *rgb;        /* [width][3] */
};

static bool changes_pixels(const Lathe_recipe *r)
{
    return r->crop != LATHE_CROP_CENTRE || r->flip || r->jitter > 0 || r->cutout > 0;
}

char *settings_as_they_are(const Lathe_recipe *r)
{
    return text_of("%s%s%s%s", r->crop != LATHE_CROP_CENTRE ? " --set crop=centre" : "", r->flip ? " --set flip=0" : "",
                   r->jitter > 0 ? " --set jitter=0" : "", r->cutout > 0 ? " --set cutout=0" : "");
}

bool must_be_bytes(const Lathe_recipe *r, const Lathe_tensor *t)
{
    return r->pictures && strcmp(r->pictures, t->name) == 0 && changes_pixels(r);
}

/* ------------------------------------------------------------------ a row */

static int64_t pixels_of(const Picture_form *f) { return (int64_t)f->height * f->width * f->channels; }

/* A part of the picture in its own size; what lies beyond the picture is black. */
static void copy_part(const Picture_form *f, const Cut *cut, const uint8_t *from, uint8_t *to)
{
    memset(to, 0, (size_t)pixels_of(f));
    for (int64_t y = 0; y < f->height; y++)
        for (int64_t x = 0; x < f->width; x++) {
            int64_t row = cut->y + y, column = cut->x + x, at = cut->mirrored ? f->width - 1 - x : x;
            if (row < 0 || row >= f->height || column < 0 || column >= f->width) continue;
            for (int c = 0; c < f->channels; c++)
                to[(y * f->width + at) * f->channels + c] = from[(row * f->width + column) * f->channels + c];
        }
}

static void resize_part(Row_pictures *v, const Cut *cut)
{
    const Picture_form *f = &v->form;
    const uint8_t *at = v->own;
    start_picture(v->resampler, f->width, f->height, cut);
    for (int y = 0; y < f->height; y++) {
        for (int i = 0; i < f->width * 3; i++) v->rgb[i] = at[f->channels == 3 ? i : i / 3];
        add_picture_row(v->resampler, y, v->rgb);
        at += f->width * f->channels;
    }
    end_picture(v->resampler, v->made);
}

static void vary_row(Row_pictures *v, Lathe_dtype type, char *at, const File_turn *turn)
{
    const Picture_form *f = &v->form;
    Cut cut = settle_cut(f, turn, f->width, f->height);
    for (int64_t i = 0; i < pixels_of(f); i++) v->own[i] = (uint8_t)read_element(type, at, i);
    if (cut.width == cut.across && cut.height == cut.down) copy_part(f, &cut, v->own, v->made);
    else resize_part(v, &cut);
    vary_pixels(f, turn, v->made);
    for (int64_t i = 0; i < pixels_of(f); i++) write_real(type, at, i, v->made[i]);
}

/* ------------------------------------------------------------------ batches */

static const Lathe_tensor *pictures_of(const Row_pictures *v, const Lathe_entry *e)
{
    for (int i = 0; i < e->inputs; i++)
        if (strcmp(e->input[i].name, v->form.input) == 0) return &e->input[i];
    return NULL;
}

void vary_row_pictures(Row_pictures *v, const Lathe_entry *e, char *in, const File_turn *turn)
{
    const Lathe_tensor *t = pictures_of(v, e);
    int64_t bytes = t ? pixels_of(&v->form) * dtype_size(t->dtype) : 0;
    for (int64_t r = 0; r < e->rows && t && changes_pixels(v->form.recipe); r++)
        vary_row(v, t->dtype, in + t->offset + r * bytes, &turn[r]);
}

void mix_row_pictures(const Row_pictures *v, const Lathe_entry *e, char *in, const File_turn *turn,
                      const Next_row *next)
{
    mix_pictures(&v->form, e, in, turn, next);
}

/* ------------------------------------------------------------------ opening */

static void check_named(const Reading *reading)
{
    const Lathe_recipe *r = reading->recipe;
    if (!r->pictures && (changes_pixels(r) || mixes_pictures(r)))
        fail(EXIT_USAGE, NULL,
             "crop, flip, jitter, cutout, mixup and cutmix vary pictures, but the description of %s does not say which "
             "input they are; build it with data.arrays { pictures = \"NAME\", … }",
             reading->model->name);
}

Row_pictures *open_row_pictures(const Reading *reading, const Lathe_entry *e)
{
    Row_pictures *v = must_alloc(sizeof *v);
    *v = (Row_pictures){.form = {.input = reading->recipe->pictures, .recipe = reading->recipe, .seed = reading->seed}};
    if (reading->training) check_named(reading);
    const Lathe_tensor *t = v->form.input ? pictures_of(v, e) : NULL;
    if (!t) return free(v), NULL;
    const int64_t *last = t->dim + t->rank - 3;
    Picture_form *f = &v->form;
    f->height = (int)last[0], f->width = (int)last[1], f->channels = (int)last[2];
    v->resampler = open_resampler(f->width, f->height, f->channels, f->recipe->interpolation);
    v->own = must_alloc((size_t)pixels_of(f));
    v->made = must_alloc((size_t)pixels_of(f));
    v->rgb = must_alloc(3 * (size_t)f->width);
    return v;
}

int64_t row_pictures_heap(const Row_pictures *v)
{
    const Picture_form *f = &v->form;
    return resampler_bytes(f->width, f->height, f->channels, f->recipe->interpolation) + 2 * pixels_of(f) +
           3 * f->width;
}
