/* recipe.c: prints how to train: the recipe of model.c, groups of parameters, turns. */
#include "desc/settings.h"
#include "emit/emit.h"

#include <string.h>

/* The text after `.name =`. */
static const char *setting_value(const Setting *s, const Lathe_recipe *r)
{
    switch (s->kind) {
    case SETTING_REAL: return number_text(setting_number(s, r));
    case SETTING_COUNT:
    case SETTING_FLAG: return format("%lld", (long long)setting_number(s, r));
    case SETTING_WORD: return s->ids[setting_choice(s, r)];
    case SETTING_BOOL: return *(const bool *)((const char *)r + s->field) ? "true" : "false";
    default: return quoted(setting_text(s, r));
    }
}

/* names: the settings that share a line, such as "lr beta1". */
static void say_settings(Text *t, const Lathe_recipe *r, const char *names)
{
    Text line = {0};
    for (const char *at = names; *at; at += strspn(at, " ")) {
        size_t n = strcspn(at, " ");
        const Setting *s = find_setting(copy_bytes_as_string(at, n));
        must(s);
        say(&line, "%s.%s = %s,", at == names ? "        " : " ", s->name, setting_value(s, r));
        at += n;
    }
    say_wrapped(t, line.at);
}

static bool has_line(const Setting *s)
{
    static const char *const lines[] = {
#define LINE(when, names) " " names " ",
#include "runtime/interface/recipe.def"
    };
    for (int i = 0; i < COUNT_OF(lines); i++)
        if (strstr(lines[i], format(" %s ", s->name))) return true;
    return false;
}

/* Of the lines that share settings, those that say nothing of this recipe are left out: the program has zeros there. */
bool says_setting(const Lathe_recipe *r, const Setting *s)
{
#define LINE(when, names)                                                                                              \
    if (strstr(" " names " ", format(" %s ", s->name))) return when;
#include "runtime/interface/recipe.def"
    return true;
}

const char *optimizer_id(const Lathe_recipe *r) { return setting_value(find_setting("optimizer"), r); }

void say_recipe(Text *t, const Lathe_recipe *r)
{
    const Setting *s;
    say(t, "    .recipe = {\n");
#define LINE(when, names)                                                                                              \
    if (when) say_settings(t, r, names);
#include "runtime/interface/recipe.def"
    for (int k = 0; (s = setting_at(k)); k++) {
        const char *value = setting_value(s, r);
        bool zero = same(value, "0") || same(value, "NULL") || same(value, "false");
        if (s->kind == SETTING_WORD) zero = setting_choice(s, r) == 0;
        if (!has_line(s) && !zero) say_settings(t, r, s->name);
    }
    say(t, "    },\n");
}

/* Of an optimizer written in Lua. */
static const char *direction_text(const Direction *d)
{
    return format(".direction = {%s, .decay = %s, .others = %s},", quoted(d->name), number_text(d->decay),
                  number_text(d->others));
}

void say_direction(Text *t, const Direction *d, const Flat *flat)
{
    const int64_t directed = flat->trained - flat->moments;
    if (d || directed)
        say(t, "    .directed_elements = %lld,%s%s\n", (long long)directed, d ? " " : "", d ? direction_text(d) : "");
}

void say_groups(Text *t, const Desc *d)
{
    if (!d->groups.n) return;
    say(t, "/* Of several that match, each setting is the last's; negative: it says nothing of that. */\n");
    say(t, "static const Lathe_group groups[] = {\n");
    for (int i = 0; i < d->groups.n; i++) {
        const Lathe_group *g = &d->groups.at[i];
        say_wrapped(t, format("    {.match = %s, .lr_scale = %s, .decay = %s, .decays = %d, .frozen = %d},",
                              quoted(g->match), number_text(g->lr_scale), number_text(g->decay), g->decays, g->frozen));
    }
    say(t, "};\n\n");
}

/* names: those of a line; of them what each turn has for itself. */
static const char *names_of_turn(const char *names)
{
    Text own = {0};
    for (const char *at = names; *at; at += strspn(at, " ")) {
        size_t n = strcspn(at, " ");
        const Setting *s = find_setting(copy_bytes_as_string(at, n));
        if (lathe_is_of_turn(s->table, s->name)) say(&own, "%s%s", own.n ? " " : "", s->name);
        at += n;
    }
    return own.n ? own.at : "";
}

void say_turns(Text *t, const Desc *d)
{
    if (!d->turns.n) return;
    say(t, "/* Of a step, in their order; all other settings are the model's. */\n");
    say(t, "static const Lathe_turn turns[] = {\n");
    for (int i = 0; i < d->turns.n; i++) {
        const Train_turn *u = &d->turns.at[i];
        const Lathe_recipe *r = &u->recipe;
        say(t, "    {.name = %s, .loss = %s, .of = %s, .every = %lld,%s%s .recipe = {\n", quoted(u->name),
            quoted(u->loss), quoted(u->of), (long long)u->every, u->direction ? " " : "",
            u->direction ? direction_text(u->direction) : "");
#define LINE(when, names)                                                                                              \
    if ((when) && *names_of_turn(names)) say_settings(t, r, names_of_turn(names));
#include "runtime/interface/recipe.def"
        say(t, "    }},\n");
    }
    say(t, "};\n\n");
}
