/* rate.c: samples at one rate to samples at another, by a windowed sinc.
 *
 * With the rates divided by what they have in common, output m lies at from / to * m among the inputs, so its weights
 * depend on m % to alone: a table has `to` rows of them.  Inputs come in blocks; those that are still needed are kept.
 */
#include "base/words.h"
#include "data/mel.h"
#include "math/double.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ZEROS = 6, BLOCK = 1 << 12 }; /* of the sinc on each side; most new inputs kept at once */

struct Rate {
    int64_t from, to; /* without common divisors */
    int64_t width;    /* inputs that count on each side */
    int64_t taps;     /* 2 width + 1 */
    double *table;    /* [to][taps] */
    float *x;         /* [taps + BLOCK] inputs, from number `first` on */
    int64_t first, n; /* first: of x; -width at the start */
    int64_t in, out;  /* inputs and outputs so far */
};

static int64_t common_divisor(int64_t a, int64_t b)
{
    while (b) {
        int64_t rest = a % b;
        a = b, b = rest;
    }
    return a;
}

int64_t samples_at_rate(int64_t n, int from, int to)
{
    int64_t d = common_divisor(from, to);
    return (n * (to / d) + from / d - 1) / (from / d);
}

/* The weight of an input that lies t zeros of the sinc from the output, times the share of an input. */
static double weight_at(double t, double share)
{
    const double pi = 3.14159265358979323846;
    if (fabs(t) >= ZEROS) return 0;
    double hann = cos_f64(t * pi / ZEROS / 2);
    return (t == 0 ? 1 : sin_f64(t * pi) / (t * pi)) * hann * hann * share;
}

/* The first input that counts for output m. */
static int64_t first_input(const Rate *r, int64_t m)
{
    return m / r->to * r->from + m % r->to * r->from / r->to - r->width;
}

static void fill_table(Rate *r)
{
    double base = 0.99 * (double)(r->from < r->to ? r->from : r->to);
    for (int64_t p = 0; p < r->to; p++)
        for (int64_t k = 0; k < r->taps; k++) {
            double i = (double)(first_input(r, p) + k);
            double t = (i / (double)r->from - (double)p / (double)r->to) * base;
            r->table[p * r->taps + k] = weight_at(t, base / (double)r->from);
        }
}

Rate *open_rate(int from, int to)
{
    int64_t d = common_divisor(from, to);
    Rate *r = must_alloc(sizeof *r);
    *r = (Rate){.from = from / d, .to = to / d};
    double base = 0.99 * (double)(r->from < r->to ? r->from : r->to);
    r->width = (int64_t)ceil(ZEROS * (double)r->from / base) + 1;
    r->taps = 2 * r->width + 1;
    if (r->taps * r->to * (int64_t)sizeof *r->table > RATE_ROOM) {
        free(r);
        return NULL;
    }
    r->table = must_alloc(sizeof *r->table * (size_t)(r->taps * r->to));
    r->x = must_alloc(sizeof *r->x * (size_t)(r->taps + BLOCK));
    fill_table(r);
    restart_rate(r);
    return r;
}

void restart_rate(Rate *r)
{
    r->first = -r->width;
    r->n = r->width;
    r->in = r->out = 0;
    memset(r->x, 0, sizeof *r->x * (size_t)r->n);
}

void close_rate(Rate *r)
{
    if (!r) return;
    free(r->table);
    free(r->x);
    free(r);
}

static double output_at(const Rate *r, const float *x, int64_t m)
{
    const double *weight = r->table + m % r->to * r->taps;
    double sum = 0;
    for (int64_t k = 0; k < r->taps; k++) sum += weight[k] * (double)x[k];
    return sum;
}

/* The outputs whose inputs are all there. */
static int64_t give_outputs(Rate *r, int64_t most, double *out, int64_t room)
{
    int64_t n = 0;
    for (; r->out < most && n < room; n++) {
        int64_t at = first_input(r, r->out) - r->first;
        if (at + r->taps > r->n) break;
        out[n] = output_at(r, r->x + at, r->out++);
    }
    return n;
}

/* Adds up to BLOCK inputs, x NULL: zeros; forgets those that no output needs. */
static void add_inputs(Rate *r, const float *x, int64_t n)
{
    int64_t used = first_input(r, r->out) - r->first;
    if (used > r->n) used = r->n;
    bug_if(used < 0 || r->n - used + n > r->taps + BLOCK);
    memmove(r->x, r->x + used, sizeof *r->x * (size_t)(r->n - used));
    r->first += used;
    r->n -= used;
    if (x) memcpy(r->x + r->n, x, sizeof *x * (size_t)n);
    else memset(r->x + r->n, 0, sizeof *r->x * (size_t)n);
    r->n += n;
}

int64_t change_rate(Rate *r, const float *x, int64_t n, bool end, double *out, int64_t room)
{
    int64_t done = 0;
    r->in += n;
    for (int64_t i = 0, k; i < n; i += k) {
        k = n - i < BLOCK ? n - i : BLOCK;
        add_inputs(r, x + i, k);
        done += give_outputs(r, INT64_MAX, out + done, room - done);
    }
    int64_t most = (r->in * r->to + r->from - 1) / r->from;
    while (end && r->out < most && done < room) {
        add_inputs(r, NULL, BLOCK);
        done += give_outputs(r, most, out + done, room - done);
    }
    return done;
}
