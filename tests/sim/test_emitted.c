/* test_emitted.c: the CUDA text of every ROWS kernel of every model, run in the simulator, gives what the C kernel
 * gives: bit for bit where nothing is reduced, else within rounding of sums in another order; the same bits in every
 * order of blocks and threads; and nothing for the simulator to complain of.  A barrier taken out of the text, and an
 * index made too large, are complained of. */
#include "harness.h"
#include "emit.h"

#include <dlfcn.h>
#include <glob.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Small, but so that rows are taken by a thread, a warp and a block, and columns with and without shared memory. */
static const char *const models[] = {
    "models/mlp.lua",
    "models/mlp.lua --set hidden=1600 --set batch=20 --set features=3",
    "models/gpt.lua --set layers=2 --set width=128 --set heads=2 --set seq=20 --set batch=2 --set vocab=65"
    " --set dropout=0.2",
    "models/gpt.lua --set layers=1 --set width=16 --set heads=2 --set seq=5 --set batch=3 --set vocab=1100"
    " --set gelu=tanh --set tied=false --set bias=false --set accumulate=2",
    "models/gpt.lua --set layers=2 --set width=36 --set heads=3 --set seq=18 --set batch=2 --set vocab=1029"
    " --set dropout=0.3 --precision fp64",
    "models/char_rnn.lua --config tiny --set dropout=0.2 --set accumulate=2",
    "models/llama.lua --set layers=2 --set width=32 --set heads=4 --set kv_heads=2 --set hidden=48 --set seq=7"
    " --set batch=2 --set vocab=50",
    "tests/models/lstm20.lua",
    "tests/models/nested.lua --set dropout=0.3 --set reverse=true",
};

/* What some model's text must have in it, or the list above is too short. */
static struct Wanted {
    const char *text;
    bool seen;
} wanted[] = {{"ALIGNED(", 0},          {"UNROLL for", 0},      {"_row[c / WARP]", 0},    {"warp_sum_f32", 0},
              {"block_sum_f32", 0},     {"warp_max_f32", 0},    {"block_max_f32", 0},     {"block_sum_f64", 0},
              {"__shared__ float", 0},  {"[WARPS]", 0},         {"[THREADS]", 0},         {"b = k * 7;", 0},
              {"philox_word(*seed", 0}, {"bool (*RESTRICT", 0}, {"__shared__ double", 0}, {"? 0 :", 0}};

/* ------------------------------------------------------------------ the simulator */

typedef struct Device { /* of one module.so, with a simulator of its own */
    void *library;
    void (*launch)(int number, void *const *arguments);
    int (*malloc)(void **at, size_t bytes);
    int (*free)(void *at);
    int (*copy)(void *to, const void *from, size_t bytes, int kind);
    void (*order)(int order, unsigned seed);
    const char *(*report)(void);
} Device;
enum { TO_DEVICE = 1, FROM_DEVICE = 2 };

static void *loaded(const char *path)
{
    void *library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    if (!library) die("%s", dlerror());
    return library;
}

static Device device_of(const char *folder)
{
    char *output;
    int code = run_command(&output, "sh tests/sim/compile module '%s' '%s'", temp_folder(), folder);
    if (code) die("the CUDA text does not compile:\n%s", output);
    Device d = {.library = loaded(format("%s/module.so", folder))};
    const struct {
        const char *name;
        void *to;
    } all[] = {{"launch_number", &d.launch}, {"cudaMalloc", &d.malloc}, {"cudaFree", &d.free},
               {"cudaMemcpy", &d.copy},      {"sim_order", &d.order},   {"sim_report", &d.report}};
    for (int i = 0; i < COUNT_OF(all); i++) {
        void *found = dlsym(d.library, all[i].name);
        must(found);
        memcpy(all[i].to, &found, sizeof found);
    }
    return d;
}

/* ------------------------------------------------------------------ a model's kernels, twice */

typedef struct Pair {
    const Kernel *kernel;
    const Program *program;
    Call cuda, c;
} Pair;

typedef struct Both {
    const char *folder;
    const Module *module;
    VEC(Pair) pairs; /* one for each function of the CUDA text */
    void *c_library;
    void (*call)(int number, void *const *arguments); /* of C */
    Device device;
} Both;

static void add_pair(Both *b, const Kernel *k, const Program *p)
{
    Call call = kernel_call(k);
    for (int i = 0; i < b->pairs.n; i++)
        if (same(b->pairs.at[i].cuda.name, call.name)) return;
    push(&b->pairs, ((Pair){k, p, call, {0}}));
}

static void add_pairs(Both *b, const Program *p, Kernel *const *kernels, int n)
{
    for (int i = 0; i < n; i++) {
        if (kernels[i]->kind == ROWS) add_pair(b, kernels[i], p);
        if (kernels[i]->kind == REPEAT) add_pairs(b, p, kernels[i]->body.at, kernels[i]->body.n);
    }
}

static void write_text(const char *folder, const char *name, const Text *t)
{
    must(write_file(format("%s/%s", folder, name), t->at, t->n));
}

static void emit_cuda_side(Both *b)
{
    Text launchers = {0};
    options.target = &target_cuda;
    emit_cuda(b->module, b->folder);
    for (int i = 0; i < b->module->programs.n; i++) {
        const Program *p = b->module->programs.at[i];
        enter_scope(b->module, p);
        add_pairs(b, p, p->kernels.at, p->kernels.n);
    }
    for (int i = 0; i < b->pairs.n; i++) say(&launchers, "LAUNCHER(%d, launch_%s)\n", i, b->pairs.at[i].cuda.name);
    write_text(b->folder, "launchers.inc", &launchers);
}

/* probe.c: model.c, and its kernels by number; arguments are read where they lie. */
static void emit_c_side(Both *b)
{
    Text probe = {0};
    options.target = &target_cpu;
    emit_c(b->module, b->folder);
    say(&probe, "#include \"model.c\"\nvoid call_number(int number, void *const *a);\n"
                "void call_number(int number, void *const *a)\n{\n    switch (number) {\n");
    for (int i = 0; i < b->pairs.n; i++) {
        Pair *p = &b->pairs.at[i];
        enter_scope(b->module, p->program);
        p->c = kernel_call(p->kernel);
        const Function *f = p->c.f;
        say(&probe, "    case %d: %s(", i, p->c.name);
        for (int k = 0; k < f->args.n; k++) {
            const Arg *a = &f->args.at[p->c.order[k]];
            say(&probe, "%s*(%s*)a[%d]", k ? ", " : "", a->by_value ? c_type(a->buffer->dtype) : "void *", k);
        }
        for (int k = 0; k < f->loops.n; k++) say(&probe, "%s*(int *)a[%d]", k || f->args.n ? ", " : "", f->args.n + k);
        say(&probe, "); break;\n");
    }
    say(&probe, "    }\n}\n");
    write_text(b->folder, "probe.c", &probe);
}

static void *compiled_c(const char *folder)
{
    char *output;
    int code = run_command(&output,
                           "${CC:-cc} %s -Dmain=model_main -fPIC -shared -Wl,-z,lazy -Wl,-Bsymbolic -Iruntime "
                           "-I'%s' '%s/probe.c' -o '%s/probe.so' -lm",
                           c_flags(), folder, folder, folder);
    if (code) die("the C text does not compile:\n%s", output);
    return loaded(format("%s/probe.so", folder));
}

static Both both_of(const char *arguments, int number)
{
    Both b = {.folder = format("%s/model-%d", temp_folder(), number)};
    b.module = compile_model(format("%s --target cuda", arguments));
    emit_cuda_side(&b);
    emit_c_side(&b);
    b.c_library = compiled_c(b.folder);
    void *call = dlsym(b.c_library, "call_number");
    memcpy(&b.call, &call, sizeof call);
    b.device = device_of(b.folder);
    return b;
}

/* ------------------------------------------------------------------ memory for one kernel */

/* All bytes of a buffer and of those that share them, in three copies; a parameter lies in it as in the flat array, so
 * that it is aligned as there. */
typedef struct Block {
    const Buffer *root;
    int64_t before, bytes; /* before: to its first element */
    char *first, *c, *cuda, *device;
} Block;

typedef struct Run {
    const Device *device;
    VEC(Block) blocks;
    VEC(struct Iteration {
        const Loop *loop;
        int now;
    }) iterations;
} Run;

static const Buffer *root_of(const Buffer *b)
{
    while (b->in_place_of) b = b->in_place_of;
    return b;
}

static int64_t reach(const Buffer *b)
{
    int64_t last = 0;
    for (int k = 0; k < b->shape.rank; k++) last += (b->shape.dim[k] - 1) * b->stride[k];
    return (last + 1) * dtype_bytes(b->dtype);
}

static Block *block_of(Run *r, const Program *p, const Buffer *b)
{
    const Buffer *root = root_of(b);
    for (int i = 0; i < r->blocks.n; i++)
        if (r->blocks.at[i].root == root) return &r->blocks.at[i];
    Block block = {.root = root, .bytes = reach(root)};
    if (root->param) block.before = root->param->offset * dtype_bytes(root->dtype) % 128;
    for (int i = 0; i < p->buffers.n; i++)
        if (root_of(p->buffers.at[i]) == root) block.bytes = max64(block.bytes, reach(p->buffers.at[i]));
    block.bytes += block.before;
    block.first = alloc((size_t)block.bytes);
    block.c = aligned_alloc(64, (size_t)round_up(block.bytes, 64));
    block.cuda = alloc((size_t)block.bytes);
    must(r->device->malloc((void **)&block.device, (size_t)block.bytes) == 0);
    push(&r->blocks, block);
    return &r->blocks.at[r->blocks.n - 1];
}

static void free_blocks(Run *r)
{
    for (int i = 0; i < r->blocks.n; i++) {
        free(r->blocks.at[i].c);
        r->device->free(r->blocks.at[i].device);
    }
    r->blocks.n = r->iterations.n = 0;
}

/* Numbers above a quarter, of which everything has a logarithm and a root; or of both signs. */
static void fill(const Block *b, bool positive, Rng *r)
{
    Lathe_dtype type = (Lathe_dtype[]){LATHE_BOOL, LATHE_I32, LATHE_F32, LATHE_F64}[b->root->dtype];
    for (int64_t i = 0; i < b->bytes / dtype_bytes(b->root->dtype); i++) {
        double x = positive ? 0.25 + fabs(normal(r)) : normal(r);
        if (type == LATHE_I32) x = (double)below(r, 16);
        if (type == LATHE_BOOL) x = (double)below(r, 2);
        set_element(type, b->first, i, x);
    }
}

static int iteration(Run *r, const Loop *l, Rng *rng)
{
    for (int i = 0; i < r->iterations.n; i++)
        if (r->iterations.at[i].loop == l) return r->iterations.at[i].now;
    push(&r->iterations, ((struct Iteration){l, (int)below(rng, l->trip)}));
    return r->iterations.at[r->iterations.n - 1].now;
}

/* What the entry would pass: where the caller's subscripts lead. */
static int64_t start_of(Run *r, const Arg *a, Rng *rng)
{
    int64_t at = 0;
    for (int k = 0; k < a->nlead; k++) {
        int64_t index = a->lead[k].constant;
        for (int o = 0; o < a->lead[k].nover; o++)
            index += a->lead[k].over[o].coef * iteration(r, a->lead[k].over[o].loop, rng);
        at += index * a->buffer->stride[k];
    }
    return at * dtype_bytes(a->buffer->dtype);
}

/* Where each argument's value lies. */
static void **arguments_of(Run *r, const Pair *p, const Call *call, bool device, Rng *rng)
{
    const Function *f = call->f;
    void **all = NEW_ARRAY(void *, f->args.n + f->loops.n + 1), **at = NEW_ARRAY(void *, f->args.n + 1);
    int n = 0;
    for (int i = 0; i < f->args.n; i++) {
        const Arg *a = &f->args.at[call->order[i]];
        if (!given(f, a->parts, -1)) continue;
        Block *b = block_of(r, p->program, a->root);
        at[i] = (device ? b->device : b->c) + b->before + start_of(r, a, rng);
        all[n++] = a->by_value ? at[i] : (void *)&at[i];
    }
    for (int i = 0; i < f->loops.n; i++) {
        int *now = NEW(int);
        *now = iteration(r, f->loops.at[i], rng);
        if (given(f, f->loop_parts.at[i], -1)) all[n++] = now;
    }
    return all;
}

/* ------------------------------------------------------------------ comparing */

static bool reduces(const Kernel *k)
{
    for (int p = 0; p < k->phases.n; p++)
        if (k->phases.at[p].sums.n || k->phases.at[p].columns.n) return true;
    return false;
}

static bool same_bits(const Block *b, const char *x, const char *y)
{
    int64_t size = dtype_bytes(b->root->dtype);
    Lathe_dtype type = size == 8 ? LATHE_F64 : LATHE_F32;
    if (memcmp(x, y, (size_t)b->bytes) == 0) return true;
    if (!is_real(b->root->dtype)) return false;
    for (int64_t i = 0; i < b->bytes / size; i++) /* NaN is NaN, whatever its bits */
        if (memcmp(x + i * size, y + i * size, (size_t)size) != 0 &&
            !(isnan(get_element(type, x, i)) && isnan(get_element(type, y, i))))
            return false;
    return true;
}

static double largest_error, finite_values, all_values;

/* ||cuda - c|| against ||c||, over numbers that are finite in both; those that are not must be so in both. */
static bool close_enough(const Block *b)
{
    double difference = 0, norm = 0;
    Lathe_dtype type = b->root->dtype == F64 ? LATHE_F64 : LATHE_F32;
    if (!is_real(b->root->dtype)) return same_bits(b, b->c, b->cuda);
    for (int64_t i = 0; i < b->bytes / dtype_bytes(b->root->dtype); i++) {
        double x = get_element(type, b->c, i), y = get_element(type, b->cuda, i);
        all_values++;
        if (isfinite(x) != isfinite(y)) return false;
        if (!isfinite(x)) continue;
        finite_values++;
        difference += (x - y) * (x - y);
        norm += x * x;
    }
    double unit = type == LATHE_F64 ? 0x1p-52 : 0x1p-23, error = sqrt(difference) / (sqrt(norm) * unit + 1e-300);
    if (difference > 0) largest_error = fmax(largest_error, error);
    return error <= 16;
}

static void compare(Run *r, const Pair *p, const char *model, bool again)
{
    for (int i = 0; i < r->blocks.n; i++) {
        Block *b = &r->blocks.at[i];
        char *now = alloc((size_t)b->bytes);
        r->device->copy(now, b->device, (size_t)b->bytes, FROM_DEVICE);
        if (again) {
            expect(same_bits(b, b->cuda, now), "%s: %s: another order of threads gives other bits of %s", model,
                   p->cuda.name, b->root->name);
            continue;
        }
        memcpy(b->cuda, now, (size_t)b->bytes);
        bool equal = reduces(p->kernel) ? close_enough(b) : same_bits(b, b->c, b->cuda);
        expect(equal, "%s: %s: %s is not what C gives", model, p->cuda.name, b->root->name);
    }
}

/* ------------------------------------------------------------------ running */

static void launch(Run *r, int number, void **arguments)
{
    for (int i = 0; i < r->blocks.n; i++)
        r->device->copy(r->blocks.at[i].device, r->blocks.at[i].first, (size_t)r->blocks.at[i].bytes, TO_DEVICE);
    r->device->launch(number, arguments);
}

/* Both sides' arguments come first: they say which memory there is. */
static void run_pair(const Both *b, int number, bool positive, const char *model, Rng *rng)
{
    Run r = {.device = &b->device};
    const Pair *p = &b->pairs.at[number];
    arguments_of(&r, p, &p->cuda, true, rng);
    void **for_c = arguments_of(&r, p, &p->c, false, rng), **for_cuda = arguments_of(&r, p, &p->cuda, true, rng);
    for (int i = 0; i < r.blocks.n; i++) {
        fill(&r.blocks.at[i], positive, rng);
        memcpy(r.blocks.at[i].c, r.blocks.at[i].first, (size_t)r.blocks.at[i].bytes);
    }
    b->call(number, for_c);
    for (int order = 0; order < 3; order++) {
        r.device->order(order, 7);
        launch(&r, number, for_cuda);
        const char *report = r.device->report();
        if (!expect(!*report, "%s: %s", model, report)) break;
        compare(&r, p, model, order > 0);
    }
    free_blocks(&r);
}

static void look_for_wanted(const char *folder)
{
    char *text = read_file(format("%s/model.cu", folder), NULL);
    must(text);
    for (int i = 0; i < COUNT_OF(wanted); i++) wanted[i].seen |= strstr(text, wanted[i].text) != NULL;
}

static int test_model(int number)
{
    Rng rng = rng_of((uint64_t)number);
    Both b = both_of(models[number], number);
    look_for_wanted(b.folder);
    expect(b.pairs.n > 0, "%s has no row kernels", models[number]);
    for (int i = 0; i < b.pairs.n; i++)
        for (int positive = 0; positive < 2; positive++) run_pair(&b, i, positive, models[number], &rng);
    dlclose(b.c_library);
    dlclose(b.device.library);
    return b.pairs.n;
}

/* ------------------------------------------------------------------ mistakes put in */

/* The text with the first `from` made `to`, compiled. */
static Device changed(const Both *b, const char *from, const char *to, int number)
{
    const char *text = read_file(format("%s/model.cu", b->folder), NULL), *at = strstr(text, from);
    if (!at) die("\"%s\" is not in the text", from);
    Text t = {0};
    say(&t, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    const char *folder = format("%s/changed-%d", temp_folder(), number);
    must(run_command(NULL, "mkdir -p '%s' && cp '%s/launchers.inc' '%s'", folder, b->folder, folder) == 0);
    write_text(folder, "model.cu", &t);
    return device_of(folder);
}

/* What the simulator says of the first kernel that it complains of. */
static const char *first_complaint(const Both *b, const Device *d, Rng *rng)
{
    for (int i = 0; i < b->pairs.n; i++) {
        Run r = {.device = d};
        void **arguments = arguments_of(&r, &b->pairs.at[i], &b->pairs.at[i].cuda, true, rng);
        for (int k = 0; k < r.blocks.n; k++) fill(&r.blocks.at[k], true, rng);
        launch(&r, i, arguments);
        const char *report = copy_string(r.device->report());
        free_blocks(&r);
        if (*report) return report;
    }
    return "nothing";
}

static void test_mistakes(void)
{
    static const struct {
        const char *from, *to, *word;
    } mistakes[] = {
        {"    __syncthreads();\n", "", "since the last barrier"}, /* sums of other warps */
        {" >= ", " > ", "out of bounds"},                         /* if (i >= N) return; */
        {"_mul[r][c] = ", "_mul[r][c + 1] = ", "out of bounds"},
        {"lane == 0", "lane >= 0", "race"},
    };
    Rng rng = rng_of(99);
    Both b =
        both_of("models/gpt.lua --set layers=1 --set width=20 --set heads=2 --set seq=18 --set batch=2 --set vocab=40",
                COUNT_OF(models));
    expect(same(first_complaint(&b, &b.device, &rng), "nothing"), "the text as it is is complained of");
    for (int i = 0; i < COUNT_OF(mistakes); i++) {
        Device d = changed(&b, mistakes[i].from, mistakes[i].to, i);
        const char *report = first_complaint(&b, &d, &rng);
        expect(strstr(report, mistakes[i].word), "\"%s\" made \"%s\": %s", mistakes[i].from, mistakes[i].to, report);
        dlclose(d.library);
    }
}

/* ------------------------------------------------------------------ */

static void every_model_is_here(void)
{
    glob_t found;
    must(glob("models/*.lua", 0, NULL, &found) == 0);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        bool here = false;
        for (int k = 0; k < COUNT_OF(models); k++) here |= starts_with(models[k], found.gl_pathv[i]);
        expect(here, "%s is not in the list at the top of this test", found.gl_pathv[i]);
    }
    globfree(&found);
}

int main(void)
{
    char *output;
    int code = run_command(&output, "sh tests/sim/compile simulator '%s'", temp_folder()), kernels = 0;
    if (code == 77) skip_test(output);
    if (code) die("the simulator does not compile:\n%s", output);
    every_model_is_here();
    for (int i = 0; i < COUNT_OF(models); i++) kernels += test_model(i);
    for (int i = 0; i < COUNT_OF(wanted); i++)
        expect(wanted[i].seen, "no model's text has \"%s\" in it", wanted[i].text);
    expect(finite_values > 0.9 * all_values, "too few finite values: %.0f of %.0f", finite_values, all_values);
    test_mistakes();
    printf("note: %d kernels of %d models; sums in another order differ by at most %.1f units of a norm's last place\n",
           kernels, COUNT_OF(models), largest_error);
    return finish();
}
