/* product.c: calls of matrix products in the runtime, and the descriptions of extents and strides that they take. */
#include "emit/emit.h"
#include "passes/passes.h"

#include <string.h>

static void say_numbers(Text *t, const char *field, int n, const int64_t *x)
{
    say(t, " .%s = {", field);
    for (int i = 0; i < n; i++) say(t, "%s%lld", i ? ", " : "", (long long)x[i]);
    say(t, "},");
}

static const char *shape_text_of(const struct Gemm *g, bool alike)
{
    Text t = {0};
    say(&t, "{");
    if (g->nbatch) {
        say(&t, ".nbatch = %d,", g->nbatch);
        say_numbers(&t, "batch", g->nbatch, g->batch);
        say_numbers(&t, "a_batch", g->nbatch, g->a_batch);
        say_numbers(&t, "b_batch", g->nbatch, g->b_batch);
        say_numbers(&t, "c_batch", g->nbatch, g->c_batch);
        say(&t, " ");
    }
    say(&t, ".M = %lld, .N = %lld, .K = %lld,", (long long)g->M, (long long)g->N, (long long)g->K);
    say(&t, " .a_m = %lld, .a_k = %lld,", (long long)g->a_m, (long long)g->a_k);
    say(&t, " .b_k = %lld, .b_n = %lld,", (long long)g->b_k, (long long)g->b_n);
    say(&t, " .c_m = %lld, .c_n = %lld%s}", (long long)g->c_m, (long long)g->c_n, alike ? ", .alike = true" : "");
    return t.at;
}

/* "fc_matmul = x . weight      gpt.lua:31 layer.mlp.fc" */
const char *remark_of_product(Page *page, const Kernel *k)
{
    const char *remark = formula_text(page, k, false), *path = k->where.path ? k->where.path : "";
    return k->where.file ? format("%s      %s:%d %s", remark, file_name(k->where.file), k->where.line, path) : remark;
}

/* The name of the description of product k; `text` is the description. */
static const char *description(Page *page, const Kernel *k, const char *text, const char *suffix)
{
    const char *name = described(&page->products, text);
    if (name) return name;
    name = new_file_name(page, format("%s_%s", identifier(page, k->name), suffix));
    push(&page->products, ((Described){text, name, remark_of_product(page, k), NULL}));
    return name;
}

static void say_all(Page *page, Text *t, const char *head, const char *type)
{
    if (page->products.n) say(t, "/* %s */\n\n", head);
    for (int i = 0; i < page->products.n; i++) {
        say_comment(t, 0, page->products.at[i].remark);
        say_wrapped(t, format("%s %s = %s;\n\n", type, page->products.at[i].name, page->products.at[i].text));
    }
}

void say_shapes(Page *page, Text *t)
{
    say_all(page, t,
            "Matrix products with packed operands or with strides. M, N and K are extents; strides count\n"
            " * elements, and are those before packing.",
            "static const Lathe_gemm");
}

/* Is the product added to what is there? As an expression of C. */
static const char *adds(Page *page, const struct Gemm *g)
{
    if (!g->afresh) return g->c.add ? "true" : "false";
    const char *i = loop_letter(page, g->afresh);
    return g->afresh->reverse ? format("%s < %s - 1", i, trip_text(page, g->afresh)) : format("%s > 0", i);
}

/* For LATHE_PRODUCTS (runtime/math/ways.h). */
static void note_product(Page *page, const struct Gemm *g, bool alike)
{
    const char *text =
        format("%s, %s, %s", c_type(g->c.node->dtype), g->packed ? "true" : "false", shape_text_of(g, alike));
    for (int i = 0; i < page->product_rows.n; i++)
        if (same(page->product_rows.at[i], text)) return;
    push(&page->product_rows, text);
}

/* matmul_nt(c, a, b, M, N, K): b is stored as its transpose [N][K]. */
char *product_call(Page *page, const Kernel *k)
{
    static const char *const ways[] = {DENSE_LIST(LIST_WORD)};
    const struct Gemm *g = &k->gemm;
    DType in = g->a.node->dtype, out = g->c.node->dtype;
    const char *type = in == out ? type_suffix(out) : format("%s_%s", type_suffix(in), type_suffix(out));
    char *c = flat_pointer(page, g->c.view), *a = flat_pointer(page, g->a.view), *b = flat_pointer(page, g->b.view);
    const bool some = k->share == SOME_ROWS;
    const bool alike = rows_alike(page->program) && g->M == page->desc->recipe.slots && !k->nest->dense;
    note_product(page, g, alike);
    if (k->nest->dense)
        return format("matmul_%s%s_%s(%s, %s, %s, %s, %s, %s%s);", ways[k->nest->dense],
                      g->afresh  ? "_sum"
                      : g->c.add ? "_add"
                                 : "",
                      type, c, a, b, extent_text(page, g->M, g->axis_m), extent_text(page, g->N, g->axis_n),
                      extent_text(page, g->K, g->axis_k), g->afresh ? format(", %s", adds(page, g)) : "");
    if (in_blocks(g->b.node->dtype) && !g->packed) type = type_suffix(g->b.node->dtype);
    return format("gemm_%s%s%s(%s, %s, %s, &%s, %s%s);", g->packed ? "packed_" : "", some ? "rows_" : "", type, c, a, b,
                  description(page, k, shape_text_of(g, alike), "shape"), adds(page, g),
                  some ? format(", %s", rows_of_panel(k)) : "");
}

char *pack_call(Page *page, const Kernel *k)
{
    const struct Gemm *g = &k->gemm;
    return format("pack_%s%s(%s, %s, &%s);", k->panels ? "shared_" : "", type_suffix(g->b.node->dtype),
                  flat_pointer(page, k->writes.at[0].view), flat_pointer(page, g->b.view),
                  description(page, k->product, shape_text_of(&k->product->gemm, false), "shape"));
}

/* ------------------------------------------------------------------ CUDA */

static const char *numbers_of(Page *page, DType in, DType out)
{
    switch (in) {
    case F64: return "GEMM_F64";
    case BF16: return out == F32 ? "GEMM_BF16_TO_F32" : "GEMM_BF16";
    case F16: return out == F32 ? "GEMM_F16_TO_F32" : "GEMM_F16";
    default: return page->precision.tf32 ? "GEMM_TF32" : "GEMM_F32";
    }
}

/* cuda_gemm(&fc_product, fc, x, p->fc_weight, false, stream, p->fc_bias); */
char *cuda_product_call(Page *page, const Kernel *k)
{
#define GEMM_END(member, ...) [member] = "GEMM_" #member,
    static const char *const ends[] = {PRODUCT_ENDS(GEMM_END)};
    const struct Gemm *g = &k->gemm;
    char *c = flat_pointer(page, g->c.view), *a = flat_pointer(page, g->a.view), *b = flat_pointer(page, g->b.view);
    const char *where = k->where.file ? format(": %s:%d", file_name(k->where.file), k->where.line) : "";
    const char *end = g->end == END_GELU && g->vector.node ? "GEMM_END_BIAS_GELU" : ends[g->end];
    const char *text =
        format("{%s, %s, %s, %s, %lld, {}}", quoted(format("%s%s", identifier(page, k->name), where)),
               numbers_of(page, g->a.node->dtype, g->c.node->dtype), end, shape_text_of(g, false), (long long)g->aux_m);
    const char *vector = g->vector.node ? flat_pointer(page, g->vector.view) : "NULL";
    const char *aux = g->aux.node ? format(", %s", flat_pointer(page, g->aux.view)) : "";
    must(!g->packed);
    return format("cuda_gemm(&%s, %s, %s, %s, %s, stream%s%s%s);", description(page, k, text, "product"), c, a, b,
                  adds(page, g), g->end ? ", " : "", g->end ? vector : "", aux);
}

/* Also prints a list of all products, for timing their algorithms. */
void say_cuda_products(Page *page, Text *t)
{
    Text list = {0};
    for (int i = 0; i < page->products.n; i++) say(&list, "%s&%s", i ? ", " : "", page->products.at[i].name);
    int n = page->products.n;
    say_all(page, t, "Matrix products: extents, and strides in numbers; the library's plan for each is kept with it.",
            "static Cuda_gemm");
    say(t, "int cuda_products(Cuda_gemm *const **all)\n{\n");
    if (n) say_wrapped(t, format("    static Cuda_gemm *const list[] = {%s};\n", list.at));
    say(t, "    *all = %s;\n    return %d;\n}\n\n", n ? "list" : "NULL", n);
}

/* ------------------------------------------------------------------ CUDA: a step of a loop that is one launch */

static const char *number_class(DType t) { return t == BF16 ? "Bf16" : t == F16 ? "F16" : c_type(t); }

char *step_product_type(Page *page, const Kernel *k)
{
    const struct Gemm *g = &k->gemm;
    const Kernel *loop = k->persistent;
    const char *slices =
        k->sliced ? format(", %s, %lld", extent_text(page, loop->period, loop->axis_period), (long long)loop->wide)
                  : "";
    return format(" : Step_product<%s, %s%s> {\n    static constexpr Lathe_gemm shape = %s;\n%s};",
                  number_class(g->a.node->dtype), number_class(g->c.node->dtype), slices, shape_text_of(g, false),
                  k->nest->words ? "    static constexpr bool words = true;\n" : "");
}

/* step_product<Lstm_matmul>(slice, kept, lstm_dot[t], lstm_mul[t], p->lstm_weight_hh_l0, false); */
char *step_product_call(Page *page, const Kernel *k, const char *type, const char *kept)
{
    const struct Gemm *g = &k->gemm;
    char *c = flat_pointer(page, g->c.view), *a = flat_pointer(page, g->a.view), *b = flat_pointer(page, g->b.view);
    const char *row = g->end ? format(", %s", flat_pointer(page, g->vector.view)) : "";
    return format("step_product<%s>(slice, %s, %s, %s, %s, %s%s);", type, kept, c, a, b, adds(page, g), row);
}
