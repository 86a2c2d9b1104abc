/* test_linear_cross_entropy.c: the head, generated whole and in chunks of several sizes, against its formula written
 * here in plain C: losses, predicted ids, and derivatives towards x, weight and bias.  Shapes are drawn: one row, rows
 * that are no multiple of a chunk, odd vocabularies, both layouts, smoothing, ignored ids, weights of rows, soft
 * targets of a teacher. */
#include "harness.h"
#include "ops/head.h"

#include <math.h>
#include <string.h>

typedef struct Case {
    int64_t R, C, V;
    bool bias, ignores, differentiated, ties; /* ties: all logits of row 0 are equal */
    int across;
    double smoothing;
    int64_t ignored;
    int64_t D;       /* width of a teacher's x; 0: there is none */
    int soft_across; /* of its weight */
    bool soft_bias;
    double share, temperature;
    double *soft_x, *soft_w, *soft_b; /* [R][D], [V][D] whatever the layout, [V] */
    double *x, *w, *b, *g;            /* [R][C], [V][C] whatever the layout, [V], [R] */
    int64_t *ids;
} Case;

/* ------------------------------------------------------------------ the formula */

typedef struct Expected {
    double loss, *losses, *dx, *dw, *db;
    int64_t *predicted;
} Expected;

static void logits_of(const Case *c, int64_t r, double *z)
{
    for (int64_t v = 0; v < c->V; v++) {
        z[v] = c->bias ? c->b[v] : 0;
        for (int64_t k = 0; k < c->C; k++) z[v] += c->x[r * c->C + k] * c->w[v * c->C + k];
    }
}

static void teacher_logits_of(const Case *c, int64_t r, double *y)
{
    for (int64_t v = 0; v < c->V; v++) {
        y[v] = c->soft_bias ? c->soft_b[v] : 0;
        for (int64_t k = 0; k < c->D; k++) y[v] += c->soft_x[r * c->D + k] * c->soft_w[v * c->D + k];
    }
}

/* log of the sum of exp */
static double log_sum(const double *z, int64_t n, int64_t *largest)
{
    double sum = 0;
    *largest = 0;
    for (int64_t v = 1; v < n; v++)
        if (z[v] > z[*largest]) *largest = v;
    for (int64_t v = 0; v < n; v++) sum += exp(z[v] - z[*largest]);
    return log(sum) + z[*largest];
}

static void expected_row(const Case *c, int64_t r, double *z, Expected *e)
{
    logits_of(c, r, z);
    double lse = log_sum(z, c->V, &e->predicted[r]);
    if (c->ignores && c->ids[r] == c->ignored) return;
    double share = c->D ? c->share : 0, t = c->temperature, own = 0, theirs = 0, *y = NEW_ARRAY(double, c->V);
    if (c->D) teacher_logits_of(c, r, y);
    for (int64_t v = 0; v < c->V && c->D; v++) own += exp(z[v] / t), theirs += exp(y[v] / t);
    for (int64_t v = 0; v < c->V; v++) {
        double q = c->D ? exp(z[v] / t) / own : 0, p = c->D ? exp(y[v] / t) / theirs : 0;
        double target = c->smoothing / (double)c->V + (v == c->ids[r] ? 1 - c->smoothing : 0);
        double dz = c->g[r] * ((1 - share) * (exp(z[v] - lse) - target) + share * t * (q - p));
        e->losses[r] += (1 - share) * target * (lse - z[v]) + (share ? share * t * t * p * log(p / q) : 0);
        e->db[v] += dz;
        for (int64_t k = 0; k < c->C; k++) {
            e->dx[r * c->C + k] += dz * c->w[v * c->C + k];
            e->dw[v * c->C + k] += dz * c->x[r * c->C + k];
        }
    }
    e->loss += c->g[r] * e->losses[r];
}

static Expected expected_of(const Case *c)
{
    Expected e = {.losses = NEW_ARRAY(double, c->R), .predicted = NEW_ARRAY(int64_t, c->R)};
    e.dx = NEW_ARRAY(double, c->R * c->C);
    e.dw = NEW_ARRAY(double, c->V * c->C);
    e.db = NEW_ARRAY(double, c->V);
    double *z = NEW_ARRAY(double, c->V);
    for (int64_t r = 0; r < c->R; r++) expected_row(c, r, z, &e);
    return e;
}

/* ------------------------------------------------------------------ cases */

static double *draws(Rng *r, int64_t n, double scale)
{
    double *a = NEW_ARRAY(double, n);
    for (int64_t i = 0; i < n; i++) a[i] = (double)(float)(scale * normal(r));
    return a;
}

static Case draw_case(Rng *r)
{
    static const int64_t sizes[] = {1, 2, 3, 5, 8, 16, 17, 31, 40, 64};
    Case c = {.R = below(r, 4) ? 1 + below(r, 48) : sizes[below(r, 10)], .C = 1 + below(r, 24)};
    c.V = below(r, 3) ? 2 + below(r, 90) : sizes[below(r, 10)];
    c.bias = below(r, 2);
    c.across = (int)below(r, 2);
    c.ignores = below(r, 2);
    c.ignored = below(r, 2) ? -100 : below(r, c.V);
    c.smoothing = below(r, 2) ? 0.05 + 0.9 * uniform(r) : 0;
    c.differentiated = below(r, 5) != 0;
    c.ties = !c.bias && below(r, 3) == 0;
    c.x = draws(r, c.R * c.C, 2);
    c.w = draws(r, c.V * c.C, 1);
    c.b = draws(r, c.V, 1);
    c.g = draws(r, c.R, 1);
    c.ids = NEW_ARRAY(int64_t, c.R);
    for (int64_t i = 0; i < c.R; i++) c.ids[i] = c.ignores && below(r, 3) == 0 ? c.ignored : below(r, c.V);
    for (int64_t k = 0; k < c.C && c.ties; k++) c.x[k] = 0;
    c.D = below(r, 2) ? 1 + below(r, 12) : 0;
    c.soft_across = (int)below(r, 2);
    c.soft_bias = below(r, 2);
    c.share = below(r, 4) ? uniform(r) : 1;
    c.temperature = below(r, 3) ? 0.5 + 4 * uniform(r) : 1;
    c.soft_x = draws(r, c.R * c.D, 2);
    c.soft_w = draws(r, c.V * c.D, 1);
    c.soft_b = draws(r, c.V, 1);
    return c;
}

static Node *parameter(const char *graph, const char *name, int64_t rows, int64_t columns)
{
    Shape s = {.rank = columns ? 2 : 1, .dim = {rows, columns}};
    return parameter_node(format("%s.%s", graph, name), F32, s);
}

static Node *real_input(const char *graph, const char *name, int64_t rows, int64_t columns)
{
    return input_node(format("%s.%s", graph, name), F32, (Shape){.rank = columns ? 2 : 1, .dim = {rows, columns}});
}

static Soft_targets soft_targets(const Case *c, const char *name)
{
    Soft_targets s = {.across = c->soft_across, .share = c->share, .temperature = c->temperature};
    if (!c->D) return s;
    s.x = real_input(name, "soft_x", c->R, c->D);
    s.weight = c->soft_across ? real_input(name, "soft_w", c->V, c->D) : real_input(name, "soft_w", c->D, c->V);
    if (c->soft_bias) s.bias = real_input(name, "soft_b", c->V, 0);
    return s;
}

static Graph *head_graph(const Case *c, const char *name)
{
    Shape rows = {.rank = 1, .dim = {c->R}};
    Head h = {.across = c->across, .smoothing = c->smoothing, .ignores = c->ignores, .ignored = c->ignored};
    h.x = parameter(name, "x", c->R, c->C);
    h.weight = c->across ? parameter(name, "w", c->V, c->C) : parameter(name, "w", c->C, c->V);
    if (c->bias) h.bias = parameter(name, "b", c->V, 0);
    h.ids = input_node(format("%s.ids", name), I32, rows);
    h.soft = soft_targets(c, name);
    Node *head = linear_cross_entropy(&h), *losses = pick(head, 0, 0);
    Node *g = input_node(format("%s.g", name), F32, rows),
         *loss = reduce(OP_sum, map2(OP_mul, losses, g), 1, &(int){0});
    Graph *graph = NEW(Graph);
    *graph = (Graph){.name = name, .wants_grads = c->differentiated};
    push(&graph->outs, ((Output){OUT_VALUE, "loss", loss}));
    push(&graph->outs, ((Output){OUT_VALUE, "losses", losses}));
    push(&graph->outs, ((Output){OUT_VALUE, "predicted", pick(head, 1, 0)}));
    return graph;
}

/* ------------------------------------------------------------------ running */

/* [V][C] in the layout of the parameter, and back. */
static double *turned(const double *w, int64_t V, int64_t C, bool across, bool back)
{
    double *out = NEW_ARRAY(double, V *C);
    for (int64_t v = 0; v < V; v++)
        for (int64_t k = 0; k < C; k++) {
            int64_t plain = v * C + k, laid = across ? plain : k * V + v;
            out[back ? plain : laid] = w[back ? laid : plain];
        }
    return out;
}

static double *laid_out(const Case *c, const double *w, bool back) { return turned(w, c->V, c->C, c->across, back); }

static const Lathe_param *param_named(const Live *l, const char *name)
{
    for (int k = 0; k < l->model->params; k++)
        if (same(l->model->param[k].name, name)) return &l->model->param[k];
    die("no parameter %s", name);
}

static void feed_input(Live *l, int entry, const char *name, const double *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++) set_element(l->model->real, input_at(l, entry, name), i, x[i]);
}

static void feed(Live *l, int entry, const Case *c, const char *name)
{
    write_param(l, param_named(l, format("%s.x", name)), c->x);
    write_param(l, param_named(l, format("%s.w", name)), laid_out(c, c->w, false));
    if (c->bias) write_param(l, param_named(l, format("%s.b", name)), c->b);
    const char *ids = format("%s.ids", name), *g = format("%s.g", name);
    for (int64_t r = 0; r < c->R; r++) {
        set_element(LATHE_I32, input_at(l, entry, ids), r, (double)c->ids[r]);
        set_element(l->model->real, input_at(l, entry, g), r, c->g[r]);
    }
    if (!c->D) return;
    feed_input(l, entry, format("%s.soft_x", name), c->soft_x, c->R * c->D);
    feed_input(l, entry, format("%s.soft_w", name), turned(c->soft_w, c->V, c->D, c->soft_across, false), c->V * c->D);
    if (c->soft_bias) feed_input(l, entry, format("%s.soft_b", name), c->soft_b, c->V);
}

static void near(const char *what, const char *name, const double *got, const double *wanted, int64_t n, double within)
{
    double off = norm_of_difference(got, wanted, n), size = norm_of(wanted, n);
    expect(off <= within * (1 + size), "%s of %s is off by %g of %g", what, name, off, size);
}

static void check_case(Live *l, const Case *c, const char *name, double within)
{
    int entry = entry_index(l, name);
    Expected e = expected_of(c);
    feed(l, entry, c, name);
    call_entry(l, entry);
    double loss = loss_of(l, entry), *predicted = read_output(l, entry, "predicted");
    near("the loss", name, &loss, &e.loss, 1, within);
    near("losses", name, read_output(l, entry, "losses"), e.losses, c->R, within);
    for (int64_t r = 0; r < c->R; r++)
        expect(predicted[r] == (double)e.predicted[r], "row %lld of %s predicts %g, not %lld", (long long)r, name,
               predicted[r], (long long)e.predicted[r]);
    if (!c->differentiated) return;
    const Lathe_param *x = param_named(l, format("%s.x", name)), *w = param_named(l, format("%s.w", name));
    near("dx", name, read_param(l, l->grads, x), e.dx, c->R * c->C, within);
    near("dweight", name, laid_out(c, read_param(l, l->grads, w), true), e.dw, c->V * c->C, within);
    if (c->bias) near("dbias", name, read_param(l, l->grads, param_named(l, format("%s.b", name))), e.db, c->V, within);
}

/* One program of n cases, whose heads take `rows` rows at a time. */
static void check_program_of(Rng *r, int n, int64_t rows, const char *precision, double within)
{
    Case *cases = NEW_ARRAY(Case, n);
    VEC(Graph *) graphs = {0};
    for (int i = 0; i < n; i++) {
        cases[i] = draw_case(r);
        push(&graphs, head_graph(&cases[i], format("rows_%lld_%s_%d", (long long)rows, precision, i)));
    }
    options.head_rows = rows;
    options.precision = precision;
    options.check_stages = options.poison = true;
    Live *l = load_module(compile(describe_graphs(graphs.n, graphs.at)));
    for (int i = 0; i < n; i++) check_case(l, &cases[i], graphs.at[i]->name, within);
    unload(l);
}

int main(void)
{
    static const int64_t rows[] = {1000, 1, 4, 7, 16};
    Rng r = rng_of(11);
    int n = long_run() ? 200 : 40;
    for (int k = 0; k < COUNT_OF(rows); k++) check_program_of(&r, n, rows[k], "fp64", 1e-12);
    check_program_of(&r, n / 2, 7, "fp32", 2e-6);
    return finish();
}
