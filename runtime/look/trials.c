/* trials.c: runs of a sweep under the settings in which they differ: "lr=0.003 width=64" says more than "trial-007". */
#include "base/json_text.h"
#include "base/words.h"
#include "look/past.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_KEYS = 16 };

/* sweep.json of the folder that the run's folder is in; NULL: it is in no sweep. */
static json_t *sweep_of_run(const Past_run *r)
{
    char *fault = NULL, *above = text_of("%s/..", r->folder);
    json_t *all = strncmp(r->name, "trial-", 6) == 0 ? json_of_file(above, "sweep.json", &fault) : NULL;
    free(fault);
    free(above);
    return all;
}

/* The words before "=" of its --over, which are not there yet. */
static void add_keys(Words *keys, const json_t *sweep)
{
    const json_t *over;
    size_t k;
    json_array_foreach(json_object_get(sweep, "--over"), k, over)
    {
        const char *text = json_string_value(over), *equals = text ? strchr(text, '=') : NULL;
        bool there = keys->n == MOST_KEYS || !equals;
        char *key = equals ? text_of("%.*s", (int)(equals - text), text) : NULL;
        for (int i = 0; i < keys->n && !there; i++) there = strcmp(keys->at[i], key) == 0;
        if (there) free(key);
        else add_word(keys, key);
    }
}

/* As a run was told it, or as it is built; NULL: the run does not say. */
static char *value_of_key(const Past_run *r, const char *key)
{
    const json_t *value = json_object_get(json_object_get(r->config, "recipe"), key);
    if (!value) value = json_object_get(json_object_get(r->config, "built_with"), key);
    if (json_is_string(value)) return text_of("%s", json_string_value(value));
    if (json_is_number(value)) return text_of("%.6g", json_number_value(value));
    return NULL;
}

static bool differs_among(Past_run *const *runs, const bool *of_sweep, int n, const char *key)
{
    char *first = NULL;
    bool differs = false, any = false;
    for (int i = 0; i < n; i++) {
        if (!of_sweep[i]) continue;
        char *value = value_of_key(runs[i], key);
        if (any) differs |= !value != !first || (value && strcmp(value, first) != 0);
        if (any) free(value);
        else first = value;
        any = true;
    }
    free(first);
    return differs;
}

static const char *seed_of_folder(const Past_run *r) { return strstr(r->name, "-seed-"); }

static void call_trial(Past_run *r, const Words *keys)
{
    char *name = text_of("%s", "");
    for (int i = 0; i < keys->n; i++) {
        char *value = value_of_key(r, keys->at[i]), *longer;
        if (!value) continue;
        longer = text_of("%s%s%s=%s", name, *name ? " " : "", keys->at[i], value);
        free(value);
        free(name);
        name = longer;
    }
    const char *seed = seed_of_folder(r);
    char *whole = seed ? text_of("%s seed %s", name, seed + strlen("-seed-")) : text_of("%s", name);
    free(name);
    if (*whole == 0 || *whole == ' ') {
        free(whole);
        return;
    }
    free(r->name);
    r->name = whole;
}

/* Of one run all keys of the sweep; of several those that tell them apart.  Other runs keep the names of their folders.
 */
void call_trials(Past_run *const *runs, int n)
{
    Words keys = {0}, told = {0};
    bool *of_sweep = must_alloc(sizeof *of_sweep * (size_t)(n + 1));
    int trials = 0;
    for (int i = 0; i < n; i++) {
        json_t *sweep = sweep_of_run(runs[i]);
        if (sweep) add_keys(&keys, sweep);
        of_sweep[i] = sweep;
        trials += sweep != NULL;
        json_decref(sweep);
    }
    for (int i = 0; i < keys.n; i++)
        if (trials == 1 || differs_among(runs, of_sweep, n, keys.at[i])) add_word(&told, keys.at[i]);
    for (int i = 0; i < n; i++)
        if (of_sweep[i]) call_trial(runs[i], &told);
    for (int i = 0; i < keys.n; i++) free((char *)keys.at[i]);
    free(keys.at);
    free(told.at);
    free(of_sweep);
}
