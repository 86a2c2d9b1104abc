/* harness_emitted.c: the CUDA text of whole models in the simulator, beside the CPU target's text. */
#include "harness_cuda.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static void look_for(Wanted *wanted, int n, const char *folder)
{
    char *text = read_file(format("%s/model.cu", folder), NULL);
    must(text);
    for (int i = 0; i < n; i++) wanted[i].seen |= strstr(text, wanted[i].text) != NULL;
}

/* Sums in another order, through the whole of a model; of 16 bits roundings elsewhere (test_narrow.c has more of
 * those). */
static double bound_of(const char *line) { return strstr(line, "fp64") ? 1e-11 : strstr(line, "bf16") ? 2e-2 : 1e-4; }

static int test_model(const char *line, Wanted *wanted, int texts, Rng *rng)
{
    Both b = both_sides(compile_model(format("%s --target cuda", line)));
    look_for(wanted, texts, b.folder);
    expect(b.pairs.n > 0, "%s has no kernels", line);
    compare_sides(&b, line, 16, rng);
    worst = (Differences){0};
    Live *cpu = build_model(line);
    compare_entries(&b.device, cpu, line, long_run() ? 20 : 2, bound_of(line), bound_of(line), rng);
    memset(cpu->state, 0, (size_t)cpu->model->state_bytes);
    fill_statistics(cpu->model, cpu->state);
    setenv("SIM_REFUSES", "product cooperative", 1); /* by second ways alone: our products, launches for loops, */
    b.device.plain(true);                            /* plain loops for ids */
    compare_entries(&b.device, cpu, format("%s, second ways", line), 1, bound_of(line), bound_of(line), rng);
    unsetenv("SIM_REFUSES");
    b.device.plain(false);
    unload(cpu);
    printf("%s%s: training within %.1e, gradients %.1e, other entries %.1e\n", long_run() ? "note: " : "", line,
           worst.training, worst.gradient, worst.other);
    fflush(stdout);
    close_both(&b);
    return b.pairs.n;
}

enum { MOST_WANTED = 64 };

/* What is told of all models, in memory that their processes share. */
typedef struct Told {
    const char *line;
    int number, kernels, texts;
    Wanted *wanted;
    bool seen[MOST_WANTED];
    double largest_error, finite_values, all_values;
} Told;

static void test_apart(void *told)
{
    Told *t = told;
    Rng rng = rng_of((uint64_t)t->number);
    t->kernels += test_model(t->line, t->wanted, t->texts, &rng);
    for (int i = 0; i < t->texts; i++) t->seen[i] |= t->wanted[i].seen;
    t->largest_error = fmax(t->largest_error, largest_error);
    t->finite_values += finite_values;
    t->all_values += all_values;
}

/* A process for each: the compiler forks to learn axes, at a cost that grows with all that its process holds. */
void compare_models(const char *const *lines, int n, const char *chosen, Wanted *wanted, int texts)
{
    Told *told = mmap(NULL, sizeof *told, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    must(told != MAP_FAILED && texts <= MOST_WANTED);
    *told = (Told){.texts = texts, .wanted = wanted};
    need_simulator();
    for (; told->number < n; told->number++) {
        told->line = lines[told->number];
        if (strstr(told->line, chosen)) expect(run_apart(test_apart, told), "%s", told->line);
    }
    expect(told->finite_values > 0.9 * told->all_values, "too few finite values: %.0f of %.0f", told->finite_values,
           told->all_values);
    for (int i = 0; i < texts && !*chosen; i++)
        expect(told->seen[i], "no model's text has \"%s\" in it", wanted[i].text);
    printf("note: %d kernels of %d models; sums in another order differ by at most %.1f units of a norm's last place\n",
           told->kernels, n, told->largest_error);
}
