/* axes.c: the axes that a kernel's loops run over: their names, and indices along them. */
#include "emit/emit.h"

/* Is the extent a multiple of a single size? 4 * HIDDEN */
static bool is_one_size(int axis) { return axis && axis_numbered(axis)->n == 1; }

/* The axis's letter: b for the batch, t for time, v for the vocabulary; r for rows made of several axes; c for the
 * inner axis; i for all elements of a tensor. NULL: it has none. j: its number among n. */
const char *letter_of_axis(int what, int j, int n)
{
    if (is_axis_of(what, "batch") || is_axis_of(what, "rows")) return "b";
    if (is_axis_of(what, "vocab")) return "v";
    if (n == 1 && is_axis_of(what, "seq")) return "t";
    if (j == n - 1) return n > 1 || is_one_size(what) ? "c" : "i";
    if (is_axis_of(what, "seq")) return "t";
    if (is_axis_of(what, "heads")) return "h";
    return j == 0 ? "r" : NULL;
}

/* The extent of walked axis j, which stands for several axes of the kernel. Axes between them have extent 1. */
static const char *count_of(Page *page, const Space *s, int j)
{
    int from = 0, to = s->own.rank;
    while (!(s->of[j] >> from & 1)) from++;
    while (!(s->of[j] >> (to - 1) & 1)) to--;
    return product_in(page, s->own, from, to);
}

void begin_axes(Function *f, const Space *s)
{
    static const char *const others[] = {"i", "j", "m", "q", "s", "g", "o", "r"};
    int n = f->naxes = s->shape.rank;
    for (int j = 0; j < n; j++) {
        f->axis[j].extent = s->shape.dim[j];
        f->axis[j].what = s->shape.axis[j];
        f->axis[j].count = count_of(f->page, s, j);
    }
    for (int j = 0; j < n; j++) {
        const char *wish = f->axis[j].name;
        if (!wish || same(wish, "l") || name_taken(&f->names, wish)) wish = letter_of_axis(f->axis[j].what, j, n);
        for (int i = 0; (!wish || name_taken(&f->names, wish)) && i < COUNT_OF(others); i++) wish = others[i];
        f->axis[j].name = new_name(&f->names, identifier(f->page, wish));
        f->axis[j].now = f->axis[j].extent == 1 ? "0" : f->axis[j].name;
    }
}

/* ------------------------------------------------------------------ indices from a number */

static bool axis_matters(const Function *f, int j)
{
    for (int i = 0; i < f->uses.n; i++) {
        const View *v = &f->uses.at[i].view;
        if (v->stride[j] || (v->guarded && (v->low[j] > 0 || v->high[j] < f->axis[j].extent))) return true;
    }
    return false;
}

int64_t space_size(const Function *f, const int *axes, int n)
{
    int64_t size = 1;
    for (int i = 0; i < n; i++) size *= f->axis[axes[i]].extent;
    return size;
}

const char *space_text(const Function *f, const int *axes, int n)
{
    const char *all = NULL;
    for (int i = 0; i < n; i++)
        if (f->axis[axes[i]].extent > 1) all = multiplied(all, f->axis[axes[i]].count);
    return all ? all : "1";
}

const char *in_64_bits(const char *count, int64_t n) { return n > INT32_MAX ? format("(int64_t)%s", count) : count; }

char *index_in(const Function *f, const int *axes, int n, int i, const char *number)
{
    int64_t below = space_size(f, axes + i + 1, n - i - 1);
    const char *step = below > INT32_MAX ? format("%lld", (long long)below) : space_text(f, axes + i + 1, n - i - 1);
    const char *quotient = below == 1 ? number : format("%s / %s", number, in_parentheses(step));
    return format(i ? "%s %% %s" : "%s", quotient, in_parentheses(f->axis[axes[i]].count));
}

void say_indices(Function *f, const int *axes, int n, const char *number)
{
    for (int i = 0; i < n; i++)
        if (f->axis[axes[i]].extent > 1 && axis_matters(f, axes[i]))
            line(&f->w, "const int %s = %s;", f->axis[axes[i]].name, index_in(f, axes, n, i, number));
}
