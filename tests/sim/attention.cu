/* attention.cu: the attention of generated CUDA in the simulator against plain loops in doubles, on random shapes:
 * every mask alone and together, one query, odd widths, grouped heads, cross, rotary positions, caps, biases, dropout, strided
 * operands with their surroundings untouched, queries that see nothing; the same bits in three orders of blocks and
 * threads. */
#include "cuda/attention.cuh"
#include "sim.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <vector>

static int failed;

#define EXPECT(holds, ...)                                                                                             \
    do {                                                                                                               \
        if (holds) break;                                                                                              \
        failed++;                                                                                                      \
        printf("failed: " __VA_ARGS__);                                                                                \
        printf("\n");                                                                                                  \
    } while (0)

/* ------------------------------------------------------------------ random cases */

static uint64_t random_state;
static uint32_t random_bits(void) /* splitmix64 */
{
    uint64_t z = random_state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (uint32_t)(z >> 32);
}
static int below(int n) { return (int)(random_bits() % (unsigned)n); }
static double normal(void)
{
    double radius = sqrt(-2 * log((random_bits() + 0.5) * 0x1p-32));
    return radius * cos(random_bits() * (0x1p-31 * M_PI));
}

static const double untouched = 12288; /* of any type */

/* [B0][B1][time][heads][width] with gaps: what the kernels get, its value in doubles, and what that is a sum of. */
struct Operand {
    Lathe_heads at;
    int time, heads, width;
    std::vector<double> given, exact, size;
    void *device;
};

enum Which { Q, K, V, O, LSE, P, D_O, D_Q, D_K, D_V, OPERANDS };

enum { CAUSAL = 1, WINDOW = 2, LENGTHS = 4, SEGMENTS = 8, DROPPED = 16, TURNED = 32 };

struct Case {
    Lathe_attention g;
    Operand x[OPERANDS];
    int offset, flags, aligned;
    std::vector<int> lengths, q_segments, k_segments, row, base;
    std::vector<double> q_turns, k_turns, bias;
    bool weights;
};

static int samples(const Case &c) { return (int)(c.g.batch[0] * c.g.batch[1]); }

static int64_t place(const Case &c, Which x, int sample, int time, int head, int w)
{
    const Lathe_heads &s = c.x[x].at;
    int inner = (int)c.g.batch[1];
    return sample / inner * s.batch[0] + sample % inner * s.batch[1] + time * s.time + head * s.head + w;
}

/* round: to what the type of the operand holds */
template <class Round>
static Lathe_heads make_operand(Case &c, Which x, int64_t time, int64_t heads, int64_t width, bool given, Round round)
{
    Operand &o = c.x[x];
    int64_t gap = below(3) * below(20);
    if (c.aligned) gap = gap / 8 * 8;
    bool heads_first = x == LSE || below(4) == 0; /* [heads][time] or [time][heads], as in a projection */
    o = Operand();
    o.time = (int)time, o.heads = (int)heads, o.width = (int)width;
    o.at.time = heads_first ? width : heads * width + gap;
    o.at.head = heads_first ? time * width + gap : width;
    int64_t one = time * heads * width + gap * (heads_first ? heads : time);
    o.at.batch[0] = one * c.g.batch[1], o.at.batch[1] = one;
    size_t span = (size_t)(one * samples(c));
    o.given.assign(span, untouched), o.size.assign(span, 0), o.exact.assign(span, 0);
    for (int s = 0; s < samples(c); s++)
        for (int i = 0; i < time * heads * width; i++) {
            int64_t at = place(c, x, s, i / (int)(heads * width), i / (int)width % (int)heads, i % (int)width);
            o.given[at] = given ? round(normal()) : NAN;
            o.exact[at] = given ? o.given[at] : 0;
        }
    return o.at;
}

static std::vector<int> some_ints(int64_t n, int most)
{
    std::vector<int> x((size_t)n);
    for (int &i : x) i = below(most);
    return x;
}

static void make_masks(Case &c)
{
    Lathe_attention &g = c.g;
    g.causal = c.flags & CAUSAL;
    g.window = c.flags & WINDOW ? 1 + below(below(2) ? 8 : (int)g.S) : 0;
    if (c.flags & (CAUSAL | WINDOW)) c.offset = below(2) ? 0 : below((int)g.S + 4) - 2;
    Lathe_heads a_sample = {{g.batch[1], 1}, 0, 0};
    g.lengths = g.row = g.base = a_sample;
    if (c.flags & LENGTHS) c.lengths = some_ints(samples(c), (int)g.S + 2);
    if (c.flags & SEGMENTS) {
        c.q_segments = some_ints(samples(c) * g.T, 3);
        c.k_segments = some_ints(samples(c) * g.S, 3);
    }
    g.q_segments = {{g.batch[1] * g.T, g.T}, 1, 0};
    g.k_segments = {{g.batch[1] * g.S, g.S}, 1, 0};
    if (!(c.flags & DROPPED)) return;
    g.keep = 1.25, g.threshold = 0x33333333;
    c.base = some_ints(samples(c), 1000);
    c.row = some_ints(samples(c), 100);
}

enum Turn { THERE, BACK, SIZES }; /* SIZES: of what the sums turned are made of */

static void turn(Case &c, Which x, std::vector<double> &values, const std::vector<double> &turns, Turn way)
{
    const Operand &o = c.x[x];
    int half = o.width / 2;
    for (int b = 0; b < samples(c); b++)
        for (int i = 0; i < o.time * o.heads * half; i++) {
            int time = i / (o.heads * half), d = i % half, at = (b * o.time + time) * o.width + d;
            int64_t low = place(c, x, b, time, i / half % o.heads, d);
            double u = values[low], v = values[low + half], co = turns[at], si = turns[at + half];
            if (way == SIZES) co = fabs(co), si = fabs(si);
            values[low] = way == THERE ? u * co - v * si : u * co + v * si;
            values[low + half] = way == BACK ? v * co - u * si : v * co + u * si;
        }
}

template <class Round> static std::vector<double> make_turns(Case &c, Which x, Lathe_heads *at, Round round)
{
    int64_t one = c.x[x].time * c.g.D;
    std::vector<double> turns((size_t)(one * samples(c)));
    *at = {{c.g.batch[1] * one, one}, c.g.D, 0};
    for (double &t : turns) t = round(normal());
    turn(c, x, c.x[x].exact, turns, THERE);
    return turns;
}

/* [B0][B1][H][T][S], or one for all samples, [H][T][S] or [T][S][H]; some of it hides keys. */
static void make_bias(Case &c)
{
    Lathe_attention &g = c.g;
    int64_t one = g.H * g.T * g.S;
    int form = below(3);
    c.bias.resize((size_t)(one * samples(c)));
    for (double &x : c.bias) x = below(9) ? (float)(2 * normal()) : -INFINITY;
    if (form == 0) g.bias.batch[0] = one * g.batch[1], g.bias.batch[1] = one;
    g.bias.head = form < 2 ? g.T * g.S : 1;
    g.bias.time = form < 2 ? g.S : g.S * g.H;
    g.bias_key = form < 2 ? 1 : g.H;
}

/* Some have a cap or a bias. */
static void shape_scores(Case &c, int number)
{
    if (number % 7 == 5 || number % 13 == 8) c.g.cap = 1.5;
    if (number % 5 == 3 || number % 13 == 8) make_bias(c);
}

/* keys: their number is a multiple of it */
template <class Round>
static Case make_case(int number, bool large, int fewest, int most_width, int multiple, Round round, int keys = 1)
{
    static const int widths[] = {1, 3, 8, 16, 24, 32, 33, 64, 80, 128};
    Case c = {};
    Lathe_attention &g = c.g;
    int most = 1;
    while (most < 10 && widths[most] <= most_width) most++;
    c.weights = number % 3 != 1;
    c.aligned = multiple > 1 && number % 4 != 3;
    /* large: several tiles, few heads; the others are small, with more of them */
    int from = large ? fewest : 1;
    g.nbatch = 2, g.batch[0] = large ? 1 : 1 + below(2), g.batch[1] = 1 + below(2);
    g.T = number % 7 == 0 ? 1 : from + below(large ? 100 : 30);
    g.S = number % 2 ? g.T : from + below(large ? 100 : 40);
    g.S = CEIL_DIV(g.S, keys) * keys;
    g.G = large ? 1 : 1 + below(2), g.H = g.G * (1 + below(2));
    g.D = widths[below(1 + below(most))], g.E = below(2) ? g.D : widths[below(most)];
    if (c.aligned) g.D = CEIL_DIV(g.D, multiple) * multiple, g.E = CEIL_DIV(g.E, multiple) * multiple;
    g.scale = number % 9 == 4 ? -0.3 : 0.3;
    c.flags = number < 32 ? number : below(64);
    make_masks(c);
    g.q = make_operand(c, Q, g.T, g.H, g.D, true, round);
    g.k = make_operand(c, K, g.S, g.G, g.D, true, round);
    g.v = make_operand(c, V, g.S, g.G, g.E, true, round);
    g.o = make_operand(c, O, g.T, g.H, g.E, false, round);
    g.lse = make_operand(c, LSE, g.T, g.H, 1, false, round);
    g.p = make_operand(c, P, g.T, g.H, g.S, false, round);
    g.d_o = make_operand(c, D_O, g.T, g.H, g.E, true, round);
    g.d_q = make_operand(c, D_Q, g.T, g.H, g.D, false, round);
    g.d_k = make_operand(c, D_K, g.S, g.G, g.D, false, round);
    g.d_v = make_operand(c, D_V, g.S, g.G, g.E, false, round);
    if (c.flags & TURNED && g.D % 2 == 0) {
        c.q_turns = make_turns(c, Q, &g.q_turns, round);
        c.k_turns = make_turns(c, K, &g.k_turns, round);
    }
    return c;
}

/* ------------------------------------------------------------------ plain loops */

static bool shown(const Case &c, int sample, int t, int s)
{
    int i = c.offset + t;
    return !(c.g.causal && s > i) && !(c.g.window && s <= i - c.g.window) &&
           !(c.flags & LENGTHS && s >= c.lengths[sample]) &&
           !(c.flags & SEGMENTS && c.q_segments[sample * c.g.T + t] != c.k_segments[sample * c.g.S + s]);
}

static double growth(const Case &c, int sample, int h, int t, int s)
{
    if (!(c.flags & DROPPED)) return 1;
    int index = c.base[sample] + (int)((h * c.g.T + t) * c.g.S + s);
    Philox p = philox_block(5, 6, 7, c.row[sample], index / 4);
    return p.word[index % 4] < c.g.threshold ? 0 : c.g.keep;
}

static double inner(const Case &c, Which a, int64_t i, Which b, int64_t j, int n, bool sizes = false)
{
    double sum = 0;
    for (int k = 0; k < n; k++) {
        double x = c.x[a].exact[i + k] * c.x[b].exact[j + k];
        sum += sizes ? fabs(x) : x;
    }
    return sum;
}

static void add_scaled(Case &c, Which to, int64_t at, Which x, int64_t from, double factor, double size)
{
    for (int i = 0; i < c.x[to].width; i++) {
        c.x[to].exact[at + i] += factor * c.x[x].exact[from + i];
        c.x[to].size[at + i] += size * fabs(c.x[x].exact[from + i]);
    }
}

/* A score, -infinity where it is not seen; *size: of what it is a sum of; *slope: its derivative towards scale · q · k */
static double score(const Case &c, int b, int h, int t, int s, double *size, double *slope)
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

static void one_query(Case &c, int b, int h, int t)
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

static void all_queries(Case &c)
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

template <class T> static T *device(const std::vector<double> &from)
{
    if (from.empty()) return NULL;
    std::vector<T> values(from.size());
    T *at;
    for (size_t i = 0; i < from.size(); i++) values[i] = (T)from[i];
    cudaMalloc(&at, from.size() * sizeof(T));
    cudaMemcpy(at, values.data(), from.size() * sizeof(T), cudaMemcpyHostToDevice);
    return at;
}

static int *device(const std::vector<int> &from)
{
    int *at;
    if (from.empty()) return NULL;
    cudaMalloc(&at, from.size() * sizeof *at);
    cudaMemcpy(at, from.data(), from.size() * sizeof *at, cudaMemcpyHostToDevice);
    return at;
}

template <class T> static std::vector<double> fetched(void *at, size_t n)
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
static Results run(Case &c, Forward forward, Backward backward)
{
    Cuda_masks m = {};
    std::vector<int> five(1, 5);
    m.seed.at = device(five), m.step.value = 6, m.site.value = 7, m.offset.value = c.offset;
    m.lengths = device(c.lengths), m.q_segments = device(c.q_segments), m.k_segments = device(c.k_segments);
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
    for (const void *at : {(const void *)m.seed.at, (const void *)m.lengths, (const void *)m.q_segments,
                           (const void *)m.k_segments, (const void *)m.row, (const void *)m.base, m.q_turns, m.k_turns})
        if (at) cudaFree((void *)at);
    return r;
}

/* ------------------------------------------------------------------ comparing */

static double worst;

/* Error of a result against the size of what it is a sum of, in `epsilon`s. */
static void compare(const Case &c, int number, Which x, const std::vector<double> &got, double epsilon)
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

template <class Run> static void check_case(Case &c, int number, double epsilon, Run run)
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

/* Kernels are compiled for few widths; others are rounded up to one of them. */
template <class T, class Real, int D, int E> static Results run_widths(Case &c)
{
    bool dropout = c.flags & DROPPED;
    return run<T, Real>(
        c,
        [=](auto... a) {
            dropout ? launch_attention<T, D, E, true>(NULL, a...) : launch_attention<T, D, E, false>(NULL, a...);
        },
        [=](auto... a) {
            dropout ? launch_attention_back<T, D, E, true>(NULL, a...)
                    : launch_attention_back<T, D, E, false>(NULL, a...);
        });
}

template <class T> static void test_plain(int n, double epsilon)
{
    for (int i = 0; i < n; i++) {
        Case c = make_case(i, i % 6 == 5, 50, 128, 1, [](double x) { return (double)(float)x; });
        shape_scores(c, i);
        check_case(c, i, epsilon, c.g.D <= 64 && c.g.E <= 64 ? run_widths<T, T, 64, 64> : run_widths<T, T, 128, 128>);
    }
    printf("note: plain, %d bytes: worst error %.2f units\n", (int)sizeof(T), worst);
    worst = 0;
}

#ifndef MUTANT
/* 16 bits without tensor cores: where scores have a cap or a bias. */
static Results run_plain_16(Case &c)
{
    return run<Bf16, float>(
        c, [](auto... a) { launch_attention_plain<Bf16, 64, false>(NULL, a...); },
        [](auto... a) { launch_attention_plain_back<Bf16, 64, false>(NULL, a...); });
}

static void test_plain_16(int n)
{
    for (int i = 0; i < n; i++) {
        Case c = make_case(i % 2 ? CAUSAL : LENGTHS | TURNED, i == 0, 70, 64, 8, [](double x) { return (double)(float)Bf16((float)x); });
        shape_scores(c, i % 2 ? 8 : i % 4 ? 3 : 5);
        check_case(c, i, 0x1p-9, run_plain_16);
    }
    worst = 0;
}
#endif

template <class T, class Widths>
static void test_tensor(const char *name, int n, int most, double epsilon, Widths widths)
{
    for (int i = 0; i < n; i++) {
        Case c = make_case(i, i % 6 == 5, 130, most, 8, [](double x) { return (double)(float)T((float)x); });
        c.weights &= i % 8 == 3; /* by plain kernels */
        check_case(c, i, epsilon, widths(c));
    }
    EXPECT(!sim_conflicts(), "rows of a matrix lie in the same banks");
    printf("note: %s on tensor cores: worst error %.2f units\n", name, worst);
    worst = 0;
}

#ifdef MUTANT /* a header with a mistake in it: attention_mutants.sh; the fewest kernels that can show it */
static Results run_32(Case &c)
{
    auto forward = [](Bf16 *o, float *lse, Bf16 *, auto... a) {
        launch_attention_tensor<Bf16, 32, 32, false>(NULL, o, lse, a...);
    };
    return run<Bf16, float>(c, forward,
                            [](auto... a) { launch_attention_tensor_back<Bf16, 32, 32, false>(NULL, a...); });
}

int main(void)
{
    for (int i = 0; i < 4; i++) {
        Case c = make_case(CAUSAL, i < 2, 150, 32, 8, [](double x) { return (double)(float)Bf16((float)x); });
        c.weights = false;
        c.aligned = i < 3; /* the last one but for o */
        while (!c.aligned && c.g.o.time % 8 == 0)
            c.g.o = make_operand(c, O, c.g.T, c.g.H, c.g.E, false, [](double x) { return x; });
        check_case(c, i, 0x1p-9, run_32);
    }
    return failed > 0;
}
#else
int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 32;
    test_plain<float>(n, FLT_EPSILON);
    test_plain<double>(n / 4, DBL_EPSILON);
    test_plain_16(n / 8);
    test_tensor<Bf16>("bf16", n, 80, 0x1p-9, [](Case &c) {
        bool wide = c.g.D > 64 || c.g.E > 64;
        return wide          ? run_widths<Bf16, float, 80, 80>
               : c.g.D <= 16 ? run_widths<Bf16, float, 16, 64>
                             : run_widths<Bf16, float, 64, 64>;
    });
    test_tensor<F16>("fp16", n / 4, 64, 0x1p-12, [](Case &) { return run_widths<F16, float, 64, 64>; });
    return failed > 0;
}
#endif
