/* parse.c: reads back what graph/text.c prints.  Text is untrusted: every mistake is found before a node is made of it,
 * and reported with its line. */
#include "graph/text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { DEEPEST = 100 }; /* nested loops */

/* ------------------------------------------------------------------ names, ends of lines */

static int64_t new_leaf_name(Parser *q)
{
    want_char(q, '%');
    int64_t n = read_integer(q, 0, q->names - 1);
    if (q->named[n]) err(q->at, "%%%lld is there already", (long long)n);
    return n;
}

static void define(Parser *q, int64_t n, Node *node)
{
    if (q->named[n]) err(q->at, "%%%lld is there already", (long long)n);
    q->named[n] = q->ever[n] = node;
    push(&q->defined, n);
}

/* Reads the marks and the comment, for the nodes of the line. */
static void marks(Parser *q)
{
    Making m = {0};
    if (took_word(q, "phase")) m.phase = (int)read_integer(q, 0, 1);
    m.recompute = took_word(q, "recompute");
    end_of_line(q);
    Where w = {0};
    if (took_char(q, '#') && read_where(q, &w)) m.where = w;
    make_with(m);
}

/* ------------------------------------------------------------------ nodes */

static Op op_named(Parser *q)
{
    const char *names[OPS], *w = read_word(q, "an operation");
    for (int i = 0; i < OPS; i++) {
        names[i] = op_info[i].name;
        if (same(w, names[i])) return (Op)i;
    }
    const char *near = nearest(w, names, OPS);
    err(q->at, "unknown operation %s%s%s", w, near ? "; nearest is " : "", near ? near : "");
}

/* "width:64^2" */
static struct Size_of read_size(Parser *q)
{
    enum { HIGHEST = 8 };
    struct Size_of s = {.size = read_word(q, "a size's name"), .power = 1};
    want_char(q, ':');
    s.extent = read_integer(q, 1, INT32_MAX);
    if (took_char(q, '^')) s.power = (int)read_integer(q, -HIGHEST, HIGHEST);
    return s;
}

/* "(4/3 * width:64 heads:8^-1 +1 & (…))", as graph/text.c prints it */
static int read_axis(Parser *q, int depth)
{
    enum { BEHIND = 8 };
    Axis_sizes a = {.times = 1, .over = 1};
    want_char(q, '(');
    skip_spaces(q);
    if (isdigit((unsigned char)*q->p)) {
        a.times = read_integer(q, 1, INT32_MAX);
        want_char(q, '/');
        a.over = read_integer(q, 1, INT32_MAX);
        want_char(q, '*');
    }
    for (skip_spaces(q); a.n < COUNT_OF(a.of) && (*q->p == '"' || plain_char(*q->p)); skip_spaces(q))
        a.of[a.n++] = read_size(q);
    if (took_char(q, '+')) a.plus = read_integer(q, -INT32_MAX, INT32_MAX);
    if (took_char(q, '&')) {
        if (depth == BEHIND) err(q->at, "more than %d axes follow one another", BEHIND);
        a.behind = read_axis(q, depth + 1);
    }
    want_char(q, ')');
    return axis_with(a);
}

static void constant(Parser *q, Node *key)
{
    VEC(double) values = {0};
    if (!took_char(q, '[')) {
        key->value = read_number(q);
        if (took_word(q, "counts")) key->counts = read_axis(q, 0);
        return;
    }
    while (!took_char(q, ']')) {
        if (values.n) want_char(q, ',');
        push(&values, read_number(q));
    }
    key->data = copy_of(values.at, sizeof(double) * (size_t)values.n);
    key->nints = values.n; /* node_line checks it against the shape and removes it */
}

static void inputs(Parser *q, Nodes *in)
{
    for (skip_spaces(q); *q->p == '%'; skip_spaces(q)) push(in, read_node(q));
}

static void ints(Parser *q, Node *key)
{
    VEC(int64_t) v = {0};
    if (!took_char(q, '{')) return;
    while (!took_char(q, '}')) {
        if (v.n) want_char(q, ',');
        push(&v, read_integer(q, -LARGEST_INT, LARGEST_INT));
    }
    key->ints = v.at;
    key->nints = v.n;
}

static Node *checked_node(Parser *q, Node *key)
{
    if (key->op == OP_loop_arg) err(q->at, "a loop's arguments are written index, carry or x");
    const char *fault = node_fault(key);
    if (fault) err(q->at, "%s", fault);
    Node *n = intern(*key);
    void **line = table_at(q->g->lines, n);
    if (!*line) *line = copy_of(&q->at.line, sizeof q->at.line);
    return n;
}

/* "input tokens : i32[12, 64]", after "%1 =" */
static Node *node_line(Parser *q)
{
    Node key = {.op = op_named(q)};
    Nodes in = {0};
    if (key.op == OP_constant) constant(q, &key);
    else if (is_named_leaf(key.op)) key.name = read_word(q, "a name");
    int listed = key.nints;
    key.nints = 0;
    inputs(q, &in);
    ints(q, &key);
    key.dtype = read_type(q, &key.shape);
    marks(q);
    if (key.data && elements(key.shape) != listed)
        err(q->at, "%d values are listed for a shape of %lld", listed, (long long)elements(key.shape));
    key.in = in.at;
    key.nin = in.n;
    key.phase = op_info[key.op].kind == LEAF ? 0 : making().phase;
    return checked_node(q, &key);
}

/* ------------------------------------------------------------------ loops */

static void require(Parser *q, const Node *n, DType t, Shape s)
{
    if (n->dtype != t || !same_shape(n->shape, s))
        err(q->at, "it is %s%s, not %s%s", dtype_name(n->dtype), shape_text(n->shape), dtype_name(t), shape_text(s));
}

/* "%3 = %1 : f32[4]", after "carry" or "x" */
static void argument_line(Parser *q, Loop *l, bool carry)
{
    int64_t name = new_leaf_name(q);
    want_char(q, '=');
    Node *outer = read_value(q);
    Shape s;
    DType t = read_type(q, &s);
    marks(q);
    if (!carry && (outer->shape.rank < 1 || outer->shape.dim[0] != l->trip))
        err(q->at, "the first axis of %s is not the loop's %lld", shape_text(outer->shape), (long long)l->trip);
    Node *arg = carry ? loop_carry(l, outer) : loop_x(l, outer);
    require(q, arg, t, s);
    define(q, name, arg);
}

static void index_line(Parser *q, Loop *l)
{
    int64_t name = new_leaf_name(q);
    Shape s;
    DType t = read_type(q, &s);
    marks(q);
    require(q, l->index, t, s);
    l->index->where = making().where; /* loop_open made it, before its line was read */
    l->index->recompute = making().recompute;
    define(q, name, l->index);
}

static void next_value(Parser *q, Loop *l)
{
    Node *arg = read_node(q);
    want_char(q, '=');
    Node *value = read_value(q);
    end_of_line(q);
    if (arg->op != OP_loop_arg || arg->loop != l || arg->ints[0] != ARG_CARRY)
        err(q->at, "that is no carry of this loop");
    struct Carry *c = &l->carries.at[arg->ints[1]];
    if (c->next) err(q->at, "the carry has its next value already");
    require(q, value, arg->dtype, arg->shape);
    c->next = value;
}

static void yield_line(Parser *q, Loop *l)
{
    Node *value = read_value(q);
    end_of_line(q);
    if (value->shape.rank == MAXRANK) err(q->at, "a value with %d axes cannot be stacked", MAXRANK);
    push(&l->ys, value);
}

static Loop *open_line(Parser *q)
{
    const char *name = read_word(q, "the loop's name");
    int64_t trip = read_integer(q, 1, LARGEST_INT);
    make_with((Making){0});
    Loop *l = loop_open(name, trip, took_word(q, "reverse"));
    l->keeps = took_word(q, "keep");
    l->apart = took_word(q, "apart");
    return l;
}

static void statement(Parser *q);

/* Reads up to `end`; names defined there go out of scope unless keep. */
static void block(Parser *q, Loop *l, bool keep)
{
    int first = q->defined.n;
    Where start = q->at;
    if (++q->depth > DEEPEST) err(q->at, "loops are nested too deeply");
    for (;;) {
        if (!next_line(q)) err(start, "this loop has no end");
        if (took_word(q, "end")) break;
        if (took_word(q, "index")) index_line(q, l);
        else if (took_word(q, "carry")) argument_line(q, l, true);
        else if (took_word(q, "x")) argument_line(q, l, false);
        else if (took_word(q, "next")) next_value(q, l);
        else if (took_word(q, "yield")) yield_line(q, l);
        else statement(q);
    }
    end_of_line(q);
    q->depth--;
    for (; !keep && q->defined.n > first; q->defined.n--) q->named[q->defined.at[q->defined.n - 1]] = NULL;
}

static Node *loop_lines(Parser *q)
{
    Loop *l = open_line(q);
    marks(q);
    Making own = making();
    Where at = q->at;
    block(q, l, false);
    for (int k = 0; k < l->carries.n; k++)
        if (!l->carries.at[k].next) err(at, "carry %d of this loop has no next value", k);
    make_with(own);
    return loop_close(l);
}

/* "%7 = …" */
static void statement(Parser *q)
{
    int64_t name = new_leaf_name(q);
    want_char(q, '=');
    define(q, name, took_word(q, "loop") ? loop_lines(q) : node_line(q));
}

/* ------------------------------------------------------------------ graphs */

static void out_line(Parser *q, OutKind kind)
{
    const char *name = read_word(q, "the output's name");
    want_char(q, '=');
    Node *n = read_value(q);
    end_of_line(q);
    push(&q->g->outs, ((Output){kind, name, n}));
}

static bool took_out_line(Parser *q)
{
    for (int kind = 0; kind < OUT_WORDS; kind++)
        if (took_word(q, out_words[kind])) return out_line(q, (OutKind)kind), true;
    return false;
}

/* The entry is what its name says before that of the turn. */
static void turn_words(Parser *q)
{
    q->g->turn = read_word(q, "a turn");
    if (!took_word(q, "of")) err(q->at, "expected 'of' and the scopes of the turn, found %s", rest_of_line(q));
    q->g->of = read_word(q, "its scopes");
    for (int i = NO_ENTRY + 1; i <= ENTRIES; i++)
        if (same(q->g->name, name_of_entry((Entry)i, q->g->turn))) q->g->entry = (Entry)i;
}

static void header(Parser *q)
{
    if (!took_word(q, "graph")) err(q->at, "expected 'graph NAME', found %s", rest_of_line(q));
    q->g->name = read_word(q, "the graph's name");
    q->g->entry = entry_named(q->g->name);
    q->g->training = took_word(q, "training");
    q->g->wants_grads = took_word(q, "grads");
    if (took_word(q, "turn")) turn_words(q);
    if (took_word(q, "grown")) {
        q->g->grown = (int)read_integer(q, 1, INT32_MAX);
        q->g->entry = ENTRY_train;
    }
    end_of_line(q);
}

static void micro_lines(Parser *q)
{
    Loop *l = open_line(q);
    end_of_line(q);
    block(q, l, true);
    q->g->micro = l;
}

bool begins_graph(const Parser *q) { return starts_with(q->p, "graph "); }

bool begins_program(const Parser *q) { return starts_with(q->p, "program") && !plain_char(q->p[strlen("program")]); }

static void lines(Parser *q)
{
    while (next_line(q) && !begins_program(q) && !begins_graph(q)) {
        if (took_out_line(q)) continue;
        if (q->g->micro) err(q->at, "after the open loop there can only be outputs, found %s", rest_of_line(q));
        else if (took_word(q, "open")) micro_lines(q);
        else statement(q);
    }
}

Parser parser_of(const char *file, const char *text)
{
    Parser q = {.at = {.file = file}, .next = text, .p = "", .names = (int64_t)strlen(text) + 1};
    q.named = NEW_ARRAY(Node *, q.names);
    q.ever = NEW_ARRAY(Node *, q.names);
    next_line(&q);
    return q;
}

Graph *read_graph(Parser *q)
{
    Making was = making();
    memset(q->named, 0, sizeof *q->named * (size_t)q->names);
    memset(q->ever, 0, sizeof *q->ever * (size_t)q->names);
    q->g = NEW(Graph);
    q->g->file = q->at.file;
    q->g->lines = NEW(Table);
    header(q);
    lines(q);
    make_with(was);
    if (!q->g->outs.n) err(q->at, "the graph has no outputs");
    const char *fault = graph_fault(q->g);
    if (fault) err(q->at, "%s", fault);
    return q->g;
}

Graph *parse_graph(const char *file, const char *text)
{
    Parser q = parser_of(file, text);
    Graph *g = read_graph(&q);
    if (*q.p) err(q.at, "expected one graph alone, found %s", rest_of_line(&q));
    return g;
}

Where where_in_text(const Graph *g, const Node *n)
{
    const int *line = g->lines ? table_get(g->lines, n) : NULL;
    return line ? (Where){.file = g->file, .line = *line} : n->where;
}
