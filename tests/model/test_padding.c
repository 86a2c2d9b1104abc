/* test_padding.c: the row of a padding id is zero: as drawn, as loaded from weights in which it is not, and under every
 * optimizer with decay, also where a head shares the table; it has no gradient, and all other rows have. */
#include "harness.h"
#include "base/words.h"
#include "interface/lathe_model.h"
#include "model/init.h"
#include "model/weights.h"
#include "step/optim.h"

#include <stdlib.h>
#include <string.h>

enum { PADDING = 3 };

/* Of each table, each copy: the row of zeros is, and the others are not. */
static void check_rows(const Live *l, const char *flat, const char *when)
{
    for (int k = 0; k < l->model->params; k++) {
        const Lathe_param *p = &l->model->param[k];
        if (!strstr(p->name, "embed") && !strstr(p->name, "own")) continue;
        double *at = read_param(l, flat, p);
        int64_t rows = p->dim[p->loops], width = p->dim[p->loops + 1];
        for (int64_t r = 0; r < param_elements(p) / width; r++) {
            bool zero = norm_of(at + r * width, width) == 0;
            expect(zero == (r % rows == PADDING), "%s: row %lld of %s %s", when, (long long)r, p->name,
                   zero ? "is zero" : "is not zero");
        }
    }
}

static void check_optimizer(Live *l, Lathe_optimizer kind)
{
    int train = entry_index(l, "train");
    Lathe_recipe recipe = {.optimizer = kind, .lr = 0.05, .beta1 = 0.9, .beta2 = 0.99, .eps = 1e-8, .decay = 0.3};
    recipe.momentum = 0.9;
    recipe.steps = 10;
    Optimizer o;
    void *moments = aligned_alloc(64, (size_t)round_up((int64_t)optimizer_bytes(l->model, &recipe), 64));
    init_parameters(l->model, 5, l->params);
    check_rows(l, l->params, "drawn");
    optimizer_init(&o, l->model, &recipe, moments);
    for (int64_t step = 0; step < 5; step++) {
        call_entry(l, train);
        check_rows(l, l->grads, "gradient");
        Pace pace = pace_at(&recipe, step, gradient_norm(&o, l->grads));
        optimizer_step(&o, l->params, l->grads, step, &pace);
    }
    check_rows(l, l->params, "trained");
    optimizer_free(&o);
    free(moments);
}

/* Every id occurs among the tokens; a target is never the padding id. */
static void feed(Live *l)
{
    int train = entry_index(l, "train");
    int32_t *tokens = input_at(l, train, "tokens"), *targets = input_at(l, train, "targets");
    for (int i = 0; i < 18; i++) {
        tokens[i] = i % 7;
        targets[i] = (i + 4) % 7 == PADDING ? 0 : (i + 4) % 7;
    }
}

int main(void)
{
    const char *file = format("%s/weights.safetensors", temp_folder());
    Live *plain = build_model("tests/models/padding.lua --set padding=-1");
    init_parameters(plain->model, 5, plain->params);
    save_weights(plain->model, file, NULL, plain->params, NULL);
    unload(plain);
    Live *l = build_model("tests/models/padding.lua");
    feed(l);
    load_weights(l->model, file, l->params, NULL, NULL);
    check_rows(l, l->params, "loaded");
    static const Lathe_optimizer kinds[] = {LATHE_SGD, LATHE_ADAM, LATHE_ADAMW, LATHE_LION, LATHE_RMSPROP};
    for (int i = 0; i < COUNT_OF(kinds); i++) check_optimizer(l, kinds[i]);
    unload(l);
    return finish();
}
