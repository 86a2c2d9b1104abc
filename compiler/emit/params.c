/* params.c: the flat array of parameters as a C struct. Tensors are in the order of their offsets, the copies of an
 * nn.stack are an array of structs, and padding is explicit. */
#include "emit/emit.h"
#include "passes/passes.h"

#include <stdlib.h>
#include <string.h>

static int by_offset(const void *a, const void *b)
{
    const Placed *x = a, *y = b;
    return (x->param->offset > y->param->offset) - (x->param->offset < y->param->offset);
}

/* Where the parameter's array begins: a teacher's goes on from the model's in offsets, and is a struct of its own. */
int64_t first_of_array(const Page *page, const Param *p) { return p->teacher ? first_of_teacher(page->desc) : 0; }

static char *array_member(const Param *p) { return p->teacher ? TEACHER_MEMBER "." : ""; }

/* Tensor "layer.attn.weight" of stack "layer" is the member attn_weight of struct layer. */
static const char *member_text(Page *page, const Param *p)
{
    size_t n = p->stack ? strlen(p->stack) : 0;
    bool within = n && strncmp(p->name, p->stack, n) == 0 && p->name[n] == '.';
    return identifier(page, within ? p->name + n + 1 : p->name);
}

/* Parameters of one struct are neighbours in this order. */
void name_parameters(Page *page)
{
    const Desc *d = page->desc;
    Strings names = {0}, inside = {0};
    for (int i = 0; i < d->params.n; i++) push(&page->params, ((Placed){d->params.at[i], NULL, NULL}));
    for (int i = 0; d->teacher && i < d->teacher->params.n; i++)
        push(&page->params, ((Placed){d->teacher->params.at[i], NULL, NULL}));
    if (page->params.n) qsort(page->params.at, (size_t)page->params.n, sizeof *page->params.at, by_offset);
    for (int i = 0; i < page->params.n; i++) {
        Placed *p = &page->params.at[i], *before = i ? p - 1 : NULL;
        p->param->number = i;
        if (!p->param->loops) continue;
        bool goes_on = before && p->param->struct_of == before->param->struct_of;
        const char *wish = identifier(page, p->param->stack);
        if (p->param->frozen && !p->param->teacher) wish = format("frozen_%s", wish);
        if (p->param->directed) wish = format("directed_%s", wish);
        p->group = goes_on ? before->group : unique_name(&names, wish);
    }
    for (int i = 0; i < page->params.n; i++) {
        Placed *p = &page->params.at[i];
        if (p->group && (!i || p->group != p[-1].group)) inside = (Strings){0};
        p->member = unique_name(p->group ? &inside : &names, member_text(page, p->param));
    }
}

static const Placed *placed(Page *page, const Param *p)
{
    if (p->number < page->params.n && page->params.at[p->number].param == p) return &page->params.at[p->number];
    die("parameter %s is not in the description", p->name);
}

const char *group_of(Page *page, const Param *p) { return placed(page, p)->group; }

char *param_text(Page *page, const Param *p, const char *base, const char *const *sub)
{
    const Placed *at = placed(page, p);
    Text t = {0};
    say(&t, "%s%s", base, array_member(p));
    if (at->group) {
        say(&t, "%s", at->group);
        for (int k = 0; k < p->loops; k++) say(&t, "[%s]", sub[k]);
        say(&t, ".");
    }
    say(&t, "%s", at->member);
    return t.at;
}

/* ------------------------------------------------------------------ the struct */

static int64_t elements_of_copy(const Param *p)
{
    int64_t n = 1;
    for (int i = p->loops; i < p->shape.rank; i++) n *= p->shape.dim[i];
    return n;
}

const char *row_in_blocks(const char *extent) { return format("%s / LATHE_BLOCK", as_term(extent)); }

static void say_member(Page *page, Text *t, int indent, const char *type, const Placed *p)
{
    Text s = {0};
    for (const Param *w = p->param->wide; w; w = w->wide)
        say(t, "%*s/* as one matrix in products: from here to %s */\n", indent, "",
            w->name + strlen(p->param->name) + strlen(".."));
    say(&s, "%*s%s %s", indent, "", type, p->member);
    for (int k = p->param->loops; k < p->param->shape.rank; k++) {
        const char *extent = extent_in(page, p->param->shape, k);
        say(&s, "[%s]", p->param->blocks && k == p->param->shape.rank - 1 ? row_in_blocks(extent) : extent);
    }
    say(&s, ";");
    say(t, "%-48s /* %s  %s:%d */\n", s.at, p->param->name, in_comment(file_name(p->param->where.file)),
        p->param->where.line);
}

static void say_padding(Text *t, int indent, const char *type, const char *after, int64_t n)
{
    must(n >= 0);
    if (n) say(t, "%*s%s %s_pad[%lld];\n", indent, "", type, after, (long long)n);
}

/* Prints the array of structs whose first member is parameter i; returns the number of the next parameter. */
static int say_struct(Page *page, Text *t, const char *type, int i)
{
    const Placed *first = &page->params.at[i];
    const Param *p = first->param;
    int64_t size = p->stride[p->loops - 1], at = 0, base = p->offset;
    say(t, "    struct {\n");
    const char *last = first->member;
    for (; i < page->params.n && page->params.at[i].group == first->group; i++) {
        const Placed *q = &page->params.at[i];
        say_padding(t, 8, type, last, q->param->offset - base - at);
        say_member(page, t, 8, type, q);
        at = q->param->offset - base + elements_of_copy(q->param);
        last = q->member;
    }
    say_padding(t, 8, type, last, size - at);
    say(t, "    } %s", first->group);
    for (int k = 0; k < p->loops; k++) say(t, "[%s]", extent_in(page, p->shape, k));
    say(t, ";\n");
    return i;
}

static int64_t whole_elements(const Param *p)
{
    return p->loops ? p->stride[0] * p->shape.dim[0] : elements_of_copy(p);
}

static int64_t elements_of_type(DType t, int64_t n) { return in_blocks(t) ? n / LATHE_BLOCK : n; }

/* An array that is printed: from the first element on. */
typedef struct Array {
    const char *name;
    DType dtype; /* of those in no blocks */
    int64_t first;
    const Flat *flat;
    const char *behind; /* the type of a struct that follows; NULL: none */
} Array;

/* Returns the bytes of all. */
static int64_t say_behind(Page *page, Text *t, const Array *a)
{
    const Plan *plan = &page->module->plan;
    int64_t own = flat_bytes_before(a->flat, a->dtype, a->flat->elements);
    if (!a->behind) return own;
    if (plan->parameters > own) say(t, "    char " TEACHER_MEMBER "_pad[%lld];\n", (long long)(plan->parameters - own));
    say(t, "    %s " TEACHER_MEMBER ";\n", a->behind);
    return plan->parameters + flat_bytes_before(&plan->taught, a->dtype, plan->taught.elements);
}

/* The struct of an array.  Padding up to the first one stored in other blocks is of the type before. */
static void say_array(Page *page, Text *t, const Array *a)
{
    const char *last = "start";
    const int64_t end = a->first + a->flat->elements;
    DType type = a->dtype;
    int64_t at = a->first;
    int i = 0;
    say(t, "typedef struct %s {\n", a->name);
    while (i < page->params.n && page->params.at[i].param->offset < a->first) i++;
    while (i < page->params.n && page->params.at[i].param->offset < end) {
        const Placed *p = &page->params.at[i];
        say_padding(t, 4, c_type(type), last, elements_of_type(type, p->param->offset - at));
        if (p->param->blocks) type = p->param->blocks;
        at = p->param->offset + whole_elements(p->param);
        last = p->group ? p->group : p->member;
        if (p->group) i = say_struct(page, t, c_type(type), i);
        else say_member(page, t, 4, c_type(type), p), i++;
    }
    say_padding(t, 4, c_type(type), last, elements_of_type(type, end - at));
    int64_t bytes = say_behind(page, t, a);
    say(t, "} %s;\n", a->name);
    say(t, "static_assert(sizeof(%s) == %lld, \"the layout of the plan\");\n\n", a->name, (long long)bytes);
}

char *gradients_type(Page *page)
{
    const Plan *plan = &page->module->plan;
    bool alike =
        page->precision.weights == page->precision.real && plan->flat.trained == plan->flat.elements && !plan->teacher;
    return type_name(page, NULL, alike ? "params" : "gradients");
}

void say_params(Page *page, Text *t)
{
    char *name = type_name(page, NULL, "params"), *gradients = gradients_type(page);
    const Plan *plan = &page->module->plan;
    bool alike = same(name, gradients), frozen = plan->flat.trained < plan->flat.elements;
    char *teacher = plan->teacher ? type_name(page, NULL, TEACHER_MEMBER) : NULL;
    if (teacher) {
        say(t, "/* Parameters of the teacher, %s: %s numbers. */\n", page->desc->teacher->model,
            grouped(plan->taught.count));
        say_array(page, t,
                  &(Array){teacher, page->precision.weights, first_of_teacher(page->desc), &plan->taught, NULL});
    }
    say(t, "/* Parameters%s: %s numbers%s. */\n", alike ? ", and in the same layout their gradients" : "",
        grouped(plan->flat.count), frozen ? "; those that are frozen come last" : "");
    say_array(page, t, &(Array){name, page->precision.weights, 0, &plan->flat, teacher});
    if (alike) return;
    const Flat trained = {.elements = plan->flat.trained};
    say(t, "/* Their gradients, in the same layout%s. */\n", frozen ? ", without the frozen ones" : "");
    say_array(page, t, &(Array){gradients, page->precision.real, 0, &trained, NULL});
}

/* ------------------------------------------------------------------ tables */

static const char *init_word(Lathe_init init)
{
    static const char *const word[] = {[LATHE_ZEROS] = "LATHE_ZEROS",
                                       [LATHE_ONES] = "LATHE_ONES",
                                       [LATHE_CONSTANT] = "LATHE_CONSTANT",
                                       [LATHE_NORMAL] = "LATHE_NORMAL",
                                       [LATHE_UNIFORM] = "LATHE_UNIFORM"};
    must(init < COUNT_OF(word));
    return word[init];
}

static void say_table_row(Text *t, const Param *p, const int64_t *stride, const char *offset)
{
    say_wrapped(t, format("    {.name = %s, .export_name = %s,", quoted(p->name), quoted(p->export_name)));
    say(t, "     .where = %s, .rank = %d, .loops = %d,\n",
        quoted(format("%s:%d", p->where.file ? p->where.file : "", p->where.line)), p->shape.rank, p->loops);
    say_wrapped(
        t, format("     .dim = %s, .stride = %s,", braces(p->shape.rank, p->shape.dim), braces(p->shape.rank, stride)));
    say_wrapped(t, format("     .offset = %s, .decay = %s,", offset, p->decay ? "true" : "false"));
    say(t, "     .init = %s, .init_a = %s, .init_b = %s", init_word(p->init), number_text(p->init_a),
        number_text(p->init_b));
    if (p->directed) say(t, ", .directed = true");
    if (p->height) say(t, ", .height = %lld", (long long)p->height);
    if (p->zero_row) say(t, ", .zero_row = %lld", (long long)p->zero_row);
    say(t, "},\n");
}

/* Offsets are in the parameter's own array. */
static void say_array_table(Page *page, Text *t, const char *name, const char *type, const Desc *d)
{
    const char *zero[MAXRANK] = {"0", "0", "0", "0", "0", "0", "0", "0"};
    const char *real = c_type(page->precision.weights);
    if (!d->params.n) return;
    say(t, "static const Lathe_param %s[] = {\n", name);
    for (int i = 0; i < d->params.n; i++) {
        const Param *p = d->params.at[i];
        const char *member = param_text(page, p, "", zero) + strlen(array_member(p));
        const char *offset = format("offsetof(%s, %s) / sizeof(%s)", type, member, real);
        int64_t number = p->offset - first_of_array(page, p);
        say_table_row(t, p, p->stride, p->blocks ? format("%lld", (long long)number) : offset);
    }
    say(t, "};\n\n");
}

void say_param_table(Page *page, Text *t)
{
    const Desc *d = page->desc;
    say_array_table(page, t, "params", type_name(page, NULL, "params"), d);
    if (d->teacher) say_array_table(page, t, "teacher_params", type_name(page, NULL, TEACHER_MEMBER), d->teacher);
}

static int number_of_param(const Desc *d, const Param *p)
{
    for (int i = 0; i < d->params.n; i++)
        if (d->params.at[i] == p) return i;
    die("parameter %s is not in the description", p->name);
}

void say_adapter_table(Text *t, const Desc *d)
{
    if (!d->adapters.n) return;
    say(t, "static const Lathe_adapter adapters[] = {\n");
    for (int i = 0; i < d->adapters.n; i++) {
        const Adapter *a = &d->adapters.at[i];
        say(t, "    {%d, %d, %d, %d, %s},\n", number_of_param(d, a->weight), number_of_param(d, a->a),
            number_of_param(d, a->b), a->magnitude ? number_of_param(d, a->magnitude) : -1,
            a->across == 0 ? "true" : "false");
    }
    say(t, "};\n\n");
}

/* Files have them one after another. */
void say_statistic_table(Text *t, const Desc *d)
{
    int64_t at = 0;
    if (!d->statistics.n) return;
    say(t, "static const Lathe_param statistics[] = {\n");
    for (int i = 0; i < d->statistics.n; i++) {
        const Param *p = d->statistics.at[i];
        int64_t stride[MAXRANK];
        dense_strides(p->shape, stride);
        say_table_row(t, p, stride, format("%lld", (long long)at));
        at += elements(p->shape);
    }
    say(t, "};\n\n");
}
