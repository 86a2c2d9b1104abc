/* card.c: README.md of an exported folder, a model card: what the weights were trained on, by what recipe, and what
 * came out, as the run's config.json and metrics.jsonl say it. */
#include "base/file.h"
#include "base/json_text.h"
#include "base/words.h"
#include "model/run.h"
#include "trainer/trainer.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct Story {   /* of a run */
    json_t *config;      /* NULL: the weights are of no run */
    json_t *train, *val; /* its last lines of metrics up to the weights' step; NULL: there are none */
    int64_t step;        /* of the weights; -1: not known */
} Story;

/* ------------------------------------------------------------------ reading */

/* RUN/checkpoints/step-N/model.safetensors, which RUN/model.safetensors is a link to; RUN, if there are no links. */
static char *run_of(const char *weights, int64_t *step)
{
    struct stat s;
    char *named = stat(weights, &s) == 0 && S_ISDIR(s.st_mode) ? newest_weights(weights) : text_of("%s", weights);
    char *file = named ? realpath(named, NULL) : NULL;
    if (!file) return NULL;
    char *run = folder_of(file), *at = strstr(run, "/checkpoints/step-");
    *step = -1;
    if (at && parse_count(at + strlen("/checkpoints/step-"), step)) *at = 0;
    return run;
}

static void keep_line(json_t **kept, json_t *line)
{
    json_decref(*kept);
    *kept = json_incref(line);
}

static void read_metrics(Story *s, const char *path)
{
    FILE *f = open_stream_to_read(path);
    char *text = NULL;
    size_t room = 0;
    while (f && getline(&text, &room, f) > 0) {
        json_t *line = json_loads(text, 0, NULL);
        const char *split = json_string_value(json_object_get(line, "split"));
        bool before = s->step < 0 || json_integer_value(json_object_get(line, "step")) <= s->step;
        if (split && before && strcmp(split, "train") == 0) keep_line(&s->train, line);
        if (split && before && strcmp(split, "val") == 0) keep_line(&s->val, line);
        json_decref(line);
    }
    free(text);
    if (f) fclose(f);
}

static Story story_of(const char *weights)
{
    Story s = {0};
    char *run = run_of(weights, &s.step);
    if (!run) return s;
    s.config = json_load_file(text_of("%s/config.json", run), 0, NULL);
    if (!json_object_get(s.config, "recipe")) s.config = NULL; /* Hugging Face's */
    if (s.config) read_metrics(&s, text_of("%s/metrics.jsonl", run));
    return s;
}

char *weights_before(const char *weights)
{
    Story s = story_of(weights);
    const char *from = json_string_value(json_object_get(s.config, "weights"));
    char *name = from ? text_of("%s", from) : NULL;
    json_decref(s.config);
    return name;
}

/* ------------------------------------------------------------------ writing */

static void add_text(char **card, char *text)
{
    char *longer = text_of("%s%s", *card, text);
    free(*card);
    free(text);
    *card = longer;
}

/* A file's name, or its folder's if all such files have this name; from malloc.  Whose machine it lay on, nobody needs
 * to know. */
static char *name_in_path(const char *path)
{
    static const char usual[] = "/model.safetensors";
    size_t end = path ? strlen(path) : 0, begin;
    if (end > sizeof usual && strncmp(path + end - (sizeof usual - 1), usual, sizeof usual - 1) == 0)
        end -= sizeof usual - 1;
    while (end > 1 && path[end - 1] == '/') end--;
    for (begin = end; begin && path[begin - 1] != '/';) begin--;
    return text_of("%.*s", (int)(end - begin), path ? path + begin : "");
}

static char *as_text(const json_t *value)
{
    if (json_is_string(value)) return text_of("%s", json_string_value(value));
    return json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(6));
}

/* A bar would end the cell. */
static void add_row(char **card, const char *key, char *value)
{
    for (char *at = value; (at = strchr(at, '|')); at++) *at = '/';
    add_text(card, text_of("| %s | %s |\n", key, value));
    free(value);
}

static void add_members(char **card, const json_t *from, const char *const *keys, int n)
{
    for (int i = 0; i < n; i++) {
        const json_t *value = json_object_get(from, keys[i]);
        if (value && !json_is_null(value)) add_row(card, keys[i], as_text(value));
    }
}

static void add_data(char **card, const json_t *files)
{
    size_t i;
    json_t *file;
    json_array_foreach(files, i, file) add_row(card, i ? "" : "data", name_in_path(json_string_value(file)));
}

static void add_results(char **card, const Story *s)
{
    const char *key;
    json_t *value;
    const json_t *loss = json_object_get(s->train, "loss");
    if (loss) add_row(card, "training loss, of the last step", as_text(loss));
    json_object_foreach(s->val, key, value) if (json_is_real(value))
        add_row(card, text_of("validation %s", key), as_text(value));
}

static void add_story(char **card, const Story *s)
{
    static const char *const built[] = {"seq", "batch"}, *const recipe[] = {"optimizer", "lr",    "schedule",
                                                                            "warmup",    "beta1", "beta2",
                                                                            "eps",       "decay", "clip",
                                                                            "accumulate"},
                             *const run[] = {"precision", "seed"};
    const char *from = json_string_value(json_object_get(s->config, "weights"));
    add_text(card, text_of("\n| | |\n|---|---|\n"));
    if (from) add_row(card, "started from", name_in_path(from));
    add_data(card, json_object_get(s->config, "data"));
    if (s->step >= 0) add_row(card, "steps", text_of("%lld", (long long)s->step));
    add_members(card, json_object_get(s->config, "built_with"), built, 2);
    add_members(card, json_object_get(s->config, "recipe"), recipe, 10);
    add_members(card, s->config, run, 2);
    add_results(card, s);
}

void write_card(const Trainer *t, const char *library)
{
    char *path = text_of("%s/README.md", t->out), *parameters = grouped_text(t->model->parameter_count);
    Fault fault = {0};
    if (access(path, F_OK) == 0) {
        note("%s is there and stays as it is", path);
        return;
    }
    Story s = story_of(t->weights);
    char *card =
        text_of("---\nlibrary_name: %s\ntags:\n- lathe\n---\n\n# %s\n\n%s parameters, trained by Lathe%s.\n", library,
                t->model->name, parameters, t->model->adapters ? " with adapters of low rank (LoRA)" : "");
    if (s.config) add_story(&card, &s);
    if (!replace_text(path, card, &fault)) fail(EXIT_DATA, fault.path, "%s; %s", fault.text, room_remedy(fault.number));
}
