/* test_kernel_text.c: kernels as text: after every pass over kernels, for the processor and for CUDA, what is read back
 * prints as itself, and the passes that are left make the same of it as of what was never text.  Bad text is refused
 * with its line. */
#include "../graph/apart.h"
#include "../graph/random_graph.h"

#include <string.h>

static const char *text_of(const Module *m)
{
    Text t = {0};
    say(&t, "%s", "");
    for (int i = 0; i < m->programs.n; i++) print_kernels(&t, m->programs.at[i]);
    return t.at;
}

/* The first line in which b is another than a. */
static const char *difference(const char *a, const char *b)
{
    while (*a && strcspn(a, "\n") == strcspn(b, "\n") && strncmp(a, b, strcspn(a, "\n")) == 0)
        a += strcspn(a, "\n") + 1, b += strcspn(b, "\n") + (*b != 0);
    return format("\n- %.*s\n+ %.*s", (int)strcspn(a, "\n"), a, (int)strcspn(b, "\n"), b);
}

enum { BESIDE = 1 };

/* Each pass over kernels in turn; what its text is read as goes on beside it, for some passes, and what the first was
 * read as to the end. */
static void text_by_text(const char *what, Module *m)
{
    int n;
    const Pass *passes = pass_list(&n), *lower = passes;
    while (lower->kind != LOWER) lower++;
    VEC(Module *) read = {0};
    for (const Pass *p = lower; p < passes + n; p++) {
        if (p != lower) compile_kernels(m, p->name);
        int from = read.n > BESIDE ? read.n - BESIDE : 0;
        if (from > 0) compile_kernels(read.at[0], p->name);
        for (int i = from; i < read.n; i++) compile_kernels(read.at[i], p->name);
        const char *text = text_of(m);
        push(&read, parse_kernels(what, text, m->desc));
        for (int i = 0; i < read.n; i = i < from ? from : i + 1) {
            const char *again = text_of(read.at[i]);
            expect(strcmp(text, again) == 0, "%s after %s, read after %s:%s", what, p->name, lower[i].name,
                   difference(text, again));
        }
        const char *alone = text_of(parse_kernels(what, text, describe(NULL, what, &options)));
        expect(strcmp(text, alone) == 0, "%s after %s, read without its description:%s", what, p->name,
               difference(text, alone));
    }
}

static void model_by_text(void *arguments)
{
    take_options(arguments);
    text_by_text(arguments, compile_until(front(&options), NULL, "lower"));
}

static void all_panels_by_text(void *arguments)
{
    take_options(arguments);
    options.all_panels = options.all_persist = true;
    text_by_text(arguments, compile_until(front(&options), NULL, "lower"));
}

static void models_by_text(void)
{
    static const char *const models[] = {
        "models/gpt.lua",      "models/char_rnn.lua",     "models/llama.lua",      "models/mlp.lua",
        "models/mu.lua",       "models/diffusion.lua",    "models/seq2seq.lua",    "models/pointer_generator.lua",
        "models/postnorm.lua", "tests/models/blocks.lua", "tests/models/turns.lua"};
    static const char *const ways[] = {"", "--target cuda", "--precision bf16 --target cuda"};
    for (int i = 0; i < COUNT_OF(models); i++)
        for (int w = 0; w < COUNT_OF(ways); w++) {
            char *arguments = format("%s %s", models[i], ways[w]);
            expect(run_apart(model_by_text, arguments), "%s", arguments);
            if (w < 2) expect(run_apart(all_panels_by_text, arguments), "%s in panels, in one launch", arguments);
        }
}

/* ------------------------------------------------------------------ random graphs */

static void random_by_text(void *seed)
{
    options = (Options){.target = *(uint64_t *)seed % 3 ? &target_cpu : &target_cuda, .all_persist = true};
    options.all_panels = *(uint64_t *)seed % 2;
    Graph *g = random_graph_apart(*(uint64_t *)seed, false);
    Desc *d = describe_graphs(1, &g);
    text_by_text(format("random graph %llu", (unsigned long long)*(uint64_t *)seed), compile_until(d, NULL, "lower"));
}

static void random_graphs_by_text(uint64_t count)
{
    for (uint64_t seed = 0; seed < count; seed++)
        expect(run_apart(random_by_text, &seed), "random graph %llu", (unsigned long long)seed);
}

/* ------------------------------------------------------------------ bad text */

#define GRAPH   "graph g\n%1 = input x : f32[2, 3]\n%2 = neg %1 : f32[2, 3]\nvalue y = %2\n"
#define BUFFERS "buffer x inputs : f32[2, 3] of %1\nbuffer y outputs : f32[2, 3] of %2\n"
#define LOAD    "load %1 from x(3*i0 + i1)\n"

#define MAP "0: rows y over [2, 3]\n" LOAD "phase\neach %2\nstore %2 to y(3*i0 + i1)\n"

static const struct {
    const char *text, *says;
} bad[] = {
    {GRAPH, "expected 'program'"},
    {GRAPH "program\n", "expected 'after'"},
    {GRAPH "program after fuse\n", "fuse is no pass that leaves kernels"},
    {GRAPH "program after lower\nbuffer t tables : f32[2, 3] of %2\n", "expected 'holds'"},
    {GRAPH "program after lower\nbuffer s inputs : f32[2, 3] of %2\n", "is of an input"},
    {GRAPH "program after lower\nbuffer s states : f32[2, 3] of %2\n", "is no state"},
    {GRAPH "program after lower\nbuffer h work : f32[2, 3] strides {100, 1} of %2\n", "only parameters and gradients"},
    {GRAPH "program after lower\n" BUFFERS "buffer z outputs : f32[2, 3] of %2\n", "buffers: 2, values: 1"},
    {GRAPH "program after lower\n" BUFFERS "0: rows y over [2, 3] flops nan\n", "finite"},
    {GRAPH "program after lower\n" BUFFERS "0: rows y over [2, 3]\nload %1 from x(i0 + i0)\n", "i0 stands here twice"},
    {GRAPH "program after lower\n" BUFFERS "0: rows y over [2, 3]\nload %1 from x[3](i0)\nphase\n",
     "the shape that it runs over"},
    {GRAPH "program after lower\n" BUFFERS "0: gemm y of %2\nvector %1 from x(i1)\n", "no such line here"},
    {GRAPH "program after sides\n" BUFFERS "0: rows y over [2, 3] backward\n", "of graphs with gradients"},
    {GRAPH "program after lower lines 3\n", "expected the end of the line"},
    {GRAPH "program after lower\nbuffer x nowhere : f32[2] of %1\n", "nowhere is not a home of buffers"},
    {GRAPH "program after lower\nbuffer x input : f32[2] of %1\n", "nearest is inputs"},
    {GRAPH "program after lower\nbuffer x inputs : f32[2] of %9\n", "%9 is not in the graph"},
    {GRAPH "program after lower\nbuffer x inputs : f32[2]\n", "expected 'of'"},
    {GRAPH "program after lower\nbuffer x inputs : f32[200000000000000, 200000000000000] of %1\n", "too many elements"},
    {GRAPH "program after lower\nbuffer x parameters : f32[2] of %1\n", "which one"},
    {GRAPH "program after lower\nbuffer x parameters : f32[2] of %1 param w\n", "there is no parameter w"},
    {GRAPH "program after lower\nbuffer x tables : f32[2] holds [1]\n", "1 values are listed"},
    {GRAPH "program after lower\n" BUFFERS "buffer x inputs : f32[2] of %1\n", "there is a buffer x already"},
    {GRAPH "program after lower\nbuffer x work : f32[2] of %1 over y\n", "there is no buffer y"},
    {GRAPH "program after lower\nbuffer x work : f32[2] of %1 over x\n", "would lie over itself"},
    {GRAPH "program after lower\nbuffer x work : f32[2] of %1 lives 0 0 begins 0 0\n", "from 0 to -1"},
    {GRAPH "program after lower\nbuffer x work : f32[2] of %1 in %1\n", "is no loop"},
    {GRAPH "program after lower\n1: rows y over [2, 3]\n", "this is number 0"},
    {GRAPH "program after lower\n0: row y over [2, 3]\n", "nearest is rows"},
    {GRAPH "program after lower\n0: rows y over [2, 3]\n", "has a shape and a phase"},
    {GRAPH "program after lower\n0: rows y over [2, 3]\nload %1 from z(i0)\n", "there is no buffer z"},
    {GRAPH "program after lower\n" BUFFERS "0: rows y over [2, 3]\nload %1 from x(4*i0 + i1)\n", "reaches 0 … 6"},
    {GRAPH "program after lower\n" BUFFERS "0: rows y over [2, 3]\nload %1 from x(-1 + 3*i0 + i1)\n", "reaches -1 … 4"},
    {GRAPH "program after lower\n" BUFFERS "0: rows y over [2, 3]\nload %1 from x(i2)\n",
     "is no index of a shape of 2 axes"},
    {GRAPH "program after lower\n" BUFFERS "0: rows y over [2, 3]\nload %1 from x(i0) if 0 <= i1 < 4\n",
     "i1 ends at 3"},
    {GRAPH "program after lower\n" BUFFERS "0: rows y over [2, 3]\nload %1 from x(2*%1)\n", "is no loop"},
    {GRAPH "program after lower\n" BUFFERS "0: rows y over [2, 3]\neach %2\n", "expected 'phase' before it"},
    {GRAPH "program after lower\n" BUFFERS "0: rows y over [2, 3]\n" LOAD "phase\nstore %2 to (i0)\n",
     "the buffer that is written"},
    {GRAPH "program after lower\n" BUFFERS "0: rows y over [2, 3]\n" LOAD "phase\ncolumns %2\n",
     "each sum over columns has partials"},
    {GRAPH "program after lower\n" BUFFERS "0: rows y over [2, 3]\n" LOAD "phase\ntwist %2\n",
     "a kernel of kind rows has no such line here: 'twist %2'"},
    {GRAPH "program after lower steps 2\n" BUFFERS "0: rows y over [2, 3]\n" LOAD "phase\neach %2\n",
     "2 steps, kernels: 1"},
    {GRAPH "program after lower\n" BUFFERS "0: gemm y of %2\n", "a product has sizes"},
    {GRAPH "program after lower\n" BUFFERS "0: gather y of %2\n", "it is of gather, and not of neg"},
    {GRAPH "program after lower\n" BUFFERS "0: repeat y\n", "expected the loop"},
    {GRAPH "program after lower\n" BUFFERS "0: panels y rows 2 unit 1 highest 2\nend\n", "panels have rows"},
    {GRAPH "program after lower\n" BUFFERS "0: panels y rows 2 unit 1 highest 2\n", "this one has no 'end'"},
    {GRAPH "program after plan\n" BUFFERS MAP "nest [i0 i1]\n", "only what passes from axes on leave"},
    {GRAPH "program after axes\n" BUFFERS MAP, "expected the kernel's line 'nest'"},
    {GRAPH "program after axes\n" BUFFERS MAP "nest [i0]\n", "axis i1 is walked"},
    {GRAPH "program after axes\n" BUFFERS MAP "nest [i1] [i0]\n", "in the kernel's order"},
    {GRAPH "program after axes\n" BUFFERS MAP "nest [i0 i2]\n", "from 0 to 1"},
    {GRAPH "program after axes\n" BUFFERS MAP "nest [i0 i1] threads 9\n", "from 1 to 2"},
    {GRAPH "program after axes\n" BUFFERS MAP "nest [i0] [i1] threads 2\n", "more loops than there are"},
    {GRAPH "program after axes\n" BUFFERS MAP "nest [i0] [i1] lanes %2\n", "lanes are of reductions"},
    {GRAPH "program after axes\n" BUFFERS MAP "nest [i0] [i1] draws %2\n", "random bits of a row"},
    {GRAPH "program after axes\n" BUFFERS MAP "nest [i0] [i1] team warp\n", "loops of C have no teams"},
    {GRAPH "program after axes\n" BUFFERS MAP "nest [i0] [i1]\nnest [i0] [i1]\n", "has a nest already"},
    {GRAPH "program after axes\n" BUFFERS MAP "nest [i0] [i1]\nlaunch all blocks 1\n", "only what pass launch leaves"},
    {GRAPH "program after launch\n" BUFFERS MAP "launch all blocks 1\n", "behind its line 'nest'"},
    {GRAPH "program after launch\n" BUFFERS MAP "nest [i0] [i1]\nlaunch none blocks 1\n", "what a kernel launches"},
    {GRAPH "program after launch\n" BUFFERS MAP "nest [i0] [i1]\nlaunch all blocks 1\n", "loops of C have no teams"},
    {GRAPH "program after launch\n" BUFFERS MAP "nest [i0] [i1]\ndone w\n", "only pass done finds"},
    {GRAPH "program after done\n" BUFFERS MAP "nest [i0] [i1]\ndone w\n", "do not say which gradients"},
};

static void parse(const void *text)
{
    text_of(parse_kernels("bad.kernels", text, describe(NULL, "bad.kernels", &options)));
}

static void bad_text(void)
{
    for (int i = 0; i < COUNT_OF(bad); i++) {
        char *said;
        int code = apart(parse, bad[i].text, &said);
        expect(code == 1 && strstr(said, bad[i].says), "%s: exit code %d, says\n%s", bad[i].text, code, said);
    }
}

int main(void)
{
    bad_text();
    random_graphs_by_text(long_run() ? 3000 : 150);
    models_by_text();
    return finish();
}
