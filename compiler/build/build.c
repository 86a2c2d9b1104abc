/* build.c: makes a trainer of a generated folder: finds a C compiler, runs it, and skips it where nothing has
 * changed.
 */
#include "build/machine.h"
#include "build/sources.h"
#include "desc/options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ------------------------------------------------------------------ what it takes */

char *in_path(const char *command)
{
    if (strchr(command, '/')) return access(command, X_OK) == 0 ? copy_string(command) : NULL;
    const char *path = getenv("PATH");
    for (const char *s = path ? path : ""; *s; s += *s == ':') {
        size_t n = strcspn(s, ":");
        char *full = format("%.*s/%s", (int)n, s, command);
        if (n && access(full, X_OK) == 0) return full;
        s += n;
    }
    return NULL;
}

/* The first word of $CC, or what the machine has; NULL: none. */
const char *c_compiler(void)
{
    const char *own = getenv("CC");
    if (own && *own) return in_path(copy_bytes_as_string(own, strcspn(own, " ")));
    static const char *const known[] = {"cc", "gcc", "clang"};
    for (int i = 0; i < COUNT_OF(known); i++)
        if (in_path(known[i])) return in_path(known[i]);
    return NULL;
}

const char *needed_compiler(void)
{
    const char *cc = c_compiler(), *own = getenv("CC");
    if (cc) return cc;
    if (own && *own) err((Where){0}, "CC=%s: there is no such command\n  unset CC, or set it to a C compiler", own);
    err((Where){0}, "no C compiler: looked for cc, gcc and clang in PATH\n"
                    "  install one (Debian, Ubuntu: apt install gcc libc6-dev), or set CC");
}

/* Arithmetic as DESIGN section 5 wants it: nothing contracted, nothing reordered.  Bytes of the arena hold values of
 * one type after another, which strict aliasing would let gcc reorder.  gcc 12 finds sound stores out of bounds where
 * it unrolls a loop over unit axes; check_program() has checked every view. */
#define MARCH "-march=" LATHE_MARCH
static const char *const flags[] = {
    "-std=gnu11",           "-O3",      MARCH,   "-ffp-contract=off", "-fno-math-errno",  "-fno-trapping-math",
    "-fno-strict-aliasing", "-fopenmp", "-Wall", "-Wextra",           "-Wno-array-bounds"};

/* Flags that tests add to all that they build. Users do not get them. */
static const char *const sanitizers[] = {
#ifdef LATHE_SANITIZE
    "-fsanitize=" LATHE_SANITIZE, "-fno-sanitize-recover=undefined", "-fno-omit-frame-pointer",
#endif
    NULL};

const char *plain_c_flags(void)
{
    Text t = {0};
    for (int i = 0; i < COUNT_OF(flags); i++) say(&t, "%s%s", i ? " " : "", flags[i]);
    return t.at;
}

const char *c_flags(void)
{
    Text t = {0};
    say(&t, "%s", plain_c_flags());
    for (int i = 0; sanitizers[i]; i++) say(&t, " %s", sanitizers[i]);
    return t.at;
}

void add_common_flags(Words *w, bool threads)
{
    for (int i = 0; i < COUNT_OF(flags); i++)
        if (!same(flags[i], MARCH) && (threads || !same(flags[i], "-fopenmp"))) push(w, flags[i]);
}

void add_flags_here(Words *w, bool threads)
{
    for (int i = 0; i < COUNT_OF(flags); i++)
        if (threads || !same(flags[i], "-fopenmp")) push(w, flags[i]);
    for (int i = 0; sanitizers[i]; i++) push(w, sanitizers[i]);
    push(w, format("-I%s", runtime_dir()));
}

void add_c_flags(Words *w) { add_flags_here(w, true); }

void add_libraries(Words *w)
{
    static const char *const libraries[] = {"-ljansson", "-lpcre2-8", "-lzstd", "-ljpeg",
                                            "-lpng",     "-lz",       "-lm",    "-ldl"};
    for (int i = 0; i < COUNT_OF(libraries); i++) push(w, libraries[i]);
}

/* Most of the linker's time would go into the runtime's debug information, which a trainer has no use for, and into
 * gcc's plugin for optimization at link time, for which nothing is compiled. clang has no plugin, and would warn. A
 * sanitizer's reports need the debug information. */
static const char *const quick_link[] = {
#ifndef LATHE_SANITIZE
    "-Wl,--strip-debug",
#endif
    "-fno-use-linker-plugin", "-Wno-ignored-optimization-argument"};

/* The compiler, with what it compiles: the model, or what chooses among its levels.  linked: NULL where it runs here.
 */
static void add_compiled(Words *w, const Machine *m, const Tools *tools, const Linked *linked, const char *dir)
{
    const Tools t = m ? *tools : (Tools){0};
    if (!m) push(w, needed_compiler());
    for (int i = 0; i < t.compiler.n; i++) push(w, t.compiler.at[i]);
    if (!m) add_c_flags(w);
    else add_common_flags(w, true);
    if (m) push(w, format("-I%s", runtime_dir()));
    if (!m || !m->levels) {
        push(w, format("%s/model.c", dir));
        push(w, m ? runtime_library_for(m, &t, linked, dir) : runtime_library());
        return;
    }
    const Words objects = objects_of_levels(dir);
    push(w, "-DLATHE_LEVELS");
    push(w, format("%s/math/levels.c", runtime_dir()));
    for (int i = 0; i < objects.n; i++) push(w, objects.at[i]);
}

static void refuse_zig(const Machine *m, const Tools *t)
{
    if (t->zig)
        err((Where){0},
            "a trainer for %s takes gcc, and there is zig, which makes libraries alone (--library)\n"
            "  install %s (Debian, Ubuntu: apt install %s)",
            m->name, m->compiler ? m->compiler : "gcc", m->packages ? m->packages : "gcc");
}

static Words command_line(const Options *o, const char *dir, const char *to)
{
    Words w = {0};
    const Machine *m = o->machine ? machine_named(o->machine) : NULL;
    const bool far = m && !is_family_here(m);
    const Tools tools = m ? tools_for(m, dir) : (Tools){0};
    if (m) refuse_zig(m, &tools);
    const Linked linked = far ? linked_for(m, &tools, dir) : (Linked){0};
    add_compiled(&w, m, &tools, far ? &linked : NULL, dir);
    for (int i = 0; i < COUNT_OF(quick_link); i++) push(&w, quick_link[i]);
    push(&w, "-o");
    push(&w, to);
    if (o->is_static || far) { /* it takes the place of libdl's functions: the first that the linker meets */
        push(&w, "-static");
        push(&w, "-DLATHE_STATIC");
        push(&w, format("%s/base/loader.c", runtime_dir()));
        for (int i = 0; i < linked.defines.n; i++) push(&w, linked.defines.at[i]);
        if (!far) push(&w, "-DLATHE_WITH_UTF8PROC"), push(&w, "-lutf8proc");
    }
    if (far) add_target_folders(&w, m);
    for (int i = 0; i < linked.libraries.n; i++) push(&w, linked.libraries.at[i]);
    if (!far) add_libraries(&w);
    else push(&w, "-lm");
    return w;
}

static void refuse_program(const Options *o)
{
    const Machine *m = o->machine ? machine_named(o->machine) : NULL;
    if (m && m->system != LINUX) usage_error("--for %s makes libraries (--library): a trainer needs Linux", m->name);
    if (m && m->levels && !is_family_here(m))
        usage_error("--for %s joins several levels on such a machine alone: from here give one, --for %s-v3", m->name,
                    m->name);
}

/* ------------------------------------------------------------------ running it */

pid_t start_logged(Words *w, const char *log)
{
    push(w, NULL);
    pid_t child = fork();
    if (child == 0) {
        if (!freopen(log, "w", stderr)) _exit(127);
        dup2(2, 1);
        execv(w->at[0], (char *const *)w->at);
        _exit(127);
    }
    w->n--;
    if (child < 0) err((Where){0}, "cannot run %s: %s", w->at[0], strerror(errno));
    return child;
}

int exit_of(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : 128; }

int run_logged(Words *w, const char *log)
{
    int status = 127;
    pid_t child = start_logged(w, log);
    if (waitpid(child, &status, 0) < 0) err((Where){0}, "cannot run %s: %s", w->at[0], strerror(errno));
    return exit_of(status);
}

/* The comment nearest above a line of the source: it names the kernel, the layer and the line of Lua. */
static char *comment_above(const char *source, int number)
{
    const char *start = NULL, *s = source;
    for (int at = 1; *s && at <= number; at++) {
        if (starts_with(s, "/*")) start = s;
        s += strcspn(s, "\n");
        s += *s == '\n';
    }
    if (!start) return "";
    const char *end = strstr(start, "*/");
    return copy_bytes_as_string(start, end ? (size_t)(end + 2 - start) : strcspn(start, "\n"));
}

void refused(const char *who, const char *source, const char *before, const char *log)
{
    const char *said = read_file(log, NULL), *text = read_file(source, NULL);
    const char *at = said ? strstr(said, before) : NULL;
    int number = at ? atoi(at + strlen(before)) : 0;
    char *about = number && text ? comment_above(text, number) : "";
    err((Where){0},
        "%s.  If its message is about that file, this is a mistake of Lathe's: please\n"
        "  report it with the file.  If something is missing on this machine, `lathe doctor` says what.\n"
        "%s%s%.2000s",
        who, about, *about ? "\n" : "", said ? said : "");
}

/* ------------------------------------------------------------------ what has been built already */

uint64_t hash_file(const char *path, uint64_t seed)
{
    size_t bytes = 0;
    char *text = read_file(path, &bytes);
    return text ? hash_bytes(text, bytes, seed) : seed + 1;
}

uint64_t hash_words(const Words *w, uint64_t seed)
{
    for (int i = 0; i < w->n; i++) seed = hash_bytes(w->at[i], strlen(w->at[i]) + 1, seed);
    return seed;
}

/* -march=native means another program on another processor. */
static uint64_t hash_of_processor(uint64_t seed)
{
    FILE *f = fopen("/proc/cpuinfo", "r");
    char text[8192];
    if (!f) return seed;
    while (fgets(text, sizeof text, f))
        if (starts_with(text, "model name") || starts_with(text, "flags")) seed = hash_bytes(text, strlen(text), seed);
        else if (text[0] == '\n') break;
    fclose(f);
    return seed;
}

/* What it says of itself, which a wrapper hands on, and its file, since two builds may have one version. */
static uint64_t hash_of_compiler(const char *path, uint64_t seed)
{
    struct stat s;
    char text[4096];
    const char *ask = same(file_name(path), "zig") ? "version" : "--version";
    FILE *f = popen(format("LC_ALL=C %s %s 2>&1 </dev/null", shell_quoted(path), ask), "r");
    const size_t n = f ? fread(text, 1, sizeof text, f) : 0;
    if (f) pclose(f);
    seed = hash_bytes(text, n, seed);
    if (stat(path, &s) != 0) return seed;
    const int64_t file[] = {s.st_size, s.st_mtim.tv_sec, s.st_mtim.tv_nsec};
    return hash_bytes(file, sizeof file, seed);
}

uint64_t hash_command(const Words *w, uint64_t seed)
{
    static const char *known; /* a build asks for one compiler at each of its objects */
    static uint64_t hash;
    if (!known || !same(known, w->at[0])) hash = hash_of_compiler(w->at[0], 1);
    known = w->at[0];
    for (int i = 0; i < w->n; i++)
        if (same(w->at[i], "-march=native")) seed = hash_of_processor(seed);
    return hash_words(w, hash_bytes(&hash, sizeof hash, seed));
}

static uint64_t hash_of_everything(const char *dir, const Words *w)
{
    static const char *const headers[] = {"lathe_rt.h", "interface/lathe_model.h", "math/math.h"};
    uint64_t h = hash_command(w, 1);
    for (int i = 0; i < COUNT_OF(headers); i++) h = hash_file(format("%s/%s", runtime_dir(), headers[i]), h);
    for (int i = 0; i < w->n; i++)
        if (ends_in(w->at[i], ".a") || ends_in(w->at[i], ".o") || ends_in(w->at[i], ".c")) h = hash_file(w->at[i], h);
    h = hash_file(format("%s/model.h", dir), h);
    return hash_file(format("%s/model.plan.h", dir), h);
}

static char *hash_text(uint64_t hash) { return format("%016llx\n", (unsigned long long)hash); }

bool has_hash(const char *what, uint64_t hash)
{
    char *stamp = format("%s.hash", what), *old = read_file(stamp, NULL);
    bool fine = old && same(old, hash_text(hash)) && access(what, R_OK) == 0;
    if (!fine) unlink(stamp);
    return fine;
}

void keep_hash(const char *what, uint64_t hash)
{
    write_file(format("%s.hash", what), hash_text(hash), strlen(hash_text(hash)));
}

/* The text was compiled, and the runtime library does not fit it. */
static void refuse_library(const char *log)
{
    const char *said = read_file(log, NULL);
    bool linked = said && !strstr(said, "ld returned") && !strstr(said, "linker command failed");
    if (!said || linked || !(strstr(said, "undefined") || strstr(said, "file format") || strstr(said, "truncated")))
        return;
    err((Where){0},
        "the linker cannot use %s, which is incomplete or of another version; build Lathe again\n  (%s has what it "
        "says)",
        runtime_library(), log);
}

const char *build(const Module *m, const char *dir)
{
    char *trainer = format("%s/trainer", dir), *fresh = format("%s/trainer.new", dir),
         *log = format("%s/build.log", dir);
    char *stamp = format("%s/.built", dir);
    refuse_program(m->desc->options);
    need_runtime_library();
    Words words = command_line(m->desc->options, dir, fresh);
    char *hash = format("%016llx\n", (unsigned long long)hash_of_everything(dir, &words));
    char *old = read_file(stamp, NULL);
    if (old && same(old, hash) && access(trainer, X_OK) == 0) return trainer;
    unlink(stamp);
    if (run_logged(&words, log) != 0) {
        refuse_library(log);
        refused(format("the C compiler refuses %s/model.c", dir), format("%s/model.c", dir), "model.c:", log);
    }
    if (rename(fresh, trainer) != 0) err((Where){0}, "cannot write %s: %s", trainer, strerror(errno));
    write_file(stamp, hash, strlen(hash));
    return trainer;
}
