/* attention.c: attention as one operation: softmax over the keys of scale · q · k, times v, for each query and
 * head.
 *
 *     q [batch…][T][H][D]   k [batch…][S][G][D]   v [batch…][S][G][E]      H / G heads share a key (grouped queries)
 *     o [batch…][T][H][E] = Σ_s p[s] · v[s]
 *     lse [batch…][H][T]  = log Σ_s exp(scale · q · k[s])                  over the keys that are seen
 *     p [batch…][H][T][S] = exp(scale · q · k[s] - lse)                    0 for keys that are not seen
 *
 * Query t sees key s unless a mask hides it.  With i = offset + t, its position among the keys:
 *     CAUSAL     s <= i                        offset: i32 [] or [batch…], position of query 0; 0 in self-attention
 *     window w   s > i - w                     w > 0 queries back, itself included; also takes the offset
 *     LENGTHS    s < lengths[batch]
 *     SEGMENTS   q_segments[t] == k_segments[s]       documents packed into one row
 * A query that sees no key gets o = 0, lse = -1e30, p = 0, and no gradient: never NaN.
 *
 * TURNS: rotary positions (Su et al. 2021).  The halves (x, y) of every head of q[t] and k[s] are turned before they
 * meet, to (x · c - y · s, y · c + x · s), where (c, s) are the halves of q_turns[t] and k_turns[s]: cosines and sines
 * of the position's angles.
 *
 * SOFT_CAP, SCORE_BIAS: a score is scale · q · k, then cap · tanh(score / cap) (Gemma 2), then score + bias (T5,
 * ALiBi): the scores above are these.  The bias may be a view that repeats elements; -infinity hides a key.
 *
 * DROPOUT: in o (the result p is what it was before) element (h, t, s) of p is dropped if the random bits
 * philox(seed, step, site, row[batch], base[batch] + (h · T + t) · S + s), unsigned, are below the threshold; the
 * others grow by keep.  These are the draws of nn.dropout on probabilities [batch][H][T][S].
 *
 * The derivative is attention_back, which makes p again from lse (FlashAttention-2, Dao 2023, algorithm 2):
 *     dv = pᵀ · do    ds = p ∘ (do · vᵀ - Σ do ∘ o)    dq = scale · ds · k    dk = scale · dsᵀ · q
 * with q and k as they were turned, dq and dk turned back, and ds of what a soft cap made times 1 - tanh².
 * If lse or p have a gradient themselves, or turns or the bias want one, the definition is differentiated instead, and
 * p is in memory. */
#include "ops/attention.h"

#include "ops/parts.h"

/* ------------------------------------------------------------------ parts, shapes */

/* The inputs in order, for either op; which of them there are depends on op and ints. */
static int parts(Attention *a, bool back, Node ***slot)
{
    int n = 0;
    slot[n++] = &a->q, slot[n++] = &a->k, slot[n++] = &a->v;
    if (back) slot[n++] = &a->o, slot[n++] = &a->lse, slot[n++] = &a->d_o;
    slot[n++] = &a->scale;
    if (a->flags & CAUSAL || a->window) slot[n++] = &a->offset;
    if (a->flags & LENGTHS) slot[n++] = &a->lengths;
    if (a->flags & SEGMENTS) slot[n++] = &a->q_segments, slot[n++] = &a->k_segments;
    if (a->flags & TURNS) slot[n++] = &a->q_turns, slot[n++] = &a->k_turns;
    if (a->flags & SOFT_CAP) slot[n++] = &a->cap;
    if (a->flags & SCORE_BIAS) slot[n++] = &a->bias;
    if (!(a->flags & DROPOUT)) return n;
    slot[n++] = &a->keep, slot[n++] = &a->seed, slot[n++] = &a->step, slot[n++] = &a->site;
    slot[n++] = &a->row, slot[n++] = &a->base;
    return n;
}

enum { MOST_PARTS = 24 };

Attention attention_of(const Node *n)
{
    Attention a = {.flags = n->ints[0], .window = n->ints[1], .threshold = n->ints[2]};
    Node **slot[MOST_PARTS];
    int count = parts(&a, n->op == OP_attention_back, slot);
    for (int i = 0; i < count; i++) *slot[i] = n->in[i];
    return a;
}

bool is_attention_number(const Node *n, int k)
{
    Attention a = {.flags = n->ints[0], .window = n->ints[1]};
    Node **slot[MOST_PARTS], **const numbers[] = {&a.scale, &a.cap, &a.offset, &a.keep, &a.seed, &a.step, &a.site};
    parts(&a, n->op == OP_attention_back, slot);
    for (int i = 0; i < COUNT_OF(numbers); i++)
        if (slot[k] == numbers[i]) return n->in[k]->shape.rank == 0 || n->in[0]->shape.rank == 3;
    return false;
}

static Node *made(Op op, const Attention *given)
{
    Attention a = *given;
    Node **slot[MOST_PARTS], *in[MOST_PARTS];
    int count = parts(&a, op == OP_attention_back, slot);
    for (int i = 0; i < count; i++) in[i] = *slot[i];
    return whole_op(op, count, in, 3, (int64_t[]){a.flags, a.window, a.threshold});
}

Node *attention_op(const Attention *a) { return made(OP_attention, a); }
Node *attention_back_op(const Attention *a) { return made(OP_attention_back, a); }

/* ------------------------------------------------------------------ what is wrong with it */

/* Of what is computed with: log sum exp, scale, keep. */
static DType real_of(const Attention *a) { return is_stored(a->q->dtype) ? F32 : a->q->dtype; }

static bool is_like(const Node *n, DType t, Shape s) { return n->dtype == t && same_shape(n->shape, s); }
static bool is_i32(const Node *n, Shape s) { return is_like(n, I32, s); }

static const char *heads_fault(const Attention *a)
{
    Shape q = a->q->shape, k = a->k->shape, v = a->v->shape;
    bool narrow = a->q->dtype == F32 && (a->k->dtype == BF16 || a->k->dtype == Q8_0); /* as decode may remember them */
    if ((!is_real(a->q->dtype) && !is_stored(a->q->dtype)) || (a->k->dtype != a->q->dtype && !narrow) ||
        a->v->dtype != a->k->dtype)
        return "q, k and v must be real and of one type, or k and v bf16 or q8_0 and q f32";
    if (q.rank < 3 || q.rank + 1 > MAXRANK || k.rank != q.rank || v.rank != q.rank)
        return "q, k and v must be [batch…, time, heads, width]";
    int nb = q.rank - 3;
    for (int i = 0; i < nb; i++)
        if (k.dim[i] != q.dim[i] || v.dim[i] != q.dim[i]) return "q, k and v must have the same batch axes";
    if (k.dim[nb] != v.dim[nb] || k.dim[nb + 1] != v.dim[nb + 1]) return "k and v must have as many keys and heads";
    if (q.dim[nb + 1] % k.dim[nb + 1]) return "the heads of q must be a multiple of those of k";
    if (q.dim[nb + 2] != k.dim[nb + 2]) return "the heads of q and k must have the same width";
    if (in_blocks(a->k->dtype) && (k.dim[nb + 2] % LATHE_BLOCK || v.dim[nb + 2] % LATHE_BLOCK))
        return "heads in blocks must have widths that are multiples of 32";
    return NULL;
}

static const char *masks_fault(const Attention *a, const Attention_extents *z)
{
    Shape none = {0};
    if (a->window < 0) return "a window is at least 1, or 0 for none";
    if (a->offset && !is_i32(a->offset, none) && !is_i32(a->offset, z->batch))
        return "the offset must be one i32, or i32 [batch…]";
    if (a->lengths && !is_i32(a->lengths, z->batch)) return "lengths must be i32 [batch…]";
    if (a->q_segments && (!is_i32(a->q_segments, with_axis(z->batch, z->q, z->nb)) ||
                          !is_i32(a->k_segments, with_axis(z->batch, z->k, z->nb))))
        return "segments must be i32 [batch…, time] of queries and keys";
    if (a->q_turns && z->D % 2) return "heads that are turned must have an even width";
    if (a->q_turns && (!is_like(a->q_turns, a->q->dtype, turns_shape(z, z->q)) ||
                       !is_like(a->k_turns, a->q->dtype, turns_shape(z, z->k))))
        return "turns must be [batch…, time, width of a head] of queries and keys, and of their type";
    if (a->bias && !is_like(a->bias, real_of(a), score_shape(z)))
        return "a bias on scores must be real [batch…, heads, time, keys]";
    if (!a->keep) return NULL;
    if (!is_i32(a->seed, none) || !is_i32(a->step, none) || !is_i32(a->site, none) || !is_i32(a->base, z->batch) ||
        !is_i32(a->row, z->batch))
        return "dropout takes seed, step and site as i32, rows and bases as i32 [batch…]";
    if (!is_filled(a->keep, NULL) || !is_like(a->keep, real_of(a), none)) return "keep must be a real constant";
    return a->threshold < 0 || a->threshold > UINT32_MAX ? "the threshold must be an unsigned 32-bit number" : NULL;
}

const char *attention_fault_of(const Attention *a)
{
    const char *fault = heads_fault(a);
    if (fault) return fault;
    Attention_extents z = attention_extents(a);
    return masks_fault(a, &z);
}

const char *attention_fault(const Node *n)
{
    if (n->nints != 3) return "its ints must be flags, window and threshold";
    Attention a = {.flags = n->ints[0], .window = n->ints[1]};
    Node **slot[MOST_PARTS];
    bool back = n->op == OP_attention_back;
    if (n->nin != parts(&a, back, slot)) return "it has not the inputs that its flags ask for";
    a = attention_of(n);
    const char *fault = attention_fault_of(&a);
    if (fault) return fault;
    Attention_extents z = attention_extents(&a);
    if (!is_filled(a.scale, NULL) || !is_like(a.scale, real_of(&a), (Shape){0})) return "scale must be a real constant";
    double cap;
    if (a.cap && (!is_filled(a.cap, &cap) || !is_like(a.cap, real_of(&a), (Shape){0}) || !(cap > 0)))
        return "a soft cap must be a real constant above 0";
    if (back && (!is_like(a.o, a.q->dtype, result_shape(&z)) || !is_like(a.d_o, a.q->dtype, result_shape(&z)) ||
                 !is_like(a.lse, real_of(&a), lse_shape(&z))))
        return "its result, log sum exp or gradient do not fit q, k and v";
    return NULL;
}

const char *attention_back_fault(const Node *n) { return attention_fault(n); }

int attention_results(const Node *n, Type *out)
{
    Attention a = attention_of(n);
    Attention_extents z = attention_extents(&a);
    DType t = a.q->dtype;
    out[0] = (Type){t, result_shape(&z)};
    out[1] = (Type){real_of(&a), lse_shape(&z)};
    out[2] = (Type){t, score_shape(&z)};
    return a.flags & PROBABILITIES ? 3 : 2;
}

int attention_back_results(const Node *n, Type *out)
{
    for (int k = 0; k < 3; k++) out[k] = (Type){n->in[k]->dtype, n->in[k]->shape};
    return 3;
}

/* ------------------------------------------------------------------ rows, trips */

/* Batch axes come first in all that it reads and gives. */
Row_fact attention_rows(Rows *r, Row_pair *p)
{
    int nbatch = p->in[0]->node->shape.rank - 3;
    Row_fact f = {.kind = ROWS_SAME};
    for (int k = 0; k < p->nin; k++)
        if (p->in[k]) f = row_join(p, f, row_demand(r, p, k));
    return f.kind == ROWS_EACH && f.axis >= nbatch ? row_meets(p, "attention runs along the batch axis") : f;
}

Row_fact attention_back_rows(Rows *r, Row_pair *p) { return attention_rows(r, p); }

/* One more batch axis: the parts that all samples share must be the same in all iterations. */
bool attention_splits(const Node *n)
{
    for (int k = 0; k < n->nin; k++)
        if (is_attention_number(n, k) && n->in[k]->in_loop == n->in_loop) return false;
    return n->in[0]->shape.rank + 2 <= MAXRANK; /* its scores in groups of heads */
}

bool attention_back_splits(const Node *n) { return attention_splits(n); }

Node *attention_split(const Node *n, const Trips *in, int64_t trip)
{
    Node **all = NEW_ARRAY(Node *, n->nin);
    for (int k = 0; k < n->nin; k++) all[k] = is_attention_number(n, k) ? in[k].node : spread_trips(in[k], trip);
    return whole_op(n->op, n->nin, all, n->nints, n->ints);
}

Node *attention_back_split(const Node *n, const Trips *in, int64_t trip) { return attention_split(n, in, trip); }

/* ------------------------------------------------------------------ gradient, expansion */

void attention_gradient(Grad_level *lv, Node *n, Node *const *g)
{
    Attention a = attention_of(n);
    bool turns = a.q_turns && (grad_active(lv, a.q_turns) || grad_active(lv, a.k_turns));
    bool bias = a.bias && grad_active(lv, a.bias);
    if (g[1] || (n->ints[0] & PROBABILITIES && g[2]) || turns || bias) {
        grad_definition(lv, n, g);
        return;
    }
    Node **slot[MOST_PARTS];
    int count = parts(&a, false, slot);
    for (int i = 0; i < count; i++) *slot[i] = value(lv, n->in[i]);
    a.o = value(lv, whole_result(n, 0));
    a.lse = value(lv, whole_result(n, 1));
    a.d_o = g[0];
    a.flags &= ~PROBABILITIES;
    Node *back = attention_back_op(&a);
    for (int k = 0; k < 3; k++) contribute(lv, n->in[k], pick(back, k, 0));
}

void attention_back_gradient(Grad_level *lv, Node *n, Node *const *g) { grad_definition(lv, n, g); }

/* Kernels have heads of bounded width. */
static bool by_definition(Node *n, const bool *wanted, Node **results)
{
    Attention a = attention_of(n);
    Attention_extents z = attention_extents(&a);
    if (z.D <= LATHE_MAX_HEAD && z.E <= LATHE_MAX_HEAD) return false;
    for (int k = 0; k < 3; k++)
        if (wanted[k]) results[k] = whole_info[n->op].define(n, k);
    return true;
}

Node *attention_part(Node *n) { return (void)n, NULL; }
Node *attention_back_part(Node *n) { return (void)n, NULL; }

bool attention_expand(Node *n, const bool *wanted, Node **results, const Desc *d)
{
    (void)d;
    return by_definition(n, wanted, results);
}

bool attention_back_expand(Node *n, const bool *wanted, Node **results, const Desc *d)
{
    (void)d;
    return by_definition(n, wanted, results);
}
