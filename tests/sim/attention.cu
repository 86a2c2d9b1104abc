/* attention.cu: the attention of generated CUDA in the simulator against plain loops in doubles, on random shapes:
 * every mask alone and together, one query, odd widths, grouped heads, cross, rotary positions, caps, biases, dropout, strided
 * operands with their surroundings untouched, queries that see nothing; the same bits in three orders of blocks and
 * threads. */
#include "attention_judge.cuh"

/* Kernels are compiled for few widths; others are rounded up to one of them. */
template <class T, class Real, int D, int E> static Results run_widths(Case &c)
{
    bool dropout = c.flags & DROPPED;
    return run<T, Real>(
        c,
        [=](auto... a) {
            dropout ? launch_attention<T, D, E, true>(NULL, a...) : launch_attention<T, D, E, false>(NULL, a...);
        },
        [=](auto... a) {
            dropout ? launch_attention_back<T, D, E, true>(NULL, a...)
                    : launch_attention_back<T, D, E, false>(NULL, a...);
        });
}

template <class T> static void test_plain(int n, double epsilon)
{
    for (int i = 0; i < n; i++) {
        Case c = make_case(i, i % 6 == 5, 50, 128, 1, [](double x) { return (double)(float)x; });
        shape_scores(c, i);
        check_case(c, i, epsilon, c.g.D <= 64 && c.g.E <= 64 ? run_widths<T, T, 64, 64> : run_widths<T, T, 128, 128>);
    }
    printf("note: plain, %d bytes: worst error %.2f units\n", (int)sizeof(T), worst);
    worst = 0;
}

/* 16 bits without tensor cores: where scores have a cap or a bias. */
static Results run_plain_16(Case &c)
{
    return run<Bf16, float>(
        c, [](auto... a) { launch_attention_plain<Bf16, 64, false>(NULL, a...); },
        [](auto... a) { launch_attention_plain_back<Bf16, 64, false>(NULL, a...); });
}

static void test_plain_16(int n)
{
    for (int i = 0; i < n; i++) {
        Case c = make_case(i % 2 ? CAUSAL : LENGTHS | TURNED, i == 0, 70, 64, 8, [](double x) { return (double)(float)Bf16((float)x); });
        shape_scores(c, i % 2 ? 8 : i % 4 ? 3 : 5);
        check_case(c, i, 0x1p-9, run_plain_16);
    }
    worst = 0;
}

template <class T, class Widths>
static void test_tensor(const char *name, int n, int most, double epsilon, Widths widths)
{
    for (int i = 0; i < n; i++) {
        Case c = make_case(i, i % 6 == 5, 130, most, 8, [](double x) { return (double)(float)T((float)x); });
        c.weights &= i % 8 == 3; /* by plain kernels */
        check_case(c, i, epsilon, widths(c));
    }
    EXPECT(!sim_conflicts(), "rows of a matrix lie in the same banks");
    printf("note: %s on tensor cores: worst error %.2f units\n", name, worst);
    worst = 0;
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 32;
    test_plain<float>(n, FLT_EPSILON);
    test_plain<double>(n / 4, DBL_EPSILON);
    test_plain_16(n / 8);
    test_tensor<Bf16>("bf16", n, 80, 0x1p-9, [](Case &c) {
        bool wide = c.g.D > 64 || c.g.E > 64;
        return wide          ? run_widths<Bf16, float, 80, 80>
               : c.g.D <= 16 ? run_widths<Bf16, float, 16, 64>
                             : run_widths<Bf16, float, 64, 64>;
    });
    test_tensor<F16>("fp16", n / 4, 64, 0x1p-12, [](Case &) { return run_widths<F16, float, 64, 64>; });
    return failures > 0;
}
