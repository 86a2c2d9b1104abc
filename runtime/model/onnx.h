/* onnx.h: writes a model as a file of ONNX, from the graph that `lathe export` hands over. */
#ifndef LATHE_MODEL_ONNX_H
#define LATHE_MODEL_ONNX_H

#include "interface/lathe_model.h"

#include <stdbool.h>

/* ---- model/onnx_part.c: the graph */

typedef struct Onnx_part {
    char *all; /* the file, from malloc */
    int64_t bytes, weights, model_bytes, graph_bytes;
    const char *name;           /* of the first weight; the others follow, each behind a 0 */
    const char *model, *graph;  /* fields of ModelProto but for the graph; of GraphProto but for weights */
} Onnx_part;

/* Ends the program (3) if it is none, not whole, or of a description with another hash. */
void read_onnx_part(Onnx_part *p, const char *path, uint64_t description);

/* ---- model/onnx.c: the file */

bool is_onnx(const char *path); /* a file that begins as one */
/* part: the file of the graph; returns the number of weights.  Ends the program (3) if that is of another model, a weight
 * is not finite, all is beyond what a file of ONNX holds, or path cannot be written; an old file at path is kept then. */
int64_t write_onnx(const char *path, const char *part, const Lathe_model *m, const void *flat, const void *statistics);

#endif
