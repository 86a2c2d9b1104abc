/* lora.c: --lora: adapters of low rank beside the weights of nn.linear (Hu et al. 2021, LoRA, equation 3):
 *
 *     y = x · Wᵀ + scale · (x · Aᵀ) · Bᵀ     A [rank, in], B [out, rank], scale = alpha / rank
 *
 * With rslora scale is alpha / sqrt(rank) (Kalajdzievski 2023); with dora each output is multiplied by a magnitude of
 * its own over the norm of W + scale · B · A (Liu et al. 2024).  All parameters but these, and those of train=, are
 * frozen. */
#include "front/front.h"
#include "passes/passes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ the option */

static const char *const keys[] = {"rank", "alpha", "dropout", "rslora", "dora", "match", "train"};

static double given_number(const char *key, const char *value, double least, double below)
{
    char *end;
    double x = strtod(value, &end);
    if (end == value || *end || !(x >= least && x < below))
        usage_error("--lora %s=%s: expected a number from %g to below %g", key, value, least, below);
    return x;
}

/* A word alone is true. */
static bool given_flag(const char *key, const char *equals)
{
    if (!equals || same(equals, "=true")) return true;
    if (!same(equals, "=false")) usage_error("--lora %s%s: expected true or false", key, equals);
    return false;
}

static void take_key(Lora *l, const char *word)
{
    enum { MOST_RANK = 65536 };
    const char *equals = strchr(word, '=');
    const char *key = copy_bytes_as_string(word, strcspn(word, "=")), *value = equals ? equals + 1 : "";
    if (same(key, "rank")) {
        l->rank = (int64_t)given_number(key, value, 1, MOST_RANK);
        if ((double)l->rank != strtod(value, NULL)) usage_error("--lora rank=%s: expected an integer", value);
    } else if (same(key, "alpha")) {
        l->alpha = given_number(key, value, 0, 1e6);
        if (l->alpha == 0) usage_error("--lora alpha=%s: adapters times 0 learn nothing", value);
    } else if (same(key, "dropout")) {
        l->dropout = given_number(key, value, 0, 1);
    } else if (same(key, "rslora")) {
        l->rank_stabilised = given_flag(key, equals);
    } else if (same(key, "dora")) {
        l->decomposed = given_flag(key, equals);
    } else if (same(key, "match") && *value) {
        push(&l->match, value);
    } else if (same(key, "train") && *value) {
        push(&l->train, value);
    } else {
        usage_error("--lora %s: expected some of rank=N, alpha=X, dropout=P, rslora, dora, match=PATTERN, "
                    "train=PATTERN, separated by commas%s",
                    word, advice(key, keys, COUNT_OF(keys)));
    }
}

const Lora *read_lora(const char *text, Texts except)
{
    enum { RANK = 8 };
    Lora *l = NEW(Lora);
    *l = (Lora){.rank = RANK, .alpha = -1, .except = except};
    for (const char *rest = text; *rest;) {
        size_t n = strcspn(rest, ",");
        take_key(l, copy_bytes_as_string(rest, n));
        rest += n + (rest[n] != 0);
    }
    if (l->alpha < 0) l->alpha = (double)l->rank;
    l->scale = l->alpha / (l->rank_stabilised ? sqrt((double)l->rank) : (double)l->rank);
    return l;
}

/* ------------------------------------------------------------------ which parameters */

/* Whether one of the patterns names p; those that name some of a stack's layers are refused. */
static bool is_named(const Param *p, const char *key, Texts patterns)
{
    for (int i = 0; i < patterns.n; i++) {
        int64_t named = matching_copies(patterns.at[i], p), all = copies_of_param(p);
        if (named && named < all)
            usage_error("--lora %s=%s names %lld of the %lld parameters called '%s'; name all, or none", key,
                        patterns.at[i], (long long)named, (long long)all, p->export_name);
        if (named) return true;
    }
    return false;
}

bool lora_freezes(const Trace *trace, const Param *p)
{
    const Lora *l = trace->desc->lora;
    return l && !trace->adapting && !is_named(p, "train", l->train);
}

static const char *all_candidates(const Trace *trace)
{
    Text t = {0};
    for (int i = 0; i < trace->linear_weights.n; i++)
        say(&t, "%s%s", i ? ", " : "", trace->linear_weights.at[i]->export_name);
    return t.at ? t.at : "none";
}

/* The parameter that n is: itself, of a layer, or rearranged; NULL: it is something else. */
static const char *parameter_read(const Node *n)
{
    for (;;)
        if (is_view(n)) n = n->in[0];
        else if (n->op == OP_loop_arg && n->ints[0] == ARG_X) n = n->loop->xs.at[n->ints[1]].outer;
        else return n->op == OP_parameter ? n->name : NULL;
}

/* Counts by name what reads each parameter. */
static void count_readers(const Graph *g, Strings *readers)
{
    Nodes all = {0};
    all_nodes(g, &all);
    for (int i = 0; i < all.n; i++)
        for (int k = 0; k < all.at[i]->nin && !parameter_read(all.at[i]); k++) {
            const char *name = parameter_read(all.at[i]->in[k]);
            if (name) ++*strings_at(readers, name);
        }
}

/* Without match=, such weights get no adapter when the description is read again (trace.c). */
static bool leaves_out(Desc *d, const Param *weight)
{
    if (d->lora->match.n) return false;
    push(&d->unfit, weight->name);
    return true;
}

/* A merged adapter changes all that reads the weight, so that nothing may read it but the products that have the
 * adapter beside them. */
static void check_readers(Desc *d)
{
    Strings readers = {0};
    count_readers(entry_graph(d, ENTRY_grad), &readers);
    for (int i = 0; i < d->adapters.n; i++) {
        const Adapter *a = &d->adapters.at[i];
        bool alone = strings_get(&readers, a->weight->name) <= strings_get(&readers, a->a->name);
        if (alone || leaves_out(d, a->weight)) continue;
        err(a->weight->where,
            "--lora match=…: '%s' is read elsewhere too, for example by the loss, and a merged adapter would change "
            "that "
            "as well; choose other weights",
            a->weight->name);
    }
}

/* An adapter that no gradient reaches stays without effect. */
static void check_trained(Desc *d)
{
    Strings names = {0};
    for (int i = 0; i < d->graphs.n; i++)
        if (d->graphs.at[i]->entry == ENTRY_train) reached_parameters(d->graphs.at[i], &names);
    for (int i = 0; i < d->adapters.n; i++) {
        const Param *weight = d->adapters.at[i].weight;
        if (strings_get(&names, d->adapters.at[i].b->name) || leaves_out(d, weight)) continue;
        err(weight->where, "--lora match=…: no gradient reaches the adapter of '%s'; choose others", weight->name);
    }
}

void check_lora(const Trace *trace)
{
    Desc *d = trace->desc;
    for (int k = 0; d->lora && k < d->lora->match.n; k++) {
        bool found = false;
        for (int i = 0; i < trace->linear_weights.n; i++)
            found |= matching_copies(d->lora->match.at[k], trace->linear_weights.at[i]) > 0;
        if (!found)
            usage_error("--lora match=%s: no nn.linear has a weight of such a name; their weights are %s",
                        d->lora->match.at[k], all_candidates(trace));
    }
    for (int k = 0; d->lora && k < d->lora->train.n; k++) {
        bool found = false;
        for (int i = 0; i < d->params.n; i++) found |= matching_copies(d->lora->train.at[k], d->params.at[i]) > 0;
        if (!found)
            usage_error("--lora train=%s: no parameter has such a name; `trainer info` lists them",
                        d->lora->train.at[k]);
    }
    if (d->lora && !d->adapters.n)
        usage_error("--lora: %s has no nn.linear with a weight that nothing else reads", d->file);
    if (!d->lora) return;
    check_readers(d);
    if (!d->unfit.n) check_trained(d);
}

/* ------------------------------------------------------------------ for nn.linear */

static bool takes_adapter(Trace *trace, Param *weight, bool only_named)
{
    const Lora *l = trace->desc->lora;
    bool known = false;
    for (int i = 0; i < trace->linear_weights.n; i++) known |= trace->linear_weights.at[i] == weight;
    if (!known) push(&trace->linear_weights, weight);
    for (int i = 0; i < l->except.n; i++)
        if (same(l->except.at[i], weight->name)) return false;
    return l->match.n ? is_named(weight, "match", l->match) : !only_named;
}

static void set_number(lua_State *L, const char *key, double x)
{
    lua_pushnumber(L, x);
    lua_setfield(L, -2, key);
}

static void set_text(lua_State *L, const char *key, const char *text)
{
    lua_pushstring(L, text);
    lua_setfield(L, -2, key);
}

/* o = core.lora(own name of a weight in this scope, whether only match= gives it one): { rank, scale, dropout, a, b,
 * magnitude }, of which the last three are the adapter's names in checkpoints, those of PEFT; no magnitude: it is not
 * decomposed; nil: it has no adapter. What is made until core.adapted() is trained. */
static int lora_call(lua_State *L)
{
    Trace *trace = trace_of(L);
    const Lora *l = trace->desc->lora;
    Param *weight = l ? find_param(trace->desc, path_of(trace, luaL_checkstring(L, 1))) : NULL;
    if (!weight || !takes_adapter(trace, weight, lua_toboolean(L, 2))) return 0;
    trace->adapting = true;
    lua_newtable(L);
    lua_pushinteger(L, l->rank);
    lua_setfield(L, -2, "rank");
    set_number(L, "scale", l->scale);
    set_number(L, "dropout", l->dropout);
    set_text(L, "a", format("%s.weight", export_of(trace, "lora_A")));
    set_text(L, "b", format("%s.weight", export_of(trace, "lora_B")));
    if (l->decomposed) set_text(L, "magnitude", export_of(trace, "lora_magnitude_vector"));
    return 1;
}

/* core.adapted(own name of the weight, axis of it along x) */
static int adapted_call(lua_State *L)
{
    Trace *trace = trace_of(L);
    Desc *d = trace->desc;
    Adapter a = {find_param(d, path_of(trace, luaL_checkstring(L, 1))), find_param(d, path_of(trace, "lora_A")),
                 find_param(d, path_of(trace, "lora_B")),
                 d->lora->decomposed ? find_param(d, path_of(trace, "lora_magnitude_vector")) : NULL,
                 (int)luaL_checkinteger(L, 2)};
    trace->adapting = false;
    for (int i = 0; i < d->adapters.n; i++)
        if (d->adapters.at[i].weight == a.weight) return 0;
    push(&d->adapters, a);
    return 0;
}

const luaL_Reg lora_functions[] = {{"lora", lora_call}, {"adapted", adapted_call}, {NULL, NULL}};
