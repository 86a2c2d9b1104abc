/* data_record.h: RUN/data.json: what a run's data is, how long its texts are, and how much of a batch is padding. */
#ifndef LATHE_TRAINER_DATA_RECORD_H
#define LATHE_TRAINER_DATA_RECORD_H

#include "data/data.h"
#include "trainer/trainer.h"

typedef struct Data_record Data_record;
/* items: of a step.  NULL: not wanted (--no-report). */
Data_record *open_data_record(const Trainer *t, const Data *d, int64_t items);
void note_batch(Data_record *r, const Lathe_entry *e, const char *in); /* the inputs of a step, which nothing changes */
Data_record *count_data(const Trainer *t); /* of a follower, which writes no file */
void share_counts(Data_record *r);         /* of a rank's rows with rank 0; all ranks call it */
void keep_data_record(Data_record *r);     /* writes the file, when it is due */
void add_up_data_record(Data_record *r);   /* of all ranks, which wait for orders: before the last file */
void close_data_record(Data_record *r);

#endif
