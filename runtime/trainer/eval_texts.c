/* eval_texts.c: evaluation of texts that a model writes: ROUGE of a text per distinct source, against all targets that
 * the data has for it. */
#include "base/json_text.h"
#include "base/words.h"
#include "data/data.h"
#include "data/reading.h"
#include "text/generate.h"
#include "text/rouge.h"
#include "token/tokenizer.h"
#include "trainer/eval.h"
#include "trainer/samples.h"
#include "trainer/shown.h"
#include "trainer/trial.h"

#include <stdlib.h>

struct Text_eval {
    Text_writer *writer;
    const Tokenizer *tokenizer;
    Item_list *items;
    bool stem;
    Rouge sum[ROUGES]; /* over the items so far */
};

Text_eval *open_text_eval(const Reading *r, Text_writer *w, const Tokenizer *k, int64_t most, bool stem)
{
    Text_eval *e = must_alloc(sizeof *e);
    *e = (Text_eval){.tokenizer = k, .stem = stem, .writer = w};
    if (!reads_sources(e->writer))
        fail(EXIT_USAGE, NULL,
             "%s continues texts; only texts that a model writes for a source can be compared with targets; leave %s "
             "out",
             r->model->name, r->recipe->eval_generate ? "eval_generate" : "--generate");
    e->items = read_items(r, k, most, true);
    return e;
}

static void take_evaluated(void *with, int64_t k, const Written *w)
{
    Text_eval *e = with;
    const Reference_list *l = &e->items->reference[k];
    Text_written text = text_written(e->tokenizer, w);
    Rouge own[ROUGES];
    best_rouge(l->at, l->n, (Passage){text.at, (int64_t)text.bytes}, e->stem, own);
    for (int i = 0; i < ROUGES; i++) {
        e->sum[i].precision += own[i].precision;
        e->sum[i].recall += own[i].recall;
        e->sum[i].f1 += own[i].f1;
    }
    free(text.at);
}

bool evaluate_texts(Text_eval *e, int64_t step, Rouge *to)
{
    enum { SOME = 64 }; /* items between checks for a signal */
    for (int i = 0; i < ROUGES; i++) e->sum[i] = (Rouge){0};
    for (int64_t k = 0; k < e->items->n; k += SOME) {
        int64_t left = e->items->n - k;
        if (interrupted) return false;
        write_texts(e->writer, e->items->source + k, left < SOME ? left : SOME, k, step, take_evaluated, NULL, e);
    }
    double n = (double)e->items->n;
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
