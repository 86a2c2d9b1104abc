/* machine.c: the machines that programs are built for besides this one: which compilers make them, and what to install
 * where those are missing. */
#include "build/machine.h"

#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

/* Of an x86 processor: what every version has, and the levels that x86-64 psABI defines.  gcc for Windows aligns stacks
 * to 16 bytes and stores registers of 32 as if they were aligned (gcc's bug 54412); the assembler makes such stores
 * unaligned. */
#define X86_GCC                                                                                                        \
    "x86_64-linux-gnu-gcc", "x86_64-linux-gnu-ar", "gcc-x86-64-linux-gnu libc6-dev-amd64-cross", "x86_64-linux-gnu"
#define X86_LEVEL(n)  "-march=x86-64-v" #n, "-mcpu=x86_64_v" #n
#define WINDOWS_FLAGS "-march=x86-64-v3 -Wa,-muse-unaligned-vector-move"

static const Machine machines[] = {
    {"x86-64", LINUX, "x86_64", "amd64", X86_GCC, "-march=x86-64", "", 0, true},
    {"x86-64-v2", LINUX, "x86_64", "amd64", X86_GCC, X86_LEVEL(2), 0, false},
    {"x86-64-v3", LINUX, "x86_64", "amd64", X86_GCC, X86_LEVEL(3), 0, false},
    {"x86-64-v4", LINUX, "x86_64", "amd64", X86_GCC, X86_LEVEL(4), 0, false},
    {"aarch64", LINUX, "aarch64", "arm64", "aarch64-linux-gnu-gcc", "aarch64-linux-gnu-ar",
     "gcc-aarch64-linux-gnu libc6-dev-arm64-cross", "aarch64-linux-gnu", "", "", 0, false},
    {"riscv64", LINUX, "riscv64", "riscv64", "riscv64-linux-gnu-gcc", "riscv64-linux-gnu-ar",
     "gcc-riscv64-linux-gnu libc6-dev-riscv64-cross", "riscv64-linux-musl", "", "", 0, false},
    {"wasm32", WASI, "wasm32", NULL, "clang", "llvm-ar", "clang lld llvm wasi-libc libclang-rt-14-dev-wasm32",
     "wasm32-wasi", "--target=wasm32-wasi -msimd128", "-mcpu=generic+simd128", (int64_t)1 << 32, false},
    {"windows", WINDOWS, "x86_64", NULL, "x86_64-w64-mingw32-gcc", "x86_64-w64-mingw32-ar", "gcc-mingw-w64-x86-64",
     "x86_64-windows-gnu", WINDOWS_FLAGS, "-mcpu=x86_64_v3", 0, false},
};

const Machine *machine_named(const char *name)
{
    for (int i = 0; i < COUNT_OF(machines); i++)
        if (same(machines[i].name, name)) return &machines[i];
    return NULL;
}

const char *names_of_machines(void)
{
    Text t = {0};
    for (int i = 0; i < COUNT_OF(machines); i++)
        say(&t, "%s%s", i == 0 ? "" : i + 1 == COUNT_OF(machines) ? " or " : ", ", machines[i].name);
    return t.at;
}

const char *machine_meant(const char *name)
{
    static const char *const others[][2] = {{"arm64", "aarch64"},    {"armv8", "aarch64"},  {"amd64", "x86-64"},
                                            {"x86_64", "x86-64"},    {"x64", "x86-64"},     {"avx2", "x86-64-v3"},
                                            {"avx512", "x86-64-v4"}, {"rv64gc", "riscv64"}, {"riscv", "riscv64"},
                                            {"wasm", "wasm32"},      {"wasi", "wasm32"},    {"win64", "windows"},
                                            {"win", "windows"},      {"mingw", "windows"},  {"exe", "windows"}};
    Words names = {0};
    for (int i = 0; i < COUNT_OF(machines); i++) push(&names, machines[i].name);
    for (int i = 0; i < COUNT_OF(others); i++) push(&names, others[i][0]);
    const char *close = nearest(name, names.at, names.n);
    for (int i = 0; i < COUNT_OF(others) && close; i++)
        if (same(close, others[i][0])) close = others[i][1];
    return close ? format("; did you mean %s?", close) : "";
}

/* ------------------------------------------------------------------ tools */

static bool is_clang(const char *compiler) { return strstr(file_name(compiler), "clang") != NULL; }

void push_words(Words *w, const char *words)
{
    for (const char *at = words + strspn(words, " "); *at; at += strspn(at, " ")) {
        push(w, copy_bytes_as_string(at, strcspn(at, " ")));
        at += strcspn(at, " ");
    }
}

bool is_family_here(const Machine *m)
{
    struct utsname here;
    return m->system == LINUX && uname(&here) == 0 && same(here.machine, m->processor);
}

static Tools tools_here(void)
{
    Tools t = {.system = LINUX};
    push(&t.compiler, needed_compiler());
    push(&t.archiver, in_path("ar") ? in_path("ar") : "ar");
    t.threads = !is_clang(t.compiler.at[0]);
    return t;
}

static Tools zig_tools(const Machine *m, const char *zig)
{
    Tools t = {.system = m->system, .zig = true};
    push(&t.compiler, zig);
    push_words(&t.compiler, format("cc -target %s %s", m->zig, m->zig_flags));
    push(&t.archiver, zig);
    push(&t.archiver, "ar");
    return t;
}

static Tools cross_tools(const Machine *m)
{
    Tools t = {.system = m->system};
    push(&t.compiler, in_path(m->compiler));
    push_words(&t.compiler, m->flags);
    push(&t.archiver, in_path(m->archiver));
    t.threads = !is_clang(m->compiler);
    return t;
}

/* Whether they make a program: headers, libraries and the linker come in packages of their own. */
static bool do_work(const Tools *t, const char *dir, const char *log)
{
    static const char text[] = "#include <stdio.h>\nint main(void) { return puts(\"\") < 0; }\n";
    const char *source = format("%s/probe.c", dir), *program = format("%s/probe.exe", dir); /* Windows wants that */
    Words w = {0};
    make_folder(dir);
    put_file(dir, "probe.c", text, strlen(text));
    for (int i = 0; i < t->compiler.n; i++) push(&w, t->compiler.at[i]);
    const char *const rest[] = {source, "-o", program};
    for (int i = 0; i < COUNT_OF(rest); i++) push(&w, rest[i]);
    const bool works = run_logged(&w, log) == 0;
    remove(source), remove(program), remove(format("%s/probe.pdb", dir));
    return works;
}

Tools tools_for(const Machine *m, const char *dir)
{
    if (!m) return tools_here();
    const bool zig_alone = !c_compiler() && !getenv("CC") && in_path("zig");
    if (is_family_here(m) && !zig_alone) {
        Tools t = tools_here();
        push_words(&t.compiler, m->flags);
        return t;
    }
    const char *log = format("%s/build.log", dir), *zig = in_path("zig");
    const bool has = in_path(m->compiler) && in_path(m->archiver);
    Tools t = {0};
    if (has) t = cross_tools(m);
    if (has && do_work(&t, dir, log)) return t;
    if (zig) t = zig_tools(m, zig);
    if (zig && do_work(&t, dir, log)) return t;
    err((Where){0},
        "no C compiler for %s: looked for %s and %s (which %s), and for zig, in PATH\n"
        "  install it (Debian, Ubuntu: apt install %s)%s",
        m->name, m->compiler, m->archiver, has ? "make no program" : "are not there", m->packages,
        has || zig ? format("; %s has what it said", log) : "");
}
