/* vary.c: which part of a picture is taken, and how it varies in training: crops, mirrors, light, holes.
 *
 * Each draw is a function of seed, epoch and picture, so it depends neither on the batch nor on threads. */
#include "base/words.h"
#include "data/vary.h"
#include "math/random.h"

#include <math.h>

enum {
    ACROSS_SITE = 0x7fff000a,
    DOWN_SITE,
    MIRROR_SITE,
    LIGHT_SITE,
    CONTRAST_SITE,
    COLOUR_SITE,
    HOLE_SITE,              /* and the next */
    ZOOM_SITE = 0x7fff0100, /* and the next of each try */
    ZOOM_TRIES = 10
};

int64_t drawn_below(const Picture_form *f, const File_turn *turn, int site, int64_t n)
{
    return uniform_below(f->seed, turn->epoch, site, turn->item, n);
}

/* From least to most. */
double drawn_between(const Picture_form *f, const File_turn *turn, int site, double least, double most)
{
    return least + (most - least) * ((double)drawn_below(f, turn, site, INT64_C(1) << 32) * 0x1p-32);
}

/* ------------------------------------------------------------------ cuts */

/* The resized picture covers the part that is wanted: its shorter side is `resize`, or as long as it must be. */
static void settle_size(const Picture_form *f, Cut *cut)
{
    int64_t side = f->recipe->resize, width = cut->across, height = cut->down;
    bool upright = side ? width <= height : f->width * height >= f->height * width;
    cut->width = upright ? (side ? side : f->width) : (side ? side : f->height) * width / height;
    cut->height = upright ? (side ? side : f->width) * height / width : (side ? side : f->height);
    if (cut->width < f->width) cut->width = f->width;
    if (cut->height < f->height) cut->height = f->height;
}

static void shift_cut(const Picture_form *f, const File_turn *turn, Cut *cut)
{
    int64_t pad = f->recipe->crop_pad;
    cut->x = drawn_below(f, turn, ACROSS_SITE, cut->width - f->width + 2 * pad + 1) - pad;
    cut->y = drawn_below(f, turn, DOWN_SITE, cut->height - f->height + 2 * pad + 1) - pad;
}

/* A part of the picture, at least crop_area of it and at most 4 : 3 either way, becomes the whole input (Inception's
 * crop, torchvision's RandomResizedCrop).  false: no part that was drawn lies within the picture. */
static bool zoom_cut(const Picture_form *f, const File_turn *turn, Cut *cut)
{
    const float most = 0.28768207f; /* log 4/3 */
    int64_t width = cut->across, height = cut->down;
    for (int site = ZOOM_SITE; site < ZOOM_SITE + 2 * ZOOM_TRIES; site += 2) {
        double area = drawn_between(f, turn, site, f->recipe->crop_area, 1) * (double)(width * height);
        double ratio = (double)exp_f32((float)drawn_between(f, turn, site + 1, -most, most));
        int64_t across = (int64_t)(sqrt(area * ratio) + 0.5), down = (int64_t)(sqrt(area / ratio) + 0.5);
        if (across < 1 || down < 1 || across > width || down > height) continue;
        *cut = (Cut){.left = drawn_below(f, turn, ACROSS_SITE, width - across + 1),
                     .top = drawn_below(f, turn, DOWN_SITE, height - down + 1),
                     .across = across,
                     .down = down,
                     .width = f->width,
                     .height = f->height};
        return true;
    }
    return false;
}

Cut settle_cut(const Picture_form *f, const File_turn *turn, int64_t width, int64_t height)
{
    Cut cut = {.across = width, .down = height};
    if (!turn || f->recipe->crop != LATHE_CROP_ZOOM || !zoom_cut(f, turn, &cut)) {
        settle_size(f, &cut);
        cut.x = (cut.width - f->width) / 2;
        cut.y = (cut.height - f->height) / 2;
        if (turn && f->recipe->crop == LATHE_CROP_RANDOM) shift_cut(f, turn, &cut);
    }
    cut.mirrored = turn && f->recipe->flip && drawn_below(f, turn, MIRROR_SITE, 2);
    return cut;
}

/* ------------------------------------------------------------------ pixels */

static uint8_t to_byte(double x) { return (uint8_t)(x < 0 ? 0 : x > 255 ? 255 : x + 0.5); }

static double luma(const uint8_t *rgb) { return 0.299 * rgb[0] + 0.587 * rgb[1] + 0.114 * rgb[2]; }

static double mean_light(const uint8_t *pixel, int64_t n, int channels)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += channels == 1 ? pixel[i] : luma(pixel + 3 * i);
    return sum / (double)n;
}

/* Light, contrast and colour, each by a factor of 1 - jitter … 1 + jitter. */
static void jitter_pixels(const Picture_form *f, const File_turn *turn, uint8_t *pixel)
{
    double j = f->recipe->jitter, light = drawn_between(f, turn, LIGHT_SITE, 1 - j, 1 + j);
    double contrast = drawn_between(f, turn, CONTRAST_SITE, 1 - j, 1 + j);
    double colour = drawn_between(f, turn, COLOUR_SITE, 1 - j, 1 + j);
    int64_t n = (int64_t)f->width * f->height, all = n * f->channels;
    for (int64_t i = 0; i < all; i++) pixel[i] = to_byte(pixel[i] * light);
    double mean = mean_light(pixel, n, f->channels);
    for (int64_t i = 0; i < all; i++) pixel[i] = to_byte(mean + (pixel[i] - mean) * contrast);
    for (int64_t i = 0; i < all && f->channels == 3; i += 3) {
        double grey = luma(pixel + i);
        for (int c = 0; c < 3; c++) pixel[i + c] = to_byte(grey + (pixel[i + c] - grey) * colour);
    }
}

/* A black square around any pixel (Cutout). */
static void cut_hole(const Picture_form *f, const File_turn *turn, uint8_t *pixel)
{
    int64_t side = f->recipe->cutout, left = drawn_below(f, turn, HOLE_SITE, f->width) - side / 2;
    int64_t top = drawn_below(f, turn, HOLE_SITE + 1, f->height) - side / 2;
    for (int64_t y = top < 0 ? 0 : top; y < top + side && y < f->height; y++)
        for (int64_t x = left < 0 ? 0 : left; x < left + side && x < f->width; x++)
            for (int c = 0; c < f->channels; c++) pixel[(y * f->width + x) * f->channels + c] = 0;
}

void vary_pixels(const Picture_form *f, const File_turn *turn, uint8_t *pixels)
{
    if (f->recipe->jitter > 0) jitter_pixels(f, turn, pixels);
    if (f->recipe->cutout > 0) cut_hole(f, turn, pixels);
}
