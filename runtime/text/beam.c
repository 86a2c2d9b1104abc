/* beam.c: beam search (text/beam.h) for several samples at a time, with one row per text. */
#include "base/words.h"
#include "math/double.h"
#include "model/tables.h"
#include "text/beam.h"

#include <math.h>
#include <string.h>

typedef struct Candidate_text { /* a live text and its next token */
    double sum;
    int32_t token, row; /* row: index among the sample's rows */
} Candidate_text;

typedef struct Lines { /* texts, one per row: [rows][most], [rows][most][extras] */
    int32_t *token;
    float *extra;
    double *sum; /* [rows] */
} Lines;

typedef struct Search { /* the search of a sample */
    Beam_start start;
    int64_t n;    /* tokens of each live text */
    int64_t live; /* number of live texts, which are the first rows of its beams; 0: the search is over */
    int side;     /* the one of Beam.lines with them */
    int64_t best; /* tokens of the result; -1: none yet */
    double score;
    bool ended;
} Search;

struct Beam {
    Beam_how how;
    Beam_model model;
    int64_t samples;
    Lines lines[2], result; /* result: one row per sample */
    Search *search;         /* [samples] */
    Candidate_text *list;   /* [2 beams], of the current sample, best first */
    int64_t listed;
    int32_t *barred, *next, *from; /* barred: [most], of the current row; others: [rows] */
    int64_t n_barred;
    float *extra; /* [rows][extras], of the next tokens */
};

/* ------------------------------------------------------------------ memory */

static void *carve(char **at, int64_t n, size_t size)
{
    void *part = *at;
    *at += ((size_t)n * size + 15) & ~(size_t)15;
    return part;
}

static Lines carve_lines(const Beam *b, int64_t rows, char **at)
{
    Lines l;
    l.token = carve(at, rows * b->how.most, sizeof *l.token);
    l.extra = carve(at, rows * b->how.most * b->model.extras, sizeof *l.extra);
    l.sum = carve(at, rows, sizeof *l.sum);
    return l;
}

/* Returns the end of the layout.  To compute its size, `memory` may be any address. */
static char *lay_out(Beam *b, char *at)
{
    int64_t rows = b->model.rows;
    for (int side = 0; side < 2; side++) b->lines[side] = carve_lines(b, rows, &at);
    b->result = carve_lines(b, b->samples, &at);
    b->search = carve(&at, b->samples, sizeof *b->search);
    b->list = carve(&at, 2 * b->how.beams, sizeof *b->list);
    b->barred = carve(&at, b->how.most, sizeof *b->barred);
    b->next = carve(&at, rows, sizeof *b->next);
    b->from = carve(&at, rows, sizeof *b->from);
    b->extra = carve(&at, rows * b->model.extras, sizeof *b->extra);
    return at;
}

static Beam new_beam(const Beam_how *how, const Beam_model *model)
{
    bug_if(how->beams < 1 || how->beams > model->rows || how->most < 1 || how->power < 0);
    return (Beam){.how = *how, .model = *model, .samples = model->rows / how->beams};
}

int64_t beam_bytes(const Beam_how *how, const Beam_model *model)
{
    Beam b = new_beam(how, model);
    char *none = (char *)64;
    (void)carve(&none, 1, sizeof b);
    return lay_out(&b, none) - (char *)64;
}

Beam *open_beam(const Beam_how *how, const Beam_model *model, void *memory)
{
    char *at = memory;
    Beam *b = carve(&at, 1, sizeof *b);
    *b = new_beam(how, model);
    lay_out(b, at);
    return b;
}

int64_t beam_samples(const Beam *b) { return b->samples; }

static int32_t *line_of(const Beam *b, const Lines *l, int64_t row) { return l->token + row * b->how.most; }

static float *extra_of(const Beam *b, const Lines *l, int64_t row)
{
    return l->extra + row * b->how.most * b->model.extras;
}

static void copy_line(const Beam *b, const Lines *to, int64_t row, const Lines *from, int64_t of, int64_t n)
{
    size_t extras = (size_t)b->model.extras;
    memcpy(line_of(b, to, row), line_of(b, from, of), sizeof(int32_t) * (size_t)n);
    if (extras) memcpy(extra_of(b, to, row), extra_of(b, from, of), sizeof(float) * (size_t)n * extras);
}

/* ------------------------------------------------------------------ candidates */

/* Bars the tokens that followed earlier occurrences of the text's last no_repeat - 1 tokens. */
static void bar_repeats(Beam *b, const int32_t *text, int64_t n)
{
    int64_t before = b->how.no_repeat - 1;
    b->n_barred = 0;
    if (before < 0) return;
    for (int64_t i = 0; i + before < n; i++)
        if (memcmp(text + i, text + n - before, sizeof *text * (size_t)before) == 0)
            b->barred[b->n_barred++] = text[i + before];
}

static bool may_follow(const Beam *b, int32_t token, int64_t n)
{
    if (is_end(&b->how.ends, token)) return n >= b->how.least;
    if (token >= b->how.ids) return false;
    for (int64_t i = 0; i < b->n_barred; i++)
        if (b->barred[i] == token) return false;
    return true;
}

static bool ranks_before(const Candidate_text *x, const Candidate_text *y)
{
    if (x->sum != y->sum) return x->sum > y->sum;
    return x->token != y->token ? x->token < y->token : x->row < y->row;
}

/* Adds it if there is room or it ranks before the last. */
static void list_candidate(Beam *b, Candidate_text c)
{
    int64_t k = b->listed < 2 * b->how.beams ? b->listed++ : b->listed - 1;
    for (; k > 0 && ranks_before(&c, &b->list[k - 1]); k--) b->list[k] = b->list[k - 1];
    b->list[k] = c;
}

static void try_candidate(Beam *b, Candidate_text c)
{
    bool full = b->listed == 2 * b->how.beams;
    if (!full || ranks_before(&c, &b->list[b->listed - 1])) list_candidate(b, c);
}

/* log Σ exp of a row's scores. */
static double log_sum_of_row(const Beam_model *m, const void *scores, int64_t row)
{
    double most = -INFINITY, sum = 0;
    for (int64_t i = 0; i < m->vocab; i++) {
        double x = read_element(m->type, scores, row * m->vocab + i);
        if (!(x < INFINITY))
            fail(EXIT_DIVERGED, NULL, "the logit of token %lld is %g: the weights are from a run that diverged",
                 (long long)i, x);
        if (x > most) most = x;
    }
    if (most == -INFINITY) return 0; /* no token can follow */
    for (int64_t i = 0; i < m->vocab; i++) sum += exp_f64(read_element(m->type, scores, row * m->vocab + i) - most);
    return most + log_f64(sum);
}

static void list_row(Beam *b, const Search *s, const void *scores, int64_t first, int32_t beam)
{
    const Beam_model *m = &b->model;
    const Lines *l = &b->lines[s->side];
    double before = l->sum[first + beam], all = log_sum_of_row(m, scores, first + beam);
    Candidate_text end = {.sum = -INFINITY};
    bar_repeats(b, line_of(b, l, first + beam), s->n);
    for (int32_t token = 0; token < m->vocab; token++) {
        double x = read_element(m->type, scores, (first + beam) * m->vocab + token);
        Candidate_text c = {before + (x - all), token, beam};
        if (c.sum == -INFINITY || !may_follow(b, token, s->n)) continue;
        if (!is_end(&b->how.ends, token)) try_candidate(b, c);
        else if (c.sum > end.sum) end = c;
    }
    if (end.sum > -INFINITY) try_candidate(b, end);
}

/* ------------------------------------------------------------------ one step */

/* An ended text of n tokens without its end becomes the result if it is better than the present one. */
static void end_text(Beam *b, Search *s, const Lines *l, int64_t row, int64_t n, double score, bool ended)
{
    if (s->best >= 0 && !(score > s->score)) return;
    copy_line(b, &b->result, s - b->search, l, row, n);
    s->best = n;
    s->score = score;
    s->ended = ended;
}

static void add_last(Beam *b, const Lines *to, int64_t row, int64_t of, int64_t n, int32_t token)
{
    int extras = b->model.extras;
    line_of(b, to, row)[n] = token;
    if (extras) memcpy(extra_of(b, to, row) + n * extras, b->extra + of * extras, sizeof(float) * (size_t)extras);
}

static double score_of(const Beam *b, double sum, int64_t n) { return sum / pow_f64((double)n, b->how.power); }

static void live_on(Beam *b, Search *s, int64_t first, const Candidate_text *c)
{
    const Lines *from = &b->lines[s->side], *to = &b->lines[!s->side];
    int64_t row = first + s->live++, of = first + c->row;
    copy_line(b, to, row, from, of, s->n);
    add_last(b, to, row, of, s->n, c->token);
    to->sum[row] = c->sum;
    b->next[row] = c->token;
    b->from[row] = (int32_t)of;
}

/* Whether a text that was just extended stops; if it is among the best `beams`, it then counts as ended. */
static bool stopped(Beam *b, Search *s, int64_t first, const Candidate_text *c, bool best)
{
    const Lines *to = &b->lines[!s->side];
    int64_t row = first + s->live - 1, n = s->n + 1;
    if (!b->how.stops || !b->how.stops(b->how.with, line_of(b, to, row), n)) return false;
    s->live--;
    if (best) end_text(b, s, to, row, n, score_of(b, c->sum, n), true);
    return true;
}

/* Whether the live texts, of which the first is the best, can no longer change the result. */
static bool is_over(const Beam *b, const Search *s, int64_t first)
{
    if (s->live == 0 || s->n == b->how.most) return true;
    return s->best >= 0 && s->score >= score_of(b, b->lines[s->side].sum[first], b->how.most);
}

static void step_search(Beam *b, Search *s, const void *scores)
{
    int64_t first = (s - b->search) * b->how.beams, live = s->live;
    const Lines *l = &b->lines[s->side];
    b->listed = 0;
    for (int32_t k = 0; k < live; k++) list_row(b, s, scores, first, k);
    if (b->listed == 0 && s->best < 0)
        end_text(b, s, l, first, s->n, score_of(b, l->sum[first], s->n ? s->n : 1), false);
    s->live = 0;
    for (int64_t k = 0; k < b->listed; k++) {
        const Candidate_text *c = &b->list[k];
        bool end = is_end(&b->how.ends, c->token), best = k < b->how.beams;
        if (end && best) end_text(b, s, l, first + c->row, s->n, score_of(b, c->sum, s->n + 1), true);
        if (end || s->live == b->how.beams) continue;
        live_on(b, s, first, c);
        stopped(b, s, first, c, best);
    }
    s->side = !s->side;
    s->n++;
    if (!is_over(b, s, first)) return;
    l = &b->lines[s->side];
    if (s->live && s->best < 0) end_text(b, s, l, first, s->n, score_of(b, l->sum[first], s->n), false);
    s->live = 0;
}

/* ------------------------------------------------------------------ all of them */

static void start_search(Beam *b, int64_t k, Beam_start start)
{
    b->search[k] = (Search){.start = start, .live = 1, .best = -1};
    b->lines[0].sum[k * b->how.beams] = 0;
}

/* Sets the next tokens of rows that are still fed their start; the others' are already in b->next. */
static void feed_starts(Beam *b, int64_t samples, int64_t fed)
{
    for (int64_t row = 0; row < b->model.rows; row++) {
        int64_t k = row / b->how.beams;
        const Search *s = &b->search[k < samples ? k : 0];
        if (fed < s->start.n) b->next[row] = s->start.token[fed];
        b->from[row] = (int32_t)row;
    }
}

static bool moves(const Beam *b)
{
    for (int64_t row = 0; row < b->model.rows; row++)
        if (b->from[row] != row) return true;
    return false;
}

void search_beams(Beam *b, const Beam_start *start, int64_t samples, int64_t fed, Beam_text *out)
{
    bug_if(samples < 1 || samples > b->samples);
    bool live = true;
    for (int64_t k = 0; k < samples; k++) start_search(b, k, start[k]);
    for (; live; fed++) {
        feed_starts(b, samples, fed);
        const void *scores = b->model.feed(b->model.with, b->next, b->extra);
        live = false;
        for (Search *s = b->search; s < b->search + samples; s++) {
            if (s->live && fed + 1 >= s->start.n) step_search(b, s, scores);
            live |= s->live > 0;
        }
        if (live && moves(b)) b->model.reorder(b->model.with, b->from);
    }
    for (int64_t k = 0; k < samples; k++) {
        const Search *s = &b->search[k];
        out[k] = (Beam_text){line_of(b, &b->result, k), extra_of(b, &b->result, k), s->best, s->score, s->ended};
    }
}
