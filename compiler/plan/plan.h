/* plan.h: what the order of kernels, and their memory, have for each other and for later stages. */
#ifndef PLAN_PLAN_H
#define PLAN_PLAN_H

#include "kernels/kernels.h"

/* plan/in_place.c: the store of phase `phase` may go over bytes that k reads; the one full store that touches b, or NULL */
bool may_overwrite(const Kernel *k, int phase, const View *store, const Buffer *old);
const Operand *only_store(const Kernel *k, const Buffer *b, int *phase);

/* plan/panels.c, plan/pack.c, plan/persist.c */
bool panels_allow(const Kernel *panels, const Buffer *a, const Buffer *b);  /* may they share bytes in there */
bool stays(const View *v, const Kernel *repeat);            /* plan/pack.c: does it show the same in all iterations */
bool touches_by_period(const Kernel *k, const Buffer *b, int64_t period);   /* element i of b in column i % period alone */

/* ---- plan/pack.c: of the arena, made by a pass that refines a program; `value`: what the plan names it by */
Buffer *work_buffer(Program *p, const char *wish, DType t, Shape s, Loop *level, Node *value);

/* ---- plan/pack.c */
Kernel *pack_right(Program *p, Kernel *product, Loop *level);   /* the PACK kernel whose result the product now reads */

/* plan/plan.c: bytes; runs of elements of which an optimizer's step on a device has a table */
int64_t bytes_of_state(const Desc *d, const Tensor_spec *s);
int64_t runs_in_step(const Desc *d);

/* ---- plan/ranks.c */
void plan_for_ranks(Module *m, int ranks);                  /* the plan of each of several that train together */

#endif
