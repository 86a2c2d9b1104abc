/* test_beam.c: beam search on tables drawn at random, scores that depend on all of a row's tokens: against all texts
 * there are, where there is a beam for each; against a plain search of one sample that sorts all candidates and never
 * stops early; many samples at a time against each alone; ties. */
#include "harness.h"
#include "base/words.h"
#include "interface/lathe_model.h"
#include "math/double.h"
#include "text/beam.h"

#include <math.h>
#include <string.h>

enum { MOST = 12, VOCAB = 9, MAX_ROWS = 160, EXTRAS = 2 };

/* ------------------------------------------------------------------ a model: a text's hash */

typedef struct Scorer {
    int64_t rows, vocab, fed;
    int sharp;                /* 0: all scores are equal */
    int kinds;                /* scores are whole numbers below this; 0: any */
    bool dead_ends;           /* some rows have no token that may follow */
    uint64_t state[MAX_ROWS]; /* of the tokens so far */
    float score[MAX_ROWS * VOCAB];
} Scorer;

static uint64_t mix(uint64_t h, uint64_t x)
{
    h = (h ^ (x + 0x9e3779b97f4a7c15u)) * 0xbf58476d1ce4e5b9u;
    return (h ^ h >> 29) * 0x94d049bb133111ebu;
}

static float score_at(const Scorer *t, uint64_t state, int64_t token)
{
    uint64_t h = mix(state, (uint64_t)token + 77);
    if (t->dead_ends && state % 7 == 0) return -INFINITY;
    if (t->kinds) return (float)(h % (uint64_t)t->kinds);
    return (float)t->sharp * (float)((double)(h >> 11) * 0x1p-53 - 0.5);
}

static const void *feed(void *with, const int32_t *token, float *extra)
{
    Scorer *t = with;
    t->fed++;
    for (int64_t r = 0; r < t->rows; r++) {
        expect(token[r] >= 0 && token[r] < t->vocab, "row %lld is fed %d", (long long)r, token[r]);
        t->state[r] = mix(t->state[r], (uint64_t)token[r]);
        for (int64_t v = 0; v < t->vocab; v++) t->score[r * t->vocab + v] = score_at(t, t->state[r], v);
        for (int k = 0; k < EXTRAS; k++) extra[r * EXTRAS + k] = (float)(t->state[r] >> (8 + 20 * k) & 0xffff);
    }
    return t->score;
}

static void reorder(void *with, const int32_t *from)
{
    Scorer *t = with;
    uint64_t state[MAX_ROWS];
    memcpy(state, t->state, sizeof state);
    for (int64_t r = 0; r < t->rows; r++) t->state[r] = state[from[r]];
}

/* ------------------------------------------------------------------ texts, one at a time */

typedef struct Found {
    int32_t token[MOST];
    float extra[MOST * EXTRAS];
    int64_t n;
    double sum, score;
    uint64_t state;
    bool ended, any;
} Found;

static double log_probability(const Scorer *t, uint64_t state, int64_t token)
{
    double most = -INFINITY, sum = 0;
    for (int64_t v = 0; v < t->vocab; v++) most = fmax(most, (double)score_at(t, state, v));
    for (int64_t v = 0; v < t->vocab; v++) sum += exp_f64((double)score_at(t, state, v) - most);
    return (double)score_at(t, state, token) - (most + log_f64(sum));
}

static bool allowed(const Beam_how *h, const Found *f, int32_t token)
{
    if (is_end(&h->ends, token)) return f->n >= h->least;
    if (token >= h->ids) return false;
    for (int64_t i = 0; h->no_repeat && i + h->no_repeat <= f->n; i++) {
        bool same = f->token[i + h->no_repeat - 1] == token;
        for (int64_t k = 0; k + 1 < h->no_repeat; k++) same &= f->token[i + k] == f->token[f->n - h->no_repeat + 1 + k];
        if (same) return false;
    }
    return true;
}

/* A text stops behind some pairs of tokens. */
static bool stops_after(void *with, const int32_t *token, int64_t n)
{
    const int *every = with;
    return n > 1 && (token[n - 2] * 7 + token[n - 1] * 3) % *every == 0;
}

/* Of the ends that may follow a text the likeliest counts. */
static bool is_lesser_end(const Scorer *t, const Beam_how *h, const Found *f, int32_t token)
{
    for (int i = 0; is_end(&h->ends, token) && i < h->ends.n; i++) {
        int32_t other = h->ends.id[i];
        double x = score_at(t, f->state, token), y = score_at(t, f->state, other);
        if (y > x || (y == x && other < token)) return true;
    }
    return false;
}

static Found followed(const Scorer *t, const Beam_how *h, const Found *f, int32_t token)
{
    Found g = *f;
    g.sum += log_probability(t, f->state, token);
    g.score = g.sum / pow_f64((double)(g.n + 1), h->power);
    g.ended = is_end(&h->ends, token);
    if (g.ended) return g;
    for (int k = 0; k < EXTRAS; k++) g.extra[g.n * EXTRAS + k] = (float)(f->state >> (8 + 20 * k) & 0xffff);
    g.token[g.n++] = token;
    g.state = mix(f->state, (uint64_t)token);
    g.ended = h->stops && h->stops(h->with, g.token, g.n);
    if (g.ended) g.score = g.sum / pow_f64((double)g.n, h->power);
    return g;
}

static void keep_better(Found *best, const Found *f)
{
    if (best->any && best->ended && !f->ended) return;
    if (best->any && best->ended == f->ended && !(f->score > best->score)) return;
    *best = *f;
    best->any = true;
}

/* Of all there are. */
static void try_all(const Scorer *t, const Beam_how *h, const Found *f, Found *best)
{
    for (int32_t v = 0; v < t->vocab; v++) {
        if (!allowed(h, f, v) || score_at(t, f->state, v) == -INFINITY) continue;
        Found g = followed(t, h, f, v);
        if (g.ended || g.n == h->most) keep_better(best, &g);
        else try_all(t, h, &g, best);
    }
}

static Found state_after(uint64_t seed, const int32_t *start, int64_t n)
{
    Found f = {.state = seed};
    for (int64_t i = 0; i < n; i++) f.state = mix(f.state, (uint64_t)start[i]);
    return f;
}

typedef struct Follower {
    Found text;
    int32_t token;
    int row;
} Follower;

static int by_rank(const void *a, const void *b)
{
    const Follower *x = a, *y = b;
    if (x->text.sum != y->text.sum) return x->text.sum > y->text.sum ? -1 : 1;
    return x->token != y->token ? x->token - y->token : x->row - y->row;
}

/* All candidates sorted, to the very end. */
static Found plain_search(const Scorer *t, const Beam_how *h, Found first)
{
    static Follower next[MAX_ROWS * VOCAB];
    static Found live[MAX_ROWS];
    Found best = {0};
    int n = 1;
    live[0] = first;
    for (int64_t step = 0; step < h->most && n; step++) {
        int all = 0;
        for (int k = 0; k < n; k++)
            for (int32_t v = 0; v < t->vocab; v++)
                if (allowed(h, &live[k], v) && score_at(t, live[k].state, v) > -INFINITY &&
                    !is_lesser_end(t, h, &live[k], v))
                    next[all++] = (Follower){followed(t, h, &live[k], v), v, k};
        qsort(next, (size_t)all, sizeof *next, by_rank);
        Found last = live[0];
        n = 0;
        for (int i = 0; i < all && i < 2 * h->beams; i++) {
            if (!next[i].text.ended && n < h->beams) live[n++] = next[i].text;
            if (next[i].text.ended && i < h->beams) keep_better(&best, &next[i].text);
        }
        if (n == 0 && !best.any)
            best = last, best.any = true, best.score = last.sum / pow_f64((double)(last.n ? last.n : 1), h->power);
    }
    if (!best.any) best = live[0];
    return best;
}

/* ------------------------------------------------------------------ comparing */

static Ends draw_ends(Rng *r, int64_t vocab)
{
    Ends e = {.n = below(r, 8) ? 1 + (int)below(r, 3) : 0};
    for (int i = 0; i < e.n; i++) e.id[i] = (int32_t)below(r, vocab);
    return e;
}

static Beam_how draw_how(Rng *r, int64_t beams, int64_t most, int64_t vocab)
{
    static const double powers[] = {0, 0.5, 1, 1, 2};
    static int every;
    every = 2 + (int)below(r, 6);
    return (Beam_how){.beams = beams,
                      .most = 1 + below(r, most),
                      .least = below(r, 2) ? 0 : below(r, 5),
                      .no_repeat = below(r, 2) ? 0 : 1 + below(r, 3),
                      .power = powers[below(r, 5)],
                      .ends = draw_ends(r, vocab),
                      .stops = below(r, 2) ? stops_after : NULL,
                      .with = &every,
                      .ids = (int32_t)(below(r, 4) ? vocab : vocab - 1)};
}

static bool same_text(const Beam_text *got, const Found *want)
{
    if (got->n != want->n || got->ended != want->ended || got->score != want->score) return false;
    return memcmp(got->token, want->token, sizeof *got->token * (size_t)got->n) == 0 &&
           memcmp(got->extra, want->extra, sizeof *got->extra * (size_t)got->n * EXTRAS) == 0;
}

static Beam *beam_of(Scorer *t, const Beam_how *h, int64_t rows, void **memory)
{
    Beam_model m = {t, rows, t->vocab, EXTRAS, LATHE_F32, feed, reorder};
    t->rows = rows;
    int64_t bytes = beam_bytes(h, &m);
    *memory = malloc((size_t)bytes);
    memset(*memory, 0x5a, (size_t)bytes);
    return open_beam(h, &m, *memory);
}

enum { SAMPLES = 5 };

/* Texts begin with several tokens, of different numbers; rows are of samples that begin alike in state. */
static void check_samples(Rng *r, Scorer *t, const Beam_how *h, int64_t rows, bool all)
{
    int32_t start[SAMPLES][4];
    Beam_start starts[SAMPLES];
    Beam_text out[SAMPLES];
    void *memory;
    Beam *b = beam_of(t, h, rows, &memory);
    int64_t n = beam_samples(b) < SAMPLES ? 1 + below(r, beam_samples(b)) : 1 + below(r, SAMPLES);
    for (int64_t k = 0; k < n; k++) {
        for (int i = 0; i < 4; i++) start[k][i] = (int32_t)below(r, t->vocab);
        starts[k] = (Beam_start){start[k], 1 + below(r, 4)};
    }
    uint64_t seed = r->state;
    for (int64_t i = 0; i < rows; i++) t->state[i] = seed;
    t->fed = 0;
    search_beams(b, starts, n, 0, out);
    for (int64_t k = 0; k < n; k++) {
        Found first = state_after(seed, start[k], starts[k].n), want = {0};
        if (all) try_all(t, h, &first, &want);
        else want = plain_search(t, h, first);
        if (all && !want.any) continue; /* a dead end: the plain search says what becomes of it */
        expect(same_text(&out[k], &want),
               "sample %lld of %lld, %lld beams: %lld tokens, score %.17g, ended %d; want %lld, %.17g, %d",
               (long long)k, (long long)n, (long long)h->beams, (long long)out[k].n, out[k].score, out[k].ended,
               (long long)want.n, want.score, want.ended);
    }
    free(memory);
}

/* A beam for each text there is. */
static void check_against_all(void)
{
    Rng r = rng_of(11);
    for (int round = 0; round < 150; round++) {
        Scorer t = {.vocab = 2 + below(&r, 3), .sharp = 1 + (int)below(&r, 6)};
        Beam_how h = draw_how(&r, MAX_ROWS, t.vocab == 4 ? 3 : 4, t.vocab);
        check_samples(&r, &t, &h, MAX_ROWS, true);
    }
}

static void check_against_plain(void)
{
    Rng r = rng_of(12);
    int64_t early = 0, steps = 0;
    for (int round = 0; round < 1500; round++) {
        Scorer t = {.vocab = 2 + below(&r, VOCAB - 1), .sharp = 1 + (int)below(&r, 12), .dead_ends = below(&r, 3) == 0};
        if (below(&r, 3) == 0) t.kinds = 1 + (int)below(&r, 3);
        int64_t beams = 1 + below(&r, 6), rows = beams * (1 + below(&r, SAMPLES)) + below(&r, beams);
        Beam_how h = draw_how(&r, beams, MOST, t.vocab);
        check_samples(&r, &t, &h, rows, false);
        early += t.fed < h.most;
        steps++;
    }
    expect(early > steps / 10, "%lld of %lld searches stopped early", (long long)early, (long long)steps);
}

/* All scores are equal: the lowest tokens, and of texts of equal sums those of the first rows. */
static void check_ties(void)
{
    Scorer t = {.vocab = 4};
    Beam_how h = {.beams = 3, .most = 5, .ends = {1, {3}}, .ids = 4, .power = 1};
    Beam_start start = {(const int32_t[]){0}, 1};
    Beam_text out;
    void *memory;
    search_beams(beam_of(&t, &h, 3, &memory), &start, 1, 0, &out);
    expect(out.n == 5 && !out.ended && out.token[0] == 0 && out.token[4] == 0, "ends rank behind equals: %lld tokens",
           (long long)out.n);
    h.ends.id[0] = 0;
    free(memory);
    search_beams(beam_of(&t, &h, 3, &memory), &start, 1, 0, &out);
    expect(out.n == 0 && out.ended && fabs(out.score + log(4)) < 1e-12, "the first end of equal scores");
    h.no_repeat = 1;
    h.least = 2;
    free(memory);
    search_beams(beam_of(&t, &h, 3, &memory), &start, 1, 0, &out);
    expect(out.n == 2 && out.token[0] == 2 && out.token[1] == 1, "by their last token, 2 1 comes before 1 2");
    free(memory);
}

int main(void)
{
    check_against_all();
    check_against_plain();
    check_ties();
    return finish();
}
