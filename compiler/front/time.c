/* time.c: what depends on the entry: the time axis, positions, training, random bits. */
#include "front/front.h"

static int decoding_call(lua_State *L)
{
    lua_pushboolean(L, trace_of(L)->decode);
    return 1;
}

static int training_call(lua_State *L)
{
    const Trace *trace = trace_of(L);
    lua_pushboolean(L, trace->graph && trace->graph->training && !is_teacher(trace));
    return 1;
}

/* core.differentiates(): whether gradients are taken of what forward returns here: in train and grad */
static int differentiates_call(lua_State *L)
{
    const Trace *trace = trace_of(L);
    lua_pushboolean(L, trace->graph && entry_of(trace->graph)->gradients && !is_teacher(trace));
    return 1;
}

static int time_aware_call(lua_State *L)
{
    trace_of(L)->time_aware += lua_toboolean(L, 1) ? 1 : -1;
    return 0;
}

/* core.time_axis(x): the axis that is time alone, or nil */
static int time_axis_call(lua_State *L)
{
    const Tensor *t = tensor_at(L, 1, "core.time_axis");
    if (t->time.axis < 0 || t->time.outer * t->time.inner != 1) return 0;
    lua_pushinteger(L, t->time.axis);
    return 1;
}

/* core.holds_time(x, axis): whether the axis is time or has time as a factor */
static int holds_time_call(lua_State *L)
{
    const Tensor *t = tensor_at(L, 1, "core.holds_time");
    lua_pushboolean(L, t->time.axis == axis_at(L, 2, t->node->shape.rank));
    return 1;
}

/* core.with_time(x, axis): declares that this axis is time; nil: that none is */
static int with_time_call(lua_State *L)
{
    const Tensor *t = tensor_at(L, 1, "core.with_time");
    Factor f = NOWHERE;
    if (!lua_isnoneornil(L, 2)) f.axis = axis_at(L, 2, t->node->shape.rank);
    push_tensor(L, t->node, t->batch, f, t->mixed);
    return 1;
}

/* core.mixing(x, why): declares that x depends on other times in a way that decode cannot compute */
static int mixing_call(lua_State *L)
{
    const Tensor *t = tensor_at(L, 1, "core.mixing");
    push_tensor(L, t->node, t->batch, t->time, mixing(L, t->mixed, "%s", luaL_checkstring(L, 2)));
    return 1;
}

/* An input that the trainer sets. */
static Node *trainers_input(Trace *trace, const char *name, Lathe_role role, Shape s)
{
    bool have = false;
    for (int i = 0; i < trace->desc->inputs.n; i++) have |= same(trace->desc->inputs.at[i].name, name);
    if (!have) push(&trace->desc->inputs, ((Tensor_spec){.name = name, .dtype = I32, .shape = s, .role = role}));
    return input_node(name, I32, s);
}

static Node *system_input(Trace *trace, const char *name, Lathe_role role)
{
    return trainers_input(trace, name, role, (Shape){0});
}

bool own_positions(const Trace *trace) { return trace->graph && trace->graph->entry == ENTRY_slots; }

Node *position_node(Trace *trace)
{
    if (!own_positions(trace)) return system_input(trace, "position", LATHE_POSITION);
    Shape s = {1, {trace->batch}, {(uint16_t)axis_of("slots", trace->batch)}};
    return trainers_input(trace, "slot_position", LATHE_POSITION, s);
}

/* The positions of rows, for the first n axes of t, of which one has the batch as a factor. */
static Node *positions_along(lua_State *L, const Tensor *t, int n)
{
    Factor f = t->batch;
    if (f.axis < 0 || f.axis >= n)
        user_error(L, "each row is at a position of its own (generate.slots), and the batch axis is unknown here: %s",
                   tensor_text(t));
    Node *rows = position_node(trace_of(L));
    Shape all = axes_before(t->node->shape, n), one = all;
    if (f.outer * f.inner > 1) {
        Shape parts = {3, {f.outer, trace_of(L)->batch, f.inner}, {0}}, middle = parts;
        middle.dim[0] = middle.dim[2] = 1;
        rows = reshape(expand(reshape(rows, middle), parts), (Shape){1, {all.dim[f.axis]}, {0}});
    }
    for (int i = 0; i < n; i++)
        if (i != f.axis) one.dim[i] = 1, one.axis[i] = 0;
    return expand(reshape(rows, one), all);
}

/* core.position(x, n): in decode, the position of the first token: i32 [], or where rows have their own, that of each
 * element of the first n axes of x, of their shape */
static int position_call(lua_State *L)
{
    Trace *trace = trace_of(L);
    make_at(lua_place(L));
    if (own_positions(trace)) {
        const Tensor *t = tensor_at(L, 1, "core.position");
        push_tensor(L, positions_along(L, t, (int)luaL_checkinteger(L, 2)), t->batch, NOWHERE, NULL);
    } else push_tensor(L, position_node(trace), NOWHERE, NOWHERE, NULL);
    return 1;
}

/* core.apart(): whether rows have positions of their own */
static int apart_call(lua_State *L)
{
    lua_pushboolean(L, own_positions(trace_of(L)));
    return 1;
}

/* core.over_time(found): whether an axis is time.  In decode, where its extent is 1, the axis may have been lost, so
 * the answer of the entry before counts; the calls come in the same order. */
static int over_time_call(lua_State *L)
{
    Trace *trace = trace_of(L);
    bool found = lua_toboolean(L, 1);
    int place = trace->time_places++;
    if (!trace->decode) {
        while (trace->over_time.n <= place) push(&trace->over_time, false);
        trace->over_time.at[place] = found;
    } else if (place < trace->over_time.n) found = trace->over_time.at[place];
    lua_pushboolean(L, found);
    return 1;
}

/* core.carries(): whether this entry carries states from batch to batch.  This needs data whose rows continue. */
static int carries_call(lua_State *L)
{
    Trace *trace = trace_of(L);
    Lathe_recipe *r = &trace->desc->recipe;
    if (lathe_reads_rows(r) || r->pairs || r->prefers || r->pack)
        user_error(L, "carry = true passes the state of a row to the batch that continues its text, but %s",
                   lathe_reads_rows(r) ? "the rows of a table have no order"
                   : r->pairs          ? "each pair is a text of its own"
                   : r->prefers        ? "each answer is a text of its own"
                                       : "packed documents do not continue; leave pack out");
    if (trace->desc->turns.n)
        user_error(L,
                   "carry = true takes a state from one step to the next, and each turn would change it; leave carry "
                   "out, or train without turns");
    if (r->order && r->order != LATHE_CONTIGUOUS)
        user_error(L, "carry = true passes the state of a row to the batch that continues its text; use data.text { "
                      "order = \"contiguous\" }, or leave order out");
    r->order = LATHE_CONTIGUOUS;
    lua_pushboolean(L, entry_of(trace->graph)->carries);
    return 1;
}

/* core.begins(): i32 [batch]: 1 for rows that do not continue their text */
static int begins_call(lua_State *L)
{
    push_begins(L);
    return 1;
}

static int sequence_call(lua_State *L)
{
    lua_pushinteger(L, trace_of(L)->desc->seq);
    return 1;
}

/* core.packed(x): whether x is input.segments of packed data; without x: whether targets of -1 are ignored */
static int packed_call(lua_State *L)
{
    Trace *trace = trace_of(L);
    const Tensor *t = lua_isnoneornil(L, 1) ? NULL : tensor_at(L, 1, "core.packed");
    const Node *n = t ? t->node : NULL;
    if (n && n->op == OP_loop_arg && n->ints[0] == ARG_X) n = n->loop->xs.at[n->ints[1]].outer;
    bool segments = n && (trace->decode || (n->op == OP_input && same(n->name, "segments")));
    lua_pushboolean(L, t ? trace->desc->recipe.pack && segments : lathe_ignores(&trace->desc->recipe));
    return 1;
}

static int is_zero_call(lua_State *L)
{
    double v;
    lua_pushboolean(L, is_filled(tensor_at(L, 1, "core.is_zero")->node, &v) && v == 0);
    return 1;
}

/* core.values(x): the integer elements of x in order; nil: x depends on an input or a parameter */
static int values_call(lua_State *L)
{
    Value v;
    if (!known_values(tensor_at(L, 1, "core.values")->node, &v)) return 0;
    lua_createtable(L, (int)elements(v.shape), 0);
    for (int64_t i = 0; i < elements(v.shape); i++) {
        lua_pushinteger(L, (lua_Integer)v.at[i]);
        lua_rawseti(L, -2, i + 1);
    }
    return 1;
}

static int shape_text_call(lua_State *L)
{
    lua_pushstring(L, tensor_text(tensor_at(L, 1, "core.shape_text")));
    return 1;
}

/* ------------------------------------------------------------------ random bits */

static Node *number_argument(double v, Shape s) { return filled(v, I32, s); }
static Node *times(Node *a, int64_t k) { return k == 1 ? a : map2(OP_mul, a, number_argument((double)k, a->shape)); }
static Node *plus(Node *a, Node *b) { return a ? map2(OP_add, a, b) : b; }

/* The index of each element in its sample (all axes but the batch factor, and the iterations of open loops), in steps
 * of `each`. */
static Node *draw_index(lua_State *L, const Tensor *t, int64_t each)
{
    Trace *trace = trace_of(L);
    Shape s = t->node->shape;
    Node *index = NULL;
    int64_t stride = each, iterations = 1;
    for (int i = s.rank - 1; i >= 0; i--) {
        Node *at = iota(s, i);
        int64_t extent = s.dim[i];
        if (i == t->batch.axis) { /* i = (o · batch + b) · inner + j  ->  o · inner + j */
            int64_t inner = t->batch.inner, outer = t->batch.outer, whole = extent / outer;
            Node *j = inner > 1 ? map2(OP_mod, at, number_argument((double)inner, s)) : NULL;
            Node *o = outer > 1 ? times(map2(OP_idiv, at, number_argument((double)whole, s)), inner) : NULL;
            at = o && j ? plus(o, j) : o ? o : j;
            extent = inner * outer;
        }
        if (at && extent > 1) index = plus(index, times(at, stride));
        stride *= extent;
    }
    for (int i = trace->open.n - 1; i >= 0; i--) {
        index = plus(index, times(broadcast(trace->open.at[i]->index, s), stride * iterations));
        iterations *= trace->open.at[i]->trip;
    }
    if (stride * iterations > (int64_t)1 << 31)
        user_error(L, "too many random numbers for one sample: %lld", (long long)(stride * iterations));
    return index ? index : number_argument(0, s);
}

/* The row of each element in the whole batch, over all micro-batches, and in train over all GPUs. */
static Node *draw_row(Trace *trace, const Tensor *t)
{
    Shape s = t->node->shape;
    if (t->batch.axis < 0) return number_argument(0, s);
    Node *row = iota(s, t->batch.axis);
    if (t->batch.inner > 1) row = map2(OP_idiv, row, number_argument((double)t->batch.inner, s));
    if (t->batch.outer > 1) row = map2(OP_mod, row, number_argument((double)trace->batch, s));
    if (trace->graph->micro) row = plus(row, times(broadcast(trace->graph->micro->index, s), trace->batch));
    if (entry_of(trace->graph)->step) row = plus(row, broadcast(system_input(trace, "first_row", LATHE_FIRST_ROW), s));
    return row;
}

Draws draws_of(lua_State *L, const Tensor *like, int64_t each)
{
    Trace *trace = trace_of(L);
    if (is_teacher(trace))
        user_error(L, "--distill: a teacher cannot draw numbers, but for dropout, which it leaves out");
    return (Draws){.seed = system_input(trace, "seed", LATHE_SEED),
                   .step = system_input(trace, "step", LATHE_STEP),
                   .site = scalar(trace->site++, I32),
                   .row = draw_row(trace, like),
                   .index = draw_index(L, like, each)};
}

/* core.random_bits(like): i32, different for each element, step and call */
static int random_bits_call(lua_State *L)
{
    const Tensor *t = tensor_at(L, 1, "random bits");
    Shape s = t->node->shape;
    make_at(lua_place(L));
    Draws d = draws_of(L, t, 1);
    Node *bits = philox(broadcast(d.seed, s), broadcast(d.step, s), broadcast(d.site, s), d.row, d.index);
    push_tensor(L, bits, t->batch, t->time, NULL);
    return 1;
}

/* Entries without dropout count its sites too, so that the numbers of later sites are the same in all. */
static int skip_site_call(lua_State *L)
{
    (void)L;
    trace_of(L)->site++;
    return 0;
}

/* core.remembers(n): decode has room for n positions, and so the model for no more */
static int remembers_call(lua_State *L)
{
    Desc *d = trace_of(L)->desc;
    int64_t n = luaL_checkinteger(L, 1);
    if (!d->context || n < d->context) d->context = n;
    return 0;
}

/* core.ids_below(x): the vocabulary if x is a text's targets, else nil */
static int ids_below_call(lua_State *L)
{
    const Trace *trace = trace_of(L);
    const Tensor *t = is_tensor(L, 1) ? lua_touserdata(L, 1) : NULL;
    const Node *n = t ? t->node : NULL;
    if (n && n->op == OP_loop_arg && n->ints[0] == ARG_X) n = n->loop->xs.at[n->ints[1]].outer;
    bool targets = n && n->op == OP_input && same(n->name, "targets") && trace->desc->vocab;
    if (targets) lua_pushinteger(L, trace->desc->vocab);
    else lua_pushnil(L);
    return 1;
}

const luaL_Reg time_functions[] = {{"ids_below", ids_below_call},
                                   {"decoding", decoding_call},
                                   {"training", training_call},
                                   {"differentiates", differentiates_call},
                                   {"time_aware", time_aware_call},
                                   {"time_axis", time_axis_call},
                                   {"holds_time", holds_time_call},
                                   {"with_time", with_time_call},
                                   {"mixing", mixing_call},
                                   {"position", position_call},
                                   {"over_time", over_time_call},
                                   {"apart", apart_call},
                                   {"packed", packed_call},
                                   {"sequence", sequence_call},
                                   {"carries", carries_call},
                                   {"begins", begins_call},
                                   {"is_zero", is_zero_call},
                                   {"shape_text", shape_text_call},
                                   {"values", values_call},
                                   {"random_bits", random_bits_call},
                                   {"skip_site", skip_site_call},
                                   {"remembers", remembers_call},
                                   {NULL, NULL}};
