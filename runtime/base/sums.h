/* sums.h: sums over a list of numbers, from which a later look at it finds the place of one that has changed. */
#ifndef LATHE_BASE_SUMS_H
#define LATHE_BASE_SUMS_H

#include <stdbool.h>
#include <stdint.h>

/* Of numbers x[1], x[2], …: Σ x[i], Σ i x[i] and Σ i² x[i], all modulo 2^61 - 1. */
typedef struct Sums {
    uint64_t of[3];
} Sums;
enum { SUMS_DIGITS = 48 };

void add_to_sums(Sums *s, uint64_t i, uint64_t x); /* i: from 1 */
void join_sums(Sums *s, const Sums *more);
/* Whether one number alone can have changed between the two; then *i is its place, and *by what was added to it modulo
 * 2^61 - 1. */
bool place_of_change(const Sums *before, const Sums *after, uint64_t *i, uint64_t *by);
uint64_t taken_back(uint64_t x, uint64_t by); /* what x was before */
void sums_text(const Sums *s, char text[SUMS_DIGITS + 1]); /* three times 16 hexadecimal digits */
bool parse_sums(const char *text, Sums *s); /* SUMS_DIGITS bytes of it */

#endif
