/* sample.c: chooses the next token: what a grammar allows, repetition penalty, temperature, top-k, top-p, min-p, in
 * this order, then a draw that depends only on seed, step, number of the sample and position. */
#include "step/sample.h"
#include "math/math.h"
#include "model/tables.h"

#include <math.h>
#include <string.h>

enum { SAMPLE_SITE = 0x7fff0003 };

void sampler_init(Sampler *s, const Lathe_recipe *r, int32_t seed, int number)
{
    s->seed = seed;
    s->number = number;
    s->temperature = r->temperature;
    s->top_k = r->top_k > 0 && r->top_k < s->n ? r->top_k : s->n;
    s->top_p = r->top_p > 0 ? r->top_p : 1;
    s->min_p = r->min_p;
    s->penalty = r->repetition_penalty > 0 ? r->repetition_penalty : 1;
    if (s->seen) memset(s->seen, 0, (size_t)s->n);
}

static bool may_come(const Sampler *s, int64_t id)
{
    if (is_end(s->ends, (int32_t)id)) return s->may_end;
    return id < s->ids && (!s->allowed || s->allowed[id >> 6] >> (id & 63) & 1);
}

/* Makes tokens of the text less likely: positive logits are divided, negative ones multiplied. */
static double penalised(const Sampler *s, int64_t id, double logit)
{
    if (!s->seen[id]) return logit;
    return logit > 0 ? logit / s->penalty : logit * s->penalty;
}

/* Equal ones go by id, so that the order is unique. */
static bool is_better(const Candidate *x, const Candidate *y)
{
    if (x->weight != y->weight) return x->weight > y->weight;
    return x->id < y->id;
}

/* A heap whose root is the last of the list and better than all below it; sinks its node i of n. */
static void sink_candidate(Candidate *last, int64_t i, int64_t n)
{
    const Candidate own = last[-i];
    for (int64_t child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && is_better(&last[-(child + 1)], &last[-child])) child++;
        if (is_better(&own, &last[-child])) break;
        last[-i] = last[-child];
    }
    last[-i] = own;
}

/* Puts the k best first, best first.  (qsort may allocate.) */
static void put_best_first(Candidate *list, int64_t n, int64_t k)
{
    Candidate *last = list + n - 1;
    for (int64_t i = n / 2 - 1; i >= 0; i--) sink_candidate(last, i, n);
    for (int64_t i = 0; i < k && i < n - 1; i++) {
        const Candidate worse = list[i];
        list[i] = *last;
        *last = worse;
        sink_candidate(last, 0, n - 1 - i);
    }
}

/* true: all scores are numbers. */
static bool took_logits(Sampler *s, Lathe_dtype type, const void *logits, double *best)
{
    *best = -INFINITY;
    for (int64_t i = 0; i < s->n; i++) {
        double x = penalised(s, i, read_element(type, logits, i));
        if (!(x >= -INFINITY) || x == INFINITY) {
            s->list[0] = (Candidate){x, (int32_t)i};
            return false;
        }
        if (!may_come(s, i)) x = -INFINITY;
        s->list[i] = (Candidate){x, (int32_t)i};
        if (x > *best) *best = x;
    }
    return true;
}

/* How much of the sorted list to keep: at most top_k, and the fewest that reach top_p of the sum. */
static int64_t keep(const Sampler *s)
{
    double sum = 0, reached = 0;
    int64_t n = 0;
    for (int64_t i = 0; i < s->top_k; i++) sum += s->list[i].weight;
    while (n < s->top_k && (n == 0 || reached < s->top_p * sum)) reached += s->list[n++].weight;
    return s->top_p < 1 ? n : s->top_k;
}

/* Drops candidates less likely than min_p of the likeliest, whose weight is 1. */
static int64_t keep_likely(Sampler *s, int64_t n)
{
    int64_t kept = 0;
    for (int64_t i = 0; i < n; i++)
        if (s->list[i].weight >= s->min_p) s->list[kept++] = s->list[i];
    return kept;
}

static int32_t draw_candidate(const Sampler *s, int64_t n, int64_t position)
{
    uint64_t a = (uint32_t)philox_word(s->seed, (int)position, SAMPLE_SITE, s->number, (int)(uint32_t)(2 * s->step));
    uint64_t b =
        (uint32_t)philox_word(s->seed, (int)position, SAMPLE_SITE, s->number, (int)(uint32_t)(2 * s->step + 1));
    double sum = 0, at = 0;
    for (int64_t i = 0; i < n; i++) sum += s->list[i].weight;
    double mark = (double)((a << 32 | b) >> 11) * 0x1p-53 * sum;
    for (int64_t i = 0; i < n; i++) {
        at += s->list[i].weight;
        if (mark < at) return s->list[i].id;
    }
    return s->list[0].id;
}

int32_t sample_token(Sampler *s, Lathe_dtype type, const void *logits, int64_t position)
{
    double best;
    int64_t n = s->n;
    if (!took_logits(s, type, logits, &best)) return SCORE_NOT_FINITE;
    if (best == -INFINITY) return NO_TOKEN;
    if (s->temperature == 0) {
        for (int64_t i = 0; i < n; i++)
            if (s->list[i].weight == best) return s->list[i].id;
    }
    for (int64_t i = 0; i < n; i++) s->list[i].weight = exp_f64((s->list[i].weight - best) / s->temperature);
    if (s->top_k < n || s->top_p < 1) {
        put_best_first(s->list, n, s->top_k);
        n = keep(s);
    }
    if (s->min_p > 0) n = keep_likely(s, n);
    return draw_candidate(s, n, position);
}
