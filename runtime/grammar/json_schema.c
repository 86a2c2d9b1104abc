/* json_schema.c: a JSON schema (draft 2020-12) becomes a grammar of the JSON texts that it allows.
 *
 * What the grammar allows is valid under the schema, but not the other way round: members come in the order in which
 * the schema names them, others only where additionalProperties says so, and blanks are few.  A keyword that is not
 * supported, or not known, is refused by its path, because it could change what is valid. */
#include "grammar/json_schema.h"
#include "base/json_text.h"

#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ keywords */

typedef enum Type { OBJECT = 1, ARRAY = 2, STRING = 4, INTEGER = 8, NUMBER = 16, BOOLEAN = 32, NOTHING = 64 } Type;
enum { ALL_TYPES = 127 - INTEGER, REMARK = 128, WHOLE = 256, TYPE = 512 };

/* Types that a keyword is about; REMARK: it changes nothing; WHOLE: it says all, so that no other may stand beside it.
 */
static const struct Keyword {
    const char *name;
    int is;
} keywords[] = {
    {"type", TYPE},
    {"$ref", WHOLE},
    {"anyOf", WHOLE},
    {"oneOf", WHOLE},
    {"allOf", WHOLE},
    {"enum", WHOLE},
    {"const", WHOLE},
    {"properties", OBJECT},
    {"required", OBJECT},
    {"additionalProperties", OBJECT},
    {"items", ARRAY},
    {"prefixItems", ARRAY},
    {"minItems", ARRAY},
    {"maxItems", ARRAY},
    {"pattern", STRING},
    {"minLength", STRING},
    {"maxLength", STRING},
    {"format", STRING},
    {"minimum", INTEGER | NUMBER},
    {"maximum", INTEGER | NUMBER},
    {"exclusiveMinimum", INTEGER | NUMBER},
    {"exclusiveMaximum", INTEGER | NUMBER},
    {"title", REMARK},
    {"description", REMARK},
    {"default", REMARK},
    {"examples", REMARK},
    {"example", REMARK},
    {"$schema", REMARK},
    {"$id", REMARK},
    {"$comment", REMARK},
    {"$defs", REMARK},
    {"definitions", REMARK},
    {"deprecated", REMARK},
    {"readOnly", REMARK},
    {"writeOnly", REMARK},
};

static int keyword_is(const char *name)
{
    for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++)
        if (strcmp(name, keywords[i].name) == 0) return keywords[i].is;
    return 0;
}

/* false and the default values of some keywords say nothing. */
static bool says_nothing(const char *name, const json_t *value)
{
    if (strcmp(name, "uniqueItems") == 0) return json_is_false(value);
    if (strcmp(name, "minProperties") == 0) return json_is_integer(value) && json_integer_value(value) == 0;
    return strcmp(name, "additionalItems") == 0 && json_is_false(value);
}

/* Refuses what is not supported, or stands beside what says all; *whole: that keyword, or NULL. */
static bool check_keywords(Json_schema *s, const json_t *v, const char **whole, int *about)
{
    const char *name, *other = NULL;
    json_t *value;
    *whole = NULL;
    *about = 0;
    json_object_foreach((json_t *)(uintptr_t)v, name, value)
    {
        const int is = keyword_is(name);
        if (!is && !says_nothing(name, value)) return refuse_part(s, name, "is not supported"), false;
        if (is == WHOLE && *whole) return refuse_part(s, name, "is not supported beside %s", *whole), false;
        if (is == WHOLE) *whole = name;
        if (is & (ALL_TYPES | INTEGER)) *about |= is, other = name;
    }
    if (*whole && other) return refuse_part(s, other, "is not supported beside %s", *whole), false;
    return true;
}

/* ------------------------------------------------------------------ types */

static const struct Type_name {
    const char *name;
    Type type;
} types[] = {{"object", OBJECT}, {"array", ARRAY},     {"string", STRING}, {"integer", INTEGER},
             {"number", NUMBER}, {"boolean", BOOLEAN}, {"null", NOTHING}};

static int json_type_named(Json_schema *s, const json_t *name)
{
    for (size_t i = 0; json_is_string(name) && i < sizeof types / sizeof *types; i++)
        if (strcmp(json_string_value(name), types[i].name) == 0) return types[i].type;
    refuse_part(s, "type", "expected object, array, string, integer, number, boolean or null, or a list of them");
    return 0;
}

/* Those that "type" names; without it, those that the other keywords are about; else all. */
static int types_of(Json_schema *s, const json_t *v, int about)
{
    const json_t *type = json_object_get(v, "type"), *one;
    size_t i;
    int all = 0;
    if (!type) return about ? about & ~(about & NUMBER ? INTEGER : 0) : ALL_TYPES;
    if (!json_is_array(type)) return json_type_named(s, type);
    json_array_foreach(type, i, one) all |= json_type_named(s, one);
    if (all == 0) refuse_part(s, "type", "no type is allowed");
    return all & NUMBER ? all & ~INTEGER : all;
}

static int plain_type_rule(Json_schema *s, Type type)
{
    Gbnf_text t = {0};
    put_gbnf(&t, "%s", basic_rule(s, type == BOOLEAN ? "boolean" : "null"));
    return end_rule(s, s->rules++, &t);
}

static int type_rule(Json_schema *s, const json_t *v, Type type)
{
    switch (type) {
    case OBJECT: return object_rule(s, v);
    case ARRAY: return array_rule(s, v);
    case STRING: return string_rule(s, v);
    case INTEGER: return integer_rule(s, v);
    case NUMBER: return number_rule(s, v);
    default: return plain_type_rule(s, type);
    }
}

static int types_rule(Json_schema *s, const json_t *v, int about)
{
    const int all = types_of(s, v, about);
    Gbnf_text t = {0};
    for (size_t i = 0; i < sizeof types / sizeof *types && !s->failed; i++)
        if (all & (int)types[i].type) put_gbnf(&t, t.bytes ? " | s%d" : "s%d", type_rule(s, v, types[i].type));
    return end_rule(s, s->rules++, &t);
}

/* ------------------------------------------------------------------ values, alternatives, references */

static bool has_type(const json_t *v, int types)
{
    if (json_is_object(v)) return types & OBJECT;
    if (json_is_array(v)) return types & ARRAY;
    if (json_is_string(v)) return types & STRING;
    if (json_is_integer(v)) return types & (INTEGER | NUMBER);
    if (json_is_real(v)) return types & NUMBER;
    return types & (json_is_boolean(v) ? BOOLEAN : NOTHING);
}

/* Of "enum" and "const": those values that "type" allows. */
static int values_rule(Json_schema *s, const json_t *v, const char *keyword)
{
    const json_t *said = json_object_get(v, keyword), *one;
    const int all = types_of(s, v, 0);
    Gbnf_text t = {0};
    size_t i;
    if (strcmp(keyword, "const") == 0) {
        if (has_type(said, all)) put_value(&t, said);
    } else if (!json_is_array(said)) return refuse_part(s, keyword, "expected a list");
    json_array_foreach(strcmp(keyword, "enum") == 0 ? said : NULL, i, one)
    {
        if (!has_type(one, all)) continue;
        if (t.bytes) put_gbnf(&t, " |");
        put_value(&t, one);
    }
    if (t.bytes == 0) refuse_part(s, keyword, "allows no value");
    return end_rule(s, s->rules++, &t);
}

static int ways_rule(Json_schema *s, const json_t *v, const char *keyword)
{
    const json_t *list = json_object_get(v, keyword);
    const size_t n = json_array_size(list);
    Gbnf_text t = {0};
    if (json_object_get(v, "type"))
        return refuse_part(s, "type", "is not supported beside %s; put it into each part", keyword);
    if (n == 0) return refuse_part(s, keyword, "expected a list of schemas");
    if (n > 1 && strcmp(keyword, "allOf") == 0) return refuse_part(s, keyword, "is supported with one schema alone");
    for (size_t i = 0; i < n && !s->failed; i++) {
        char name[24];
        snprintf(name, sizeof name, "%zu", i);
        put_gbnf(&t, t.bytes ? " | s%d" : "s%d", rule_of_part(s, json_array_get(list, i), keyword, name));
    }
    return end_rule(s, s->rules++, &t);
}

/* One step of a JSON pointer, whose name it changes to plain text. */
static const json_t *part_named(const json_t *v, char *name)
{
    char *to = name, *from = name, *end;
    for (; *from; from++) {
        unsigned code;
        int n = 0;
        if (*from == '%' && sscanf(from, "%%%2x%n", &code, &n) == 1 && n == 3 && code) *to++ = (char)code, from += 2;
        else *to++ = *from;
    }
    *to = 0;
    for (to = from = name; *from; from++) *to++ = *from != '~' ? *from : *++from == '1' ? '/' : '~';
    *to = 0;
    if (!json_is_array(v)) return json_object_get(v, name);
    size_t i = strtoul(name, &end, 10);
    return *name >= '0' && *name <= '9' && !*end ? json_array_get(v, i) : NULL;
}

static const json_t *target_of(const Json_schema *s, const char *ref)
{
    const json_t *v = s->root;
    if (*ref++ != '#' || (*ref && *ref != '/')) return NULL;
    while (v && *ref) {
        char name[256];
        const size_t n = strcspn(++ref, "/");
        if (n >= sizeof name || (n && ref[n - 1] == '~')) return NULL;
        memcpy(name, ref, n);
        name[n] = 0;
        v = part_named(v, name);
        ref += n;
    }
    return v;
}

/* A part that is referred to has a rule of its own, which the part may use again. */
static int ref_rule(Json_schema *s, const json_t *v)
{
    const json_t *said = json_object_get(v, "$ref");
    const char *ref = json_string_value(said);
    const json_t *known = ref ? json_object_get(s->targets, ref) : NULL, *part = ref ? target_of(s, ref) : NULL;
    if (json_object_get(v, "type")) return refuse_part(s, "type", "is not supported beside $ref");
    if (known) return (int)json_integer_value(known);
    if (!part) return refuse_part(s, "$ref", "expected a part of this schema, such as #/$defs/NAME");
    const int rule = s->rules++;
    json_object_set_new(s->targets, ref, json_integer(rule));
    char own[PATH_BYTES];
    memcpy(own, s->path, sizeof own);
    snprintf(s->path, sizeof s->path, "%s", ref + 1);
    Gbnf_text t = {0};
    put_gbnf(&t, "s%d", rule_of_schema(s, part));
    memcpy(s->path, own, sizeof own);
    return end_rule(s, rule, &t);
}

/* ------------------------------------------------------------------ parts */

static int any_rule(Json_schema *s)
{
    Gbnf_text t = {0};
    put_gbnf(&t, "%s", basic_rule(s, "value"));
    return end_rule(s, s->rules++, &t);
}

static int keywords_rule(Json_schema *s, const json_t *v)
{
    const char *whole;
    int about;
    if (json_is_true(v)) return any_rule(s);
    if (json_is_false(v)) return refuse_part(s, "", "false allows no value");
    if (!json_is_object(v)) return refuse_part(s, "", "expected a schema: an object, true or false");
    if (!check_keywords(s, v, &whole, &about)) return -1;
    if (!whole) return about || json_object_get(v, "type") ? types_rule(s, v, about) : any_rule(s);
    if (strcmp(whole, "$ref") == 0) return ref_rule(s, v);
    if (strcmp(whole, "enum") == 0 || strcmp(whole, "const") == 0) return values_rule(s, v, whole);
    return ways_rule(s, v, whole);
}

int rule_of_schema(Json_schema *s, const json_t *v)
{
    if (s->failed) return -1;
    if (s->depth == DEEPEST_SCHEMA) return refuse_part(s, "", "schemas are nested more than %d deep", DEEPEST_SCHEMA);
    s->depth++;
    int rule = keywords_rule(s, v);
    s->depth--;
    return rule;
}

int rule_of_part(Json_schema *s, const json_t *v, const char *keyword, const char *name)
{
    size_t before = enter_part(s, keyword);
    if (name) enter_part(s, name);
    int rule = rule_of_schema(s, v);
    leave_part(s, before);
    return rule;
}

bool take_bound(Json_schema *s, const json_t *v, const char *keyword, int64_t least, int64_t *to)
{
    const json_t *n = json_object_get(v, keyword);
    if (!n) return true;
    double x = json_number_value(n);
    if (!json_is_number(n) || !(x >= (double)least && x <= LONGEST_COUNT) || x != (double)(int64_t)x)
        return refuse_part(s, keyword, "expected a whole number, %lld to %d", (long long)least, LONGEST_COUNT), false;
    *to = (int64_t)x;
    return true;
}

/* ------------------------------------------------------------------ all of it */

char *gbnf_of_schema(const json_t *schema, Grammar_fault *f)
{
    Json_schema s = {.root = schema, .targets = json_object(), .used = json_object(), .f = f};
    *f = (Grammar_fault){0};
    int rule = rule_of_schema(&s, schema);
    basic_rule(&s, "space");
    put_gbnf(&s.out, "root ::= s%d\n", rule);
    json_decref(s.targets);
    json_decref(s.used);
    if (!s.failed) return s.out.at;
    free(s.out.at);
    return NULL;
}

/* What is wrong with the grammar then is wrong with the schema: its size, or parts without an end. */
Grammar *schema_grammar(const json_t *schema, Grammar_fault *f)
{
    char *text = gbnf_of_schema(schema, f);
    if (!text) return NULL;
    Grammar *g = read_gbnf(text, (int64_t)strlen(text), f);
    free(text);
    f->line = f->column = 0;
    bool large = !g && strstr(f->words, "too large");
    bug_if(!g && !large && !strstr(f->words, "itself") && !strstr(f->words, "never ends"));
    if (large)
        snprintf(f->words, sizeof f->words,
                 "#: lengths and numbers of items make a grammar of too many elements; make them smaller");
    else if (!g) snprintf(f->words, sizeof f->words, "#: a $ref leads back to itself, so that no value is ever whole");
    return g;
}

Grammar *any_object_grammar(void)
{
    Grammar_fault f;
    json_t *schema = json_object();
    put_json(schema, "type", json_string("object"));
    put_json(schema, "additionalProperties", json_true());
    Grammar *g = schema_grammar(schema, &f);
    bug_if(!g);
    json_decref(schema);
    return g;
}
