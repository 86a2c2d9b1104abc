/* replay.c: `trainer replay`: runs a step again and names the first tensor that is not finite, the operation that made
 * it, and its inputs.
 *
 * A build with --instrument makes every operation a kernel, lists its operands in tables, and never writes a value over
 * an input.  So after each kernel (at its LAP) its results can be checked, and its inputs are still there.  A birth is
 * a kernel that writes a NaN and read none, or writes an infinity and read only finite numbers.  Replay looks for the
 * first birth of the step.  The number of times a kernel has run gives the iterations of its loops. */
#include "base/json_text.h"
#include "base/words.h"
#include "data/data.h"
#include "interface/lathe_model.h"
#include "lathe_rt.h"
#include "model/block.h"
#include "model/init.h"
#include "model/place.h"
#include "model/run.h"
#include "model/tables.h"
#include "step/average.h"
#include "step/carry.h"
#include "step/growth.h"
#include "step/optim.h"
#include "step/state.h"
#include "step/statistics.h"
#include "token/tokenizer.h"
#include "trainer/checkpoint.h"
#include "trainer/data.h"
#include "trainer/knobs.h"
#include "trainer/memory.h"
#include "trainer/reference.h"
#include "trainer/state.h"
#include "trainer/step.h"
#include "trainer/teacher.h"
#include "trainer/trainer.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BIRTHS = 6 };

/* ------------------------------------------------------------------ checking a tensor */

typedef struct Look {
    int64_t elements, nans, infinities;
    int64_t first[LATHE_MAXRANK];  /* subscripts of the first that is not finite */
    double first_value, low, high; /* low, high: of the finite elements */
} Look;

typedef struct Birth {
    const Lathe_operand *made;
    Look look;
    int64_t iteration[LATHE_MAXRANK]; /* by loop, of the loops around the kernel */
    Look *input;                      /* of its kernel's operands, in order; only those read are filled */
} Birth;

static struct Watch {
    const Lathe_entry *e;
    const Lathe_instruments *with; /* e's */
    const Lathe_call *call;
    int64_t *runs; /* by lap: number of times it has run in this step */
    int *first_of; /* by lap: its first operand; -1: none */
    int64_t *now;  /* by loop: the current iteration */
    int laps, births, missed;
    Birth birth[MOST_BIRTHS];
} watch;

static const char *home_of(const Lathe_call *c, Lathe_home h)
{
    switch (h) {
    case LATHE_PARAMS: return c->params;
    case LATHE_GRADS: return c->grads;
    case LATHE_STATES: return c->state;
    case LATHE_IN: return c->in;
    case LATHE_OUT: return c->out;
    default: return c->work;
    }
}

static bool outside(const Lathe_operand *o, const int64_t *at)
{
    for (int k = 0; o->guarded && k < o->rank; k++)
        if (at[k] < o->low[k] || at[k] >= o->high[k]) return true;
    return false;
}

static void note_element(Look *l, const int64_t *at, int rank, double x)
{
    l->elements++;
    if (isfinite(x)) {
        if (x < l->low) l->low = x;
        if (x > l->high) l->high = x;
        return;
    }
    if (l->nans + l->infinities == 0) {
        memcpy(l->first, at, sizeof *at * (size_t)rank);
        l->first_value = x;
    }
    if (isnan(x)) l->nans++;
    else l->infinities++;
}

static Look look_at(const Lathe_operand *o)
{
    Look l = {.low = INFINITY, .high = -INFINITY};
    int64_t at[LATHE_MAXRANK] = {0}, base = o->base;
    const char *array = home_of(watch.call, o->home) + o->offset;
    for (int k = 0; k < o->overs; k++) base += o->over[k].stride * watch.now[o->over[k].loop];
    for (;;) {
        int64_t i = base;
        for (int k = 0; k < o->rank; k++) i += o->stride[k] * at[k];
        if (!outside(o, at)) note_element(&l, at, o->rank, read_element(o->dtype, array, i));
        int k = o->rank - 1;
        while (k >= 0 && ++at[k] == o->dim[k]) at[k--] = 0;
        if (k < 0) return l;
    }
}

static bool is_real(const Lathe_operand *o) { return o->dtype != LATHE_BOOL && o->dtype != LATHE_I32; }

/* ------------------------------------------------------------------ watching a step */

/* The iterations of the loops around a kernel, from the number of its earlier runs: the innermost loop is the
 * fastest. */
static void find_iterations(int loop, int64_t runs)
{
    for (; loop >= 0; loop = watch.with->loop[loop].outer) {
        const Lathe_loop *l = &watch.with->loop[loop];
        int64_t i = runs % l->trip;
        watch.now[loop] = l->reverse ? l->trip - 1 - i : i;
        runs /= l->trip;
    }
}

static int operands_of(int lap, const Lathe_operand **first)
{
    int from = watch.first_of[lap], n = 0;
    if (from < 0) return 0;
    *first = &watch.with->operand[from];
    while (from + n < watch.with->operands && (*first)[n].lap == lap) n++;
    return n;
}

static void note_birth(const Lathe_operand *made, Look look, Look *input)
{
    Birth *b = &watch.birth[watch.births++];
    *b = (Birth){.made = made, .look = look, .input = input};
    for (int l = made->loop, n = 0; l >= 0 && n < LATHE_MAXRANK; l = watch.with->loop[l].outer)
        b->iteration[n++] = watch.now[l];
}

/* A kernel wrote a number that is not finite.  This is a birth unless it read such numbers. */
static void judge(const Lathe_operand *first, int n, const Lathe_operand *made, Look look)
{
    bool nan = false, infinity = false;
    Look *input = must_alloc(sizeof *input * (size_t)n);
    for (int i = 0; i < n; i++) {
        if (first[i].written) continue;
        input[i] = look_at(&first[i]);
        nan |= input[i].nans > 0;
        infinity |= input[i].infinities > 0;
    }
    bool born = look.nans ? !nan : !nan && !infinity;
    if (born && watch.births < MOST_BIRTHS) {
        note_birth(made, look, input);
        return;
    }
    watch.missed += born;
    free(input);
}

static void look_after(int lap)
{
    const Lathe_operand *first = NULL;
    if (lap < 0) return; /* norm and update are not kernels of the entry */
    int n = operands_of(lap, &first);
    if (!n) return;
    find_iterations(first->loop, watch.runs[lap]++);
    for (int i = 0; i < n && first[i].written; i++) {
        if (!is_real(&first[i])) continue;
        Look look = look_at(&first[i]);
        if (look.nans + look.infinities) judge(first, n, &first[i], look);
    }
}

static void start_watching(const Lathe_entry *e, const Lathe_call *call)
{
    watch.e = e;
    watch.with = e->instruments;
    watch.call = call;
    for (int i = 0; i < watch.with->operands; i++)
        if (watch.with->operand[i].lap >= watch.laps) watch.laps = watch.with->operand[i].lap + 1;
    for (int i = 0; i < e->kernels; i++)
        if (e->kernel[i].lap >= watch.laps) watch.laps = e->kernel[i].lap + 1;
    watch.runs = must_alloc(sizeof *watch.runs * (size_t)(watch.laps + 1));
    watch.now = must_alloc(sizeof *watch.now * (size_t)(watch.with->loops + 1));
    watch.first_of = must_alloc(sizeof *watch.first_of * (size_t)(watch.laps + 1));
    for (int i = 0; i < watch.laps; i++) watch.first_of[i] = -1;
    for (int i = watch.with->operands - 1; i >= 0; i--) watch.first_of[watch.with->operand[i].lap] = i;
    rt_lap = look_after;
}

/* ------------------------------------------------------------------ the report */

static const Lathe_kernel *kernel_of(int lap)
{
    for (int i = 0; i < watch.e->kernels; i++)
        if (watch.e->kernel[i].lap == lap) return &watch.e->kernel[i];
    bug_if(true);
    return NULL;
}

/* "layer 3 of 0 to 3 (backwards)", outermost first */
static char *iterations_text(const Birth *b)
{
    char *all = text_of("%s", "");
    for (int l = b->made->loop, n = 0; l >= 0; l = watch.with->loop[l].outer, n++)
        all = text_of("%s %lld of 0 to %lld%s%s", watch.with->loop[l].name, (long long)b->iteration[n],
                      (long long)watch.with->loop[l].trip - 1, *all ? ", " : "", all);
    return all;
}

static char *value_text(double x) { return isnan(x) ? text_of("nan") : text_of("%.6g", x); }

static char *subscripts_text(const Lathe_operand *o, const int64_t *at)
{
    char *s = text_of("%s", "");
    for (int k = 0; k < o->rank; k++)
        if (o->dim[k] > 1 || o->stride[k]) s = text_of("%s[%lld]", s, (long long)at[k]);
    return s;
}

static char *range_text(const Look *l)
{
    int64_t bad = l->nans + l->infinities;
    char *finite =
        bad == l->elements ? text_of("no finite number") : text_of("%s to %s", value_text(l->low), value_text(l->high));
    return bad ? text_of("%s, and %s nan, %s infinite", finite, grouped_text(l->nans), grouped_text(l->infinities))
               : finite;
}

static char *operand_text(const Lathe_operand *o) { return text_of("%s %s", o->name, dims_text(o->rank, o->dim)); }

static void print_birth(const Birth *b)
{
    const Lathe_kernel *k = kernel_of(b->made->lap);
    const Lathe_operand *first = &watch.with->operand[watch.first_of[b->made->lap]];
    char *turns = iterations_text(b);
    show(stdout, "  operation  %s\n", k->formula);
    show(stdout, "  line       %s\n", *k->where ? k->where : "none: made by the compiler");
    show(stdout, "  layer      %s%s%s\n", *k->path ? k->path : "(the model itself)", *turns ? ", " : "", turns);
    show(stdout, "  tensor     %s: %s nan, %s infinite of %s, the first at %s is %s\n", operand_text(b->made),
         grouped_text(b->look.nans), grouped_text(b->look.infinities), grouped_text(b->look.elements),
         subscripts_text(b->made, b->look.first), value_text(b->look.first_value));
    for (const Lathe_operand *o = first; o < watch.with->operand + watch.with->operands && o->lap == first->lap; o++)
        if (!o->written) show(stdout, "  input      %s: %s\n", operand_text(o), range_text(&b->input[o - first]));
}

static json_t *look_json(const Lathe_operand *o, const Look *l)
{
    json_t *all = json_pack("{s:s, s:I, s:I, s:I}", "name", o->name, "elements", (json_int_t)l->elements, "nan",
                            (json_int_t)l->nans, "infinite", (json_int_t)l->infinities);
    bool finite = l->nans + l->infinities < l->elements;
    put_json(all, "min", finite ? real_json(l->low) : json_null());
    put_json(all, "max", finite ? real_json(l->high) : json_null());
    return all;
}

static json_t *birth_json(const Birth *b)
{
    const Lathe_kernel *k = kernel_of(b->made->lap);
    const Lathe_operand *first = &watch.with->operand[watch.first_of[b->made->lap]];
    json_t *all = json_pack("{s:s, s:s, s:s}", "operation", k->formula, "where", utf8_of(k->where), "path", k->path);
    json_t *loops = json_object(), *inputs = json_array();
    for (int l = b->made->loop, n = 0; l >= 0; l = watch.with->loop[l].outer, n++)
        put_json(loops, watch.with->loop[l].name, json_integer(b->iteration[n]));
    for (const Lathe_operand *o = first; o < watch.with->operand + watch.with->operands && o->lap == first->lap; o++)
        if (!o->written) add_json(inputs, look_json(o, &b->input[o - first]));
    put_json(all, "iterations", loops);
    put_json(all, "tensor", look_json(b->made, &b->look));
    put_json(all, "inputs", inputs);
    return all;
}

static void print_births(int64_t step, Step s)
{
    show(stdout, "step %lld: loss %s, gradient norm %s\n", (long long)step, value_text(s.loss), value_text(s.norm));
    if (!watch.births) return;
    show(stdout, "the first tensor that is not finite:\n");
    for (int i = 0; i < watch.births; i++) {
        if (i)
            show(stdout, "%s\n",
                 i == 1 ? "later in the step, likewise from finite numbers, or a nan from infinities:" : "");
        print_birth(&watch.birth[i]);
    }
    if (watch.missed) show(stdout, "and %d more\n", watch.missed);
}

static void print_object(int64_t step, Step s)
{
    json_t *births = json_array();
    for (int i = 0; i < watch.births; i++) add_json(births, birth_json(&watch.birth[i]));
    json_t *loss = isfinite(s.loss) ? real_json(s.loss) : json_null();
    json_t *norm = isfinite(s.norm) ? real_json(s.norm) : json_null();
    print_json(
        json_pack("{s:I, s:o, s:o, s:o}", "step", (json_int_t)step, "loss", loss, "grad_norm", norm, "born", births));
}

/* ------------------------------------------------------------------ the command */

static void need_instruments(const Trainer *t, const Lathe_entry *e)
{
    const char *from = t->model->rebuild ? t->model->rebuild : "MODEL.lua";
    if (!e->instruments)
        fail(EXIT_USAGE, NULL,
             "this trainer was built without --instrument; `lathe replay %s` with the options given here builds one "
             "with it, and runs it",
             from);
    if (!t->steps) fail(EXIT_USAGE, NULL, "replay needs the number of a step: --step N, as the trainer counts them");
}

static void check_parameter(const Trainer *t, const Lathe_param *p, const void *params)
{
    char name[512];
    for (int64_t c = 0; c < copies_of_parameter(p); c++)
        for (int64_t i = 0; i < copy_elements(p); i++) {
            double x = read_weight(t->model, params, copy_place(p, c, i));
            if (isfinite(x)) continue;
            copy_name(name, sizeof name, p, c);
            fail(EXIT_DATA, t->weights ? t->weights : NULL,
                 "the weights are not finite before the step: element %lld of %s (%s) is %s; replay the step that made "
                 "it, from an earlier checkpoint",
                 (long long)i, name, p->where, value_text(x));
        }
}

/* What is not finite before the step begins. */
static void check_parameters(const Trainer *t, const void *params)
{
    for (int k = 0; k < t->model->params; k++) check_parameter(t, &t->model->param[k], params);
}

typedef struct Replay {
    Trainer *t;
    const Lathe_entry *e;
    Data data;
    Memory memory;
    Step_turns turns; /* one */
    State from;       /* of a checkpoint */
    char *checkpoint; /* NULL: none */
    int64_t step;     /* steps done so far, including the checkpoint's */
} Replay;

/* Settings and data that are not given are the checkpoint's.  Weights of a file are those before the step. */
static void find_start(Replay *r)
{
    Trainer *t = r->t;
    if (t->resume && t->weights) fail(EXIT_USAGE, NULL, "--checkpoint and --weights both say where to start; give one");
    if (t->adapter && !t->weights)
        fail(EXIT_USAGE, NULL, "--adapter is of adapters over weights: give these with --weights PATH");
    if (t->weights) r->step = t->steps - 1;
    if (!t->resume) return;
    r->checkpoint = find_checkpoint(t);
    open_checkpoint(&r->from, r->checkpoint);
    resume_settings(t, &r->from);
    if (ranks_of_state(r->from.all) > 1)
        note("the run had %lld ranks: replay computes the rows of one", (long long)ranks_of_state(r->from.all));
    t->weights = text_of("%s/model.safetensors", r->checkpoint);
    r->step = r->from.at.step;
    if (t->steps <= r->step)
        fail(EXIT_USAGE, NULL, "--step %lld: the checkpoint %s is from after step %lld; give an earlier one",
             (long long)t->steps, r->checkpoint, (long long)r->step);
}

static void fill_arrays(Replay *r)
{
    Trainer *t = r->t;
    open_turns(&r->turns, t->model, &t->recipe, r->memory.moments);
    Optimizer *o = &r->turns.at[0].optimizer;
    if (r->checkpoint) load_checkpoint(t, &r->from, r->checkpoint, &r->memory, o);
    else if (t->weights) load_saved_weights(t, t->weights, &r->memory);
    else init_weights(t->model, (uint64_t)t->seed, &r->memory);
    if (!r->checkpoint) begin_averages(o, r->memory.params);
    advise(NULL);
    fill_teacher(t, &r->memory, r->checkpoint ? &r->from : NULL);
    weights_up(t->model, &r->memory);
    check_parameters(t, r->memory.params);
    go_on_with_scale(o, &r->from.at.loss_scale);
    if (t->weights && !r->checkpoint) o->loss_scale.scale = 1; /* a run diverges only when no smaller scale is left */
}

/* Weights do not include carried states; only a step whose rows all begin needs none. */
static void check_carried(const Replay *r)
{
    if (!r->data.stretch || r->checkpoint || r->step % r->data.stretch == 0) return;
    fail(EXIT_USAGE, NULL,
         "%s carries states from step to step, and weights do not include those before step %lld; give an earlier "
         "checkpoint instead (--checkpoint C), or neither: then all steps before it are run",
         r->t->model->name, (long long)r->step + 1);
}

static void start_replay(Replay *r, Trainer *t)
{
    static const Entry entries[] = {ENTRY_train, ENTRY_reference, ENTRY_direction, NO_ENTRY};
    r->t = t;
    r->e = train_of_step(t->model, t->steps - 1);
    if (t->model->device)
        fail(EXIT_USAGE, NULL, "replay runs only on the processor: build with --target cpu (`lathe replay %s`)",
             t->model->rebuild ? t->model->rebuild : "MODEL.lua");
    if (t->model->turns)
        fail(EXIT_USAGE, NULL,
             "replay runs steps of one loss, and %s has turns; `trainer grad --turn NAME --training` "
             "computes the gradients of one",
             t->model->name);
    need_instruments(t, r->e);
    check_memory(t);
    find_start(r);
    find_teacher(t, r->checkpoint ? &r->from : NULL);
    open_run_data(&r->data, t, true);
    if (r->checkpoint) continue_items(&r->data, &r->from);
    check_carried(r);
    use_threads(t);
    take_memory(&r->memory, t, true, true, entries);
    fill_arrays(r);
    if (t->weights) read_reference(&r->data, t, t->weights);
    else compute_reference(&r->data, t, &r->memory);
    if (r->data.epochs) start_epochs(r->data.epochs, r->checkpoint ? &r->from : NULL);
}

/* Runs the steps up to the requested one, and stops at an earlier one that is not finite. */
static Step run_steps(Replay *r)
{
    Lathe_call call = call_of(&r->memory, r->e);
    Step s = {0};
    start_watching(r->e, &call);
    while (r->step < r->t->steps && !has_diverged(&s)) {
        memset(watch.runs, 0, sizeof *watch.runs * (size_t)(watch.laps + 1));
        watch.births = watch.missed = 0;
        const Lathe_entry *e = train_for_step(&r->turns, r->t->model, r->step);
        rt_lap = e == r->e ? look_after : NULL; /* steps before it may have fewer micro-batches */
        if (!fill_step(&r->data, e, r->memory.call, r->step))
            fail(EXIT_DATA, NULL, "the data ends before step %lld", (long long)r->step + 1);
        set_scalars(e, r->memory.call, r->t->seed, r->step, 0);
        s = take_turn(r->t, &r->turns.at[0], &r->memory, r->step++);
    }
    rt_lap = NULL;
    return s;
}

/* " --tokenizer PATH", or nothing if the run uses the description's. */
static char *tokenizer_option(const Trainer *t, const Data *d)
{
    const Tokenizer *k = d->tokenizer;
    bool file = k && (t->tokenizer || strcmp(tokenizer_path(k), "text") !=
                                          0); /* a tokenizer that was not read from a file is called text */
    if (!file && (!k || !t->tokenizer_given)) return text_of("%s", "");
    const char *word = file ? tokenizer_path(k) : tokenizer_kind(k) == TOKEN_CHARS ? "chars" : "bytes";
    return text_of(" --tokenizer %s", shell_word(word));
}

/* " --weights PATH"; for a model that carries states " --checkpoint PATH", or nothing: from the first step on. */
static char *start_words(const Trainer *t, const char *path)
{
    int64_t step = model_carries(t->model) ? newest_checkpoint(run_folder(t), INT64_MAX) : -1;
    if (!model_carries(t->model)) return text_of(" --weights %s", shell_word(path));
    return step < 0 ? text_of("%s", "") : text_of(" --checkpoint %s", shell_word(checkpoint_path(run_folder(t), step)));
}

/* Data that came through a pipe must be saved to a file first; all of it was trained on. */
char *replay_words(const Trainer *t, const Data *d, const char *path, int64_t number)
{
    const Lathe_model *m = t->model;
    bool pipe = d->epochs && d->epochs->order.once;
    char *s = text_of("lathe replay %s%s --step %lld --seed %d%s%s", m->rebuild ? m->rebuild : "MODEL.lua",
                      start_words(t, path), (long long)number, t->seed, data_settings(t), tokenizer_option(t, d));
    if (t->teacher) s = text_of("%s --teacher %s", s, shell_word(t->teacher));
    if (pipe) return text_of("%s --val-fraction 0 --data FILE-WITH-WHAT-CAME-THROUGH-THE-PIPE", s);
    s = text_of("%s --data", s);
    for (int i = 0; i < t->data.n; i++) s = text_of("%s %s", s, shell_word(t->data.at[i]));
    return s;
}

int replay_command(Trainer *t)
{
    static Replay r;
    start_replay(&r, t);
    Step s = run_steps(&r);
    bool finite = !has_diverged(&s);
    if (t->json) print_object(r.step, s);
    else print_births(r.step, s);
    if (!t->json && finite)
        show(stdout, "loss and gradients are finite here: operations run one by one, so sums round differently than in "
                     "fused kernels\n");
    close_turns(&r.turns);
    return finite ? 0 : EXIT_DIVERGED;
}
