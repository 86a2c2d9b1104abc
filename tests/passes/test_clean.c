/* test_clean.c: pass_clean drops what nobody reads and nothing else; pass_precision changes every real and nothing
 * else. */
#include "../graph/apart.h"
#include "../graph/random_graph.h"

static void becomes(const char *what, const char *from, const char *to)
{
    Graph *g = parse_graph(what, from);
    pass_clean(g, describe(NULL, "test", &options));
    check_graph(g, "clean");
    expect(strcmp(printed(g), to) == 0, "%s becomes\n%s", what, printed(g));
}

/* Carries b and c only keep each other going; d is read outside, e inside; f stands still. */
static const char cluttered[] = "graph g\n"
                                "%1 = input x : f32[4]\n"
                                "%2 = input y : f32[4]\n"
                                "%3 = input z : f32[3, 4]\n"
                                "%4 = loop time 3\n"
                                "    index %5 : i32[]\n"
                                "    carry %6 = %1 : f32[4]\n"
                                "    carry %7 = %2 : f32[4]\n"
                                "    carry %8 = %1 : f32[4]\n"
                                "    carry %9 = %2 : f32[4]\n"
                                "    carry %10 = %2 : f32[4]\n"
                                "    x %11 = %3 : f32[4]\n"
                                "    %12 = add %6 %7 : f32[4]\n"
                                "    %13 = add %8 %9 : f32[4]\n"
                                "    %14 = mul %13 %10 : f32[4]\n"
                                "    %15 = neg %11 : f32[4]\n"
                                "    next %6 = %7\n"
                                "    next %7 = %12\n"
                                "    next %8 = %14\n"
                                "    next %9 = %8\n"
                                "    next %10 = %10\n"
                                "    yield %12\n"
                                "    yield %15\n"
                                "    yield %13\n"
                                "end\n"
                                "%16 = pick %4 {0, 2} : f32[4]\n"
                                "%17 = pick %4 {0, 4} : f32[4]\n"
                                "%18 = pick %4 {1, 2} : f32[3, 4]\n"
                                "value a = %16\n"
                                "value b = %17\n"
                                "value c = %18\n";

static const char cleaned[] = "graph g\n"
                              "%1 = input x : f32[4]\n"
                              "%2 = input y : f32[4]\n"
                              "%3 = loop time 3\n"
                              "    index %4 : i32[]\n"
                              "    carry %5 = %1 : f32[4]\n"
                              "    carry %6 = %2 : f32[4]\n"
                              "    %7 = add %5 %6 : f32[4]\n"
                              "    %8 = mul %7 %2 : f32[4]\n"
                              "    next %5 = %8\n"
                              "    next %6 = %5\n"
                              "    yield %7\n"
                              "end\n"
                              "%9 = pick %3 {0, 0} : f32[4]\n"
                              "%10 = pick %3 {1, 0} : f32[3, 4]\n"
                              "value a = %9\n"
                              "value b = %2\n"
                              "value c = %10\n";

/* The outer carry %4 feeds the inner loop, but only a result of it that nobody reads. */
static const char nested[] = "graph g\n"
                             "%1 = input x : f32[]\n"
                             "%2 = loop layer 3\n"
                             "    index %3 : i32[]\n"
                             "    carry %4 = %1 : f32[]\n"
                             "    carry %5 = %1 : f32[]\n"
                             "    %6 = loop time 2\n"
                             "        index %7 : i32[]\n"
                             "        carry %8 = %4 : f32[]\n"
                             "        carry %9 = %5 : f32[]\n"
                             "        %10 = add %8 %9 : f32[]\n"
                             "        %11 = exp %9 : f32[]\n"
                             "        next %8 = %10\n"
                             "        next %9 = %11\n"
                             "    end\n"
                             "    %12 = pick %6 {0, 0} : f32[]\n"
                             "    %13 = pick %6 {0, 1} : f32[]\n"
                             "    next %4 = %12\n"
                             "    next %5 = %13\n"
                             "end\n"
                             "%14 = pick %2 {0, 1} : f32[]\n"
                             "value a = %14\n";

static const char nested_cleaned[] = "graph g\n"
                                     "%1 = input x : f32[]\n"
                                     "%2 = loop layer 3\n"
                                     "    index %3 : i32[]\n"
                                     "    carry %4 = %1 : f32[]\n"
                                     "    %5 = loop time 2\n"
                                     "        index %6 : i32[]\n"
                                     "        carry %7 = %4 : f32[]\n"
                                     "        %8 = exp %7 : f32[]\n"
                                     "        next %7 = %8\n"
                                     "    end\n"
                                     "    %9 = pick %5 {0, 0} : f32[]\n"
                                     "    next %4 = %9\n"
                                     "end\n"
                                     "%10 = pick %2 {0, 0} : f32[]\n"
                                     "value a = %10\n";

/* ------------------------------------------------------------------ random graphs */

static void equal_outputs(uint64_t seed, const Graph *g, const Value *before)
{
    Value *after = NEW_ARRAY(Value, g->outs.n);
    eval_graph(g, random_feed, &seed, after);
    for (int k = 0; k < g->outs.n; k++)
        expect(memcmp(before[k].at, after[k].at, sizeof(double) * (size_t)elements(after[k].shape)) == 0,
               "seed %llu: output %s changes", (unsigned long long)seed, g->outs.at[k].name);
}

static void test_random(uint64_t seed)
{
    Graph *g = random_loss_graph(seed);
    Value *before = NEW_ARRAY(Value, g->outs.n);
    eval_graph(g, random_feed, &seed, before);
    int nodes = count_nodes(g);
    pass_clean(g, describe(NULL, "test", &options));
    check_graph(g, "clean");
    equal_outputs(seed, g, before);
    expect(count_nodes(g) <= nodes, "seed %llu grows", (unsigned long long)seed);
    options.precision = "fp64";
    pass_precision(g, describe(NULL, "test", &options));
    check_graph(g, "precision");
    expect(!strstr(printed(g), " : f32["), "seed %llu: an f32 is left", (unsigned long long)seed);
    equal_outputs(seed, g, before);
}

static void unknown_precision(const void *graph)
{
    options.precision = "fp99";
    pass_precision((Graph *)graph, describe(NULL, "test", &options));
}

int main(void)
{
    becomes("the cluttered loop", cluttered, cleaned);
    becomes("the clean loop", cleaned, cleaned);
    becomes("the nested loops", nested, nested_cleaned);
    for (uint64_t seed = 0; seed < (long_run() ? 1000 : 100); seed++) test_random(seed);
    char *said;
    int code = apart(unknown_precision, random_graph(1), &said);
    expect(code == 2 && strstr(said, "--precision fp99: expected fp32"), "an unknown precision gives %d and says %s",
           code, said);
    return finish();
}
