/* formula.c: what a kernel computes, as a person would write it: ln_1 = centred * rstd * ln_1_weight.
 *
 * Values have no indices. A sum, a mean or a maximum names the axes that it runs over, as below a sigma: total =
 * sum_VOCAB(e), loss = mean_{BATCH * SEQ}(losses). If these axes have no name it is sum(x). */
#include "graph/parts.h"
#include "emit/rows.h"
#include "lower/lower.h"

#include <math.h>
#include <string.h>

/* The position along the buffer's last axis at which the view begins. */
static int64_t first_column(const View *v)
{
    const Buffer *b = v->buffer;
    int last = b->shape.rank - 1, inner = v->shape.rank - 1;
    if (last < 0 || b->stride[last] != 1 || v->base < 0 || (inner >= 0 && v->stride[inner] < 0)) return 0;
    return last ? v->base % b->stride[last - 1] : v->base;
}

static bool begins_apart(const Operands *o, const View *v)
{
    for (int i = 0; i < o->n; i++)
        if (o->at[i].view.buffer == v->buffer && first_column(&o->at[i].view) != first_column(v)) return true;
    return false;
}

/* Does the kernel use several parts of the buffer of v? */
static bool one_of_parts(const Kernel *k, const View *v)
{
    bool parts = begins_apart(&k->loads, v) || begins_apart(&k->reads, v) || begins_apart(&k->writes, v);
    for (int p = 0; p < k->phases.n; p++) {
        const Phase *q = &k->phases.at[p];
        parts |= begins_apart(&q->stores, v) || begins_apart(&q->row_stores, v) || begins_apart(&q->column_stores, v);
    }
    return parts;
}

/* The position along the buffer's last axis at which the view ends. */
static int64_t end_column(const View *v)
{
    const Buffer *b = v->buffer;
    int64_t row = b->shape.rank > 1 ? b->stride[b->shape.rank - 2] : INT64_MAX, end = first_column(v) + 1;
    for (int j = 0; j < v->shape.rank; j++)
        if (v->stride[j] < row) end += (v->shape.dim[j] - 1) * v->stride[j];
    return end;
}

/* No blanks: a line could break there. */
static const char *column_text(Page *page, const Buffer *b, int64_t column)
{
    Text t = {0};
    for (const char *s = subscript_text(page, b->shape, b->shape.rank - 1, column); *s; s++)
        say(&t, *s == ' ' ? "" : "%c", *s);
    return t.at;
}

static bool is_some_columns(const Kernel *k, const View *v) { return first_column(v) || one_of_parts(k, v); }

/* qkv, or the part of it in some columns: qkv[WIDTH..2*WIDTH]. */
static const char *place_name(Page *page, const Kernel *k, const View *v)
{
    if (!v->buffer) return "an index";
    const char *name = wished_name(page, v->buffer);
    if (!is_some_columns(k, v)) return name;
    return format("%s[%s..%s]", name, column_text(page, v->buffer, first_column(v)),
                  column_text(page, v->buffer, end_column(v)));
}

/* An element of it in a formula: gates, or gates[HIDDEN+c] of one of its parts. before: cell_before. */
static const char *element_name(Page *page, const Kernel *k, const View *v, bool before)
{
    const char *name = name_before(wished_name(page, v->buffer), before);
    int inner = v->shape.rank - 1;
    if (inner < 0 || v->stride[inner] != 1 || !is_some_columns(k, v)) return name;
    const char *letter = letter_of_axis(v->shape.axis[inner], inner, v->shape.rank);
    if (!first_column(v)) return format("%s[%s]", name, letter);
    return format("%s[%s+%s]", name, column_text(page, v->buffer, first_column(v)), letter);
}

/* Of several parts of one array, the first says its name: qkv[0..WIDTH], [WIDTH..2*WIDTH], [2*WIDTH..3*WIDTH]. */
static void say_places(Page *page, Text *t, const Kernel *k, const Operands *o, int n)
{
    for (int i = 0; i < n; i++) {
        const char *name = place_name(page, k, &o->at[i].view);
        if (i && same(name, place_name(page, k, &o->at[i - 1].view))) continue;
        bool again = i && o->at[i].view.buffer && o->at[i].view.buffer == o->at[i - 1].view.buffer;
        say(t, "%s%s", i ? ", " : "", again ? strchr(name, '[') : name);
    }
}

/* "y = convolution of x, conv_weight", "d_x = convolution of d_y, conv_weight, towards x" */
static void say_convolution(Page *page, Text *t, const Kernel *k)
{
    static const char *const towards[] = {"", ", towards the input", ", towards the weight"};
    say_places(page, t, k, &k->writes, k->writes.n);
    say(t, " = convolution of ");
    say_places(page, t, k, &k->reads, k->reads.n);
    say(t, "%s", towards[convolution_of(k->node).side]);
}

/* "y = x · gate_proj[ids]", "d_gate_proj[ids] = Σ d_y · x" */
static void say_dot_by_ids(Page *page, Text *t, const Kernel *k)
{
    const char *x = place_name(page, k, &k->reads.at[0].view), *w = place_name(page, k, &k->reads.at[1].view);
    const char *ids = place_name(page, k, &k->reads.at[2].view);
    say_places(page, t, k, &k->writes, k->writes.n);
    if (sums_by_ids(k->node)) say(t, "[%s] = Σ %s · %s", ids, x, w);
    else say(t, " = %s · %s[%s]", x, w, ids);
}

static void say_attention(Page *page, Text *t, const Kernel *k)
{
    say_places(page, t, k, &k->writes, k->writes.n);
    say(t, k->node->op == OP_attention ? " = attention of " : " = gradients of attention of ");
    say_places(page, t, k, &k->reads, 3);
}

/* The text for a {word} in the comment of an operation's row. */
static const char *meant(Page *page, const Kernel *k, const char *word)
{
    static const char *const inputs[] = {"x}", "ids}", "updates}"};
    if (starts_with(word, "y}")) return k->writes.n ? place_name(page, k, &k->writes.at[0].view) : "";
    for (int i = 0; i < COUNT_OF(inputs) && i < k->reads.n; i++)
        if (starts_with(word, inputs[i])) return place_name(page, k, &k->reads.at[i].view);
    must(starts_with(word, "k}"));
    return format("%lld", (long long)k->node->ints[1]);
}

static void say_index(Page *page, Text *t, const Kernel *k)
{
    const Kernel_part *part = op_parts[k->node->op].kernel;
    if (k->kind == ATTENTION || k->kind == CONVOLUTION || k->kind == BY_IDS) {
        if (k->kind == ATTENTION) say_attention(page, t, k);
        else if (k->kind == CONVOLUTION) say_convolution(page, t, k);
        else say_dot_by_ids(page, t, k);
        return;
    }
    for (const char *s = part ? part->says : "{y} = {x}"; *s; s++) {
        if (*s != '{') {
            say(t, "%c", *s);
            continue;
        }
        say(t, "%s", meant(page, k, s + 1));
        s = strchr(s, '}');
    }
}

/* ------------------------------------------------------------------ ROWS */

typedef struct Formula {
    Page *page;
    const Kernel *k;
    Table loads, stored, members; /* by node: its load, its store, the node itself */
    Names said, arrays, words;
    Nodes called; /* the node that each word stands for */
    Text text;
    bool all; /* also print titled values on the way */
} Formula;

enum { MOST_DEPTH = 8, LONG_ENOUGH = 1200 };

static const char *array_name(Page *page, const View *v) { return v->buffer ? wished_name(page, v->buffer) : ""; }

static void note_members(Formula *f)
{
    for (int i = 0; i < f->k->loads.n; i++) {
        *table_at(&f->loads, f->k->loads.at[i].node) = &f->k->loads.at[i];
        push(&f->arrays, array_name(f->page, &f->k->loads.at[i].view));
    }
    for (int p = 0; p < f->k->phases.n; p++) {
        const Phase *phase = &f->k->phases.at[p];
        const Nodes *all[] = {&phase->row, &phase->each, &phase->sums, &phase->columns};
        const Operands *stores[] = {&phase->row_stores, &phase->stores, &phase->column_stores};
        for (int a = 0; a < COUNT_OF(all); a++)
            for (int i = 0; i < all[a]->n; i++) *table_at(&f->members, all[a]->at[i]) = all[a]->at[i];
        for (int a = 0; a < COUNT_OF(stores); a++)
            for (int i = 0; i < stores[a]->n; i++) {
                *table_at(&f->stored, stores[a]->at[i].node) = &stores[a]->at[i];
                push(&f->arrays, array_name(f->page, &stores[a]->at[i].view));
            }
    }
}

/* exp(x) for exp_f32(x). */
static const char *without_types(const char *text)
{
    Text t = {0};
    for (const char *s = text; *s; s++) {
        bool type = strncmp(s, "_f32(", 5) == 0 || strncmp(s, "_f64(", 5) == 0 || strncmp(s, "_i32(", 5) == 0;
        if (type) s += 3;
        else say(&t, "%c", *s);
    }
    return t.at;
}

static Expr number_in_formula(Page *page, const Node *n, double x)
{
    int axis = axis_counted(n);
    if (axis && (double)axis_numbered(axis)->extent == x) return extent_expression(page, (int64_t)x, axis);
    if (axis_shared(n))
        return (Expr){
            format("%s1 / %s", x < 0 ? "-" : "", factor_text(page, (int64_t)(1 / fabs(x) + 0.5), axis_shared(n))),
            TIMES};
    return (Expr){number_text(x), x < 0 ? UNARY : PRIMARY};
}

/* _WIDTH or _{BATCH * SEQ}; "" if the axes have no names. */
static const char *below_sigma(Page *page, const Node *reduction)
{
    Text t = {0};
    for (int i = 0; i < reduction->nints; i++) {
        Shape s = reduction->in[0]->shape;
        int axis = (int)reduction->ints[i];
        if (s.dim[axis] == 1) continue;
        const char *extent = extent_text(page, s.dim[axis], s.axis[axis]);
        if (*extent >= '0' && *extent <= '9') return "";
        say(&t, "%s%s", t.n ? ", " : "", extent);
    }
    if (!t.n) return "";
    return format(strpbrk(t.at, " ,/") ? "_{%s}" : "_%s", t.at);
}

static bool is_array(const Formula *f, const char *name)
{
    for (int i = 0; i < f->arrays.n; i++)
        if (same(f->arrays.at[i], name)) return true;
    return false;
}

/* As in the code, an element has another name than its array. */
static const char *name_in_formula(Formula *f, const Node *n)
{
    const Operand *kept = table_get(&f->stored, n);
    if (kept) return element_name(f->page, f->k, &kept->view, false);
    if (n->title_rank <= TITLE_ARGUMENT) return NULL;
    const char *word = word_for(f->page, n);
    int at = 0;
    while (at < f->words.n && !same(f->words.at[at], word)) at++;
    if (at == f->words.n) push(&f->words, word), push(&f->called, (Node *)n);
    if (f->called.at[at] != n) return NULL; /* if two values have one word, it names the first */
    return is_array(f, word) ? format("one_%s", word) : word;
}

static Expr written(Formula *f, const Node *n, int depth);

/* If n is a mean, its sum, unless the formula names that; else NULL. */
static const Node *sum_of_mean(Formula *f, const Node *n)
{
    double count, summed = 1;
    if (n->op != OP_div || !is_filled(n->in[1], &count)) return NULL;
    const Node *sum = n->in[0];
    while (!table_get(&f->members, sum) && is_view(sum)) sum = sum->in[0];
    if (sum->op != OP_sum || !table_get(&f->members, sum) || name_in_formula(f, sum)) return NULL;
    for (int i = 0; i < sum->nints; i++) summed *= (double)sum->in[0]->shape.dim[sum->ints[i]];
    return summed == count ? sum : NULL;
}

static Expr reduced_text(Formula *f, const char *what, const Node *n, const Node *x, int depth)
{
    return (Expr){format("%s%s(%s)", what, below_sigma(f->page, n), written(f, x, depth + 1).text), PRIMARY};
}

/* If n is an arg-max, its x: n is the least index at which x minus the largest x is 0. Else NULL. */
static const Node *of_argmax(const Node *n)
{
    double zero;
    const Node *where = n->op == OP_rmin ? beneath_views(n->in[0]) : n;
    if (where->op != OP_where || beneath_views(where->in[1])->op != OP_iota) return NULL;
    const Node *is_zero = beneath_views(where->in[0]);
    if (is_zero->op != OP_eq || !is_filled(is_zero->in[1], &zero) || zero != 0) return NULL;
    const Node *below = beneath_views(is_zero->in[0]), *largest = below;
    if (below->op == OP_sub) largest = beneath_views(below->in[1]);
    bool found = largest->op == OP_rmax && beneath_views(largest->in[0]) == beneath_views(below->in[0]);
    return found ? largest->in[0] : NULL;
}

static Expr computed_from(Formula *f, const Node *n, int depth)
{
    Expr in[8] = {0};
    if (depth == MOST_DEPTH) return (Expr){"…", PRIMARY};
    const Node *sum = sum_of_mean(f, n);
    if (of_argmax(n)) return reduced_text(f, "argmax", n, of_argmax(n), depth);
    if (op_info[n->op].kind == REDUCE) return reduced_text(f, end_of(n), n, n->in[0], depth);
    if (sum) return reduced_text(f, "mean", sum, sum->in[0], depth);
    for (int i = 0; i < n->nin && i < COUNT_OF(in); i++) in[i] = written(f, n->in[i], depth + 1);
    Expr e = apply(f->page, n, in);
    return as_written(n, (Expr){without_types(e.text), e.binding});
}

/* v, if it is the index along the vocabulary. */
static const char *name_of_index(const View *v)
{
    for (int j = 0; j < v->shape.rank; j++) {
        const char *letter = v->stride[j] ? letter_of_axis(v->shape.axis[j], j, v->shape.rank) : NULL;
        if (letter) return letter;
    }
    return "i";
}

static const char *name_of_load(const Formula *f, const Operand *load)
{
    if (!load->view.buffer) return load->node->op == OP_iota ? name_of_index(&load->view) : "index";
    return element_name(f->page, f->k, &load->view, meets_its_next(f->k, load));
}

static Expr written(Formula *f, const Node *n, int depth)
{
    double x;
    for (;; n = n->in[0]) {
        const Operand *load = table_get(&f->loads, n);
        if (load) return (Expr){name_of_load(f, load), PRIMARY};
        if (is_filled(n, &x)) return number_in_formula(f->page, n, x);
        if (table_get(&f->members, n) || !is_view(n)) break;
    }
    const char *name = depth ? name_in_formula(f, n) : NULL;
    if (name) return (Expr){name, PRIMARY};
    if (!table_get(&f->members, n)) return (Expr){n->name ? identifier(f->page, n->name) : "index", PRIMARY};
    return computed_from(f, n, depth);
}

static void say_statement(Formula *f, const Node *n)
{
    const Operand *kept = table_get(&f->stored, n);
    const char *name = name_in_formula(f, n);
    if (!name || !(kept || (f->all && f->text.n < LONG_ENOUGH)) || name_taken(&f->said, name)) return;
    push(&f->said, name);
    const char *joint = !f->text.n ? "" : f->all ? ";  " : "; ";
    say(&f->text, "%s%s %s %s", joint, name, kept && kept->add ? "+=" : "=", written(f, n, 0).text);
}

static void say_copies(Formula *f, const Operands *stores)
{
    for (int i = 0; i < stores->n; i++)
        if (!table_get(&f->members, stores->at[i].node)) say_statement(f, stores->at[i].node);
}

/* What is added up after all panels. */
static void say_column_sums(Page *page, Text *t, const Kernel *k)
{
    for (int p = 0, n = 0; p < k->phases.n; p++)
        for (int i = 0; i < k->phases.at[p].column_stores.n; i++, n++)
            say(t, "%s%s = sum(%s)", n ? ";  " : "", place_name(page, k, &k->phases.at[p].column_stores.at[i].view),
                buffer_name(page, k->partials.at[n]));
}

static void formula_of_rows(Page *page, Text *t, const Kernel *k, bool all)
{
    if (k->share == COLUMN_SUMS) {
        say_column_sums(page, t, k);
        return;
    }
    Formula f = {.page = page, .k = k, .all = all};
    note_members(&f);
    for (int p = 0; p < k->phases.n; p++) {
        const Phase *phase = &k->phases.at[p];
        const Nodes *list[] = {&phase->row, &phase->each, &phase->sums, &phase->columns};
        for (int a = 0; a < COUNT_OF(list); a++)
            for (int i = 0; i < list[a]->n; i++) say_statement(&f, list[a]->at[i]);
        say_copies(&f, &phase->row_stores);
        say_copies(&f, &phase->stores);
    }
    say(t, "%s", f.text.n ? f.text.at : "");
}

/* ------------------------------------------------------------------ all kinds */

/* c = a . b^T. An operand is marked as transposed if it is stored so. */
static void formula_of_product(Page *page, Text *t, const Kernel *k)
{
    const struct Gemm *g = &k->gemm;
    bool a = g->a_m == 1 && g->a_k != 1, b = !g->packed && g->b_k == 1 && g->b_n != 1;
    const View *summed = g->end == END_SUM_A ? &g->a.view : &g->b.view;
    say(t, "%s %s %s%s . %s%s", place_name(page, k, &g->c.view), g->c.add ? "+=" : "=", place_name(page, k, &g->a.view),
        a ? "^T" : "", place_name(page, k, &g->b.view), b ? "^T" : "");
    if (g->end == END_SUM_A || g->end == END_SUM_B)
        say(t, ", %s: sum of %s", place_name(page, k, &g->vector.view), place_name(page, k, summed));
    else if (g->vector.node) say(t, " + %s", place_name(page, k, &g->vector.view));
    if (g->end == END_GELU_BACK) say(t, ", times gelu'(%s)", place_name(page, k, &g->aux.view));
    if (g->end == END_GELU && g->aux.node) say(t, ", which is %s", place_name(page, k, &g->aux.view));
    if (g->end == END_GELU) say(t, ", gelu of it");
}

char *formula_text(Page *page, const Kernel *k, bool all)
{
    Text t = {0};
    if (k->kind == ROWS) {
        formula_of_rows(page, &t, k, all);
    } else if (k->kind == GEMM) {
        formula_of_product(page, &t, k);
    } else if (k->kind == PANELS) {
        say(&t, "panel by panel:");
        for (int i = 0; i < k->body.n; i++) say(&t, "%s %s", i ? "," : "", kernel_called(page, k->body.at[i]));
    } else if (k->kind == REPEAT) {
        say(&t, "%s times in one launch:", grouped(k->loop->trip));
        for (int i = 0; i < k->body.n; i++) say(&t, "%s %s", i ? "," : "", kernel_called(page, k->body.at[i]));
    } else if (k->kind == PACK) {
        say(&t, "%s = %s, packed", place_name(page, k, &k->writes.at[0].view),
            place_name(page, k, &k->reads.at[0].view));
    } else {
        say_index(page, &t, k);
    }
    return t.at;
}
