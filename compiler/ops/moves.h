/* moves.h: what the moves share: reshape, permute, expand, slice, pad, flip. */
#ifndef OPS_MOVES_H
#define OPS_MOVES_H

#include "ops/parts.h"

const char *moved_into(const Node *n, Shape s, Type *results); /* results: the input's type, of shape s; NULL */
void placed_eval(const Node *n, const Value *in, Value *out);  /* by the op's place(); zeros where it is outside */

#endif
