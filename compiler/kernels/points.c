/* points.c: which points of a view lie at some bytes: found by solving for their indices, axis by axis, the longest
 * steps first.  Exact, whatever the strides; what is not exact is which points are asked for (each_sample). */
#include "kernels/check.h"

Points points_at(Place at, const View *v)
{
    int64_t size = dtype_bytes(v->buffer->dtype);
    return (Points){.space = at.space, .size = size, .start = at.byte + v->base * size, .together = 1};
}

void add_axis(Points *p, int64_t step, int64_t low, int64_t high, int64_t rows, int64_t columns)
{
    if (high <= low) p->nothing = true;
    if (high - low <= 1) {
        p->start += low * step * p->size;
        p->row += low * rows;
        p->column += low * columns;
        return;
    }
    must(p->n < POINT_AXES);
    int at = p->n++;
    for (; at > 0 && llabs(p->step[at - 1]) < llabs(step * p->size); at--) {
        p->step[at] = p->step[at - 1];
        p->low[at] = p->low[at - 1];
        p->high[at] = p->high[at - 1];
        p->rows[at] = p->rows[at - 1];
        p->columns[at] = p->columns[at - 1];
    }
    p->step[at] = step * p->size;
    p->low[at] = low;
    p->high[at] = high;
    p->rows[at] = rows;
    p->columns[at] = columns;
}

void add_shape(Points *p, const View *v)
{
    for (int i = 0; i < v->shape.rank; i++) add_axis(p, v->stride[i], v->low[i], v->high[i], 0, 0);
}

void end_points(Points *p)
{
    p->from[p->n] = p->to[p->n] = 0;
    for (int k = p->n; k-- > 0;) {
        int64_t a = p->step[k] * p->low[k], b = p->step[k] * (p->high[k] - 1);
        p->from[k] = p->from[k + 1] + min64(a, b);
        p->to[k] = p->to[k + 1] + max64(a, b);
    }
}

bool may_meet(const Points *a, const Points *b)
{
    return a->space == b->space && !a->nothing && !b->nothing &&
           a->start + a->from[0] < b->start + b->to[0] + b->size &&
           b->start + b->from[0] < a->start + a->to[0] + a->size;
}

bool is_solid(const Points *p)
{
    int64_t bytes = p->size;
    for (int k = p->n; k-- > 0; bytes *= p->high[k] - p->low[k])
        if (llabs(p->step[k]) != bytes) return false;
    return !p->nothing;
}

bool lies_in(const Points *p, const Points *of)
{
    return p->nothing || (p->space == of->space && p->start + p->from[0] >= of->start + of->from[0] &&
                          p->start + p->to[0] + p->size <= of->start + of->to[0] + of->size);
}

static bool is_one_to_one(const Points *p)
{
    for (int k = 0; k < p->n; k++)
        if (llabs(p->step[k]) < p->to[k + 1] - p->from[k + 1] + p->size) return false;
    return true;
}

bool are_same_points(const Points *a, const Points *b)
{
    bool same = a->space == b->space && a->n == b->n && a->size == b->size && a->start == b->start &&
                a->row == b->row && a->column == b->column && a->together == b->together;
    for (int k = 0; same && k < a->n; k++)
        same = a->step[k] == b->step[k] && a->low[k] == b->low[k] && a->high[k] == b->high[k] &&
               a->rows[k] == b->rows[k] && a->columns[k] == b->columns[k];
    return same && is_one_to_one(a);
}

/* ------------------------------------------------------------------ samples */

typedef struct Walk {
    const Points *p;
    Fits fits;
    void *user;
    int64_t size; /* bytes of what is looked for */
} Walk;

static Point moved_points(const Points *p, Point at, int k, int64_t i)
{
    return (Point){at.byte + i * p->step[k], at.row + i * p->rows[k], at.column + i * p->columns[k]};
}

static bool samples_from(const Walk *w, int k, Point at)
{
    if (k == w->p->n) return w->fits(w->user, &at);
    int64_t low = w->p->low[k], high = w->p->high[k], middle = low + (high - low) / 2;
    const int64_t some[] = {low, middle, high - 1};
    for (int i = 0; i < COUNT_OF(some); i++)
        if ((!i || some[i] > some[i - 1]) && !samples_from(w, k + 1, moved_points(w->p, at, k, some[i]))) return false;
    return true;
}

bool each_sample(const Points *p, Fits fits, void *user)
{
    Walk w = {p, fits, user, 0};
    return p->nothing || samples_from(&w, 0, (Point){p->start, p->row, p->column});
}

/* ------------------------------------------------------------------ what lies at some bytes */

static int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

/* Axis k's first and last index with which those after it can still come to the bytes, `left` further on. */
static void range_of_index(const Walk *w, int k, int64_t left, int64_t *first, int64_t *last)
{
    const Points *p = w->p;
    int64_t step = p->step[k], least = left - p->to[k + 1] - p->size + 1, most = left - p->from[k + 1] + w->size - 1;
    *first = p->low[k];
    *last = p->high[k] - 1;
    if (step > 0) {
        *first = max64(*first, -floor_div(-least, step));
        *last = min64(*last, floor_div(most, step));
    } else if (step < 0) {
        *first = max64(*first, -floor_div(most, -step));
        *last = min64(*last, floor_div(-least, -step));
    } else if (least > 0 || most < 0) {
        *last = *first - 1;
    }
}

/* Along an axis on which nothing depends the ends stand for all. */
static bool points_from(const Walk *w, int k, int64_t left, Point at)
{
    if (k == w->p->n) return left <= -w->size || left >= w->p->size || w->fits(w->user, &at);
    int64_t first, last;
    range_of_index(w, k, left, &first, &last);
    int64_t on = w->p->step[k] ? 1 : max64(last - first, 1);
    for (int64_t i = first; i <= last; i += on)
        if (!points_from(w, k + 1, left - i * w->p->step[k], moved_points(w->p, at, k, i))) return false;
    return true;
}

bool each_point_at(const Points *p, int64_t byte, int64_t size, Fits fits, void *user)
{
    Walk w = {p, fits, user, size};
    return p->nothing || points_from(&w, 0, byte - p->start, (Point){p->start, p->row, p->column});
}

bool none(void *user, const Point *p)
{
    (void)user;
    (void)p;
    return false;
}
