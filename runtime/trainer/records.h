/* records.h: what a chain of hashes says of a run: the same for the run that writes it and for one that verifies it. */
#ifndef LATHE_TRAINER_RECORDS_H
#define LATHE_TRAINER_RECORDS_H

#include "data/data.h"
#include "model/block.h"
#include "step/turn.h"
#include "trainer/digest.h"
#include "trainer/eval.h"
#include "trainer/step.h"
#include "trainer/trainer.h"

#include <jansson.h>

typedef struct Recorder {
    const Trainer *t;
    Data *data;
    Kept_tensors tensors;
    int64_t every; /* steps between hashes of the parameters */
    json_t *now;   /* of the step under way */
    int64_t *item; /* [rows of its batch] */
    int64_t room;  /* of item */
} Recorder;

void open_recorder(Recorder *r, const Trainer *t, Data *d, const Memory *m, Step_turns *turns, int64_t every);
void close_recorder(Recorder *r);
json_t *head_record(const Recorder *r, int64_t step);  /* what the steps behind it depend on */
json_t *start_record(Recorder *r, int64_t step);       /* of the tensors before the next step */
void begin_record(Recorder *r, const Lathe_entry *e, const char *in, int64_t step); /* of its rows and batch; step: before it */
void record_turn(Recorder *r, const Step *s);
json_t *step_record(Recorder *r); /* of the step under way, once its last turn has ended */
json_t *scores_record(const Scores *s, int64_t step);

#endif
