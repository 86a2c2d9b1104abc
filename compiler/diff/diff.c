/* diff.c: lathe-diff: what `lathe diff` runs: a program of its own, since it reads descriptions as lathe does, and runs
 * as the runtime does. */
#include "diff/diff.h"
#include "desc/target.h"
#include "line.h"
#include "passes/passes.h"
#include "runtime/base/help.h"
#include "runtime/base/process.h"
#include "runtime/look/past.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* As of diff(1): 0: the same, 1: they differ, and what goes wrong ends with 2, or 3 where files are damaged. */
enum { THE_SAME = 0, THEY_DIFFER = 1, TROUBLE = 2 };

static int no_diff(void) { return TROUBLE; }
static const Command diff_line = {
    "diff", no_diff, TWO_THINGS, "A B",
    "what differs between two descriptions, programs or runs, and nothing else.\n"
    "  A, B: MODEL.lua, a folder that `lathe build` wrote, or a run's folder.  Options before both are for both,\n"
    "  those behind one for that one: lathe diff gpt.lua gpt.lua --set width=64.\n"
    "  Ends with 0 where nothing differs, 1 where something does, 2 or 3 where A or B cannot be read."};

static bool whole; /* --all */

/* ------------------------------------------------------------------ the two */

static Compared_kind kind_of(const char *what)
{
    struct stat about;
    if (stat(what, &about) != 0)
        fail(EXIT_DATA, what, "cannot be read: %s; expected a description, a built folder or a run's folder",
             error_text(errno));
    if (S_ISREG(about.st_mode) && has_end(what, ".lua")) return OF_DESCRIPTION;
    if (S_ISDIR(about.st_mode) && looks_like_run(what)) return OF_RUN;
    if (S_ISDIR(about.st_mode) &&
        (access(format("%s/trainer", what), F_OK) == 0 || access(format("%s/model.h", what), F_OK) == 0))
        return OF_PROGRAM;
    fail(EXIT_DATA, what,
         "expected a description (MODEL.lua), a folder that `lathe build` wrote or a run's folder, found %s",
         S_ISDIR(about.st_mode) ? "a folder that is neither" : "another file");
}

static Compared thing_of(const struct Line_thing *of)
{
    Compared s = {.what = of->what, .kind = kind_of(of->what), .facts = json_object()};
    if (s.kind != OF_DESCRIPTION && of->own)
        usage_error("%s: options are for descriptions; a program or a run is what it is", s.what);
    if (s.kind == OF_DESCRIPTION) take_description(&s, &of->options);
    if (s.kind == OF_PROGRAM) take_program(&s);
    if (s.kind == OF_RUN) take_run(&s);
    return s;
}

/* ------------------------------------------------------------------ what differs */

/* A key of the configuration that became a setting is told once. */
static void leave_out_told(json_t *configuration, const json_t *settings)
{
    const json_t *told;
    size_t k;
    json_array_foreach(settings, k, told) for (size_t i = 0; i < json_array_size(configuration); i++)
    {
        const json_t *row = json_array_get(configuration, i);
        if (json_equal(json_object_get(row, "name"), json_object_get(told, "name")) &&
            same_values(json_object_get(row, "a"), json_object_get(told, "a"), true) &&
            same_values(json_object_get(row, "b"), json_object_get(told, "b"), true))
            json_array_remove(configuration, i--);
    }
}

/* What only one has: a run has a seed, and a program none; new parameters are told by themselves. */
static void leave_out_unknown(json_t *list)
{
    for (size_t i = json_array_size(list); i-- > 0;) {
        const json_t *row = json_array_get(list, i);
        if (json_is_null(json_object_get(row, "a")) || json_is_null(json_object_get(row, "b")))
            json_array_remove(list, i);
    }
}

/* The files' names and sizes are known once there is a checkpoint. */
static void leave_out_unknown_files(json_t *list)
{
    for (size_t i = json_array_size(list); i-- > 0;) {
        const json_t *row = json_array_get(list, i);
        bool known = !json_is_null(json_object_get(row, "a")) && !json_is_null(json_object_get(row, "b"));
        if (!known && same(json_string_value(json_object_get(row, "name")), FILES_OF_RUN)) json_array_remove(list, i);
    }
}

/* Only what both say: a run has no entries, and a description no data. */
static bool put_sections(json_t *all, const Compared *a, const Compared *b)
{
    bool some = false;
    for (int i = 0; sections[i]; i++) {
        const json_t *x = json_object_get(a->facts, sections[i]), *y = json_object_get(b->facts, sections[i]);
        if (!x || !y) continue;
        bool written = same(sections[i], "settings") || same(sections[i], "configuration");
        json_t *list = section_differences(x, y, written);
        if (same(sections[i], "start") || (a->kind != b->kind && same(sections[i], "settings")))
            leave_out_unknown(list);
        if (same(sections[i], "data")) leave_out_unknown_files(list);
        if (same(sections[i], "configuration") || same(sections[i], "run"))
            leave_out_told(list, json_object_get(all, "settings"));
        some |= json_array_size(list) > 0;
        put_json(all, sections[i], list);
    }
    json_t *kernels = kernel_differences(json_object_get(a->facts, "kernels"), json_object_get(b->facts, "kernels"));
    some |= json_array_size(kernels) > 0;
    put_json(all, "kernels", kernels);
    return some;
}

static json_t *compared_json(const Compared *s)
{
    json_t *all = json_object();
    put_json(all, "what", word_json(s->what));
    put_json(all, "said", word_json(s->said));
    return all;
}

/* The text of a description is in a program and in a run by its hash alone. */
static void leave_out_hash(const Compared *a, const Compared *b)
{
    const Compared *const both[] = {a, b};
    if (a->kind == OF_DESCRIPTION || b->kind == OF_DESCRIPTION)
        for (int i = 0; i < 2; i++) json_object_del(json_object_get(both[i]->facts, "program"), "source_hash");
}

static json_t *differences_of(const Compared *a, const Compared *b, bool *differ)
{
    json_t *all = json_object(), *steps = NULL;
    put_json(all, "a", compared_json(a));
    put_json(all, "b", compared_json(b));
    leave_out_hash(a, b);
    *differ = put_sections(all, a, b);
    if (a->kind == OF_RUN && b->kind == OF_RUN) put_json(all, "steps", steps = step_differences(a->what, b->what));
    *differ |= json_array_size(json_object_get(steps, "parts")) || json_array_size(json_object_get(steps, "results"));
    put_json(all, "same", json_boolean(!*differ));
    return all;
}

/* ------------------------------------------------------------------ the command line */

static void take_all_option(int *argc, char **argv)
{
    int n = 0;
    for (int i = 0; i < *argc; i++)
        if (same(argv[i], "--all")) whole = true;
        else argv[n++] = argv[i];
    argv[ *argc = n] = NULL;
}

static int print_diff_help(void)
{
    if (line_of.table) print_table_usage("lathe", diff_line.name, diff_line.arguments, diff_line.help);
    else
        printf("usage: lathe %s %s [options]\n\n  %s\n\noptions\n", diff_line.name, diff_line.arguments,
               diff_line.help);
    print_option_row("--all", "", "all rows of each table (20)");
    print_options(diff_line.name);
    return 0;
}

static void tell_same(const Compared *a)
{
    note("nothing differs: settings, parameters%s%s, as far as both say them",
         a->kind == OF_RUN ? ", data, environment" : "",
         a->kind == OF_RUN ? ", every number of their steps to the last bit" : ", entries, memory, kernels");
}

int main(int argc, char **argv)
{
    bool differ;
    start_process("lathe");
    name_program("lathe");
    json_set_alloc_funcs(must_alloc, free); /* jansson silently leaves out values when memory runs out */
    code_of_mistakes = TROUBLE;
    for (int i = 2; i < argc; i++) {
        line_of.table |= asks_for_table(argv[i]);
        if (same(argv[i], "--help") || same(argv[i], "-h") || line_of.table)
            return end_process("lathe", print_diff_help());
    }
    take_all_option(&argc, argv);
    take_line(&diff_line, argc, argv);
    if (line_of.things < 2) usage_error("diff compares two things: lathe diff A B; `lathe diff --help` says which");
    const Compared a = thing_of(&line_of.thing[0]), b = thing_of(&line_of.thing[1]);
    if (a.kind != OF_DESCRIPTION && b.kind != OF_DESCRIPTION && line_of.shared_given)
        usage_error("options are for descriptions; a program or a run is what it is");
    if (a.kind == OF_DESCRIPTION && b.kind == OF_DESCRIPTION && !same(a.what, b.what) && line_of.thing[1].own &&
        !line_of.thing[0].own)
        note("the options behind %s are for it alone; before both names they are for both", b.what);
    json_t *all = differences_of(&a, &b, &differ);
    if (line_of.options.json) print_json(all);
    else if (differ || json_array_size(json_object_get(json_object_get(all, "steps"), "times")))
        print_differences(all, whole);
    if (!differ && !line_of.options.json) tell_same(&a);
    return end_process("lathe", differ ? THEY_DIFFER : THE_SAME);
}
