/* jpeg.c: rows of a JPEG picture, by libjpeg-turbo, decoded as Pillow does. */
#include "base/words.h"
#include "source/picture.h"

#ifdef LATHE_WITH_JPEG
#include <jpeglib.h>
#include <jerror.h>

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SCANS = 500 }; /* of a progressive picture, each of which takes the time of all */

typedef struct Jpeg {
    struct jpeg_decompress_struct d; /* first: libjpeg gives it back as a Jpeg */
    struct jpeg_error_mgr errors;
    struct jpeg_source_mgr source;
    struct jpeg_progress_mgr progress;
    jmp_buf out;
    char *wrong;
    Picture_bytes *from;
    const Picture_taker *to;
    uint8_t *rgb;
} Jpeg;

static void abandon(Jpeg *j, char *wrong)
{
    j->wrong = wrong;
    longjmp(j->out, 1);
}

static void stop_at_error(j_common_ptr d)
{
    char text[JMSG_LENGTH_MAX];
    bool memory = d->err->msg_code == JERR_NO_BACKING_STORE || d->err->msg_code == JERR_OUT_OF_MEMORY;
    d->err->format_message(d, text);
    abandon((Jpeg *)d, memory ? text_of("the JPEG is progressive, and needs more than %d MB; save it as a baseline one",
                                        PICTURE_ROOM >> 20)
                              : text_of("the JPEG is damaged: %s; get it again, or leave it out", text));
}

/* Remarks on bytes that do not matter, as from many cameras. */
static void say_nothing(j_common_ptr d, int level) { (void)d, (void)level; }

static void mind_scans(j_common_ptr d)
{
    Jpeg *j = (Jpeg *)d;
    if (j->d.input_scan_number > MOST_SCANS)
        abandon(j,
                text_of("expected at most %d scans in a JPEG, found more; save it again, or leave it out", MOST_SCANS));
}

/* ------------------------------------------------------------------ bytes */

static void nothing(j_decompress_ptr d) { (void)d; }

static boolean refill(j_decompress_ptr d)
{
    Jpeg *j = (Jpeg *)d;
    int64_t n = take_picture_bytes(j->from, j->from->chunk, PICTURE_CHUNK);
    if (n == 0) abandon(j, text_of("the JPEG was cut short; get it again, or leave it out"));
    j->source.next_input_byte = j->from->chunk;
    j->source.bytes_in_buffer = (size_t)n;
    return TRUE;
}

static void skip_bytes(j_decompress_ptr d, long n)
{
    Jpeg *j = (Jpeg *)d;
    while (n > (long)j->source.bytes_in_buffer) {
        n -= (long)j->source.bytes_in_buffer;
        refill(d);
    }
    j->source.next_input_byte += n;
    j->source.bytes_in_buffer -= (size_t)n;
}

/* ------------------------------------------------------------------ rows */

/* Ink to light, each the product of a colour and black; Adobe's files have both inverted. */
static void from_ink(uint8_t *rgb, const uint8_t *ink, unsigned width, bool inverted)
{
    for (unsigned x = 0; x < width; x++, ink += 4, rgb += 3)
        for (int c = 0; c < 3; c++) {
            int a = inverted ? ink[c] : 255 - ink[c], k = inverted ? ink[3] : 255 - ink[3], p = a * k + 128;
            rgb[c] = (uint8_t)(((p >> 8) + p) >> 8);
        }
}

static void give_rows(Jpeg *j)
{
    struct jpeg_decompress_struct *d = &j->d;
    bool ink = d->jpeg_color_space == JCS_CMYK || d->jpeg_color_space == JCS_YCCK;
    d->out_color_space = ink ? JCS_CMYK : JCS_RGB;
    jpeg_start_decompress(d);
    JSAMPARRAY row = d->mem->alloc_sarray((j_common_ptr)d, JPOOL_IMAGE, d->output_width * 4, 1);
    j->rgb = d->mem->alloc_large((j_common_ptr)d, JPOOL_IMAGE, (size_t)d->output_width * 3);
    j->to->size(j->to->with, (int)d->output_width, (int)d->output_height);
    while (d->output_scanline < d->output_height) {
        int y = (int)d->output_scanline;
        jpeg_read_scanlines(d, row, 1);
        if (ink) from_ink(j->rgb, row[0], d->output_width, d->saw_Adobe_marker);
        j->to->row(j->to->with, y, ink ? j->rgb : row[0]);
    }
    jpeg_finish_decompress(d);
}

static void read_whole_jpeg(Jpeg *j)
{
    struct jpeg_decompress_struct *d = &j->d;
    if (setjmp(j->out)) return;
    jpeg_create_decompress(d);
    d->mem->max_memory_to_use = PICTURE_ROOM;
    d->src = &j->source;
    d->progress = &j->progress;
    jpeg_read_header(d, TRUE);
    j->wrong = size_fault(d->image_width, d->image_height);
    if (!j->wrong) give_rows(j);
}

char *read_jpeg(Picture_bytes *from, const Picture_taker *to)
{
    Jpeg *j = must_alloc(sizeof *j);
    j->from = from;
    j->to = to;
    j->d.err = jpeg_std_error(&j->errors);
    j->errors.error_exit = stop_at_error;
    j->errors.emit_message = say_nothing;
    j->source = (struct jpeg_source_mgr){.init_source = nothing,
                                         .fill_input_buffer = refill,
                                         .skip_input_data = skip_bytes,
                                         .resync_to_restart = jpeg_resync_to_restart,
                                         .term_source = nothing};
    j->progress.progress_monitor = mind_scans;
    read_whole_jpeg(j);
    char *wrong = j->wrong;
    jpeg_destroy_decompress(&j->d);
    free(j);
    return wrong;
}

#else
char *read_jpeg(Picture_bytes *from, const Picture_taker *to)
{
    (void)from, (void)to;
    return text_of("is a JPEG, and this program was built without libjpeg; convert it to PNG, or install "
                   "libjpeg-dev and build again");
}
#endif
