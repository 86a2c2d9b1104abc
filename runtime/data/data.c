/* data.c: which items a step uses, and how they get into an entry's inputs.
 *
 * The choice of items is a function of (seed, step, number in the step) alone, so it depends neither on threads nor on
 * earlier reads.  Random words are from Philox, with a site that no random op has. */
#include "base/file.h"
#include "base/words.h"
#include "data/data.h"
#include "data/reading.h"
#include "interface/lathe_model.h"
#include "model/gguf.h"
#include "model/origin.h"
#include "model/tables.h"
#include "source/source.h"
#include "step/carry.h"
#include "token/tokenizer.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ------------------------------------------------------------------ opening */

/* Splits n tokens into two parts.  As in nanoGPT, the first part has floor(n (1 - fraction)). */
static void split(Data *d, int64_t n)
{
    d->train = (int64_t)((double)n * (1 - d->reading->recipe->val_fraction));
    d->val = n - d->train;
}

static void check_training_text(const Data *d)
{
    if (d->train > d->seq) return;
    int64_t all = d->train + d->val;
    fail(EXIT_DATA, d->reading->paths.at[0],
         "expected at least %lld tokens to train on (a sequence of %lld and the token after it), found %lld%s; give "
         "more text, or "
         "rebuild with a shorter --set seq=N",
         (long long)d->seq + 1, (long long)d->seq, (long long)d->train,
         d->val ? text_of(" (%lld in all, the last %lld are kept for validation: --val-fraction)", (long long)all,
                          (long long)d->val)
                : "");
}

static void check_val(const Data *d)
{
    if (d->val_items > 0) return;
    if (d->reading->predicting) fail(EXIT_DATA, d->reading->paths.at[0], "there are no rows to predict");
    if (d->epochs)
        fail(EXIT_DATA, d->reading->paths.at[0],
             "expected documents to evaluate, but none was drawn for it; give more, or --val-fraction 1 for all");
    if (d->series)
        fail(EXIT_DATA, d->reading->paths.at[0],
             "expected windows to evaluate, whose %lld rows to forecast lie in the last %g of a series%s, found none; "
             "give more, or --val-fraction 1 for all windows",
             (long long)d->series->ahead, d->reading->recipe->val_fraction,
             words_of_split(&d->rule) ? text_of(" (%s)", words_of_split(&d->rule)) : "");
    if (d->preferences)
        fail(EXIT_DATA, d->reading->paths.at[0],
             "expected pairs to evaluate, but no prompt was drawn for it; give more, or --val-fraction 1 for all");
    const char *least = d->text ? text_of("%lld tokens (a sequence of %lld and the token after it)",
                                          (long long)d->seq + 1, (long long)d->seq)
                                : "1 row";
    if (words_of_split(&d->rule))
        fail(EXIT_DATA, d->reading->paths.at[0],
             "expected rows to evaluate, found none (%s); give more, or --val-fraction 1 for all of them",
             words_of_split(&d->rule));
    fail(EXIT_DATA, d->reading->paths.at[0],
         "expected at least %s to evaluate, found %lld in the last %g of the data; give more, or "
         "--val-fraction 1 for all of it",
         least, (long long)d->val, d->reading->recipe->val_fraction);
}

static Tokenizer *described_tokenizer(const Lathe_recipe *r)
{
    if (!r->tokenizer_file)
        fail(EXIT_USAGE, NULL, "the description says that the tokenizer is a file: add --tokenizer FILE|DIR");
    if (access(r->tokenizer_file, F_OK) != 0)
        fail(EXIT_DATA, r->tokenizer_place, "the tokenizer %s no longer exists; add --tokenizer FILE|DIR",
             r->tokenizer_file);
    return tokenizer_named(r->tokenizer_file);
}

/* Chooses the tokenizer of text: the one that the command line names, else the one saved beside the weights that the
 * run starts from (so that ids keep their meaning), else the description's. */
Tokenizer *choose_tokenizer(const Reading *reading, const char *weights)
{
    Token_kind kind = reading->recipe->tokenizer == LATHE_CHARS ? TOKEN_CHARS : TOKEN_BYTES;
    if (reading->tokenizer) return tokenizer_named(reading->tokenizer);
    char *folder = weights ? folder_of(weights) : NULL;
    Tokenizer *saved = !folder                     ? NULL
                       : !reading->tokenizer_given ? tokenizer_beside(weights)
                       : is_gguf(weights)          ? NULL
                                                   : saved_plain(folder, kind);
    if (saved && unread_tokenizer(saved))
        fail(EXIT_DATA, tokenizer_path(saved),
             "expected a tokenizer of bytes, characters, words, a byte-level BPE, WordPiece or a Unigram, found %s; "
             "--tokenizer bytes (or chars, or a FILE) replaces it, and gives ids other meanings",
             unread_tokenizer(saved));
    free(folder);
    if (!saved && reading->recipe->tokenizer == LATHE_TOKENIZER_FILE) return described_tokenizer(reading->recipe);
    return saved ? saved : open_tokenizer(kind);
}

void check_tokenizer_size(const Reading *reading, const Tokenizer *own)
{
    int64_t n = tokenizer_size(own), vocab = reading->model->vocab;
    if (n > vocab)
        fail(EXIT_DATA, tokenizer_path(own),
             "the tokenizer has %s, the model a vocabulary of %lld: it belongs to another model, or the model must be "
             "built with --set vocab=%lld",
             tokenizer_words(own), (long long)vocab, (long long)n);
}

static void refuse_other_inputs(const Lathe_entry *e)
{
    const Lathe_tensor *t = tensor_with_role(e, LATHE_FEATURES);
    if (t)
        fail(EXIT_USAGE, NULL,
             "entry %s has an input \"%s\" beside its tokens, which text data does not have; use `trainer grad`, which "
             "takes any input",
             e->name, t->name);
}

static void open_pairs_of_answers(Data *d, bool training)
{
    const Reading *reading = d->reading;
    const Lathe_recipe *r = reading->recipe;
    if (r->text_field || r->target_field || lathe_mix(r->mix, (int64_t[LATHE_SOURCES]){0}))
        fail(EXIT_USAGE, NULL,
             "preference pairs have the fields \"prompt\", \"chosen\" and \"rejected\", and no weights; leave "
             "text_field, target_field and mix out");
    d->preferences = read_preferences(reading, d->tokenizer);
    d->row = divide_preferences(d->preferences, r->val_fraction, &d->train);
    d->seq = 1;
    d->train_items = d->train;
    d->val = d->val_items = d->preferences->n - d->train;
    d->order = must_alloc(sizeof *d->order * (size_t)(d->train + 1));
    if (training && d->train < 1)
        fail(EXIT_DATA, reading->paths.at[0],
             "expected pairs to train on, found none; give more, or less of them to "
             "evaluate (--val-fraction)");
}

static void open_documents(Data *d)
{
    d->epochs = open_epochs(d->reading, d->tokenizer);
    d->tokenizer = d->epochs->tokenizer;
    d->seq = d->epochs->order.seq;
    d->val_items = d->epochs->held_rows;
}

_Noreturn void fail_without_characters(void)
{
    fail(EXIT_USAGE, NULL, "token shards do not say which characters their ids are; give --tokenizer FILE");
}

/* Windows of plain text files, or of token shards, drawn from anywhere or side by side. */
static Text_data *open_windows(const Reading *reading, Tokenizer *k)
{
    Sources *shards =
        (reading->recipe->order == LATHE_WINDOWS || reading->recipe->order == LATHE_CONTIGUOUS) && reading->paths.n
            ? shards_alone(reading)
            : NULL;
    if (!shards) return open_text(&reading->paths, k, reading->model->vocab);
    if (tokenizer_kind(k) == TOKEN_BYTES) limit_bytes(k, reading->model->vocab);
    if (tokenizer_size(k) == 0) fail_without_characters();
    return open_token_shards(shards);
}

/* Each row of a step's batch reads its own stretch of the text, window after window. */
static void settle_stretches(Data *d)
{
    const Reading *reading = d->reading;
    int64_t rows = reading->gpus * need_entry(reading->model, ENTRY_train)->rows;
    if (reading->model->recipe.accumulate_at)
        fail(EXIT_USAGE, NULL,
             "order=contiguous: each row of a step reads a stretch of the text of its own, so their number cannot grow "
             "(accumulate_at); leave one of the two out");
    d->stretch = (d->train - 1) / (rows * d->seq);
    if (d->stretch < 1)
        fail(
            EXIT_DATA, reading->paths.at[0],
            "expected at least %lld tokens to train on (order=contiguous: a sequence of %lld for each of the %lld rows "
            "of a step, and a token after), found %lld; give more text, or rebuild with fewer rows (--set batch=N)",
            (long long)(rows * d->seq + 1), (long long)d->seq, (long long)rows, (long long)d->train);
    d->train_items = d->stretch * rows;
}

static void check_order(const Reading *reading)
{
    if (model_carries(reading->model) && reading->recipe->order != LATHE_CONTIGUOUS)
        fail(EXIT_USAGE, NULL,
             "%s carries states from batch to batch, so each batch must continue the text of the last: that is "
             "order=contiguous, and this run has another; leave --order out, or start a new run (--init takes weights)",
             reading->model->name);
}

static void open_text_data(Data *d, const Lathe_entry *e, bool training)
{
    const Reading *reading = d->reading;
    refuse_other_inputs(e);
    check_order(reading);
    if (reading->recipe->tokenizer == LATHE_NO_TEXT)
        fail(EXIT_USAGE, NULL,
             "%s reads text, but its description names no tokenizer: add --tokenizer bytes, chars or FILE",
             reading->model->name);
    if (!d->tokenizer) d->tokenizer = choose_tokenizer(reading, reading->weights);
    if (reading->model->recipe.prefers) {
        open_pairs_of_answers(d, training);
        return;
    }
    if (wants_epochs(reading)) {
        open_documents(d);
        return;
    }
    if (tokenizer_kind(d->tokenizer) != TOKEN_BYTES) check_tokenizer_size(reading, d->tokenizer);
    d->text = open_windows(reading, d->tokenizer);
    d->seq = reading->model->seq;
    split(d, text_tokens(d->text));
    if (training) check_training_text(d);
    d->train_items = d->train - d->seq;
    if (training && reading->recipe->order == LATHE_CONTIGUOUS) settle_stretches(d);
    d->val_items = d->val > 0 ? (d->val - 1) / d->seq : 0;
}

static const Lathe_entry *entry_of_reading(const Reading *reading)
{
    return need_entry(reading->model, reading->training     ? ENTRY_train
                                      : reading->predicting ? ENTRY_predict
                                                            : ENTRY_eval);
}

bool reads_text(const Reading *reading)
{
    return tensor_with_role(entry_of_reading(reading), LATHE_TOKENS) || reading->model->recipe.pairs;
}

void need_data(const Reading *reading)
{
    if (reading->paths.n) return;
    fail(EXIT_USAGE, NULL, "%s needs --data PATH…: %s", reading->command,
         reads_text(reading) ? "the text to read: files, folders, or - for standard input" : rows_words(reading));
}

static void check_weight(const Reading *reading, const Lathe_entry *e)
{
    bool read = false;
    for (int i = 0; i < e->inputs; i++) read |= weighs_rows(&e->input[i]);
    if (reading->recipe->row_weight && !read && !reading->predicting)
        fail(EXIT_USAGE, NULL,
             "row_weight=%s: %s does not read the weights of rows; its loss should read input.weight, of data with "
             "weight = "
             "\"%s\"",
             reading->recipe->row_weight, reading->model->name, reading->recipe->row_weight);
}

static void check_mixing(const Reading *reading, const Lathe_entry *e)
{
    if (reading->training && (reading->recipe->mixup > 0 || reading->recipe->cutmix > 0) && !reads_mixtures(e))
        fail(EXIT_USAGE, NULL,
             "mixup and cutmix mix classes in pairs, but the loss of %s does not read both; of input.NAME it should be "
             "nn.cross_entropy(logits, input.NAME, { other = input.NAME_other, share = input.NAME_share })",
             reading->model->name);
}

void open_data(Data *d, const Reading *reading, Tokenizer *k)
{
    const bool training = reading->training;
    const Lathe_entry *e = entry_of_reading(reading);
    *d = (Data){.reading = reading, .epoch = -1, .tokenizer = k};
    need_data(reading);
    if (!reads_text(reading)) d->rule = split_rule(reading->recipe);
    check_weight(reading, e);
    check_mixing(reading, e);
    if (reads_text(reading)) open_text_data(d, e, training);
    else open_data_of_rows(d, e, training);
    if (!training) check_val(d);
}

int64_t epoch_items(const Data *d)
{
    if (d->epochs) return rows_of_an_epoch(d->epochs);
    return d->stretch ? d->train_items : d->train / d->seq;
}

int64_t items_for_units(const Data *d, int64_t units)
{
    return d->epochs ? rows_for_targets(d->epochs, units) : (units + d->seq - 1) / d->seq;
}

int64_t units_taken(const Data *d, int64_t items) { return d->epochs ? targets_taken(d->epochs) : items * d->seq; }

bool has_tokens(const Data *d) { return d->text || d->epochs; }
const char *item_word(const Data *d)
{
    if (d->epochs) return d->epochs->order.pairs ? "pairs" : "sequences";
    if (d->preferences) return "pairs";
    return d->text || d->series ? "windows"
           : d->files           ? index_of_files(d->files)->kind->many
           : d->sentences       ? "texts"
                                : "rows";
}

const Data *evaluated(const Data *d) { return d->held ? d->held : d; }

void leave_out_unreadable(Data *d)
{
    if (d->held) d = d->held;
    if (!d->files || d->readable) return;
    int64_t n = keep_readable(d->files, d->row + d->train, d->val);
    if (n < d->val)
        note("%s of the %s %s to evaluate cannot be read, and are left out", grouped_text(d->val - n),
             grouped_text(d->val), item_word(d));
    if (d->val && !n)
        fail(EXIT_DATA, d->reading->paths.at[0], "expected %s to evaluate, none can be read", item_word(d));
    d->val = d->val_items = n;
    d->readable = true;
}

void tell_unreadable(const Data *d)
{
    const File_index *s = d->files ? index_of_files(d->files) : NULL;
    if (s && s->bad)
        note("%s %s could not be read, the first: %s (bad_records allows up to %s)", grouped_text(s->bad),
             s->bad == 1 ? s->kind->one : s->kind->many, s->first_bad, grouped_text(d->reading->recipe->bad_records));
    if (d->held) tell_unreadable(d->held);
}

const Words *classes_of(const Data *d)
{
    return d->files ? &index_of_files(d->files)->classes : d->sentences ? sentence_classes(d->sentences) : NULL;
}

Schema *columns_of(const Data *d) { return d->table ? table_schema(d->table) : d->series ? d->series->schema : NULL; }

static int64_t heap_of(const Data *d, bool held)
{
    if (d->epochs) return held ? held_bytes(d->epochs) : epochs_bytes(d->epochs);
    if (d->preferences) return d->preferences->heap + 4 * (2 * d->train + d->val);
    if (d->rows) return rows_heap(d->rows) + (d->row_pictures ? row_pictures_heap(d->row_pictures) : 0);
    if (d->table) return table_heap(d->table);
    if (d->files) return files_heap(d->files);
    if (d->sentences) return sentences_heap(d->sentences);
    if (d->series) return series_heap(d->series) + 4 * (2 * d->train + d->val);
    return d->text ? text_heap(d->text) : csv_heap(d->csv);
}

int64_t data_heap(const Data *d) { return heap_of(d, false) + (d->held ? heap_of(d->held, true) : 0); }

bool data_grows(const Data *d) { return d->epochs || d->files; }

/* ------------------------------------------------------------------ filling inputs */

static void fill_tokens(const Data *d, const Lathe_tensor *t, char *in, const int64_t *item, int64_t rows)
{
    int64_t width = tensor_size(t) / rows, shift = t->role == LATHE_TARGETS;
    bug_if(width != d->seq);
    int32_t *at = (int32_t *)(in + t->offset);
    for (int64_t r = 0; r < rows; r++) read_tokens(d->text, item[r] + shift, width, at + r * width);
}

static void fill_classes(const Data *d, const Lathe_tensor *t, char *in, const int64_t *item, int64_t rows)
{
    for (int64_t r = 0; r < rows; r++) ((int32_t *)(in + t->offset))[r] = csv_class(d->csv, item[r]);
}

static void fill_weights(const Data *d, const Lathe_tensor *t, char *in, const int64_t *item, int64_t rows)
{
    for (int64_t r = 0; r < rows; r++) write_real(t->dtype, in + t->offset, r, csv_weight(d->csv, item[r]));
}

/* Fills columns of the table, starting with `from`; returns the column after them. */
static int64_t fill_columns(const Data *d, const Lathe_tensor *t, char *in, const int64_t *item, int64_t rows,
                            int64_t from)
{
    int64_t width = tensor_size(t) / rows;
    char *at = in + t->offset;
    for (int64_t r = 0; r < rows; r++) {
        const double *x = csv_row(d->csv, item[r]) + from;
        for (int64_t k = 0; k < width; k++)
            if (t->dtype == LATHE_F64) ((double *)at)[r * width + k] = x[k];
            else ((float *)at)[r * width + k] = (float)x[k];
    }
    return from + width;
}

void fill_items(const Data *d, const Lathe_entry *e, char *in, const int64_t *item)
{
    int64_t rows = e->rows, column = 0;
    if (d->epochs) {
        fill_held(d->epochs, e, in, item);
        return;
    }
    if (d->preferences) {
        fill_preferences(d->preferences, e, in, item);
        return;
    }
    if (d->rows) {
        fill_from_rows(d->rows, e, in, item);
        if (d->row_pictures) mix_row_pictures(d->row_pictures, e, in, NULL, NULL);
        return;
    }
    if (d->table) {
        fill_table(d->table, e, in, item);
        return;
    }
    if (d->sentences) {
        fill_sentences(d->sentences, e, in, item);
        return;
    }
    if (d->series) {
        fill_series(d->series, e, in, item);
        return;
    }
    if (d->files) {
        fill_files(d->files, e, in, item);
        return;
    }
    for (int i = 0; i < e->inputs; i++) {
        const Lathe_tensor *t = &e->input[i];
        if (t->role != LATHE_TOKENS && t->role != LATHE_TARGETS && t->role != LATHE_FEATURES) continue; /* scalars */
        if (d->text) fill_tokens(d, t, in, item, rows);
        else if (t->dtype == LATHE_I32) fill_classes(d, t, in, item, rows);
        else if (weighs_rows(t)) fill_weights(d, t, in, item, rows);
        else column = fill_columns(d, t, in, item, rows, column);
    }
}

static int64_t most_rows(const Data *d) { return need_entry(d->reading->model, ENTRY_train)->rows; } /* of a step */

/* Rows with pictures that vary, and are mixed with those behind them. */
static bool fill_varied_step(Data *d, const Lathe_entry *e, char *in, int64_t step)
{
    const int64_t n = e->rows;
    Next_row *next = mixes_pictures(d->reading->recipe) ? open_next_row(e) : NULL;
    if (!d->turn) d->turn = must_alloc(sizeof *d->turn * (size_t)(most_rows(d) + 1));
    for (int64_t k = 0; k <= n; k++) d->turn[k] = turn_of_row(d, step, n, k);
    for (int64_t k = 0; k < n; k++) d->item[k] = d->turn[k].item;
    fill_from_rows(d->rows, e, in, d->item);
    vary_row_pictures(d->row_pictures, e, in, d->turn);
    if (next) {
        fill_from_rows(d->rows, &next->entry, next->in, &d->turn[n].item);
        vary_row_pictures(d->row_pictures, &next->entry, next->in, d->turn + n);
    }
    mix_row_pictures(d->row_pictures, e, in, d->turn, next);
    close_next_row(next);
    return true;
}

bool fill_step(Data *d, const Lathe_entry *e, char *in, int64_t step)
{
    int64_t n = e->rows;
    if (d->epochs) return fill_epochs(d->epochs, e, in, step);
    if (!d->item) d->item = must_alloc(sizeof *d->item * (size_t)most_rows(d));
    if (d->files) return fill_file_step(d->files, e, in, step, turn_of_row, d);
    if (d->row_pictures) return fill_varied_step(d, e, in, step);
    train_items(d, step, n, d->item);
    fill_items(d, e, in, d->item);
    set_begins(e, in, d->stretch && step % d->stretch == 0);
    return true;
}

int data_readers(const Data *d) { return d->epochs ? d->epochs->readers : d->files ? file_readers(d->files) : 0; }

const char *data_failure(const Data *d, int *code)
{
    return d->files ? files_failure(d->files, code) : mixture_failure(d->epochs->rows, code);
}
