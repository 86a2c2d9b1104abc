/* text.c: prints the kernels of a program, so that parse.c makes the same program of it: its graph (graph/text.c), its
 * buffers, its kernels with all that they read and write.
 *
 *     graph train training grads
 *     …
 *     program after plan steps 4 carried 1 work 4096 bound 4096 unshared 6144
 *     buffer h_weight parameters : f32[64, 64] of %1 param h.weight
 *     buffer active work : f32[8, 64] of %9 in %3 lives 1 3 begins 1 3 at 2048
 *     0: gemm active of %7 flops 65536 bytes 20480  # models/mlp.lua:9 in h
 *         product 8 64 64 a 64 1 b 64 1 c 64 1
 *         a %4 from x(64*i0 + i1)
 *         b %6 from h_weight(64*i0 + i1 + 4096*%3)
 *         c %7 to active(64*i0 + i1)
 *     1: rows active_2 over [8, 64] bytes 4096
 *         load %7 from active(64*i0 + i1)
 *         phase
 *             each %8 %9
 *             store %9 to active_2(64*i0 + i1)
 *     2: repeat layer loop %3
 *         3: …
 *     end
 *
 * %N is the graph's.  A view, NAME[shape](…), is the element that index (i0, i1, …) of the kernel's space shows, or of
 * the value; `%3` in it counts that loop's iterations.  [shape] is there where the view has another shape; `if 1 <= i0
 * < 5` says where it shows anything but zero; without a name it is a number itself.
 *
 * Words stand in this order, what does not apply is left out.
 *
 *     program after PASS steps N carried N taken_over N work BYTES bound BYTES unshared BYTES
 *     buffer NAME HOME : TYPE[shape] strides {N, …} of %N param NAME in %LOOP
 *            lives FIRST LAST begins BEGIN END at BYTES over NAME           (one line; a table: holds [values])
 *     N: KIND NAME of %N over [shape] loop %N for N rows N unit N highest N period N wide N barrier NAME
 *            some_rows | column_sums sliced backward flops N bytes N        (one line; for: of a pack, its product;
 *                                                                            backward: from pass sides on)
 *
 *     rows           load %N from VIEW once
 *                    phase: row %N …; each %N …; sums %N …; columns %N …
 *                           store %N to VIEW add; row_store; column_store
 *                    kept %N …; block ROWS partials NAME …
 *     gemm, pack     product M N K a m k b k n c m n aux m afresh %LOOP packed ends END     (strides)
 *                    batch N a STRIDE b STRIDE c STRIDE
 *                    a, b, vector, aux %N from VIEW; c %N to VIEW add
 *     repeat, panels their kernels; end
 *     all            nest …, from pass axes on (kernels/nest_text.c)
 *                    done NAME picks %LOOP … last %LOOP …: behind it, of gradients
 *     pack, others   read %N from VIEW, in the order of the operation's inputs; write %N to VIEW
 *
 * Axes have no names here, and values no titles; of the description there are the shapes of what the graphs read. */
#include "kernels/nest_text.h"

#include <math.h>
#include <string.h>

const char *const kind_words[KINDS] = {KERNEL_KINDS(LIST_WORD)};
const char *const home_words[HOMES] = {HOME_LIST(LIST_WORD)};
const char *const end_words[ENDS] = {PRODUCT_ENDS(LIST_WORD)};
const char *const share_words[SHARES] = {SHARE_LIST(LIST_WORD)};
const char *const saying_words[SAYINGS] = {"needed", "dropped", "begun", "done"};

const char *kernel_kind(const Kernel *k) { return kind_words[k->kind]; }

const Shape *shape_seen(const Kernel *k, const Operand *o) { return k->kind == ROWS ? &k->space : &o->node->shape; }

typedef struct Kernel_printer {
    Printer p;
    const Program *program;
    int kernels; /* printed so far */
} Kernel_printer;

static void start(Kernel_printer *q, const char *what) { say(q->p.t, "%*s%s", 4 * q->p.depth, "", what); }

static void say_node(Kernel_printer *q, const Node *n) { say(q->p.t, " %%%d", number_of(&q->p, n)); }

static void say_count(Kernel_printer *q, const char *what, int64_t n)
{
    if (n) say(q->p.t, " %s %lld", what, (long long)n);
}

static void say_double(Kernel_printer *q, const char *what, double x)
{
    if (x == 0) return;
    say(q->p.t, " %s ", what);
    if (x == floor(x) && x < 0x1p53) say(q->p.t, "%.0f", x);
    else say_number(q->p.t, x);
}

/* ------------------------------------------------------------------ views */

static void say_term(Text *t, bool *any, int64_t stride, const char *of)
{
    if (!stride) return;
    if (*any) say(t, " + ");
    if (stride != 1) say(t, "%lld*", (long long)stride);
    say(t, "%s", of);
    *any = true;
}

void say_view(Text *t, const int *number, const View *v, const Shape *expected)
{
    bool any = v->base;
    if (v->buffer) say_word(t, v->buffer->name);
    if (!same_shape(v->shape, *expected)) say(t, "%s", shape_text(v->shape));
    say(t, "(");
    if (any) say(t, "%lld", (long long)v->base);
    for (int i = 0; i < v->shape.rank; i++) say_term(t, &any, v->stride[i], format("i%d", i));
    for (int i = 0; i < v->nover; i++)
        say_term(t, &any, v->over[i].stride, format("%%%d", number[v->over[i].loop->node->id]));
    say(t, any ? ")" : "0)");
    for (int i = 0; v->guarded && i < v->shape.rank; i++)
        if (v->low[i] > 0 || v->high[i] < v->shape.dim[i])
            say(t, " if %lld <= i%d < %lld", (long long)v->low[i], i, (long long)v->high[i]);
}

static void print_operand(Kernel_printer *q, const Kernel *k, const char *what, const Operand *o, bool writes)
{
    start(q, what);
    say_node(q, o->node);
    say(q->p.t, writes ? " to " : " from ");
    say_view(q->p.t, q->p.number, &o->view, shape_seen(k, o));
    say(q->p.t, "%s%s\n", o->once_a_row ? " once" : "", o->add ? " add" : "");
}

static void print_operands(Kernel_printer *q, const Kernel *k, const char *what, const Operands *o, bool writes)
{
    for (int i = 0; i < o->n; i++) print_operand(q, k, what, &o->at[i], writes);
}

/* ------------------------------------------------------------------ what kinds of kernels have */

static void say_nodes(Kernel_printer *q, const char *what, const Nodes *nodes)
{
    if (!nodes->n) return;
    start(q, what);
    for (int i = 0; i < nodes->n; i++) say_node(q, nodes->at[i]);
    say(q->p.t, "\n");
}

static void say_phase(Kernel_printer *q, const Kernel *k, const Phase *f)
{
    start(q, "phase\n");
    q->p.depth++;
    say_nodes(q, "row", &f->row);
    say_nodes(q, "each", &f->each);
    say_nodes(q, "sums", &f->sums);
    say_nodes(q, "columns", &f->columns);
    print_operands(q, k, "store", &f->stores, true);
    print_operands(q, k, "row_store", &f->row_stores, true);
    print_operands(q, k, "column_store", &f->column_stores, true);
    q->p.depth--;
}

static void print_rows(Kernel_printer *q, const Kernel *k)
{
    print_operands(q, k, "load", &k->loads, false);
    for (int i = 0; i < k->phases.n; i++) say_phase(q, k, &k->phases.at[i]);
    say_nodes(q, "kept", &k->kept);
    if (!k->block) return;
    start(q, format("block %lld partials", (long long)k->block));
    for (int i = 0; i < k->partials.n; i++) say(q->p.t, " "), say_word(q->p.t, k->partials.at[i]->name);
    say(q->p.t, "\n");
}

static void say_strides(Kernel_printer *q, const char *of, int64_t a, int64_t b)
{
    say(q->p.t, " %s %lld %lld", of, (long long)a, (long long)b);
}

static void print_product(Kernel_printer *q, const Kernel *k)
{
    const struct Gemm *g = &k->gemm;
    start(q, format("product %lld %lld %lld", (long long)g->M, (long long)g->N, (long long)g->K));
    say_strides(q, "a", g->a_m, g->a_k);
    say_strides(q, "b", g->b_k, g->b_n);
    say_strides(q, "c", g->c_m, g->c_n);
    say_count(q, "aux", g->aux_m);
    if (g->afresh) say(q->p.t, " afresh %%%d", number_of(&q->p, g->afresh->node));
    say(q->p.t, "%s", g->packed ? " packed" : "");
    if (g->end) say(q->p.t, " ends %s", end_words[g->end]);
    say(q->p.t, "\n");
    for (int i = 0; i < g->nbatch; i++) {
        start(q, format("batch %lld a %lld b %lld c %lld\n", (long long)g->batch[i], (long long)g->a_batch[i],
                        (long long)g->b_batch[i], (long long)g->c_batch[i]));
    }
    print_operand(q, k, "a", &g->a, false);
    print_operand(q, k, "b", &g->b, false);
    print_operand(q, k, "c", &g->c, true);
    if (g->vector.node) print_operand(q, k, "vector", &g->vector, sums_up(g->end));
    if (g->aux.node) print_operand(q, k, "aux", &g->aux, g->end == END_GELU);
}

/* ------------------------------------------------------------------ kernels */

/* The number of `wanted` in the list, which begins with `at`; *at: the number after the list.  -1: it is not there. */
static int number_in(Kernel *const *kernels, int n, const Kernel *wanted, int *at)
{
    for (int i = 0; i < n; i++) {
        int own = (*at)++;
        int inside = kernels[i] == wanted
                         ? own
                         : number_in((Kernel *const *)kernels[i]->body.at, kernels[i]->body.n, wanted, at);
        if (inside >= 0) return inside;
    }
    return -1;
}

static void say_product_of_pack(Kernel_printer *q, const Kernel *k)
{
    int at = 0, number = number_in((Kernel *const *)q->program->kernels.at, q->program->kernels.n, k->product, &at);
    if (number >= 0) say(q->p.t, " for %d", number);
}

/* The line that begins it. */
static void say_program_head(Kernel_printer *q, const Kernel *k)
{
    Text *t = q->p.t;
    start(q, format("%d: %s ", q->kernels++, kernel_kind(k)));
    say_word(t, k->name);
    if (k->node) say(t, " of"), say_node(q, k->node);
    if (k->kind == ROWS) say(t, " over %s", shape_text(k->space));
    if (k->loop) say(t, " loop"), say_node(q, k->loop->node);
    if (k->kind == PACK) say_product_of_pack(q, k);
    say_count(q, "rows", k->rows);
    say_count(q, "unit", k->unit);
    say_count(q, "highest", k->highest);
    say_count(q, "period", k->period);
    say_count(q, "wide", k->wide);
    if (k->barrier) say(t, " barrier "), say_word(t, k->barrier->name);
    if (k->share) say(t, " %s", share_words[k->share]);
    say(t, "%s%s", k->sliced ? " sliced" : "", k->part == BACKWARD ? " backward" : "");
    say_double(q, "flops", k->flops);
    say_double(q, "bytes", k->bytes);
    say_where(t, &k->where);
    say(t, "\n");
}

static void print_loops(Kernel_printer *q, const char *what, const Loop *const *loops, int n)
{
    if (n) say(q->p.t, " %s", what);
    for (int i = 0; i < n; i++) say_node(q, loops[i]->node);
}

static void print_said(Kernel_printer *q, const Kernel *k)
{
    for (int i = 0; i < q->program->said.n; i++) {
        const Said *d = &q->program->said.at[i];
        if (d->at != k) continue;
        start(q, format("%s ", saying_words[d->what]));
        say_word(q->p.t, d->param->name);
        print_loops(q, "picks", d->picks, d->copies);
        print_loops(q, "last", d->last.at, d->last.n);
        say(q->p.t, "\n");
    }
}

static void print_kernel(Kernel_printer *q, const Kernel *k)
{
    say_program_head(q, k);
    q->p.depth++;
    if (k->kind == ROWS) print_rows(q, k);
    if (k->kind == GEMM || k->kind == PACK) print_product(q, k);
    print_operands(q, k, "read", &k->reads, false);
    print_operands(q, k, "write", &k->writes, true);
    for (int i = 0; i < k->body.n; i++) print_kernel(q, k->body.at[i]);
    say_nest(&q->p, k);
    q->p.depth--;
    if (k->kind == REPEAT || k->kind == PANELS) {
        start(q, "end");
        say_wait_at_end(&q->p, k);
        say(q->p.t, "\n");
    }
    print_said(q, k);
}

/* ------------------------------------------------------------------ buffers */

static bool is_contiguous(const Buffer *b)
{
    int64_t dense[MAXRANK];
    dense_strides(b->shape, dense);
    return b->shape.rank == 0 || memcmp(b->stride, dense, sizeof *dense * (size_t)b->shape.rank) == 0;
}

/* The parameter of a buffer; if it holds several side by side, the wide one. */
static const Param *shown_param(const Buffer *b)
{
    const Param *p = b->param;
    while (p->wide && !same_shape(p->shape, b->shape)) p = p->wide;
    return p;
}

static void say_buffer(Kernel_printer *q, const Buffer *b)
{
    Text *t = q->p.t;
    say(t, "buffer ");
    say_word(t, b->name);
    say(t, " %s : %s%s", home_words[b->home], dtype_name(b->dtype), shape_text(b->shape));
    for (int i = 0; !is_contiguous(b) && i < b->shape.rank; i++)
        say(t, "%s%lld%s", i ? ", " : " strides {", (long long)b->stride[i], i + 1 < b->shape.rank ? "" : "}");
    if (b->home == TABLES) say(t, " holds "), say_values(t, b->value->data, elements(b->shape));
    else if (b->value) say(t, " of"), say_node(q, b->value);
    if (b->param) say(t, " param "), say_word(t, shown_param(b)->name);
    if (b->level) say(t, " in"), say_node(q, b->level->node);
    if (b->first >= 0) say(t, " lives %d %d begins %d %d", b->first, b->last, b->begin, b->end);
    say_count(q, "at", b->offset);
    if (b->in_place_of) say(t, " over "), say_word(t, b->in_place_of->name);
    say(t, "\n");
}

/* ------------------------------------------------------------------ programs */

/* An input that another turn of the step may read. */
static bool is_other_turns(const Program *p, const Buffer *b) { return p->graph->turn && b->home == INPUTS; }

void print_kernels(Text *t, const Program *p)
{
    Nodes leaves = {0}; /* a state that is written alone is not in the graph, nor is an input of another turn */
    Kernel_printer q = {.p = printer_to(t), .program = p};
    for (int i = 0; i < p->buffers.n; i++)
        if (is_replaced(p->buffers.at[i]->value) || is_other_turns(p, p->buffers.at[i]))
            push(&leaves, p->buffers.at[i]->value);
    q.p.also = &leaves;
    print_graph_by(&q.p, p->graph);
    say(t, "program after %s", p->after);
    say_count(&q, "steps", p->steps);
    say_count(&q, "carried", p->carried);
    say_count(&q, "taken_over", p->taken_over);
    say_count(&q, "work", p->work_bytes);
    say_count(&q, "bound", p->lower_bound);
    say_count(&q, "unshared", p->unshared_bytes);
    say(t, "\n");
    for (int i = 0; i < p->buffers.n; i++) say_buffer(&q, p->buffers.at[i]);
    for (int i = 0; i < p->kernels.n; i++) print_kernel(&q, p->kernels.at[i]);
}

void print_kernels_in_brief(Text *t, const Program *p)
{
    say(t, "program %s\n", p->graph->name);
    for (int i = 0; i < p->kernels.n; i++) say_brief(t, 2, p->kernels.at[i]);
}
