/* data.h: what a run reads and writes, of its command line. */
#ifndef LATHE_TRAINER_DATA_H
#define LATHE_TRAINER_DATA_H

#include "data/data.h"
#include "data/reading.h"
#include "text/writing.h"
#include "token/tokenizer.h"
#include "trainer/trainer.h"

Reading *reading_of(const Trainer *t, bool training); /* as the command line is now; from malloc */
Writing writing_of(const Trainer *t);                 /* likewise */
void open_run_data(Data *d, const Trainer *t, bool training);

/* --val-data: of train, before data is opened, and after; of eval. */
void settle_val_data(Trainer *t);
void open_val_data(Data *d, const Trainer *t);
void evaluate_val_data(Trainer *t);

/* Of a run, what the weights that it starts from came with.  Where its tokenizer k is another than theirs, what speaks of
 * tokens goes. */
void settle_origin(Trainer *t, const Tokenizer *k);

#endif
