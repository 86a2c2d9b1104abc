/* attention.c: core.attend(q, k, v, options): attention as one op; attention.lua has checked the options. */
#include "front/front.h"

#include <math.h>

static Node *option(lua_State *L, const char *key)
{
    lua_getfield(L, 4, key);
    Node *n = lua_isnil(L, -1) ? NULL : tensor_at(L, lua_gettop(L), key)->node;
    lua_pop(L, 1);
    return n;
}

static double number_option(lua_State *L, const char *key)
{
    lua_getfield(L, 4, key);
    double x = lua_tonumber(L, -1);
    lua_pop(L, 1);
    return x;
}

static bool flag_option(lua_State *L, const char *key)
{
    lua_getfield(L, 4, key);
    bool on = lua_toboolean(L, -1);
    lua_pop(L, 1);
    return on;
}

/* Turns [T, D] apply to every sample. */
static Node *turns_option(lua_State *L, const char *key, const Node *x)
{
    Node *n = option(L, key);
    int nb = x->shape.rank - 3;
    if (!n || n->shape.rank != 2 || nb < 1) return n;
    Shape all = axes_before(x->shape, nb), one = all;
    for (int i = 0; i < nb; i++) one.dim[i] = 1;
    for (int i = 0; i < 2; i++) {
        all = with_axis(all, n->shape, i);
        one = with_axis(one, n->shape, i);
    }
    return expand(reshape(n, one), all);
}

static void read_turns(lua_State *L, Attention *a)
{
    a->q_turns = turns_option(L, "turns", a->q);
    a->k_turns = turns_option(L, "memory_turns", a->k);
    if (!a->k_turns) a->k_turns = a->q_turns;
    if (a->q_turns) a->flags |= TURNS;
}

static void read_masks(lua_State *L, Attention *a)
{
    a->window = (int64_t)number_option(L, "window");
    if (flag_option(L, "causal")) a->flags |= CAUSAL;
    if (flag_option(L, "probabilities")) a->flags |= PROBABILITIES;
    if (a->flags & CAUSAL || a->window) a->offset = option(L, "offset");
    if ((a->lengths = option(L, "lengths"))) a->flags |= LENGTHS;
    a->q_segments = option(L, "segments");
    a->k_segments = option(L, "memory_segments");
    if (!a->k_segments) a->k_segments = a->q_segments;
    if (a->q_segments) a->flags |= SEGMENTS;
    if ((a->flags & CAUSAL || a->window) && !a->offset) a->offset = scalar(0, I32);
}

/* Draws the same numbers as nn.dropout on probabilities [batch…, heads, T, S]. */
static void read_dropout(lua_State *L, Attention *a, const Tensor *q)
{
    Trace *trace = trace_of(L);
    double p = number_option(L, "dropout");
    Shape s = q->node->shape;
    if (p == 0) return;
    if (!trace->graph->training || is_teacher(trace)) {
        trace->site++;
        return;
    }
    Tensor samples = {.batch = q->batch, .time = NOWHERE};
    samples.node = filled(0, I32, axes_before(s, s.rank - 3));
    Draws d = draws_of(L, &samples, s.dim[s.rank - 3] * s.dim[s.rank - 2] * a->k->shape.dim[s.rank - 3]);
    a->seed = d.seed, a->step = d.step, a->site = d.site, a->row = d.row, a->base = d.index;
    a->flags |= DROPOUT;
    a->threshold = (int64_t)floor(p * 4294967296.0);
    a->keep = scalar(1 / (1 - p), F32);
}

/* The score bias is broadcast to the scores. */
static void read_scores(lua_State *L, Attention *a, const Tensor *q)
{
    double cap = number_option(L, "soft_cap");
    if (cap) a->cap = scalar(cap, F32), a->flags |= SOFT_CAP;
    lua_getfield(L, 4, "bias");
    if (!lua_isnil(L, -1)) {
        const Tensor *t = tensor_at(L, lua_gettop(L), "score_bias");
        Shape qs = q->node->shape, s = qs, have = t->node->shape;
        int nb = qs.rank - 3;
        s.dim[nb] = qs.dim[nb + 1], s.dim[nb + 1] = qs.dim[nb], s.dim[nb + 2] = a->k->shape.dim[nb];
        bool fits = have.rank <= s.rank && t->node->dtype == F32;
        for (int i = 1; fits && i <= have.rank; i++)
            fits = have.dim[have.rank - i] == 1 || have.dim[have.rank - i] == s.dim[s.rank - i];
        if (!fits)
            user_error(L,
                       "score_bias must be real and fit the scores [batch…, heads, queries, keys]\n"
                       "    scores      %s\n"
                       "    score_bias  %s %s",
                       shape_text(s), dtype_name(t->node->dtype), tensor_text(t));
        a->bias = broadcast(t->node, s), a->flags |= SCORE_BIAS;
    }
    lua_pop(L, 1);
}

/* Is t's time a batch axis, or a factor of one, that q has as well, so that each query has its own keys? */
static bool is_beside(const Tensor *q, const Tensor *t)
{
    Factor a = q->time, b = t->time;
    if (b.axis < 0) return true;
    return b.axis < t->node->shape.rank - 3 && a.axis == b.axis && a.outer == b.outer && a.inner == b.inner;
}

/* follows: queries see only their own and earlier tokens, which the library makes decode remember. */
static const Mixed *mixed_of(lua_State *L, const Tensor *q, const Tensor *k, const Tensor *v)
{
    static const char *const others[] = {"bias",  "offset",       "lengths", "segments", "memory_segments",
                                         "turns", "memory_turns", NULL};
    const Mixed *m = q->mixed ? q->mixed : k->mixed ? k->mixed : v->mixed;
    for (int i = 0; others[i] && !m; i++) {
        lua_getfield(L, 4, others[i]);
        const Tensor *t = is_tensor(L, -1);
        if (t) m = t->mixed;
        lua_pop(L, 1);
    }
    lua_getfield(L, 4, "name");
    const char *name = lua_tostring(L, -1);
    if (!flag_option(L, "follows") && !(is_beside(q, k) && is_beside(q, v)))
        m = mixing(L, m, "%s attends to a whole sequence", name);
    lua_pop(L, 1);
    return m;
}

/* The time axis of results [batch…][H][T]…. */
static Factor time_behind_heads(const Tensor *q)
{
    Factor f = q->time;
    int nb = q->node->shape.rank - 3;
    if (f.axis == nb) f.axis = nb + 1;
    else if (f.axis > nb) f = NOWHERE;
    return f;
}

/* q [batch…, T, H, D], k [batch…, S, G, D], v [batch…, S, G, E] -> o [batch…, T, H, E], lse [batch…, H, T], and with
 * the option `probabilities` these, [batch…, H, T, S], before and after dropout. */
static int attend_call(lua_State *L)
{
    const Tensor *q = tensor_at(L, 1, "nn.attend"), *k = tensor_at(L, 2, "nn.attend"),
                 *v = tensor_at(L, 3, "nn.attend");
    Attention a = {.q = q->node, .k = k->node, .v = v->node};
    make_at(lua_place(L));
    const char *fault = attention_fault_of(&a);
    if (!fault) {
        a.scale = scalar(number_option(L, "scale"), F32);
        read_masks(L, &a);
        read_turns(L, &a);
        read_scores(L, &a, q);
        read_dropout(L, &a, q);
        fault = attention_fault_of(&a);
    }
    if (fault)
        user_error(L, "nn.attend: %s\n    q  %s\n    k  %s\n    v  %s", fault, tensor_text(q), tensor_text(k),
                   tensor_text(v));
    const Mixed *mixed = mixed_of(L, q, k, v);
    Node *n = attention_op(&a);
    push_tensor(L, pick(n, 0, 0), q->batch, q->time, mixed);
    Factor batch = q->batch.axis < q->node->shape.rank - 3 ? q->batch : NOWHERE;
    Factor time = time_behind_heads(q);
    push_tensor(L, pick(n, 1, 0), batch, time, mixed);
    if (!(a.flags & PROBABILITIES)) return 2;
    push_tensor(L, pick(n, 2, 0), batch, time, mixed);
    push_tensor(L, attention_dropped(&a, pick(n, 2, 0)), batch, time, mixed);
    return 4;
}

const luaL_Reg attention_functions[] = {{"attend", attend_call}, {NULL, NULL}};
