/* fuzz_front.c: descriptions: what the front end takes is a sound graph, and every pass makes a sound program of it. */
#include "fuzz.h"
#include "lathe.h"

enum { MOST_NODES = 400, MOST_ELEMENTS = 1 << 20 }; /* beyond that passes are only slow */

static bool is_small(const Desc *d)
{
    int64_t largest = 0;
    for (int i = 0; i < d->graphs.n; i++) {
        Nodes all = {0};
        all_nodes(d->graphs.at[i], &all);
        if (all.n > MOST_NODES) return false;
        for (int k = 0; k < all.n; k++) largest = max64(largest, elements(all.at[k]->shape));
    }
    return largest <= MOST_ELEMENTS;
}

void fuzz_one(const char *path, const char *text, size_t n)
{
    (void)text, (void)n;
    Options options = {.target = &target_cpu, .model_file = path, .check_stages = true};
    Desc *d = front(&options);
    for (int i = 0; i < d->graphs.n; i++) check_graph(d->graphs.at[i], "front");
    if (is_small(d)) compile(d);
}
