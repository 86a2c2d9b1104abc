/* test_letters.c: the letters behind a name that is taken count as after_the_first() says, there and back; new names
 * are the first that are free, whatever was taken before them. */
#include "harness.h"

#include "emit/emit.h"

static void there_and_back(void)
{
    for (int k = 1; k < 20000; k++)
        expect(number_after_the_first(after_the_first(k)) == k, "%d: %s", k, after_the_first(k));
    const char *const others[] = {"B", "b2", "b_c", "zzzzzzzzzzzz!"};
    for (int i = 0; i < COUNT_OF(others); i++)
        expect(number_after_the_first(others[i]) == 0, "%s counts as %d", others[i], number_after_the_first(others[i]));
}

static void first_free(void)
{
    const char *const before[] = {"x_a", "x_c", "x_b_b", "xx", "x_", "x_zzzzzzzzzzzz", "y"};
    Names names = {0};
    for (int i = 0; i < COUNT_OF(before); i++) push(&names, before[i]);
    const char *const wishes[] = {"x", "x", "x", "x_b", "y", "z"}, *const given[] = {"x",     "x_b", "x_d",
                                                                                     "x_b_c", "y_b", "z"};
    for (int i = 0; i < COUNT_OF(wishes); i++) {
        const char *name = new_name(&names, wishes[i]);
        expect(same(name, given[i]), "%s became %s, not %s", wishes[i], name, given[i]);
    }
    for (int i = 0; i < 701; i++) new_name(&names, "w");
    expect(same(new_name(&names, "w"), "w_zz"), "not w_zz: %s", names.at[names.n - 1]);
}

int main(void)
{
    there_and_back();
    first_free();
    return finish();
}
