/* hear.c: the samples of a recording, at the model's rate, become features; in training they vary: gain, shifts, and
 * masks (SpecAugment, Park et al. 2019).
 *
 * Each draw is a function of seed, epoch and recording, so it depends neither on the batch nor on threads. */
#include "base/words.h"
#include "data/hear.h"
#include "math/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    GAIN_SITE = 0x7fff0020,
    SHIFT_SITE,
    BAND_SITE = 0x7fff0200,    /* and the next of each mask */
    STRETCH_SITE = 0x7fff0300, /* likewise */
    SHARE = 5                  /* a stretch blanks at most one part of so many */
};

struct Hearer {
    const Sound_form *form;
    Mel *mel;
    Rate *rate; /* of the last recording that needed one */
    int rate_from;
    bool resampled; /* the one at work */
    bool too_long;  /* likewise */
    double *x;
    int64_t n, room; /* samples, at the model's rate */
};

int64_t frames_of_sound(const Sound_form *f, const Sound_about *about)
{
    return mel_frames(&f->mel, samples_at_rate(about->samples, about->rate, f->mel.rate));
}

int64_t hearer_bytes(const Sound_form *f)
{
    return mel_bytes(&f->mel) + (int64_t)sizeof(double) * mel_samples(&f->mel, f->frames) + RATE_ROOM + SOUND_ROOM;
}

Hearer *open_hearer(const Sound_form *f)
{
    Hearer *h = must_alloc(sizeof *h);
    h->form = f;
    h->mel = open_mel(&f->mel);
    h->room = mel_samples(&f->mel, f->frames);
    h->x = must_alloc(sizeof *h->x * (size_t)(h->room + 1));
    return h;
}

int64_t hearer_numbers(const Hearer *h) { return h->form->frames * h->form->mel.mels; }

void close_hearer(Hearer *h)
{
    close_mel(h->mel);
    close_rate(h->rate);
    free(h->x);
    free(h);
}

/* ------------------------------------------------------------------ samples */

static char *take_about(void *with, const Sound_about *about)
{
    Hearer *h = with;
    const Sound_form *f = h->form;
    int64_t frames = frames_of_sound(f, about);
    h->too_long = frames > f->frames;
    if (h->too_long)
        return text_of("expected at most %lld frames (%.4g s), found %lld (%.4g s); cut it, leave it out "
                       "(too_long=drop), or build the model with --set frames=%lld",
                       (long long)f->frames, (double)f->frames * f->mel.hop / f->mel.rate, (long long)frames,
                       (double)about->samples / about->rate, (long long)frames);
    h->n = 0;
    h->resampled = about->rate != f->mel.rate;
    if (!h->resampled) return NULL;
    if (h->rate && h->rate_from == about->rate) restart_rate(h->rate);
    else {
        close_rate(h->rate);
        h->rate = open_rate(h->rate_from = about->rate, f->mel.rate);
    }
    if (h->rate) return NULL;
    return text_of("has %d samples a second, which cannot be resampled to %d; convert it (sox FILE -r %d OUT.wav, or "
                   "ffmpeg -i FILE -ar %d OUT.wav)",
                   about->rate, f->mel.rate, f->mel.rate, f->mel.rate);
}

static void take_samples(void *with, const float *x, int64_t n)
{
    Hearer *h = with;
    if (h->resampled) {
        h->n += change_rate(h->rate, x, n, false, h->x + h->n, h->room - h->n);
        return;
    }
    bug_if(n > h->room - h->n);
    for (int64_t i = 0; i < n; i++) h->x[h->n++] = (double)x[i];
}

static int64_t drawn_below(const Sound_form *f, const File_turn *turn, int site, int64_t n)
{
    return uniform_below(f->seed, turn->epoch, site, turn->item, n);
}

/* From -most to most. */
static double drawn_within(const Sound_form *f, const File_turn *turn, int site, double most)
{
    return most * ((double)drawn_below(f, turn, site, INT64_C(1) << 32) * 0x1p-31 - 1);
}

/* By `by` samples, into silence. */
static void shift_samples(double *x, int64_t n, int64_t by)
{
    int64_t away = by < 0 ? -by : by, kept = away < n ? n - away : 0;
    memmove(by < 0 ? x : x + (n - kept), by < 0 ? x + (n - kept) : x, sizeof *x * (size_t)kept);
    memset(by < 0 ? x + kept : x, 0, sizeof *x * (size_t)(n - kept));
}

static void vary_samples(Hearer *h, const File_turn *turn)
{
    const Sound_form *f = h->form;
    const double natural = 0.11512925464970229; /* log 10 / 20: of a decibel */
    double gain = f->recipe->gain > 0 ? exp_f64(natural * drawn_within(f, turn, GAIN_SITE, f->recipe->gain)) : 1;
    for (int64_t i = 0; i < h->n && gain != 1; i++) h->x[i] *= gain;
    double most = f->recipe->shift * f->mel.rate;
    if (most >= 1) shift_samples(h->x, h->n, (int64_t)lround(drawn_within(f, turn, SHIFT_SITE, most)));
}

/* ------------------------------------------------------------------ features */

/* Over the frames of a recording each filter gets mean 0 and deviation 1. */
static void normalize_filter(float *x, int64_t frames, int64_t mels)
{
    double sum = 0, squares = 0;
    for (int64_t t = 0; t < frames; t++) sum += (double)x[t * mels];
    double mean = sum / (double)frames;
    for (int64_t t = 0; t < frames; t++) squares += ((double)x[t * mels] - mean) * ((double)x[t * mels] - mean);
    double deviation = sqrt(squares / (double)frames) + 1e-5;
    for (int64_t t = 0; t < frames; t++) x[t * mels] = (float)(((double)x[t * mels] - mean) / deviation);
}

static void normalize_features(const Sound_form *f, float *x, int64_t frames)
{
    const Lathe_recipe *r = f->recipe;
    int64_t mels = f->mel.mels;
    for (int64_t k = 0; k < mels && r->normalize == LATHE_BY_UTTERANCE; k++) normalize_filter(x + k, frames, mels);
    for (int64_t i = 0; i < frames * mels && r->normalize == LATHE_BY_NUMBERS; i++)
        x[i] = (float)(((double)x[i] - r->feature_mean) / r->feature_std);
}

static void blank(float *x, int64_t mels, int64_t first, int64_t frames, int64_t low, int64_t width)
{
    for (int64_t t = first; t < first + frames; t++) memset(x + t * mels + low, 0, sizeof *x * (size_t)width);
}

static void mask_features(const Sound_form *f, const File_turn *turn, float *x, int64_t frames)
{
    const Lathe_recipe *r = f->recipe;
    int64_t mels = f->mel.mels, widest = r->freq_mask < mels ? r->freq_mask : mels;
    int64_t longest = r->time_mask < frames / SHARE ? r->time_mask : frames / SHARE;
    for (int i = 0; i < r->freq_masks && widest > 0; i++) {
        int64_t width = drawn_below(f, turn, BAND_SITE + 2 * i, widest + 1);
        blank(x, mels, 0, frames, drawn_below(f, turn, BAND_SITE + 2 * i + 1, mels - width + 1), width);
    }
    for (int i = 0; i < r->time_masks && longest > 0; i++) {
        int64_t length = drawn_below(f, turn, STRETCH_SITE + 2 * i, longest + 1);
        blank(x, mels, drawn_below(f, turn, STRETCH_SITE + 2 * i + 1, frames - length + 1), length, 0, mels);
    }
}

bool was_too_long(const Hearer *h) { return h->too_long; }

char *hear(Hearer *h, const Sound_bytes *from, const File_turn *turn, float *out, int32_t *frames)
{
    const Sound_form *f = h->form;
    h->too_long = false;
    char *wrong = read_sound(from, &(Sound_taker){h, take_about, take_samples});
    if (wrong) return wrong;
    if (h->resampled) h->n += change_rate(h->rate, NULL, 0, true, h->x + h->n, h->room - h->n);
    if (turn) vary_samples(h, turn);
    int64_t n = mel_frames(&f->mel, h->n), mels = f->mel.mels;
    bug_if(h->n < 1 || n > f->frames);
    find_mel(h->mel, h->x, h->n, out);
    normalize_features(f, out, n);
    if (turn) mask_features(f, turn, out, n);
    memset(out + n * mels, 0, sizeof *out * (size_t)((f->frames - n) * mels));
    *frames = (int32_t)n;
    return NULL;
}
