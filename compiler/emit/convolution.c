/* convolution.c: calls of the runtime's convolutions, and the constant descriptions of extents and strides they take.
 */
#include "desc/target.h"
#include "emit/emit.h"

/* One number for each axis; those that the convolution lacks come first. */
static void say_by_axis(Text *t, const char *field, const Convolution *v, const int64_t *of, int64_t lacking)
{
    say(t, ", .%s = {", field);
    for (int i = 0; i < CONVOLVED; i++) {
        int axis = i - (CONVOLVED - v->n);
        say(t, "%s%lld", i ? ", " : "", (long long)(axis < 0 ? lacking : of[axis]));
    }
    say(t, "}");
}

static void say_numbers(Text *t, const char *field, int n, const int64_t *of)
{
    say(t, "%s = {", field);
    for (int i = 0; i < n; i++) say(t, "%s%lld", i ? ", " : "", (long long)of[i]);
    say(t, "}");
}

static void say_pixels(Text *t, const char *field, const Convolution *v, const View *at)
{
    int nb = at->shape.rank - v->n - 1;
    say(t, ", .%s = {", field);
    if (nb) say_numbers(t, ".batch", nb, at->stride), say(t, ", ");
    int64_t axis[CONVOLVED] = {0};
    for (int i = 0; i < v->n; i++) axis[CONVOLVED - v->n + i] = at->stride[nb + i];
    say_numbers(t, ".axis", CONVOLVED, axis);
    say(t, "}");
}

static void say_kernel(Text *t, const Convolution *v)
{
    int64_t K[CONVOLVED], stride[CONVOLVED], dilation[CONVOLVED], before[CONVOLVED];
    for (int i = 0; i < v->n; i++) {
        const Convolved *a = &v->axis[i];
        K[i] = a->kernel, stride[i] = a->stride, dilation[i] = a->dilation, before[i] = a->before;
    }
    say_by_axis(t, "K", v, K, 1);
    say_by_axis(t, "stride", v, stride, 1);
    say_by_axis(t, "dilation", v, dilation, 1);
    say_by_axis(t, "before", v, before, 0);
}

/* Where x and y lie, read or written. */
static const View *image_at(const Kernel *k, const Convolution *v, bool x)
{
    if (v->side == (x ? TOWARDS_X : TOWARDS_Y)) return &k->writes.at[0].view;
    return &k->reads.at[v->side == TOWARDS_W && !x].view;
}

static char *description_text(const Kernel *k, const Convolution *v)
{
    const View *x = image_at(k, v, true), *y = image_at(k, v, false);
    int nb = x->shape.rank - v->n - 1, last = x->shape.rank - 1;
    Text t = {0};
    say(&t, "{");
    if (nb) say(&t, ".nbatch = %d, ", nb), say_numbers(&t, ".batch", nb, x->shape.dim), say(&t, ", ");
    say(&t, ".groups = %lld, .C = %lld, .O = %lld, .parts = %lld", (long long)v->groups, (long long)x->shape.dim[last],
        (long long)y->shape.dim[last], (long long)v->parts);
    say_by_axis(&t, "X", v, x->shape.dim + nb, 1);
    say_by_axis(&t, "Y", v, y->shape.dim + nb, 1);
    say_kernel(&t, v);
    say_pixels(&t, "x", v, x);
    say_pixels(&t, "y", v, y);
    say(&t, "}");
    return t.at;
}

static const char *description(Page *page, const Kernel *k, const Convolution *v)
{
    char *text = description_text(k, v);
    const char *name = described(&page->convolutions, text);
    if (name) return name;
    name = new_file_name(page, format("%s_shape", identifier(page, k->name)));
    push(&page->convolutions, ((Described){text, name, remark_of_product(page, k), NULL}));
    return name;
}

void say_convolutions(Page *page, Text *t)
{
    const Descriptions *all = &page->convolutions;
    if (all->n) say(t, "/* Convolutions: extents, and strides of their operands in numbers. */\n\n");
    for (int i = 0; i < all->n; i++) {
        say_comment(t, 0, all->at[i].remark);
        say_wrapped(t, format("static const Lathe_convolution %s = %s;\n\n", all->at[i].name, all->at[i].text));
    }
}

/* convolution_f32(conv_y, x, p->conv_weight, &conv_shape); */
char *convolution_call(Page *page, const Kernel *k)
{
    static const char *const sides[] = {"", "_input", "_weight"};
    Convolution v = convolution_of(k->node);
    bool some = k->share == SOME_ROWS;
    return format("convolution%s%s_%s(%s, %s, %s, &%s%s);", sides[v.side], some ? "_samples" : "",
                  type_suffix(k->node->in[0]->dtype), flat_pointer(page, k->writes.at[0].view),
                  flat_pointer(page, k->reads.at[0].view), flat_pointer(page, k->reads.at[1].view),
                  description(page, k, &v), some ? format(", %s", rows_of_panel(k)) : "");
}
