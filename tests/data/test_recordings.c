/* test_recordings.c: log-mel features are those of an independent computation; batches are the same for any number of
 * threads and from any step on; cut off at any byte, or with any byte changed, recordings are refused or read within
 * their bounds; those that lie about their size are refused. */
#include "data/array.h"
#include "data/recordings.h"
#include "source/sound.h"
#include "sources.h"

#include <dlfcn.h>
#include <math.h>
#ifdef LATHE_WITH_SNDFILE
#include <sndfile.h>
#endif
#include <stdio.h>
#include <unistd.h>

static const char *const names[] = {"mono.wav", "stereo.wav", "phone.wav", "short.wav", "odd.wav", "music.flac"};
enum { NAMES = sizeof names / sizeof *names };
static const struct Form {
    int rate, n_fft, window, hop, mels;
    double f_min, f_max;
    Lathe_mel_scale scale;
} forms[] = {{16000, 400, 400, 160, 20, 0, 8000, LATHE_MEL_HTK},
             {8000, 256, 200, 100, 12, 100, 3800, LATHE_MEL_SLANEY}};
enum { FORMS = sizeof forms / sizeof *forms, FRAMES = 30 }; /* as in tests/reference/audio.py */

static char *recorded(const char *name) { return text_of("tests/reference/audio/%s", name); }

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

/* ------------------------------------------------------------------ a model of recordings alone */

typedef struct Probe {
    Lathe_tensor tensor[3];
    Lathe_entry entry;
    Lathe_model model;
    Reading reading;
    int rank;
    Files *files;
    char *in;
} Probe;

static Lathe_recipe recipe_of(const struct Form *f)
{
    return (Lathe_recipe){.audio = true,
                          .sample_rate = f->rate,
                          .n_fft = f->n_fft,
                          .win_length = f->window == f->n_fft ? 0 : f->window,
                          .hop_length = f->hop,
                          .f_min = f->f_min,
                          .f_max = f->f_max,
                          .mel_scale = f->scale,
                          .log_floor = 1e-10,
                          .normalize = LATHE_BY_NUMBERS,
                          .feature_std = 1};
}

static int64_t features_bytes(const struct Form *f, int64_t rows) { return 4 * rows * FRAMES * f->mels; }

static void open_probe(Probe *p, const struct Form *f, int64_t rows, Words paths, int readers, bool training)
{
    int64_t bytes = features_bytes(f, rows);
    p->tensor[0] = (Lathe_tensor){
        .name = "features", .role = LATHE_FEATURES, .dtype = LATHE_F32, .rank = 3, .dim = {rows, FRAMES, f->mels}};
    p->tensor[1] = (Lathe_tensor){
        .name = "lengths", .role = LATHE_FEATURES, .dtype = LATHE_I32, .rank = 1, .dim = {rows}, .offset = bytes};
    p->tensor[2] = (Lathe_tensor){.name = "label",
                                  .role = LATHE_TARGETS,
                                  .dtype = LATHE_I32,
                                  .rank = 1,
                                  .dim = {rows},
                                  .offset = bytes + 4 * rows,
                                  .below = 9};
    p->entry = (Lathe_entry){.name = "train", .rows = rows, .inputs = training ? 3 : 2, .input = p->tensor};
    p->model = (Lathe_model){.entries = 1, .entry = &p->entry, .recipe = recipe_of(f)};
    p->reading = (Reading){.model = &p->model,
                           .recipe = &p->model.recipe,
                           .paths = paths,
                           .readers = readers,
                           .seed = 7,
                           .gpus = 1,
                           .rank = &p->rank,
                           .training = training,
                           .predicting = !training};
    p->files = open_recordings(&p->reading, &p->entry, NULL);
    p->in = must_alloc((size_t)(bytes + 8 * rows));
}

static const int32_t *lengths_of(const Probe *p)
{
    return (const int32_t *)(const void *)(p->in + p->tensor[1].offset);
}

/* ------------------------------------------------------------------ features */

/* Relative errors of the powers whose logarithms these are. */
static void compare(const char *name, const struct Form *f, const float *got, const float *want, int64_t n)
{
    double most = 0;
    for (int64_t i = 0; i < n; i++) {
        double error = fabs((double)got[i] - (double)want[i]);
        if (!(error <= most)) most = error;
    }
    expect(most < 1e-4, "%s at %d Hz: powers are wrong by up to %g of them", name, f->rate, most);
}

static void check_recording(void)
{
    Bytes want = bytes_of(recorded("features"));
    Words paths = {0};
    int64_t at = 0;
    for (int i = 0; i < NAMES; i++) add_word(&paths, recorded(names[i]));
    static Probe probe[FORMS];
    for (int k = 0; k < FORMS; k++) {
        open_probe(&probe[k], &forms[k], NAMES, paths, 2, false);
        fill_files(probe[k].files, &probe[k].entry, probe[k].in, (int64_t[]){0, 1, 2, 3, 4, 5});
    }
    for (int i = 0; i < NAMES; i++)
        for (int k = 0; k < FORMS; k++) {
            const float *got = (const float *)(const void *)probe[k].in + (int64_t)i * FRAMES * forms[k].mels;
            int64_t n = (int64_t)lengths_of(&probe[k])[i] * forms[k].mels, bytes = n * 4;
            if (!expect(at + bytes <= want.n, "the recording is complete")) return;
            compare(names[i], &forms[k], got, (const float *)(const void *)(want.at + at), n);
            for (int64_t j = n; j < (int64_t)FRAMES * forms[k].mels; j++)
                expect(got[j] == 0, "zeros behind %s", names[i]);
            at += bytes;
        }
    expect(at == want.n, "nothing more is recorded");
}

/* A file of another format sounds like the WAV that it was made of. */
static void check_like(const char *wav, const char *other)
{
    static Probe probe;
    Words paths = {0};
    double sum = 0;
    add_word(&paths, wav);
    add_word(&paths, other);
    open_probe(&probe, &forms[0], 2, paths, 1, false);
    fill_files(probe.files, &probe.entry, probe.in, (int64_t[]){0, 1});
    const float *x = (const float *)(const void *)probe.in;
    int64_t n = (int64_t)lengths_of(&probe)[0] * forms[0].mels;
    for (int64_t i = 0; i < n; i++) sum += fabs((double)(x[i] - x[FRAMES * forms[0].mels + i]));
    expect(lengths_of(&probe)[0] == lengths_of(&probe)[1], "as many frames");
    expect(sum / (double)n < 0.5, "%s and WAV differ by %g on average", other, sum / (double)n);
}

/* Mean 0 and deviation 1 of each filter over the frames. */
static void check_normalized(void)
{
    static Probe probe;
    open_probe(&probe, &forms[0], 1, one_path(recorded("mono.wav")), 1, false);
    probe.model.recipe.normalize = LATHE_BY_UTTERANCE;
    fill_files(probe.files, &probe.entry, probe.in, (int64_t[]){0});
    const float *x = (const float *)(const void *)probe.in;
    int64_t frames = lengths_of(&probe)[0], mels = forms[0].mels;
    for (int64_t k = 0; k < mels; k++) {
        double sum = 0, squares = 0;
        for (int64_t t = 0; t < frames; t++) sum += (double)x[t * mels + k], squares += pow((double)x[t * mels + k], 2);
        expect(fabs(sum) < 1e-4 * (double)frames && fabs(squares / (double)frames - 1) < 1e-3,
               "filter %lld: sum %g, squares %g", (long long)k, sum, squares);
    }
}

/* ------------------------------------------------------------------ recordings of this test */

static void put_number(Bytes *b, uint32_t x, int bytes)
{
    for (int i = 0; i < bytes; i++) put(b, &(char){(char)(x >> (8 * i))}, 1);
}

typedef struct Wav {
    uint32_t rate, channels, bits, promised; /* promised: bytes of samples; 0: as many as there are */
    bool reals;
} Wav;

static Bytes wav_of(const Wav *w, const void *samples, int64_t bytes)
{
    Bytes b = {0};
    puts_to(&b, "RIFF");
    put_number(&b, (uint32_t)(36 + bytes), 4);
    puts_to(&b, "WAVEfmt ");
    put_number(&b, 16, 4);
    put_number(&b, w->reals ? 3 : 1, 2);
    put_number(&b, w->channels, 2);
    put_number(&b, w->rate, 4);
    put_number(&b, w->rate * w->channels * w->bits / 8, 4);
    put_number(&b, w->channels * w->bits / 8, 2);
    put_number(&b, w->bits, 2);
    puts_to(&b, "data");
    put_number(&b, w->promised ? w->promised : (uint32_t)bytes, 4);
    put(&b, samples, bytes);
    return b;
}

static void write_tone(const char *path, int rate, int n, int seed)
{
    short x[8000];
    for (int i = 0; i < n; i++) x[i] = (short)(9000 * sin(i * (0.05 + 0.02 * seed)) + i * 37 % 101);
    Bytes b = wav_of(&(Wav){.rate = (uint32_t)rate, .channels = 1, .bits = 16}, x, 2 * n);
    write_bytes(path, b.at, b.n);
    free(b.at);
}

/* ------------------------------------------------------------------ batches of training */

enum { ROWS = 6, TONES = 20 };

static File_turn give(void *with, int64_t step, int64_t rows, int64_t k)
{
    (void)with;
    return (File_turn){(step * rows + k) * 7 % TONES, (step * rows + k) / TONES};
}

/* The bytes of step `step`, reached from `from`. */
static char *batch(Words paths, int readers, int64_t from, int64_t step)
{
    Probe *p = must_alloc(sizeof *p);
    open_probe(p, &forms[0], ROWS, paths, readers, true);
    Lathe_recipe *r = &p->model.recipe;
    r->freq_masks = r->time_masks = 2;
    r->freq_mask = 5, r->time_mask = 4, r->gain = 6, r->shift = 0.02;
    for (int64_t s = from; s <= step; s++) {
        expect(fill_file_step(p->files, &p->entry, p->in, s, give, NULL), "step %lld", (long long)s);
        fill_files(p->files, &p->entry, must_alloc((size_t)(features_bytes(&forms[0], ROWS) + 8 * ROWS)),
                   (int64_t[ROWS]){0}); /* an evaluation between */
    }
    return p->in;
}

static void check_batches(void)
{
    Words paths = one_path(in_folder("classes"));
    const size_t n = (size_t)(features_bytes(&forms[0], ROWS) + 8 * ROWS);
    for (int i = 0; i < TONES; i++) {
        char *class = text_of("%s/classes/%c", folder, "zya"[i % 3]), *make = text_of("mkdir -p %s", class);
        if (system(make) != 0) perror(class);
        write_tone(text_of("%s/%d.wav", class, i), i % 4 ? 16000 : 11025, 1500 + 100 * i, i);
    }
    const char *want = batch(paths, 1, 0, 5), *fewer = batch(paths, 1, 0, 4);
    expect(memcmp(want, batch(paths, 3, 0, 5), n) == 0, "three threads read what one does");
    expect(memcmp(want, batch(paths, 2, 5, 5), n) == 0, "a run that begins at step 5 reads what others do");
    expect(memcmp(want, fewer, n) != 0, "steps differ");
    const int32_t *label = (const int32_t *)(const void *)(want + n - 4 * ROWS);
    for (int i = 0; i < ROWS; i++) expect(label[i] >= 0 && label[i] < 3, "class %d", label[i]);
}

static File_turn give_only(void *with, int64_t step, int64_t rows, int64_t k)
{
    (void)with, (void)rows, (void)k;
    return (File_turn){0, step};
}

/* In training each epoch has its own masks, and nothing but masks differs. */
static void check_masks(void)
{
    static Probe p;
    Words paths = one_path(in_folder("one"));
    char *make = text_of("mkdir -p %s/one/a", folder);
    if (system(make) != 0) perror(make);
    write_tone(text_of("%s/one/a/1.wav", folder), 16000, 4000, 3);
    open_probe(&p, &forms[0], 1, paths, 1, true);
    fill_files(p.files, &p.entry, p.in, (int64_t[]){0});
    int64_t n = (int64_t)lengths_of(&p)[0] * forms[0].mels, masked = 0, epochs = 40;
    float plain[FRAMES * 20];
    memcpy(plain, p.in, sizeof plain);
    p.model.recipe.freq_masks = p.model.recipe.time_masks = 1;
    p.model.recipe.freq_mask = 4, p.model.recipe.time_mask = 100;
    for (int64_t s = 0; s < epochs; s++) {
        expect(fill_file_step(p.files, &p.entry, p.in, s, give_only, NULL), "epoch %lld", (long long)s);
        const float *x = (const float *)(const void *)p.in;
        for (int64_t i = 0; i < n; i++)
            if (x[i] != plain[i]) expect(x[i] == 0, "a number is kept or blanked"), masked++;
    }
    double share = (double)masked / (double)(n * epochs); /* about 2 of 20 filters, and 2.5 of 26 frames */
    expect(share > 0.1 && share < 0.3, "a share of %g is blanked", share);
}

/* ------------------------------------------------------------------ damage */

static char *take_any(void *with, const Sound_about *about) { return (void)with, (void)about, NULL; }
static void ignore_samples(void *with, const float *x, int64_t n) { (void)with, (void)x, (void)n; }

/* NULL, or the message. */
static char *read_bytes(const void *at, int64_t n)
{
    int fd = memory_file("recording");
    if (fd < 0 || write(fd, at, (size_t)n) != n) perror("memory"), exit(1);
    char *wrong = read_sound(&(Sound_bytes){fd, 0, n}, &(Sound_taker){NULL, take_any, ignore_samples});
    close(fd);
    return wrong;
}

static void check_damage(const char *name)
{
    Bytes b = bytes_of(name);
    char *whole = read_bytes(b.at, b.n);
    expect(!whole, "%s: %s", name, whole);
    for (int64_t n = 0; n < b.n; n += 1 + n / 31) {
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

/* Writes a hum of many tones in one of libsndfile's formats; false: it cannot write it. */
#ifdef LATHE_WITH_SNDFILE
static bool write_sound(const char *path, int format)
{
    enum { N = 4000 };
    SF_INFO info = {.samplerate = 16000, .channels = 1, .format = format};
    float x[N];
    void *all = dlopen("libsndfile.so.1", RTLD_NOW);
    SNDFILE *(*open)(const char *, int, SF_INFO *);
    sf_count_t (*put_floats)(SNDFILE *, const float *, sf_count_t);
    int (*close)(SNDFILE *);
    void *symbol[] = {all ? dlsym(all, "sf_open") : NULL, all ? dlsym(all, "sf_writef_float") : NULL,
                      all ? dlsym(all, "sf_close") : NULL};
    if (!symbol[0] || !symbol[1] || !symbol[2]) return false;
    memcpy(&open, &symbol[0], sizeof open);
    memcpy(&put_floats, &symbol[1], sizeof put_floats);
    memcpy(&close, &symbol[2], sizeof close);
    for (int i = 0; i < N; i++) {
        x[i] = 0;
        for (int k = 1; k <= 40; k++) x[i] += (float)(0.02 * sin(k * (i * 0.07 + k)));
    }
    SNDFILE *f = open(path, SFM_WRITE, &info);
    if (!f) return false;
    bool done = put_floats(f, x, N) == N;
    return close(f) == 0 && done;
}
#endif

/* MP3 and Opus, as far as the library writes them. */
static void check_packed(void)
{
#ifdef LATHE_WITH_SNDFILE
    const char *wav = in_folder("hum.wav");
    static const struct {
        const char *name;
        int format;
    } packed[] = {{"hum.mp3", 0x230082}, /* SF_FORMAT_MPEG | SF_FORMAT_MPEG_LAYER_III, which older headers lack */
                  {"hum.opus", SF_FORMAT_OGG | SF_FORMAT_OPUS}};
    expect(write_sound(wav, SF_FORMAT_WAV | SF_FORMAT_PCM_16), "a WAV");
    for (size_t i = 0; i < sizeof packed / sizeof *packed; i++) {
        const char *path = in_folder(packed[i].name);
        if (!write_sound(path, packed[i].format)) {
            printf("libsndfile does not write %s, which is not tested\n", packed[i].name);
            continue;
        }
        check_like(wav, path);
        check_damage(path);
    }
#endif
}

static void refused(const char *what, Bytes b, const char *words)
{
    char *wrong = read_bytes(b.at, b.n);
    expect(wrong ? strstr(wrong, words) != NULL : !words, "%s: expected \"%s\", found \"%s\"", what, words, wrong);
    free(wrong);
    free(b.at);
}

static void check_lies(void)
{
    static const short tone[400] = {1, 2, 3};
    static float reals[10] = {0, 1, -1};
    const Wav plain = {.rate = 16000, .channels = 1, .bits = 16};
    Wav w = plain;
    w.promised = 1 << 30;
    refused("a WAV that promises more", wav_of(&w, tone, sizeof tone),
            "was cut short: its header promises 1073741824 bytes");
    w.promised = 0xffffffff;
    Bytes streamed = wav_of(&w, tone, sizeof tone);
    expect(!read_bytes(streamed.at, streamed.n), "a WAV from a pipe has no size");
    refused("no samples", wav_of(&plain, tone, 0), "expected samples, found none");
    w = plain, w.rate = 500000;
    refused("a high rate", wav_of(&w, tone, sizeof tone), "expected 1000 to 192000 samples a second, found 500000");
    w = plain, w.channels = 200;
    refused("many channels", wav_of(&w, tone, sizeof tone), "expected 1 to 64 channels, found 200");
    reals[7] = (float)NAN;
    w = (Wav){.rate = 16000, .channels = 1, .bits = 32, .reals = true};
    refused("not a number", wav_of(&w, reals, sizeof reals), "has samples that are not finite");
    Bytes flac = bytes_of(recorded("music.flac"));
    flac.at[21] |= 15, flac.at[22] = -1; /* of STREAMINFO: samples, 36 bits */
    refused("a FLAC that promises more", flac, "its header promises");
    flac = bytes_of(recorded("music.flac"));
    flac.at[21] &= (char)0xf0;
    memset(flac.at + 22, 0, 4);
    refused("a FLAC that promises nothing", flac, "does not say how many samples it has");
    Bytes text = {0};
    puts_to(&text, "MThd is of another kind");
    refused("MIDI", text,
            "expected a WAV, FLAC, OGG or MP3 recording, found a file that begins with the bytes 4d 54 68 64");
    text = (Bytes){0};
    puts_to(&text, "ID3\4 and no more of an MP3");
    refused("an MP3", text, "cannot be read: ");
    refused("nothing", (Bytes){.at = malloc(1)}, "found an empty file");
}

/* ------------------------------------------------------------------ texts */

static void check_letters(void)
{
    File_index s = {.kind = &recording_files, .wants = TEXT_LABELS};
    int32_t ids[8];
    add_data_file(&s, (Data_file){.archive = -1}, "1.wav", "1.wav",
                  "b\xc3\xa9"
                  "a b",
                  NULL);
    add_data_file(&s, (Data_file){.archive = -1}, "2.wav", "2.wav", "axb", NULL);
    settle_letters(&s, NULL, (int32_t[]){0}, 1);
    expect(s.classes.n == 5 && !*s.classes.at[0] && strcmp(s.classes.at[4], "\xc3\xa9") == 0,
           "the blank, then letters");
    int64_t n = letter_ids(&s, spoken_text(&s, 0), ids, 8);
    expect(n == 5 && memcmp(ids, (int32_t[]){3, 4, 2, 1, 3, 0, 0, 0}, sizeof ids) == 0, "ids of a text");
    n = letter_ids(&s, spoken_text(&s, 1), ids, 8);
    expect(n == 2 && ids[0] == 2 && ids[1] == 3 && ids[2] == 0, "an unknown letter is left out");
    expect(letters_in(spoken_text(&s, 0)) == 5, "letters are counted, not bytes");
}

int main(void)
{
    make_test_folder();
    check_recording();
    check_like(recorded("mono.wav"), recorded("mono.ogg"));
    check_normalized();
    check_batches();
    check_masks();
    for (int i = 0; i < NAMES; i++) check_damage(recorded(names[i]));
    check_damage(recorded("mono.ogg"));
    check_packed();
    check_lies();
    check_letters();
    return finish();
}
