/* gpu_parts.h: --shard-parameters on GPUs: what each keeps, and where it has the rest while an entry needs it. */
#ifndef LATHE_TRAINER_GPU_PARTS_H
#define LATHE_TRAINER_GPU_PARTS_H

#include "model/block.h"
#include "step/device_parts.h"
#include "trainer/trainer.h"

int64_t bytes_kept_on_gpu(const Trainer *t, bool gradients); /* in the block */
int64_t bytes_of_gpu_rooms(const Trainer *t);                /* beside it */
/* m->params and m->grads have room for this GPU's elements.  They become the host's addresses of whole arrays, of which
 * rank 0 has the parameters, when a run begins and when it is saved. */
void open_gpu_parts(const Trainer *t, Memory *m);
const Device_parts *gpu_parts(void); /* NULL: not opened */

#endif
