/* attention_cases.cuh: random cases of attention: shapes, masks, rotary positions, biases, and operands with gaps. */
#ifndef TEST_ATTENTION_CASES_H
#define TEST_ATTENTION_CASES_H

#include "cuda/attention.cuh"
#include "sim.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <vector>

/* ------------------------------------------------------------------ random cases */

static uint64_t random_state;
static inline uint32_t random_bits(void) /* splitmix64 */
{
    uint64_t z = random_state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (uint32_t)(z >> 32);
}
static inline int below(int n) { return (int)(random_bits() % (unsigned)n); }
static inline double normal(void)
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
    std::vector<int> offsets, lengths, q_segments, k_segments, row, base;
    std::vector<double> q_turns, k_turns, bias;
    bool weights;
};

static inline int samples(const Case &c) { return (int)(c.g.batch[0] * c.g.batch[1]); }

static inline int64_t place(const Case &c, Which x, int sample, int time, int head, int w)
{
    const Lathe_heads &s = c.x[x].at;
    int inner = (int)c.g.batch[1];
    return sample / inner * s.batch[0] + sample % inner * s.batch[1] + time * s.time + head * s.head + w;
}

/* round: to what the type of the operand holds */
template <class Round>
static inline Lathe_heads make_operand(Case &c, Which x, int64_t time, int64_t heads, int64_t width, bool given, Round round)
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

static inline std::vector<int> some_ints(int64_t n, int most)
{
    std::vector<int> x((size_t)n);
    for (int &i : x) i = below(most);
    return x;
}

static inline void make_masks(Case &c)
{
    Lathe_attention &g = c.g;
    g.causal = c.flags & CAUSAL;
    g.window = c.flags & WINDOW ? 1 + below(below(2) ? 8 : (int)g.S) : 0;
    if (c.flags & (CAUSAL | WINDOW)) c.offset = below(2) ? 0 : below((int)g.S + 4) - 2;
    Lathe_heads a_sample = {{g.batch[1], 1}, 0, 0};
    g.offsets = g.lengths = g.row = g.base = a_sample;
    for (int i = 0; c.flags & (CAUSAL | WINDOW) && (g.S + g.T) % 3 == 0 && i < samples(c); i++)
        c.offsets.push_back((int)(7 * i % (g.S + 2)));
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

static inline void turn(Case &c, Which x, std::vector<double> &values, const std::vector<double> &turns, Turn way)
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

template <class Round> static inline std::vector<double> make_turns(Case &c, Which x, Lathe_heads *at, Round round)
{
    int64_t one = c.x[x].time * c.g.D;
    std::vector<double> turns((size_t)(one * samples(c)));
    *at = {{c.g.batch[1] * one, one}, c.g.D, 0};
    for (double &t : turns) t = round(normal());
    turn(c, x, c.x[x].exact, turns, THERE);
    return turns;
}

/* [B0][B1][H][T][S], or one for all samples, [H][T][S] or [T][S][H]; some of it hides keys. */
static inline void make_bias(Case &c)
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
static inline void shape_scores(Case &c, int number)
{
    if (number % 7 == 5 || number % 13 == 8) c.g.cap = 1.5;
    if (number % 5 == 3 || number % 13 == 8) make_bias(c);
}

/* keys: their number is a multiple of it */
template <class Round>
static inline Case make_case(int number, bool large, int fewest, int most_width, int multiple, Round round, int keys = 1)
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

#endif
