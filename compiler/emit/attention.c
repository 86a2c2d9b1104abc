/* attention.c: calls of the runtime's attention, and the constant descriptions of extents and strides they take. */
#include "desc/target.h"
#include "emit/emit.h"

#include <string.h>

/* ------------------------------------------------------------------ operands */

static const Operand *reads_operand(const Kernel *k, const Node *n)
{
    for (int i = 0; n && i < k->reads.n; i++)
        if (k->reads.at[i].node == n) return &k->reads.at[i];
    return NULL;
}

/* The kernel's result number `which`; NULL: nothing reads it. */
static const Operand *writes(const Kernel *k, int which)
{
    for (int i = 0; i < k->writes.n; i++)
        if (k->writes.at[i].node->ints[0] == which) return &k->writes.at[i];
    return NULL;
}

static const char *pointer(Page *page, const Operand *o) { return o ? flat_pointer(page, o->view) : "NULL"; }

/* The type for which CUDA's kernels are instantiated; arrays of 16-bit numbers have another type in the text. */
static const char *kernel_type(DType t) { return t == BF16 ? "Bf16" : t == F16 ? "F16" : c_type(t); }

/* An integer argument, as the entry writes it. */
static const char *integer(Page *page, const Kernel *k, const Node *n)
{
    double x;
    bool reads_it = page->target->by_value; /* else the kernel takes its address */
    if (is_filled(n, &x)) return reads_it ? number_text(x) : format("{%s, NULL}", number_text(x));
    char *at = flat_pointer(page, reads_operand(k, n)->view);
    if (!reads_it) return format("{0, %s}", at);
    return *at == '&' ? at + 1 : format("*%s", at);
}

/* ------------------------------------------------------------------ descriptions */

/* The strides of an operand with nb batch axes. time, head: the numbers of its axes, or -1. */
static void say_heads(Text *t, const char *field, const Operand *o, int nb, int time, int head)
{
    if (!o) return;
    const View *v = &o->view;
    say(t, ", .%s = {", field);
    if (nb) say(t, ".batch = {");
    for (int i = 0; i < nb; i++) say(t, "%s%lld", i ? ", " : "", (long long)v->stride[i]);
    if (nb) say(t, "}");
    if (time >= 0) say(t, "%s.time = %lld", nb ? ", " : "", (long long)v->stride[time]);
    if (head >= 0) say(t, ", .head = %lld", (long long)v->stride[head]);
    say(t, "}");
}

static void say_extents(Text *t, const Attention *a, int nb)
{
    const int64_t *q = a->q->shape.dim, *k = a->k->shape.dim;
    double x;
    if (nb) say(t, ".nbatch = %d, .batch = {", nb);
    for (int i = 0; i < nb; i++) say(t, "%s%lld", i ? ", " : "", (long long)q[i]);
    say(t, "%s.T = %lld, .S = %lld, .H = %lld, .G = %lld, .D = %lld, .E = %lld", nb ? "}, " : "", (long long)q[nb],
        (long long)k[nb], (long long)q[nb + 1], (long long)k[nb + 1], (long long)q[nb + 2],
        (long long)a->v->shape.dim[nb + 2]);
    must(is_filled(a->scale, &x));
    say(t, ", .scale = %s", number_text(x));
    if (a->flags & SOFT_CAP) {
        must(is_filled(a->cap, &x));
        say(t, ", .cap = %s", number_text(x));
    }
    if (a->flags & DROPOUT) {
        must(is_filled(a->keep, &x));
        say(t, ", .keep = %s, .threshold = %lldu", number_text(x), (long long)a->threshold);
    }
    if (a->flags & CAUSAL) say(t, ", .causal = true");
    if (a->window) say(t, ", .window = %lld", (long long)a->window);
}

/* Whether each sample has an offset of its own. */
static bool has_offsets(const Attention *a) { return a->offset && a->offset->shape.rank; }

static char *description_text(const Kernel *k, const Attention *a, bool back)
{
    int nb = a->q->shape.rank - 3;
    Text t = {0};
    say(&t, "{");
    say_extents(&t, a, nb);
    say_heads(&t, "q", reads_operand(k, a->q), nb, nb, nb + 1);
    say_heads(&t, "k", reads_operand(k, a->k), nb, nb, nb + 1);
    say_heads(&t, "v", reads_operand(k, a->v), nb, nb, nb + 1);
    say_heads(&t, "o", back ? reads_operand(k, a->o) : writes(k, 0), nb, nb, nb + 1);
    say_heads(&t, "lse", back ? reads_operand(k, a->lse) : writes(k, 1), nb, nb + 1, nb);
    if (!back) say_heads(&t, "p", writes(k, 2), nb, nb + 1, nb);
    if (back) {
        say_heads(&t, "d_o", reads_operand(k, a->d_o), nb, nb, nb + 1);
        say_heads(&t, "d_q", writes(k, 0), nb, nb, nb + 1);
        say_heads(&t, "d_k", writes(k, 1), nb, nb, nb + 1);
        say_heads(&t, "d_v", writes(k, 2), nb, nb, nb + 1);
    }
    if (has_offsets(a)) say_heads(&t, "offsets", reads_operand(k, a->offset), nb, -1, -1);
    say_heads(&t, "lengths", reads_operand(k, a->lengths), nb, -1, -1);
    say_heads(&t, "q_segments", reads_operand(k, a->q_segments), nb, nb, -1);
    say_heads(&t, "k_segments", reads_operand(k, a->k_segments), nb, nb, -1);
    say_heads(&t, "q_turns", reads_operand(k, a->q_turns), nb, nb, -1);
    say_heads(&t, "k_turns", reads_operand(k, a->k_turns), nb, nb, -1);
    say_heads(&t, "bias", reads_operand(k, a->bias), nb, nb + 1, nb);
    if (a->bias) say(&t, ", .bias_key = %lld", (long long)reads_operand(k, a->bias)->view.stride[nb + 2]);
    say_heads(&t, "row", reads_operand(k, a->row), nb, -1, -1);
    say_heads(&t, "base", reads_operand(k, a->base), nb, -1, -1);
    say(&t, "}");
    return t.at;
}

static const char *description(Page *page, const Kernel *k, const Attention *a, bool back)
{
    char *text = description_text(k, a, back);
    const char *name = described(&page->attentions, text);
    if (name) return name;
    name = new_file_name(page, format("%s_shape", identifier(page, k->name)));
    const char *remark = formula_text(page, k, false), *where = "";
    if (k->where.file) {
        where = format("%s:%d %s", file_name(k->where.file), k->where.line, k->where.path ? k->where.path : "");
        remark = format("%s      %s", remark, where);
    }
    push(&page->attentions, ((Described){text, name, remark, where}));
    return name;
}

void say_attentions(Page *page, Text *t)
{
    if (page->attentions.n) say(t, "/* Attention: extents, and strides of its operands in numbers. */\n\n");
    for (int i = 0; i < page->attentions.n; i++) {
        say_comment(t, 0, page->attentions.at[i].remark);
        const char *text = page->attentions.at[i].text; /* devices: also what an error message says about it */
        if (page->target->device && *page->attentions.at[i].where)
            text = format("%.*s, .where = %s}", (int)strlen(text) - 1, text, quoted(page->attentions.at[i].where));
        say_wrapped(t, format("static const Lathe_attention %s = %s;\n\n", page->attentions.at[i].name, text));
    }
}

/* ------------------------------------------------------------------ calls */

static void say_integer(Page *page, Text *t, const Kernel *k, const char *field, const Node *n)
{
    double x;
    if (!n || (is_filled(n, &x) && x == 0)) return;
    say(t, "%s.%s = %s", t->n ? ", " : "", field, integer(page, k, n));
}

static void say_array(Page *page, Text *t, const Kernel *k, const char *field, const Node *n)
{
    if (n) say(t, "%s.%s = %s", t->n ? ", " : "", field, pointer(page, reads_operand(k, n)));
}

/* The fields that differ from call to call; NULL: all are zero. */
static const char *mask_fields(Page *page, const Kernel *k, const Attention *a)
{
    Text t = {0};
    if (has_offsets(a)) say_array(page, &t, k, "offsets", a->offset);
    else say_integer(page, &t, k, "offset", a->offset);
    say_array(page, &t, k, "lengths", a->lengths);
    say_array(page, &t, k, "q_segments", a->q_segments);
    say_array(page, &t, k, "k_segments", a->k_segments);
    say_array(page, &t, k, "q_turns", a->q_turns);
    say_array(page, &t, k, "k_turns", a->k_turns);
    say_array(page, &t, k, "bias", a->bias);
    say_integer(page, &t, k, "seed", a->seed);
    say_integer(page, &t, k, "step", a->step);
    say_integer(page, &t, k, "site", a->site);
    say_array(page, &t, k, "row", a->row);
    say_array(page, &t, k, "base", a->base);
    return t.at;
}

/* Pointers to the results, then to the inputs. */
static void say_pointers(Page *page, Text *t, const Kernel *k, const Attention *a, int results)
{
    const Node *in[] = {a->q, a->k, a->v, a->o, a->lse, a->d_o};
    const char *any = is_stored(k->node->dtype) ? page->target->untyped : "";
    for (int i = 0; i < results; i++) say(t, "%s%s, ", any, pointer(page, writes(k, i)));
    for (int i = 0; i < (k->node->op == OP_attention_back ? 6 : 3); i++)
        say(t, "%s%s, ", any, pointer(page, reads_operand(k, in[i])));
}

char *attention_call(Page *page, const Kernel *k)
{
    Attention a = attention_of(k->node);
    bool back = k->node->op == OP_attention_back, weights = !back && writes(k, 2);
    const char *fields = mask_fields(page, k, &a);
    Text t = {0};
    const char *keys = a.k->dtype == a.q->dtype ? "" : format("_%s", type_suffix(a.k->dtype));
    say(&t, "%s%s_%s%s(", op_info[k->node->op].name, weights ? "_weights" : "", type_suffix(k->node->dtype), keys);
    say_pointers(page, &t, k, &a, back || weights ? 3 : 2);
    const char *masks = fields ? format("&(Lathe_masks){%s}", fields) : "NULL";
    say(&t, "&%s, %s);", description(page, k, &a, back), masks);
    return t.at;
}

/* The call up to its first operand. Kernels on tensor cores are instantiated for widths that are multiples of 16, the
 * others for multiples of 64. */
static char *attention_head(const Kernel *k, const Attention *a, bool back)
{
    enum { WIDTHS = 64, TENSOR_WIDTHS = 16 };
    int last = a->q->shape.rank - 1;
    int64_t d = a->q->shape.dim[last], e = a->v->shape.dim[last];
    const char *type = kernel_type(k->node->dtype), *dropout = a->flags & DROPOUT ? "true" : "false";
    if (k->nest->tensor)
        return format("attention%s<%s, %lld, %lld, %s>(stream, ", back ? "_back" : "", type,
                      (long long)round_up(d, TENSOR_WIDTHS), (long long)round_up(e, TENSOR_WIDTHS), dropout);
    return format("launch_attention_plain%s<%s, %lld, %s>(stream, ", back ? "_back" : "", type,
                  (long long)round_up(max64(d, e), WIDTHS), dropout);
}

/* attention<Bf16, 64, 64, false>(stream, heads, lse, NULL, …, layer_attn_heads, {.step = {0, &in->step}}); */
char *cuda_attention_call(Page *page, const Kernel *k)
{
    Attention a = attention_of(k->node);
    bool back = k->node->op == OP_attention_back;
    const char *fields = mask_fields(page, k, &a);
    Text t = {0};
    say(&t, "%s", attention_head(k, &a, back));
    say_pointers(page, &t, k, &a, 3);
    say(&t, "%s, {%s});", description(page, k, &a, back), fields ? fields : "");
    return t.at;
}
