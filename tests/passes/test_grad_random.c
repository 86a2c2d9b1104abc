/* test_grad_random.c: random nests of loops, with every kind of carry, stack, invariant and checkpoint: gradients
 * against differences, and the loop passes against what they were given. */
#include "models.h"

enum { R_ = 2, C_ = 3 };

/* Values of shape [R][C] that may be used at this point; those made in a loop go when it closes. */
typedef struct Pool {
    Nodes at;
    int params, depth, loops;
} Pool;

static Node *any(const Pool *p)
{
    int64_t late = below(&dice, 3); /* mostly what was made last */
    int from = late ? (p->at.n * 2) / 3 : 0;
    return p->at.at[from + (int)below(&dice, p->at.n - from)];
}

static Node *new_param(Pool *p, Shape s) { return param(format("p%d", p->params++), s); }

static Node *small(Node *a) { return times(0.7, tanh_of(a)); }

static Node *random_loop(Pool *p, Node *first);

static Node *random_map(Pool *p)
{
    Node *a = any(p), *b = any(p);
    switch (below(&dice, 7)) {
    case 0: return mul(a, b);
    case 1: return small(add(a, b));
    case 2: return map1(OP_sin, map2(OP_sub, a, times(0.5, b)));
    case 3: return where_op(map2(OP_lt, counting(a->shape), filled(2.5, F64, a->shape)), a, mul(b, b));
    case 4: return map2(OP_div, a, add(mul(b, b), filled(1, F64, b->shape)));
    case 5: return map1(OP_exp, small(a));
    default: return add(a, b);
    }
}

static Node *random_wide(Pool *p)
{
    Node *a = any(p), *b = any(p);
    switch (below(&dice, 8)) {
    case 0: return small(matmul(a, new_param(p, SHAPE(C_, C_))));
    case 1: return small(matmul(a, dot(b, a, (Dot_axes){.nc = 1, .ac = {0}, .bc = {0}})));
    case 2: return broadcast(reduce(OP_sum, a, AXES(0)), a->shape);
    case 3: return expand(reshape(reduce(OP_rmax, a, AXES(1)), SHAPE(R_, 1)), a->shape);
    case 4: return permute(reshape(a, SHAPE(C_, R_)), (int[]){1, 0});
    case 5: return gather(a, ids(format("i%d", p->params++), SHAPE(R_), R_), 0, 0);
    case 6: return cumsum(a, (int)below(&dice, 2), below(&dice, 2));
    default: return slice(concat(2, (Node *[]){a, b}, 0), INTS(1, 0), INTS(R_, C_), NULL);
    }
}

static Node *random_value(Pool *p)
{
    if (p->depth < 3 && p->loops < 5 && below(&dice, 4) == 0) return random_loop(p, any(p));
    return below(&dice, 2) ? random_map(p) : random_wide(p);
}

static void grow_pool(Pool *p, int values)
{
    for (int i = 0; i < values; i++) {
        bool again = making().recompute ? below(&dice, 4) != 0 : below(&dice, 8) == 0;
        make_with((Making){.recompute = again});
        Node *v = random_value(p);
        push(&p->at, v);
    }
}

static Node *stack_of_value(Node *a, int64_t trip)
{
    Shape s = {.rank = 3, .dim = {trip, a->shape.dim[0], a->shape.dim[1]}};
    Node *spread = broadcast(a, s);
    return below(&dice, 2) ? mul(spread, counting(s)) : spread;
}

/* Opens a loop over some of the pool, fills its body, and returns a value made of its results. */
static Node *random_loop(Pool *p, Node *first)
{
    int64_t trip = 1 + below(&dice, 3), ncarries = below(&dice, 4), nxs = below(&dice, 3);
    Loop *l = loop_open("time", trip, below(&dice, 2));
    int outer = p->at.n;
    Nodes inits = {0}, stacks = {0}, args = {0};
    for (int k = 0; k < ncarries; k++) push(&inits, below(&dice, 4) ? any(p) : filled(0, F64, SHAPE(R_, C_)));
    for (int k = 0; k < nxs; k++)
        push(&stacks, below(&dice, 2) ? new_param(p, SHAPE(trip, R_, C_)) : stack_of_value(any(p), trip));
    for (int k = 0; k < ncarries; k++) push(&args, loop_carry(l, inits.at[k]));
    for (int k = 0; k < args.n; k++) push(&p->at, args.at[k]);
    for (int k = 0; k < nxs; k++) push(&p->at, loop_x(l, stacks.at[k]));
    push(&p->at, times(0.1, broadcast(cast_op(l->index, F64), SHAPE(R_, C_))));
    p->depth++;
    p->loops++;
    Making region = making();
    grow_pool(p, 2 + (int)below(&dice, 6));
    make_with(region);
    for (int k = 0; k < ncarries; k++) {
        Node *v = any(p);
        bool sum = below(&dice, 3) == 0;
        loop_next(l, k, sum ? add(args.at[k], v) : v);
    }
    Node *y = any(p), *other = any(p);
    push(&l->ys, y); /* before closing: they may be what makes the loop an inner one */
    push(&l->ys, other);
    loop_close(l);
    p->at.n = outer;
    p->depth--;
    Node *result = add(first, reduce(OP_sum, loop_stack(l, y), AXES(0)));
    if (below(&dice, 2))
        result = mul(result, small(reduce(OP_sum, mul(loop_stack(l, other), loop_stack(l, y)), AXES(0))));
    for (int k = 0; k < ncarries; k++)
        if (below(&dice, 3)) result = add(result, loop_result(l, k));
    return small(result);
}

static void test_random(uint64_t seed)
{
    dice = rng_of(seed);
    Pool p = {0};
    Loop *micro = below(&dice, 4) == 0 ? loop_open("micro", 2, false) : NULL;
    if (micro) push(&p.at, loop_x(micro, reals("fed", SHAPE(2, R_, C_))));
    for (int k = 0; k < 2; k++) push(&p.at, new_param(&p, SHAPE(R_, C_)));
    grow_pool(&p, 2);
    Node *looped = random_loop(&p, any(&p));
    push(&p.at, looped);
    grow_pool(&p, 3);
    make_with((Making){0});
    Node *loss = loss_of_all(small(add(add(any(&p), any(&p)), p.at.at[p.at.n - 1])));
    check_gradients_of(format("random graph %llu", (unsigned long long)seed), loss, loss->in_loop ? micro : NULL, 2);
    leaves.n = 0;
}

int main(int argc, char **argv)
{
    uint64_t first = argc > 1 ? (uint64_t)atoll(argv[1]) : 1; /* FIRST [COUNT] */
    uint64_t n = argc > 2 ? (uint64_t)atoll(argv[2]) : argc > 1 ? 1 : long_run() ? 600 : 100;
    for (uint64_t seed = first; seed < first + n; seed++) test_random(seed);
    return finish();
}
