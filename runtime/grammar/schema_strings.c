/* schema_strings.c: strings of a schema: their lengths, patterns and formats. */
#include "grammar/json_schema.h"

#include <string.h>

static const struct Format { /* the shape alone: 2025-02-31 is a date */
    const char *name, *pattern;
} formats[] = {
    {"date", "^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$"},
    {"time", "^([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,9})?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$"},
    {"date-time", "^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,9})?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$"},
    {"uuid", "^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$"},
};

static const char *format_pattern(Json_schema *s, const json_t *format)
{
    const char *name = json_string_value(format);
    for (size_t i = 0; name && i < sizeof formats / sizeof *formats; i++)
        if (strcmp(name, formats[i].name) == 0) return formats[i].pattern;
    refuse_part(s, "format", "is supported for date, time, date-time, uuid; others as a pattern");
    return NULL;
}

static int pattern_rule(Json_schema *s, const char *keyword, const char *pattern)
{
    char why[200];
    Gbnf_text t = {0};
    put_gbnf(&t, "\"\\\"\" (");
    if (!put_pattern(&t, pattern, basic_rule(s, "char"), why, sizeof why)) refuse_part(s, keyword, "%s", why);
    put_gbnf(&t, ") \"\\\"\"");
    return end_rule(s, s->rules++, &t);
}

int string_rule(Json_schema *s, const json_t *v)
{
    const json_t *pattern = json_object_get(v, "pattern"), *format = json_object_get(v, "format");
    int64_t least = 0, most = -1;
    Gbnf_text t = {0};
    bool lengths = json_object_get(v, "minLength") || json_object_get(v, "maxLength");
    if ((pattern || format) && lengths)
        return refuse_part(s, pattern ? "pattern" : "format",
                           "is not supported beside minLength and maxLength; say the length in the pattern");
    if (pattern && format) return refuse_part(s, "format", "is not supported beside pattern");
    if (pattern && (!json_is_string(pattern) || strlen(json_string_value(pattern)) != json_string_length(pattern)))
        return refuse_part(s, "pattern", "expected a text");
    if (format) {
        const char *shape = format_pattern(s, format);
        return shape ? pattern_rule(s, "format", shape) : -1;
    }
    if (pattern) return pattern_rule(s, "pattern", json_string_value(pattern));
    if (!take_bound(s, v, "minLength", 0, &least) || !take_bound(s, v, "maxLength", least, &most)) return -1;
    if (most < 0) put_gbnf(&t, "\"\\\"\" %s{%lld,} \"\\\"\"", basic_rule(s, "char"), (long long)least);
    else put_gbnf(&t, "\"\\\"\" %s{%lld,%lld} \"\\\"\"", basic_rule(s, "char"), (long long)least, (long long)most);
    return end_rule(s, s->rules++, &t);
}
