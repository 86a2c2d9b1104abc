/* test_over.c: what --over says, how values of a range are spelled, grids, and numbers that depend on seed and trial
 * alone. */
#include "sweep/sweep.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int failures;
#define holds(c) ((c) ? (void)0 : (void)(failures++, printf("%s:%d: %s\n", __FILE__, __LINE__, #c)))

static void test_ranges(void)
{
    Dimension d = parse_over("lr=1e-4..1e-2");
    holds(d.ranged && d.logarithmic && d.low == 1e-4 && d.high == 1e-2 && same(d.key, "lr"));
    holds(!parse_over("decay=0..0.1").logarithmic);
    holds(!parse_over("width=64..128").logarithmic);
    holds(parse_over("width=log:64..128").logarithmic);
    holds(!parse_over("lr=lin:1e-4..1").logarithmic);
    d = parse_over("x=-2..-1.5");
    holds(d.ranged && d.low == -2 && d.high == -1.5);
}

static void test_values(void)
{
    Dimension d = parse_over("schedule=cosine,linear");
    holds(!d.ranged && d.values.n == 2 && same(d.values.at[1], "linear"));
    holds(parse_over("width=64").values.n == 1);
    d = parse_over("text=a=b,c");
    holds(same(d.key, "text") && same(d.values.at[0], "a=b"));
    holds(!parse_over("file=../x,../y").ranged);
}

static void test_spelling(void)
{
    double from, to;
    Dimension d = parse_over("lr=1e-4..1e-2");
    coordinate_bounds(&d, &from, &to);
    holds(same(coordinate_text(&d, from), "0.0001") && same(coordinate_text(&d, to), "0.01"));
    holds(same(coordinate_text(&d, log(0.00123456)), "0.001235"));
    holds(fabs(coordinate_of(&d, "0.001") - log(0.001)) < 1e-12);
    d = parse_over("x=0.123456..0.1234567"); /* four digits would leave the range */
    double v = strtod(coordinate_text(&d, 0.12345601), NULL);
    holds(v >= d.low && v <= d.high);
    d = parse_over("n=1..3");
    d.whole = true;
    coordinate_bounds(&d, &from, &to);
    holds(same(coordinate_text(&d, from), "1") && same(coordinate_text(&d, to), "3") &&
          same(coordinate_text(&d, 1.6), "2"));
}

static bool spreads(const char *text, bool whole, const char *wanted)
{
    Text t = {0};
    Dimension d = parse_over(text);
    d.whole = whole;
    spread_range(&d, d.points);
    for (int i = 0; i < d.values.n; i++) say(&t, "%s%s", i ? " " : "", d.values.at[i]);
    return !d.ranged && same(t.at, wanted);
}

static void test_points(void)
{
    holds(spreads("lr=1e-4..1e-2/5", false, "0.0001 0.0003162 0.001 0.003162 0.01"));
    holds(spreads("decay=0..0.1/3", false, "0 0.05 0.1"));
    holds(spreads("width=log:64..256/3", true, "64 128 256"));
    holds(spreads("layers=1..3/9", true, "1 2 3"));
    holds(parse_over("lr=1e-4..1e-2").points == 0);
    holds(!parse_over("file=../x/a,../y").ranged);
}

static void test_grid(void)
{
    Dimensions over = {0};
    const char *to[2];
    push(&over, parse_over("a=1,2,3"));
    push(&over, parse_over("b=x,y"));
    holds(grid_size(&over) == 6);
    grid_point(&over, 3, to);
    holds(same(to[0], "2") && same(to[1], "y"));
}

/* Whole numbers of a range are all as likely; each trial has numbers of its own. */
static void test_draws(void)
{
    Dimensions over = {0};
    int count[3] = {0};
    push(&over, parse_over("n=1..3"));
    over.at[0].whole = true;
    for (int trial = 0; trial < 3000; trial++) {
        const char *to[1], *again[1];
        Draw draw = draws_of_trial(7, trial), same_draw = draws_of_trial(7, trial);
        random_point(&over, &draw, to);
        random_point(&over, &same_draw, again);
        holds(same(to[0], again[0]));
        count[atoi(to[0]) - 1]++;
    }
    for (int i = 0; i < 3; i++) holds(count[i] > 900 && count[i] < 1100);
    Draw a = draws_of_trial(1, 2), b = draws_of_trial(2, 1);
    holds(draw_unit(&a) != draw_unit(&b));
}

int main(void)
{
    test_ranges();
    test_values();
    test_spelling();
    test_points();
    test_grid();
    test_draws();
    return failures > 0;
}
