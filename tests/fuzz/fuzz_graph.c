/* fuzz_graph.c: graphs as text: what is read back prints as itself, and every pass makes a sound program of it. */
#include "fuzz.h"
#include "lathe.h"

enum { MOST_NODES = 400, MOST_ELEMENTS = 1 << 20 };

static char *printed(const Graph *g)
{
    Text t = {0};
    print_graph(&t, g);
    return t.at;
}

static bool is_small(const Graph *g)
{
    Nodes all = {0};
    int64_t largest = 0;
    all_nodes(g, &all);
    for (int i = 0; i < all.n; i++) largest = max64(largest, elements(all.at[i]->shape));
    return all.n <= MOST_NODES && largest <= MOST_ELEMENTS;
}

void fuzz_one(const char *path, const char *text, size_t n)
{
    Options options = {.target = &target_cpu, .check_stages = true};
    char *copy = copy_bytes_as_string(text, n);
    Graph *g = parse_graph(path, copy);
    check_graph(g, "text");
    char *once = printed(g), *twice = printed(parse_graph("printed.graph", once));
    if (!same(once, twice)) die("a graph does not print as it was read:\n%s\n%s", once, twice);
    if (is_small(g) && !g->micro) compile_until(describe(g, path, &options), "normal", NULL);
}
