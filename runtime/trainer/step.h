/* step.h: optimizer steps. */
#ifndef LATHE_TRAINER_STEP_H
#define LATHE_TRAINER_STEP_H

#include "interface/lathe_model.h"
#include "model/block.h"
#include "step/optim.h"
#include "trainer/trainer.h"

void open_device(const Memory *m, const Trainer *t);   /* does nothing if the model runs on this processor */
typedef struct Step { /* results of an optimizer step */
    double loss, norm, rate;
    /* seconds: waiting for inputs; the entry; norm, clipping and update, with the wait for a save that copies */
    double data, forward, backward, update;
    double there; /* on a device, by its clock: the whole step; the parts are 0 without time_parts() */
    int64_t number; /* steps before it */
    bool skipped; /* gradients overflowed fp16: parameters are unchanged, and the next loss scale is smaller */
    Loss_scale loss_scale; /* behind it */
} Step;

void ready_optimizer(const Optimizer *o, const Memory *m); /* before the first step */
/* A step on the inputs at call->in: gradients, norm, clipping, update.  If loss or norm is not finite, this step and
 * all later ones leave the parameters unchanged.  begin_step has used the inputs when it returns; end_step returns the
 * result of the oldest step begun, and must be called when step_is_due. */
void begin_step(const Trainer *t, const Lathe_entry *e, const Lathe_call *call, Optimizer *o, void *params,
                int64_t number, double data);
Step end_step(void);
int steps_begun(void); /* that have not ended */
bool step_is_due(void);
Step take_step(const Trainer *t, const Lathe_entry *e, const Lathe_call *call, Optimizer *o, void *params,
               int64_t number); /* both */
bool has_diverged(const Step *s);

#endif
