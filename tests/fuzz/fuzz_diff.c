/* fuzz_diff.c: what `lathe diff` reads of two runs: config.json, run.json, metrics.jsonl and the state.json of a
 * checkpoint of each.  What comes out is JSON, and each run is like itself. */
#define _GNU_SOURCE
#include "diff/diff.h"
#include "fuzz.h"
#include "parts.h"

#include <sys/stat.h>

static const char *const names[] = {
    "a/config.json", "a/run.json", "a/checkpoints/latest/state.json", "a/metrics.jsonl",
    "b/config.json", "b/run.json", "b/checkpoints/latest/state.json", "b/metrics.jsonl",
};

static Compared run_of(const char *folder, const char *name)
{
    Compared s = {.what = text_of("%s/%s", folder, name), .kind = OF_RUN, .facts = json_object()};
    take_run(&s);
    return s;
}

static void check_written(json_t *all)
{
    char *text = json_dumps(all, JSON_COMPACT | JSON_ENCODE_ANY);
    json_t *again = text ? json_loads(text, JSON_DECODE_ANY, NULL) : NULL;
    bug_if(!again);
    json_decref(again);
    free(text);
}

/* Returns how much differs. */
static size_t compare(const Compared *a, const Compared *b)
{
    size_t n = 0;
    for (int i = 0; sections[i]; i++) {
        const json_t *x = json_object_get(a->facts, sections[i]), *y = json_object_get(b->facts, sections[i]);
        if (!x || !y) continue;
        json_t *list = section_differences(x, y, i < 2);
        n += json_array_size(list);
        check_written(list);
        json_decref(list);
    }
    json_t *kernels = kernel_differences(json_object_get(a->facts, "kernels"), json_object_get(b->facts, "kernels"));
    json_t *steps = step_differences(a->what, b->what);
    n += json_array_size(kernels) + json_array_size(json_object_get(steps, "parts")) +
         json_array_size(json_object_get(steps, "results")) + json_array_size(json_object_get(steps, "times"));
    check_written(kernels);
    check_written(steps);
    json_decref(kernels);
    json_decref(steps);
    return n;
}

static void make_run(const char *folder, const char *name)
{
    static const char *const below[] = {"", "/checkpoints", "/checkpoints/latest"};
    for (int i = 0; i < 3; i++) {
        char *own = text_of("%s/%s%s", folder, name, below[i]);
        mkdir(own, 0700);
        free(own);
    }
}

void fuzz_one(const char *path, const char *text, size_t n)
{
    char *folder = folder_of(path);
    make_run(folder, "a");
    make_run(folder, "b");
    write_parts(path, text, n, COUNT_OF(names), names);
    const Compared a = run_of(folder, "a"), b = run_of(folder, "b");
    compare(&a, &b);
    bug_if(compare(&a, &a) || compare(&b, &b));
    json_decref(a.facts);
    json_decref(b.facts);
    free(folder);
}
