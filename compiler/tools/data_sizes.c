/* data_sizes.c: `lathe-data sizes`: what lathe must know of a table, of pictures, recordings or series, before it
 * builds a model for them. */
#include "data/recordings.h"
#include "data/schema.h"
#include "data/sentences.h"
#include "data/series.h"
#include "tools/data_command.h"

#include <string.h>

static Lathe_task task_of(const char *word)
{
    static const char *const words[] = {"auto", "class", "real"};
    return (Lathe_task)choice_of("--task", word, words, 3);
}

static int show_classes(const Words *files, const char *like)
{
    const Words *classes =
        like ? read_classes(like) : &find_data_files(&picture_files, files, CLASS_LABELS, NULL, NULL)->classes;
    show(stdout, "classes %d\n", classes->n);
    return 0;
}

static int show_recordings(const Words *files, const char *like, bool texts)
{
    if (!texts || like) {
        const Words *all =
            like ? read_classes(like) : &find_data_files(&recording_files, files, CLASS_LABELS, NULL, NULL)->classes;
        show(stdout, "%s %d\n", texts ? "vocab" : "classes", all->n);
        return 0;
    }
    Words letters = letters_of_texts(find_data_files(&recording_files, files, TEXT_LABELS, NULL, NULL));
    note("texts: %d different characters", letters.n - 1);
    show(stdout, "vocab %d\n", letters.n);
    return 0;
}

/* like: the classes.json of a run, or a config.json of Hugging Face's, which need not name any. */
static int show_labels(const Words *files, const char *like, const char *column)
{
    Words *classes = !like ? NULL : has_end(like, "config.json") ? classes_of_config(like, false) : read_classes(like);
    if (!classes && files->n) {
        classes = must_alloc(sizeof *classes);
        *classes = classes_of_column(files, column);
    }
    if (classes && classes->n) show(stdout, "classes %d\n", classes->n);
    return 0;
}

static int show_channels(const Words *files, const char *like, const Series_form *form)
{
    const Schema *s = like ? read_schema(like) : find_series_schema(files, form);
    int past = columns_of_kind(s, COLUMN_NUMBER), known = columns_of_kind(s, COLUMN_KNOWN);
    if (!like)
        note("series: %d column%s to forecast, from \"%.60s\" on; %d more known of the past, %d known ahead",
             s->targets, s->targets == 1 ? "" : "s", s->column[s->target].name, past, known);
    show(stdout, "channels %d\ntargets %d\nknown %d\n", s->targets + past, s->targets, known);
    return 0;
}

int sizes_command(int argc, char **argv)
{
    Table_form form = {0};
    Series_form series = {0};
    const char *task = NULL, *like = NULL;
    bool pictures = false, recordings = false, texts = false, windows = false, sentences = false;
    Words files = {0};
    const Flag flags[] = {
        {"--target", FLAG_TEXT, &form.target, "NAME", "column to predict"},
        {"--task", FLAG_TEXT, &task, "NAME", "of the target: auto, class, real"},
        {"--like", FLAG_TEXT, &like, "FILE", "the table.json or classes.json of a run, instead of files"},
        {"--pictures", FLAG_ON, &pictures, "", "the files are pictures, in folders, archives or lists"},
        {"--recordings", FLAG_ON, &recordings, "", "the files are recordings, with classes"},
        {"--texts", FLAG_ON, &texts, "", "the files are recordings, with texts"},
        {"--sentences", FLAG_ON, &sentences, "", "the files are texts with classes, which --target says"},
        {"--windows", FLAG_ON, &windows, "", "the files are time series"},
        {"--series", FLAG_TEXT, &series.series, "NAME", "of series: column that says which one a row belongs to"},
        {"--time", FLAG_TEXT, &series.time, "NAME", "of series: column with the time of a row"},
        {"--past", FLAG_TEXT, &series.past, "NAME,…", "of series: columns known of the past alone"},
        {"--known", FLAG_TEXT, &series.known, "NAME,…", "of series: columns known ahead"},
        {"--drop", FLAG_TEXT, &form.drop, "NAME,…", "columns to leave out"},
        {"--weight", FLAG_TEXT, &form.weight, "NAME", "column with the weights of rows"},
        {"--group", FLAG_TEXT, &form.group, "NAME", "column that rows are split by"},
        {"--categories", FLAG_TEXT, &form.as_categories, "NAME,…", "columns of numbers or dates that are categories"},
    };
    const Command_line line = {"sizes", "--target NAME FILE…",
                               "Prints the sizes of a table, of pictures, recordings or series, for `lathe train`.",
                               flags, sizeof flags / sizeof *flags};
    take_command_line(&line, argc, argv, 1, &files);
    if (pictures) return show_classes(&files, like);
    if (recordings || texts) return show_recordings(&files, like, texts);
    if (sentences) return show_labels(&files, like, form.target ? form.target : "label");
    if (windows) {
        if (!like) need_inputs(&line, &files);
        series.target = form.target, series.drop = form.drop;
        return show_channels(&files, like, &series);
    }
    if (!like) {
        need_flag(&line, "--target", form.target);
        need_inputs(&line, &files);
    }
    form.task = task_of(task);
    const Schema *s = like ? read_schema(like) : find_schema(&files, &form);
    if (!like) note("table: %s", schema_text(s));
    if (!like && !s->numbers && !s->categories)
        fail(EXIT_DATA, files.at[0], "expected columns besides the target \"%s\", found none that can be used",
             form.target);
    show(stdout, "numbers %d\ncategories %d\nlevels %lld\nclasses %d\n", s->numbers, s->categories,
         (long long)s->levels, s->classes ? s->column[s->target].levels : 0);
    if (s->targets > 1) show(stdout, "targets %d\n", s->targets);
    return 0;
}
