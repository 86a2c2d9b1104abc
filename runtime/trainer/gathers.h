/* gathers.h: arrays between rank 0 and the others; all ranks call these. */
#ifndef LATHE_TRAINER_GATHERS_H
#define LATHE_TRAINER_GATHERS_H

#include "interface/dealt.h"

#include <stdbool.h>

void from_first(void *at, int64_t bytes);                    /* rank 0's bytes go to all */
void gather_bytes(const void *own, char *all, int64_t each); /* rank k's, to all + k · each of rank 0 */
void deal_bytes(const char *all, void *own, int64_t each);   /* back */
/* All n elements of rank 0, of which each rank has its own, bucket by bucket; element: bytes. */
void gather_array(const Lathe_deal *d, char *all, char *own, int64_t n, int64_t element);
void deal_array(const Lathe_deal *d, char *all, char *own, int64_t n, int64_t element);
void must_go_on(bool fine); /* does not return unless fine: this rank has failed */

#endif
