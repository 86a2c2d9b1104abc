/* test_scatter.c: scatter_add and overwrite of awkward extents, shared among 1, 2, 3, 5 and 8 threads: bit for bit what
 * plain loops in order give, so that nobody takes another's row, none is left out, and equal ids keep their order. */
#include "harness.h"

#include <omp.h>
#include <string.h>

/* updates [ids][width] into [rows][width], or without a width */
static const struct {
    int64_t ids, rows, width; /* width 0: single numbers */
} cases[] = {{70001, 1, 0},   {70001, 2, 0}, {66000, 13, 0}, {66000, 50021, 0}, {40000, 7, 3},
             {9000, 700, 31}, {3000, 5, 32}, {3000, 11, 33}, {2500, 90, 63},    {2000, 90, 64},
             {2000, 90, 65},  {1500, 3, 95}, {1500, 3, 96},  {700, 40, 257},    {17, 4, 5000}};
enum { CASES = sizeof cases / sizeof *cases };

static Shape shape_for(int i, int64_t first)
{
    return cases[i].width ? shape_of(2, (int64_t[]){first, cases[i].width}) : shape_of(1, &first);
}

static const char *name(const char *what, int i) { return format("%s%d", what, i); }

static Graph *graph(void)
{
    Graph *g = graph_of(ENTRY_eval);
    for (int i = 0; i < CASES; i++) {
        Node *ids = input_node(name("ids", i), I32, shape_of(1, &cases[i].ids));
        Node *updates = input_node(name("updates", i), F32, shape_for(i, cases[i].ids));
        Shape s = shape_for(i, cases[i].rows);
        push(&g->outs, ((Output){OUT_VALUE, name("sums", i), scatter_add(updates, ids, s, 0, 0)}));
        push(&g->outs,
             ((Output){OUT_VALUE, name("last", i), overwrite(input_node(name("old", i), F32, s), ids, updates, 0, 0)}));
    }
    return g;
}

static void fill(const Live *l, Rng *r)
{
    for (int i = 0; i < CASES; i++) {
        int64_t width = cases[i].width ? cases[i].width : 1;
        int *ids = input_at(l, 0, name("ids", i));
        float *updates = input_at(l, 0, name("updates", i)), *old = input_at(l, 0, name("old", i));
        for (int64_t k = 0; k < cases[i].ids; k++) ids[k] = (int)(uniform(r) * uniform(r) * (double)cases[i].rows);
        for (int64_t k = 0; k < cases[i].ids * width; k++) updates[k] = (float)normal(r);
        for (int64_t k = 0; k < cases[i].rows * width; k++) old[k] = (float)normal(r);
    }
}

static void check(const Live *l, int i, bool add, int threads)
{
    int64_t width = cases[i].width ? cases[i].width : 1, n = cases[i].rows * width, wrong = 0;
    const int *ids = input_at(l, 0, name("ids", i));
    const float *updates = input_at(l, 0, name("updates", i)), *old = input_at(l, 0, name("old", i));
    float *want = NEW_ARRAY(float, n);
    for (int64_t k = 0; k < n && !add; k++) want[k] = old[k];
    for (int64_t k = 0; k < cases[i].ids; k++)
        for (int64_t c = 0; c < width; c++) {
            float *to = &want[ids[k] * width + c], x = updates[k * width + c];
            *to = add ? *to + x : x;
        }
    const double *got = read_output(l, 0, name(add ? "sums" : "last", i));
    for (int64_t k = 0; k < n; k++) wrong += (float)got[k] != want[k];
    expect(wrong == 0, "%s, %lld ids, %lld rows of %lld, %d threads: %lld elements are others",
           add ? "scatter" : "overwrite", (long long)cases[i].ids, (long long)cases[i].rows, (long long)width, threads,
           (long long)wrong);
}

int main(void)
{
    Rng r = rng_of(3);
    Graph *g = graph();
    options.check_stages = true;
    Live *l = load_module(compile(describe_graphs(1, &g)));
    fill(l, &r);
    static const int threads[] = {1, 2, 3, 5, 8};
    for (int t = 0; t < COUNT_OF(threads); t++) {
        omp_set_num_threads(threads[t]);
        call_entry(l, 0);
        for (int i = 0; i < 2 * CASES; i++) check(l, i / 2, i % 2, threads[t]);
    }
    unload(l);
    return finish();
}
