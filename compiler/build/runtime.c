/* runtime.c: the runtime's library for another processor (--for x86-64-v3, --for aarch64): compiled from
 * its sources once, and kept beside the one that Lathe was built with. */
#include "build/jobs.h"
#include "build/machine.h"
#include "build/sources.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

static bool is_source(const char *name) { return ends_in(name, ".c"); }

/* Beside Lathe's own in the folder where Lathe was built; of an installed Lathe among the user's caches; else with the
 * trainer. */
static const char *folder_of_runtime(const Machine *m, const char *dir)
{
    const char *library = runtime_library(), *own = getenv("LATHE_CACHE"), *caches = getenv("XDG_CACHE_HOME");
    const char *built = copy_bytes_as_string(library, (size_t)(strrchr(library, '/') - library)),
               *home = getenv("HOME");
    const char *folder = dir;
    if (access(format("%s/CMakeCache.txt", built), W_OK) == 0) folder = built;
    else if (own && *own && !same(own, "off")) folder = own;
    else if (caches && *caches) folder = format("%s/lathe", caches);
    else if (home && *home) folder = format("%s/.cache/lathe", home);
    return format("%s/runtime-%s", folder, m->name);
}

static Words compiling_runtime(const Machine *m, const Tools *t, const Linked *linked)
{
    static const char *const here[] = {"ZLIB", "ZSTD", "JPEG", "PNG", "SNDFILE", "UTF8PROC", "MICROHTTPD", "PCRE2"};
    Words w = {0};
    for (int i = 0; i < t->compiler.n; i++) push(&w, t->compiler.at[i]);
    add_common_flags(&w, true);
    push(&w, "-w");
    push(&w, format("-I%s", runtime_dir()));
    push(&w, format("-DLATHE_OPENBLAS=\"%s\"", blas_library()));
    for (int i = 0; !linked && i < COUNT_OF(here); i++) push(&w, format("-DLATHE_WITH_%s", here[i]));
    for (int i = 0; linked && i < linked->defines.n; i++) push(&w, linked->defines.at[i]);
    if (linked) add_target_folders(&w, m);
    return w;
}

static Words copied_words(const Words *words)
{
    Words w = {0};
    for (int i = 0; i < words->n; i++) push(&w, words->at[i]);
    return w;
}

static Jobs jobs_of_runtime(const Words *compiling, const char *folder)
{
    Jobs all = {0};
    const Files sources = files_below(runtime_dir(), is_source);
    const uint64_t headers = hash_of_headers(1);
    add_object(&all, folder, look_page(), "look_page", copied_words(compiling), headers);
    for (int i = 0; i < sources.n; i++) {
        char *name = copy_bytes_as_string(sources.at[i], strlen(sources.at[i]) - strlen(".c"));
        for (char *c = name; *c; c++)
            if (*c == '/') *c = '-';
        add_object(&all, folder, format("%s/%s", runtime_dir(), sources.at[i]), name, copied_words(compiling), headers);
    }
    return all;
}

/* Until the program ends: builds at the same time write one library. */
static void lock_folder(const char *folder)
{
    const int lock = open(format("%s/lock", folder), O_CREAT | O_RDWR | O_CLOEXEC, 0666);
    if (lock < 0 || flock(lock, LOCK_EX) != 0) err((Where){0}, "cannot lock %s/lock: %s", folder, strerror(errno));
}

const char *runtime_library_for(const Machine *m, const Tools *t, const Linked *linked, const char *dir)
{
    const char *folder = folder_of_runtime(m, dir), *archive = format("%s/liblathe_rt.a", folder);
    Words pack = {0};
    if (access(format("%s/trainer/main.c", runtime_dir()), R_OK) != 0 || access(look_page(), R_OK) != 0)
        err((Where){0},
            "--for %s compiles the runtime, and %s has no sources\n  set LATHE_RUNTIME to the folder runtime/ of "
            "Lathe's sources",
            m->name, runtime_dir());
    make_folder(folder);
    lock_folder(folder);
    const Words compiling = compiling_runtime(m, t, linked);
    Jobs jobs = jobs_of_runtime(&compiling, folder);
    for (int i = 0; i < t->archiver.n; i++) push(&pack, t->archiver.at[i]);
    push(&pack, "rcs");
    push(&pack, archive);
    for (int i = 0; i < jobs.n; i++) push(&pack, jobs.at[i].object);
    uint64_t hash = hash_words(&pack, 1);
    for (int i = 0; i < jobs.n; i++) hash = hash_bytes(&jobs.at[i].hash, sizeof hash, hash);
    if (has_hash(archive, hash)) return archive;
    say_to(stderr, "compiling the runtime for %s, which is kept for the next time\n", m->name);
    run_jobs(&jobs);
    unlink(archive);
    if (run_logged(&pack, format("%s/build.log", folder)) != 0)
        err((Where){0}, "%s cannot be written: %s/build.log has why", archive, folder);
    keep_hash(archive, hash);
    return archive;
}
