/* test_panels.c: kernels that run panel by panel change no bit of a loss or a gradient, whatever the extents, nor does
 * the height of panels. */
#include "harness.h"
#include "base/words.h"
#include "interface/lathe_model.h"
#include "lathe_rt.h"
#include "math/engine.h"

#include <string.h>

static int64_t flat_bytes(const Live *l) { return l->model->flat_elements * (l->model->real == LATHE_F64 ? 8 : 4); }

static void same_results(const char *what, Live *panels, const Live *plain, int entry, int threads)
{
    rt_init_gemm(threads);
    memset(panels->grads, 0, (size_t)flat_bytes(panels));
    call_entry(panels, entry);
    expect(loss_of(panels, entry) == loss_of(plain, entry), "%s, %d threads: another loss", what, threads);
    expect(!memcmp(panels->grads, plain->grads, (size_t)flat_bytes(plain)), "%s, %d threads: other gradients", what,
           threads);
}

static void compare(const char *what, const char *arguments)
{
    Rng r = rng_of(7);
    Live *panels = build_model(arguments), *plain = build_model(format("%s --no-panels", arguments));
    int entry = entry_index(panels, "grad"), train = entry_index(panels, "train");
    expect(panels->model->entry[train].kernels < plain->model->entry[train].kernels, "%s: nothing runs in panels",
           what);
    fill_params(panels, &r);
    fill_inputs(panels, entry, &r);
    memcpy(plain->params, panels->params, (size_t)flat_bytes(panels));
    memcpy(plain->room[entry].in, panels->room[entry].in, (size_t)panels->model->entry[entry].in_bytes);
    call_entry(plain, entry);
    for (int threads = 1; threads <= 3; threads++) same_results(what, panels, plain, entry, threads);
    unload(panels);
    unload(plain);
}

/* Threads are not idle where there are steps of samples for them, and no panel is higher than the cache allows. */
static void check_heights(void)
{
    for (int threads = 1; threads <= 16; threads *= 2)
        for (int n = 1; n <= 130; n++)
            for (int unit = 1; unit <= 4; unit++) {
                rt_init_gemm(threads);
                int most = 3 * unit, height = panel_samples(n, unit, most), steps = (n + unit - 1) / unit;
                int panels = (n + height - 1) / height, wanted = steps < threads ? steps : (threads + 1) / 2;
                expect(height <= most && height % unit == 0, "%d samples, steps of %d: %d at once", n, unit, height);
                expect(panels >= wanted, "%d samples, steps of %d, %d threads: %d panels", n, unit, threads, panels);
            }
}

int main(void)
{
    check_heights();
    compare("blocks of rows", "models/gpt.lua --config char --set layers=2 --set seq=40 --set batch=13");
    compare("odd widths", "models/gpt.lua --config char --set layers=1 --set width=57 --set heads=3 --set seq=37 "
                          "--set batch=11 --set bias=true");
    compare("llama", "models/llama.lua --config char --set layers=2 --set width=48 --set heads=6 --set hidden=88");
    compare("a recurrence", "models/char_rnn.lua --config tiny --set batch=37 --set hidden=41");
    compare("samples of convolutions", "models/convnet.lua --set batch=24");
    compare("samples, blocks of 25", "models/convnet.lua --set batch=200 --set width=8 --set blocks=1 --set side=9");
    compare("fp64", "models/char_rnn.lua --config tiny --set batch=20 --set hidden=33 --precision fp64");
    return finish();
}
