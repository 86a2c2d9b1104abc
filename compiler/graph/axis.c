/* axis.c: names of axes: their extents as expressions in the description's sizes: BATCH * SEQ, 4 * WIDTH,
 * WIDTH / HEADS, SEQ + 1.
 *
 * A Shape has the number of an axis beside each extent; 0: unknown.  Constructors pass axes on.  A reshape multiplies
 * axes that it merges, and splits an axis as the description split it before, or factor by factor.  Axes are never
 * guessed from extents. */
#include "graph/graph.h"
#include "graph/parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_AXES = UINT16_MAX };

typedef struct Cut { /* how the description split an axis */
    int axis, n;
    int64_t extent[MAXRANK];
    int part[MAXRANK];
} Cut;

static VEC(Axis_sizes) axes;
static VEC(Cut) cuts;

const Axis_sizes *axis_numbered(int axis) { return axis ? &axes.at[axis - 1] : NULL; }

const char *size_of_axis(int axis)
{
    const Axis_sizes *a = axis_numbered(axis);
    return a && a->n == 1 && a->of[0].power == 1 && a->extent == a->of[0].extent && !a->behind ? a->of[0].size : NULL;
}

static int64_t divisor(int64_t a, int64_t b) { return b ? divisor(b, a % b) : a; }

static bool same_axis(const Axis_sizes *a, const Axis_sizes *b)
{
    bool equal = a->extent == b->extent && a->times == b->times && a->over == b->over && a->plus == b->plus &&
                 a->behind == b->behind && a->n == b->n;
    for (int i = 0; equal && i < a->n; i++)
        equal = a->of[i].power == b->of[i].power && a->of[i].extent == b->of[i].extent &&
                same(a->of[i].size, b->of[i].size);
    return equal;
}

/* The extent of a; 0: not a positive 32-bit integer. */
static int64_t extent_of_axis(const Axis_sizes *a)
{
    __int128 above = a->times, below = a->over;
    for (int i = 0; i < a->n; i++) {
        for (int k = 0; k < abs(a->of[i].power); k++) *(a->of[i].power > 0 ? &above : &below) *= a->of[i].extent;
        if (above > INT64_MAX / INT32_MAX || below > INT64_MAX / INT32_MAX) return 0;
    }
    if (above % below || above / below > INT32_MAX) return 0;
    return (int64_t)(above / below) + a->plus + (a->behind ? axis_numbered(a->behind)->extent : 0);
}

int axis_with(Axis_sizes a)
{
    int64_t common = divisor(a.times, a.over);
    a.times /= common;
    a.over /= common;
    a.extent = extent_of_axis(&a);
    if (a.n == 0 || a.extent <= 1) return 0;
    for (int i = 0; i < axes.n; i++)
        if (same_axis(&axes.at[i], &a)) return i + 1;
    if (axes.n == MOST_AXES) return 0;
    bool again = for_good();
    for (int i = 0; i < a.n; i++) a.of[i].size = copy_string(a.of[i].size);
    push(&axes, a);
    for_a_while(again);
    return axes.n;
}

int axis_of(const char *size, int64_t extent)
{
    return axis_with((Axis_sizes){.times = 1, .over = 1, .n = 1, .of = {{size, extent, 1}}});
}

int axis_scaled(int axis, int64_t times, int64_t over)
{
    if (!axis) return 0;
    Axis_sizes a = *axis_numbered(axis);
    if (a.plus || a.behind) return times == over ? axis : 0;
    a.times *= times;
    a.over *= over;
    return axis_with(a);
}

int axis_longer(int axis, int64_t by)
{
    if (!axis) return 0;
    Axis_sizes a = *axis_numbered(axis);
    a.plus += by;
    return axis_with(a);
}

/* Are a and b the same but for times and over? */
static bool same_sizes(const Axis_sizes *a, const Axis_sizes *b)
{
    Axis_sizes x = *a, y = *b;
    x.times = x.over = y.times = y.over = x.extent = y.extent = 1;
    return same_axis(&x, &y);
}

int axis_sum(int a, int b)
{
    if (!a || !b) return 0;
    Axis_sizes x = *axis_numbered(a), y = *axis_numbered(b);
    if (same_sizes(&x, &y) && !x.plus && !x.behind) {
        x.times = x.times * y.over + y.times * x.over;
        x.over *= y.over;
        return axis_with(x);
    }
    x.behind = x.behind ? axis_sum(x.behind, b) : b;
    return x.behind ? axis_with(x) : 0;
}

/* Multiplies a by size^power; false: a has too many factors. */
static bool multiply(Axis_sizes *a, const char *size, int64_t extent, int power)
{
    int i = 0;
    while (i < a->n && !(same(a->of[i].size, size) && a->of[i].extent == extent)) i++;
    if (i == a->n) {
        if (a->n == COUNT_OF(a->of)) return false;
        a->of[a->n++] = (struct Size_of){size, extent, 0};
    }
    a->of[i].power += power;
    if (a->of[i].power) return true;
    memmove(&a->of[i], &a->of[i + 1], sizeof *a->of * (size_t)(--a->n - i));
    return true;
}

int axis_power(int axis, const char *size, int64_t extent, int power)
{
    Axis_sizes a = axis ? *axis_numbered(axis) : (Axis_sizes){.times = 1, .over = 1};
    return !a.plus && !a.behind && multiply(&a, size, extent, power) ? axis_with(a) : 0;
}

static int wide_axes(Shape s, int from, int to)
{
    int n = 0;
    for (int k = from; k < to; k++) n += s.dim[k] != 1;
    return n;
}

static int first_wide_axis(Shape s, int from)
{
    while (s.dim[from] == 1) from++;
    return s.axis[from];
}

/* Axes from … to - 1 merged. */
int axis_merged(Shape s, int from, int to)
{
    if (wide_axes(s, from, to) == 1) return first_wide_axis(s, from);
    Axis_sizes all = {.times = 1, .over = 1};
    bool fits = true;
    for (int k = from; k < to && fits; k++) {
        const Axis_sizes *a = axis_numbered(s.axis[k]);
        if (a && (a->plus || a->behind)) return 0;
        all.times *= a ? a->times : s.dim[k];
        all.over *= a ? a->over : 1;
        for (int i = 0; a && fits && i < a->n; i++)
            fits = multiply(&all, a->of[i].size, a->of[i].extent, a->of[i].power);
        fits = fits && all.times <= INT32_MAX && all.over <= INT32_MAX;
    }
    return fits ? axis_with(all) : 0;
}

/* ------------------------------------------------------------------ reshapes */

void note_cut(int axis, Shape s, int from, int to)
{
    Cut c = {.axis = axis};
    for (int k = from; k < to; k++) {
        if (s.dim[k] == 1) continue;
        if (!s.axis[k]) return;
        c.extent[c.n] = s.dim[k];
        c.part[c.n++] = s.axis[k];
    }
    for (int i = 0; i < cuts.n; i++)
        if (cuts.at[i].axis == axis && cuts.at[i].n == c.n &&
            memcmp(cuts.at[i].extent, c.extent, sizeof *c.extent * (size_t)c.n) == 0)
            return;
    bool again = for_good();
    if (axis && c.n > 1) push(&cuts, c);
    for_a_while(again);
}

static bool cut_as_before(int axis, Shape *s, int from, int to)
{
    for (int i = 0; i < cuts.n; i++) {
        const Cut *c = &cuts.at[i];
        int n = 0;
        bool equal = c->axis == axis;
        for (int k = from; equal && k < to; k++)
            if (s->dim[k] != 1) equal = n < c->n && c->extent[n++] == s->dim[k];
        if (!equal || n != c->n) continue;
        for (int k = from, at = 0; k < to; k++)
            if (s->dim[k] != 1) {
                if (!s->axis[k]) s->axis[k] = (uint16_t)c->part[at];
                at++;
            }
        return true;
    }
    return false;
}

int axis_behind(int axis, int64_t n)
{
    int found = 0;
    for (int i = 0; i < cuts.n; i++) {
        const Cut *c = &cuts.at[i];
        Shape inner = {0};
        int64_t extent = 1;
        for (int k = c->n; k-- > 1 && extent < n && c->axis == axis;) {
            extent *= c->extent[k];
            for (int j = inner.rank++; j > 0; j--) inner.dim[j] = inner.dim[j - 1], inner.axis[j] = inner.axis[j - 1];
            inner.dim[0] = c->extent[k];
            inner.axis[0] = (uint16_t)c->part[k];
        }
        if (c->axis != axis || extent != n) continue;
        int merged = axis_merged(inner, 0, inner.rank);
        if (found && merged != found) return 0;
        found = merged;
    }
    return found;
}

/* Splits BATCH * SEQ as [BATCH][SEQ], outermost factors first; a number goes to the first axis where it fits. */
static void cut_by_factors(const Axis_sizes *a, Shape *s, int from, int to)
{
    int64_t times = a->times;
    int at = 0, axis[MAXRANK] = {0};
    if (a->plus || a->behind || a->over != 1) return;
    for (int k = from; k < to; k++) {
        Axis_sizes part = {.times = 1, .over = 1, .extent = 1};
        while (at < a->n && part.extent < s->dim[k] && a->of[at].power == 1 &&
               s->dim[k] % (part.extent * a->of[at].extent) == 0) {
            part.extent *= a->of[at].extent;
            part.of[part.n++] = a->of[at++];
        }
        part.times = s->dim[k] / part.extent;
        if (times % part.times) return;
        times /= part.times;
        axis[k] = axis_with(part);
    }
    for (int k = from; k < to && at == a->n; k++)
        if (!s->axis[k]) s->axis[k] = (uint16_t)axis[k];
}

/* Visits the smallest groups of consecutive axes that have as many elements in `from` as in `to`. */
static void each_group(Shape from, Shape *to, void (*visit)(Shape from, int a, int b, Shape *to, int c, int d))
{
    for (int a = 0, c = 0; a < from.rank || c < to->rank;) {
        int b = a, d = c;
        int64_t have = 1, want = 1;
        do {
            if (b < from.rank && (have <= want || d == to->rank)) have *= from.dim[b++];
            else want *= to->dim[d++];
        } while (have != want && (b < from.rank || d < to->rank));
        if (have != want) return;
        while (b < from.rank && from.dim[b] == 1) b++;
        while (d < to->rank && to->dim[d] == 1) d++;
        visit(from, a, b, to, c, d);
        a = b;
        c = d;
    }
}

static void hand_on(Shape from, int a, int b, Shape *to, int c, int d)
{
    int merged = axis_merged(from, a, b);
    if (!merged) return;
    if (wide_axes(*to, c, d) == 1) {
        for (int k = c; k < d; k++)
            if (to->dim[k] != 1 && !to->axis[k]) to->axis[k] = (uint16_t)merged;
    } else if (!cut_as_before(merged, to, c, d)) {
        cut_by_factors(axis_numbered(merged), to, c, d);
    }
}

static void remember(Shape from, int a, int b, Shape *to, int c, int d)
{
    if (wide_axes(*to, c, d) > 1) note_cut(axis_merged(from, a, b), *to, c, d);
}

static bool any_known(const Shape *s)
{
    for (int k = 0; k < s->rank; k++)
        if (s->axis[k]) return true;
    return false;
}

static bool all_known(const Shape *s)
{
    for (int k = 0; k < s->rank; k++)
        if (!s->axis[k] && s->dim[k] != 1) return false;
    return true;
}

void axes_of_reshape(Shape from, Shape *to)
{
    if (any_known(&from) && !all_known(to)) each_group(from, to, hand_on);
}

void note_reshape(Shape from, Shape to)
{
    if (any_known(&from)) each_group(from, &to, remember);
}

/* ------------------------------------------------------------------ nodes */

/* Drops axes whose extent is not that of the shape. */
void check_axes(Shape *s)
{
    for (int k = 0; k < s->rank; k++)
        if (s->axis[k] && axes.at[s->axis[k] - 1].extent != s->dim[k]) s->axis[k] = 0;
}

void take_axes(Shape *s, Shape from)
{
    for (int k = 0; k < s->rank && k < from.rank; k++)
        if (!s->axis[k] && s->dim[k] == from.dim[k] && s->dim[k] != 1) s->axis[k] = from.axis[k];
}

/* Constants and iotas may be shared by users that mean different axes; the first user named them.  Such names are weak:
 * they count only if there is no other. */
static void take_strong_axes(Shape *s, const Node *from)
{
    for (int k = 0; k < s->rank; k++)
        if (!s->axis[k] && s->dim[k] != 1 && !(from->weak >> k & 1)) s->axis[k] = from->shape.axis[k];
}

unsigned axes_of_inputs(Node *n)
{
    Shape s = n->shape;
    unsigned weak = 0;
    memset(s.axis, 0, sizeof s.axis);
    for (int i = 0; i < n->nin; i++)
        if (same_shape(n->in[i]->shape, s)) take_strong_axes(&s, n->in[i]);
    for (int k = 0; k < s.rank; k++)
        if (!s.axis[k] && s.dim[k] != 1) weak |= 1u << k;
    take_axes(&s, n->shape);
    for (int i = 0; i < n->nin; i++) take_axes(&s, n->in[i]->shape);
    n->shape = s;
    return weak;
}

/* Names the axes of a new node: strong names of inputs, then the maker's, then weak names of inputs. */
void axes_of_node(Node *n)
{
    check_axes(&n->shape);
    if (op_parts[n->op].axes) op_parts[n->op].axes(n);
    else if (op_info[n->op].kind == MAP) n->weak = axes_of_inputs(n);
    if (n->known) n->weak = ~0u;
}

static const Node *constant_below(const Node *n)
{
    while (shows_all(n)) n = n->in[0];
    return n->op == OP_constant && n->counts ? n : NULL;
}

int axis_counted(const Node *n)
{
    const Node *c = constant_below(n);
    return c && c->value == (double)axis_numbered(c->counts)->extent ? c->counts : 0;
}

int axis_shared(const Node *n)
{
    const Node *c = constant_below(n);
    return c && fabs(c->value) == 1 / (double)axis_numbered(c->counts)->extent ? c->counts : 0;
}

Shape with_axis(Shape s, Shape from, int k)
{
    must(s.rank < MAXRANK);
    s.axis[s.rank] = from.axis[k];
    s.dim[s.rank++] = from.dim[k];
    return s;
}

Shape axes_before(Shape s, int n)
{
    Shape r = {0};
    for (int k = 0; k < n; k++) r = with_axis(r, s, k);
    return r;
}
