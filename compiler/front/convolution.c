/* convolution.c: core.convolve(x, w, options): a convolution or its transpose as one op; convolution.lua has checked
 * the options. */
#include "front/front.h"
#include "ops/convolution.h"
#include "passes/passes.h"

/* A list's element of an option that has one for each axis. */
static int64_t option_of_axis(lua_State *L, const char *key, int axis)
{
    lua_getfield(L, 3, key);
    lua_geti(L, -1, axis + 1);
    int64_t value = lua_tointeger(L, -1);
    lua_pop(L, 2);
    return value;
}

static Convolution read_options(lua_State *L, const Tensor *x, const Tensor *w)
{
    Convolution v = {.n = x->node->shape.rank - 2, .w = w->node};
    lua_getfield(L, 3, "groups");
    v.groups = lua_tointeger(L, -1);
    lua_getfield(L, 3, "transposed");
    v.side = lua_toboolean(L, -1) ? TOWARDS_X : TOWARDS_Y;
    lua_pop(L, 2);
    *(v.side == TOWARDS_X ? &v.y : &v.x) = x->node;
    for (int i = 0; i < v.n; i++) {
        v.axis[i] = (Convolved){option_of_axis(L, "kernel", i), option_of_axis(L, "stride", i),
                                option_of_axis(L, "dilation", i), option_of_axis(L, "before", i),
                                option_of_axis(L, "extent", i)};
    }
    return v;
}

/* The input that a value is, after operations element by element; NULL: it is none. */
static const Node *input_behind(const Node *n)
{
    while (n->nin && (op_info[n->op].kind == MAP || n->op == OP_cast)) n = n->in[0];
    return n->op == OP_input ? n : NULL;
}

/* [B, 3, 32, 32] are PyTorch's axes, and would be 3 x 32 pixels of 32 channels. */
static void warn_of_channels_first(lua_State *L, const Convolution *v, const Node *x)
{
    const int64_t *d = x->shape.dim;
    const Node *input = v->n == 2 ? input_behind(x) : NULL;
    if (!input || d[2] != d[3] || d[2] < 8 || (d[1] != 1 && d[1] != 3 && d[1] != 4)) return;
    warn(lua_place(L),
         "input '%s' %s has %lld × %lld pixels of %lld channels here: channels are the last axis; if they are axis 1, "
         "as in PyTorch, write x:permute(0, 2, 3, 1)",
         input->name, shape_text(x->shape), (long long)d[1], (long long)d[2], (long long)d[3]);
}

/* x [batch, axes…, C], w [out, C / groups, kernel…] -> y [batch, extents…, out]; transposed: w [C, out / groups, …] */
/* Where values are saved in 16 bits, a depthwise convolution is an expression over its taps. Its derivative then keeps
 * the same values for backward as CUDA's text does. */
static bool is_expression(const Trace *trace, const Convolution *v)
{
    Precision precision = precision_of(trace->desc->options);
    return precision.saved != precision.real && each_channel_alone(v);
}

static int convolve_call(lua_State *L)
{
    const Tensor *x = tensor_at(L, 1, "core.convolve"), *w = tensor_at(L, 2, "core.convolve");
    make_at(lua_place(L));
    Convolution v = read_options(L, x, w);
    warn_of_channels_first(L, &v, x->node);
    Node *y = is_expression(trace_of(L), &v) ? convolution_meant(&v) : convolution_op(&v);
    Factor batch = x->batch.axis == 0 ? x->batch : NOWHERE, time = x->time;
    const Mixed *mixed = x->mixed ? x->mixed : w->mixed;
    if (time.axis > v.n) mixed = mixing(L, mixed, "a convolution combines channels of different times"), time = NOWHERE;
    else if (time.axis > 0) {
        const Convolved *a = &v.axis[time.axis - 1];
        if (a->kernel > 1 || a->stride > 1 || a->before)
            mixed = mixing(L, mixed, "a convolution runs along the time axis");
        if (a->extent != x->node->shape.dim[time.axis]) time = NOWHERE;
    }
    push_tensor(L, y, batch, time, mixed);
    return 1;
}

const luaL_Reg convolution_functions[] = {{"convolve", convolve_call}, {NULL, NULL}};
