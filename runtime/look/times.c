/* times.c: the profile of a run, or what `trainer profile --json` printed, made ready to be drawn: of each turn the
 * kernels that take longest, and what is left of each part of the step as one. */
#include "base/json_text.h"
#include "base/words.h"
#include "look/page.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_KERNELS = 400, MOST_TURNS = 16 };

static double amount_in(const json_t *object, const char *name)
{
    double x = json_number_value(json_object_get(object, name));
    return isfinite(x) ? x : 0;
}

static int longest_first(const void *a, const void *b)
{
    double x = amount_in(*(json_t *const *)a, "ms"), y = amount_in(*(json_t *const *)b, "ms");
    return (x < y) - (x > y);
}

/* Adds a kernel to what is left of its part. */
static void add_to_rest(json_t *rest, const json_t *kernel)
{
    const char *part = json_string_value(json_object_get(kernel, "part"));
    json_t *sum = json_object_get(rest, part ? part : "");
    if (!sum) {
        sum = json_pack("{s:s, s:s, s:s, s:i, s:f, s:f}", "name", "smaller kernels", "part", part ? part : "", "path",
                        "", "kernels", 0, "ms", 0.0, "floor_ms", 0.0);
        json_object_set_new(rest, part ? part : "", sum);
    }
    static const char *const added[] = {"ms", "floor_ms"};
    for (int i = 0; i < 2; i++)
        put_json(sum, added[i], json_real(amount_in(sum, added[i]) + amount_in(kernel, added[i])));
    put_json(sum, "kernels", json_integer(json_integer_value(json_object_get(sum, "kernels")) + 1));
}

static json_t *drawn_kernels(const json_t *kernels)
{
    size_t n = json_array_size(kernels), kept = 0;
    json_t **at = must_alloc(sizeof *at * (n + 1)), *drawn = json_array(), *rest = json_object(), *sum;
    const char *part;
    for (size_t i = 0; i < n; i++)
        if (json_is_object(json_array_get(kernels, i))) at[kept++] = json_array_get(kernels, i);
    qsort(at, kept, sizeof *at, longest_first);
    for (size_t i = 0; i < kept; i++)
        if (i < MOST_KERNELS) json_array_append(drawn, at[i]);
        else add_to_rest(rest, at[i]);
    json_object_foreach(rest, part, sum) json_array_append(drawn, sum);
    json_decref(rest);
    free(at);
    return drawn;
}

static json_t *drawn_turn(const json_t *turn)
{
    json_t *all = json_copy((json_t *)turn);
    put_json(all, "kernels", drawn_kernels(json_object_get(turn, "kernels")));
    return all;
}

json_t *drawn_profile(const json_t *profile)
{
    const json_t *turns = json_object_get(profile, "turns");
    json_t *all = json_copy((json_t *)profile), *drawn = json_array();
    if (json_is_array(json_object_get(profile, "kernels"))) add_json(drawn, drawn_turn(profile));
    for (size_t i = 0; i < json_array_size(turns) && i < MOST_TURNS; i++)
        if (json_is_object(json_array_get(turns, i))) add_json(drawn, drawn_turn(json_array_get(turns, i)));
    json_object_del(all, "kernels");
    put_json(all, "turns", drawn);
    return all;
}
