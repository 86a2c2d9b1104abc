/* picture.c: finds out which format a picture has, and holds its limits. */
#include "base/words.h"
#include "source/picture.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

int64_t take_picture_bytes(Picture_bytes *from, void *at, int64_t n)
{
    int64_t done = 0;
    if (n > from->bytes) n = from->bytes;
    while (done < n) {
        ssize_t got = pread(from->fd, (char *)at + done, (size_t)(n - done), from->first + done);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        done += got;
    }
    from->first += done;
    from->bytes -= done;
    return done;
}

char *size_fault(int64_t width, int64_t height)
{
    bool fits = width > 0 && height > 0 && width <= PICTURE_SIDE && height <= PICTURE_SIDE;
    if (fits && width * height <= PICTURE_PIXELS) return NULL;
    return text_of(
        "expected a picture of at most %d pixels, and %d a side, found %lld x %lld; make it smaller, or leave "
        "it out",
        PICTURE_PIXELS, PICTURE_SIDE, (long long)width, (long long)height);
}

char *read_picture(const Picture_bytes *from, const Picture_taker *to)
{
    static const unsigned char png[] = {0x89, 'P', 'N', 'G'};
    unsigned char head[4] = {0};
    Picture_bytes look = *from, own = *from;
    int64_t n = take_picture_bytes(&look, head, sizeof head);
    if (n >= 3 && head[0] == 0xff && head[1] == 0xd8 && head[2] == 0xff) return read_jpeg(&own, to);
    if (n == 4 && memcmp(head, png, sizeof png) == 0) return read_png(&own, to);
    if (from->bytes == 0) return text_of("expected a JPEG or PNG picture, found an empty file; leave it out");
    return text_of(
        "expected a JPEG or PNG picture, found a file that begins with the bytes %02x %02x %02x %02x; convert "
        "it, or leave it out",
        head[0], head[1], head[2], head[3]);
}
