/* convolution.h: a convolution's extents, for what it means (ops/convolution.c) and its definition. */
#ifndef OPS_CONVOLUTION_H
#define OPS_CONVOLUTION_H

#include "desc/desc.h"

/* The channels of x and y, and how many of each a group has. */
static inline int64_t channels_of_x(const Convolution *v)
{
    const Node *x = v->side == TOWARDS_X ? v->w : v->x;
    return v->side == TOWARDS_X ? x->shape.dim[1] * v->groups : x->shape.dim[x->shape.rank - 1];
}

static inline int64_t channels_of_y(const Convolution *v)
{
    const Node *y = v->side == TOWARDS_Y ? v->w : v->y;
    return y->shape.dim[v->side == TOWARDS_Y ? 0 : y->shape.rank - 1];
}

static inline bool each_channel_alone(const Convolution *v)
{
    return v->groups > 1 && channels_of_x(v) == v->groups && channels_of_y(v) == v->groups;
}

/* What it reads that has pixels: x, or y towards x. */
static inline Node *image_of(const Convolution *v) { return v->side == TOWARDS_X ? v->y : v->x; }
static inline int batch_axes(const Convolution *v) { return image_of(v)->shape.rank - v->n - 1; }

static inline int64_t places_of(const Convolution *v)
{
    int64_t places = 1;
    for (int i = 0; i < v->n; i++) places *= v->axis[i].kernel;
    return places;
}

/* Extents of x and y along axis i. */
static inline int64_t extent_of_x(const Convolution *v, int i)
{
    return v->side == TOWARDS_X ? v->axis[i].extent : v->x->shape.dim[batch_axes(v) + i];
}
static inline int64_t extent_of_y(const Convolution *v, int i)
{
    return v->side == TOWARDS_Y ? v->axis[i].extent : v->y->shape.dim[batch_axes(v) + i];
}

/* ops/convolution_define.c */
Node *convolution_meant(const Convolution *v);

#endif
