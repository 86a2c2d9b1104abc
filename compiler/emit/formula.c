/* formula.c: what a kernel computes, as a person would write it: ln_1 = centred * rstd * ln_1_weight. */
#include "../emit_rows.h"

#include <math.h>
#include <string.h>

static const char *place_name(const View *v) { return v->buffer ? wished_name(v->buffer) : "an index"; }

static void say_attention(Text *t, const Kernel *k)
{
    for (int i = 0; i < k->writes.n; i++) say(t, "%s%s", i ? ", " : "", place_name(&k->writes.at[i].view));
    say(t, k->node->op == OP_attention ? " = attention" : " = gradients of attention");
    for (int i = 0; i < 3; i++) say(t, "%s%s", i ? ", " : " of ", place_name(&k->reads.at[i].view));
}

static void say_index(Text *t, const Kernel *k)
{
    const char *y = k->writes.n ? place_name(&k->writes.at[0].view) : "", *x = place_name(&k->reads.at[0].view);
    const char *ids = k->reads.n > 1 ? place_name(&k->reads.at[1].view) : "";
    switch (k->kind) {
    case ATTENTION: say_attention(t, k); break;
    case GATHER: say(t, "%s = %s[%s]", y, x, ids); break;
    case SCATTER: say(t, "%s[%s] += %s, in order", y, ids, x); break;
    case OVERWRITE: say(t, "%s[%s] = %s", y, ids, place_name(&k->reads.at[2].view)); break;
    case ARGMAX: say(t, "%s = where %s is largest", y, x); break;
    case CUMSUM: say(t, "%s = running sums of %s", y, x); break;
    case TOPK: say(t, "%s = the %lld largest of %s", y, (long long)k->node->ints[1], x); break;
    case OVER_RANKS: say(t, "%s = %s, summed over the GPUs", y, x); break;
    default: say(t, "%s = %s", y, x); break;
    }
}

/* ------------------------------------------------------------------ ROWS */

typedef struct Formula {
    const Kernel *k;
    Table loads, stored, members; /* who loads or keeps a node; itself */
    Names said, arrays;
    Text text;
    bool all; /* titled values on the way as well */
} Formula;

enum { MOST_DEPTH = 8, LONG_ENOUGH = 700 };

static void note_members(Formula *f)
{
    for (int i = 0; i < f->k->loads.n; i++) {
        *table_at(&f->loads, f->k->loads.at[i].node) = &f->k->loads.at[i];
        push(&f->arrays, place_name(&f->k->loads.at[i].view));
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
                push(&f->arrays, place_name(&stores[a]->at[i].view));
            }
    }
}

/* exp(x) of exp_f32(x) */
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

static Expr number_in_formula(const Node *n, double x)
{
    int axis = axis_counted(n);
    if (axis && (double)axis_numbered(axis)->extent == x) return (Expr){factor_text((int64_t)x, axis), PRIMARY};
    if (axis_shared(n))
        return (Expr){format("%s1 / %s", x < 0 ? "-" : "", factor_text((int64_t)(1 / fabs(x) + 0.5), axis_shared(n))),
                      TIMES};
    return (Expr){number_text(x), x < 0 ? UNARY : PRIMARY};
}

static Expr written(Formula *f, const Node *n, int depth);

static Expr computed_from(Formula *f, const Node *n, int depth)
{
    Expr in[8] = {0};
    if (depth == MOST_DEPTH) return (Expr){"…", PRIMARY};
    for (int i = 0; i < n->nin && i < COUNT_OF(in); i++) in[i] = written(f, n->in[i], depth + 1);
    if (n->op == OP_sum || n->op == OP_rmax)
        return (Expr){format("%s(%s)", n->op == OP_sum ? "sum" : "max", in[0].text), PRIMARY};
    Expr e = apply(n, in);
    return (Expr){without_types(e.text), e.binding};
}

static bool is_array(const Formula *f, const char *name)
{
    for (int i = 0; i < f->arrays.n; i++)
        if (same(f->arrays.at[i], name)) return true;
    return false;
}

/* As in the code: one element is not called like the array. */
static const char *name_in_formula(Formula *f, const Node *n)
{
    const Operand *kept = table_get(&f->stored, n);
    if (kept) return place_name(&kept->view);
    if (n->title_rank <= TITLE_ARGUMENT) return NULL;
    const char *word = word_for(n);
    return is_array(f, word) ? format("one_%s", word) : word;
}

static Expr written(Formula *f, const Node *n, int depth)
{
    double x;
    for (;; n = n->in[0]) {
        const Operand *load = table_get(&f->loads, n);
        if (load)
            return (Expr){load->view.buffer ? place_name(&load->view) : n->op == OP_iota ? "i" : "index", PRIMARY};
        if (is_filled(n, &x)) return number_in_formula(n, x);
        if (table_get(&f->members, n) || !absorbed(n)) break;
    }
    const char *name = depth ? name_in_formula(f, n) : NULL;
    if (name) return (Expr){name, PRIMARY};
    if (!table_get(&f->members, n)) return (Expr){n->name ? identifier(n->name) : "index", PRIMARY};
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

/* After panels: what their rows have added up. */
static void say_column_sums(Text *t, const Kernel *k)
{
    for (int p = 0, n = 0; p < k->phases.n; p++)
        for (int i = 0; i < k->phases.at[p].column_stores.n; i++, n++)
            say(t, "%s%s = sum(%s)", n ? ";  " : "", place_name(&k->phases.at[p].column_stores.at[i].view),
                buffer_name(k->partials.at[n]));
}

static void say_rows(Text *t, const Kernel *k, bool all)
{
    if (k->share == COLUMN_SUMS) {
        say_column_sums(t, k);
        return;
    }
    Formula f = {.k = k, .all = all};
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

char *formula_text(const Kernel *k, bool all)
{
    Text t = {0};
    if (k->kind == ROWS) {
        say_rows(&t, k, all);
    } else if (k->kind == GEMM) {
        const struct Gemm *g = &k->gemm;
        const View *summed = g->end == END_SUM_A ? &g->a.view : &g->b.view;
        say(&t, "%s = %s . %s", place_name(&g->c.view), place_name(&g->a.view), place_name(&g->b.view));
        if (g->end == END_SUM_A || g->end == END_SUM_B)
            say(&t, ", %s: sum of %s", place_name(&g->vector.view), place_name(summed));
        else if (g->vector.node) say(&t, " + %s", place_name(&g->vector.view));
        if (g->end == END_GELU_BACK) say(&t, ", times gelu'(%s)", place_name(&g->aux.view));
        if (g->end == END_GELU && g->aux.node) say(&t, ", which is %s", place_name(&g->aux.view));
        if (g->end == END_GELU) say(&t, ", gelu of it");
    } else if (k->kind == PANELS) {
        say(&t, "panel by panel:");
        for (int i = 0; i < k->body.n; i++) say(&t, "%s %s", i ? "," : "", k->body.at[i]->name);
    } else if (k->kind == REPEAT) {
        say(&t, "%s times in one launch:", grouped(k->loop->trip));
        for (int i = 0; i < k->body.n; i++) say(&t, "%s %s", i ? "," : "", k->body.at[i]->name);
    } else if (k->kind == PACK) {
        say(&t, "%s = %s, packed", place_name(&k->writes.at[0].view), place_name(&k->reads.at[0].view));
    } else {
        say_index(&t, k);
    }
    return t.at;
}
