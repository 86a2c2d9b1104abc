/* fuzz_pictures.c: pictures, resized as they are read, and tar archives of them: members lie within the archive. */
#include "fuzz.h"
#include "base/words.h"
#include "data/resample.h"
#include "source/picture.h"
#include "source/tar.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HEIGHT = 7, WIDTH = 9, CHANNELS = 3 };

static void take_size(void *with, int width, int height)
{
    int64_t across = width < WIDTH ? WIDTH : width / 2 + WIDTH, down = height < HEIGHT ? HEIGHT : height / 2 + HEIGHT;
    start_picture(with, width, height,
                  &(Cut){width / 3, 0, width - width / 3, height, across, down, across / 3 - 2, -1, true});
}

static void take_row(void *with, int y, const uint8_t *rgb) { add_picture_row(with, y, rgb); }

static void read_one(const char *path, size_t n)
{
    uint8_t out[HEIGHT * WIDTH * CHANNELS];
    unsigned char *chunk = must_alloc(PICTURE_CHUNK);
    Resampler *r = open_resampler(WIDTH, HEIGHT, CHANNELS, (Lathe_interpolation)(n % 3));
    int fd = open(path, O_RDONLY);
    char *wrong = read_picture(&(Picture_bytes){fd, 0, (int64_t)n, chunk}, &(Picture_taker){r, take_size, take_row});
    if (!wrong) end_picture(r, out);
    close(fd);
    free(wrong);
    free(chunk);
    close_resampler(r);
}

static void read_members(const char *path)
{
    Tar_member m;
    Tar *t = open_tar(path);
    while (next_tar_member(t, &m)) {
        char last;
        if (!*m.name || m.bytes == 0) continue;
        read_tar(t, m.first + m.bytes - 1, 1, &last);
    }
    close_tar(t);
}

void fuzz_one(const char *path, const char *text, size_t n)
{
    bool picture = n > 2 && (memcmp(text, "\xff\xd8", 2) == 0 || memcmp(text, "\x89P", 2) == 0);
    if (picture) read_one(path, n);
    else read_members(path);
}
