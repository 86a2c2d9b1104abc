/* png.c: rows of a PNG picture, by libpng: 8 bits of red, green and blue, without gamma and transparency. */
#include "base/words.h"
#include "source/picture.h"

#ifdef LATHE_WITH_PNG
#include <png.h>

#include <setjmp.h>
#include <stdlib.h>

enum { MOST_CHUNK = 1 << 20 }; /* bytes of a chunk beside the pixels, unpacked */

typedef struct Png {
    png_structp png;
    png_infop info;
    jmp_buf out;
    char *wrong;
    Picture_bytes *from;
    const Picture_taker *to;
    uint8_t *rows;
} Png;

static void abandon(Png *p, char *wrong)
{
    p->wrong = wrong;
    longjmp(p->out, 1);
}

static void stop_at_error(png_structp png, png_const_charp text)
{
    abandon(png_get_error_ptr(png), text_of("the PNG is damaged: %s; get it again, or leave it out", text));
}

static void say_nothing(png_structp png, png_const_charp text) { (void)png, (void)text; }

static void give_bytes(png_structp png, png_bytep to, size_t n)
{
    Png *p = png_get_io_ptr(png);
    if (take_picture_bytes(p->from, to, (int64_t)n) < (int64_t)n)
        abandon(p, text_of("the PNG was cut short; get it again, or leave it out"));
}

/* All kinds become 8 bits of red, green, blue. */
static int settle_kind(Png *p)
{
    png_set_expand(p->png);
    png_set_strip_16(p->png);
    png_set_strip_alpha(p->png);
    png_set_gray_to_rgb(p->png);
    int passes = png_set_interlace_handling(p->png);
    png_read_update_info(p->png, p->info);
    return passes;
}

/* An interlaced picture is complete after its last pass. */
static void give_interlaced(Png *p, int width, int height, int passes)
{
    int64_t row = (int64_t)width * 3;
    if (row * height > PICTURE_ROOM)
        abandon(
            p, text_of("the PNG is interlaced and of %d x %d, which needs more than %d MB; save it without interlacing",
                       width, height, PICTURE_ROOM >> 20));
    p->rows = must_alloc((size_t)(row * height));
    while (passes--)
        for (int y = 0; y < height; y++) png_read_row(p->png, p->rows + y * row, NULL);
    for (int y = 0; y < height; y++) p->to->row(p->to->with, y, p->rows + y * row);
}

static void give_each(Png *p, int width, int height)
{
    p->rows = must_alloc((size_t)width * 3);
    for (int y = 0; y < height; y++) {
        png_read_row(p->png, p->rows, NULL);
        p->to->row(p->to->with, y, p->rows);
    }
}

static void give_rows(Png *p)
{
    int width = (int)png_get_image_width(p->png, p->info), height = (int)png_get_image_height(p->png, p->info);
    char *wrong = size_fault(png_get_image_width(p->png, p->info), png_get_image_height(p->png, p->info));
    if (wrong) abandon(p, wrong);
    int passes = settle_kind(p);
    bug_if(png_get_rowbytes(p->png, p->info) != (size_t)width * 3);
    p->to->size(p->to->with, width, height);
    if (passes > 1) give_interlaced(p, width, height, passes);
    else give_each(p, width, height);
    png_read_end(p->png, NULL);
}

static void read_whole_png(Png *p)
{
    if (setjmp(p->out)) return;
    p->png = png_create_read_struct(PNG_LIBPNG_VER_STRING, p, stop_at_error, say_nothing);
    p->info = p->png ? png_create_info_struct(p->png) : NULL;
    if (!p->info) fail(EXIT_ERROR, NULL, "out of memory for libpng");
    png_set_user_limits(p->png, 0x7fffffff, 0x7fffffff); /* give_rows() has the limits */
    png_set_chunk_malloc_max(p->png, MOST_CHUNK);
    png_set_chunk_cache_max(p->png, 100);
    png_set_read_fn(p->png, p, give_bytes);
    png_read_info(p->png, p->info);
    give_rows(p);
}

char *read_png(Picture_bytes *from, const Picture_taker *to)
{
    Png *p = must_alloc(sizeof *p);
    p->from = from;
    p->to = to;
    read_whole_png(p);
    char *wrong = p->wrong;
    png_destroy_read_struct(&p->png, &p->info, NULL);
    free(p->rows);
    free(p);
    return wrong;
}

#else
char *read_png(Picture_bytes *from, const Picture_taker *to)
{
    (void)from, (void)to;
    return text_of("is a PNG, and this program was built without libpng; convert it to JPEG, or install libpng-dev and "
                   "build again");
}
#endif
