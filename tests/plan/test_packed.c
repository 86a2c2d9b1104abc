/* test_packed.c: matrices packed before a loop change no bit of what the loop computes, nor of any gradient; of few
 * rows, which are summed up in another order where nothing is packed, no more than that. */
#include "harness.h"

#include <math.h>
#include <string.h>

static double gradient(const Live *l, int64_t i)
{
    return l->model->real == LATHE_F64 ? ((const double *)l->grads)[i] : (double)((const float *)l->grads)[i];
}

/* ‖x - y‖ / ‖y‖ of the gradients */
static double away(const Live *x, const Live *y)
{
    double apart = 0, norm = 0;
    for (int64_t i = 0; i < x->model->flat_elements; i++) {
        double a = gradient(x, i), b = gradient(y, i);
        apart += (a - b) * (a - b);
        norm += b * b;
    }
    return sqrt(apart / norm);
}

/* most: what gradients may be away by, of their norm; 0: not a bit. */
static void compare(const char *what, const char *arguments, double most)
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
    if (most == 0) {
        expect(loss_of(packed, entry) == loss_of(plain, entry), "%s: another loss", what);
        expect(!memcmp(packed->grads, plain->grads, (size_t)bytes), "%s: other gradients", what);
    } else {
        double loss = loss_of(plain, entry), apart = away(packed, plain);
        expect(fabs(loss_of(packed, entry) - loss) <= most * fabs(loss), "%s: another loss", what);
        expect(apart <= most, "%s: other gradients, by %g", what, apart);
    }
    unload(packed);
    unload(plain);
}

int main(void)
{
    compare("9 rows, one tile", "models/char_rnn.lua --config tiny --set batch=9 --set hidden=9", 0);
    compare("odd extents", "models/char_rnn.lua --config tiny --set batch=31 --set hidden=41", 0);
    compare("several chunks of K", "models/char_rnn.lua --config tiny --set batch=12 --set hidden=420", 0);
    compare("fp64", "models/char_rnn.lua --config tiny --set batch=20 --set hidden=33 --precision fp64", 0);
    compare("2 rows", "models/char_rnn.lua --config tiny --set batch=2 --set hidden=21 --precision fp64", 1e-14);
    compare("5 rows", "models/char_rnn.lua --config tiny --set batch=5 --set hidden=130 --precision fp64", 1e-14);
    compare("8 rows", "models/char_rnn.lua --config tiny --set batch=8 --set hidden=40", 2e-6);
    return finish();
}
