/* predict.c: `trainer predict`: what the model says of each row of new data, as a table, JSON lines or arrays.
 *
 * The entry `predict` has a row for each row of its batch and needs no targets.  The last batch is filled up with
 * copies of its first row, which are not written. */
#include "base/file.h"
#include "base/json_text.h"
#include "base/words.h"
#include "data/array.h"
#include "data/data.h"
#include "data/rows.h"
#include "interface/lathe_model.h"
#include "model/block.h"
#include "model/safetensors.h"
#include "model/tables.h"
#include "step/entry.h"
#include "step/statistics.h"
#include "trainer/batches.h"
#include "trainer/checkpoint.h"
#include "trainer/data.h"
#include "trainer/memory.h"
#include "trainer/predict.h"
#include "trainer/spelled.h"
#include "trainer/state.h"
#include "trainer/trainer.h"
#include "trainer/trial.h"

#include <errno.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ------------------------------------------------------------------ the rows, batch after batch */

int64_t predicted_item(const Predictions *p, int64_t number)
{
    int64_t all = p->data->val_items;
    return val_item(p->data, p->rows < all ? number * all / p->rows : number);
}

const char *predicted_fault(const Predictions *p, int64_t number)
{
    return p->data->files ? fault_of_file(p->data->files, predicted_item(p, number)) : NULL;
}

/* The outputs of a row that cannot be read.  All bits set are NaN in each format of reals, and -1. */
static void blank_row(const Predictions *p, int64_t row)
{
    for (int i = 0; i < p->entry->outputs; i++) {
        const Lathe_tensor *t = &p->entry->output[i];
        int64_t bytes = predicted_width(p, t) * dtype_size(t->dtype);
        memset((char *)p->call.out + t->offset + row * bytes, t->dtype == LATHE_BOOL ? 0 : 0xff, (size_t)bytes);
    }
}

typedef struct Pass { /* over all rows */
    const Predictions *p;
    Give_row *give;
    void *with;
    int64_t *item; /* [rows] of the batch */
} Pass;

static int64_t real_rows(const Predictions *p, int64_t first)
{
    return p->rows - first < p->entry->rows ? p->rows - first : p->entry->rows;
}

static void predict_batch(void *with, int64_t k)
{
    const Pass *s = with;
    const Predictions *p = s->p;
    const int64_t rows = p->entry->rows, first = k * rows, real = real_rows(p, first);
    for (int64_t r = 0; r < rows; r++) s->item[r] = predicted_item(p, first + (r < real ? r : 0));
    fill_items(p->data, p->entry, p->memory->call, s->item);
    run_entry(p->entry, &p->call);
    for (int64_t r = 0; r < real; r++)
        if (predicted_fault(p, first + r)) blank_row(p, r);
}

static void give_batch(void *with, int64_t k)
{
    const Pass *s = with;
    const int64_t first = k * s->p->entry->rows, real = real_rows(s->p, first);
    for (int64_t r = 0; r < real; r++) s->give(s->with, s->p->call.out, r, first + r);
}

void each_prediction(const Predictions *p, Give_row *give, void *with)
{
    const Lathe_entry *e = p->entry;
    Pass s = {p, give, with, must_alloc(sizeof *s.item * (size_t)e->rows)};
    Result *result = must_alloc(sizeof *result * (size_t)(p->outputs + 1));
    for (int i = 0; i < p->outputs; i++)
        result[i] = (Result){(char *)p->call.out + p->output[i]->offset,
                             tensor_size(p->output[i]) * dtype_size(p->output[i]->dtype)};
    set_scalars(e, p->memory->call, 0, 0, 0);
    run_batches(&(Batches){.share = SHARE_METRICS,
                           .number = p->rows,
                           .n = (p->rows + e->rows - 1) / e->rows,
                           .items = p->data->val_items,
                           .result = result,
                           .results = p->outputs,
                           .run = predict_batch,
                           .take = give_batch,
                           .with = &s},
                p->training);
    free(s.item);
    free(result);
}

/* ------------------------------------------------------------------ a row of an output */

int64_t predicted_width(const Predictions *p, const Lathe_tensor *t) { return tensor_size(t) / p->entry->rows; }

bool are_forecasts(const Predictions *p, const Lathe_tensor *t)
{
    const Series *s = p->data->series;
    return s && strcmp(t->name, "prediction") == 0 && predicted_width(p, t) == s->ahead * s->targets;
}

const Column *scaled_target(const Predictions *p, const Lathe_tensor *t, int64_t k)
{
    const Schema *s = columns_of(p->data);
    if (!s || s->classes || strcmp(t->name, "prediction") != 0) return NULL;
    if (p->data->series) return are_forecasts(p, t) ? target_column(s, (int)(k % s->targets)) : NULL;
    if (s->targets > 1 && predicted_width(p, t) != s->targets) return NULL;
    return target_column(s, s->targets > 1 ? (int)k : 0);
}

int64_t predicted_numbers(const Predictions *p, const Lathe_tensor *t, const char *out, int64_t row, double *x)
{
    int64_t n = predicted_width(p, t);
    for (int64_t k = 0; k < n; k++) {
        const Column *target = scaled_target(p, t, k);
        x[k] = read_element(t->dtype, out + t->offset, row * n + k);
        if (target) x[k] = x[k] * *target->deviation + *target->mean;
    }
    return n;
}

const char *predicted_class(const Predictions *p, int64_t class)
{
    const Schema *s = columns_of(p->data);
    const Words *names = classes_of(p->data);
    if (names) return class >= 0 && class < names->n ? names->at[class] : NULL;
    return s && s->classes && class >= 0 && class < s->column[s->target].levels ? s->column[s->target].level[class]
                                                                                : NULL;
}

const char *predicted_name(const Predictions *p, int64_t number)
{
    return p->data->files ? name_of_file(index_of_files(p->data->files), predicted_item(p, number)) : NULL;
}

/* ------------------------------------------------------------------ which outputs, which file */

static char *output_words(const Lathe_entry *e)
{
    char *s = text_of("%s", "");
    for (int i = 0; i < e->outputs; i++) s = text_of("%s%s%s", s, i ? ", " : "", e->output[i].name);
    return s;
}

static bool is_answer(const Lathe_tensor *t)
{
    return strcmp(t->name, "logits") == 0 || strcmp(t->name, "prediction") == 0;
}

/* Lengths of texts are read for the texts. */
static bool goes_without_saying(const Predictions *p, const Trainer *t, const Lathe_tensor *o, bool texts)
{
    const Lathe_tensor *logits = output_named(p->entry, "logits");
    return texts && o == length_of_spellings(p->entry) && logits && are_spellings(t->model, logits);
}

static bool has_answer(const Lathe_entry *e) { return output_named(e, "logits") || output_named(e, "prediction"); }

/* Beside an answer, a table has no hidden layers, which are long. */
static bool is_beside(const Predictions *p, const Lathe_tensor *o, bool texts)
{
    return texts && has_answer(p->entry) && !is_answer(o) && predicted_width(p, o) > 1;
}

static void tell_beside(const Predictions *p, bool texts)
{
    char *all = NULL;
    for (int i = 0; i < p->entry->outputs; i++) {
        const Lathe_tensor *o = &p->entry->output[i];
        if (is_beside(p, o, texts))
            all = text_of("%s%s%s (%lld numbers a row)", all ? all : "", all ? ", " : "", o->name,
                          (long long)predicted_width(p, o));
    }
    if (all) note("left out of the table: %s; --only NAME,… writes what it names", all);
}

/* Forecasts, and in a file of texts labels of words, are without what else a model gives. */
static const Lathe_tensor *lone_output(const Trainer *t, const Lathe_entry *e, bool texts)
{
    const Lathe_entry *eval = find_entry(t->model, ENTRY_eval);
    bool words = false;
    for (int i = 0; t->model->recipe.sentences && eval && i < eval->inputs; i++)
        words |= strcmp(eval->input[i].name, "labels") == 0;
    if (t->model->recipe.series) return output_named(e, "prediction");
    return words && texts ? output_named(e, "logits") : NULL;
}

/* In the order of --only; without it all, the answer first.  texts: into a file of texts. */
static void choose_outputs(Predictions *p, const Trainer *t, bool texts)
{
    const Lathe_entry *e = p->entry;
    p->output = must_alloc(sizeof *p->output * (size_t)(e->outputs + 1));
    const Lathe_tensor *alone = t->only ? NULL : lone_output(t, e, texts);
    if (alone) p->output[p->outputs++] = alone;
    for (int answer = 1; answer >= 0 && !t->only && !alone; answer--)
        for (int i = 0; i < e->outputs; i++)
            if (is_answer(&e->output[i]) == answer && !goes_without_saying(p, t, &e->output[i], texts) &&
                !is_beside(p, &e->output[i], texts))
                p->output[p->outputs++] = &e->output[i];
    if (!t->only && !alone) tell_beside(p, texts);
    for (const char *at = t->only, *end; at; at = *end ? end + 1 : NULL) {
        end = at + strcspn(at, ",");
        char *word = text_of("%.*s", (int)(end - at), at);
        const Lathe_tensor *o = output_named(e, word);
        if (!o)
            fail(EXIT_USAGE, NULL, "--only: there is no output %s; expected some of %s, separated by commas%s", word,
                 output_words(e),
                 output_named(e, "logits") ? " (tables have the class and the probability of each for logits)" : "");
        for (int i = 0; i < p->outputs; i++)
            if (p->output[i] == o) fail(EXIT_USAGE, NULL, "--only %s names %s twice", t->only, word);
        p->output[p->outputs++] = o;
        free(word);
    }
    for (int i = 0; i < p->outputs; i++)
        if (p->output[i]->meets) note("output %s of a row depends on the other rows of its batch", p->output[i]->name);
}

/* Those that the outputs depend on; rows are counted by some input in any case. */
static uint64_t inputs_needed(const Predictions *p)
{
    uint64_t bits = 0, of_data = 0;
    for (int i = 0; i < p->outputs; i++) bits |= p->output[i]->reads;
    for (int i = 0; i < p->entry->inputs && i < 64; i++)
        if (comes_from_data(&p->entry->input[i])) of_data |= 1ull << i;
    return bits & of_data ? bits : ~0ull;
}

/* PATH, or the FILE of NAME=FILE */
static bool is_same_file(const char *out, const char *data)
{
    struct stat a, b;
    const char *equals = strchr(data, '=');
    if (stat(out, &a) != 0) return false;
    if (stat(data, &b) != 0 && (!equals || stat(equals + 1, &b) != 0)) return false;
    return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

static void check_out(const Trainer *t)
{
    for (int i = 0; i < t->data.n; i++)
        if (is_same_file(t->out, t->data.at[i]))
            fail(EXIT_USAGE, NULL, "--out %s would replace the data; give another file", t->out);
}

typedef struct Form {
    const char *end;
    void (*write)(const Predictions *, const char *path);
    bool texts; /* it can hold them */
} Form;

static const Form forms[] = {{".csv", write_csv, true},
                             {".jsonl", write_jsonl, true},
                             {".npy", write_npy, false},
                             {".safetensors", write_predicted_store, false}};
enum { FORMS = sizeof forms / sizeof *forms };

static const Form *form_of(const char *path)
{
    if (strcmp(path, "-") == 0) return &forms[0];
    for (int i = 0; i < FORMS; i++)
        if (has_end(path, forms[i].end)) return &forms[i];
    fail(EXIT_USAGE, NULL,
         "--out %s: expected a file whose name ends in .csv, .jsonl, .npy or .safetensors, or - for a "
         "CSV on standard output",
         path);
}

/* Opens the columns of --keep. */
static void open_kept_columns(Predictions *p, const Trainer *t, const Form *form)
{
    if (!t->keep) return;
    if (!form->texts)
        fail(EXIT_USAGE, NULL, "--keep needs a file that can hold texts, .csv or .jsonl, and %s is none", t->out);
    if (p->data->rows || are_arrays(&t->data))
        fail(EXIT_USAGE, NULL, "--keep copies columns of a CSV, and the data is arrays");
    if (p->data->series)
        fail(EXIT_USAGE, NULL, "--keep copies columns beside their rows; forecasts are of rows that are still to come");
    p->copied = open_copied(&t->data, t->keep);
    for (int k = 0; k < copied_columns(p->copied); k++)
        if (is_written(p, copied_name(p->copied, k)))
            fail(EXIT_USAGE, NULL,
                 "--keep %s: the predictions have a column of that name; rename it in the data, or leave it out",
                 copied_name(p->copied, k));
}

/* ------------------------------------------------------------------ trainer predict */

static void tell_written(const Trainer *t, const Predictions *p)
{
    int64_t empty = p->data->files ? faulty_files(p->data->files) : 0;
    if (empty)
        note("%s of %s rows have no prediction, because their %s could not be used", grouped_text(empty),
             grouped_text(p->rows), item_word(p->data));
    if (strcmp(t->out, "-") == 0) return;
    if (t->json)
        print_json(json_pack("{s:I, s:I, s:o}", "rows", (json_int_t)p->rows, "empty", (json_int_t)empty, "out",
                             word_json(t->out)));
    else show(stdout, "wrote %s %s to %s\n", grouped_text(p->rows), p->data->series ? "forecasts" : "rows", t->out);
}

int predict_command(Trainer *t)
{
    static const Entry entries[] = {ENTRY_predict, NO_ENTRY};
    Predictions p = {.entry = find_entry(t->model, ENTRY_predict)};
    Data d;
    Memory m;
    if (!p.entry)
        fail(EXIT_ERROR, NULL, "%s has nothing to predict: %s", t->model->name,
             lathe_reads_rows(&t->model->recipe)
                 ? "forward returns no output with a row for each row of the batch that needs no target, such as "
                   "{ logits = logits }"
                 : "its data is text (see `trainer generate`)");
    if (!t->out) t->out = "-";
    const Form *form = form_of(t->out);
    check_out(t);
    need_data(&(Reading){.model = t->model, .paths = t->data, .command = t->command, .predicting = true});
    if (!t->weights) t->weights = run_weights(default_folder(t), "name a run's folder or a file with --weights PATH");
    take_own_settings(t, t->weights, t->model->recipe.series ? NULL : "csv_target");
    if (!t->model->recipe.series) take_own_settings(t, t->weights, "group");
    t->recipe.val_fraction = 1;
    choose_outputs(&p, t, form->texts);
    Reading *r = reading_of(t, false);
    r->predicting = true;
    r->inputs = inputs_needed(&p);
    r->every_window = t->every_window;
    if (t->every_window && !t->model->recipe.series)
        fail(EXIT_USAGE, NULL, "--every-window is for series, and %s reads other data", t->model->name);
    r->weights = t->weights;
    open_data(&d, r, NULL);
    use_threads(t);
    take_memory(&m, t, false, false, entries);
    load_saved_weights(t, t->weights, &m);
    weights_up(t->model, &m);
    p.data = &d, p.memory = &m, p.call = call_of(&m, p.entry), p.rows = d.val_items;
    open_kept_columns(&p, t, form);
    if (d.files)
        advise(text_of("%s; to go on past up to N such %s, whose predictions stay empty: --set bad_records=N",
                       strcmp(t->out, "-") == 0 ? "the table ends here" : text_of("%s was not written", t->out),
                       item_word(&d)));
    form->write(&p, t->out);
    advise(NULL);
    tell_written(t, &p);
    return 0;
}
