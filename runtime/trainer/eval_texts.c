/* eval_texts.c: evaluation of texts that a model writes: ROUGE of a text per distinct source, against all targets that
 * the data has for it. */
#include "base/json_text.h"
#include "base/words.h"
#include "data/data.h"
#include "data/reading.h"
#include "text/generate.h"
#include "text/rouge.h"
#include "token/tokenizer.h"
#include "trainer/batches.h"
#include "trainer/eval.h"
#include "trainer/ranks.h"
#include "trainer/samples.h"
#include "trainer/shown.h"
#include "trainer/trial.h"

#include <stdlib.h>

struct Text_eval {
    const Trainer *t;
    Text_writer *writer;
    const Tokenizer *tokenizer;
    Item_list *items;
    bool stem;
    int64_t step, rows;   /* rows: of a batch */
    Rouge (*own)[ROUGES]; /* [rows]: of each item of the batch */
    Rouge sum[ROUGES];    /* over the items so far */
};

Text_eval *open_text_eval(const Trainer *t, const Reading *r, Text_writer *w, const Tokenizer *k, int64_t most,
                          bool stem)
{
    Text_eval *e = must_alloc(sizeof *e);
    *e = (Text_eval){.t = t, .tokenizer = k, .stem = stem, .writer = w, .rows = sources_at_once(w)};
    e->own = must_alloc(sizeof *e->own * (size_t)e->rows);
    if (!reads_sources(e->writer))
        fail(EXIT_USAGE, NULL,
             "%s continues texts; only texts that a model writes for a source can be compared with targets; leave %s "
             "out",
             r->model->name, r->recipe->eval_generate ? "eval_generate" : "--generate");
    e->items = read_items(r, k, most, true);
    return e;
}

static void compare_text(void *with, int64_t k, const Written *w)
{
    Text_eval *e = with;
    const Reference_list *l = &e->items->reference[k];
    Text_written text = text_written(e->tokenizer, w);
    best_rouge(l->at, l->n, (Passage){text.at, (int64_t)text.bytes}, e->stem, e->own[k % e->rows]);
    free(text.at);
}

static int64_t items_of_batch(const Text_eval *e, int64_t k)
{
    const int64_t left = e->items->n - k * e->rows;
    return left < e->rows ? left : e->rows;
}

static void write_batch(void *with, int64_t k)
{
    Text_eval *e = with;
    const int64_t first = k * e->rows;
    write_texts(e->writer, e->items->source + first, items_of_batch(e, k), first, e->step, compare_text, NULL, e);
}

static void add_rouges(void *with, int64_t k)
{
    Text_eval *e = with;
    for (int64_t r = 0; r < items_of_batch(e, k); r++)
        for (int i = 0; i < ROUGES; i++) {
            e->sum[i].precision += e->own[r][i].precision;
            e->sum[i].recall += e->own[r][i].recall;
            e->sum[i].f1 += e->own[r][i].f1;
        }
}

bool evaluate_texts(Text_eval *e, int64_t step, Rouge *to)
{
    const Result own = {e->own, (int64_t)sizeof *e->own * e->rows};
    const double n = (double)e->items->n;
    e->step = step;
    for (int i = 0; i < ROUGES; i++) e->sum[i] = (Rouge){0};
    if (!run_batches(&(Batches){.share = SHARE_TEXTS,
                                .number = step,
                                .n = (e->items->n + e->rows - 1) / e->rows,
                                .items = e->items->n,
                                .result = &own,
                                .results = 1,
                                .run = write_batch,
                                .take = add_rouges,
                                .with = e},
                     e->t))
        return false;
    for (int i = 0; i < ROUGES; i++) to[i] = (Rouge){e->sum[i].precision / n, e->sum[i].recall / n, e->sum[i].f1 / n};
    return true;
}

void add_rouge(Scores *s, Text_eval *e, int64_t step)
{
    Rouge r[ROUGES];
    if (!e || !s->complete) return;
    s->complete = evaluate_texts(e, step, r);
    for (int i = 0; s->complete && i < ROUGES; i++) s->value[s->rouge + i] = r[i].f1;
}

/* ------------------------------------------------------------------ for people and programs */

char *rouge_text(const Text_eval *e, const Rouge *r)
{
    char *text = text_of("%s", "");
    const Item_list *all = e->items;
    for (int i = 0; i < ROUGES; i++) {
        char *longer = text_of("%s%s%s %.4f (precision %.4f, recall %.4f)", text, i ? " | " : "", rouge_names[i],
                               r[i].f1, r[i].precision, r[i].recall);
        free(text);
        text = longer;
    }
    return text_of("%s\nover texts for %s%s sources, each against its best target%s", text, grouped_text(all->n),
                   all->n < all->found ? text_of(" of %s", grouped_text(all->found)) : "", e->stem ? ", by stems" : "");
}

json_t *rouge_json(const Text_eval *e, const Rouge *r)
{
    json_t *all = json_object();
    for (int i = 0; i < ROUGES; i++)
        put_json(all, rouge_names[i],
                 json_pack("{s:f, s:f, s:f}", "f1", r[i].f1, "precision", r[i].precision, "recall", r[i].recall));
    put_json(all, "items", json_integer(e->items->n));
    put_json(all, "stem", json_boolean(e->stem));
    return all;
}
