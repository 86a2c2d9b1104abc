/* narrow.h: reals that are sent as bf16, and sums of them. */
#ifndef LATHE_TRAINER_NARROW_H
#define LATHE_TRAINER_NARROW_H

#include "interface/dtype.h"
#include "math/math.h"

#include <stdbool.h>

/* x[i] becomes x[i] + error[i] rounded to bf16 (nearest, ties to even), and error[i] what that leaves out; error NULL: it is lost.
 * packed: the numbers then lie side by side from x on, 2 bytes each; what follows stays as it was. */
void narrow_reals(Lathe_dtype type, void *x, bf16 *error, int64_t n, bool packed);
void widen_reals(Lathe_dtype type, void *x, int64_t n); /* packed ones become reals again, in their places */
/* ranks/sums.h: add_over_ranks(), where x[k] are bf16, but for x[own], which are reals.  room: LATHE_NARROW_ROOM reals. */
void add_narrow(Lathe_dtype type, void *to, void *const *x, int own, int ranks, int64_t n, double scale, void *room);

#endif
