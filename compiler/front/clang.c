/* clang.c: loads libclang when it is first needed. */
#include "front/clang.h"
#include "base/util.h"

#include <dlfcn.h>
#include <stdlib.h>

struct Clang_library clang;

static const char remedy[] = "on Debian: apt install libclang1-19";

static void *open_library(void)
{
    static const char *const names[] = {"libclang-19.so.19", "libclang-19.so.1",  "libclang.so.19",
                                        "libclang-20.so.20", "libclang-18.so.18", "libclang-17.so.17",
                                        "libclang-17.so.1",  "libclang.so"};
    const char *named = getenv("LATHE_LIBCLANG");
    if (named) return dlopen(named, RTLD_NOW | RTLD_LOCAL);
    void *library = NULL;
    for (int i = 0; i < COUNT_OF(names) && !library; i++) library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    return library;
}

const char *clang_fault(void)
{
    if (clang.EvalResult_dispose) return NULL;
    void *library = open_library();
    if (!library) return format("nn.cfunc needs libclang 17 or newer (19 is tested), which was not found; %s", remedy);
#define X(result, name, arguments)                                                                                     \
    if (!(*(void **)&clang.name = dlsym(library, "clang_" #name))) goto too_old; /* as POSIX has it */
    CLANG_FUNCTIONS(X)
#undef X
    return NULL;
too_old:
    clang = (struct Clang_library){0};
    return format("nn.cfunc needs libclang 17 or newer, and the one found is older; %s", remedy);
}

const char *clang_text(Clang_string s)
{
    const char *text = clang.getCString(s);
    text = copy_string(text ? text : "");
    clang.disposeString(s);
    return text;
}
