/* knobs.c: --set k=v: the settings of the recipe that a run may change, and the message about those fixed when
 * built. */
#include "base/json_text.h"
#include "base/words.h"
#include "data/split.h"
#include "interface/lathe_model.h"
#include "model/tables.h"
#include "step/optim.h"
#include "trainer/knobs.h"
#include "trainer/trainer.h"

#include "interface/settings_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FIELD(f) offsetof(Lathe_recipe, f)

_Static_assert((int)SETTINGS <= (int)MAX_SETTINGS, "Trainer.given has a word for each");

static bool is_knob(const Setting *s) { return s->hold == SETTING_RUN; }

static const Setting *setting_named(const char *name)
{
    for (int i = 0; i < SETTINGS; i++)
        if (strcmp(settings[i].name, name) == 0) return &settings[i];
    return NULL;
}

/* A setting that is fixed when built and known to the user by name. */
static bool is_fixed(const Setting *s) { return s->hold == SETTING_NOTED || s->hold == SETTING_BUILT; }

static const Setting *find_knob(const char *name)
{
    const Setting *s = setting_named(name);
    return s && is_knob(s) ? s : NULL;
}

static const char *found_text(const Setting *s, const Lathe_recipe *r)
{
    switch (s->kind) {
    case SETTING_REAL:
    case SETTING_COUNT:
    case SETTING_FLAG: return text_of("%.15g", setting_number(s, r));
    case SETTING_WORD: return s->words[setting_choice(s, r)];
    case SETTING_BOOL: return *(const bool *)((const char *)r + s->field) ? "true" : "false";
    default: return setting_text(s, r) ? setting_text(s, r) : "none";
    }
}

static void refuse_fixed(const Trainer *t, const char *name, const char *found, const char *value)
{
    bool named = *config_of(t->model) && strcmp(t->model->config, "default") != 0;
    const char *config = named ? text_of("MODEL.lua --config%s", config_of(t->model)) : "MODEL.lua";
    fail(EXIT_USAGE, NULL,
         "--set %s=%s: %s is fixed when built: it is %s here; rebuild with `lathe build %s --set %s=%s`", name, value,
         name, found, t->model->rebuild ? t->model->rebuild : config, name, value);
}

/* Refuses a name that is neither a setting of runs nor known to the model, and suggests another. */
static void refuse_unknown(const Trainer *t, const char *name)
{
    const Lathe_model *m = t->model;
    const char **words = must_alloc(sizeof *words * (size_t)(SETTINGS + m->knobs));
    int n = 0;
    for (int i = 0; i < SETTINGS; i++)
        if (is_knob(&settings[i])) words[n++] = settings[i].name;
    for (int i = 0; i < m->knobs; i++) words[n++] = m->knob[i][0];
    const char *close = nearest_word(name, words, n);
    if (close) fail(EXIT_USAGE, NULL, "--set %s: there is no such setting; did you mean %s?", name, close);
    fail(EXIT_USAGE, NULL, "--set %s: there is no such setting; `trainer train --help` lists them", name);
}

static int word_index(const Setting *k, const char *value)
{
    int n = 0;
    while (k->words[n]) n++;
    for (int i = 0; i < n; i++)
        if (strcmp(k->words[i], value) == 0) return i;
    const char *close = nearest_word(value, k->words, n);
    char *all = text_of("%s", k->words[0]);
    for (int i = 1; i < n; i++) all = text_of("%s%s%s", all, i + 1 < n ? ", " : " or ", k->words[i]);
    if (k->field == FIELD(tokenizer)) all = text_of("%s", k->meaning);
    fail(EXIT_USAGE, NULL, "%s=%s: expected %s%s%s%s", k->name, value, all, close ? "; did you mean " : "",
         close ? close : "", close ? "?" : "");
}

static void check_range(const Setting *k, double x, const char *value)
{
    if (x >= k->least && x <= k->most) return;
    char *most = isinf(k->most) ? text_of(" or more") : text_of(" to %g", k->most);
    fail(EXIT_USAGE, NULL, "%s=%s is out of range: expected %g%s (%s)", k->name, value, k->least, most, k->meaning);
}

static double read_number(const Setting *k, const char *value)
{
    double x = 0;
    int64_t n = 0;
    if (k->kind == SETTING_FLAG) {
        x = flag_of_text(value);
        if (x < 0) fail(EXIT_USAGE, NULL, "%s=%s: expected true or false, or 1 or 0 (%s)", k->name, value, k->meaning);
    } else if (k->kind == SETTING_REAL) {
        if (!parse_real(value, &x)) fail(EXIT_USAGE, NULL, "%s=%s: expected a number (%s)", k->name, value, k->meaning);
    } else {
        if (!parse_count(value, &n))
            fail(EXIT_USAGE, NULL, "%s=%s: expected a whole number (%s)", k->name, value, k->meaning);
        x = (double)n;
    }
    check_range(k, x, value);
    return x;
}

static void check_fold(const char *value)
{
    int64_t fold, folds;
    if (!parse_fold(value, &fold, &folds))
        fail(EXIT_USAGE, NULL,
             "fold=%s: expected K/N, the fold to evaluate and the number of folds, 2 to 1000, such as 2/5", value);
}

static void change_knob(Lathe_recipe *r, const Setting *k, const char *value)
{
    void *field = (char *)r + k->field;
    if (setting_is_number(k)) put_setting_number(k, r, read_number(k, value));
    else if (k->kind == SETTING_WORD) *(int *)field = word_index(k, value);
    else if (k->field == FIELD(milestones) && !are_milestones(value))
        fail(EXIT_USAGE, NULL, "%s=%s: expected steps in ascending order, separated by commas, such as 1000,1500",
             k->name, value);
    else {
        if (k->field == FIELD(fold)) check_fold(value);
        *(const char **)field = value;
    }
}

/* A value that is not one of the words may be the path of a tokenizer. */
static const char *tokenizer_file(const Setting *k, const char *value)
{
    if (k->field != FIELD(tokenizer)) return NULL;
    for (int i = 0; k->words[i]; i++)
        if (strcmp(k->words[i], value) == 0) return NULL;
    return access(value, F_OK) == 0 ? value : NULL;
}

/* The description sets these for each turn. */
static bool is_of_turns(const Trainer *t, const Setting *k)
{
    return t->model->turns && lathe_is_of_turn(k->table, k->name);
}

Lathe_recipe recipe_of_model(const Lathe_model *m)
{
    Lathe_recipe r = m->recipe;
    if (!r.local_steps && r.outer_lr == 0 && r.outer_momentum == 0) r.outer_lr = 0.7, r.outer_momentum = 0.9;
    return r;
}

void set_knob(Trainer *t, const char *name, const char *value)
{
    const Setting *k = find_knob(name);
    if (k && is_of_turns(t, k))
        fail(EXIT_USAGE, NULL,
             "--set %s=%s: each turn of %s has its own %s; change it in train.turns of the description, and rebuild",
             name, value, t->model->name, name);
    if (k) {
        t->tokenizer = k->field == FIELD(tokenizer) ? tokenizer_file(k, value) : t->tokenizer;
        if (k->field == FIELD(tokenizer) && t->tokenizer) value = "file";
        change_knob(&t->recipe, k, value);
        t->given[k - settings] = true;
        return;
    }
    const Setting *fixed = setting_named(name);
    if (fixed && is_fixed(fixed)) refuse_fixed(t, name, found_text(fixed, &t->recipe), value);
    for (int i = 0; i < t->model->knobs; i++)
        if (strcmp(t->model->knob[i][0], name) == 0) refuse_fixed(t, name, t->model->knob[i][1], value);
    refuse_unknown(t, name);
}

const char *optimizer_word(Lathe_optimizer kind) { return find_knob("optimizer")->words[kind]; }

bool is_setting(const char *name) { return find_knob(name) != NULL; }

bool was_set(const Trainer *t, const char *name) { return t->given[find_knob(name) - settings]; }

void settle_group(Trainer *t)
{
    if (was_set(t, "group") && !was_set(t, "split")) set_knob(t, "split", "group");
}

Words settings_given(const Trainer *t)
{
    Words all = {0};
    for (int i = 0; i < SETTINGS; i++)
        if (t->given[i]) add_word(&all, settings[i].name);
    return all;
}

static json_t *value_json(const Lathe_recipe *r, const Setting *k);

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

/* A setting that was not given gets the checkpoint's value; if that differs from the default, it is added to *taken. */
static void take_knob(Trainer *t, const Setting *k, const json_t *from, char **taken)
{
    json_t *own = value_json(&t->recipe, k);
    char *theirs = value_text(from), *ours = value_text(own);
    if (theirs && (!ours || strcmp(theirs, ours) != 0)) {
        if (t->given[k - settings]) {
            note("%s is %s as given; it was %s in the checkpoint", k->name, short_text(own), short_text(from));
        } else {
            change_knob(&t->recipe, k, theirs); /* theirs is not freed: the recipe points to its text */
            *taken = text_of("%s %s=%s", *taken, k->name, short_text(from));
        }
    }
    json_decref(own);
}

/* Settings about data.  The tokenizer is not among them: --tokenizer is its option. */
static bool is_of_data(const Setting *k)
{
    return is_knob(k) && strcmp(k->table, "data") == 0 && k->field != FIELD(tokenizer);
}

static bool is_listed(const char *const *names, const char *name)
{
    while (*names && strcmp(*names, name) != 0) names++;
    return *names;
}

void take_data_settings(Trainer *t, const json_t *recipe, const char *const *only)
{
    for (int i = 0; i < SETTINGS; i++) {
        const Setting *k = &settings[i];
        bool wanted = is_of_data(k) && !was_set(t, k->name);
        if (only && !is_listed(only, k->name)) continue;
        char *theirs = wanted ? value_text(json_object_get(recipe, k->name)) : NULL;
        if (theirs) change_knob(&t->recipe, k, theirs);
    }
}

void take_recipe(Trainer *t, const json_t *recipe)
{
    char *taken = text_of("%s", "");
    for (int i = 0; i < SETTINGS; i++) {
        bool taking = is_knob(&settings[i]) && !is_of_turns(t, &settings[i]);
        const json_t *from = taking ? json_object_get(recipe, settings[i].name) : NULL;
        if (from) take_knob(t, &settings[i], from, &taken);
    }
    if (*taken) note("using the checkpoint's settings instead of this trainer's defaults:%s", taken);
}

void set_knob_text(Trainer *t, const char *assignment)
{
    const char *equals = strchr(assignment, '=');
    if (!equals || equals == assignment)
        fail(EXIT_USAGE, NULL, "--set %s: expected name=value, as in --set lr=3e-4", assignment);
    set_knob(t, text_of("%.*s", (int)(equals - assignment), assignment), equals + 1);
}

/* ------------------------------------------------------------------ showing them */

static json_t *value_json(const Lathe_recipe *r, const Setting *k)
{
    switch (k->kind) {
    case SETTING_REAL: return real_json(setting_number(k, r));
    case SETTING_COUNT:
    case SETTING_FLAG: return json_integer((json_int_t)setting_number(k, r));
    case SETTING_WORD: return word_json(k->words[setting_choice(k, r)]);
    default: return setting_text(k, r) ? word_json(setting_text(k, r)) : json_null();
    }
}

/* Settings that a run may change come first. */
json_t *recipe_json(const Lathe_recipe *r)
{
    static const Setting_hold remembered[] = {SETTING_RUN, SETTING_NOTED};
    json_t *all = json_object();
    for (int h = 0; h < 2; h++)
        for (int i = 0; i < SETTINGS; i++)
            if (settings[i].hold == remembered[h]) put_json(all, settings[i].name, value_json(r, &settings[i]));
    return all;
}

json_t *turn_recipe_json(const Lathe_recipe *r)
{
    json_t *all = json_object();
    for (const Setting *k = settings; k < settings + SETTINGS; k++)
        if (lathe_is_of_turn(k->table, k->name)) put_json(all, k->name, value_json(r, k));
    return all;
}

char *exact_text(const json_t *value)
{
    double x = json_real_value(value);
    char *text = json_is_real(value) ? text_of("%g", x) : value_text(value);
    return text && json_is_real(value) && strtod(text, NULL) != x ? value_text(value) : text;
}

char *data_settings(const Trainer *t)
{
    const char *rebuild = t->model->rebuild ? t->model->rebuild : "";
    char *all = text_of("%s", "");
    for (const Setting *k = settings; k < settings + SETTINGS; k++) {
        if (!is_of_data(k)) continue;
        json_t *own = value_json(&t->recipe, k), *built = value_json(&t->model->recipe, k);
        char *text = exact_text(own);
        bool said = strstr(rebuild, text_of(" --set %s=", k->name)) != NULL;
        if (text && !said && !json_equal(own, built)) all = text_of("%s --set %s=%s", all, k->name, shell_word(text));
        json_decref(own);
        json_decref(built);
    }
    return all;
}

void print_knobs(FILE *f, const Lathe_recipe *r, bool turns)
{
    for (const Setting *k = settings; k < settings + SETTINGS; k++) {
        if (!is_knob(k) || (turns && lathe_is_of_turn(k->table, k->name))) continue;
        json_t *value = value_json(r, k);
        char *text = json_is_real(value)     ? text_of("%g", json_real_value(value))
                     : json_is_string(value) ? text_of("%s", json_string_value(value))
                     : json_is_null(value)   ? text_of("-")
                                             : json_written(value, JSON_ENCODE_ANY);
        show(f, "  %-20s %-10s %s\n", k->name, text, k->meaning);
        free(text);
        json_decref(value);
    }
}
