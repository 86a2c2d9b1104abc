/* harness_live.c: compiles a generated model.c into a shared library and runs its entries in the test's own process. */
#include "emit/emit.h"
#include "harness.h"
#include "lathe_rt.h"
#include "base/words.h"
#include "interface/lathe_model.h"
#include "math/engine.h"
#include "math/math.h"

#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The generated code finds the runtime in the test program, which must therefore have it linked in. */
__attribute__((used)) static const void *const linked_in[] = {(const void *)gemm_f32,
                                                              (const void *)gemm_f64,
                                                              (const void *)attention_f32,
                                                              (const void *)convolution_f32,
                                                              (const void *)dot_by_ids_f32,
                                                              (const void *)bad_id,
                                                              &rt_lap,
                                                              &rt_over_ranks,
                                                              &rt_gradients_done,
                                                              &rt_gradients_begun,
                                                              &rt_parameters_needed,
                                                              &rt_parameters_dropped};

const char *gcc_level = "-O0";

/* The same bits in a tenth of gcc's time, which understands less of what is set where.  As for users in the long run,
 * and for another processor than this one. */
const char *test_flags(void)
{
    bool as_users = !gcc_level || long_run() || !same(LATHE_MARCH, "native");
    return as_users ? c_flags() : format("%s %s -Wno-uninitialized", c_flags(), gcc_level);
}

/* Into a library; its main() is left alone, and lathe_main() undefined. */
static const char *const compile_line = "${CC:-cc} %s -Werror -Dmain=model_main -fPIC -shared -Wl,-z,lazy "
                                        "-Wl,-Bsymbolic -Iruntime -I'%s' '%s/model.c' -o '%s/model.so' -lm";

static char *room_of(int64_t bytes)
{
    int64_t size = round_up(bytes + 1, 64);
    char *at = aligned_alloc(64, (size_t)size);
    must(at);
    memset(at, 0, (size_t)size);
    return at;
}

static int64_t flat_bytes(const Lathe_model *m, Lathe_dtype t)
{
    return m->flat_elements * (t == LATHE_F64 ? 8 : t == LATHE_F32 ? 4 : 2);
}

void fill_statistics(const Lathe_model *m, char *state)
{
    int n = 0;
    for (int k = 0; k < m->states; k++) {
        const Lathe_tensor *s = &m->state[k];
        if (s->role != LATHE_STATISTIC) continue;
        double value = m->statistic[n++].init == LATHE_ONES;
        for (int64_t i = 0; i < tensor_elements(s); i++) set_element(s->dtype, state + s->offset, i, value);
    }
}

static void make_room(Live *l)
{
    const Lathe_model *m = l->model;
    l->params = room_of(flat_bytes(m, lathe_weights(m)));
    l->grads = room_of(flat_bytes(m, m->real));
    l->state = room_of(m->state_bytes);
    fill_statistics(m, l->state);
    l->room = calloc((size_t)m->entries, sizeof *l->room);
    for (int i = 0; i < m->entries; i++) {
        const Lathe_entry *e = &m->entry[i];
        l->room[i].in = room_of(e->in_bytes);
        l->room[i].out = room_of(e->out_bytes);
        l->room[i].work = room_of(e->work_bytes);
    }
}

Live *load_folder(const char *dir)
{
    char *output;
    if (run_command(&output, compile_line, test_flags(), dir, dir, dir) != 0) {
        printf("failed: generated code does not compile without a warning:\n%s", output);
        exit(1);
    }
    void *library = dlopen(format("%s/model.so", dir), RTLD_LAZY | RTLD_LOCAL);
    if (!library) die("%s", dlerror());
    return live_in(library);
}

Live *live_in(void *library)
{
    must(linked_in[0]);
    rt_init_gemm(1);
    Live *l = calloc(1, sizeof *l);
    l->library = library;
    l->model = dlsym(l->library, "lathe_model");
    must(l->model);
    make_room(l);
    return l;
}

static const char *next_folder(void)
{
    static int made;
    char *dir = format("%s/model-%d", temp_folder(), made++);
    must(run_command(NULL, "mkdir -p '%s'", dir) == 0);
    return dir;
}

Live *load_module(const Module *m)
{
    const char *dir = next_folder();
    emit_c(new_page(m), dir);
    return load_folder(dir);
}

Options options = {.target = &target_cpu};

/* "--config char --set width=18 --precision fp64 --no-fuse" into the global options, cleared first. */
void take_options(const char *words)
{
    options = (Options){.target = &target_cpu, .check_stages = true, .poison = true};
    char *line = copy_string(words), *rest = NULL;
    options.model_file = strtok_r(line, " ", &rest);
    for (char *word; (word = strtok_r(NULL, " ", &rest));) {
        bool flag = take_switch(&options, word);
        if (same(word, "--all-persist")) flag = options.all_persist = true;
        if (same(word, "--all-panels")) flag = options.all_panels = true;
        if (same(word, "--shard-parameters")) flag = options.shard_parameters = true;
        const char *value = flag ? "" : strtok_r(NULL, " ", &rest);
        must(flag || value);
        if (same(word, "--config")) options.config = value;
        else if (same(word, "--target")) options.target = same(value, "cuda") ? &target_cuda : &target_cpu;
        else if (same(word, "--precision")) options.precision = value;
        else if (same(word, "--parameters")) options.parameters = value;
        else if (same(word, "--cache")) options.cache = value;
        else if (same(word, "--lora")) options.lora = value;
        else if (same(word, "--set")) push(&options.sets, value);
        else if (same(word, "--split")) options.split = atoi(value);
        else if (same(word, "--exact-sums")) options.exact_rows = atoi(value);
        else if (same(word, "--head-rows")) options.head_rows = atoi(value);
        else must(flag);
    }
}

Module *compile_model(const char *arguments)
{
    take_options(arguments);
    return compile(front(&options));
}

Live *build_model(const char *arguments) { return load_module(compile_model(arguments)); }

void unload(Live *l)
{
    for (int i = 0; i < l->model->entries; i++) {
        free(l->room[i].in);
        free(l->room[i].out);
        free(l->room[i].work);
    }
    free(l->room);
    free(l->params);
    free(l->grads);
    free(l->state);
    dlclose(l->library);
    free(l);
}

/* ------------------------------------------------------------------ entries */

int entry_index(const Live *l, const char *name)
{
    for (int i = 0; i < l->model->entries; i++)
        if (same(l->model->entry[i].name, name)) return i;
    return -1;
}

/* Everything a call must write for itself is NaN beforehand. */
void call_entry(Live *l, int entry)
{
    const Lathe_entry *e = &l->model->entry[entry];
    struct Room *r = &l->room[entry];
    memset(r->out, 0xff, (size_t)e->out_bytes);
    memset(r->work, 0xff, (size_t)e->work_bytes);
    Lathe_call call = {l->params, l->grads, r->in, r->out, l->state, r->work, NULL};
    e->run(&call);
}

const Lathe_tensor *find_tensor(const Lathe_tensor *list, int n, const char *name)
{
    for (int i = 0; i < n; i++)
        if (same(list[i].name, name)) return &list[i];
    return NULL;
}

const Lathe_tensor *input_of(const Live *l, int entry, const char *name)
{
    const Lathe_entry *e = &l->model->entry[entry];
    const Lathe_tensor *t = find_tensor(e->input, e->inputs, name);
    return t ? t : (die("entry %s has no input %s", e->name, name), NULL);
}

const Lathe_tensor *output_of(const Live *l, int entry, const char *name)
{
    const Lathe_entry *e = &l->model->entry[entry];
    const Lathe_tensor *t = find_tensor(e->output, e->outputs, name);
    return t ? t : (die("entry %s has no output %s", e->name, name), NULL);
}

void *input_at(const Live *l, int entry, const char *name)
{
    return l->room[entry].in + input_of(l, entry, name)->offset;
}

double *read_output(const Live *l, int entry, const char *name)
{
    const Lathe_tensor *t = output_of(l, entry, name);
    double *values = NEW_ARRAY(double, tensor_elements(t));
    for (int64_t i = 0; i < tensor_elements(t); i++)
        values[i] = get_element(t->dtype, l->room[entry].out + t->offset, i);
    return values;
}

double loss_of(const Live *l, int entry)
{
    const Lathe_tensor *t = output_of(l, entry, "loss");
    return get_element(t->dtype, l->room[entry].out + t->offset, 0);
}

int64_t tensor_elements(const Lathe_tensor *t)
{
    int64_t n = 1;
    for (int k = 0; k < t->rank; k++) n *= t->dim[k];
    return n;
}

/* Tensors of a file lie at any address. */
double get_element(Lathe_dtype t, const void *at, int64_t i)
{
    int32_t n;
    float f;
    double d;
    switch (t) {
    case LATHE_BOOL: return ((const unsigned char *)at)[i];
    case LATHE_I32: return memcpy(&n, (const char *)at + 4 * i, sizeof n), n;
    case LATHE_F32: return memcpy(&f, (const char *)at + 4 * i, sizeof f), (double)f;
    case LATHE_BF16: return (double)from_bf16_f32(((const bf16 *)at)[i]);
    case LATHE_F16: return (double)from_f16_f32(((const f16 *)at)[i]);
    default: return memcpy(&d, (const char *)at + 8 * i, sizeof d), d;
    }
}

void set_element(Lathe_dtype t, void *at, int64_t i, double value)
{
    switch (t) {
    case LATHE_BOOL: ((unsigned char *)at)[i] = value != 0; break;
    case LATHE_I32: ((int32_t *)at)[i] = (int32_t)value; break;
    case LATHE_F32: ((float *)at)[i] = (float)value; break;
    case LATHE_BF16: ((bf16 *)at)[i] = to_bf16_f64(value); break;
    case LATHE_F16: ((f16 *)at)[i] = to_f16_f64(value); break;
    default: ((double *)at)[i] = value;
    }
}

/* ------------------------------------------------------------------ parameters */

int64_t param_elements(const Lathe_param *p)
{
    int64_t n = 1;
    for (int k = 0; k < p->rank; k++) n *= p->dim[k];
    return n;
}

int64_t flat_place(const Lathe_param *p, int64_t i)
{
    int64_t place = p->offset;
    for (int k = p->rank - 1; k >= 0; k--) {
        place += i % p->dim[k] * p->stride[k];
        i /= p->dim[k];
    }
    return place;
}

double *read_param(const Live *l, const char *flat, const Lathe_param *p)
{
    int64_t n = param_elements(p);
    double *values = NEW_ARRAY(double, n);
    Lathe_dtype type = flat == l->params ? lathe_weights(l->model) : l->model->real;
    for (int64_t i = 0; i < n; i++) values[i] = get_element(type, flat, flat_place(p, i));
    return values;
}

void write_param(Live *l, const Lathe_param *p, const double *values)
{
    for (int64_t i = 0; i < param_elements(p); i++)
        set_element(lathe_weights(l->model), l->params, flat_place(p, i), values[i]);
}

static double first_value(const Lathe_param *p, Rng *r)
{
    switch (p->init) {
    case LATHE_ZEROS: return 0.1 * normal(r);
    case LATHE_ONES: return 1 + 0.1 * normal(r);
    case LATHE_CONSTANT: return p->init_a + 0.1 * normal(r);
    case LATHE_NORMAL: return p->init_a * normal(r) + p->init_b;
    default: return p->init_a + (p->init_b - p->init_a) * uniform(r);
    }
}

void fill_params(Live *l, Rng *r)
{
    for (int k = 0; k < l->model->params; k++) {
        const Lathe_param *p = &l->model->param[k];
        for (int64_t i = 0; i < param_elements(p); i++)
            set_element(lathe_weights(l->model), l->params, flat_place(p, i), first_value(p, r));
    }
}

/* Ids, or classes, of which the logits tell how many there are. */
static int64_t ids_of(const Lathe_model *m)
{
    if (m->vocab) return m->vocab;
    for (int i = 0; i < m->entries; i++)
        for (int k = 0; k < m->entry[i].outputs; k++) {
            const Lathe_tensor *t = &m->entry[i].output[k];
            if (same(t->name, "logits") && t->rank) return t->dim[t->rank - 1];
        }
    die("%s has neither a vocabulary nor logits", m->name);
}

static double input_value(const Lathe_model *m, const Lathe_tensor *t, Rng *r)
{
    if (t->below) return (double)below(r, t->below);
    if (t->role == LATHE_TARGETS && t->dtype != LATHE_I32) return normal(r);
    switch (t->role) {
    case LATHE_TOKENS: return (double)below(r, ids_of(m));
    case LATHE_TARGETS: /* -1: does not count */
        return lathe_ignores(&m->recipe) ? (double)below(r, ids_of(m) + 1) - 1 : (double)below(r, ids_of(m));
    case LATHE_SOURCE: return (double)below(r, m->vocab);
    case LATHE_LENGTHS: return (double)below(r, m->seq + 1);
    case LATHE_SOURCE_LENGTHS: return (double)below(r, m->source_seq + 1);
    case LATHE_SEED: return 1234;
    case LATHE_STEP: return 0;
    case LATHE_POSITION: return t->rank ? (double)below(r, m->seq) : 0; /* of slots */
    case LATHE_FIRST_ROW: return 0;
    case LATHE_STATE: return 0;
    case LATHE_LOSS_SCALE: return 1024;
    default: return t->dtype == LATHE_I32 ? (double)below(r, 2) : normal(r);
    }
}

/* Of an entry that draws whole samples most tokens are not given: -1. */
static bool not_given(const Lathe_entry *e, const Lathe_tensor *t, int64_t i)
{
    return same(e->name, "sample") && t->role == LATHE_TOKENS && i % 4;
}

void fill_inputs(Live *l, int entry, Rng *r)
{
    const Lathe_entry *e = &l->model->entry[entry];
    for (int k = 0; k < e->inputs; k++) {
        const Lathe_tensor *t = &e->input[k];
        for (int64_t i = 0; i < tensor_elements(t); i++) {
            double x = input_value(l->model, t, r);
            set_element(t->dtype, l->room[entry].in + t->offset, i, not_given(e, t, i) ? -1 : x);
        }
    }
}
