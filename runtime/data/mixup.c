/* mixup.c: mixes the pictures of a training step in pairs, and says with which classes.
 *
 * Each picture is mixed with the next of its step, as crops and mirrors left it; the last with the first.  The rows of
 * a step may be those of several ranks, so the last of a rank is mixed with the first of the next.  By mixup (Zhang et
 * al. 2018) each pixel is share · its own + (1 - share) · the other's; by cutmix (Yun et al. 2019) a rectangle is the
 * other's, and share is what is left of its own.  The draws are a function of seed, epoch and picture. The class NAME
 * stays that of the picture; NAME_other is that of the other picture, NAME_share is share. */
#include "base/words.h"
#include "data/vary.h"
#include "math/random.h"
#include "model/block.h"
#include "model/tables.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RECTANGLE_SITE = 0x7fff0200, KIND_SITE = RECTANGLE_SITE + 2, SHARE_SITE = 0x7fff0300, SHARE_TRIES = 100 };

/* ------------------------------------------------------------------ draws */

static float drawn_log(const Picture_form *f, const File_turn *turn, int site)
{
    return log_f32((float)drawn_between(f, turn, site, 0x1p-33, 1));
}

/* Beta(alpha, alpha), by Jöhnk's method: powers 1 / alpha of two uniform draws whose sum is at most 1 are to each other
 * as share and 1 - share.  In logarithms, because a small alpha makes powers that no float holds. */
static double drawn_share(const Picture_form *f, const File_turn *turn, double alpha)
{
    for (int site = SHARE_SITE; site < SHARE_SITE + 2 * SHARE_TRIES; site += 2) {
        float x = drawn_log(f, turn, site) / (float)alpha, y = drawn_log(f, turn, site + 1) / (float)alpha;
        if (exp_f32(x) + exp_f32(y) <= 1) return 1 / (1 + (double)exp_f32(y - x));
    }
    return 0.5;
}

/* From centre - half to centre + half, as far as it lies in 0 … side. */
static void settle_side(int64_t centre, int64_t half, int64_t side, int64_t *from, int64_t *to)
{
    *from = centre > half ? centre - half : 0;
    *to = centre + half < side ? centre + half : side;
}

static Picture_mix drawn_rectangle(const Picture_form *f, const File_turn *turn, double share)
{
    Picture_mix m = {0};
    double half = sqrt(1 - share) / 2;
    settle_side(drawn_below(f, turn, RECTANGLE_SITE, f->width), (int64_t)(half * f->width), f->width, &m.left,
                &m.right);
    settle_side(drawn_below(f, turn, RECTANGLE_SITE + 1, f->height), (int64_t)(half * f->height), f->height, &m.top,
                &m.bottom);
    m.share = 1 - (double)((m.right - m.left) * (m.bottom - m.top)) / ((double)f->width * f->height);
    return m;
}

bool mixes_pictures(const Lathe_recipe *r) { return r->mixup > 0 || r->cutmix > 0; }

Picture_mix drawn_mixture(const Picture_form *f, const File_turn *turn)
{
    const Lathe_recipe *r = f->recipe;
    bool cut = r->cutmix > 0 && (r->mixup <= 0 || drawn_below(f, turn, KIND_SITE, 2));
    if (!mixes_pictures(r)) return (Picture_mix){.share = 1, .blend = 1};
    double share = drawn_share(f, turn, cut ? r->cutmix : r->mixup);
    if (cut) return drawn_rectangle(f, turn, share);
    return (Picture_mix){share, share, 0, 0, f->width, f->height};
}

/* ------------------------------------------------------------------ inputs */

/* Input NAME + ending; NULL: e does not read it. */
static const Lathe_tensor *input_after(const Lathe_entry *e, const char *name, const char *ending)
{
    size_t n = strlen(name);
    for (int i = 0; i < e->inputs; i++)
        if (strncmp(e->input[i].name, name, n) == 0 && strcmp(e->input[i].name + n, ending) == 0) return &e->input[i];
    return NULL;
}

/* What mixing makes of the class t. */
static const Lathe_tensor *other_of(const Lathe_entry *e, const Lathe_tensor *t)
{
    return t->role == LATHE_TARGETS && t->dtype == LATHE_I32 ? input_after(e, t->name, "_other") : NULL;
}

static const Lathe_tensor *share_of(const Lathe_entry *e, const Lathe_tensor *t)
{
    return t->role == LATHE_TARGETS && t->dtype == LATHE_I32 ? input_after(e, t->name, "_share") : NULL;
}

bool is_made_by_mixing(const Lathe_recipe *r, const Lathe_entry *e, const Lathe_tensor *t)
{
    for (int i = 0; i < e->inputs && (r->images || r->pictures); i++)
        if (other_of(e, &e->input[i]) == t || share_of(e, &e->input[i]) == t) return true;
    return false;
}

bool reads_mixtures(const Lathe_entry *e)
{
    for (int i = 0; i < e->inputs; i++)
        if (other_of(e, &e->input[i]) && share_of(e, &e->input[i])) return true;
    return false;
}

/* ------------------------------------------------------------------ the next row */

Next_row *open_next_row(const Lathe_entry *e)
{
    Lathe_tensor *input = must_alloc(sizeof *input * (size_t)(e->inputs + 1));
    Next_row *next = must_alloc(sizeof *next);
    int64_t bytes = 0;
    for (int i = 0; i < e->inputs; i++) {
        input[i] = e->input[i];
        input[i].rank = 1;
        input[i].dim[0] = tensor_size(&e->input[i]) / e->rows;
        input[i].offset = bytes;
        bytes += align64(input[i].dim[0] * dtype_size(input[i].dtype));
    }
    *next = (Next_row){.entry = *e, .in = must_alloc((size_t)bytes + 1)};
    next->entry.rows = 1;
    next->entry.input = input;
    return next;
}

void close_next_row(Next_row *next)
{
    if (!next) return;
    free((void *)(uintptr_t)next->entry.input);
    free(next->in);
    free(next);
}

/* Where its input t is. */
static const char *next_input(const Next_row *next, const Lathe_tensor *t)
{
    return next->in + input_after(&next->entry, t->name, "")->offset;
}

/* ------------------------------------------------------------------ batches */

/* Mixes a picture at `to` with the one at `with`, both from in the elements of t. */
static void mix_pixels(const Picture_form *f, const Picture_mix *m, Lathe_dtype type, char *to, const char *with)
{
    int64_t width = (m->right - m->left) * f->channels;
    for (int64_t y = m->top; y < m->bottom; y++) {
        int64_t first = (y * f->width + m->left) * f->channels;
        for (int64_t i = first; i < first + width; i++) {
            double own = read_element(type, to, i), other = read_element(type, with, i);
            write_real(type, to, i, m->blend * own + (1 - m->blend) * other);
        }
    }
}

static void mix_batch(const Picture_form *f, const Lathe_entry *e, char *in, const File_turn *turn,
                      const Next_row *next)
{
    const Lathe_tensor *t = input_after(e, f->input, "");
    if (!t) return;
    int64_t bytes = tensor_size(t) / e->rows * dtype_size(t->dtype), last = e->rows - 1;
    char *at = in + t->offset;
    for (int64_t r = 0; r <= last; r++) {
        Picture_mix m = drawn_mixture(f, &turn[r]);
        mix_pixels(f, &m, t->dtype, at + r * bytes, r < last ? at + (r + 1) * bytes : next_input(next, t));
    }
}

void mix_pictures(const Picture_form *f, const Lathe_entry *e, char *in, const File_turn *turn, const Next_row *next)
{
    const bool mixed = turn && mixes_pictures(f->recipe);
    for (int i = 0; i < e->inputs; i++) {
        const Lathe_tensor *t = &e->input[i], *other = other_of(e, t), *share = share_of(e, t);
        const int32_t *class = (const int32_t *)(const void *)(in + t->offset);
        int32_t *others = other ? (int32_t *)(void *)(in + other->offset) : NULL;
        for (int64_t r = 0; r < e->rows && other; r++) others[r] = class[mixed && r + 1 < e->rows ? r + 1 : r];
        if (other && mixed) memcpy(&others[e->rows - 1], next_input(next, t), sizeof *others);
        for (int64_t r = 0; r < e->rows && share; r++)
            write_real(share->dtype, in + share->offset, r, mixed ? drawn_mixture(f, &turn[r]).share : 1);
    }
    if (mixed) mix_batch(f, e, in, turn, next);
}
