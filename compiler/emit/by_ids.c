/* by_ids.c: calls of the runtime's products with matrices chosen by ids, and the constant descriptions of extents and
 * strides that they take. */
#include "emit/emit.h"
#include "lower/lower.h"

static void say_rows(Text *t, const char *x, const View *at)
{
    View v;
    must(rows_of_two(at, &v));
    say(t, ", .%s_outer = %lld, .%s_inner = %lld", x, (long long)v.stride[0], x, (long long)v.stride[1]);
}

/* The matrices of w, whose axis along x is `across`. */
static void say_matrices(Text *t, const View *w, int across)
{
    say(t, ", .w_e = %lld, .w_n = %lld, .w_k = %lld", (long long)w->stride[0], (long long)w->stride[3 - across],
        (long long)w->stride[across]);
}

static char *description_text(Page *page, const Kernel *k)
{
    const View *x = &k->reads.at[0].view, *w = &k->reads.at[1].view, *y = &k->writes.at[0].view;
    bool sums = sums_by_ids(k->node);
    int last = x->shape.rank - 1, across = sums ? 2 : (int)k->node->ints[0];
    if (sums) x = w, w = y, y = &k->reads.at[0].view;
    int64_t inner = last > 1 ? x->shape.dim[last - 1] : 1, rows = elements(k->node->in[2]->shape);
    Text t = {0};
    say(&t, "{.outer = %lld, .inner = %lld, .E = %lld, .N = %lld, .K = %lld", (long long)(rows / inner),
        (long long)inner, (long long)w->shape.dim[0], (long long)w->shape.dim[3 - across],
        (long long)w->shape.dim[across]);
    say_rows(&t, "x", x);
    say_rows(&t, "y", y);
    say_matrices(&t, w, across);
    say(&t, ", .id = %s%s}", id_check_text(page, k->node, k->node->in[2], w->shape.dim[0]),
        rows_alike(page->program) ? ", .alike = true" : "");
    return t.at;
}

static const char *description(Page *page, const Kernel *k)
{
    char *text = description_text(page, k);
    const char *name = described(&page->by_ids, text);
    if (name) return name;
    name = new_file_name(page, format("%s_shape", identifier(page, k->name)));
    push(&page->by_ids, ((Described){text, name, remark_of_product(page, k), NULL}));
    return name;
}

void say_by_ids(Page *page, Text *t)
{
    const Descriptions *all = &page->by_ids;
    if (all->n) say(t, "/* Products with matrices chosen by ids: extents, and strides of operands in numbers. */\n\n");
    for (int i = 0; i < all->n; i++) {
        say_comment(t, 0, all->at[i].remark);
        say_wrapped(t, format("static const Lathe_by_ids %s = %s;\n\n", all->at[i].name, all->at[i].text));
    }
}

/* dot_by_ids_f32(gate, x, p->experts_gate, ids, &gate_shape); */
char *by_ids_call(Page *page, const Kernel *k)
{
    DType type = k->reads.at[1].node->dtype;
    return format("%s_by_ids_%s(%s, %s, %s, %s, &%s);", sums_by_ids(k->node) ? "sum" : "dot", type_suffix(type),
                  flat_pointer(page, k->writes.at[0].view), flat_pointer(page, k->reads.at[0].view),
                  flat_pointer(page, k->reads.at[1].view), flat_pointer(page, k->reads.at[2].view),
                  description(page, k));
}
