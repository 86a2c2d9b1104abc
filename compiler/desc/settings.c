/* settings.c: the rows of runtime/interface/recipe.def for the compiler: defaults, the options of the library, limits,
 * and the table of the page. */
#include "desc/settings.h"

#include "runtime/interface/settings_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const Lathe_recipe recipe_defaults = {
#define REAL(name, start, ...)              .name = start,
#define COUNT(name, start, ...)             .name = start,
#define FLAG(name, start, ...)              .name = start,
#define WORD(name, type, start, words, ...) .name = start,
#include "runtime/interface/recipe.def"
};

#define BY(function, start, meaning)                                          {#function, #start, meaning},
#define OPTIONS(name, ...)                                                    static const Setting_option name##_options[] = {__VA_ARGS__{0}};
#define REAL(name, start, least, most, table, key, hold, unit, meaning, ...)  OPTIONS(name, __VA_ARGS__)
#define COUNT(name, start, least, most, table, key, hold, unit, meaning, ...) OPTIONS(name, __VA_ARGS__)
#define FLAG(name, start, table, key, hold, meaning, ...)                     OPTIONS(name, __VA_ARGS__)
#define WORD(name, type, start, words, table, key, hold, meaning, ...)        OPTIONS(name, __VA_ARGS__)
#define TEXT(name, table, key, hold, meaning, ...)                            OPTIONS(name, __VA_ARGS__)
#define LIST(name, table, key, hold, meaning, ...)                            OPTIONS(name, __VA_ARGS__)
#define BOOL(name, table, key, hold, meaning, ...)                            OPTIONS(name, __VA_ARGS__)
#define INNER(type, kind, name, meaning)                                      OPTIONS(name, )
#include "runtime/interface/recipe.def"

/* A list for each row, as `settings` has them. */
static const Setting_option *const options_by_row[] = {
#define REAL(name, ...)                  name##_options,
#define COUNT(name, ...)                 name##_options,
#define FLAG(name, ...)                  name##_options,
#define WORD(name, ...)                  name##_options,
#define TEXT(name, ...)                  name##_options,
#define LIST(name, ...)                  name##_options,
#define BOOL(name, ...)                  name##_options,
#define INNER(type, kind, name, meaning) name##_options,
#include "runtime/interface/recipe.def"
};

const Setting *setting_at(int k) { return k < SETTINGS ? &settings[k] : NULL; }

const Setting *find_setting(const char *name)
{
    for (int i = 0; i < SETTINGS; i++)
        if (same(settings[i].name, name)) return &settings[i];
    return NULL;
}

const Setting_option *setting_options(const Setting *s) { return options_by_row[s - settings]; }

const Setting_option *option_of(const Setting *s, const char *function)
{
    for (const Setting_option *o = setting_options(s); o->function; o++)
        if (same(o->function, function)) return o;
    return NULL;
}

bool is_settable(const Setting *s) { return s->hold != SETTING_INNER; }

int word_count(const Setting *s)
{
    int n = 0;
    while (s->words[n]) n++;
    return n;
}

const char *setting_word(const Lathe_recipe *r, const char *name)
{
    const Setting *s = find_setting(name);
    return s->words[setting_choice(s, r)];
}

bool setting_holds(const Setting *s, double v)
{
    return isfinite(v) && v >= s->least && v <= s->most && (s->kind == SETTING_REAL || v == floor(v));
}

bool setting_takes(const Setting *s, const char *text, double *v)
{
    char *end;
    if (s->kind == SETTING_FLAG) return (*v = flag_of_text(text)) >= 0;
    *v = strtod(text, &end);
    return end > text && !*end && setting_holds(s, *v);
}

/* "an integer, 0 or more", "a number from 0 to 1" */
const char *range_text(const Setting *s)
{
    if (s->kind == SETTING_FLAG) return "true or false (or 1 or 0)";
    const char *kind = s->kind == SETTING_REAL ? "a number" : "an integer";
    return isinf(s->most) || s->kind != SETTING_REAL ? format("%s, %g or more", kind, s->least)
                                                     : format("%s from %g to %g", kind, s->least, s->most);
}

/* ------------------------------------------------------------------ the page */

static const char *values_text(const Setting *s)
{
    Text t = {0};
    switch (s->kind) {
    case SETTING_FLAG:
    case SETTING_BOOL: return "true or false";
    case SETTING_TEXT: return "a text";
    case SETTING_LIST: return "a list";
    case SETTING_REAL: return isinf(s->most) ? format("%g or more", s->least) : format("%g to %g", s->least, s->most);
    case SETTING_COUNT:
        return s->most < 0x1p53 ? format("%.10g to %.10g %s", s->least, s->most, s->unit)
                                : format("%.10g or more %s", s->least, s->unit);
    case SETTING_WORD:
        for (int i = 0; s->words[i]; i++) say(&t, "%s`%s`", i ? ", " : "", s->words[i]);
        return t.at;
    }
    return "";
}

static const char *where_text(const Setting *s)
{
    bool made = same(s->table, "data") || same(s->table, "optimizer") || same(s->table, "schedule");
    return made && !setting_options(s)->function ? "" : format("`%s.%s`", s->table, s->key);
}

/* Without markup's own characters. */
static void say_cell(Text *t, const char *text)
{
    for (; *text; text++) say(t, *text == '|' ? "\\|" : *text == '<' ? "&lt;" : "%c", *text);
}

/* The default; if a library function has another one, that follows. */
static void say_default(Text *t, const Setting *s)
{
    if (setting_is_number(s)) {
        double v = setting_number(s, &recipe_defaults);
        if (s->kind == SETTING_FLAG) say(t, v ? "true" : "false");
        else if (v < s->least) say(t, "by the data");
        else say(t, "%.10g", v);
        for (const Setting_option *o = setting_options(s); s->kind != SETTING_FLAG && o->function; o++)
            if (!same(o->start, "none") && strtod(o->start, NULL) != v) say(t, "; `%s` %s", o->function, o->start);
    } else if (s->kind == SETTING_BOOL) say(t, "false");
    else if (s->kind == SETTING_WORD) say(t, "`%s`", setting_word(&recipe_defaults, s->name));
}

void say_settings_page(Text *t)
{
    say(t, "| setting | in the description | values | default | what it is |\n|---|---|---|---|---|\n");
    for (const Setting *s = settings; s < settings + SETTINGS; s++) {
        if (!s->table) continue;
        say(t, "| `%s` | %s | %s | ", s->name, where_text(s), values_text(s));
        say_default(t, s);
        say(t, " | ");
        say_cell(t, s->meaning);
        say(t, "%s |\n", s->hold == SETTING_RUN ? "" : "; fixed when built");
    }
}
