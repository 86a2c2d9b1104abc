/* harness_cuda.c: emitted kernels in the simulator of CUDA and in C: emitting both, memory for one kernel, comparing.
 */
#include "harness_cuda.h"

#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ the simulator */

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
    } all[] = {{"launch_number", &d.launch}, {"cudaMalloc", &d.malloc},         {"cudaFree", &d.free},
               {"cudaMemcpy", &d.copy},      {"sim_order", &d.order},           {"sim_report", &d.report},
               {"start_module", &d.start},   {"sim_processors", &d.processors}, {"plain_kernels", &d.plain}};
    for (int i = 0; i < COUNT_OF(all); i++) {
        void *found = dlsym(d.library, all[i].name);
        must(found);
        memcpy(all[i].to, &found, sizeof found);
    }
    must((d.model = dlsym(d.library, "lathe_model")));
    return d;
}

/* ------------------------------------------------------------------ a model's kernels, twice */

static void add_pair(Both *b, Page *page, const Kernel *k)
{
    Call call = kernel_call(page, k);
    for (int i = 0; i < b->pairs.n; i++)
        if (same(b->pairs.at[i].cuda.name, call.name)) return;
    push(&b->pairs, ((Pair){k, page->program, call, {0}}));
}

/* Is it a kernel of threads, and no call of a library or loop? */
static bool has_threads(const Kernel *k) { return k->kind == ROWS || (k->kind >= GATHER && k->kind <= TOPK); }

static void add_pairs(Both *b, Page *page, Kernel *const *kernels, int n)
{
    for (int i = 0; i < n; i++) {
        if (has_threads(kernels[i])) add_pair(b, page, kernels[i]);
        if (kernels[i]->kind == REPEAT && !kernels[i]->barrier)
            add_pairs(b, page, kernels[i]->body.at, kernels[i]->body.n);
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
    options.poison = false; /* memory is filled with NaN here */
    Page *page = new_page(b->module);
    emit_cuda(page, b->folder);
    for (int i = 0; i < b->module->programs.n; i++) {
        const Program *p = b->module->programs.at[i];
        enter_scope(page, p);
        add_pairs(b, page, p->kernels.at, p->kernels.n);
    }
    for (int i = 0; i < b->pairs.n; i++) say(&launchers, "LAUNCHER(%d, launch_%s)\n", i, b->pairs.at[i].cuda.name);
    write_text(b->folder, "launchers.inc", &launchers);
}

/* As loops of C. */
static void schedule_again(const Module *m, const Target *t)
{
    Options *o = copy_of(m->desc->options, sizeof *o);
    Desc *d = copy_of(m->desc, sizeof *d);
    Module *again = copy_of(m, sizeof *m);
    o->target = t;
    d->options = o;
    again->desc = d;
    for (int i = 0; i < m->programs.n; i++) {
        Program *p = m->programs.at[i];
        p->after = "plan";
        memset(&p->said, 0, sizeof p->said); /* said for the other target */
    }
    compile_kernels(again, NULL);
}

/* probe.c: model.c in the words of the other side, and its kernels by number; arguments are read where they lie. */
static void emit_c_side(Both *b)
{
    static Target with_words;
    Text probe = {0};
    with_words = target_cpu;
    with_words.quick = target_cuda.quick;
    options.target = &with_words;
    schedule_again(b->module, &with_words);
    Page *page = new_page(b->module);
    emit_c(page, b->c_folder);
    say(&probe, "#include \"math/quick.h\"\n#include \"model.c\"\nvoid call_number(int number, void *const *a);\n"
                "void call_number(int number, void *const *a)\n{\n    switch (number) {\n");
    for (int i = 0; i < b->pairs.n; i++) {
        Pair *p = &b->pairs.at[i];
        enter_scope(page, p->program);
        p->c = kernel_call(page, p->kernel);
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
    write_text(b->c_folder, "probe.c", &probe);
}

/* At the level of kernels, in the long run too: gcc works out the functions of constants in both, and -O3 finds more of
 * them, to other bits than libm. */
static void *compiled_c(const char *folder)
{
    char *output;
    int code = run_command(&output,
                           "${CC:-cc} %s -Og -Wno-uninitialized -Dmain=model_main -fPIC -shared -Wl,-z,lazy "
                           "-Wl,-Bsymbolic -Iruntime -I'%s' '%s/probe.c' -o '%s/probe.so' -lm",
                           c_flags(), folder, folder, folder);
    if (code) die("the C text does not compile:\n%s", output);
    return loaded(format("%s/probe.so", folder));
}

static const char *next_folder(void)
{
    static int made;
    char *dir = format("%s/cuda-%d", temp_folder(), made++);
    must(run_command(NULL, "mkdir -p '%s'", dir) == 0);
    return dir;
}

Both both_sides(const Module *m)
{
    const char *folder = next_folder();
    Both b = {.folder = folder, .c_folder = format("%s/c", folder), .module = m};
    emit_cuda_side(&b);
    b.device = device_of(b.folder);
    return b;
}

/* For those who compare kernel by kernel. */
static void add_c_side(Both *b)
{
    emit_c_side(b);
    b->c_library = compiled_c(b->c_folder);
    void *call = dlsym(b->c_library, "call_number");
    memcpy(&b->call, &call, sizeof call);
}

void close_both(Both *b)
{
    if (b->c_library) dlclose(b->c_library);
    dlclose(b->device.library);
}

void need_simulator(void)
{
    char *output;
    int code = run_command(&output, "sh tests/sim/compile simulator '%s'", temp_folder());
    if (code == 77) skip_test(output);
    if (code) die("the simulator does not compile:\n%s", output);
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

/* How many ids there are where the kernel addresses by ids. */
static int64_t most_ids(const Kernel *k)
{
    if (k->kind != GATHER && k->kind != SCATTER && k->kind != OVERWRITE) return 16;
    const Operand *x = k->kind == SCATTER ? &k->writes.at[0] : &k->reads.at[0];
    return min64(16, x->view.shape.dim[k->node->ints[0]]);
}

/* Numbers above a quarter, of which everything has a logarithm and a root; or of both signs. */
static void fill(const Block *b, const Kernel *k, bool positive, Rng *r)
{
    Lathe_dtype type = (Lathe_dtype)b->root->dtype; /* the same words, in the same order */
    for (int64_t i = 0; i < b->bytes / dtype_bytes(b->root->dtype); i++) {
        double x = positive ? 0.25 + fabs(normal(r)) : normal(r);
        if (type == LATHE_I32) x = (double)below(r, most_ids(k));
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

double largest_error, finite_values, all_values;

/* ||cuda - c|| against ||c||, over numbers that are finite in both; those that are not must be so in both.  Of 16 bits
 * one in fifty may be rounded the other way. */
static bool close_enough(const Block *b, double bound)
{
    double difference = 0, norm = 0;
    int64_t others = 0, n = b->bytes / dtype_bytes(b->root->dtype);
    Lathe_dtype type = (Lathe_dtype)b->root->dtype; /* the same words, in the same order */
    bool stored = is_stored(b->root->dtype);
    if (!is_real(b->root->dtype) && !stored) return same_bits(b, b->c, b->cuda);
    for (int64_t i = 0; i < n; i++) {
        double x = get_element(type, b->c, i), y = get_element(type, b->cuda, i);
        all_values++;
        others += x != y && isfinite(x);
        if (isfinite(x) != isfinite(y)) return false;
        if (!isfinite(x)) continue;
        finite_values++;
        difference += (x - y) * (x - y);
        norm += x * x;
    }
    if (stored) return others <= 1 + n / 50 && sqrt(difference) <= sqrt(norm) * (type == LATHE_BF16 ? 0x1p-8 : 0x1p-11);
    double unit = type == LATHE_F64 ? 0x1p-52 : 0x1p-23, error = sqrt(difference) / (sqrt(norm) * unit + 1e-300);
    if (difference > 0) largest_error = fmax(largest_error, error);
    return error <= bound;
}

static void compare(Run *r, const Pair *p, const char *model, double bound, bool again)
{
    for (int i = 0; i < r->blocks.n; i++) {
        Block *b = &r->blocks.at[i];
        char *now = alloc((size_t)b->bytes);
        r->device->copy(now, b->device, (size_t)b->bytes, FROM_DEVICE);
        if (again) {
            expect(same_bits(b, b->cuda, now),
                   "%s: %s: another order of threads, or its plain loop, gives other bits of %s", model, p->cuda.name,
                   b->root->name);
            continue;
        }
        memcpy(b->cuda, now, (size_t)b->bytes);
        bool equal = reduces(p->kernel) ? close_enough(b, bound) : same_bits(b, b->c, b->cuda);
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
static void run_pair(const Both *b, int number, bool positive, const char *model, double bound, Rng *rng)
{
    Run r = {.device = &b->device};
    const Pair *p = &b->pairs.at[number];
    arguments_of(&r, p, &p->cuda, true, rng);
    void **for_c = arguments_of(&r, p, &p->c, false, rng), **for_cuda = arguments_of(&r, p, &p->cuda, true, rng);
    for (int i = 0; i < r.blocks.n; i++) {
        fill(&r.blocks.at[i], p->kernel, positive, rng);
        memcpy(r.blocks.at[i].c, r.blocks.at[i].first, (size_t)r.blocks.at[i].bytes);
    }
    b->call(number, for_c);
    for (int order = 0; order < (p->kernel->kind == ROWS ? 3 : 4); order++) {
        r.device->plain(order == 3);
        r.device->order(order % 3, 7);
        launch(&r, number, for_cuda);
        const char *report = r.device->report();
        if (!expect(!*report, "%s: %s", model, report)) break;
        compare(&r, p, model, bound, order > 0);
    }
    r.device->plain(false);
    free_blocks(&r);
}

void compare_sides(Both *b, const char *what, double bound, Rng *rng)
{
    if (!b->c_library) add_c_side(b);
    for (int i = 0; i < b->pairs.n; i++)
        for (int positive = 0; positive < 2; positive++) run_pair(b, i, positive, what, bound, rng);
}

/* ------------------------------------------------------------------ mistakes put in */

Device device_of_text(const Both *b, const char *text, const char *header)
{
    const char *folder = next_folder();
    must(run_command(NULL, "cp '%s/launchers.inc' '%s'/model.*h '%s/tables.c' '%s'", b->folder, b->folder, b->folder,
                     folder) == 0);
    must(write_file(format("%s/model.cu", folder), text, strlen(text)));
    if (header) must(write_file(format("%s/lathe_cuda.cuh", folder), header, strlen(header)));
    return device_of(folder);
}

Device device_with(const Both *b, const char *from, const char *to)
{
    const char *text = read_file(format("%s/model.cu", b->folder), NULL), *at = strstr(text, from);
    if (!at) die("\"%s\" is not in the text", from);
    Text t = {0};
    say(&t, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    return device_of_text(b, t.at, NULL);
}

const char *first_complaint(const Both *b, const Device *d, Rng *rng)
{
    for (int i = 0; i < b->pairs.n; i++) {
        Run r = {.device = d};
        void **arguments = arguments_of(&r, &b->pairs.at[i], &b->pairs.at[i].cuda, true, rng);
        for (int k = 0; k < r.blocks.n; k++) fill(&r.blocks.at[k], b->pairs.at[i].kernel, true, rng);
        launch(&r, i, arguments);
        const char *report = copy_string(r.device->report());
        free_blocks(&r);
        if (*report) return report;
    }
    return "nothing";
}
