/* test_reference.c: generated code against values recorded from PyTorch (tests/reference/record.py says what a file
 * holds): logits and first gradients to 1e-4 of each tensor's norm in fp32, and 20 training steps. */
#include "harness.h"
#include "base/words.h"
#include "interface/lathe_model.h"
#include "step/optim.h"

#include <glob.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ parameters, copy by copy */

/* "h.%d.attn.weight" and copy 3 of [2, 2]: "h.1.attn.weight" filled from the left, "%d" by "%d". */
static const char *export_name(const Lathe_param *p, int64_t copy)
{
    int64_t number[LATHE_MAXRANK];
    for (int k = p->loops - 1; k >= 0; k--) {
        number[k] = copy % p->dim[k];
        copy /= p->dim[k];
    }
    Text t = {0};
    int k = 0;
    for (const char *s = p->export_name; *s; s++) {
        if (s[0] == '%' && s[1] == 'd') {
            say(&t, "%lld", (long long)number[k++]);
            s++;
        } else {
            say_bytes(&t, s, 1);
        }
    }
    return t.at;
}

static int64_t copies_of(const Lathe_param *p)
{
    int64_t n = 1;
    for (int k = 0; k < p->loops; k++) n *= p->dim[k];
    return n;
}

static void load_weights_from(Live *l, const Recording *r)
{
    for (int k = 0; k < l->model->params; k++) {
        const Lathe_param *p = &l->model->param[k];
        int64_t copies = copies_of(p), each = param_elements(p) / copies;
        for (int64_t copy = 0; copy < copies; copy++) {
            Recorded w = recorded(r, format("weight.%s", export_name(p, copy)));
            must(w.n == each);
            for (int64_t i = 0; i < each; i++)
                set_element(l->model->real, l->params, flat_place(p, copy * each + i), w.at[i]);
        }
    }
}

/* ------------------------------------------------------------------ comparisons */

static double worst;

static double number(const Recording *r, const char *key) { return atof(said(r, key)); }

static void compare(const char *file, const char *what, const double *got, const double *expected, int64_t n,
                    double bound)
{
    double norm = norm_of(expected, n), error = norm_of_difference(got, expected, n) / fmax(norm, 1e-30);
    expect(error <= bound, "%s: %s is off by %.2g of its norm %.3g", file, what, error, norm);
    worst = fmax(worst, error);
}

static void compare_gradients(const char *file, const Live *l, const Recording *r, double bound)
{
    for (int k = 0; k < l->model->params; k++) {
        const Lathe_param *p = &l->model->param[k];
        double *grads = read_param(l, l->grads, p);
        int64_t copies = copies_of(p), each = param_elements(p) / copies;
        for (int64_t copy = 0; copy < copies; copy++) {
            const char *name = format("grad.%s", export_name(p, copy));
            Recorded g = recorded(r, name);
            must(g.n == each);
            compare(file, name, grads + copy * each, g.at, each, bound);
        }
    }
}

/* Inputs of batch `batch`, [20][B]… each; the seed that the recording drew by, and as step the batch's number. */
static void feed_batch(Live *l, int entry, const Recording *r, int64_t batch)
{
    const Lathe_entry *e = &l->model->entry[entry];
    for (int k = 0; k < e->inputs; k++) {
        const Lathe_tensor *t = &e->input[k];
        char *at = l->room[entry].in + t->offset;
        if (t->role == LATHE_SEED) set_element(t->dtype, at, 0, number(r, "seed"));
        else if (t->role == LATHE_STEP) set_element(t->dtype, at, 0, (double)batch);
        else if (t->role == LATHE_FIRST_ROW) set_element(t->dtype, at, 0, 0); /* one rank has all rows */
        else {
            Recorded ids = recorded(r, t->name);
            int64_t n = tensor_elements(t);
            must(ids.n % n == 0 && batch < ids.n / n);
            for (int64_t i = 0; i < n; i++) set_element(t->dtype, at, i, ids.at[batch * n + i]);
        }
    }
}

static void check_first_step(const char *file, Live *l, const Recording *r, double bound)
{
    int grad = entry_index(l, "grad");
    feed_batch(l, grad, r, 0);
    call_entry(l, grad);
    Recorded loss = recorded(r, "loss");
    double got = loss_of(l, grad);
    if (has_recorded(r, "logits")) {
        Recorded logits = recorded(r, "logits");
        compare(file, "logits", read_output(l, grad, "logits"), logits.at, logits.n, bound);
    }
    compare(file, "loss", &got, loss.at, 1, bound);
    compare_gradients(file, l, r, bound);
}

/* ------------------------------------------------------------------ training by the runtime's optimizer */

static Lathe_recipe recipe_of(const Recording *r)
{
    must(same(said(r, "optimizer"), "adamw"));
    return (Lathe_recipe){
        .optimizer = LATHE_ADAMW,
        .lr = number(r, "lr"),
        .final_lr = number(r, "final_lr"),
        .beta1 = number(r, "beta1"),
        .beta2 = number(r, "beta2"),
        .eps = number(r, "eps"),
        .decay = number(r, "decay"),
        .clip = number(r, "clip"),
        .warmup = (int64_t)number(r, "warmup"),
        .steps = (int64_t)number(r, "steps"),
        .schedule = same(said(r, "schedule"), "cosine") ? LATHE_COSINE : LATHE_CONSTANT_RATE,
    };
}

static void check_trajectory(const char *file, Live *l, const Recording *r, double bound)
{
    int train = entry_index(l, "train");
    Lathe_recipe recipe = recipe_of(r);
    Recorded loss = recorded(r, "loss"), norm = recorded(r, "norm"), rate = recorded(r, "rate"),
             last = recorded(r, "last");
    Optimizer o;
    void *moments = aligned_alloc(64, (size_t)round_up((int64_t)optimizer_bytes(l->model, &recipe), 64));
    optimizer_init(&o, l->model, &recipe, moments);
    for (int64_t step = 0; step < loss.n; step++) {
        feed_batch(l, train, r, step);
        call_entry(l, train);
        double got[] = {loss_of(l, train), gradient_norm(&o, l->grads), rate_at(&recipe, step)};
        compare(file, format("loss of step %lld", (long long)step), &got[0], &loss.at[step], 1, bound);
        compare(file, format("gradient norm of step %lld", (long long)step), &got[1], &norm.at[step], 1, 10 * bound);
        compare(file, format("learning rate of step %lld", (long long)step), &got[2], &rate.at[step], 1, 1e-12);
        Pace pace = pace_at(&recipe, step, got[1]);
        optimizer_step(&o, l->params, l->grads, step, &pace);
    }
    feed_batch(l, train, r, 0);
    call_entry(l, train);
    double got = loss_of(l, train);
    compare(file, "loss after the last step", &got, last.at, 1, bound);
    optimizer_free(&o);
    free(moments);
}

static void check_model(const char *path, const char *precision, double bound)
{
    Recording r = open_recording(path);
    const char *file = strrchr(path, '/') + 1;
    Text arguments = {0};
    say(&arguments, "%s --precision %s", said(&r, "model"), precision);
    char *set = copy_string(said(&r, "set")), *rest = NULL;
    for (char *word = strtok_r(set, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
        say(&arguments, " --set %s", word);
    Live *l = build_model(arguments.at);
    worst = 0;
    load_weights_from(l, &r);
    check_first_step(file, l, &r, bound);
    check_trajectory(file, l, &r, bound);
    printf("%-32s %s  worst difference %.1e of %.0e\n", file, precision, worst, bound);
    unload(l);
}

static void check_file(void *path)
{
    const char *less = gcc_level;
    gcc_level = NULL; /* as for users */
    check_model(path, "fp32", 1e-4);
    gcc_level = less;
    check_model(path, "fp64", 1e-6);
}

/* Of the files whose names contain the word given, if one is. */
int main(int argc, char **argv)
{
    glob_t found;
    must(glob("tests/reference/*.safetensors", 0, NULL, &found) == 0);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        Recording r = open_recording(found.gl_pathv[i]);
        if (!said(&r, "model") || (argc > 1 && !strstr(found.gl_pathv[i], argv[1]))) continue;
        expect(run_apart(check_file, found.gl_pathv[i]), "%s", found.gl_pathv[i]);
    }
    return finish();
}
