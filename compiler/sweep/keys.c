/* keys.c: what the key of an --over is: one of the description's configuration, or a setting of the recipe; and whether
 * its values can be.  `--set` finds keys in the same order (front/config.c). */
#include "desc/settings.h"
#include "lathe.h"
#include "sweep/sweep.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const Knob *find_knob_of(const Desc *d, const char *key)
{
    for (int i = 0; i < d->knobs.n; i++)
        if (same(d->knobs.at[i].name, key)) return &d->knobs.at[i];
    return NULL;
}

/* ------------------------------------------------------------------ a key of the configuration */

static bool fits_knob(const Knob *k, const char *value)
{
    char *end;
    if (same(k->type, "string")) return true;
    if (same(k->type, "boolean")) return flag_of_text(value) >= 0;
    double v = strtod(value, &end);
    if (end == value || *end || !isfinite(v)) return false;
    return same(k->type, "number") || !value[strspn(value, "-+0123456789")];
}

static void settle_knob(Dimension *d, const Desc *described, const Knob *k)
{
    bool number = same(k->type, "integer") || same(k->type, "number");
    if (d->ranged && !number)
        usage_error("--over %s=%s: '%s' is a %s (%s without --over); give its values: %s=a,b", d->key, d->given, d->key,
                    k->type, k->value, d->key);
    for (int i = 0; i < d->values.n; i++)
        if (!fits_knob(k, d->values.at[i]))
            usage_error("--over %s=%s: '%s' must be %s %s (%s without --over), found %s", d->key, d->given, d->key,
                        same(k->type, "integer") ? "an" : "a", k->type, k->value, d->values.at[i]);
    d->whole = same(k->type, "integer");
    d->kind = k->modelled || described->turns.n ? KEY_BUILT : KEY_DESCRIBED;
}

/* ------------------------------------------------------------------ a setting of the recipe */

static bool fits_setting(const Setting *s, const char *value)
{
    double v;
    if (setting_is_number(s)) return setting_takes(s, value, &v);
    for (int i = 0; s->kind == SETTING_WORD && s->words[i]; i++)
        if (same(s->words[i], value)) return true;
    return s->kind == SETTING_TEXT || s->kind == SETTING_LIST;
}

static const char *words_of_setting(const Setting *s)
{
    Text t = {0};
    if (setting_is_number(s)) return range_text(s);
    for (int i = 0; i < word_count(s); i++)
        say(&t, "%s%s", !i ? "" : i + 1 < word_count(s) ? ", " : " or ", s->words[i]);
    return t.at ? t.at : "a text";
}

static _Noreturn void refuse_value(const Dimension *d, const Setting *s, const char *value)
{
    const char *close = s->kind == SETTING_WORD ? nearest(value, s->words, word_count(s)) : NULL;
    usage_error("--over %s=%s: %s must be %s, found %s%s%s%s", d->key, d->given, d->key, words_of_setting(s), value,
                close ? "; did you mean " : "", close ? close : "", close ? "?" : "");
}

static void settle_setting(Dimension *d, const Desc *described, const Setting *s)
{
    static const char *const own[] = {"best", "best_mode", "keep_last", "log_every", "save_every"};
    for (int i = 0; i < COUNT_OF(own); i++)
        if (same(own[i], s->name))
            usage_error("--over %s: runs that differ in it cannot be compared; give one with --set", s->name);
    if (described->turns.n && lathe_is_of_turn(s->table, s->name))
        usage_error("--over %s: each turn has its own %s; make it a key of the description's config", s->name, s->name);
    if (s->hold != SETTING_RUN && !setting_is_number(s))
        usage_error("--over %s: only the description says it; make it a key of its config", s->name);
    if (d->ranged && (!setting_is_number(s) || s->kind == SETTING_FLAG))
        usage_error("--over %s=%s: %s is no number; give its values: %s=a,b", d->key, d->given, d->key, d->key);
    for (int i = 0; i < d->values.n; i++)
        if (!fits_setting(s, d->values.at[i])) refuse_value(d, s, d->values.at[i]);
    d->whole = s->kind != SETTING_REAL;
    d->kind = s->hold == SETTING_RUN ? KEY_OF_RUN : KEY_BUILT;
    for (int i = 0; d->ranged && !d->whole && i < 2; i++)
        if (!setting_holds(s, i ? d->high : d->low)) refuse_value(d, s, format("%g", i ? d->high : d->low));
}

/* ------------------------------------------------------------------ */

static void check_whole(const Dimension *d)
{
    if (!d->ranged || !d->whole) return;
    for (int i = 0; i < 2; i++) {
        double v = i ? d->high : d->low;
        if (v != floor(v) || fabs(v) > 0x1p53)
            usage_error("--over %s=%s: %s is a whole number, found %g", d->key, d->given, d->key, v);
    }
}

/* The front says that there is no such key, and which it may have been. */
static _Noreturn void refuse_key(const Dimension *d, const Options *o)
{
    Options with = *o;
    with.sets = (Texts){0};
    push(&with.sets, format("%s=%s", d->key, d->ranged ? format("%g", d->low) : d->values.at[0]));
    front_recipe(&with);
    die("%s is a key after all", d->key);
}

void settle_key(Dimension *d, const Options *o, const Desc *described)
{
    const Knob *k = find_knob_of(described, d->key);
    const Setting *s = find_setting(d->key);
    if (k) settle_knob(d, described, k);
    else if (s && is_settable(s)) settle_setting(d, described, s);
    else refuse_key(d, o);
    check_whole(d);
}
