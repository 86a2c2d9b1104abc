/* test_grad_graphs.c: gradients of random graphs over every op, and the loop passes on them.  FIRST [COUNT]: seeds. */
#include "../graph/random_graph.h"
#include "gradcheck.h"

static void test_seed(uint64_t seed)
{
    source = random_feed;
    source_user = &seed;
    Graph *g = random_loss_graph(seed);
    count_coverage(g);
    check_gradients_in(format("random graph %llu", (unsigned long long)seed), g, 1);
    leaves.n = 0;
}

int main(int argc, char **argv)
{
    dice = rng_of(4);
    uint64_t first = argc > 1 ? (uint64_t)atoll(argv[1]) : 1;
    uint64_t n = argc > 2 ? (uint64_t)atoll(argv[2]) : argc > 1 ? 1 : long_run() ? 600 : 100;
    for (uint64_t seed = first; seed < first + n; seed++) test_seed(seed);
    print_coverage();
    expect(argc > 1 || (covered.nested > 10 && covered.deep > 2 && covered.reversed > 10), "too few nested loops");
    return finish();
}
