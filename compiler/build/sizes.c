/* sizes.c: finds the sizes of a model with data.table or data.images.  `lathe train MODEL.lua --data FILE…` starts
 * `lathe-data sizes`, which reads the files, and then builds as if the user had given these sizes with --set. */
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
static const char *saved_sizes(const Texts *line, const char *file)
{
    const char *init = word_after(line, "--init"), *resume = word_after(line, "--resume"), *run = init;
    if (!run && resume) run = *resume && !starts_with(resume, "--") ? resume : word_after(line, "--out");
    if (word_after(line, "--init-except") && same(file, "classes.json")) return NULL; /* those of the data */
    const char *path = run ? format("%s/%s", run, file) : NULL;
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

static const char *file_of_sizes(const Lathe_recipe *r) { return r->images ? "classes.json" : "table.json"; }

static const char *reading_command(const Options *o, const Lathe_recipe *r, const Texts *files, const char *saved)
{
    const char *drop = setting_of(o, "drop", r->drop), *weight = setting_of(o, "row_weight", r->row_weight);
    const char *categories = setting_of(o, "as_categories", r->as_categories);
    const char *group = setting_of(o, "group", r->group);
    const char *target = setting_of(o, "csv_target", r->csv_target);
    static const char *const tasks[] = {
        [LATHE_TASK_FOUND] = "auto", [LATHE_CLASSES] = "class", [LATHE_REAL_TARGET] = "real"};
    const char *s = format("%s sizes%s", shell_quoted(program_beside("lathe-data")), r->images ? " --pictures" : "");
    if (saved) return format("%s --like %s", s, shell_quoted(saved));
    if (!r->images)
        s = format("%s --target %s --task %s", s, shell_quoted(target),
                   shell_quoted(setting_of(o, "task", tasks[r->task])));
    if (drop) s = format("%s --drop %s", s, shell_quoted(drop));
    if (weight) s = format("%s --weight %s", s, shell_quoted(weight));
    if (group) s = format("%s --group %s", s, shell_quoted(group));
    if (categories) s = format("%s --categories %s", s, shell_quoted(categories));
    for (int i = 0; i < files->n; i++) s = format("%s %s", s, shell_quoted(files->at[i]));
    return s;
}

bool names_data(const Texts *line)
{
    return data_words(line).n > 0 || word_after(line, "--init") || word_after(line, "--resume");
}

/* A description of pictures may call their classes something else, or say how many there are. */
static bool has_size(const Desc *d, const char *name)
{
    for (int i = 0; i < d->knobs.n; i++)
        if (same(d->knobs.at[i].name, name)) return true;
    return d->recipe.table;
}

void take_sizes_from_data(Options *o, const Desc *d, const Texts *line)
{
    const Lathe_recipe *r = &d->recipe;
    Texts files = data_words(line);
    const char *saved = saved_sizes(line, file_of_sizes(r));
    if ((!r->table && !r->images) || (!files.n && !saved) || !has_size(d, "classes")) return;
    char name[32];
    long long value;
    fflush(NULL);
    FILE *f = popen(reading_command(o, r, &files, saved), "r");
    while (f && fscanf(f, "%31s %lld\n", name, &value) == 2)
        if (!was_set(o, name)) push(&o->sets, format("%s=%lld", name, value));
    int status = f ? pclose(f) : -1;
    if (status != 0) exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1); /* lathe-data has printed the reason */
}
