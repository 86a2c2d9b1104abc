/* test_simplify.c: the simplifier does what it is for on small graphs, keeps the values of random ones, and has nothing
 * left to do when it runs again. */
#include "../graph/random_graph.h"

/* ------------------------------------------------------------------ small graphs */

/* x, y: f32[2, 6], p: bool[2, 6], i: i32[2, 6] are there; %9 is the result, which becomes `wanted`. */
static const struct {
    const char *what, *lines, *type, *wanted;
} small[] = {
    {"reshape of reshape", "%8 = reshape %1 : f32[12]\n%9 = reshape %8 : f32[3, 4]\n", "f32[3, 4]", "reshape %1"},
    {"reshape undone", "%8 = reshape %1 : f32[12]\n%9 = reshape %8 : f32[2, 6]\n", "f32[2, 6]", "x"},
    {"permute undone", "%8 = permute %1 {1, 0} : f32[6, 2]\n%9 = permute %8 {1, 0} : f32[2, 6]\n", "f32[2, 6]", "x"},
    {"permute of unit axes", "%8 = reshape %1 : f32[2, 1, 6]\n%9 = permute %8 {1, 0, 2} : f32[1, 2, 6]\n",
     "f32[1, 2, 6]", "reshape %1"},
    {"expand of expand",
     "%6 = slice %1 {0, 0, 1, 1} : f32[1, 1]\n%8 = expand %6 : f32[1, 3]\n%9 = expand %8 : f32[4, 3]\n", "f32[4, 3]",
     "expand %2"},
    {"slice of slice", "%8 = slice %1 {0, 1, 1, 2} : f32[2, 3]\n%9 = slice %8 {1, 1, 1, 1} : f32[1, 2]\n", "f32[1, 2]",
     "slice %1 {1, 3, 1, 2}"},
    {"one element has no step", "%9 = slice %1 {0, 1, 2, 2} : f32[1, 1]\n", "f32[1, 1]", "slice %1 {0, 1, 1, 1}"},
    {"pad of pad", "%8 = pad %1 {0, 1, 0, 0} : f32[2, 7]\n%9 = pad %8 {1, 1, 0, 2} : f32[3, 10]\n", "f32[3, 10]",
     "pad %1 {1, 2, 0, 2}"},
    {"slice of pad", "%8 = pad %1 {1, 1, 1, 1} : f32[4, 8]\n%9 = slice %8 {1, 1, 1, 1} : f32[2, 6]\n", "f32[2, 6]",
     "x"},
    {"slice of padding", "%8 = pad %1 {1, 0, 0, 0} : f32[3, 6]\n%9 = slice %8 {0, 0, 1, 1} : f32[1, 6]\n", "f32[1, 6]",
     "expand %2"},
    {"slice of concat", "%8 = concat %1 %2 {1} : f32[2, 12]\n%9 = slice %8 {0, 7, 1, 1} : f32[2, 3]\n", "f32[2, 3]",
     "slice %1 {0, 1, 1, 1}"},
    {"concat of concat", "%8 = concat %1 %2 {1} : f32[2, 12]\n%9 = concat %8 %1 {1} : f32[2, 18]\n", "f32[2, 18]",
     "concat %1 %2 %1 {1}"},
    {"flip undone", "%8 = flip %1 {0, 1} : f32[2, 6]\n%9 = flip %8 {1} : f32[2, 6]\n", "f32[2, 6]", "flip %1 {0}"},
    {"sum over one", "%8 = reshape %1 : f32[2, 1, 6]\n%9 = sum %8 {1} : f32[2, 6]\n", "f32[2, 6]", "x"},
    {"sum over a regrouped axis", "%8 = reshape %1 : f32[2, 2, 3]\n%9 = sum %8 {1, 2} : f32[2]\n", "f32[2]",
     "sum %1 {1}"},
    {"sum over everything", "%8 = reshape %1 : f32[3, 4]\n%9 = sum %8 {0, 1} : f32[]\n", "f32[]", "sum %1 {0, 1}"},
    {"sum over the first axes", "%8 = reshape %1 : f32[1, 2, 2, 3]\n%9 = sum %8 {0, 1} : f32[2, 3]\n", "f32[2, 3]",
     "reshape %2"},
    {"sum of constants",
     "%6 = constant 0.5 : f32[]\n%7 = reshape %6 : f32[1]\n%8 = expand %7 : f32[8]\n%9 = sum %8 {0} : f32[]\n", "f32[]",
     "constant 4"},
    {"constants", "%6 = constant 2 : f32[]\n%7 = constant 3 : f32[]\n%8 = mul %6 %7 : f32[]\n%9 = add %8 %7 : f32[]\n",
     "f32[]", "constant 9"},
    {"what is 0 x stays",
     "%6 = constant 0 : f32[]\n%7 = reshape %6 : f32[1, 1]\n%8 = expand %7 : f32[2, 6]\n"
     "%9 = mul %1 %8 : f32[2, 6]\n",
     "f32[2, 6]", "mul %1 %4"},
    {"x + 0",
     "%6 = constant 0 : f32[]\n%7 = reshape %6 : f32[1, 1]\n%8 = expand %7 : f32[2, 6]\n"
     "%9 = add %8 %1 : f32[2, 6]\n",
     "f32[2, 6]", "x"},
    {"where of the same", "%8 = lnot %3 : bool[2, 6]\n%9 = where %8 %1 %2 : f32[2, 6]\n", "f32[2, 6]",
     "where %1 %2 %3"},
    {"where of a constant",
     "%6 = constant 0 : bool[]\n%7 = reshape %6 : bool[1, 1]\n%8 = expand %7 : bool[2, 6]\n"
     "%9 = where %8 %1 %2 : f32[2, 6]\n",
     "f32[2, 6]", "y"},
    {"iota of one", "%9 = iota {0} : i32[1, 3]\n", "i32[1, 3]", "expand %2"},
    {"a filled stack",
     "%5 = constant 2 : f32[]\n%6 = reshape %5 : f32[1]\n%7 = expand %6 : f32[4]\n%8 = loop time 4\n"
     "carry %10 = %5 : f32[]\nx %11 = %7 : f32[]\n%12 = mul %11 %11 : f32[]\n%13 = add %10 %12 : f32[]\nnext %10 = "
     "%13\n"
     "yield %13\nend\n%9 = pick %8 {1, 0} : f32[4]\n",
     "f32[4]", NULL},
    {"a stack of an invariant", "%5 = loop time 4\nyield %1\nend\n%9 = pick %5 {1, 0} : f32[4, 2, 6]\n", "f32[4, 2, 6]",
     "expand %2"},
};

static const char leaves[] = "graph g\n%1 = input x : f32[2, 6]\n%2 = input y : f32[2, 6]\n%3 = input p : bool[2, 6]\n"
                             "%4 = input i : i32[2, 6]\n";

/* The line that defines the result of the graph's only output. */
static const char *last_definition(const char *text)
{
    const char *out = strstr(text, "value v = ") + strlen("value v = ");
    const char *name = copy_bytes_as_string(out, strcspn(out, "\n")), *at = strstr(text, format("\n%s = ", name));
    must(at);
    at += 1 + strlen(name) + 3;
    return copy_bytes_as_string(at, strcspn(at, "\n"));
}

static void same_outputs(const char *what, const Graph *a, const Graph *b, uint64_t seed)
{
    Value *x = NEW_ARRAY(Value, a->outs.n), *y = NEW_ARRAY(Value, b->outs.n);
    eval_graph(a, random_feed, &seed, x);
    eval_graph(b, random_feed, &seed, y);
    for (int k = 0; k < a->outs.n; k++) {
        bool ok = same_shape(x[k].shape, y[k].shape) && a->outs.at[k].node->dtype == b->outs.at[k].node->dtype;
        for (int64_t i = 0; ok && i < elements(x[k].shape); i++)
            ok = fabs(x[k].at[i] - y[k].at[i]) <= 1e-9 * (1 + fabs(x[k].at[i]));
        expect(ok, "%s: output %s has another value", what, a->outs.at[k].name);
    }
}

static void test_small(int k)
{
    char *text = format("%s%svalue v = %%9\n", leaves, small[k].lines);
    Graph *g = parse_graph(small[k].what, text), *before = parse_graph(small[k].what, text);
    pass_simplify(g, describe(NULL, "test", &options));
    check_graph(g, "simplify");
    same_outputs(small[k].what, before, g, 1);
    if (!small[k].wanted) {
        expect(!strstr(printed(g), " = mul "), "%s: there is still\n%s", small[k].what, printed(g));
        return;
    }
    bool leaf = strlen(small[k].wanted) == 1;
    const char *got = last_definition(printed(g));
    const char *start = leaf ? format("input %s : ", small[k].wanted) : format("%s : ", small[k].wanted);
    expect(starts_with(got, start), "%s: wanted %s and got %s in\n%s", small[k].what, start, got, printed(g));
}

/* ------------------------------------------------------------------ random graphs */

static Graph *copy_of_graph(const Graph *g)
{
    Graph *c = copy_of(g, sizeof *g);
    c->outs.at = copy_of(g->outs.at, sizeof *g->outs.at * (size_t)g->outs.n);
    return c;
}

/* Simplifying and cleaning come to rest.  (Dead stacks keep a loop inside another; only without them is it seen to be
 * invariant, which may show more; so one run is not always enough.) */
static void test_rest(Graph *g, uint64_t seed)
{
    const char *text = NULL, *last = "";
    for (int i = 0; i < 8 && !same(text, last); i++) {
        last = text;
        pass_simplify(g, describe(NULL, "test", &options));
        pass_clean(g, describe(NULL, "test", &options));
        check_graph(g, "clean");
        text = printed(g);
    }
    expect(same(text, last), "seed %llu: still changing after 8 runs", (unsigned long long)seed);
}

/* In F64, where computing constants rounds nothing that the interpreter does not. */
static void test_random(uint64_t seed, int *before, int *after)
{
    Graph *g = random_graph(seed);
    options.precision = "fp64";
    pass_precision(g, describe(NULL, "test", &options));
    check_graph(g, "precision");
    Graph *simple = copy_of_graph(g);
    pass_simplify(simple, describe(NULL, "test", &options));
    check_graph(simple, "simplify");
    same_outputs(format("seed %llu", (unsigned long long)seed), g, simple, seed);
    *before += count_nodes(g);
    *after += count_nodes(simple);
    test_rest(simple, seed);
}

int main(void)
{
    int before = 0, after = 0;
    for (int k = 0; k < COUNT_OF(small); k++) test_small(k);
    for (uint64_t seed = 0; seed < (long_run() ? 2000 : 150); seed++) test_random(seed, &before, &after);
    expect(after < before, "the graphs do not get smaller");
    printf("random graphs: %d nodes, %d simplified\n", before, after);
    return finish();
}
