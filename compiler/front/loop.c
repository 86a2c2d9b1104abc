/* loop.c: opens and closes the loops of nn.stack, nn.map and nn.scan. */
#include "front/front.h"

bool loop_is_open(const Trace *trace, const Loop *l)
{
    if (trace->graph && l == trace->graph->micro) return true;
    for (int i = 0; i < trace->open.n; i++)
        if (trace->open.at[i] == l) return true;
    return false;
}

static Loop *loop_at(lua_State *L, int arg)
{
    Loop *l = lua_touserdata(L, arg);
    must(l && loop_is_open(trace_of(L), l));
    return l;
}

/* l = core.loop(name, trip, reverse, copies); copies: parameters made inside become [trip, …] */
static int open_call(lua_State *L)
{
    Trace *trace = trace_of(L);
    const char *name = luaL_checkstring(L, 1);
    if (!trace->graph) user_error(L, "loops can only be made inside forward");
    int64_t trip = integer_at(L, 2, "the number of iterations");
    if (trip < 1 || trip > INT32_MAX)
        user_error(L, "the number of iterations must be 1 or more%s, found %lld", trip < 1 ? "" : ", up to 2147483647",
                   (long long)trip);
    make_at(lua_place(L));
    Loop *l = loop_open(copy_string(name), trip, lua_toboolean(L, 3));
    Shape iterations = {1, {trip}, {0}};
    name_axes(trace, &iterations, AXES_OF_LOOP);
    l->axis = iterations.axis[0];
    push(&trace->open, l);
    if (lua_toboolean(L, 4)) push(&trace->copies, l);
    lua_pushlightuserdata(L, l);
    return 1;
}

static int index_call(lua_State *L)
{
    push_tensor(L, loop_at(L, 1)->index, NOWHERE, NOWHERE, NULL);
    return 1;
}

static int carry_call(lua_State *L)
{
    Loop *l = loop_at(L, 1);
    const Tensor *t = tensor_at(L, 2, "a carried value");
    make_at(lua_place(L));
    push_like(L, loop_carry(l, t->node), t);
    return 1;
}

static Factor inside_call(Factor f)
{
    if (f.axis == 0) return NOWHERE;
    if (f.axis > 0) f.axis--;
    return f;
}

static Factor stacked(Factor f)
{
    if (f.axis >= 0) f.axis++;
    return f;
}

/* x = core.loop_x(l, stacked): this iteration's slice along axis 0 */
static int x_call(lua_State *L)
{
    Loop *l = loop_at(L, 1);
    const Tensor *t = tensor_at(L, 2, "a stacked value");
    make_at(lua_place(L));
    push_tensor(L, loop_x(l, t->node), inside_call(t->batch), inside_call(t->time), t->mixed);
    return 1;
}

/* core.next(l, k, value, doing): sets the next value of carry k */
static int next_call(lua_State *L)
{
    Loop *l = loop_at(L, 1);
    int k = (int)luaL_checkinteger(L, 2);
    const char *doing = luaL_checkstring(L, 4);
    if (!is_tensor(L, 3))
        user_error(L, "%s: the function must return the carried value, found %s", doing, lua_text(L, 3));
    const Tensor *t = tensor_at(L, 3, doing);
    const Node *arg = l->carries.at[k].arg;
    if (!same_shape(arg->shape, t->node->shape) || arg->dtype != t->node->dtype)
        user_error(L, "%s: the carried value must keep its shape and type\n    begins as  %s %s\n    returned   %s %s",
                   doing, dtype_name(arg->dtype), shape_words(t, arg->shape), dtype_name(t->node->dtype),
                   tensor_text(t));
    loop_next(l, k, t->node);
    return 0;
}

/* core.keep(l, value): announces core.stacked(l, value) before the loop is closed, since closing decides from all
 * values of a loop which loop it belongs to. */
static int keep_call(lua_State *L)
{
    Loop *l = loop_at(L, 1);
    const Tensor *t = tensor_at(L, 2, "a stacked value");
    if (t->node->in_loop == l) loop_yield(l, t->node);
    return 0;
}

void close_loop(Trace *trace, Loop *l)
{
    must(trace->open.at[trace->open.n - 1] == l);
    for (int i = 0; i < trace->states.n; i++)
        if (trace->states.at[i].depth == trace->open.n) loop_yield(l, trace->states.at[i].node);
    loop_close(l);
    for (int i = 0; i < trace->states.n; i++) {
        struct New_state *s = &trace->states.at[i];
        if (s->depth != trace->open.n) continue;
        s->node = loop_stack(l, s->node);
        s->depth--;
    }
    trace->open.n--;
    if (trace->copies.n && trace->copies.at[trace->copies.n - 1] == l) trace->copies.n--;
}

static int close_call(lua_State *L)
{
    make_at(lua_place(L));
    close_loop(trace_of(L), loop_at(L, 1));
    return 0;
}

/* y = core.result(l, k, like): last value of carry k; like: the tensor given to core.next */
static int result_call(lua_State *L)
{
    const Tensor *like = is_tensor(L, 3);
    make_at(lua_place(L));
    push_like(L, loop_result(lua_touserdata(L, 1), (int)luaL_checkinteger(L, 2)), like);
    return 1;
}

Node *stack_over(Loop *l, Node *n)
{
    if (n->in_loop == l) return loop_stack(l, n);
    Shape s = {1, {l->trip}, {(uint16_t)l->axis}};
    for (int i = 0; i < n->shape.rank; i++) s = with_axis(s, n->shape, i);
    return broadcast(n, s);
}

/* ys = core.stacked(l, value): [trip, …] of a kept value, after closing */
static int stacked_call(lua_State *L)
{
    Loop *l = lua_touserdata(L, 1);
    const Tensor *t = is_tensor(L, 2);
    make_at(lua_place(L));
    if (t->node->shape.rank == MAXRANK) user_error(L, "a stacked result would have more than %d axes", MAXRANK);
    push_tensor(L, stack_over(l, t->node), stacked(t->batch), stacked(t->time), t->mixed);
    return 1;
}

const luaL_Reg loop_functions[] = {
    {"loop", open_call}, {"index", index_call}, {"carry", carry_call},   {"loop_x", x_call},        {"next", next_call},
    {"keep", keep_call}, {"close", close_call}, {"result", result_call}, {"stacked", stacked_call}, {NULL, NULL}};
