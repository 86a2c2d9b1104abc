/* test_functions.c: the library's functions without parameters, generated in fp64 and fp32, against values and
 * gradients recorded from PyTorch (functions.lua here has the cases, tests/reference/functions.py the same ones). */
#include "harness.h"

static void check(const char *precision, double bound)
{
    int seen = check_recorded("tests/lua/functions.lua", "tests/reference/functions.safetensors", precision, bound);
    expect(seen > 50, "only %d functions", seen);
    printf("%d functions in %s\n", seen, precision);
}

int main(void)
{
    check("fp64", 1e-12);
    check("fp32", 2e-5);
    return finish();
}
