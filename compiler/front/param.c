/* param.c: parameters, shared or per layer of a stack; states, and among them statistics, which belong to the model. */
#include "front/front.h"

#include "runtime/base/printable.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct Known {
    Param *param;
    Node *node;
    int trace;
} Known;

static Known *known_at(const Trace *trace, int n) { return n ? trace->known.at[n - 1] : NULL; }

static Lathe_init init_named(const char *name)
{
    static const struct {
        const char *name;
        Lathe_init init;
    } inits[] = {{"zeros", LATHE_ZEROS},
                 {"ones", LATHE_ONES},
                 {"constant", LATHE_CONSTANT},
                 {"normal", LATHE_NORMAL},
                 {"uniform", LATHE_UNIFORM}};
    for (int i = 0; i < COUNT_OF(inits); i++)
        if (same(inits[i].name, name)) return inits[i].init;
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

/* The export name is a key in a checkpoint's JSON, where __metadata__ is taken. */
static void check_export(lua_State *L, const char *export)
{
    enum { MOST = 1000 };
    bool plain = is_utf8(export) && *export && strlen(export) <= MOST;
    for (const char *c = export; *c; c++) plain &= (unsigned char)*c >= 32 && *c != 127;
    if (same(export, "__metadata__"))
        user_error(L, "'__metadata__' is reserved in checkpoints; give the parameter another name");
    if (!plain)
        user_error(L, "an export name must be UTF-8 without control characters, 1 to %d bytes, found '%.100s'", MOST,
                   export);
}

Shape with_copies(lua_State *L, Shape own)
{
    Trace *trace = trace_of(L);
    Shape s = {.rank = own.rank + trace->copies.n};
    if (s.rank > MAXRANK) user_error(L, "a parameter can have at most %d axes, including those of nn.stack", MAXRANK);
    for (int i = 0; i < trace->copies.n; i++) {
        s.dim[i] = trace->copies.at[i]->trip;
        s.axis[i] = (uint16_t)trace->copies.at[i]->axis;
    }
    for (int i = 0; i < own.rank; i++) {
        s.dim[trace->copies.n + i] = own.dim[i];
        s.axis[trace->copies.n + i] = own.axis[i];
    }
    check_size(L, s);
    return s;
}

static Param *new_param(lua_State *L, const char *name, Shape own, const char *export)
{
    Trace *trace = trace_of(L);
    Param *p = NEW(Param);
    *p = (Param){.name = name,
                 .export_name = export,
                 .loops = trace->copies.n,
                 .stack = stack_here(trace),
                 .shape = with_copies(L, own),
                 .where = lua_place(L)};
    make_at(p->where);
    name_axes(trace, &p->shape, AXES_OF_PARAMETER);
    p->init = init_named(luaL_checkstring(L, 3));
    p->init_a = lua_isnoneornil(L, 4) ? 0 : real_number(L, 4, "init");
    p->init_b = lua_isnoneornil(L, 5) ? 0 : real_number(L, 5, "init");
    if (!isfinite(p->init_a) || !isfinite(p->init_b))
        user_error(L, "parameter '%s' would start at %g; its init must be finite", name,
                   fabs(isfinite(p->init_a) ? p->init_b : p->init_a));
    p->decay = lua_isnoneornil(L, 6) ? own.rank >= 2 : lua_toboolean(L, 6);
    p->zero_row = 1 + luaL_optinteger(L, 8, -1);
    check_export(L, export);
    if (count_places(export) != p->loops)
        user_error(L, "the export name '%s' needs one %%d per nn.stack around the parameter, %d in all", export,
                   p->loops);
    return p;
}

/* Could a copy of a and a copy of b have one export name, as "h.%d.w" of three layers and "h.2.w"? */
static bool meet(const Param *a, const char *s, int i, const Param *b, const char *t, int j)
{
    for (; *s || *t; s++, t++) {
        bool of_a = s[0] == '%', of_b = t[0] == '%';
        if (of_b && !of_a) return meet(b, t, j, a, s, i);
        if (of_a && of_b) {
            s++, t++, i++, j++;
        } else if (of_a) {
            char *end;
            long long copy =
                *t >= '0' && *t <= '9' && (*t != '0' || t[1] < '0' || t[1] > '9') ? strtoll(t, &end, 10) : -1;
            if (copy < 0 || copy >= a->shape.dim[i]) return false;
            return meet(a, s + 2, i + 1, b, end, j);
        } else if (*s != *t) {
            return false;
        }
    }
    return true;
}

static bool share_a_name(const Param *a, const Param *b) { return meet(a, a->export_name, 0, b, b->export_name, 0); }

static const Param *same_export(const Trace *trace, const Param *p)
{
    const Known *same = p->loops ? NULL : known_at(trace, strings_get(&trace->known_exports, p->export_name));
    if (same) return same->param;
    int n = p->loops ? trace->known.n : trace->of_stacks.n;
    for (int i = 0; i < n; i++) {
        const Param *other = (p->loops ? trace->known.at : trace->of_stacks.at)[i]->param;
        if (share_a_name(p, other)) return other;
    }
    return NULL;
}

static void check_export_of(lua_State *L, const Param *p)
{
    const Param *other = same_export(trace_of(L), p);
    if (other)
        user_error(L,
                   "two parameters would be exported as '%s': this one and '%s', which is made at %s:%d; give "
                   "one of them another name",
                   p->loops < other->loops ? p->export_name : other->export_name, other->name, other->where.file,
                   other->where.line);
}

static Known *add_known(Trace *trace, Param *p)
{
    Known *k = NEW(Known);
    k->param = p;
    push(&trace->known, k);
    *strings_at(&trace->known_names, p->name) = trace->known.n;
    if (p->loops) push(&trace->of_stacks, k);
    else *strings_at(&trace->known_exports, p->export_name) = trace->known.n;
    if (p->statistic) push(&trace->desc->statistics, p);
    else push(&trace->desc->params, p);
    return k;
}

static void check_again(lua_State *L, const Known *k, Shape own, bool statistic)
{
    if (k->trace == trace_of(L)->number && !applied_again(trace_of(L)))
        user_error(L,
                   "there are two parameters '%s': give one of the layers another name, or apply one layer object "
                   "twice to share its parameters\n"
                   "  the first is made at %s:%d",
                   k->param->name, k->param->where.file, k->param->where.line);
    if (k->param->statistic != statistic)
        user_error(L, "'%s' is a parameter, and a statistic at another place; give one of the layers another name",
                   k->param->name);
    if (!same_shape(k->param->shape, with_copies(L, own)))
        user_error(L, "parameter '%s' has shape %s here; it was made with %s at %s:%d", k->param->name,
                   shape_text(with_copies(L, own)), shape_text(k->param->shape), k->param->where.file,
                   k->param->where.line);
}

/* The one called `own` in this scope; L holds the arguments of core.param. */
static Known *known_here(lua_State *L, bool statistic)
{
    Trace *trace = trace_of(L);
    if (!trace->graph) user_error(L, "parameters can only be made inside forward");
    if (trace->directed)
        user_error(L, "an optimizer makes no parameters; what it keeps is a state: s.state(name, shape)");
    const char *own = luaL_checkstring(L, 1);
    check_name(L, own);
    Shape shape = shape_at(L, 2);
    const char *name = copy_string(path_of(trace, own));
    const char *export = lua_isnoneornil(L, 7) ? export_of(trace, own) : luaL_checkstring(L, 7);
    Known *k = known_at(trace, strings_get(&trace->known_names, name));
    if (k) check_again(L, k, shape, statistic);
    else {
        if (sampling(trace) || trace->measuring)
            user_error(L, "%s parameter '%s', which forward does not have, so nothing would train it",
                       trace->measuring ? "metrics make" : "sample makes", name);
        Param *p = new_param(L, name, shape, copy_string(export));
        p->statistic = statistic;
        p->adapter = trace->adapting;
        p->teacher = is_teacher(trace);
        bool frozen =
            only_answers(trace->desc->options) || p->teacher || lora_freezes(trace, p) || freezes(trace->desc, p);
        p->frozen = frozen && !statistic;
        p->directed = directs(trace, p);
        p->blocks = stored_as(trace->desc, p);
        check_export_of(L, p);
        k = add_known(trace, p);
    }
    k->trace = trace->number;
    make_at(k->param->where);
    return k;
}

/* core.param(name, shape, init, a, b, decay, export, zero); export: nil: from the path; zero: a row that stays zero */
static int param_call(lua_State *L)
{
    Trace *trace = trace_of(L);
    Known *k = known_here(L, false);
    Making was = make_recomputed(false); /* leaves are always there */
    Node *n = k->node = (k->param->frozen ? frozen_node : parameter_node)(k->param->name, F32, k->param->shape);
    for (int i = 0; i < trace->copies.n; i++) n = loop_x(trace->copies.at[i], n);
    make_with(was);
    push_tensor(L, n, NOWHERE, NOWHERE, NULL);
    return 1;
}

/* ------------------------------------------------------------------ states */

/* Of those behind the first `from`. */
static Tensor_spec *later_state(const Desc *d, int from, const char *name)
{
    for (int i = from; i < d->states.n; i++)
        if (same(d->states.at[i].name, name)) return &d->states.at[i];
    return NULL;
}

static Tensor_spec *state_named(const Desc *d, const char *name) { return later_state(d, 0, name); }

static const char *name_of_later_state(const Desc *d, int from, const char *wish)
{
    const char *name = wish;
    for (int n = 2; later_state(d, from, name); n++) name = format("%s_%d", wish, n);
    return name;
}

const char *new_state_name(const Desc *d, const char *wish) { return name_of_later_state(d, 0, wish); }

/* Each entry has its own states: decode "lstm.h", train "train.lstm.h", eval "eval.lstm.h", slots "slots.lstm.h". */
static const char *state_name(const Trace *trace, const char *own)
{
    const char *path = path_of(trace, own);
    if (!trace->decode || own_positions(trace)) path = format("%s.%s", trace->graph->name, path);
    /* A wider trace has the names of the one that it is compared with, whose states come before. */
    return copy_string(name_of_later_state(trace->desc, trace->widened ? trace->states_before : 0, path));
}

static Lathe_role state_role(const Trace *trace)
{
    if (own_positions(trace)) return LATHE_SLOT_STATE;
    return trace->decode ? LATHE_STATE : entry_of(trace->graph)->step ? LATHE_CARRIED : LATHE_EVAL_CARRIED;
}

/* With accumulation, each micro-batch has its own state. */
static Shape with_micro(lua_State *L, Shape s)
{
    const Trace *trace = trace_of(L);
    if (!trace->graph->micro) return s;
    if (s.rank == MAXRANK) user_error(L, "a state can have at most %d axes, including that of micro-batches", MAXRANK);
    Shape all = {1, {trace->graph->micro->trip}, {(uint16_t)trace->graph->micro->axis}};
    for (int i = 0; i < s.rank; i++) all = with_axis(all, s, i);
    check_size(L, all);
    return all;
}

/* The axis of a state made here along which decode has its rows; -1: unknown. */
static int rows_axis(const Trace *trace, Factor batch)
{
    return !trace->decode || batch.axis < 0 || batch.outer * batch.inner != 1 ? -1 : trace->copies.n + batch.axis;
}

/* The state that decode made in its place, since prefill makes the same in the same order; NULL: this one makes it. */
static const Tensor_spec *state_of_decode(lua_State *L, DType t, Shape whole)
{
    Trace *trace = trace_of(L);
    if (trace->graph->entry != ENTRY_prefill) return NULL;
    int k = trace->decode_states++;
    for (int i = 0; i < trace->desc->states.n; i++) {
        const Tensor_spec *s = &trace->desc->states.at[i];
        if (s->role != LATHE_STATE || k--) continue;
        if (s->dtype == t && same_shape(s->shape, whole)) return s;
    }
    user_error(L, "forward makes other states for several tokens than for one");
}

/* The axis of a state made here that has an entry for each position; 0: none, the first being that of rows or copies.
 */
static int places_axis(lua_State *L)
{
    return lua_isnoneornil(L, 4) ? 0 : trace_of(L)->copies.n + (int)luaL_checkinteger(L, 4);
}

static const char *new_state(lua_State *L, const char *own, DType t, Shape whole)
{
    Trace *trace = trace_of(L);
    const char *name = state_name(trace, own);
    push(&trace->desc->states, ((Tensor_spec){.name = name,
                                              .dtype = t,
                                              .shape = whole,
                                              .role = state_role(trace),
                                              .where = making().where,
                                              .rows_axis = rows_axis(trace, tensor_at(L, 3, "a state")->batch),
                                              .places_axis = places_axis(L)}));
    return name;
}

/* What decode remembers of each position has the type of --cache. */
static DType type_of_state(lua_State *L, const Tensor *like, Shape s)
{
    DType cache = cache_type(trace_of(L)->desc->options);
    if (like->node->dtype != F32 || !places_axis(L) || !in_blocks(cache)) return like->node->dtype;
    int64_t width = s.dim[s.rank - 1];
    if (width % LATHE_BLOCK)
        user_error(
            L,
            "--cache %s shares a scale among %d neighbours, so the width of a head must be a multiple of %d, and it "
            "is %lld; expected another head_width, or --cache bf16",
            dtype_name(cache), LATHE_BLOCK, LATHE_BLOCK, (long long)width);
    return cache;
}

/* name, old = core.state(own name, shape, like, axis of positions): type and batch axis are those of like.  Inside
 * nn.stack each layer has its own state, so the entry's is [layers, shape…]. */
static int state_call(lua_State *L)
{
    Trace *trace = trace_of(L);
    const char *own = luaL_checkstring(L, 1);
    Shape s = shape_at(L, 2);
    const Tensor *like = tensor_at(L, 3, "a state");
    if (is_teacher(trace)) user_error(L, "--distill: a teacher cannot keep values from step to step");
    if (trace->directed) user_error(L, "what an optimizer keeps is a state of its own: s.state(name, shape)");
    if (trace->open.n != trace->copies.n)
        user_error(L, "entry %s cannot keep values from step to step inside this nn.scan", trace->graph->name);
    make_at(lua_place(L));
    name_axes(trace, &s, AXES_OF_STATE);
    Shape whole = with_micro(L, with_copies(L, s));
    DType type = type_of_state(L, like, s);
    const Tensor_spec *known = state_of_decode(L, type, whole);
    const char *name = known ? known->name : new_state(L, own, type, whole);
    Node *n = state_node(name, type, whole);
    if (trace->graph->micro) n = loop_x(trace->graph->micro, n);
    for (int i = 0; i < trace->copies.n; i++) n = loop_x(trace->copies.at[i], n);
    lua_pushstring(L, name);
    push_tensor(L, n, NOWHERE, NOWHERE, NULL);
    return 2;
}

/* core.rounded(x): x in the type of what decode remembers of each position (--cache), unless that is in blocks, which
 * an overwrite makes */
static int rounded_call(lua_State *L)
{
    const Tensor *t = tensor_at(L, 1, "a state");
    DType cache = cache_type(trace_of(L)->desc->options);
    Node *n = t->node->dtype == F32 && !in_blocks(cache) ? cast_op(t->node, cache) : t->node;
    push_tensor(L, n, t->batch, t->time, t->mixed);
    return 1;
}

/* Can the value of n differ between rows decoded together? */
static bool differs_by_row(const Trace *trace, Node *n)
{
    Nodes all = {0};
    Graph g = {.name = "state"};
    push(&g.outs, ((Output){OUT_VALUE, "next", n}));
    all_nodes(&g, &all);
    for (int i = 0; i < all.n; i++) {
        const Node *leaf = all.at[i];
        bool input = leaf->op == OP_input && leaf->shape.rank > 0;
        if (input || (leaf->op == OP_state && state_named(trace->desc, leaf->name)->rows_axis >= 0)) return true;
    }
    return false;
}

/* core.state_next(name, new): close_call() stacks it over the loops around */
static int state_next_call(lua_State *L)
{
    Trace *trace = trace_of(L);
    const Tensor *t = tensor_at(L, 2, "a state");
    Tensor_spec *s = state_named(trace->desc, luaL_checkstring(L, 1));
    if (rows_axis(trace, t->batch) >= 0) s->rows_axis = rows_axis(trace, t->batch);
    if (own_positions(trace) && s->rows_axis < 0)
        user_error(
            L,
            "with generate.slots each row has a state of its own, but the batch axis of this one is unknown: %s\n"
            "  make the batch an axis of its own, or leave slots out",
            tensor_text(t));
    if (trace->decode && s->rows_axis < 0 && trace->batch > 1 && differs_by_row(trace, t->node))
        user_error(L,
                   "decode runs %lld rows at once, but the batch axis of this state is unknown: %s\n"
                   "  make the batch an axis of its own, or decode one row, generate = { rows = 1 }",
                   (long long)trace->batch, tensor_text(t));
    push(&trace->states, ((struct New_state){copy_string(luaL_checkstring(L, 1)), t->node, trace->open.n}));
    return 0;
}

/* ------------------------------------------------------------------ statistics */

bool is_statistic(const Desc *d, const char *state)
{
    const Tensor_spec *s = state_named(d, state);
    return s && s->role == LATHE_STATISTIC;
}

static struct New_state *new_state_named(Trace *trace, const char *name)
{
    for (int i = 0; i < trace->states.n; i++)
        if (same(trace->states.at[i].name, name)) return &trace->states.at[i];
    return NULL;
}

/* Inside micro each micro-batch has what the one before it left. */
static Node *statistic_here(Trace *trace, const Param *p)
{
    Loop *micro = trace->graph->training ? trace->graph->micro : NULL;
    Making was = make_recomputed(false);
    Node *n = state_node(p->name, F32, p->shape);
    push(&trace->graph->statistics, n);
    if (micro) push(&trace->graph->statistics, n = loop_carry(micro, n));
    for (int i = 0; i < trace->copies.n; i++) n = loop_x(trace->copies.at[i], n);
    make_with(was);
    return n;
}

static void describe_statistic(Desc *d, const Param *p)
{
    if (state_named(d, p->name)) return;
    push(&d->states, ((Tensor_spec){p->name, F32, p->shape, LATHE_STATISTIC, p->where, .rows_axis = -1}));
}

/* name, value = core.statistic(own name, shape, init): a state that belongs to the model, as its parameters do: all
 * entries have the same, and the entry that trains may set its next value.  A layer that is applied again goes on with
 * what the application before made. */
static int statistic_call(lua_State *L)
{
    Trace *trace = trace_of(L);
    if (is_teacher(trace)) user_error(L, "--distill: a teacher cannot have statistics (nn.batchnorm)");
    Known *k = known_here(L, true);
    const Param *p = k->param;
    const struct New_state *made = new_state_named(trace, p->name);
    describe_statistic(trace->desc, p);
    if (trace->graph->training && trace->open.n != trace->copies.n)
        user_error(L,
                   "this layer keeps statistics of a batch, which each iteration of the loop around it would replace; "
                   "apply it outside nn.scan, and make it inside the nn.stack that applies it");
    must(!made || made->depth == trace->open.n);
    lua_pushstring(L, p->name);
    push_tensor(L, made ? made->node : statistic_here(trace, p), NOWHERE, NOWHERE, NULL);
    return 2;
}

/* core.statistic_next(name, new) */
static int statistic_next_call(lua_State *L)
{
    Trace *trace = trace_of(L);
    const char *name = luaL_checkstring(L, 1);
    Node *new = tensor_at(L, 2, "a statistic")->node;
    struct New_state *made = new_state_named(trace, name);
    if (made) made->node = new;
    else push(&trace->states, ((struct New_state){copy_string(name), new, trace->open.n}));
    return 0;
}

/* x = core.of_rows(x): a statistic of the rows that are trained on together, whichever these are: all rows share it,
 * and a micro-batch has its own. */
static int of_rows_call(lua_State *L)
{
    const Tensor *t = tensor_at(L, 1, "a statistic");
    push(&trace_of(L)->graph->statistics, t->node);
    push_tensor(L, t->node, NOWHERE, NOWHERE, t->mixed);
    return 1;
}

/* core.cut(): whether --memory tries a batch in parts, which statistics will refuse */
static int cut_call(lua_State *L)
{
    lua_pushboolean(L, trace_of(L)->desc->options->split > 1);
    return 1;
}

const luaL_Reg param_functions[] = {{"param", param_call},
                                    {"state", state_call},
                                    {"rounded", rounded_call},
                                    {"state_next", state_next_call},
                                    {"statistic", statistic_call},
                                    {"statistic_next", statistic_next_call},
                                    {"of_rows", of_rows_call},
                                    {"cut", cut_call},
                                    {NULL, NULL}};
