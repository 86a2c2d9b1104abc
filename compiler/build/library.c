/* library.c: a library of a model: its one C file, compiled and linked without libgomp (runtime/threads). */
#include "build/build.h"
#include "desc/options.h"
#include "desc/target.h"
#include "emit/emit.h"
#include "runtime/interface/version.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* ------------------------------------------------------------------ what cannot be one */

static const char *refusal_of(const Desc *d)
{
    if (has_blocks(d->options)) return "--frozen and --parameters in 8 or 4 bits";
    if (d->adapters.n) return "--lora";
    if (d->teacher) return "--distill";
    if (d->recipe.bits == 8) return "moments in 8 bits (bits = 8)";
    if (d->recipe.accumulate_at) return "batches that grow (accumulate_at)";
    return NULL;
}

static void refuse_others(const Desc *d, const char *name)
{
    const Options *o = d->options;
    const char *why = refusal_of(d);
    if (o->target->device) usage_error("--library is for processors: leave --target %s out", o->target->name);
    if (is_word_of_c(name) || strcasecmp(name, "library") == 0)
        usage_error("a library cannot be called %s, which is a name that its C has already: copy %s to another name",
                    name, d->file);
    if (why) usage_error("a library does not have %s yet: leave it out, or build a trainer", why);
}

/* ------------------------------------------------------------------ compiling */

static void add_flags(Words *w, const char *dir)
{
    add_c_flags(w);
    push(w, "-fPIC");
    push(w, "-fno-lto");
    push(w, "-Wno-unused-function");
    push(w, "-Wno-unused-variable");
    push(w, format("-I%s", dir));
}

static void run_or_refuse(Words *w, const char *dir, const char *source)
{
    char *log = format("%s/build.log", dir);
    if (run_logged(w, log) != 0)
        refused(format("the C compiler refuses %s", source), source, format("%s:", file_name(source)), log);
}

static void put_pkg_config(const Desc *d, const char *dir, const char *name)
{
    Text t = {0};
    char *full = realpath(dir, NULL);
    say(&t, "prefix=%s\nName: %s\nDescription: the model %s, made by lathe\nVersion: %d.%d\n", full ? full : dir, name,
        d->model, LATHE_ABI_MAJOR, LATHE_ABI_MINOR);
    say(&t, "Cflags: -I${prefix}\nLibs: -L${prefix} -l%s\nLibs.private: -lm -lpthread\n", name);
    put_file(dir, format("%s.pc", name), t.at, t.n);
}

static const char *compile_library(const Desc *d, const char *dir, const char *name)
{
    const char *cc = needed_compiler(), *source = format("%s/%s.c", dir, name), *object = format("%s/%s.o", dir, name);
    const char *archive = format("%s/lib%s.a", dir, name), *shared = format("%s/lib%s.so", dir, name);
    Words compile = {0}, pack = {0}, link = {0};
    push(&compile, cc);
    add_flags(&compile, dir);
    const char *const more[] = {"-c", source, "-o", object};
    for (int i = 0; i < COUNT_OF(more); i++) push(&compile, more[i]);
    const uint64_t hash = hash_file(source, hash_words(&compile, 1));
    if (has_hash(archive, hash) && access(shared, R_OK) == 0) return archive;
    run_or_refuse(&compile, dir, source);
    unlink(archive);
    const char *const packing[] = {in_path("ar") ? in_path("ar") : "ar", "rcs", archive, object};
    for (int i = 0; i < COUNT_OF(packing); i++) push(&pack, packing[i]);
    run_or_refuse(&pack, dir, source);
    const char *const linking[] = {cc,
                                   "-shared",
                                   format("-Wl,-soname,lib%s.so", name),
                                   "-o",
                                   shared,
                                   object,
                                   "-lm",
                                   "-lpthread",
                                   "-Wl,--no-undefined",
                                   "-Wl,--strip-debug"};
    for (int i = 0; i < COUNT_OF(linking); i++) push(&link, linking[i]);
    run_or_refuse(&link, dir, source);
    unlink(object);
    put_pkg_config(d, dir, name);
    keep_hash(archive, hash);
    return archive;
}

const char *make_library(const Module *m, const char *dir)
{
    Page *page = new_page(m);
    const char *name = name_of_library(page);
    refuse_others(m->desc, name);
    emit_library(page, dir);
    if (m->desc->options->source) return dir;
    if (m->desc->options->amalgamation) return format("%s/%s.c", dir, name);
    return compile_library(m->desc, dir, name);
}
