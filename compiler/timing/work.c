/* work.c: what a kernel does, counted in the rows of costs.def.
 *
 * It follows how the runtime computes: products in tiles (math/gemm_own.c), attention tile by tile (math/attention.c),
 * convolutions in blocks of 16 channels (math/convolution.c). */
#include "kernels/nest.h"
#include "ops/attention.h"
#include "timing/timing.h"

enum {
    TILE_WIDTH = 32, /* columns of a product's tile */
    CHANNELS = 16,
    SEEN_TOGETHER = 16, /* keys */
    QUERIES = 64        /* of a tile of attention */
};

static int64_t up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

/* The vectors of doubles have half the elements. */
static double vector_weight(DType t) { return t == F64 ? 2 : 1; }

/* ------------------------------------------------------------------ maps and sums */

static Cost cost_of_map(Op op)
{
    switch (op) {
    case OP_exp:
    case OP_expm1:
    case OP_log:
    case OP_log1p:
    case OP_tanh:
    case OP_erf:
    case OP_sin:
    case OP_cos:
    case OP_pow:
    case OP_softplus: return CURVES;
    case OP_div:
    case OP_sqrt:
    case OP_rsqrt: return DIVISIONS;
    case OP_idiv:
    case OP_mod: return REMAINDERS;
    case OP_philox: return DRAWS;
    default: return COSTS; /* nothing beside what it reads */
    }
}

static void count_maps(Work *w, const Nodes *nodes, double times)
{
    for (int i = 0; i < nodes->n; i++) {
        Cost c = cost_of_map(nodes->at[i]->op);
        if (c != COSTS) w->amount[c] += times * vector_weight(nodes->at[i]->dtype);
    }
}

static void count_load(Work *w, const Operand *o, double elements_of_space)
{
    const View *v = &o->view;
    int64_t beside = v->shape.rank ? v->stride[v->shape.rank - 1] : 1;
    if (v->buffer && beside != 0 && beside != 1) w->amount[FAR_APART] += elements_of_space;
    else if (!o->once_a_row) w->amount[LOADS] += elements_of_space;
}

static void count_rows(Work *w, const Kernel *k)
{
    if (k->share == COLUMN_SUMS) {
        for (int i = 0; i < k->partials.n; i++) w->amount[ROWS_ADDED] += (double)elements(k->partials.at[i]->shape);
        return;
    }
    int64_t inner = k->space.rank ? max64(k->space.dim[k->space.rank - 1], 1) : 1;
    double all = (double)elements(k->space), rows = all / (double)inner;
    double side_by_side = k->nest && k->nest->across ? (double)k->nest->across : 1;
    for (int p = 0; p < k->phases.n; p++) {
        const Phase *f = &k->phases.at[p];
        count_maps(w, &f->each, all);
        count_maps(w, &f->row, rows);
        w->amount[ROWS_BEGUN] += rows / side_by_side;
        w->amount[SUMS] += all * f->sums.n;
        w->amount[ROWS_ADDED] += all * f->columns.n;
    }
    for (int i = 0; i < k->loads.n; i++) count_load(w, &k->loads.at[i], all);
}

/* ------------------------------------------------------------------ products */

/* As is_thin() of math/gemm.c. */
static bool is_thin(const struct Gemm *g, int64_t beside)
{
    enum { WIDE = 32, LONG = 256 };
    int64_t narrow = min64(g->M, g->N), wide = max64(g->M, g->N);
    return !g->packed && (narrow == 1 || (wide >= WIDE && narrow <= (beside == 1 || g->K >= LONG ? 8 : 3)));
}

static void count_product(Work *w, const struct Gemm *g)
{
    double batch = 1, times = vector_weight(g->c.node->dtype);
    for (int i = 0; i < g->nbatch; i++) batch *= (double)g->batch[i];
    int64_t beside = g->M <= g->N ? g->b_n : g->a_m;
    w->amount[PRODUCTS] += batch;
    times *= batch;
    if (is_thin(g, beside)) {
        w->amount[beside == 1 ? THIN : THIN_DOTS] += times * (double)(g->M * g->N) * (double)g->K;
        return;
    }
    double columns = (double)up(g->N, TILE_WIDTH);
    w->amount[TILES] += times * (double)g->M * columns * (double)g->K;
}

/* ------------------------------------------------------------------ attention */

/* Scores of a head, in the tiles in which a query sees a key.  A plan knows no lengths of samples: all are whole. */
static double scores_seen(const Attention *a, int64_t T, int64_t S)
{
    double seen = 0;
    if (!(a->flags & CAUSAL)) return (double)up(T, SEEN_TOGETHER) * (double)up(S, SEEN_TOGETHER);
    for (int64_t t = 0; t < T; t += QUERIES) {
        int64_t to = min64(S, t + QUERIES), from = a->window > 0 ? max64(0, t - a->window) : 0;
        seen += (double)min64(QUERIES, T - t) * (double)(up(to, SEEN_TOGETHER) - from);
    }
    return seen;
}

static void count_attention(Work *w, const Node *n)
{
    Attention a = attention_of(n);
    Attention_extents x = attention_extents(&a);
    bool back = n->op == OP_attention_back;
    double heads = (double)elements(x.batch) * (double)x.H, scores = heads * scores_seen(&a, x.T, x.S);
    w->amount[back ? ATTENDED_BACK : ATTENDED] += scores * (double)(up(x.D, CHANNELS) + up(x.E, CHANNELS));
    w->amount[back ? SCORES_BACK : SCORES] += scores;
    if (a.threshold) w->amount[SCORES_DRAWN] += scores;
    w->amount[HEADS] += heads;
}

/* ------------------------------------------------------------------ convolutions */

static bool is_of_squares(const Convolution *v)
{
    if (v->n != 2) return false;
    for (int i = 0; i < v->n; i++)
        if (v->axis[i].kernel != 3 || v->axis[i].stride != 1 || v->axis[i].dilation != 1) return false;
    return true;
}

static void count_convolution(Work *w, const Kernel *k)
{
    Convolution v = convolution_of(k->node);
    bool of_weight = v.side == TOWARDS_W, back = v.side == TOWARDS_X;
    int64_t O = of_weight ? v.y->shape.dim[v.y->shape.rank - 1] : v.w->shape.dim[0];
    int64_t C = of_weight ? v.x->shape.dim[v.x->shape.rank - 1] : v.w->shape.dim[1] * v.groups;
    int64_t o = O / v.groups, c = C / v.groups, places = 1;
    for (int i = 0; i < v.n; i++) places *= v.axis[i].kernel;
    double made = (double)elements(k->writes.at[0].node->shape), y = v.y ? (double)elements(v.y->shape) : made,
           taps = y / (double)O * (double)places, x = v.x ? (double)elements(v.x->shape) : made;
    if (o == 1 && c == 1) w->amount[DEPTHWISE] += taps * (double)up(O, CHANNELS);
    else if (of_weight) w->amount[TOWARDS_WEIGHT] += taps * (double)(v.groups * up(o, CHANNELS) * up(c, CHANNELS));
    else {
        double each = (double)(v.groups * (back ? o * up(c, CHANNELS) : c * up(o, CHANNELS)));
        w->amount[is_of_squares(&v) ? SQUARES : CONV] += taps * each;
    }
    w->amount[CONV_READ] += back ? y : x;
    w->amount[CONV_WEIGHTS] += (double)(O * c * places);
    if (of_weight) w->amount[CONV_PARTS] += (double)(O * c * places * v.parts);
}

/* ------------------------------------------------------------------ the others */

static void count_index(Work *w, const Kernel *k)
{
    const Node *first = k->node->in[0];
    double made = 0;
    for (int i = 0; i < k->writes.n; i++) made += (double)elements(k->writes.at[i].view.shape);
    switch (k->kind) {
    case GATHER: w->amount[PICKED] += made; break;
    case SCATTER: w->amount[ADDED] += (double)elements(first->shape); break;
    case OVERWRITE: w->amount[ADDED] += (double)elements(k->node->in[2]->shape); break;
    case ARGSORT:
    case TOPK: w->amount[SORTED] += (double)elements(first->shape); break;
    default: w->amount[ALONG] += (double)elements(first->shape);
    }
}

static void add_work(Work *to, const Work *from, double times)
{
    for (int i = 0; i < COSTS; i++) to->amount[i] += times * from->amount[i];
}

static Work count(const Kernel *k);

static void count_panels(Work *w, const Kernel *k, int threads)
{
    double panels = (double)max64((k->rows + k->highest - 1) / max64(k->highest, 1), threads);
    for (int i = 0; i < k->body.n; i++) {
        const Kernel *b = k->body.at[i];
        Work part = count(b);
        add_work(w, &part, 1);
        if (b->kind == PACK) w->amount[MEETINGS] = 1;
        else w->amount[STEPS] += panels * (b->kind == REPEAT ? (double)(b->loop->trip * b->body.n) : 1);
    }
}

static Work count(const Kernel *k)
{
    Work w = {0}, part;
    switch (k->kind) {
    case ROWS: count_rows(&w, k); break;
    case GEMM: count_product(&w, &k->gemm); break;
    case ATTENTION: count_attention(&w, k->node); break;
    case CONVOLUTION: count_convolution(&w, k); break;
    case BY_IDS: w.amount[TILES] += k->flops / 2; break;
    case REPEAT: /* within panels */
        for (int i = 0; i < k->body.n; i++) {
            part = count(k->body.at[i]);
            add_work(&w, &part, (double)k->loop->trip);
        }
        break;
    default:
        if (is_picked(k) || is_lengthwise(k)) count_index(&w, k);
    }
    return w;
}

/* The runtime shares what is worth it. */
bool threads_share(const Kernel *k)
{
    enum { PRODUCT_FLOPS = 2000000, THIN_FLOPS = 100000, CONVOLUTION_FLOPS = 1000000 };
    const Nest *n = k->nest;
    if (k->kind == GEMM) {
        int64_t beside = k->gemm.M <= k->gemm.N ? k->gemm.b_n : k->gemm.a_m;
        return k->flops >= (is_thin(&k->gemm, beside) ? THIN_FLOPS : PRODUCT_FLOPS);
    }
    if (k->kind == CONVOLUTION) return k->flops > CONVOLUTION_FLOPS;
    bool loops = k->kind == ROWS || is_picked(k) || is_lengthwise(k); /* generated ones, which its nest describes */
    if (!loops || !n || k->share == COLUMN_SUMS) return true;
    return n->threads || n->sweep_shared || n->across || n->by_columns;
}

Work kernel_work(const Kernel *k, int threads)
{
    Work w = count(k), all = {0};
    bool shared = threads_share(k);
    if (k->kind == PANELS) count_panels(&w, k, threads);
    if (shared) w.amount[CALLS] = 1;
    add_work(&all, &w, shared ? 1 : threads);
    return all;
}
