/* metrics.h: metrics of predictions by their task. */
#ifndef LATHE_TRAINER_METRICS_H
#define LATHE_TRAINER_METRICS_H

#include "trainer/predict.h"

#include <jansson.h>

typedef struct Metrics Metrics;

/* Runs the model over the rows, and compares the output logits with their classes, or prediction with their numbers.
 * NULL: it has no such output, or the data no such target. */
Metrics *measure_predictions(const Predictions *p);
void free_metrics(Metrics *m);
enum { MOST_VALUES = 10 };
/* Those that are one number for all; the model does not run. */
int names_of_metrics(const Predictions *p, const char **name);
double metric_of_task(const Metrics *m, const char *name); /* one of them */
void print_metrics(const Metrics *m, const char *items); /* items: "rows" */
json_t *class_names_json(const Metrics *m); /* null: they have none */
json_t *metrics_json(const Metrics *m); /* confusion: rows of each class, by what is predicted */

#endif
