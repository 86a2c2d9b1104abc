/* first_weights.c: the weights that a run or a command begins with: from a file, drawn, or both. */
#include "base/words.h"
#include "interface/lathe_model.h"
#include "model/base.h"
#include "model/hf.h"
#include "model/init.h"
#include "model/weights.h"
#include "trainer/adapters.h"
#include "trainer/checkpoint.h"
#include "trainer/ranks.h"
#include "trainer/trainer.h"

#include <string.h>

void load_saved_weights(const Trainer *t, const char *path, const Memory *m)
{
    if (!is_follower(t)) check_saved_weights(path);
    bool starts = strcmp(t->command, "train") == 0 || strcmp(t->command, "init") == 0;
    load_weights(t->model, path, m->params, m->statistics, !t->init_except && starts ? "" : t->init_except);
    advise(NULL);
    if (t->adapter) take_adapter(t, t->adapter, path, m->params);
}

void take_first_weights(Trainer *t, const Memory *m)
{
    if (!t->weights || t->init_except || t->model->adapters || hf_draws(t->model))
        init_weights(t->model, (uint64_t)t->seed, m);
    if (!t->weights) return;
    load_saved_weights(t, t->weights, m);
    if (t->model->adapters) t->base = base_of_weights(t->model, t->weights, m->params);
}
