/* parts.h: what an operation's file includes: the declarations of all parts, made from the rows of graph/ops.def. */
#ifndef OPS_PARTS_H
#define OPS_PARTS_H

#include "desc/range.h"
#include "graph/eval.h"
#include "graph/fault.h"
#include "graph/parts.h"
#include "graph/rows_ops.h"
#include "kernels/kernel.h"
#include "ops/grad.h"
#include "ops/trips.h"

/* EACH_PART(m, name, (a, b)): m(name, a) m(name, b) */
#define UNWRAPPED(...)           __VA_ARGS__
#define EACH_1(m, name, a)       m(name, a)
#define EACH_2(m, name, a, ...)  m(name, a) EACH_1(m, name, __VA_ARGS__)
#define EACH_3(m, name, a, ...)  m(name, a) EACH_2(m, name, __VA_ARGS__)
#define EACH_4(m, name, a, ...)  m(name, a) EACH_3(m, name, __VA_ARGS__)
#define EACH_5(m, name, a, ...)  m(name, a) EACH_4(m, name, __VA_ARGS__)
#define EACH_6(m, name, a, ...)  m(name, a) EACH_5(m, name, __VA_ARGS__)
#define SEVENTH(a, b, c, d, e, f, g, ...) g
#define EACH_OF(m, name, ...)                                                                                          \
    SEVENTH(__VA_ARGS__, EACH_6, EACH_5, EACH_4, EACH_3, EACH_2, EACH_1, )(m, name, __VA_ARGS__)
#define EACH_PART(m, name, parts) EACH_OF(m, name, fault, eval, rows) EACH_OF(m, name, UNWRAPPED parts)

#define DECLARED_PART(name, part) extern Part_##part name##_##part;
#define OWN(name, inputs, kind, results, facts, parts, ...) EACH_PART(DECLARED_PART, name, parts)
#define WHOLE_OP(name, parts, ...) EACH_OF(DECLARED_PART, name, UNWRAPPED parts)
#include "graph/ops_default.h"
#include "graph/ops.def"

#endif
