/* eval.c: loss and metrics over the whole validation part, each item counted once; `trainer eval`. */
#include "base/file.h"
#include "base/json_text.h"
#include "base/words.h"
#include "data/data.h"
#include "interface/lathe_model.h"
#include "math/double.h"
#include "model/block.h"
#include "model/origin.h"
#include "model/tables.h"
#include "step/carry.h"
#include "step/entry.h"
#include "step/statistics.h"
#include "text/generate.h"
#include "text/rouge.h"
#include "trainer/batches.h"
#include "trainer/checkpoint.h"
#include "trainer/data.h"
#include "trainer/eval.h"
#include "trainer/knobs.h"
#include "trainer/memory.h"
#include "trainer/metrics.h"
#include "trainer/ranks.h"
#include "trainer/reference.h"
#include "trainer/shards.h"
#include "trainer/state.h"
#include "trainer/trainer.h"
#include "trainer/trial.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

typedef struct Part { /* n of the validation items, spread evenly */
    const Data *d;
    int64_t n;
} Part;

static int64_t place_of_item(const Part *p, int64_t k)
{
    return p->n == p->d->val_items ? k : k * p->d->val_items / p->n;
}

/* ------------------------------------------------------------------ sums over batches */

typedef struct Tally { /* sums of eval's outputs over batches: means, and totals, which are the inputs of score */
    const Lathe_entry *eval, *score; /* score: NULL if all are means */
    Lathe_call call;
    Scores *s;
    double mean[MAX_SCORES], items[MAX_SCORES]; /* of each mean: its sum, and the number of items in it */
    double *total;                              /* all elements of score's totals, in the order of its inputs */
} Tally;

static int64_t elements_of_totals(const Lathe_entry *score)
{
    int64_t n = 0;
    for (int i = 0; score && i < score->inputs; i++)
        if (score->input[i].role == LATHE_TOTAL) n += tensor_size(&score->input[i]);
    return n;
}

static bool is_total(const Lathe_entry *score, const char *name)
{
    for (int i = 0; score && i < score->inputs; i++)
        if (score->input[i].role == LATHE_TOTAL && strcmp(score->input[i].name, name) == 0) return true;
    return false;
}

static void name_outputs(Scores *s, const Lathe_entry *e, const Lathe_entry *score, bool loss)
{
    for (int i = 0; e && i < e->outputs && s->n < MAX_SCORES; i++) {
        const char *name = e->output[i].name;
        bool is_loss = strcmp(name, "loss") == 0;
        if (e->output[i].rank == 0 && is_loss == loss && !is_total(score, name)) s->name[s->n++] = name;
    }
}

/* The loss first. */
static void name_scores(Scores *s, const Lathe_model *m)
{
    const Lathe_entry *eval = find_entry(m, ENTRY_eval), *score = find_entry(m, ENTRY_score);
    for (int loss = 1; eval && loss >= 0; loss--) {
        name_outputs(s, eval, score, loss);
        name_outputs(s, score, score, loss);
    }
}

/* Adds the batch that has run, which counts as `rows` rows.  If rows depend on each other, it must be a whole batch or
 * the only one. */
static void add_outputs(Tally *t, double rows, bool whole)
{
    for (int i = 0; i < t->s->rouge; i++) {
        const Lathe_tensor *o = output_named(t->eval, t->s->name[i]);
        if (!o || (o->meets && !whole && t->items[i] > 0)) continue;
        double counts = o->meets && !whole ? 1 : rows;
        t->mean[i] += counts * output_scalar(t->eval, t->call.out, t->s->name[i]);
        t->items[i] += counts;
    }
    int64_t at = 0;
    for (int i = 0; t->score && i < t->score->inputs; i++) {
        const Lathe_tensor *x = &t->score->input[i];
        if (x->role != LATHE_TOTAL) continue;
        const Lathe_tensor *o = output_named(t->eval, x->name);
        bug_if(!o);
        for (int64_t k = 0; k < tensor_size(x); k++)
            t->total[at++] +=
                rows / (double)t->eval->rows * read_element(o->dtype, (const char *)t->call.out + o->offset, k);
    }
}

static void put_real(const Lathe_tensor *t, char *in, int64_t k, double value)
{
    if (t->dtype == LATHE_F64) ((double *)(void *)(in + t->offset))[k] = value;
    else ((float *)(void *)(in + t->offset))[k] = (float)value;
}

static void make_scores(Tally *t, const Memory *m, const Data *d)
{
    for (int i = 0; i < t->s->rouge; i++) t->s->value[i] = t->items[i] > 0 ? t->mean[i] / t->items[i] : 0;
    if (!t->score) return;
    Lathe_call call = call_of(m, t->score);
    int64_t at = 0;
    set_scalars(t->score, m->call, 0, 0, 0);
    if (d->table) fill_table_units(d->table, t->score, m->call);
    for (int i = 0; i < t->score->inputs; i++) {
        const Lathe_tensor *x = &t->score->input[i];
        double share = (double)t->eval->rows / (double)t->s->items;
        if (x->role == LATHE_SHARE) put_real(x, m->call, 0, share);
        for (int64_t k = 0; x->role == LATHE_TOTAL && k < tensor_size(x); k++) put_real(x, m->call, k, t->total[at++]);
    }
    run_entry(t->score, &call);
    for (int i = 0; i < t->s->rouge; i++)
        if (output_named(t->score, t->s->name[i])) t->s->value[i] = output_scalar(t->score, call.out, t->s->name[i]);
}

/* ------------------------------------------------------------------ the validation part */

/* Fills the inputs with items first … first + real - 1; the remaining rows repeat item first, or are empty. */
static void fill_batch(const Part *p, const Tally *t, char *in, int64_t first, int64_t real, bool empty)
{
    int64_t rows = t->eval->rows, *item = must_alloc(sizeof *item * (size_t)rows);
    for (int64_t r = 0; r < rows; r++)
        item[r] = r >= real && empty ? -1 : val_item(p->d, place_of_item(p, first + (r < real ? r : 0)));
    fill_items(p->d, t->eval, in, item);
    free(item);
    set_begins(t->eval, in, true);
    set_scalars(t->eval, in, 0, first / rows, 0); /* random draws differ by batch, not by evaluation */
}

/* Whether rows of texts without one add nothing, because all scores are made of totals, such as the number of words
 * that have labels, and theirs are 0. */
static bool can_be_empty(const Part *p, Tally *t, char *in, int64_t first)
{
    bool none = p->d->sentences && t->score;
    for (int i = 0; i < t->s->rouge && none; i++) none = output_named(t->score, t->s->name[i]);
    if (!none) return false;
    fill_batch(p, t, in, first, 0, true);
    run_entry(t->eval, &t->call);
    for (int i = 0; i < t->score->inputs && none; i++) {
        const Lathe_tensor *o =
            t->score->input[i].role == LATHE_TOTAL ? output_named(t->eval, t->score->input[i].name) : NULL;
        for (int64_t k = 0; o && k < tensor_size(o) && none; k++)
            none = read_element(o->dtype, (const char *)t->call.out + o->offset, k) == 0;
    }
    return none;
}

/* Whole batches, and those for the `left` items behind them.  If empty rows add nothing, these fill a batch; this is
 * exact where rows have random draws of their own.  Otherwise an entry gives means and sums over its batch, so a batch
 * of the items and copies of one of them is run, and a batch of copies alone is subtracted: Σ left = rows · mean(items,
 * copies) - (rows - left) · mean(copies) */
typedef struct Course {
    const Part *p;
    Tally *t;
    char *in;
    int64_t whole, left;
    bool empty;
} Course;

static void evaluate_batch(void *with, int64_t k)
{
    const Course *c = with;
    const int64_t rows = c->t->eval->rows, first = (k < c->whole ? k : c->whole) * rows;
    const int64_t real = k < c->whole ? rows : k == c->whole ? c->left : 1;
    fill_batch(c->p, c->t, c->in, first, real, c->empty && k == c->whole);
    run_entry(c->t->eval, &c->t->call);
}

static void add_batch(void *with, int64_t k)
{
    const Course *c = with;
    const double rows = (double)c->t->eval->rows, left = (double)c->left;
    if (k < c->whole) add_outputs(c->t, rows, true);
    else if (k > c->whole) add_outputs(c->t, left - rows, false);
    else add_outputs(c->t, c->left == 1 && !c->empty ? 1 : rows, false);
}

static int results_of(const Tally *t, Result *to)
{
    int n = 0;
    for (int i = 0; i < t->eval->outputs; i++) {
        const Lathe_tensor *o = &t->eval->output[i];
        bool wanted = is_total(t->score, o->name);
        for (int k = 0; k < t->s->rouge; k++) wanted |= strcmp(t->s->name[k], o->name) == 0;
        if (wanted) to[n++] = (Result){(char *)t->call.out + o->offset, tensor_size(o) * dtype_size(o->dtype)};
    }
    return n;
}

/* False: interrupted. */
static bool add_batches(const Part *p, Tally *t, char *in, const Trainer *trainer, int64_t most)
{
    const int64_t rows = t->eval->rows;
    Course c = {p, t, in, p->n / rows, p->n % rows, false};
    Result *result = must_alloc(sizeof *result * (size_t)(t->eval->outputs + 1));
    c.empty = c.left && can_be_empty(p, t, in, c.whole * rows);
    const Batches all = {.share = SHARE_SCORES,
                         .number = most,
                         .n = c.whole + (c.left > 0) + (c.left > 1 && !c.empty),
                         .items = p->d->val_items,
                         .result = result,
                         .results = results_of(t, result),
                         .run = evaluate_batch,
                         .take = add_batch,
                         .with = &c,
                         .ordered = shards_parameters(trainer)};
    const bool complete = run_batches(&all, trainer);
    free(result);
    return complete;
}

/* Where rows carry states, each row has a stretch of `length` consecutive windows; the stretches start at even
 * distances. */
static void add_stretches(const Part *p, Tally *t, char *in, int64_t length, bool together)
{
    int64_t rows = t->eval->rows, *item = must_alloc(sizeof *item * (size_t)rows);
    for (int64_t k = 0; k < length && (together || !interrupted); k++) {
        for (int64_t r = 0; r < rows; r++) item[r] = val_item(p->d, r * (p->d->val_items / rows) + k);
        fill_items(p->d, t->eval, in, item);
        set_begins(t->eval, in, k == 0);
        set_scalars(t->eval, in, 0, k, 0);
        run_entry(t->eval, &t->call);
        add_outputs(t, (double)rows, true);
    }
    free(item);
}

/* Is the best checkpoint chosen by a metric of the task that is no output? */
static bool follows_task(const Trainer *t, const Scores *s)
{
    const char *best = t->recipe.best;
    if (strcmp(t->command, "train") != 0 || !best || !find_entry(t->model, ENTRY_predict)) return false;
    for (int i = 0; i < s->n; i++)
        if (strcmp(s->name[i], best) == 0) return false;
    return lathe_less_is_better_of_task(best) >= 0;
}

Scores no_scores(const Trainer *t)
{
    Scores s = {0};
    name_scores(&s, t->model);
    s.rouge = s.n;
    for (int i = 0; i < ROUGES && strcmp(t->command, "train") == 0 && t->recipe.eval_generate; i++)
        s.name[s.n++] = rouge_names[i];
    s.task = s.n;
    if (follows_task(t, &s)) s.name[s.n++] = t->recipe.best;
    return s;
}

Scores evaluate(Data *all_data, const Memory *m, const Trainer *t, int64_t most)
{
    leave_out_unreadable(all_data);
    const Data *d = evaluated(all_data);
    const Lathe_entry *e = need_entry(t->model, ENTRY_eval), *score = find_entry(t->model, ENTRY_score);
    const Part p = {d, most && most < d->val_items ? most : d->val_items};
    int64_t rows = e->rows;
    Scores s = no_scores(t);
    Tally tally = {.eval = e, .score = score, .call = call_of(m, e), .s = &s};
    tally.total = must_alloc(sizeof *tally.total * (size_t)(elements_of_totals(score) + 1));
    memset(tally.total, 0, sizeof *tally.total * (size_t)(elements_of_totals(score) + 1));
    s.items = p.n;
    const bool together = shards_parameters(t); /* every rank runs every entry */
    if (together && !is_follower(t)) order_share(t, SHARE_SCORES, most);
    if (entry_carries(e) && p.n >= rows) {
        s.items = p.n / rows * rows;
        if (together || !is_follower(t)) add_stretches(&p, &tally, m->call, p.n / rows, together);
        s.complete = !interrupted;
    } else s.complete = add_batches(&p, &tally, m->call, t, most);
    if (s.complete && !is_follower(t)) make_scores(&tally, m, d);
    free(tally.total);
    return s;
}

double perplexity_of(const Scores *s)
{
    for (int i = 0; i < s->n; i++)
        if (strcmp(s->name[i], "cross_entropy") == 0) return exp_f64(s->value[i]);
    return exp_f64(s->value[0]);
}

char *scores_text(const Scores *s, const Data *d)
{
    char *text = text_of("%s", "");
    for (int i = 0; i < s->n; i++) {
        char *longer = text_of("%s%s%s %.4f", text, i ? " | " : "", s->name[i], s->value[i]);
        free(text);
        text = longer;
    }
    return has_tokens(d) ? text_of("%s | perplexity %.4g", text, perplexity_of(s)) : text;
}

json_t *scores_json(const Scores *s, const Data *d)
{
    json_t *all = json_object();
    for (int i = 0; i < s->n; i++) put_json(all, s->name[i], real_json(s->value[i]));
    if (has_tokens(d)) put_json(all, "perplexity", real_json(perplexity_of(s)));
    put_json(all, evaluated(d)->files ? "rows" : item_word(evaluated(d)), json_integer(s->items));
    return all;
}

/* ------------------------------------------------------------------ trainer eval */

/* Scores of rows that depend on each other are means over whole batches. */
static void print_meeting(const Scores *s, const Data *d)
{
    const Lathe_entry *e = find_entry(d->reading->model, ENTRY_eval);
    int64_t left = e ? s->items % e->rows : 0;
    char *names = NULL;
    for (int i = 0; left && s->items > left && i < s->rouge; i++) {
        const Lathe_tensor *o = output_named(e, s->name[i]);
        if (o && o->meets) names = text_of("%s%s%s", names ? names : "", names ? ", " : "", s->name[i]);
    }
    if (names)
        show(stdout, "%s: over the first %s %s, in batches of %lld, whose rows meet; the last %lld fill none\n", names,
             grouped_text(s->items - left), item_word(d), (long long)e->rows, (long long)left);
}

static void print_scores(const Scores *s, const Data *d)
{
    show(stdout, "%s\n", scores_text(s, d));
    print_meeting(s, d);
    if (model_carries(d->reading->model))
        show(stdout, "over %s of %s windows of %lld tokens, in stretches that carry their state on\n",
             grouped_text(s->items), grouped_text(d->val_items), (long long)d->seq);
    else if (s->items < d->val_items)
        show(stdout, "over %s of %s %s (eval_rows)\n", grouped_text(s->items), grouped_text(d->val_items),
             item_word(d));
    else if (d->epochs)
        show(stdout, "over %s %s of %lld tokens, the first of the documents kept for evaluation (eval_tokens)\n",
             grouped_text(s->items), item_word(d), (long long)d->seq);
    else if (d->text)
        show(stdout, "over %s windows of %lld tokens, side by side in the last %s tokens; %lld at the end fill none\n",
             grouped_text(s->items), (long long)d->seq, grouped_text(d->val),
             (long long)(d->val - 1 - s->items * d->seq));
    else if (words_of_split(&d->rule))
        show(stdout, "over %s %s: %s\n", grouped_text(s->items), item_word(d), words_of_split(&d->rule));
    else if (!d->train) show(stdout, "over all %s %s\n", grouped_text(s->items), item_word(d));
    else if (d->preferences)
        show(stdout, "over %s %s, chosen by their prompts\n", grouped_text(s->items), item_word(d));
    else if (d->files) show(stdout, "over %s %s, chosen by their names\n", grouped_text(s->items), item_word(d));
    else show(stdout, "over the last %s %s\n", grouped_text(s->items), item_word(d));
}

static void check_generate(const Trainer *t)
{
    static const char *const only[] = {"beams", "min_tokens", "length_penalty", "no_repeat_ngram", "sample_tokens"};
    if (t->generate) return;
    if (t->items || t->stem)
        fail(EXIT_USAGE, NULL, "--%s needs --generate, whose texts it is about", t->items ? "items" : "stem");
    for (size_t i = 0; i < sizeof only / sizeof *only; i++)
        if (was_set(t, only[i])) note("%s is not used without --generate", only[i]);
}

/* ROUGE of the texts that the model writes. */
static void eval_texts(Trainer *t, const Memory *m, const Data *d, json_t *json)
{
    Rouge r[ROUGES];
    Text_writer *w = open_text_writer(writing_of(t), m, d->tokenizer, "source");
    Text_eval *e = open_text_eval(t, reading_of(t, false), w, d->tokenizer, t->items, t->stem);
    evaluate_texts(e, 0, r);
    if (json) put_json(json, "rouge", rouge_json(e, r));
    else show(stdout, "%s\n", rouge_text(e, r));
}

/* ------------------------------------------------------------------ metrics of rows, by their task */

/* most: rows at most; 0: all. */
static Predictions predictions_of(const Trainer *t, const Data *all, int64_t most)
{
    const Data *d = evaluated(all);
    return (Predictions){.entry = find_entry(t->model, ENTRY_predict),
                         .data = d,
                         .rows = most && most < d->val_items ? most : d->val_items,
                         .training = strcmp(t->command, "train") == 0 ? t : NULL};
}

static Metrics *task_metrics(Predictions *p, const Memory *m)
{
    if (!p->entry) return NULL;
    p->memory = m;
    p->call = call_of(m, p->entry);
    return measure_predictions(p);
}

int names_of_task(const Trainer *t, const Data *d, const char **name)
{
    Predictions p = predictions_of(t, d, 0);
    return p.entry ? names_of_metrics(&p, name) : 0;
}

void add_task_metric(Scores *s, const Data *d, const Memory *m, const Trainer *t)
{
    if (s->task == s->n || !s->complete) return;
    Predictions p = predictions_of(t, d, s->items);
    Metrics *x = task_metrics(&p, m);
    s->value[s->task] = x ? metric_of_task(x, s->name[s->task]) : NAN;
    s->complete = !interrupted;
    free_metrics(x);
}

void share_metrics(const Trainer *t, const Data *d, const Memory *m, int64_t most)
{
    Predictions p = predictions_of(t, d, most);
    free_metrics(task_metrics(&p, m));
}

static bool has_classes(const Trainer *t, const Data *d)
{
    const char *name[MOST_VALUES];
    return names_of_task(t, d, name) > 0 && strcmp(name[0], "accuracy") == 0;
}

void keep_scores(const Trainer *t, const Data *d, const Memory *m, const Scores *s, int64_t most, int64_t step)
{
    Predictions p = predictions_of(t, d, most);
    Fault f = {0};
    if (!has_classes(t, d)) return;
    Metrics *x = task_metrics(&p, m);
    if (x && !interrupted) {
        json_t *all = scores_json(s, d);
        put_json(all, "metrics", metrics_json(x));
        put_json(all, "over", json_integer(p.rows));
        put_json(all, "step", json_integer(step));
        put_json(all, "classes", class_names_json(x));
        put_json(all, "weights", word_json(weights_path(&(Trainer){.out = t->out})));
        char *text = json_written(all, JSON_COMPACT | JSON_REAL_PRECISION(15)), *line = text_of("%s\n", text),
             *path = text_of("%s/eval.json", run_folder(t));
        replace_text(path, line, &f);
        clear_fault(&f); /* nothing depends on it */
        free(text), free(line), free(path);
        json_decref(all);
    }
    free_metrics(x);
}

/* ------------------------------------------------------------------ the command */

int eval_command(Trainer *t)
{
    static const Entry entries[] = {ENTRY_eval, ENTRY_score, ENTRY_predict, NO_ENTRY},
                       both[] = {ENTRY_eval, ENTRY_score, ENTRY_encode, ENTRY_decode, NO_ENTRY};
    Data d;
    Memory m;
    check_generate(t);
    char *path = weights_path(t);
    if (t->data.n) take_own_split(t, path);
    if (t->data.n && !t->model->recipe.pairs && !lathe_reads_rows(&t->recipe)) take_own_settings(t, path, "chat");
    else take_own_data(t, path);
    evaluate_val_data(t);
    if (t->generate) t->origin = read_origin(path);
    open_run_data(&d, t, false);
    use_threads(t);
    take_memory(&m, t, false, false, t->generate ? both : entries);
    load_saved_weights(t, path, &m);
    read_reference(&d, t, path);
    weights_up(t->model, &m);
    Scores s = evaluate(&d, &m, t, was_set(t, "eval_rows") ? t->recipe.eval_rows : 0);
    Predictions p = predictions_of(t, &d, 0);
    Metrics *by_task = task_metrics(&p, &m);
    if (t->json) {
        json_t *all = scores_json(&s, &d);
        if (by_task) put_json(all, "metrics", metrics_json(by_task));
        put_json(all, "weights", word_json(path));
        if (t->generate) eval_texts(t, &m, &d, all);
        print_json(all);
    } else {
        print_scores(&s, &d);
        if (by_task) print_metrics(by_task, item_word(evaluated(&d)));
        if (t->generate) eval_texts(t, &m, &d, NULL);
    }
    return 0;
}
