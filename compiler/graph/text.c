/* text.c: prints graphs: one node per line, inputs first, numbered in order, so that two dumps differ only where the
 * graphs do.
 *
 *     graph train training grads
 *     %1 = parameter layer.weight : f32[12, 64]  # models/gpt.lua:31 in layer
 *     %2 = constant 0.5 : f32[]
 *     %3 = loop layer 12 reverse phase 1
 *         index %4 : i32[]
 *         carry %5 = %2 : f32[]
 *         x %6 = %1 : f32[64]
 *         %7 = sum %6 {0} : f32[] recompute
 *         next %5 = %7
 *         yield %6
 *     end
 *     %8 = pick %3 {0, 0} : f32[]
 *     value loss = %8
 *
 * Words with other characters are quoted.  `keep` after a loop's `reverse` is its flag.  `open` instead of `%N = loop`
 * is the loop over micro-batches, with the outputs inside.  `constant 0.5 counts (batch:2)` is 1 / the extent of an
 * axis, and another node than `constant 0.5`.  graph/parse.c reads this back. */
#include "graph/text.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ words, numbers, types */

bool plain_char(char c) { return isalnum((unsigned char)c) || c == '_' || c == '.' || c == '/' || c == '-'; }

void say_word(Text *t, const char *s)
{
    bool plain = *s && !strchr("-.", *s);
    for (const char *p = s; *p; p++) plain &= plain_char(*p);
    if (plain) {
        say(t, "%s", s);
        return;
    }
    say(t, "\"");
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;
        if (c == '"' || c == '\\') say(t, "\\%c", c);
        else if (c < ' ' || c == 127) say(t, "\\x%02x", c);
        else say_bytes(t, s, 1);
    }
    say(t, "\"");
}

/* The shortest decimal that reads back as x. */
void say_number(Text *t, double x)
{
    char digits[40];
    for (int n = 1; n <= 17; n++) {
        snprintf(digits, sizeof digits, "%.*g", n, x);
        if (strtod(digits, NULL) == x) break;
    }
    say(t, "%s", digits);
}

static void say_type(Text *t, DType type, Shape s) { say(t, "%s%s", dtype_name(type), shape_text(s)); }

static void say_ints(Text *t, const Node *n)
{
    for (int i = 0; i < n->nints; i++) say(t, "%s%lld", i ? ", " : " {", (long long)n->ints[i]);
    if (n->nints) say(t, "}");
}

void say_where(Text *t, const Where *w)
{
    bool path = w->path && *w->path;
    if (w->file || path) say(t, "  #");
    if (w->file) {
        say(t, " ");
        say_word(t, w->file);
        say(t, ":%d", w->line);
    }
    if (path) {
        say(t, " in ");
        say_word(t, w->path);
    }
}

/* What follows the type: marks and the user's line. */
static void say_end(Text *t, const Node *n)
{
    if (n->phase) say(t, " phase %d", n->phase);
    if (n->recompute) say(t, " recompute");
    say_where(t, &n->where);
}

void say_values(Text *t, const double *at, int64_t n)
{
    say(t, "[");
    for (int64_t i = 0; i < n; i++) {
        if (i) say(t, ", ");
        say_number(t, at[i]);
    }
    say(t, "]");
}

/* "(4/3 * width:64 heads:8^-1 +1)": an axis in sizes of the description; "& (…)" is the axis behind it. */
static void say_axis(Text *t, const Axis_sizes *a)
{
    say(t, " (");
    if (a->times != 1 || a->over != 1) say(t, "%lld/%lld * ", (long long)a->times, (long long)a->over);
    for (int i = 0; i < a->n; i++) {
        if (i) say(t, " ");
        say_word(t, a->of[i].size);
        say(t, ":%lld", (long long)a->of[i].extent);
        if (a->of[i].power != 1) say(t, "^%d", a->of[i].power);
    }
    if (a->plus) say(t, " +%lld", (long long)a->plus);
    if (a->behind) say(t, " &"), say_axis(t, axis_numbered(a->behind));
    say(t, ")");
}

static void say_constant(Text *t, const Node *n)
{
    say(t, " ");
    if (n->data) say_values(t, n->data, elements(n->shape));
    else say_number(t, n->value);
    if (n->counts) say(t, " counts"), say_axis(t, axis_numbered(n->counts));
}

/* What is between the op's name and the type, except the inputs. */
static void say_own(Text *t, const Node *n)
{
    if (n->op == OP_constant) say_constant(t, n);
    if (n->name) {
        say(t, " ");
        say_word(t, n->name);
    }
}

char *node_text(const Node *n)
{
    Text t = {0};
    say(&t, "%%%d = %s", n->id, op_info[n->op].name);
    say_own(&t, n);
    for (int i = 0; i < n->nin; i++) say(&t, " %%%d", n->in[i]->id);
    if (n->loop) say(&t, " %s", n->loop->name ? n->loop->name : "?");
    say_ints(&t, n);
    say(&t, " : ");
    say_type(&t, n->dtype, n->shape);
    say_end(&t, n);
    return t.at;
}

/* ------------------------------------------------------------------ graphs */

Printer printer_to(Text *t) { return (Printer){.t = t, .number = NEW_ARRAY(int, node_count() + 1)}; }

static int name(Printer *p, const Node *n) { return p->number[n->id] = ++p->last; }

int number_of(const Printer *p, const Node *n)
{
    if (!p->number[n->id]) die("used before it is computed: %s", node_text(n));
    return p->number[n->id];
}

static void end_line(const Printer *p, const Node *n)
{
    say_end(p->t, n);
    if (p->marks) p->marks(p->user, p->t, n, p->number);
    say(p->t, "\n");
}

static void indent(const Printer *p) { say(p->t, "%*s", 4 * p->depth, ""); }

static void print_node(Printer *p, const Node *n)
{
    indent(p);
    say(p->t, "%%%d = %s", name(p, n), op_info[n->op].name);
    say_own(p->t, n);
    for (int i = 0; i < n->nin; i++) say(p->t, " %%%d", number_of(p, n->in[i]));
    say_ints(p->t, n);
    say(p->t, " : ");
    say_type(p->t, n->dtype, n->shape);
    end_line(p, n);
}

/* outer NULL: of the index */
static void print_argument(Printer *p, const char *what, const Node *arg, const Node *outer)
{
    indent(p);
    say(p->t, "%s %%%d", what, name(p, arg));
    if (outer) say(p->t, " = %%%d", number_of(p, outer));
    say(p->t, " : ");
    say_type(p->t, arg->dtype, arg->shape);
    end_line(p, arg);
}

static void print_level(Printer *p, Loop *level, const Nodes *roots);

static void print_body(Printer *p, Loop *l, const Nodes *roots)
{
    p->depth++;
    print_argument(p, "index", l->index, NULL);
    for (int k = 0; k < l->carries.n; k++) print_argument(p, "carry", l->carries.at[k].arg, l->carries.at[k].init);
    for (int k = 0; k < l->xs.n; k++) print_argument(p, "x", l->xs.at[k].arg, l->xs.at[k].outer);
    print_level(p, l, roots);
    for (int k = 0; k < l->carries.n; k++) {
        if (!l->carries.at[k].next) continue;
        indent(p);
        say(p->t, "next %%%d = %%%d\n", number_of(p, l->carries.at[k].arg), number_of(p, l->carries.at[k].next));
    }
    for (int k = 0; k < l->ys.n; k++) {
        indent(p);
        say(p->t, "yield %%%d\n", number_of(p, l->ys.at[k]));
    }
    p->depth--;
    indent(p);
    say(p->t, "end\n");
}

static void say_loop(Text *t, const Loop *l)
{
    say_word(t, l->name ? l->name : "");
    say(t, " %lld%s%s%s", (long long)l->trip, l->reverse ? " reverse" : "", l->keeps ? " keep" : "",
        l->apart ? " apart" : "");
}

static void print_loop(Printer *p, const Node *n)
{
    indent(p);
    say(p->t, "%%%d = loop ", name(p, n));
    say_loop(p->t, n->loop);
    end_line(p, n);
    Nodes roots = {0};
    loop_roots(n->loop, &roots);
    print_body(p, n->loop, &roots);
}

static void print_level(Printer *p, Loop *level, const Nodes *roots)
{
    Nodes all = {0}, order = {0};
    for (int i = 0; i < roots->n; i++) push(&all, roots->at[i]);
    for (int i = 0; p->also && i < p->also->n; i++)
        if (p->also->at[i]->in_loop == level) push(&all, p->also->at[i]);
    nodes_at(level, all.at, all.n, &order);
    for (int i = 0; i < order.n; i++) {
        const Node *n = order.at[i];
        if (n->op == OP_loop) print_loop(p, n);
        else if (n->op != OP_loop_arg) print_node(p, n);
    }
}

/* The inputs of the open loop: initial values, stacks. */
static void micro_roots(const Loop *l, Nodes *roots)
{
    for (int k = 0; k < l->carries.n; k++) push(roots, l->carries.at[k].init);
    for (int k = 0; k < l->xs.n; k++) push(roots, l->xs.at[k].outer);
    for (int k = 0; k < l->carries.n; k++)
        if (l->carries.at[k].next) push(roots, l->carries.at[k].next);
    for (int k = 0; k < l->ys.n; k++) push(roots, l->ys.at[k]);
}

const char *const out_words[OUT_WORDS] = {OUT_KINDS(LIST_WORD)};

void print_graph_by(Printer *p, const Graph *g)
{
    Text *t = p->t;
    Nodes roots = {0};
    say(t, "graph ");
    say_word(t, g->name ? g->name : "");
    say(t, "%s%s", g->training ? " training" : "", g->wants_grads ? " grads" : "");
    if (g->turn) say(t, " turn "), say_word(t, g->turn), say(t, " of "), say_word(t, g->of);
    if (g->grown) say(t, " grown %d", g->grown);
    say(t, "\n");
    if (g->micro) micro_roots(g->micro, &roots);
    graph_roots(g, &roots);
    print_level(p, NULL, &roots);
    if (g->micro) {
        say(t, "open ");
        say_loop(t, g->micro);
        say(t, "\n");
        print_body(p, g->micro, &roots);
    }
    for (int i = 0; i < g->outs.n; i++) {
        const Output *o = &g->outs.at[i];
        say(t, "%s ", out_words[o->kind]);
        say_word(t, o->name ? o->name : "");
        say(t, " = %%%d\n", number_of(p, o->node));
    }
}

void print_graph(Text *t, const Graph *g)
{
    Printer p = printer_to(t);
    print_graph_by(&p, g);
}

/* Marks may name nodes of later lines, so all nodes are numbered first. */
void print_marked_graph(Text *t, const Graph *g, Marks marks, void *user)
{
    Printer names = printer_to(&(Text){0}), p = printer_to(t);
    print_graph_by(&names, g);
    p.number = names.number;
    p.marks = marks;
    p.user = user;
    print_graph_by(&p, g);
}
