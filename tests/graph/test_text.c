/* test_text.c: graphs printed and parsed back are the same graphs; bad text is an error with a line, never a crash. */
#include "apart.h"
#include "random_graph.h"

/* ------------------------------------------------------------------ round trips */

static const char written[] = "graph train training grads\n"
                              "%1 = input \"a b\\\"c\\\\\\x0a\" : f32[4]  # \"odd name.lua\":7\n"
                              "%2 = parameter layer.weight : f32[3, 4]  # models/m.lua:31 in layer\n"
                              "%3 = constant [0.5, -0, inf, 1e-300] : f32[4]\n"
                              "%4 = loop layer 3 reverse  # models/m.lua:32 in layer\n"
                              "    index %5 : i32[]  # models/m.lua:32 in layer\n"
                              "    carry %6 = %1 : f32[4]  # in only.a.path\n"
                              "    x %7 = %2 : f32[4]\n"
                              "    %8 = add %6 %7 : f32[4] recompute  # models/m.lua:33 in layer.add\n"
                              "    %9 = mul %8 %3 : f32[4] phase 1\n"
                              "    next %6 = %9\n"
                              "    yield %8\n"
                              "end\n"
                              "%10 = pick %4 {0, 0} : f32[4]\n"
                              "%11 = sum %10 {0} : f32[]\n"
                              "%12 = pick %4 {1, 0} : f32[3, 4]\n"
                              "%13 = cast %12 : i32[3, 4]\n"
                              "%14 = slice %13 {0, 1, 1, 2} : i32[3, 2]\n"
                              "%15 = constant 0.5 : f32[]\n"
                              "%16 = constant 0.5 counts (batch:2) : f32[]\n"
                              "%17 = constant 25 counts (3/2 * \"odd name\":8 heads:4^2 b:8^-1 +1) : f32[]\n"
                              "%18 = constant 6 counts (seq:4 & (batch:2)) : f32[]\n"
                              "value loss = %11\n"
                              "value ids = %14\n"
                              "value half = %15\n"
                              "value of_batch = %16\n"
                              "value of_many = %17\n"
                              "value of_two = %18\n"
                              "grad layer.weight = %12\n";

static const char micro[] = "graph train grads\n"
                            "%1 = input x : f32[2, 3]\n"
                            "open micro 2 keep\n"
                            "    index %2 : i32[]\n"
                            "    x %3 = %1 : f32[3]\n"
                            "    %4 = sum %3 {0} : f32[]\n"
                            "end\n"
                            "value loss = %4\n";

static void round_trip(const char *what, const char *text)
{
    Graph *g = parse_graph(what, text);
    expect(strcmp(printed(g), text) == 0, "%s comes back as\n%s", what, printed(g));
}

/* In another process no node is there before, so that places and marks come from the text alone. */
static void fresh_round_trip(const char *self, const char *text)
{
    char *out, *path = format("%s/graph.txt", temp_folder());
    must(write_file(path, text, strlen(text)));
    int code = run_command(&out, "'%s' '%s'", self, path);
    expect(code == 0 && strcmp(out, text) == 0, "another process says (%d):\n%s\nof\n%s", code, out, text);
}

static void same_values(uint64_t seed, const Graph *a, const Graph *b)
{
    Value *x = NEW_ARRAY(Value, a->outs.n), *y = NEW_ARRAY(Value, b->outs.n);
    eval_graph(a, random_feed, &seed, x);
    eval_graph(b, random_feed, &seed, y);
    for (int k = 0; k < a->outs.n; k++)
        expect(memcmp(x[k].at, y[k].at, sizeof(double) * (size_t)elements(x[k].shape)) == 0,
               "seed %llu: output %s of the parsed graph differs", (unsigned long long)seed, a->outs.at[k].name);
}

static void random_round_trips(const char *self, int count)
{
    for (uint64_t seed = 0; seed < (uint64_t)count; seed++) {
        make_with((Making){{"models/random.lua", (int)seed, "block"}, 0, seed % 3 == 0});
        Graph *g = seed % 2 ? random_loss_graph(seed) : random_graph(seed);
        make_with((Making){0});
        check_graph(g, "random_graph");
        const char *text = printed(g);
        Graph *again = parse_graph("random", text);
        expect(strcmp(printed(again), text) == 0, "seed %llu comes back different", (unsigned long long)seed);
        if (seed % 4 == 0) same_values(seed, g, again);
        if (seed % 16 == 0) fresh_round_trip(self, text);
        count_coverage(g);
    }
}

/* ------------------------------------------------------------------ bad text */

static void parse(const void *text) { printed(parse_graph("bad.txt", text)); }

static const struct {
    const char *text, *says;
} bad[] = {
    {"", "expected 'graph NAME'"},
    {"graph g\n", "has no outputs"},
    {"graph g\nvalue loss = %1\n", "bad.txt:2: error: %1 is not defined"},
    {"graph g\n%1 = input x : f32[2]\n%1 = input y : f32[2]\n", "bad.txt:3: error: %1 is there already"},
    {"graph g\n%1 = inputt x : f32[2]\n", "nearest is input"},
    {"graph g\n%1 = input x : f33[2]\n", "expected a type"},
    {"graph g\n%1 = input x : f32[2\n", "expected ','"},
    {"graph g\n%1 = input x : f32[0]\n", "from 1 to"},
    {"graph g\n%1 = input x : f32[1, 1, 1, 1, 1, 1, 1, 1, 1]\n", "at most 8"},
    {"graph g\n%1 = input x : f32[100000000000, 100000000000]\n", "its shape is no shape"},
    {"graph g\n%99999999999 = input x : f32[2]\n", "expected a number from"},
    {"graph g\n%1 = input x : f32[2] %2\n", "expected the end of the line"},
    {"graph g\n%1 = input \"x : f32[2]\n", "expected a name"},
    {"graph g\n%1 = input \"\\x00\" : f32[2]\n", "expected a name"},
    {"graph g\n%1 = constant [1, 2] : f32[3]\n", "2 values are listed"},
    {"graph g\n%1 = constant 1 : f32[3]\n", "is a scalar"},
    {"graph g\n%1 = constant 2 counts batch:2 : f32[]\n", "expected '('"},
    {"graph g\n%1 = constant 2 counts (batch:0) : f32[]\n", "expected a number from 1"},
    {"graph g\n%1 = constant 2 counts (batch:2^99) : f32[]\n", "expected a number from -8 to 8"},
    {"graph g\n%1 = constant 2 counts (1/0 * batch:2) : f32[]\n", "expected a number from 1"},
    {"graph g\n%1 = constant 2 counts (a:1 b:1 c:1 d:1 e:1) : f32[]\n", "expected ')'"},
    {"graph g\n%1 = constant 2 counts (a:1&(a:1&(a:1&(a:1&(a:1&(a:1&(a:1&(a:1&(a:1&(a:1))))))))))\n", "more than 8"},
    {"graph g\n%1 = input x : f32[2]\n%2 = add %1 : f32[2]\n", "add has 1 inputs, not 2"},
    {"graph g\n%1 = input x : f32[2]\n%2 = neg %1 : f32[3]\n", "should be f32[2]"},
    {"graph g\n%1 = input x : f32[2]\n%2 = sum %1 {1} : f32[]\n", "its ints must be axes"},
    {"graph g\n%1 = input x : f32[2]\n%2 = slice %1 {1, 1} : f32[2]\n", "reaches beyond"},
    {"graph g\n%1 = input x : f32[2]\n%2 = dot %1 %1 {0, 1, 0} : f32[]\n", "nb, nc"},
    {"graph g\n%1 = input x : f32[2]\n%2 = dot %1 %1 {9, 9} : f32[]\n", "nb, nc"},
    {"graph g\n%1 = input x : f32[2]\n%2 = dot %1 {0, 0} : f32[]\n", "takes two inputs, and a third"},
    {"graph g\n%1 = input x : f32[2]\n%2 = input y : f32[2, 2]\n"
     "%3 = dot %2 %2 {0, 1, 1, 1, 1} : f32[2, 2]\n",
     "must be 2, gelu, or 3"},
    {"graph g\n%1 = input x : f32[2]\n%2 = input y : f32[2, 2]\n"
     "%3 = dot %2 %2 {0, 1, 1, 1, 4294967298} : f32[2, 2]\n",
     "must be 2, gelu, or 3"},
    {"graph g\n%1 = input x : f32[2]\n%2 = input y : f32[2, 2]\n"
     "%3 = dot %2 %2 {0, 1, 1, 1, 3} : f32[2, 2]\n",
     "needs a third input"},
    {"graph g\n%1 = input x : f32[2]\n%2 = input y : f32[2, 2]\n"
     "%3 = dot %2 %2 %1 {0, 1, 1, 1, 3} : f32[2, 2]\n",
     "must be of its shape"},
    {"graph g\n%1 = input x : f32[2]\n%2 = input y : f32[2, 2]\n"
     "%3 = dot %2 %2 %2 {0, 1, 1, 1} : f32[2, 2]\n",
     "an element for each of the free axes"},
    {"graph g\n%1 = input x : f32[2]\n%2 = input y : f32[2, 2]\n"
     "%3 = dot %2 %2 %1 {1, 0, 1, 1} : f32[2, 2, 2]\n",
     "with batch axes it ends in nothing"},
    {"graph g\n%1 = input x : f32[2]\n%2 = input y : f32[2, 2]\n"
     "%3 = cast %1 : bf16[2]\n%4 = dot %2 %2 %3 {0, 1, 1, 1} : f32[2, 2]\n",
     "must be of its type"},
    {"graph g\n%1 = input x : f32[2]\n%2 = topk %1 {0, 1} : f32[]\n%3 = neg %2 : f32[]\n", "pick one"},
    {"graph g\n%1 = input x : f32[2]\n%2 = topk %1 {0, 1} : f32[]\nvalue loss = %2\n", "pick one"},
    {"graph g\n%1 = input x : f32[2]\n%2 = pick %1 {0, 0} : f32[2]\n", "has one result"},
    {"graph g\n%1 = loop time 2\n", "this loop has no end"},
    {"graph g\n%1 = loop time 0\nend\n", "from 1 to"},
    {"graph g\n%1 = input x : f32[2]\n%2 = loop time 3\nx %3 = %1 : f32[]\nend\n", "is not the loop's 3"},
    {"graph g\n%1 = input x : f32[2]\n%2 = loop time 2\ncarry %3 = %1 : f32[2]\nend\n", "no next value"},
    {"graph g\n%1 = input x : f32[2]\n%2 = loop time 2\ncarry %3 = %1 : f32[2]\nnext %1 = %3\nend\n",
     "no carry of this loop"},
    {"graph g\n%1 = input x : f32[2]\n%2 = loop time 2\nx %3 = %1 : f32[]\nend\nvalue loss = %3\n",
     "%3 is not defined"},
    {"graph g\n%1 = loop time 2\nend\n%2 = pick %1 {0, 0} : f32[]\n", "no such result"},
    {"graph g\n%1 = loop time 2\nend\n%2 = pick %1 {1, 7} : f32[]\n", "no such result"},
    {"graph g\n%1 = loop_arg {0, 0} : i32[]\n", "written index, carry or x"},
    {"graph g\n%1 = input x : f32[2]\nvalue loss = %1\n", "not one real number"},
    {"graph g\n%1 = input x : f32[2]\n%2 = input x : f32[3]\nvalue a = %1\nvalue b = %2\n",
     "another leaf of that name"},
    {"graph g\n%1 = parameter x : f32[2]\n%2 = neg %1 : f32[2]\n%3 = sum %1 {0} : f32[]\ngrad x = %3\nvalue a = %2\n",
     "has another type"},
    {"graph g\nopen micro 2\nend\n%1 = input x : f32[2]\n", "there can only be outputs"},
};

static void bad_texts(void)
{
    for (int i = 0; i < COUNT_OF(bad); i++) {
        char *said;
        int code = apart(parse, bad[i].text, &said);
        expect(code == 1 && said && strstr(said, bad[i].says), "bad text %d gives %d and says\n%s", i, code, said);
    }
}

static void too_deep(void)
{
    Text t = {0};
    char *said;
    say(&t, "graph g\n");
    for (int i = 0; i < 200; i++) say(&t, "%%%d = loop time 2\n", i);
    int code = apart(parse, t.at, &said);
    expect(code == 1 && strstr(said, "nested too deeply"), "200 loops in each other give %d: %s", code, said);
}

/* Lines lost, doubled and swapped; characters changed. */
static char *damaged(const char *text, Rng *r)
{
    static const char letters[] = "%=:{}[],0123456789 \n#\"\\-.xaef";
    size_t n = strlen(text);
    Text t = {0};
    say_bytes(&t, text, n);
    for (int edits = 1 + (int)below(r, 3); edits > 0; edits--) {
        size_t at = (size_t)below(r, (int64_t)n), line = strcspn(t.at + at, "\n");
        switch (below(r, 3)) {
        case 0: t.at[at] = letters[below(r, COUNT_OF(letters) - 1)]; break;
        case 1: memset(t.at + at, ' ', line); break;
        case 2: memmove(t.at + (size_t)below(r, (int64_t)(n - line)), t.at + at, line); break;
        }
    }
    return t.at;
}

static void damaged_texts(int count)
{
    Rng r = rng_of(7);
    int errors = 0;
    for (int i = 0; i < count; i++) {
        const char *text = i % 3 == 0 ? written : i % 3 == 1 ? micro : printed(random_graph((uint64_t)(i % 40)));
        char *said, *broken = damaged(text, &r);
        int code = apart(parse, broken, &said);
        errors += code == 1;
        expect(code == 0 || code == 1, "damaged text gives %d: %s\n%s", code, said, broken);
    }
    expect(errors > count / 4, "only %d of %d damaged texts are errors", errors, count);
}

/* With a file: parses it and prints it. */
int main(int argc, char **argv)
{
    if (argc > 1) {
        fputs(printed(parse_graph(NULL, read_file(argv[1], NULL))), stdout);
        return 0;
    }
    round_trip("the written graph", written);
    round_trip("the open loop", micro);
    fresh_round_trip(argv[0], written);
    fresh_round_trip(argv[0], micro);
    random_round_trips(argv[0], long_run() ? 400 : 120);
    bad_texts();
    too_deep();
    damaged_texts(long_run() ? 2000 : 300);
    print_coverage();
    return finish();
}
