/* fuzz_recordings.c: recordings, resampled and made into features: what is heard fits the room for it. */
#include "fuzz.h"
#include "base/words.h"
#include "data/hear.h"
#include "source/sound.h"

#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

enum { FRAMES = 40, MELS = 6 };

/* libsndfile keeps some kilobytes of an OGG that it refuses. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void) { return "leak:libvorbis\nleak:libsndfile\nleak:libFLAC\nleak:libogg\n"; }

void fuzz_one(const char *path, const char *text, size_t n)
{
    static const Lathe_recipe recipe = {.normalize = LATHE_BY_UTTERANCE};
    const Sound_form form = {
        .mel = {.rate = 8000, .n_fft = 64, .hop = 80, .window = 50, .mels = MELS, .f_max = 4000, .floor = 1e-10},
        .frames = FRAMES,
        .recipe = &recipe};
    float *out = must_alloc(sizeof *out * FRAMES * MELS);
    int32_t frames = 0;
    int fd = open(path, O_RDONLY);
    Hearer *h = open_hearer(&form);
    (void)text;
    for (int again = 0; again < 2; again++) {
        char *wrong = hear(h, &(Sound_bytes){fd, 0, (int64_t)n}, NULL, out, &frames);
        bug_if(!wrong && (frames < 1 || frames > FRAMES));
        for (int i = 0; i < FRAMES * MELS && !wrong; i++) bug_if(!isfinite(out[i]));
        free(wrong);
    }
    close(fd);
    close_hearer(h);
    free(out);
}
