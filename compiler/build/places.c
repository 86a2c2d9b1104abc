/* places.c: where the files are that a build takes: those of this build of Lathe or of an installed tree, whose parts
 * must belong together. */
#define _GNU_SOURCE /* memmem */
#include "build/build.h"
#include "build/sources.h"
#include "runtime/base/installed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ------------------------------------------------------------------ paths */

/* A path below PREFIX; or, where there is none, `built`. */
static const char *place_below(const char *below, const char *built)
{
    char prefix[LONGEST_PREFIX];
    return find_prefix(prefix) ? format("%s/%s", prefix, below) : built;
}

char *program_beside(const char *name)
{
    char folder[LONGEST_PREFIX];
    if (find_prefix(folder)) return format("%s/%s/%s", folder, same(name, "lathe") ? "bin" : "lib/lathe", name);
    return find_own_folder(folder) ? format("%s/%s", folder, name) : copy_string(name);
}

/* $LATHE_RUNTIME; NULL: not set. */
static const char *own_runtime(void)
{
    const char *own = getenv("LATHE_RUNTIME");
    return own && *own ? own : NULL;
}

const char *runtime_dir(void)
{
    return own_runtime() ? own_runtime() : place_below("share/lathe/runtime", LATHE_RUNTIME_DIR);
}

const char *runtime_library(void)
{
    const char *own = format("%s/liblathe_rt.a", runtime_dir());
    return access(own, R_OK) == 0 ? own : place_below("lib/lathe/liblathe_rt.a", LATHE_RUNTIME_LIBRARY);
}

static const char *library_parts(void)
{
    const char *own = format("%s/library.c", runtime_dir());
    return access(own, R_OK) == 0 ? own : place_below("lib/lathe/library.c", LATHE_AMALGAMATION);
}

const char *look_page(void) { return place_below("lib/lathe/look_page.c", LATHE_LOOK_PAGE); }

const char *blas_library(void) { return LATHE_OPENBLAS; }

/* ------------------------------------------------------------------ do they belong together? */

extern const char lathe_stamp[]; /* STAMP_WORDS and the hash of the runtime's sources (tools/stamp.c) */

static bool has_stamp(const char *file)
{
    size_t bytes;
    const char *text = read_file(file, &bytes);
    return text && memmem(text, bytes, lathe_stamp, strlen(lathe_stamp));
}

static bool has_stamped_sources(const char *dir)
{
    return same(lathe_stamp, format("%s%016llx", STAMP_WORDS, (unsigned long long)hash_of_sources(dir)));
}

const char *misfit_of_runtime(void)
{
    char prefix[LONGEST_PREFIX];
    if (own_runtime() || !find_prefix(prefix)) return NULL;
    if (access(format("%s/lathe_rt.h", runtime_dir()), R_OK) != 0) return format("%s: not there", runtime_dir());
    if (!has_stamped_sources(runtime_dir())) return format("%s: of another version than lathe", runtime_dir());
    const char *const files[] = {runtime_library(), library_parts()};
    for (int i = 0; i < COUNT_OF(files); i++) {
        if (access(files[i], R_OK) != 0) return format("%s: %s", files[i], strerror(errno));
        if (!has_stamp(files[i])) return format("%s: of another version than lathe", files[i]);
    }
    return NULL;
}

static void refuse_misfit(void)
{
    const char *misfit = misfit_of_runtime();
    if (misfit)
        err((Where){0}, "%s\n  Lathe's files belong together: install it again, where nothing of another is", misfit);
}

void need_runtime_library(void)
{
    refuse_misfit();
    if (access(runtime_library(), R_OK) != 0)
        err((Where){0},
            "the runtime library is missing: %s\n  build Lathe, or set LATHE_RUNTIME to the folder that has it",
            runtime_library());
}

/* ------------------------------------------------------------------ the text of a library */

const char *needed_text(const char *path)
{
    const char *text = read_file(path, NULL);
    if (!text) err((Where){0}, "cannot read %s: %s\n  build Lathe again", path, strerror(errno));
    return text;
}

const char *library_file(const char *name) { return needed_text(format("%s/library/%s", runtime_dir(), name)); }

const char *runtime_text(const char **model)
{
    static const char mark[] = "/* ==== the model */\n";
    refuse_misfit();
    const char *text = needed_text(library_parts()), *at = strstr(text, mark);
    text += strcspn(text, "\n") + 1; /* its stamp */
    must(at);
    *model = at + strlen(mark);
    return text;
}
