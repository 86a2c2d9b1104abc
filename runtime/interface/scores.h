/* scores.h: names of losses and metrics: patterns of names, and which way is better. */
#ifndef LATHE_INTERFACE_SCORES_H
#define LATHE_INTERFACE_SCORES_H

#include <stdbool.h>
#include <string.h>

/* Whether a name matches the pattern: * stands for any text, ? for one byte. */
static inline bool lathe_matches(const char *pattern, const char *name)
{
    const char *star = NULL, *from = NULL;
    while (*name) {
        if (*pattern == '*') star = pattern++, from = name;
        else if (*pattern == *name || *pattern == '?') pattern++, name++;
        else if (star) pattern = star + 1, name = ++from;
        else return false;
    }
    while (*pattern == '*') pattern++;
    return *pattern == 0;
}

/* The metrics of the texts that an evaluation writes (eval_generate). */
#define LATHE_ROUGES "rouge1", "rouge2", "rougeL"

/* What `trainer eval` adds of rows, by their task (trainer/metrics.c): 1: lower values are better; 0: higher ones;
 * -1: it is none of these. */
static inline int lathe_less_is_better_of_task(const char *metric)
{
    static const char *const less[] = {"rmse", "mae", "mape", "log_loss", "brier", "calibration_error", "cer", "wer"};
    static const char *const more[] = {"r2", "accuracy", "balanced_accuracy", "macro_f1", "top_5_accuracy", "auc",
                                       "average_precision"};
    for (unsigned i = 0; i < sizeof less / sizeof *less; i++)
        if (lathe_matches(less[i], metric)) return 1;
    for (unsigned i = 0; i < sizeof more / sizeof *more; i++)
        if (lathe_matches(more[i], metric)) return 0;
    return -1;
}

/* 1: lower values of a metric are better; 0: higher ones; -1: its name does not say. */
static inline int lathe_less_is_better(const char *metric)
{
    if (lathe_matches("loss", metric) || lathe_matches("perplexity", metric)) return 1;
    return lathe_matches("rouge*", metric) ? 0 : lathe_less_is_better_of_task(metric);
}

#endif
