/* direction.c: the entry direction: what an optimizer written in Lua (optim.own, optim.muon, …) subtracts from the
 * parameters that it names, in the place of their gradients.
 *
 * Its function is traced once for each parameter, in loops over the copies of its stacks, so that each copy is updated
 * for itself.  What it keeps from step to step are states of this entry.  The trainer then takes
 * w = w - lr (decay w + direction): groups, frozen copies and the rounding of weights are as for any optimizer. */
#include "desc/target.h"
#include "front/front.h"

#include <string.h>

enum { ARGUMENTS = 3 };

/* ------------------------------------------------------------------ from train */

static double own_number(lua_State *L, const char *key)
{
    lua_getfield(L, -1, key);
    double x = lua_tonumber(L, -1);
    lua_pop(L, 1);
    return x;
}

static const char *text_of_field(lua_State *L, const char *key)
{
    lua_getfield(L, -1, key);
    const char *text = copy_string(luaL_checkstring(L, -1));
    lua_pop(L, 1);
    return text;
}

static Texts patterns_of(lua_State *L)
{
    Texts all = {0};
    lua_getfield(L, -1, "match");
    int n = lua_istable(L, -1) ? (int)lua_rawlen(L, -1) : 0;
    for (int i = 1; i <= n; i++) {
        lua_rawgeti(L, -1, i);
        push(&all, copy_string(luaL_checkstring(L, -1)));
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
    return all;
}

void read_direction(lua_State *L)
{
    Direction *d = NULL;
    if (lua_getfield(L, -1, "own") != LUA_TNIL) {
        d = NEW(Direction);
        *d = (Direction){.name = text_of_field(L, "name"),
                         .match = patterns_of(L),
                         .decay = own_number(L, "decay"),
                         .others = own_number(L, "others")};
        lua_getfield(L, -1, "decays");
        d->decays = lua_toboolean(L, -1);
        lua_pop(L, 1);
        lua_getfield(L, -1, "update");
        d->function = luaL_ref(L, LUA_REGISTRYINDEX);
    }
    trace_of(L)->desc->direction = d;
    lua_pop(L, 1);
}

/* Of the turn, if there are turns. */
static Where place_of_optimizer(const Trace *trace, const Train_turn *turn)
{
    return turn ? place_of_turn(trace, turn) : place_of_key(trace, NULL, "optimizer");
}

static const Train_turn *turn_of_param(const Desc *d, const Param *p)
{
    const int turn = turn_of(d, p->name);
    return turn < 0 ? NULL : &d->turns.at[turn];
}

/* ------------------------------------------------------------------ which parameters */

static int64_t copies_named(const Trace *trace, const Direction *d, const Param *p)
{
    const Texts *match = &d->match;
    int64_t most = 0;
    for (int i = 0; i < match->n; i++) {
        int64_t n = matching_copies(match->at[i], p);
        if (n > 0 && n < copies_of_param(p))
            err(place_of_optimizer(trace, turn_of_param(trace->desc, p)),
                "%s: '%s' names some of the layers of %s; all copies in a stack have one optimizer", d->name,
                match->at[i], p->export_name);
        most = max64(most, n);
    }
    return most;
}

bool directs(const Trace *trace, const Param *p)
{
    const Direction *d = direction_of(trace->desc, p->name);
    if (!d || p->frozen || p->statistic) return false;
    if (d->match.n) return copies_named(trace, d, p) > 0;
    return p->loops > 0 && p->shape.rank - p->loops == 2;
}

static bool updates(const Desc *d, const Direction *own, const Param *p)
{
    return p->directed && direction_of(d, p->name) == own;
}

static void check_patterns(const Trace *trace, const Direction *own)
{
    const Desc *d = trace->desc;
    const Where w = place_of_optimizer(trace, trace->turn);
    bool any = false;
    for (int i = 0; i < d->params.n; i++) any |= updates(d, own, d->params.at[i]);
    for (int k = 0; k < own->match.n; k++) {
        bool found = false;
        for (int i = 0; i < d->params.n; i++)
            found |= updates(d, own, d->params.at[i]) && matching_copies(own->match.at[k], d->params.at[i]);
        if (!found)
            err(w, "%s: no trained parameter%s has a name like '%s'; the names are %s", own->name,
                trace->turn ? " of the turn" : "", own->match.at[k], names_of_parameters(d));
    }
    if (!any)
        err(w,
            "%s: it takes the matrices inside nn.stack, and there are none; name its parameters: match = { "
            "\"*.weight\" }; the names are %s",
            own->name, names_of_parameters(d));
}

/* What the function has computed no group can change. */
static void check_groups_of_direction(const Trace *trace, const Direction *own)
{
    const Desc *d = trace->desc;
    for (int g = 0; own->decays && g < d->groups.n; g++)
        for (int i = 0; i < d->params.n; i++)
            if (d->groups.at[g].decays >= 0 && updates(d, own, d->params.at[i]) &&
                matching_copies(d->groups.at[g].match, d->params.at[i]))
                err(place_of_quoted(trace, "groups", d->groups.at[g].match),
                    "%s has its weight decay in its update, which a group cannot change; leave decay out of the group "
                    "of '%s'",
                    own->name, d->groups.at[g].match);
}

/* ------------------------------------------------------------------ the entry */

static Node *scalar_input(Desc *d, const char *name, Lathe_role role)
{
    bool have = false;
    for (int i = 0; i < d->inputs.n; i++) have |= d->inputs.at[i].role == role;
    if (!have) push(&d->inputs, ((Tensor_spec){.name = name, .dtype = F32, .role = role}));
    return input_node(name, F32, (Shape){0});
}

/* The gradient of this copy, as clipping by norm leaves it. */
static Node *clipped_gradient(Desc *d, Node *g)
{
    return map2(OP_mul, g, broadcast(scalar_input(d, "gradient_scale", LATHE_GRADIENT_SCALE), g->shape));
}

static void open_copies(Trace *trace, const Param *p)
{
    for (int k = 0; k < p->loops; k++) {
        Loop *l = loop_open("layer", p->shape.dim[k], false);
        l->axis = p->shape.axis[k];
        push(&trace->open, l);
        push(&trace->copies, l);
    }
}

static Node *of_this_copy(const Trace *trace, Node *n)
{
    for (int i = 0; i < trace->copies.n; i++) n = loop_x(trace->copies.at[i], n);
    return n;
}

/* With a copy's axis for each loop that is closed. */
static Node *close_copies(Trace *trace, Node *n)
{
    while (trace->open.n) {
        Loop *l = trace->open.at[trace->open.n - 1];
        if (n->in_loop == l) loop_yield(l, n);
        close_loop(trace, l);
        n = stack_over(l, n);
    }
    return n;
}

static void push_here(lua_State *L, Node *n) { push_tensor(L, n, NOWHERE, NOWHERE, NULL); }

static int moment_call(lua_State *L);
static int keep_call(lua_State *L);

/* s of the function: name, out, decays, lr, update, state, keep */
static void push_surroundings(lua_State *L, const Param *p)
{
    Desc *d = trace_of(L)->desc;
    lua_newtable(L);
    lua_pushstring(L, p->name);
    lua_setfield(L, -2, "name");
    lua_pushinteger(L, p->out_axis);
    lua_setfield(L, -2, "out");
    lua_pushboolean(L, p->decay);
    lua_setfield(L, -2, "decays");
    push_here(L, scalar_input(d, "learning_rate", LATHE_LEARNING_RATE));
    lua_setfield(L, -2, "lr");
    push_here(L, scalar_input(d, "update", LATHE_UPDATE));
    lua_setfield(L, -2, "update");
    lua_pushcfunction(L, moment_call);
    lua_setfield(L, -2, "state");
    lua_pushcfunction(L, keep_call);
    lua_setfield(L, -2, "keep");
}

static Node *direction_returned(lua_State *L, const Param *p)
{
    const Tensor *t = is_tensor(L, -1);
    Shape own = p->shape;
    own.rank -= p->loops;
    memmove(own.dim, own.dim + p->loops, sizeof *own.dim * (size_t)own.rank);
    if (!t || !is_real(t->node->dtype) || !same_shape(t->node->shape, own))
        err(place_of_optimizer(trace_of(L), trace_of(L)->turn),
            "%s: the function must return reals shaped like the gradient of %s, %s; found %s",
            direction_of(trace_of(L)->desc, p->name)->name, p->name, shape_text(own),
            t ? format("%s %s", dtype_name(t->node->dtype), tensor_text(t)) : lua_text(L, -1));
    Node *n = t->node;
    lua_pop(L, 1);
    return n;
}

static void trace_direction_of(lua_State *L, const Param *p)
{
    Trace *trace = trace_of(L);
    make_at(p->where);
    trace->directed = p;
    open_copies(trace, p);
    Node *g = clipped_gradient(trace->desc, of_this_copy(trace, gradient_node(p->name, F32, p->shape)));
    lua_rawgeti(L, LUA_REGISTRYINDEX, direction_of(trace->desc, p->name)->function);
    push_here(L, g);
    push_here(L, of_this_copy(trace, parameter_node(p->name, F32, p->shape)));
    push_surroundings(L, p);
    call_lua(L, ARGUMENTS, 1);
    Node *n = close_copies(trace, direction_returned(L, p));
    push(&trace->graph->outs, ((Output){OUT_GRAD, p->name, n}));
    trace->directed = NULL;
}

/* An entry: that of the turn, if there are turns. */
static void trace_updates(lua_State *L, const Direction *own)
{
    Trace *trace = trace_of(L);
    Desc *d = trace->desc;
    check_patterns(trace, own);
    check_groups_of_direction(trace, own);
    Graph *g = begin_entry(trace, ENTRY_direction);
    for (int i = 0; i < d->params.n; i++)
        if (updates(d, own, d->params.at[i])) trace_direction_of(L, d->params.at[i]);
    for (int i = 0; i < trace->states.n; i++)
        push(&g->outs, ((Output){OUT_STATE, trace->states.at[i].name, trace->states.at[i].node}));
    trace->graph = NULL;
    note_leaves(NULL);
    push(&d->graphs, g);
}

void trace_direction(lua_State *L)
{
    Trace *trace = trace_of(L);
    const Desc *d = trace->desc;
    if (only_answers(d->options)) return;
    for (int k = 0; go_to_turn(trace, k); k++) {
        const Direction *own = trace->turn ? trace->turn->direction : d->direction;
        if (own) trace_updates(L, own);
    }
    trace->turn = NULL;
}

/* ------------------------------------------------------------------ for its function */

static const char *own_state_name(lua_State *L)
{
    const Param *p = trace_of(L)->directed;
    if (!p) user_error(L, "an optimizer's state belongs to its function, and is there only while that runs");
    check_name(L, luaL_checkstring(L, 1));
    return copy_string(format("direction.%s.%s", p->name, lua_tostring(L, 1)));
}

/* x = s.state(name, shape or tensor of that shape): zeros at first, then what s.keep(name, …) was given in the step
 * before */
static int moment_call(lua_State *L)
{
    Trace *trace = trace_of(L);
    const char *name = own_state_name(L);
    Shape s = is_tensor(L, 2) ? is_tensor(L, 2)->node->shape : shape_at(L, 2);
    if (!same(new_state_name(trace->desc, name), name))
        user_error(L, "there are two states '%s' of %s", lua_tostring(L, 1), trace->directed->name);
    Shape whole = with_copies(L, s);
    push(&trace->desc->states, ((Tensor_spec){name, F32, whole, LATHE_MOMENT, lua_place(L), .rows_axis = -1}));
    push_here(L, of_this_copy(trace, state_node(name, F32, whole)));
    return 1;
}

static const Tensor_spec *moment_named(lua_State *L, const char *name)
{
    const Desc *d = trace_of(L)->desc;
    for (int i = 0; i < d->states.n; i++)
        if (same(d->states.at[i].name, name)) return &d->states.at[i];
    const char *own = lua_tostring(L, 1);
    user_error(L, "keep: there is no state '%s'; make it first: s.state(\"%s\", shape)", own, own);
}

/* A GPU runs the entry in steps that do not update, too, and says so by update 0: what is kept then stays as it was. */
static Node *where_updated(const Trace *trace, Node *new, const char *name, Shape whole)
{
    if (!trace->desc->options->target->device) return new;
    Node *update = scalar_input(trace->desc, "update", LATHE_UPDATE);
    Node *taken = map2(OP_lt, scalar(0, F32), update);
    return where_op(broadcast(taken, new->shape), new, of_this_copy(trace, state_node(name, F32, whole)));
}

/* s.keep(name, x) */
static int keep_call(lua_State *L)
{
    Trace *trace = trace_of(L);
    const char *name = own_state_name(L);
    const Tensor *t = tensor_at(L, 2, "an optimizer's state");
    const Tensor_spec *spec = moment_named(L, name);
    if (!same_shape(with_copies(L, t->node->shape), spec->shape) || t->node->dtype != F32)
        user_error(L, "keep: the state '%s' is f32 %s%s, found %s %s", lua_tostring(L, 1), shape_text(spec->shape),
                   trace->copies.n ? " with its layers" : "", dtype_name(t->node->dtype), tensor_text(t));
    for (int i = 0; i < trace->states.n; i++)
        if (same(trace->states.at[i].name, name))
            user_error(L, "keep: the state '%s' is kept twice", lua_tostring(L, 1));
    push(&trace->states, ((struct New_state){name, where_updated(trace, t->node, name, spec->shape), trace->open.n}));
    return 0;
}

/* core.out_axis(own name of a weight in this scope, its axis of outputs): 0 where nobody says */
static int out_axis_call(lua_State *L)
{
    Trace *trace = trace_of(L);
    Param *p = find_param(trace->desc, path_of(trace, luaL_checkstring(L, 1)));
    if (p) p->out_axis = (int)luaL_checkinteger(L, 2);
    return 0;
}

const luaL_Reg direction_functions[] = {{"out_axis", out_axis_call}, {NULL, NULL}};
