/* test_vary.c: crops of training lie where they should and as often, a part of a picture becomes what the same picture
 * alone would, mirrors are mirrors, light and holes are within their bounds; all of it a function of seed, epoch and
 * picture. */
#include "data/vary.h"
#include "sources.h"

#include <math.h>
#include <stdio.h>

enum { WIDTH = 9, HEIGHT = 7, N = WIDTH * HEIGHT * 3, DRAWS = 4000 };

static Lathe_recipe recipe;
static Lathe_interpolation by;
static const Picture_form form = {"image", WIDTH, HEIGHT, 3, &recipe, 5};

/* ------------------------------------------------------------------ resizing a part */

enum { WIDE = 40, HIGH = 30 };
static uint8_t picture[HIGH][WIDE * 3];

static void resize(const Cut *cut, uint8_t *out)
{
    Resampler *r = open_resampler(WIDTH, HEIGHT, 3, by);
    start_picture(r, WIDE, HIGH, cut);
    for (int y = 0; y < HIGH; y++) add_picture_row(r, y, picture[y]);
    end_picture(r, out);
    close_resampler(r);
}

/* The part as a picture of its own. */
static void resize_alone(const Cut *cut, uint8_t *out)
{
    Cut whole = *cut;
    whole.left = whole.top = 0;
    Resampler *r = open_resampler(WIDTH, HEIGHT, 3, by);
    start_picture(r, (int)cut->across, (int)cut->down, &whole);
    for (int y = 0; y < cut->down; y++) add_picture_row(r, y, picture[cut->top + y] + 3 * cut->left);
    end_picture(r, out);
    close_resampler(r);
}

static void check_parts(void)
{
    uint8_t a[N], b[N];
    for (int y = 0; y < HIGH; y++)
        for (int x = 0; x < 3 * WIDE; x++) picture[y][x] = (uint8_t)below(256);
    for (int k = 0; k < 300; k++) {
        by = (Lathe_interpolation)(k % 3);
        int64_t across = 1 + below(WIDE), down = 1 + below(HIGH);
        Cut cut = {below(WIDE - across + 1), below(HIGH - down + 1), across,       down,    WIDTH + below(5),
                   HEIGHT + below(5),        below(9) - 4,           below(9) - 4, below(2)};
        resize(&cut, a);
        resize_alone(&cut, b);
        expect(memcmp(a, b, N) == 0, "a part of %lld x %lld", (long long)across, (long long)down);
        cut.mirrored = !cut.mirrored;
        resize(&cut, b);
        bool same = true;
        for (int i = 0; i < N; i++) {
            int x = i / 3 % WIDTH, other = i + 3 * (WIDTH - 1 - 2 * x);
            same &= a[i] == b[other];
        }
        expect(same, "a mirrored part");
    }
}

/* What lies beyond the picture is black, and what lies in it is as without a border. */
static void check_border(void)
{
    uint8_t a[N], b[N];
    Cut cut = {0, 0, WIDE, HIGH, WIDTH, HEIGHT, 0, 0, false};
    resize(&cut, a);
    cut.x = -2, cut.y = 3;
    resize(&cut, b);
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++) {
            bool inside = x >= 2 && y + 3 < HEIGHT;
            int want = inside ? a[((y + 3) * WIDTH + x - 2) * 3] : 0;
            expect(b[(y * WIDTH + x) * 3] == want, "row %d, column %d", y, x);
        }
}

/* ------------------------------------------------------------------ draws */

static File_turn turn_of(int k) { return (File_turn){k % 50, k / 50}; }

static void check_middle(void)
{
    recipe = (Lathe_recipe){0};
    Cut c = settle_cut(&form, NULL, 100, 70);
    expect(c.width == 10 && c.height == 7 && c.x == 0 && c.y == 0 && !c.mirrored, "the middle of 100 x 70");
    recipe.resize = 20;
    recipe.flip = 1;
    recipe.crop = LATHE_CROP_RANDOM;
    c = settle_cut(&form, NULL, 50, 100);
    expect(c.width == 20 && c.height == 40 && c.x == 5 && c.y == 16 && !c.mirrored, "the middle of 50 x 100");
}

static void check_random(void)
{
    int seen[5] = {0}, mirrored = 0;
    recipe = (Lathe_recipe){.crop = LATHE_CROP_RANDOM, .crop_pad = 2, .flip = 1};
    for (int k = 0; k < DRAWS; k++) {
        File_turn turn = turn_of(k);
        Cut c = settle_cut(&form, &turn, 9, 7), again = settle_cut(&form, &turn, 9, 7);
        expect(c.x == again.x && c.y == again.y && c.mirrored == again.mirrored, "the same draw again");
        if (!expect(c.x >= -2 && c.x <= 2 && c.y >= -2 && c.y <= 2, "a crop of the border")) return;
        seen[c.x + 2]++;
        mirrored += c.mirrored;
    }
    for (int i = 0; i < 5; i++) expect(abs(seen[i] - DRAWS / 5) < 120, "column %d is drawn %d times", i - 2, seen[i]);
    expect(abs(mirrored - DRAWS / 2) < 150, "%d of %d are mirrored", mirrored, DRAWS);
}

static void check_zoom(void)
{
    double sum = 0;
    recipe = (Lathe_recipe){.crop = LATHE_CROP_ZOOM, .crop_area = 0.25};
    for (int k = 0; k < DRAWS; k++) {
        File_turn turn = turn_of(k);
        Cut c = settle_cut(&form, &turn, 400, 300);
        double area = (double)(c.across * c.down) / (400 * 300), ratio = (double)c.across / (double)c.down;
        expect(c.left >= 0 && c.top >= 0 && c.left + c.across <= 400 && c.top + c.down <= 300, "within the picture");
        expect(area > 0.248 && area <= 1 && ratio > 0.74 && ratio < 1.35, "area %g, ratio %g", area, ratio);
        expect(c.width == WIDTH && c.height == HEIGHT && c.x == 0 && c.y == 0, "the whole part");
        sum += area;
    }
    expect(sum / DRAWS > 0.5 && sum / DRAWS < 0.65, "the mean area is %g", sum / DRAWS);
    File_turn turn = turn_of(0); /* no part of a line has such a ratio */
    Cut c = settle_cut(&form, &turn, 4000, 1);
    expect(c.left == 0 && c.across == 4000 && c.height == HEIGHT && c.width >= WIDTH, "a line as a whole");
}

/* ------------------------------------------------------------------ pixels */

static void check_pixels(void)
{
    uint8_t a[N], b[N];
    double sum = 0;
    recipe = (Lathe_recipe){.jitter = 0.25};
    for (int k = 0; k < 200; k++) {
        File_turn turn = turn_of(k);
        memset(a, 100, N);
        vary_pixels(&form, &turn, a);
        memset(b, 100, N);
        vary_pixels(&form, &turn, b);
        expect(memcmp(a, b, N) == 0 && a[0] >= 75 && a[0] <= 125 && a[0] == a[N - 1], "grey of %d", a[0]);
        sum += a[0];
    }
    expect(fabs(sum / 200 - 100) < 4, "the mean light is %g", sum / 200);
    recipe = (Lathe_recipe){.cutout = 3};
    for (int k = 0; k < 200; k++) {
        File_turn turn = turn_of(k);
        int black = 0;
        memset(a, 9, N);
        vary_pixels(&form, &turn, a);
        for (int i = 0; i < N; i += 3) black += a[i] == 0;
        expect(black >= 4 && black <= 9, "a hole of %d pixels", black);
    }
}

int main(void)
{
    check_parts();
    check_border();
    check_middle();
    check_random();
    check_zoom();
    check_pixels();
    return finish();
}
