/* train_eval.c: loss and metrics over the whole validation part, each item counted once; `trainer eval`. */
#include "trainer.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

typedef struct Part { /* n of the validation items, spread evenly */
    const Data *d;
    int64_t n;
} Part;

static int64_t place_in(const Part *p, int64_t k) { return p->n == p->d->val_items ? k : k * p->d->val_items / p->n; }

static void name_scores(Scores *s, const Lathe_entry *e)
{
    s->name[s->n++] = "loss";
    for (int i = 0; i < e->outputs && s->n < MAX_SCORES; i++)
        if (e->output[i].rank == 0 && strcmp(e->output[i].name, "loss") != 0) s->name[s->n++] = e->output[i].name;
}

/* Runs the entry on items first … first + real - 1; the rows that are left over repeat item first.  Adds weight times
 * the batch's means to sum. */
static void add_batch(const Part *p, const Lathe_entry *e, const Lathe_call *call, char *in, int64_t first,
                      int64_t real, double weight, const Scores *s, double *sum)
{
    int64_t rows = items_in_call(e), *item = must_alloc(sizeof *item * (size_t)rows);
    for (int64_t r = 0; r < rows; r++) item[r] = val_item(p->d, place_in(p, first + (r < real ? r : 0)));
    fill_items(p->d, e, in, item);
    free(item);
    set_begins(e, in, true);
    set_scalars(e, in, 0, first / items_in_call(e), 0); /* batches draw apart, each the same in every evaluation */
    run_entry(e, call);
    for (int i = 0; i < s->rouge; i++) sum[i] += weight * output_scalar(e, call->out, s->name[i]);
}

/* What items first … first + n - 1 count: each 1, or so many targets. */
static double weight_of(const Part *p, int64_t first, int64_t n)
{
    double sum = 0;
    for (int64_t k = first; k < first + n; k++) sum += item_weight(p->d, place_in(p, k));
    return sum;
}

/* The last batch may be short of rows.  An entry yields the mean over its batch, so with `real` items and copies of
 * one of them, less a batch of nothing but that one (all items counting 1):
 *     Σ real = rows · mean(items, copies) - (rows - real) · mean(copies) */
static void add_remainder(const Part *p, const Lathe_entry *e, const Lathe_call *call, char *in, int64_t first,
                          int64_t real, const Scores *s, double *sum)
{
    double rows = (double)items_in_call(e);
    if (real == 0) return;
    double one = item_weight(p->d, place_in(p, first)), copies = (rows - (double)real) * one;
    if (real == 1) {
        add_batch(p, e, call, in, first, 1, one, s, sum);
        return;
    }
    add_batch(p, e, call, in, first, real, weight_of(p, first, real) + copies, s, sum);
    add_batch(p, e, call, in, first, 1, -copies, s, sum);
}

/* Where rows go on, each has a stretch of `length` windows; the stretches begin evenly spread. */
static void add_stretches(const Part *p, const Lathe_entry *e, const Lathe_call *call, char *in, int64_t length,
                          const Scores *s, double *sum)
{
    int64_t rows = items_in_call(e), *item = must_alloc(sizeof *item * (size_t)rows);
    for (int64_t k = 0; k < length && !interrupted; k++) {
        for (int64_t r = 0; r < rows; r++) item[r] = val_item(p->d, r * (p->d->val_items / rows) + k);
        fill_items(p->d, e, in, item);
        set_begins(e, in, k == 0);
        set_scalars(e, in, 0, k, 0);
        run_entry(e, call);
        for (int i = 0; i < s->rouge; i++) sum[i] += (double)rows * output_scalar(e, call->out, s->name[i]);
    }
    free(item);
}

Scores no_scores(const Trainer *t)
{
    Scores s = {0};
    const Lathe_entry *e = find_entry(t->model, "eval");
    if (e) name_scores(&s, e);
    s.rouge = s.n;
    for (int i = 0; i < ROUGES && strcmp(t->command, "train") == 0 && t->recipe.eval_generate; i++)
        s.name[s.n++] = rouge_names[i];
    return s;
}

Scores evaluate(const Data *all_data, const Memory *m, const Trainer *t, int64_t most)
{
    const Data *d = evaluated(all_data);
    const Lathe_entry *e = need_entry(t->model, "eval");
    const Part p = {d, most && most < d->val_items ? most : d->val_items};
    Lathe_call call = call_of(m, e);
    int64_t rows = items_in_call(e), k = 0;
    double sum[MAX_SCORES] = {0};
    Scores s = no_scores(t);
    s.items = p.n;
    if (entry_carries(e) && p.n >= rows) {
        k = s.items = p.n / rows * rows;
        add_stretches(&p, e, &call, m->call, p.n / rows, &s, sum);
    }
    for (; k + rows <= s.items && !interrupted; k += rows)
        add_batch(&p, e, &call, m->call, k, rows, weight_of(&p, k, rows), &s, sum);
    if (interrupted) return s;
    add_remainder(&p, e, &call, m->call, k, s.items - k, &s, sum);
    double all = weight_of(&p, 0, s.items);
    for (int i = 0; i < s.rouge; i++) s.value[i] = sum[i] / all;
    s.complete = true;
    return s;
}

char *scores_text(const Scores *s, const Data *d)
{
    char *text = text_of("%s", "");
    for (int i = 0; i < s->n; i++) {
        char *longer = text_of("%s%s%s %.4f", text, i ? " | " : "", s->name[i], s->value[i]);
        free(text);
        text = longer;
    }
    return has_tokens(d) ? text_of("%s | perplexity %.4g", text, exp(s->value[0])) : text;
}

json_t *scores_json(const Scores *s, const Data *d)
{
    json_t *all = json_object();
    for (int i = 0; i < s->n; i++) put_json(all, s->name[i], real_json(s->value[i]));
    if (has_tokens(d)) put_json(all, "perplexity", real_json(exp(s->value[0])));
    put_json(all, item_word(evaluated(d)), json_integer(s->items));
    return all;
}

/* ------------------------------------------------------------------ trainer eval */

static void print_scores(const Scores *s, const Data *d)
{
    show(stdout, "%s\n", scores_text(s, d));
    if (model_carries(d->t->model))
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
    else show(stdout, "over the last %s rows\n", grouped_text(s->items));
}

static void check_generate(const Trainer *t)
{
    static const char *const only[] = {"beams", "min_tokens", "length_penalty", "no_repeat_ngram", "sample_tokens"};
    if (t->generate) return;
    if (t->items || t->stem)
        fail(EXIT_USAGE, NULL, "--%s is about what --generate writes; give both", t->items ? "items" : "stem");
    for (size_t i = 0; i < sizeof only / sizeof *only; i++)
        if (was_set(t, only[i])) note("%s is not used without --generate", only[i]);
}

/* ROUGE of what the weights write. */
static void eval_texts(Trainer *t, const Memory *m, const Data *d, json_t *json)
{
    Rouge r[ROUGES];
    Text_writer *w = open_text_writer(t, m, d->tokenizer, "source");
    Text_eval *e = open_text_eval(t, w, d->tokenizer, t->items, t->stem);
    evaluate_texts(e, 0, r);
    if (json) put_json(json, "rouge", rouge_json(e, r));
    else show(stdout, "%s\n", rouge_text(e, r));
}

int eval_command(Trainer *t)
{
    static const char *const entries[] = {"eval", NULL}, *const both[] = {"eval", "encode", "decode", NULL};
    Data d;
    Memory m;
    check_generate(t);
    char *path = weights_path(t);
    take_own_data(t, path);
    evaluate_val_data(t);
    if (t->generate) t->origin = read_origin(path);
    open_data(&d, t, false);
    use_threads(t);
    take_memory(&m, t, false, false, t->generate ? both : entries);
    load_saved_weights(t, path, m.params);
    device_up(m.params, weight_bytes(t->model));
    Scores s = evaluate(&d, &m, t, was_set(t, "eval_rows") ? t->recipe.eval_rows : 0);
    if (t->json) {
        json_t *all = scores_json(&s, &d);
        put_json(all, "weights", word_json(path));
        if (t->generate) eval_texts(t, &m, &d, all);
        print_json(all);
    } else {
        print_scores(&s, &d);
        if (t->generate) eval_texts(t, &m, &d, NULL);
    }
    return 0;
}
