/* parts.c: the table of the parts of all operations, from the rows of graph/ops.def. */
#include "ops/parts.h"

const Parts op_parts[OPS] = {
#define ENTERED_PART(name, part)                            .part = &name##_##part,
#define OWN(name, inputs, kind, results, facts, parts, ...) [OP_##name] = {EACH_PART(ENTERED_PART, name, parts)},
#define WHOLE_OP(name, parts, ...)                          [OP_##name] = {EACH_OF(ENTERED_PART, name, UNWRAPPED parts)},
#include "graph/ops_default.h"
#include "graph/ops.def"
};
