/* test_layers.c: convolutions, pools, norms and the like, generated in fp64 and fp32, against values and gradients
 * recorded from PyTorch (layers.lua here has the cases, tests/reference/layers.py the same ones). */
#include "harness.h"

static void check(const char *precision, double bound)
{
    int seen = check_recorded("tests/lua/layers.lua", "tests/reference/layers.safetensors", precision, bound);
    expect(seen > 50, "only %d layers", seen);
    printf("%d layers in %s\n", seen, precision);
}

int main(void)
{
    check("fp64", 1e-12);
    check("fp32", 1e-5);
    return finish();
}
