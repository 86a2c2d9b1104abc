/* predict_files.c: predictions as CSV, JSON lines, a NumPy array, safetensors.
 *
 * An output named logits, [batch][classes], is written to tables as class, the likeliest, and the probability of each
 * class: the softmax of logits; where the data's target is a text, logits [batch][time][characters] are written as the
 * text that they spell, and where words have labels, as these (predict_words.c).  For a table whose target is a number,
 * prediction is written in the target's units, and so is that of series, of which a CSV has a line for each step of a
 * forecast. */
#include "base/file.h"
#include "base/json_text.h"
#include "base/words.h"
#include "math/double.h"
#include "model/safetensors.h"
#include "model/tables.h"
#include "trainer/predict.h"
#include "trainer/spelled.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ------------------------------------------------------------------ files */

typedef struct Writer {
    const Predictions *p;
    const char *path;
    char *aside; /* PATH.part, until it is complete; NULL: standard output */
    FILE *f;
    double *x; /* room for a row of an output */
} Writer;

static _Noreturn void cannot_write(const Writer *w)
{
    int why = errno;
    fail(EXIT_ERROR, w->path, "cannot be written: %s%s", error_text(why), room_remedy(why));
}

static Writer open_writer(const Predictions *p, const char *path)
{
    int64_t most = 1;
    Writer w = {.p = p, .path = path, .f = stdout};
    for (int i = 0; i < p->outputs; i++)
        if (predicted_width(p, p->output[i]) > most) most = predicted_width(p, p->output[i]);
    w.x = must_alloc(sizeof *w.x * (size_t)most);
    if (strcmp(path, "-") == 0) return w;
    w.aside = text_of("%s.part", path);
    if (!(w.f = fopen(w.aside, "wb"))) cannot_write(&w);
    begin_unfinished(w.aside);
    return w;
}

static void end_writer(Writer *w)
{
    Fault fault = {0};
    if (fflush(w->f) != 0 || ferror(w->f)) cannot_write(w);
    free(w->x);
    if (!w->aside) return;
    if (fsync(fileno(w->f)) != 0 || fclose(w->f) != 0) cannot_write(w);
    if (!replace_file(w->aside, w->path, &fault)) fail(EXIT_ERROR, fault.path, "%s", fault.text);
    end_unfinished();
    free(w->aside);
}

/* ------------------------------------------------------------------ a row of an output */

static int64_t take_numbers(const Writer *w, const Lathe_tensor *t, const char *out, int64_t row)
{
    return predicted_numbers(w->p, t, out, row, w->x);
}

static bool are_logits(const Lathe_tensor *t)
{
    return t->rank == 2 && t->dim[1] > 1 && strcmp(t->name, "logits") == 0 && t->dtype != LATHE_I32 &&
           t->dtype != LATHE_BOOL;
}

static bool is_text(const Predictions *p, const Lathe_tensor *t) { return are_spellings(p->data->reading->model, t); }

int64_t to_probabilities(double *x, int64_t n)
{
    int64_t best = 0;
    double sum = 0;
    for (int64_t k = 0; k < n; k++) {
        if (isnan(x[k])) best = -1;
        else if (best >= 0 && x[k] > x[best]) best = k;
    }
    for (int64_t k = 0; k < n && best < 0; k++) x[k] = NAN;
    if (best < 0) return best;
    double largest = x[best];
    for (int64_t k = 0; k < n; k++) sum += x[k] = exp_f64(x[k] - largest);
    for (int64_t k = 0; k < n; k++) x[k] /= sum;
    return best;
}

static int digits_of(const Lathe_tensor *t) { return t->dtype == LATHE_F64 ? 17 : t->dtype == LATHE_I32 ? 10 : 9; }

bool is_written(const Predictions *p, const char *name)
{
    for (int i = 0; i < p->outputs; i++) {
        const Lathe_tensor *t = p->output[i];
        if (strcmp(is_text(p, t) ? "text" : t->name, name) == 0) return true;
        if (are_logits(t) && (strcmp(name, "class") == 0 || strcmp(name, "probabilities") == 0)) return true;
        if (are_word_labels(p, t) && is_word_column(name)) return true;
    }
    return strcmp(name, "row") == 0;
}

/* ------------------------------------------------------------------ forecasts */

static const Series *series_of(const Writer *w) { return w->p->data->series; }

/* The last row that a forecast knows. */
static int64_t last_known(const Writer *w, int64_t number)
{
    return predicted_item(w->p, number) + series_of(w)->past - 1;
}

static const char *name_of_series(const Writer *w, int64_t number)
{
    return series_of_row(series_of(w), last_known(w, number))->name;
}

/* Its time; without times its number in the series, from 1. */
static char *time_of_forecast(const Writer *w, int64_t number)
{
    const Series *s = series_of(w);
    int64_t row = last_known(w, number);
    return s->time ? series_time_text(s, row) : text_of("%lld", (long long)(row - series_of_row(s, row)->first + 1));
}

/* Whether the file is of forecasts alone: a line a step. */
static bool has_steps(const Writer *w) { return w->p->outputs == 1 && are_forecasts(w->p, w->p->output[0]); }

/* ------------------------------------------------------------------ CSV */

void put_field(FILE *f, const char *text)
{
    bool quoted = text[strcspn(text, ",\"\r\n")];
    if (quoted) fputc('"', f);
    for (; *text; text++) {
        if (*text == '"') fputc('"', f);
        fputc(*text, f);
    }
    if (quoted) fputc('"', f);
}

static void put_class(const Writer *w, int64_t class)
{
    if (predicted_class(w->p, class)) put_field(w->f, predicted_class(w->p, class));
    else fprintf(w->f, "%lld", (long long)class);
}

/* "_1_4": the place of element k in a row */
static void put_place(FILE *f, const Lathe_tensor *t, int64_t k, int64_t width)
{
    for (int axis = 1; axis < t->rank; axis++) {
        width /= t->dim[axis];
        fprintf(f, "_%lld", (long long)(k / width));
        k %= width;
    }
}

void put_copied(FILE *f, const Copied *c, const char *(*text)(const Copied *, int k))
{
    for (int k = 0; c && k < copied_columns(c); k++) {
        put_field(f, text(c, k));
        fputc(',', f);
    }
}

static void put_header_of_steps(const Writer *w)
{
    fprintf(w->f, "series,after,step");
    for (int k = 0; k < series_of(w)->targets; k++) {
        fputc(',', w->f);
        put_field(w->f, target_column(columns_of(w->p->data), k)->name);
    }
    fputc('\n', w->f);
}

static void put_steps(const Writer *w, const Lathe_tensor *t, int64_t number)
{
    const Series *s = series_of(w);
    const char *name = name_of_series(w, number);
    char *time = time_of_forecast(w, number);
    for (int64_t step = 0; step < s->ahead; step++) {
        put_field(w->f, name);
        fprintf(w->f, ",%s,%lld", time, (long long)step + 1);
        for (int k = 0; k < s->targets; k++) fprintf(w->f, ",%.*g", digits_of(t), w->x[step * s->targets + k]);
        fputc('\n', w->f);
    }
    free(time);
}

static void put_header(const Writer *w)
{
    if (predicted_name(w->p, 0)) fprintf(w->f, "file,");
    if (series_of(w)) fprintf(w->f, "series,after,");
    put_copied(w->f, w->p->copied, copied_name);
    for (int i = 0; i < w->p->outputs; i++) {
        const Lathe_tensor *t = w->p->output[i];
        int64_t n = predicted_width(w->p, t);
        if (i) fputc(',', w->f);
        if (are_logits(t)) fprintf(w->f, "class,");
        if (is_text(w->p, t)) {
            fprintf(w->f, "text");
            continue;
        }
        for (int64_t k = 0; k < n; k++) {
            if (k) fputc(',', w->f);
            if (are_logits(t) && predicted_class(w->p, k)) {
                put_field(w->f, text_of("probability of %s", predicted_class(w->p, k)));
                continue;
            }
            if (n > 1 && w->p->data->table && table_schema(w->p->data->table)->targets == n &&
                scaled_target(w->p, t, k)) {
                put_field(w->f, text_of("prediction of %s", scaled_target(w->p, t, k)->name));
                continue;
            }
            fprintf(w->f, "%s", are_logits(t) ? "probability" : t->name);
            put_place(w->f, t, k, n);
        }
    }
    fputc('\n', w->f);
}

static void put_numbers(const Writer *w, const Lathe_tensor *t, int64_t n)
{
    for (int64_t k = 0; k < n; k++) fprintf(w->f, "%s%.*g", k ? "," : "", digits_of(t), w->x[k]);
}

static void put_spelled(const Writer *w, const Lathe_tensor *t, const char *out, int64_t row)
{
    char *text = spelled_text(w->p, t, out, row, w->x);
    put_field(w->f, text);
    free(text);
}

static void put_outputs(Writer *w, const char *out, int64_t row, bool empty)
{
    for (int i = 0; i < w->p->outputs; i++) {
        const Lathe_tensor *t = w->p->output[i];
        int64_t n = take_numbers(w, t, out, row);
        if (i) fputc(',', w->f);
        if (is_text(w->p, t)) {
            if (!empty) put_spelled(w, t, out, row);
            continue;
        }
        if (empty) {
            for (int64_t k = are_logits(t) ? 0 : 1; k < n; k++) fputc(',', w->f);
            continue;
        }
        if (are_logits(t)) {
            put_class(w, to_probabilities(w->x, n));
            fputc(',', w->f);
        }
        put_numbers(w, t, n);
    }
}

static void give_csv(void *with, const char *out, int64_t row, int64_t number)
{
    Writer *w = with;
    const char *name = predicted_name(w->p, number);
    if (has_steps(w)) {
        take_numbers(w, w->p->output[0], out, row);
        put_steps(w, w->p->output[0], number);
        if (ferror(w->f)) cannot_write(w);
        return;
    }
    if (name) put_field(w->f, name), fputc(',', w->f);
    if (series_of(w)) {
        put_field(w->f, name_of_series(w, number));
        fprintf(w->f, ",%s,", time_of_forecast(w, number));
    }
    if (w->p->copied) next_copied(w->p->copied);
    if (has_word_lines(w->p)) {
        take_numbers(w, w->p->output[0], out, row);
        put_word_lines(w->f, w->p, w->x, number);
        if (ferror(w->f)) cannot_write(w);
        return;
    }
    put_copied(w->f, w->p->copied, copied_text);
    put_outputs(w, out, row, predicted_fault(w->p, number));
    fputc('\n', w->f);
    if (ferror(w->f)) cannot_write(w);
}

void write_csv(const Predictions *p, const char *path)
{
    Writer w = open_writer(p, path);
    if (has_steps(&w)) put_header_of_steps(&w);
    else if (has_word_lines(p)) put_word_header(w.f, p);
    else put_header(&w);
    each_prediction(p, give_csv, &w);
    end_writer(&w);
}

/* ------------------------------------------------------------------ JSON lines */

static json_t *list_of(const double *x, int64_t n)
{
    json_t *all = json_array();
    for (int64_t k = 0; k < n; k++) {
        json_t *number = real_json(x[k]);
        add_json(all, number);
    }
    return all;
}

/* By the names of the classes, or in their order. */
static json_t *probabilities_json(const Writer *w, int64_t n)
{
    if (!predicted_class(w->p, 0)) return list_of(w->x, n);
    json_t *all = json_object();
    for (int64_t k = 0; k < n; k++) {
        const char *name = predicted_class(w->p, k);
        put_json(all, name ? name : text_of("%lld", (long long)k), real_json(w->x[k]));
    }
    return all;
}

static int most_digits(const Predictions *p)
{
    int most = 0;
    for (int i = 0; i < p->outputs; i++)
        if (digits_of(p->output[i]) > most) most = digits_of(p->output[i]);
    return most;
}

/* Numbers of several axes are one list, in row-major order. */
static void give_jsonl(void *with, const char *out, int64_t row, int64_t number)
{
    Writer *w = with;
    json_t *all = json_object();
    put_json(all, "row", json_integer(number));
    if (predicted_name(w->p, number)) put_json(all, "file", word_json(predicted_name(w->p, number)));
    if (series_of(w)) {
        char *time = time_of_forecast(w, number);
        put_json(all, "series", word_json(name_of_series(w, number)));
        put_json(all, "after", word_json(time));
        free(time);
    }
    Copied *c = w->p->copied;
    if (c) next_copied(c);
    for (int k = 0; c && k < copied_columns(c); k++)
        put_json(all, copied_name(c, k), text_json(copied_text(c, k), strlen(copied_text(c, k))));
    const char *fault = predicted_fault(w->p, number);
    if (fault) put_json(all, "error", text_json(fault, strlen(fault)));
    for (int i = 0; i < w->p->outputs && !fault; i++) {
        const Lathe_tensor *t = w->p->output[i];
        int64_t n = take_numbers(w, t, out, row);
        if (is_text(w->p, t)) {
            char *text = spelled_text(w->p, t, out, row, w->x);
            put_json(all, "text", text_json(text, strlen(text)));
            free(text);
            continue;
        }
        if (are_word_labels(w->p, t)) {
            put_word_lists(all, w->p, w->x, number);
            continue;
        }
        if (are_logits(t)) {
            int64_t class = to_probabilities(w->x, n);
            const char *name = predicted_class(w->p, class);
            put_json(all, "class", name ? word_json(name) : json_integer(class));
            put_json(all, "probabilities", probabilities_json(w, n));
            continue;
        }
        put_json(all, t->name, t->rank == 1 ? real_json(*w->x) : list_of(w->x, n));
    }
    char *line = json_written(all, JSON_COMPACT | JSON_REAL_PRECISION((size_t)most_digits(w->p)));
    fprintf(w->f, "%s\n", line);
    free(line);
    json_decref(all);
    if (ferror(w->f)) cannot_write(w);
}

void write_jsonl(const Predictions *p, const char *path)
{
    Writer w = open_writer(p, path);
    each_prediction(p, give_jsonl, &w);
    end_writer(&w);
}

/* ------------------------------------------------------------------ arrays */

static void put_npy_header(const Writer *w, const Lathe_tensor *t)
{
    size_t bytes;
    char *head = npy_head(t, w->p->rows, &bytes);
    fwrite(head, 1, bytes, w->f);
    free(head);
}

static void give_npy(void *with, const char *out, int64_t row, int64_t number)
{
    Writer *w = with;
    (void)number;
    const Lathe_tensor *t = w->p->output[0];
    int64_t n = predicted_width(w->p, t), bytes = dtype_size(t->dtype);
    if (t->dtype != LATHE_BF16 && t->dtype != LATHE_F16 && !scaled_target(w->p, t, 0)) {
        fwrite(out + t->offset + row * n * bytes, (size_t)bytes, (size_t)n, w->f);
    } else {
        take_numbers(w, t, out, row);
        for (int64_t k = 0; k < n; k++)
            if (t->dtype == LATHE_F64) fwrite(&w->x[k], sizeof(double), 1, w->f);
            else fwrite(&(float){(float)w->x[k]}, sizeof(float), 1, w->f);
    }
    if (ferror(w->f)) cannot_write(w);
}

void write_npy(const Predictions *p, const char *path)
{
    if (p->outputs != 1)
        fail(EXIT_USAGE, NULL,
             "--out %s: a .npy holds one array, and there are %d outputs; name one with --only, or use .safetensors",
             path, p->outputs);
    Writer w = open_writer(p, path);
    put_npy_header(&w, p->output[0]);
    each_prediction(p, give_npy, &w);
    end_writer(&w);
}

typedef struct Store_row {
    const Predictions *p;
    const Lathe_tensor *output;
    Store_writer *to;
    double *x;   /* room for a row */
    char *bytes; /* the same in the output's type */
} Store_row;

static void give_store(void *with, const char *out, int64_t row, int64_t number)
{
    const Store_row *s = with;
    (void)number;
    const Lathe_tensor *t = s->output;
    int64_t n = predicted_numbers(s->p, t, out, row, s->x), bytes = n * dtype_size(t->dtype);
    memcpy(s->bytes, out + t->offset + row * bytes, (size_t)bytes);
    for (int64_t k = 0; k < n && scaled_target(s->p, t, 0); k++) write_real(t->dtype, s->bytes, k, s->x[k]);
    put_elements(s->to, s->bytes, n, t->dtype);
    flush_store(s->to);
}

/* The file has its tensors one after another, so the model runs over the rows once for each. */
void write_predicted_store(const Predictions *p, const char *path)
{
    Store_writer *w = start_store(path);
    for (int i = 0; i < p->outputs; i++) {
        const Lathe_tensor *t = p->output[i];
        int64_t dim[LATHE_MAXRANK];
        memcpy(dim, t->dim, sizeof dim);
        dim[0] = p->rows;
        declare_tensor(w, t->name, t->dtype, t->rank, dim);
    }
    for (int i = 0; i < p->outputs; i++) {
        int64_t n = predicted_width(p, p->output[i]);
        Store_row s = {p, p->output[i], w, must_alloc(sizeof(double) * (size_t)n), must_alloc(8 * (size_t)n)};
        each_prediction(p, give_store, &s);
        free(s.x);
        free(s.bytes);
    }
    finish_store(w);
}
