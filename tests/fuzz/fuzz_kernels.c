/* fuzz_kernels.c: kernels as text: what is read back prints as itself, and all passes that are left take it, or refuse.
 */
#include "fuzz.h"
#include "lathe.h"

static char *printed(const Module *m)
{
    Text t = {0};
    for (int i = 0; i < m->programs.n; i++) print_kernels(&t, m->programs.at[i]);
    return t.at;
}

void fuzz_one(const char *path, const char *text, size_t n)
{
    Options options = {.target = &target_cpu};
    Module *m = parse_kernels(path, copy_bytes_as_string(text, n), describe(NULL, path, &options));
    char *once = printed(m),
         *twice = printed(parse_kernels("printed.kernels", once, describe(NULL, "printed.kernels", &options)));
    if (!same(once, twice)) die("kernels do not print as they were read:\n%s\n%s", once, twice);
    options.check_stages = true;
    compile_kernels(m, "plan");
}
