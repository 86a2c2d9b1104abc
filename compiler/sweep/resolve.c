/* resolve.c: the build that a trial needs, and what its runs are told beside it.
 *
 * What the model is made of is compiled in, so trials that differ in that have builds of their own.  A key that only
 * the recipe depends on needs none: the description is read with the trial's values, and settings of the recipe that
 * come out otherwise are told to the run with --set.  Where more comes out otherwise (groups of parameters, what the
 * plan counts), the key belongs to the build after all.  The description is read in a process of its own, since its
 * mistakes end that. */
#include "desc/settings.h"
#include "lathe.h"
#include "sweep/sweep.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ------------------------------------------------------------------ what comes out */

/* built: of each --over whether the build has it. */
static Desc *recipe_with(const Sweep *s, const Sweep_trial *t, const bool *built)
{
    Options *o = copy_of(s->options, sizeof *o);
    o->sets = (Texts){0};
    for (int i = 0; i < s->options->sets.n; i++) push(&o->sets, s->options->sets.at[i]);
    for (int i = 0; i < s->over.n; i++)
        if (built[i]) push(&o->sets, format("%s=%s", s->over.at[i].key, t->value[i]));
    return front_recipe(o);
}

static bool same_groups(const Desc *a, const Desc *b)
{
    bool equal = a->groups.n == b->groups.n;
    for (int i = 0; equal && i < a->groups.n; i++) {
        const Lathe_group *x = &a->groups.at[i], *y = &b->groups.at[i];
        equal = same(x->match, y->match) && x->lr_scale == y->lr_scale && x->decay == y->decay &&
                x->decays == y->decays && x->frozen == y->frozen;
    }
    return equal;
}

/* As --set takes it; NULL: it takes none. */
static const char *said_value(const Setting *s, const Lathe_recipe *r)
{
    if (s->kind == SETTING_REAL) return format("%.17g", setting_number(s, r));
    if (setting_is_number(s)) return format("%.0f", setting_number(s, r));
    if (s->kind == SETTING_WORD) return s->words[setting_choice(s, r)];
    return s->kind == SETTING_BOOL ? NULL : setting_text(s, r);
}

static bool same_setting(const Setting *s, const Lathe_recipe *a, const Lathe_recipe *b)
{
    if (s->kind != SETTING_BOOL) return same(said_value(s, a), said_value(s, b));
    return *((const bool *)((const char *)a + s->field)) == *((const bool *)((const char *)b + s->field));
}

/* " --set lr=0.001": what the recipe b needs beside a; NULL: --set cannot say it. */
static const char *told(const Desc *a, const Desc *b)
{
    Text t = {0};
    const Setting *s;
    say(&t, "%s", "");
    if (!same_groups(a, b) || lathe_moments(&a->recipe) != lathe_moments(&b->recipe)) return NULL;
    if (a->recipe.bits != b->recipe.bits) return NULL;
    if ((a->recipe.layer_decay > 0) != (b->recipe.layer_decay > 0)) return NULL;
    if (has_directions(a) || has_directions(b) || lathe_averages(&a->recipe) != lathe_averages(&b->recipe)) return NULL;
    for (int k = 0; (s = setting_at(k)); k++) {
        const char *value = said_value(s, &b->recipe);
        if (same_setting(s, &a->recipe, &b->recipe)) continue;
        if (s->hold != SETTING_RUN || !value) return NULL;
        say(&t, " --set %s", shell_quoted(format("%s=%s", s->name, value)));
    }
    return t.at;
}

/* What a run is told whose build has these; the others that can be told are taken out of them. */
static const char *least_built(const Sweep *s, const Sweep_trial *t, bool *built)
{
    const Desc *all = recipe_with(s, t, built);
    const char *text = "";
    for (int i = 0; i < s->over.n; i++) {
        if (s->over.at[i].kind != KEY_DESCRIBED) continue;
        built[i] = false;
        const char *less = told(recipe_with(s, t, built), all);
        built[i] = !less;
        if (less) text = less;
    }
    return text;
}

/* Writes 1 or 0 for each --over, whether it is built in, and what is told. */
static _Noreturn void tell_differences(const Sweep *s, const Sweep_trial *t, int to, const char *log)
{
    Text text = {0};
    bool *built = NEW_ARRAY(bool, s->over.n);
    for (int i = 0; i < s->over.n; i++) built[i] = s->over.at[i].kind != KEY_OF_RUN;
    if (!freopen(log, "a", stderr) || !freopen("/dev/null", "w", stdout)) _exit(1);
    const char *sets = least_built(s, t, built);
    for (int i = 0; i < s->over.n; i++) say(&text, "%d", built[i]);
    say(&text, "%s", sets);
    _exit(write(to, text.at, text.n) == (ssize_t)text.n ? 0 : 1);
}

/* What the process wrote; NULL: it failed. */
static const char *heard(int from, pid_t child)
{
    char part[4096];
    Text t = {0};
    int status = 0;
    for (ssize_t n; (n = read(from, part, sizeof part)) > 0;) say_bytes(&t, part, (size_t)n);
    close(from);
    return waitpid(child, &status, 0) == child && status == 0 ? t.at : NULL;
}

/* Asks a process what is built and what is told; its mistake is the trial's. */
static void ask_description(const Sweep *s, Sweep_trial *t, int trial, bool *built)
{
    int ends[2];
    const char *log = format("%s.log", trial_folder(s, trial, 0));
    fflush(NULL);
    pid_t child = pipe(ends) == 0 ? fork() : -1;
    if (child < 0) err((Where){0}, "cannot start a process");
    if (child == 0) tell_differences(s, t, ends[1], log);
    close(ends[1]);
    const char *text = heard(ends[0], child);
    if (!text) t->fault = first_error(log, 0);
    if (!text && !t->fault) t->fault = "the description could not be read";
    if (!text) return;
    for (int i = 0; i < s->over.n; i++) built[i] = text[i] == '1';
    t->run_sets = format("%s%s", t->run_sets, text + s->over.n);
}

/* ------------------------------------------------------------------ the build */

static const char *set_words(const Sweep *s, const Sweep_trial *t, int i)
{
    return format(" --set %s", shell_quoted(format("%s=%s", s->over.at[i].key, t->value[i])));
}

static Sweep_build *build_with(Sweep *s, const char *sets)
{
    for (int i = 0; i < s->builds.n; i++)
        if (same(s->builds.at[i]->sets, sets)) return s->builds.at[i];
    Sweep_build *b = NEW(Sweep_build);
    uint64_t hash = hash_bytes(sets, strlen(sets), 1);
    *b = (Sweep_build){.sets = sets, .folder = format("%s/builds/%016llx", s->folder, (unsigned long long)hash)};
    push(&s->builds, b);
    return b;
}

void resolve(Sweep *s, int trial)
{
    Sweep_trial *t = &s->trial[trial];
    bool some = false, *built = NEW_ARRAY(bool, s->over.n);
    const char *sets = "";
    t->run_sets = "";
    for (int i = 0; i < s->over.n; i++) {
        Key_kind kind = s->over.at[i].kind;
        built[i] = kind == KEY_BUILT;
        some |= kind == KEY_DESCRIBED;
        if (kind == KEY_OF_RUN) t->run_sets = format("%s%s", t->run_sets, set_words(s, t, i));
    }
    if (some) ask_description(s, t, trial, built);
    for (int i = 0; i < s->over.n; i++)
        if (built[i]) sets = format("%s%s", sets, set_words(s, t, i));
    if (!t->fault) t->build = build_with(s, sets);
}
