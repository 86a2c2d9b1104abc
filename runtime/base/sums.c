/* sums.c: finds a number that has changed in a list of which three sums were kept.
 *
 * If x[i] alone has become x[i] + d, the sums have changed by d, i d and i² d: the second over the first is i, and the
 * product of first and third is the square of the second.  Several changes almost never fit that (once in 2^61).  The
 * modulus is a prime, so that each d but 0 has an inverse.  (These are the syndromes of a Reed-Solomon code.) */
#include "base/sums.h"

#include <stdio.h>
#include <string.h>

static const uint64_t P = (UINT64_C(1) << 61) - 1;

static uint64_t reduced(unsigned __int128 x)
{
    uint64_t y = (uint64_t)(x & P) + (uint64_t)(x >> 61);
    y = (y & P) + (y >> 61);
    return y >= P ? y - P : y;
}

static uint64_t times(uint64_t a, uint64_t b) { return reduced((unsigned __int128)a * b); }
static uint64_t less(uint64_t a, uint64_t b) { return a >= b ? a - b : a + P - b; }

/* Fermat: a^(P - 2). */
static uint64_t inverse(uint64_t a)
{
    uint64_t y = 1;
    for (uint64_t e = P - 2; e; e >>= 1, a = times(a, a))
        if (e & 1) y = times(y, a);
    return y;
}

void add_to_sums(Sums *s, uint64_t i, uint64_t x)
{
    x = reduced(x);
    for (int k = 0; k < 3; k++) {
        s->of[k] = reduced((unsigned __int128)s->of[k] + x);
        if (k < 2) x = times(x, i);
    }
}

void join_sums(Sums *s, const Sums *more)
{
    for (int k = 0; k < 3; k++) s->of[k] = reduced((unsigned __int128)s->of[k] + more->of[k]);
}

bool place_of_change(const Sums *before, const Sums *after, uint64_t *i, uint64_t *by)
{
    uint64_t d[3];
    for (int k = 0; k < 3; k++) d[k] = less(after->of[k], before->of[k]);
    if (!d[0] || times(d[1], d[1]) != times(d[0], d[2])) return false;
    *i = times(d[1], inverse(d[0]));
    *by = d[0];
    return *i != 0;
}

uint64_t taken_back(uint64_t x, uint64_t by) { return less(reduced(x), by); }

void sums_text(const Sums *s, char text[SUMS_DIGITS + 1])
{
    for (int k = 0; k < 3; k++) snprintf(text + 16 * k, 17, "%016llx", (unsigned long long)s->of[k]);
}

bool parse_sums(const char *text, Sums *s)
{
    *s = (Sums){{0}};
    for (int k = 0; k < SUMS_DIGITS; k++) {
        const char *digits = "0123456789abcdef", *at = text[k] ? strchr(digits, text[k]) : NULL;
        if (!at) return false;
        s->of[k / 16] = s->of[k / 16] << 4 | (uint64_t)(at - digits);
    }
    return s->of[0] < P && s->of[1] < P && s->of[2] < P;
}
