/* verify.h: `trainer verify`: what its files share. */
#ifndef LATHE_TRAINER_VERIFY_H
#define LATHE_TRAINER_VERIFY_H

#include "base/chain.h"
#include "step/state.h"
#include "trainer/data_files.h"
#include "trainer/records.h"
#include "trainer/trainer.h"
#include "trainer/training.h"

typedef struct Verify {
    const Trainer *asked; /* by the command line of verify */
    Trainer trains;       /* as the run's own command line, and its head, say */
    Training run;         /* which this computes again */
    const char *folder;
    Chain chain;
    bool chained;         /* else there are only metrics.jsonl and checkpoints */
    int64_t first, last;  /* steps to verify: of one part of the run */
    int64_t end;          /* the last that is asked for: parts behind this one have other settings or data */
    int64_t unknown;      /* the run was resumed there, and nothing is left that says what it had been trained with before; 0: no */
    bool goes_on;         /* behind a part that was verified */
    int64_t from;         /* steps done at the start */
    char *checkpoint;     /* there; NULL: the initial weights */
    int64_t head, next;   /* of the chain: the head of the first step; the first record behind the start */
    json_t *said;         /* that head; else config.json */
    Recorder recorder;
    json_t *differences;  /* {"step":…, "what":…, "text":…} */
    int64_t compared, tensors, evaluations, checkpoints; /* how many steps and so on were */
} Verify;

void differs_at(Verify *v, int64_t step, const char *what, const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* ---- trainer/verify_run.c: what the run was */

void find_piece(Verify *v);     /* the steps, where to start, the head */
void take_command(Verify *v);   /* trains: the run's own command */
void compare_files(Verify *v);  /* the data's with those of the head */
void compare_head(Verify *v);
void take_verified(const Verify *v, State *s); /* start.c: of the checkpoint to start from: settings as the head has them */

/* ---- trainer/verify_tensors.c */

bool compare_start(Verify *v); /* whether what it starts from is what the chain says */
void compare_checkpoint(Verify *v, int64_t step);
/* Of two records of tensors, which differ and by how much; was: of the chain. */
void tell_changed_tensors(Verify *v, int64_t step, const json_t *was, const json_t *now);

#endif
