/* returns.h: parameters that an update has changed, on their way back from the ranks that own them. */
#ifndef LATHE_TRAINER_RETURNS_H
#define LATHE_TRAINER_RETURNS_H

#include "interface/dealt.h"

void open_returns(const Lathe_deal *d, const void *params, int64_t element);
int bucket_to_return(int i);                    /* the bucket that returns as number i: those first that forward needs first */
void note_return(int bucket, int64_t exchange); /* it has begun (ranks/courier.h) */
void await_unsaid(void);                        /* before train: those of which it has never said that it needs them */
void await_returns(void);                       /* all parameters are there; nothing to wait for with one rank */

#endif
