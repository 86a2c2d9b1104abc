/* onnx.h: a graph as a file of ONNX: what the files of this room share. */
#ifndef ONNX_ONNX_H
#define ONNX_ONNX_H

#include "desc/desc.h"

/* What a node is in the file.  It is written only where an operator needs it whole. */
typedef struct Val Val;
typedef VEC(Val *) Vals;
struct Val {
    DType dtype;
    Shape shape;                /* the node's */
    const char *name;           /* of a value in the file; NULL: there is none yet */
    Shape there;                /* of that value: as shape, or with extents 1, or of rank 0, where it repeats */
    Vals part;                  /* a stack of these, or a node's several results; none: it is neither */
    const Param *param;         /* … or a copy of this parameter; NULL: it is none */
    int nat;                    /* leading axes of the parameter's copies that are settled */
    int64_t at[MAXRANK];        /* … at these */
};

typedef struct Onnx {
    const Desc *desc;
    Text nodes, constants, inputs, outputs;     /* fields of GraphProto */
    Strings names;              /* taken */
    Strings constant;           /* numbers of constants that are there, by their text */
    VEC(const char *) constant_name;
    Strings weight;             /* likewise, those that the trainer fills in */
    VEC(const char *) weights;
    Table values;               /* Val *, by node */
    const Graph *totals;        /* eval, while score is being written, whose inputs are its outputs; else NULL */
    VEC(struct Onnx_output { Node *node; const char *name; }) outs;
    const Node *node;           /* whose operators are being written */
    VEC(int64_t) trips;         /* of the loops around it */
    int operators;
} Onnx;

/* onnx/proto.c: fields of messages */
void proto_int(Text *t, int field, int64_t v);
void proto_bytes(Text *t, int field, const void *at, size_t n);
void proto_text(Text *t, int field, const char *s);
void proto_message(Text *t, int field, const Text *m);
void attribute_int(Text *t, const char *name, int64_t v);          /* of NodeProto */
void attribute_ints(Text *t, const char *name, int n, const int64_t *v);
void attribute_text(Text *t, const char *name, const char *s);

/* onnx/file.c: operators, constants, values */
int onnx_type(DType t);                                     /* TensorProto.DataType */
void describe_value(Text *t, int field, const char *name, DType type, Shape s);
const char *onnx_name(Onnx *o, const char *wish);           /* which nothing else has */
const char *operator_n(Onnx *o, const char *type, int n, const char *const *in, const Text *attributes);
const char *operator_1(Onnx *o, const char *type, const char *a);
const char *operator_2(Onnx *o, const char *type, const char *a, const char *b);
const char *operator_3(Onnx *o, const char *type, const char *a, const char *b, const char *c);
void operator_to(Onnx *o, const char *type, const char *in, const char *out);
void operator_two(Onnx *o, const char *type, int n, const char *const *in, const Text *attributes, const char **out);
const char *number_in_file(Onnx *o, DType t, double value); /* of rank 0 */
const char *long_in_file(Onnx *o, int64_t value);           /* likewise, i64 */
const char *longs_in_file(Onnx *o, int n, const int64_t *v);        /* i64 [n] */
const char *array_in_file(Onnx *o, DType t, Shape s, const double *v);
Val *val_of(Onnx *o, const Node *n);
Val *new_val(DType t, Shape s, const char *name);           /* whole */
void set_val(Onnx *o, const Node *n, Val *v);
void set_name(Onnx *o, const Node *n, const char *name);    /* … of n's shape */
const char *whole_value(Onnx *o, Val *v);                   /* the name of a value that has its shape */
const char *whole_input(Onnx *o, int k);                    /* of the node's input k */
Val *indices_along(Onnx *o, Shape s, int64_t axis);         /* i32: of each element along the axis */
Val *val_at(Onnx *o, Val *v, int64_t i);                    /* its entry i along the first axis */
const char *published_name(const Param *p, const int64_t *at);     /* of the copy at these places along its loops */
const char *cast_in_file(Onnx *o, const char *a, int type); /* TensorProto.DataType */
const char *reshape_in_file(Onnx *o, const char *a, Shape s);
const char *transposed(Onnx *o, const char *a, int rank, const int *perm);  /* a itself where nothing moves */
enum { ONNX_I32 = 6, ONNX_I64 = 7, ONNX_U32 = 12 };

/* onnx/maps.c */
void onnx_map(Onnx *o);                                     /* o->node, element by element; err() where it has no operator */
/* onnx/draws.c */
const char *philox_in_file(Onnx *o, const char *const *in);
/* onnx/moves.c, products.c, ids.c, lines.c: one for each operation with a file of its own; sets the values of o->node */
#define OWN(name, ...) void onnx_##name(Onnx *o);
#include "graph/ops_default.h"
#include "graph/ops.def"
void onnx_convolved(Onnx *o);                               /* of convolutions towards y; others are written by definition */
void onnx_reduce(Onnx *o);                                  /* moves.c */

/* onnx/model.c: the bytes of a graph without weights, for the trainer (base/protobuf.h) */
Text onnx_part(const Desc *d, const char *entry);           /* entry NULL: predict, or eval; err() where the graph has no place in ONNX */

#endif
