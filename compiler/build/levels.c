/* levels.c: programs that have their code for three levels of x86-64 and take one when they start (--for x86-64).  All
 * that has names in common is joined to one object a level, of which others see one function. */
#include "build/jobs.h"
#include "build/machine.h"

#include <string.h>
#include <unistd.h>

const Machine *machine_of_level(int level) { return machine_named(format("x86-64-v%d", level)); }

static void run_step(const Words *words, const char *dir)
{
    Words w = {0};
    for (int i = 0; i < words->n; i++) push(&w, words->at[i]);
    const char *log = format("%s/build.log", dir);
    if (run_logged(&w, log) != 0)
        err((Where){0}, "%s has failed: %.2000s", words->at[0], read_file(log, NULL) ? read_file(log, NULL) : "");
}

/* Model and runtime of a level: main becomes main_v3, and all other names are seen in it alone.  math/cpu.c would look
 * at the processor for each level before main: math/levels.c does it. */
static void join_level(int level, const char *compiler, const char *model, const char *library, const char *to)
{
    const char *dir = copy_bytes_as_string(to, (size_t)(strrchr(to, '/') - to)), *objcopy = in_path("objcopy");
    const char *const join[] = {compiler, "-r", "-nostdlib", "-o", to, model, library};
    const char *const hide[] = {objcopy ? objcopy : "objcopy",
                                format("--redefine-sym=main=main_v%d", level),
                                format("--keep-global-symbol=main_v%d", level),
                                "--remove-section=.init_array.00101", /* gcc's name; and clang's */
                                "--remove-section=.rela.init_array.00101",
                                "--remove-section=.init_array.101",
                                "--remove-section=.rela.init_array.101",
                                "--strip-debug",
                                to};
    Words joining = {0}, hiding = {0};
    for (int i = 0; i < COUNT_OF(join); i++) push(&joining, join[i]);
    for (int i = 0; i < COUNT_OF(hide); i++) push(&hiding, hide[i]);
    run_step(&joining, dir);
    run_step(&hiding, dir);
}

Words objects_of_levels(const char *dir)
{
    Words all = {0};
    Words libraries = {0};
    Jobs jobs = {0};
    const uint64_t headers =
        hash_of_headers(hash_file(format("%s/model.h", dir), hash_file(format("%s/model.plan.h", dir), 1)));
    Tools t = {0};
    for (int level = FIRST_LEVEL; level <= LAST_LEVEL; level++) {
        const Machine *m = machine_of_level(level);
        Words w = {0};
        t = tools_for(m, dir);
        push(&libraries, runtime_library_for(m, &t, NULL, dir));
        for (int i = 0; i < t.compiler.n; i++) push(&w, t.compiler.at[i]);
        add_common_flags(&w, true);
        push(&w, format("-I%s", runtime_dir()));
        add_object(&jobs, dir, format("%s/model.c", dir), format("model-v%d", level), w, headers);
    }
    run_jobs(&jobs);
    for (int i = 0; i < jobs.n; i++) {
        const int level = FIRST_LEVEL + i;
        const char *to = format("%s/trainer-v%d.o", dir, level);
        const uint64_t hash = hash_file(libraries.at[i], hash_file(jobs.at[i].object, (uint64_t)level));
        push(&all, to);
        if (has_hash(to, hash)) continue;
        join_level(level, t.compiler.at[0], jobs.at[i].object, libraries.at[i], to);
        keep_hash(to, hash);
    }
    return all;
}
