/* parse_operand.c: what the lines of kernels are made of, as they are read: nodes, loops, buffers, views. */
#include "kernels/parse.h"

/* ------------------------------------------------------------------ words */

int read_one_of(Reader *r, const char *const *words, int n, const char *what)
{
    const char *word = read_word(&r->q, what);
    for (int i = 0; i < n; i++)
        if (same(word, words[i])) return i;
    const char *close = nearest(word, words, n);
    err(r->q.at, "%s is not %s%s%s", word, what, close ? "; nearest is " : "", close ? close : "");
}

int64_t read_count(Reader *r) { return read_integer(&r->q, 0, LARGEST_INT); }

int64_t read_any(Reader *r) { return read_integer(&r->q, -LARGEST_INT, LARGEST_INT); }

Node *read_ever(Reader *r)
{
    want_char(&r->q, '%');
    int64_t n = read_integer(&r->q, 0, r->q.names - 1);
    Node *node = r->q.ever[n];
    if (!node) err(r->q.at, "%%%lld is not in the graph", (long long)n);
    bool alone = is_replaced(node) || (node->op == OP_input && r->p->graph->turn); /* kernels/text.c prints these too */
    if (!alone && !table_get(&r->needed, node)) err(r->q.at, "no output needs %%%lld", (long long)n);
    return node;
}

bool is_extent(Shape s)
{
    double n = 1;
    for (int i = 0; i < s.rank; i++) n *= (double)s.dim[i];
    return n <= (double)LARGEST_INT;
}

Loop *read_loop(Reader *r)
{
    Node *n = read_ever(r);
    if (n->op != OP_loop) err(r->q.at, "%s is no loop", node_text(n));
    return n->loop;
}

bool is_around(const Reader *r, const Loop *l)
{
    for (int i = 0; i < r->loops.n; i++)
        if (r->loops.at[i] == l) return true;
    return false;
}

Buffer *buffer_named(Reader *r, const char *name)
{
    int at = strings_get(&r->buffers, name);
    if (!at) err(r->q.at, "there is no buffer %s", name);
    return r->p->buffers.at[at - 1];
}

Where end_with_where(Reader *r)
{
    Where w = {0};
    end_of_line(&r->q);
    return took_char(&r->q, '#') && read_where(&r->q, &w) ? w : (Where){0};
}

/* ------------------------------------------------------------------ views */

/* "i2", after its stride */
static void read_index(Reader *r, View *v, int64_t stride)
{
    const char *word = read_word(&r->q, "i0, i1, …");
    int axis = word[0] == 'i' && word[1] >= '0' && word[1] <= '7' && !word[2] ? word[1] - '0' : MAXRANK;
    if (axis >= v->shape.rank) err(r->q.at, "%s is no index of a shape of %d axes", word, v->shape.rank);
    if (v->stride[axis]) err(r->q.at, "%s stands here twice", word);
    v->stride[axis] = stride;
}

static void read_over(Reader *r, View *v, int64_t stride)
{
    if (v->nover == MAXRANK) err(r->q.at, "a view moves with %d loops at most", MAXRANK);
    Loop *l = read_loop(r);
    if (!r->copied && !is_around(r, l)) err(r->q.at, "a view moves with the loops around its kernel alone");
    v->over[v->nover].loop = l;
    v->over[v->nover++].stride = stride;
}

/* "4096", "64*i0", "i1", "128*%3" */
static void read_term(Reader *r, View *v)
{
    int64_t factor = 1;
    skip_spaces(&r->q);
    bool number = *r->q.p == '-' || (*r->q.p >= '0' && *r->q.p <= '9');
    if (number) factor = read_any(r);
    if (number && !took_char(&r->q, '*')) {
        v->base += factor;
        return;
    }
    if (!factor) err(r->q.at, "a stride of 0 is left out");
    skip_spaces(&r->q);
    if (*r->q.p == '%') read_over(r, v, factor);
    else read_index(r, v, factor);
}

static void read_guard(Reader *r, View *v)
{
    int64_t low = read_count(r), high;
    want_char(&r->q, '<');
    want_char(&r->q, '=');
    View axis = {.shape = v->shape};
    read_index(r, &axis, 1);
    want_char(&r->q, '<');
    high = read_count(r);
    for (int i = 0; i < v->shape.rank; i++) {
        if (!axis.stride[i]) continue;
        if (high > v->shape.dim[i])
            err(r->q.at, "i%d ends at %lld, before %lld", i, (long long)v->shape.dim[i], (long long)high);
        if (low > high)
            err(r->q.at, "expected i%d to have a range, found %lld to %lld", i, (long long)low, (long long)high);
        v->guarded = true;
        v->low[i] = low, v->high[i] = high;
    }
}

static View read_view(Reader *r, const Shape *expected)
{
    View v = {0};
    const char *name = maybe_word(&r->q);
    if (name) v.buffer = buffer_named(r, name);
    skip_spaces(&r->q);
    v.shape = *r->q.p == '[' ? read_shape(&r->q) : *expected;
    for (int i = 0; i < v.shape.rank; i++) v.high[i] = v.shape.dim[i];
    want_char(&r->q, '(');
    do read_term(r, &v);
    while (took_char(&r->q, '+'));
    want_char(&r->q, ')');
    while (took_word(&r->q, "if")) read_guard(r, &v);
    const char *fault = view_fault(&v);
    if (fault) err(r->q.at, "%s", fault);
    return v;
}

Operand read_operand(Reader *r, const Kernel *k, bool writes)
{
    Operand o = {.node = read_ever(r)};
    const char *way = writes ? "to" : "from";
    if (!took_word(&r->q, way)) err(r->q.at, "expected '%s', found %s", way, rest_of_line(&r->q));
    o.view = read_view(r, shape_seen(k, &o));
    if (writes && !o.view.buffer) err(r->q.at, "expected the buffer that is written");
    if (o.view.buffer && o.view.buffer->dtype != o.node->dtype)
        err(r->q.at, "buffer %s is of %s, and %s", o.view.buffer->name, dtype_name(o.view.buffer->dtype),
            node_text(o.node));
    o.once_a_row = took_word(&r->q, "once");
    o.add = took_word(&r->q, "add");
    return o;
}
