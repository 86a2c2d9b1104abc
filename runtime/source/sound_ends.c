/* sound_ends.c: finds WAV and OGG files that end before their headers say so.
 *
 * libsndfile takes what is there for the whole.  FLAC needs no look: its header has the number of samples, with which
 * read_sound() compares those that come.  So has the first frame of an MP3 by most encoders; of the others the end
 * cannot be told. */
#include "base/words.h"
#include "source/sound.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { STREAMED = 0x7ffff000 }; /* from here on a size says: written into a pipe, up to the end of the file */

int64_t sound_bytes_at(const Sound_bytes *from, int64_t at, void *to, int64_t n)
{
    int64_t done = 0;
    if (n > from->bytes - at) n = from->bytes - at;
    while (done < n) {
        ssize_t got = pread(from->fd, (char *)to + done, (size_t)(n - done), from->first + at + done);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        done += got;
    }
    return done;
}

static uint32_t word_at(const unsigned char *at)
{
    return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

/* Chunks are a name, a size and so many bytes, to an even number. */
static char *wav_cut_short(const Sound_bytes *from)
{
    unsigned char head[8];
    for (int64_t at = 12; sound_bytes_at(from, at, head, 8) == 8;) {
        int64_t size = word_at(head + 4), left = from->bytes - at - 8;
        if (memcmp(head, "data", 4) != 0) {
            at += 8 + size + size % 2;
            continue;
        }
        if (size <= left || size >= STREAMED) return NULL;
        return text_of("the WAV was cut short: its header promises %lld bytes of samples, and %lld are there; get "
                       "it again, or leave it out",
                       (long long)size, (long long)left);
    }
    return text_of("the WAV has no samples: it has no data chunk; get it again, or leave it out");
}

/* The end of the page at `at`, where "OggS" was found; last: whether it is marked as the last one. */
static int64_t end_of_page(const Sound_bytes *from, int64_t at, bool *last)
{
    unsigned char head[27 + 255];
    int64_t n = sound_bytes_at(from, at, head, sizeof head), end = at + 27;
    if (n < 27 || n < 27 + head[26]) return INT64_MAX;
    *last = head[5] & 4;
    for (int i = 0; i < head[26]; i++) end += head[27 + i];
    return end + head[26];
}

/* The last page is marked, and ends with the file. */
static char *ogg_cut_short(const Sound_bytes *from)
{
    bool last = false;
    int64_t at = 0;
    char name[4];
    while (at < from->bytes && sound_bytes_at(from, at, name, 4) == 4 && memcmp(name, "OggS", 4) == 0)
        at = end_of_page(from, at, &last);
    if (last && at <= from->bytes) return NULL;
    return text_of("the OGG was cut short, or is damaged: its last page is not there; get it again, or leave it out");
}

char *cut_short(const Sound_bytes *from)
{
    char name[4] = {0};
    sound_bytes_at(from, 0, name, sizeof name);
    if (memcmp(name, "RIFF", 4) == 0) return wav_cut_short(from);
    return memcmp(name, "OggS", 4) == 0 ? ogg_cut_short(from) : NULL;
}
