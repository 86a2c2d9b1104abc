/* ops/attention.h: extents and shapes of attention, for what it means (op_attention.c) and its definition. */
#ifndef OPS_ATTENTION_H
#define OPS_ATTENTION_H

#include "lathe.h"

/* nb batch axes of extents `batch` */
typedef struct Attention_extents {
    int nb;
    Shape batch;
    int64_t T, S, H, G, D, E;
} Attention_extents;

static inline Attention_extents attention_extents(const Attention *a)
{
    Shape q = a->q->shape, k = a->k->shape, v = a->v->shape;
    int nb = q.rank - 3;
    return (Attention_extents){.nb = nb,
                               .batch = shape_of(nb, q.dim),
                               .T = q.dim[nb],
                               .H = q.dim[nb + 1],
                               .D = q.dim[nb + 2],
                               .S = k.dim[nb],
                               .G = k.dim[nb + 1],
                               .E = v.dim[nb + 2]};
}

/* [batch…][n axes more] */
static inline Shape over_batch(const Attention_extents *z, int n, const int64_t *more)
{
    Shape s = z->batch;
    for (int i = 0; i < n; i++) s.dim[s.rank++] = more[i];
    return s;
}

static inline Shape score_shape(const Attention_extents *z) { return over_batch(z, 3, (int64_t[]){z->H, z->T, z->S}); }
static inline Shape lse_shape(const Attention_extents *z) { return over_batch(z, 2, (int64_t[]){z->H, z->T}); }
static inline Shape result_shape(const Attention_extents *z) { return over_batch(z, 3, (int64_t[]){z->T, z->H, z->E}); }

static inline Shape turns_shape(const Attention_extents *z, int64_t times)
{
    return over_batch(z, 2, (int64_t[]){times, z->D});
}

#endif
