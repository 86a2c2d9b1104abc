/* lines.c: a line of metrics.jsonl, also one of a program that writes NaN where JSON has no word for it. */
#include "look/lines.h"
#include "base/words.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static void values_in(const json_t *members, const char *before, Take_value take, void *to);

static void take_line_member(const char *before, const char *key, const json_t *value, Take_value take, void *to)
{
    if (json_is_array(value)) return;
    char *longer = *before ? text_of("%s%s", before, key) : NULL; /* most members have their own names */
    const char *name = longer ? longer : key;
    if (json_is_object(value)) {
        char *inside = text_of("%s.", name);
        values_in(value, inside, take, to);
        free(inside);
    } else if (*before || (strcmp(key, "step") != 0 && strcmp(key, "split") != 0)) take(to, name, value);
    free(longer);
}

static void values_in(const json_t *members, const char *before, Take_value take, void *to)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)members, key, value) take_line_member(before, key, value, take, to);
}

void each_value(const json_t *line, Take_value take, void *to) { values_in(line, "", take, to); }

/* ------------------------------------------------------------------ NaN */

/* The word of JSON for a bare word of a line, NULL: it is none of these. */
static const char *odd_word(const char *at, size_t n)
{
    bool minus = *at == '-';
    size_t sign = minus || *at == '+';
    const char *word = at + sign;
    size_t left = n - sign;
    if (left == 3 && strncasecmp(word, "nan", 3) == 0) return "\"NaN\"";
    if ((left == 3 && strncasecmp(word, "inf", 3) == 0) || (left == 8 && strncasecmp(word, "infinity", 8) == 0))
        return minus ? "\"-Infinity\"" : "\"Infinity\"";
    return NULL;
}

static size_t quoted_bytes(const char *at, size_t n)
{
    size_t i = 1;
    for (; i < n && at[i] != '"'; i++)
        if (at[i] == '\\') i++;
    return i < n ? i + 1 : n;
}

static size_t bare_bytes(const char *at, size_t n)
{
    size_t i = 0;
    while (i < n && (isalnum((unsigned char)at[i]) || at[i] == '-' || at[i] == '+' || at[i] == '.')) i++;
    return i;
}

/* The line with words for what is not finite. */
static char *with_odd_words(const char *line, size_t bytes, size_t *result)
{
    char *text = NULL;
    FILE *f = print_to(&text, result);
    for (size_t i = 0; i < bytes;) {
        size_t bare = bare_bytes(line + i, bytes - i);
        size_t n = line[i] == '"' ? quoted_bytes(line + i, bytes - i) : bare ? bare : 1;
        const char *word = bare ? odd_word(line + i, bare) : NULL;
        if (word) fputs(word, f);
        else fwrite(line + i, 1, n, f);
        i += n;
    }
    end_print(f);
    return text;
}

static json_t *object_of(const char *line, size_t bytes)
{
    json_t *all = json_loadb(line, bytes, 0, NULL);
    if (json_is_object(all)) return all;
    json_decref(all);
    return NULL;
}

json_t *line_json(const char *line, size_t bytes)
{
    size_t n;
    json_t *all = object_of(line, bytes);
    if (all) return all;
    char *mended = with_odd_words(line, bytes, &n);
    all = object_of(mended, n);
    free(mended);
    return all;
}

bool number_of_value(const json_t *value, double *x)
{
    const char *word = json_string_value(value);
    if (json_is_number(value)) return *x = json_number_value(value), true;
    if (json_is_null(value) || (word && strcmp(word, "NaN") == 0)) return *x = NAN, true;
    if (word && strcmp(word, "Infinity") == 0) return *x = INFINITY, true;
    if (word && strcmp(word, "-Infinity") == 0) return *x = -INFINITY, true;
    return false;
}
