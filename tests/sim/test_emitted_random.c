/* test_emitted_random.c: random graphs' ROWS and index kernels as CUDA text in the simulator against C, as
 * test_emitted.c does for models: views, guards, types and shapes that no model has.  Every third file has attention by
 * its definition, whose masks and draws are ROWS kernels too; every second one is not scheduled. */
#include "../graph/random_graph.h"
#include "harness_cuda.h"

enum { GRAPHS_A_FILE = 16 };

/* Passes of the schedule, all off. */
static void schedule_nothing(void)
{
    static const Pass_number all[] = {PASS_axes, PASS_columns, PASS_teams, PASS_beside, PASS_keep, PASS_tensor};
    for (int i = 0; i < COUNT_OF(all); i++) leave_out(&options, all[i], true);
}

static Module *random_module(uint64_t first, const char *precision, bool defined, bool scheduled)
{
    Graph *graphs[GRAPHS_A_FILE];
    options = (Options){.target = &target_cuda, .precision = precision, .check_stages = true};
    leave_out(&options, PASS_whole, defined);
    if (!scheduled) schedule_nothing();
    for (int i = 0; i < GRAPHS_A_FILE; i++) graphs[i] = random_graph_apart(first + (uint64_t)i, true);
    return compile(describe_graphs(GRAPHS_A_FILE, graphs));
}

static int test_file(uint64_t first, const char *precision, bool defined, bool scheduled)
{
    Rng rng = rng_of(first);
    Both b = both_sides(random_module(first, precision, defined, scheduled));
    compare_sides(&b, format("graphs from %llu", (unsigned long long)first), 256, &rng);
    close_both(&b);
    return b.pairs.n;
}

int main(void)
{
    int kernels = 0, files = long_run() ? 20 : 2;
    need_simulator();
    for (int i = 0; i < files; i++)
        kernels +=
            test_file(1000 + (uint64_t)(i * GRAPHS_A_FILE), i % 4 == 3 ? "fp64" : "fp32", i % 3 == 2, i % 2 == 0);
    printf("note: %d kernels of %d random graphs; sums in another order differ by at most %.1f units of a norm's last "
           "place\n",
           kernels, files * GRAPHS_A_FILE, largest_error);
    return finish();
}
