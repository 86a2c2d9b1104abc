/* attention.h: the definition of attention for all targets, and the description of a call's operands.
 *
 * softmax(scale · q · kT) · v for each head, tile by tile (without arrays of T × S), and its derivative.
 *
 *     q [batch…][T][H][D]   k [batch…][S][G][D]   v [batch…][S][G][E]   o [batch…][T][H][E]   lse [batch…][H][T]
 *     p [batch…][H][T][S]
 *
 * q_turns [batch…][T][D] and k_turns [batch…][S][D] (of q's type; pointers that are not NULL): rotary positions.  The
 * halves (x, y) of q and k are turned to (x · c - y · s, y · c + x · s), where (c, s) are the halves of a turn; d_q and
 * d_k are turned back.
 *
 * cap > 0: a score becomes cap · tanh(score / cap).  bias [batch…][H][T][S], of lse's type: added to scores after that;
 * -infinity hides.
 *
 * H / G heads share a key.  Query t is at position i = offset + t (offsets[batch] + t where that is not NULL) among the
 * keys and sees key s if s <= i (causal), s > i - window (window > 0), s < lengths[batch] and q_segments[t] ==
 * k_segments[s] (pointers that are not NULL).  A query that sees no key has o = 0, lse = -1e30 and no gradient.  keep > 0: dropout; the weight of (h, t, s) is dropped where
 * philox_word(seed, step, site, row[batch], base[batch] + (h · T + t) · S + s), unsigned, is below the threshold, and
 * grows by `keep` elsewhere.  D and E are at most LATHE_MAX_HEAD.  Results that are NULL are not computed; p, the
 * weights before dropout, 0 for keys that are not seen, is computed again from lse by attention_weights.
 *
 * Online softmax (Milakov, Gimelshein 2018; Dao 2023, FlashAttention-2).  Work is divided by extents alone. */
#ifndef LATHE_MATH_ATTENTION_H
#define LATHE_MATH_ATTENTION_H

#include "interface/lathe_model.h"

typedef struct Lathe_heads {    /* strides in elements; along the width: 1 */
    int64_t batch[LATHE_MAXRANK], time, head;
} Lathe_heads;
typedef struct Lathe_attention {
    int nbatch;
    int64_t batch[LATHE_MAXRANK], T, S, H, G, D, E;
    double scale, cap, keep;
    uint32_t threshold;
    bool causal;
    int64_t window;
    Lathe_heads q, k, v, o, lse, p, d_o, d_q, d_k, d_v;
    Lathe_heads offsets, lengths, q_segments, k_segments, q_turns, k_turns, bias;
    int64_t bias_key;           /* stride of bias along S; any stride of it may be 0 */
    Lathe_heads row, base;
    const char *where;          /* for messages: "gpt.lua:31 h.attn"; or NULL */
} Lathe_attention;

#endif
