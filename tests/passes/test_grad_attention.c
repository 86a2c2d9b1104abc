/* test_grad_attention.c: attention through the interpreter: its definition against loops written out here, and its
 * backward op against differences: every mask, in loops and under recomputation, whole and as a text. */
#include "../attention.h"
#include "gradcheck.h"
#include "graph/eval.h"

static Node *heads(const char *name, int64_t batch, int64_t time, int64_t n, int64_t width)
{
    return param(name, SHAPE(batch, time, n, width));
}

static Attention drawn(Attention_sizes z)
{
    return attention_over(z, heads("q", z.B, z.T, z.H, z.D), heads("k", z.B, z.S, z.G, z.D),
                          heads("v", z.B, z.S, z.G, z.E));
}

/* ------------------------------------------------------------------ by hand */

static bool sees(Attention_sizes z, int64_t b, int64_t t, int64_t s)
{
    int64_t at = z.S - z.T - 1 + t;
    return !(z.flags & CAUSAL && s > at) && !(z.window && s <= at - z.window) &&
           !(z.flags & LENGTHS && s >= b * ((z.S + 1) / 2)) && !(z.flags & SEGMENTS && t / 3 != s / 4);
}

static double kept(Attention_sizes z, int64_t b, int64_t h, int64_t t, int64_t s)
{
    uint32_t word[4], index = (uint32_t)(1000 + (h * z.T + t) * z.S + s);
    if (!(z.flags & DROPOUT)) return 1;
    philox4x32((uint32_t[]){index / 4, (uint32_t)(b + 5), 3, 0}, (uint32_t[]){7, 2}, word);
    return word[index % 4] < 0x55555555 ? 0 : 1.5;
}

static double at4(Value v, int64_t a, int64_t b, int64_t c, int64_t d)
{
    return v.at[((a * v.shape.dim[1] + b) * v.shape.dim[2] + c) * v.shape.dim[3] + d];
}

/* Element d of x[b][t][h], turned as attention_turns() says. */
static double turned(Attention_sizes z, Value x, int64_t b, int64_t t, int64_t h, int64_t d)
{
    int64_t half = z.D / 2, first = d % (half ? half : 1);
    if (!(z.flags & TURNS)) return at4(x, b, t, h, d);
    double c = cos((double)(7 * b + 3 * t + first)), s = cos((double)(7 * b + 3 * t + first + half));
    double low = at4(x, b, t, h, first), high = at4(x, b, t, h, first + half);
    return d < half ? low * c - high * s : high * c + low * s;
}

static double product(Attention_sizes z, const Value *in, int64_t b, int64_t h, int64_t t, int64_t s)
{
    double sum = 0;
    for (int64_t d = 0; d < z.D; d++) sum += turned(z, in[0], b, t, h, d) * turned(z, in[1], b, s, h / (z.H / z.G), d);
    sum *= 0.7;
    if (z.flags & SOFT_CAP) sum = 0.8 * tanh(sum / 0.8);
    return z.flags & SCORE_BIAS ? sum + 2 * cos((double)(5 * t + s + b)) : sum;
}

/* One query: o[E], lse, p[S]. */
static void by_hand(Attention_sizes z, const Value *in, int64_t b, int64_t h, int64_t t, double *o, double *lse,
                    double *p)
{
    double sum = 0;
    for (int64_t s = 0; s < z.S; s++) sum += p[s] = sees(z, b, t, s) ? exp(product(z, in, b, h, t, s)) : 0;
    *lse = sum > 0 ? log(sum) : -1e30;
    for (int64_t e = 0; e < z.E; e++) o[e] = 0;
    for (int64_t s = 0; s < z.S && sum > 0; s++) {
        p[s] /= sum;
        for (int64_t e = 0; e < z.E; e++) o[e] += p[s] * kept(z, b, h, t, s) * at4(in[2], b, s, h / (z.H / z.G), e);
    }
}

static void check_values(const char *what, Attention_sizes z)
{
    Attention a = drawn(z);
    a.flags |= PROBABILITIES;
    Node *n = attention_op(&a);
    Graph g = {.name = "values"};
    for (int k = 0; k < 3; k++) push(&g.outs, ((Output){OUT_VALUE, "value", pick(n, k, 0)}));
    Value out[3], in[3] = {feed(NULL, a.q), feed(NULL, a.k), feed(NULL, a.v)};
    eval_graph(&g, feed, NULL, out);
    double *o = NEW_ARRAY(double, z.E), *p = NEW_ARRAY(double, z.S), lse, off = 0;
    for (int64_t b = 0; b < z.B; b++)
        for (int64_t h = 0; h < z.H; h++)
            for (int64_t t = 0; t < z.T; t++) {
                by_hand(z, in, b, h, t, o, &lse, p);
                off = fmax(off, fabs(lse - out[1].at[(b * z.H + h) * z.T + t]));
                for (int64_t e = 0; e < z.E; e++) off = fmax(off, fabs(o[e] - at4(out[0], b, t, h, e)));
                for (int64_t s = 0; s < z.S; s++) off = fmax(off, fabs(p[s] - at4(out[2], b, h, t, s)));
            }
    expect(off < 1e-12, "%s: off by %.3g", what, off);
    check_number++;
}

/* ------------------------------------------------------------------ gradients */

static void check_one(const char *what, Attention_sizes z)
{
    check_values(what, z);
    Attention a = drawn(z);
    Graph *g = check_gradients_of(what, loss_of_all(pick(attention_op(&a), 0, 0)), NULL, 8);
    expect(count_at_top(g, OP_attention_back, 1) == 1, "%s: no attention_back", what);
    a = drawn(z);
    a.flags |= PROBABILITIES;
    Node *n = attention_op(&a);
    Node *lse = pick(n, 1, 0), *low = map2(OP_lt, lse, filled(-1e20, F64, lse->shape));
    lse = where_op(low, filled(0, F64, lse->shape), lse);
    Node *loss = add(add(loss_of_all(pick(n, 0, 0)), loss_of_all(lse)), loss_of_all(pick(n, 2, 0)));
    g = check_gradients_of(format("%s, all results", what), loss, NULL, 8);
    expect(count_at_top(g, OP_attention_back, 1) == 0, "%s: attention_back does not know of lse and p", what);
}

static const Attention_sizes plain = {.B = 2, .T = 5, .S = 5, .H = 2, .G = 2, .D = 3, .E = 4};

static void test_masks(void)
{
    check_one("plain", plain);
    for (int64_t flags = 1; flags < 2 * DROPOUT; flags++) {
        Attention_sizes z = {.B = 3, .T = 5, .S = 7, .H = 4, .G = flags % 2 ? 2 : 4, .D = 3, .E = 2, .flags = flags};
        z.window = flags % 3 ? 0 : 4;
        check_one(format("flags %d", (int)flags), z);
    }
    for (int64_t flags = 0; flags <= DROPOUT; flags += flags ? flags : CAUSAL) {
        Attention_sizes z = {.B = 2, .T = 5, .S = 6, .H = 4, .G = 2, .D = 4, .E = 3, .flags = flags | TURNS};
        check_one(format("turned, flags %d", (int)flags), z);
    }
    for (int64_t flags = 0; flags <= DROPOUT; flags += flags ? flags : CAUSAL)
        for (int64_t more = SOFT_CAP; more <= (SOFT_CAP | SCORE_BIAS); more += SOFT_CAP) {
            Attention_sizes z = {.B = 2, .T = 5, .S = 6, .H = 4, .G = 2, .D = 4, .E = 3};
            z.flags = flags | more | (flags == SEGMENTS ? TURNS : 0);
            check_one(format("cap and bias, flags %d", (int)z.flags), z);
        }
    check_one("one query", (Attention_sizes){.B = 1, .T = 1, .S = 9, .H = 6, .G = 1, .D = 2, .E = 1, .flags = CAUSAL});
    check_one("more queries than keys",
              (Attention_sizes){.B = 1, .T = 9, .S = 2, .H = 1, .G = 1, .D = 1, .E = 3, .flags = CAUSAL});
}

/* A bias that wants a gradient itself, repeated over samples and queries. */
static void test_learned_bias(void)
{
    Attention_sizes z = {.B = 2, .T = 4, .S = 5, .H = 2, .G = 1, .D = 3, .E = 3, .flags = CAUSAL | SOFT_CAP};
    Attention a = drawn(z);
    a.bias = expand(param("bias", SHAPE(1, z.H, 1, z.S)), SHAPE(z.B, z.H, z.T, z.S));
    a.flags |= SCORE_BIAS;
    check_gradients_of("learned bias", loss_of_all(pick(attention_op(&a), 0, 0)), NULL, 8);
}

/* ------------------------------------------------------------------ in loops */

/* x [B][T][H][D] through `layers` layers of attention of x to itself and to a memory, weights apart. */
static Node *stacked(Attention_sizes z, int64_t layers, bool recompute)
{
    Node *x0 = heads("x", z.B, z.T, z.H, z.D), *memory = heads("memory", z.B, z.S, z.G, z.D);
    Node *w = param("w", SHAPE(layers, z.D, z.D));
    Loop *l = loop_open("layer", layers, false);
    Node *x = loop_carry(l, x0), *weight = loop_x(l, w);
    make_with((Making){.recompute = recompute});
    Node *y = matmul(x, weight);
    Attention a = attention_over(z, y, times(0.5, memory), memory);
    if (a.base) a.base = broadcast(l->index, a.row->shape);
    Node *next = add(x, pick(attention_op(&a), 0, 0));
    make_with((Making){0});
    loop_next(l, 0, next);
    loop_close(l);
    return loss_of_all(loop_result(l, 0));
}

static void test_loops(void)
{
    Attention_sizes z = {.B = 2, .T = 4, .S = 6, .H = 2, .G = 1, .D = 3, .E = 3, .flags = DROPOUT | CAUSAL};
    Graph *g = check_gradients_of("in a loop", stacked(z, 3, false), NULL, 8);
    expect(count_inside(g, OP_attention) == 1 && count_inside(g, OP_attention_back) == 1, "in a loop: not whole");
    g = check_gradients_of("under recomputation", stacked(z, 3, true), NULL, 8);
    expect(count_inside(g, OP_attention) == 2, "under recomputation: not made again");
}

/* The definition differentiated inside a loop, where what it reads from outside is a map made there. */
static void test_definition_in_loop(void)
{
    Attention_sizes z = {.B = 2, .T = 3, .S = 4, .H = 2, .G = 2, .D = 3, .E = 3, .flags = CAUSAL};
    Node *x0 = heads("x", z.B, z.T, z.H, z.D), *memory = heads("memory", z.B, z.S, z.G, z.D);
    Loop *l = loop_open("layer", 3, false);
    Node *x = loop_carry(l, x0);
    Attention a = attention_over(z, x, times(0.5, memory), memory);
    Node *n = attention_op(&a), *lse = pick(n, 1, 0);
    Node *low = map2(OP_lt, lse, filled(-1e20, F64, lse->shape));
    loop_next(l, 0, add(x, pick(n, 0, 0)));
    Node *sum = loop_carry(l, filled(0, F64, SHAPE()));
    loop_next(l, 1, add(sum, loss_of_all(where_op(low, filled(0, F64, lse->shape), lse))));
    loop_close(l);
    check_gradients_of("definition in a loop", add(loss_of_all(loop_result(l, 0)), loop_result(l, 1)), NULL, 8);
}

/* ------------------------------------------------------------------ text, passes */

static void test_text(void)
{
    Attention_sizes z = plain;
    z.flags = CAUSAL | DROPOUT;
    Attention a = drawn(z);
    Graph *g = check_gradients_of("text", loss_of_all(pick(attention_op(&a), 0, 0)), NULL, 1);
    Text once = {0}, twice = {0};
    print_graph(&once, g);
    Graph *back = parse_graph("once", once.at);
    print_graph(&twice, back);
    expect(same(once.at, twice.at), "it comes back as\n%s", twice.at);
    for (int i = 0; i < back->outs.n; i++)
        expect(back->outs.at[i].node == g->outs.at[i].node, "output %d is another", i);
}

static void test_switch(void)
{
    Attention a = drawn(plain);
    Graph *g = check_gradients_of("switch", loss_of_all(pick(attention_op(&a), 0, 0)), NULL, 1), cut = copy_of_graph(g);
    Value *out = NEW_ARRAY(Value, g->outs.n);
    eval_graph(g, feed, NULL, out);
    leave_out(&options, PASS_whole, true);
    pass_whole(&cut, describe(NULL, "test", &options));
    leave_out(&options, PASS_whole, false);
    check_graph(&cut, "pass_whole");
    check_same("--no-whole", &cut, out);
    expect(count_at_top(&cut, OP_attention, -1) + count_at_top(&cut, OP_attention_back, -1) == 0, "it is still whole");
}

int main(void)
{
    dice = rng_of(3);
    test_masks();
    test_learned_bias();
    test_loops();
    test_definition_in_loop();
    test_text();
    test_switch();
    return finish();
}
