/* test_grad_loops.c: gradients of loops: scans, layer stacks, maps, nests, checkpoints, micro-batches, against
 * differences. */
#include "models.h"

static void test_scans(void)
{
    Node *last, *hs, *xs = param("xs", SHAPE(T_, B_, I_)), *len = ids("len", SHAPE(B_), T_ + 1);
    hs = lstm(lstm_cell("cell", I_), xs, NULL, false, NULL);
    check_gradients_of("lstm", loss_of_all(hs), NULL, 8);
    xs = param("xs", SHAPE(T_, B_, I_));
    hs = lstm(lstm_cell("cell", I_), xs, ids("len", SHAPE(B_), T_ + 1), false, &last);
    check_gradients_of("ragged lstm", add(loss_of_all(hs), loss_of_all(tanh_of(last))), NULL, 8);
    xs = param("xs", SHAPE(T_, B_, I_));
    len = ids("len", SHAPE(B_), T_ + 1);
    Node *there = lstm(lstm_cell("there", I_), xs, len, false, NULL);
    Node *back = lstm(lstm_cell("back", I_), xs, len, true, &last);
    hs = lstm(lstm_cell("second", 2 * H_), concat(2, (Node *[]){there, back}, 2), len, false, NULL);
    check_gradients_of("two-way lstm", add(loss_of_all(hs), loss_of_all(last)), NULL, 6);
}

static void test_layers(void)
{
    for (int checkpoint = 0; checkpoint < 2; checkpoint++) {
        Node *y = layers("block", param("x", SHAPE(6, 4)), 3, checkpoint);
        check_gradients_of("layers", loss_of_all(y), NULL, 12);
    }
}

/* Carries that swap, that stay, that are set anew, that nothing reads, integers; the index; an invariant next and
 * stack. */
static void test_carries(void)
{
    Shape s = SHAPE(2, 3);
    for (int reverse = 0; reverse < 2; reverse++) {
        Loop *l = loop_open("time", 4, reverse);
        Node *p = param("p", s), *q = param("q", s), *u = param("u", s), *w = param("w", s), *r = param("r", s);
        Node *a = loop_carry(l, p), *b = loop_carry(l, mul(q, q)), *stays = loop_carry(l, u), *anew = loop_carry(l, w);
        Node *n = loop_carry(l, scalar(3, I32)), *late = loop_carry(l, r), *unread = loop_carry(l, r);
        Node *xs = param("xs", SHAPE(4, 2, 3)), *x = loop_x(l, xs), *outer = param("outer", s);
        Node *i = broadcast(cast_op(add(mul(l->index, l->index), n), F64), s);
        loop_next(l, 0, tanh_of(add(b, mul(i, x))));
        loop_next(l, 1, a);
        loop_next(l, 2, stays);
        loop_next(l, 3, mul(x, x));
        loop_next(l, 4, add(n, l->index));
        loop_next(l, 5, outer);
        loop_next(l, 6, mul(unread, x));
        loop_close(l);
        Node *t = tanh_of(add(mul(stays, anew), mul(late, outer)));
        Node *loss = loss_of_all(loop_stack(l, t));
        for (int k = 0; k < 4; k++) loss = add(loss, loss_of_all(map1(OP_sin, loop_result(l, k))));
        loss = add(loss, loss_of_all(mul(loop_stack(l, outer), loop_stack(l, a))));
        loss = add(loss, loss_of_all(mul(loop_stack(l, x), loop_stack(l, x))));
        loss = add(loss, loss_of_all(times(0.3, loop_result(l, 5))));
        check_gradients_of("carries", loss, NULL, 24);
    }
}

/* Sums over iterations, in every form that pass_split knows: dots, reductions, scatters, views, maps. */
static void test_sums(void)
{
    Loop *l = loop_open("time", 4, false);
    Node *xs = param("xs", SHAPE(4, 3, 2)), *x = loop_x(l, xs), *w = param("w", SHAPE(2, 5)),
         *v = param("v", SHAPE(3, 2));
    Node *table = param("table", SHAPE(6, 2)), *id = loop_x(l, ids("ids", SHAPE(4, 3), 6));
    Node *rows = gather(table, id, 0, 0), *z = matmul(tanh_of(add(mul(x, v), rows)), w);
    Node *squares = dot(z, z, (Dot_axes){.nc = 1, .ac = {0}, .bc = {0}});
    Node *counts = scatter_add(mul(x, x), id, SHAPE(6, 2), 0, 0);
    Node *a = loop_carry(l, param("a", SHAPE(5, 5))), *b = loop_carry(l, filled(0, F64, SHAPE(6, 2)));
    Node *c = loop_carry(l, filled(0, F64, SHAPE(2, 3))), *d = loop_carry(l, scalar(0, F64)), *e = loop_carry(l, v);
    loop_next(l, 0, add(a, squares));
    loop_next(l, 1, add(counts, b));
    loop_next(l, 2, add(c, permute(map2(OP_sub, tanh_of(x), v), (int[]){1, 0})));
    loop_next(l, 3, add(add(d, loss_of_all(mul(z, z))), scalar(0.25, F64)));
    loop_next(l, 4, add(e, v));
    loop_close(l);
    Node *loss = loop_result(l, 3);
    for (int k = 0; k < 5; k++)
        if (k != 3) loss = add(loss, loss_of_all(tanh_of(times(0.3, loop_result(l, k)))));
    Graph *g = check_gradients_of("sums", loss, NULL, 12);
    pass_split(g, describe(NULL, "test", &options));
    expect(count_inside(g, OP_dot) == 0, "%d dots left in loops", count_inside(g, OP_dot));
}

static Node *mapped(int64_t copies, Node *shared, bool with_scan)
{
    Loop *l = loop_open("copy", copies, false);
    Node *w = loop_x(l, param("w", SHAPE(copies, I_, 3))), *x = loop_x(l, param("x", SHAPE(copies, T_, B_, I_)));
    Node *y = with_scan ? lstm(lstm_cell("cell", I_), tanh_of(x), NULL, false, NULL) : tanh_of(matmul(x, w));
    Node *i = broadcast(cast_op(l->index, F64), y->shape);
    Node *z = mul(add(y, broadcast(shared, y->shape)), map1(OP_cos, i));
    Node *best = pick(topk(z, 2, 2), 0, 0);
    Node *sorted = cumsum(z, 0, true);
    loop_close(l);
    return add(loss_of_all(loop_stack(l, mul(best, best))), loss_of_all(tanh_of(loop_stack(l, sorted))));
}

static void test_maps(void)
{
    Node *loss = mapped(3, param("shared", SHAPE(3)), false);
    Graph *g = check_gradients_of("map", loss, NULL, 12);
    pass_split(g, describe(NULL, "test", &options));
    expect(count_at_top(g, OP_loop, -1) == 0, "a map has kept its loop");
    loss = mapped(2, param("shared", SHAPE(H_)), true);
    check_gradients_of("map of scans", loss, NULL, 8);
}

/* Layers each of which scans: the inner stacks and xs have two loop axes. */
static Node *scanning_layers(Node *x, int64_t n, bool checkpoint, Node *len)
{
    Loop *l = loop_open("layer", n, false);
    Node *h = loop_carry(l, x); /* [T][B][H] */
    Cell c = {loop_x(l, param("wx", SHAPE(n, H_, 4 * H_))), loop_x(l, param("wh", SHAPE(n, H_, 4 * H_))),
              loop_x(l, param("b", SHAPE(n, 4 * H_)))};
    make_with((Making){.recompute = checkpoint});
    Node *y = lstm(c, h, len, false, NULL);
    Node *scale = param("scale", SHAPE(H_));
    y = mul(y, broadcast(scale, y->shape));
    make_with((Making){0});
    loop_next(l, 0, add(h, y));
    loop_close(l);
    return loop_result(l, 0);
}

static void test_nests(void)
{
    for (int checkpoint = 0; checkpoint < 2; checkpoint++) {
        Node *x = param("x", SHAPE(T_, B_, H_)), *len = ids("len", SHAPE(B_), T_ + 1);
        Node *y = scanning_layers(x, 3, checkpoint, len);
        check_gradients_of(checkpoint ? "layers of scans, checkpoint" : "layers of scans", loss_of_all(y), NULL, 8);
    }
}

/* The inner scan walks along stacks that the outer loop gives it slices of, and reads values of every level. */
static void test_nested_stacks(void)
{
    Loop *l = loop_open("layer", 3, true);
    Node *u = param("u", SHAPE(2)), *a = loop_carry(l, param("a", SHAPE(2))),
         *x = loop_x(l, param("x", SHAPE(3, 4, 2)));
    Node *w = loop_x(l, param("w", SHAPE(3, 2, 2)));
    Loop *m = loop_open("time", 4, false);
    Node *b = loop_carry(m, tanh_of(a)), *y = loop_x(m, x), *z = loop_x(m, map1(OP_sin, mul(x, x)));
    Node *deep = add(mul(matmul(b, w), u), mul(add(y, z), a));
    loop_next(m, 0, tanh_of(deep));
    loop_close(m);
    Node *seen = loop_stack(m, mul(b, y));
    loop_next(l, 0, add(loop_result(m, 0), mul(a, reduce(OP_sum, seen, AXES(0)))));
    loop_close(l);
    Node *loss = add(loss_of_all(loop_result(l, 0)), loss_of_all(tanh_of(loop_stack(l, seen))));
    check_gradients_of("nested stacks", loss, NULL, 24);
}

static void test_micro(void)
{
    for (int checkpoint = 0; checkpoint < 2; checkpoint++) {
        Node *tokens = ids("tokens", SHAPE(2, B_, T_), 7), *targets = ids("targets", SHAPE(2, B_, T_), 7);
        Node *table = param("table", SHAPE(7, H_)), *decay = param("decay", SHAPE(3));
        Loop *micro = loop_open("micro", 2, false);
        Node *t = loop_x(micro, tokens), *wanted = loop_x(micro, targets);
        Node *x = permute(gather(table, t, 0, 0), (int[]){1, 0, 2});
        Node *y = permute(scanning_layers(x, 3, checkpoint, NULL), (int[]){1, 0, 2});
        Node *loss = head(reshape(y, SHAPE(B_ * T_, H_)), param("out", SHAPE(H_, 7)), reshape(wanted, SHAPE(B_ * T_)));
        loss = add(loss, times(0.01, reduce(OP_sum, mul(decay, decay), AXES(0))));
        Graph *g = check_gradients_of("micro x layers x time", loss, micro, 6);
        expect(!g->micro && g->outs.at[0].node->shape.rank == 0, "micro is not closed");
    }
}

/* Regions at the top: unrolled blocks, a loop in a region, a value of a region used after it. */
static void test_checkpoints(void)
{
    Node *x = param("x", SHAPE(6, 4));
    for (int k = 0; k < 3; k++) {
        make_with((Making){.recompute = true});
        Node *w = param(format("w%d", k), SHAPE(4, 4)), *y = tanh_of(matmul(x, w));
        y = matmul(map1(OP_sin, y), w);
        make_with((Making){0});
        x = add(x, mul(y, tanh_of(x)));
    }
    make_with((Making){.recompute = true});
    Node *y = layers("in", x, 3, false), *z = tanh_of(y);
    Node *hs = lstm(lstm_cell("cell", 4), reshape(z, SHAPE(2, 3, 4)), NULL, true, NULL);
    make_with((Making){0});
    Graph *g = check_gradients_of("regions", add(loss_of_all(mul(y, z)), loss_of_all(tanh_of(hs))), NULL, 6);
    expect(count_at_top(g, OP_dot, 1) >= 3 * (1 + 2 + 2), "dots of regions are not made again");
}

int main(void)
{
    dice = rng_of(2);
    test_scans();
    test_layers();
    test_carries();
    test_sums();
    test_maps();
    test_nests();
    test_nested_stacks();
    test_micro();
    test_checkpoints();
    return finish();
}
