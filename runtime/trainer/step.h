/* step.h: optimizer steps. */
#ifndef LATHE_TRAINER_STEP_H
#define LATHE_TRAINER_STEP_H

#include "interface/lathe_model.h"
#include "model/block.h"
#include "step/optim.h"
#include "step/turn.h"
#include "trainer/trainer.h"

void open_device(const Memory *m, const Trainer *t);   /* does nothing if the model runs on this processor */
typedef struct Step { /* results of an optimizer step, or of a turn of it */
    double loss, norm, rate;
    /* seconds: waiting for inputs; the entry; norm, clipping and update, with the wait for a save that copies */
    double data, forward, backward, update;
    double data_wait; /* of ranks that add up gradients: the longest wait for inputs of any */
    double ranks;   /* of all these: waiting for other ranks */
    double there; /* on a device, by its clock: all of it; the parts are 0 without time_parts() */
    int64_t number; /* steps before it */
    int turn;       /* its number */
    int parts;      /* number of losses by name, and these; on several GPUs none */
    double part[LATHE_LOSSES];
    int64_t batch;  /* its rows, where batches grow; else 0 */
    bool measures_noise; /* then: the mean of the squared norms of its parts' gradients, and what finish_turn() makes of it */
    double part_squares, noise_scale;
    bool skipped; /* gradients overflowed fp16: parameters are unchanged, and the next loss scale is smaller */
    Loss_scale loss_scale; /* behind it */
} Step;

void ready_optimizers(const Step_turns *turns, const Memory *m); /* before the first step */
/* A turn of a step, on the inputs at m->call: gradients, norm, clipping, update.  If loss or norm is not finite, it and
 * all later ones leave the parameters unchanged.  begin_turn has used the inputs when it returns; end_turn returns the
 * result of the oldest turn begun, and must be called when turn_must_end. */
void begin_turn(const Trainer *t, Turn *u, const Memory *m, int64_t number, double data);
Step end_turn(void);
int turns_begun(void); /* that have not ended */
bool turn_must_end(void);
Step take_turn(const Trainer *t, Turn *u, const Memory *m, int64_t number); /* both */
Step take_step(const Trainer *t, Step_turns *turns, const Memory *m, int64_t number); /* all turns that are due */
void add_to_step(Step *all, const Step *s); /* losses add up, norms as those of parts of one vector */
Turn *wanted_turn(const Trainer *t, Step_turns *turns); /* trainer/turns.c: of --turn; the first */
bool has_diverged(const Step *s);
char *divergence_text(const Step *s, const char *turn); /* what was expected and found; turn: its name, or NULL */
char *divergence_remedy(const Lathe_recipe *recipe, const Step *s, const char *turn); /* what may help and is not done yet: before the first update no rate is to blame */

#endif
