/* plan.c: the memory plan: as text for plan.txt and `lathe plan`, and as a table in model.c. */
#include "desc/target.h"
#include "emit/emit.h"
#include "runtime/interface/names.h"

static int count_kernels(Page *page, Kernel *const *kernels, int n)
{
    int count = 0;
    for (int i = 0; i < n; i++)
        count += kernels[i]->kind == REPEAT && !is_one_launch(page, kernels[i])
                     ? count_kernels(page, kernels[i]->body.at, kernels[i]->body.n)
                     : 1;
    return count;
}

int program_kernels(Page *page, const Program *p) { return count_kernels(page, p->kernels.at, p->kernels.n); }

static void say_kernel_list(Page *page, Text *t, int depth, Kernel *const *kernels, int n)
{
    for (int i = 0; i < n; i++) {
        const Kernel *k = kernels[i];
        if (k->body.n) {
            say(t, "  %4d  %*s", k->step, depth * 2, "");
            if (k->kind == PANELS) say(t, "%s: %lld rows in panels\n", kernel_called(page, k), (long long)k->rows);
            else
                say(t, "%s x %lld%s\n", k->loop->name ? k->loop->name : "loop", (long long)k->loop->trip,
                    is_one_launch(page, k) ? " in one launch" : "");
            say_kernel_list(page, t, depth + 1, k->body.at, k->body.n);
            continue;
        }
        Text what = {0};
        say(&what, "%s", kernel_called(page, k));
        if (k->where.file) say(&what, "  (%s:%d)", k->where.file, k->where.line);
        say(t, "  %4d  %*s%-*s", k->step, depth * 2, "", 52 - depth * 2, what.at);
        if (k->flops > 0) say(t, " %s flop", grouped((int64_t)k->flops));
        else say(t, " %s bytes", grouped((int64_t)k->bytes));
        say(t, "\n");
    }
}

static void say_category(Text *t, const char *name, int64_t bytes)
{
    say(t, "  %-14s %18s bytes\n", name, grouped(bytes));
}

/* A part of the category above, which counts it already. */
static void say_part(Text *t, const char *name, int64_t bytes)
{
    if (bytes) say(t, "    %-17s %13s bytes\n", name, grouped(bytes));
}

static void say_optimizer(Text *t, const Desc *d, const Plan *p)
{
    say_category(t, "optimizer", p->optimizer);
    if (p->mean) say_part(t, "moments", p->optimizer - p->mean);
    say_part(t, "mean of weights", p->mean);
    say_category(t, "states", p->states);
    say_part(t, d->direction ? d->direction->name : "optimizers in Lua", p->directed);
}

/* The line "step" has segments, sums and settings of the optimizer. */
static void say_device(Text *t, const Plan *p)
{
    say_category(t, "step", p->step);
    say_category(t, "workspace", p->workspace);
    say(t, "on the host: %s bytes%s\n", grouped(p->ranks * (p->image + p->pinned + p->data) + p->shared),
        p->ranks > 1 ? format(", %d times these, and shared", p->ranks) : "");
    say_category(t, "image", p->image);
    say_category(t, "pinned", p->pinned);
    say_category(t, p->data ? "data, at most" : "data", p->data);
    if (p->ranks > 1) say_category(t, "shared", p->shared);
}

static void say_ranks(Text *t, const Plan *p)
{
    say_category(t, "ranks", p->between);
    if (p->frozen) say(t, "frozen parameters, whole in each: %s bytes of these\n", grouped(p->frozen));
    if (p->shared) say(t, "rank 0, while it saves: %s bytes more, what other ranks keep\n", grouped(p->shared));
}

/* What decode remembers of each position, unless in fp32. */
static void say_cache(Page *page, Text *t)
{
    const Desc *d = page->desc;
    int64_t bytes = 0, wide = 0;
    for (int i = 0; i < d->states.n; i++) {
        const Tensor_spec *s = &d->states.at[i];
        if (s->role != LATHE_STATE || s->dtype != cache_type(d->options) || s->dtype == F32) continue;
        bytes += bytes_of_elements(s->dtype, elements(s->shape));
        wide += bytes_of_elements(F32, elements(s->shape));
    }
    if (bytes)
        say(t, "keys and values of decode in %s (--cache): %s bytes, in fp32 %s\n", dtype_name(cache_type(d->options)),
            grouped(bytes), grouped(wide));
}

/* Of a step: the groups of rows of --exact-sums; 1: there are none. */
static int64_t groups_of_step(const Desc *d)
{
    const Graph *train = d->options->exact_rows ? entry_graph(d, ENTRY_train) : NULL;
    return train ? parts_of_batch(d, train) : 1;
}

/* Of work: all partial sums but the outermost, which is that of the gradients. */
static int64_t bytes_of_partial_sums(const Desc *d, const Plan *p)
{
    int64_t bytes = 0;
    for (int64_t groups = groups_of_step(d); groups > 2; groups /= 2) bytes += p->gradients;
    return bytes;
}

static void say_exact(Text *t, const Desc *d)
{
    const long long rows = (long long)d->options->exact_rows, groups = (long long)groups_of_step(d);
    if (rows)
        say(t,
            "--exact-sums: a step has %lld group%s of %lld row%s, one after another: products of so few rows take "
            "longer, "
            "and each group's gradients are added by kernels of their own\n",
            groups, groups > 1 ? "s" : "", rows, rows > 1 ? "s" : "");
}

void print_plan(Page *page, Text *t)
{
    const Module *m = page->module;
    const Plan *p = &m->plan;
    const Options *o = page->desc->options;
    bool device = o->target->device;
    const char *where = p->ranks > 1 ? format(device ? " on each of %d GPUs" : " in each of %d ranks", p->ranks)
                        : device     ? " on the GPU"
                                     : "";
    say(t, "memory of %s%s: %s bytes (no less than %s), %s parameters%s\n", page->desc->model, where, grouped(p->total),
        grouped(p->lower_bound), grouped(p->flat.count),
        p->teacher ? format(", and %s of the teacher", grouped(p->taught.count)) : "");
    if (o->split > 1)
        say(t, "each micro-batch of %lld rows is cut into %d of %lld (--memory)\n", (long long)page->desc->batch,
            o->split, (long long)(page->desc->batch / o->split));
    say_exact(t, page->desc);
    if (o->shard_parameters && p->ranks == 1)
        say(t, "one rank keeps all parameters; --%s N shows what each of N ranks needs\n", device ? "gpus" : "ranks");
    say_category(t, "parameters", p->parameters);
    if (p->teacher) say_category(t, "teacher", p->teacher);
    say_category(t, "gradients", p->gradients);
    say_optimizer(t, page->desc, p);
    say_category(t, "inputs", p->inputs);
    say_category(t, "outputs", p->outputs);
    say_category(t, "work", p->work);
    say_part(t, "partial gradients", bytes_of_partial_sums(page->desc, p));
    if (!device) say_category(t, "blas", p->blas);
    if (!device) say_category(t, p->data ? "data, at most" : "data", p->data); /* a small data set takes less */
    say_category(t, "generation", p->generation);
    if (device) say_device(t, p);
    else if (p->ranks > 1) say_ranks(t, p);
    say_cache(page, t);
    if (p->slots)
        say(t, "%lld texts at once (serve, generate): %s bytes of states, not counted above\n",
            (long long)page->desc->recipe.slots, grouped(p->slots));
    for (int i = 0; i < m->programs.n; i++) {
        const Program *q = m->programs.at[i];
        enter_scope(page, q);
        say(t, "\n%s: %d kernels in %d steps, %s flop\n", q->graph->name, program_kernels(page, q), q->steps,
            grouped((int64_t)entry_flops(q)));
        say_memory(page, t, q, "  ", true);
        say(t, "\n");
        say_kernel_list(page, t, 0, q->kernels.at, q->kernels.n);
    }
}

/* ------------------------------------------------------------------ the same as JSON */

static int kernels_of_all(Page *page)
{
    int n = 0;
    for (int i = 0; i < page->module->programs.n; i++) n += program_kernels(page, page->module->programs.at[i]);
    return n;
}

void say_plan_json(Page *page, Text *t)
{
    const Module *m = page->module;
    const Plan *p = &m->plan;
    say(t,
        "\"parameters\": %lld, \"flops_per_step\": %.0f, \"planned_bytes\": %lld, \"lower_bound_bytes\": %lld, "
        "\"kernels\": %d,\n \"bytes\": {\"parameters\": %lld, \"teacher\": %lld, \"gradients\": %lld, "
        "\"optimizer\": %lld, \"states\": %lld, \"inputs\": %lld, \"outputs\": %lld, \"work\": %lld, ",
        (long long)p->flat.count, m->flops_per_step, (long long)p->total, (long long)p->lower_bound,
        kernels_of_all(page), (long long)p->parameters, (long long)p->teacher, (long long)p->gradients,
        (long long)p->optimizer, (long long)p->states, (long long)p->inputs, (long long)p->outputs, (long long)p->work);
    if (page->desc->options->target->device)
        say(t,
            "\"generation\": %lld, \"step\": %lld, \"workspace\": %lld},\n \"gpus\": %d, \"host_bytes\": "
            "{\"image\": %lld, \"pinned\": %lld, \"data\": %lld, \"shared\": %lld}",
            (long long)p->generation, (long long)p->step, (long long)p->workspace, p->ranks, (long long)p->image,
            (long long)p->pinned, (long long)p->data, (long long)p->shared);
    else
        say(t,
            "\"blas\": %lld, \"data\": %lld, \"generation\": %lld, \"ranks\": %lld},\n \"ranks\": %d, "
            "\"saving_bytes\": %lld",
            (long long)p->blas, (long long)p->data, (long long)p->generation, (long long)p->between, p->ranks,
            (long long)(p->ranks > 1 ? p->shared : 0));
}

/* ------------------------------------------------------------------ the same as a table of the program */

static const char *const category_names[] = {
#define CATEGORY(name) [CATEGORY_##name] = #name,
#include "runtime/interface/categories.def"
};

Categories planned_categories(const Module *m)
{
    const Plan *p = &m->plan;
    bool device = m->desc->options->target->device;
    enum Where_planned { ANYWHERE, CPU_ALONE, GPU_ALONE, BESIDE_GPU };
    const struct {
        Category category;
        int64_t bytes;
        enum Where_planned where;
    } rows[] = {{CATEGORY_parameters, p->parameters, ANYWHERE},
                {CATEGORY_teacher, p->teacher, ANYWHERE},
                {CATEGORY_gradients, p->gradients, ANYWHERE},
                {CATEGORY_optimizer, p->optimizer, ANYWHERE},
                {CATEGORY_states, p->states, ANYWHERE},
                {CATEGORY_inputs, p->inputs, ANYWHERE},
                {CATEGORY_outputs, p->outputs, ANYWHERE},
                {CATEGORY_work, p->work, ANYWHERE},
                {CATEGORY_blas, p->blas, CPU_ALONE},
                {CATEGORY_data, p->data, CPU_ALONE},
                {CATEGORY_generation, p->generation, ANYWHERE},
                {CATEGORY_step, p->step, GPU_ALONE},
                {CATEGORY_workspace, p->workspace, GPU_ALONE},
                {CATEGORY_image, p->image, BESIDE_GPU},
                {CATEGORY_pinned, p->pinned, BESIDE_GPU},
                {CATEGORY_data, p->data, BESIDE_GPU}};
    Categories c = {0};
    for (int i = 0; i < COUNT_OF(rows); i++) {
        if (rows[i].category == CATEGORY_teacher && !m->desc->teacher) continue;
        if (device ? rows[i].where == CPU_ALONE : rows[i].where > CPU_ALONE) continue;
        push(&c.all, ((Lathe_bytes){category_names[rows[i].category], rows[i].bytes}));
        c.host += rows[i].where == BESIDE_GPU;
    }
    return c;
}

void say_plan_table(Text *t, const Categories *c)
{
    say(t, "static const Lathe_bytes planned[] = {\n");
    for (int i = 0; i < c->all.n; i++)
        say(t, "    {\"%s\", %lld},\n", c->all.at[i].category, (long long)c->all.at[i].bytes);
    say(t, "};\n\n");
}
