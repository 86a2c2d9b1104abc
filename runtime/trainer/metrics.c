/* metrics.c: what `trainer eval` says of predictions by their task: of classes, of numbers, of texts.
 *
 * Computed over all rows of the evaluation, not as means of batches; definitions are those of scikit-learn.metrics, but
 * for MAPE, which leaves out targets of 0; the calibration error is that of Guo et al. 2017, On calibration of modern
 * neural networks, section 3. */
#include "base/json_text.h"
#include "base/words.h"
#include "data/data.h"
#include "math/double.h"
#include "model/tables.h"
#include "trainer/metrics.h"
#include "trainer/predict.h"
#include "trainer/spelled.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CLASSES = 1000, SHOWN_CLASSES = 12, SHOWN_NUMBERS = 12, TOP = 5, BINS = 15 };

typedef struct Ranked { /* a row of two classes */
    double score;       /* log odds of class 1 */
    bool is;            /* it is of class 1 */
} Ranked;

typedef struct Bin { /* of rows whose likeliest class has a probability above k / BINS, up to (k + 1) / BINS */
    int64_t n, right;
    double confidence; /* the sum of these probabilities */
} Bin;

typedef struct Errors {                   /* of a number: sums */
    int64_t n;                            /* rows, or forecasts, whose target is there */
    int64_t zeros;                        /* of these, whose target is 0: their error is no part of it */
    double squares, sizes, parts;         /* parts: of errors, as parts of the target */
    double first, target, target_squares; /* the first target; of targets less that */
} Errors;

struct Metrics {
    const Predictions *p;
    const Lathe_tensor *output;
    bool classes, texts;
    int64_t n, k;           /* rows; classes, or numbers */
    int64_t steps;          /* of a forecast, each of k numbers; else 1 */
    int64_t *confusion;     /* [k][k] rows of a class, by what is predicted */
    int64_t top;            /* rows whose class is among the TOP likeliest */
    double log_loss, brier; /* sums */
    Bin bin[BINS];
    Errors *errors;           /* [k] of numbers */
    Errors scaled;            /* of forecasts: of all, in units of their columns' deviations */
    Ranked *ranked;           /* [n] of two classes */
    Spelling_errors spelling; /* of texts */
    double *x;                /* [steps][k] */
};

/* ------------------------------------------------------------------ rows */

static double target_of_row(const Data *d, int64_t item, int64_t k)
{
    double x = 0;
    if (d->csv) return csv_class(d->csv, item);
    if (d->table) return table_target(d->table, item, (int)k);
    if (d->files) return index_of_files(d->files)->at[item].class;
    if (d->sentences) return sentence_class(d->sentences, item);
    if (d->series) return series_target(d->series, item, k / d->series->targets, (int)(k % d->series->targets));
    bug_if(!class_of_row(d->rows, item, &x));
    return x;
}

/* NaN, which is in no bin, makes the first one's sum NaN. */
static void add_confidence(Metrics *m, double confidence, bool right)
{
    int k = confidence > 0 ? (int)ceil(confidence * BINS) - 1 : 0;
    Bin *b = &m->bin[k < 0 ? 0 : k < BINS ? k : BINS - 1];
    b->n++;
    b->right += right;
    b->confidence += confidence;
}

static void add_class(Metrics *m, int64_t class)
{
    double largest = -INFINITY, sum = 0;
    int64_t best = 0, before = 0;
    if (class < 0 || class >= m->k) return; /* one that losses leave out */
    for (int64_t k = 0; k < m->k; k++) {
        if (m->x[k] > m->x[best]) best = k;
        if (m->x[k] > largest) largest = m->x[k];
        before += m->x[k] > m->x[class] || (m->x[k] == m->x[class] && k < class);
    }
    if (m->k == 2) m->ranked[m->n] = (Ranked){m->x[1] - m->x[0], class == 1};
    for (int64_t k = 0; k < m->k; k++) sum += exp_f64(m->x[k] - largest);
    double log_probability = m->x[class] - largest - log_f64(sum), missed = 1 - exp_f64(log_probability);
    m->n++;
    m->confusion[class * m->k + best]++;
    m->top += before < TOP;
    m->log_loss -= log_probability;
    m->brier += missed * missed;
    add_confidence(m, 1 / sum, best == class);
}

static void add_error(Errors *e, double predicted, double target)
{
    double error = predicted - target;
    if (!e->n++) e->first = target;
    if (target == 0) e->zeros++;
    else e->parts += fabs(error / target);
    target -= e->first; /* so that their spread keeps its digits */
    e->squares += error * error;
    e->sizes += fabs(error);
    e->target += target;
    e->target_squares += target * target;
}

static void give_metric(void *with, const char *out, int64_t row, int64_t number)
{
    Metrics *m = with;
    int64_t item = predicted_item(m->p, number);
    (void)predicted_numbers(m->p, m->output, out, row, m->x);
    if (m->texts) {
        char *text = spelled_text(m->p, m->output, out, row, m->x);
        add_spelling(&m->spelling, text, spoken_text(index_of_files(m->p->data->files), item));
        free(text);
        return;
    }
    if (m->classes) {
        add_class(m, (int64_t)target_of_row(m->p->data, item, 0));
        return;
    }
    for (int64_t i = 0; i < m->steps * m->k; i++) {
        double target = target_of_row(m->p->data, item, i);
        const Column *c = m->p->data->series ? scaled_target(m->p, m->output, i) : NULL;
        if (isnan(target)) continue; /* a value that was filled in */
        add_error(&m->errors[i % m->k], m->x[i], target);
        if (c && *c->deviation > 0) add_error(&m->scaled, m->x[i] / *c->deviation, target / *c->deviation);
    }
    m->n++;
}

/* ------------------------------------------------------------------ which task */

static bool has_class(const Data *d)
{
    double x;
    if (d->table) return table_schema(d->table)->classes;
    return d->csv || d->files || (d->sentences && has_sentence_class(d->sentences)) ||
           (d->rows && class_of_row(d->rows, 0, &x));
}

void free_metrics(Metrics *m)
{
    if (!m) return;
    free(m->confusion), free(m->errors), free(m->ranked), free(m->x), free(m);
}

/* By the task, of no rows so far; NULL: there is none. */
static Metrics *start_metrics(const Predictions *p)
{
    const Lathe_tensor *logits = output_named(p->entry, "logits"), *number = output_named(p->entry, "prediction");
    const Data *d = p->data;
    Metrics *m = must_alloc(sizeof *m);
    m->p = p;
    m->output = logits;
    m->texts = logits && are_spellings(d->reading->model, logits) && p->rows > 0;
    if (m->texts) {
        m->x = must_alloc(sizeof *m->x * (size_t)predicted_width(p, logits));
        return m;
    }
    m->classes = has_class(d);
    m->output = m->classes ? logits : columns_of(d) ? number : NULL;
    int64_t numbers = columns_of(d) ? columns_of(d)->targets : 1;
    if (!m->output || p->rows < 1) return NULL;
    if (d->series ? !are_forecasts(p, m->output) : m->output->rank != (m->classes || numbers > 1 ? 2 : 1)) return NULL;
    m->steps = d->series ? d->series->ahead : 1;
    m->k = predicted_width(p, m->output) / m->steps;
    if (!m->classes && m->k != numbers) return NULL;
    if (m->classes && (m->k < 2 || m->k > MOST_CLASSES)) return NULL;
    m->confusion = must_alloc(sizeof *m->confusion * (size_t)(m->classes ? m->k * m->k : 1));
    m->errors = must_alloc(sizeof *m->errors * (size_t)m->k);
    m->ranked = must_alloc(sizeof *m->ranked * (size_t)(m->k == 2 ? p->rows : 1));
    m->x = must_alloc(sizeof *m->x * (size_t)(m->steps * m->k));
    return m;
}

Metrics *measure_predictions(const Predictions *p)
{
    Metrics *m = start_metrics(p);
    if (!m) return NULL;
    const Lathe_tensor *read[] = {m->output, length_of_spellings(p->entry)};
    Predictions all = *p;
    all.output = read;
    all.outputs = read[1] ? 2 : 1;
    each_prediction(&all, give_metric, m);
    if (m->texts) m->n = m->spelling.rows;
    if (m->n || m->texts) return m;
    free_metrics(m);
    return NULL;
}

/* ------------------------------------------------------------------ values */

static int64_t sum_of(const int64_t *x, int64_t n, int64_t step)
{
    int64_t sum = 0;
    for (int64_t i = 0; i < n; i++) sum += x[i * step];
    return sum;
}

static double accuracy_of(const Metrics *m) { return (double)sum_of(m->confusion, m->k, m->k + 1) / (double)m->n; }

/* The mean over classes that occur of the part that is found; f1: the mean over classes that occur or are predicted of
 * 2 right / (rows + predicted). */
static double mean_of_classes(const Metrics *m, bool f1)
{
    double sum = 0;
    int64_t count = 0;
    for (int64_t k = 0; k < m->k; k++) {
        int64_t right = m->confusion[k * m->k + k], rows = sum_of(m->confusion + k * m->k, m->k, 1);
        int64_t predicted = sum_of(m->confusion + k, m->k, m->k), all = f1 ? rows + predicted : rows;
        if (!all) continue;
        sum += (f1 ? 2 : 1) * (double)right / (double)all;
        count++;
    }
    return sum / (double)count;
}

/* Guo et al. 2017: the mean over rows of the difference between accuracy and mean confidence in a row's bin. */
static double calibration_error(const Metrics *m)
{
    double sum = 0;
    for (int k = 0; k < BINS; k++) sum += fabs((double)m->bin[k].right - m->bin[k].confidence);
    return sum / (double)m->n;
}

static int by_score(const void *a, const void *b)
{
    double x = ((const Ranked *)a)->score, y = ((const Ranked *)b)->score;
    return (x < y) - (x > y);
}

/* Area under the curve of true over false positives, equal scores counting half; and the average precision. */
static void areas(const Metrics *m, double *auc, double *precision)
{
    int64_t found = 0, missed = 0, all = sum_of(m->confusion + m->k, m->k, 1), others = m->n - all;
    *auc = *precision = NAN;
    for (int64_t i = 0; i < m->n; i++)
        if (isnan(m->ranked[i].score)) return;
    qsort(m->ranked, (size_t)m->n, sizeof *m->ranked, by_score);
    *auc = *precision = 0;
    for (int64_t i = 0, end; i < m->n; i = end) {
        int64_t here = 0;
        for (end = i; end < m->n && m->ranked[end].score == m->ranked[i].score; end++) here += m->ranked[end].is;
        *auc += (double)(end - i - here) * ((double)found + 0.5 * (double)here);
        found += here, missed += end - i - here;
        *precision += (double)here * (double)found / (double)(found + missed);
    }
    *auc = all && others ? *auc / ((double)all * (double)others) : NAN;
    *precision = all ? *precision / (double)all : NAN;
}

typedef struct Value {
    const char *name;
    double value;
} Value;

static int values_of_number(const Errors *e, Value *v)
{
    double n = (double)e->n;
    double spread = e->target_squares - e->target * e->target / n;
    v[0] = (Value){"rmse", sqrt(e->squares / n)};
    v[1] = (Value){"mae", e->sizes / n};
    v[2] = (Value){"r2", spread > 0 ? 1 - e->squares / spread : NAN};
    v[3] = (Value){"mape", e->zeros < e->n ? e->parts / (double)(e->n - e->zeros) : NAN};
    return 4;
}

/* More can be wrong than there is. */
static int values_of_texts(const Spelling_errors *e, Value *v)
{
    v[0] = (Value){"cer", (double)e->wrong_letters / (double)e->letters};
    v[1] = (Value){"wer", (double)e->wrong_words / (double)e->words};
    return 2;
}

/* Of the classes, of texts, or of the k-th number. */
static int values_of(const Metrics *m, int64_t k, Value *v)
{
    double n = (double)m->n, auc, precision;
    int c = 0;
    if (m->texts) return values_of_texts(&m->spelling, v);
    if (!m->classes) return values_of_number(&m->errors[k], v);
    v[c++] = (Value){"accuracy", accuracy_of(m)};
    v[c++] = (Value){"balanced_accuracy", mean_of_classes(m, false)};
    v[c++] = (Value){"macro_f1", mean_of_classes(m, true)};
    v[c++] = (Value){"log_loss", m->log_loss / n};
    if (m->k > TOP) v[c++] = (Value){"top_5_accuracy", (double)m->top / n};
    if (m->k == 2) {
        areas(m, &auc, &precision);
        v[c++] = (Value){"auc", auc};
        v[c++] = (Value){"average_precision", precision};
        v[c++] = (Value){"brier", m->brier / n};
    }
    v[c++] = (Value){"calibration_error", calibration_error(m)};
    return c;
}

/* Each of several numbers has metrics of its own. */
static bool has_one_of_each(const Metrics *m) { return m->classes || m->texts || m->k == 1; }

int names_of_metrics(const Predictions *p, const char **name)
{
    Value v[MOST_VALUES];
    Metrics *m = start_metrics(p);
    int n = m && has_one_of_each(m) ? values_of(m, 0, v) : 0;
    for (int i = 0; i < n; i++) {
        bug_if(lathe_less_is_better_of_task(v[i].name) < 0);
        name[i] = v[i].name;
    }
    free_metrics(m);
    return n;
}

double metric_of_task(const Metrics *m, const char *name)
{
    Value v[MOST_VALUES];
    for (int i = values_of(m, 0, v) - 1; i >= 0; i--)
        if (strcmp(v[i].name, name) == 0) return v[i].value;
    return NAN;
}

/* ------------------------------------------------------------------ printing */

static char *shown_class(const Metrics *m, int64_t class)
{
    const char *name = predicted_class(m->p, class);
    return name ? text_of("%.20s", name) : text_of("%lld", (long long)class);
}

static void print_confusion(const Metrics *m)
{
    show(stdout, "%-20s  predicted\n", "class");
    for (int64_t k = 0; k < m->k; k++) {
        print_padded(stdout, shown_class(m, k), 20);
        for (int64_t i = 0; i < m->k; i++) show(stdout, " %6lld", (long long)m->confusion[k * m->k + i]);
        show(stdout, "\n");
    }
}

/* One of several numbers has its name. */
static const char *name_of_number(const Metrics *m, int64_t k)
{
    return !m->classes && !m->texts && m->k > 1 ? target_column(columns_of(m->p->data), (int)k)->name : NULL;
}

static int values_of_scaled(const Errors *e, Value *v)
{
    v[0] = (Value){"mse", e->squares / (double)e->n};
    v[1] = (Value){"mae", e->sizes / (double)e->n};
    return 2;
}

/* zeros: targets that mape leaves out */
static void print_values(const Value *v, int n, const char *name, int64_t rows, const char *of, int64_t zeros)
{
    show(stdout, "%s%s", name ? name : "", name ? ": " : "");
    for (int i = 0; i < n; i++) show(stdout, "%s%s %.5g", i ? " | " : "", v[i].name, v[i].value);
    show(stdout, "; over all %s %s", grouped_text(rows), of);
    if (zeros) show(stdout, "; mape without %s target%s of 0", grouped_text(zeros), zeros == 1 ? "" : "s");
    show(stdout, "\n");
}

static int64_t zeros_of(const Metrics *m, int64_t k) { return m->errors ? m->errors[k].zeros : 0; }

void print_metrics(const Metrics *m, const char *items)
{
    Value v[MOST_VALUES];
    for (int64_t k = 0; k < (m->classes || m->texts ? 1 : m->k) && k < SHOWN_NUMBERS; k++)
        print_values(v, values_of(m, k, v), name_of_number(m, k), m->n, items, zeros_of(m, k));
    if (!m->classes && m->k > SHOWN_NUMBERS)
        show(stdout, "and %lld more columns; --json has all\n", (long long)(m->k - SHOWN_NUMBERS));
    if (m->scaled.n) print_values(v, values_of_scaled(&m->scaled, v), "in deviations", m->n, items, 0);
    if (m->classes && m->k <= SHOWN_CLASSES) print_confusion(m);
}

static json_t *values_json(const Value *v, int n, int64_t zeros)
{
    json_t *all = json_object();
    for (int i = 0; i < n; i++) put_json(all, v[i].name, real_json(v[i].value));
    if (zeros) put_json(all, "mape_left_out", json_integer(zeros));
    return all;
}

/* The table of reliability: a bin's rows, mean confidence and accuracy. */
static json_t *calibration_json(const Metrics *m)
{
    json_t *all = json_array();
    for (int k = 0; k < BINS; k++) {
        const Bin *b = &m->bin[k];
        json_t *row = json_object();
        put_json(row, "above", real_json((double)k / BINS));
        put_json(row, "rows", json_integer(b->n));
        put_json(row, "confidence", b->n ? real_json(b->confidence / (double)b->n) : json_null());
        put_json(row, "accuracy", b->n ? real_json((double)b->right / (double)b->n) : json_null());
        add_json(all, row);
    }
    return all;
}

static json_t *confusion_json(const Metrics *m)
{
    json_t *confusion = json_array();
    for (int64_t k = 0; k < m->k; k++) {
        json_t *row = json_array();
        for (int64_t i = 0; i < m->k; i++) add_json(row, json_integer(m->confusion[k * m->k + i]));
        add_json(confusion, row);
    }
    return confusion;
}

json_t *class_names_json(const Metrics *m)
{
    if (!m->classes || !predicted_class(m->p, 0)) return json_null();
    json_t *all = json_array();
    for (int64_t k = 0; k < m->k; k++) {
        const char *name = predicted_class(m->p, k);
        add_json(all, name ? word_json(name) : json_null());
    }
    return all;
}

json_t *metrics_json(const Metrics *m)
{
    Value v[MOST_VALUES];
    json_t *all = has_one_of_each(m) ? values_json(v, values_of(m, 0, v), zeros_of(m, 0)) : json_object();
    for (int64_t k = 0; k < m->k && name_of_number(m, k); k++)
        put_json(all, name_of_number(m, k), values_json(v, values_of(m, k, v), zeros_of(m, k)));
    if (m->scaled.n) put_json(all, "in deviations", values_json(v, values_of_scaled(&m->scaled, v), 0));
    if (m->classes) put_json(all, "calibration", calibration_json(m));
    if (m->classes) put_json(all, "confusion", confusion_json(m));
    return all;
}
