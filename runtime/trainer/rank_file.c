/* rank_file.c: what each rank keeps by itself, in checkpoints: ranks.safetensors.
 *
 *     unsent          [ranks][elements]  what is left of gradients sent as bf16 (trainer/unsent.c)
 *     moments         [ranks][…]         of ranks that step by themselves (trainer/local_steps.c); optimizer.safetensors
 *                                        has those of rank 0
 *     outer_velocity  [elements]         of the outer optimizer
 *
 * Elements are in the order of the flat arrays. */
#include "trainer/rank_file.h"
#include "base/words.h"
#include "trainer/local_steps.h"
#include "trainer/unsent.h"

#include <stdlib.h>

bool keeps_rank_file(const Trainer *t) { return sends_narrow(t) || steps_locally(t); }

Store_writer *start_rank_file(const Trainer *t, const char *folder, Fault *f)
{
    if (!keeps_rank_file(t)) return NULL;
    char *path = text_of("%s/" RANK_FILE, folder);
    Store_writer *w = start_store_at(path, f);
    if (sends_narrow(t)) declare_unsent(t, w);
    if (steps_locally(t)) declare_local(t, w);
    if (sends_narrow(t)) put_unsent(t, w);
    if (steps_locally(t)) put_local(t, w);
    flush_store(w);
    free(path);
    return w;
}

void load_rank_file(const Trainer *t, const Store *from)
{
    if (steps_locally(t)) load_local(t, from);
}
