/* convolution.c: a convolution as one operation, and its derivatives, which are the same with other sides known.
 *
 *     x [batch…][X…][C]    y [batch…][Y…][O]    w [O][C / groups][K…]      one to three axes; here, one:
 *     y[b][j][o] = Σ over k, c of x[b][j · stride + k · dilation - before][c] · w[o][c][k]
 *
 * x is 0 where that index is outside; with groups, output channel o reads the input channels of its group.
 *
 *   inputs    two of x, y, w, in this order; the result is the third
 *   ints      side (enum Side_of) · axes · groups · parts · for each axis kernel, stride, dilation, before, and the
 *             extent of the result, x or y
 *
 * TOWARDS_X adds up what each x[i] is multiplied with: a transposed convolution, and the derivative towards x.
 * TOWARDS_W is the derivative towards w, in parts that are added outside: [parts][O][C / groups][K…].  Batch and axes
 * but the last are lines; part p has lines p · L … (p + 1) · L - 1, where L is their number divided by `parts`, rounded
 * up.  Parts are tasks for threads; there are as many as the extents ask for.
 *
 * On a CPU math/convolution.c computes it; elsewhere its definition takes its place. */
#include "ops/convolution.h"
#include "desc/target.h"
#include "ops/parts.h"

enum { SIDE, AXES, GROUPS, PARTS, FIRST, EACH = 5 };
enum {
    TASKS = 32,    /* of the derivative towards w: enough for the threads */
    CHANNELS = 16, /* input and output channels of a task, as in math/convolution.c */
    LANES = 32
};

/* Where the inputs belong. */
static void inputs_of(Convolution *v, Node ***slot)
{
    slot[0] = v->side == TOWARDS_X ? &v->y : &v->x;
    slot[1] = v->side == TOWARDS_W ? &v->y : &v->w;
}

Convolution convolution_of(const Node *n)
{
    Node **slot[2];
    Convolution v = {.side = (Side_of)n->ints[SIDE], .n = (int)n->ints[AXES]};
    v.groups = n->ints[GROUPS], v.parts = n->ints[PARTS];
    inputs_of(&v, slot);
    for (int k = 0; k < 2; k++) *slot[k] = n->in[k];
    for (int i = 0; i < v.n; i++) {
        const int64_t *at = n->ints + FIRST + EACH * i;
        v.axis[i] = (Convolved){at[0], at[1], at[2], at[3], at[4]};
    }
    return v;
}

static Node *made(Convolution *v)
{
    Node **slot[2];
    inputs_of(v, slot);
    Node *in[] = {*slot[0], *slot[1]};
    int64_t ints[FIRST + EACH * CONVOLVED] = {v->side, v->n, v->groups, v->parts};
    for (int i = 0; i < v->n; i++) {
        const Convolved *a = &v->axis[i];
        int64_t *at = ints + FIRST + EACH * i;
        at[0] = a->kernel, at[1] = a->stride, at[2] = a->dilation, at[3] = a->before, at[4] = a->extent;
    }
    return whole_result(whole_op(OP_convolution, 2, in, FIRST + EACH * v->n, ints), 0);
}

/* Parts of the derivative towards w: as many as make enough tasks with the blocks of channels. */
static int64_t parts_for(const Convolution *v)
{
    int64_t lines = 1, blocks = v->groups;
    const Shape *y = &v->y->shape;
    for (int i = 0; i + 2 < y->rank; i++) lines *= y->dim[i];
    blocks *= (channels_of_x(v) / v->groups + CHANNELS - 1) / CHANNELS;
    blocks *= (channels_of_y(v) / v->groups + LANES - 1) / LANES;
    if (each_channel_alone(v)) blocks = (v->groups + CHANNELS - 1) / CHANNELS; /* whose lanes are of several groups */
    int64_t parts = (TASKS + blocks - 1) / blocks;
    return parts < lines ? parts : lines;
}

Node *convolution_op(const Convolution *given)
{
    Convolution v = *given;
    v.parts = 1;
    for (int i = 0; i < v.n && v.side == TOWARDS_W; i++) v.axis[i].extent = 0;
    if (v.side != TOWARDS_W) return made(&v);
    v.parts = parts_for(&v);
    Node *parts = made(&v);
    if (v.parts > 1) return reduce(OP_sum, parts, 1, (int[]){0});
    return reshape(parts, shape_behind(parts->shape));
}

/* ------------------------------------------------------------------ types */

static const char *axis_fault(const Convolution *v)
{
    const Node *image = image_of(v);
    if (v->x && v->y)
        for (int i = 0; i < batch_axes(v); i++)
            if (v->x->shape.dim[i] != v->y->shape.dim[i]) return "x and y must have the same batch axes";
    for (int i = 0; i < v->n; i++) {
        const Convolved *a = &v->axis[i];
        if (a->kernel < 1 || a->stride < 1 || a->dilation < 1 || a->before < 0)
            return "kernels, strides and dilations are at least 1, and nothing is negative";
        if (v->w && v->w->shape.dim[2 + i] != a->kernel) return "the weight has other places than the kernel";
        if (v->side != TOWARDS_W && a->extent < 1) return "the result has an extent of at least 1 along each axis";
        if (a->kernel * a->dilation > INT32_MAX / 4 || a->before > INT32_MAX / 4 || a->stride > INT32_MAX / 4)
            return "a kernel reaches too far";
    }
    return image->shape.dim[image->shape.rank - 1] % v->groups ? "channels must be a multiple of groups" : NULL;
}

const char *convolution_fault(const Node *n)
{
    if (n->nin != 2 || n->nints < FIRST) return "it takes two of x, y and weight";
    if (n->ints[SIDE] < TOWARDS_Y || n->ints[SIDE] > TOWARDS_W)
        return "its first int is the side that it makes, 0 to 2";
    if (n->ints[AXES] < 1 || n->ints[AXES] > CONVOLVED || n->nints != FIRST + EACH * n->ints[AXES])
        return "it has one to three axes, with five ints each";
    if (n->ints[GROUPS] < 1 || n->ints[PARTS] < 1) return "there is at least one group, and one part";
    Convolution v = convolution_of(n);
    if (!is_real(n->in[0]->dtype) || n->in[1]->dtype != n->in[0]->dtype) return "it takes reals of one type";
    const Node *image = image_of(&v);
    if (image->shape.rank < v.n + 1 || (v.x && v.y && v.x->shape.rank != v.y->shape.rank))
        return "x and y are [batch…, axes…, channels]";
    if (v.w && v.w->shape.rank != v.n + 2) return "the weight is [out, channels of a group, kernel…]";
    const char *fault = axis_fault(&v);
    if (fault) return fault;
    if (v.side == TOWARDS_W) return channels_of_y(&v) % v.groups ? "channels must be a multiple of groups" : NULL;
    if (v.w->shape.dim[0] % v.groups) return "the results' channels must be a multiple of groups";
    int64_t wanted = v.side == TOWARDS_Y ? v.w->shape.dim[1] * v.groups : v.w->shape.dim[0];
    return image->shape.dim[image->shape.rank - 1] != wanted ? "the weight is for other channels" : NULL;
}

static Shape with_extent(Shape s, int64_t extent)
{
    s.axis[s.rank] = 0;
    s.dim[s.rank++] = extent;
    return s;
}

int convolution_results(const Node *n, Type *out)
{
    Convolution v = convolution_of(n);
    const Shape *image = &image_of(&v)->shape;
    int nb = batch_axes(&v);
    Shape s = {0};
    if (v.side == TOWARDS_W) {
        s = with_extent(with_extent(s, v.parts), channels_of_y(&v));
        s = with_extent(s, channels_of_x(&v) / v.groups);
        for (int i = 0; i < v.n; i++) s = with_extent(s, v.axis[i].kernel);
    } else {
        s = axes_before(*image, nb);
        for (int i = 0; i < v.n; i++) {
            bool same = v.axis[i].extent == image->dim[nb + i];
            s = same ? with_axis(s, *image, nb + i) : with_extent(s, v.axis[i].extent);
        }
        bool whole = v.side == TOWARDS_Y || v.groups == 1; /* the weight's axis is all of the result's channels */
        s = whole ? with_axis(s, v.w->shape, v.side == TOWARDS_X) : with_extent(s, channels_of_x(&v));
    }
    out[0] = (Type){n->in[0]->dtype, s};
    return 1;
}

/* ------------------------------------------------------------------ rows */

Row_fact convolution_rows(Rows *r, Row_pair *p)
{
    Convolution v = convolution_of(p->node);
    int nb = batch_axes(&v);
    Row_fact a = row_input(p, 0), b = row_input(p, 1);
    if (a.kind != ROWS_EACH && b.kind != ROWS_EACH) return row_product(r, p);
    if (a.kind == ROWS_TOTAL) a = row_demand(r, p, 0);
    if (b.kind == ROWS_TOTAL) b = row_demand(r, p, 1);
    if (a.kind == ROWS_EACH && a.axis >= nb) return row_meets(p, "a convolution runs along the batch axis");
    if (v.side == TOWARDS_W) return row_meets(p, "a convolution's weight is made of rows"); /* of gradients alone */
    if (b.kind == ROWS_EACH) return row_meets(p, "a convolution's weight depends on rows");
    if (a.kind > ROWS_EACH || b.kind > ROWS_EACH || !a.kind || !b.kind) return row_join(p, a, b);
    a.power += b.power;
    a.learned |= b.learned;
    a.counted |= b.counted;
    return a;
}

/* ------------------------------------------------------------------ meaning, derivative, form */

Node *convolution_define(Node *n, int k)
{
    (void)k;
    Convolution v = convolution_of(n);
    return convolution_meant(&v);
}

/* The side `missing` from the gradient g in the place of n's result. */
static void contribute_side(Grad_level *lv, const Node *n, Side_of missing, Node *g)
{
    Convolution v = convolution_of(n), d = v;
    Node **const place[] = {[TOWARDS_Y] = &d.y, [TOWARDS_X] = &d.x, [TOWARDS_W] = &d.w};
    Node *of = *place[missing];
    if (!grad_active(lv, of)) return;
    for (int side = 0; side < 3; side++)
        *place[side] = side == (int)v.side ? g : side == (int)missing ? NULL : value(lv, *place[side]);
    for (int i = 0; i < v.n; i++)
        d.axis[i].extent = missing == TOWARDS_X ? extent_of_x(&v, i) : missing == TOWARDS_Y ? extent_of_y(&v, i) : 0;
    d.side = missing;
    contribute(lv, of, convolution_op(&d));
}

void convolution_gradient(Grad_level *lv, Node *n, Node *const *g)
{
    Side_of side = (Side_of)n->ints[SIDE];
    if (side == TOWARDS_W) {
        grad_definition(lv, n, g);
        return;
    }
    if (!g[0]) return;
    contribute_side(lv, n, side == TOWARDS_Y ? TOWARDS_X : TOWARDS_Y, g[0]);
    contribute_side(lv, n, TOWARDS_W, g[0]);
}

Node *convolution_part(Node *n) { return (void)n, NULL; }

/* What the runtime's rooms hold (math/convolution.c), of doubles: the weights of a block of channels, and the lines
 * that 16 results read of it. */
static bool fits_rooms(const Convolution *v)
{
    enum { PIXEL = CHANNELS * 8, VECTOR = 64, LEAST = 16 }; /* bytes; results of a line */
    int64_t deep = max64(channels_of_x(v), channels_of_y(v)) / v->groups, lines = PIXEL;
    for (int i = 0; i < v->n; i++) {
        int64_t reach = (v->axis[i].kernel - 1) * v->axis[i].dilation + 1;
        lines *= i + 1 < v->n ? reach : reach + LEAST * v->axis[i].stride;
        if (reach > LATHE_CONVOLVED_PLACES || lines > LATHE_ROOM_BYTES) return false;
    }
    int64_t weights = places_of(v) * (deep < CHANNELS ? deep : CHANNELS) * VECTOR;
    return places_of(v) <= LATHE_CONVOLVED_PLACES && weights <= LATHE_CONVOLVED_WEIGHTS &&
           lines <= LATHE_ROOM_BYTES - LATHE_CONVOLVED_WEIGHTS - 16 * LATHE_CONVOLVED_PLACES;
}

bool convolution_expand(Node *n, const bool *wanted, Node **results, const Desc *d)
{
    Convolution v = convolution_of(n);
    if (d->options->target->loops && fits_rooms(&v)) return false;
    if (wanted[0]) results[0] = convolution_meant(&v);
    return true;
}
