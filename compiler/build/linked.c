/* linked.c: the libraries that a trainer links. Here they are those that Lathe was built with. A trainer for another
 * machine is static and takes those that are installed for it, or are in $LATHE_TARGET; only jansson has to be there.
 */
#include "build/machine.h"

#include <stdlib.h>
#include <string.h>

typedef struct Linkable {
    const char *name, *package;     /* LATHE_WITH_NAME in the runtime; without the architecture */
    const char *headers, *function; /* of a program that needs it */
    const char *library;
    const char *gives; /* what a trainer without it lacks; NULL: everything */
} Linkable;

static const Linkable linkables[] = {
    {"JANSSON", "libjansson-dev", "#include <jansson.h>\n", "json_loads", "-ljansson", NULL},
    {"PCRE2", "libpcre2-dev", "#define PCRE2_CODE_UNIT_WIDTH 8\n#include <pcre2.h>\n", "pcre2_compile", "-lpcre2-8",
     "byte pair encoding"},
    {"ZSTD", "libzstd-dev", "#include <zstd.h>\n", "ZSTD_versionNumber", "-lzstd", "files packed as .zst"},
    {"JPEG", "libjpeg-dev", "#include <stdio.h>\n#include <jpeglib.h>\n", "jpeg_std_error", "-ljpeg", "JPEG pictures"},
    {"PNG", "libpng-dev", "#include <png.h>\n", "png_access_version_number", "-lpng -lz", "PNG pictures"},
    {"ZLIB", "zlib1g-dev", "#include <zlib.h>\n", "zlibVersion", "-lz", "files packed as .gz"},
    {"UTF8PROC", "libutf8proc-dev", "#include <utf8proc.h>\n", "utf8proc_version", "-lutf8proc",
     "Unicode's normal forms"}};

/* Where its compiler does not look by itself: $LATHE_TARGET is a prefix, as of `./configure --prefix`. */
void add_target_folders(Words *w, const Machine *m)
{
    const char *own = getenv("LATHE_TARGET");
    if (!own || !*own) return;
    push(w, format("-I%s/include", own));
    push(w, format("-L%s/lib", own));
    push(w, format("-L%s/lib/%s-linux-gnu", own, m->processor));
}

static bool can_link(const Linkable *l, const Machine *m, const Tools *t, const char *dir)
{
    const char *text =
        format("%sint main(void) { void *volatile f = (void *)%s; return !f; }\n", l->headers, l->function);
    const char *source = format("%s/probe.c", dir), *program = format("%s/probe.exe", dir);
    Words w = {0};
    put_file(dir, "probe.c", text, strlen(text));
    for (int i = 0; i < t->compiler.n; i++) push(&w, t->compiler.at[i]);
    add_target_folders(&w, m);
    const char *const rest[] = {"-w", "-static", source, "-o", program};
    for (int i = 0; i < COUNT_OF(rest); i++) push(&w, rest[i]);
    push_words(&w, l->library);
    const bool there = run_logged(&w, format("%s/build.log", dir)) == 0;
    remove(source), remove(program);
    return there;
}

/* Debian 12 is not made for RISC-V. */
static const char *has_packages(const Machine *m) { return same(m->debian, "riscv64") ? "Debian 13" : "Debian"; }

static const char *package_for(const Linkable *l, const Machine *m) { return format("%s:%s", l->package, m->debian); }

static void need_jansson(const Machine *m, const char *dir)
{
    err((Where){0},
        "a trainer for %s links the library jansson (JSON) of that machine, and %s does not find it\n"
        "  install it (%s: dpkg --add-architecture %s && apt update && apt install %s), or set LATHE_TARGET to\n"
        "  a folder with include/jansson.h and lib/libjansson.a for %s; %s/build.log has what it said",
        m->name, m->compiler, has_packages(m), m->debian, package_for(&linkables[0], m), m->name, dir);
}

Linked linked_for(const Machine *m, const Tools *t, const char *dir)
{
    Linked found = {0};
    Text lacks = {0}, packages = {0};
    for (int i = 0; i < COUNT_OF(linkables); i++) {
        const Linkable *l = &linkables[i];
        if (can_link(l, m, t, dir)) {
            push(&found.defines, format("-DLATHE_WITH_%s", l->name));
            push_words(&found.libraries, l->library);
            continue;
        }
        if (!l->gives) need_jansson(m, dir);
        say(&lacks, "%s%s", lacks.n ? ", " : "", l->gives);
        say(&packages, " %s", package_for(l, m));
    }
    if (lacks.n)
        say_to(stderr, "note: a trainer for %s without %s: their libraries are not here (%s: apt install%s)\n", m->name,
               lacks.at, has_packages(m), packages.at);
    return found;
}
