/* test_check.c: the checker lets good graphs pass and catches every fault put into one, each in a process of its own.
 */
#include "apart.h"
#include "random_graph.h"

/* A graph with a loop in a loop, whose parts the faults damage. */
typedef struct Sample {
    Graph *g;
    Node *x, *w, *sum, *dot, *body, *inner_body, *result;
    Loop *outer, *inner;
} Sample;

static Sample sample(void)
{
    Sample s = {.g = NEW(Graph)};
    Shape matrix = {.rank = 2, .dim = {4, 3}}, vector = {.rank = 1, .dim = {3}};
    s.x = input_node("x", F32, vector);
    s.w = parameter_node("w", F32, matrix);
    s.outer = loop_open("layer", 4, false);
    Node *h = loop_carry(s.outer, s.x), *row = loop_x(s.outer, s.w);
    s.inner = loop_open("time", 2, true);
    Node *k = loop_carry(s.inner, h);
    s.inner_body = map2(OP_add, k, row);
    loop_next(s.inner, 0, s.inner_body);
    loop_close(s.inner);
    s.body = map1(OP_tanh, loop_result(s.inner, 0));
    loop_next(s.outer, 0, s.body);
    push(&s.outer->ys, s.body);
    loop_close(s.outer);
    s.result = loop_result(s.outer, 0);
    s.dot = dot(loop_stack(s.outer, s.body), s.w, (Dot_axes){.nc = 2, .ac = {0, 1}, .bc = {0, 1}});
    s.sum = map2(OP_add, s.dot, reduce(OP_sum, s.result, 1, &(int){0}));
    s.g->name = "train";
    s.g->entry = ENTRY_train;
    s.g->wants_grads = true;
    push(&s.g->outs, ((Output){OUT_VALUE, "loss", s.sum}));
    push(&s.g->outs, ((Output){OUT_VALUE, "result", s.result}));
    push(&s.g->outs, ((Output){OUT_GRAD, "w", loop_stack(s.outer, s.body)}));
    return s;
}

/* ------------------------------------------------------------------ faults */

static void none(Sample *s) { (void)s; }
static void arity(Sample *s) { s->sum->nin = 1; }
static void shape(Sample *s) { s->body->shape.dim[0] = 5; }
static void no_extent(Sample *s) { s->x->shape.dim[0] = 0; }
static void type(Sample *s) { s->body->dtype = F64; }
static void compared(Sample *s) { s->sum->op = OP_lt; }
static void wrong_axis(Sample *s) { s->dot->ints[2] = 7; }
static void axis_twice(Sample *s) { s->dot->ints[3] = 0; }
static void cycle(Sample *s) { s->inner_body->in[0] = s->body; }
static void own_input(Sample *s) { s->sum->in[0] = s->sum; }
static void level(Sample *s) { s->body->in_loop = NULL; }
static void escaped(Sample *s) { s->sum->in[1] = reduce(OP_sum, s->body, 1, &(int){0}); }
static void out_in_loop(Sample *s) { s->g->outs.at[1].node = s->body; }
static void next_type(Sample *s) { s->outer->carries.at[0].next = s->sum; }
static void next_missing(Sample *s) { s->outer->carries.at[0].next = NULL; }
static void next_too_deep(Sample *s) { s->outer->carries.at[0].next = s->inner_body; }
static void stacked_too_deep(Sample *s) { s->outer->ys.at[0] = s->inner_body; }
static void starts_inside(Sample *s) { s->outer->carries.at[0].init = s->body; }
static void x_inside(Sample *s) { s->inner->xs = s->outer->xs; }
static void trip(Sample *s) { s->outer->trip = 0; }
static void other_trip(Sample *s) { s->outer->trip = 5; }
static void parent(Sample *s) { s->inner->parent = NULL; }
static void node_of_loop(Sample *s) { s->outer->node = s->inner->node; }
static void no_stack(Sample *s) { s->outer->ys.n = 0; }
static void loss_vector(Sample *s) { s->g->outs.at[0].node = s->result; }
static void gradient(Sample *s) { s->g->outs.at[2].node = s->result; }
static void unnamed(Sample *s) { s->w->name = NULL; }
static void two_leaves(Sample *s) { push(&s->g->outs, ((Output){OUT_VALUE, "v", input_node("x", F32, (Shape){0})})); }
static void phase(Sample *s) { s->sum->phase = 3; }
static void missing(Sample *s) { s->g->outs.at[1].node = NULL; }
static void several(Sample *s) { s->g->outs.at[1].node = s->outer->node; }
static void loop_as_input(Sample *s) { s->sum->in[1] = s->outer->node; }
static void other_entry(Sample *s) { s->g->entry = ENTRY_eval; }
static void closed_micro(Sample *s) { s->g->micro = s->outer; }

static const struct {
    const char *what;
    void (*damage)(Sample *);
    const char *says;
} faults[] = {
    {"none", none, NULL},
    {"arity", arity, "add has 1 inputs, not 2"},
    {"shape", shape, "tanh is f32[5] and should be f32[3]"},
    {"no extent", no_extent, "its shape is no shape"},
    {"type", type, "tanh is f64[3] and should be f32[3]"},
    {"compared", compared, "lt is f32[] and should be bool[]"},
    {"wrong axis", wrong_axis, "its ints must be axes of its inputs"},
    {"axis twice", axis_twice, "its ints must be axes of its inputs"},
    {"cycle", cycle, "it needs itself"},
    {"own input", own_input, "it needs itself"},
    {"level", level, "which the node does not lie in"},
    {"escaped", escaped, "which the node does not lie in"},
    {"out in loop", out_in_loop, "output result lies in a loop"},
    {"next's type", next_type, "it needs itself"},
    {"no next", next_missing, "carry 0 of loop"},
    {"next too deep", next_too_deep, "is of a loop inside"},
    {"stacked too deep", stacked_too_deep, "a stacked value is of a loop inside"},
    {"starts inside", starts_inside, "starts from inside"},
    {"x of another loop", x_inside, "it is not of the loop that has it"},
    {"trip", trip, "is not the loop's trip count"},
    {"other trip", other_trip, "is not the loop's trip count"},
    {"parent", parent, "which the node does not lie in"},
    {"node", node_of_loop, "it is not its loop's node"},
    {"no stack", no_stack, "the loop has no such result"},
    {"loss", loss_vector, "the loss is not one real number"},
    {"gradient", gradient, "has another type than that"},
    {"unnamed", unnamed, "it needs a name"},
    {"two leaves", two_leaves, "there is another leaf of that name"},
    {"phase", phase, "its phase is neither 0 nor 1"},
    {"missing", missing, "output result is missing"},
    {"several", several, "an output has several values"},
    {"loop as input", loop_as_input, "has several results: pick one"},
    {"entry", other_entry, "it is called train and is another entry"},
    {"micro closed", closed_micro, "is closed and still said to be open"},
};

static void check_damaged(const void *which)
{
    Sample s = sample();
    faults[*(const int *)which].damage(&s);
    check_graph(s.g, "damage");
}

static void test_fault(int k)
{
    char *said;
    int code = apart(check_damaged, &k, &said);
    if (!faults[k].says) {
        expect(code == 0, "the sample itself is refused (%d): %s", code, said);
        return;
    }
    expect(code == 128 + SIGABRT, "%s: ends with %d", faults[k].what, code);
    expect(said && strstr(said, faults[k].says), "%s: says %s", faults[k].what, said ? said : "nothing");
    expect(said && strstr(said, "after damage"), "%s: does not say after which pass", faults[k].what);
}

/* ------------------------------------------------------------------ random damage */

/* One change to one node of a random graph: the checker may find nothing wrong, but must not crash. */
static void damage_somewhere(const void *seed)
{
    Rng r = rng_of(*(const uint64_t *)seed);
    Graph *g = random_graph((uint64_t)below(&r, 50));
    Nodes roots = {0}, all = {0};
    graph_roots(g, &roots);
    nodes_at(NULL, roots.at, roots.n, &all);
    Node *n = all.at[below(&r, all.n)];
    switch (below(&r, 5)) {
    case 0: n->op = (Op)below(&r, OPS); break;
    case 1: n->dtype = (DType)below(&r, DTYPES); break;
    case 2: n->shape.dim[0] = below(&r, 4); break;
    case 3:
        if (n->nints) n->ints[below(&r, n->nints)] = below(&r, 100) - 50;
        break;
    case 4:
        if (n->nin) n->in[below(&r, n->nin)] = all.at[below(&r, all.n)];
        break;
    }
    graph_fault(g);
}

int main(void)
{
    for (int k = 0; k < COUNT_OF(faults); k++) test_fault(k);
    for (uint64_t seed = 0; seed < (long_run() ? 3000 : 200); seed++) {
        char *said;
        int code = apart(damage_somewhere, &seed, &said);
        expect(code == 0, "damage %llu ends with %d: %s", (unsigned long long)seed, code, said);
    }
    return finish();
}
