/* objective.h: training and evaluating a batch that is cut into parts. */
#ifndef FRONT_OBJECTIVE_H
#define FRONT_OBJECTIVE_H

#include "front/front.h"

struct Rows;

/* Makes the train entry, whose batch is cut into parts (micro-batches), compute what the whole batch gives; wide: the
 * same entry at twice the batch, NULL: it cannot be traced so.  Refuses at its line what cannot be cut; notes what
 * several GPUs cannot share. */
void keep_objective(Trace *trace, Graph *train, const Graph *wide, int64_t batch);

/* The entry score, which computes outputs of eval from totals over all batches; NULL: all of them are means. */
Graph *take_scores(Trace *trace, Graph *eval, Graph *wide, int64_t batch);

/* In eval: pulls a factor out of a sum over rows if the factor depends on such sums itself. */
void pull_factors(Graph *g, Graph *wide, const struct Rows *rows);

/* Warns of outputs with axes whose rows depend on other rows of the batch. */
void tell_meeting(const Graph *grad, int64_t batch);

#endif
