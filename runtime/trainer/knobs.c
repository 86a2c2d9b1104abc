/* knobs.c: --set k=v: one table of what the recipe lets a run change, and the answer for what was fixed when
 * built. */
#include "base/json_text.h"
#include "base/words.h"
#include "interface/lathe_model.h"
#include "model/tables.h"
#include "step/optim.h"
#include "trainer/knobs.h"
#include "trainer/trainer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef enum Knob_type { REAL, COUNT, WORD, STRING } Knob_type;

/* One field of Lathe_recipe (interface/recipe.def).  Values of WORD are the enum's in order. */
typedef struct Run_knob {
    const char *name;
    Knob_type type;
    size_t field;
    double least, most;
    const char *const *words; /* WORD: NULL at the end */
    const char *table;        /* numbers: of the description; else NULL */
    const char *meaning;
} Run_knob;

static const char *const optimizers[] = {"sgd", "adamw", "adam", "lion", NULL};
static const char *const schedules[] = {"constant", "linear", "cosine", "one_cycle", "step", "inverse_sqrt", NULL};
static const char *const modes[] = {"auto", "min", "max", NULL};
static const char *const bad_bytes[] = {"replace", "stop", NULL};
static const char *const orders[] = {"auto", "windows", "epochs", "contiguous", NULL};
static const char *const documents[] = {"file", "blank", "line", "whole", NULL};
static const char *const losses[] = {"auto", "target", "all", NULL};
static const char *const target_lists[] = {"join", "first", "each", NULL};
static const char *const long_pairs[] = {"cut", "skip", NULL};
static const char *const tokenizers[] = {"none", "bytes", "chars", "file", NULL};

#define FIELD(f) offsetof(Lathe_recipe, f)
#define NUMBER(name, type, least, most, table, key, meaning)                                                           \
    {#name, type, FIELD(name), least, most, NULL, table, meaning},
#define FIXED(name, type, least, most, table, key)
#define CHOICE(name, words, meaning) {#name, WORD, FIELD(name), 0, 0, words, NULL, meaning},
#define NAME(name, meaning)          {#name, STRING, FIELD(name), 0, 0, NULL, NULL, meaning},

static const Run_knob knobs[] = {
#include "interface/recipe.def"
};
enum { KNOBS = sizeof knobs / sizeof *knobs };
_Static_assert(sizeof knobs <= MAX_SETTINGS * sizeof *knobs, "Trainer.given has a word for each");

/* Enums are stored as int. */
_Static_assert(sizeof(Lathe_optimizer) == sizeof(int) && sizeof(Lathe_tokenizer) == sizeof(int) &&
                   sizeof(Lathe_order) == sizeof(int) && sizeof(Lathe_documents) == sizeof(int) &&
                   sizeof(Lathe_loss_on) == sizeof(int) && sizeof(Lathe_targets) == sizeof(int) &&
                   sizeof(Lathe_long) == sizeof(int),
               "enums are ints");

static const Run_knob *find_knob(const char *name)
{
    for (int i = 0; i < KNOBS; i++)
        if (strcmp(knobs[i].name, name) == 0) return &knobs[i];
    return NULL;
}

static void refuse_fixed(const Trainer *t, const char *name, const char *found, const char *value)
{
    bool named = *config_of(t->model) && strcmp(t->model->config, "default") != 0;
    const char *config = named ? text_of(" --config%s", config_of(t->model)) : "";
    fail(EXIT_USAGE, NULL,
         "--set %s=%s: %s is fixed when built: it is %s here; rebuild with `lathe build MODEL.lua%s --set %s=%s`", name,
         value, name, found, config, name, value);
}

/* Neither a knob of this run nor known to the model: what was meant? */
static void refuse_unknown(const Trainer *t, const char *name)
{
    const Lathe_model *m = t->model;
    const char **words = must_alloc(sizeof *words * (size_t)(KNOBS + m->knobs));
    for (int i = 0; i < KNOBS; i++) words[i] = knobs[i].name;
    for (int i = 0; i < m->knobs; i++) words[KNOBS + i] = m->knob[i][0];
    const char *close = nearest_word(name, words, KNOBS + m->knobs);
    if (close) fail(EXIT_USAGE, NULL, "--set %s: there is no such setting; did you mean %s?", name, close);
    fail(EXIT_USAGE, NULL, "--set %s: there is no such setting; `trainer train --help` lists them", name);
}

static int word_index(const Run_knob *k, const char *value)
{
    int n = 0;
    while (k->words[n]) n++;
    for (int i = 0; i < n; i++)
        if (strcmp(k->words[i], value) == 0) return i;
    const char *close = nearest_word(value, k->words, n);
    fail(EXIT_USAGE, NULL, "%s=%s: expected %s%s%s%s", k->name, value, k->meaning, close ? "; did you mean " : "",
         close ? close : "", close ? "?" : "");
}

static void check_range(const Run_knob *k, double x, const char *value)
{
    if (x >= k->least && x <= k->most) return;
    char *most = isinf(k->most) ? text_of(" or more") : text_of(" to %g", k->most);
    fail(EXIT_USAGE, NULL, "%s=%s is out of range: expected %g%s (%s)", k->name, value, k->least, most, k->meaning);
}

static void change_knob(Lathe_recipe *r, const Run_knob *k, const char *value)
{
    void *field = (char *)r + k->field;
    double x = 0;
    int64_t n = 0;
    switch (k->type) {
    case WORD: *(int *)field = word_index(k, value); break;
    case STRING:
        if (k->field == FIELD(milestones) && !are_milestones(value))
            fail(EXIT_USAGE, NULL, "%s=%s: expected steps in ascending order with commas between, as 1000,1500",
                 k->name, value);
        *(const char **)field = value;
        break;
    case REAL:
        if (!parse_real(value, &x)) fail(EXIT_USAGE, NULL, "%s=%s: expected a number (%s)", k->name, value, k->meaning);
        check_range(k, x, value);
        *(double *)field = x;
        break;
    case COUNT:
        if (!parse_count(value, &n))
            fail(EXIT_USAGE, NULL, "%s=%s: expected a whole number (%s)", k->name, value, k->meaning);
        check_range(k, (double)n, value);
        *(int64_t *)field = n;
        break;
    }
}

/* What is no word may be the path of one. */
static const char *tokenizer_file(const Run_knob *k, const char *value)
{
    if (k->field != FIELD(tokenizer)) return NULL;
    for (int i = 0; k->words[i]; i++)
        if (strcmp(k->words[i], value) == 0) return NULL;
    return access(value, F_OK) == 0 ? value : NULL;
}

void set_knob(Trainer *t, const char *name, const char *value)
{
    const Run_knob *k = find_knob(name);
    if (k) {
        t->tokenizer = k->field == FIELD(tokenizer) ? tokenizer_file(k, value) : t->tokenizer;
        if (k->field == FIELD(tokenizer) && t->tokenizer) value = "file";
        change_knob(&t->recipe, k, value);
        t->given[k - knobs] = true;
        return;
    }
    if (strcmp(name, "accumulate") == 0) refuse_fixed(t, name, text_of("%lld", (long long)t->recipe.accumulate), value);
    if (strcmp(name, "rows") == 0) refuse_fixed(t, name, text_of("%lld", (long long)t->recipe.rows), value);
    for (int i = 0; i < t->model->knobs; i++)
        if (strcmp(t->model->knob[i][0], name) == 0) refuse_fixed(t, name, t->model->knob[i][1], value);
    refuse_unknown(t, name);
}

bool is_setting(const char *name) { return find_knob(name) != NULL; }

bool was_set(const Trainer *t, const char *name) { return t->given[find_knob(name) - knobs]; }

Words settings_given(const Trainer *t)
{
    Words all = {0};
    for (int i = 0; i < KNOBS; i++)
        if (t->given[i]) add_word(&all, knobs[i].name);
    return all;
}

static json_t *value_json(const Lathe_recipe *r, const Run_knob *k);

static char *value_text(const json_t *value)
{
    return json_is_real(value)      ? text_of("%.17g", json_real_value(value))
           : json_is_integer(value) ? text_of("%lld", (long long)json_integer_value(value))
                                    : word_of_json(value);
}

static char *short_text(const json_t *value)
{
    char *text = json_is_real(value) ? text_of("%g", json_real_value(value)) : value_text(value);
    return text ? text : text_of("none");
}

/* A setting that was not given is the checkpoint's; where the two differ, it is added to *taken. */
static void take_knob(Trainer *t, const Run_knob *k, const json_t *from, char **taken)
{
    json_t *own = value_json(&t->recipe, k);
    char *theirs = value_text(from), *ours = value_text(own);
    if (theirs && (!ours || strcmp(theirs, ours) != 0)) {
        if (t->given[k - knobs]) {
            note("%s is %s as given; it was %s in the checkpoint", k->name, short_text(own), short_text(from));
        } else {
            change_knob(&t->recipe, k, theirs); /* theirs stays: a word is pointed to */
            *taken = text_of("%s %s=%s", *taken, k->name, short_text(from));
        }
    }
    json_decref(own);
}

static bool is_of_data(const Run_knob *k)
{
    if (k->table) return strcmp(k->table, "data") == 0;
    return k->words != optimizers && k->words != schedules && k->words != tokenizers;
}

void take_data_settings(Trainer *t, const json_t *recipe, const char *only)
{
    for (int i = 0; i < KNOBS; i++) {
        bool wanted = is_of_data(&knobs[i]) && !was_set(t, knobs[i].name);
        if (only && strcmp(knobs[i].name, only) != 0) continue;
        char *theirs = wanted ? value_text(json_object_get(recipe, knobs[i].name)) : NULL;
        if (theirs) change_knob(&t->recipe, &knobs[i], theirs);
    }
}

void take_recipe(Trainer *t, const json_t *recipe)
{
    char *taken = text_of("%s", "");
    for (int i = 0; i < KNOBS; i++) {
        const json_t *from = json_object_get(recipe, knobs[i].name);
        if (from) take_knob(t, &knobs[i], from, &taken);
    }
    if (*taken) note("as in the checkpoint, where this trainer by itself has other settings:%s", taken);
}

void set_knob_text(Trainer *t, const char *assignment)
{
    const char *equals = strchr(assignment, '=');
    if (!equals || equals == assignment)
        fail(EXIT_USAGE, NULL, "--set %s: expected name=value, as in --set lr=3e-4", assignment);
    set_knob(t, text_of("%.*s", (int)(equals - assignment), assignment), equals + 1);
}

/* ------------------------------------------------------------------ showing them */

static json_t *value_json(const Lathe_recipe *r, const Run_knob *k)
{
    const void *field = (const char *)r + k->field;
    switch (k->type) {
    case WORD: return word_json(k->words[*(const int *)field]);
    case STRING: return *(const char *const *)field ? word_json(*(const char *const *)field) : json_null();
    case REAL: return real_json(*(const double *)field);
    default: return json_integer(*(const int64_t *)field);
    }
}

json_t *recipe_json(const Lathe_recipe *r)
{
    json_t *all = json_object();
    for (int i = 0; i < KNOBS; i++) put_json(all, knobs[i].name, value_json(r, &knobs[i]));
    put_json(all, "accumulate", json_integer(r->accumulate));
    return all;
}

/* The shortest that is read as the same. */
static char *exact_text(const json_t *value)
{
    double x = json_real_value(value);
    char *text = json_is_real(value) ? text_of("%g", x) : value_text(value);
    return text && json_is_real(value) && strtod(text, NULL) != x ? value_text(value) : text;
}

char *data_settings(const Trainer *t)
{
    char *all = text_of("%s", "");
    for (int i = 0; i < KNOBS; i++) {
        json_t *own = value_json(&t->recipe, &knobs[i]), *built = value_json(&t->model->recipe, &knobs[i]);
        char *text = exact_text(own);
        if (is_of_data(&knobs[i]) && text && !json_equal(own, built))
            all = text_of("%s --set %s=%s", all, knobs[i].name, shell_word(text));
        json_decref(own);
        json_decref(built);
    }
    return all;
}

void print_knobs(FILE *f, const Lathe_recipe *r)
{
    for (int i = 0; i < KNOBS; i++) {
        json_t *value = value_json(r, &knobs[i]);
        char *text = json_is_real(value)     ? text_of("%g", json_real_value(value))
                     : json_is_string(value) ? text_of("%s", json_string_value(value))
                     : json_is_null(value)   ? text_of("-")
                                             : json_written(value, JSON_ENCODE_ANY);
        show(f, "  %-20s %-10s %s\n", knobs[i].name, text, knobs[i].meaning);
        free(text);
        json_decref(value);
    }
}
