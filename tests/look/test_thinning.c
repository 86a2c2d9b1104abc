/* test_thinning.c: thinned numbers of a run: spikes stay, short runs stay whole, odd values become marks; lines with
 * NaN. */
#include "look/lines.h"
#include "look/series.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failed;

static void expect(int holds, const char *what)
{
    if (holds) return;
    printf("failed: %s\n", what);
    failed = 1;
}

static double wave(int64_t i) { return sin((double)i * 0.001) + ((i * 7919) % 101) * 1e-4; }

static void add_wave(Series *s, int64_t n, int64_t spike)
{
    for (int64_t i = 1; i <= n; i++) {
        double x = i == spike ? 1000 : i == spike + 1 ? -1000 : wave(i);
        add_to_series(s, (Point){i, (double)i, (double)i * 64, (double)i * 0.01, x});
    }
}

static int has_value(const Point *p, int n, int64_t line, double value)
{
    for (int i = 0; i < n; i++)
        if (p[i].line == line && p[i].value == value) return 1;
    return 0;
}

/* Every length up to some, and long ones; the spike anywhere. */
static void test_spikes(int64_t n)
{
    static Point p[2 * BUCKETS + 2];
    for (int64_t spike = 2; spike < n - 1; spike += n / 13 + 1) {
        Series *s = new_series("train", "loss");
        add_wave(s, n, spike);
        int k = points_of_series(s, p);
        expect(k <= 2 * BUCKETS + 2, "no more points than there is room for");
        expect(has_value(p, k, spike, 1000) && has_value(p, k, spike + 1, -1000), "both spikes are kept");
        expect(p[0].line == 1 && p[k - 1].line == n, "the first and the last are kept");
        for (int i = 1; i < k; i++) expect(p[i - 1].line < p[i].line, "points are in their order");
        for (int most = 40; most < k; most *= 3) {
            static Point q[2 * BUCKETS + 2];
            memcpy(q, p, sizeof q);
            int left = fewer_points(q, k, most);
            expect(left <= most && left > most / 3, "as few as wanted");
            expect(has_value(q, left, spike, 1000) && has_value(q, left, spike + 1, -1000),
                   "spikes stay in fewer points");
        }
        free_series(s);
    }
}

static void test_whole(int64_t n)
{
    static Point p[2 * BUCKETS + 2];
    Series *s = new_series("train", "loss");
    add_wave(s, n, -5);
    int k = points_of_series(s, p);
    expect(k == n, "a short run keeps all of its points");
    for (int i = 0; i < k; i++) expect(p[i].line == i + 1 && p[i].value == wave(i + 1), "as they were");
    free_series(s);
}

static void test_odd(void)
{
    static Point p[2 * BUCKETS + 2];
    Series *s = new_series("train", "loss");
    for (int i = 1; i <= 200; i++) add_to_series(s, (Point){i, i, i, i, i % 2 ? NAN : i == 100 ? -INFINITY : 1});
    expect(s->odd == 101 && s->finite == 99, "odd values are counted");
    expect(s->mark[0].line == 1 && isinf(s->mark[MOST_MARKS - 1].value) == 0, "the first are marks");
    expect(points_of_series(s, p) == 99, "the others are points");
    free_series(s);
}

static void expect_number(const char *line, const char *name, double x)
{
    double got = 5;
    json_t *all = line_json(line, strlen(line));
    int there = number_of_value(json_object_get(all, name), &got);
    expect(there && (isnan(x) ? isnan(got) : got == x), line);
    json_decref(all);
}

static void test_lines(void)
{
    expect_number("{\"loss\":1.5}", "loss", 1.5);
    expect_number("{\"loss\":nan,\"nan\":2}", "loss", NAN);
    expect_number("{\"loss\":NaN,\"nan\":2}", "nan", 2);
    expect_number("{\"loss\":-nan}", "loss", NAN);
    expect_number("{\"loss\":-Infinity}", "loss", -INFINITY);
    expect_number("{\"a\":\"x\\\"nan\",\"loss\":inf}", "loss", INFINITY);
    expect_number("{\"loss\":null}", "loss", NAN);
    static const char *const wrong[] = {
        "", "{", "[1]", "nan", "{\"loss\":nano}", "{\"a\":\"nan}", "{\"a\":1", "{\"a\":\"\\", "{\"a\":\xff}"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) expect(!line_json(wrong[i], strlen(wrong[i])), wrong[i]);
}

int main(void)
{
    for (int64_t n = 5; n < 60; n += 7) test_spikes(n);
    test_spikes(2 * BUCKETS + 1);
    test_spikes(100003);
    test_whole(1);
    test_whole(2 * BUCKETS);
    test_odd();
    test_lines();
    return failed;
}
