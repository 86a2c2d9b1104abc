/* compare.c: where two sections of names and values differ. */
#include "diff/diff.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* words: "0.0010", as a configuration has it, is a number, too. */
static bool reads_as(const json_t *value, bool words, double *x)
{
    const char *word = words ? json_string_value(value) : NULL;
    if (json_is_number(value)) return *x = json_number_value(value), true;
    return word && *word && parse_real(word, x);
}

/* Files have 15 digits or 17 of a real number. */
bool same_values(const json_t *a, const json_t *b, bool words)
{
    double x, y;
    bool whole = json_is_integer(a) && json_is_integer(b);
    if (!whole && reads_as(a, words, &x) && reads_as(b, words, &y))
        return fabs(x - y) <= 1e-14 * fmax(fabs(x), fabs(y));
    return json_equal(a, b) || (!a && json_is_null(b)) || (!b && json_is_null(a));
}

/* What several entries have alike is one row: "train, eval: tokens". */
static bool joins_row(const json_t *all, const char *name, const json_t *a, const json_t *b, bool words)
{
    const char *own = strstr(name, ": ");
    json_t *row;
    size_t k;
    json_array_foreach(all, k, row)
    {
        const char *other = json_string_value(json_object_get(row, "name")), *end = strstr(other, ": ");
        if (!own || !end || !same(own, end) || !same_values(a, json_object_get(row, "a"), words) ||
            !same_values(b, json_object_get(row, "b"), words))
            continue;
        put_json(row, "name", json_string(format("%.*s, %s", (int)(end - other), other, name)));
        return true;
    }
    return false;
}

static void put_difference(json_t *all, const char *name, json_t *a, json_t *b, bool words)
{
    if (same_values(a, b, words) || joins_row(all, name, a, b, words)) return;
    json_t *row = json_object();
    put_json(row, "name", json_string(name));
    put_json(row, "a", a ? json_incref(a) : json_null());
    put_json(row, "b", b ? json_incref(b) : json_null());
    add_json(all, row);
}

json_t *section_differences(const json_t *a, const json_t *b, bool words)
{
    const char *name;
    json_t *value, *all = json_array();
    json_object_foreach((json_t *)a, name, value) put_difference(all, name, value, json_object_get(b, name), words);
    json_object_foreach((json_t *)b, name, value) if (!json_object_get(a, name))
        put_difference(all, name, NULL, value, words);
    return all;
}
