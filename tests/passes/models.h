/* models.h: loops as descriptions make them, small: scans with ragged lengths, layer stacks, maps, micro-batches. */
#ifndef MODELS_H
#define MODELS_H

#include "gradcheck.h"

enum { T_ = 5, B_ = 3, I_ = 4, H_ = 2 };

typedef struct Cell {
    Node *wx, *wh, *bias;
} Cell;

static inline Cell lstm_cell(const char *name, int inputs)
{
    return (Cell){param(format("%s.wx", name), SHAPE(inputs, 4 * H_)), param(format("%s.wh", name), SHAPE(H_, 4 * H_)),
                  param(format("%s.bias", name), SHAPE(4 * H_))};
}

static inline Node *gate(Node *z, int k) { return slice(z, INTS(0, k * H_), INTS(z->shape.dim[0], H_), NULL); }

/* xs [T][B][I], lengths [B] or NULL -> hs [T][B][H]; *last: the state after the last step. */
static inline Node *lstm(Cell c, Node *xs, Node *lengths, bool reverse, Node **last)
{
    int64_t batch = xs->shape.dim[1];
    Shape s = SHAPE(batch, H_);
    Loop *l = loop_open("time", xs->shape.dim[0], reverse);
    Node *x = loop_x(l, xs), *h = loop_carry(l, filled(0, F64, s)), *m = loop_carry(l, filled(0, F64, s));
    Node *z = add(add(matmul(x, c.wx), matmul(h, c.wh)), broadcast(c.bias, SHAPE(batch, 4 * H_)));
    Node *m1 = add(mul(sigmoid(gate(z, 0)), m), mul(sigmoid(gate(z, 1)), tanh_of(gate(z, 2))));
    Node *h1 = mul(sigmoid(gate(z, 3)), tanh_of(m1));
    if (lengths) {
        Node *on = map2(OP_lt, broadcast(l->index, SHAPE(batch)), lengths);
        on = expand(reshape(on, SHAPE(batch, 1)), s);
        m1 = where_op(on, m1, m);
        h1 = where_op(on, h1, h);
    }
    loop_next(l, 0, h1);
    loop_next(l, 1, m1);
    loop_close(l);
    if (last) *last = loop_result(l, 0);
    return loop_stack(l, h1);
}

/* x [rows][C] through `layers` blocks x + tanh(norm(x) w1) w2 with stacked parameters. */
static inline Node *layers(const char *name, Node *x, int64_t n, bool checkpoint)
{
    int64_t rows = x->shape.dim[0], width = x->shape.dim[1];
    Loop *l = loop_open("layer", n, false);
    Node *h = loop_carry(l, x);
    Node *w1 = loop_x(l, param(format("%s.w1", name), SHAPE(n, width, 5)));
    Node *w2 = loop_x(l, param(format("%s.w2", name), SHAPE(n, 5, width)));
    Node *gain = loop_x(l, param(format("%s.gain", name), SHAPE(n, width)));
    Making was = make_recomputed(making().recompute || checkpoint);
    Node *power = reduce(OP_sum, mul(h, h), AXES(1));
    Node *r = map1(OP_rsqrt, add(power, filled(0.1, F64, SHAPE(rows))));
    Node *y = mul(mul(h, broadcast(reshape(r, SHAPE(rows, 1)), h->shape)), broadcast(gain, h->shape));
    y = matmul(tanh_of(matmul(y, w1)), w2);
    make_with(was);
    loop_next(l, 0, add(h, y));
    loop_close(l);
    return loop_result(l, 0);
}

/* Mean negative log likelihood of targets [rows] under softmax(x w). */
static inline Node *head(Node *x, Node *w, Node *targets)
{
    Node *z = matmul(x, w);
    int64_t rows = z->shape.dim[0];
    Node *top = reduce(OP_rmax, z, AXES(1));
    Node *d = map2(OP_sub, z, broadcast(reshape(top, SHAPE(rows, 1)), z->shape));
    Node *sum = map1(OP_log, reduce(OP_sum, map1(OP_exp, d), AXES(1)));
    Node *each = map2(OP_sub, sum, gather(d, targets, 1, 1));
    return times(1.0 / (double)rows, reduce(OP_sum, each, AXES(0)));
}

#endif
