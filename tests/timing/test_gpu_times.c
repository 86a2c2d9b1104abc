/* test_gpu_times.c: times on GPUs that are not there: parts add up and grow with what there is to do, a better GPU
 * takes less, products by hand; and GPT-2 beside what others have published of it (decision 057). */
#include "harness.h"
#include "timing/timing.h"

#include <math.h>

static const Program *train_of(const Module *m)
{
    for (int i = 0; i < m->programs.n; i++)
        if (entry_of(m->programs.at[i]->graph)->step) return m->programs.at[i];
    return NULL;
}

/* Of the forward pass alone: seconds of the kernels of eval. */
static double forward_on(const Gpu *g, const char *arguments)
{
    const Module *m = compile_model(format("%s --target cuda", arguments));
    Rates r = gpu_rates(g, precision_of(m->desc->options).tf32);
    double sum = 0;
    for (int i = 0; i < m->programs.n; i++) {
        if (m->programs.at[i]->graph->entry != ENTRY_eval) continue;
        Step_time t = step_time(m, &r, m->programs.at[i]);
        for (int k = 0; k < t.parts.n; k++) sum += t.parts.at[k].kernel ? t.parts.at[k].seconds : 0;
    }
    return sum;
}

static Step_time time_on(const Gpu *g, const char *arguments)
{
    const Module *m = compile_model(format("%s --target cuda", arguments));
    Rates r = gpu_rates(g, precision_of(m->desc->options).tf32);
    return step_time(m, &r, train_of(m));
}

static void adds_up(const char *what, const Step_time *t)
{
    double sum = 0;
    bool inputs = false, update = false;
    for (int i = 0; i < t->parts.n; i++) {
        const Time_part *p = &t->parts.at[i];
        sum += p->seconds;
        inputs |= !p->kernel && same(p->name, "inputs"), update |= !p->kernel && same(p->name, "optimizer_step");
        expect(p->seconds > 0 && isfinite(p->seconds) && p->bound, "%s: %s: %g s", what,
               p->kernel ? p->kernel->name : p->name, p->seconds);
    }
    expect(inputs && update, "%s: inputs or the update are missing", what);
    expect(fabs(sum - t->seconds) < 1e-9 * sum, "%s: parts take %g s, the step %g", what, sum, t->seconds);
}

#define SMALL "models/gpt.lua --config char_gpu --precision bf16"

static void grows(void)
{
    Gpu g = *gpu_named("h100-sxm"), other;
    const Step_time base = time_on(&g, SMALL), deep = time_on(&g, SMALL " --set layers=12"),
                    wide = time_on(&g, SMALL " --set batch=128");
    adds_up("char_gpu", &base);
    expect(deep.seconds > 1.5 * base.seconds, "twice the layers: %g s, not %g", deep.seconds, base.seconds);
    expect(wide.seconds > 1.5 * base.seconds && wide.seconds < 2.1 * base.seconds, "twice the batch: %g s, not %g",
           wide.seconds, base.seconds);
#define BETTER(change) other = g, change, expect(time_on(&other, SMALL).seconds < base.seconds, "no less: " #change)
    BETTER(other.memory *= 1.3);
    BETTER(other.narrow *= 1.3);
    BETTER(other.fp32 *= 1.3);
    BETTER(other.launch /= 2);
    BETTER(other.link *= 2);
    BETTER(other.cache *= 20);
#undef BETTER
}

/* The larger the type, the longer a step that products bound; and none of fp32 is faster than its peak. */
static void has_types(void)
{
    const Gpu *g = gpu_named("a100-80");
    const char *model = "models/gpt.lua --config gpt2";
    const Step_time narrow = time_on(g, format("%s --precision bf16", model)),
                    tf32 = time_on(g, format("%s --precision tf32", model)), whole = time_on(g, model);
    expect(narrow.seconds < tf32.seconds && tf32.seconds < whole.seconds, "bf16 %g s, tf32 %g s, fp32 %g s",
           narrow.seconds, tf32.seconds, whole.seconds);
    for (int i = 0; i < whole.parts.n; i++) {
        const Time_part *p = &whole.parts.at[i];
        if (!p->kernel || p->kernel->kind != GEMM) continue;
        double rate = p->calls * p->kernel->flops / p->seconds;
        expect(rate < 1e12 * g->fp32, "%s at %g FLOP/s", p->kernel->name, rate);
    }
}

static void all_gpus_take_all_models(void)
{
    static const char *const names[] = {"a100-40", "h200", "l4", "l40s", "rtx3090", "rtx4090"};
    static const char *const models[] = {"models/char_rnn.lua", "models/gan.lua", "models/convnet.lua",
                                         "models/gnn.lua"};
    for (int i = 0; i < COUNT_OF(models); i++) {
        const Module *m = compile_model(format("%s --target cuda", models[i]));
        for (int k = 0; k < COUNT_OF(names); k++) {
            Rates r = gpu_rates(gpu_named(names[k]), false);
            Step_time t = step_time(m, &r, train_of(m));
            adds_up(format("%s on %s", models[i], names[k]), &t);
        }
    }
    expect(!gpu_named("t4"), "a T4 is not sm_80");
}

/* GPT-2 of 124 million parameters, sequences of 1,024.  What others have published is of other programs: theirs and
 * ours do the same products and fuse alike.  within: how far a prediction may be above or below it. */
static void is_near_what_is_published(void)
{
    static const struct {
        const char *gpu, *what, *arguments;
        bool forward;
        double batch, milliseconds, within;
    } published[] = {
        {"a100-40", "llm.c, bf16, PR 323", "--precision bf16", false, 16, 16 * 1024 / 145., 1.4},
        {"a100-40", "PyTorch, bf16, PR 323", "--precision bf16", false, 16, 16 * 1024 / 115., 1.7},
        {"a100-80", "llm.c, bf16, each of eight GPUs", "--precision bf16", false, 64, 64 * 1024 / 218., 1.4},
        {"h100-sxm", "llm.c, bf16, each of eight GPUs", "--precision bf16", false, 64, 64 * 1024 / 463., 1.4},
        {"rtx4090", "llm.c, TF32, forward alone, PR 89", "--precision tf32", true, 4, 34.06, 1.5},
        {"rtx4090", "PyTorch, TF32, forward alone, PR 89", "--precision tf32", true, 4, 36.55, 1.5},
    };
    for (int i = 0; i < COUNT_OF(published); i++) {
        const Gpu *g = gpu_named(published[i].gpu);
        const char *model = format("models/gpt.lua --config gpt2 --set accumulate=1 --set batch=%g %s",
                                   published[i].batch, published[i].arguments);
        double ms = 1e3 * (published[i].forward ? forward_on(g, model) : time_on(g, model).seconds);
        double ratio = ms / published[i].milliseconds;
        printf("note: %s, %s: %.1f ms predicted, %.1f published: %.2f\n", g->name, published[i].what, ms,
               published[i].milliseconds, ratio);
        expect(ratio < published[i].within && ratio > 1 / published[i].within, "%s: %g of %s", g->name, ratio,
               published[i].what);
    }
}

int main(void)
{
    grows();
    has_types();
    all_gpus_take_all_models();
    is_near_what_is_published();
    return finish();
}
