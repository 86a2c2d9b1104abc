/* run_profile.h: RUN/profile.json: where a run's time goes. */
#ifndef LATHE_TRAINER_RUN_PROFILE_H
#define LATHE_TRAINER_RUN_PROFILE_H

#include "model/block.h"
#include "step/turn.h"
#include "trainer/report.h"
#include "trainer/trainer.h"

/* NULL: not wanted, or the model runs on a device, whose steps would be slower.  What is given must stay. */
typedef struct Run_profile Run_profile;
Run_profile *open_run_profile(const Trainer *t, const Step_turns *turns, const Memory *m);
void check_run_trace(const Trainer *t); /* ends the program if --trace cannot be */
/* Around a turn of step `step`: some are timed, kernel by kernel. */
void begin_timed(Run_profile *p, const Turn *u, int64_t step);
void end_timed(Run_profile *p, const Turn *u);
/* After a step, when the file is due: the memory of calls loses its contents.  At the end: all memory does. */
void keep_run_profile(Run_profile *p, const Report *r);
void close_run_profile(Run_profile *p, const Report *r);

#endif
