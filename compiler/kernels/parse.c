/* parse.c: reads back what text.c prints: a program of one graph.  Text may come from anywhere: what is wrong with it
 * is an error with its line.  What it says is taken as it stands, but for what no kernel could be: views beyond their
 * buffers, missing operands, numbers of steps that are others than the kernels'. */
#include "../lower.h"
#include "text.h"

#include <string.h>

enum { DEEPEST = 100 }; /* kernels inside each other */

typedef struct Waiting { /* for a buffer or a kernel that comes later */
    Where at;
    Buffer *buffer;
    const char *over;
    Kernel *pack;
    int64_t product;
} Waiting;

typedef struct Reader {
    Parser q;
    Program *p;
    const Desc *desc;
    bool described;        /* by what is read */
    Table needed;          /* by the graph's outputs */
    Strings buffers;       /* 1 + their numbers */
    VEC(Kernel *) kernels; /* by number */
    VEC(Waiting) waiting;
    VEC(Loop *) loops; /* around what is read now, from the outermost */
    Kernel *panels, *persistent;
    int depth;
    Where program; /* the line that begins it */
    bool copied;   /* what is read is a PACK's copy of its product, which may be inside of further loops */
} Reader;

/* ------------------------------------------------------------------ words */

static int read_one_of(Reader *r, const char *const *words, int n, const char *what)
{
    const char *word = read_word(&r->q, what);
    for (int i = 0; i < n; i++)
        if (same(word, words[i])) return i;
    const char *close = nearest(word, words, n);
    err(r->q.at, "%s is not %s%s%s", word, what, close ? "; nearest is " : "", close ? close : "");
}

static int64_t read_count(Reader *r) { return read_integer(&r->q, 0, LARGEST_INT); }

static int64_t read_any(Reader *r) { return read_integer(&r->q, -LARGEST_INT, LARGEST_INT); }

/* Also of a body that has ended: kernels come after the graph. */
static Node *read_ever(Reader *r)
{
    want_char(&r->q, '%');
    int64_t n = read_integer(&r->q, 0, r->q.names - 1);
    Node *node = r->q.ever[n];
    if (!node) err(r->q.at, "%%%lld is not in the graph", (long long)n);
    if (node->op != OP_state && !table_get(&r->needed, node)) err(r->q.at, "no output needs %%%lld", (long long)n);
    return node;
}

/* Its elements can be counted in 64 bits, whatever one takes. */
static bool is_extent(Shape s)
{
    double n = 1;
    for (int i = 0; i < s.rank; i++) n *= (double)s.dim[i];
    return n <= (double)LARGEST_INT;
}

static Loop *read_loop(Reader *r)
{
    Node *n = read_ever(r);
    if (n->op != OP_loop) err(r->q.at, "%s is no loop", node_text(n));
    return n->loop;
}

static bool is_around(const Reader *r, const Loop *l)
{
    for (int i = 0; i < r->loops.n; i++)
        if (r->loops.at[i] == l) return true;
    return false;
}

static Buffer *buffer_named(Reader *r, const char *name)
{
    int at = strings_get(&r->buffers, name);
    if (!at) err(r->q.at, "there is no buffer %s", name);
    return r->p->buffers.at[at - 1];
}

/* What is left is a comment: where the user wrote it. */
static Where end_with_where(Reader *r)
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

/* "%5 from x(64*i0 + i1) once", after `load` */
static Operand read_operand(Reader *r, const Kernel *k, bool writes)
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

/* ------------------------------------------------------------------ what kinds of kernels have */

static void read_nodes(Reader *r, Nodes *out)
{
    for (skip_spaces(&r->q); *r->q.p == '%'; skip_spaces(&r->q)) push(out, read_ever(r));
}

/* A line of a phase; false: it is none. */
static bool took_of_phase(Reader *r, Kernel *k)
{
    Parser *q = &r->q;
    Phase none = {0}, *f = k->phases.n ? &k->phases.at[k->phases.n - 1] : &none;
    if (took_word(q, "row")) read_nodes(r, &f->row);
    else if (took_word(q, "each")) read_nodes(r, &f->each);
    else if (took_word(q, "sums")) read_nodes(r, &f->sums);
    else if (took_word(q, "columns")) read_nodes(r, &f->columns);
    else if (took_word(q, "store")) push(&f->stores, read_operand(r, k, true));
    else if (took_word(q, "row_store")) push(&f->row_stores, read_operand(r, k, true));
    else if (took_word(q, "column_store")) push(&f->column_stores, read_operand(r, k, true));
    else return false;
    if (f == &none) err(q->at, "expected 'phase' before it");
    return true;
}

static void read_block(Reader *r, Kernel *k)
{
    k->block = read_integer(&r->q, 1, LARGEST_INT);
    if (!took_word(&r->q, "partials")) err(r->q.at, "expected 'partials', found %s", rest_of_line(&r->q));
    for (const char *name; (name = maybe_word(&r->q));) push(&k->partials, buffer_named(r, name));
}

static void read_strides(Reader *r, const char *of, int64_t *a, int64_t *b)
{
    if (!took_word(&r->q, of)) err(r->q.at, "expected the strides of %s, found %s", of, rest_of_line(&r->q));
    *a = read_any(r);
    if (b) *b = read_any(r);
}

static void read_product(Reader *r, struct Gemm *g)
{
    g->M = read_integer(&r->q, 1, LARGEST_INT);
    g->N = read_integer(&r->q, 1, LARGEST_INT);
    g->K = read_integer(&r->q, 1, LARGEST_INT);
    read_strides(r, "a", &g->a_m, &g->a_k);
    read_strides(r, "b", &g->b_k, &g->b_n);
    read_strides(r, "c", &g->c_m, &g->c_n);
    if (took_word(&r->q, "aux")) g->aux_m = read_any(r);
    if (took_word(&r->q, "afresh")) g->afresh = read_loop(r);
    g->packed = took_word(&r->q, "packed");
    if (took_word(&r->q, "ends")) g->end = (Product_end)read_one_of(r, end_words, ENDS, "an end of a product");
}

static void read_batch(Reader *r, struct Gemm *g)
{
    if (g->nbatch == MAXRANK) err(r->q.at, "a product has %d axes of batches at most", MAXRANK);
    int i = g->nbatch++;
    g->batch[i] = read_integer(&r->q, 1, LARGEST_INT);
    read_strides(r, "a", &g->a_batch[i], NULL);
    read_strides(r, "b", &g->b_batch[i], NULL);
    read_strides(r, "c", &g->c_batch[i], NULL);
}

static bool took_of_product(Reader *r, Kernel *k)
{
    Parser *q = &r->q;
    struct Gemm *g = &k->gemm;
    bool first = took_word(q, "product");
    r->copied = k->kind == PACK;
    if (first && g->M) err(q->at, "there is a line 'product' already");
    if (!first && !g->M) return false;
    if (first) read_product(r, g);
    else if (took_word(q, "batch")) read_batch(r, g);
    else if (took_word(q, "a")) g->a = read_operand(r, k, false);
    else if (took_word(q, "b")) g->b = read_operand(r, k, false);
    else if (took_word(q, "c")) g->c = read_operand(r, k, true);
    else if (took_word(q, "vector")) g->vector = read_operand(r, k, sums_up(g->end));
    else if (took_word(q, "aux")) g->aux = read_operand(r, k, g->end == END_GELU);
    else if (!first) return r->copied = false;
    r->copied = false;
    return true;
}

static bool took_of_rows(Reader *r, Kernel *k)
{
    Parser *q = &r->q;
    if (took_of_phase(r, k)) return true;
    if (took_word(q, "load")) push(&k->loads, read_operand(r, k, false));
    else if (took_word(q, "phase")) push(&k->phases, (Phase){0});
    else if (took_word(q, "kept")) read_nodes(r, &k->kept);
    else if (took_word(q, "block")) read_block(r, k);
    else return false;
    return true;
}

/* ------------------------------------------------------------------ kernels */

static const char *operands_fault(const Operands *o, const Shape *seen)
{
    for (int i = 0; i < o->n; i++)
        if (!same_shape(o->at[i].view.shape, *seen)) return "its views have the shape that it runs over";
    return NULL;
}

static const char *phase_fault(const Kernel *k, const Phase *f)
{
    const Shape inner = {.rank = 1, .dim = {k->space.dim[k->space.rank - 1]}};
    const char *fault = operands_fault(&f->stores, &k->space);
    if (!fault) fault = operands_fault(&f->row_stores, &k->space);
    if (!fault && operands_fault(&f->column_stores, &inner))
        fault = "what it stores of columns has the inner axis alone";
    return fault ? fault : f->column_stores.n > f->columns.n ? "it stores more columns than it sums" : NULL;
}

static const char *rows_fault(const Kernel *k)
{
    int columns = 0;
    if (!k->space.rank || !k->phases.n) return "a kernel of rows has a shape and a phase";
    const char *fault = operands_fault(&k->loads, &k->space);
    for (int i = 0; i < k->phases.n && !fault; i++) {
        columns += k->phases.at[i].columns.n;
        fault = phase_fault(k, &k->phases.at[i]);
    }
    if (fault) return fault;
    return columns == k->partials.n ? NULL : "each sum over columns has partials, and nothing else has";
}

static bool ends_here(const Target *t, Product_end end)
{
    static const int needs[] = {0, ENDS_BIAS, ENDS_GELU, ENDS_GELU, ENDS_SUM, ENDS_SUM};
    return end == END_NONE || t->ends & needs[end];
}

static const char *product_fault(const Kernel *k, const Target *t)
{
    const struct Gemm *g = &k->gemm;
    bool row = g->end == END_BIAS || sums_up(g->end);
    if (!g->M || !g->a.node || !g->b.node || !g->c.node) return "a product has sizes, and operands a, b and c";
    if (!k->node || k->node->op != OP_dot) return "a product is of a dot";
    if (!g->a.view.buffer || !g->b.view.buffer) return "operands of a product lie in buffers";
    if (!ends_here(t, g->end)) return format("products of %s do not end so", t->name);
    if (row != (g->vector.node != NULL) && g->end != END_GELU)
        return "a vector goes with ends bias, gelu, sum_a, sum_b";
    if (g->end == END_GELU_BACK && !g->aux.node) return "that end has an aux";
    if (g->aux.node && g->end < END_GELU) return "aux goes with ends gelu, gelu_back";
    if (k->kind == PACK && (k->reads.n != 1 || k->writes.n != 1)) return "packing reads and writes one matrix";
    return gemm_fault(k);
}

static bool in_buffers(const Operands *o)
{
    for (int i = 0; i < o->n; i++)
        if (!o->at[i].view.buffer) return false;
    return true;
}

static const char *index_fault(const Kernel *k)
{
    static const Op of[KINDS] = {
        [GATHER] = OP_gather, [SCATTER] = OP_scatter_add, [OVERWRITE] = OP_overwrite,  [ARGMAX] = OP_argmax,
        [CUMSUM] = OP_cumsum, [TOPK] = OP_topk,           [OVER_RANKS] = OP_over_ranks};
    bool whole = k->kind == ATTENTION;
    if (!k->node) return "it is of a node";
    if (whole ? op_info[k->node->op].kind != WHOLE : k->node->op != of[k->kind])
        return format("it is of %s, and not of %s", whole ? "a whole operation" : op_info[of[k->kind]].name,
                      op_info[k->node->op].name);
    if (k->reads.n != k->node->nin)
        return format("it reads %d inputs, and its operation has %d", k->reads.n, k->node->nin);
    if (!whole && !in_buffers(&k->reads)) return "what it reads lies in buffers";
    return !k->writes.n || (!whole && k->kind != TOPK && k->writes.n != 1) ? "it writes each result" : NULL;
}

static const char *kernel_fault(const Kernel *k, const Target *t)
{
    switch (k->kind) {
    case ROWS: return rows_fault(k);
    case GEMM:
    case PACK: return product_fault(k, t);
    case REPEAT:
        if (k->barrier && !t->persists) return format("%s has no loops in one launch", t->name);
        return k->barrier && !k->body.n ? "its body is empty" : NULL;
    case PANELS:
        if (!t->panels) return format("%s has no panels", t->name);
        return k->rows && k->unit && k->highest && k->body.n ? NULL : "panels have rows, unit, highest and kernels";
    default: return index_fault(k);
    }
}

static double read_amount(Reader *r)
{
    double x = read_number(&r->q);
    if (!(x >= 0 && x < 1e300)) err(r->q.at, "expected a number that is finite and not negative");
    return x;
}

/* "over [8, 64] flops 100 bytes 20", after the name */
static void read_head(Reader *r, Kernel *k)
{
    Parser *q = &r->q;
    k->name = read_word(q, "the kernel's name");
    if (took_word(q, "of")) k->node = read_ever(r);
    if (took_word(q, "over")) k->space = read_shape(q);
    if (took_word(q, "loop")) k->loop = read_loop(r);
    if (took_word(q, "for")) push(&r->waiting, ((Waiting){.at = q->at, .pack = k, .product = read_count(r)}));
    if (took_word(q, "rows")) k->rows = read_count(r);
    if (took_word(q, "unit")) k->unit = read_count(r);
    if (took_word(q, "highest")) k->highest = read_count(r);
    if (took_word(q, "period")) k->period = read_count(r);
    if (took_word(q, "wide")) k->wide = read_integer(q, 1, max64(k->period, 1));
    if (took_word(q, "barrier")) k->barrier = buffer_named(r, read_word(q, "a buffer"));
    for (int i = 1; i < SHARES; i++)
        if (took_word(q, share_words[i])) k->share = (Share)i;
    k->sliced = took_word(q, "sliced");
    if (took_word(q, "flops")) k->flops = read_amount(r);
    if (took_word(q, "bytes")) k->bytes = read_amount(r);
    k->where = end_with_where(r);
}

static bool begins_kernel(const Parser *q) { return *q->p >= '0' && *q->p <= '9'; }

static Kernel *read_kernel(Reader *r);

/* Up to `end`. */
static void read_body(Reader *r, Kernel *k)
{
    Kernel *panels = r->panels, *persistent = r->persistent;
    Where start = r->q.at;
    int loops = r->loops.n;
    if (k->loop && is_around(r, k->loop)) err(start, "this loop is inside of itself");
    if (k->kind == PANELS && panels) err(start, "panels are inside of panels");
    if (k->kind == REPEAT) push(&r->loops, k->loop);
    if (k->kind == PANELS) r->panels = k;
    if (k->barrier) r->persistent = k;
    if (++r->depth > DEEPEST) err(start, "kernels are nested too deeply");
    bool more = next_line(&r->q);
    while (more && begins_kernel(&r->q)) {
        push(&k->body, read_kernel(r));
        more = *r->q.p;
    }
    if (!more) err(start, "this one has no 'end'");
    if (!took_word(&r->q, "end")) err(r->q.at, "expected a kernel or 'end', found %s", rest_of_line(&r->q));
    end_of_line(&r->q);
    r->panels = panels, r->persistent = persistent;
    r->loops.n = loops;
    r->depth--;
    next_line(&r->q);
}

/* A line of a kernel that has no body. */
static void read_line(Reader *r, Kernel *k)
{
    Parser *q = &r->q;
    bool product = k->kind == GEMM || k->kind == PACK;
    if (k->kind == ROWS ? took_of_rows(r, k) : product && took_of_product(r, k)) end_of_line(q);
    else if (k->kind != ROWS && k->kind != GEMM && took_word(q, "read"))
        push(&k->reads, read_operand(r, k, false)), end_of_line(q);
    else if (k->kind != ROWS && k->kind != GEMM && took_word(q, "write"))
        push(&k->writes, read_operand(r, k, true)), end_of_line(q);
    else err(q->at, "a kernel of kind %s has no such line here: %s", kernel_kind(k), rest_of_line(q));
}

static bool ends_kernel(const Parser *q)
{
    return begins_kernel(q) || begins_graph(q) || (starts_with(q->p, "end") && !plain_char(q->p[3]));
}

/* Its line has been read, and afterwards the first that is not its own. */
static Kernel *read_kernel(Reader *r)
{
    Kernel *k = NEW(Kernel);
    Where start = r->q.at;
    if (read_count(r) != r->kernels.n) err(start, "kernels are counted: this is number %d", r->kernels.n);
    want_char(&r->q, ':');
    k->kind = (KernelKind)read_one_of(r, kind_words, KINDS, "a kind of kernel");
    k->in_loop = r->loops.n ? r->loops.at[r->loops.n - 1] : NULL;
    k->panels = r->panels, k->persistent = r->persistent;
    k->step = r->p->steps ? r->kernels.n : 0;
    push(&r->kernels, k);
    read_head(r, k);
    if (k->kind == REPEAT && !k->loop) err(start, "expected the loop that it repeats");
    if (k->kind == REPEAT || k->kind == PANELS) read_body(r, k);
    else
        while (next_line(&r->q) && !ends_kernel(&r->q)) read_line(r, k);
    const char *fault = kernel_fault(k, r->desc->options->target);
    if (fault) err(start, "%s %s: %s", kernel_kind(k), k->name, fault);
    return k;
}

/* ------------------------------------------------------------------ buffers */

static Node *read_table(Reader *r, const Buffer *b)
{
    VEC(double) values = {0};
    want_char(&r->q, '[');
    while (!took_char(&r->q, ']')) {
        if (values.n) want_char(&r->q, ',');
        push(&values, read_number(&r->q));
    }
    if (values.n != elements(b->shape))
        err(r->q.at, "%d values are listed for a shape of %lld", values.n, (long long)elements(b->shape));
    Node *row = NEW(Node);
    *row = (Node){.op = OP_constant, .dtype = b->dtype, .shape = b->shape, .data = values.at};
    return row;
}

static void read_strides_of_buffer(Reader *r, Buffer *b)
{
    dense_strides(b->shape, b->stride);
    if (!took_word(&r->q, "strides")) return;
    if (b->home != PARAMETERS && b->home != GRADIENTS) err(r->q.at, "only parameters and gradients lie in strides");
    want_char(&r->q, '{');
    for (int i = 0; i < b->shape.rank; i++) {
        if (i) want_char(&r->q, ',');
        b->stride[i] = read_integer(&r->q, 0, LARGEST_INT);
    }
    want_char(&r->q, '}');
}

static Param *read_param(Reader *r)
{
    const char *name = read_word(&r->q, "a parameter's name");
    Param *p = find_param(r->desc, name);
    if (!p) err(r->q.at, "there is no parameter %s", name);
    return p->first ? p->first : p;
}

static void read_lives(Reader *r, Buffer *b)
{
    int most = r->p->steps - 1;
    b->first = (int)read_integer(&r->q, 0, most), b->last = (int)read_integer(&r->q, b->first, most);
    if (!took_word(&r->q, "begins")) err(r->q.at, "expected 'begins', found %s", rest_of_line(&r->q));
    b->begin = (int)read_integer(&r->q, 0, most), b->end = (int)read_integer(&r->q, b->begin, most);
}

static const char *home_fault(const Buffer *b)
{
    if (!b->value) return "expected 'of' and the node that it holds";
    if ((b->home == PARAMETERS || b->home == GRADIENTS) && !b->param) return "it is of a parameter: which one";
    if (b->home == INPUTS && b->value->op != OP_input) return "a buffer of inputs is of an input";
    return NULL;
}

static void read_buffer(Reader *r)
{
    Parser *q = &r->q;
    Buffer *b = NEW(Buffer);
    b->name = read_word(q, "the buffer's name");
    int *number = strings_at(&r->buffers, b->name);
    if (*number) err(q->at, "there is a buffer %s already", b->name);
    push(&r->p->buffers, b);
    *number = r->p->buffers.n;
    *strings_at(&r->p->names, b->name) = 1;
    b->home = (Home)read_one_of(r, home_words, HOMES, "a home of buffers");
    b->dtype = read_type(q, &b->shape);
    if (!is_extent(b->shape)) err(q->at, "%s has too many elements", shape_text(b->shape));
    b->bytes = elements(b->shape) * dtype_bytes(b->dtype);
    b->first = b->begin = -1;
    read_strides_of_buffer(r, b);
    if (b->home == TABLES && !took_word(q, "holds")) err(q->at, "expected 'holds' and the table's values");
    if (b->home == TABLES) b->value = read_table(r, b);
    else if (took_word(q, "of")) b->value = read_ever(r);
    if (took_word(q, "param")) b->param = read_param(r);
    if (took_word(q, "in")) b->level = read_loop(r);
    if (took_word(q, "lives")) read_lives(r, b);
    if (took_word(q, "at")) b->offset = read_count(r);
    if (took_word(q, "over"))
        push(&r->waiting, ((Waiting){.at = q->at, .buffer = b, .over = read_word(q, "a buffer")}));
    end_of_line(q);
    const char *fault = home_fault(b);
    if (fault) err(q->at, "%s", fault);
}

/* ------------------------------------------------------------------ programs */

static const char *kernel_pass(Reader *r, const char *name)
{
    int n;
    const Pass *list = pass_list(&n);
    for (int i = 0; i < n; i++)
        if (list[i].kind >= LOWER && same(list[i].name, name)) return list[i].name;
    err(r->q.at, "%s is no pass that leaves kernels", name);
}

static void read_program_line(Reader *r)
{
    Parser *q = &r->q;
    Program *p = r->p;
    r->program = q->at;
    if (!took_word(q, "program")) err(q->at, "expected 'program', found %s", rest_of_line(q));
    if (!took_word(q, "after")) err(q->at, "expected 'after' and the pass that made it, found %s", rest_of_line(q));
    p->after = kernel_pass(r, read_word(q, "a pass"));
    if (took_word(q, "steps")) p->steps = (int)read_integer(q, 1, INT32_MAX);
    if (took_word(q, "carried")) p->carried = (int)read_integer(q, 0, INT32_MAX);
    if (took_word(q, "taken_over")) p->taken_over = (int)read_integer(q, 0, INT32_MAX);
    if (took_word(q, "work")) p->work_bytes = read_count(r);
    if (took_word(q, "bound")) p->lower_bound = read_count(r);
    if (took_word(q, "unshared")) p->unshared_bytes = read_count(r);
    end_of_line(q);
}

static bool takes_over(const Buffer *b, const Buffer *other)
{
    while (b && b != other) b = b->in_place_of;
    return b;
}

static void find_waited_for(Reader *r)
{
    for (int i = 0; i < r->waiting.n; i++) {
        const Waiting *w = &r->waiting.at[i];
        r->q.at = w->at;
        if (w->pack) {
            if (w->product >= r->kernels.n || r->kernels.at[w->product]->kind != GEMM)
                err(w->at, "kernel %lld is no product", (long long)w->product);
            w->pack->product = r->kernels.at[w->product];
        } else {
            Buffer *old = buffer_named(r, w->over);
            if (takes_over(old, w->buffer)) err(w->at, "%s would lie over itself", w->over);
            w->buffer->in_place_of = old;
            old->given = true;
        }
    }
}

static bool is_state(const Reader *r, const Node *n)
{
    const Graph *g = r->p->graph;
    for (int i = 0; i < g->outs.n; i++)
        if (g->outs.at[i].kind == OUT_STATE && g->outs.at[i].node == n) return true;
    return n->op == OP_state;
}

/* One buffer for each output that is a value, in their order, and states by their names: so the emitter finds them. */
static void check_outputs(Reader *r)
{
    const Graph *g = r->p->graph;
    int outputs = 0, values = 0;
    for (int i = 0; i < g->outs.n; i++) values += g->outs.at[i].kind == OUT_VALUE;
    for (int i = 0; i < r->p->buffers.n; i++) {
        const Buffer *b = r->p->buffers.at[i];
        outputs += b->home == OUTPUTS;
        if (b->home == STATES && !is_state(r, b->value))
            err(r->program, "buffer %s: %s is no state", b->name, node_text(b->value));
    }
    if (outputs != values)
        err(r->program, "expected as many buffers of outputs as values: buffers: %d, values: %d", outputs, values);
    for (int i = 0; i < r->kernels.n; i++)
        if (r->kernels.at[i]->kind == PACK && !r->kernels.at[i]->product)
            err(r->program, "pack %s: expected 'for' and the product that it packs for", r->kernels.at[i]->name);
}

/* A graph and its kernels. */
static Program *read_program(Reader *r, Desc *d)
{
    r->p = NEW(Program);
    r->p->file = r->q.at.file;
    Graph *g = r->p->graph = read_graph(&r->q);
    Nodes all = {0};
    all_nodes(g, &all);
    for (int i = 0; i < all.n; i++) *table_at(&r->needed, all.at[i]) = all.at[i];
    r->desc = d;
    if (r->described) describe_also(d, g);
    read_program_line(r);
    bool more = next_line(&r->q);
    for (; more && took_word(&r->q, "buffer"); more = next_line(&r->q)) read_buffer(r);
    for (; more && begins_kernel(&r->q); more = *r->q.p) push(&r->p->kernels, read_kernel(r));
    if (more && !begins_graph(&r->q))
        err(r->q.at, "expected a %skernel, found %s", r->kernels.n ? "" : "buffer or a ", rest_of_line(&r->q));
    if (r->p->steps && r->p->steps != r->kernels.n)
        err(r->program, "expected as many steps as kernels: %d steps, kernels: %d", r->p->steps, r->kernels.n);
    find_waited_for(r);
    check_outputs(r);
    return r->p;
}

Module *parse_kernels(const char *file, const char *text, Desc *d)
{
    Module *m = NEW(Module);
    Parser q = parser_of(file, text);
    m->desc = d ? d : describe(NULL, file);
    do {
        Reader r = {.q = q, .described = !d};
        push(&m->programs, read_program(&r, m->desc));
        q = r.q;
    } while (begins_graph(&q));
    if (!d) layout_parameters(m->desc);
    for (int i = 0; i < m->programs.n; i++) check_program(m->programs.at[i], "reading");
    return m;
}
