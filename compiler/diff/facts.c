/* facts.c: the form in which descriptions, programs and runs are compared: sections of names and values. */
#include "diff/diff.h"

#include <math.h>

const char *const sections[] = {"settings",   "configuration", "program", "data",        "environment", "run",
                                "parameters", "start",         "tensors", "computation", "memory",      NULL};

json_t *section_of(json_t *facts, const char *name)
{
    if (!json_object_get(facts, name)) put_json(facts, name, json_object());
    return json_object_get(facts, name);
}

json_t *whole_json(double x)
{
    return isfinite(x) && x == floor(x) && fabs(x) < 1e15 ? json_integer((json_int_t)x) : real_json(x);
}

json_t *extents_json(int n, const int64_t *extent)
{
    json_t *all = json_array();
    for (int k = 0; k < n; k++) add_json(all, json_integer(extent[k]));
    return all;
}

static void say_list_of_extents(Text *t, const json_t *extents, const char *between)
{
    const json_t *extent;
    size_t k;
    json_array_foreach(extents, k, extent) say(t, "%s%lld", k ? between : "", (long long)json_integer_value(extent));
}

/* "2 × [192, 64], frozen" */
void put_parameter(json_t *facts, const char *name, const json_t *copies, const json_t *shape, bool frozen)
{
    Text t = {0};
    say_list_of_extents(&t, copies, " × ");
    say(&t, "%s[", json_array_size(copies) ? " × " : "");
    say_list_of_extents(&t, shape, ", ");
    say(&t, "]%s", frozen ? ", frozen" : "");
    put_json(section_of(facts, "parameters"), name, word_json(t.at));
}

void put_kernel(json_t *facts, const char *entry, json_t *kernel)
{
    json_t *all = section_of(facts, "kernels");
    if (!json_object_get(all, entry)) put_json(all, entry, json_array());
    add_json(json_object_get(all, entry), kernel);
}
