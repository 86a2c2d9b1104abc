/* call.c: calls of an instance: a step, an evaluation, a prediction. */
#include "library/library.h"
#include "interface/given.h"
#include "lathe_rt.h"
#include "math/math.h"
#include "model/tables.h"
#include "step/average.h"
#include "step/carry.h"
#include "step/entry.h"
#include "step/here.h"
#include "step/statistics.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int fail_library(Library *l, int code, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    vsnprintf(l->words, sizeof l->words, fmt, args);
    va_end(args);
    return code;
}

/* ------------------------------------------------------------------ inputs and outputs */

/* As the caller knows an entry. */
static const char *function_word(const Lathe_entry *e)
{
    return strcmp(e->name, "train") == 0 ? "step" : strcmp(e->name, "eval") == 0 ? "evaluate" : e->name;
}

static int64_t tensor_bytes(const Lathe_tensor *t) { return tensor_size(t) * dtype_size(t->dtype); }

const Lathe_entry *entry_of_library(Library *l, Entry entry)
{
    const Lathe_entry *e = find_entry(l->model, entry);
    if (!l->loaded) {
        fail_library(l, LIBRARY_USAGE, "%s: the instance needs weights first: load() takes some", entry_word(entry));
        return NULL;
    }
    if (!e)
        fail_library(l, LIBRARY_USAGE, "%s: the library of %s was built without the entry %s", entry_word(entry),
                     l->model->name, entry_word(entry));
    return e;
}

enum { PLACE_WORDS = 24 * LATHE_MAXRANK };

/* An element as C writes it: [2][0][7]. */
static const char *place_in(const Lathe_tensor *t, int64_t element, char words[PLACE_WORDS])
{
    int64_t below = tensor_size(t);
    int n = 0;
    words[0] = 0;
    for (int k = 0; k < t->rank; k++) {
        below /= t->dim[k];
        n += snprintf(words + n, (size_t)(PLACE_WORDS - n), "[%lld]", (long long)(element / below));
        element %= below;
    }
    return words;
}

/* Kernels rely on it. */
static int check_given(Library *l, const Lathe_entry *e, const Lathe_tensor *t, const int32_t *id)
{
    char place[PLACE_WORDS];
    for (int64_t i = 0; i < tensor_size(t); i++)
        if (id[i] < t->least || id[i] >= t->below)
            return fail_library(l, LIBRARY_DATA, "%s: the input %s: expected numbers %lld to %lld, found %s%s = %d",
                                function_word(e), t->name, (long long)t->least, (long long)t->below - 1, t->name,
                                place_in(t, i, place), (int)id[i]);
    return LIBRARY_FINE;
}

int take_given(Library *l, const Lathe_entry *e, const void *const *given, int32_t seed, int64_t step, bool gradients)
{
    char *in = l->memory.call;
    int k = 0;
    if (!gradients) l->ticket = 0; /* a layer's last inputs are written over */
    if (!given) return fail_library(l, LIBRARY_USAGE, "%s: the inputs are NULL", function_word(e));
    for (const Lathe_tensor *t = e->input; t < e->input + e->inputs; t++) {
        if (!lathe_is_given(t->role)) continue;
        const void *from = given[k++];
        if ((t->role == LATHE_OUTPUT_GRADIENT) != gradients) continue;
        if (!from) return fail_library(l, LIBRARY_USAGE, "%s: the input %s is NULL", function_word(e), t->name);
        const int code = t->below ? check_given(l, e, t, from) : LIBRARY_FINE;
        if (code) return code;
        memcpy(in + t->offset, from, (size_t)tensor_bytes(t));
    }
    set_scalars(e, in, seed, step, 0);
    return LIBRARY_FINE;
}

/* After an entry. */
static int check_ids(Library *l, const Lathe_entry *e)
{
    Bad_id id;
    if (!take_bad_id(&id)) return LIBRARY_FINE;
    return fail_library(l, LIBRARY_DATA, "%s: %s: %s: expected ids 0 to %d, found %d", function_word(e), id.place,
                        id.what, id.below - 1, id.id);
}

/* ------------------------------------------------------------------ a step */

static int take_turn_of(Library *l, Turn *u, Library_step *result)
{
    const Lathe_call call = call_of(&l->memory, u->entry);
    Turn_result r = {.parts = l->model->losses < LATHE_LOSSES ? l->model->losses : LATHE_LOSSES};
    compute_turn(u, &call, &r);
    int code = check_ids(l, u->entry);
    if (code) return code;
    update_turn(u, &l->memory, &call, l->step, l->seed, &r);
    result->loss += r.loss;
    result->grad_norm = sqrt(result->grad_norm * result->grad_norm + r.norm * r.norm);
    result->lr = rate_at(u->recipe, l->step);
    result->skipped |= r.skipped;
    memcpy(result->part, r.part, sizeof r.part);
    if (may_update(&r) || r.skipped) return LIBRARY_FINE;
    return fail_library(
        l, LIBRARY_DIVERGED,
        "step %lld: expected a finite loss and gradient norm, found loss %g and norm %g; the parameters "
        "are as before it.  Look at the inputs, or try a lower learning rate or clipping",
        (long long)l->step + 1, r.loss, r.norm);
}

/* What train itself replaces: kept before a step, and put back if it is not made. */
static void keep_states(Library *l)
{
    copy_statistics(l->model, &l->memory);
    if (l->memory.carried) copy_carried(l->model, l->memory.carried, l->memory.state);
}

static void put_states_back(Library *l)
{
    weights_up(l->model, &l->memory);
    if (l->memory.carried) place_carried(l->model, l->memory.carried, l->memory.state);
}

static int step_open(Library *l, const void *const *given, Library_step *result)
{
    const Lathe_entry *e = entry_of_library(l, ENTRY_train);
    int code = e ? take_given(l, e, given, l->seed, l->step, false) : LIBRARY_USAGE;
    if (code) return code;
    keep_states(l);
    for (int k = 0; !code && k < l->turns.n; k++)
        if (turn_is_due(&l->turns.at[k], l->step)) code = take_turn_of(l, &l->turns.at[k], result);
    l->step += code == LIBRARY_FINE;
    if (code) put_states_back(l);
    return code;
}

int step_library(Library *l, const void *const *given, Library_step *result)
{
    Library_step own;
    if (!result) result = &own;
    *result = (Library_step){0};
    int code = begin_library_call(l);
    return code ? code : end_library_call(l, step_open(l, given, result));
}

/* ------------------------------------------------------------------ evaluation, prediction */

static const Optimizer *mean_of_library(const Library *l)
{
    return is_trained_here(l->model) && l->turns.at[0].optimizer.average ? &l->turns.at[0].optimizer : NULL;
}

void show_mean(Library *l, bool shown)
{
    const Optimizer *o = mean_of_library(l);
    if (o) (shown ? show_averages : show_trained)(o, l->memory.params, l->memory.grads);
}

int run_open(Library *l, const Lathe_entry *e)
{
    const Lathe_call call = call_of(&l->memory, e);
    l->ticket = 0; /* the arena is used */
    run_entry(e, &call);
    return check_ids(l, e);
}

int run_shown(Library *l, const Lathe_entry *e)
{
    show_mean(l, true);
    const int code = run_open(l, e);
    show_mean(l, false);
    return code;
}

static int evaluate_open(Library *l, const void *const *given, double *result)
{
    const Lathe_entry *e = entry_of_library(l, ENTRY_eval);
    int code = e ? take_given(l, e, given, 0, 0, false) : LIBRARY_USAGE;
    if (!code && !result) code = fail_library(l, LIBRARY_USAGE, "evaluate: the result is NULL");
    if (!code) code = run_shown(l, e);
    const char *out = l->memory.call + (e ? align64(e->in_bytes) : 0);
    for (int k = 0, n = 0; !code && k < e->outputs; k++)
        if (e->output[k].rank == 0) result[n++] = read_element(e->output[k].dtype, out + e->output[k].offset, 0);
    return code;
}

int evaluate_library(Library *l, const void *const *given, double *result)
{
    int code = begin_library_call(l);
    return code ? code : end_library_call(l, evaluate_open(l, given, result));
}

static int predict_open(Library *l, const void *const *given, void *const *wanted)
{
    const Lathe_entry *e = entry_of_library(l, ENTRY_predict);
    int code = e ? take_given(l, e, given, 0, 0, false) : LIBRARY_USAGE;
    if (!code && !wanted) code = fail_library(l, LIBRARY_USAGE, "predict: the outputs are NULL");
    if (!code) code = run_shown(l, e);
    const char *out = l->memory.call + (e ? align64(e->in_bytes) : 0);
    for (int k = 0; !code && k < e->outputs; k++)
        if (wanted[k]) memcpy(wanted[k], out + e->output[k].offset, (size_t)tensor_bytes(&e->output[k]));
    return code;
}

int predict_library(Library *l, const void *const *given, void *const *wanted)
{
    int code = begin_library_call(l);
    return code ? code : end_library_call(l, predict_open(l, given, wanted));
}
