/* head.c: nn.linear_cross_entropy, whose arguments nn.lua has checked, and class ids. */
#include "desc/range.h"
#include "front/front.h"
#include "ops/head.h"

/* Those of a teacher's head: the lesson (front/distill.c) at this index, if there is one. */
static Soft_targets soft_targets_at(lua_State *L, int lesson, int64_t rows, const char *what)
{
    Soft_targets s = {0};
    if (lua_isnoneornil(L, lesson)) return s;
    static const char *const parts[] = {"x", "weight", "bias", "across", "alpha", "temperature"};
    int first = lua_gettop(L) + 1;
    for (int i = 0; i < COUNT_OF(parts); i++) lua_getfield(L, lesson, parts[i]);
    Node *x = tensor_at(L, first, what)->node;
    s.x = reshape(x, shape_of(2, (int64_t[]){rows, x->shape.dim[x->shape.rank - 1]}));
    s.weight = tensor_at(L, first + 1, what)->node;
    if (!lua_isnil(L, first + 2)) s.bias = tensor_at(L, first + 2, what)->node;
    s.across = (int)luaL_checkinteger(L, first + 3);
    s.share = luaL_checknumber(L, first + 4);
    s.temperature = luaL_checknumber(L, first + 5);
    lua_settop(L, first - 1);
    return s;
}

/* losses, predicted ids = core.linear_cross_entropy(x, ids, weight, across, smoothing, bias or nil, ignored or nil,
 * lesson or nil): both shaped like ids. */
static int linear_cross_entropy_call(lua_State *L)
{
    static const char what[] = "nn.linear_cross_entropy";
    const Tensor *x = tensor_at(L, 1, what), *ids = tensor_at(L, 2, what);
    int64_t rows = elements(ids->node->shape), width = x->node->shape.dim[x->node->shape.rank - 1];
    make_at(lua_place(L));
    Head h = {.ids = reshape(ids->node, shape_of(1, &rows)), .weight = tensor_at(L, 3, what)->node};
    h.x = reshape(x->node, shape_of(2, (int64_t[]){rows, width}));
    h.across = (int)luaL_checkinteger(L, 4);
    h.smoothing = luaL_checknumber(L, 5);
    if (!lua_isnoneornil(L, 6)) h.bias = tensor_at(L, 6, what)->node;
    h.ignores = !lua_isnoneornil(L, 7);
    if (h.ignores) h.ignored = luaL_checkinteger(L, 7);
    h.soft = soft_targets_at(L, 8, rows, what);
    Node *n = linear_cross_entropy(&h);
    const Mixed *mixed = x->mixed ? x->mixed : ids->mixed;
    for (int k = 0; k < 2; k++) push_tensor(L, reshape(pick(n, k, 0), ids->node->shape), ids->batch, ids->time, mixed);
    return 2;
}

/* ------------------------------------------------------------------ ids that choose a class */

static const Node *input_behind(const Node *n)
{
    while (true) {
        if (n->op == OP_loop_arg && n->ints[0] == ARG_X) n = n->loop->xs.at[n->ints[1]].outer;
        else if (is_view(n)) n = n->in[0];
        else return n->op == OP_input ? n : NULL;
    }
}

bool are_targets(const Node *n)
{
    n = input_behind(n);
    return n && same(n->name, "targets");
}

/* Labels of words, which data.sentences gives: positions without one have NO_LABEL. */
static bool are_labels_of_words(const Desc *d, const Node *n)
{
    n = input_behind(n);
    return n && is_label_of_words(d, n->name);
}

static const char *uncounted_text(int64_t id) { return id ? format("ignore = %lld", (long long)id) : "no ignore"; }

/* All losses and metrics must agree on the one target id that is not a class and does not count. */
static void note_ignored(lua_State *L, const Node *ids, const int64_t *ignored, int64_t classes, const char *name)
{
    Trace *trace = trace_of(L);
    Lathe_recipe *r = &trace->desc->recipe;
    struct Uncounted *u = &trace->uncounted;
    int64_t id = ignored && (*ignored < 0 || *ignored >= classes) ? *ignored : 0;
    bool labels = are_labels_of_words(trace->desc, ids);
    if (labels && id != NO_LABEL)
        user_error(L, "%s: the labels of data.sentences are %d where there is none; add ignore = %d", name, NO_LABEL,
                   NO_LABEL);
    if (!labels && !are_targets(ids)) return;
    if (lathe_ignores(r) && (!ignored || *ignored != -1))
        user_error(L, "%s: ignore is %lld, but this data marks targets that do not count with -1; remove ignore", name,
                   (long long)(ignored ? *ignored : 0));
    if (u->said && u->id != id)
        user_error(L, "%s: %s:%d reads the targets with %s, and this call with %s; use the same ignore everywhere",
                   name, u->where.file, u->where.line, uncounted_text(u->id), uncounted_text(id));
    *u = (struct Uncounted){true, id, lua_place(L)};
    if (!lathe_ignores(r)) r->ignored = id;
}

static void check_known(lua_State *L, const Node *ids, int64_t classes, const int64_t *ignored, const char *name)
{
    Value v;
    if (!known_values((Node *)ids, &v)) return;
    for (int64_t i = 0; i < elements(v.shape); i++)
        if ((v.at[i] < 0 || v.at[i] >= (double)classes) && !(ignored && v.at[i] == (double)*ignored))
            user_error(L, "%s: there are %lld classes, so ids must be 0 to %lld, found %.0f", name, (long long)classes,
                       (long long)classes - 1, v.at[i]);
}

/* core.class_ids(ids, classes, ignored or nil, name): the ids, checked at run time (emit/ids.c) unless they are proven
 * to be in range. */
static int class_ids_call(lua_State *L)
{
    const Tensor *ids = tensor_at(L, 1, "class ids");
    int64_t classes = luaL_checkinteger(L, 2), ignored = luaL_optinteger(L, 3, 0);
    const int64_t *given = lua_isnoneornil(L, 3) ? NULL : &ignored;
    const char *name = luaL_checkstring(L, 4);
    if (ignored < INT32_MIN || ignored > INT32_MAX)
        user_error(L, "%s: ignore must fit in 32 bits, found %lld", name, (long long)ignored);
    note_ignored(L, ids->node, given, classes, name);
    check_known(L, ids->node, classes, given, name);
    make_at(lua_place(L));
    bool sure = classes_below(ids->node, classes, ignored, trace_of(L)->desc);
    push_like(L, sure ? ids->node : class_id(ids->node, classes, ignored), ids);
    return 1;
}

const luaL_Reg head_functions[] = {
    {"linear_cross_entropy", linear_cross_entropy_call}, {"class_ids", class_ids_call}, {NULL, NULL}};
