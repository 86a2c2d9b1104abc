/* view.c: how a kernel function addresses its buffers: parameters that are arrays of known size, and subscripts.
 *
 * A view is base + Σ stride · index. The buffer is an array [D0][D1]… with strides S0 > S1 > …. Each index of the
 * view goes to the axis with the largest stride that is not above its own, and the base is written in the mixed radix
 * of the axes. If an index runs past the end of its axis, that axis is merged with the one before: [B][T] becomes [B
 * * T]. If that does not help, the buffer is a flat pointer. Leading axes that no index of the kernel reaches are
 * subscripts of the caller: h[l + 1]. */
#include "desc/target.h"
#include "emit/view.h"

#include <stdlib.h>
#include <string.h>

Dims dims_of_buffer(const Buffer *b)
{
    Dims d = {.n = b->shape.rank};
    for (int k = 0; k < d.n; k++) {
        d.extent[k] = b->shape.dim[k];
        d.stride[k] = b->stride[k];
    }
    return d;
}

static Dims dims_of_arg(const Arg *a)
{
    Dims d = {.n = a->dims};
    for (int k = 0; k < a->dims; k++) {
        d.extent[k] = 1;
        for (int i = a->first[k]; i < a->first[k + 1]; i++) d.extent[k] *= a->buffer->shape.dim[i];
        d.stride[k] = a->buffer->stride[a->first[k + 1] - 1];
    }
    return d;
}

/* ------------------------------------------------------------------ ranges of the kernel's indices */

static int64_t lowest(const Function *f, const View *v, int j)
{
    return v->guarded ? min64(v->low[j], f->axis[j].extent - 1) : 0;
}

static int64_t highest(const Function *f, const View *v, int j)
{
    int64_t last = f->axis[j].extent - 1;
    return v->guarded ? max64(lowest(f, v, j), min64(v->high[j] - 1, last)) : last;
}

static bool runs(const Function *f, const View *v, int j)
{
    return v->stride[j] != 0 && (highest(f, v, j) > lowest(f, v, j) || lowest(f, v, j) > 0);
}

static bool never_shown(const Function *f, const View *v)
{
    for (int j = 0; v->guarded && j < f->naxes; j++)
        if (v->high[j] <= v->low[j]) return true;
    return false;
}

/* ------------------------------------------------------------------ fitting */

static int axis_for(const Dims *d, int64_t stride)
{
    for (int k = 0; k < d->n; k++)
        if (d->stride[k] <= llabs(stride)) return k;
    return -1;
}

/* The subscripts of a view on an array; false: strides do not divide. *crowded: an axis whose end is crossed, or -1. */
bool fits_subscripts(const Function *f, const View *v, const Dims *d, Index *sub, int *crowded)
{
    int64_t least = v->base, span[MAXRANK] = {0};
    for (int k = 0; k < d->n; k++) sub[k] = (Index){0};
    for (int j = 0; j < f->naxes; j++) {
        if (!runs(f, v, j)) continue;
        int k = axis_for(d, v->stride[j]);
        if (k < 0 || v->stride[j] % d->stride[k]) return false;
        int64_t coef = v->stride[j] / d->stride[k], from = coef > 0 ? lowest(f, v, j) : highest(f, v, j);
        sub[k].axis[j] = coef;
        sub[k].constant -= coef * from;
        span[k] += llabs(coef) * (highest(f, v, j) - lowest(f, v, j));
        least += v->stride[j] * from;
    }
    for (int o = 0; o < v->nover; o++) {
        int64_t stride = v->over[o].stride, last = v->over[o].loop->trip - 1;
        if (!stride) continue;
        int k = axis_for(d, stride);
        if (k < 0 || stride % d->stride[k]) return false;
        int64_t coef = stride / d->stride[k], from = coef > 0 ? 0 : last;
        sub[k].over[sub[k].nover].loop = v->over[o].loop;
        sub[k].over[sub[k].nover++].coef = coef;
        sub[k].constant -= coef * from;
        span[k] += llabs(coef) * last;
        least += stride * from;
    }
    *crowded = -1;
    for (int k = 0; k < d->n; k++) {
        int64_t at = d->stride[k] ? least / d->stride[k] : 0;
        least -= at * d->stride[k];
        sub[k].constant += at;
        if (at < 0 || at + span[k] >= d->extent[k]) *crowded = k;
    }
    return least == 0;
}

/* The number of leading axes that no index of the kernel reaches. */
static int leading(const Function *f, const View *v, const Dims *d)
{
    int n = d->n;
    for (int j = 0; j < f->naxes; j++) {
        if (!runs(f, v, j)) continue;
        int64_t reach = llabs(v->stride[j]) * max64(1, highest(f, v, j) - lowest(f, v, j));
        for (int k = 0; k < n; k++)
            if (d->stride[k] <= reach && d->extent[k] > 1) n = k;
    }
    return n;
}

static bool same_index(const Index *a, const Index *b)
{
    if (a->constant != b->constant || a->nover != b->nover) return false;
    for (int o = 0; o < a->nover; o++)
        if (a->over[o].loop != b->over[o].loop || a->over[o].coef != b->over[o].coef) return false;
    return true;
}

static int find_arg(Function *f, Buffer *root, int nlead, const Index *lead)
{
    for (int i = 0; i < f->args.n; i++) {
        Arg *a = &f->args.at[i];
        bool equal = a->root == root && a->nlead == nlead;
        for (int k = 0; equal && k < nlead; k++) equal = same_index(&a->lead[k], &lead[k]);
        if (equal) return i;
    }
    return -1;
}

/* The view relative to the place that the caller's subscripts pick. */
static View after_lead(const Arg *a, View v)
{
    for (int k = 0; k < a->nlead; k++) {
        v.base -= a->lead[k].constant * a->buffer->stride[k];
        for (int o = 0; o < a->lead[k].nover; o++)
            for (int i = 0; i < v.nover; i++)
                if (v.over[i].loop == a->lead[k].over[o].loop)
                    v.over[i].stride -= a->lead[k].over[o].coef * a->buffer->stride[k];
    }
    return v;
}

/* All uses of the same bytes must agree on how many leading axes the caller picks. */
static void make_args(Function *f, Buffer *root)
{
    Buffer *b = NULL;
    for (int i = f->uses.n; i-- > 0;)
        if (f->uses.at[i].view.buffer && bytes_of(f->uses.at[i].view.buffer) == root) b = f->uses.at[i].view.buffer;
    Dims d = dims_of_buffer(b);
    int nlead = d.n;
    for (int i = 0; i < f->uses.n; i++) {
        Use *u = &f->uses.at[i];
        if (!u->view.buffer || bytes_of(u->view.buffer) != root || never_shown(f, &u->view)) continue;
        int crowded;
        nlead = (int)min64(nlead, leading(f, &u->view, &d));
        if (!fits_subscripts(f, &u->view, &d, u->sub, &crowded)) nlead = 0;
        else if (crowded >= 0 && crowded < nlead) nlead = crowded;
    }
    for (int i = 0; i < f->uses.n; i++) {
        Use *u = &f->uses.at[i];
        if (!u->view.buffer || bytes_of(u->view.buffer) != root || never_shown(f, &u->view)) continue;
        u->arg = find_arg(f, root, nlead, u->sub);
        if (u->arg < 0) {
            Arg a = {.root = root, .buffer = b, .nlead = nlead, .dims = d.n - nlead};
            for (int k = 0; k < nlead; k++) a.lead[k] = u->sub[k];
            for (int k = nlead; k <= d.n; k++) a.first[k - nlead] = k;
            u->arg = f->args.n;
            push(&f->args, a);
        }
        Arg *a = &f->args.at[u->arg];
        if (u->write) a->written = true;
        else a->read = true;
    }
}

static bool merge_before(Arg *a, int k)
{
    if (k == 0) return false;
    const Buffer *b = a->buffer;
    Dims d = dims_of_arg(a);
    if (b->stride[a->first[k] - 1] != d.stride[k] * d.extent[k]) return false;
    for (int i = k; i < a->dims; i++) a->first[i] = a->first[i + 1];
    a->dims--;
    return true;
}

/* Merges dimensions until every use of the argument fits; if that fails, the argument is flat. */
static void fit_arg(Function *f, int arg)
{
    Arg *a = &f->args.at[arg];
    for (int k = 1; k < a->dims; k++) { /* a tensor in an array of structs is not an array */
        const Buffer *b = a->buffer;
        if (b->stride[a->nlead + k - 1] != b->stride[a->nlead + k] * b->shape.dim[a->nlead + k]) a->flat = true;
    }
    for (bool again = !a->flat; again;) {
        again = false;
        Dims d = dims_of_arg(a);
        for (int i = 0; i < f->uses.n && !again && !a->flat; i++) {
            Use *u = &f->uses.at[i];
            if (!u->view.buffer || u->arg != arg || never_shown(f, &u->view)) continue;
            View rest = after_lead(a, u->view);
            int crowded;
            bool ok = fits_subscripts(f, &rest, &d, u->sub, &crowded);
            if (ok && crowded < 0) continue;
            if (ok && merge_before(a, crowded)) again = true;
            else a->flat = true;
        }
    }
    a->by_value = f->page->target->by_value && single_number(a);
}

bool single_number(const Arg *a) { return !a->written && a->dims == 0; }

static void need_loop(Function *f, Loop *l)
{
    for (int i = 0; i < f->loops.n; i++)
        if (f->loops.at[i] == l) return;
    push(&f->loops, l);
}

static void note_loops(Function *f, const Index *x)
{
    for (int o = 0; o < x->nover; o++) need_loop(f, x->over[o].loop);
}

static Index plain_index(const Function *f, const View *v)
{
    Index x = {.constant = v->base};
    for (int j = 0; j < f->naxes; j++) x.axis[j] = v->stride[j];
    for (int o = 0; o < v->nover; o++) {
        if (!v->over[o].stride) continue;
        x.over[x.nover].loop = v->over[o].loop;
        x.over[x.nover++].coef = v->over[o].stride;
    }
    return x;
}

/* x as a number of elements of the axes from … to - 1 of an array. */
Index elements_of(const Buffer *b, int from, int to, Index x)
{
    x.in = b, x.from = from, x.to = to;
    return x;
}

int add_use(Function *f, View v, bool write)
{
    Use u = {.view = v, .write = write, .arg = -1};
    push(&f->uses, u);
    return f->uses.n - 1;
}

const char *wished_name(Page *page, const Buffer *b)
{
    if (page->anonymous) return "array";
    if (b->home != PARAMETERS && b->home != GRADIENTS) return buffer_name(page, b);
    const char *full = identifier(page, b->param->name), *group = group_of(page, b->param);
    if (group && starts_with(full, group) && full[strlen(group)] == '_')
        full = identifier(page, full + strlen(group) + 1);
    return b->home == GRADIENTS ? format("d_%s", full) : full;
}

/* cell_before, if the kernel makes the next cell. */
static const char *wish_of(const Function *f, int arg)
{
    const Arg *a = &f->args.at[arg];
    bool before = !a->written;
    for (int i = 0; i < f->uses.n; i++) before &= f->uses.at[i].arg != arg || f->uses.at[i].before;
    return name_before(wished_name(f->page, a->buffer), before);
}

const char *name_before(const char *name, bool before) { return before ? format("%s_before", name) : name; }

void fit_args(Function *f)
{
    VEC(Buffer *) roots = {0};
    for (int i = 0; i < f->uses.n; i++) {
        if (!f->uses.at[i].view.buffer) continue;
        Buffer *root = bytes_of(f->uses.at[i].view.buffer);
        bool known = false;
        for (int r = 0; r < roots.n; r++) known |= roots.at[r] == root;
        if (!known) push(&roots, root);
    }
    for (int r = 0; r < roots.n; r++) make_args(f, roots.at[r]);
    for (int i = 0; i < f->args.n; i++) fit_arg(f, i);
    for (int i = 0; i < f->uses.n; i++) {
        Use *u = &f->uses.at[i];
        Arg *a = u->view.buffer && u->arg >= 0 ? &f->args.at[u->arg] : NULL;
        u->offset = plain_index(f, &u->view);
        if (a) {
            View rest = after_lead(a, u->view);
            u->offset = elements_of(a->buffer, a->nlead, a->buffer->shape.rank, plain_index(f, &rest));
            for (int k = 0; k < a->dims && !a->flat; k++) {
                u->sub[k] = elements_of(a->buffer, a->first[k], a->first[k + 1], u->sub[k]);
                note_loops(f, &u->sub[k]);
            }
        }
        if (!u->view.buffer || (a && a->flat)) note_loops(f, &u->offset);
    }
    for (int i = 0; i < f->args.n; i++) f->args.at[i].name = new_name(&f->names, wish_of(f, i));
    for (int i = 0; i < f->loops.n; i++) {
        push(&f->loop_names,
             new_name(&f->names, f->page->anonymous ? "iteration" : loop_letter(f->page, f->loops.at[i])));
        push(&f->loop_parts, 0);
    }
}

/* ------------------------------------------------------------------ text */

/* A bound for the index, and for each sum and product in it. */
static int64_t bound_of(const Function *f, const Index *x)
{
    int64_t bound = llabs(x->constant);
    for (int j = 0; j < f->naxes; j++) bound += llabs(x->axis[j]) * f->axis[j].extent;
    for (int o = 0; o < x->nover; o++) bound += llabs(x->over[o].coef) * x->over[o].loop->trip;
    return bound;
}

/* The number n as text: as elements of an array if x counts those, else in digits. */
static const char *number_for_index(Page *page, const Index *x, int64_t n)
{
    return x->in ? step_text(page, x->in->shape, x->from, x->to, n) : format("%lld", (long long)n);
}

/* wide: the index needs 64 bits, and no term before this one has them. */
static void add_term(Page *page, Text *t, const Index *x, int64_t coef, const char *what, bool compound, bool wide)
{
    if (!coef) return;
    int64_t n = llabs(coef);
    const char *sign = t->n ? coef < 0 ? " - " : " + " : coef < 0 ? "-" : "", *cast = wide ? "(ptrdiff_t)" : "";
    const char *body = compound && (n != 1 || coef < 0 || wide) ? format("(%s)", what) : what;
    if (n == 1) say(t, "%s%s%s", sign, cast, body);
    else say(t, "%s%s%s", sign, cast, multiplied(number_for_index(page, x, n), body));
}

/* A number beyond 32 bits is printed in digits, since its factors are int. */
static void add_constant(Page *page, Text *t, const Index *x)
{
    int64_t c = x->constant;
    const char *n = llabs(c) > INT32_MAX ? format("%lld", llabs(c)) : number_for_index(page, x, llabs(c));
    if (c < 0) say(t, "%s%s", t->n ? " - " : "-", as_term(n));
    else if (c) say(t, "%s%s", t->n ? " + " : "", n);
}

static const char *iteration_of(const Function *f, const Loop *l)
{
    for (int i = 0; i < f->loop_names.n; i++) {
        if (f->loops.at[i] != l) continue;
        f->loop_parts.at[i] |= 1u << f->parts.n;
        return f->loop_names.at[i];
    }
    return loop_letter(f->page, l);
}

static bool compound(const char *s) { return strchr(s, ' ') != NULL; }

/* A positive term comes first: C - 1 - c, not -c + C - 1. If the index needs 64 bits, the first term has them, so all
 * sums do; so has each product that needs them. */
char *index_text(Function *f, Index x)
{
    Text t = {0};
    bool positive = false, wide = bound_of(f, &x) > INT32_MAX;
    for (int j = 0; j < f->naxes; j++) positive |= x.axis[j] > 0;
    for (int o = 0; o < x.nover; o++) positive |= x.over[o].coef > 0;
    if (!positive) add_constant(f->page, &t, &x);
    for (int sign = 1; sign >= -1; sign -= 2) {
        for (int o = 0; o < x.nover; o++) {
            bool large = llabs(x.over[o].coef) * x.over[o].loop->trip > INT32_MAX;
            if (x.over[o].coef * sign > 0)
                add_term(f->page, &t, &x, x.over[o].coef, iteration_of(f, x.over[o].loop), false,
                         wide && (large || !t.n));
        }
        for (int j = 0; j < f->naxes; j++) {
            const Axis *a = &f->axis[j];
            bool large = llabs(x.axis[j]) * a->extent > INT32_MAX;
            if (x.axis[j] * sign > 0 && !same(a->now, "0"))
                add_term(f->page, &t, &x, x.axis[j], a->now, compound(a->now), wide && (large || !t.n));
        }
    }
    if (positive) add_constant(f->page, &t, &x);
    if (!t.n) say(&t, "0");
    return t.at;
}

/* from_q8_0(w[r], c): the last subscript counts elements in a row of blocks. */
static char *element_of_blocks(Function *f, const Arg *a, const Use *u)
{
    Text t = {0};
    say(&t, "from_%s(%s", type_suffix(a->buffer->dtype), a->name);
    if (a->flat) return format("%s, %s)", t.at, index_text(f, u->offset));
    for (int k = 0; k < a->dims - 1; k++) say(&t, "[%s]", index_text(f, u->sub[k]));
    say(&t, ", %s)", index_text(f, u->sub[a->dims - 1]));
    return t.at;
}

char *block_place(Function *f, int use)
{
    const Use *u = &f->uses.at[use];
    Arg *a = &f->args.at[u->arg];
    Text t = {0};
    a->parts |= 1u << f->parts.n;
    say(&t, "%s", a->name);
    for (int k = 0; !a->flat && k < a->dims - 1; k++) say(&t, "[%s]", index_text(f, u->sub[k]));
    say(&t, "[%s]", row_in_blocks(index_text(f, a->flat ? u->offset : u->sub[a->dims - 1])));
    return t.at;
}

char *element(Function *f, int use)
{
    Use *u = &f->uses.at[use];
    Arg *a = &f->args.at[u->arg];
    a->parts |= 1u << f->parts.n;
    if (a->by_value) return copy_string(a->name);
    if (a->dims == 0) return format("*%s", a->name);
    if (in_blocks(a->buffer->dtype)) return element_of_blocks(f, a, u);
    if (a->flat) return format("%s[%s]", a->name, index_text(f, u->offset));
    Text t = {0};
    say(&t, "%s", a->name);
    for (int k = 0; k < a->dims; k++) say(&t, "[%s]", index_text(f, u->sub[k]));
    return t.at;
}

static char *guard_text(Function *f, const View *v)
{
    Text t = {0};
    for (int j = 0; j < f->naxes; j++) {
        const char *at = f->axis[j].now;
        if (v->low[j] > 0) say(&t, "%s%s >= %lld", t.n ? " && " : "", at, (long long)v->low[j]);
        if (v->high[j] < f->axis[j].extent) say(&t, "%s%s < %lld", t.n ? " && " : "", at, (long long)v->high[j]);
    }
    return t.n ? t.at : NULL;
}

Expr value_at(Function *f, int use)
{
    Use *u = &f->uses.at[use];
    if (never_shown(f, &u->view)) return (Expr){"0", PRIMARY};
    Expr e;
    if (u->view.buffer) {
        e = (Expr){element(f, use), PRIMARY};
        if (e.text[0] == '*') e.binding = UNARY;
    } else {
        char *s = index_text(f, u->offset);
        e = (Expr){s, compound(s) ? PLUS : s[0] == '-' ? UNARY : PRIMARY};
    }
    char *guard = u->view.guarded ? guard_text(f, &u->view) : NULL;
    return guard ? (Expr){format("%s ? %s : 0", guard, e.text), TERNARY} : e;
}
