/* of_run.c: what a run's folder says of it, beside its steps: config.json, run.json, the newest checkpoint. */
#include "diff/diff.h"
#include "runtime/look/past.h"

#include <math.h>
#include <string.h>

/* A file that is damaged is told and left out. */
static json_t *run_file(const char *folder, const char *name)
{
    char *fault = NULL;
    json_t *all = json_of_file(folder, name, &fault);
    if (fault) note("%s", fault);
    return all;
}

static void put_known(json_t *section, const char *as, const json_t *from, const char *name)
{
    json_t *value = json_object_get(from, name);
    if (value) put_json(section, as, json_incref(value));
}

static const char *joined_words(const json_t *list)
{
    Text t = {0};
    const json_t *word;
    size_t k;
    say(&t, "%s", "");
    json_array_foreach(list, k, word)
        say(&t, "%s%s", k ? " " : "", json_is_string(word) ? json_string_value(word) : "?");
    return t.at;
}

/* ------------------------------------------------------------------ config.json */

static void put_config(json_t *facts, const json_t *config)
{
    json_t *program = section_of(facts, "program"), *data = section_of(facts, "data");
    json_object_update(section_of(facts, "settings"), json_object_get(config, "recipe"));
    put_known(section_of(facts, "settings"), "seed", config, "seed");
    json_object_update(section_of(facts, "configuration"), json_object_get(config, "built_with"));
    put_known(program, "model", config, "model");
    put_known(program, "config", config, "config");
    put_known(program, "precision", config, "precision");
    put_known(program, "source_hash", config, "source_hash");
    put_json(data, "files", json_string(joined_words(json_object_get(config, "data"))));
    put_json(data, "files for evaluation", json_string(joined_words(json_object_get(config, "val_data"))));
    put_known(data, "weights at the start", config, "weights");
    put_known(section_of(facts, "environment"), "threads", config, "threads");
}

/* ------------------------------------------------------------------ run.json */

static void put_starts(json_t *facts, const json_t *starts)
{
    static const char *const words[] = {"processor", "cores", "threads", "memory", "system", "compiler"};
    const json_t *last = json_array_get(starts, json_array_size(starts) - 1), *start;
    json_t *environment = section_of(facts, "environment");
    Text resumed = {0};
    size_t k;
    say(&resumed, "%s", "");
    for (int i = 0; i < COUNT_OF(words); i++) put_known(environment, words[i], last, words[i]);
    const json_t *ranks = json_object_get(last, "ranks"); /* older runs do not say */
    if (last) put_json(section_of(facts, "run"), "ranks", json_integer(ranks ? json_integer_value(ranks) : 1));
    json_array_foreach(starts, k, start) if (k)
        say(&resumed, "%s%lld", k > 1 ? ", " : "", (long long)json_integer_value(json_object_get(start, "step")));
    if (json_is_array(starts)) put_json(section_of(facts, "run"), "resumed at steps", word_json(resumed.at));
}

static void put_layers(json_t *facts, const json_t *layers)
{
    const json_t *p;
    size_t k;
    json_array_foreach(layers, k, p)
    {
        const char *name = json_string_value(json_object_get(p, "name"));
        if (name)
            put_parameter(facts, name, json_object_get(p, "copies"), json_object_get(p, "shape"),
                          json_is_false(json_object_get(p, "trained")));
    }
}

static void put_about(json_t *facts, const json_t *about)
{
    const json_t *memory = json_object_get(about, "memory"), *plan = json_object_get(about, "plan");
    const char *turn = json_string_value(json_object_get(plan, "turn"));
    json_t *kernel;
    size_t k;
    put_starts(facts, json_object_get(about, "starts"));
    put_layers(facts, json_object_get(about, "parameters"));
    if (memory) put_known(section_of(facts, "memory"), "in all", memory, "planned");
    if (memory) json_object_update(section_of(facts, "memory"), json_object_get(memory, "categories"));
    json_array_foreach(json_object_get(plan, "kernels"), k, kernel)
        put_kernel(facts, turn ? format("train_%s", turn) : "train", json_incref(kernel));
}

/* ------------------------------------------------------------------ */

/* Its files have their names and sizes in one number (decision 017). */
static void put_provenance(json_t *facts, const char *folder)
{
    json_t *state = run_file(format("%s/checkpoints/latest", folder), "state.json");
    const json_t *from = json_object_get(state, "provenance");
    if (from) put_known(section_of(facts, "data"), FILES_OF_RUN, from, "data");
    json_decref(state);
}

void take_run(Compared *s)
{
    json_t *config = run_file(s->what, "config.json"), *about = run_file(s->what, "run.json");
    const Glance g = glance_at(s->what);
    json_t *run = section_of(s->facts, "run");
    if (config) put_config(s->facts, config);
    if (about) put_about(s->facts, about);
    put_provenance(s->facts, s->what);
    put_json(run, "state", json_string(state_words[g.state]));
    put_json(run, "steps", whole_json(g.step));
    s->said = format("run of %s, %s%s", *g.model ? g.model : "an unknown model", state_words[g.state],
                     isnan(g.step) ? "" : format(" at step %.0f", g.step));
    json_decref(config);
    json_decref(about);
}
