/* test_eval.c: the interpreter against values worked out by hand, and Philox against its published vectors. */
#include "graph/eval.h"
#include "harness.h"

#include <math.h>
#include <string.h>

/* ------------------------------------------------------------------ help */

static Value nothing(void *user, const Node *leaf)
{
    (void)user;
    die("%s is not fed", leaf->name);
}

static Value evaluated(Node *n)
{
    Graph g = {.name = "eval"};
    push(&g.outs, ((Output){OUT_VALUE, "value", n}));
    Value v;
    eval_graph(&g, nothing, NULL, &v);
    return v;
}

static Node *array(DType t, Shape s, const double *at)
{
    return intern(
        (Node){.op = OP_constant, .dtype = t, .shape = s, .data = copy_of(at, sizeof *at * (size_t)elements(s))});
}

#define SHAPE(...)             shape_of(COUNT_OF(((int64_t[]){__VA_ARGS__})), (int64_t[]){__VA_ARGS__})
#define REAL(shape, ...)       array(F32, shape, (double[]){__VA_ARGS__})
#define INT(shape, ...)        array(I32, shape, (double[]){__VA_ARGS__})
#define BOOLS(shape, ...)      array(BOOL, shape, (double[]){__VA_ARGS__})
#define GIVES(what, node, ...) check(what, node, COUNT_OF(((double[]){__VA_ARGS__})), (double[]){__VA_ARGS__})

static void check(const char *what, Node *n, int count, const double *wanted)
{
    Value v = evaluated(n);
    expect(elements(v.shape) == count, "%s: %lld elements, not %d", what, (long long)elements(v.shape), count);
    for (int i = 0; i < count && i < elements(v.shape); i++) {
        bool ok = isnan(wanted[i]) ? isnan(v.at[i]) : v.at[i] == wanted[i] || fabs(v.at[i] - wanted[i]) < 1e-12;
        expect(ok, "%s: element %d is %.17g, not %.17g", what, i, v.at[i], wanted[i]);
    }
}

/* ------------------------------------------------------------------ maps */

static void test_real_maps(void)
{
    Shape s = SHAPE(3);
    Node *a = REAL(s, -1.5, 0, 2), *b = REAL(s, 2, 2, 2), *p = REAL(s, 0.25, 1, 4);
    GIVES("neg", map1(OP_neg, a), 1.5, 0, -2);
    GIVES("abs", map1(OP_abs, a), 1.5, 0, 2);
    GIVES("sign", map1(OP_sign, a), -1, 0, 1);
    GIVES("exp", map1(OP_exp, a), 0.22313016014842982, 1, 7.38905609893065);
    GIVES("expm1", map1(OP_expm1, a), -0.7768698398515702, 0, 6.38905609893065);
    GIVES("log", map1(OP_log, p), -1.3862943611198906, 0, 1.3862943611198906);
    GIVES("sqrt", map1(OP_sqrt, p), 0.5, 1, 2);
    GIVES("rsqrt", map1(OP_rsqrt, p), 2, 1, 0.5);
    GIVES("sin", map1(OP_sin, a), -0.9974949866040544, 0, 0.9092974268256817);
    GIVES("cos", map1(OP_cos, a), 0.0707372016677029, 1, -0.4161468365471424);
    GIVES("tanh", map1(OP_tanh, a), -0.9051482536448664, 0, 0.9640275800758169);
    GIVES("erf", map1(OP_erf, a), -0.9661051464753108, 0, 0.9953222650189527);
    GIVES("floor", map1(OP_floor, a), -2, 0, 2);
    GIVES("add", map2(OP_add, a, b), 0.5, 2, 4);
    GIVES("sub", map2(OP_sub, a, b), -3.5, -2, 0);
    GIVES("mul", map2(OP_mul, a, b), -3, 0, 4);
    GIVES("div", map2(OP_div, a, b), -0.75, 0, 1);
    GIVES("max", map2(OP_max, a, p), 0.25, 1, 4);
    GIVES("min", map2(OP_min, a, p), -1.5, 0, 2);
    GIVES("pow", map2(OP_pow, p, b), 0.0625, 1, 16);
    GIVES("lt", map2(OP_lt, a, p), 1, 1, 1);
    GIVES("le", map2(OP_le, b, a), 0, 0, 1);
    GIVES("eq", map2(OP_eq, a, b), 0, 0, 1);
    GIVES("ne", map2(OP_ne, a, b), 1, 1, 0);
    GIVES("where", where_op(map2(OP_eq, a, b), p, a), -1.5, 0, 4);
}

static void test_integer_maps(void)
{
    Shape s = SHAPE(4);
    Node *a = INT(s, 7, -7, 2147483647, -2147483648.0), *b = INT(s, 3, 3, 2, -1), *zero = INT(s, 0, 0, 0, 0);
    GIVES("i32 add wraps", map2(OP_add, a, b), 10, -4, -2147483647, 2147483647);
    GIVES("i32 mul wraps", map2(OP_mul, a, a), 49, 49, 1, 0);
    GIVES("i32 neg wraps", map1(OP_neg, a), -7, 7, -2147483647, -2147483648.0);
    GIVES("i32 abs wraps", map1(OP_abs, a), 7, 7, 2147483647, -2147483648.0);
    GIVES("idiv", map2(OP_idiv, a, b), 2, -3, 1073741823, -2147483648.0);
    GIVES("mod", map2(OP_mod, a, b), 1, 2, 1, 0);
    GIVES("idiv by 0", map2(OP_idiv, a, zero), 0, 0, 0, 0);
    GIVES("mod by 0", map2(OP_mod, a, zero), 7, -7, 2147483647, -2147483648.0);
    GIVES("bitand", map2(OP_bitand, a, b), 3, 1, 2, -2147483648.0);
    GIVES("bitxor", map2(OP_bitxor, a, b), 4, -6, 2147483645, 2147483647);
    GIVES("ult", map2(OP_ult, b, a), 1, 1, 1, 0);
    GIVES("i32 max", map2(OP_max, a, b), 7, 3, 2147483647, -1);
    GIVES("i32 sum wraps", reduce(OP_sum, INT(SHAPE(2), 2147483647, 1), 1, &(int){0}), -2147483648.0);
    GIVES("cast to i32", cast_op(REAL(s, 1.9, -1.9, 3e9, NAN), I32), 1, -1, -2147483648.0, -2147483648.0);
    GIVES("cast to bool", cast_op(REAL(s, 0, -0.0, 0.5, NAN), BOOL), 0, 0, 1, 1);
    GIVES("cast of bool", cast_op(BOOLS(SHAPE(2), 0, 1), F32), 0, 1);
}

static void test_nan_and_logic(void)
{
    Shape s = SHAPE(3);
    Node *a = REAL(s, NAN, 1, INFINITY), *b = REAL(s, 1, NAN, -INFINITY);
    GIVES("max of NaN", map2(OP_max, a, b), NAN, NAN, INFINITY);
    GIVES("min of NaN", map2(OP_min, a, b), NAN, NAN, -INFINITY);
    GIVES("inf - inf", map2(OP_add, a, b), NAN, NAN, NAN);
    GIVES("NaN compared", map2(OP_lt, a, b), 0, 0, 0);
    GIVES("NaN differs", map2(OP_ne, a, a), 1, 0, 0);
    GIVES("rmax of NaN", reduce(OP_rmax, a, 1, &(int){0}), NAN);
    GIVES("rmin of NaN", reduce(OP_rmin, a, 1, &(int){0}), NAN);
    GIVES("sum of NaN", reduce(OP_sum, b, 1, &(int){0}), NAN);
    Node *p = BOOLS(SHAPE(4), 0, 0, 1, 1), *q = BOOLS(SHAPE(4), 0, 1, 0, 1);
    GIVES("lnot", map1(OP_lnot, p), 1, 1, 0, 0);
    GIVES("land", map2(OP_land, p, q), 0, 0, 0, 1);
    GIVES("lor", map2(OP_lor, p, q), 0, 1, 1, 1);
    GIVES("eq of bools", map2(OP_eq, p, q), 1, 0, 0, 1);
}

/* ------------------------------------------------------------------ random */

static void test_philox(void)
{
    static const struct {
        uint32_t counter[4], key[2], wanted[4];
    } known[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
         {0xffffffff, 0xffffffff},
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (int i = 0; i < COUNT_OF(known); i++) {
        uint32_t out[4];
        philox4x32(known[i].counter, known[i].key, out);
        expect(memcmp(out, known[i].wanted, sizeof out) == 0, "philox vector %d: %08x %08x %08x %08x", i, out[0],
               out[1], out[2], out[3]);
    }
}

/* The op packs counter (index / 4, row, step, 0) and key (seed, site), and takes word index mod 4. */
static void test_philox_op(void)
{
    Shape s = SHAPE(5);
    Node *index = INT(s, 0, 1, 6, -1, 3);
    Node *bits = philox(filled(5, I32, s), filled(-7, I32, s), filled(3, I32, s), filled(11, I32, s), index);
    Value v = evaluated(bits);
    for (int i = 0; i < 5; i++) {
        uint32_t at = (uint32_t)(int32_t)index->data[i], out[4];
        philox4x32((uint32_t[]){at / 4, 11, (uint32_t)-7, 0}, (uint32_t[]){5, 3}, out);
        expect(v.at[i] == (double)(int32_t)out[at % 4], "philox of index %d is %g", i, v.at[i]);
    }
    GIVES("u01", u01(INT(SHAPE(4), 0, 256, -1, -2147483648.0), F32), 0, 1 / 16777216.0, 16777215 / 16777216.0, 0.5);
}

/* ------------------------------------------------------------------ moves, reductions, dot */

static void test_moves(void)
{
    Node *a = REAL(SHAPE(2, 3), 1, 2, 3, 4, 5, 6);
    GIVES("reshape", reshape(a, SHAPE(3, 2)), 1, 2, 3, 4, 5, 6);
    GIVES("permute", permute(a, (int[]){1, 0}), 1, 4, 2, 5, 3, 6);
    GIVES("expand", expand(REAL(SHAPE(2, 1), 7, 8), SHAPE(2, 2)), 7, 7, 8, 8);
    GIVES("slice", slice(a, (int64_t[]){1, 0}, (int64_t[]){1, 2}, (int64_t[]){1, 2}), 4, 6);
    GIVES("pad", pad(REAL(SHAPE(1, 2), 1, 2), (int64_t[]){1, 0}, (int64_t[]){0, 1}), 0, 0, 0, 1, 2, 0);
    GIVES("flip", flip(a, 1, (int[]){1}), 3, 2, 1, 6, 5, 4);
    GIVES("flip of two", flip(a, 2, (int[]){0, 1}), 6, 5, 4, 3, 2, 1);
    GIVES("concat", concat(2, (Node *[]){a, REAL(SHAPE(2, 1), 8, 9)}, 1), 1, 2, 3, 8, 4, 5, 6, 9);
    int64_t seven[] = {2, 1, 3, 1, 2, 1, 2};
    Node *b = permute(iota(shape_of(7, seven), 2), (int[]){6, 5, 4, 3, 2, 1, 0});
    expect(evaluated(b).at[4] == 2, "permute of rank 7");
    GIVES("iota", iota(SHAPE(2, 2), 0), 0, 0, 1, 1);
    GIVES("sum", reduce(OP_sum, a, 1, (int[]){0}), 5, 7, 9);
    GIVES("sum of all", reduce(OP_sum, a, 2, (int[]){0, 1}), 21);
    GIVES("rmax", reduce(OP_rmax, a, 1, (int[]){1}), 3, 6);
    GIVES("rmin", reduce(OP_rmin, a, 1, (int[]){1}), 1, 4);
}

/* a b is 22, 28, 49, 64. */
static void test_dot_ends(Node *a, Node *b)
{
    Shape s = SHAPE(2, 2);
    Node *y = dot(a, b, (Dot_axes){.nc = 1, .ac = {1}, .bc = {0}});
    Node *row = REAL(SHAPE(2), -22.5, -27), *large = REAL(SHAPE(1, 2), -49.5, -64), *x = REAL(s, -1.5, 0, 0.5, 2);
    GIVES("a b + row", ended_dot(y, 3, (Node *[]){a, b, row}, END_BIAS), -0.5, 1, 26.5, 37);
    GIVES("gelu(a b)", ended_dot(y, 2, (Node *[]){a, b}, END_GELU), 22, 28, 49, 64);
    GIVES("gelu(a b + row)", ended_dot(y, 3, (Node *[]){a, b, row}, END_GELU), -0.15428599017485606, 0.8411919906082768,
          26.5, 37.0);
    GIVES("gelu(a b + large)", ended_dot(y, 3, (Node *[]){a, b, large}, END_GELU), -0.0, -0.0, -0.15428599017485606,
          0.0);
    GIVES("a b gelu'(x)", ended_dot(y, 3, (Node *[]){a, b, x}, END_GELU_BACK), -2.8096374493315284, 14.0,
          42.501125273197474, 69.51035242391157);
}

static void test_dot(void)
{
    Node *a = REAL(SHAPE(2, 3), 1, 2, 3, 4, 5, 6), *b = REAL(SHAPE(3, 2), 1, 2, 3, 4, 5, 6);
    GIVES("a b", dot(a, b, (Dot_axes){.nc = 1, .ac = {1}, .bc = {0}}), 22, 28, 49, 64);
    GIVES("a' b'", dot(a, b, (Dot_axes){.nc = 1, .ac = {0}, .bc = {1}}), 9, 19, 29, 12, 26, 40, 15, 33, 51);
    GIVES("outer", dot(REAL(SHAPE(2), 1, 2), REAL(SHAPE(2), 3, 4), (Dot_axes){0}), 3, 4, 6, 8);
    GIVES("inner of two axes", dot(a, b, (Dot_axes){.nc = 2, .ac = {0, 1}, .bc = {1, 0}}), 1 + 6 + 15 + 8 + 20 + 36);
    test_dot_ends(a, b);
    GIVES("batch of 3", dot(a, b, (Dot_axes){.nb = 1, .nc = 1, .ab = {1}, .bb = {0}, .ac = {0}, .bc = {1}}), 9, 26, 51);
}

/* ------------------------------------------------------------------ index */

static void test_index(void)
{
    Node *x = REAL(SHAPE(3, 2), 1, 2, 3, 4, 5, 6), *ids = INT(SHAPE(2), 2, 0);
    GIVES("gather rows", gather(x, ids, 0, 0), 5, 6, 1, 2);
    GIVES("gather columns", gather(x, INT(SHAPE(1), 1), 1, 0), 2, 4, 6);
    GIVES("gather, batch", gather(x, INT(SHAPE(3), 0, 1, 0), 1, 1), 1, 4, 5);
    GIVES("gather by a scalar", gather(x, scalar(1, I32), 0, 0), 3, 4);
    GIVES("scatter_add", scatter_add(REAL(SHAPE(3, 1), 1, 2, 4), INT(SHAPE(3), 1, 1, 0), SHAPE(3, 1), 0, 0), 4, 3, 0);
    GIVES("scatter_add, batch",
          scatter_add(REAL(SHAPE(2, 2), 1, 2, 3, 4), INT(SHAPE(2, 2), 1, 1, 0, 2), SHAPE(2, 3), 1, 1), 0, 3, 0, 3, 0,
          4);
    GIVES("overwrite", overwrite(x, INT(SHAPE(2), 1, 1), REAL(SHAPE(2, 2), 7, 8, 9, 10), 0, 0), 1, 2, 9, 10, 5, 6);
    GIVES("argmax", argmax(REAL(SHAPE(2, 3), 1, 3, 3, -1, -2, -1), 1), 1, 0);
    GIVES("argmax, axis 0", argmax(REAL(SHAPE(2, 2), 1, 5, 2, 3), 0), 1, 0);
    GIVES("cumsum", cumsum(x, 0, false), 1, 2, 4, 6, 9, 12);
    GIVES("cumsum backwards", cumsum(x, 1, true), 3, 2, 7, 4, 11, 6);
    GIVES("cumprod", scanned(OP_cumprod, x, 0, false), 1, 2, 3, 8, 15, 48);
    GIVES("cumprod backwards", scanned(OP_cumprod, x, 1, true), 2, 2, 12, 4, 30, 6);
    Node *tied = REAL(SHAPE(1, 6), 2, 3, 1, 3, NAN, 1), *steps = INT(SHAPE(3, 2), 5, 7, 5, 8, 6, 7);
    GIVES("cumargmax", scanned(OP_cumargmax, tied, 1, false), 0, 1, 1, 3, 4, 4);
    GIVES("cumargmax backwards", scanned(OP_cumargmax, steps, 0, true), 2, 1, 2, 1, 2, 2);
    GIVES("argsort", argsort(tied, 1, false), 2, 5, 0, 1, 3, 4);
    GIVES("argsort falling", argsort(tied, 1, true), 4, 1, 3, 0, 2, 5);
    GIVES("argsort, axis 0", argsort(steps, 0, true), 2, 1, 0, 0, 1, 2);
    Node *top = topk(REAL(SHAPE(2, 4), 1, 3, 3, 2, 9, 8, 7, 6), 1, 3);
    GIVES("topk values", pick(top, 0, 0), 3, 3, 2, 9, 8, 7);
    GIVES("topk ids", pick(top, 1, 0), 1, 2, 3, 0, 1, 2);
}

/* ------------------------------------------------------------------ loops */

/* h <- 2 h + x: over 1, 2, 3 from 1 */
static void test_loop(bool reverse)
{
    Loop *l = loop_open("time", 3, reverse);
    Node *h = loop_carry(l, scalar(1, F32)), *x = loop_x(l, REAL(SHAPE(3), 1, 2, 3));
    Node *next = map2(OP_add, map2(OP_mul, scalar(2, F32), h), x);
    loop_next(l, 0, next);
    loop_close(l);
    Node *after = loop_stack(l, next), *before = loop_stack(l, h), *index = loop_stack(l, l->index);
    if (!reverse) {
        GIVES("final carry", loop_result(l, 0), 19);
        GIVES("stack", after, 3, 8, 19);
        GIVES("history", before, 1, 3, 8);
    } else {
        GIVES("final carry, reverse", loop_result(l, 0), 25);
        GIVES("stack, reverse", after, 25, 12, 5);
        GIVES("history, reverse", before, 12, 5, 1);
    }
    GIVES("index", index, 0, 1, 2);
}

/* Two carries that swap: all are read before any is written. */
static void test_swap(void)
{
    Loop *l = loop_open("time", 3, false);
    Node *a = loop_carry(l, scalar(1, F32)), *b = loop_carry(l, scalar(2, F32));
    loop_next(l, 0, b);
    loop_next(l, 1, a);
    loop_close(l);
    GIVES("swapped a", loop_result(l, 0), 2);
    GIVES("swapped b", loop_result(l, 1), 1);
}

/* sum over i < 2 of (sum over j < 3 of i · j + s), the inner loop starting from the outer carry s */
static void test_nested(void)
{
    Loop *outer = loop_open("layer", 2, false);
    Node *s = loop_carry(outer, scalar(1, I32)), *shift = map2(OP_mul, outer->index, scalar(10, I32));
    Loop *inner = loop_open("time", 3, false);
    Node *t = loop_carry(inner, s);
    loop_next(inner, 0, map2(OP_add, map2(OP_mul, outer->index, inner->index), t));
    loop_close(inner);
    Node *stack = loop_stack(inner, map2(OP_add, inner->index, shift));
    loop_next(outer, 0, loop_result(inner, 0));
    loop_close(outer);
    expect(inner->parent == outer && !outer->parent, "nested loops know their parents");
    GIVES("nested carry", loop_result(outer, 0), 4);
    GIVES("nested stacks", loop_stack(outer, stack), 0, 1, 2, 10, 11, 12);
    GIVES("stack of an invariant", loop_stack(outer, scalar(5, F32)), 5, 5);
}

/* The loss lives in the open loop over micro-batches: the mean counts. */
static void test_micro(void)
{
    Graph g = {.name = "train", .entry = ENTRY_train, .micro = loop_open("micro", 2, false)};
    Node *x = loop_x(g.micro, REAL(SHAPE(2, 2), 1, 2, 3, 4));
    push(&g.outs, ((Output){OUT_VALUE, "loss", reduce(OP_sum, x, 1, &(int){0})}));
    Value v;
    eval_graph(&g, nothing, NULL, &v);
    expect(v.at[0] == 5, "mean over micro-batches is %g", v.at[0]);
}

int main(void)
{
    test_real_maps();
    test_integer_maps();
    test_nan_and_logic();
    test_philox();
    test_philox_op();
    test_moves();
    test_dot();
    test_index();
    test_loop(false);
    test_loop(true);
    test_swap();
    test_nested();
    test_micro();
    return finish();
}
