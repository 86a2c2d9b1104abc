/* objective.h: what is trained and evaluated, of a batch that is cut. */
#ifndef FRONT_OBJECTIVE_H
#define FRONT_OBJECTIVE_H

#include "front/front.h"

struct Rows;

/* Makes the train entry, whose batch is cut into parts (micro-batches), compute what the whole batch gives; wide: the
 * same entry at twice the batch, NULL where that does not go.  What cannot be cut is refused at its line; what several
 * GPUs cannot share is noted. */
void keep_objective(Trace *trace, Graph *train, const Graph *wide, int64_t batch);

/* Entry score, where eval's outputs have to be made of sums over all batches; NULL where they are means. */
Graph *take_scores(Trace *trace, Graph *eval, Graph *wide, int64_t batch);

/* In eval: moves a factor of a sum over rows in front of the sum, if the factor is made of such sums itself. */
void pull_factors(Graph *g, Graph *wide, const struct Rows *rows);

/* Tells which outputs that are no scalars depend on the other rows of a batch. */
void tell_meeting(const Graph *grad, int64_t batch);

#endif
