/* attention_judge.cuh: a random case by plain loops in doubles and on the device: how far the results of the second are off. */
#ifndef TEST_ATTENTION_JUDGE_H
#define TEST_ATTENTION_JUDGE_H

#include "attention_cases.cuh"
#include "expect.cuh"

/* ------------------------------------------------------------------ plain loops */

static inline bool shown(const Case &c, int sample, int t, int s)
{
    int i = (c.offsets.empty() ? c.offset : c.offsets[sample]) + t;
    return !(c.g.causal && s > i) && !(c.g.window && s <= i - c.g.window) &&
           !(c.flags & LENGTHS && s >= c.lengths[sample]) &&
           !(c.flags & SEGMENTS && c.q_segments[sample * c.g.T + t] != c.k_segments[sample * c.g.S + s]);
}

static inline double growth(const Case &c, int sample, int h, int t, int s)
{
    if (!(c.flags & DROPPED)) return 1;
    int index = c.base[sample] + (int)((h * c.g.T + t) * c.g.S + s);
    Philox p = philox_block(5, 6, 7, c.row[sample], index / 4);
    return p.word[index % 4] < c.g.threshold ? 0 : c.g.keep;
}

static inline double inner(const Case &c, Which a, int64_t i, Which b, int64_t j, int n, bool sizes = false)
{
    double sum = 0;
    for (int k = 0; k < n; k++) {
        double x = c.x[a].exact[i + k] * c.x[b].exact[j + k];
        sum += sizes ? fabs(x) : x;
    }
    return sum;
}

static inline void add_scaled(Case &c, Which to, int64_t at, Which x, int64_t from, double factor, double size)
{
    for (int i = 0; i < c.x[to].width; i++) {
        c.x[to].exact[at + i] += factor * c.x[x].exact[from + i];
        c.x[to].size[at + i] += size * fabs(c.x[x].exact[from + i]);
    }
}

/* A score, -infinity where it is not seen; *size: of what it is a sum of; *slope: its derivative towards scale · q · k */
static inline double score(const Case &c, int b, int h, int t, int s, double *size, double *slope)
{
    const Lathe_attention &g = c.g;
    int64_t q = place(c, Q, b, t, h, 0), k = place(c, K, b, s, h / (int)(g.H / g.G), 0);
    double x = g.scale * inner(c, Q, q, K, k, (int)g.D), high = g.cap > 0 ? tanh(x / g.cap) : 0;
    *size = fabs(g.scale) * inner(c, Q, q, K, k, (int)g.D, true), *slope = 1 - high * high;
    if (g.cap > 0) x = g.cap * high;
    if (!c.bias.empty()) {
        int inner_batch = (int)g.batch[1];
        double bias = c.bias[(size_t)(b / inner_batch * g.bias.batch[0] + b % inner_batch * g.bias.batch[1] +
                                      h * g.bias.head + t * g.bias.time + s * g.bias_key)];
        x += bias, *size += fabs(bias);
    }
    return shown(c, b, t, s) ? x : -INFINITY;
}

static inline void one_query(Case &c, int b, int h, int t)
{
    const Lathe_attention &g = c.g;
    int shared = h / (int)(g.H / g.G), S = (int)g.S, E = (int)g.E;
    int64_t q = place(c, Q, b, t, h, 0), o = place(c, O, b, t, h, 0), d_o = place(c, D_O, b, t, h, 0);
    int64_t lse = place(c, LSE, b, t, h, 0), dq = place(c, D_Q, b, t, h, 0), all = place(c, P, b, t, h, 0);
    double largest = -INFINITY, larger = 1, sum = 0, size, slope;
    std::vector<double> p(S);
    for (int s = 0; s < S; s++) {
        p[s] = score(c, b, h, t, s, &size, &slope);
        largest = fmax(largest, p[s]);
        if (p[s] > -INFINITY) larger = fmax(larger, 1 + size);
    }
    c.x[LSE].exact[lse] = -1e30;
    if (largest == -INFINITY) return;
    for (int s = 0; s < S; s++) sum += p[s] = exp(p[s] - largest);
    c.x[LSE].exact[lse] = largest + log(sum), c.x[LSE].size[lse] = larger;
    for (int s = 0; s < S; s++) {
        double weight = p[s] /= sum, met = weight * growth(c, b, h, t, s);
        c.x[P].exact[all + s] = weight, c.x[P].size[all + s] = weight * larger;
        add_scaled(c, O, o, V, place(c, V, b, s, shared, 0), met, met * larger);
    }
    double delta = inner(c, O, o, D_O, d_o, E), delta_size = inner(c, O, o, D_O, d_o, E, true);
    for (int s = 0; s < S; s++) {
        double factor = growth(c, b, h, t, s);
        int64_t k = place(c, K, b, s, shared, 0), v = place(c, V, b, s, shared, 0);
        score(c, b, h, t, s, &size, &slope);
        double ds = g.scale * p[s] * (factor * inner(c, D_O, d_o, V, v, E) - delta) * slope;
        size = fabs(g.scale) * p[s] * (factor * inner(c, D_O, d_o, V, v, E, true) + delta_size) * larger;
        add_scaled(c, D_V, place(c, D_V, b, s, shared, 0), D_O, d_o, p[s] * factor, p[s] * factor * larger);
        add_scaled(c, D_K, place(c, D_K, b, s, shared, 0), Q, q, ds, size);
        add_scaled(c, D_Q, dq, K, k, ds, size);
    }
}

static inline void all_queries(Case &c)
{
    for (int b = 0; b < samples(c); b++)
        for (int h = 0; h < c.g.H; h++)
            for (int t = 0; t < c.g.T; t++) one_query(c, b, h, t);
    for (Which x : {D_Q, D_K}) {
        const std::vector<double> &turns = x == D_Q ? c.q_turns : c.k_turns;
        if (turns.empty()) continue;
        turn(c, x, c.x[x].exact, turns, BACK);
        turn(c, x, c.x[x].size, turns, SIZES);
    }
}

/* ------------------------------------------------------------------ on the device */

template <class T> static inline T *device(const std::vector<double> &from)
{
    if (from.empty()) return NULL;
    std::vector<T> values(from.size());
    T *at;
    for (size_t i = 0; i < from.size(); i++) values[i] = (T)from[i];
    cudaMalloc(&at, from.size() * sizeof(T));
    cudaMemcpy(at, values.data(), from.size() * sizeof(T), cudaMemcpyHostToDevice);
    return at;
}

static inline int *device(const std::vector<int> &from)
{
    int *at;
    if (from.empty()) return NULL;
    cudaMalloc(&at, from.size() * sizeof *at);
    cudaMemcpy(at, from.data(), from.size() * sizeof *at, cudaMemcpyHostToDevice);
    return at;
}

template <class T> static inline std::vector<double> fetched(void *at, size_t n)
{
    std::vector<T> values(n);
    cudaMemcpy(values.data(), at, n * sizeof(T), cudaMemcpyDeviceToHost);
    cudaFree(at);
    return std::vector<double>(values.begin(), values.end());
}

struct Results {
    std::vector<double> x[OPERANDS];
};

static const Which results[] = {O, LSE, P, D_Q, D_K, D_V};
static const char *const names[OPERANDS] = {"q", "k", "v", "o", "lse", "p", "d_o", "d_q", "d_k", "d_v"};

template <class T, class Real, class Forward, class Backward>
static inline Results run(Case &c, Forward forward, Backward backward)
{
    Cuda_masks m = {};
    std::vector<int> five(1, 5);
    m.seed.at = device(five), m.step.value = 6, m.site.value = 7, m.offset.value = c.offset;
    m.offsets = device(c.offsets), m.lengths = device(c.lengths), m.q_segments = device(c.q_segments), m.k_segments = device(c.k_segments);
    m.row = device(c.row), m.base = device(c.base);
    m.q_turns = device<T>(c.q_turns), m.k_turns = device<T>(c.k_turns), m.bias = device<Real>(c.bias);
    for (int x = 0; x < OPERANDS; x++)
        c.x[x].device = x == LSE ? (void *)device<Real>(c.x[x].given) : (void *)device<T>(c.x[x].given);
#define AT(which) ((T *)c.x[which].device)
    Real *lse = (Real *)c.x[LSE].device;
    forward(AT(O), lse, c.weights ? AT(P) : NULL, AT(Q), AT(K), AT(V), c.g, m);
    backward(AT(D_Q), AT(D_K), AT(D_V), AT(Q), AT(K), AT(V), AT(O), lse, AT(D_O), c.g, m);
#undef AT
    Results r;
    for (Which x : results) {
        size_t n = c.x[x].given.size();
        r.x[x] = x == LSE ? fetched<Real>(c.x[x].device, n) : fetched<T>(c.x[x].device, n);
    }
    for (Which x : {Q, K, V, D_O}) cudaFree(c.x[x].device);
    for (const void *at : {(const void *)m.seed.at, (const void *)m.offsets, (const void *)m.lengths,
                           (const void *)m.q_segments, (const void *)m.k_segments, (const void *)m.row, (const void *)m.base, m.q_turns, m.k_turns})
        if (at) cudaFree((void *)at);
    return r;
}

/* ------------------------------------------------------------------ comparing */

static double worst;

/* Error of a result against the size of what it is a sum of, in `epsilon`s. */
static inline void compare(const Case &c, int number, Which x, const std::vector<double> &got, double epsilon)
{
    const Operand &o = c.x[x];
    double off = 0, norm = 0;
    bool whole = true;
    std::vector<bool> inside(got.size());
    for (int s = 0; s < samples(c); s++)
        for (int i = 0; i < o.time * o.heads * o.width; i++)
            inside[place(c, x, s, i / (o.heads * o.width), i / o.width % o.heads, i % o.width)] = true;
    for (size_t i = 0; i < got.size(); i++) {
        if (!inside[i]) whole &= got[i] == o.given[i] || (double)(float)o.given[i] == got[i];
        else if (o.exact[i] == -1e30) whole &= fabs(got[i] / -1e30 - 1) < 1e-6;
        else off += (got[i] - o.exact[i]) * (got[i] - o.exact[i]), norm += o.size[i] * o.size[i];
    }
    double error = sqrt(off) / (sqrt(norm) + 1e-300) / epsilon;
    EXPECT(whole, "case %d: %s is written where it should not be, or forgotten", number, names[x]);
    EXPECT(error <= 2, "case %d: %s is off by %.3g units; T %d S %d H %d G %d D %d E %d flags %d", number, names[x],
           error, (int)c.g.T, (int)c.g.S, (int)c.g.H, (int)c.g.G, (int)c.g.D, (int)c.g.E, c.flags);
    worst = fmax(worst, error);
}

template <class Run> static inline void check_case(Case &c, int number, double epsilon, Run run)
{
    Results r = run(c);
    const char *said = sim_report();
    EXPECT(!*said, "case %d: %s", number, said);
    all_queries(c);
    for (Which x : results)
        if (x != P || c.weights) compare(c, number, x, r.x[x], epsilon);
    for (int order = SIM_BACKWARD; number % 4 == 0 && order <= SIM_SHUFFLED; order++) {
        sim_order((Sim_order)order, (unsigned)number);
        Results again = run(c);
        for (Which x : results) {
            bool same = memcmp(again.x[x].data(), r.x[x].data(), r.x[x].size() * sizeof(double)) == 0;
            EXPECT(same, "case %d: another order of threads gives %s other bits", number, names[x]);
        }
    }
    said = sim_report();
    EXPECT(!*said, "case %d, another order: %s", number, said);
    sim_order(SIM_FORWARD, 0);
}

#endif
