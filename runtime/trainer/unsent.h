/* unsent.h: gradients that ranks on processors send as bf16 (send_gradients): what rounding has left out so far. */
#ifndef LATHE_TRAINER_UNSENT_H
#define LATHE_TRAINER_UNSENT_H

#include "interface/shard.h"
#include "math/math.h"
#include "model/safetensors.h"
#include "trainer/trainer.h"

bool sends_narrow(const Trainer *t);   /* as bf16: several ranks on processors, of which that is asked */
void check_sending(const Trainer *t);  /* ends the program (2) if this run cannot */
int64_t sent_size(const Trainer *t);   /* bytes of a gradient, as it is sent */
void open_unsent(const Trainer *t, char *memory); /* memory: lathe_narrow_bytes(), cleared */
/* The rank's gradients of a part: with what is unsent, rounded to what is sent.  packed: narrow_reals(). */
void round_part(void *grads, const Lathe_part *p, bool packed);
void *narrow_room(void);               /* add_narrow() */
void gather_unsent(const Trainer *t);                         /* all ranks' to rank 0, also of a run that sends reals */
void load_unsent(const Trainer *t, const char *checkpoint);   /* this rank's, likewise */
/* trainer/parts_file.c: a row of bytes for each rank */
void lay_unsent(const Trainer *t, Store_writer *w);
int64_t unsent_bytes(const Trainer *t);
const void *own_unsent(void);
/* trainer/rank_file.c */
void declare_unsent(const Trainer *t, Store_writer *w);
void put_unsent(const Trainer *t, Store_writer *w);

#endif
