/* attention.h: attention drawn at random, as a graph over leaves, and worked out by hand in doubles. */
#ifndef TEST_ATTENTION_H
#define TEST_ATTENTION_H

#include "lathe.h"

typedef struct Attention_sizes {
    int64_t B, T, S, H, G, D, E, flags, window;
} Attention_sizes;

static inline Node *attention_number(double v) { return scalar(v, I32); }

/* Some factors for each of a batch, time, width; no angles need be behind them. */
static inline Node *attention_turns(Shape s, DType t)
{
    Node *x = map2(OP_add, map2(OP_mul, iota(s, 0), filled(7, I32, s)), map2(OP_mul, iota(s, 1), filled(3, I32, s)));
    return map1(OP_cos, cast_op(map2(OP_add, x, iota(s, 2)), t));
}

/* For all heads alike, so that it is a view that repeats. */
static inline Node *attention_bias(Shape s, DType t)
{
    Shape one = s;
    one.dim[s.rank - 3] = 1;
    Node *x = map2(OP_add, map2(OP_mul, iota(one, s.rank - 2), filled(5, I32, one)), iota(one, s.rank - 1));
    x = map1(OP_cos, cast_op(map2(OP_add, x, iota(one, 0)), t));
    return expand(map2(OP_mul, x, filled(2, t, one)), s);
}

/* All parts over q, k, v, [B][T][H][D] …: masks from constants, so that some rows see everything and some nothing.
 * Third of rows dropped. */
static inline Attention attention_over(Attention_sizes z, Node *q, Node *k, Node *v)
{
    Shape b = shape_of(1, &z.B), bt = shape_of(2, (int64_t[]){z.B, z.T}), bs = shape_of(2, (int64_t[]){z.B, z.S});
    Attention a = {.q = q, .k = k, .v = v, .flags = z.flags, .window = z.window, .threshold = 0x55555555};
    Node *place = iota(b, 0);
    if (z.flags & TURNS) {
        a.q_turns = attention_turns(shape_of(3, (int64_t[]){z.B, z.T, z.D}), q->dtype);
        a.k_turns = attention_turns(shape_of(3, (int64_t[]){z.B, z.S, z.D}), q->dtype);
    }
    a.scale = scalar(0.7, q->dtype);
    if (z.flags & CAUSAL || z.window) a.offset = attention_number((double)(z.S - z.T - 1));
    if (z.flags & LENGTHS) a.lengths = map2(OP_mul, place, filled((double)(z.S + 1) / 2, I32, b));
    if (z.flags & SEGMENTS) {
        a.q_segments = map2(OP_idiv, iota(bt, 1), filled(3, I32, bt));
        a.k_segments = map2(OP_idiv, iota(bs, 1), filled(4, I32, bs));
    }
    if (z.flags & SOFT_CAP) a.cap = scalar(0.8, q->dtype);
    if (z.flags & SCORE_BIAS) a.bias = attention_bias(shape_of(4, (int64_t[]){z.B, z.H, z.T, z.S}), q->dtype);
    if (!(z.flags & DROPOUT)) return a;
    a.keep = scalar(1.5, q->dtype);
    a.seed = attention_number(7), a.step = attention_number(3), a.site = attention_number(2);
    a.base = filled(1000, I32, b);
    a.row = map2(OP_add, place, filled(5, I32, b));
    return a;
}

#endif
