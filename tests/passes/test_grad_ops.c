/* test_grad_ops.c: the gradient of every op against differences of the loss, through the interpreter.  Map ops come
 * from the table, so that a new row is tested by existing. */
#include "gradcheck.h"

static void test_rows(void)
{
    for (int op = 0; op < OPS; op++) {
        const OpInfo *info = &op_info[op];
        if (info->kind != MAP || !(same(info->class, "REAL") || same(info->class, "NUM"))) continue;
        Node *in[2];
        for (int i = 0; i < info->arity; i++) in[i] = param_in(info->domain, i ? "b" : "a", SHAPE(3, 5));
        check_gradients_of(info->name, loss_of_all(map_op(op, info->arity, in)), NULL, 15);
        in[0] = in[1] = param_in(info->domain, "both", SHAPE(4));
        if (info->arity == 2) check_gradients_of(info->name, loss_of_all(map_op(op, 2, in)), NULL, 4);
    }
}

static void test_mixed_maps(void)
{
    Shape s = SHAPE(3, 4);
    Node *a = param("a", s), *b = param("b", s), *x = reals("x", s);
    Node *yes = map2(OP_lt, x, filled(0.1, F64, s));
    check_gradients_of("where", loss_of_all(where_op(yes, a, mul(b, b))), NULL, 12);
    a = param("a", s);
    check_gradients_of("cast", loss_of_all(add(mul(a, a), cast_op(cast_op(a, I32), F64))), NULL, 12);
    a = param("a", s);
    Node *bits =
        philox(broadcast(ids("seed", SHAPE(), 9), s), filled(3, I32, s), filled(1, I32, s), iota(s, 0), iota(s, 1));
    Node *keep = map2(OP_lt, u01(bits, F64), filled(0.6, F64, s));
    check_gradients_of("dropout", loss_of_all(where_op(keep, times(1.7, tanh_of(a)), filled(0, F64, s))), NULL, 12);
}

static void test_reductions(void)
{
    Node *a = param("a", SHAPE(3, 4, 5));
    check_gradients_of("sum", loss_of_all(tanh_of(reduce(OP_sum, a, AXES(2, 0)))), NULL, 20);
    a = param("a", SHAPE(3, 4, 5));
    check_gradients_of("rmax", loss_of_all(tanh_of(reduce(OP_rmax, a, AXES(0, 2)))), NULL, 60);
    a = param("a", SHAPE(3, 4, 5));
    check_gradients_of("rmin", loss_of_all(tanh_of(reduce(OP_rmin, a, AXES(0, 2)))), NULL, 60);
    a = param("a", SHAPE(7));
    Node *tied = concat(2, (Node *[]){a, a}, 0);
    check_gradients_of("rmax of ties", loss_of_all(mul(reduce(OP_rmax, tied, AXES(0)), reduce(OP_sum, a, AXES(0)))),
                       NULL, 7);
    a = param("a", SHAPE(7));
    tied = concat(2, (Node *[]){a, a}, 0);
    check_gradients_of("rmin of ties", loss_of_all(mul(reduce(OP_rmin, tied, AXES(0)), reduce(OP_sum, a, AXES(0)))),
                       NULL, 7);
}

static void test_moves(void)
{
    Node *a = param("a", SHAPE(2, 3, 10));
    check_gradients_of("reshape", loss_of_all(tanh_of(reshape(a, SHAPE(12, 5)))), NULL, 10);
    a = param("a", SHAPE(2, 3, 4, 5));
    check_gradients_of("permute", loss_of_all(tanh_of(permute(a, (int[]){2, 0, 3, 1}))), NULL, 30);
    a = param("a", SHAPE(3, 1, 2, 1));
    check_gradients_of("expand", loss_of_all(tanh_of(expand(a, SHAPE(3, 4, 2, 5)))), NULL, 6);
    a = param("a", SHAPE(4));
    check_gradients_of("broadcast", loss_of_all(tanh_of(broadcast(a, SHAPE(3, 2, 4)))), NULL, 4);
    a = param("a", SHAPE(7, 20, 3));
    check_gradients_of("slice", loss_of_all(tanh_of(slice(a, INTS(1, 2, 0), INTS(3, 6, 3), INTS(2, 3, 1)))), NULL, 40);
    a = param("a", SHAPE(9, 4));
    check_gradients_of("slice to the end", loss_of_all(tanh_of(slice(a, INTS(0, 3), INTS(3, 1), INTS(4, 2)))), NULL,
                       36);
    a = param("a", SHAPE(3, 7));
    check_gradients_of("pad", loss_of_all(tanh_of(pad(a, INTS(1, 0), INTS(2, 5)))), NULL, 21);
    a = param("a", SHAPE(2, 3, 4));
    check_gradients_of("flip", loss_of_all(tanh_of(flip(a, AXES(0, 2)))), NULL, 24);
    Node *b = param("b", SHAPE(2, 1, 4));
    a = param("a", SHAPE(2, 3, 4));
    check_gradients_of("concat", loss_of_all(tanh_of(concat(4, (Node *[]){a, b, a, b}, 1))), NULL, 24);
}

/* Slices of one tensor: their gradients are put side by side, not padded and added. */
static void test_slices_that_tile(void)
{
    Node *a = param("a", SHAPE(3, 12)), *parts[3], *y = NULL;
    for (int k = 0; k < 3; k++) {
        parts[k] = tanh_of(slice(a, INTS(0, 4 * k), INTS(3, 4), NULL));
        y = y ? mul(y, parts[k]) : parts[k];
    }
    Graph *g = check_gradients_of("slices that tile", loss_of_all(y), NULL, 36);
    expect(count_at_top(g, OP_pad, -1) == 0 && count_at_top(g, OP_concat, -1) == 1, "no concat made of tiles");
    Node *b = param("b", SHAPE(3, 12));
    y = mul(slice(b, INTS(0, 0), INTS(3, 7), NULL), slice(b, INTS(0, 5), INTS(3, 7), NULL));
    check_gradients_of("slices that overlap", loss_of_all(mul(y, slice(b, INTS(0, 0), INTS(3, 7), NULL))), NULL, 36);
}

static void check_dot(const char *what, Shape sa, Shape sb, Dot_axes x)
{
    check_gradients_of(what, loss_of_all(tanh_of(dot(param("a", sa), param("b", sb), x))), NULL, 24);
}

static void test_dots(void)
{
    check_dot("x W", SHAPE(4, 3), SHAPE(3, 5), (Dot_axes){.nc = 1, .ac = {1}, .bc = {0}});
    check_dot("x W'", SHAPE(4, 3), SHAPE(5, 3), (Dot_axes){.nc = 1, .ac = {1}, .bc = {1}});
    check_dot("x[B,T,C] W", SHAPE(2, 4, 3), SHAPE(3, 5), (Dot_axes){.nc = 1, .ac = {2}, .bc = {0}});
    check_dot("outer", SHAPE(2, 3), SHAPE(4), (Dot_axes){.nc = 0});
    check_dot("inner", SHAPE(2, 3), SHAPE(3, 2), (Dot_axes){.nc = 2, .ac = {0, 1}, .bc = {1, 0}});
    check_dot("two crossed", SHAPE(2, 3, 4), SHAPE(4, 5, 2), (Dot_axes){.nc = 2, .ac = {0, 2}, .bc = {2, 0}});
    check_dot("attention", SHAPE(2, 4, 3, 5), SHAPE(2, 6, 3, 5),
              (Dot_axes){.nb = 2, .nc = 1, .ab = {0, 2}, .bb = {0, 2}, .ac = {3}, .bc = {3}});
    check_dot("batch out of order", SHAPE(3, 4, 2, 5), SHAPE(5, 2, 3, 6),
              (Dot_axes){.nb = 2, .nc = 1, .ab = {2, 0}, .bb = {1, 2}, .ac = {3}, .bc = {0}});
    check_dot("batch only", SHAPE(3, 2), SHAPE(2, 3), (Dot_axes){.nb = 2, .ab = {0, 1}, .bb = {1, 0}});
    Node *a = param("a", SHAPE(4, 4));
    check_gradients_of("a a", loss_of_all(tanh_of(matmul(a, a))), NULL, 16);
}

static void test_gathers(void)
{
    Node *x = param("x", SHAPE(5, 3));
    check_gradients_of("gather rows", loss_of_all(tanh_of(gather(x, ids("i", SHAPE(2, 4), 5), 0, 0))), NULL, 15);
    x = param("x", SHAPE(2, 6, 3));
    check_gradients_of("gather inside", loss_of_all(tanh_of(gather(x, ids("i", SHAPE(4), 6), 1, 0))), NULL, 36);
    x = param("x", SHAPE(3, 2, 6));
    check_gradients_of("gather shared", loss_of_all(tanh_of(gather(x, ids("i", SHAPE(3, 2, 2), 6), 2, 2))), NULL, 36);
    x = param("x", SHAPE(3, 2, 6, 2));
    check_gradients_of("gather past", loss_of_all(tanh_of(gather(x, ids("i", SHAPE(3, 4), 6), 2, 1))), NULL, 30);
    Node *u = param("u", SHAPE(2, 4, 3));
    Node *y = scatter_add(u, ids("i", SHAPE(2, 4), 5), SHAPE(5, 3), 0, 0);
    check_gradients_of("scatter_add", loss_of_all(tanh_of(y)), NULL, 24);
    u = param("u", SHAPE(2, 3, 4));
    y = scatter_add(u, ids("i", SHAPE(2, 4), 5), SHAPE(2, 3, 5), 2, 1);
    check_gradients_of("scatter_add shared", loss_of_all(tanh_of(y)), NULL, 24);
}

static void test_overwrites(void)
{
    Node *x = param("x", SHAPE(5, 3)), *u = param("u", SHAPE(2, 4, 3));
    Node *y = overwrite(x, ids("i", SHAPE(2, 4), 5), u, 0, 0);
    check_gradients_of("overwrite, repeated", loss_of_all(tanh_of(y)), NULL, 24);
    x = param("x", SHAPE(2, 3, 6));
    u = param("u", SHAPE(2, 3, 4));
    y = overwrite(x, ids("i", SHAPE(2, 4), 6), u, 2, 1);
    check_gradients_of("overwrite, shared", loss_of_all(tanh_of(y)), NULL, 36);
    x = param("x", SHAPE(5, 3));
    u = param("u", SHAPE(3));
    y = overwrite(x, ids("i", SHAPE(), 5), u, 0, 0);
    check_gradients_of("overwrite one", loss_of_all(tanh_of(y)), NULL, 15);
}

static void test_walks(void)
{
    Node *x = param("x", SHAPE(3, 5, 2));
    check_gradients_of("cumsum", loss_of_all(tanh_of(cumsum(x, 1, false))), NULL, 30);
    x = param("x", SHAPE(3, 5));
    check_gradients_of("cumsum backwards", loss_of_all(tanh_of(cumsum(x, 0, true))), NULL, 15);
    check_gradients_of("cumprod", loss_of_all(tanh_of(scanned(OP_cumprod, x, 1, false))), NULL, 15);
    Node *most = cast_op(map2(OP_ne, iota(x->shape, 1), filled(2, I32, x->shape)), F64), *y = mul(x, most);
    check_gradients_of("cumprod of zeros", loss_of_all(tanh_of(scanned(OP_cumprod, y, 1, true))), NULL, 15);
    for (int axis = 0; axis < 3; axis++) {
        x = param("x", SHAPE(4, 5, 6));
        Node *top = topk(x, axis, 3), *which = cast_op(pick(top, 1, 0), F64);
        check_gradients_of("topk", loss_of_all(mul(pick(top, 0, 0), tanh_of(add(pick(top, 0, 0), which)))), NULL, 40);
    }
    x = param("x", SHAPE(4, 5));
    Node *best = gather(x, argmax(x, 1), 1, 1);
    check_gradients_of("argmax", loss_of_all(mul(best, best)), NULL, 20);
}

/* softmax cross-entropy, layernorm and gelu as nn writes them */
static void test_compositions(void)
{
    Shape s = SHAPE(4, 7);
    Node *x = param("x", SHAPE(4, 5)), *w = param("w", SHAPE(5, 7)), *z = matmul(x, w);
    Node *top = broadcast(reshape(reduce(OP_rmax, z, AXES(1)), SHAPE(4, 1)), s);
    Node *log_sum = map1(OP_log, reduce(OP_sum, map1(OP_exp, map2(OP_sub, z, top)), AXES(1)));
    Node *right = gather(map2(OP_sub, z, top), ids("target", SHAPE(4), 7), 1, 1);
    check_gradients_of("cross-entropy", loss_of_all(map2(OP_sub, log_sum, right)), NULL, 20);
    x = param("x", s);
    Node *gain = param("gain", SHAPE(7)), *bias = param("bias", SHAPE(7));
    Node *mean = times(1.0 / 7, reduce(OP_sum, x, AXES(1)));
    Node *d = map2(OP_sub, x, broadcast(reshape(mean, SHAPE(4, 1)), s));
    Node *r = map1(OP_rsqrt, add(times(1.0 / 7, reduce(OP_sum, mul(d, d), AXES(1))), filled(1e-5, F64, SHAPE(4))));
    Node *y = add(mul(mul(d, broadcast(reshape(r, SHAPE(4, 1)), s)), broadcast(gain, s)), broadcast(bias, s));
    Node *gelu = mul(y, times(0.5, add(filled(1, F64, s), map1(OP_erf, times(0.7071067811865476, y)))));
    check_gradients_of("layernorm, gelu", loss_of_all(gelu), NULL, 28);
}

/* A parameter that the loss does not depend on has a gradient of zeros; integers carry none. */
static void test_unreached(void)
{
    Node *a = param("a", SHAPE(3)), *b = param("b", SHAPE(2)), *c = param("c", SHAPE(2));
    Node *through = cast_op(map1(OP_floor, b), I32), *y = mul(a, a);
    Graph *g = NEW(Graph);
    *g = (Graph){.name = "train", .entry = ENTRY_train, .wants_grads = true};
    push(&g->outs, ((Output){OUT_VALUE, "loss", add(loss_of_all(y), loss_of_all(cast_op(through, F64)))}));
    push(&g->outs, ((Output){OUT_VALUE, "other", loss_of_all(c)}));
    pass_grad(g, describe(NULL, "test", &options));
    expect(g->outs.n == 5, "%d outputs, not 5", g->outs.n);
    Value out[8];
    eval_graph(g, feed, NULL, out);
    for (int i = 2; i < g->outs.n; i++) {
        bool of_a = same(g->outs.at[i].name, a->name);
        expect((norm_of(out[i].at, elements(out[i].shape)) > 0) == of_a, "gradient of %s", g->outs.at[i].name);
        expect(g->outs.at[i].kind == OUT_GRAD, "not a gradient");
    }
    check_number++;
}

int main(void)
{
    dice = rng_of(1);
    test_rows();
    test_mixed_maps();
    test_reductions();
    test_moves();
    test_slices_that_tile();
    test_dots();
    test_gathers();
    test_overwrites();
    test_walks();
    test_compositions();
    test_unreached();
    return finish();
}
