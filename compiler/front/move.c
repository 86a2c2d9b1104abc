/* move.c: tensor methods that rearrange elements, and where the batch and time axes go. */
#include "front/front.h"

#include <string.h>

/* ------------------------------------------------------------------ following axes */

/* to[axis]: the new place of each axis, or -1. */
Factor factor_moved(Factor f, const int *to)
{
    if (f.axis < 0) return f;
    f.axis = to[f.axis];
    return f.axis < 0 ? NOWHERE : f;
}

static int64_t product_of_extents(Shape s, int from)
{
    int64_t n = 1;
    for (int i = from; i < s.rank; i++) n *= s.dim[i];
    return n;
}

/* In decode the axis has extent 1, so it is found by the product of the extents after it; the same position is
 * preferred. */
static Factor reshaped_unit(Factor f, Shape old, Shape new)
{
    int64_t behind = product_of_extents(old, f.axis + 1) * f.inner;
    if (f.axis < new.rank &&new.dim[f.axis] == 1 && product_of_extents(new, f.axis + 1) == behind)
        return (Factor){f.axis, 1, 1};
    for (int k = new.rank - 1; k >= 0; k--)
        if (new.dim[k] == 1 && product_of_extents(new, k + 1) == behind) return (Factor){k, 1, 1};
    for (int k = new.rank - 1; k >= 0; k--)
        if (product_of_extents(new, k) >= behind && behind % product_of_extents(new, k + 1) == 0)
            return (Factor){k, new.dim[k] * product_of_extents(new, k + 1) / behind,
                            behind / product_of_extents(new, k + 1)};
    return NOWHERE;
}

/* The axis with all of f's factor after a reshape; NOWHERE with *split: the factor is spread over several axes. */
static Factor reshaped(Factor f, Shape old, Shape new, bool *split)
{
    *split = false;
    if (f.axis < 0) return f;
    int64_t count = old.dim[f.axis] / (f.outer * f.inner), stride = product_of_extents(old, f.axis + 1) * f.inner;
    if (count == 1) return reshaped_unit(f, old, new);
    for (int k = 0; k < new.rank; k++) {
        int64_t behind = product_of_extents(new, k + 1), whole = behind * new.dim[k];
        if (stride % behind == 0 && whole % (stride * count) == 0 && whole >= stride * count)
            return (Factor){k, whole / (stride * count), stride / behind};
    }
    *split = true;
    return NOWHERE;
}

static int push_moved(lua_State *L, Node *n, const Tensor *t, const int *to)
{
    push_tensor(L, n, factor_moved(t->batch, to), factor_moved(t->time, to), t->mixed);
    return 1;
}

/* An op that combines values along `axis` cannot be computed step by step if that is time. */
const Mixed *mixed_along(lua_State *L, const Tensor *t, int axis, const char *doing)
{
    return t->time.axis == axis ? mixing(L, t->mixed, "%s works along the time axis", doing) : t->mixed;
}

/* ------------------------------------------------------------------ reshape and its kin */

static int push_reshaped(lua_State *L, const Tensor *t, Shape s)
{
    bool split;
    Factor batch = reshaped(t->batch, t->node->shape, s, &split), time = reshaped(t->time, t->node->shape, s, &split);
    const Mixed *mixed = split ? mixing(L, t->mixed, "x:reshape splits the time axis into several") : t->mixed;
    make_at(lua_place(L));
    push_tensor(L, reshape(t->node, s), batch, time, mixed);
    return 1;
}

static Shape extents_at(lua_State *L, int first, int *unknown)
{
    Shape s = {0};
    bool table = lua_istable(L, first);
    if (table) check_list(L, first, "x:reshape"), check_surplus(L, first, "x:reshape");
    int n = table ? (int)lua_rawlen(L, first) : lua_gettop(L) - first + 1;
    if (n > MAXRANK) user_error(L, "a tensor can have at most %d axes; this shape has %d", MAXRANK, n);
    *unknown = -1;
    for (int i = 0; i < n; i++) {
        if (table) lua_geti(L, first, i + 1);
        else lua_pushvalue(L, first + i);
        int64_t e = integer_at(L, -1, "an extent");
        lua_pop(L, 1);
        if (e == -1 && *unknown >= 0) user_error(L, "only one extent may be -1");
        if (e == -1) *unknown = i;
        else if (e < 1)
            user_error(L, "an extent must be at least 1 (one may be -1: whatever is left), but axis %d has %lld", i,
                       (long long)e);
        s.dim[s.rank++] = e == -1 ? 1 : e;
    }
    check_size(L, s);
    return s;
}

static int reshape_call(lua_State *L)
{
    const Tensor *t = tensor_at(L, 1, "x:reshape");
    int unknown;
    Shape s = extents_at(L, 2, &unknown);
    int64_t have = elements(t->node->shape), want = elements(s);
    if (unknown >= 0 && have % want == 0) s.dim[unknown] = have / want;
    else if (unknown >= 0)
        user_error(L, "x:reshape: %lld elements of %s cannot be divided by %lld, the product of the other extents",
                   (long long)have, tensor_text(t), (long long)want);
    if (elements(s) != have)
        user_error(L, "x:reshape: %s has %lld elements, %s would have %lld", tensor_text(t), (long long)have,
                   shape_text(s), (long long)elements(s));
    return push_reshaped(L, t, s);
}

static int push_permuted(lua_State *L, const Tensor *t, const int *perm)
{
    int to[MAXRANK];
    for (int i = 0; i < t->node->shape.rank; i++) to[perm[i]] = i;
    make_at(lua_place(L));
    return push_moved(L, permute(t->node, perm), t, to);
}

static int permute_call(lua_State *L)
{
    const Tensor *t = tensor_at(L, 1, "x:permute");
    int rank = t->node->shape.rank, perm[MAXRANK];
    bool seen[MAXRANK] = {false};
    if (lua_istable(L, 2)) check_list(L, 2, "x:permute"), check_surplus(L, 2, "x:permute");
    int first = lua_istable(L, 2) ? 3 : 2;
    int64_t given = lua_istable(L, 2) ? (int64_t)lua_rawlen(L, 2) : lua_gettop(L) - 1;
    if (given != rank)
        user_error(L, "x:permute must list every axis once: %s has %d, found %lld", tensor_text(t), rank,
                   (long long)given);
    if (first == 3) lua_settop(L, 2);
    for (int i = 1; first == 3 && i <= rank; i++) lua_geti(L, 2, i);
    for (int i = 0; i < rank; i++) {
        perm[i] = axis_at(L, first + i, rank);
        if (seen[perm[i]]) user_error(L, "x:permute: axis %d is given twice", perm[i]);
        seen[perm[i]] = true;
    }
    return push_permuted(L, t, perm);
}

static int transpose_call(lua_State *L)
{
    const Tensor *t = tensor_at(L, 1, "x:transpose");
    int rank = t->node->shape.rank, perm[MAXRANK];
    int a = axis_at(L, 2, rank), b = axis_at(L, 3, rank);
    for (int i = 0; i < rank; i++) perm[i] = i == a ? b : i == b ? a : i;
    return push_permuted(L, t, perm);
}

static int unsqueeze_call(lua_State *L)
{
    const Tensor *t = tensor_at(L, 1, "x:unsqueeze");
    Shape s = t->node->shape;
    if (s.rank == MAXRANK) user_error(L, "a tensor can have at most %d axes", MAXRANK);
    int axis = axis_at(L, 2, s.rank + 1), to[MAXRANK];
    for (int i = 0; i < s.rank; i++) to[i] = i + (i >= axis);
    memmove(s.dim + axis + 1, s.dim + axis, sizeof *s.dim * (size_t)(s.rank - axis));
    s.dim[axis] = 1;
    s.rank++;
    make_at(lua_place(L));
    return push_moved(L, reshape(t->node, s), t, to);
}

Shape axes_without(Shape s, int axis, int *to)
{
    for (int i = 0; i < s.rank; i++) to[i] = i == axis ? -1 : i - (i > axis);
    memmove(s.dim + axis, s.dim + axis + 1, sizeof *s.dim * (size_t)(s.rank - axis - 1));
    s.rank--;
    return s;
}

static int squeeze_call(lua_State *L)
{
    const Tensor *t = tensor_at(L, 1, "x:squeeze");
    int axis = axis_at(L, 2, t->node->shape.rank), to[MAXRANK];
    if (t->node->shape.dim[axis] != 1)
        user_error(L, "x:squeeze can only drop an axis of extent 1; axis %d of %s has %lld", axis, tensor_text(t),
                   (long long)t->node->shape.dim[axis]);
    Shape s = axes_without(t->node->shape, axis, to);
    make_at(lua_place(L));
    return push_moved(L, reshape(t->node, s), t, to);
}

static int expand_call(lua_State *L)
{
    const Tensor *t = tensor_at(L, 1, "x:expand");
    Shape old = t->node->shape, s = {0};
    int n = (int)(lua_istable(L, 2) ? lua_rawlen(L, 2) : 0);
    if (lua_istable(L, 2)) check_list(L, 2, "x:expand");
    if (n < old.rank || n > MAXRANK)
        user_error(L, "x:expand{…} takes the whole new shape, with -1 for axes that stay; %s has rank %d",
                   tensor_text(t), old.rank);
    int to[MAXRANK];
    for (int i = 0; i < n; i++) {
        int from = i - (n - old.rank);
        lua_geti(L, 2, i + 1);
        int64_t e = integer_at(L, -1, "an extent"), had = from >= 0 ? old.dim[from] : 1;
        lua_pop(L, 1);
        if (e == -1) e = had;
        if (e < 1 || (had != 1 && had != e))
            user_error(L, "x:expand can only repeat axes of extent 1; axis %d of %s cannot become %lld", from,
                       tensor_text(t), (long long)e);
        if (from >= 0) to[from] = i;
        s.dim[s.rank++] = e;
    }
    check_size(L, s);
    make_at(lua_place(L));
    return push_moved(L, broadcast(t->node, s), t, to);
}

/* ------------------------------------------------------------------ parts of an axis */

void axes_kept(int *to)
{
    for (int i = 0; i < MAXRANK; i++) to[i] = i;
}

static Node *part_of_concat(const Tensor *t, int axis, int64_t first, int64_t extent, int64_t step)
{
    int64_t start[MAXRANK] = {0}, by[MAXRANK];
    for (int i = 0; i < MAXRANK; i++) by[i] = 1;
    Shape s = t->node->shape;
    start[axis] = first;
    s.dim[axis] = extent;
    by[axis] = step;
    return slice(t->node, start, s.dim, by);
}

static int push_part(lua_State *L, const Tensor *t, int axis, int64_t first, int64_t extent, int64_t step,
                     const char *doing)
{
    int to[MAXRANK];
    axes_kept(to);
    bool whole = extent == t->node->shape.dim[axis];
    const Mixed *mixed = whole ? t->mixed : mixed_along(L, t, axis, doing);
    if (!whole) to[axis] = -1;
    make_at(lua_place(L));
    push_tensor(L, part_of_concat(t, axis, first, extent, step), factor_moved(t->batch, to), factor_moved(t->time, to),
                mixed);
    return 1;
}

/* x:slice(axis, first, beyond, step): first … beyond - 1; negative ones count from the end. */
static int slice_call(lua_State *L)
{
    const Tensor *t = tensor_at(L, 1, "x:slice");
    int axis = axis_at(L, 2, t->node->shape.rank);
    int64_t n = t->node->shape.dim[axis];
    int64_t first = lua_isnoneornil(L, 3) ? 0 : integer_at(L, 3, "where a slice begins");
    int64_t beyond = lua_isnoneornil(L, 4) ? n : integer_at(L, 4, "where a slice ends");
    int64_t step = lua_isnoneornil(L, 5) ? 1 : integer_at(L, 5, "the step of a slice");
    int64_t from = first < 0 ? first + n : first, to = beyond < 0 ? beyond + n : beyond;
    if (from < 0 || to > n || from >= to || step < 1)
        user_error(L,
                   "x:slice(%d, %lld, %lld): axis %d of %s has elements 0 … %lld; a slice must lie within them, not be "
                   "empty, and have a step of 1 or more",
                   axis, (long long)first, (long long)beyond, axis, tensor_text(t), (long long)n - 1);
    return push_part(L, t, axis, from, 1 + (to - from - 1) / step, step, "x:slice");
}

static int select_call(lua_State *L)
{
    const Tensor *t = tensor_at(L, 1, "x:select");
    int axis = axis_at(L, 2, t->node->shape.rank), to[MAXRANK];
    int64_t n = t->node->shape.dim[axis], i = integer_at(L, 3, "the index of x:select"), at = i < 0 ? i + n : i;
    if (at < 0 || at >= n)
        user_error(L, "x:select(%d, %lld): axis %d of %s has elements 0 … %lld", axis, (long long)i, axis,
                   tensor_text(t), (long long)n - 1);
    push_part(L, t, axis, at, 1, 1, "x:select");
    const Tensor *p = is_tensor(L, -1);
    Shape s = axes_without(p->node->shape, axis, to);
    return push_moved(L, reshape(p->node, s), p, to);
}

/* a, b, c = x:chunk(3, -1): equal parts along an axis. */
static int chunk_call(lua_State *L)
{
    const Tensor *t = tensor_at(L, 1, "x:chunk");
    int64_t n = integer_at(L, 2, "the number of parts");
    int axis = axis_at(L, 3, t->node->shape.rank);
    int64_t extent = t->node->shape.dim[axis];
    if (n < 1 || n > 64 || extent % n != 0)
        user_error(L, "x:chunk(%lld, %d): %lld elements along axis %d of %s cannot be cut into %lld equal parts",
                   (long long)n, axis, (long long)extent, axis, tensor_text(t), (long long)n);
    luaL_checkstack(L, (int)n, NULL);
    for (int64_t i = 0; i < n; i++) push_part(L, t, axis, i * (extent / n), extent / n, 1, "x:chunk");
    return (int)n;
}

static int flip_call(lua_State *L)
{
    Tensor t = *tensor_at(L, 1, "x:flip");
    int axes[1] = {axis_at(L, 2, t.node->shape.rank)};
    t.mixed = mixed_along(L, &t, axes[0], "x:flip");
    make_at(lua_place(L));
    push_like(L, flip(t.node, 1, axes), &t);
    return 1;
}

/* x:pad(axis, before, after): zeros around. */
static int pad_call(lua_State *L)
{
    const Tensor *t = tensor_at(L, 1, "x:pad");
    if (lua_istable(L, 2) || lua_isnoneornil(L, 3))
        user_error(L, "x:pad takes an axis, and the zeros before and after along it; around an image [B, H, W, C]: "
                      "x:pad(1, n, n):pad(2, n, n)");
    int64_t before[MAXRANK] = {0}, after[MAXRANK] = {0};
    int axis = axis_at(L, 2, t->node->shape.rank), to[MAXRANK];
    before[axis] = integer_at(L, 3, "the zeros before");
    after[axis] = lua_isnoneornil(L, 4) ? 0 : integer_at(L, 4, "the zeros after");
    if (before[axis] < 0 || after[axis] < 0) user_error(L, "x:pad cannot remove elements; use x:slice");
    extent_sum(L, extent_sum(L, before[axis], t->node->shape.dim[axis], "x:pad"), after[axis], "x:pad");
    axes_kept(to);
    to[axis] = -1;
    const Mixed *mixed = mixed_along(L, t, axis, "x:pad");
    make_at(lua_place(L));
    push_tensor(L, pad(t->node, before, after), factor_moved(t->batch, to), factor_moved(t->time, to), mixed);
    return 1;
}

/* nn.concat({a, b}, axis) */
static int concat_call(lua_State *L)
{
    if (!lua_istable(L, 1)) user_error(L, "nn.concat takes a table of tensors and an axis: nn.concat({a, b}, -1)");
    check_list(L, 1, "nn.concat");
    int n = (int)lua_rawlen(L, 1), axis = 0;
    if (n == 0) user_error(L, "nn.concat: the table of tensors is empty");
    Node **parts = NEW_ARRAY(Node *, n);
    int64_t length = 0;
    Tensor first = {0};
    for (int i = 0; i < n; i++) {
        lua_geti(L, 1, i + 1);
        const Tensor *t = tensor_at(L, -1, "nn.concat");
        if (i == 0) first = *t, axis = axis_at(L, 2, t->node->shape.rank);
        Shape s = t->node->shape, f = first.node->shape;
        if (s.rank == f.rank) s.dim[axis] = f.dim[axis];
        if (!same_shape(s, f) || t->node->dtype != first.node->dtype)
            user_error(
                L, "nn.concat along axis %d: the other axes and the type must agree\n    1  %s %s\n    %d  %s %s", axis,
                dtype_name(first.node->dtype), tensor_text(&first), i + 1, dtype_name(t->node->dtype), tensor_text(t));
        if (first.time.axis < 0) first.time = t->time;
        if (first.batch.axis < 0) first.batch = t->batch;
        if (!first.mixed) first.mixed = t->mixed;
        parts[i] = t->node;
        length = extent_sum(L, length, t->node->shape.dim[axis], "nn.concat");
        lua_pop(L, 1);
    }
    int to[MAXRANK];
    axes_kept(to);
    if (n > 1) to[axis] = -1;
    const Mixed *mixed = n > 1 ? mixed_along(L, &first, axis, "nn.concat") : first.mixed;
    make_at(lua_place(L));
    push_tensor(L, concat(n, parts, axis), factor_moved(first.batch, to), factor_moved(first.time, to), mixed);
    return 1;
}

const Binding move_methods[] = {
    {"reshape", reshape_call, "extents: integer|integer[], ...: integer): lathe.Tensor",
     "the same elements in order, another shape; one extent may be -1"},
    {"permute", permute_call, "axes: integer|integer[], ...: integer): lathe.Tensor",
     "axes in another order: for each new axis the old one"},
    {"transpose", transpose_call, "a: integer, b: integer): lathe.Tensor", "two axes exchanged"},
    {"unsqueeze", unsqueeze_call, "axis: integer): lathe.Tensor", "a new axis of extent 1"},
    {"squeeze", squeeze_call, "axis: integer): lathe.Tensor", "without that axis of extent 1"},
    {"expand", expand_call, "extents: integer[]): lathe.Tensor", "axes of extent 1 repeated; -1 keeps an axis"},
    {"slice", slice_call, "axis: integer, first?: integer, beyond?: integer, step?: integer): lathe.Tensor",
     "elements first … beyond - 1 of an axis; negative ones count from the end"},
    {"select", select_call, "axis: integer, index: integer): lathe.Tensor", "one element of an axis, which goes away"},
    {"chunk", chunk_call, "n: integer, axis: integer): lathe.Tensor, ...", "n equal parts of an axis"},
    {"flip", flip_call, "axis: integer): lathe.Tensor", "an axis reversed"},
    {"pad", pad_call, "axis: integer, before: integer, after?: integer): lathe.Tensor", "zeros around"},
    {NULL, NULL, NULL, NULL}};

const Binding join_functions[] = {
    {"concat", concat_call, "parts: lathe.Tensor[], axis: integer): lathe.Tensor", "one after another along an axis"},
    {NULL, NULL, NULL, NULL}};
