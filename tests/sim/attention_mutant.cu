/* attention_mutant.cu: the fewest kernels of attention that show a mistake in its headers: attention_mutants.sh puts them there. */
#include "attention_judge.cuh"

static Results run_32(Case &c)
{
    auto forward = [](Bf16 *o, float *lse, Bf16 *, auto... a) {
        launch_attention_tensor<Bf16, 32, 32, false>(NULL, o, lse, a...);
    };
    return run<Bf16, float>(c, forward,
                            [](auto... a) { launch_attention_tensor_back<Bf16, 32, 32, false>(NULL, a...); });
}

int main(void)
{
    for (int i = 0; i < 4; i++) {
        Case c = make_case(CAUSAL, i < 2, 150, 32, 8, [](double x) { return (double)(float)Bf16((float)x); });
        c.weights = false;
        c.aligned = i < 3; /* the last one but for o */
        while (!c.aligned && c.g.o.time % 8 == 0)
            c.g.o = make_operand(c, O, c.g.T, c.g.H, c.g.E, false, [](double x) { return x; });
        check_case(c, i, 0x1p-9, run_32);
    }
    return failures > 0;
}
