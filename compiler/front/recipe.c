/* recipe.c: reads the description's train, data and generate tables into the trainer's Lathe_recipe. */
#include "front/front.h"

#include "desc/settings.h"
#include "runtime/base/printable.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const *recipe_names(int *n)
{
    VEC(const char *) names = {0};
    const Setting *s;
    for (int k = 0; (s = setting_at(k)); k++)
        if (recipe_knows(s->name)) push(&names, s->name);
    *n = names.n;
    return names.at;
}

bool recipe_knows(const char *key)
{
    const Setting *s = find_setting(key);
    return s && is_settable(s) && (setting_is_number(s) || same(key, "accumulate_at"));
}

bool run_knows(const char *key)
{
    const Setting *s = find_setting(key);
    return s && is_settable(s) && !recipe_knows(key);
}

void recipe_set(Trace *trace, const char *key, const char *text)
{
    const Setting *s = find_setting(key);
    double v;
    if (!setting_is_number(s)) {
        set_growth(trace, text);
        return;
    }
    if (trace->desc->turns.n && lathe_is_of_turn(s->table, s->name))
        usage_error("--set %s=%s: each turn has its own %s; change it in train.turns of the description", key, text,
                    key);
    if (!setting_takes(s, text, &v)) usage_error("--set %s=%s: %s must be %s", key, text, key, range_text(s));
    put_setting_number(s, &trace->desc->recipe, v);
}

/* ------------------------------------------------------------------ from Lua */

static Where at_key(lua_State *L, const char *key) { return place_of_key(trace_of(L), NULL, key); }

static Where in_table(lua_State *L, const char *table, const char *key)
{
    Where where = place_of_key(trace_of(L), table, key);
    return where.line ? where : at_key(L, key);
}

/* Is it a key of this table?  If a function made the table, it must be an option of the function. */
static bool belongs(const Setting *s, const char *table, const char *function)
{
    return s->table && same(s->table, table) && (!function || option_of(s, function));
}

/* Lists and these settings have their own readers. */
static bool is_read_apart(const Setting *s)
{
    static const char *const apart[] = {"optimizer", "schedule", "tokenizer", "best"};
    for (int i = 0; i < COUNT_OF(apart); i++)
        if (same(apart[i], s->name)) return true;
    return s->kind == SETTING_LIST;
}

/* Refuses keys of the table on the top that are neither settings of `table` nor among `others`. */
static void check_keys(lua_State *L, const char *table, const char *function, const char *const *others, int nothers)
{
    const char **keys;
    const Setting *s;
    int n;
    VEC(const char *) known = {0};
    keys_of(L, -1, &keys, &n);
    for (int i = 0; i < nothers; i++) push(&known, others[i]);
    for (int i = 0; (s = setting_at(i)); i++)
        if (belongs(s, table, function)) push(&known, s->key);
    for (int k = 0; k < n; k++) {
        bool found = false;
        for (int i = 0; i < known.n; i++) found |= same(known.at[i], keys[k]);
        if (found) continue;
        const char *theirs = option_known_as(keys[k], known.at, known.n);
        err(in_table(L, table, keys[k]), "%s has no '%s'%s", table, keys[k],
            theirs ? theirs : advice(keys[k], known.at, known.n));
    }
}

/* Takes the number on the top; a flag may be a number, true or false. */
static void take_number(lua_State *L, const Setting *s, const char *table, const char *key)
{
    bool flag = s->kind == SETTING_FLAG && lua_isboolean(L, -1);
    double v = flag ? lua_toboolean(L, -1) : lua_tonumber(L, -1);
    if ((lua_type(L, -1) != LUA_TNUMBER && !flag) || !setting_holds(s, v))
        err(in_table(L, table, key), "%s.%s must be %s, found %s", table, key, range_text(s), lua_text(L, -1));
    put_setting_number(s, &trace_of(L)->desc->recipe, v);
}

/* Takes one of the setting's words. */
static void choose_word(lua_State *L, const Setting *s, const char *word)
{
    int n = word_count(s);
    Text all = {0};
    for (int i = 0; i < n; i++) {
        if (same(s->words[i], word)) {
            *(int *)((char *)&trace_of(L)->desc->recipe + s->field) = i;
            return;
        }
        say(&all, "%s\"%s\"", i ? ", " : "", s->words[i]);
    }
    err(at_key(L, s->key), "%s must be one of %s, found \"%s\"%s", s->key, all.at, word,
        did_you_mean(word, s->words, n));
}

/* Takes the value on the top, which is not nil. */
static void take_setting(lua_State *L, const Setting *s)
{
    char *field = (char *)&trace_of(L)->desc->recipe + s->field;
    if (setting_is_number(s)) take_number(L, s, s->table, s->key);
    else if (s->kind == SETTING_BOOL) *(bool *)field = lua_toboolean(L, -1);
    else if (s->kind == SETTING_TEXT) *(const char **)field = copy_string(luaL_checkstring(L, -1));
    else if (lua_tostring(L, -1)) choose_word(L, s, lua_tostring(L, -1));
}

/* Takes the settings of the table on the top; function: its maker, NULL: it is the description's own. */
static void take_settings(lua_State *L, const char *table, const char *function, const char *const *others, int nothers)
{
    const Setting *s;
    check_keys(L, table, function, others, nothers);
    for (int i = 0; (s = setting_at(i)); i++) {
        if (!belongs(s, table, function) || is_read_apart(s)) continue;
        if (lua_getfield(L, -1, s->key) != LUA_TNIL) take_setting(L, s);
        lua_pop(L, 1);
    }
}

/* The index in names of the function, optim.NAME or data.NAME, that made the table on the top. */
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
    if (same(key, "optimizer")) say(&all, ", optim.muon{…}, optim.adafactor{…}, optim.lamb{…}, optim.own{…}");
    err(at_key(L, key), "`%s` must be made by one of %s, found %s", key, all.at, lua_text(L, -1));
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
        err(at_key(L, key), "`%s` must be a table or a function of c that returns one, found %s", key, lua_text(L, -1));
    return true;
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
    if (lua_getfield(L, -1, "best") != LUA_TNIL && lua_type(L, -1) != LUA_TSTRING)
        err(at_key(L, "best"), "`best` must be the name of a metric, such as \"loss\", found %s", lua_text(L, -1));
    lua_pop(L, 1);
    trace_of(L)->desc->recipe.best = text_of_key(L, "best");
}

/* Prompts as a JSON array, or a number of samples, in the form of --set. */
static const char *prompts_text(lua_State *L)
{
    Text t = {0};
    int n = lua_istable(L, -1) ? (int)lua_rawlen(L, -1) : 0;
    if (lua_isinteger(L, -1) && lua_tointeger(L, -1) > 0) return format("%lld", lua_tointeger(L, -1));
    if (n == 0)
        err(at_key(L, "samples"), "`samples` must be a list of texts, { \"Once upon\" }, or a number, found %s",
            lua_text(L, -1));
    for (int i = 1; i <= n; i++) {
        lua_rawgeti(L, -1, i);
        if (lua_type(L, -1) != LUA_TSTRING)
            err(at_key(L, "samples"), "`samples` must be a list of texts, but number %d is %s", i, lua_text(L, -1));
        if (!is_utf8(lua_tostring(L, -1)))
            err(at_key(L, "samples"), "`samples` must be UTF-8 texts, but number %d is not: %s", i, lua_text(L, -1));
        say(&t, "%s", i > 1 ? ", " : "[");
        say_json_string(&t, lua_tostring(L, -1));
        lua_pop(L, 1);
    }
    say(&t, "]");
    return t.at;
}

/* Takes train.optimizer or train.schedule: the word of optim.WORD, which made it, and its options. */
static void read_made(lua_State *L, const char *name, const char *const *others, int nothers)
{
    Trace *trace = trace_of(L);
    const Setting *s = find_setting(name);
    if (lua_getfield(L, -1, s->key) != LUA_TNIL) {
        int word = recipe_made_by(L, s->key, s->words, word_count(s), "optim");
        *(int *)((char *)&trace->desc->recipe + s->field) = word;
        take_settings(L, s->key, format("optim.%s", s->words[word]), others, nothers);
        if (same(name, "optimizer")) read_direction(L);
        if (same(name, "schedule")) trace->desc->recipe.milestones = text_of_key(L, "milestones");
    }
    lua_pop(L, 1);
}

static void read_optimizer(lua_State *L)
{
    static const char *const optimizer[] = {"kind", "own"}, *const schedule[] = {"kind", "milestones"};
    read_made(L, "optimizer", optimizer, 2);
    read_made(L, "schedule", schedule, 2);
}

void read_turn_settings(lua_State *L)
{
    static const char *const clips[] = {"clip", "clip_value", "clip_weights"};
    read_optimizer(L);
    for (int i = 0; i < COUNT_OF(clips); i++) {
        if (lua_getfield(L, -1, clips[i]) != LUA_TNIL) take_setting(L, find_setting(clips[i]));
        lua_pop(L, 1);
    }
}

static void read_train(lua_State *L)
{
    static const char *const parts[] = {"sample", "groups", "turns"};
    take_settings(L, "train", NULL, parts, COUNT_OF(parts));
    read_optimizer(L);
    if (lua_getfield(L, -1, "sample") != LUA_TNIL) {
        if (!lua_istable(L, -1))
            err(at_key(L, "sample"), "`sample` must be a table such as { temperature = 0.8, tokens = 200 }");
        take_settings(L, "sample", NULL, NULL, 0);
    }
    lua_pop(L, 1);
    if (lua_getfield(L, -1, "groups") != LUA_TNIL) read_groups(L);
    lua_pop(L, 1);
    read_best(L);
    if (lua_getfield(L, -1, "samples") != LUA_TNIL) trace_of(L)->desc->recipe.samples = prompts_text(L);
    lua_pop(L, 1);
    if (lua_getfield(L, -1, "turns") != LUA_TNIL) read_turn_list(L);
    lua_pop(L, 1);
    read_growth(L);
}

/* mix of the data table on the top, {7, 3}, as "7,3"; NULL: it has none. */
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
        err(at_key(L, "mix"),
            "mix must be a list of weights, one per path of --data, such as { 7, 3 }: at most %d, each from 0.000001 "
            "to 1000000",
            LATHE_SOURCES);
    lua_pop(L, 1);
    return t.at;
}

/* Settles how rows are cut from a text, and their order. */
static void settle_order(lua_State *L, Lathe_recipe *r)
{
    r->mix = mix_text(L);
    bool one = r->order == LATHE_WINDOWS || r->order == LATHE_CONTIGUOUS;
    if (r->pack && one)
        err(at_key(L, "pack"), "windows come from one endless text; packing documents needs order = \"epochs\"");
    if (r->mix && one)
        err(at_key(L, "mix"), "windows come from one endless text; mixing sources needs order = \"epochs\"");
    if (r->pack || r->mix || r->pairs) r->order = LATHE_EPOCHS;
}

/* A file or folder, relative to the description's folder.  The trainer finds out which kind of tokenizer it is. */
static void name_tokenizer(lua_State *L, const char *name, const char *found)
{
    static const char *const tokenizers[] = {"bytes", "chars"};
    Trace *trace = trace_of(L);
    const char *file = trace->desc->file, *slash = strrchr(file, '/');
    Where where = at_key(L, "tokenizer");
    char *path = name && *name == '/' ? format("%s", name)
                                      : format("%.*s%s", slash ? (int)(slash + 1 - file) : 0, file, name ? name : "");
    char *whole = name && *name ? realpath(path, NULL) : NULL;
    if (!whole)
        err(where, "the tokenizer must be \"bytes\", \"chars\", or a tokenizer's file or folder, found %s%s%s", found,
            name && *name ? format("; there is no %s", path) : "", name ? advice(name, tokenizers, 2) : "");
    trace->desc->recipe.tokenizer_file = copy_string(whole);
    trace->desc->recipe.tokenizer_place = format("%s:%d", where.file, where.line);
    free(whole);
}

static void read_tokenizer(lua_State *L)
{
    Lathe_recipe *r = &trace_of(L)->desc->recipe;
    lua_getfield(L, -1, "tokenizer");
    const char *name = lua_tostring(L, -1);
    r->tokenizer = same(name, "bytes") ? LATHE_BYTES : same(name, "chars") ? LATHE_CHARS : LATHE_TOKENIZER_FILE;
    if (r->tokenizer == LATHE_TOKENIZER_FILE) name_tokenizer(L, name, lua_text(L, -1));
    lua_pop(L, 1);
}

static void read_data(lua_State *L)
{
    enum { TEXT, CSV, PAIRS, ARRAYS, TABLE, IMAGES, AUDIO, SERIES, SENTENCES };
    static const char *const kinds[] = {"text",   "csv",   "pairs",  "arrays",   "table",
                                        "images", "audio", "series", "sentences"},
                             *const others[] = {"kind"};
    Lathe_recipe *r = &trace_of(L)->desc->recipe;
    int kind = recipe_made_by(L, "data", kinds, COUNT_OF(kinds), "data");
    take_settings(L, "data", format("data.%s", kinds[kind]), others, COUNT_OF(others));
    r->pairs = kind == PAIRS;
    r->arrays = kind == ARRAYS || kind == IMAGES || kind == AUDIO || kind == SERIES || kind == SENTENCES;
    r->sentences = kind == SENTENCES;
    r->images = kind == IMAGES;
    r->audio = kind == AUDIO;
    r->series = kind == SERIES;
    r->table = kind == TABLE;
    if (kind != TEXT && kind != PAIRS && kind != SENTENCES) r->tokenizer = LATHE_NO_TEXT;
    else read_tokenizer(L);
    if (kind == TEXT || kind == PAIRS) settle_order(L, r);
    if (r->split == LATHE_BY_GROUP && !r->group && !r->series)
        err(at_key(L, "split"), "split = \"group\" needs what says it, such as a column: group = \"NAME\"");
    if (r->split != LATHE_BY_GROUP && r->group)
        err(at_key(L, "group"), "group = \"%s\" is read with split = \"group\" only", r->group);
    if (r->val_fraction >= 1)
        err(at_key(L, "val_fraction"), "val_fraction, the part of the data kept for evaluation, must be below 1");
}

/* generate.tokens is another name of sample.tokens. */
static void read_generate(lua_State *L)
{
    static const char *const others[] = {"tokens"};
    take_settings(L, "generate", NULL, others, 1);
    if (lua_getfield(L, -1, "tokens") != LUA_TNIL) take_number(L, find_setting("sample_tokens"), "generate", "tokens");
    lua_pop(L, 1);
}

static void settle_generate(lua_State *L, Lathe_recipe *r)
{
    if (!r->rows) r->rows = r->pairs ? LATHE_PAIR_ROWS : 1;
    if (r->beams < 0) r->beams = r->pairs ? (r->rows < LATHE_PAIR_ROWS ? r->rows : LATHE_PAIR_ROWS) : 0;
    if (r->beams > r->rows)
        err(at_key(L, "beams"), "%lld beams need %lld rows in decode, found %lld; set generate = { rows = %lld }",
            (long long)r->beams, (long long)r->beams, (long long)r->rows, (long long)r->beams);
    if (r->eval_generate && !r->pairs)
        err(at_key(L, "eval_generate"), "eval_generate compares generated texts with targets, which needs data.pairs");
}

/* ------------------------------------------------------------------ the library's options */

/* start: as in recipe.def: a number, true, "text", none. */
static void push_default(lua_State *L, int marks, const char *start)
{
    size_t n = strlen(start);
    if (*start == '"') lua_pushlstring(L, start + 1, n - 2);
    else if (same(start, "true") || same(start, "false")) lua_pushboolean(L, *start == 't');
    else if (same(start, "none") || same(start, "required")) lua_getfield(L, marks, start);
    else must(lua_stringtonumber(L, start) == n + 1);
}

/* core.settings(function, options): for options.declare: { key = { type, default, meaning } } */
static int settings_of_function(lua_State *L)
{
    static const char *const types[] = {
        [SETTING_REAL] = "number", [SETTING_COUNT] = "integer", [SETTING_FLAG] = "boolean", [SETTING_WORD] = "string",
        [SETTING_TEXT] = "string", [SETTING_LIST] = "list",     [SETTING_BOOL] = "boolean"};
    const Setting *s;
    lua_newtable(L);
    for (int i = 0; (s = setting_at(i)); i++) {
        const Setting_option *o = option_of(s, luaL_checkstring(L, 1));
        if (!o) continue;
        lua_createtable(L, 3, 0);
        lua_pushstring(L, types[s->kind]);
        lua_rawseti(L, -2, 1);
        push_default(L, 2, o->start);
        lua_rawseti(L, -2, 2);
        lua_pushstring(L, o->meaning);
        lua_rawseti(L, -2, 3);
        lua_setfield(L, -2, s->key);
    }
    return 1;
}

const luaL_Reg recipe_functions[] = {{"settings", settings_of_function}, {NULL, NULL}};

/* ------------------------------------------------------------------ with all entries there */

static void check_best(lua_State *L, const Lathe_recipe *r)
{
    static const char *const rouge[] = {LATHE_ROUGES};
    const Desc *d = trace_of(L)->desc;
    const Graph *g = entry_graph(d, d->turns.n ? ENTRY_grad : ENTRY_train); /* it has all outputs of eval and score */
    VEC(const char *) known = {0};
    bool found = !r->best, loss = false;
    for (int i = 0; r->best && i < trace_of(L)->losses && i < g->outs.n; i++) loss |= same(g->outs.at[i].name, r->best);
    for (int i = 0; i < g->outs.n; i++)
        if (g->outs.at[i].kind == OUT_VALUE && g->outs.at[i].node->shape.rank == 0) push(&known, g->outs.at[i].name);
    for (int i = 0; i < trace_of(L)->metrics.n; i++) push(&known, trace_of(L)->metrics.at[i]);
    if (!lathe_reads_rows(r)) push(&known, "perplexity");
    for (int i = 0; i < COUNT_OF(rouge) && r->eval_generate; i++) push(&known, rouge[i]);
    for (int i = 0; i < known.n; i++) found |= same(known.at[i], r->best);
    if (r->best && lathe_reads_rows(r))
        found |= lathe_less_is_better_of_task(r->best) >= 0; /* the trainer knows which */
    if (!found)
        err(at_key(L, "best"), "there is no metric '%s'; a metric is a scalar output of forward, or one of metrics%s%s",
            r->best, lathe_reads_rows(r) ? ", or what `trainer eval` adds, such as rmse or macro_f1" : "",
            advice(r->best, known.at, known.n));
    if (r->best && !loss && !r->best_mode && lathe_less_is_better(r->best) < 0)
        err(at_key(L, "best"), "set best_mode = \"min\" or \"max\"; the name '%s' does not tell which is better",
            r->best);
}

void check_recipe(lua_State *L)
{
    const Trace *trace = trace_of(L);
    const Lathe_recipe *r = &trace->desc->recipe;
    check_lora(trace);
    check_block_types(trace->desc);
    check_groups(trace);
    check_turns(trace);
    check_best(L, r);
    check_optimizers(trace);
    check_accumulate_at(trace);
    check_noise_scale(trace);
    check_exact_sums(trace);
    check_shards(trace);
    if (r->samples && !entry_graph(trace->desc, ENTRY_decode) && !entry_graph(trace->desc, ENTRY_sample))
        err(at_key(L, "samples"), "`samples` needs an output to generate from: return { logits = logits } from "
                                  "forward, or define sample = function(c, input) … end");
}

/* Whether the inputs have one of this name, which is looked at later. */
static bool declares(lua_State *L, int model, int c, const char *name)
{
    bool there =
        push_description_part(L, model, c, "inputs") && lua_istable(L, -1) && lua_getfield(L, -1, name) != LUA_TNIL;
    lua_settop(L, c);
    return there;
}

void read_recipe(lua_State *L, int model)
{
    Trace *trace = trace_of(L);
    int c = lua_gettop(L);
    trace->desc->recipe = recipe_defaults;
    trace->settling = true;
    if (push_description_part(L, model, c, "train")) read_train(L);
    lua_settop(L, c);
    if (push_description_part(L, model, c, "data")) read_data(L);
    lua_settop(L, c);
    trace->desc->recipe.texts = trace->desc->recipe.audio && declares(L, model, c, "text");
    trace->desc->recipe.labelled =
        trace->desc->recipe.sentences && (declares(L, model, c, "label") || declares(L, model, c, "labels"));
    if (push_description_part(L, model, c, "generate")) read_generate(L);
    lua_settop(L, c);
    apply_late_sets(trace);
    settle_generate(L, &trace->desc->recipe);
    settle_prefer(trace);
    settle_distill(trace);
    trace->settling = false;
}
