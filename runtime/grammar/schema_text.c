/* schema_text.c: the text of the grammar that a schema becomes: literals, rules, and the basic rules of JSON. */
#include "base/json_text.h"
#include "grammar/json_schema.h"

#include <stdlib.h>
#include <string.h>

void put_gbnf(Gbnf_text *t, const char *fmt, ...)
{
    va_list args, again;
    va_start(args, fmt);
    va_copy(again, args);
    size_t n = (size_t)vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    if (t->bytes + n + 1 > t->room) t->at = must_grow(t->at, t->room = 2 * (t->bytes + n) + 64);
    vsnprintf(t->at + t->bytes, n + 1, fmt, again);
    va_end(again);
    t->bytes += n;
}

void put_literal(Gbnf_text *t, const char *bytes, size_t n)
{
    put_gbnf(t, "\"");
    for (size_t i = 0; i < n; i++) {
        const unsigned char c = (unsigned char)bytes[i];
        if (c == '"' || c == '\\') put_gbnf(t, "\\%c", c);
        else if (c < ' ') put_gbnf(t, "\\x%02X", c);
        else put_gbnf(t, "%c", c);
    }
    put_gbnf(t, "\"");
}

/* ------------------------------------------------------------------ places */

int refuse_part(Json_schema *s, const char *keyword, const char *fmt, ...)
{
    va_list args;
    if (s->failed) return -1;
    s->failed = true;
    int n = snprintf(s->f->words, sizeof s->f->words, "#%.150s%s%.60s: ", s->path, *keyword ? "/" : "", keyword);
    va_start(args, fmt);
    vsnprintf(s->f->words + n, sizeof s->f->words - (size_t)n, fmt, args);
    va_end(args);
    return -1;
}

size_t enter_part(Json_schema *s, const char *key)
{
    size_t before = strlen(s->path);
    snprintf(s->path + before, sizeof s->path - before, "/%s", key);
    return before;
}

void leave_part(Json_schema *s, size_t before) { s->path[before] = 0; }

int end_rule(Json_schema *s, int rule, Gbnf_text *body)
{
    if (s->out.bytes + body->bytes > GRAMMAR_TEXT)
        refuse_part(s, "", "the schema becomes a grammar of more than %d bytes", GRAMMAR_TEXT);
    if (!s->failed) put_gbnf(&s->out, "s%d ::= %s\n", rule, body->bytes ? body->at : "\"\"");
    free(body->at);
    *body = (Gbnf_text){0};
    return s->failed ? -1 : rule;
}

/* ------------------------------------------------------------------ values */

static void put_list(Gbnf_text *t, const json_t *v)
{
    const char *key;
    json_t *one;
    size_t i, n = 0;
    put_gbnf(t, json_is_array(v) ? "\"[\" space" : "\"{\" space");
    json_array_foreach(v, i, one)
    {
        if (n++) put_gbnf(t, " \",\" space");
        put_value(t, one);
    }
    json_object_foreach((json_t *)(uintptr_t)v, key, one)
    {
        json_t *name = json_string(key);
        if (n++) put_gbnf(t, " \",\" space");
        put_value(t, name);
        put_gbnf(t, " space \":\" space");
        put_value(t, one);
        json_decref(name);
    }
    put_gbnf(t, json_is_array(v) ? " space \"]\"" : " space \"}\"");
}

int put_value(Gbnf_text *t, const json_t *v)
{
    put_gbnf(t, " ");
    if (json_is_array(v) || json_is_object(v)) {
        put_list(t, v);
        return 0;
    }
    char *text = json_dumps(v, JSON_ENCODE_ANY | JSON_REAL_PRECISION(17));
    put_literal(t, text ? text : "", text ? strlen(text) : 0);
    free(text);
    return 0;
}

/* ------------------------------------------------------------------ basic rules */

/* Blanks are few, or a model that likes them would write nothing else.  Halves of surrogate pairs stay together. */
static const struct Basic {
    const char *name, *body, *needs[6];
} basics[] = {
    {"space", "| \" \" | \"\\n\"{1,2} [ \\t]{0,20}", {NULL}},
    {"hex", "[0-9a-fA-F]", {NULL}},
    {"unit", "[0-9a-cefA-CEF] hex hex hex | [dD] [0-7] hex hex", {"hex"}},
    {"pair", "[dD] [89abAB] hex hex \"\\\\u\" [dD] [c-fC-F] hex hex", {"hex"}},
    {"char", "[^\"\\\\\\x00-\\x1f] | \"\\\\\" ([\"\\\\/bfnrt] | \"u\" (unit | pair))", {"unit", "pair"}},
    {"plain", "[^\"\\\\\\x00-\\x1f]", {NULL}},
    {"string", "\"\\\"\" char* \"\\\"\"", {"char"}},
    {"integer", "\"-\"? (\"0\" | [1-9] [0-9]{0,17})", {NULL}},
    {"number", "integer (\".\" [0-9]{1,25})? ([eE] [-+]? [0-9]{1,2})?", {"integer"}},
    {"boolean", "\"true\" | \"false\"", {NULL}},
    {"null", "\"null\"", {NULL}},
    {"member", "string space \":\" space value", {"string", "space", "value"}},
    {"object", "\"{\" space (member (space \",\" space member)* space)? \"}\"", {"member", "space"}},
    {"array", "\"[\" space (value (space \",\" space value)* space)? \"]\"", {"value", "space"}},
    {"value",
     "object | array | string | number | boolean | null",
     {"object", "array", "string", "number", "boolean", "null"}},
};

const char *basic_rule(Json_schema *s, const char *name)
{
    if (json_object_get(s->used, name)) return name;
    const struct Basic *b = basics;
    while (strcmp(b->name, name) != 0) b++;
    json_object_set_new(s->used, name, json_true());
    put_gbnf(&s->out, "%s ::= %s\n", b->name, b->body);
    for (size_t i = 0; i < sizeof b->needs / sizeof *b->needs && b->needs[i]; i++) basic_rule(s, b->needs[i]);
    return name;
}
