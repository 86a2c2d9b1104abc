/* prefer.c: --prefer: training on pairs of a chosen and a rejected answer, by DPO or ORPO (lua/preference.lua has their
 * formulas).
 *
 * A batch has two rows for each pair, and the library's losses of the text's next tokens give the loss of pairs instead
 * of the mean, so that descriptions need no change.  The entry `reference` gives the log-probability of each answer;
 * the trainer calls it before the first step, and DPO reads what it gave then. */
#include "front/front.h"

#include <stdlib.h>
#include <string.h>

enum { ROWS_OF_PAIR = 2 };

/* ------------------------------------------------------------------ the option */

static void take_prefer_word(Prefer *p, const char *word)
{
    static const char *const known[] = {"dpo", "orpo", "beta"};
    char *end;
    if (same(word, "dpo")) p->against_reference = true;
    else if (same(word, "orpo")) p->against_reference = false;
    else if (strncmp(word, "beta=", 5) == 0) {
        p->beta = strtod(word + 5, &end);
        if (end == word + 5 || *end || !(p->beta > 0 && p->beta <= 1e6))
            usage_error("--prefer %s: expected a number above 0", word);
    } else
        usage_error("--prefer %s: expected dpo or orpo, and beta=X behind a comma%s", word,
                    advice(word, known, COUNT_OF(known)));
}

const Prefer *read_prefer(const char *text)
{
    Prefer *p = NEW(Prefer);
    *p = (Prefer){.beta = 0.1};
    if (strncmp(text, "dpo", 3) != 0 && strncmp(text, "orpo", 4) != 0)
        usage_error("--prefer %s: expected dpo or orpo first", text);
    for (const char *rest = text; *rest;) {
        size_t n = strcspn(rest, ",");
        take_prefer_word(p, copy_bytes_as_string(rest, n));
        rest += n + (rest[n] != 0);
    }
    return p;
}

void settle_prefer(const Trace *trace)
{
    Desc *d = trace->desc;
    Lathe_recipe *r = &d->recipe;
    if (!d->prefer) return;
    const char *why = lathe_reads_rows(r)            ? "the data is rows, not text"
                      : r->pairs                     ? "data.pairs is for an encoder and a decoder"
                      : r->order == LATHE_CONTIGUOUS ? "rows go from batch to batch (order = \"contiguous\")"
                      : r->loss_on == LATHE_LOSS_ALL ? "answers alone count, and loss_on is \"all\""
                      : d->turns.n                   ? "train has turns"
                                                     : NULL;
    if (why) usage_error("--prefer trains models of text on pairs of answers, but in %s %s", d->file, why);
    r->prefers = true;
    d->one_rank = "--prefer trains in one process";
}

/* ------------------------------------------------------------------ entries */

int64_t rows_of_item(const Trace *trace)
{
    return trace->desc->prefer && !trace->decode && !sampling(trace) ? ROWS_OF_PAIR : 1;
}

static void check_met(const Trace *trace)
{
    if (!trace->preferred.likelihood)
        usage_error("--prefer: the loss of %s is not nn.cross_entropy or nn.linear_cross_entropy of input.targets, "
                    "their mean over the ids that count",
                    trace->desc->file);
}

void collect_preferred(const Trace *trace)
{
    Graph *g = trace->graph;
    if (rows_of_item(trace) == 1) return;
    check_met(trace);
    for (int i = 0; i < trace->preferred.metrics.n; i++) push(&g->outs, trace->preferred.metrics.at[i]);
}

void trace_reference(lua_State *L, int model, int c)
{
    Trace *trace = trace_of(L);
    if (!trace->desc->prefer->against_reference) return;
    Graph *g = begin_entry(trace, ENTRY_reference);
    size_of_entry(L, c, "batch", trace->batch * ROWS_OF_PAIR);
    call_forward(L, model, c);
    lua_pop(L, 2);
    check_met(trace);
    push(&g->outs, ((Output){OUT_VALUE, "log_likelihood", trace->preferred.likelihood}));
    size_of_entry(L, c, "batch", trace->desc->batch);
    trace->graph = NULL;
    note_leaves(NULL);
    push(&trace->desc->graphs, g);
}

/* ------------------------------------------------------------------ for the library */

/* core.preference(ids): { method = "dpo", beta } if the loss of these ids is one of pairs; else nil */
static int preference_call(lua_State *L)
{
    const Trace *trace = trace_of(L);
    const Prefer *p = trace->desc->prefer;
    if (rows_of_item(trace) == 1 || !are_targets(tensor_at(L, 1, "core.preference")->node)) return 0;
    lua_newtable(L);
    lua_pushstring(L, p->against_reference ? "dpo" : "orpo");
    lua_setfield(L, -2, "method");
    lua_pushnumber(L, p->beta);
    lua_setfield(L, -2, "beta");
    return 1;
}

/* core.log_likelihood(x): x [rows] is that of the answers */
static int likelihood_call(lua_State *L)
{
    Trace *trace = trace_of(L);
    if (trace->preferred.likelihood) user_error(L, "--prefer takes one loss of input.targets, and this is the second");
    trace->preferred.likelihood = tensor_at(L, 1, "core.log_likelihood")->node;
    give_title(trace->preferred.likelihood, "log_likelihood", TITLE_OUTPUT, "");
    return 0;
}

/* core.preference_metric(name, x): x [] is an output of forward, too */
static int metric_call(lua_State *L)
{
    const char *name = copy_string(luaL_checkstring(L, 1));
    Node *n = tensor_at(L, 2, "core.preference_metric")->node;
    give_title(n, name, TITLE_OUTPUT, "");
    push(&trace_of(L)->preferred.metrics, ((Output){OUT_VALUE, name, n}));
    return 0;
}

/* core.reference(): real [rows]: what core.log_likelihood was before the first step */
static int reference_call(lua_State *L)
{
    push_reference(L);
    return 1;
}

const luaL_Reg prefer_functions[] = {{"preference", preference_call},
                                     {"log_likelihood", likelihood_call},
                                     {"preference_metric", metric_call},
                                     {"reference", reference_call},
                                     {NULL, NULL}};
