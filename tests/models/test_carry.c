/* test_carry.c: states carried from batch to batch (nn.scan, nn.lstm with carry = true): two windows are one of twice
 * the length; gradients are those of a state held fixed; rows begin when told; micro-batches and entries have their
 * own. */
#include "harness.h"

#include <math.h>
#include <string.h>

enum { T = 5, B = 3, V = 7, WINDOWS = 2 };
#define MODEL "tests/models/carried.lua --precision fp64"

/* Ids of rows of WINDOWS · T + 1 tokens, the same whatever is built. */
static int32_t text_at(int row, int place)
{
    return (int32_t)((row * 31 + place * place * 7 + place * 3 + row * place) % V);
}

/* Window w of each row; the inputs are [rows][seq], or [micro][batch][seq]. */
static void fill_window(Live *l, int entry, int rows, int seq, int w)
{
    int32_t *tokens = input_at(l, entry, "tokens"), *targets = input_at(l, entry, "targets");
    for (int r = 0; r < rows; r++)
        for (int t = 0; t < seq; t++) {
            tokens[r * seq + t] = text_at(r, w * seq + t);
            targets[r * seq + t] = text_at(r, w * seq + t + 1);
        }
}

static void fill_begins(Live *l, int entry, int rows, int value)
{
    int32_t *begins = input_at(l, entry, "begins");
    for (int r = 0; r < rows; r++) begins[r] = value;
}

static double run_window(Live *l, int entry, int rows, int w)
{
    fill_window(l, entry, rows, T, w);
    fill_begins(l, entry, rows, w == 0);
    call_entry(l, entry);
    return loss_of(l, entry);
}

static char *state_now(const Live *l) { return copy_of(l->state, (size_t)l->model->state_bytes); }
static void put_state(Live *l, const char *state) { memcpy(l->state, state, (size_t)l->model->state_bytes); }

/* Over all states of a role. */
static double state_distance(const Live *a, const Live *b, Lathe_role role)
{
    double most = 0;
    for (int k = 0; k < a->model->states; k++) {
        const Lathe_tensor *x = &a->model->state[k], *y = &b->model->state[k];
        expect(x->role == y->role && tensor_elements(x) == tensor_elements(y), "states of both builds: %s", x->name);
        for (int64_t i = 0; x->role == role && i < tensor_elements(x); i++)
            most = fmax(most, fabs(get_element(x->dtype, a->state + x->offset, i) -
                                   get_element(y->dtype, b->state + y->offset, i)));
    }
    return most;
}

static Live *built(const char *more)
{
    Rng r = rng_of(11);
    Live *l = build_model(format(MODEL " %s", more));
    fill_params(l, &r);
    memset(l->state, 0xff, (size_t)l->model->state_bytes); /* NaN: rows that begin must not see it */
    return l;
}

/* ------------------------------------------------------------------ two windows, one of twice the length */

static void compare_double(void)
{
    Live *l = built(""), *twice = built("--set carry=false --set seq=10");
    int train = entry_index(l, "train"), eval = entry_index(l, "eval"), whole = entry_index(twice, "train");
    expect(input_of(l, train, "begins")->rank == 1, "train is told which rows begin");
    expect(find_tensor(twice->model->entry[whole].input, twice->model->entry[whole].inputs, "begins") == NULL,
           "nothing is carried without carry");
    fill_window(twice, whole, B, 2 * T, 0);
    call_entry(twice, whole);
    double want = loss_of(twice, whole), a = run_window(l, train, B, 0);
    double evaluated = run_window(l, eval, B, 0); /* has states of its own, and touches no other */
    double b = run_window(l, train, B, 1);
    evaluated += run_window(l, eval, B, 1);
    expect(fabs((a + b) / 2 - want) < 1e-12, "two windows: loss %.15g, at once %.15g", (a + b) / 2, want);
    expect(fabs(evaluated / 2 - want) < 1e-12, "evaluation: loss %.15g, at once %.15g", evaluated / 2, want);
    double fresh = run_window(l, train, B, 0), second;
    fill_window(l, train, B, T, 1);
    fill_begins(l, train, B, 1);
    call_entry(l, train);
    second = loss_of(l, train);
    expect(fresh == a && fabs(second - b) > 1e-4, "rows that begin do not go on");
    unload(l);
    unload(twice);
}

/* ------------------------------------------------------------------ gradients */

static double *gradient_now(const Live *l)
{
    double *g = NEW_ARRAY(double, l->model->flat_elements);
    memcpy(g, l->grads, sizeof *g * (size_t)l->model->flat_elements);
    return g;
}

/* The loss of the window that lies in the inputs, parameters moved by `far` along d, the state as given. */
static double loss_along(Live *l, int train, const char *state, const double *d, double far)
{
    double *p = (double *)(void *)l->params;
    for (int64_t i = 0; i < l->model->flat_elements; i++) p[i] += far * d[i];
    put_state(l, state);
    call_entry(l, train);
    for (int64_t i = 0; i < l->model->flat_elements; i++) p[i] -= far * d[i];
    return loss_of(l, train);
}

static void check_direction(Live *l, int train, const char *state, const double *g, const char *what, Rng *r)
{
    const double far = 1e-5;
    double *d = NEW_ARRAY(double, l->model->flat_elements), along = 0, size = 0;
    for (int i = 0; i < l->model->params; i++)
        for (int64_t k = 0; k < param_elements(&l->model->param[i]); k++)
            d[flat_place(&l->model->param[i], k)] = normal(r);
    for (int64_t i = 0; i < l->model->flat_elements; i++) along += g[i] * d[i], size += g[i] * g[i];
    double slope = (loss_along(l, train, state, d, far) - loss_along(l, train, state, d, -far)) / (2 * far);
    expect(fabs(slope - along) < 1e-7 * sqrt(size), "%s: slope %.10g, gradient says %.10g", what, slope, along);
}

/* Row 1 begins, the others go on: the first state's parameters have a gradient by that row alone. */
static void check_gradient(const char *more, int rows)
{
    Rng r = rng_of(4);
    Live *l = built(more);
    int train = entry_index(l, "train");
    run_window(l, train, rows, 0);
    char *state = state_now(l);
    fill_window(l, train, rows, T, 1);
    for (int begins = -1; begins <= 1; begins++) { /* no row, row 1, all */
        fill_begins(l, train, rows, begins == 1);
        if (begins == 0) ((int32_t *)input_at(l, train, "begins"))[1] = 1;
        put_state(l, state);
        call_entry(l, train);
        double *g = gradient_now(l), first = 0;
        for (int k = 0; k < 4; k++) check_direction(l, train, state, g, format("%s begins %d", more, begins), &r);
        for (int i = 0; i < l->model->params; i++)
            for (int64_t k = 0; strstr(l->model->param[i].name, "first") && k < param_elements(&l->model->param[i]);
                 k++)
                first += fabs(g[flat_place(&l->model->param[i], k)]);
        expect((first > 0) == (begins >= 0), "%s: no gradient flows into what is carried (%g)", more, first);
    }
    unload(l);
}

/* The cut shows: two windows' gradients together are not that of one of twice the length. */
static void check_cut(void)
{
    Live *l = built(""), *twice = built("--set carry=false --set seq=10");
    int train = entry_index(l, "train"), whole = entry_index(twice, "train");
    run_window(l, train, B, 0);
    double *a = gradient_now(l);
    run_window(l, train, B, 1);
    double *b = gradient_now(l);
    fill_window(twice, whole, B, 2 * T, 0);
    call_entry(twice, whole);
    double *g = gradient_now(twice), off = 0, size = 0;
    for (int64_t i = 0; i < l->model->flat_elements; i++) {
        off += pow(g[i] - (a[i] + b[i]) / 2, 2);
        size += g[i] * g[i];
    }
    expect(off > 1e-6 * size && off < size, "the gradient cut between two windows: off by %.2g", sqrt(off / size));
    unload(l);
    unload(twice);
}

/* ------------------------------------------------------------------ rows */

/* The row of a batch that an element of a state belongs to: [B][…], or [layers][B][…]. */
static int64_t row_of(const Lathe_tensor *s, int64_t element)
{
    int64_t inner = 1;
    for (int k = s->dim[0] == B ? 1 : 2; k < s->rank; k++) inner *= s->dim[k];
    return element / inner % B;
}

/* Row 1 begins in the second window: its state is that of a run whose rows all begin there, those of others are not. */
static void check_rows(void)
{
    Live *some = built(""), *all = built("");
    int train = entry_index(some, "train");
    run_window(some, train, B, 0);
    fill_window(some, train, B, T, 1);
    fill_begins(some, train, B, 0);
    ((int32_t *)input_at(some, train, "begins"))[1] = 1;
    call_entry(some, train);
    fill_window(all, train, B, T, 1);
    fill_begins(all, train, B, 1);
    call_entry(all, train);
    for (int k = 0; k < some->model->states; k++) {
        const Lathe_tensor *s = &some->model->state[k];
        for (int64_t i = 0; s->role == LATHE_CARRIED && i < tensor_elements(s); i++) {
            double x = get_element(s->dtype, some->state + s->offset, i);
            bool alike = x == get_element(s->dtype, all->state + s->offset, i);
            expect(alike == (row_of(s, i) == 1), "%s, element %lld", s->name, (long long)i);
        }
    }
    unload(some);
    unload(all);
}

/* Two micro-batches of three rows are one batch of six. */
static void check_micro(void)
{
    Live *one = built("--set batch=6"), *two = built("--set accumulate=2");
    int a = entry_index(one, "train"), b = entry_index(two, "train");
    for (int w = 0; w < WINDOWS; w++) {
        double x = run_window(one, a, 6, w), y = run_window(two, b, 6, w), off = 0, size = 0;
        const double *g = gradient_now(one), *h = gradient_now(two);
        for (int64_t i = 0; i < one->model->flat_elements; i++) off += pow(g[i] - h[i], 2), size += g[i] * g[i];
        expect(fabs(x - y) < 1e-13, "window %d: loss %.15g and %.15g", w, x, y);
        expect(off < 1e-24 * size, "window %d: gradients differ by %.2g", w, sqrt(off / size));
    }
    unload(one);
    unload(two);
}

/* Whatever is left out of compiling. */
static void check_builds(void)
{
    static const char *const ways[] = {"--no-reuse", "--no-fuse", "--no-panels", "--no-split"};
    Live *l = built("--set accumulate=2");
    int train = entry_index(l, "train");
    for (int w = 0; w < WINDOWS; w++) run_window(l, train, 2 * B, w);
    for (int k = 0; k < COUNT_OF(ways); k++) {
        Live *other = built(format("--set accumulate=2 %s", ways[k]));
        for (int w = 0; w < WINDOWS; w++) run_window(other, train, 2 * B, w);
        expect(state_distance(l, other, LATHE_CARRIED) < 1e-13, "%s: other states", ways[k]);
        unload(other);
    }
    unload(l);
}

int main(void)
{
    compare_double();
    check_gradient("", B);
    check_gradient("--set accumulate=2", 2 * B);
    check_cut();
    check_rows();
    check_micro();
    check_builds();
    return finish();
}
