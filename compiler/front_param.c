/* front_param.c: scopes and the names they give, parameters, decode states, random bits, positions. */
#include "front.h"

#include <string.h>

/* ------------------------------------------------------------------ scopes
 *
 * A scope is a part of the layer path.  Names that a layer chooses itself (no name given) are numbered inside their
 * scope.  A layer object belongs to the scope, and to the stack, in which it was made; when it is applied again, its
 * inside is entered with `again`: the same names then mean the same parameters. */

typedef struct Scope {
    const char *path, *export; /* "layer.attn", "layer.%d.attn" */
    VEC(const char *) used;    /* names taken inside */
    bool again;
    Loop **copies; /* what trace.copies was outside */
    int ncopies;
} Scope;

static VEC(Scope *) stack; /* entered scopes, outermost first; [0] is the top */
static VEC(Scope *) made;  /* of this trace */
static VEC(struct Known {
    Param *param;
    Node *node;
    int trace;
}) known;

static Scope *scope(void) { return stack.at[stack.n - 1]; }

static const char *joined(const char *a, const char *b) { return *a ? format("%s.%s", a, b) : b; }

void params_forget(void) { known.n = 0; }

void params_new_trace(void)
{
    stack.n = made.n = 0;
    Scope *top = NEW(Scope);
    top->path = top->export = "";
    push(&stack, top);
    trace.path = "";
}

static Scope *scope_of(const char *path, const char *export, bool again)
{
    for (int i = 0; i < made.n && !again; i++)
        if (same(made.at[i]->path, path)) return made.at[i];
    Scope *s = NEW(Scope);
    *s = (Scope){.path = path, .export = export, .again = again};
    if (!again) push(&made, s);
    return s;
}

static void enter(Scope *s, int ncopies)
{
    s->copies = copy_of(trace.copies.at, sizeof *trace.copies.at * (size_t)trace.copies.n);
    s->ncopies = trace.copies.n;
    if (ncopies < trace.copies.n) trace.copies.n = ncopies;
    push(&stack, s);
    trace.path = s->path;
}

static int leave_call(lua_State *L)
{
    (void)L;
    Scope *s = scope();
    must(stack.n > 1);
    stack.n--;
    trace.copies.n = 0;
    for (int i = 0; i < s->ncopies; i++) push(&trace.copies, s->copies[i]);
    trace.path = scope()->path;
    return 0;
}

static void check_name(lua_State *L, const char *name)
{
    size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
    if (n == 0 || name[n] || (name[0] >= '0' && name[0] <= '9'))
        user_error(L, "a name is made of letters, digits and _, and '%s' is not", name);
}

static bool taken(const Scope *s, const char *name)
{
    for (int i = 0; i < s->used.n; i++)
        if (same(s->used.at[i], name)) return true;
    return false;
}

/* The given name, or the kind's with a number where it is taken. */
static const char *choose(lua_State *L, const char *kind, const char *given)
{
    Scope *s = scope();
    const char *name = given ? given : kind;
    if (given) check_name(L, given);
    for (int i = 2; !given && taken(s, name); i++) name = format("%s_%d", kind, i);
    push(&s->used, copy_string(name));
    return s->used.at[s->used.n - 1];
}

/* core.enter(name): nn.scope */
static int enter_call(lua_State *L)
{
    if (!trace.graph) user_error(L, "nn.scope is for inside of forward");
    const char *name = copy_string(luaL_checkstring(L, 1));
    check_name(L, name);
    enter(scope_of(joined(scope()->path, name), joined(scope()->export, name), scope()->again), trace.copies.n);
    return 0;
}

/* core.enter_copies(kind, name): of a stack or map, whose loop is open */
static int enter_copies_call(lua_State *L)
{
    const char *name = choose(L, luaL_checkstring(L, 1), luaL_optstring(L, 2, NULL));
    enter(scope_of(joined(scope()->path, name), joined(scope()->export, format("%s.%%d", name)), scope()->again),
          trace.copies.n);
    return 0;
}

/* path, export, copies, again = core.module(kind, name): where a layer object belongs */
static int module_call(lua_State *L)
{
    const char *name = choose(L, luaL_checkstring(L, 1), luaL_optstring(L, 2, NULL));
    lua_pushstring(L, joined(scope()->path, name));
    lua_pushstring(L, joined(scope()->export, name));
    lua_pushinteger(L, trace.copies.n);
    return 3;
}

/* core.enter_module(path, export, copies, again) */
static int enter_module_call(lua_State *L)
{
    const char *path = copy_string(luaL_checkstring(L, 1)), *export = copy_string(luaL_checkstring(L, 2));
    int copies = (int)luaL_checkinteger(L, 3);
    if (copies > trace.copies.n)
        user_error(L, "layer '%s' was made inside an nn.stack and is applied outside of it", path);
    enter(scope_of(path, export, scope()->again || lua_toboolean(L, 4)), copies);
    return 0;
}

static int path_call(lua_State *L)
{
    lua_pushstring(L, trace.path);
    return 1;
}

static int trace_number_call(lua_State *L)
{
    lua_pushinteger(L, trace.number);
    return 1;
}

/* ------------------------------------------------------------------ parameters */

static struct Known *find(const char *name)
{
    for (int i = 0; i < known.n; i++)
        if (same(known.at[i].param->name, name)) return &known.at[i];
    return NULL;
}

static Lathe_init init_named(const char *name)
{
    static const char *const names[] = {"zeros", "ones", "constant", "normal", "uniform"};
    for (int i = 0; i < COUNT_OF(names); i++)
        if (same(names[i], name)) return (Lathe_init)i;
    die("init %s", name);
}

static int count_places(const char *template)
{
    int n = 0;
    for (const char *p = template; (p = strchr(p, '%')); p += 2) {
        if (p[1] != 'd') return -1;
        n++;
    }
    return n;
}

static Shape with_copies(lua_State *L, Shape own)
{
    Shape s = {.rank = own.rank + trace.copies.n};
    if (s.rank > MAXRANK) user_error(L, "a parameter has at most %d axes, those of nn.stack included", MAXRANK);
    for (int i = 0; i < trace.copies.n; i++) s.dim[i] = trace.copies.at[i]->trip;
    for (int i = 0; i < own.rank; i++) s.dim[trace.copies.n + i] = own.dim[i];
    check_size(L, s);
    return s;
}

static Param *new_param(lua_State *L, const char *name, Shape own, const char *export)
{
    Param *p = NEW(Param);
    *p = (Param){.name = name,
                 .export_name = export,
                 .loops = trace.copies.n,
                 .shape = with_copies(L, own),
                 .where = lua_place(L)};
    p->init = init_named(luaL_checkstring(L, 3));
    p->init_a = luaL_optnumber(L, 4, 0);
    p->init_b = luaL_optnumber(L, 5, 0);
    p->decay = lua_isnoneornil(L, 6) ? own.rank >= 2 : lua_toboolean(L, 6);
    if (count_places(export) != p->loops)
        user_error(L, "the export name '%s' needs one %%d for each nn.stack around the parameter, that is %d", export,
                   p->loops);
    return p;
}

static void check_again(lua_State *L, const struct Known *k, Shape own)
{
    if (k->trace == trace.number && !scope()->again)
        user_error(L,
                   "there are two parameters '%s': give one of the layers another name, or apply one layer object "
                   "twice to share it\n"
                   "  the first is made at %s:%d",
                   k->param->name, k->param->where.file, k->param->where.line);
    if (!same_shape(k->param->shape, with_copies(L, own)))
        user_error(L, "parameter '%s' has shape %s here; it was made with %s at %s:%d", k->param->name,
                   shape_text(with_copies(L, own)), shape_text(k->param->shape), k->param->where.file,
                   k->param->where.line);
}

/* core.param(name, shape, init, a, b, decay, export): export nil: from the path */
static int param_call(lua_State *L)
{
    if (!trace.graph) user_error(L, "parameters are made inside forward");
    const char *own = luaL_checkstring(L, 1);
    check_name(L, own);
    Shape shape = shape_at(L, 2);
    const char *name = copy_string(joined(scope()->path, own));
    const char *export = lua_isnoneornil(L, 7) ? joined(scope()->export, own) : luaL_checkstring(L, 7);
    struct Known *k = find(name);
    if (k) check_again(L, k, shape);
    else {
        Param *p = new_param(L, name, shape, copy_string(export));
        for (int i = 0; i < known.n; i++)
            if (same(known.at[i].param->export_name, p->export_name))
                user_error(L, "two parameters would be exported as '%s': this one and '%s'", p->export_name,
                           known.at[i].param->name);
        push(&known, ((struct Known){.param = p}));
        push(&trace.desc->params, p);
        k = &known.at[known.n - 1];
    }
    k->trace = trace.number;
    here = k->param->where;
    bool outer = recompute_now;
    recompute_now = false; /* leaves are there anyway */
    Node *n = k->node = parameter_node(k->param->name, F32, k->param->shape);
    for (int i = 0; i < trace.copies.n; i++) n = loop_x(trace.copies.at[i], n);
    recompute_now = outer;
    push_tensor(L, n, NOWHERE, NOWHERE, NULL);
    return 1;
}

/* ------------------------------------------------------------------ states of decode */

static int decoding_call(lua_State *L)
{
    lua_pushboolean(L, trace.decode);
    return 1;
}

static int training_call(lua_State *L)
{
    lua_pushboolean(L, trace.graph && trace.graph->training);
    return 1;
}

/* name, old = core.state(own name, shape, like): like gives the type; the batch axis is the first.  Inside nn.stack
 * each layer has its own: [layers, shape…] outside. */
static int state_call(lua_State *L)
{
    const char *own = luaL_checkstring(L, 1);
    Shape s = shape_at(L, 2);
    const Tensor *like = tensor_at(L, 3, "a state");
    if (trace.open.n != trace.copies.n)
        user_error(L, "decode keeps values from step to step, and cannot do so inside this nn.scan");
    const char *name = copy_string(joined(trace.path, own));
    for (int i = 0; i < trace.desc->states.n; i++)
        if (same(trace.desc->states.at[i].name, name)) name = format("%s_%d", name, trace.desc->states.n);
    Shape whole = with_copies(L, s);
    push(&trace.desc->states, ((Tensor_spec){name, like->node->dtype, whole, LATHE_STATE, lua_place(L)}));
    here = lua_place(L);
    Node *n = state_node(name, like->node->dtype, whole);
    for (int i = 0; i < trace.copies.n; i++) n = loop_x(trace.copies.at[i], n);
    lua_pushstring(L, name);
    push_tensor(L, n, NOWHERE, NOWHERE, NULL);
    return 2;
}

/* core.state_next(name, new): closing the loops around stacks it */
static int state_next_call(lua_State *L)
{
    const Tensor *t = tensor_at(L, 2, "a state");
    push(&trace.states, ((struct New_state){copy_string(luaL_checkstring(L, 1)), t->node, trace.open.n}));
    return 0;
}

/* ------------------------------------------------------------------ time */

static int time_aware_call(lua_State *L)
{
    trace.time_aware += lua_toboolean(L, 1) ? 1 : -1;
    return 0;
}

/* core.time_axis(x): the axis that is exactly time, or nil */
static int time_axis_call(lua_State *L)
{
    const Tensor *t = tensor_at(L, 1, "core.time_axis");
    if (t->time.axis < 0 || t->time.outer * t->time.inner != 1) return 0;
    lua_pushinteger(L, t->time.axis);
    return 1;
}

/* core.with_time(x, axis): the library knows that this axis is time; nil: that none is */
static int with_time_call(lua_State *L)
{
    const Tensor *t = tensor_at(L, 1, "core.with_time");
    Factor f = NOWHERE;
    if (!lua_isnoneornil(L, 2)) f.axis = axis_at(L, 2, t->node->shape.rank);
    push_tensor(L, t->node, t->batch, f, t->mixed);
    return 1;
}

/* core.mixing(x, why): x depends on other times in a way that decode cannot follow */
static int mixing_call(lua_State *L)
{
    const Tensor *t = tensor_at(L, 1, "core.mixing");
    push_tensor(L, t->node, t->batch, t->time, mixing(L, t->mixed, "%s", luaL_checkstring(L, 2)));
    return 1;
}

/* core.system("position"): a scalar the trainer feeds */
static Node *system_input(const char *name, Lathe_role role)
{
    bool have = false;
    for (int i = 0; i < trace.desc->inputs.n; i++) have |= same(trace.desc->inputs.at[i].name, name);
    if (!have) push(&trace.desc->inputs, ((Tensor_spec){name, I32, {0}, role, {0}}));
    return input_node(name, I32, (Shape){0});
}

static int position_call(lua_State *L)
{
    here = lua_place(L);
    push_tensor(L, system_input("position", LATHE_POSITION), NOWHERE, NOWHERE, NULL);
    return 1;
}

/* core.over_time(found): whether the axis at this place of the description is time.  Where extents are 1 (decode) an
 * axis may have been lost, so what the entry before found decides; the places come in the same order. */
static int over_time_call(lua_State *L)
{
    bool found = lua_toboolean(L, 1);
    int place = trace.time_places++;
    if (!trace.decode) {
        while (trace.over_time.n <= place) push(&trace.over_time, false);
        trace.over_time.at[place] = found;
    } else if (place < trace.over_time.n) found = trace.over_time.at[place];
    lua_pushboolean(L, found);
    return 1;
}

static int sequence_call(lua_State *L)
{
    lua_pushinteger(L, trace.desc->seq);
    return 1;
}

static int is_zero_call(lua_State *L)
{
    double v;
    lua_pushboolean(L, is_filled(tensor_at(L, 1, "core.is_zero")->node, &v) && v == 0);
    return 1;
}

static int shape_text_call(lua_State *L)
{
    lua_pushstring(L, tensor_text(tensor_at(L, 1, "core.shape_text")));
    return 1;
}

/* ------------------------------------------------------------------ random bits */

static Node *number(double v, Shape s) { return filled(v, I32, s); }
static Node *times(Node *a, int64_t k) { return k == 1 ? a : map2(OP_mul, a, number((double)k, a->shape)); }
static Node *plus(Node *a, Node *b) { return a ? map2(OP_add, a, b) : b; }

/* Position inside the sample (all axes without the batch factor), counted through the iterations of the open loops. */
static Node *draw_index(lua_State *L, const Tensor *t)
{
    Shape s = t->node->shape;
    Node *index = NULL;
    int64_t stride = 1, iterations = 1;
    for (int i = s.rank - 1; i >= 0; i--) {
        Node *at = iota(s, i);
        int64_t extent = s.dim[i];
        if (i == t->batch.axis) { /* i = (o · batch + b) · inner + j  ->  o · inner + j */
            int64_t inner = t->batch.inner, outer = t->batch.outer, whole = extent / outer;
            Node *j = inner > 1 ? map2(OP_mod, at, number((double)inner, s)) : NULL;
            Node *o = outer > 1 ? times(map2(OP_idiv, at, number((double)whole, s)), inner) : NULL;
            at = o && j ? plus(o, j) : o ? o : j;
            extent = inner * outer;
        }
        if (at && extent > 1) index = plus(index, times(at, stride));
        stride *= extent;
    }
    for (int i = trace.open.n - 1; i >= 0; i--) {
        index = plus(index, times(broadcast(trace.open.at[i]->index, s), stride * iterations));
        iterations *= trace.open.at[i]->trip;
    }
    if (stride * iterations > (int64_t)1 << 31)
        user_error(L, "too many random numbers for one sample: %lld", (long long)(stride * iterations));
    return index ? index : number(0, s);
}

/* The sample's row in the whole batch, all micro-batches counted. */
static Node *draw_row(const Tensor *t)
{
    Shape s = t->node->shape;
    if (t->batch.axis < 0) return number(0, s);
    Node *row = iota(s, t->batch.axis);
    if (t->batch.inner > 1) row = map2(OP_idiv, row, number((double)t->batch.inner, s));
    if (t->batch.outer > 1) row = map2(OP_mod, row, number((double)trace.batch, s));
    if (trace.graph->micro) row = plus(row, times(broadcast(trace.graph->micro->index, s), trace.batch));
    return row;
}

/* core.random_bits(like): i32, other bits for each element, step and call */
static int random_bits_call(lua_State *L)
{
    const Tensor *t = tensor_at(L, 1, "random bits");
    Shape s = t->node->shape;
    here = lua_place(L);
    Node *seed = broadcast(system_input("seed", LATHE_SEED), s), *step = broadcast(system_input("step", LATHE_STEP), s);
    Node *site = number(trace.site++, s), *row = draw_row(t), *index = draw_index(L, t);
    push_tensor(L, philox(seed, step, site, row, index), t->batch, t->time, NULL);
    return 1;
}

/* Sites are counted in every entry, so that train and eval agree on them. */
static int skip_site_call(lua_State *L)
{
    (void)L;
    trace.site++;
    return 0;
}

static int checkpoint_call(lua_State *L)
{
    bool outer = recompute_now;
    recompute_now = true;
    lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
    recompute_now = outer;
    return lua_gettop(L);
}

/* ------------------------------------------------------------------ for options.lua */

static int fail_call(lua_State *L) { user_error(L, "%s", luaL_checkstring(L, 1)); }

/* core.advice(word, {known…}) */
static int advice_call(lua_State *L)
{
    luaL_checktype(L, 2, LUA_TTABLE);
    VEC(const char *) words = {0};
    for (int i = 1, n = (int)lua_rawlen(L, 2); i <= n; i++) {
        lua_geti(L, 2, i);
        push(&words, copy_string(lua_tostring(L, -1)));
        lua_pop(L, 1);
    }
    lua_pushstring(L, advice(luaL_checkstring(L, 1), words.at, words.n));
    return 1;
}

static int text_call(lua_State *L)
{
    lua_pushstring(L, lua_text(L, 1));
    return 1;
}

static int wrap_call(lua_State *L)
{
    const char *name = luaL_checkstring(L, 2);
    lua_pushvalue(L, 1);
    wrap_function(L, name);
    return 1;
}

const luaL_Reg param_functions[] = {{"enter", enter_call},
                                    {"leave", leave_call},
                                    {"enter_copies", enter_copies_call},
                                    {"module", module_call},
                                    {"enter_module", enter_module_call},
                                    {"path", path_call},
                                    {"trace_number", trace_number_call},
                                    {"param", param_call},
                                    {"decoding", decoding_call},
                                    {"training", training_call},
                                    {"state", state_call},
                                    {"state_next", state_next_call},
                                    {"time_aware", time_aware_call},
                                    {"time_axis", time_axis_call},
                                    {"with_time", with_time_call},
                                    {"mixing", mixing_call},
                                    {"position", position_call},
                                    {"random_bits", random_bits_call},
                                    {"skip_site", skip_site_call},
                                    {"checkpoint", checkpoint_call},
                                    {"fail", fail_call},
                                    {"advice", advice_call},
                                    {"text", text_call},
                                    {"wrap", wrap_call},
                                    {"over_time", over_time_call},
                                    {"sequence", sequence_call},
                                    {"is_zero", is_zero_call},
                                    {"shape_text", shape_text_call},
                                    {NULL, NULL}};
