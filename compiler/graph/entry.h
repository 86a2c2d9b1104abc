/* entry.h: properties of the entries of a model (runtime/interface/entries.def). */
#ifndef GRAPH_ENTRY_H
#define GRAPH_ENTRY_H

#include "runtime/interface/names.h"

#include <stdbool.h>

typedef struct Entry_info {
    const char *name;           /* in texts, in model.c, and to the trainer */
    bool step;                  /* a training step: has micro-batches, is timed, profiled and replayed */
    bool training;              /* dropout is on */
    bool gradients;             /* pass_grad adds an OUT_GRAD for every parameter that loss depends on */
    bool pulls;                 /* of outputs, whose gradients are inputs, and also for real inputs: d_NAME; there is no loss */
    bool carries;               /* nn.lstm { carry = true } … has states that go from batch to batch */
    bool decoding;              /* the next token of each row, or several, with states */
    enum { GIVES_NONE, GIVES_OWN, GIVES_ALL, GIVES_METRICS, GIVES_ARRAYS, GIVES_ROWS } gives;   /* outputs: none but states;
                                 * others than forward's; all; real numbers; those with axes that depend on no target; of these, those with
                                 * a row for each row of the batch */
} Entry_info;

/* graph/entry.c */
extern const Entry_info entry_info[];
Entry entry_named(const char *name);                        /* NO_ENTRY: there is none of that name */
const char *name_of_entry(Entry entry, const char *turn);   /* train, train_generator */
bool is_of_gradient(const char *name);                      /* of an input or output of a layer: d_y */
const char *name_of_grown(int grown);                       /* train_2 */

#endif
