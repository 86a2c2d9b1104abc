/* recipe.c: the description's train and data tables become the Lathe_recipe that the trainer follows. */
#include "front/front.h"

#include "runtime/base/printable.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef enum Kind { REAL, COUNT } Kind;

static const struct Field {
    const char *name;  /* as --set names it */
    const char *table; /* where the description says it: train, optimizer, schedule, sample, data */
    const char *key;   /* and by which word */
    Kind kind;
    size_t offset;
    double least, most;
} fields[] = {
#define FIXED(name, kind, least, most, table, key)           {#name, table, key, kind, offsetof(Lathe_recipe, name), least, most},
#define NUMBER(name, kind, least, most, table, key, meaning) FIXED(name, kind, least, most, table, key)
#define CHOICE(name, words, meaning)                         /* read_train, read_data */
#define NAME(name, meaning)
#include "runtime/train_recipe.h"
};

static const Lathe_recipe defaults = {.optimizer = LATHE_ADAMW,
                                      .lr = 1e-3,
                                      .beta1 = 0.9,
                                      .beta2 = 0.999,
                                      .eps = 1e-8,
                                      .schedule = LATHE_CONSTANT_RATE,
                                      .steps = 1000,
                                      .accumulate = 1,
                                      .warm_fraction = 0.3,
                                      .start_div = 25,
                                      .final_div = 1e4,
                                      .cycle_momentum = 1,
                                      .low_momentum = 0.85,
                                      .high_momentum = 0.95,
                                      .step_factor = 0.1,
                                      .keep_last = 3,
                                      .tokenizer = LATHE_BYTES,
                                      .val_fraction = 0.1,
                                      .shuffle_tokens = LATHE_SHUFFLE_TOKENS,
                                      .eval_tokens = LATHE_EVAL_TOKENS,
                                      .buckets = LATHE_BUCKETS,
                                      .temperature = 0.8,
                                      .top_p = 1,
                                      .repetition_penalty = 1,
                                      .sample_tokens = 200,
                                      .beams = -1, /* by the data */
                                      .length_penalty = 1};

const char *const *recipe_names(int *n)
{
    const char **names = NEW_ARRAY(const char *, COUNT_OF(fields));
    for (int i = 0; i < COUNT_OF(fields); i++) names[i] = fields[i].name;
    *n = COUNT_OF(fields);
    return names;
}

bool recipe_knows(const char *key)
{
    for (int i = 0; i < COUNT_OF(fields); i++)
        if (same(fields[i].name, key)) return true;
    return false;
}

bool run_knows(const char *key)
{
    static const char *const names[] = {
#define FIXED(name, kind, least, most, table, key)
#define NUMBER(name, kind, least, most, table, key, meaning)
#define CHOICE(name, words, meaning) #name,
#define NAME(name, meaning)          #name,
#include "runtime/train_recipe.h"
    };
    for (int i = 0; i < COUNT_OF(names); i++)
        if (same(names[i], key)) return true;
    return false;
}

static void store(const struct Field *f, double v)
{
    char *at = (char *)&trace.desc->recipe + f->offset;
    if (f->kind == REAL) *(double *)at = v;
    else *(int64_t *)at = (int64_t)v;
}

static bool in_setting_range(const struct Field *f, double v)
{
    return isfinite(v) && v >= f->least && v <= f->most && (f->kind == REAL || v == floor(v));
}

/* "an integer, 0 or more", "a number from 0 to 1" */
static const char *range_text(const struct Field *f)
{
    const char *kind = f->kind == REAL ? "a number" : "an integer";
    return isinf(f->most) || f->kind == COUNT ? format("%s, %g or more", kind, f->least)
                                              : format("%s from %g to %g", kind, f->least, f->most);
}

void recipe_set(const char *key, const char *text)
{
    for (int i = 0; i < COUNT_OF(fields); i++) {
        if (!same(fields[i].name, key)) continue;
        char *end;
        double v = strtod(text, &end);
        if (end == text || *end || !in_setting_range(&fields[i], v))
            usage_error("--set %s=%s: %s is %s", key, text, key, range_text(&fields[i]));
        store(&fields[i], v);
    }
}

/* ------------------------------------------------------------------ from Lua */

static Where at_key(const char *key) { return place_of_key(trace.desc->file, NULL, key); }

static Where in_table(const char *table, const char *key)
{
    Where where = place_of_key(trace.desc->file, table, key);
    return where.line ? where : at_key(key);
}

/* Numbers of the table on the top that belong to `table`; other keys must be among `others`. */
static void take_numbers(lua_State *L, const char *table, const char *const *others, int nothers)
{
    const char **keys;
    int n;
    keys_of(L, -1, &keys, &n);
    VEC(const char *) known = {0};
    for (int i = 0; i < nothers; i++) push(&known, others[i]);
    for (int i = 0; i < COUNT_OF(fields); i++)
        if (same(fields[i].table, table)) push(&known, fields[i].key);
    for (int k = 0; k < n; k++) {
        bool found = false;
        for (int i = 0; i < known.n; i++) found |= same(known.at[i], keys[k]);
        if (!found)
            err(in_table(table, keys[k]), "%s has no '%s'%s", table, keys[k], advice(keys[k], known.at, known.n));
    }
    for (int i = 0; i < COUNT_OF(fields); i++) {
        const struct Field *f = &fields[i];
        if (!same(f->table, table) || lua_getfield(L, -1, f->key) == LUA_TNIL) {
            if (same(f->table, table)) lua_pop(L, 1);
            continue;
        }
        double v = lua_tonumber(L, -1);
        if (lua_type(L, -1) != LUA_TNUMBER || !in_setting_range(f, v))
            err(in_table(table, f->key), "%s.%s is %s, and this is %s", table, f->key, range_text(f), lua_text(L, -1));
        store(f, v);
        lua_pop(L, 1);
    }
}

/* "kind" of the table on the top, made by optim.NAME or data.NAME; which of names it is. */
static int recipe_made_by(lua_State *L, const char *key, const char *const *names, int n, const char *library)
{
    const char *name = NULL;
    if (lua_istable(L, -1)) {
        lua_getfield(L, -1, "kind");
        name = lua_tostring(L, -1);
        lua_pop(L, 1);
    }
    Text all = {0};
    for (int i = 0; i < n; i++) {
        if (same(names[i], name)) return i;
        say(&all, "%s%s.%s{…}", i ? ", " : "", library, names[i]);
    }
    err(at_key(key), "`%s` is made by one of %s; this is %s", key, all.at, lua_text(L, -1));
}

bool push_description_part(lua_State *L, int model, int c, const char *key)
{
    int type = lua_getfield(L, model, key);
    if (type == LUA_TNIL) return lua_pop(L, 1), false;
    if (type == LUA_TFUNCTION) {
        lua_pushvalue(L, c);
        call_lua(L, 1, 1);
    }
    if (!lua_istable(L, -1))
        err(at_key(key), "`%s` is a table or a function of c that returns one; this is %s", key, lua_text(L, -1));
    return true;
}

/* A word of the table that is on the top, among names; the first where it says nothing. */
static int word_of_setting(lua_State *L, const char *key, const char *const *names, int n)
{
    lua_getfield(L, -1, key);
    const char *word = lua_tostring(L, -1);
    Text all = {0};
    for (int i = 0; word && i < n; i++) {
        if (same(names[i], word)) return lua_pop(L, 1), i;
        say(&all, "%s\"%s\"", i ? ", " : "", names[i]);
    }
    if (word) err(at_key(key), "%s is one of %s, and this is \"%s\"%s", key, all.at, word, advice(word, names, n));
    lua_pop(L, 1);
    return 0;
}

static const char *text_of_key(lua_State *L, const char *key)
{
    lua_getfield(L, -1, key);
    const char *text = lua_isnil(L, -1) ? NULL : copy_string(luaL_checkstring(L, -1));
    lua_pop(L, 1);
    return text;
}

static void read_best(lua_State *L)
{
    static const char *const modes[] = {"auto", "min", "max"};
    Lathe_recipe *r = &trace.desc->recipe;
    if (lua_getfield(L, -1, "best") != LUA_TNIL && lua_type(L, -1) != LUA_TSTRING)
        err(at_key("best"), "`best` is the name of a metric, such as \"loss\", and this is %s", lua_text(L, -1));
    lua_pop(L, 1);
    r->best = text_of_key(L, "best");
    r->best_mode = (Lathe_mode)word_of_setting(L, "best_mode", modes, COUNT_OF(modes));
}

/* A list of prompts as a JSON array, or a number of samples without any, as --set takes them too. */
static const char *prompts_text(lua_State *L)
{
    Text t = {0};
    int n = lua_istable(L, -1) ? (int)lua_rawlen(L, -1) : 0;
    if (lua_isinteger(L, -1) && lua_tointeger(L, -1) > 0) return format("%lld", lua_tointeger(L, -1));
    if (n == 0)
        err(at_key("samples"), "`samples` is a list of texts, { \"Once upon\" }, or a number, and this is %s",
            lua_text(L, -1));
    for (int i = 1; i <= n; i++) {
        lua_rawgeti(L, -1, i);
        if (lua_type(L, -1) != LUA_TSTRING)
            err(at_key("samples"), "`samples` is a list of texts, and number %d is %s", i, lua_text(L, -1));
        if (!is_utf8(lua_tostring(L, -1)))
            err(at_key("samples"), "`samples` are texts in UTF-8, and number %d is none: %s", i, lua_text(L, -1));
        say(&t, "%s", i > 1 ? ", " : "[");
        say_json_string(&t, lua_tostring(L, -1));
        lua_pop(L, 1);
    }
    say(&t, "]");
    return t.at;
}

static void read_train(lua_State *L)
{
    static const char *const parts[] = {"optimizer", "schedule", "sample", "groups", "best", "best_mode", "samples"};
    static const char *const optimizers[] = {"sgd", "adamw", "adam", "lion"},
                             *const schedules[] = {"constant", "linear", "cosine", "one_cycle", "step", "inverse_sqrt"},
                             *const kind[] = {"kind", "milestones"};
    take_numbers(L, "train", parts, COUNT_OF(parts));
    if (lua_getfield(L, -1, "optimizer") != LUA_TNIL) {
        trace.desc->recipe.optimizer =
            (Lathe_optimizer)recipe_made_by(L, "optimizer", optimizers, COUNT_OF(optimizers), "optim");
        take_numbers(L, "optimizer", kind, 1);
    }
    lua_pop(L, 1);
    if (lua_getfield(L, -1, "schedule") != LUA_TNIL) {
        trace.desc->recipe.schedule =
            (Lathe_schedule)recipe_made_by(L, "schedule", schedules, COUNT_OF(schedules), "optim");
        take_numbers(L, "schedule", kind, 2);
        trace.desc->recipe.milestones = text_of_key(L, "milestones");
    }
    lua_pop(L, 1);
    if (lua_getfield(L, -1, "sample") != LUA_TNIL) {
        if (!lua_istable(L, -1))
            err(at_key("sample"), "`sample` is a table such as { temperature = 0.8, tokens = 200 }");
        take_numbers(L, "sample", NULL, 0);
    }
    lua_pop(L, 1);
    if (lua_getfield(L, -1, "groups") != LUA_TNIL) read_groups(L);
    lua_pop(L, 1);
    read_best(L);
    if (lua_getfield(L, -1, "samples") != LUA_TNIL) trace.desc->recipe.samples = prompts_text(L);
    lua_pop(L, 1);
}

/* {7, 3} as "7,3"; NULL where the data table on the top has none. */
static const char *mix_text(lua_State *L)
{
    int64_t weight[LATHE_SOURCES];
    Text t = {0};
    if (lua_getfield(L, -1, "mix") == LUA_TNIL) return lua_pop(L, 1), NULL;
    for (lua_Integer i = 1; lua_geti(L, -1, i) != LUA_TNIL; i++) {
        say(&t, "%s%s", i > 1 ? "," : "", lua_type(L, -1) == LUA_TNUMBER ? format("%.15g", lua_tonumber(L, -1)) : "?");
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
    if (!t.at || lathe_mix(t.at, weight) < 0)
        err(at_key("mix"),
            "mix is a list of weights, one for each path of --data: { 7, 3 }; at most %d, each from 0.000001 to "
            "1000000",
            LATHE_SOURCES);
    lua_pop(L, 1);
    return t.at;
}

/* Which rows of a text there are, and in which order. */
static void read_order(lua_State *L)
{
    static const char *const orders[] = {"", "windows", "epochs", "contiguous"}, *const documents[] = {"file", "blank",
                                                                                                       "line", "whole"};
    Lathe_recipe *r = &trace.desc->recipe;
    r->order = (Lathe_order)word_of_setting(L, "order", orders, COUNT_OF(orders));
    r->documents = (Lathe_documents)word_of_setting(L, "documents", documents, 4);
    r->bos = text_of_key(L, "bos");
    r->eos = text_of_key(L, "eos");
    lua_getfield(L, -1, "pack");
    r->pack = lua_toboolean(L, -1);
    lua_pop(L, 1);
    r->mix = mix_text(L);
    bool one = r->order == LATHE_WINDOWS || r->order == LATHE_CONTIGUOUS;
    if (r->pack && one)
        err(at_key("pack"), "windows are of one text without end; packing documents needs order = \"epochs\"");
    if (r->mix && one)
        err(at_key("mix"), "windows are of one text without end; mixing sources needs order = \"epochs\"");
    if (r->pack || r->mix) r->order = LATHE_EPOCHS;
}

/* What of pairs counts, and how they become rows. */
static void read_pairs(lua_State *L)
{
    static const char *const losses[] = {"auto", "target", "all"}, *const targets[] = {"join", "first", "each"},
                             *const longer[] = {"cut", "skip"};
    Lathe_recipe *r = &trace.desc->recipe;
    r->loss_on = (Lathe_loss_on)word_of_setting(L, "loss_on", losses, 3);
    r->targets = (Lathe_targets)word_of_setting(L, "targets", targets, 3);
    r->on_long = (Lathe_long)word_of_setting(L, "on_long", longer, 2);
    r->sep = text_of_key(L, "sep");
    r->pad = text_of_key(L, "pad");
    if (!r->pairs) return;
    r->order = LATHE_EPOCHS;
    r->text_field = text_of_key(L, "source");
    r->target_field = text_of_key(L, "target");
}

/* A file's or folder's name, from the description's own folder on.  Which tokenizer it is, trainers find out. */
static void name_tokenizer(const char *name, const char *found)
{
    static const char *const tokenizers[] = {"bytes", "chars"};
    const char *file = trace.desc->file, *slash = strrchr(file, '/');
    Where where = at_key("tokenizer");
    char *path = name && *name == '/' ? format("%s", name)
                                      : format("%.*s%s", slash ? (int)(slash + 1 - file) : 0, file, name ? name : "");
    char *whole = name && *name ? realpath(path, NULL) : NULL;
    if (!whole)
        err(where, "the tokenizer is \"bytes\", \"chars\", or a file or folder of one, and this is %s%s%s", found,
            name && *name ? format("; there is no %s", path) : "", name ? advice(name, tokenizers, 2) : "");
    trace.desc->recipe.tokenizer_file = copy_string(whole);
    trace.desc->recipe.tokenizer_place = format("%s:%d", where.file, where.line);
    free(whole);
}

static void read_tokenizer(lua_State *L)
{
    Lathe_recipe *r = &trace.desc->recipe;
    lua_getfield(L, -1, "tokenizer");
    const char *name = lua_tostring(L, -1);
    r->tokenizer = same(name, "bytes") ? LATHE_BYTES : same(name, "chars") ? LATHE_CHARS : LATHE_TOKENIZER_FILE;
    if (r->tokenizer == LATHE_TOKENIZER_FILE) name_tokenizer(name, lua_text(L, -1));
    lua_pop(L, 1);
}

static void read_data(lua_State *L)
{
    enum { TEXT, CSV, PAIRS };
    static const char *const kinds[] = {"text", "csv", "pairs"};
    static const char *const others[] = {"kind", "tokenizer", "target",  "order",   "documents",
                                         "pack", "bos",       "eos",     "loss_on", "sep",
                                         "pad",  "source",    "targets", "on_long", "mix"};
    Lathe_recipe *r = &trace.desc->recipe;
    int kind = recipe_made_by(L, "data", kinds, COUNT_OF(kinds), "data");
    take_numbers(L, "data", others, COUNT_OF(others));
    r->pairs = kind == PAIRS;
    if (kind == CSV) {
        r->tokenizer = LATHE_NO_TEXT;
        r->csv_target = text_of_key(L, "target");
    } else {
        read_order(L);
        read_pairs(L);
        read_tokenizer(L);
    }
    if (r->val_fraction >= 1)
        err(at_key("val_fraction"), "val_fraction is the part of the data kept for evaluation, below 1");
}

/* generate.tokens is what sample.tokens is, for those who write for a source. */
static void read_generate(lua_State *L)
{
    static const char *const others[] = {"tokens"};
    take_numbers(L, "generate", others, 1);
    for (int i = 0; i < COUNT_OF(fields); i++) {
        const struct Field *f = &fields[i];
        if (!same(f->name, "sample_tokens") || lua_getfield(L, -1, "tokens") == LUA_TNIL) continue;
        if (lua_type(L, -1) != LUA_TNUMBER || !in_setting_range(f, lua_tonumber(L, -1)))
            err(at_key("tokens"), "generate.tokens is %s, and this is %s", range_text(f), lua_text(L, -1));
        store(f, lua_tonumber(L, -1));
        return;
    }
}

static void settle_generate(Lathe_recipe *r)
{
    if (!r->rows) r->rows = r->pairs ? LATHE_PAIR_ROWS : 1;
    if (r->beams < 0) r->beams = r->pairs ? (r->rows < LATHE_PAIR_ROWS ? r->rows : LATHE_PAIR_ROWS) : 0;
    if (r->beams > r->rows)
        err(at_key("beams"),
            "%lld beams take as many rows of decode side by side, and there %s %lld: generate = { rows = %lld }",
            (long long)r->beams, r->rows == 1 ? "is" : "are", (long long)r->rows, (long long)r->beams);
    if (r->eval_generate && !r->pairs)
        err(at_key("eval_generate"),
            "texts are written for sources and held against their targets: that needs data.pairs");
}

/* ------------------------------------------------------------------ with all entries there */

static void check_best(const Lathe_recipe *r)
{
    static const char *const rouge[] = {"rouge1", "rouge2", "rougeL"};
    const Graph *train = entry_graph(trace.desc, ENTRY_train); /* which has the scores of eval and score */
    VEC(const char *) known = {0};
    bool found = !r->best;
    for (int i = 0; i < train->outs.n; i++)
        if (train->outs.at[i].kind == OUT_VALUE) push(&known, train->outs.at[i].name);
    if (!r->csv_target) push(&known, "perplexity");
    for (int i = 0; i < COUNT_OF(rouge) && r->eval_generate; i++) push(&known, rouge[i]);
    for (int i = 0; i < known.n; i++) found |= same(known.at[i], r->best);
    if (!found)
        err(at_key("best"), "there is no metric '%s'; forward returns it as an output without axes%s", r->best,
            advice(r->best, known.at, known.n));
    if (r->best && !r->best_mode && lathe_less_is_better(r->best) < 0)
        err(at_key("best"),
            "whether less or more of '%s' is better, its name does not tell: say best_mode = \"min\" or \"max\"",
            r->best);
}

void check_recipe(void)
{
    const Lathe_recipe *r = &trace.desc->recipe;
    check_groups();
    check_best(r);
    if (r->samples && !entry_graph(trace.desc, ENTRY_decode) && !entry_graph(trace.desc, ENTRY_sample))
        err(at_key("samples"),
            "`samples` needs an output that generate draws from: return { logits = logits } from forward, or say how "
            "they are drawn: sample = function(c, input) … end");
}

void read_recipe(lua_State *L, int model)
{
    int c = lua_gettop(L);
    trace.desc->recipe = defaults;
    if (push_description_part(L, model, c, "train")) read_train(L);
    lua_settop(L, c);
    if (push_description_part(L, model, c, "data")) read_data(L);
    lua_settop(L, c);
    if (push_description_part(L, model, c, "generate")) read_generate(L);
    lua_settop(L, c);
    apply_late_sets();
    settle_generate(&trace.desc->recipe);
}
