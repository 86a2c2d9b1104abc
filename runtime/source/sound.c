/* sound.c: samples of WAV, FLAC, OGG and MP3 recordings, by libsndfile.
 *
 * The library is loaded when the first recording is read, so that programs of other data need neither it nor the nine
 * libraries that it needs. */
#include "base/words.h"
#include "source/sound.h"

#include <string.h>

/* Tags, or the 11 bits that a frame begins with. */
static bool is_mp3(const unsigned char *head)
{
    return memcmp(head, "ID3", 3) == 0 || (head[0] == 0xff && (head[1] & 0xe0) == 0xe0);
}

/* NULL, or what is wrong. */
static char *wrong_kind(const Sound_bytes *from)
{
    unsigned char head[12] = {0};
    int64_t n = sound_bytes_at(from, 0, head, sizeof head);
    bool wav = n == sizeof head && memcmp(head, "RIFF", 4) == 0 && memcmp(head + 8, "WAVE", 4) == 0;
    bool other = memcmp(head, "fLaC", 4) == 0 || memcmp(head, "OggS", 4) == 0 || is_mp3(head);
    if (wav || (n > 4 && other)) return NULL;
    if (from->bytes == 0)
        return text_of("expected a WAV, FLAC, OGG or MP3 recording, found an empty file; leave it out");
    return text_of(
        "expected a WAV, FLAC, OGG or MP3 recording, found a file that begins with the bytes %02x %02x %02x %02x; "
        "convert it (ffmpeg -i FILE OUT.wav), or leave it out",
        head[0], head[1], head[2], head[3]);
}

#ifdef LATHE_WITH_SNDFILE
#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <sndfile.h>
#include <stdlib.h>

static struct Library {
    SNDFILE *(*open_virtual)(SF_VIRTUAL_IO *, int, SF_INFO *, void *);
    sf_count_t (*readf_float)(SNDFILE *, float *, sf_count_t);
    int (*error)(SNDFILE *);
    const char *(*strerror)(SNDFILE *);
    int (*close)(SNDFILE *);
} library;
static pthread_once_t loaded = PTHREAD_ONCE_INIT;
static char *not_loaded; /* why it is not there; NULL: it is */

static void take_symbol(void *at, const char *name, void *symbol)
{
    if (!symbol && !not_loaded) not_loaded = text_of("libsndfile.so.1 has no %s", name);
    memcpy(at, &symbol, sizeof symbol);
}

static void load_library(void)
{
    void *all = dlopen("libsndfile.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!all) {
        not_loaded = text_of("%s", dlerror());
        return;
    }
    take_symbol(&library.open_virtual, "sf_open_virtual", dlsym(all, "sf_open_virtual"));
    take_symbol(&library.readf_float, "sf_readf_float", dlsym(all, "sf_readf_float"));
    take_symbol(&library.error, "sf_error", dlsym(all, "sf_error"));
    take_symbol(&library.strerror, "sf_strerror", dlsym(all, "sf_strerror"));
    take_symbol(&library.close, "sf_close", dlsym(all, "sf_close"));
}

/* ------------------------------------------------------------------ bytes for the library */

typedef struct Sound_place { /* in the bytes of a recording */
    const Sound_bytes *from;
    int64_t at;
} Sound_place;

static sf_count_t give_length(void *with) { return ((const Sound_place *)with)->from->bytes; }
static sf_count_t tell_place(void *with) { return ((const Sound_place *)with)->at; }
static sf_count_t write_nothing(const void *at, sf_count_t n, void *with) { return (void)at, (void)n, (void)with, 0; }

static sf_count_t go_to(sf_count_t to, int whence, void *with)
{
    Sound_place *p = with;
    int64_t at = whence == SEEK_SET ? to : whence == SEEK_CUR ? p->at + to : p->from->bytes + to;
    if (at < 0 || at > p->from->bytes) return -1;
    return p->at = at;
}

static sf_count_t give_bytes(void *to, sf_count_t n, void *with)
{
    Sound_place *p = with;
    int64_t got = n > 0 ? sound_bytes_at(p->from, p->at, to, n) : 0;
    p->at += got;
    return got;
}

/* ------------------------------------------------------------------ samples */

static char *refused_about(const SF_INFO *info)
{
    if (info->channels < 1 || info->channels > SOUND_CHANNELS)
        return text_of("expected 1 to %d channels, found %d; leave it out", SOUND_CHANNELS, info->channels);
    if (info->samplerate < SOUND_LEAST_RATE || info->samplerate > SOUND_MOST_RATE)
        return text_of("expected %d to %d samples a second, found %d; convert it (sox FILE -r 16000 OUT.wav), or leave "
                       "it out",
                       SOUND_LEAST_RATE, SOUND_MOST_RATE, info->samplerate);
    if (info->frames >= SOUND_SAMPLES)
        return text_of("does not say how many samples it has, or more than anyone can hear; write it again (sox FILE "
                       "OUT.wav), or leave it out");
    if (info->frames < 1) return text_of("expected samples, found none; leave it out");
    return NULL;
}

/* n samples of each channel become their means, in place; false: some are no numbers that a recording has. */
static bool to_one_channel(float *x, int64_t n, int channels)
{
    const float most = 1e9f;
    for (int64_t i = 0; i < n; i++) {
        float sum = 0;
        for (int c = 0; c < channels; c++) sum += x[i * channels + c];
        if (!(fabsf(sum) < most)) return false;
        x[i] = sum / (float)channels;
    }
    return true;
}

static char *give_samples(SNDFILE *sound, const SF_INFO *info, const Sound_taker *to, float *block)
{
    int64_t done = 0;
    for (int64_t n; (n = library.readf_float(sound, block, SOUND_BLOCK)) > 0; done += n) {
        if (!to_one_channel(block, n, info->channels))
            return text_of("has samples that are not finite, or beyond a thousand million; make it again, or leave it "
                           "out");
        if (done + n > info->frames) break; /* more than promised */
        to->samples(to->with, block, n);
    }
    if (library.error(sound) != 0)
        return text_of("is damaged: %s; get it again, or leave it out", library.strerror(sound));
    if (done != info->frames)
        return text_of("is damaged or was cut short: its header promises %lld samples, and %lld can be read; get it "
                       "again, or leave it out",
                       (long long)info->frames, (long long)done);
    return NULL;
}

static char *read_open_sound(SNDFILE *sound, const SF_INFO *info, const Sound_taker *to)
{
    char *wrong = refused_about(info);
    if (!wrong) wrong = to->about(to->with, &(Sound_about){info->samplerate, info->channels, info->frames});
    if (wrong || !to->samples) return wrong;
    float *block = must_alloc(sizeof *block * SOUND_BLOCK * (size_t)info->channels);
    wrong = give_samples(sound, info, to, block);
    free(block);
    return wrong;
}

char *read_sound(const Sound_bytes *from, const Sound_taker *to)
{
    SF_VIRTUAL_IO bytes = {give_length, go_to, give_bytes, write_nothing, tell_place};
    SF_INFO info = {0};
    Sound_place place = {from, 0};
    char *wrong = wrong_kind(from);
    if (!wrong) wrong = cut_short(from);
    if (wrong) return wrong;
    pthread_once(&loaded, load_library);
    if (not_loaded)
        fail(EXIT_ERROR, NULL,
             "recordings are read by libsndfile, which cannot be loaded: %s; Debian, Ubuntu: apt "
             "install libsndfile1",
             not_loaded);
    SNDFILE *sound = library.open_virtual(&bytes, SFM_READ, &info, &place);
    if (!sound) return text_of("cannot be read: %s; get it again, or leave it out", library.strerror(NULL));
    wrong = read_open_sound(sound, &info, to);
    library.close(sound);
    return wrong;
}

#else
char *read_sound(const Sound_bytes *from, const Sound_taker *to)
{
    char *wrong = wrong_kind(from);
    (void)to;
    return wrong ? wrong
                 : text_of("is a recording, and this program was built without libsndfile; install "
                           "libsndfile1-dev and build again");
}
#endif
