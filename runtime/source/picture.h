/* picture.h: pictures in files: JPEG and PNG as rows of red, green and blue. */
#ifndef LATHE_SOURCE_PICTURE_H
#define LATHE_SOURCE_PICTURE_H

#include <stdbool.h>
#include <stdint.h>

/* Limits against files that unpack to more than there is memory for.  Rows are given one by one, so most pictures need
 * little; interlaced PNG and progressive JPEG are held as a whole, in ROOM bytes. */
enum { PICTURE_SIDE = 65500, PICTURE_PIXELS = 1 << 27, PICTURE_ROOM = 1 << 26, PICTURE_CHUNK = 1 << 16 };

/* Who takes the pixels: first the sizes, then each row from the top, [width][3].  Transparency is left out, and 16 bits
 * become 8, as by Pillow's convert("RGB"). */
typedef struct Picture_taker {
    void *with;
    void (*size)(void *with, int width, int height);
    void (*row)(void *with, int y, const uint8_t *rgb);
} Picture_taker;

typedef struct Picture_bytes { /* a file, or a part of one */
    int fd;
    int64_t first, bytes;
    unsigned char *chunk; /* [PICTURE_CHUNK]: room for reading */
} Picture_bytes;

/* NULL, or what is wrong, from malloc: to be said after the picture's place. */
char *read_picture(const Picture_bytes *from, const Picture_taker *to);

/* ---- for the two formats */
char *read_jpeg(Picture_bytes *from, const Picture_taker *to);
char *read_png(Picture_bytes *from, const Picture_taker *to);
int64_t take_picture_bytes(Picture_bytes *from, void *at, int64_t n); /* the next ones; fewer at the end */
char *size_fault(int64_t width, int64_t height);                      /* NULL: the sizes are within the limits */

#endif
