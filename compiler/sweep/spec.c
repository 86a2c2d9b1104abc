/* spec.c: what --over says: a range or values of one key. */
#include "runtime/base/words.h"
#include "runtime/math/double.h"
#include "sweep/sweep.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_POINTS = 1000 };

static bool reads_as_number(const char *text, double *value)
{
    char *end;
    *value = strtod(text, &end);
    return end > text && !*end && isfinite(*value);
}

/* a..b or a..b/5 */
static bool read_range(Dimension *d, const char *text)
{
    const char *dots = strstr(text, ".."), *slash = dots ? strchr(dots, '/') : NULL;
    if (!dots) return false;
    const char *end = copy_bytes_as_string(dots + 2, slash ? (size_t)(slash - dots - 2) : strlen(dots + 2));
    if (!reads_as_number(copy_bytes_as_string(text, (size_t)(dots - text)), &d->low) || !reads_as_number(end, &d->high))
        return false;
    int64_t points = 0;
    if (slash && (!parse_count(slash + 1, &points) || points < 2 || points > MOST_POINTS))
        usage_error("--over %s=%s: behind the range /2 to /%d says how many values of it to take, found %s", d->key,
                    d->given, MOST_POINTS, slash);
    d->points = (int)points;
    return true;
}

static void check_range_of(const Dimension *d, bool said)
{
    if (d->low >= d->high)
        usage_error("--over %s=%s: expected a range from a lower number to a higher one", d->key, d->given);
    if (said && d->logarithmic && d->low <= 0)
        usage_error("--over %s=%s: a logarithmic range begins above 0; an even one is lin:%s", d->key, d->given,
                    d->given + strlen("log:"));
}

static void read_values(Dimension *d, const char *text)
{
    for (;;) {
        size_t n = strcspn(text, ",");
        const char *value = copy_bytes_as_string(text, n);
        if (!n)
            usage_error("--over %s=%s: a value is missing; expected a..b (a range) or a,b,c (values)", d->key,
                        d->given);
        for (int i = 0; i < d->values.n; i++)
            if (same(d->values.at[i], value)) usage_error("--over %s=%s: %s is there twice", d->key, d->given, value);
        push(&d->values, value);
        if (!text[n]) return;
        text += n + 1;
    }
}

Dimension parse_over(const char *text)
{
    const char *equals = strchr(text, '=');
    if (!equals || equals == text) usage_error("--over %s: expected KEY=a..b (a range) or KEY=a,b,c (values)", text);
    Dimension d = {.key = copy_bytes_as_string(text, (size_t)(equals - text)), .given = equals + 1};
    bool even = starts_with(d.given, "lin:"), said = even || starts_with(d.given, "log:");
    d.ranged = read_range(&d, said ? d.given + 4 : d.given);
    if (said && !d.ranged) usage_error("--over %s: after %.4s a range is expected, such as 1e-4..1e-2", text, d.given);
    if (!d.ranged) {
        read_values(&d, d.given);
        return d;
    }
    d.logarithmic = said ? !even : d.low > 0 && d.high / d.low >= 10;
    check_range_of(&d, said);
    return d;
}

double coordinate_of(const Dimension *d, const char *value)
{
    double v = strtod(value, NULL);
    return d->logarithmic ? log_f64(v) : v;
}

/* Each whole number has a coordinate's width of room, those at the ends too. */
void coordinate_bounds(const Dimension *d, double *from, double *to)
{
    double beyond = d->whole && (!d->logarithmic || d->low >= 1) ? 0.5 : 0;
    *from = d->low - beyond;
    *to = d->high + beyond;
    if (d->logarithmic) *from = log_f64(*from), *to = log_f64(*to);
}

const char *coordinate_text(const Dimension *d, double coordinate)
{
    double v = d->logarithmic ? exp_f64(coordinate) : coordinate;
    v = fmin(fmax(d->whole ? round(v) : v, d->low), d->high);
    if (d->whole) return format("%.0f", v);
    const char *text = format("%.4g", v);
    double rounded = strtod(text, NULL);
    return rounded < d->low || rounded > d->high ? format("%.17g", v) : text;
}

/* The ends are among them. */
void spread_range(Dimension *d, int points)
{
    double from = coordinate_of(d, format("%.17g", d->low)), to = coordinate_of(d, format("%.17g", d->high));
    for (int i = 0; i < points; i++) {
        const char *value = coordinate_text(d, from + (to - from) * i / (points - 1));
        if (!d->values.n || !same(d->values.at[d->values.n - 1], value)) push(&d->values, value);
    }
    d->ranged = false;
}
