/* schema_lists.c: objects and arrays of a schema. */
#include "base/utf8.h"
#include "grammar/json_schema.h"

#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ names that are taken */

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Rest of a name that is none of name[0 … n - 1], which begin with the same `from` bytes; returns the rule.  The rule
 * ends where the name may end. */
static int other_names_rule(Json_schema *s, const char **name, size_t n, size_t from)
{
    Gbnf_text t = {0}, taken = {0};
    const int rule = s->rules++;
    const bool whole = n && !name[0][from];
    for (size_t i = whole, end; i < n && !s->failed; i = end) {
        uint32_t code;
        const int bytes = decode_utf8((const unsigned char *)name[i] + from, (int64_t)strlen(name[i] + from), &code);
        for (end = i + 1; end < n && strncmp(name[end] + from, name[i] + from, (size_t)bytes) == 0; end++) {}
        put_gbnf(&taken, "\\U%08X", (unsigned)code);
        put_gbnf(&t, t.bytes ? " | " : "");
        put_literal(&t, name[i] + from, (size_t)bytes);
        put_gbnf(&t, " s%d", other_names_rule(s, name + i, end - i, from + (size_t)bytes));
    }
    put_gbnf(&t, "%s[^\"\\\\\\x00-\\x1f%s] %s*", t.bytes ? " | " : "", taken.at ? taken.at : "",
             basic_rule(s, "plain"));
    if (!whole) put_gbnf(&t, " | \"\"");
    free(taken.at);
    return end_rule(s, rule, &t);
}

static bool is_plain(const char *name)
{
    for (; *name; name++)
        if ((unsigned char)*name < ' ' || *name == '"' || *name == '\\') return false;
    return true;
}

/* A member with another name than those taken.  Names without escapes can be told apart. */
static int other_member_rule(Json_schema *s, const json_t *taken, int value)
{
    const char **name = must_alloc(sizeof *name * (json_object_size(taken) + 1)), *key;
    json_t *v;
    size_t n = 0;
    Gbnf_text t = {0};
    json_object_foreach((json_t *)(uintptr_t)taken, key, v) if (is_plain(key)) name[n++] = key;
    if (n) qsort(name, n, sizeof *name, compare_names);
    size_t longest = 0;
    for (size_t i = 0; i < n; i++) longest = strlen(name[i]) > longest ? strlen(name[i]) : longest;
    if (longest > 256)
        refuse_part(s, "properties", "a name is longer than 256 bytes, which is not supported where others may come");
    put_gbnf(&t, "\"\\\"\" s%d", s->failed ? -1 : other_names_rule(s, name, n, 0));
    put_gbnf(&t, " \"\\\"\" %s \":\" space s%d", basic_rule(s, "space"), value);
    free(name);
    return end_rule(s, s->rules++, &t);
}

/* ------------------------------------------------------------------ objects */

static bool is_required(const json_t *required, const char *name)
{
    size_t i;
    json_t *one;
    json_array_foreach((json_t *)(uintptr_t)required, i,
                       one) if (json_is_string(one) && strcmp(json_string_value(one), name) == 0) return true;
    return false;
}

static int member_rule(Json_schema *s, const char *name, int value)
{
    Gbnf_text t = {0};
    json_t *key = json_string(name);
    put_value(&t, key);
    put_gbnf(&t, " %s \":\" space s%d", basic_rule(s, "space"), value);
    json_decref(key);
    return end_rule(s, s->rules++, &t);
}

/* The members that the object names: those of properties, and then others that are required; each is a number. */
static json_t *own_members(Json_schema *s, const json_t *v, int other)
{
    const json_t *required = json_object_get(v, "required"), *properties = json_object_get(v, "properties");
    json_t *all = json_object(), *one;
    const char *key;
    size_t i;
    if (properties && !json_is_object(properties)) refuse_part(s, "properties", "expected an object");
    if (required && !json_is_array(required)) refuse_part(s, "required", "expected a list of names");
    json_object_foreach((json_t *)(uintptr_t)properties, key, one)
    {
        if (json_is_false(one) && !is_required(required, key)) continue;
        json_object_set_new(all, key, json_integer(member_rule(s, key, rule_of_part(s, one, "properties", key))));
    }
    json_array_foreach((json_t *)(uintptr_t)required, i, one)
    {
        if (!json_is_string(one)) refuse_part(s, "required", "expected a list of names");
        else if (!json_object_get(all, json_string_value(one)) && other < 0)
            refuse_part(s, "required", "\"%.40s\" is none of the properties, and no others are allowed",
                        json_string_value(one));
        else if (!json_object_get(all, json_string_value(one)))
            json_object_set_new(all, json_string_value(one),
                                json_integer(member_rule(s, json_string_value(one), other)));
    }
    return all;
}

/* The rule of other members' values; -1: none may come.  Where nothing is said, they come only if they are required. */
static int other_values_rule(Json_schema *s, const json_t *v, bool *may_come)
{
    const json_t *said = json_object_get(v, "additionalProperties");
    *may_come = said && !json_is_false(said);
    if (json_is_false(said)) return -1;
    return said ? rule_of_part(s, said, "additionalProperties", NULL) : rule_of_schema(s, json_true());
}

/* For each member two rules: what may come from it on if it is the first (aN), or if others came (bN).  After the last
 * come other members. */
static int members_rule(Json_schema *s, const json_t *own, const json_t *required, int others)
{
    const int first = s->rules, n = (int)json_object_size(own);
    const char *key;
    json_t *member;
    int k = first;
    s->rules += 2 * n + 2;
    json_object_foreach((json_t *)(uintptr_t)own, key, member)
    {
        Gbnf_text a = {0}, b = {0};
        const int rule = (int)json_integer_value(member);
        put_gbnf(&a, "s%d s%d", rule, k + 3);
        put_gbnf(&b, "space \",\" space s%d s%d", rule, k + 3);
        if (!is_required(required, key)) put_gbnf(&a, " | s%d", k + 2), put_gbnf(&b, " | s%d", k + 3);
        end_rule(s, k++, &a);
        end_rule(s, k++, &b);
    }
    Gbnf_text a = {0}, b = {0};
    if (others >= 0) put_gbnf(&a, "(s%d s%d)?", others, k + 1), put_gbnf(&b, "(space \",\" space s%d)*", others);
    end_rule(s, k, &a);
    end_rule(s, k + 1, &b);
    return first;
}

int object_rule(Json_schema *s, const json_t *v)
{
    const json_t *required = json_object_get(v, "required");
    bool more;
    const int other = other_values_rule(s, v, &more);
    json_t *own = own_members(s, v, other), *taken = json_copy(own);
    Gbnf_text t = {0};
    json_object_update_missing(taken, (json_t *)(uintptr_t)json_object_get(v, "properties"));
    int others = more && !s->failed ? other_member_rule(s, taken, other) : -1;
    const int members = s->failed ? -1 : members_rule(s, own, required, others);
    put_gbnf(&t, "\"{\" %s s%d space \"}\"", basic_rule(s, "space"), members);
    json_decref(own);
    json_decref(taken);
    return end_rule(s, s->rules++, &t);
}

/* ------------------------------------------------------------------ arrays */

typedef struct Array {
    int64_t least, most; /* most -1: any number */
    const json_t *prefix;
    int rest; /* the rule of items behind the prefix; -1: none may come */
} Array;

static bool take_item_rules(Json_schema *s, const json_t *v, Array *a)
{
    const json_t *items = json_object_get(v, "items");
    *a = (Array){.least = 0, .most = -1, .prefix = json_object_get(v, "prefixItems"), .rest = -1};
    if (json_is_array(items)) return refuse_part(s, "items", "a list is not supported; call it prefixItems"), false;
    if (a->prefix && !json_is_array(a->prefix))
        return refuse_part(s, "prefixItems", "expected a list of schemas"), false;
    if (!take_bound(s, v, "minItems", 0, &a->least) || !take_bound(s, v, "maxItems", a->least, &a->most)) return false;
    if (items && !json_is_false(items)) a->rest = rule_of_part(s, items, "items", NULL);
    else if (!items && (!a->prefix || a->least > (int64_t)json_array_size(a->prefix)))
        a->rest = rule_of_schema(s, json_true());
    if (s->failed) return false;
    const int64_t n = (int64_t)json_array_size(a->prefix);
    if (a->rest < 0 && (a->most < 0 || a->most > n)) a->most = n;
    return a->least <= a->most || a->most < 0 || (refuse_part(s, "minItems", "more items than may come"), false);
}

/* The items behind the prefix. */
static int rest_rule(Json_schema *s, const Array *a)
{
    const int64_t n = (int64_t)json_array_size(a->prefix);
    int64_t least = a->least > n ? a->least - n : 0, most = a->most < 0 ? -1 : a->most > n ? a->most - n : 0;
    const bool first = n == 0, maybe = first && least == 0;
    Gbnf_text t = {0};
    if (a->rest < 0 || most == 0) return end_rule(s, s->rules++, &t);
    if (first) { /* without a comma before it */
        put_gbnf(&t, "%ss%d ", maybe ? "(" : "", a->rest);
        least -= least > 0;
        most -= most > 0;
    }
    put_gbnf(&t, "(space \",\" space s%d)", a->rest);
    if (most < 0) put_gbnf(&t, "{%lld,}", (long long)least);
    else put_gbnf(&t, "{%lld,%lld}", (long long)least, (long long)most);
    if (maybe) put_gbnf(&t, ")?");
    return end_rule(s, s->rules++, &t);
}

/* From the last item of the prefix to the first: each, and what follows it; none where enough came already. */
static int items_rule(Json_schema *s, const Array *a)
{
    int next = rest_rule(s, a);
    for (int64_t i = (int64_t)json_array_size(a->prefix) - 1; i >= 0 && !s->failed; i--) {
        char name[24];
        Gbnf_text t = {0};
        snprintf(name, sizeof name, "%lld", (long long)i);
        if (a->most < 0 || i < a->most) {
            int item = rule_of_part(s, json_array_get(a->prefix, (size_t)i), "prefixItems", name);
            put_gbnf(&t, "%s s%d s%d", i ? "space \",\" space" : "", item, next);
        }
        if (i >= a->least && t.bytes) put_gbnf(&t, " | \"\"");
        next = end_rule(s, s->rules++, &t);
    }
    return next;
}

int array_rule(Json_schema *s, const json_t *v)
{
    Array a;
    Gbnf_text t = {0};
    if (!take_item_rules(s, v, &a)) return -1;
    const int items = items_rule(s, &a);
    put_gbnf(&t, "\"[\" %s s%d space \"]\"", basic_rule(s, "space"), items);
    return end_rule(s, s->rules++, &t);
}
