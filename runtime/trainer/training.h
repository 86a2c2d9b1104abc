/* training.h: a training run, which trainer/start.c prepares and trainer/loop.c runs. */
#ifndef LATHE_TRAINER_TRAINING_H
#define LATHE_TRAINER_TRAINING_H

#include "data/data.h"
#include "interface/lathe_model.h"
#include "model/block.h"
#include "step/turn.h"
#include "step/state.h"
#include "trainer/checkpoint.h"
#include "trainer/data_record.h"
#include "trainer/eval.h"
#include "trainer/report.h"
#include "trainer/run_profile.h"
#include "trainer/samples.h"
#include "trainer/trainer.h"
#include "trainer/trial.h"

typedef struct Training {
    Trainer *t;
    Data data;
    Memory memory;
    Step_turns turns;
    Report report;
    Run_profile *profile; /* NULL: none */
    Data_record *record;  /* likewise */
    Saver *saver;
    double saved_at; /* seconds_now() of the start of the last save, or of the run */
    Progress at;
    const Lathe_entry *entry;
    int64_t items; /* of one step */
    bool evaluates, data_ended;
    Samples *samples; /* after evaluations; NULL: none */
    Text_eval *texts; /* of evaluations; NULL: none */
    Scores scores;    /* of the last evaluation */
    double evaluation_took; /* seconds */
    State from;       /* of the checkpoint resumed from */
    char *checkpoint;
} Training;

/* Everything up to the first step; ends the program if it cannot train.  With several ranks, each calls it. */
void prepare_training(Training *r, Trainer *t);
const Entry *entries_of_run(const Trainer *t); /* that a run calls: those that write texts only if it writes some */
void start_training(Training *r); /* the run folder and the saver: rank 0 calls it */
Trial trial_of(Training *r);
int try_training(Training *r); /* --overfit, --dry-run: the exit code */

#endif
