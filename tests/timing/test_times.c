/* test_times.c: the work of a step is that of its sizes, counted here by hand; its kernels' times add up; turns and an
 * optimizer's direction are in it; the bytes that no cache holds are those of a step larger than the cache. */
#include "harness.h"
#include "timing/timing.h"

#include <math.h>

static Rates rates_with_cache(double bytes)
{
    Rates r = usual_rates();
    r.threads = 2;
    r.cache = bytes;
    return r;
}

static const Program *step_of(const Module *m, int which)
{
    for (int i = 0; i < m->programs.n; i++)
        if (entry_of(m->programs.at[i]->graph)->step && which-- == 0) return m->programs.at[i];
    return NULL;
}

static Step_time time_of(const char *arguments, double cache)
{
    Rates r = rates_with_cache(cache);
    const Module *m = compile_model(arguments);
    return step_time(m, &r, step_of(m, 0));
}

static double work_in(const Step_time *t, Cost c)
{
    double sum = 0;
    for (int i = 0; i < t->parts.n; i++) sum += t->parts.at[i].calls * t->parts.at[i].work.amount[c];
    return sum;
}

static void adds_up(const char *what, const Step_time *t)
{
    double sum = 0;
    for (int i = 0; i < t->parts.n; i++) {
        const Time_part *p = &t->parts.at[i];
        sum += p->seconds;
        expect(p->seconds > 0 && p->calls >= 1, "%s: %s: %g s in %g calls", what, p->kernel ? p->kernel->name : p->name,
               p->seconds, p->calls);
    }
    expect(fabs(sum - t->seconds) < 1e-9 * sum, "%s: parts take %g s, the step %g", what, sum, t->seconds);
}

static void equal(const char *what, double found, double wanted)
{
    expect(fabs(found - wanted) < 1e-9 * fabs(wanted), "%s: %.0f, not %.0f", what, found, wanted);
}

#define CHAR "models/gpt.lua --config char"
enum { LARGE = 1 << 30, LAYERS = 4, POSITIONS = 768, WIDTH = 128, CLASSES = 65, IN_TILES = 96 };

static void is_of_sizes(void)
{
    Step_time one = time_of(CHAR, LARGE), two = time_of(CHAR " --set batch=24", LARGE),
              four = time_of(CHAR " --set accumulate=4", LARGE);
    /* a layer's products: q, k and v, what attention ends in, and two of the feed-forward part; each with its gradients
     * towards both sides; then the head's three, of which two have 65 columns in tiles of 32 */
    double layer = (double)WIDTH * (3 * WIDTH + WIDTH + 2 * 4 * WIDTH);
    double wanted = 3.0 * POSITIONS * LAYERS * layer + (double)POSITIONS * WIDTH * (IN_TILES + CLASSES + CLASSES);
    equal("multiply-adds in tiles", work_in(&one, TILES), wanted);
    equal("of twice the batch, but for the head's tiles", work_in(&two, TILES), 2 * wanted);
    equal("of four micro-batches", work_in(&four, TILES), 4 * wanted);
    equal("scores of twice the batch", work_in(&two, SCORES), 2 * work_in(&one, SCORES));
    adds_up("char", &one);
    adds_up("four micro-batches", &four);
}

/* All that a step touches lies in a large cache; a cache of a page holds nothing from one kernel to the next. */
static void is_of_caches(void)
{
    enum { PAGE = 4096 };
    Step_time near = time_of(CHAR, LARGE), far = time_of(CHAR, PAGE);
    expect(work_in(&near, FAR_READ) == 0 && work_in(&near, FAR_WRITTEN) == 0, "%g bytes are beyond a large cache",
           work_in(&near, FAR_READ));
    const Module *m = compile_model(CHAR);
    expect(work_in(&far, FAR_READ) > (double)(2 * m->plan.parameters), "%g bytes are beyond no cache",
           work_in(&far, FAR_READ));
    expect(far.seconds > near.seconds, "a step without a cache takes %g s, with one %g", far.seconds, near.seconds);
}

static void has_turns(void)
{
    const Module *m = compile_model("models/gan.lua");
    Rates r = rates_with_cache(LARGE);
    double longest = 0;
    int n = 0;
    for (; step_of(m, n); n++) {
        Step_time t = step_time(m, &r, step_of(m, n));
        adds_up("a turn of the gan", &t);
        longest = fmax(longest, t.seconds);
    }
    expect(n == 2, "the gan has %d turns", n);
    expect(step_ms(m, &r) == 1e3 * longest, "a step takes %g ms, the longest turn %g", step_ms(m, &r), 1e3 * longest);
}

static void counts_directions(void)
{
    Step_time t = time_of(CHAR " --set optimizer=muon", LARGE);
    int n = 0;
    for (int i = 0; i < t.parts.n; i++) {
        const Program *p = t.parts.at[i].program;
        n += p && p->graph->entry == ENTRY_direction;
    }
    expect(n > 10, "Muon's direction has %d kernels", n);
    adds_up("muon", &t);
}

int main(void)
{
    is_of_sizes();
    is_of_caches();
    has_turns();
    counts_directions();
    return finish();
}
