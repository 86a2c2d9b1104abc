/* pack.c: a matrix that every iteration of a loop multiplies by is packed once, before the loop.
 *
 * A product first copies its right operand into the order in which its tiles read it (runtime/math/gemm_own.c).  Over
 * thousands of rows that is nothing; over the few rows of a step of a recurrence it is as much work as the product.  So
 * where b is the same in all iterations, a PACK kernel goes before the outermost loop for which that holds.  The bits
 * stay the same, but for products of 2 to 8 rows: where nothing is packed these are loops of their own
 * (runtime/math/gemm.c), which take about as long again.  Needs: kernels.  Leaves: PACK kernels, products that read a
 * packed matrix. */
#include "desc/target.h"
#include "lower/lower.h"

#include <string.h>

enum { COLUMNS = 9, HIGH = 256 }; /* columns at least; rows: high products pack fast enough */

/* The loops around a product, from the outermost; before: what is packed for one. */
typedef struct Around {
    Kernel *repeat;
    Kernels before;
} Around;
typedef VEC(Around) Nest;

static bool moves_with_loop(const View *v, const Loop *l)
{
    for (int i = 0; i < v->nover; i++)
        if (v->over[i].loop == l) return true;
    return false;
}

bool stays(const View *v, const Kernel *repeat)
{
    Touches t = {0};
    if (moves_with_loop(v, repeat->loop) || v->buffer->level == repeat->loop) return false;
    touches_of(repeat, &t);
    for (int i = 0; i < t.n; i++)
        if (t.at[i].buffer == v->buffer && t.at[i].writes) return false;
    return true;
}

static bool worth_it(const struct Gemm *g)
{
    return g->nbatch == 0 && g->M > 1 && g->M < HIGH && g->N >= COLUMNS && g->c_n == 1 && !g->b.view.guarded;
}

/* How many of the loops around, counted from the innermost, b outlasts. */
static int loops_outlasted(const View *b, const Nest *around)
{
    int n = 0;
    while (n < around->n && stays(b, around->at[around->n - 1 - n].repeat)) n++;
    return n;
}

Buffer *work_buffer(Program *p, const char *wish, DType t, Shape s, Loop *level, Node *value)
{
    Buffer *b = NEW(Buffer);
    *b = (Buffer){.name = unique_string(&p->names, wish),
                  .home = WORK,
                  .dtype = t,
                  .shape = s,
                  .bytes = elements(s) * dtype_bytes(t),
                  .level = level,
                  .first = -1,
                  .begin = -1,
                  .value = value};
    dense_strides(s, b->stride);
    push(&p->buffers, b);
    return b;
}

/* attn_c_attn_weight of h.attn.c_attn.weight */
static const char *operand_name(const Buffer *b)
{
    if (b->home != PARAMETERS) return b->name;
    const char *name = b->param->name, *from = name + strlen(name);
    for (int parts = 0; from > name; from--)
        if (from[-1] == '.' && ++parts == 2) break;
    char *word = copy_string(from);
    for (char *c = word; *c; c++) *c = *c == '.' ? '_' : *c;
    return word;
}

/* attn_c_attn_weight_packed; for another product, whose order is another, attn_c_attn_weight_packed_for_d_ln_1. */
static const char *packed_name(const Program *p, const struct Gemm *g)
{
    const char *name = format("%s_packed", operand_name(g->b.view.buffer));
    return strings_get(&p->names, name) ? format("%s_for_%s", name, g->c.view.buffer->name) : name;
}

static Buffer *packed_buffer(Program *p, const Kernel *product, Loop *level)
{
    const struct Gemm *g = &product->gemm;
    Shape s = {2, {g->K, round_up(g->N, LATHE_PACKED)}, {(uint16_t)g->axis_k, (uint16_t)g->axis_n}};
    check_axes(&s);
    return work_buffer(p, packed_name(p, g), g->a.node->dtype, s, level, g->b.node);
}

static Kernel *pack_kernel(const Kernel *product, Buffer *to, Loop *level)
{
    Kernel *k = NEW(Kernel);
    k->kind = PACK;
    k->name = format("%s_pack", product->name);
    k->node = product->node;
    k->where = product->where;
    k->in_loop = level;
    k->gemm = product->gemm;
    k->product = product;
    k->bytes = 2.0 * (double)to->bytes;
    push(&k->reads, product->gemm.b);
    push(&k->writes, ((Operand){.node = product->gemm.b.node, .view = view_whole(to)}));
    return k;
}

static void read_packed(struct Gemm *g, Buffer *packed)
{
    g->b.view = view_whole(packed);
    g->packed = true;
}

Kernel *pack_right(Program *p, Kernel *product, Loop *level)
{
    Buffer *packed = packed_buffer(p, product, level);
    Kernel *k = pack_kernel(product, packed, level);
    read_packed(&product->gemm, packed);
    return k;
}

static bool same_right(const struct Gemm *a, const struct Gemm *b)
{
    const View *x = &a->b.view, *y = &b->b.view;
    if (x->buffer != y->buffer || x->base != y->base || x->nover != y->nover || a->K != b->K || a->N != b->N)
        return false;
    for (int i = 0; i < x->nover; i++)
        if (x->over[i].loop != y->over[i].loop || x->over[i].stride != y->over[i].stride) return false;
    return a->b_k == b->b_k && a->b_n == b->b_n;
}

/* The matrix packed before a loop, by a kernel that is there already or is put there now. */
static Buffer *packed_before(Program *p, Around *a, Kernel *product)
{
    for (int i = 0; i < a->before.n; i++)
        if (same_right(&a->before.at[i]->gemm, &product->gemm)) return a->before.at[i]->writes.at[0].view.buffer;
    push(&a->before, pack_right(p, product, a->repeat->in_loop));
    return product->gemm.b.view.buffer;
}

static void pack(Program *p, Nest *around, Kernel *product)
{
    struct Gemm *g = &product->gemm;
    int outlasted = worth_it(g) ? loops_outlasted(&g->b.view, around) : 0;
    if (outlasted) read_packed(g, packed_before(p, &around->at[around->n - outlasted], product));
}

static Kernels packed_list(Program *p, Kernel *const *list, int n, Nest *around)
{
    Kernels out = {0};
    for (int i = 0; i < n; i++) {
        Kernel *k = list[i];
        if (k->kind == GEMM) pack(p, around, k);
        if (k->kind == REPEAT) {
            push(around, ((Around){.repeat = k}));
            Kernels body = packed_list(p, (Kernel *const *)k->body.at, k->body.n, around);
            Around a = around->at[--around->n];
            k->body.n = 0;
            for (int j = 0; j < body.n; j++) push(&k->body, body.at[j]);
            for (int j = 0; j < a.before.n; j++) push(&out, a.before.at[j]);
        }
        push(&out, k);
    }
    return out;
}

void pass_pack(Program *p, const Desc *d)
{
    Nest around = {0};
    if (!without(d, PASS_pack) && !rows_alike(p) && d->options->target->packs)
        p->kernels = packed_list(p, p->kernels.at, p->kernels.n, &around);
}
