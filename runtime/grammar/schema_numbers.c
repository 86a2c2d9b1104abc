/* schema_numbers.c: numbers of a schema: integers from one number to another, digit by digit. */
#include "grammar/json_schema.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DIGITS = 18 };
static const int64_t most_integer = INT64_C(999999999999999999);

/* ------------------------------------------------------------------ digits */

static bool all_are(const char *digits, char d)
{
    for (; *digits; digits++)
        if (*digits != d) return false;
    return true;
}

static void put_digits(Gbnf_text *t, char first, char last, size_t others)
{
    put_gbnf(t, first == last ? " \"%c\"" : " [%c-%c]", first, last);
    if (others) put_gbnf(t, " [0-9]{%d}", (int)others);
}

/* Numbers of as many digits from low to high. */
static void put_same_length(Gbnf_text *t, const char *low, const char *high)
{
    static const char zeros[] = "000000000000000000", nines[] = "999999999999999999";
    const size_t rest = strlen(low) - 1;
    const char *zero = zeros + DIGITS - rest, *nine = nines + DIGITS - rest;
    if (all_are(low + 1, '0') && all_are(high + 1, '9')) {
        put_digits(t, *low, *high, rest);
    } else if (*low == *high) {
        put_gbnf(t, " \"%c\"", *low);
        put_same_length(t, low + 1, high + 1);
    } else {
        const bool whole_low = all_are(low + 1, '0'), whole_high = all_are(high + 1, '9');
        const char first = (char)(*low + !whole_low), last = (char)(*high - !whole_high);
        put_gbnf(t, " (");
        if (!whole_low)
            put_gbnf(t, "\"%c\"", *low), put_same_length(t, low + 1, nine), put_gbnf(t, first <= last ? " |" : "");
        if (first <= last) put_digits(t, first, last, rest);
        if (!whole_high) put_gbnf(t, " | \"%c\"", *high), put_same_length(t, zero, high + 1);
        put_gbnf(t, ")");
    }
}

/* Integers from low to high, none negative. */
static void put_between(Gbnf_text *t, int64_t low, int64_t high)
{
    char from[24], to[24];
    int64_t power = 10;
    put_gbnf(t, " (");
    for (bool first = true; low <= high; low = power, power *= 10) {
        while (power <= low) power *= 10;
        int64_t end = power - 1 < high ? power - 1 : high;
        snprintf(from, sizeof from, "%lld", (long long)low);
        snprintf(to, sizeof to, "%lld", (long long)end);
        put_gbnf(t, first ? "" : " |");
        first = false;
        put_same_length(t, from, to);
        if (end == high) break;
    }
    put_gbnf(t, ")");
}

/* ------------------------------------------------------------------ bounds */

/* A bound of integers; exclusive ones are one further in. */
static bool take_limit(Json_schema *s, const json_t *v, const char *keyword, int up, bool exclusive, int64_t *to)
{
    const json_t *x = json_object_get(v, keyword);
    if (!x) return true;
    double real = json_number_value(x);
    if (!json_is_number(x)) return refuse_part(s, keyword, "expected a number"), false;
    if (!(fabs(real) < 1e18)) return refuse_part(s, keyword, "expected a number of at most %d digits", DIGITS), false;
    int64_t n = json_is_integer(x) ? json_integer_value(x) : (int64_t)(up > 0 ? ceil(real) : floor(real));
    if (n < -most_integer || n > most_integer)
        return refuse_part(s, keyword, "expected a number of at most %d digits", DIGITS), false;
    if (exclusive && (double)n == real) n += up;
    if ((up > 0 && n > *to) || (up < 0 && n < *to)) *to = n;
    return true;
}

static bool take_limits(Json_schema *s, const json_t *v, int64_t *low, int64_t *high)
{
    *low = -most_integer;
    *high = most_integer;
    if (!take_limit(s, v, "minimum", 1, false, low) || !take_limit(s, v, "exclusiveMinimum", 1, true, low) ||
        !take_limit(s, v, "maximum", -1, false, high) || !take_limit(s, v, "exclusiveMaximum", -1, true, high))
        return false;
    return *low <= *high || (refuse_part(s, "minimum", "no number is between the bounds"), false);
}

static bool is_bounded(const json_t *v)
{
    return json_object_get(v, "minimum") || json_object_get(v, "maximum") || json_object_get(v, "exclusiveMinimum") ||
           json_object_get(v, "exclusiveMaximum");
}

int integer_rule(Json_schema *s, const json_t *v)
{
    int64_t low, high;
    Gbnf_text t = {0};
    if (!take_limits(s, v, &low, &high)) return -1;
    if (!is_bounded(v)) put_gbnf(&t, "%s", basic_rule(s, "integer"));
    else if (high < 0) put_gbnf(&t, "\"-\""), put_between(&t, -high, -low);
    else {
        if (low < 0) put_gbnf(&t, "\"-\""), put_between(&t, 1, -low), put_gbnf(&t, " |");
        put_between(&t, low < 0 ? 0 : low, high);
    }
    return end_rule(s, s->rules++, &t);
}

/* Numbers from low to high, none negative: digits behind the point below high, and only zeros behind high. */
static void put_reals(Gbnf_text *t, int64_t low, int64_t high)
{
    put_gbnf(t, " (");
    if (low < high) put_between(t, low, high - 1), put_gbnf(t, " (\".\" [0-9]{1,18})? |");
    put_gbnf(t, " \"%lld\" (\".\" \"0\"{1,18})?)", (long long)high);
}

/* Bounds of numbers that are not integers must be whole, and belong to the numbers themselves. */
int number_rule(Json_schema *s, const json_t *v)
{
    static const char *const exclusive[] = {"exclusiveMinimum", "exclusiveMaximum"}, *const bound[] = {"minimum",
                                                                                                       "maximum"};
    int64_t low, high;
    Gbnf_text t = {0};
    for (int i = 0; i < 2; i++) {
        const json_t *x = json_object_get(v, bound[i]);
        if (json_object_get(v, exclusive[i])) return refuse_part(s, exclusive[i], "is supported for integers alone");
        if (json_is_real(x) && json_real_value(x) != floor(json_real_value(x)))
            return refuse_part(s, bound[i], "is supported for whole numbers alone");
    }
    if (!take_limits(s, v, &low, &high)) return -1;
    if (!is_bounded(v)) put_gbnf(&t, "%s", basic_rule(s, "number"));
    else if (high < 0) put_gbnf(&t, "\"-\""), put_reals(&t, -high, -low);
    else {
        if (low < 0) put_gbnf(&t, "\"-\""), put_reals(&t, 0, -low), put_gbnf(&t, " |");
        put_reals(&t, low < 0 ? 0 : low, high);
    }
    return end_rule(s, s->rules++, &t);
}
