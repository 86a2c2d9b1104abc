/* text.c: the kernels of a program as text, for dumps and golden tests. */
#include "../lathe.h"

static void say_view(Text *t, const View *v)
{
    if (!v->buffer) say(t, "index");
    else say(t, "%s", v->buffer->name);
    say(t, "(%lld", (long long)v->base);
    for (int i = 0; i < v->nover; i++) say(t, " + %lld*%s", (long long)v->over[i].stride, v->over[i].loop->name);
    for (int i = 0; i < v->shape.rank; i++) say(t, " + %lld*i%d", (long long)v->stride[i], i);
    say(t, ")");
    for (int i = 0; v->guarded && i < v->shape.rank; i++)
        if (v->low[i] > 0 || v->high[i] < v->shape.dim[i])
            say(t, " if %lld <= i%d < %lld", (long long)v->low[i], i, (long long)v->high[i]);
}

static void say_operands(Text *t, int depth, const char *what, const Operands *o)
{
    for (int i = 0; i < o->n; i++) {
        say(t, "%*s%s %s %s ", depth, "", what, op_info[o->at[i].node->op].name, shape_text(o->at[i].node->shape));
        say_view(t, &o->at[i].view);
        say(t, "%s\n", o->at[i].add ? " add" : "");
    }
}

static void say_nodes(Text *t, int depth, const char *what, const Nodes *nodes)
{
    if (!nodes->n) return;
    say(t, "%*s%s:", depth, "", what);
    for (int i = 0; i < nodes->n; i++) say(t, " %s", op_info[nodes->at[i]->op].name);
    say(t, "\n");
}

static void say_rows(Text *t, int depth, const Kernel *k)
{
    say_operands(t, depth, "load", &k->loads);
    for (int p = 0; p < k->phases.n; p++) {
        const Phase *f = &k->phases.at[p];
        say(t, "%*sphase %d\n", depth, "", p);
        say_nodes(t, depth + 2, "row", &f->row);
        say_nodes(t, depth + 2, "each", &f->each);
        say_nodes(t, depth + 2, "sums", &f->sums);
        say_nodes(t, depth + 2, "columns", &f->columns);
        say_operands(t, depth + 2, "store", &f->stores);
        say_operands(t, depth + 2, "row store", &f->row_stores);
        say_operands(t, depth + 2, "column store", &f->column_stores);
    }
    say_nodes(t, depth, "kept", &k->kept);
}

static void say_gemm(Text *t, int depth, const Kernel *k)
{
    say(t, "%*sM %lld N %lld K %lld", depth, "", (long long)k->gemm.M, (long long)k->gemm.N, (long long)k->gemm.K);
    for (int i = 0; i < k->gemm.nbatch; i++) say(t, " x %lld", (long long)k->gemm.batch[i]);
    say(t, "\n%*sc ", depth, "");
    say_view(t, &k->gemm.c.view);
    say(t, "%s= a ", k->gemm.afresh ? " (+)" : k->gemm.c.add ? " +" : " ");
    say_view(t, &k->gemm.a.view);
    say(t, " . b ");
    say_view(t, &k->gemm.b.view);
    if (k->gemm.vector.node) {
        say(t, "%s", k->gemm.end == END_SUM_A ? ", sums of a " : k->gemm.end == END_SUM_B ? ", sums of b " : " + row ");
        say_view(t, &k->gemm.vector.view);
    }
    if (k->gemm.end == END_GELU) say(t, ", gelu%s", k->gemm.aux.node ? " of " : "");
    if (k->gemm.end == END_GELU_BACK) say(t, ", times gelu' of ");
    if (k->gemm.aux.node) say_view(t, &k->gemm.aux.view);
    say(t, "\n");
}

static const char *const kind_name[] = {"rows",   "gemm", "attention",  "gather", "scatter", "overwrite", "argmax",
                                        "cumsum", "topk", "over_ranks", "pack",   "repeat",  "panels"};

const char *kernel_kind(const Kernel *k) { return kind_name[k->kind]; }

static void say_kernel(Text *t, int depth, const Kernel *k)
{
    say(t, "%*s%d %s %s", depth, "", k->step, kind_name[k->kind], k->name);
    if (k->kind == ROWS) say(t, " over %s", shape_text(k->space));
    if (k->kind == REPEAT) say(t, " %lld%s", (long long)k->loop->trip, k->loop->reverse ? " backwards" : "");
    if (k->kind == PANELS) say(t, " of %lld rows", (long long)k->rows);
    if (k->share == COLUMN_SUMS) say(t, ", column results");
    say(t, "\n");
    if (k->kind == ROWS) say_rows(t, depth + 4, k);
    if (k->kind == GEMM) say_gemm(t, depth + 4, k);
    say_operands(t, depth + 4, "read", &k->reads);
    say_operands(t, depth + 4, "write", &k->writes);
    for (int i = 0; i < k->body.n; i++) say_kernel(t, depth + 2, k->body.at[i]);
}

/* ------------------------------------------------------------------ in brief: a line a kernel */

static void say_name(Text *t, const char **names, int *n, const Operand *o)
{
    const char *name = o->view.buffer ? o->view.buffer->name : NULL;
    if (!name) return;
    for (int i = 0; i < *n; i++)
        if (same(names[i], name)) return;
    say(t, "%s%s%s", *n ? ", " : "", name, o->add ? " +=" : "");
    names[(*n)++] = name;
}

typedef struct Names_of { /* the buffers that a kernel reads, or writes */
    Text *text;
    const char *names[64];
    int n;
    bool writes;
} Names_of;

static void name_operand(Operand *o, bool writes, void *user)
{
    Names_of *names = user;
    if (writes == names->writes && names->n < COUNT_OF(names->names)) say_name(names->text, names->names, &names->n, o);
}

static void say_names(Text *t, const Kernel *k, bool writes)
{
    Names_of names = {.text = t, .writes = writes};
    each_operand((Kernel *)k, name_operand, &names);
}

static void say_brief(Text *t, int depth, const Kernel *k)
{
    say(t, "%*s%s %s", depth, "", kind_name[k->kind], k->name);
    if (k->body.n) {
        if (k->kind == REPEAT) say(t, " %lld%s\n", (long long)k->loop->trip, k->loop->reverse ? " backwards" : "");
        else say(t, " of %lld rows\n", (long long)k->rows);
        for (int i = 0; i < k->body.n; i++) say_brief(t, depth + 2, k->body.at[i]);
        return;
    }
    if (k->kind == ROWS) say(t, " %s in %d", shape_text(k->space), k->phases.n);
    say(t, ": ");
    say_names(t, k, true);
    say(t, " <- ");
    say_names(t, k, false);
    say(t, "\n");
}

void print_kernels(Text *t, const Program *p)
{
    say(t, "program %s\n", p->graph->name);
    for (int i = 0; i < p->kernels.n; i++) {
        if (options.brief) say_brief(t, 2, p->kernels.at[i]);
        else say_kernel(t, 2, p->kernels.at[i]);
    }
}
