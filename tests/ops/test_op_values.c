/* test_op_values.c: each op by itself, generated in fp64 and fp32, against values and gradients recorded from PyTorch:
 * the third witness beside generated code and interpreter, which share the texts of graph/ops.def. */
#include "harness.h"
#include "ops/head.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static Recording file;

typedef struct Case {
    const char *op;
    int inputs;
    bool differentiated;
} Case;
static VEC(Case) cases;

static const char *const letters[] = {"a", "b", "c"};

/* ------------------------------------------------------------------ graphs */

/* "axes=0,2" and "batch=0:0 contract=2:1": the n-th number after key=, or -1. */
static int told(const char *op, const char *key, int n)
{
    const char *s = said(&file, op);
    s = s ? strstr(s, format("%s=", key)) : NULL;
    if (!s) return -1;
    s += strlen(key) + 1;
    for (; n > 0; n--) {
        s += strspn(s, "0123456789");
        if (*s != ',' && *s != ':') return -1;
        s++;
    }
    return atoi(s);
}

static Node *reduced(Op op, Node *a)
{
    int axes[MAXRANK], n = 0;
    while (n < MAXRANK && told(op_info[op].name, "axes", n) >= 0) {
        axes[n] = told(op_info[op].name, "axes", n);
        n++;
    }
    return reduce(op, a, n, axes);
}

/* Losses of x, weight, ids. */
static Node *head_of(Node *const *in)
{
    Head h = {.x = in[0], .weight = in[1], .ids = in[2], .across = 1, .ignores = true};
    h.smoothing = told("linear_cross_entropy", "percent", 0) / 100.0;
    h.ignored = told("linear_cross_entropy", "ignored", 0);
    return pick(linear_cross_entropy(&h), 0, 0);
}

static Node *result_of(Op op, Node *const *in)
{
    const char *name = op_info[op].name;
    int axis = told(name, "axis", 0), nbatch = told(name, "nbatch", 0);
    switch (op) {
    case OP_where: return where_op(in[0], in[1], in[2]);
    case OP_cast: return cast_op(in[0], recorded(&file, "cast.y").dtype);
    case OP_u01: return u01(in[0], F32);
    case OP_argmax: return argmax(in[0], axis);
    case OP_cumsum: return cumsum(in[0], axis, false);
    case OP_argsort: return argsort(in[0], axis, true);
    case OP_cumargmax:
    case OP_cumprod: return scanned(op, in[0], axis, false);
    case OP_topk: return pick(topk(in[0], axis, told(name, "k", 0)), 0, 0);
    case OP_gather: return gather(in[0], in[1], axis, nbatch);
    case OP_scatter_add: return scatter_add(in[0], in[1], recorded(&file, "scatter_add.y").shape, axis, nbatch);
    case OP_linear_cross_entropy: return head_of(in);
    case OP_dot:
        return dot(in[0], in[1],
                   (Dot_axes){.nb = 1,
                              .nc = 1,
                              .ab = {told(name, "batch", 0)},
                              .bb = {told(name, "batch", 1)},
                              .ac = {told(name, "contract", 0)},
                              .bc = {told(name, "contract", 1)}});
    default: return op_info[op].kind == REDUCE ? reduced(op, in[0]) : map_op(op, op_info[op].arity, in);
    }
}

static Node *sum_all(Node *x)
{
    int axes[MAXRANK];
    for (int k = 0; k < x->shape.rank; k++) axes[k] = k;
    return x->shape.rank ? reduce(OP_sum, x, x->shape.rank, axes) : x;
}

/* y of the recorded inputs, and where gradients were recorded the loss they belong to.  Real inputs are parameters. */
static Graph *op_graph(Op op, Case *c)
{
    Node *in[3];
    *c = (Case){.op = op_info[op].name, .differentiated = has_recorded(&file, format("%s.g", op_info[op].name))};
    for (int k = 0; k < 3 && has_recorded(&file, format("%s.%s", c->op, letters[k])); k++) {
        const char *name = format("%s.%s", c->op, letters[k]);
        Recorded r = recorded(&file, name);
        in[c->inputs++] = r.dtype == F64 ? parameter_node(name, F32, r.shape) : input_node(name, r.dtype, r.shape);
    }
    Graph *g = NEW(Graph);
    Node *y = result_of(op, in);
    *g = (Graph){.name = format("op_%s", c->op), .wants_grads = c->differentiated};
    if (c->differentiated) {
        Node *up = input_node(format("%s.g", c->op), F32, y->shape);
        push(&g->outs, ((Output){OUT_VALUE, "loss", sum_all(map2(OP_mul, y, up))}));
    }
    push(&g->outs, ((Output){OUT_VALUE, "y", y}));
    return g;
}

/* ------------------------------------------------------------------ comparison */

static const Lathe_param *param_named(const Live *l, const char *name)
{
    for (int k = 0; k < l->model->params; k++)
        if (same(l->model->param[k].name, name)) return &l->model->param[k];
    return NULL;
}

static void feed(Live *l, int entry)
{
    const Lathe_entry *e = &l->model->entry[entry];
    for (int k = 0; k < l->model->params; k++)
        write_param(l, &l->model->param[k], recorded(&file, l->model->param[k].name).at);
    for (int k = 0; k < e->inputs; k++) {
        Recorded r = recorded(&file, e->input[k].name);
        for (int64_t i = 0; i < r.n; i++)
            set_element(e->input[k].dtype, l->room[entry].in + e->input[k].offset, i, r.at[i]);
    }
}

static void compare(const char *what, const double *got, Recorded expected, double bound)
{
    double norm = norm_of(expected.at, expected.n), error = norm_of_difference(got, expected.at, expected.n);
    expect(error <= bound * norm, "%s is off by %.3g (norm %.3g)", what, error, norm);
}

static void check_case(Live *l, int entry, const Case *c, double bound)
{
    feed(l, entry);
    memset(l->grads, 0, (size_t)(l->model->flat_elements * (l->model->real == LATHE_F64 ? 8 : 4)));
    call_entry(l, entry);
    const char *precision = l->model->real == LATHE_F64 ? "fp64" : "fp32";
    compare(format("%s %s", precision, c->op), read_output(l, entry, "y"), recorded(&file, format("%s.y", c->op)),
            bound);
    for (int k = 0; k < c->inputs && c->differentiated; k++) {
        const Lathe_param *p = param_named(l, format("%s.%s", c->op, letters[k]));
        const char *name = format("%s.d%s", c->op, letters[k]);
        if (p && has_recorded(&file, name))
            compare(format("%s %s", precision, name), read_param(l, l->grads, p), recorded(&file, name), bound);
    }
}

static void check_reals(const char *precision, double bound)
{
    VEC(Graph *) graphs = {0};
    cases.n = 0;
    options.precision = precision;
    for (int op = 0; op < OPS; op++)
        if (has_recorded(&file, format("%s.y", op_info[op].name))) {
            Case c;
            push(&graphs, op_graph((Op)op, &c));
            push(&cases, c);
        }
    Live *l = load_module(compile(describe_graphs(graphs.n, graphs.at)));
    for (int i = 0; i < cases.n; i++) check_case(l, i, &cases.at[i], bound);
    printf("%d ops in %s\n", cases.n, precision);
    unload(l);
}

int main(void)
{
    file = open_recording("tests/reference/op_values.safetensors");
    check_reals("fp64", 1e-13);
    check_reals("fp32", 1e-5);
    return finish();
}
