/* resample.c: resizes pictures as Pillow does, to the bit: by Image.BILINEAR each number is a mean of those around its
 * place, weighted by a triangle that is as wide as two pixels of the smaller of both pictures; by Image.BICUBIC, by a
 * cubic curve that is twice as wide and falls below 0; by Image.NEAREST it is the number at its place.
 *
 * First along rows, nearest_byte to 8 bits, then along columns.  Weights are whole numbers in units of 2^-22, so sums
 * do not depend on their order: a row that comes in is resized and added at once to the rows of the result that it
 * counts for, and no more of the picture is held than that. */
#include "base/words.h"
#include "data/resample.h"
#include "source/picture.h"

#include <math.h>
#include <stdlib.h>

enum { UNIT_BITS = 22 };

typedef struct Taps { /* of each place of an axis: what it is a mean of */
    int *first, *n;   /* first: INT32_MAX behind the picture */
    int32_t *weight;  /* [places][most] */
    int places, most;
    Lathe_interpolation by;
} Taps;

struct Resampler {
    int width, height, channels;
    int side; /* columns of the picture */
    bool mirrored;
    Taps across, down;
    int least;     /* rows of the result before this one are complete */
    uint8_t *grey; /* [PICTURE_SIDE] a row of the picture */
    uint8_t *row;  /* [width][channels] a row, resized */
    int32_t *sum;  /* [height][width][channels] */
};

/* ------------------------------------------------------------------ weights */

/* Pixels of the smaller picture on each side of a place that count. */
static int reach_of(Lathe_interpolation by) { return by == LATHE_BICUBIC ? 2 : 1; }

/* Weights of a whole axis: places · (2 · reach · scale + 3), where places · scale is at most the picture's side; of a
 * picture that grows, places · (2 · reach + 1). */
static int64_t weight_room(int places, Lathe_interpolation by)
{
    int64_t across = 2 * reach_of(by);
    return across * PICTURE_SIDE + (across + 1) * places;
}

static double triangle(double x) { return fabs(x) < 1 ? 1 - fabs(x) : 0; }

/* Keys's cubic convolution, a = -1/2; Horner's scheme rounds as Pillow does. */
static double cubic(double x)
{
    const double a = -0.5, d = fabs(x);
    if (d < 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
    return d < 2 ? (((d - 5) * d + 8) * d - 4) * a : 0;
}

static int32_t in_units(double weight)
{
    double x = weight * (1 << UNIT_BITS);
    return (int32_t)(x < 0 ? x - 0.5 : x + 0.5);
}

/* Of a place of the resized axis, `whole` long, over a picture of `side` pixels. */
static void fill_taps(Taps *t, int at, int64_t place, int64_t whole, int side)
{
    double (*const curve)(double) = t->by == LATHE_BICUBIC ? cubic : triangle;
    double scale = (double)side / (double)whole, unit = scale < 1 ? 1 : scale, narrow = 1 / unit, sum = 0;
    double width = reach_of(t->by) * unit, centre = ((double)place + 0.5) * scale;
    double least = centre - width + 0.5, most = centre + width + 0.5;
    int first = least < 0 ? 0 : (int)least, end = most > side ? side : (int)most;
    int32_t *w = t->weight + (int64_t)at * t->most;
    bug_if(end - first > t->most);
    for (int k = first; k < end; k++) sum += curve((k - centre + 0.5) * narrow);
    for (int k = first; k < end; k++) {
        double x = curve((k - centre + 0.5) * narrow);
        w[k - first] = in_units(sum != 0 ? x / sum : x);
    }
    t->first[at] = first;
    t->n[at] = end - first;
}

/* The pixel at each place, which Pillow finds by adding up the scale, with its rounding. */
static void fill_nearest(Taps *t, int64_t from, int64_t whole, int64_t begin, int side)
{
    double scale = (double)side / (double)whole, at = scale * 0.5;
    for (int64_t place = 0; place < whole && place < from + t->places; place++, at += scale) {
        int64_t i = place - from;
        if (i < 0) continue;
        t->first[i] = (int)begin + (at < side ? (int)at : side - 1);
        t->n[i] = 1;
        t->weight[i * t->most] = 1 << UNIT_BITS;
    }
}

/* side: of the part of the picture that begins at `begin`. */
static void settle_taps(Taps *t, int64_t from, int64_t whole, int64_t begin, int side)
{
    double scale = (double)side / (double)whole;
    t->most = 2 * (int)ceil(reach_of(t->by) * (scale < 1 ? 1 : scale)) + 1;
    bug_if((int64_t)t->most * t->places > weight_room(t->places, t->by));
    for (int i = 0; i < t->places; i++) {
        int64_t place = from + i;
        t->first[i] = place < 0 ? 0 : INT32_MAX;
        t->n[i] = 0;
        if (place < 0 || place >= whole || t->by == LATHE_NEAREST) continue;
        fill_taps(t, i, place, whole, side);
        t->first[i] += (int)begin;
    }
    if (t->by == LATHE_NEAREST) fill_nearest(t, from, whole, begin, side);
}

static Taps open_taps(int places, Lathe_interpolation by)
{
    size_t n = (size_t)places;
    return (Taps){.first = must_alloc(4 * n),
                  .n = must_alloc(4 * n),
                  .weight = must_alloc(4 * (size_t)weight_room(places, by)),
                  .places = places,
                  .by = by};
}

static void close_taps(Taps *t)
{
    free(t->first);
    free(t->n);
    free(t->weight);
}

/* ------------------------------------------------------------------ rows */

static uint8_t nearest_byte(int32_t sum)
{
    int32_t x = sum >> UNIT_BITS;
    return (uint8_t)(x < 0 ? 0 : x > 255 ? 255 : x);
}

/* Luma of ITU-R 601, as Pillow's convert("L"). */
static void to_grey(uint8_t *grey, const uint8_t *rgb, int width)
{
    for (int x = 0; x < width; x++, rgb += 3)
        grey[x] = (uint8_t)((rgb[0] * 19595 + rgb[1] * 38470 + rgb[2] * 7471 + 0x8000) >> 16);
}

static void resize_grey(Resampler *r, const uint8_t *from)
{
    for (int x = 0; x < r->width; x++) {
        const int32_t *w = r->across.weight + (int64_t)x * r->across.most;
        const uint8_t *at = r->across.n[x] ? from + r->across.first[x] : from;
        int32_t sum = 1 << (UNIT_BITS - 1);
        for (int k = 0; k < r->across.n[x]; k++) sum += w[k] * at[k];
        r->row[x] = nearest_byte(sum);
    }
}

static void resize_colours(Resampler *r, const uint8_t *from)
{
    for (int x = 0; x < r->width; x++) {
        const int32_t *w = r->across.weight + (int64_t)x * r->across.most;
        const uint8_t *at = r->across.n[x] ? from + 3 * (int64_t)r->across.first[x] : from;
        int32_t red = 1 << (UNIT_BITS - 1), green = red, blue = red;
        for (int k = 0; k < r->across.n[x]; k++, at += 3) {
            red += w[k] * at[0];
            green += w[k] * at[1];
            blue += w[k] * at[2];
        }
        r->row[3 * x] = nearest_byte(red);
        r->row[3 * x + 1] = nearest_byte(green);
        r->row[3 * x + 2] = nearest_byte(blue);
    }
}

/* Adds the resized row to those of the result that are a mean of it and others. */
static void add_down(Resampler *r, int y)
{
    const Taps *t = &r->down;
    int width = r->width * r->channels;
    for (int i = r->least; i < r->height && t->first[i] <= y; i++) {
        if (y >= t->first[i] + t->n[i]) continue;
        int32_t *sum = r->sum + (int64_t)i * width, w = t->weight[(int64_t)i * t->most + y - t->first[i]];
        for (int x = 0; x < width; x++) sum[x] += w * r->row[x];
    }
}

void add_picture_row(Resampler *r, int y, const uint8_t *rgb)
{
    const Taps *t = &r->down;
    while (r->least < r->height && t->first[r->least] != INT32_MAX && t->first[r->least] + t->n[r->least] <= y)
        r->least++;
    if (r->least == r->height || t->first[r->least] > y) return;
    if (r->channels == 1) {
        to_grey(r->grey, rgb, r->side);
        resize_grey(r, r->grey);
    } else resize_colours(r, rgb);
    add_down(r, y);
}

/* ------------------------------------------------------------------ pictures */

void start_picture(Resampler *r, int width, int height, const Cut *cut)
{
    int64_t n = (int64_t)r->height * r->width * r->channels;
    bug_if(cut->left + cut->across > width || cut->top + cut->down > height);
    settle_taps(&r->across, cut->x, cut->width, cut->left, (int)cut->across);
    settle_taps(&r->down, cut->y, cut->height, cut->top, (int)cut->down);
    r->side = width;
    r->mirrored = cut->mirrored;
    r->least = 0;
    for (int64_t i = 0; i < n; i++) r->sum[i] = 1 << (UNIT_BITS - 1);
}

void end_picture(Resampler *r, uint8_t *out)
{
    const int32_t *sum = r->sum;
    for (int y = 0; y < r->height; y++)
        for (int x = 0; x < r->width; x++) {
            int to = r->mirrored ? r->width - 1 - x : x;
            for (int c = 0; c < r->channels; c++)
                out[((int64_t)y * r->width + to) * r->channels + c] = nearest_byte(*sum++);
        }
}

int64_t resampler_bytes(int width, int height, int channels, Lathe_interpolation by)
{
    int64_t pixels = (int64_t)width * channels;
    return 4 * (weight_room(width, by) + weight_room(height, by)) + 8 * ((int64_t)width + height) + PICTURE_SIDE +
           pixels + 4 * height * pixels;
}

Resampler *open_resampler(int width, int height, int channels, Lathe_interpolation by)
{
    size_t pixels = (size_t)width * (size_t)channels;
    Resampler *r = must_alloc(sizeof *r);
    *r = (Resampler){.width = width, .height = height, .channels = channels};
    r->across = open_taps(width, by);
    r->down = open_taps(height, by);
    r->grey = must_alloc(PICTURE_SIDE);
    r->row = must_alloc(pixels);
    r->sum = must_alloc(4 * pixels * (size_t)height);
    return r;
}

void close_resampler(Resampler *r)
{
    close_taps(&r->across);
    close_taps(&r->down);
    free(r->grey);
    free(r->row);
    free(r->sum);
    free(r);
}
