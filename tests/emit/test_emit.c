/* test_emit.c: emitted C against the interpreter: small graphs of every kind of kernel, compiled and run, fused and
 * not. Parameters under "layer." are copies of a stack: an array of structs in the generated code. */
#include "harness.h"

#include <stdarg.h>

static Graph *graph;

static Shape shape(int rank, ...)
{
    va_list args;
    Shape s = {.rank = rank};
    va_start(args, rank);
    for (int i = 0; i < rank; i++) s.dim[i] = va_arg(args, int);
    va_end(args);
    return s;
}

static Node *input(const char *name, Shape s) { return input_node(name, F32, s); }
static Node *ids(const char *name, Shape s) { return input_node(name, I32, s); }
static Node *number(double x, Node *like) { return filled(x, like->dtype, like->shape); }
static void out(const char *name, Node *n) { push(&graph->outs, ((Output){OUT_VALUE, name, n})); }
static void loss_of_squares(Node *n)
{
    Node *squares = map2(OP_mul, n, n);
    int axes[MAXRANK] = {0, 1, 2, 3, 4, 5, 6, 7};
    out("loss", reduce(OP_sum, squares, squares->shape.rank, axes));
    graph->wants_grads = true;
}
static Node *linear(Node *x, Node *w) { return dot(x, w, (Dot_axes){.nc = 1, .ac = {x->shape.rank - 1}, .bc = {1}}); }

#define AXES(...) ((int[]){__VA_ARGS__})
#define INTS(...) ((int64_t[]){__VA_ARGS__})

/* ------------------------------------------------------------------ graphs */

static void moves(void)
{
    Node *x = input("x", shape(3, 4, 6, 10));
    out("permuted", map1(OP_exp, permute(x, AXES(2, 0, 1))));
    out("sliced", map2(OP_add, slice(x, INTS(1, 0, 1), INTS(2, 3, 4), INTS(1, 2, 2)), input("s", shape(3, 2, 3, 4))));
    out("flipped", map2(OP_mul, flip(x, 2, AXES(0, 2)), x));
    out("padded", map2(OP_add, pad(x, INTS(1, 0, 2), INTS(0, 3, 1)), input("p", shape(3, 5, 9, 13))));
    out("copied", x);
    out("flat", reshape(x, shape(1, 240)));
    out("joined", concat(3, (Node *[]){map1(OP_neg, x), input("y", shape(3, 4, 2, 10)), x}, 1));
    out("differences",
        map2(OP_sub, slice(x, INTS(0, 0, 1), INTS(4, 6, 9), NULL), slice(x, INTS(0, 0, 0), INTS(4, 6, 9), NULL)));
}

static void maps(void)
{
    Node *x = input("x", shape(2, 3, 21)), *y = input("y", x->shape);
    Node *above = map2(OP_add, map1(OP_abs, x), number(0.5, x));
    for (Op op = 0; op < OPS; op++) {
        const OpInfo *o = &op_info[op];
        if (o->kind != MAP || !(same(o->class, "REAL") || same(o->class, "NUM"))) continue;
        Node *in[] = {same(o->domain, "ANY") || same(o->domain, "SMALL") ? x : above, map2(OP_add, y, number(2, y))};
        out(format("of_%s", o->name), map_op(op, o->arity, in));
    }
    Node *inner = map2(OP_sub, x, map1(OP_neg, map2(OP_div, x, map2(OP_mul, above, above))));
    out("parentheses", map2(OP_sub, x, map2(OP_sub, y, inner)));
    out("signs", map1(OP_neg, map1(OP_neg, map2(OP_sub, x, map1(OP_neg, number(-3, x))))));
    Node *low = where_op(map2(OP_lt, x, number(0, x)), x, y),
         *high = where_op(map2(OP_le, y, x), number(1, x), number(2, x));
    out("choices", where_op(map2(OP_lt, x, y), low, high));
}

static Node *half(Node *x) { return map2(OP_mul, number(0.5, x), x); }
static Node *half_tanh(Node *x) { return map2(OP_add, number(0.5, x), half(map1(OP_tanh, x))); }

/* What is spelled as sigmoid, and what only begins like one. */
static void sigmoids(void)
{
    Node *u = input("u", shape(2, 4, 20)), *v = input("v", shape(2, 4, 20));
    out("sigmoid", half_tanh(half(map2(OP_mul, u, v))));
    out("of_a_sum", half_tanh(half(map2(OP_add, u, v))));
    out("sum", half_tanh(map2(OP_add, half(u), v)));
    out("difference", half_tanh(map2(OP_sub, half(v), number(3, v))));
    out("product", half_tanh(map2(OP_mul, half(u), v)));
    out("quarter", half_tanh(map2(OP_mul, number(0.25, u), u)));
}

static void integers(void)
{
    Node *x = input("x", shape(2, 12, 20)), *a = ids("a", shape(1, 30)), *b = ids("b", a->shape);
    out("masked", where_op(map2(OP_le, iota(x->shape, 1), iota(x->shape, 0)), x, number(-1e9, x)));
    out("falling", map2(OP_mul, cast_op(flip(iota(x->shape, 1), 1, AXES(1)), F32), x));
    out("iota", iota(shape(1, 40), 0));
    out("classes", class_id(a, 1 << 20, -5));
    Node *divisor = map2(OP_add, b, number(1, b)), *minus = map1(OP_neg, a), *less = map2(OP_lt, a, b);
    out("idiv", map2(OP_idiv, minus, divisor));
    out("mod", map2(OP_mod, minus, divisor));
    out("bits", map2(OP_bitxor, map2(OP_bitand, a, b), map2(OP_add, a, b)));
    out("logic", map2(OP_lor, map2(OP_land, less, map1(OP_lnot, map2(OP_eq, a, number(3, a)))), map2(OP_ne, a, b)));
    out("total", reduce(OP_sum, a, 1, AXES(0)));
    out("count", reduce(OP_sum, cast_op(less, I32), 1, AXES(0)));
    out("largest", reduce(OP_rmax, map2(OP_max, a, b), 1, AXES(0)));
    out("smallest", reduce(OP_rmin, map2(OP_min, a, b), 1, AXES(0)));
}

static void reductions(void)
{
    Node *x = input("x", shape(3, 8, 5, 37));
    out("last", reduce(OP_sum, x, 1, AXES(2)));
    out("first", reduce(OP_sum, x, 1, AXES(0)));
    out("middle", reduce(OP_sum, x, 1, AXES(1)));
    out("all", reduce(OP_sum, x, 3, AXES(0, 1, 2)));
    out("leading", reduce(OP_sum, map1(OP_exp, x), 2, AXES(0, 1)));
    out("ends", reduce(OP_sum, x, 2, AXES(0, 2)));
    out("max", reduce(OP_rmax, x, 1, AXES(2)));
    out("leading_max", reduce(OP_rmax, x, 2, AXES(0, 1)));
    out("min", reduce(OP_rmin, x, 1, AXES(2)));
    out("leading_min", reduce(OP_rmin, x, 2, AXES(0, 1)));
    Node *e = map1(OP_exp, x), *sum = reduce(OP_sum, e, 1, AXES(2));
    out("softmax", map2(OP_div, e, broadcast(reshape(sum, shape(3, 8, 5, 1)), x->shape)));
}

/* What lies side by side belongs to neighbouring rows: of blocks of rows, the last of them shorter; of one block. */
static void across(void)
{
    Node *x = input("x", shape(3, 3, 21, 130)), *y = input("y", shape(4, 2, 3, 70, 64)),
         *i = ids("i", shape(3, 4, 5, 17));
    Node *each = input("each", shape(1, 130)), *of_time = input("of_time", shape(2, 21, 1));
    Node *weighted = map2(OP_mul, map2(OP_mul, x, broadcast(each, x->shape)), broadcast(of_time, x->shape));
    Node *sums = reduce(OP_sum, weighted, 1, AXES(1)), *e = map1(OP_exp, y);
    out("weighted", sums);
    out("largest", reduce(OP_rmax, x, 1, AXES(1)));
    out("smallest", reduce(OP_rmin, x, 1, AXES(1)));
    out("of_sums", map2(OP_div, map1(OP_tanh, sums), map2(OP_add, input("bias", sums->shape), number(9, sums))));
    out("sum", reduce(OP_sum, e, 1, AXES(2)));
    out("of_integers", reduce(OP_sum, i, 1, AXES(1)));
    out("slices", reduce(OP_sum, slice(y, INTS(0, 1, 3, 5), INTS(2, 2, 33, 50), INTS(1, 1, 2, 1)), 1, AXES(2)));
    out("softmax", map2(OP_div, e, broadcast(reshape(reduce(OP_sum, e, 1, AXES(2)), shape(4, 2, 3, 1, 64)), y->shape)));
    out("two", map2(OP_mul, reduce(OP_sum, x, 1, AXES(1)), reduce(OP_rmax, weighted, 1, AXES(1))));
}

static void by_ids(void)
{
    Node *x = input("x", shape(3, 5, 6, 32)), *i0 = ids("i0", shape(2, 4, 7)), *i1 = ids("i1", shape(1, 9)),
         *ib = ids("ib", shape(2, 5, 3));
    Node *a = gather(x, i0, 0, 0), *b = gather(x, i1, 1, 0), *c = gather(x, ib, 1, 1), *d = gather(x, ib, 2, 1);
    out("axis0", a);
    out("axis1", b);
    out("batched", c);
    out("last", d);
    out("scalar", gather(x, input_node("one", I32, shape(0)), 0, 0));
    out("back0", scatter_add(a, i0, x->shape, 0, 0));
    out("back1", scatter_add(b, i1, x->shape, 1, 0));
    out("back_batched", scatter_add(c, ib, x->shape, 1, 1));
    out("back_last", scatter_add(d, ib, x->shape, 2, 1));
    out("over0", overwrite(x, i0, a, 0, 0));
    out("over_batched", overwrite(x, ib, map1(OP_neg, c), 1, 1));
    Node *table = input("table", shape(2, 5, 128)), *many = gather(table, ids("many", shape(2, 20, 30)), 0, 0);
    out("back_large", scatter_add(map1(OP_exp, many), ids("many", shape(2, 20, 30)), table->shape, 0, 0));
}

static void along_axes(void)
{
    Node *x = input("x", shape(3, 5, 6, 20));
    for (int k = 0; k < 3; k++) {
        Node *top = topk(x, k, 3);
        out(format("argmax%d", k), argmax(x, k));
        out(format("sums%d", k), cumsum(x, k, false));
        out(format("tails%d", k), cumsum(x, k, true));
        out(format("products%d", k), scanned(OP_cumprod, x, k, k == 1));
        out(format("largest%d", k), scanned(OP_cumargmax, x, k, k == 1));
        out(format("sorted%d", k), argsort(x, k, k == 1));
        out(format("top%d", k), pick(top, 0, 0));
        out(format("top_ids%d", k), pick(top, 1, 0));
    }
}

/* Long rows, with many equal elements, and some that are no numbers. */
static void sorts(void)
{
    Node *x = input("x", shape(2, 3, 1777)), *steps = map1(OP_floor, map2(OP_mul, x, number(16, x)));
    Node *odd = where_op(map2(OP_lt, number(0.375, x), x), map1(OP_log, map1(OP_neg, x)), x);
    for (int falling = 0; falling < 2; falling++) {
        out(format("steps%d", falling), argsort(steps, 1, falling));
        out(format("ids%d", falling), argsort(cast_op(steps, I32), 1, falling));
        out(format("odd%d", falling), argsort(odd, 1, falling));
        out(format("first%d", falling), argsort(odd, 0, falling));
        out(format("far%d", falling), scanned(OP_cumargmax, odd, 1, falling));
    }
    out("ints", scanned(OP_cumargmax, cast_op(steps, I32), 1, false));
}

static void attention(void)
{
    enum { B = 2, T = 12, H = 4, D = 8 };
    Node *x = input("x", shape(3, B, T, H * D)), *w = parameter_node("w", F32, shape(2, 3 * H * D, H * D)), *part[3];
    Node *qkv = reshape(linear(x, w), shape(5, B, T, 3, H, D));
    for (int i = 0; i < 3; i++) {
        Node *one = slice(qkv, INTS(0, 0, i, 0, 0), INTS(B, T, 1, H, D), NULL);
        part[i] = permute(reshape(one, shape(4, B, T, H, D)), AXES(0, 2, 1, 3));
    }
    Dot_axes axes = {.nb = 2, .nc = 1, .ab = {0, 1}, .bb = {0, 1}, .ac = {3}, .bc = {3}};
    Node *s = dot(part[0], part[1], axes);
    s = map2(OP_mul, s, number(0.35355339, s));
    s = where_op(map2(OP_le, iota(s->shape, 3), iota(s->shape, 2)), s, number(-1e9, s));
    Node *top = broadcast(reshape(reduce(OP_rmax, s, 1, AXES(3)), shape(4, B, H, T, 1)), s->shape);
    Node *e = map1(OP_exp, map2(OP_sub, s, top)), *sum = reduce(OP_sum, e, 1, AXES(3));
    Node *p = map2(OP_div, e, broadcast(reshape(sum, shape(4, B, H, T, 1)), s->shape));
    axes.bc[0] = 2;
    Node *y = reshape(permute(dot(p, part[2], axes), AXES(0, 2, 1, 3)), shape(3, B, T, H * D));
    loss_of_squares(y);
    out("probabilities", p);
}

static void recurrence(bool reverse)
{
    enum { T = 7, B = 3, H = 16, I = 10 };
    Node *x = permute(input("x", shape(3, B, T, I)), AXES(1, 0, 2)), *length = ids("length", shape(1, B));
    Node *wx = parameter_node("wx", F32, shape(2, H, I)), *wh = parameter_node("wh", F32, shape(2, H, H));
    Loop *l = loop_open("time", T, reverse);
    Node *h = loop_carry(l, filled(0, F32, shape(2, B, H)));
    Node *y = map1(OP_tanh, map2(OP_add, linear(loop_x(l, x), wx), linear(h, wh)));
    Node *now = broadcast(reshape(l->index, shape(2, 1, 1)), y->shape);
    y = where_op(map2(OP_lt, now, broadcast(reshape(length, shape(2, B, 1)), y->shape)), y, h);
    loop_next(l, 0, y);
    loop_close(l);
    loss_of_squares(loop_stack(l, y));
    out("states", permute(loop_stack(l, y), AXES(1, 0, 2)));
    out("last", loop_result(l, 0));
}
static void scan(void) { recurrence(false); }
static void scan_back(void) { recurrence(true); }

/* One carry becomes what another was, and one what another becomes; stacks of what is read and of what is written. */
static void shifted(bool reverse)
{
    enum { T = 6, B = 3, H = 8 };
    Node *w = parameter_node("w", F32, shape(2, H, H)), *x = input("x", shape(3, T, B, H));
    Loop *l = loop_open("time", T, reverse);
    Node *a = loop_carry(l, input("a", shape(2, B, H))), *b = loop_carry(l, filled(0, F32, shape(2, B, H)));
    Node *c = loop_carry(l, filled(0.5, F32, shape(2, B, H)));
    Node *next = map1(OP_tanh, map2(OP_add, map2(OP_add, loop_x(l, x), linear(a, w)), map2(OP_mul, b, c)));
    loop_next(l, 0, next);
    loop_next(l, 1, a);
    loop_next(l, 2, next);
    loop_close(l);
    Node *written = loop_stack(l, next), *read = loop_stack(l, a);
    loss_of_squares(map2(OP_mul, written, read));
    out("written", written);
    out("before", read);
    out("last", loop_result(l, 0));
    out("last_but_one", loop_result(l, 1));
    out("same", loop_result(l, 2));
}
static void shift(void) { shifted(false); }
static void shift_back(void) { shifted(true); }

static void nested(void)
{
    enum { L = 3, T = 5, B = 4, H = 8 };
    Loop *layers = loop_open("layer", L, false);
    Node *c = loop_carry(layers, input("x", shape(3, T, B, H)));
    Node *w = loop_x(layers, parameter_node("layer.w", F32, shape(3, L, H, H)));
    Node *u = loop_x(layers, parameter_node("layer.u", F32, shape(3, L, H, H)));
    Loop *time = loop_open("time", T, false);
    Node *h = loop_carry(time, filled(0, F32, shape(2, B, H)));
    Node *y = map1(OP_tanh, map2(OP_add, linear(loop_x(time, c), w), linear(h, u)));
    loop_next(time, 0, y);
    loop_close(time);
    loop_next(layers, 0, map2(OP_add, c, loop_stack(time, y)));
    loop_close(layers);
    loss_of_squares(loop_result(layers, 0));
}

static void states(void)
{
    enum { L = 3, T = 9, H = 16 };
    Node *position = input_node("position", I32, shape(1, 1)), *count = state_node("count", F32, shape(1, H));
    Loop *l = loop_open("layer", L, false);
    Node *x = loop_carry(l, input("x", shape(2, 1, H)));
    Node *w = loop_x(l, parameter_node("layer.w", F32, shape(3, L, H, H)));
    Node *cache = overwrite(loop_x(l, state_node("cache", F32, shape(3, L, T, H))), position, linear(x, w), 0, 0);
    loop_next(l, 0, map2(OP_add, x, reshape(reduce(OP_sum, cache, 1, AXES(0)), x->shape)));
    loop_close(l);
    out("logits", loop_result(l, 0));
    push(&graph->outs, ((Output){OUT_STATE, "cache", loop_stack(l, cache)}));
    push(&graph->outs, ((Output){OUT_STATE, "count", map2(OP_add, count, number(1, count))}));
}

static void draws(void)
{
    Shape s = shape(2, 20, 33);
    Node *seed = broadcast(input_node("seed", I32, shape(0)), s),
         *step = broadcast(input_node("step", I32, shape(0)), s);
    Node *bits = philox(seed, step, filled(3, I32, s), iota(s, 0), iota(s, 1)), *x = input("x", s);
    out("bits", bits);
    out("begun_anywhere", philox(seed, step, filled(4, I32, s), iota(s, 0), map2(OP_add, iota(s, 1), iota(s, 0))));
    out("uniform", u01(bits, F32));
    out("dropped",
        where_op(map2(OP_ult, bits, filled(-1000000000, I32, s)), map2(OP_div, x, number(0.7, x)), number(0, x)));
}

/* ------------------------------------------------------------------ running both */

static Value copied(Shape s, const double *at) { return (Value){s, copy_of(at, sizeof *at * (size_t)elements(s))}; }

static double *read_tensor(const Lathe_tensor *t, const char *base)
{
    double *x = NEW_ARRAY(double, tensor_elements(t) + 1);
    for (int64_t i = 0; i < tensor_elements(t); i++) x[i] = get_element(t->dtype, base + t->offset, i);
    return x;
}

static const Lathe_param *param_of(const Live *l, const char *name)
{
    for (int i = 0; i < l->model->params; i++)
        if (same(l->model->param[i].name, name)) return &l->model->param[i];
    die("no parameter %s", name);
}

static Value feed(void *user, const Node *leaf)
{
    Live *l = user;
    if (leaf->op == OP_parameter) return copied(leaf->shape, read_param(l, l->params, param_of(l, leaf->name)));
    if (leaf->op == OP_state)
        return copied(leaf->shape, read_tensor(find_tensor(l->model->state, l->model->states, leaf->name), l->state));
    return copied(leaf->shape, read_tensor(input_of(l, 0, leaf->name), l->room[0].in));
}

static double *emitted(Live *l, const Output *o)
{
    if (o->kind == OUT_GRAD) return read_param(l, l->grads, param_of(l, o->name));
    if (o->kind == OUT_STATE) return read_tensor(find_tensor(l->model->state, l->model->states, o->name), l->state);
    return read_output(l, 0, o->name);
}

static void fill(Live *l, int64_t largest_id, Rng *r)
{
    const Lathe_entry *e = &l->model->entry[0];
    fill_params(l, r);
    for (int k = 0; k < e->inputs; k++)
        for (int64_t i = 0; i < tensor_elements(&e->input[k]); i++)
            set_element(e->input[k].dtype, l->room[0].in + e->input[k].offset, i,
                        e->input[k].dtype == LATHE_I32 ? (double)below(r, largest_id) : uniform(r) - 0.5);
    for (int k = 0; k < l->model->states; k++)
        for (int64_t i = 0; i < tensor_elements(&l->model->state[k]); i++)
            set_element(l->model->state[k].dtype, l->state + l->model->state[k].offset, i, uniform(r));
}

static void try(const char *name, void (*make)(void), int64_t largest_id, bool doubles)
{
    graph = NEW(Graph);
    *graph = (Graph){.name = "train", .entry = ENTRY_train};
    make_at((Where){"test.lua", 1, ""});
    options.precision = doubles ? "fp64" : "fp32";
    make();
    Desc *d = describe(graph, "test.lua", &options);
    d->model = name;
    for (int i = 0; i < d->params.n; i++) {
        d->params.at[i]->loops = starts_with(d->params.at[i]->name, "layer.");
        d->params.at[i]->stack = d->params.at[i]->loops ? "layer" : NULL;
        d->params.at[i]->init = LATHE_NORMAL;
        d->params.at[i]->init_a = 0.3;
    }
    Live *l = load_module(compile(d));
    Rng r = rng_of(7);
    fill(l, largest_id, &r);
    Value *wanted = NEW_ARRAY(Value, graph->outs.n);
    eval_graph(graph, feed, l, wanted);
    call_entry(l, 0);
    for (int o = 0; o < graph->outs.n; o++) {
        int64_t n = elements(wanted[o].shape);
        double *got = emitted(l, &graph->outs.at[o]);
        double error = norm_of_difference(got, wanted[o].at, n) / (norm_of(wanted[o].at, n) + 1e-30);
        expect(error < (doubles ? 1e-13 : 5e-6), "%s%s %s: off by %.3g of its norm", name, doubles ? " (fp64)" : "",
               graph->outs.at[o].name, error);
    }
    unload(l);
}

static const struct {
    const char *name;
    void (*make)(void);
    int64_t ids;
} cases[] = {
    {"moves", moves, 5},
    {"maps", maps, 5},
    {"sigmoids", sigmoids, 5},
    {"integers", integers, 40},
    {"reductions", reductions, 5},
    {"across", across, 9},
    {"by_ids", by_ids, 5},
    {"along_axes", along_axes, 5},
    {"sorts", sorts, 5},
    {"attention", attention, 5},
    {"scan", scan, 8},
    {"scan_back", scan_back, 8},
    {"nested", nested, 5},
    {"states", states, 9},
    {"draws", draws, 1000},
    {"shift", shift, 8},
    {"shift_back", shift_back, 8},
};

int main(void)
{
    options.check_stages = true;
    for (int i = 0; i < COUNT_OF(cases); i++) {
        try(cases[i].name, cases[i].make, cases[i].ids, false);
        try(cases[i].name, cases[i].make, cases[i].ids, true);
        leave_out(&options, PASS_fuse, true), leave_out(&options, PASS_plan, true);
        try(format("%s_apart", cases[i].name), cases[i].make, cases[i].ids, false);
        leave_out(&options, PASS_fuse, false), leave_out(&options, PASS_plan, false);
    }
    return finish();
}
