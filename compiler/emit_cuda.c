/* emit_cuda.c: writes model.cu: the kernels of all entries as CUDA, each with what launches it, beside it.  So far
 * those of kind ROWS: what else an entry needs is listed at the end of the file. */
#include "emit.h"

#include <string.h>

static void say_head(Text *t, const Module *m)
{
    const Desc *d = m->desc;
    const char *config = d->config && *d->config ? format(", configuration %s", d->config) : "";
    say(t, "/* model.cu: %s, made by lathe from %s%s.\n", d->model, file_name(d->file), config);
    say(t, " *   Edit that, not this file.  %s%s%s.\n *\n", precision()->name, options.no_fuse ? ", not fused" : "",
        options.no_reuse ? ", memory not shared" : "");
    say(t, " *   The maps and row reductions of all entries.  Not here yet: what is listed at the end. */\n");
    say(t, "#include \"lathe_cuda.cuh\"\n\n");
}

/* What each entry runs, in order: kernels that are here by their call, the others by their kind. */
static void say_steps(Text *t, Kernel *const *kernels, int n, int depth, Emitted *tally)
{
    for (int i = 0; i < n; i++) {
        const Kernel *k = kernels[i];
        if (k->kind == REPEAT) {
            say(t, " *%*s%d times:\n", 3 + 4 * depth, "", (int)k->loop->trip);
            say_steps(t, k->body.at, k->body.n, depth + 1, tally);
        } else if (k->kind != GEMM && k->kind != ATTENTION) {
            const char *call = call_text(k);
            say(t, " *%*s%.*s\n", 3 + 4 * depth, "", (int)strcspn(call, "("), call);
            tally->here++;
        } else {
            say(t, " *%*snot here yet: %s %s\n", 3 + 4 * depth, "", kernel_kind(k), k->name);
            tally->missing++;
        }
    }
}

Emitted emit_cuda(const Module *m, const char *dir)
{
    Emitted tally = {0};
    Text cu = {0}, steps = {0}, plan = {0};
    set_sizes(m->desc);
    name_parameters(m->desc);
    forget_constants();
    start_functions(m);
    for (int i = 0; i < m->programs.n; i++) {
        const Program *p = m->programs.at[i];
        enter_scope(m, p);
        say(&steps, "/* %s\n", p->graph->name);
        say_steps(&steps, p->kernels.at, p->kernels.n, 0, &tally);
        say(&steps, " */\n");
    }
    say_head(&cu, m);
    say_sizes(&cu);
    say_functions(&cu);
    say(&cu, "%s", steps.at ? steps.at : "");
    print_plan(&plan, m);
    make_folder(dir);
    put_file(dir, "model.cu", cu.at, cu.n);
    put_file(dir, "plan.txt", plan.at, plan.n);
    return tally;
}
