/* convolution_define.c: a convolution and its derivatives written in primitives: what the interpreter computes, and
 * what takes their place where no kernel does (pass_whole).  ops/convolution.c says what they mean.
 *
 * Each place of a kernel, a tap, is a slice of the padded x; the slices side by side are multiplied in one product.
 * Where each channel is alone (depthwise), taps are multiplied element by element. */
#include "ops/convolution.h"

static Shape extents(int n, const int64_t *dim) { return shape_of(n, dim); }

/* [batch…][…] as [batch][…] */
static Node *one_batch(Node *x, int nb)
{
    Shape s = {.rank = 1, .dim = {1}};
    for (int i = 0; i < nb; i++) s.dim[0] *= x->shape.dim[i];
    if (nb == 1) s.axis[0] = x->shape.axis[0];
    for (int i = nb; i < x->shape.rank; i++) s = with_axis(s, x->shape, i);
    return reshape(x, s);
}

/* The last axis, channels, as [groups][channels / groups]. */
static Node *in_groups(Node *x, int64_t groups)
{
    Shape s = x->shape;
    s.dim[s.rank] = s.dim[s.rank - 1] / groups;
    s.dim[s.rank - 1] = groups;
    s.axis[s.rank] = s.axis[s.rank - 1] = 0;
    s.rank++;
    return reshape(x, s);
}

static Node *padded_at(Node *x, int axis, int64_t before, int64_t after)
{
    int64_t low[MAXRANK] = {0}, high[MAXRANK] = {0};
    if (!before && !after) return x;
    low[axis] = before, high[axis] = after;
    return pad(x, low, high);
}

static Node *sliced_at(Node *x, int axis, int64_t start, int64_t extent, int64_t by)
{
    int64_t from[MAXRANK] = {0}, step[MAXRANK];
    Shape s = x->shape;
    for (int i = 0; i < s.rank; i++) step[i] = 1;
    from[axis] = start, step[axis] = by, s.dim[axis] = extent;
    return slice(x, from, s.dim, step);
}

static int64_t tap_reach(const Convolved *a) { return (a->kernel - 1) * a->dilation; }

/* What place number k along axis i reads: [batch][… Y_i …][channels]. */
static Node *tap_along(const Convolution *v, Node *x, int i, int64_t k)
{
    const Convolved *a = &v->axis[i];
    int64_t Y = extent_of_y(v, i);
    int64_t missing = (Y - 1) * a->stride + tap_reach(a) + 1 - a->before - x->shape.dim[1 + i];
    Node *wide = padded_at(x, 1 + i, a->before, missing > 0 ? missing : 0);
    return sliced_at(wide, 1 + i, k * a->dilation, Y, a->stride);
}

static void add_taps(const Convolution *v, Node *x, int i, Nodes *taps)
{
    for (int64_t k = 0; i < v->n && i < LATHE_CONVOLVED && k < v->axis[i].kernel; k++) add_taps(v, tap_along(v, x, i, k), i + 1, taps);
    if (i == v->n) push(taps, x);
}

/* What x is multiplied with the weight as: [batch][Y…][groups][places][C / groups] */
static Node *taps_of(const Convolution *v)
{
    Nodes taps = {0};
    add_taps(v, one_batch(v->x, batch_axes(v)), 0, &taps);
    for (int k = 0; k < taps.n; k++) {
        Node *tap = in_groups(taps.at[k], v->groups);
        Shape s = axes_before(tap->shape, v->n + 2);
        s.dim[s.rank++] = 1;
        taps.at[k] = reshape(tap, with_axis(s, tap->shape, v->n + 2));
    }
    return taps.n > 1 ? concat(taps.n, taps.at, v->n + 2) : taps.at[0];
}

/* [groups][O / groups][C / groups][places] */
static Node *grouped_weight(const Convolution *v)
{
    int64_t O = v->w->shape.dim[0] / v->groups;
    return reshape(v->w, extents(4, (int64_t[]){v->groups, O, v->w->shape.dim[1], places_of(v)}));
}

/* [groups][batch][Y…][channels of a group] as [batch][Y…][channels] */
static Node *groups_last(const Convolution *v, Node *y)
{
    int perm[MAXRANK];
    for (int i = 0; i <= v->n; i++) perm[i] = i + 1;
    perm[v->n + 1] = 0;
    perm[v->n + 2] = v->n + 2;
    y = permute(y, perm);
    Shape s = axes_before(y->shape, v->n + 1);
    s.dim[s.rank] = y->shape.dim[v->n + 1] * y->shape.dim[v->n + 2];
    s.rank++;
    return reshape(y, s);
}

static Node *towards_y(const Convolution *v)
{
    int g = v->n + 1;
    Dot_axes x = {.nb = 1, .nc = 2, .ab = {g}, .bb = {0}, .ac = {g + 1, g + 2}, .bc = {3, 2}};
    return groups_last(v, dot(taps_of(v), grouped_weight(v), x));
}

/* ------------------------------------------------------------------ towards x */

/* The elements along an axis with stride - 1 zeros between two. */
static Node *strided(Node *x, int axis, int64_t stride)
{
    Shape between = axes_before(x->shape, axis + 1), whole = x->shape;
    int64_t last = (x->shape.dim[axis] - 1) * stride + 1;
    if (stride == 1) return x;
    between.dim[between.rank++] = 1;
    for (int i = axis + 1; i < x->shape.rank; i++) between = with_axis(between, x->shape, i);
    whole.dim[axis] *= stride;
    whole.axis[axis] = 0;
    x = reshape(padded_at(reshape(x, between), axis + 1, 0, stride - 1), whole);
    return sliced_at(x, axis, 0, last, 1);
}

/* parts[k · apart], for each place k along axis i: each where it lies, added. */
static Node *overlapped(const Convolution *v, Node *const *parts, int64_t apart, int i)
{
    const Convolved *a = &v->axis[i];
    Node *sum = NULL;
    int64_t Y = parts[0]->shape.dim[1 + i], length = (Y - 1) * a->stride + tap_reach(a) + 1, X = a->extent;
    for (int64_t k = 0; k < a->kernel; k++) {
        Node *part = strided(parts[k * apart], 1 + i, a->stride);
        int64_t before = k * a->dilation;
        part = padded_at(part, 1 + i, before, length - before - part->shape.dim[1 + i]);
        sum = sum ? map2(OP_add, sum, part) : part;
    }
    if (length < a->before + X) sum = padded_at(sum, 1 + i, 0, a->before + X - length);
    return sliced_at(sum, 1 + i, a->before, X, 1);
}

/* parts: [batch][Y…][C] for each place: what it adds to x. */
static Node *added_up(const Convolution *v, Nodes *parts)
{
    int64_t left = places_of(v);
    for (int i = v->n - 1; i >= 0; i--) {
        int64_t kernel = v->axis[i].kernel;
        left /= kernel;
        for (int64_t k = 0; k < left; k++) parts->at[k] = overlapped(v, parts->at + k * kernel, 1, i);
    }
    return parts->at[0];
}

static Node *towards_x(const Convolution *v)
{
    int g = v->n + 1, last = v->n + 3;
    Dot_axes axes = {.nb = 1, .nc = 1, .ab = {g}, .bb = {0}, .ac = {g + 1}, .bc = {1}};
    Node *all = dot(in_groups(one_batch(v->y, batch_axes(v)), v->groups), grouped_weight(v), axes);
    Nodes parts = {0}; /* [groups][batch][Y…][C / groups], for each place */
    for (int64_t k = 0; k < places_of(v); k++) {
        Node *part = sliced_at(all, last, k, 1, 1);
        push(&parts, groups_last(v, reshape(part, axes_before(part->shape, last))));
    }
    return added_up(v, &parts);
}

/* ------------------------------------------------------------------ towards w */

/* [batch][Y…][channels…], of which `n` axes are channels, as [parts][pixels of a part][channels…], zeros at the end */
static Node *in_parts(const Convolution *v, Node *x, int n)
{
    int64_t lines = 1, across = x->shape.dim[v->n];
    for (int i = 0; i < v->n; i++) lines *= x->shape.dim[i];
    int64_t each = (lines + v->parts - 1) / v->parts;
    Shape by_line = extents(1, &lines), by_part = extents(2, (int64_t[]){v->parts, each * across});
    by_line.dim[by_line.rank++] = across;
    for (int i = 0; i < n; i++) {
        by_line = with_axis(by_line, x->shape, v->n + 1 + i);
        by_part = with_axis(by_part, x->shape, v->n + 1 + i);
    }
    return reshape(padded_at(reshape(x, by_line), 0, 0, v->parts * each - lines), by_part);
}

static Node *towards_w(const Convolution *v)
{
    Node *taps = in_parts(v, taps_of(v), 3);                                        /* [groups][places][C / groups] */
    Node *y = in_parts(v, in_groups(one_batch(v->y, batch_axes(v)), v->groups), 2); /* [groups][O / groups] */
    Dot_axes axes = {.nb = 2, .nc = 1, .ab = {0, 2}, .bb = {0, 2}, .ac = {1}, .bc = {1}};
    Node *w = permute(dot(y, taps, axes), (int[]){0, 1, 2, 4, 3}); /* it was [parts][groups][O][places][C] */
    Shape s = extents(3, (int64_t[]){v->parts, channels_of_y(v), channels_of_x(v) / v->groups});
    for (int i = 0; i < v->n; i++) s.dim[s.rank++] = v->axis[i].kernel;
    return reshape(w, s);
}

/* ------------------------------------------------------------------ each channel alone */

/* x · the weights of place k, channel by channel */
static Node *times_place(const Convolution *v, Node *x, int64_t k)
{
    Node *w = reshape(v->w, extents(2, (int64_t[]){channels_of_y(v), places_of(v)}));
    w = sliced_at(w, 1, k, 1, 1);
    return map2(OP_mul, x, broadcast(reshape(w, axes_before(w->shape, 1)), x->shape));
}

static Node *alone_towards_y(const Convolution *v)
{
    Nodes taps = {0};
    add_taps(v, one_batch(v->x, batch_axes(v)), 0, &taps);
    Node *y = times_place(v, taps.at[0], 0);
    for (int k = 1; k < taps.n; k++) y = map2(OP_add, y, times_place(v, taps.at[k], k));
    return y;
}

static Node *alone_towards_x(const Convolution *v)
{
    Nodes parts = {0};
    Node *y = one_batch(v->y, batch_axes(v));
    for (int64_t k = 0; k < places_of(v); k++) push(&parts, times_place(v, y, k));
    return added_up(v, &parts);
}

static Node *alone_towards_w(const Convolution *v)
{
    Nodes taps = {0};
    Node *y = in_parts(v, one_batch(v->y, batch_axes(v)), 1);
    int64_t C = channels_of_y(v);
    add_taps(v, one_batch(v->x, batch_axes(v)), 0, &taps);
    for (int k = 0; k < taps.n; k++) {
        Node *products = map2(OP_mul, in_parts(v, taps.at[k], 1), y);
        taps.at[k] = reshape(reduce(OP_sum, products, 1, (int[]){1}), extents(3, (int64_t[]){v->parts, C, 1}));
    }
    Shape s = extents(3, (int64_t[]){v->parts, C, 1});
    for (int i = 0; i < v->n; i++) s.dim[s.rank++] = v->axis[i].kernel;
    return reshape(taps.n > 1 ? concat(taps.n, taps.at, 2) : taps.at[0], s);
}

/* ------------------------------------------------------------------ all */

/* [batch][…] as [batch…][…] */
static Node *batch_again(const Convolution *v, Node *x)
{
    Shape s = axes_before(image_of(v)->shape, batch_axes(v));
    for (int i = 1; i < x->shape.rank; i++) s = with_axis(s, x->shape, i);
    return reshape(x, s);
}

static Node *alone_meant(const Convolution *v)
{
    switch (v->side) {
    case TOWARDS_Y: return batch_again(v, alone_towards_y(v));
    case TOWARDS_X: return batch_again(v, alone_towards_x(v));
    default: return alone_towards_w(v);
    }
}

Node *convolution_meant(const Convolution *v)
{
    if (each_channel_alone(v)) return alone_meant(v);
    switch (v->side) {
    case TOWARDS_Y: return batch_again(v, towards_y(v));
    case TOWARDS_X: return batch_again(v, towards_x(v));
    default: return towards_w(v);
    }
}
