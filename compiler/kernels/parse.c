/* parse.c: reads back what text.c prints: programs of kernels, each with its graph.  Text may come from anywhere: what
 * is wrong with it is an error, most with their line: what no kernel can be (fault.c), and what makes a program unsound
 * (check.c). */
#include "desc/passes.h"
#include "kernels/nest_text.h"
#include "kernels/view.h"

#include <string.h>

enum { DEEPEST = 100 }; /* kernels inside each other */

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

static double read_amount(Reader *r)
{
    double x = read_number(&r->q);
    if (!(x >= 0 && x < 1e300)) err(r->q.at, "expected a number that is finite and not negative");
    return x;
}

/* The part of a kernel: forward unless the text says backward; none if the entry has one part. */
static Side read_side(Reader *r)
{
    bool told = !comes_before(r->p->after, "sides"), grads = r->p->graph->wants_grads;
    if (!took_word(&r->q, "backward")) return told && !grads ? NO_SIDE : FORWARD;
    if (!told || !grads) err(r->q.at, "backward are kernels of graphs with gradients, from pass sides on");
    return BACKWARD;
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
    k->part = read_side(r);
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
    read_wait_at_end(r, k);
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
    if (took_nest(r, k)) end_of_line(q);
    else if (k->kind == ROWS ? took_of_rows(r, k) : product && took_of_product(r, k)) end_of_line(q);
    else if (k->kind != ROWS && k->kind != GEMM && took_word(q, "read"))
        push(&k->reads, read_operand(r, k, false)), end_of_line(q);
    else if (k->kind != ROWS && k->kind != GEMM && took_word(q, "write"))
        push(&k->writes, read_operand(r, k, true)), end_of_line(q);
    else err(q->at, "a kernel of kind %s has no such line here: %s", kernel_kind(k), rest_of_line(q));
}

static bool is_word_here(const Parser *q, const char *word)
{
    return starts_with(q->p, word) && !plain_char(q->p[strlen(word)]);
}

static bool says_something(const Parser *q)
{
    bool says = false;
    for (int k = 0; k < SAYINGS; k++) says |= is_word_here(q, saying_words[k]);
    return says;
}

static bool ends_kernel(const Parser *q)
{
    return begins_kernel(q) || begins_graph(q) || is_word_here(q, "end") || says_something(q);
}

static Param *read_param(Reader *r);

/* The parameter of such a line. A text that describes itself names a wide parameter, not its parts. */
static const Param *read_said_param(Reader *r)
{
    const char *before = r->q.p, *name = read_word(&r->q, "a parameter's name");
    if (r->desc->of_text && !find_param(r->desc, name)) {
        Param *part = NEW(Param);
        *part = (Param){.name = name};
        return part;
    }
    r->q.p = before;
    return read_param(r);
}

/* "done h.weight picks %3 last %5", behind the kernel's lines, also if it is said before the kernel. */
static void read_said(Reader *r, const Kernel *at)
{
    Said d = {.what = (Lathe_saying)read_one_of(r, saying_words, SAYINGS, "what is said"), .at = at};
    if (comes_before(r->p->after, "done")) err(r->q.at, "only pass done finds what is done");
    d.param = read_said_param(r);
    if (took_word(&r->q, "picks"))
        for (skip_spaces(&r->q); *r->q.p == '%'; skip_spaces(&r->q)) {
            if (d.copies == MAXRANK) err(r->q.at, "copies are picked by %d loops at most", MAXRANK);
            d.picks[d.copies++] = read_loop(r);
        }
    if (took_word(&r->q, "last"))
        for (skip_spaces(&r->q); *r->q.p == '%'; skip_spaces(&r->q)) push(&d.last, read_loop(r));
    end_of_line(&r->q);
    push(&r->p->said, d);
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
    end_nest(r, k, start);
    for (; says_something(&r->q); next_line(&r->q)) read_said(r, k);
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
    if (in_blocks(b->dtype) && elements(b->shape) % LATHE_BLOCK)
        err(q->at, "%s has no whole blocks", shape_text(b->shape));
    b->bytes = bytes_of_elements(b->dtype, elements(b->shape));
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
    r->waiting.n = 0;
}

static bool is_state_leaf(const Reader *r, const Node *n)
{
    const Graph *g = r->p->graph;
    for (int i = 0; i < g->outs.n; i++)
        if (g->outs.at[i].kind == OUT_STATE && g->outs.at[i].node == n) return true;
    return is_replaced(n);
}

/* One buffer for each output that is a value, in their order, and states by their names: so the emitter finds them. */
static void check_read_outputs(Reader *r)
{
    const Graph *g = r->p->graph;
    int outputs = 0, values = 0;
    for (int i = 0; i < g->outs.n; i++) values += g->outs.at[i].kind == OUT_VALUE;
    for (int i = 0; i < r->p->buffers.n; i++) {
        const Buffer *b = r->p->buffers.at[i];
        outputs += b->home == OUTPUTS;
        if (b->home == STATES && !is_state_leaf(r, b->value))
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
    find_waited_for(r); /* what a kernel overwrites is one with what it reads: its nest asks */
    for (; more && begins_kernel(&r->q); more = *r->q.p) push(&r->p->kernels, read_kernel(r));
    if (more && !begins_graph(&r->q))
        err(r->q.at, "expected a %skernel, found %s", r->kernels.n ? "" : "buffer or a ", rest_of_line(&r->q));
    if (r->p->steps && r->p->steps != r->kernels.n)
        err(r->program, "expected as many steps as kernels: %d steps, kernels: %d", r->p->steps, r->kernels.n);
    find_waited_for(r);
    check_read_outputs(r);
    return r->p;
}

Module *parse_kernels(const char *file, const char *text, Desc *d)
{
    Module *m = NEW(Module);
    Parser q = parser_of(file, text);
    bool fills = !d->graphs.n;
    m->desc = d;
    do {
        Reader r = {.q = q, .described = fills};
        push(&m->programs, read_program(&r, m->desc));
        q = r.q;
    } while (begins_graph(&q));
    if (fills) layout_parameters(d);
    for (int i = 0; i < m->programs.n; i++) check_program(m->programs.at[i], "reading", m->desc);
    return m;
}
