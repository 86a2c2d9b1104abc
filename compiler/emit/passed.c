/* passed.c: what an entry passes to a kernel: the place of a buffer, as the caller writes it. */
#include "desc/target.h"
#include "emit/view.h"

static const char *caller_index(Page *page, const Buffer *b, int k, Index x)
{
    Function none = {.page = page};
    return x.nover ? index_text(&none, elements_of(b, k, k + 1, x)) : subscript_text(page, b->shape, k, x.constant);
}

char *place_text(Page *page, const Buffer *b, int nsub, const Index *sub)
{
    Text t = {0};
    int k = 0;
    note_place(page, b);
    if (b->home == PARAMETERS || b->home == GRADIENTS) {
        const char *at[MAXRANK];
        for (; k < b->param->loops; k++) at[k] = k < nsub ? caller_index(page, b, k, sub[k]) : "0";
        say(&t, "%s", param_text(page, b->param, b->home == PARAMETERS ? "p->" : "d->", at));
    } else {
        const char *in = b->home == INPUTS ? "in->" : b->home == OUTPUTS ? "out->" : b->home == STATES ? "s->" : "";
        const char *name = buffer_name(page, b);
        say(&t, "%s%s", in, b->home == TABLES && !in_kernel(page) ? format(page->target->table_at, name) : name);
    }
    for (; k < nsub; k++) say(&t, "[%s]", caller_index(page, b, k, sub[k]));
    return t.at;
}

/* A member of a struct with rank 0 is a value; in the arena it is a pointer. */
static bool is_pointer(const Buffer *b) { return b->home == WORK || b->home == TABLES; }

static char *starred(int n, const char *s)
{
    Text t = {0};
    while (n-- > 0) say(&t, "*");
    say(&t, "%s", s);
    return t.at;
}

/* No pointer runs over all copies of a tensor in an array of structs: it has to be taken from the flat array. */
static bool through_structs(const Buffer *b, int nsub)
{
    if (b->home != PARAMETERS && b->home != GRADIENTS) return false;
    for (int k = nsub; k < b->param->loops; k++)
        if (b->shape.dim[k] > 1) return true;
    return false;
}

/* All copies of a tensor in blocks, from the first on; at: in elements of the flat array. */
static char *from_blocks(Page *page, const Buffer *b, Index at)
{
    const char *zero[MAXRANK] = {"0", "0", "0", "0", "0", "0", "0", "0"};
    Function none = {.page = page};
    at.constant -= b->param->offset - first_of_array(page, b->param);
    char *start = format("*%s", param_text(page, b->param, "p->", zero));
    for (int k = b->param->loops + 2; k < b->param->shape.rank; k++) start = format("*%s", start);
    if (!at.constant && !at.nover) return start;
    return format("%s + (%s) / LATHE_BLOCK", start, index_text(&none, at));
}

static char *from_flat_array(Page *page, const Buffer *b, int nlead, const Index *lead)
{
    Function none = {.page = page};
    Index at = {.constant = b->param->offset - first_of_array(page, b->param)};
    bool reads = b->home == PARAMETERS;
    note_place(page, b);
    for (int k = 0; k < nlead; k++) {
        at.constant += lead[k].constant * b->stride[k];
        for (int o = 0; o < lead[k].nover; o++) {
            must(at.nover < COUNT_OF(at.over));
            at.over[at.nover] = lead[k].over[o];
            at.over[at.nover++].coef *= b->stride[k];
        }
    }
    if (in_blocks(b->dtype)) return from_blocks(page, b, at);
    const char *array = b->param->teacher ? "&p->" TEACHER_MEMBER : reads ? "p" : "d";
    char *start = format("(%s%s *)%s", reads ? "const " : "", c_type(b->dtype), array);
    return at.constant || at.nover ? format("%s + %s", start, index_text(&none, at)) : start;
}

/* The number of subscripts, without a final [0] for axes of extent 1. */
static int telling_subscripts(const Arg *a)
{
    int n = a->nlead, fixed = a->buffer->param ? a->buffer->param->loops : 0;
    while (n > fixed && a->buffer->shape.dim[n - 1] == 1 && !a->lead[n - 1].nover && !a->lead[n - 1].constant) n--;
    return n;
}

/* n stars before the place. An axis of extent 1 gets one more star, not a [0] at the end: gcc 12 takes the [0] in
 * *x[t][0] for out of bounds when it unrolls the loop over t. */
static char *starred_place(Page *page, const Arg *a, int n)
{
    int nsub = n ? telling_subscripts(a) : a->nlead;
    return starred(n + a->nlead - nsub, place_text(page, a->buffer, nsub, a->lead));
}

char *argument(Page *page, const Arg *a)
{
    const Buffer *b = a->buffer;
    int rank = b->shape.rank;
    if (through_structs(b, a->nlead)) {
        char *flat = from_flat_array(page, b, a->nlead, a->lead);
        return a->dims > 1 && !a->flat ? format("%s(%s)", page->target->untyped, flat) : flat;
    }
    char *at = place_text(page, b, a->nlead, a->lead);
    if (a->nlead == rank && rank > 0) return a->by_value ? at : format("&%s", at);
    if (rank == 0) return a->by_value == !is_pointer(b) ? at : format("%s%s", a->by_value ? "*" : "&", at);
    if (a->flat) return starred_place(page, a, rank - a->nlead - 1);
    for (int k = 1; k < a->dims; k++)
        if (a->first[k + 1] - a->first[k] > 1) return format("%s%s", page->target->untyped, at);
    return starred_place(page, a, a->first[1] - a->first[0] - 1);
}

/* The pointer as a number of elements, for steps that are not multiples of rows or that cross the end of one, such as
 * chunks of an array with another shape. */
static char *element_pointer(Page *page, const View *v, int rank)
{
    Function none = {.page = page};
    Index at = {.constant = v->base};
    if (v->buffer->param && v->buffer->param->loops) die("no place for a view into %s", v->buffer->name);
    for (int o = 0; o < v->nover; o++) {
        at.over[at.nover].loop = v->over[o].loop;
        at.over[at.nover++].coef = v->over[o].stride;
    }
    at = elements_of(v->buffer, 0, rank, at);
    return format("%s + %s", starred(rank - 1, place_text(page, v->buffer, 0, &at)), index_text(&none, at));
}

char *flat_pointer(Page *page, View v)
{
    Function none = {.page = page};
    Buffer *b = v.buffer;
    Dims d = dims_of_buffer(b);
    Index sub[MAXRANK];
    int crowded;
    if (!fits_subscripts(&none, &v, &d, sub, &crowded) || crowded >= 0) return element_pointer(page, &v, d.n);
    int last = 0;
    for (int k = 0; k < d.n; k++)
        if (sub[k].constant || sub[k].nover || (b->param && k < b->param->loops)) last = k + 1;
    char *at = place_text(page, b, last, sub);
    if (d.n == 0) return is_pointer(b) ? at : format("&%s", at);
    if (last == d.n) return format("&%s", at);
    return starred(d.n - last - 1, at);
}
