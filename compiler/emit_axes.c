/* emit_axes.c: the axes that a kernel's loops run over: merged where all views allow it, and named. */
#include "emit.h"

#include <string.h>

/* Threads cost some microseconds to call: worth it from about this many element operations on. */
enum { WORTH_THREADS = 16384 };

bool worth_threads(int64_t elements, int work) { return elements * work >= WORTH_THREADS; }

static bool guarded_on(const View *v, int j, int64_t extent)
{
    return v->guarded && (v->low[j] > 0 || v->high[j] < extent);
}

/* Can axes j and j + 1 be run through as one? */
static bool mergeable(const Function *f, int j, View *const *views, int n)
{
    int64_t extent = f->axis[j + 1].extent;
    if (f->axis[j].extent * extent > INT32_MAX) return false; /* indices are int */
    for (int i = 0; i < n; i++) {
        const View *v = views[i];
        if (guarded_on(v, j, f->axis[j].extent) || guarded_on(v, j + 1, extent)) return false;
        if (f->axis[j].extent > 1 && extent > 1 && v->stride[j] != v->stride[j + 1] * extent) return false;
    }
    return true;
}

static void drop_axis(View *v, int j, int n)
{
    for (int i = j; i + 1 < n; i++) {
        v->stride[i] = v->stride[i + 1];
        v->low[i] = v->low[i + 1];
        v->high[i] = v->high[i + 1];
    }
}

/* Axis j + 1 takes in axis j; or axis j of extent 1 goes away. */
static void take_in(Function *f, int j, int n, View **views, int nviews)
{
    bool single = f->axis[j].extent == 1, other_single = f->axis[j + 1].extent == 1;
    Axis both = single ? f->axis[j + 1] : f->axis[j];
    Shape of = {
        2, {f->axis[j].extent, f->axis[j + 1].extent}, {(uint16_t)f->axis[j].what, (uint16_t)f->axis[j + 1].what}};
    both.extent = of.dim[0] * of.dim[1];
    if (!single && !other_single) {
        both.name = NULL;
        both.what = axis_merged(of, 0, 2);
        both.count = product_in(of, 0, 2);
    }
    int keep = other_single ? j : j + 1;
    for (int i = 0; i < nviews; i++) {
        int64_t stride = views[i]->stride[keep];
        drop_axis(views[i], j, n);
        views[i]->stride[j] = stride;
        views[i]->low[j] = 0;
        views[i]->high[j] = both.extent;
        if (views[i]->buffer == NULL && both.extent == 1) views[i]->stride[j] = 0;
    }
    for (int i = j; i + 1 < n; i++) f->axis[i] = f->axis[i + 1];
    f->axis[j] = both;
}

/* A row axis of extent 1 whose views need no guard is no axis. */
static bool empty_axis(const Function *f, int j, View *const *views, int n)
{
    if (f->axis[j].extent != 1) return false;
    for (int i = 0; i < n; i++)
        if (guarded_on(views[i], j, 1)) return false;
    return true;
}

/* b for the batch, t for time, v for the vocabulary; r for rows made of several axes; c for the inner axis. */
static const char *letter_for(const Function *f, int j, int n)
{
    int what = f->axis[j].what;
    if (is_axis_of(what, "batch") || is_axis_of(what, "rows")) return "b";
    if (is_axis_of(what, "vocab")) return "v";
    if (j == n - 1) return n > 1 ? "c" : "i";
    if (is_axis_of(what, "seq")) return "t";
    if (is_axis_of(what, "heads")) return "h";
    return j == 0 ? "r" : NULL;
}

static void name_axes(Function *f, int n)
{
    static const char *const others[] = {"i", "j", "m", "q", "s", "g", "o", "r"};
    for (int j = 0; j < n; j++) {
        const char *wish = f->axis[j].name;
        if (!wish || same(wish, "l") || name_taken(&f->names, wish)) wish = letter_for(f, j, n);
        for (int i = 0; (!wish || name_taken(&f->names, wish)) && i < COUNT_OF(others); i++) wish = others[i];
        f->axis[j].name = new_name(&f->names, identifier(wish));
        f->axis[j].now = f->axis[j].extent == 1 ? "0" : f->axis[j].name;
    }
}

/* Merges what can be merged among the first `last` of n axes; what follows stays apart.  Returns the number left, and
 * leaves every axis with a name and its count's text. */
int merge_axes(Function *f, int n, View **views, int nviews, int last)
{
    for (int j = 0; j < n; j++) f->axis[j].count = extent_text(f->axis[j].extent, f->axis[j].what);
    for (int j = 0; j + 1 < last;) {
        if (!mergeable(f, j, views, nviews)) {
            j++;
            continue;
        }
        take_in(f, j, n--, views, nviews);
        last--;
        j = 0;
    }
    for (int j = 0; j < last && n > 1;) {
        if (!empty_axis(f, j, views, nviews)) {
            j++;
            continue;
        }
        for (int i = 0; i < nviews; i++) drop_axis(views[i], j, n);
        for (int i = j; i + 1 < n; i++) f->axis[i] = f->axis[i + 1];
        n--;
        last--;
    }
    f->naxes = n;
    name_axes(f, n);
    return n;
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
