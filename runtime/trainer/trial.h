/* trial.h: a run that is ready to begin. */
#ifndef LATHE_TRAINER_TRIAL_H
#define LATHE_TRAINER_TRIAL_H

#include "data/data.h"
#include "interface/lathe_model.h"
#include "model/block.h"
#include "step/turn.h"
#include "trainer/data_record.h"
#include "trainer/eval.h"
#include "trainer/samples.h"
#include "trainer/trainer.h"

/* Set by SIGINT, SIGTERM, SIGHUP and SIGXCPU while train runs; 0 before. */
extern volatile int interrupted;

typedef struct Trial { /* a run that is ready to begin */
    Trainer *t;
    Data *data;
    Memory *memory;
    Step_turns *turns;
    const Lathe_entry *entry;
    Samples *samples;    /* NULL: none */
    Text_eval *texts;    /* NULL: no texts for evaluation */
    int64_t items;       /* of a step */
    bool evaluates;
    Data_record *record; /* NULL: none */
} Trial;
/* trainer/check.c: trials before a run; they return the exit code and write nothing. */
int overfit(const Trial *c);
int dry_run(const Trial *c);

#endif
