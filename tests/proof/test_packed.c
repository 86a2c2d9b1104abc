/* test_packed.c: matrices packed before a loop change no bit of what the loop computes, nor of any gradient. */
#include "harness.h"

#include <string.h>

static void compare(const char *what, const char *arguments)
{
    Rng r = rng_of(5);
    Live *packed = build_model(arguments), *plain = build_model(format("%s --no-pack", arguments));
    int entry = entry_index(packed, "grad");
    int64_t bytes = packed->model->flat_elements * (packed->model->real == LATHE_F64 ? 8 : 4);
    expect(packed->model->planned_bytes > plain->model->planned_bytes, "%s: nothing is packed", what);
    fill_params(packed, &r);
    fill_inputs(packed, entry, &r);
    memcpy(plain->params, packed->params, (size_t)bytes);
    memcpy(plain->room[entry].in, packed->room[entry].in, (size_t)packed->model->entry[entry].in_bytes);
    call_entry(packed, entry);
    call_entry(plain, entry);
    expect(loss_of(packed, entry) == loss_of(plain, entry), "%s: another loss", what);
    expect(!memcmp(packed->grads, plain->grads, (size_t)bytes), "%s: other gradients", what);
    unload(packed);
    unload(plain);
}

int main(void)
{
    compare("9 rows, one tile", "models/char_rnn.lua --config tiny --set batch=9 --set hidden=9");
    compare("odd extents", "models/char_rnn.lua --config tiny --set batch=31 --set hidden=41");
    compare("several chunks of K", "models/char_rnn.lua --config tiny --set batch=12 --set hidden=420");
    compare("fp64", "models/char_rnn.lua --config tiny --set batch=20 --set hidden=33 --precision fp64");
    return finish();
}
