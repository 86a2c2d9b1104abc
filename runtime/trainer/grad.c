/* grad.c: `trainer grad`: loss, outputs and gradients for inputs from a file; `trainer init`: initial parameters. */
#include "base/words.h"
#include "interface/lathe_model.h"
#include "model/block.h"
#include "model/init.h"
#include "model/safetensors.h"
#include "model/tables.h"
#include "model/weights.h"
#include "step/carry.h"
#include "step/entry.h"
#include "step/statistics.h"
#include "trainer/adapters.h"
#include "trainer/checkpoint.h"
#include "trainer/memory.h"
#include "trainer/teacher.h"
#include "trainer/trainer.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ inputs */

static bool is_scalar_role(Lathe_role r)
{
    return r == LATHE_SEED || r == LATHE_STEP || r == LATHE_POSITION || r == LATHE_LOSS_SCALE || r == LATHE_FIRST_ROW;
}

/* "tokens[1][5]" */
static char *element_text(const Lathe_tensor *t, int64_t i)
{
    char *s = text_of("%s", "");
    for (int k = t->rank - 1; k >= 0; k--) {
        s = text_of("[%lld]%s", (long long)(i % t->dim[k]), s);
        i /= t->dim[k];
    }
    return text_of("%s%s", t->name, s);
}

/* Ids must be below this; 0: any 32-bit number.  Without a vocabulary, targets are classes. */
static int64_t ids_below(const Lathe_model *m, const Lathe_tensor *t)
{
    if (t->below) return t->below;
    if (is_scalar_role(t->role) || t->role == LATHE_SEGMENTS) return 0;
    if (t->role == LATHE_BEGINS) return 2;
    if (t->role == LATHE_POSITIONS) return m->seq;
    if (t->role == LATHE_LENGTHS) return m->seq + 1;
    if (t->role == LATHE_SOURCE_LENGTHS) return m->source_seq + 1;
    return t->role == LATHE_FEATURES || m->recipe.texts ? 0 : class_count(m);
}

static void check_id(const Lathe_model *m, const char *path, const Lathe_tensor *t, int64_t i, double x)
{
    int64_t limit = ids_below(m, t), least = t->role == LATHE_TARGETS && lathe_ignores(&m->recipe) ? -1 : 0;
    int64_t ignored = t->role == LATHE_TARGETS ? m->recipe.ignored : 0;
    if (ignored && x == (double)ignored) return;
    bool length = t->role == LATHE_LENGTHS || t->role == LATHE_SOURCE_LENGTHS;
    if (limit && length && (x < 0 || x >= (double)limit))
        fail(EXIT_DATA, path, "%s is %.0f: expected a length from 0 to %lld, the number of positions",
             element_text(t, i), x, (long long)limit - 1);
    if (limit && (x < (double)least || x >= (double)limit))
        fail(EXIT_DATA, path, "%s is %.0f: expected ids %lld to %lld%s; the model's %s is %lld", element_text(t, i), x,
             (long long)least, (long long)limit - 1,
             ignored ? text_of(" or %lld, which losses leave out", (long long)ignored) : "",
             t->below                     ? "bound of this input"
             : t->role == LATHE_POSITIONS ? "sequence"
             : m->vocab                   ? "vocabulary"
                                          : "number of classes (the last axis of logits)",
             (long long)limit);
    if (x < INT32_MIN || x > INT32_MAX)
        fail(EXIT_DATA, path, "%s is %.0f: expected a 32-bit number", element_text(t, i), x);
}

/* Inputs of a step with micro-batches have shape [micro][batch][…].  A file may also have all rows as one batch, or a
 * single batch, shaped as `grad` takes it, which every micro-batch then gets. */
static bool is_batch_of(const Trainer *t, const Lathe_tensor *x, const Stored *s)
{
    const Lathe_entry *plain = find_entry(t->model, ENTRY_grad);
    const Lathe_tensor *one = NULL;
    for (int i = 0; plain && i < plain->inputs; i++)
        if (strcmp(plain->input[i].name, x->name) == 0) one = &plain->input[i];
    if (!one || one->rank != x->rank - 1 || s->rank != one->rank || one->rank == 0) return false;
    bool rest = memcmp(s->dim + 1, one->dim + 1, sizeof *s->dim * (size_t)(s->rank - 1)) == 0;
    int64_t rows = x->dim[0] * x->dim[1];
    return rest && (s->dim[0] == rows || (s->dim[0] == one->dim[0] && rows % one->dim[0] == 0));
}

static void check_stored(const Trainer *trainer, const Lathe_tensor *t, const Stored *s)
{
    bool ids = t->dtype == LATHE_I32, same = s->rank == t->rank;
    const char *path = trainer->inputs;
    if (same) same = memcmp(s->dim, t->dim, sizeof *s->dim * (size_t)s->rank) == 0;
    if (!same && !is_batch_of(trainer, t, s))
        fail(EXIT_DATA, path, "%s: expected shape %s, found %s", t->name, dims_text(t->rank, t->dim),
             dims_text(s->rank, s->dim));
    if (!stored_is(s, ids ? "I32 I64" : "F32 F64"))
        fail(EXIT_DATA, path, "%s: expected %s, found %s", t->name, ids ? "I32 or I64" : "F32 or F64", s->dtype);
}

static void take_input(const Trainer *trainer, const Lathe_tensor *t, const Stored *s, char *in)
{
    char *at = in + t->offset;
    int64_t there = 1;
    check_stored(trainer, t, s);
    for (int k = 0; k < s->rank; k++) there *= s->dim[k];
    for (int64_t i = 0; i < tensor_size(t); i++) {
        double x = stored_element(s, i % there);
        if (t->dtype == LATHE_I32) {
            check_id(trainer->model, trainer->inputs, t, i, x);
            ((int32_t *)at)[i] = (int32_t)x;
        } else if (t->dtype == LATHE_F64) {
            ((double *)at)[i] = x;
        } else {
            ((float *)at)[i] = (float)x;
        }
    }
}

static char *input_names(const Lathe_entry *e)
{
    char *s = text_of("%s", "");
    for (int i = 0; i < e->inputs; i++)
        s = text_of("%s%s%s %s", s, i ? ", " : "", e->input[i].name, dims_text(e->input[i].rank, e->input[i].dim));
    return s;
}

/* The file may have tensors that are no inputs of the entry, since no kernel reads them.  A name that resembles a
 * missing input is an error. */
static void check_names(const Store *s, const Lathe_entry *e)
{
    const char **names = must_alloc(sizeof *names * (size_t)(e->inputs + 2));
    int n = 0;
    names[n++] = "seed", names[n++] = "step";
    for (int k = 0; k < e->inputs; k++) names[n++] = e->input[k].name;
    for (int i = 0; i < s->n; i++) {
        const char *name = s->tensor[i].name, *close = nearest_word(name, names, n);
        bool known = false;
        for (int k = 0; k < n; k++) known |= strcmp(name, names[k]) == 0;
        if (known) continue;
        if (close && !find_stored(s, close))
            fail(EXIT_DATA, s->path, "%s is no input of entry %s; did you mean %s?  Expected %s", name, e->name, close,
                 input_names(e));
        note("%s: %s is not read by entry %s", s->path, name, e->name);
    }
    free(names);
}

/* Seed, step and position may be left out; they are then --seed, 0 and 0, and all rows begin. */
void take_inputs(const Trainer *t, const Lathe_entry *e, char *in)
{
    Store s;
    read_store(&s, t->inputs);
    check_names(&s, e);
    set_scalars(e, in, t->seed, 0, 0);
    set_begins(e, in, true);
    for (int i = 0; i < e->inputs; i++) {
        const Stored *stored = find_stored(&s, e->input[i].name);
        if (stored) take_input(t, &e->input[i], stored, in);
        else if (!is_scalar_role(e->input[i].role) && e->input[i].role != LATHE_BEGINS)
            fail(EXIT_DATA, t->inputs, "input %s is missing; expected %s", e->input[i].name, input_names(e));
    }
    close_store(&s);
}

/* ------------------------------------------------------------------ results */

static char *output_name(const Lathe_tensor *t)
{
    return strcmp(t->name, "loss") == 0 ? text_of("loss") : text_of("output.%s", t->name);
}

/* Whether the comma-separated list --only has the name; without --only, every name is wanted. */
static bool is_named(const Trainer *t, const char *name)
{
    size_t n = strlen(name);
    const char *at = t->only;
    while (at && (strncmp(at, name, n) != 0 || (at[n] && at[n] != ',')))
        at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL;
    return !t->only || at;
}

static void check_only(const Trainer *t, const Lathe_entry *e)
{
    char *names = text_of("gradients");
    for (int i = 0; i < e->outputs; i++) names = text_of("%s, %s", names, e->output[i].name);
    for (const char *at = t->only, *end; at; at = *end ? end + 1 : NULL) {
        end = at + strcspn(at, ",");
        char *word = text_of("%.*s", (int)(end - at), at);
        bool known = strcmp(word, "gradients") == 0 || output_named(e, word);
        if (!known)
            fail(EXIT_USAGE, NULL, "--only: there is no %s; expected some of %s, separated by commas", word, names);
        free(word);
    }
    free(names);
}

static void fetch_results(const Trainer *t, const Lathe_entry *e, char *out, void *grads)
{
    for (int i = 0; i < e->outputs; i++) {
        const Lathe_tensor *x = &e->output[i];
        if (is_named(t, x->name) || strcmp(x->name, "loss") == 0)
            device_down(out + x->offset, tensor_size(x) * dtype_size(x->dtype));
    }
    if (is_named(t, "gradients")) device_down(grads, flat_bytes(t->model));
}

static bool all_finite(const Lathe_model *m, const void *grads)
{
    bool finite = true;
    for (int64_t i = 0; i < lathe_trained_elements(m) && finite; i++)
        finite = isfinite(read_element(m->real, grads, i));
    return finite;
}

static void divide(const Lathe_model *m, void *grads, double by)
{
    for (int64_t i = 0; i < lathe_trained_elements(m); i++)
        write_real(m->real, grads, i, read_element(m->real, grads, i) / by);
}

/* Under fp16, gradients are those of the loss times a scale.  The scale is halved while a gradient is not finite, and
 * gradients are divided by it; this is exact for a power of two, except for values outside the range of fp16. */
static void compute_results(const Trainer *t, const Lathe_entry *e, Memory *m)
{
    const Lathe_tensor *x = tensor_with_role(e, LATHE_LOSS_SCALE);
    float *scale = x ? (float *)(void *)(m->call + x->offset) : NULL;
    Lathe_call call = call_of(m, e);
    if (scale && !(*scale > 0 && isfinite(*scale)))
        fail(EXIT_DATA, t->inputs, "loss_scale is %g: expected a number above 0, or leave it out", (double)*scale);
    compute_entry(e, &call);
    fetch_results(t, e, call.out, m->grads);
    if (!scale || !is_named(t, "gradients")) return;
    while (*scale > 1 && isfinite(output_scalar(e, call.out, "loss")) && !all_finite(t->model, m->grads)) {
        *scale /= 2;
        if (!t->model->statistics) clear_there(m->state, m->state_bytes); /* back to zero */
        compute_entry(e, &call);
        fetch_results(t, e, call.out, m->grads);
    }
    divide(t->model, m->grads, (double)*scale);
}

static void write_results(const Trainer *t, const Lathe_entry *e, const char *out, const void *grads)
{
    const Lathe_tensor *x = e->output, *end = e->output + e->outputs;
    Store_writer *w = start_store(t->out);
    for (x = e->output; x < end; x++)
        if (is_named(t, x->name)) declare_tensor(w, output_name(x), x->dtype, x->rank, x->dim);
    if (is_named(t, "gradients")) declare_parameters(w, t->model, "grad.", t->model->real);
    for (x = e->output; x < end; x++)
        if (is_named(t, x->name)) put_elements(w, out + x->offset, tensor_size(x), x->dtype);
    if (is_named(t, "gradients")) put_parameters(w, t->model, grads, t->model->real);
    finish_store(w);
}

/* A turn has no gradients of other turns' parameters. */
static void clear_others(const Lathe_model *m, const Memory *memory)
{
    if (m->turns) clear_there(memory->grads, flat_bytes(m));
}

int grad_command(Trainer *t)
{
    const Entry entries[] = {t->training ? ENTRY_train : ENTRY_grad, NO_ENTRY};
    const Lathe_entry *e = wanted_entry(t, *entries);
    Memory m;
    if (!t->weights)
        fail(EXIT_USAGE, NULL, "grad needs --weights W.safetensors: the parameters (`trainer init` makes some)");
    if (!t->inputs) fail(EXIT_USAGE, NULL, "grad needs --inputs I.safetensors: %s", input_names(e));
    find_teacher(t, NULL);
    if (!t->out) fail(EXIT_USAGE, NULL, "grad needs --out G.safetensors: where to write loss, outputs and gradients");
    check_only(t, e);
    use_threads(t);
    take_memory(&m, t, true, false, entries);
    clear_others(t->model, &m);
    load_weights(t->model, t->weights, m.params, m.statistics, NULL);
    if (t->adapter) take_adapter(t, t->adapter, t->weights, m.params);
    fill_teacher(t, &m, NULL);
    weights_up(t->model, &m);
    take_inputs(t, e, m.call);
    Lathe_call call = call_of(&m, e);
    compute_results(t, e, &m);
    write_results(t, e, call.out, m.grads);
    double loss = output_scalar(e, call.out, "loss");
    if (t->json) show(stdout, isfinite(loss) ? "{\"loss\":%.17g}\n" : "{\"loss\":null}\n", loss);
    else show(stdout, "loss %.9g; wrote %s\n", output_scalar(e, call.out, "loss"), t->out);
    return 0;
}

/* ------------------------------------------------------------------ trainer init */

int init_command(Trainer *t)
{
    static const Entry none[] = {NO_ENTRY};
    Memory m;
    if (!t->out) fail(EXIT_USAGE, NULL, "init needs --out W.safetensors: where to write the parameters");
    use_threads(t);
    take_memory(&m, t, false, false, none);
    take_first_weights(t, &m);
    save_weights(t->model, t->out, t->base, m.params, m.statistics);
    if (t->json) show(stdout, "{\"parameters\":%lld}\n", (long long)t->model->parameter_count);
    else show(stdout, "wrote %s parameters to %s\n", grouped_text(t->model->parameter_count), t->out);
    return 0;
}
