/* scale.h: the loss scale of fp16, for a CPU and a GPU (Micikevicius et al. 2018, "Mixed Precision Training", section
 * 3.2; as torch.amp.GradScaler has it): the loss is multiplied by a power of two, as large as possible, so that small
 * gradients do not underflow in 16 bits; the update divides gradients by it.  If a gradient overflows, the step is
 * skipped and the scale is halved; after `patience` good steps it is doubled.  A skipped step does not change the
 * optimizer's moments and their corrections, but counts for data and schedule. */
#ifndef LATHE_STEP_SCALE_H
#define LATHE_STEP_SCALE_H

#include "math/math.h"
#include "step/optim.h"

/* After a step with a finite loss; finite: its gradients are.  True: skip it; a smaller scale may help. */
MATH bool adapt_loss_scale(Loss_scale *s, bool finite)
{
    const float largest = 16777216;
    const int patience = 2000; /* steps */
    if (s->scale == 0 || (!finite && s->scale == 1)) return false;
    s->good = finite ? s->good + 1 : 0;
    if (!finite) {
        s->scale /= 2;
        s->skipped++;
    } else if (s->good == patience) {
        if (s->scale < largest) s->scale *= 2;
        s->good = 0;
    }
    return !finite;
}

#endif
