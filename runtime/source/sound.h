/* sound.h: recordings in files: WAV, FLAC, OGG and MP3 as samples of one channel. */
#ifndef LATHE_SOURCE_SOUND_H
#define LATHE_SOURCE_SOUND_H

#include <stdbool.h>
#include <stdint.h>

/* Limits against headers that promise anything.  ROOM: about what libsndfile and the libraries under it take. */
enum {
    SOUND_CHANNELS = 64,
    SOUND_LEAST_RATE = 1000,
    SOUND_MOST_RATE = 192000,
    SOUND_BLOCK = 1 << 12,
    SOUND_ROOM = 1 << 23
};

typedef struct Sound_bytes { /* a file, or a part of one */
    int fd;
    int64_t first, bytes;
} Sound_bytes;
#define SOUND_SAMPLES (INT64_C(1) << 36)

typedef struct Sound_about {
    int rate, channels; /* rate: samples a second */
    int64_t samples;    /* of each channel, below SOUND_SAMPLES */
} Sound_about;

/* Who takes the samples: first what the recording is, and whether it is refused; then its samples, from -1 to 1, the
 * mean of all channels, block after block. */
typedef struct Sound_taker {
    void *with;
    char *(*about)(void *with, const Sound_about *); /* NULL, or what is wrong, from malloc */
    void (*samples)(void *with, const float *x, int64_t n); /* NULL: none are wanted */
} Sound_taker;

/* NULL, or what is wrong, from malloc: to be said after the recording's place. */
char *read_sound(const Sound_bytes *from, const Sound_taker *to);

/* ---- source/sound_ends.c: files that end too early, which libsndfile reads as shorter ones */
char *cut_short(const Sound_bytes *from); /* NULL: not so */
int64_t sound_bytes_at(const Sound_bytes *from, int64_t at, void *to, int64_t n); /* fewer at the end */

#endif
