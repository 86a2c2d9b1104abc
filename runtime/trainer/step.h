/* step.h: optimizer steps. */
#ifndef LATHE_TRAINER_STEP_H
#define LATHE_TRAINER_STEP_H

#include "interface/lathe_model.h"
#include "model/block.h"
#include "step/optim.h"
#include "trainer/trainer.h"

void open_device(const Memory *m, const Trainer *t);   /* does nothing where the model runs on this processor */
typedef struct Step { /* what one optimizer step has shown */
    double loss, norm, rate;
    /* seconds: waiting for its inputs; the entry; norm of the gradients, clipping and update, a save that must copy first */
    double data, forward, backward, update;
    double there; /* on a device, by its clock: all three, which are 0 without time_parts() */
    int64_t number; /* steps before it */
    bool skipped; /* gradients beyond fp16: the parameters are as they were, the next loss scale is smaller */
    Loss_scale loss_scale; /* behind it */
} Step;

void ready_optimizer(const Optimizer *o, const Memory *m); /* before the first step */
/* A step on the inputs that lie at call->in: gradients, norm, clipping, update.  Where loss or norm is not finite it and all
 * that follow leave the parameters as they were.  begin_step has used the inputs when it returns; end_step gives what
 * became of the oldest that was begun, and must come where step_is_due. */
void begin_step(const Trainer *t, const Lathe_entry *e, const Lathe_call *call, Optimizer *o, void *params,
                int64_t number, double data);
Step end_step(void);
int steps_begun(void); /* and not ended */
bool step_is_due(void);
Step take_step(const Trainer *t, const Lathe_entry *e, const Lathe_call *call, Optimizer *o, void *params,
               int64_t number); /* both */
bool has_diverged(const Step *s);

#endif
