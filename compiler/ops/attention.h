/* attention.h: extents and shapes of attention, for what it means (ops/attention.c) and its definition. */
#ifndef OPS_ATTENTION_H
#define OPS_ATTENTION_H

#include "desc/desc.h"

/* nb batch axes of extents `batch`; q, k, v: whose axes those of results are */
typedef struct Attention_extents {
    int nb;
    Shape batch, q, k, v;
    int64_t T, S, H, G, D, E;
} Attention_extents;

static inline Attention_extents attention_extents(const Attention *a)
{
    Shape q = a->q->shape, k = a->k->shape, v = a->v->shape, batch = q;
    int nb = batch.rank = q.rank - 3;
    return (Attention_extents){.nb = nb,
                               .batch = batch,
                               .q = q,
                               .k = k,
                               .v = v,
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
    for (int i = 0; i < n; i++) s.axis[s.rank] = 0, s.dim[s.rank++] = more[i];
    return s;
}

static inline Shape score_shape(const Attention_extents *z)
{
    return with_axis(with_axis(with_axis(z->batch, z->q, z->nb + 1), z->q, z->nb), z->k, z->nb);
}

static inline Shape lse_shape(const Attention_extents *z)
{
    return with_axis(with_axis(z->batch, z->q, z->nb + 1), z->q, z->nb);
}

static inline Shape result_shape(const Attention_extents *z)
{
    return with_axis(with_axis(with_axis(z->batch, z->q, z->nb), z->q, z->nb + 1), z->v, z->nb + 2);
}

/* of: z->q or z->k */
static inline Shape turns_shape(const Attention_extents *z, Shape of)
{
    return with_axis(with_axis(z->batch, of, z->nb), of, z->nb + 2);
}

#endif
