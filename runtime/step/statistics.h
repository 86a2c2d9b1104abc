/* statistics.h: states that belong to the model, as its parameters do (nn.batchnorm). */
#ifndef LATHE_STEP_STATISTICS_H
#define LATHE_STEP_STATISTICS_H

#include "interface/lathe_model.h"
#include "model/block.h"

int64_t statistics_bytes(const Lathe_model *m); /* of all, one after the other; 0: there are none */
/* What was read or drawn goes to where entries read it: statistics into the states, all to the device if there is one. */
void weights_up(const Lathe_model *m, const Memory *memory);
void copy_statistics(const Lathe_model *m, const Memory *memory); /* back, for a file */

#endif
