/* selftest.c: `trainer selftest`, and the test at the first start on a device.  It runs the training entry on random
 * data, with the model's own shapes: twice, which must give the same bits; with each way of computing, compared with
 * its second way; and it compares the gradient with differences of the loss.  A way that differs is replaced by its
 * second way, which the cache folder remembers. */
#include "base/words.h"
#include "interface/lathe_model.h"
#include "model/block.h"
#include "model/init.h"
#include "model/tables.h"
#include "step/entry.h"
#include "step/statistics.h"
#include "trainer/memory.h"
#include "trainer/selftest.h"
#include "trainer/shards.h"
#include "trainer/teacher.h"
#include "trainer/trainer.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

typedef struct Test {
    const Trainer *t;
    const Lathe_entry *entry;
    Memory *m;
    char *first;     /* outputs and gradients of a run, for comparison with others */
    char *untouched; /* parameters */
    int tested, wrong;
    bool says; /* prints every result, not only failures */
} Test;

/* ------------------------------------------------------------------ runs */

static int64_t result_bytes(const Test *x) { return x->entry->out_bytes + flat_bytes(x->t->model); }

/* Runs the entry on random data.  States and arena are cleared first, so that values missing from one run are not taken
 * from an earlier one.  Outputs and gradients are copied to the host's block. */
static void run_once(const Test *x)
{
    const Lathe_call call = call_of(x->m, x->entry);
    clear_there(x->m->call, x->m->call_bytes);
    random_inputs(x->t, x->entry, x->m->call, 0);
    if (x->m->state) clear_there(x->m->state, x->m->state_bytes);
    clear_there(x->m->grads, flat_bytes(x->t->model));
    run_entry(x->entry, &call);
    device_down(x->m->grads, flat_bytes(x->t->model));
}

static void keep_results(const Test *x)
{
    memcpy(x->first, call_of(x->m, x->entry).out, (size_t)x->entry->out_bytes);
    memcpy(x->first + x->entry->out_bytes, x->m->grads, (size_t)flat_bytes(x->t->model));
}

static bool same_bits(const Test *x)
{
    return memcmp(x->first, call_of(x->m, x->entry).out, (size_t)x->entry->out_bytes) == 0 &&
           memcmp(x->first + x->entry->out_bytes, x->m->grads, (size_t)flat_bytes(x->t->model)) == 0;
}

static double number_at(const Trainer *t, const void *at, int64_t i)
{
    return t->model->real == LATHE_F64 ? ((const double *)at)[i] : (double)((const float *)at)[i];
}

static double norm_of(const Test *x, const void *grads, const void *other)
{
    double sum = 0;
    for (int64_t i = 0; i < lathe_trained_elements(x->t->model); i++) {
        const double d = number_at(x->t, grads, i) - (other ? number_at(x->t, other, i) : 0);
        sum += d * d;
    }
    return sqrt(sum);
}

static double loss_of(const Test *x, const void *out) { return output_scalar(x->entry, out, "loss"); }

/* The relative difference between a run and the kept one: the larger of that of the loss and that of the gradients, by
 * norm; infinite if one is NaN. */
static double difference(const Test *x)
{
    const void *kept = x->first + x->entry->out_bytes;
    const double a = loss_of(x, call_of(x->m, x->entry).out), b = loss_of(x, x->first);
    const double norm = norm_of(x, kept, NULL), off = norm_of(x, x->m->grads, kept) / (norm > 0 ? norm : 1);
    const double loss = fabs(a - b) / (fabs(b) > 0 ? fabs(b) : 1), most = loss > off ? loss : off;
    return isfinite(off) && isfinite(loss) ? most : INFINITY;
}

/* ------------------------------------------------------------------ comparisons */

/* Sums of 16-bit values differ more between kernels. */
static double allowed(const Trainer *t)
{
    const bool half = strcmp(t->model->precision, "bf16") == 0 || strcmp(t->model->precision, "fp16") == 0;
    return half ? 0.05 : strcmp(t->model->precision, "tf32") == 0 ? 0.02 : 1e-3;
}

static void tell(Test *x, bool right, const char *what, const char *found)
{
    x->tested++;
    x->wrong += !right;
    if (x->says) show(stdout, "%-5s %s%s%s\n", right ? "ok" : "WRONG", what, *found ? ": " : "", found);
    else if (!right) note("%s: %s", what, found);
}

static void test_repeats(Test *x)
{
    run_once(x);
    keep_results(x);
    run_once(x);
    tell(x, same_bits(x), "the training entry gives the same bits again", same_bits(x) ? "" : "it does not");
    const bool finite = isfinite(loss_of(x, x->first)) && isfinite(norm_of(x, x->first + x->entry->out_bytes, NULL));
    tell(x, finite, "its loss and gradients are numbers", finite ? "" : "they are not");
}

/* On this processor results must not depend on the number of threads. */
static void test_threads(Test *x)
{
    const int threads = omp_get_max_threads();
    if (threads == 1) return;
    Trainer one = *x->t;
    one.threads = 1;
    use_threads(&one);
    run_once(x);
    const bool same = same_bits(x);
    one.threads = threads;
    use_threads(&one);
    tell(x, same, text_of("%d threads and one give the same bits", threads), same ? "" : "they do not");
}

/* Compares each product of an entry with plain loops. */
static void test_products(Test *x)
{
    Product_report r = {0};
    watch_products(x->entry, &r);
    run_once(x);
    watch_products(NULL, NULL);
    for (int i = 0; i < r.n; i++) {
        const Lathe_kernel *k = r.off[i].kernel;
        tell(x, false, text_of("%s: %s %s", k->name, k->where, k->path),
             text_of("an element of a product is %.9g, and %.9g by a plain loop", without_sign(r.off[i].is),
                     without_sign(r.off[i].plain)));
    }
    x->tested += r.products - r.n;
    if (x->says && !r.n) show(stdout, "ok    %d products against plain loops\n", r.products);
}

/* The reference uses second ways alone; then one way at a time is switched back to its first. */
static void test_ways(Test *x)
{
    const int n = device_ways();
    for (int i = 0; i < n; i++) take_second_way(device_way(i, NULL), true);
    if (!n) return;
    run_once(x);
    keep_results(x);
    for (int i = 0; i < n; i++) {
        bool exact;
        const char *name = device_way(i, &exact);
        take_second_way(name, false);
        run_once(x);
        const double off = same_bits(x) ? 0 : difference(x);
        const bool right = exact ? off == 0 : off <= allowed(x->t);
        tell(x, right, name,
             right ? ""
                   : text_of("it differs from its second way by %.2g%s, so the second way is used", off,
                             exact ? ", where bits are to be equal" : ""));
        take_second_way(name, true);
        if (right) continue;
        keep_wrong_way(name);
    }
    for (int i = 0; i < n; i++)
        if (!is_wrong_way(device_way(i, NULL))) take_second_way(device_way(i, NULL), false);
}

/* The loss after a step of the parameters along the gradient. */
static double loss_beside(const Test *x, double step)
{
    const Lathe_model *m = x->t->model;
    const void *grads = x->first + x->entry->out_bytes;
    for (int64_t i = 0; i < lathe_trained_elements(m); i++) {
        const double p = number_at(x->t, x->untouched, i) + step * number_at(x->t, grads, i);
        if (m->real == LATHE_F64) ((double *)x->m->params)[i] = p;
        else ((float *)x->m->params)[i] = (float)p;
    }
    device_up(x->m->params, weight_bytes(m));
    run_once(x);
    return loss_of(x, call_of(x->m, x->entry).out);
}

/* How much the loss changes along the gradient, for each unit of a step.  Exact to the square of the step. */
static double slope_over(const Test *x, double step)
{
    return (loss_beside(x, step) - loss_beside(x, -step)) / (2 * step);
}

/* Compares the change of the loss that the gradient predicts for a small step with the actual change.  Where the loss
 * has its digits, half the step, too, takes out the part that goes with the square (Richardson): an adapter's second
 * factor begins at 0, where the loss bends most. */
static void test_gradient(Test *x)
{
    const Lathe_model *m = x->t->model;
    const bool digits = allowed(x->t) < 0.01;
    const double bound = digits ? 0.05 : 0.25;
    if (lathe_weights(m) != m->real || strcmp(m->precision, "fp16") == 0) return;
    if (m->lora.decomposed) return; /* their norms are constants of the gradient, but not of the loss */
    run_once(x);
    keep_results(x);
    memcpy(x->untouched, x->m->params, (size_t)weight_bytes(m));
    const double norm = norm_of(x, x->first + x->entry->out_bytes, NULL), loss = loss_of(x, x->first);
    if (!(norm > 0) || !isfinite(norm) || !isfinite(loss)) return;
    const double step = 5e-3 * (fabs(loss) > 1e-3 ? fabs(loss) : 1e-3) / (norm * norm);
    double slope = slope_over(x, step) / (norm * norm);
    if (digits) slope = (4 * slope_over(x, step / 2) / (norm * norm) - slope) / 3;
    memcpy(x->m->params, x->untouched, (size_t)weight_bytes(m));
    device_up(x->m->params, weight_bytes(m));
    const bool right = fabs(slope - 1) <= bound;
    tell(x, right, "the gradient agrees with differences of the loss",
         text_of("%.4f of it%s", slope, right ? "" : text_of(", where 1 is expected to %g", bound)));
}

/* ------------------------------------------------------------------ both */

static Test test_of(const Trainer *t, const Lathe_entry *e, Memory *m)
{
    Test x = {.t = t, .entry = e, .m = m};
    x.first = must_alloc((size_t)result_bytes(&x));
    return x;
}

void test_first_start(const Trainer *t, const Lathe_entry *train, Memory *m)
{
    if (!on_device() || !needs_selftest() || shards_parameters(t)) return; /* it takes all gradients of one rank */
    Test x = test_of(t, train, m);
    test_repeats(&x);
    test_ways(&x);
    keep_selftest();
    clear_there(m->grads, flat_bytes(t->model));
    if (m->state) clear_there(m->state, m->state_bytes);
    free(x.first);
}

int selftest_command(Trainer *t)
{
    static const Entry entries[] = {ENTRY_train, NO_ENTRY};
    const Lathe_entry *e = need_entry(t->model, ENTRY_train);
    Memory m;
    check_memory(t);
    use_threads(t);
    take_memory(&m, t, true, true, entries);
    init_weights(t->model, (uint64_t)t->seed, &m);
    fill_teacher(t, &m, NULL);
    weights_up(t->model, &m);
    Test x = test_of(t, e, &m);
    x.untouched = must_alloc((size_t)weight_bytes(t->model));
    x.says = !t->json;
    int products = 0, wrong = 0;
    if (on_device()) products = tested_products(&wrong);
    if (on_device() && x.says)
        show(stdout, "%-5s %d products: algorithms against the plain kernel\n", wrong ? "WRONG" : "ok", products);
    test_repeats(&x);
    if (on_device()) test_ways(&x);
    else test_threads(&x), test_products(&x);
    test_gradient(&x);
    if (on_device()) keep_selftest();
    x.tested += products, x.wrong += wrong;
    if (t->json) print_json(json_pack("{s:i, s:i}", "tested", x.tested, "wrong", x.wrong));
    else
        show(stdout, "%d tested, %d wrong%s\n", x.tested, x.wrong,
             !x.wrong ? ""
             : on_device()
                 ? ": second ways are used where there are any, now and at later starts"
                 : ": do not train here; with LATHE_GEMM=openblas in the environment, OpenBLAS computes the products");
    free(x.first);
    free(x.untouched);
    return x.wrong ? EXIT_ERROR : 0;
}
