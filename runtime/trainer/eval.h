/* eval.h: evaluations: scores, texts, which is the best. */
#ifndef LATHE_TRAINER_EVAL_H
#define LATHE_TRAINER_EVAL_H

#include "data/data.h"
#include "data/reading.h"
#include "interface/lathe_model.h"
#include "model/block.h"
#include "step/state.h"
#include "text/generate.h"
#include "text/rouge.h"
#include "token/tokenizer.h"
#include "trainer/trainer.h"

enum { MAX_SCORES = LATHE_MAX_SCORES };
/* Every output of rank 0, averaged over the validation items; then the F1 values of ROUGE; then the recipe's `best`, if it
 * is a metric of the task (trainer/metrics.h). */
typedef struct Scores {
    int n, rouge, task; /* indices of the first of ROUGE, and of the last; n if there are none */
    const char *name[MAX_SCORES + ROUGES + 1]; /* name[0] is "loss" */
    double value[MAX_SCORES + ROUGES + 1];
    int64_t items;
    bool complete; /* false: interrupted */
} Scores;

Scores no_scores(const Trainer *t); /* with names and no values */
/* Over at most `most` items, evenly spaced; 0: all.  Ranks share it (trainer/batches.h); followers get no values. */
Scores evaluate(Data *d, const Memory *m, const Trainer *t, int64_t most);
/* The metric of the task, over as many items as s; an interruption makes s incomplete. */
void add_task_metric(Scores *s, const Data *d, const Memory *m, const Trainer *t);
void share_metrics(const Trainer *t, const Data *d, const Memory *m, int64_t most); /* a follower's share of the two that compute them */
int names_of_task(const Trainer *t, const Data *d, const char **name); /* of the metrics, at most MOST_VALUES */
char *scores_text(const Scores *s, const Data *d); /* "loss 1.9012 | accuracy 0.4310 | perplexity 6.69" */
double perplexity_of(const Scores *s);             /* exp of the output cross_entropy, where the loss has more parts, else of the loss */
json_t *scores_json(const Scores *s, const Data *d);

/* RUN/eval.json, of a classifier: what `trainer eval --json` prints, over at most `most` rows; for its report. */
void keep_scores(const Trainer *t, const Data *d, const Memory *m, const Scores *s, int64_t most, int64_t step);

/* ---- trainer/eval_texts.c: evaluation of texts that a model writes */

typedef struct Text_eval Text_eval;
/* For at most `most` of the sources kept for evaluation, drawn by the seed; 0: all. */
Text_eval *open_text_eval(const Trainer *t, const Reading *r, Text_writer *w, const Tokenizer *k, int64_t most, bool stem);
/* Means over them, [ROUGES]; false: interrupted.  Ranks share it as they do evaluate(). */
bool evaluate_texts(Text_eval *e, int64_t step, Rouge *to);
void add_rouge(Scores *s, Text_eval *e, int64_t step); /* e NULL: nothing to add; an interruption makes s incomplete */
char *rouge_text(const Text_eval *e, const Rouge *r);
json_t *rouge_json(const Text_eval *e, const Rouge *r);

/* ---- trainer/best.c: which evaluation is the best */

const char *metric_name(const Lathe_recipe *r);
void check_metric(const Trainer *t, const Data *d); /* ends the program (2) if there is none of that name */
double metric_value(const Lathe_recipe *r, const Scores *s);
/* Records an evaluation; returns whether it is the best so far.  NaN never is. */
bool note_evaluation(Progress *p, const Lathe_recipe *r, const Scores *s);
bool out_of_patience(const Progress *p, const Lathe_recipe *r);

#endif
