/* graph_parse.c: reads back what graph_text.c prints.  Text may come from anywhere: whatever is wrong with it is an
 * error with its line, found before a node is made of it. */
#include "graph_text.h"

#include <stdlib.h>
#include <string.h>

#define LARGEST_INT ((int64_t)1 << 48)
enum { DEEPEST = 100 }; /* loops inside each other */

typedef struct Parser {
    Where at;             /* the line being read */
    const char *next;     /* the line after it */
    const char *p;        /* what is left of it */
    Node **named;         /* by number; NULL: not defined, or out of scope */
    int64_t names;        /* numbers are below this */
    VEC(int64_t) defined; /* in order, for scopes */
    int depth;
    Graph *g;
} Parser;

/* ------------------------------------------------------------------ lines and tokens */

static void skip(Parser *q)
{
    while (*q->p == ' ' || *q->p == '\t' || *q->p == '\r') q->p++;
}

/* Moves to the next line with something on it. */
static bool next_line(Parser *q)
{
    while (*q->next) {
        q->at.line++;
        size_t n = strcspn(q->next, "\n");
        q->p = copy_bytes_as_string(q->next, n);
        q->next += n + (q->next[n] == '\n');
        skip(q);
        if (*q->p && *q->p != '#') return true;
    }
    q->p = "";
    return false;
}

/* What comes next, for messages. */
static const char *rest(const Parser *q) { return *q->p ? format("'%.40s'", q->p) : "the end of the line"; }

static bool took(Parser *q, char c)
{
    skip(q);
    if (*q->p != c) return false;
    q->p++;
    return true;
}

static void want(Parser *q, char c)
{
    if (!took(q, c)) err(q->at, "expected '%c', found %s", c, rest(q));
}

/* A word that must be exactly this; none of its characters may follow. */
static bool took_word(Parser *q, const char *word)
{
    skip(q);
    size_t n = strlen(word);
    if (strncmp(q->p, word, n) != 0 || plain_char(q->p[n])) return false;
    q->p += n;
    return true;
}

static void end_line(Parser *q)
{
    skip(q);
    if (*q->p && *q->p != '#') err(q->at, "expected the end of the line, found %s", rest(q));
}

static int hex_digit(char c)
{
    const char *digits = "0123456789abcdef", *at = c ? strchr(digits, c) : NULL;
    return at ? (int)(at - digits) : -1;
}

/* NULL where it is not well formed */
static const char *quoted_name(Parser *q)
{
    Text t = {0};
    say_bytes(&t, "", 0);
    for (q->p++; *q->p != '"'; q->p++) {
        char c = *q->p;
        if (!c) return NULL;
        if (c == '\\') {
            c = *++q->p;
            if (c == 'x') {
                int high = hex_digit(q->p[1]), low = high < 0 ? -1 : hex_digit(q->p[2]);
                if (low < 0 || high + low == 0) return NULL;
                c = (char)(high * 16 + low);
                q->p += 2;
            } else if (c != '"' && c != '\\') {
                return NULL;
            }
        }
        say_bytes(&t, &c, 1);
    }
    q->p++;
    return t.at;
}

/* NULL where there is none */
static const char *maybe_word(Parser *q)
{
    skip(q);
    if (*q->p == '"') return quoted_name(q);
    const char *start = q->p;
    if (!plain_char(*start) || *start == '-' || *start == '.') return NULL;
    while (plain_char(*q->p)) q->p++;
    return copy_bytes_as_string(start, (size_t)(q->p - start));
}

static const char *word(Parser *q, const char *what)
{
    const char *w = maybe_word(q);
    if (!w) err(q->at, "expected %s, found %s", what, rest(q));
    return w;
}

static int64_t integer(Parser *q, int64_t low, int64_t high)
{
    skip(q);
    char *end;
    long long x = strtoll(q->p, &end, 10);
    if (end == q->p) err(q->at, "expected a whole number, found %s", rest(q));
    if (x < low || x > high)
        err(q->at, "expected a number from %lld to %lld, found %s", (long long)low, (long long)high, rest(q));
    q->p = end;
    return x;
}

static double number(Parser *q)
{
    skip(q);
    char *end;
    double x = strtod(q->p, &end);
    if (end == q->p) err(q->at, "expected a number, found %s", rest(q));
    q->p = end;
    return x;
}

/* ------------------------------------------------------------------ names, types, ends of lines */

static int64_t new_name(Parser *q)
{
    want(q, '%');
    int64_t n = integer(q, 0, q->names - 1);
    if (q->named[n]) err(q->at, "%%%lld is there already", (long long)n);
    return n;
}

static void define(Parser *q, int64_t n, Node *node)
{
    if (q->named[n]) err(q->at, "%%%lld is there already", (long long)n);
    q->named[n] = node;
    push(&q->defined, n);
}

static Node *known(Parser *q)
{
    want(q, '%');
    int64_t n = integer(q, 0, q->names - 1);
    if (!q->named[n]) err(q->at, "%%%lld is not defined here", (long long)n);
    return q->named[n];
}

static Node *single_valued(Parser *q)
{
    Node *n = known(q);
    if (has_several(n)) err(q->at, "%s has several results: pick one", op_info[n->op].name);
    return n;
}

static DType dtype(Parser *q)
{
    for (int t = 0; t < DTYPES; t++)
        if (took_word(q, dtype_name((DType)t))) return (DType)t;
    err(q->at, "expected a type (bool, i32, f32, f64), found %s", rest(q));
}

/* f32[12, 64] */
static DType type(Parser *q, Shape *s)
{
    want(q, ':');
    DType t = dtype(q);
    *s = (Shape){0};
    want(q, '[');
    while (!took(q, ']')) {
        if (s->rank == MAXRANK) err(q->at, "a shape has at most %d axes", MAXRANK);
        if (s->rank) want(q, ',');
        s->dim[s->rank++] = integer(q, 1, LARGEST_INT);
    }
    return t;
}

/* " models/gpt.lua:31 in layer.attn"; false: some other comment */
static bool place(Parser *q, Where *w)
{
    if (!took_word(q, "in")) {
        w->file = maybe_word(q);
        if (!w->file || *q->p != ':' || q->p[1] < '0' || q->p[1] > '9') return false;
        q->p++;
        w->line = (int)strtol(q->p, (char **)&q->p, 10);
        skip(q);
        if (!*q->p) return true;
        if (!took_word(q, "in")) return false;
    }
    w->path = maybe_word(q);
    skip(q);
    return w->path && !*q->p;
}

/* Marks and the comment: set phase_now, recompute_now, here. */
static void marks(Parser *q)
{
    phase_now = took_word(q, "phase") ? (int)integer(q, 0, 1) : 0;
    recompute_now = took_word(q, "recompute");
    end_line(q);
    Where w = {0};
    here = took(q, '#') && place(q, &w) ? w : (Where){0};
}

/* ------------------------------------------------------------------ nodes */

static Op op_named(Parser *q)
{
    const char *names[OPS], *w = word(q, "an operation");
    for (int i = 0; i < OPS; i++) {
        names[i] = op_info[i].name;
        if (same(w, names[i])) return (Op)i;
    }
    const char *near = nearest(w, names, OPS);
    err(q->at, "unknown operation %s%s%s", w, near ? "; nearest is " : "", near ? near : "");
}

static void constant(Parser *q, Node *key, Nodes *in)
{
    VEC(double) values = {0};
    (void)in;
    if (!took(q, '[')) {
        key->value = number(q);
        return;
    }
    while (!took(q, ']')) {
        if (values.n) want(q, ',');
        push(&values, number(q));
    }
    key->data = copy_of(values.at, sizeof(double) * (size_t)values.n);
    key->nints = values.n; /* checked against the shape, and then taken away, by node_line */
}

static void inputs(Parser *q, Nodes *in)
{
    for (skip(q); *q->p == '%'; skip(q)) push(in, known(q));
}

static void ints(Parser *q, Node *key)
{
    VEC(int64_t) v = {0};
    if (!took(q, '{')) return;
    while (!took(q, '}')) {
        if (v.n) want(q, ',');
        push(&v, integer(q, -LARGEST_INT, LARGEST_INT));
    }
    key->ints = v.at;
    key->nints = v.n;
}

static Node *checked(Parser *q, Node *key)
{
    if (key->op == OP_loop_arg) err(q->at, "a loop's arguments are written index, carry or x");
    const char *fault = node_fault(key);
    if (fault) err(q->at, "%s", fault);
    return intern(*key);
}

/* "input tokens : i32[12, 64]", after "%1 =" */
static Node *node_line(Parser *q)
{
    Node key = {.op = op_named(q)};
    Nodes in = {0};
    if (key.op == OP_constant) constant(q, &key, &in);
    else if (key.op == OP_input || key.op == OP_parameter || key.op == OP_state) key.name = word(q, "a name");
    int listed = key.nints;
    key.nints = 0;
    inputs(q, &in);
    ints(q, &key);
    key.dtype = type(q, &key.shape);
    marks(q);
    if (key.data && elements(key.shape) != listed)
        err(q->at, "%d values are listed for a shape of %lld", listed, (long long)elements(key.shape));
    key.in = in.at;
    key.nin = in.n;
    key.phase = op_info[key.op].kind == LEAF ? 0 : phase_now;
    return checked(q, &key);
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
    int64_t name = new_name(q);
    want(q, '=');
    Node *outer = single_valued(q);
    Shape s;
    DType t = type(q, &s);
    marks(q);
    if (!carry && (outer->shape.rank < 1 || outer->shape.dim[0] != l->trip))
        err(q->at, "the first axis of %s is not the loop's %lld", shape_text(outer->shape), (long long)l->trip);
    Node *arg = carry ? loop_carry(l, outer) : loop_x(l, outer);
    require(q, arg, t, s);
    define(q, name, arg);
}

static void index_line(Parser *q, Loop *l)
{
    int64_t name = new_name(q);
    Shape s;
    DType t = type(q, &s);
    marks(q);
    require(q, l->index, t, s);
    l->index->where = here; /* it was made with the loop, before its line was read */
    l->index->recompute = recompute_now;
    define(q, name, l->index);
}

static void next_value(Parser *q, Loop *l)
{
    Node *arg = known(q);
    want(q, '=');
    Node *value = single_valued(q);
    end_line(q);
    if (arg->op != OP_loop_arg || arg->loop != l || arg->ints[0] != ARG_CARRY)
        err(q->at, "that is no carry of this loop");
    struct Carry *c = &l->carries.at[arg->ints[1]];
    if (c->next) err(q->at, "the carry has its next value already");
    require(q, value, arg->dtype, arg->shape);
    c->next = value;
}

static void yield_line(Parser *q, Loop *l)
{
    Node *value = single_valued(q);
    end_line(q);
    if (value->shape.rank == MAXRANK) err(q->at, "a value with %d axes cannot be stacked", MAXRANK);
    push(&l->ys, value);
}

static Loop *open_line(Parser *q)
{
    const char *name = word(q, "the loop's name");
    int64_t trip = integer(q, 1, LARGEST_INT);
    here = (Where){0};
    recompute_now = false;
    Loop *l = loop_open(name, trip, took_word(q, "reverse"));
    l->keeps = took_word(q, "keep");
    return l;
}

static void statement(Parser *q);

/* Up to `end`; what it defines goes out of scope unless keep. */
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
    end_line(q);
    q->depth--;
    for (; !keep && q->defined.n > first; q->defined.n--) q->named[q->defined.at[q->defined.n - 1]] = NULL;
}

static Node *loop_lines(Parser *q)
{
    Loop *l = open_line(q);
    marks(q);
    Where where = here, at = q->at;
    int phase = phase_now;
    bool recompute = recompute_now;
    block(q, l, false);
    for (int k = 0; k < l->carries.n; k++)
        if (!l->carries.at[k].next) err(at, "carry %d of this loop has no next value", k);
    here = where;
    phase_now = phase;
    recompute_now = recompute;
    return loop_close(l);
}

/* "%7 = …" */
static void statement(Parser *q)
{
    int64_t name = new_name(q);
    want(q, '=');
    define(q, name, took_word(q, "loop") ? loop_lines(q) : node_line(q));
}

/* ------------------------------------------------------------------ graphs */

static void out_line(Parser *q, OutKind kind)
{
    const char *name = word(q, "the output's name");
    want(q, '=');
    Node *n = single_valued(q);
    end_line(q);
    push(&q->g->outs, ((Output){kind, name, n}));
}

static void header(Parser *q)
{
    if (!next_line(q) || !took_word(q, "graph")) err(q->at, "expected 'graph NAME', found %s", rest(q));
    q->g->name = word(q, "the graph's name");
    q->g->training = took_word(q, "training");
    q->g->wants_grads = took_word(q, "grads");
    end_line(q);
}

static void micro_lines(Parser *q)
{
    Loop *l = open_line(q);
    end_line(q);
    block(q, l, true);
    q->g->micro = l;
}

static void lines(Parser *q)
{
    while (next_line(q)) {
        if (took_word(q, "value")) out_line(q, OUT_VALUE);
        else if (took_word(q, "grad")) out_line(q, OUT_GRAD);
        else if (took_word(q, "state")) out_line(q, OUT_STATE);
        else if (q->g->micro) err(q->at, "after the open loop there can only be outputs, found %s", rest(q));
        else if (took_word(q, "open")) micro_lines(q);
        else statement(q);
    }
}

Graph *parse_graph(const char *file, const char *text)
{
    Parser q = {.at = {.file = file}, .next = text, .p = "", .names = (int64_t)strlen(text) + 1, .g = NEW(Graph)};
    q.named = NEW_ARRAY(Node *, q.names);
    Where was = here;
    int phase = phase_now;
    bool recompute = recompute_now;
    header(&q);
    lines(&q);
    here = was;
    phase_now = phase;
    recompute_now = recompute;
    if (!q.g->outs.n) err(q.at, "the graph has no outputs");
    const char *fault = graph_fault(q.g);
    if (fault) err(q.at, "%s", fault);
    return q.g;
}
