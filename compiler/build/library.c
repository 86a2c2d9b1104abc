/* library.c: a library of a model: its one C file, compiled and linked without libgomp (runtime/threads), for this
 * machine or another. */
#include "build/jobs.h"
#include "build/machine.h"
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
    if (o->is_static) usage_error("--static is for trainers: a program takes in libNAME.a whole as it is");
    if (o->target->device) usage_error("--library is for processors: leave --target %s out", o->target->name);
    if (!o->python && (is_word_of_c(name) || strcasecmp(name, "library") == 0))
        usage_error("a library cannot be called %s, which is a name that its C has already: copy %s to another name",
                    name, d->file);
    if (why) usage_error("a library does not have %s yet: leave it out, or build a trainer", why);
}

/* ------------------------------------------------------------------ compiling */

/* What is built, with which tools. */
typedef struct Library_build {
    const Desc *desc;
    const Machine *machine; /* NULL: this one */
    Tools tools;
    const char *dir, *name, *source;
} Library_build;

static void add_all(Words *w, const Words *more)
{
    for (int i = 0; i < more->n; i++) push(w, more->at[i]);
}

#define ADD(w, ...)                                                                                                    \
    do {                                                                                                               \
        const char *const all[] = {__VA_ARGS__};                                                                       \
        for (int i = 0; i < COUNT_OF(all); i++) push(w, all[i]);                                                       \
    } while (0)

static void run_or_refuse(Words *w, const Library_build *k)
{
    char *log = format("%s/build.log", k->dir);
    if (run_logged(w, log) != 0)
        refused(format("the C compiler refuses %s", k->source), k->source, format("%s:", file_name(k->source)), log);
}

static void put_pkg_config(const Library_build *k)
{
    Text t = {0};
    char *full = realpath(k->dir, NULL);
    say(&t, "prefix=%s\nName: %s\nDescription: the model %s, made by lathe\nVersion: %d.%d\n", full ? full : k->dir,
        k->name, k->desc->model, LATHE_ABI_MAJOR, LATHE_ABI_MINOR);
    say(&t, "Cflags: -I${prefix}\nLibs: -L${prefix} -l%s\n%s", k->name,
        k->tools.system == LINUX ? "Libs.private: -lm -lpthread\n" : "");
    put_file(k->dir, format("%s.pc", k->name), t.at, t.n);
}

/* The functions that the header declares. */
static Words functions_of(const Library_build *k)
{
    Words all = {0};
    const char *text = needed_text(format("%s/%s.h", k->dir, k->name)), *begin = format("%s_", k->name);
    for (const char *at = text; (at = strstr(at, begin)); at++) {
        size_t n = 0;
        while (is_letter_of_word(at[n])) n++;
        if (at[n] == '(' && !is_letter_of_word(at[-1])) push(&all, copy_bytes_as_string(at, n));
    }
    return all;
}

static Words compiling(const Library_build *k, const Tools *t)
{
    Words w = {0};
    add_all(&w, &t->compiler);
    if (k->machine) add_common_flags(&w, t->threads);
    else add_flags_here(&w, t->threads);
    if (t->system == LINUX) push(&w, "-fPIC");
    ADD(&w, "-fno-lto", "-Wno-unused-function", "-Wno-unused-variable", format("-I%s", k->dir));
    return w;
}

/* The library's source for each level, whose functions are NAME_open_v3, …, and NAME_open, which chooses. */
static Jobs jobs_of_levels(const Library_build *k)
{
    Jobs jobs = {0};
    const Words functions = functions_of(k);
    for (int level = FIRST_LEVEL; level <= LAST_LEVEL; level++) {
        const Tools t = tools_for(machine_of_level(level), k->dir);
        Words w = compiling(k, &t);
        for (int i = 0; i < functions.n; i++) push(&w, format("-D%s=%s_v%d", functions.at[i], functions.at[i], level));
        add_object(&jobs, k->dir, k->source, format("%s-v%d", k->name, level), w, 1);
    }
    Words w = compiling(k, &k->tools);
    push(&w, format("-I%s", runtime_dir()));
    add_object(&jobs, k->dir, format("%s/%s-levels.c", k->dir, k->name), format("%s-levels", k->name), w,
               hash_of_headers(1));
    return jobs;
}

static Jobs jobs_of_library(const Library_build *k)
{
    Jobs jobs = {0};
    if (k->machine && k->machine->levels) return jobs_of_levels(k);
    add_object(&jobs, k->dir, k->source, k->name, compiling(k, &k->tools), 1);
    return jobs;
}

/* The library that is loaded when a program starts; for WebAssembly, the module. */
static const char *shared_file(const Library_build *k)
{
    switch (k->tools.system) {
    case WINDOWS: return format("%s/%s.dll", k->dir, k->name);
    case WASI: return format("%s/%s.wasm", k->dir, k->name);
    default: return format("%s/lib%s.so", k->dir, k->name);
    }
}

static bool is_of_files(const char *function)
{
    const size_t n = strlen(function), end = strlen("_file");
    return n > end && same(function + n - end, "_file");
}

/* A module exports what it is asked for: the functions, and memory for instances.  Not those of files, which would ask
 * a browser for a system. */
static void add_exports(Words *w, const Library_build *k)
{
    const Words functions = functions_of(k);
    ADD(w, "-Wl,--export=aligned_alloc", "-Wl,--export=free");
    for (int i = 0; i < functions.n; i++)
        if (!is_of_files(functions.at[i])) push(w, format("-Wl,--export=%s", functions.at[i]));
}

static Words linking(const Library_build *k, const Jobs *jobs, const char *shared)
{
    Words w = {0};
    add_all(&w, &k->tools.compiler);
    switch (k->tools.system) {
    case WINDOWS:
        ADD(&w, "-shared", format("-Wl,--out-implib,%s/lib%s.dll.a", k->dir, k->name));
        if (!k->tools.zig) ADD(&w, "-static-libgcc", "-Wl,--exclude-libs,ALL");
        break;
    case WASI:
        ADD(&w, "-mexec-model=reactor", "-Wl,-z,stack-size=1048576");
        if (!k->tools.zig) push(&w, "-Wl,--stack-first"); /* zig does so by itself */
        add_exports(&w, k);
        break;
    default: ADD(&w, "-shared", format("-Wl,-soname,lib%s.so", k->name), "-Wl,--no-undefined"); break;
    }
    ADD(&w, "-o", shared);
    for (int i = 0; i < jobs->n; i++) push(&w, jobs->at[i].object);
    ADD(&w, "-lm", "-Wl,--strip-debug");
    if (k->tools.system == LINUX) push(&w, "-lpthread");
    return w;
}

/* gcc for Windows makes runtime/threads' functions visible to others, who may have another model with them. */
static void hide_threads(const Library_build *k, const char *object)
{
    const char *archiver = k->tools.archiver.at[0];
    Words w = {0};
    ADD(&w, format("%.*sobjcopy", (int)(strlen(archiver) - strlen("ar")), archiver), "--wildcard",
        "--localize-symbol=GOMP_*", "--localize-symbol=omp_*", object);
    run_or_refuse(&w, k);
}

static const char *compile_library(const Library_build *k)
{
    const char *archive = format("%s/lib%s.a", k->dir, k->name), *shared = shared_file(k);
    Jobs jobs = jobs_of_library(k);
    Words pack = {0};
    uint64_t hash = 1;
    for (int i = 0; i < jobs.n; i++) hash = hash_bytes(&jobs.at[i].hash, sizeof hash, hash);
    if (has_hash(archive, hash) && access(shared, R_OK) == 0) return archive;
    run_jobs(&jobs);
    if (k->tools.system == WINDOWS && k->tools.threads) hide_threads(k, jobs.at[0].object);
    unlink(archive);
    add_all(&pack, &k->tools.archiver);
    ADD(&pack, "rcs", archive);
    for (int i = 0; i < jobs.n; i++) push(&pack, jobs.at[i].object);
    run_or_refuse(&pack, k);
    Words link = linking(k, &jobs, shared);
    run_or_refuse(&link, k);
    for (int i = 0; i < jobs.n; i++) unlink(jobs.at[i].object), unlink(format("%s.hash", jobs.at[i].object));
    put_pkg_config(k);
    keep_hash(archive, hash);
    return archive;
}

static void refuse_size(const Module *m, const Machine *machine)
{
    if (machine && machine->most_bytes && m->plan.total >= machine->most_bytes)
        err((Where){.file = m->desc->file},
            "%s addresses %s bytes, and the plan needs %s: a smaller batch needs less, or --memory SIZE", machine->name,
            grouped(machine->most_bytes), grouped(m->plan.total));
}

const char *make_library(const Module *m, const char *dir)
{
    const Options *o = m->desc->options;
    Page *page = new_page(m);
    const char *name = name_of_library(page);
    const Machine *machine = o->machine ? machine_named(o->machine) : NULL;
    refuse_others(m->desc, name);
    refuse_size(m, machine);
    emit_library(page, dir);
    if (machine && machine->levels && !o->amalgamation) emit_levels(page, dir);
    const char *source = format("%s/%s.c", dir, name);
    if (o->source) return dir;
    if (o->amalgamation || o->python) return source;
    return compile_library(&(Library_build){m->desc, machine, tools_for(machine, dir), dir, name, source});
}
