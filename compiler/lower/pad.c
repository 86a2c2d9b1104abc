/* pad.c: the shape of a value's own buffer.  Rows of matrices that products read or write begin at multiples of
 * what the target's products like (Target.row_bytes), where nothing is in the way: 50,257 logits of 16 bits lie 50,264
 * apart.
 *
 * Asked when a value gets a place of its own.  Values are placed after their readers, so that each reader can say
 * whether it would do: products and kernels can walk rows that lie apart, unless they take several axes as one. */
#include "desc/target.h"
#include "lower/lower.h"

enum { SHORTEST = 128 }; /* elements of a row: a shorter one would grow too much */

/* n's rows lie so that the next one begins at a multiple. */
static View with_padded_rows(const Node *n, int64_t row)
{
    View v = view_dense(n->shape);
    int64_t step = row;
    for (int i = n->shape.rank - 1; i-- > 0; step *= n->shape.dim[i]) v.stride[i] = step;
    return v;
}

static bool do_readers_fit(Cut *cut, Node *n, const View *v, bool *product);

static bool does_dot_fit(Cut *cut, Node *dot, const Node *operand, const View *v, bool *product)
{
    struct Gemm g = {0};
    View a = dot->in[0] == operand ? *v : reading(cut, dot->in[0]).view;
    View b = dot->in[1] == operand ? *v : reading(cut, dot->in[1]).view;
    View c = info(cut, dot)->placed ? info(cut, dot)->place : reading(cut, dot).view;
    *product = true;
    return (dot->in[0] == operand || dot->in[1] == operand) && fill_gemm(dot, &a, &b, &c, &g);
}

/* A sum that the group makes is smaller than its space. */
static bool does_group_fit(Cut *cut, const Node *reader, const View *v)
{
    const Group *g = info(cut, reader)->group;
    View over;
    if (elements(v->shape) != elements(g->space)) return false;
    for (int i = 0; i < g->nodes.n; i++)
        if (g->nodes.at[i] == reader) return g->role[i] != PER_ROW && view_reshape(v, g->space, &over);
    die("a node that is not in its group");
}

/* v: how what shows n lies. */
static bool does_reader_fit(Cut *cut, Node *reader, const Node *n, const View *v, bool *product)
{
    View moved = *v;
    if (info(cut, reader)->forced || info(cut, reader)->absorbed) return false;
    if (is_view(reader)) return view_move(&moved, reader) && do_readers_fit(cut, reader, &moved, product);
    if (reader->op == OP_dot) return does_dot_fit(cut, reader, n, v, product);
    if (info(cut, reader)->group) return does_group_fit(cut, reader, v);
    return widens(cut, reader) && do_readers_fit(cut, reader, v, product);
}

static bool do_readers_fit(Cut *cut, Node *n, const View *v, bool *product)
{
    const Readers *r = readers(cut, n);
    if (r->else_too || r->xs.n || r->ys.n) return false;
    for (int i = 0; i < r->nodes.n; i++)
        if (!does_reader_fit(cut, r->nodes.at[i], n, v, product)) return false;
    return true;
}

/* May what makes n store it like this? */
static bool may_be_made(Cut *cut, Node *n, const View *v)
{
    if (info(cut, n)->forced || info(cut, n)->layout) return false;
    if (n->op != OP_dot) return info(cut, n)->group && does_group_fit(cut, n, v);
    return can_be_added(n) && !info(cut, n)->sums_up && !info(cut, n)->product && gemm_fits_at(cut, n, v);
}

static int64_t padded_row(Cut *cut, Node *n)
{
    int64_t unit = cut->desc->options->target->row_bytes / dtype_bytes(n->dtype), row = n->shape.dim[n->shape.rank - 1];
    if (unit < 2 || n->shape.rank < 2 || row < SHORTEST || row % unit == 0) return row;
    View v = with_padded_rows(n, round_up(row, unit));
    bool product = n->op == OP_dot;
    bool fits = may_be_made(cut, n, &v) && do_readers_fit(cut, n, &v, &product);
    return fits && product ? round_up(row, unit) : row;
}

/* A dot may have chosen a layout that its reader likes: its axes, those of the largest strides first. */
static Shape by_strides(const View *v)
{
    Shape s = {0};
    bool used[MAXRANK] = {false};
    for (int k = 0; k < v->shape.rank; k++) {
        int next = -1;
        for (int i = 0; i < v->shape.rank; i++)
            if (!used[i] && (next < 0 || v->stride[i] > v->stride[next])) next = i;
        used[next] = true;
        s.dim[s.rank++] = v->shape.dim[next];
    }
    return s;
}

Shape own_shape(Cut *cut, Node *n, const View *own)
{
    if (!view_is_dense(own)) return by_strides(own);
    Shape s = n->shape;
    if (s.rank) s.dim[s.rank - 1] = padded_row(cut, n);
    return s;
}
