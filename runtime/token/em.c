/* em.c: learning a unigram model (Kudo 2018, section 3.2): it starts with many strings that occur in several places
 * (token/seeds.c) and removes a quarter at a time, those whose removal lowers the text's probability least, until the
 * wanted number is left.  In between, two rounds of expectation maximisation fit their probabilities to all ways of
 * cutting the text, with the digamma function in place of the logarithm, which keeps rare ones small. */
#include "base/words.h"
#include "math/double.h"
#include "token/token.h"
#include "token/tokenizer.h"

#include <math.h>

enum { MOST_SEEDS = 1000000, ROUNDS = 2 };

typedef struct Model {
    Tokenizer *t;     /* token, score, trie; the first `single` tokens are characters, which stay */
    double *expected; /* [n] */
    int32_t single;
} Model;

typedef struct Way { /* a token in a word */
    int32_t from, to, id;
} Way;

typedef struct Sums { /* of a word: log of the sums over all ways to cut the text before a position, and after it */
    double *before, *after;
    Way *way;
    int64_t ways, way_room;
} Sums;

/* ------------------------------------------------------------------ a model */

static void add_candidate(Model *m, const char *at, int64_t n, double score)
{
    Tokenizer *t = m->t;
    if ((t->token.n & (t->token.n - 1)) == 0)
        t->score = must_grow(t->score, sizeof *t->score * (size_t)(t->token.n ? 2 * t->token.n : 1));
    int32_t id = add_string(&t->token, at, n, false);
    t->score[id] = score;
    add_to_trie(&t->trie, at, n, id);
    t->n = t->token.n;
}

static Model new_model(void)
{
    Model m = {.t = new_tokenizer(TOKEN_UNIGRAM, "text")};
    m.t->unknown_score = -1e9; /* every character is a token */
    return m;
}

static void free_model(Model *m)
{
    free_tokenizer(m->t);
    free(m->expected);
}

/* Keeps the tokens for which keep is true, with these scores. */
static void keep_some(Model *m, const bool *keep, const double *score)
{
    Model new = new_model();
    for (int32_t id = 0; id < m->t->n; id++) {
        int64_t n;
        const char *at = string_at(&m->t->token, id, &n);
        if (keep[id]) add_candidate(&new, at, n, score[id]);
    }
    new.single = m->single;
    free_model(m);
    *m = new;
}

/* ------------------------------------------------------------------ expectation */

static double log_add(double a, double b)
{
    double high = a > b ? a : b, low = a > b ? b : a;
    return low < high - 50 ? high : high + log1p_f64(exp_f64(low - high));
}

static void find_ways(const Model *m, Sums *s, const char *at, int32_t n)
{
    s->ways = 0;
    for (int32_t i = 0; i < n; i++) {
        int32_t node = 0;
        if (((unsigned char)at[i] & 0xc0) == 0x80) continue;
        for (int32_t k = i; k < n; k++) {
            const Edge *e = follow_byte(&m->t->trie, node, at[k]);
            if (!e) break;
            node = e->to;
            if (e->id < 0) continue;
            if (s->ways == s->way_room) {
                s->way_room = s->way_room * 2 + 1024;
                s->way = must_grow(s->way, sizeof *s->way * (size_t)s->way_room);
            }
            s->way[s->ways++] = (Way){i, k + 1, e->id};
        }
    }
}

/* Adds a word that occurs `count` times to the expected counts. */
static void expect_word(Model *m, Sums *s, const char *at, int32_t n, double count)
{
    const double *score = m->t->score;
    find_ways(m, s, at, n);
    for (int32_t i = 0; i <= n; i++) s->before[i] = s->after[i] = -INFINITY;
    s->before[0] = s->after[n] = 0;
    for (int64_t k = 0; k < s->ways; k++) {
        const Way *w = &s->way[k];
        s->before[w->to] = log_add(s->before[w->to], s->before[w->from] + score[w->id]);
    }
    for (int64_t k = s->ways - 1; k >= 0; k--) {
        const Way *w = &s->way[k];
        s->after[w->from] = log_add(s->after[w->from], s->after[w->to] + score[w->id]);
    }
    for (int64_t k = 0; k < s->ways; k++) {
        const Way *w = &s->way[k];
        m->expected[w->id] += count * exp_f64(s->before[w->from] + score[w->id] + s->after[w->to] - s->before[n]);
    }
}

static const char *corpus_word(const Corpus *c, int64_t k, int64_t *n)
{
    *n = (k + 1 < c->words ? c->begin[k + 1] : c->bytes) - 1 - c->begin[k];
    return c->text + c->begin[k];
}

static void expect_all(Model *m, const Corpus *c)
{
    Sums s = {.before = must_alloc(sizeof(double) * (LONGEST_WORD + 1)),
              .after = must_alloc(sizeof(double) * (LONGEST_WORD + 1))};
    free(m->expected);
    m->expected = must_alloc(sizeof *m->expected * (size_t)m->t->n);
    for (int64_t k = 0; k < c->words; k++) {
        int64_t n;
        const char *at = corpus_word(c, k, &n);
        expect_word(m, &s, at, (int32_t)n, (double)c->count[k]);
    }
    free(s.before);
    free(s.after);
    free(s.way);
}

/* ------------------------------------------------------------------ maximisation */

static double digamma(double x)
{
    double y = 0;
    for (; x < 7; x++) y -= 1 / x;
    double z = 1 / (x * x);
    return y + log_f64(x) - 0.5 / x - z * (1.0 / 12 - z * (1.0 / 120 - z / 252));
}

static void maximise(Model *m)
{
    double all = 0;
    bool *keep = must_alloc(sizeof *keep * (size_t)m->t->n);
    for (int32_t id = 0; id < m->t->n; id++) {
        keep[id] = id < m->single || m->expected[id] >= 0.5;
        if (keep[id]) all += m->expected[id];
    }
    double *score = must_alloc(sizeof *score * (size_t)m->t->n);
    for (int32_t id = 0; id < m->t->n; id++) {
        double x = m->expected[id];
        score[id] = digamma(x < 0.5 ? 0.5 : x) - digamma(all);
    }
    keep_some(m, keep, score);
    free(keep);
    free(score);
}

/* ------------------------------------------------------------------ leaving out */

typedef struct Loss { /* of log probability, without a token */
    double loss;
    int32_t id;
} Loss;

static int by_loss(const void *a, const void *b)
{
    const Loss *x = a, *y = b;
    return x->loss != y->loss ? (x->loss > y->loss ? -1 : 1) : x->id - y->id;
}

/* Counts each token in the most probable cut; *all: their sum. */
static double *count_best(const Model *m, const Corpus *c, Lattice *l, double *all)
{
    Ids ids = {0};
    double *count = must_alloc(sizeof *count * (size_t)m->t->n);
    for (int64_t k = 0; k < c->words; k++) {
        int64_t n;
        const char *at = corpus_word(c, k, &n);
        ids.n = 0;
        unigram_piece(l, at, n, &ids);
        for (int64_t i = 0; i < ids.n; i++) count[ids.at[i]] += (double)c->count[k];
        *all += (double)(ids.n * c->count[k]);
    }
    free_ids(&ids);
    return count;
}

/* Without the token, its text would be cut into others, whose counts would grow. */
static double loss_without(const Model *m, Lattice *l, int32_t id, const double *count, double all, Ids *ids)
{
    int64_t n;
    const char *at = string_at(&m->t->token, id, &n);
    double *score = &m->t->score[id], was = *score;
    *score = -1e6;
    ids->n = 0;
    unigram_piece(l, at, n, ids);
    *score = was;
    double without = 0, more = log_f64(all + count[id] * (double)(ids->n - 1));
    for (int64_t i = 0; i < ids->n; i++) without += log_f64(count[ids->at[i]] + count[id]) - more;
    return count[id] * (log_f64(count[id]) - log_f64(all) - without);
}

static void leave_out(Model *m, const Corpus *c, int32_t left)
{
    static const char *const nowhere = "text";
    Lattice *l = open_lattice(m->t, &nowhere);
    Ids ids = {0};
    double all = 0, *count = count_best(m, c, l, &all);
    Loss *loss = must_alloc(sizeof *loss * (size_t)m->t->n);
    bool *keep = must_alloc(sizeof *keep * (size_t)m->t->n);
    int32_t n = 0;
    for (int32_t id = 0; id < m->t->n; id++) {
        keep[id] = id < m->single;
        if (!keep[id] && count[id] > 0) loss[n++] = (Loss){loss_without(m, l, id, count, all, &ids), id};
    }
    if (n) qsort(loss, (size_t)n, sizeof *loss, by_loss);
    for (int32_t i = 0; i < n && i < left - m->single; i++) keep[loss[i].id] = true;
    keep_some(m, keep, m->t->score);
    close_lattice(l);
    free_ids(&ids);
    free(count);
    free(loss);
    free(keep);
}

/* ------------------------------------------------------------------ all of it */

static Model seed_model(const Corpus *c, const Strings *single, const double *count)
{
    Model m = new_model();
    Strings seen = {0};
    int64_t seeds;
    Seed *seed = find_seeds(c, &seeds);
    double all = 0;
    for (int32_t k = 0; k < single->n; k++) all += count[k];
    for (int64_t k = 0; k < seeds; k++) all += seed[k].count;
    for (int32_t k = 0; k < single->n; k++) {
        int64_t n;
        const char *at = string_at(single, k, &n);
        add_candidate(&m, at, n, log_f64(count[k] / all));
    }
    m.single = single->n;
    for (int64_t k = 0; k < seeds && m.t->n < MOST_SEEDS; k++) {
        if (find_string(&seen, seed[k].at, seed[k].bytes) >= 0) continue;
        add_string(&seen, seed[k].at, seed[k].bytes, true);
        add_candidate(&m, seed[k].at, seed[k].bytes, log_f64(seed[k].count / all));
    }
    free_strings(&seen);
    free(seed);
    return m;
}

static void take_best(Tokenizer *t, const Model *m, int64_t size)
{
    Loss *order = must_alloc(sizeof *order * (size_t)m->t->n);
    for (int32_t id = 0; id < m->t->n; id++) order[id] = (Loss){m->t->score[id], id};
    if (m->t->n) qsort(order, (size_t)m->t->n, sizeof *order, by_loss);
    int64_t others = size - m->single;
    t->score =
        must_alloc(sizeof *t->score * (size_t)(t->token.n + m->t->n + t->specials)); /* 0 except for learned ones */
    for (int32_t k = 0; k < m->t->n; k++) {
        int64_t n;
        const char *at = string_at(&m->t->token, order[k].id, &n);
        if (order[k].id >= m->single && others-- <= 0) continue;
        int32_t id = add_string(&t->token, at, n, true);
        t->score[id] = order[k].loss;
    }
    free(order);
}

void learn_unigram(Tokenizer *t, const Corpus *c, const Strings *single, const double *count, int64_t size)
{
    Model m = seed_model(c, single, count);
    for (int32_t enough = (int32_t)(size + size / 10);;) {
        for (int i = 0; i < ROUNDS; i++) {
            expect_all(&m, c);
            maximise(&m);
        }
        if (m.t->n <= enough) break;
        int32_t left = m.t->n / 4 * 3;
        leave_out(&m, c, left > enough ? left : enough);
    }
    take_best(t, &m, size);
    free_model(&m);
}
