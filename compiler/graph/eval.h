/* eval.h: what the files of the interpreter share. */
#ifndef GRAPH_EVAL_H
#define GRAPH_EVAL_H

#include "graph/graph.h"

/* Visits the elements of a shape in order: for (Walk w = walk(s); w.i < w.n; step(&w)) … w.at[axis], w.i. */
typedef struct Walk {
    Shape shape;
    int64_t at[MAXRANK], i, n;
} Walk;
Walk walk(Shape s);
void step(Walk *w);
void strides_of(Shape s, int64_t *stride);
int64_t offset_at(Shape s, const int64_t *at);

/* Reusable memory: n words of 8 bytes, not cleared. */
void *take(int64_t n);
void give(void *words);

/* Philox4x32-10 of Random123: four words from a counter and a key. */
void philox4x32(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

/* One element of a map with result dtype t; integer ops get integers.  Also used for folding constants. */
double eval_element(Op op, DType operands, DType result, const double *in);

/* v rounded to t. */
void eval_stored(DType t, Value *v);

/* The result of a reduction over no elements; r with one more element. */
double reduce_start(Op op);
double reduce_step(Op op, DType t, double r, double a);

/* false (in tests): a cast to BF16 or F16 does not round. */
extern bool eval_rounds_stored;

#endif
