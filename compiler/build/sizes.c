/* sizes.c: finds the sizes of a model with data.table, data.images, data.audio or data.series.  `lathe train MODEL.lua
 * --data FILE…` starts `lathe-data sizes`, which reads the files, and then builds as if the user had given these sizes
 * with
 * --set. */
#include "emit/emit.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The words after --data that go to the trainer. */
static Texts data_words(const Texts *line)
{
    Texts all = {0};
    bool data = false;
    for (int i = 0; i < line->n; i++) {
        const char *word = line->at[i];
        if (starts_with(word, "--")) data = same(word, "--data") || starts_with(word, "--data=");
        if (starts_with(word, "--data=")) push(&all, word + strlen("--data="));
        else if (data && !starts_with(word, "--")) push(&all, word);
    }
    return all;
}

/* The value of an option of the trainer: "--out RUN", "--out=RUN"; NULL: it is not there. */
static const char *word_after(const Texts *line, const char *option)
{
    size_t n = strlen(option);
    for (int i = 0; i < line->n; i++) {
        const char *word = line->at[i];
        if (starts_with(word, option) && word[n] == '=') return word + n + 1;
        if (same(word, option)) return i + 1 < line->n ? line->at[i + 1] : "";
    }
    return NULL;
}

/* What the run says of its data whose weights the trainer starts from, which it keeps; NULL: there is none. */
static const char *saved_sizes(const Texts *line, const char *file, bool names)
{
    const char *init = word_after(line, "--init"), *resume = word_after(line, "--resume"), *run = init;
    if (!run && resume) run = *resume && !starts_with(resume, "--") ? resume : word_after(line, "--out");
    if (word_after(line, "--init-except") && same(file, "classes.json")) return NULL; /* those of the data */
    const char *path = run ? format("%s/%s", run, file) : NULL;
    if (path && access(path, R_OK) == 0) return path;
    path = run && names ? format("%s/config.json", run) : NULL; /* of Hugging Face's */
    return path && access(path, R_OK) == 0 ? path : NULL;
}

static bool was_set(const Options *o, const char *name)
{
    for (int i = 0; i < o->sets.n; i++)
        if (starts_with(o->sets.at[i], name) && o->sets.at[i][strlen(name)] == '=') return true;
    return false;
}

/* The trainer's setting as --set gives it; or as the description does. */
static const char *setting_of(const Options *o, const char *name, const char *described)
{
    size_t n = strlen(name);
    for (int i = 0; i < o->sets.n; i++)
        if (starts_with(o->sets.at[i], name) && o->sets.at[i][n] == '=') described = o->sets.at[i] + n + 1;
    return described;
}

static const char *file_of_sizes(const Lathe_recipe *r)
{
    return r->images || r->audio || r->sentences ? "classes.json" : "table.json";
}

static const char *with_option(const char *command, const char *option, const char *value)
{
    return value && *value ? format("%s %s %s", command, option, shell_quoted(value)) : command;
}

/* A description of pictures, recordings or series may call a size something else, or say it. */
static bool has_size(const Desc *d, const char *name)
{
    for (int i = 0; i < d->knobs.n; i++)
        if (same(d->knobs.at[i].name, name)) return true;
    return d->recipe.table;
}

/* Options of lathe-data sizes for the columns of series. */
static const char *series_options(const char *s, const Options *o, const Lathe_recipe *r)
{
    s = with_option(s, "--series", setting_of(o, "series_column", r->series_column));
    s = with_option(s, "--time", setting_of(o, "time_column", r->time_column));
    s = with_option(s, "--past", setting_of(o, "past_columns", r->past_columns));
    return with_option(s, "--known", setting_of(o, "known_columns", r->known_columns));
}

static const char *reading_command(const Options *o, const Desc *d, const Texts *files, const char *saved)
{
    const Lathe_recipe *r = &d->recipe;
    const char *drop = setting_of(o, "drop", r->drop), *weight = setting_of(o, "row_weight", r->row_weight);
    const char *categories = setting_of(o, "as_categories", r->as_categories);
    const char *group = setting_of(o, "group", r->group);
    const char *target = setting_of(o, "csv_target", r->csv_target);
    static const char *const tasks[] = {
        [LATHE_TASK_FOUND] = "auto", [LATHE_CLASSES] = "class", [LATHE_REAL_TARGET] = "real"};
    const char *s = format("%s sizes%s", shell_quoted(program_beside("lathe-data")),
                           r->images      ? " --pictures"
                           : r->texts     ? " --texts"
                           : r->audio     ? " --recordings"
                           : r->sentences ? " --sentences"
                           : r->series    ? " --windows"
                                          : "");
    if (saved) s = format("%s --like %s", s, shell_quoted(saved));
    if (saved && !r->sentences) return s; /* a config.json may say nothing */
    if (r->series) s = series_options(s, o, r);
    s = with_option(s, "--target", r->images || r->audio ? NULL : target);
    if (r->table) s = with_option(s, "--task", setting_of(o, "task", tasks[r->task]));
    s = with_option(s, "--drop", drop);
    s = with_option(s, "--weight", weight);
    s = with_option(s, "--group", r->series ? NULL : group);
    s = with_option(s, "--categories", categories);
    for (int i = 0; i < files->n; i++) s = format("%s %s", s, shell_quoted(files->at[i]));
    return s;
}

bool names_data(const Texts *line)
{
    return data_words(line).n > 0 || word_after(line, "--init") || word_after(line, "--resume");
}

static bool wants_sizes(const Desc *d)
{
    const Lathe_recipe *r = &d->recipe;
    if (r->sentences) return has_size(d, "classes") && r->labelled;
    if (r->series) return has_size(d, "channels") || has_size(d, "targets") || has_size(d, "known");
    if (r->texts) return has_size(d, "vocab");
    return (r->table || r->images || r->audio) && has_size(d, "classes");
}

/* The sizes of tables, texts and series are told by lathe-data. */
static void tell_other_classes(const Desc *d, long long found, bool saved)
{
    for (int i = 0; i < d->knobs.n && !d->recipe.table; i++) {
        const Knob *k = &d->knobs.at[i];
        if (same(k->name, "classes") && !same(k->value, format("%lld", found)))
            say_to(stderr, "note: %s %lld classes, and the description says %s; --set classes=%s keeps that\n",
                   saved ? "the run has" : "the data has", found, k->value, k->value);
    }
}

void take_sizes_from_data(Options *o, const Desc *d, const Texts *line)
{
    const Lathe_recipe *r = &d->recipe;
    Texts files = data_words(line);
    const char *saved = saved_sizes(line, file_of_sizes(r), r->sentences);
    if ((!files.n && !saved) || !wants_sizes(d)) return;
    char name[32];
    long long value;
    fflush(NULL);
    FILE *f = popen(reading_command(o, d, &files, saved), "r");
    while (f && fscanf(f, "%31s %lld\n", name, &value) == 2)
        if (!was_set(o, name) && has_size(d, name)) {
            if (same(name, "classes")) tell_other_classes(d, value, saved != NULL);
            push(&o->sets, format("%s=%lld", name, value));
        }
    int status = f ? pclose(f) : -1;
    if (status != 0) exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1); /* lathe-data has printed the reason */
}
