/* scale.h: the loss scale of fp16, for a CPU and a GPU (Micikevicius et al. 2018, "Mixed Precision Training", section
 * 3.2; as torch.amp.GradScaler has it): gradients are made of the loss times a power of two, as large as they bear, so
 * that small ones are not lost in 16 bits, and divided by it again in the update.  Where one overflows, the step is not
 * taken and the scale is halved; after so many good steps it is doubled.  A step that is not taken is none of the
 * optimizer's: its moments and their corrections stay, but it counts for data and schedule. */
#ifndef LATHE_STEP_SCALE_H
#define LATHE_STEP_SCALE_H

#include "math/math.h"
#include "step/optim.h"

/* Behind a step of finite loss, whose gradients are finite or not.  True: it is not taken, and a smaller scale may help. */
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
