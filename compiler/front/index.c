/* index.c: tensor methods that index, scan or contract, and constructors of tensors. */
#include "front/front.h"

#include <math.h>
#include <string.h>

/* ------------------------------------------------------------------ by ids, and along an axis */

static char *subscript(Shape s, int64_t i)
{
    char *text = format("%s", "");
    for (int k = s.rank - 1; k >= 0; i /= s.dim[k--]) text = format("[%lld]%s", (long long)(i % s.dim[k]), text);
    return text;
}

static void check_ids(lua_State *L, const Tensor *ids, const char *doing)
{
    if (ids->node->dtype != I32)
        user_error(L, "%s: ids must be i32, found %s; x:cast(\"i32\") converts them", doing,
                   dtype_name(ids->node->dtype));
}

/* Checks ids known at compile time; others are checked at run time (emit/ids.c).  Along the time axis decode has one
 * token of x, so nothing is checked, and mixed_along() refuses. */
static void check_known(lua_State *L, const Tensor *x, const Tensor *ids, int axis, const char *doing)
{
    int64_t n = x->node->shape.dim[axis];
    Value v;
    if ((trace_of(L)->decode && x->time.axis == axis) || !known_values(ids->node, &v)) return;
    for (int64_t i = 0; i < elements(v.shape); i++)
        if (v.at[i] < 0 || v.at[i] >= (double)n)
            user_error(L, "%s: ids along axis %d must be 0 to %lld, but ids%s is %.0f", doing, axis, (long long)n - 1,
                       subscript(v.shape, i), v.at[i]);
}

/* x[:axis] + ids[nbatch:] + x[axis+1:], or an error */
static Shape gathered_shape(lua_State *L, const Tensor *x, const Tensor *ids, int axis, int nbatch, const char *doing)
{
    Shape a = x->node->shape, b = ids->node->shape, s = {0};
    check_ids(L, ids, doing);
    if (nbatch < 0 || nbatch > axis || nbatch > b.rank)
        user_error(L, "%s: the first %d axes cannot be shared: the ids have rank %d, and the axis gathered from is %d",
                   doing, nbatch, b.rank, axis);
    for (int i = 0; i < nbatch; i++)
        if (a.dim[i] != b.dim[i])
            user_error(L, "%s: axis %d is shared, but %s and ids %s differ there", doing, i, tensor_text(x),
                       tensor_text(ids));
    if (a.rank - 1 + b.rank - nbatch > MAXRANK)
        user_error(L, "%s: the result would have more than %d axes", doing, MAXRANK);
    for (int i = 0; i < axis; i++) s.dim[s.rank++] = a.dim[i];
    for (int i = nbatch; i < b.rank; i++) s.dim[s.rank++] = b.dim[i];
    for (int i = axis + 1; i < a.rank; i++) s.dim[s.rank++] = a.dim[i];
    check_size(L, s);
    check_known(L, x, ids, axis, doing);
    return s;
}

static int optional_integer(lua_State *L, int arg, int otherwise, const char *what)
{
    if (lua_isnoneornil(L, arg)) return otherwise;
    int64_t i = integer_at(L, arg, what);
    return i < INT32_MIN ? INT32_MIN : i > INT32_MAX ? INT32_MAX : (int)i; /* out of range in any case */
}

/* x:gather(ids, axis, shared): the rows of x along axis picked by ids; the first `shared` axes are the same in both. */
static int gather_call(lua_State *L)
{
    const Tensor *x = tensor_at(L, 1, "x:gather"), *ids = tensor_at(L, 2, "x:gather");
    int axis = axis_value(L, optional_integer(L, 3, 0, "an axis"), x->node->shape.rank);
    int nbatch = optional_integer(L, 4, 0, "the number of shared axes");
    gathered_shape(L, x, ids, axis, nbatch, "x:gather");
    int from_x[MAXRANK], from_ids[MAXRANK];
    for (int i = 0; i < MAXRANK; i++) {
        from_x[i] = i < axis ? i : i == axis ? -1 : i - 1 + ids->node->shape.rank - nbatch;
        from_ids[i] = i < nbatch ? i : i - nbatch + axis;
    }
    const Mixed *mixed = mixed_along(L, x, axis, "x:gather");
    if (!mixed) mixed = ids->mixed;
    Factor batch = factor_moved(ids->batch, from_ids), time = factor_moved(ids->time, from_ids);
    if (batch.axis < 0) batch = factor_moved(x->batch, from_x);
    if (time.axis < 0) time = factor_moved(x->time, from_x);
    make_at(lua_place(L));
    push_tensor(L, gather(x->node, ids->node, axis, nbatch), batch, time, mixed);
    return 1;
}

/* nn.scatter_add(updates, ids, extent, axis, shared): zeros, `extent` along axis, with the updates added at ids. */
static int scatter_add_call(lua_State *L)
{
    const Tensor *u = tensor_at(L, 1, "nn.scatter_add"), *ids = tensor_at(L, 2, "nn.scatter_add");
    int64_t extent = integer_at(L, 3, "the extent of the axis made");
    int nbatch = optional_integer(L, 5, 0, "the number of shared axes");
    int64_t rank = (int64_t)u->node->shape.rank + 1 - ids->node->shape.rank + nbatch;
    if (rank < 1 || rank > MAXRANK || extent < 1)
        user_error(L, "nn.scatter_add: updates %s do not fit ids %s", tensor_text(u), tensor_text(ids));
    Shape s = {.rank = (int)rank};
    int axis = axis_value(L, optional_integer(L, 4, 0, "an axis"), s.rank), taken = ids->node->shape.rank - nbatch;
    if (nbatch < 0 || taken < 0) user_error(L, "nn.scatter_add: the number of shared axes cannot be %d", nbatch);
    for (int i = 0; i < s.rank; i++) s.dim[i] = i == axis ? extent : u->node->shape.dim[i < axis ? i : i - 1 + taken];
    check_size(L, s);
    Tensor x = *u;
    x.node = filled(0, u->node->dtype, s);
    Shape want = gathered_shape(L, &x, ids, axis, nbatch, "nn.scatter_add");
    if (!same_shape(want, u->node->shape) || u->node->dtype == BOOL)
        user_error(L, "nn.scatter_add: updates %s do not fit ids %s; expected %s", tensor_text(u), tensor_text(ids),
                   shape_text(want));
    int to[MAXRANK];
    for (int i = 0; i < MAXRANK; i++) to[i] = i < axis ? i : i < axis + taken ? -1 : i - taken + 1;
    bool lost = u->time.axis >= axis && u->time.axis < axis + taken;
    const Mixed *mixed = lost ? mixing(L, u->mixed, "nn.scatter_add adds over the time axis") : u->mixed;
    make_at(lua_place(L));
    push_tensor(L, scatter_add(u->node, ids->node, s, axis, nbatch), factor_moved(u->batch, to),
                factor_moved(u->time, to), mixed ? mixed : ids->mixed);
    return 1;
}

/* x:overwrite(ids, updates, axis, shared): x with the entries at ids along axis replaced. */
static int overwrite_call(lua_State *L)
{
    const Tensor *x = tensor_at(L, 1, "x:overwrite"), *ids = tensor_at(L, 2, "x:overwrite"),
                 *u = tensor_at(L, 3, "x:overwrite");
    int axis = axis_value(L, optional_integer(L, 4, 0, "an axis"), x->node->shape.rank);
    int nbatch = optional_integer(L, 5, 0, "the number of shared axes");
    Shape want = gathered_shape(L, x, ids, axis, nbatch, "x:overwrite");
    DType type = type_of_updates(x->node);
    if (!same_shape(want, u->node->shape) || u->node->dtype != type)
        user_error(L, "x:overwrite: updates must be %s %s for x %s and ids %s, found %s %s", dtype_name(type),
                   shape_text(want), tensor_text(x), tensor_text(ids), dtype_name(u->node->dtype), tensor_text(u));
    Tensor r = *x;
    r.mixed = mixed_along(L, x, axis, "x:overwrite");
    if (!r.mixed) r.mixed = u->mixed ? u->mixed : ids->mixed;
    make_at(lua_place(L));
    push_like(L, overwrite(x->node, ids->node, u->node, axis, nbatch), &r);
    return 1;
}

static char *by_ids_fault(const Tensor *x, const Tensor *w, const Tensor *ids, int across)
{
    const Shape *a = &x->node->shape, *b = &w->node->shape, *i = &ids->node->shape;
    if (b->rank != 3 || (across != 1 && across != 2))
        return "w must be [matrices, out, in], or with 1 as a fourth argument [matrices, in, out]";
    if (i->rank < 1 || a->rank != i->rank + 1) return "ids must have one axis less than x, at least one";
    for (int k = 0; k < i->rank; k++)
        if (a->dim[k] != i->dim[k]) return "ids must have the shape of x without its last axis";
    if (a->dim[i->rank] == b->dim[across]) return NULL;
    return format("the last axis of x, %lld, must equal axis %d of w, %lld", (long long)a->dim[i->rank], across,
                  (long long)b->dim[across]);
}

/* nn.dot_by_ids(x, w, ids, axis): each row of x times the matrix of w that its id chooses. */
static int dot_by_ids_call(lua_State *L)
{
    const char *doing = "nn.dot_by_ids";
    const Tensor *x = tensor_at(L, 1, doing), *w = tensor_at(L, 2, doing), *ids = tensor_at(L, 3, doing);
    const Tensor *bad = !is_real(x->node->dtype) ? x : !is_real(w->node->dtype) ? w : NULL;
    if (bad) user_error(L, "%s: x and w must be real, found %s", doing, tensor_text(bad));
    check_ids(L, ids, doing);
    int axis = axis_value(L, optional_integer(L, 4, 2, "an axis of w"), w->node->shape.rank);
    const char *fault = by_ids_fault(x, w, ids, axis);
    if (fault)
        user_error(L, "%s: the shapes do not fit\n    x    %s\n    w    %s\n    ids  %s\n  %s", doing, tensor_text(x),
                   tensor_text(w), tensor_text(ids), fault);
    check_known(L, w, ids, 0, doing);
    int last = ids->node->shape.rank;
    const Mixed *mixed = x->mixed ? x->mixed : w->mixed ? w->mixed : ids->mixed;
    if (x->time.axis == last || w->time.axis >= 0) mixed = mixing(L, mixed, "%s sums over the time axis", doing);
    Factor batch = x->batch.axis >= 0 && x->batch.axis < last ? x->batch : ids->batch;
    Factor time = x->time.axis >= 0 && x->time.axis < last ? x->time : ids->time;
    make_at(lua_place(L));
    push_tensor(L, dot_by_ids(x->node, w->node, ids->node, axis), batch, time, mixed);
    return 1;
}

static void check_numbers(lua_State *L, const Tensor *t, bool real, const char *doing)
{
    if (t->node->dtype == BOOL || (real && !is_real(t->node->dtype)))
        user_error(L, "%s needs %s, found %s", doing, real ? "a real tensor" : "numbers", dtype_name(t->node->dtype));
}

static int argmax_call(lua_State *L)
{
    const Tensor *t = tensor_at(L, 1, "x:argmax");
    int axis = axis_at(L, 2, t->node->shape.rank), to[MAXRANK];
    check_numbers(L, t, false, "x:argmax");
    axes_without(t->node->shape, axis, to);
    const Mixed *mixed = mixed_along(L, t, axis, "x:argmax");
    make_at(lua_place(L));
    push_tensor(L, argmax(t->node, axis), factor_moved(t->batch, to), factor_moved(t->time, to), mixed);
    return 1;
}

/* x:NAME(axis, backwards): the running values of a scan. */
static int scan_call(lua_State *L, Op op, const char *doing)
{
    Tensor t = *tensor_at(L, 1, doing);
    int axis = axis_at(L, 2, t.node->shape.rank);
    check_numbers(L, &t, false, doing);
    t.mixed = mixed_along(L, &t, axis, doing);
    make_at(lua_place(L));
    push_like(L, scanned(op, t.node, axis, lua_toboolean(L, 3)), &t);
    return 1;
}

/* One function for each scan of graph/ops.def. */
#define BY_HAND(name, doc)
#define NO_CALL(name, doc)
#define SCAN_CALL(name, doc)                                                                                           \
    static int name##_call(lua_State *L) { return scan_call(L, OP_##name, "x:" #name); }
#define OWN(name, inputs, kind, results, facts, parts, lua, ints, doc) lua(name, doc)
#include "graph/ops_default.h"
#include "graph/ops.def"
#undef SCAN_CALL

/* x:argsort(axis, descending): along the last axis if none is given. */
static int argsort_call(lua_State *L)
{
    Tensor t = *tensor_at(L, 1, "x:argsort");
    int axis = axis_value(L, optional_integer(L, 2, -1, "an axis"), t.node->shape.rank);
    check_numbers(L, &t, false, "x:argsort");
    t.mixed = mixed_along(L, &t, axis, "x:argsort");
    make_at(lua_place(L));
    push_like(L, argsort(t.node, axis, lua_toboolean(L, 3)), &t);
    return 1;
}

/* values, ids = x:topk(k, axis) */
static int topk_call(lua_State *L)
{
    Tensor t = *tensor_at(L, 1, "x:topk");
    int64_t k = integer_at(L, 2, "k");
    int axis = axis_value(L, optional_integer(L, 3, -1, "an axis"), t.node->shape.rank), to[MAXRANK];
    check_numbers(L, &t, true, "x:topk");
    if (k < 1 || k > t.node->shape.dim[axis])
        user_error(L, "x:topk: k must be 1 … %lld for axis %d of %s, found %lld", (long long)t.node->shape.dim[axis],
                   axis, tensor_text(&t), (long long)k);
    t.mixed = mixed_along(L, &t, axis, "x:topk");
    axes_kept(to);
    to[axis] = -1;
    make_at(lua_place(L));
    Node *n = topk(t.node, axis, k);
    for (int i = 0; i < 2; i++)
        push_tensor(L, pick(n, i, 0), factor_moved(t.batch, to), factor_moved(t.time, to), t.mixed);
    return 2;
}

/* ------------------------------------------------------------------ contraction */

static int push_dot(lua_State *L, const Tensor *a, const Tensor *b, Dot_axes x, const char *doing)
{
    int ra = a->node->shape.rank, rb = b->node->shape.rank, to_a[MAXRANK], to_b[MAXRANK], fa[MAXRANK], fb[MAXRANK];
    int na = free_axes(ra, x.nb, x.ab, x.nc, x.ac, fa), nb = free_axes(rb, x.nb, x.bb, x.nc, x.bc, fb);
    if (x.nb + na + nb > MAXRANK)
        user_error(L, "%s: the result would have %d axes; the limit is %d", doing, x.nb + na + nb, MAXRANK);
    for (int i = 0; i < MAXRANK; i++) to_a[i] = to_b[i] = -1;
    for (int i = 0; i < x.nb; i++) to_a[x.ab[i]] = to_b[x.bb[i]] = i;
    for (int i = 0; i < na; i++) to_a[fa[i]] = x.nb + i;
    for (int i = 0; i < nb; i++) to_b[fb[i]] = x.nb + na + i;
    const Mixed *mixed = a->mixed ? a->mixed : b->mixed;
    Factor ta = factor_moved(a->time, to_a), tb = factor_moved(b->time, to_b);
    if ((ta.axis < 0 && a->time.axis >= 0) || (tb.axis < 0 && b->time.axis >= 0))
        mixed = mixing(L, mixed, "%s sums over the time axis", doing);
    else if (ta.axis >= 0 && tb.axis >= 0 && ta.axis != tb.axis)
        mixed = mixing(L, mixed, "%s pairs each time with every other", doing);
    Factor ba = factor_moved(a->batch, to_a);
    make_at(lua_place(L));
    push_tensor(L, dot(a->node, b->node, x), ba.axis >= 0 ? ba : factor_moved(b->batch, to_b), ta.axis >= 0 ? ta : tb,
                mixed);
    return 1;
}

static void check_factors(lua_State *L, const Tensor *a, const Tensor *b, const char *doing)
{
    const Tensor *bad = !is_real(a->node->dtype) ? a : !is_real(b->node->dtype) ? b : NULL;
    if (bad)
        user_error(L, "%s needs real tensors, but %c is %s; x:cast(\"f32\") converts it", doing, bad == a ? 'a' : 'b',
                   dtype_name(bad->node->dtype));
}

/* a:matmul(b): [batch…, M, K] · [batch…, K, N], or b [K, N] for all. */
static int matmul_call(lua_State *L)
{
    const Tensor *a = tensor_at(L, 1, "a:matmul(b)"), *b = tensor_at(L, 2, "a:matmul(b)");
    Shape s = a->node->shape, o = b->node->shape;
    check_factors(L, a, b, "a:matmul(b)");
    Dot_axes x = {.nc = 1, .ac = {s.rank - 1}, .bc = {o.rank - 2}};
    const char *why = s.rank < 1 || o.rank < 2 ? "a must have rank 1 or more, b rank 2 or more" : NULL;
    if (!why && s.dim[s.rank - 1] != o.dim[o.rank - 2])
        why = format("the last axis of a, %lld, must equal the second to last of b, %lld%s",
                     (long long)s.dim[s.rank - 1], (long long)o.dim[o.rank - 2],
                     s.dim[s.rank - 1] == o.dim[o.rank - 1] ? "; b:transpose(-1, -2) would fit" : "");
    if (!why && o.rank > 2) {
        x.nb = o.rank - 2;
        if (s.rank != o.rank) why = "b has batch axes, so a must have the same";
        for (int i = 0; i < x.nb && !why; i++) {
            x.ab[i] = x.bb[i] = i;
            if (s.dim[i] != o.dim[i]) why = format("batch axis %d differs; x:expand{…} repeats an axis of extent 1", i);
        }
    }
    if (why)
        user_error(L, "a:matmul(b): the shapes do not fit\n    a  %s\n    b  %s\n  %s", tensor_text(a), tensor_text(b),
                   why);
    return push_dot(L, a, b, x, "a:matmul(b)");
}

/* {1, 2} or {{0, 1}, {2, 1}}: pairs of axes of a and b */
static int axis_pairs(lua_State *L, const char *key, int ra, int rb, int *of_a, int *of_b, bool *used_a, bool *used_b)
{
    if (lua_getfield(L, 3, key) == LUA_TNIL) return lua_pop(L, 1), 0;
    if (!lua_istable(L, -1) || lua_rawlen(L, -1) != 2)
        user_error(L, "nn.dot: %s must be a pair of axes {of a, of b}, or a pair of lists {{…}, {…}}", key);
    int n[2] = {1, 1};
    for (int side = 0; side < 2; side++) {
        int *out = side ? of_b : of_a, rank = side ? rb : ra;
        bool *used = side ? used_b : used_a;
        lua_geti(L, -1, side + 1);
        bool list = lua_istable(L, -1);
        n[side] = list ? (int)lua_rawlen(L, -1) : 1;
        if (n[side] > rank)
            user_error(L, "nn.dot: %s names %d axes of %c, which has %d", key, n[side], side ? 'b' : 'a', rank);
        for (int i = 0; i < n[side]; i++) {
            if (list) lua_geti(L, -1, i + 1);
            out[i] = axis_at(L, lua_gettop(L), rank);
            if (list) lua_pop(L, 1);
            if (used[out[i]]) user_error(L, "nn.dot: axis %d of %c is named twice", out[i], side ? 'b' : 'a');
            used[out[i]] = true;
        }
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
    if (n[0] != n[1]) user_error(L, "nn.dot: %s must name as many axes of a as of b, found %d and %d", key, n[0], n[1]);
    return n[0];
}

/* nn.dot(a, b, { batch = {0, 0}, contract = {-1, -1} }): result axes: batch, the rest of a, the rest of b. */
static int dot_call(lua_State *L)
{
    const Tensor *a = tensor_at(L, 1, "nn.dot"), *b = tensor_at(L, 2, "nn.dot");
    luaL_checktype(L, 3, LUA_TTABLE);
    check_words(L, 3, (const char *const[]){"batch", "contract"}, 2, "nn.dot");
    check_factors(L, a, b, "nn.dot");
    Shape s = a->node->shape, o = b->node->shape;
    bool used_a[MAXRANK] = {false}, used_b[MAXRANK] = {false};
    Dot_axes x = {0};
    x.nb = axis_pairs(L, "batch", s.rank, o.rank, x.ab, x.bb, used_a, used_b);
    x.nc = axis_pairs(L, "contract", s.rank, o.rank, x.ac, x.bc, used_a, used_b);
    for (int k = 0; k < x.nb + x.nc; k++) {
        int i = k < x.nb ? x.ab[k] : x.ac[k - x.nb], j = k < x.nb ? x.bb[k] : x.bc[k - x.nb];
        if (s.dim[i] != o.dim[j])
            user_error(L,
                       "nn.dot: the shapes do not fit\n"
                       "    a  %s\n"
                       "    b  %s\n"
                       "  axis %d of a has %lld, axis %d of b %lld, but must be equal, since they are %s",
                       tensor_text(a), tensor_text(b), i, (long long)s.dim[i], j, (long long)o.dim[j],
                       k < x.nb ? "shared" : "summed over");
    }
    return push_dot(L, a, b, x, "nn.dot");
}

/* ------------------------------------------------------------------ tensors from nothing */

static void must_trace(lua_State *L, const char *what)
{
    if (!trace_of(L)->graph) user_error(L, "%s: tensors can only be made inside forward", what);
}

static int push_filled(lua_State *L, double value)
{
    Shape s = shape_at(L, 1);
    make_at(lua_place(L));
    push_tensor(L, filled(value, F32, s), NOWHERE, NOWHERE, NULL);
    return 1;
}

static int zeros_call(lua_State *L)
{
    must_trace(L, "nn.zeros");
    return push_filled(L, 0);
}

static int ones_call(lua_State *L)
{
    must_trace(L, "nn.ones");
    return push_filled(L, 1);
}

static int full_call(lua_State *L)
{
    must_trace(L, "nn.full");
    luaL_checknumber(L, 2);
    return push_filled(L, real_number(L, 2, "nn.full"));
}

/* The element of nn.constant on the top. */
static double element_at(lua_State *L, DType t)
{
    if (t == F32) {
        double x = real_number(L, -1, "nn.constant");
        return single(trace_of(L)) ? (float)x : x;
    }
    double x = lua_tonumber(L, -1);
    if (x != floor(x) || x < INT32_MIN || x > INT32_MAX)
        user_error(L, "nn.constant: %s is not a 32-bit integer", lua_text(L, -1));
    return x;
}

/* nn.constant({1, 2, 3}, "f32"): an array of numbers, rank 1; or one number, rank 0. */
static int constant_call(lua_State *L)
{
    must_trace(L, "nn.constant");
    const char *type = luaL_optstring(L, 2, "f32");
    DType t = same(type, "i32") ? I32 : F32;
    if (!same(type, "f32") && !same(type, "i32"))
        user_error(L, "nn.constant(values, type): the type must be \"f32\" or \"i32\", found \"%s\"", type);
    make_at(lua_place(L));
    if (lua_type(L, 1) == LUA_TNUMBER) {
        lua_settop(L, 1);
        push_tensor(L, scalar(element_at(L, t), t), NOWHERE, NOWHERE, NULL);
        return 1;
    }
    luaL_checktype(L, 1, LUA_TTABLE);
    check_list(L, 1, "nn.constant");
    int n = (int)lua_rawlen(L, 1);
    if (n == 0) user_error(L, "nn.constant{…} needs at least one number");
    double *data = NEW_ARRAY(double, n);
    for (int i = 0; i < n; i++) {
        if (lua_geti(L, 1, i + 1) != LUA_TNUMBER)
            user_error(L, "nn.constant: element %d is %s, not a number", i + 1, lua_text(L, -1));
        data[i] = element_at(L, t);
        lua_pop(L, 1);
    }
    push_tensor(L, intern((Node){.op = OP_constant, .dtype = t, .shape = {1, {n}}, .data = data}), NOWHERE, NOWHERE,
                NULL);
    return 1;
}

/* nn.iota({2, 3}, axis) or nn.iota(3): i32, each element's index along the axis. */
static int iota_call(lua_State *L)
{
    must_trace(L, "nn.iota");
    Shape s = {.rank = 1};
    if (lua_istable(L, 1)) s = shape_at(L, 1);
    else s.dim[0] = integer_at(L, 1, "an extent");
    check_size(L, s);
    int axis = lua_isnoneornil(L, 2) ? s.rank - 1 : axis_at(L, 2, s.rank);
    make_at(lua_place(L));
    push_tensor(L, iota(s, axis), NOWHERE, NOWHERE, NULL);
    return 1;
}

const Binding index_methods[] = {
    {"gather", gather_call, "ids: lathe.Tensor, axis?: integer, shared?: integer): lathe.Tensor",
     "rows along an axis picked by ids; the first `shared` axes of both run together"},
    {"overwrite", overwrite_call,
     "ids: lathe.Tensor, updates: lathe.Tensor, axis?: integer, shared?: integer): lathe.Tensor",
     "the entries at ids along an axis replaced"},
    {"argmax", argmax_call, "axis?: integer|table): lathe.Tensor",
     "i32: first index of the largest along an axis, which goes away, or of all elements"},
#define SCAN_SIGNATURE                                                 "axis: integer, backwards?: boolean): lathe.Tensor"
#define SCAN_CALL(name, doc)                                           {#name, name##_call, SCAN_SIGNATURE, doc},
#define OWN(name, inputs, kind, results, facts, parts, lua, ints, doc) lua(name, doc)
#include "graph/ops_default.h"
#include "graph/ops.def"
    {"argsort", argsort_call, "axis?: integer, descending?: boolean): lathe.Tensor",
     "i32: the indices along an axis (the last) in the order of its elements; of equal ones the first comes first"},
    {"topk", topk_call, "k: integer, axis?: integer): lathe.Tensor, lathe.Tensor",
     "the k largest in falling order, and their i32 indices"},
    {"matmul", matmul_call, "b: lathe.Tensor): lathe.Tensor",
     "matrix product of the last two axes; b is one matrix, or has the same batch axes"},
    {NULL, NULL, NULL, NULL}};

const Binding shape_functions[] = {
    {"scatter_add", scatter_add_call,
     "updates: lathe.Tensor, ids: lathe.Tensor, extent: integer, axis?: integer, shared?: integer): lathe.Tensor",
     "zeros of that extent along an axis with the updates added at ids"},
    {"dot", dot_call, "a: lathe.Tensor, b: lathe.Tensor, axes: { batch?: table, contract?: table }): lathe.Tensor",
     "sum of products over contract = {axis of a, axis of b} or {{…}, {…}}; result axes: batch, rest of a, rest of b"},
    {"dot_by_ids", dot_by_ids_call,
     "x: lathe.Tensor, w: lathe.Tensor, ids: lathe.Tensor, axis?: integer): lathe.Tensor",
     "each row of x [rows…, in] times the matrix of w [matrices, out, in] that its i32 id [rows…] chooses -> [rows…, "
     "out]; axis: of w along x, 2 or 1"},
    {"zeros", zeros_call, "extents: integer[]): lathe.Tensor", "zeros"},
    {"ones", ones_call, "extents: integer[]): lathe.Tensor", "ones"},
    {"full", full_call, "extents: integer[], value: number): lathe.Tensor", "one value everywhere"},
    {"constant", constant_call, "values: number|number[], dtype?: \"f32\"|\"i32\"): lathe.Tensor",
     "numbers as a tensor of rank 1, or one of rank 0"},
    {"iota", iota_call, "extents: integer|integer[], axis?: integer): lathe.Tensor",
     "i32: each element's index along an axis (the last)"},
    {NULL, NULL, NULL, NULL}};
