/* exact_drive.c: hashes of what the runtime computes, for tests/math/exact.sh, which compiles it with several compilers
 * for several processors.  Linked with step/schedule.c, text/sample.c, model/tables.c, data/mel.c and data/rate.c
 * alone. */
#include "base/words.h"
#include "data/mel.h"
#include "math/quick.h"
#include "math/random.h"
#include "model/place.h"
#include "step/optim.h"
#include "text/generate.h"

#include <stdlib.h>
#include <string.h>

enum { ARGUMENTS = 3000, STEPS = 500, VOCAB = 300, TOKENS = 50, SAMPLES = 4000, MELS = 20 };

/* What these files need of others that end the program or write messages. */
_Noreturn void fail(int code, const char *place, const char *fmt, ...)
{
    fprintf(stderr, "%s: %s\n", place, fmt);
    exit(code);
}
_Noreturn void bug_at(const char *file, int line, const char *what) { fail(1, file, "%s"), (void)line, (void)what; }
char *text_of(const char *fmt, ...) { return strdup(fmt); }
double without_sign(double x) { return x; }
char *words_of_blocks(const Lathe_model *m) { return (void)m, NULL; }
void *must_alloc(size_t bytes)
{
    void *p = calloc(1, bytes);
    return p ? p : (exit(1), NULL);
}

/* ------------------------------------------------------------------ hashes */

static uint64_t hash = 0xcbf29ce484222325u;

static void add_bits(uint64_t bits) { hash = (hash ^ bits) * 0x100000001b3u, hash ^= hash >> 29; }
static void add(double y) { add_bits(y != y ? 0x7ff8 : bits_of_f64(y)); } /* which NaN it is, processors decide */

static void say_hash(const char *name)
{
    printf("%s %016llx\n", name, (unsigned long long)hash);
    hash = 0xcbf29ce484222325u;
}

/* Half of them any double, the others -20 … 20. */
static double argument(int i)
{
    uint64_t high = (uint32_t)philox_word(1, 2, 3, 4, 2 * i), low = (uint32_t)philox_word(1, 2, 3, 4, 2 * i + 1);
    return i % 2 ? f64_of_bits(high << 32 | low) : 40 * uniform_of_word((uint32_t)high) - 20;
}

#define FUNCTION(name)                                                                                                 \
    for (int i = 0; i < ARGUMENTS; i++) add(name##_f64(argument(i)));                                                  \
    say_hash(#name);
#define OF_FLOATS(name)                                                                                                \
    for (int i = 0; i < ARGUMENTS; i++) add((double)name##_f32((float)argument(i)));                                   \
    say_hash(#name "_f32");

static void functions(void)
{
    FUNCTION(exp)
    FUNCTION(expm1)
    FUNCTION(log)
    FUNCTION(log1p)
    FUNCTION(log2)
    FUNCTION(log10)
    FUNCTION(sin)
    FUNCTION(cos)
    FUNCTION(tanh)
    FUNCTION(sigmoid)
    FUNCTION(erf)
    OF_FLOATS(exp)
    OF_FLOATS(expm1)
    OF_FLOATS(log)
    OF_FLOATS(sin)
    OF_FLOATS(cos)
    OF_FLOATS(tanh)
    OF_FLOATS(erf)
    OF_FLOATS(quick_exp)
    OF_FLOATS(quick_log)
    for (int i = 0; i < ARGUMENTS; i++) {
        double a = argument(i), b = argument(i + 2);
        add(pow_f64(fabs(a), b / 20));
        add(pow_f64(a, floor(b)));
        add((double)pow_f32((float)fabs(a), (float)b));
        add(hypot_f64(a, argument(i + 1)));
    }
    say_hash("pow, hypot");
}

/* ------------------------------------------------------------------ results of a run */

static void rates(void)
{
    static const Lathe_schedule all[] = {LATHE_CONSTANT_RATE, LATHE_LINEAR,  LATHE_COSINE,
                                         LATHE_ONE_CYCLE,     LATHE_STEPPED, LATHE_INVERSE_SQRT};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        for (int warmup = 0; warmup < 20; warmup += 13) {
            Lathe_recipe r = {.schedule = all[i],
                              .lr = 3e-4,
                              .final_lr = 1e-5,
                              .warmup = warmup,
                              .steps = STEPS,
                              .warm_fraction = 0.3,
                              .start_div = 25,
                              .final_div = 1e4,
                              .cycle_momentum = 1,
                              .low_momentum = 0.85,
                              .high_momentum = 0.95,
                              .step_every = 7,
                              .step_factor = 0.97,
                              .optimizer = LATHE_ADAMW,
                              .beta1 = 0.9,
                              .cooldown = 50};
            for (int64_t s = 0; s < STEPS + 10; s++) add(rate_at(&r, s)), add(momentum_at(&r, s));
        }
    say_hash("rates");
}

static void draws(void)
{
    Stream s = stream_of(7, "layer.weight");
    for (int i = 0; i < ARGUMENTS; i++) {
        Philox p = stream_block(s, i);
        float z[4];
        normals_of_words(p.word[0], p.word[1], &z[0], &z[1]);
        normals_of_words(p.word[2], p.word[3], &z[2], &z[3]);
        for (int k = 0; k < 4; k++) add((double)z[k]), add(0.02 * z[k] + 0.1), add(uniform_of_word(p.word[k]));
    }
    say_hash("initial values");
}

static void tokens(void)
{
    static Candidate list[VOCAB];
    static unsigned char seen[VOCAB];
    static const Ends none;
    float logits[VOCAB];
    Lathe_recipe r = {.temperature = 0.8, .top_k = 40, .top_p = 0.95, .min_p = 0.01, .repetition_penalty = 1.1};
    Sampler s = {.n = VOCAB, .ids = VOCAB, .ends = &none, .list = list, .seen = seen};
    sampler_init(&s, &r, 3, 0);
    for (int t = 0; t < TOKENS; t++) {
        for (int i = 0; i < VOCAB; i++) logits[i] = (float)argument(t * VOCAB + i & ~1) / 4;
        int32_t id = sample_token(&s, LATHE_F32, logits, t);
        seen[id] = 1;
        add(id);
        for (int i = 0; i < VOCAB; i++) add(list[i].weight);
    }
    say_hash("sampled tokens");
}

static void sounds(void)
{
    static double x[2 * SAMPLES];
    static float from[SAMPLES], out[MELS * SAMPLES];
    Lathe_recipe r = {.sample_rate = 16000,
                      .n_fft = 200,
                      .hop_length = 80,
                      .f_min = 20,
                      .log_floor = 1e-10,
                      .mel_scale = LATHE_MEL_HTK};
    for (int i = 0; i < SAMPLES; i++) from[i] = (float)argument(i & ~1) / 20;
    Rate *rate = open_rate(44100, 16000);
    int64_t n = change_rate(rate, from, SAMPLES, true, x, 2 * SAMPLES);
    for (int scale = 0; scale < 2; scale++, r.mel_scale = LATHE_MEL_SLANEY) {
        Mel_form form = mel_form(&r, MELS);
        Mel *m = open_mel(&form);
        find_mel(m, x, n, out);
        for (int64_t i = 0; i < mel_frames(&form, n) * MELS; i++) add((double)out[i]);
        close_mel(m);
    }
    close_rate(rate);
    say_hash("mel features");
}

int main(int count, char **word)
{
    (void)word;
    functions();
    if (count == 1) rates(), draws(), tokens(), sounds();
    return 0;
}
