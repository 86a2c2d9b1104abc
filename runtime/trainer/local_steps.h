/* local_steps.h: steps that each rank on processors takes by itself, until ranks meet. */
#ifndef LATHE_TRAINER_LOCAL_STEPS_H
#define LATHE_TRAINER_LOCAL_STEPS_H

#include "model/block.h"
#include "model/safetensors.h"
#include "step/optim.h"
#include "trainer/trainer.h"

bool steps_locally(const Trainer *t);   /* several ranks on processors, with local_steps */
bool adds_gradients(const Trainer *t);  /* several ranks on processors that add them in each step */
void check_local_steps(const Trainer *t); /* ends the program (2) if this run cannot */
/* step: number of steps done. */
bool is_due(const Trainer *t, int64_t step, int64_t every); /* after one of every `every` steps, or at the meeting that follows */
bool must_end(const Trainer *t, int64_t step); /* a signal has come, and ranks are together */
/* memory: lathe_local_bytes(), cleared.  step: of the checkpoint, or 0; all ranks have the same parameters. */
void open_local_steps(const Trainer *t, char *memory);
void begin_local_steps(const Trainer *t, const Memory *m, int64_t step);
bool ranks_are_apart(const Trainer *t, int64_t step);
bool must_meet(const Trainer *t, int64_t step, bool ends); /* ends: no more steps follow */
void meet(const Trainer *t, const Memory *m, int64_t step); /* all ranks call it */
/* For checkpoints (trainer/rank_file.c): */
void gather_local(const Trainer *t, const Memory *m);
void deal_local(const Trainer *t, const Memory *m);
void declare_local(const Trainer *t, Store_writer *w);
void put_local(const Trainer *t, Store_writer *w);
void load_local(const Trainer *t, const Store *from);

#endif
