/* test_split.c: that pass_split and pass_remat do what they are for: dots leave loops that only carry them, layer loops
 * stay, backward nodes read no cheap forward values.  That values stay the same is checked with every gradient
 * (gradcheck.h). */
#include "../attention.h"
#include "models.h"

static void expect_inside(const char *what, const Graph *g, int before, int after)
{
    Graph split = copy_of_graph(g);
    int had = count_inside(g, OP_dot);
    pass_split(&split, describe(NULL, "test", &options));
    expect(had == before, "%s: %d dots in loops before splitting, not %d", what, had, before);
    int has = count_inside(&split, OP_dot);
    expect(has == after, "%s: %d dots in loops after splitting, not %d", what, has, after);
    leave_out(&options, PASS_split, true);
    split = copy_of_graph(g);
    pass_split(&split, describe(NULL, "test", &options));
    leave_out(&options, PASS_split, false);
    expect(count_inside(&split, OP_dot) == before, "%s: no_split splits", what);
}

/* Forward x wx, h wh; backward dx, dh, dwx, dwh: only the two of the recurrence stay. */
static void test_lstm(void)
{
    Node *xs = param("xs", SHAPE(T_, B_, I_)), *len = ids("len", SHAPE(B_), T_ + 1);
    Node *hs = lstm(lstm_cell("cell", I_), tanh_of(xs), len, true, NULL);
    expect_inside("lstm", check_gradients_of("lstm", loss_of_all(hs), NULL, 2), 6, 2);
    xs = param("xs", SHAPE(T_, B_, I_));
    hs = lstm(lstm_cell("a", I_), xs, NULL, false, NULL);
    hs = lstm(lstm_cell("b", H_), hs, NULL, true, NULL);
    expect_inside("two lstms", check_gradients_of("two lstms", loss_of_all(hs), NULL, 2), 12, 4);
}

/* Many rows an iteration: projections stay, but the backward sums of few rows do not. */
static void test_many_rows(void)
{
    Node *xs = param("xs", SHAPE(2, 260, I_));
    Node *hs = lstm(lstm_cell("cell", I_), xs, NULL, false, NULL);
    expect_inside("lstm of many rows", check_gradients_of("many rows", loss_of_all(hs), NULL, 1), 6, 6);
}

/* The whole of a language model in the scan's body: embedding, projection, softmax and loss leave the loop. */
static void test_late_head(void)
{
    Loop *l = loop_open("time", T_, false);
    Node *id = loop_x(l, ids("ids", SHAPE(T_, B_), 9)), *to = loop_x(l, ids("to", SHAPE(T_, B_), 9));
    Node *x = gather(param("table", SHAPE(9, I_)), id, 0, 0), *wx = param("wx", SHAPE(I_, H_)),
         *wh = param("wh", SHAPE(H_, H_));
    Node *h = loop_carry(l, filled(0, F64, SHAPE(B_, H_))), *sum = loop_carry(l, scalar(0, F64));
    Node *next = tanh_of(add(matmul(x, wx), matmul(h, wh)));
    loop_next(l, 0, next);
    loop_next(l, 1, add(sum, head(next, param("out", SHAPE(H_, 9)), to)));
    loop_close(l);
    Graph *g = check_gradients_of("late head", loop_result(l, 1), NULL, 8);
    expect_inside("late head", g, 9, 2);
    expect(count_inside(g, OP_gather) > 0 && count_inside(g, OP_scatter_add) > 0, "no embedding in the loop");
    pass_split(g, describe(NULL, "test", &options));
    expect(count_inside(g, OP_gather) + count_inside(g, OP_scatter_add) == 0, "index ops left in the loop");
    expect(count_inside(g, OP_exp) == 0 && count_inside(g, OP_log) == 0, "the softmax is left in the loop");
    expect(count_at_top(g, OP_loop, -1) == 2, "%d loops, not 2", count_at_top(g, OP_loop, -1));
}

static void test_layers_stay(void)
{
    for (int rows = 6; rows <= 300; rows += 294) {
        Node *y = layers("block", param("x", SHAPE(rows, 4)), 2, false);
        expect_inside("layers", check_gradients_of("layers", loss_of_all(y), NULL, 1), 6, 6);
    }
}

static void test_micro_stays(void)
{
    Loop *micro = loop_open("micro", 3, false);
    Node *x = loop_x(micro, reals("x", SHAPE(3, 4, 2)));
    Node *y = matmul(tanh_of(matmul(x, param("w", SHAPE(2, 3)))), param("v", SHAPE(3, 2)));
    expect_inside("micro", check_gradients_of("micro", loss_of_all(tanh_of(y)), micro, 6), 5, 5);
}

/* Attention over a memory: its gradient, an outer product an iteration, becomes one contraction over time. */
static void test_attention_memory(void)
{
    Node *memory = param("memory", SHAPE(B_, 4, H_)), *w = param("w", SHAPE(H_, H_));
    Loop *l = loop_open("time", T_, false);
    Node *h = loop_carry(l, param("h", SHAPE(B_, H_)));
    Node *scores = dot(memory, h, (Dot_axes){.nb = 1, .nc = 1, .ab = {0}, .bb = {0}, .ac = {2}, .bc = {1}});
    Node *p = map1(OP_exp, tanh_of(scores));
    Node *context = dot(p, memory, (Dot_axes){.nb = 1, .nc = 1, .ab = {0}, .bb = {0}, .ac = {1}, .bc = {1}});
    loop_next(l, 0, tanh_of(matmul(add(h, times(0.1, context)), w)));
    loop_close(l);
    Graph *g = check_gradients_of("attention memory", loss_of_all(loop_result(l, 0)), NULL, 12);
    expect_inside("attention memory", g, 9, 6);
}

/* Copies that attend, to what is their own or to one memory: the copies become a batch axis. */
static void check_copies(const char *what, Attention_sizes z, bool memory)
{
    Loop *l = loop_open("copy", 3, false);
    Node *q = loop_x(l, param("q", SHAPE(3, z.B, z.T, z.H, z.D))), *k = param("k", SHAPE(3, z.B, z.S, z.G, z.D));
    Node *v = memory ? param("v", SHAPE(z.B, z.S, z.G, z.E)) : loop_x(l, param("v", SHAPE(3, z.B, z.S, z.G, z.E)));
    Attention a = attention_over(z, q, loop_x(l, k), v);
    Node *own = broadcast(l->index, SHAPE(z.B));
    if (a.base) a.base = add(a.base, own);
    if (a.lengths && !memory) a.lengths = add(a.lengths, own);
    Node *o = tanh_of(pick(attention_op(&a), 0, 0));
    loop_yield(l, o);
    loop_close(l);
    Graph *g = check_gradients_of(what, loss_of_all(loop_stack(l, o)), NULL, 4);
    expect(count_inside(g, OP_attention) == 1 && count_inside(g, OP_attention_back) == 1, "%s: not in loops", what);
    pass_split(g, describe(NULL, "test", &options));
    expect(count_inside(g, OP_attention) + count_inside(g, OP_attention_back) == 0, "%s: left in loops", what);
    expect(count_at_top(g, OP_attention, -1) == 1 && count_at_top(g, OP_attention_back, -1) == 1, "%s: not one", what);
}

static void test_attention_in_copies(void)
{
    for (int64_t flags = 0; flags < PROBABILITIES; flags++) {
        Attention_sizes z = {.B = 2, .T = 3, .S = 5, .H = 4, .G = flags % 2 ? 2 : 4, .D = 2, .E = 3, .flags = flags};
        z.window = flags % 3 ? 0 : 3;
        check_copies(format("copies, flags %d", (int)flags), z, flags & 2);
        z.flags |= TURNS;
        check_copies(format("copies that turn, flags %d", (int)flags), z, flags & 2);
    }
}

/* What all samples share differs from copy to copy: such attention stays, and what it does not need leaves. */
static void test_attention_stays(void)
{
    Attention_sizes z = {.B = 2, .T = 3, .S = 4, .H = 2, .G = 2, .D = 2, .E = 2, .flags = CAUSAL};
    Loop *l = loop_open("copy", 3, false);
    Node *q = loop_x(l, param("q", SHAPE(3, z.B, z.T, z.H, z.D))), *k = param("k", SHAPE(z.B, z.S, z.G, z.D));
    Attention a = attention_over(z, q, k, k);
    a.offset = l->index;
    Node *o = matmul(pick(attention_op(&a), 0, 0), param("w", SHAPE(z.E, 2)));
    loop_yield(l, o);
    loop_close(l);
    Graph *g = check_gradients_of("offset of a copy", loss_of_all(loop_stack(l, o)), NULL, 4);
    expect(count_inside(g, OP_dot) > 0, "no product in the loop");
    pass_split(g, describe(NULL, "test", &options));
    expect(count_inside(g, OP_attention) == 1 && count_inside(g, OP_dot) == 0, "attention alone should stay");
}

/* ------------------------------------------------------------------ remat */

static bool to_be_remade(const Node *n)
{
    OpKind kind = op_info[n->op].kind;
    return kind == MAP || kind == REDUCE || kind == MOVE || kind == JOIN;
}

/* Cheap values of phase 0 that nodes of phase 1 read, at all levels. */
static int read_back(Loop *level, const Nodes *roots)
{
    Nodes all = {0};
    int found = 0;
    nodes_at(level, roots->at, roots->n, &all);
    for (int i = 0; i < all.n; i++) {
        const Node *n = all.at[i];
        for (int k = 0; k < n->nin && n->phase == 1; k++) found += n->in[k]->phase == 0 && to_be_remade(n->in[k]);
        if (n->op != OP_loop) continue;
        Nodes inner = {0};
        for (int k = 0; k < n->loop->xs.n && n->phase == 1; k++) {
            const Node *outer = n->loop->xs.at[k].outer;
            found += outer->phase == 0 && to_be_remade(outer);
        }
        loop_roots(n->loop, &inner);
        found += read_back(n->loop, &inner);
    }
    return found;
}

static int read_back_in(const Graph *g)
{
    Nodes roots = {0};
    graph_roots(g, &roots);
    return read_back(NULL, &roots);
}

static void test_remat(void)
{
    Node *x = tanh_of(param("x", SHAPE(T_, B_, I_))), *hs = lstm(lstm_cell("cell", I_), x, NULL, false, NULL);
    Node *y = tanh_of(matmul(map1(OP_sin, hs), param("w", SHAPE(H_, H_))));
    Node *z = layers("block", reshape(y, SHAPE(T_ * B_, H_)), 2, false);
    Graph *g = check_gradients_of("remade", loss_of_all(tanh_of(z)), NULL, 1);
    int before = read_back_in(g);
    expect(before > 3, "only %d cheap values are read by the backward pass", before);
    Graph made = copy_of_graph(g);
    leave_out(&options, PASS_remat, true);
    pass_remat(&made, describe(NULL, "test", &options));
    leave_out(&options, PASS_remat, false);
    expect(read_back_in(&made) == before, "no_recompute recomputes");
    pass_remat(&made, describe(NULL, "test", &options));
    expect(read_back_in(&made) == 0, "%d cheap values are still read", read_back_in(&made));
    pass_split(g, describe(NULL, "test", &options));
    pass_remat(g, describe(NULL, "test", &options));
    expect(read_back_in(g) == 0, "%d cheap values are still read after splitting", read_back_in(g));
}

/* In the body of micro forward and backward meet as they do at the top. */
static void test_remat_in_micro(void)
{
    Loop *micro = loop_open("micro", 3, false);
    Node *x = loop_x(micro, reals("x", SHAPE(3, 4, 2)));
    Node *y = matmul(tanh_of(matmul(x, param("w", SHAPE(2, 3)))), param("v", SHAPE(3, 2)));
    Graph *g = check_gradients_of("micro", loss_of_all(tanh_of(y)), micro, 6);
    expect(read_back_in(g) > 0, "nothing to remake in micro");
    pass_remat(g, describe(NULL, "test", &options));
    expect(read_back_in(g) == 0, "%d cheap values are still read in micro", read_back_in(g));
}

/* What a region has made is not read by the backward pass; with no_recompute it is, and nothing is made twice. */
static void test_regions(void)
{
    for (int off = 0; off < 2; off++) {
        leave_out(&options, PASS_remat, off);
        Node *x = param("x", SHAPE(6, 4)), *w = param("w", SHAPE(4, 4)), *v = param("v", SHAPE(4, 4));
        make_with((Making){.recompute = true});
        Node *y = matmul(tanh_of(matmul(x, w)), v);
        make_with((Making){0});
        Node *z = tanh_of(add(x, y));
        Graph *g = check_gradients_of("region", loss_of_all(mul(z, z)), NULL, 8);
        int remade = count_at_top(g, OP_dot, 1);
        expect(remade == (off ? 4 : 5), "%d dots in the backward pass", remade);
    }
    leave_out(&options, PASS_remat, false);
}

int main(void)
{
    dice = rng_of(3);
    test_lstm();
    test_many_rows();
    test_late_head();
    test_layers_stay();
    test_micro_stays();
    test_attention_memory();
    test_attention_in_copies();
    test_attention_stays();
    test_remat();
    test_remat_in_micro();
    test_regions();
    return finish();
}
