/* test_mixup.c: shares of mixup are Beta's, rectangles of cutmix lie within the picture and count as much as they
 * cover; a batch is what plain loops make of its pictures; pictures of arrays vary as those of files do; nothing is
 * mixed in evaluation. */
#include "data/row_pictures.h"
#include "sources.h"

#include <math.h>
#include <stdio.h>

enum { WIDTH = 9, HEIGHT = 7, ROWS = 5, DRAWS = 6000 };

static Lathe_recipe recipe;
static const Picture_form form = {"image", WIDTH, HEIGHT, 3, &recipe, 5};

static File_turn turn_of(int k) { return (File_turn){k % 50, k / 50}; }

/* ------------------------------------------------------------------ draws */

/* Beta(a, a) has mean 1/2, variance 1 / (4 (2a + 1)) and fourth central moment 3 / (16 (2a + 1) (2a + 3)). */
static void check_shares(double alpha)
{
    double sum = 0, squares = 0, fourths = 0;
    recipe = (Lathe_recipe){.mixup = alpha};
    for (int k = 0; k < DRAWS; k++) {
        File_turn turn = turn_of(k);
        Picture_mix m = drawn_mixture(&form, &turn), again = drawn_mixture(&form, &turn);
        expect(m.share >= 0 && m.share <= 1 && m.share == again.share && m.blend == m.share, "share %g", m.share);
        double d = m.share - 0.5;
        sum += d, squares += d * d, fourths += d * d * d * d;
    }
    double variance = 1 / (4 * (2 * alpha + 1)), fourth = 3 / (16 * (2 * alpha + 1) * (2 * alpha + 3));
    expect(fabs(sum / DRAWS) < 4 * sqrt(variance / DRAWS), "mean of Beta(%g): %g", alpha, sum / DRAWS);
    expect(fabs(squares / DRAWS / variance - 1) < 0.06, "variance of Beta(%g): %g", alpha, squares / DRAWS);
    expect(fabs(fourths / DRAWS / fourth - 1) < 0.09, "fourth moment of Beta(%g): %g", alpha, fourths / DRAWS);
}

static void check_rectangles(void)
{
    int cut = 0;
    recipe = (Lathe_recipe){.mixup = 0.5, .cutmix = 1};
    for (int k = 0; k < DRAWS; k++) {
        File_turn turn = turn_of(k);
        Picture_mix m = drawn_mixture(&form, &turn);
        if (m.blend != 0) continue;
        double covered = (double)((m.right - m.left) * (m.bottom - m.top)) / (WIDTH * HEIGHT);
        cut++;
        expect(m.left >= 0 && m.top >= 0 && m.right <= WIDTH && m.bottom <= HEIGHT && m.left <= m.right &&
                   m.top <= m.bottom,
               "a rectangle within the picture");
        expect(fabs(m.share - (1 - covered)) < 1e-12, "share %g, covered %g", m.share, covered);
    }
    expect(abs(cut - DRAWS / 2) < 250, "%d of %d are cut", cut, DRAWS);
}

/* ------------------------------------------------------------------ batches */

typedef struct Probe {
    Lathe_tensor tensor[4];
    Lathe_entry entry;
    Lathe_model model;
    Reading reading;
    float image[ROWS][HEIGHT * WIDTH * 3];
    int32_t label[ROWS], other[ROWS];
    float share[ROWS];
} Probe;

static const int32_t classes[ROWS] = {3, 0, 2, 2, 1};
static File_turn turns[ROWS];

static Lathe_tensor input_of(const char *name, Lathe_role role, Lathe_dtype type, int channels, size_t offset)
{
    return (Lathe_tensor){.name = name,
                          .role = role,
                          .dtype = type,
                          .rank = channels ? 4 : 1,
                          .dim = {ROWS, HEIGHT, WIDTH, channels},
                          .offset = (int64_t)offset};
}

static void begin_probe(Probe *p, int channels)
{
    *p = (Probe){.tensor = {input_of("image", LATHE_FEATURES, LATHE_F32, channels, offsetof(Probe, image)),
                            input_of("label", LATHE_TARGETS, LATHE_I32, 0, offsetof(Probe, label)),
                            input_of("label_other", LATHE_TARGETS, LATHE_I32, 0, offsetof(Probe, other)),
                            input_of("label_share", LATHE_TARGETS, LATHE_F32, 0, offsetof(Probe, share))}};
    p->entry = (Lathe_entry){.name = "train", .rows = ROWS, .inputs = 4, .input = p->tensor};
    p->reading = (Reading){.model = &p->model, .recipe = &recipe, .seed = 5, .training = true};
    recipe.pictures = "image";
    float *at = p->image[0];
    for (int i = 0; i < ROWS * HEIGHT * WIDTH * channels; i++) at[i] = (float)below(256);
    memcpy(p->label, classes, sizeof classes);
    for (int r = 0; r < ROWS; r++) turns[r] = (File_turn){7 * r + 1, 2};
}

/* A pixel is between both pictures' as the share says, or in a rectangle the other's. */
static void check_mixed(const Probe *was, const Probe *is)
{
    for (int r = 0; r < ROWS; r++) {
        int next = (r + 1) % ROWS, own = 0, others = 0;
        Picture_mix m = drawn_mixture(&form, &turns[r]);
        expect(is->label[r] == classes[r] && is->other[r] == classes[next] && is->share[r] == (float)m.share, "row %d",
               r);
        for (int i = 0; i < HEIGHT * WIDTH * 3; i++) {
            double a = (double)was->image[r][i], b = (double)was->image[next][i];
            float mixed = (float)(m.share * a + (1 - m.share) * b), x = is->image[r][i];
            if (m.blend != 0) expect(x == mixed, "row %d, number %d: %g", r, i, (double)x);
            else expect(x == (float)a || x == (float)b, "row %d, number %d: %g", r, i, (double)x);
            own += x == (float)a, others += x == (float)b;
        }
        double part = (double)others / (HEIGHT * WIDTH * 3);
        if (m.blend == 0)
            expect(fabs(part - (1 - m.share)) < 0.03, "row %d: %g of %g is the other's", r, part, m.share);
    }
}

static void check_batches(void)
{
    static Probe was, is;
    for (int k = 0; k < 3; k++) {
        recipe = (Lathe_recipe){.mixup = k != 1 ? 0.4 : 0, .cutmix = k != 0 ? 1 : 0};
        begin_probe(&is, 3);
        was = is;
        Next_row *next = open_next_row(&is.entry);
        memcpy(next->in, is.image[0], sizeof is.image[0]);
        memcpy(next->in + next->entry.input[1].offset, &classes[0], sizeof classes[0]);
        mix_pictures(&form, &is.entry, (char *)&is, turns, next);
        close_next_row(next);
        check_mixed(&was, &is);
        expect(reads_mixtures(&is.entry) && is_made_by_mixing(&recipe, &is.entry, &is.tensor[2]) &&
                   is_made_by_mixing(&recipe, &is.entry, &is.tensor[3]) &&
                   !is_made_by_mixing(&recipe, &is.entry, &is.tensor[1]),
               "inputs that are not in the data");
        is = was;
        mix_pictures(&form, &is.entry, (char *)&is, NULL, NULL);
        expect(memcmp(was.image, is.image, sizeof is.image) == 0, "no picture is mixed in evaluation");
        for (int r = 0; r < ROWS; r++) expect(is.share[r] == 1 && is.other[r] == classes[r], "row %d is its own", r);
    }
}

/* ------------------------------------------------------------------ pictures of arrays */

/* A row as pictures of files become it. */
static void vary_as_file(const Picture_form *f, const float *from, const File_turn *turn, uint8_t *out)
{
    uint8_t rgb[WIDTH * 3];
    Cut cut = settle_cut(f, turn, WIDTH, HEIGHT);
    Resampler *r = open_resampler(WIDTH, HEIGHT, f->channels, recipe.interpolation);
    start_picture(r, WIDTH, HEIGHT, &cut);
    for (int y = 0; y < HEIGHT; y++) {
        for (int i = 0; i < WIDTH * 3; i++)
            rgb[i] = (uint8_t)(f->channels == 3 ? from[y * WIDTH * 3 + i] : from[y * WIDTH + i / 3]);
        add_picture_row(r, y, rgb);
    }
    end_picture(r, out);
    close_resampler(r);
    vary_pixels(f, turn, out);
}

static void check_arrays(int channels)
{
    static Probe was, is;
    static const Lathe_recipe ways[] = {{.crop = LATHE_CROP_RANDOM, .crop_pad = 3, .flip = 1},
                                        {.crop = LATHE_CROP_ZOOM, .crop_area = 0.2, .interpolation = LATHE_BICUBIC},
                                        {.flip = 1, .jitter = 0.3, .cutout = 3}};
    for (size_t k = 0; k < sizeof ways / sizeof *ways; k++) {
        recipe = ways[k];
        begin_probe(&is, channels);
        was = is;
        Row_pictures *v = open_row_pictures(&is.reading, &is.entry);
        const Picture_form f = {"image", WIDTH, HEIGHT, channels, &recipe, 5};
        vary_row_pictures(v, &is.entry, (char *)&is, turns);
        int changed = memcmp(was.image, is.image, sizeof is.image);
        for (int r = 0; r < ROWS; r++) {
            uint8_t want[HEIGHT * WIDTH * 3];
            int n = HEIGHT * WIDTH * channels, same = 0;
            vary_as_file(&f, was.image[0] + r * n, &turns[r], want);
            for (int i = 0; i < n; i++) same += is.image[0][r * n + i] == want[i];
            expect(same == n, "way %zu, row %d: %d of %d numbers are as those of a file", k, r, same, n);
        }
        expect(changed, "way %zu changes pixels", k);
        is = was;
        mix_row_pictures(v, &is.entry, (char *)&is, NULL, NULL);
        expect(memcmp(was.image, is.image, sizeof is.image) == 0, "way %zu changes nothing in evaluation", k);
    }
}

int main(void)
{
    check_shares(0.2);
    check_shares(1);
    check_shares(2);
    check_rectangles();
    check_batches();
    check_arrays(1);
    check_arrays(3);
    return finish();
}
