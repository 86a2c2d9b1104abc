/* test_pictures.c: pictures are what Pillow makes of them; batches are the same for any number of threads and from any
 * step on; cut off at any byte, or with any byte changed, pictures and archives are refused or read within their
 * bounds, and those that lie about their size take no memory. */
#include "data/array.h"
#include "data/pictures.h"
#include "source/picture.h"
#include "source/tar.h"
#include "sources.h"

#include <png.h>
#include <stdio.h>
#include <unistd.h>

static const char *const names[] = {"wave.png", "tall.png",        "clear.png", "grey.png", "palette.png", "bits.png",
                                    "wave.jpg", "progressive.jpg", "grey.jpg",  "ink.jpg"}; /* as in pictures.py */
enum { NAMES = sizeof names / sizeof *names, PNGS = 6 };
static const struct Form {
    int height, width, channels, side;
} forms[] = {{12, 10, 3, 0}, {12, 10, 1, 0}, {20, 20, 3, 22}, {26, 34, 3, 0}}; /* likewise */

static char *recorded(const char *name) { return text_of("tests/reference/pictures/%s", name); }

static Bytes bytes_of(const char *path)
{
    Bytes b = {0};
    char room[1 << 12];
    FILE *f = fopen(path, "rb");
    if (!f) perror(path), exit(1);
    for (size_t n; (n = fread(room, 1, sizeof room, f)) > 0;) put(&b, room, (int64_t)n);
    fclose(f);
    return b;
}

/* ------------------------------------------------------------------ a model of pictures alone */

typedef struct Probe {
    Lathe_tensor tensor[2];
    Lathe_entry entry;
    Lathe_model model;
    Lathe_recipe recipe;
    Reading reading;
    int rank;
    Files *pictures;
    char *in;
    int64_t pixels;
} Probe;

static void open_probe(Probe *p, struct Form f, int64_t rows, Words paths, int readers, bool training)
{
    p->pixels = (int64_t)f.height * f.width * f.channels;
    p->tensor[0] = (Lathe_tensor){.name = "image",
                                  .role = LATHE_FEATURES,
                                  .dtype = LATHE_F32,
                                  .rank = 4,
                                  .dim = {rows, f.height, f.width, f.channels}};
    p->tensor[1] = (Lathe_tensor){.name = "label",
                                  .role = LATHE_TARGETS,
                                  .dtype = LATHE_I32,
                                  .rank = 1,
                                  .dim = {rows},
                                  .offset = 4 * rows * p->pixels,
                                  .below = 100};
    p->entry = (Lathe_entry){.name = "train", .rows = rows, .inputs = training ? 2 : 1, .input = p->tensor};
    p->model = (Lathe_model){.entries = 1, .entry = &p->entry};
    p->recipe.resize = f.side;
    p->reading = (Reading){.model = &p->model,
                           .recipe = &p->recipe,
                           .paths = paths,
                           .readers = readers,
                           .seed = 7,
                           .gpus = 1,
                           .rank = &p->rank,
                           .training = training,
                           .predicting = !training};
    p->pictures = open_pictures(&p->reading, &p->entry, NULL);
    p->in = must_alloc((size_t)(4 * rows * (p->pixels + 1)));
}

/* ------------------------------------------------------------------ Pillow */

/* Files may be decoded by another version of libjpeg; PNG has one result. */
static void compare(const char *name, struct Form f, const float *got, const unsigned char *want, int64_t n)
{
    int64_t different = 0, most = 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t d = llabs((int64_t)got[i] - want[i]);
        different += d != 0;
        if (d > most) most = d;
    }
    expect(strstr(name, ".png") ? !different : most <= 1,
           "%s as %d x %d x %d: %lld of %lld numbers differ, by up to %lld", name, f.height, f.width, f.channels,
           (long long)different, (long long)n, (long long)most);
}

/* The first n files, resized in one way. */
static void check_recording(const char *resized, int files, Lathe_interpolation by)
{
    Bytes want = bytes_of(recorded(resized));
    Words paths = {0};
    int64_t at = 0;
    for (int i = 0; i < files; i++) add_word(&paths, recorded(names[i]));
    Probe *probe = must_alloc(4 * sizeof *probe);
    for (int k = 0; k < 4; k++) {
        probe[k].recipe.interpolation = by;
        open_probe(&probe[k], forms[k], files, paths, 2, false);
        fill_files(probe[k].pictures, &probe[k].entry, probe[k].in, (int64_t[]){0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
    }
    for (int i = 0; i < files; i++)
        for (int k = 0; k < 4; k++) {
            int64_t n = probe[k].pixels;
            if (!expect(at + n <= want.n, "%s is complete", resized)) return;
            compare(names[i], forms[k], (float *)(void *)probe[k].in + i * n, (unsigned char *)want.at + at, n);
            at += n;
        }
    expect(at == want.n, "nothing more is in %s", resized);
}

/* ------------------------------------------------------------------ pictures of this test */

static void write_png(const char *path, int width, int height, int seed, bool interlaced)
{
    FILE *f = fopen(path, "wb");
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(png);
    unsigned char *rgb = must_alloc((size_t)(3 * width * height)), *row[200];
    for (int i = 0; i < 3 * width * height; i++) rgb[i] = (unsigned char)(i * (seed + 3) + i / (3 * width) * 5);
    for (int y = 0; y < height; y++) row[y] = rgb + 3 * width * y;
    png_init_io(png, f);
    png_set_IHDR(png, info, (png_uint_32)width, (png_uint_32)height, 8, PNG_COLOR_TYPE_RGB,
                 interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
                 PNG_FILTER_TYPE_DEFAULT);
    png_set_rows(png, info, row);
    png_write_png(png, info, PNG_TRANSFORM_IDENTITY, NULL);
    png_destroy_write_struct(&png, &info);
    fclose(f);
    free(rgb);
}

static void check_interlaced(void)
{
    static Probe probe;
    Words paths = {0};
    add_word(&paths, in_folder("plain.png"));
    add_word(&paths, in_folder("laced.png"));
    write_png(paths.at[0], 37, 29, 1, false);
    write_png(paths.at[1], 37, 29, 1, true);
    open_probe(&probe, forms[0], 2, paths, 1, false);
    fill_files(probe.pictures, &probe.entry, probe.in, (int64_t[]){0, 1});
    expect(memcmp(probe.in, probe.in + 4 * probe.pixels, (size_t)(4 * probe.pixels)) == 0, "an interlaced PNG");
}

/* ------------------------------------------------------------------ batches of training */

enum { ROWS = 6, PICTURES = 20 };

static File_turn give(void *with, int64_t step, int64_t rows, int64_t k)
{
    (void)with;
    return (File_turn){(step * rows + k) * 7 % PICTURES, (step * rows + k) / PICTURES};
}

/* The bytes of step `step`, reached from `from`. */
static char *batch(Words paths, int readers, int64_t from, int64_t step)
{
    Probe *p = must_alloc(sizeof *p);
    open_probe(p, forms[0], ROWS, paths, readers, true);
    p->recipe.crop = LATHE_CROP_RANDOM;
    p->recipe.crop_pad = 3;
    p->recipe.flip = 1;
    for (int64_t s = from; s <= step; s++) {
        expect(fill_file_step(p->pictures, &p->entry, p->in, s, give, NULL), "step %lld", (long long)s);
        fill_files(p->pictures, &p->entry, must_alloc((size_t)(4 * ROWS * (p->pixels + 1))),
                   (int64_t[ROWS]){0}); /* an evaluation between */
    }
    return p->in;
}

static void check_batches(void)
{
    Words paths = one_path(in_folder("classes"));
    const size_t n = 4 * ROWS * (12 * 10 * 3 + 1);
    for (int i = 0; i < PICTURES; i++) {
        char *class = text_of("%s/classes/%c", folder, "zya"[i % 3]), *make = text_of("mkdir -p %s", class);
        if (system(make) != 0) perror(class);
        write_png(text_of("%s/%d.png", class, i), 15 + i, 40 - i, i, i % 2);
    }
    const char *want = batch(paths, 1, 0, 5), *fewer = batch(paths, 1, 0, 4);
    expect(memcmp(want, batch(paths, 3, 0, 5), n) == 0, "three threads read what one does");
    expect(memcmp(want, batch(paths, 2, 5, 5), n) == 0, "a run that begins at step 5 reads what others do");
    expect(memcmp(want, fewer, n) != 0, "steps differ");
    const int32_t *label = (const int32_t *)(const void *)(want + n - 4 * ROWS);
    for (int i = 0; i < ROWS; i++) expect(label[i] >= 0 && label[i] < 3, "class %d", label[i]);
}

/* In the place of a picture that cannot be read stands the one before it in the batch; the others are as they were. */
static void check_stand_in(void)
{
    enum { FORM = 12 * 10 * 3 };
    Words paths = one_path(in_folder("classes"));
    const char *clean = batch(paths, 1, 0, 0);
    Probe *p = must_alloc(sizeof *p);
    p->recipe = (Lathe_recipe){.crop = LATHE_CROP_RANDOM, .crop_pad = 3, .flip = 1, .bad_records = 2};
    open_probe(p, forms[0], ROWS, paths, 2, true);
    const File_index *s = index_of_files(p->pictures);
    File_turn turn[ROWS];
    for (int k = 0; k < ROWS; k++) turn[k] = give(NULL, 0, ROWS, k);
    for (int k = 0; k < ROWS; k += 3) /* the first, whose place is the last's, and the fourth */
        if (truncate(name_of_file(s, turn[k].item), s->at[turn[k].item].bytes / 2) != 0) perror("truncate");
    for (int k = 0; k < ROWS; k += 3) s->at[turn[k].item].bytes /= 2;
    expect(fill_file_step(p->pictures, &p->entry, p->in, 0, give, NULL), "a step with two damaged pictures");
    const float *got = (const float *)(const void *)p->in, *want = (const float *)(const void *)clean;
    const int32_t *label = (const int32_t *)(const void *)(got + ROWS * FORM),
                  *right = (const int32_t *)(want + ROWS * FORM);
    for (int k = 0; k < ROWS; k++) {
        int from = k % 3 ? k : (k + ROWS - 1) % ROWS;
        expect(memcmp(got + k * FORM, want + from * FORM, sizeof *got * FORM) == 0, "picture %d of the batch", k);
        expect(label[k] == right[from], "class %d of the batch", k);
    }
    expect(s->bad == 2, "%lld are counted", (long long)s->bad);
}

/* ------------------------------------------------------------------ damage */

static void ignore_size(void *with, int width, int height) { (void)with, (void)width, (void)height; }
static void ignore_row(void *with, int y, const uint8_t *rgb) { (void)with, (void)y, (void)rgb; }

/* NULL, or the message. */
static char *read_bytes(const void *at, int64_t n)
{
    static unsigned char chunk[PICTURE_CHUNK];
    int fd = memory_file("picture");
    if (fd < 0 || write(fd, at, (size_t)n) != n) perror("memory"), exit(1);
    char *wrong = read_picture(&(Picture_bytes){fd, 0, n, chunk}, &(Picture_taker){NULL, ignore_size, ignore_row});
    close(fd);
    return wrong;
}

static void check_damage(const char *name)
{
    Bytes b = bytes_of(recorded(name));
    for (int64_t n = 0; n < b.n - 2; n += 1 + n / 31) { /* the last two of a JPEG are its end mark */
        char *wrong = read_bytes(b.at, n);
        expect(wrong != NULL, "%s, cut at %lld, is refused", name, (long long)n);
        free(wrong);
    }
    for (int64_t i = 0; i < b.n; i += 1 + i / 61) {
        const char was = b.at[i];
        for (int k = 0; k < 2; k++) {
            b.at[i] = k ? (char)0xff : (char)(was ^ (1 << below(8)));
            free(read_bytes(b.at, b.n));
        }
        b.at[i] = was;
    }
    free(b.at);
}

static void read_huge(void *bytes)
{
    const Bytes *b = bytes;
    char *wrong = read_bytes(b->at, b->n);
    fprintf(stderr, "%s\n", wrong ? wrong : "taken");
}

/* A header that promises more pixels than are taken. */
static void check_bomb(int side, bool laced, const char *words)
{
    Bytes b = {0};
    unsigned char head[25] = {0,
                              0,
                              0,
                              13,
                              'I',
                              'H',
                              'D',
                              'R',
                              (unsigned char)(side >> 24),
                              (unsigned char)(side >> 16),
                              (unsigned char)(side >> 8),
                              (unsigned char)side,
                              (unsigned char)(side >> 24),
                              (unsigned char)(side >> 16),
                              (unsigned char)(side >> 8),
                              (unsigned char)side,
                              8,
                              2,
                              0,
                              0,
                              laced};
    unsigned long sum = crc32(0, head + 4, 17);
    for (int i = 0; i < 4; i++) head[21 + i] = (unsigned char)(sum >> (24 - 8 * i));
    put(&b, "\x89PNG\r\n\x1a\n", 8);
    put(&b, head, 25);
    put(&b, "\0\0\0\0IDAT\x35\xaf\x06\x1e", 12);
    Ended e = run_apart(read_huge, &b);
    expect(strstr(e.text, words) != NULL, "%d pixels a side: %s", side, e.text);
    expect(e.peak < 180 << 20, "%d pixels a side take %lld bytes", side, (long long)e.peak);
}

/* ------------------------------------------------------------------ archives */

static void add_member(Bytes *b, const char *name, const char *text, int64_t n)
{
    char head[512] = {0};
    unsigned sum = 0;
    snprintf(head, 100, "%s", name);
    snprintf(head + 100, 8, "0000644");
    snprintf(head + 124, 12, "%011llo", (long long)n);
    memset(head + 148, ' ', 8);
    head[156] = '0';
    memcpy(head + 257, "ustar\00000", 8);
    for (int i = 0; i < 512; i++) sum += (unsigned char)head[i];
    snprintf(head + 148, 8, "%06o", sum);
    put(b, head, 512);
    put(b, text, n);
    while (b->n % 512) put(b, "", 1);
}

static void list_members(void *path)
{
    Tar_member m;
    Tar *t = open_tar(path);
    while (next_tar_member(t, &m)) fprintf(stderr, "%s %lld;", m.name, (long long)m.bytes);
    close_tar(t);
}

static Ended listed(const Bytes *b, int64_t n)
{
    char *path = in_folder("a.tar");
    write_bytes(path, b->at, n);
    Ended e = run_apart(list_members, path);
    free(path);
    return e;
}

static void check_archives(void)
{
    Bytes b = {0}, climbing = {0};
    static const char zeros[1024];
    add_member(&b, "./cats/1.jpg", "four", 4);
    add_member(&b, "cats/2.png", "", 0);
    put(&b, zeros, 1024);
    Ended e = listed(&b, b.n);
    expect(e.code == 0 && strcmp(e.text, "cats/1.jpg 4;cats/2.png 0;") == 0, "exit code %d: %s", e.code, e.text);
    for (int64_t n = 0; n < 1536; n += 101) {
        e = listed(&b, n);
        expect(e.code == EXIT_DATA && strstr(e.text, "cut short"), "cut at %lld: exit code %d, %s", (long long)n,
               e.code, e.text);
    }
    for (int64_t i = 0; i < 512; i += 3) {
        const char was = b.at[i];
        b.at[i] ^= (char)(1 << below(8));
        e = listed(&b, b.n);
        expect(e.code == EXIT_DATA && strstr(e.text, "expected a header of a tar archive"),
               "byte %lld: exit code %d, %s", (long long)i, e.code, e.text);
        b.at[i] = was;
    }
    add_member(&climbing, "cats/../../etc/1.jpg", "", 0);
    e = listed(&climbing, climbing.n);
    expect(e.code == EXIT_DATA && strstr(e.text, "member cats/../../etc/1.jpg: error: expected a name below"), "%s",
           e.text);
}

int main(void)
{
    make_test_folder();
    check_recording("resized", NAMES, LATHE_BILINEAR);
    check_recording("resized_bicubic", PNGS, LATHE_BICUBIC);
    check_recording("resized_nearest", PNGS, LATHE_NEAREST);
    check_interlaced();
    check_batches();
    check_stand_in();
    for (int i = 0; i < NAMES; i++) check_damage(names[i]);
    check_bomb(60000, false, "expected a picture of at most");
    check_bomb(100000, false, "expected a picture of at most");
    check_bomb(8000, true, "which needs more than 64 MB");
    check_archives();
    return finish();
}
