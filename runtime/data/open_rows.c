/* open_rows.c: opens data of rows, of each kind: a CSV of numbers, a table of mixed columns, arrays, pictures,
 * time series. */
#include "base/file.h"
#include "base/words.h"
#include "data/data.h"
#include "data/pictures.h"
#include "data/recordings.h"
#include "data/reading.h"
#include "interface/lathe_model.h"
#include "model/gguf.h"
#include "model/tables.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

static int64_t features_wanted(const Lathe_entry *e, int64_t rows)
{
    int64_t n = 0;
    for (int i = 0; i < e->inputs; i++)
        if (e->input[i].role == LATHE_FEATURES && e->input[i].dtype != LATHE_I32) n += tensor_size(&e->input[i]) / rows;
    return n;
}

/* Once row, train and val are known. */
static void settle_parts(Data *d, bool training)
{
    d->seq = 1;
    d->train_items = d->train;
    d->val_items = d->val;
    if (training && d->train < 1)
        fail(EXIT_DATA, d->reading->paths.at[0], "expected %s to train on, found none; give more data%s",
             d->series ? "windows" : "rows", d->series ? ", or less of it to evaluate (--val-fraction)" : "");
    d->order = must_alloc(sizeof *d->order * (size_t)d->train);
    if (training) tell_equal_rows(d, d);
}

static void settle_rows(Data *d, int64_t rows, bool training)
{
    divide_rows(d, rows);
    settle_parts(d, training);
}

static void open_csv_data(Data *d, const Lathe_entry *e, bool training)
{
    const Reading *reading = d->reading;
    if (!reading->recipe->csv_target)
        fail(EXIT_USAGE, NULL,
             "%s reads a CSV, but its description does not say which column is the class: add --set csv_target=COLUMN",
             reading->model->name);
    d->csv = open_csv(&reading->paths, &(Csv_form){.target = reading->recipe->csv_target,
                                                   .weight = reading->recipe->row_weight,
                                                   .group = reading->recipe->group,
                                                   .features = features_wanted(e, e->rows),
                                                   .classes = class_count(reading->model),
                                                   .ignored = reading->model->recipe.ignored,
                                                   .single = reading->model->real != LATHE_F64,
                                                   .optional = reading->predicting});
    int64_t wanted = features_wanted(e, e->rows);
    if (csv_features(d->csv) != wanted)
        fail(EXIT_DATA, reading->paths.at[0],
             "expected %lld columns besides \"%s\", found %d; rebuild for that number, or leave columns out",
             (long long)wanted, reading->recipe->csv_target, csv_features(d->csv));
    settle_rows(d, csv_rows(d->csv), training);
}

/* Rows of the inputs that the description declares. */
static void open_row_data(Data *d, const Lathe_entry *e, bool training)
{
    const Reading *reading = d->reading;
    const Lathe_entry *eval = training ? find_entry(reading->model, ENTRY_eval) : NULL;
    d->rows = rows_of_arrays(reading, (const Lathe_entry *const[]){e, eval, NULL});
    d->row_pictures = open_row_pictures(reading, e);
    settle_rows(d, rows_in_data(d->rows), training);
}

/* The columns as they were when the weights were trained, so that ids and scales keep their meaning; NULL: none. */
static Schema *saved_schema(const Reading *reading)
{
    char *folder = reading->weights ? folder_of(reading->weights) : NULL;
    char *path = folder ? text_of("%s/table.json", folder) : NULL;
    if (reading->weights && access(reading->weights, F_OK) != 0)
        fail(EXIT_DATA, reading->weights, "expected a run's folder or a safetensors file, but it cannot be read: %s",
             error_text(errno));
    Schema *s = path && access(path, F_OK) == 0 ? read_schema(path) : NULL;
    if (!s && !reading->training)
        fail(EXIT_DATA, reading->weights,
             "expected table.json beside the weights, which says what the columns were in training, found none; take "
             "weights from a run's folder");
    free(folder);
    free(path);
    return s;
}

static Schema *new_schema_of(const Reading *reading)
{
    const Lathe_recipe *r = reading->recipe;
    const Table_form form = {r->csv_target, r->task, r->drop, r->as_categories, r->row_weight, r->group};
    Schema *s = find_schema(&reading->paths, &form);
    tell_left_out(s);
    return s;
}

static void open_table(Data *d, const Lathe_entry *e, bool training)
{
    const Reading *reading = d->reading;
    Schema *known = reading->schema ? reading->schema : saved_schema(reading);
    d->table = load_table(&reading->paths, known ? known : new_schema_of(reading),
                          &(Table_reading){reading->predicting, d->rule, reading->recipe->row_weight});
    settle_rows(d, table_rows(d->table), training);
    if (!known) learn_columns(d->table, d->row, d->train);
    check_sizes(d->table, e, reading->paths.at[0]);
}

static const Words *classes_of_gguf(const Reading *reading)
{
    char *text = gguf_file(reading->weights, "config.json");
    json_t *config = json_loads(text, 0, NULL);
    free(text);
    return classes_named_by(reading->weights, config, !reading->training);
}

/* The classes as they were when the weights were trained. */
static const Words *saved_classes(const Reading *reading)
{
    char *folder = reading->weights ? folder_of(reading->weights) : NULL;
    char *path = folder ? text_of("%s/classes.json", folder) : NULL;
    bool gguf = reading->weights && is_gguf(reading->weights), there = path && !gguf && access(path, F_OK) == 0;
    const Words *known = there && !reading->own_classes ? read_classes(path) : NULL;
    if (!there && folder && reading->model->recipe.sentences && !reading->own_classes)
        known =
            gguf ? classes_of_gguf(reading) : classes_of_config(text_of("%s/config.json", folder), !reading->training);
    if (there && reading->own_classes)
        note("classes are numbered anew, by this data: --init-except must name the layer that scores them");
    if (!known && !reading->training)
        fail(EXIT_DATA, reading->weights,
             "expected classes.json beside the weights, with the names of the classes of training, found none; take "
             "weights from a run's folder");
    free(folder);
    free(path);
    return known;
}

static void open_picture_data(Data *d, const Lathe_entry *e, bool training)
{
    const Reading *reading = d->reading;
    d->files = open_pictures(reading, e, reading->classes ? reading->classes : saved_classes(reading));
    settle_rows(d, index_of_files(d->files)->n, training);
}

static void open_recording_data(Data *d, const Lathe_entry *e, bool training)
{
    const Reading *reading = d->reading;
    const Words *known = reading->classes ? reading->classes : saved_classes(reading);
    d->files = open_recordings(reading, e, known);
    settle_rows(d, index_of_files(d->files)->n, training);
    if (reading->model->recipe.texts && !reading->predicting) settle_texts(d->files, reading, known, d->row, d->train);
}

static void open_sentence_data(Data *d, bool training)
{
    const Reading *reading = d->reading;
    if (!d->tokenizer) d->tokenizer = choose_tokenizer(reading, reading->weights);
    bool classed = reading->model->recipe.labelled;
    const Words *known = reading->classes || !classed ? reading->classes : saved_classes(reading);
    d->sentences = open_sentences(reading, d->tokenizer, known);
    settle_rows(d, sentence_rows(d->sentences), training);
}

static void open_series_data(Data *d, bool training)
{
    const Reading *reading = d->reading;
    Schema *known = reading->schema ? reading->schema : saved_schema(reading);
    d->series = open_series(reading, known);
    d->val = divide_series(d->series, &d->rule, &d->row, &d->train) - d->train;
    if (!known) learn_series(d->series, &d->rule, d->row, d->train);
    fill_missing(d->series);
    settle_parts(d, training);
}

void open_data_of_rows(Data *d, const Lathe_entry *e, bool training)
{
    const Lathe_recipe *r = &d->reading->model->recipe;
    if (r->table) open_table(d, e, training);
    else if (r->images) open_picture_data(d, e, training);
    else if (r->audio) open_recording_data(d, e, training);
    else if (r->series) open_series_data(d, training);
    else if (r->sentences) open_sentence_data(d, training);
    else if (r->arrays) open_row_data(d, e, training);
    else open_csv_data(d, e, training);
}

const char *rows_words(const Reading *reading)
{
    const Lathe_recipe *r = &reading->model->recipe;
    const char *targets = reading->predicting ? ", without targets if there are none" : "";
    if (r->table) return text_of("a table%s: .csv, .tsv or .jsonl", targets);
    if (r->images && reading->predicting)
        return "pictures: .jpg or .png files, folders, .tar archives, a .csv of paths";
    if (r->images) return "pictures: a folder with a folder for each class, .tar archives, a .csv of paths and labels";
    if (r->audio && reading->predicting)
        return "recordings: .wav, .flac, .ogg, .opus or .mp3 files, folders, .tar archives, a .csv of paths";
    if (r->audio) return "recordings: a .csv of paths and texts, a folder with a folder for each class, .tar archives";
    if (r->series) return "time series: .csv, .tsv, .jsonl or .npy";
    if (r->sentences) return text_of("texts%s: .csv, .tsv or .jsonl", targets);
    if (r->arrays) return text_of("arrays%s: .npz, .h5, .safetensors, a folder of NAME.npy, INPUT=FILE.npy", targets);
    return text_of("a table of numbers%s: a .csv, or FEATURES.npy%s", targets,
                   reading->predicting ? "" : " CLASSES.npy");
}
