/* cudnn_graph.cu: attention and its derivative as graphs of cuDNN operations, which cuDNN recognises as a whole.
 *
 * Tensors are [sample][head][row][column] with any strides; k and v are transposed by their strides.  Values between
 * operations are never stored, except delta = Σ o · d_o per query.  d_q is the direct result of its product: a separate
 * reduction would add in arbitrary order. */
#include "cuda/cudnn_internal.h"

#include <string.h>

#define LIBRARY cudnn_library

/* ------------------------------------------------------------------ descriptors */

struct Making {
    Cudnn_graph g;
    int64_t next; /* number of the next intermediate tensor */
};

static cudnnBackendDescriptor_t made(Making *m, cudnnBackendDescriptorType_t type)
{
    cudnnBackendDescriptor_t d = NULL;
    m->g.failed |= LIBRARY.cudnnBackendCreateDescriptor(type, &d) != CUDNN_STATUS_SUCCESS;
    if (d) m->g.all[m->g.made++] = d;
    return d;
}

static void set(Making *m, cudnnBackendDescriptor_t d, cudnnBackendAttributeName_t name,
                cudnnBackendAttributeType_t type, int64_t n, const void *elements)
{
    if (m->g.failed) return;
    m->g.failed = LIBRARY.cudnnBackendSetAttribute(d, name, type, n, elements) != CUDNN_STATUS_SUCCESS;
}

static void finish(Making *m, cudnnBackendDescriptor_t d)
{
    if (!m->g.failed) m->g.failed = LIBRARY.cudnnBackendFinalize(d) != CUDNN_STATUS_SUCCESS;
}

/* ------------------------------------------------------------------ tensors */

struct Tensor {
    cudnnBackendDescriptor_t at;
    int64_t dim[4], stride[4];
};

enum Kind { GIVEN, BETWEEN, NUMBER }; /* NUMBER: by value, from the host */

static Tensor tensor(Making *m, int64_t id, cudnnDataType_t type, Kind kind, const int64_t (&dim)[4],
                     const int64_t (&stride)[4])
{
    Tensor t = {made(m, CUDNN_BACKEND_TENSOR_DESCRIPTOR), {}, {}};
    int64_t align = 16;
    bool between = kind == BETWEEN, number = kind == NUMBER;
    memcpy(t.dim, dim, sizeof dim);
    memcpy(t.stride, stride, sizeof stride);
    set(m, t.at, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &id);
    set(m, t.at, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type);
    set(m, t.at, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4, dim);
    set(m, t.at, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 4, stride);
    set(m, t.at, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1, &align);
    set(m, t.at, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, &between);
    set(m, t.at, CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, 1, &number);
    finish(m, t.at);
    return t;
}

static Tensor between(Making *m, cudnnDataType_t type, const int64_t (&dim)[4])
{
    return tensor(m, m->next++, type, BETWEEN, dim, {dim[1] * dim[2] * dim[3], dim[2] * dim[3], dim[3], 1});
}

static Tensor number(Making *m, Cudnn_id id)
{
    return tensor(m, id, CUDNN_DATA_FLOAT, NUMBER, {1, 1, 1, 1}, {1, 1, 1, 1});
}

/* [sample][head][time][width] of an operand. */
static Tensor operand(Making *m, const Lathe_attention *g, Cudnn_id id, cudnnDataType_t type, const Lathe_heads &x,
                      int64_t samples, int64_t heads, int64_t time, int64_t width)
{
    return tensor(m, id, type, GIVEN, {samples, heads, time, width}, {cudnn_between_samples(g, &x), x.head, x.time, 1});
}

/* The same, transposed. */
static Tensor turned_operand(Making *m, const Lathe_attention *g, Cudnn_id id, cudnnDataType_t type,
                             const Lathe_heads &x, int64_t samples, int64_t heads, int64_t time, int64_t width)
{
    return tensor(m, id, type, GIVEN, {samples, heads, width, time}, {cudnn_between_samples(g, &x), x.head, 1, x.time});
}

/* ------------------------------------------------------------------ operations */

static void add_operation(Making *m, cudnnBackendDescriptor_t operation)
{
    finish(m, operation);
    m->g.operations[m->g.n++] = operation;
}

static void set_tensor(Making *m, cudnnBackendDescriptor_t operation, cudnnBackendAttributeName_t name, const Tensor &t)
{
    set(m, operation, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &t.at);
}

/* y = mode(x, b), or a selection by t; b and t may be NULL.  axis: of an index, else -1. */
static Tensor pointwise(Making *m, cudnnPointwiseMode_t mode, cudnnDataType_t math, const Tensor &x, const Tensor *b,
                        const Tensor *t, int64_t axis, const Tensor &y)
{
    cudnnBackendDescriptor_t how = made(m, CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    cudnnBackendDescriptor_t operation = made(m, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    set(m, how, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &mode);
    set(m, how, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1, &math);
    if (axis >= 0) set(m, how, CUDNN_ATTR_POINTWISE_AXIS, CUDNN_TYPE_INT64, 1, &axis);
    finish(m, how);
    set(m, operation, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &how);
    set_tensor(m, operation, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x);
    if (b) set_tensor(m, operation, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, *b);
    if (t) set_tensor(m, operation, CUDNN_ATTR_OPERATION_POINTWISE_TDESC, *t);
    set_tensor(m, operation, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y);
    add_operation(m, operation);
    return y;
}

static Tensor map1(Making *m, cudnnPointwiseMode_t mode, const Tensor &x)
{
    return pointwise(m, mode, CUDNN_DATA_FLOAT, x, NULL, NULL, -1, between(m, CUDNN_DATA_FLOAT, x.dim));
}

static Tensor map2(Making *m, cudnnPointwiseMode_t mode, const Tensor &x, const Tensor &b)
{
    return pointwise(m, mode, CUDNN_DATA_FLOAT, x, &b, NULL, -1, between(m, CUDNN_DATA_FLOAT, x.dim));
}

static Tensor product(Making *m, const Tensor &a, const Tensor &b, const Tensor &c)
{
    cudnnDataType_t type = CUDNN_DATA_FLOAT;
    cudnnBackendDescriptor_t how = made(m, CUDNN_BACKEND_MATMUL_DESCRIPTOR);
    cudnnBackendDescriptor_t operation = made(m, CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
    set(m, how, CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type);
    finish(m, how);
    set(m, operation, CUDNN_ATTR_OPERATION_MATMUL_DESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &how);
    set_tensor(m, operation, CUDNN_ATTR_OPERATION_MATMUL_ADESC, a);
    set_tensor(m, operation, CUDNN_ATTR_OPERATION_MATMUL_BDESC, b);
    set_tensor(m, operation, CUDNN_ATTR_OPERATION_MATMUL_CDESC, c);
    add_operation(m, operation);
    return c;
}

/* Reduces x over the axes in which y has extent 1. */
static Tensor reduction(Making *m, cudnnReduceTensorOp_t kind, const Tensor &x, const Tensor &y)
{
    cudnnDataType_t type = CUDNN_DATA_FLOAT;
    cudnnBackendDescriptor_t how = made(m, CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
    cudnnBackendDescriptor_t operation = made(m, CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
    set(m, how, CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, 1, &kind);
    set(m, how, CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type);
    finish(m, how);
    set(m, operation, CUDNN_ATTR_OPERATION_REDUCTION_DESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &how);
    set_tensor(m, operation, CUDNN_ATTR_OPERATION_REDUCTION_XDESC, x);
    set_tensor(m, operation, CUDNN_ATTR_OPERATION_REDUCTION_YDESC, y);
    add_operation(m, operation);
    return y;
}

/* x transposed, of this type. */
static Tensor transposed(Making *m, cudnnDataType_t type, const Tensor &x)
{
    Tensor y = tensor(m, m->next++, type, BETWEEN, {x.dim[0], x.dim[1], x.dim[3], x.dim[2]},
                      {x.stride[0], x.stride[1], x.stride[3], x.stride[2]});
    cudnnBackendDescriptor_t operation = made(m, CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR);
    set_tensor(m, operation, CUDNN_ATTR_OPERATION_RESHAPE_XDESC, x);
    set_tensor(m, operation, CUDNN_ATTR_OPERATION_RESHAPE_YDESC, y);
    add_operation(m, operation);
    return y;
}

/* ------------------------------------------------------------------ shared by forward and backward */

/* scale · q · kT, -inf where key > query */
static Tensor scores(Making *m, const Lathe_attention *g, const Tensor &q, const Tensor &k, const Tensor &scale)
{
    Tensor s = product(m, q, k, between(m, CUDNN_DATA_FLOAT, {q.dim[0], q.dim[1], g->T, g->S}));
    s = map2(m, CUDNN_POINTWISE_MUL, s, scale);
    if (!g->causal) return s;
    Tensor unseen = number(m, ID_UNSEEN);
    Tensor query = pointwise(m, CUDNN_POINTWISE_GEN_INDEX, CUDNN_DATA_FLOAT, s, NULL, NULL, 2,
                             between(m, CUDNN_DATA_INT32, s.dim));
    Tensor key = pointwise(m, CUDNN_POINTWISE_GEN_INDEX, CUDNN_DATA_FLOAT, s, NULL, NULL, 3,
                           between(m, CUDNN_DATA_INT32, s.dim));
    Tensor seen = pointwise(m, CUDNN_POINTWISE_CMP_GE, CUDNN_DATA_BOOLEAN, query, &key, NULL, -1,
                            between(m, CUDNN_DATA_BOOLEAN, s.dim));
    return pointwise(m, CUDNN_POINTWISE_BINARY_SELECT, CUDNN_DATA_FLOAT, s, &unseen, &seen, -1,
                     between(m, CUDNN_DATA_FLOAT, s.dim));
}

static Tensor lse_tensor(Making *m, const Lathe_attention *g, int64_t samples)
{
    return tensor(m, ID_LSE, CUDNN_DATA_FLOAT, GIVEN, {samples, g->H, g->T, 1},
                  {cudnn_between_samples(g, &g->lse), g->lse.head, g->lse.time, 1});
}

static Cudnn_graph finished(Making *m)
{
    cudnnBackendDescriptor_t graph = made(m, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    if (LIBRARY.handle) set(m, graph, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &LIBRARY.handle);
    set(m, graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, m->g.n, m->g.operations);
    finish(m, graph);
    m->g.graph = m->g.failed ? NULL : graph;
    return m->g;
}

/* ------------------------------------------------------------------ the graphs */

static Cudnn_graph forward_graph(const Lathe_attention *g, cudnnDataType_t type, int64_t samples, bool lse)
{
    Making m = {{}, ID_BETWEEN};
    Tensor q = operand(&m, g, ID_Q, type, g->q, samples, g->H, g->T, g->D);
    Tensor k = turned_operand(&m, g, ID_K, type, g->k, samples, g->G, g->S, g->D);
    Tensor v = operand(&m, g, ID_V, type, g->v, samples, g->G, g->S, g->E);
    Tensor o = operand(&m, g, ID_O, type, g->o, samples, g->H, g->T, g->E);
    int64_t queries[4] = {samples, g->H, g->T, 1};
    Tensor s = scores(&m, g, q, k, number(&m, ID_SCALE));
    Tensor largest = reduction(&m, CUDNN_REDUCE_TENSOR_MAX, s, between(&m, CUDNN_DATA_FLOAT, queries));
    Tensor weights = map1(&m, CUDNN_POINTWISE_EXP, map2(&m, CUDNN_POINTWISE_SUB, s, largest));
    Tensor sum = reduction(&m, CUDNN_REDUCE_TENSOR_ADD, weights, between(&m, CUDNN_DATA_FLOAT, queries));
    Tensor log_sum = map1(&m, CUDNN_POINTWISE_LOG, sum);
    pointwise(&m, CUDNN_POINTWISE_ADD, CUDNN_DATA_FLOAT, largest, &log_sum, NULL, -1,
              lse ? lse_tensor(&m, g, samples) : between(&m, CUDNN_DATA_FLOAT, queries));
    Tensor p = pointwise(&m, CUDNN_POINTWISE_DIV, CUDNN_DATA_FLOAT, weights, &sum, NULL, -1, between(&m, type, s.dim));
    product(&m, p, v, o);
    return finished(&m);
}

/* x [sample][H][S][width] as a result with the G heads of keys: the sum over the query heads of each. */
static void keys_gradient(Making *m, const Lathe_attention *g, cudnnDataType_t type, const Tensor &weights,
                          const Tensor &of_queries, const Tensor &to)
{
    if (g->H == g->G) {
        product(m, weights, of_queries, to);
        return;
    }
    Tensor each = between(m, type, {to.dim[0], g->H, to.dim[2], to.dim[3]});
    reduction(m, CUDNN_REDUCE_TENSOR_ADD, product(m, weights, of_queries, each), to);
}

static Cudnn_graph backward_graph(const Lathe_attention *g, cudnnDataType_t type, int64_t samples)
{
    Making m = {{}, ID_BETWEEN};
    Tensor q = operand(&m, g, ID_Q, type, g->q, samples, g->H, g->T, g->D);
    Tensor k = turned_operand(&m, g, ID_K, type, g->k, samples, g->G, g->S, g->D);
    Tensor v = turned_operand(&m, g, ID_V, type, g->v, samples, g->G, g->S, g->E);
    Tensor o = operand(&m, g, ID_O, type, g->o, samples, g->H, g->T, g->E);
    Tensor d_o = operand(&m, g, ID_D_O, type, g->d_o, samples, g->H, g->T, g->E);
    Tensor scale = number(&m, ID_SCALE), one = number(&m, ID_ONE), lse = lse_tensor(&m, g, samples);
    int64_t queries[4] = {samples, g->H, g->T, 1};
    Tensor of_query = reduction(&m, CUDNN_REDUCE_TENSOR_ADD, map2(&m, CUDNN_POINTWISE_MUL, d_o, o),
                                between(&m, CUDNN_DATA_FLOAT, queries));
    Tensor delta = pointwise(&m, CUDNN_POINTWISE_MUL, CUDNN_DATA_FLOAT, of_query, &one, NULL, -1,
                             tensor(&m, ID_DELTA, CUDNN_DATA_FLOAT, GIVEN, queries, {g->H * g->T, g->T, 1, 1}));
    Tensor p = map1(&m, CUDNN_POINTWISE_EXP, map2(&m, CUDNN_POINTWISE_SUB, scores(&m, g, q, k, scale), lse));
    keys_gradient(&m, g, type, transposed(&m, type, p), d_o,
                  operand(&m, g, ID_D_V, type, g->d_v, samples, g->G, g->S, g->E));
    Tensor dp = product(&m, d_o, v, between(&m, CUDNN_DATA_FLOAT, p.dim));
    Tensor ds = map2(&m, CUDNN_POINTWISE_MUL, map2(&m, CUDNN_POINTWISE_SUB, dp, delta), p);
    ds = map2(&m, CUDNN_POINTWISE_MUL, ds, scale);
    keys_gradient(&m, g, type, transposed(&m, type, ds), q,
                  operand(&m, g, ID_D_K, type, g->d_k, samples, g->G, g->S, g->D));
    product(&m, ds, transposed(&m, type, k), operand(&m, g, ID_D_Q, type, g->d_q, samples, g->H, g->T, g->D));
    return finished(&m);
}

Cudnn_graph cudnn_graph(const Lathe_attention *g, Cudnn_what what, cudnnDataType_t type, int64_t samples)
{
    return what == CUDNN_BACKWARD ? backward_graph(g, type, samples)
                                  : forward_graph(g, type, samples, what == CUDNN_FORWARD_LSE);
}

void cudnn_forget_graph(Cudnn_graph *g)
{
    while (g->made > 0) LIBRARY.cudnnBackendDestroyDescriptor(g->all[--g->made]);
    g->graph = NULL;
    g->n = 0;
}
