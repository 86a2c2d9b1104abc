/* best.c: which evaluation is the best so far by the recipe's metric, and when patience runs out. */
#include "base/words.h"
#include "data/data.h"
#include "interface/lathe_model.h"
#include "step/state.h"
#include "text/rouge.h"
#include "trainer/eval.h"
#include "trainer/metrics.h"
#include "trainer/trainer.h"

#include <math.h>
#include <string.h>

const char *metric_name(const Lathe_recipe *r) { return r->best ? r->best : "loss"; }

/* Of a name that check_metric() accepts: where it does not tell which is better, it is a loss's. */
static bool less_is_better(const Lathe_recipe *r)
{
    return r->best_mode == LATHE_MODE_KNOWN ? lathe_less_is_better(metric_name(r)) != 0 : r->best_mode == LATHE_LOWEST;
}

/* Is it one of several losses? The description's `best` is, if its name does not say and no mode was given. */
static bool is_loss(const Lathe_model *m, const char *name)
{
    const Lathe_recipe *own = &m->recipe;
    bool loss = own->best && own->best_mode == LATHE_MODE_KNOWN && strcmp(own->best, name) == 0;
    for (int k = 0; k < m->turns; k++) loss |= strcmp(m->turn[k].loss, name) == 0;
    return loss;
}

void check_metric(const Trainer *t, const Data *d)
{
    const Lathe_recipe *r = &t->recipe;
    const char *name = metric_name(r), *known[MAX_SCORES + ROUGES + 1 + MOST_VALUES];
    Scores s = no_scores(t);
    int n = s.task;
    char *all = text_of("%s", "");
    memcpy(known, s.name, sizeof *known * (size_t)n);
    if (r->best) n += names_of_task(t, d, known + n);
    if (has_tokens(d)) known[n++] = "perplexity";
    bool found = false;
    for (int i = 0; i < n; i++) {
        bool again = false; /* an output and a metric of the task may have one name */
        for (int k = 0; k < i; k++) again |= strcmp(known[k], known[i]) == 0;
        found |= strcmp(known[i], name) == 0;
        if (!again) all = text_of("%s%s%s", all, i ? ", " : "", known[i]);
    }
    if (!found)
        fail(EXIT_USAGE, NULL, "best=%s: there is no such metric; this model has %s%s", name, all,
             strncmp(name, "rouge", 5) == 0 ? ", and with eval_generate=N rouge1, rouge2 and rougeL" : "");
    if (r->best_mode == LATHE_MODE_KNOWN && lathe_less_is_better(name) < 0 && !is_loss(t->model, name))
        fail(EXIT_USAGE, NULL,
             "best=%s: its name does not say whether lower or higher is better; give --set best_mode=min or max", name);
    if (r->patience && !r->eval_every && !r->eval_epochs)
        note("patience counts evaluations, and the only one is at the end; give --eval-every N");
}

double metric_value(const Lathe_recipe *r, const Scores *s)
{
    const char *name = metric_name(r);
    for (int i = 0; i < s->n; i++)
        if (strcmp(s->name[i], name) == 0) return s->value[i];
    return perplexity_of(s);
}

bool note_evaluation(Progress *p, const Lathe_recipe *r, const Scores *s)
{
    double value = metric_value(r, s);
    bool first = p->best_step < 0, better = less_is_better(r) ? value < p->best_value : value > p->best_value;
    p->evaluated = p->step;
    p->stale++;
    if (!isfinite(value) || (!first && !better)) return false;
    p->best_step = p->step;
    p->best_value = value;
    p->stale = 0;
    return true;
}

bool out_of_patience(const Progress *p, const Lathe_recipe *r) { return r->patience > 0 && p->stale >= r->patience; }
