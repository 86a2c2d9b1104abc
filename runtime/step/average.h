/* average.h: a mean of the weights over the run, which is what is evaluated and saved: a running mean (EMA), or that of
 * schedule-free AdamW. */
#ifndef LATHE_STEP_AVERAGE_H
#define LATHE_STEP_AVERAGE_H

#include "interface/lathe_model.h"
#include "step/optim.h"

/* The share of the new weights in their mean at an update (from 0, ascending).  EMA: ema_share().  Schedule-free:
 * of m² in its sum so far, where m is the largest rate so far. */
double averaged_share(Optimizer *o, const Lathe_recipe *r, int64_t update);

void begin_averages(const Optimizer *o, const void *params); /* before the first update; z of schedule-free, too */
void begin_average_range(const Optimizer *o, const void *params, int64_t first, int64_t end); /* of some elements */
void optimizer_up(const Optimizer *o); /* to a device: what does not begin as zeros: these, and codes */
/* The mean in the place of the trained parameters, which are kept in `aside`, an array as long as that of gradients, until
 * show_trained() puts them back, bit for bit. */
void show_averages(const Optimizer *o, void *params, void *aside);
void keep_trained(const Optimizer *o, void *params, void *aside); /* the first half of that */
void show_average_range(const Optimizer *o, void *params, int64_t first, int64_t end); /* the second, of some elements */
void show_trained(const Optimizer *o, void *params, void *aside);

#endif
