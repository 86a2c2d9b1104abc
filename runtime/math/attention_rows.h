/* attention_rows.h: the part of math/attention.c for rows of queries, keys and values as tiles read them: turned by rotary
 * positions, widened from bf16 or from blocks.  Compiled as attention_real.h. */

/* ---- rotary positions */

/* to[n][D]: turns the halves of each row by those of its turn, or back (there = -1); to may be x. */
static void NAME(turn)(REAL *to, int64_t to_row, const REAL *x, int64_t row, const REAL *turns, int64_t turns_row,
                       int64_t n, int64_t D, REAL there)
{
    int64_t half = D / 2;
    for (int64_t i = 0; i < n; i++, to += to_row, x += row, turns += turns_row)
        LANEWISE for (int64_t d = 0; d < half; d++)
        {
            REAL a = x[d], b = x[d + half], c = turns[d], s = turns[d + half] * there;
            to[d] = a * c - b * s;
            to[d + half] = b * c + a * s;
        }
}

/* Rows of queries, or of keys from `first` on, after turning. */
typedef struct NAME(Rows) {
    const REAL *at;
    int64_t row, first;
} NAME(Rows);

static NAME(Rows) NAME(queries)(REAL *room, const REAL *q, const Queries *own)
{
    const Lathe_attention *g = own->g;
    if (!own->m->q_turns) return (NAME(Rows)){q, g->q.time, own->t};
    const REAL *turns = (const REAL *)own->m->q_turns + begin_of(g, &g->q_turns, own->sample);
    NAME(turn)(room, g->D, q, g->q.time, turns + own->t * g->q_turns.time, g->q_turns.time, own->n, g->D, 1);
    return (NAME(Rows)){room, g->D, own->t};
}

/* Rows of keys or of values: one of these is not NULL. */
typedef struct NAME(Held) {
    const REAL *at;
    const bf16 *narrow;
    const Lathe_q8_0 *blocks; /* then whole blocks are a row, and what is from row to row and head to head */
} NAME(Held);

static NAME(Held) NAME(moved_rows)(NAME(Held) x, int64_t elements)
{
    if (x.blocks) return (NAME(Held)){.blocks = x.blocks + elements / LATHE_BLOCK};
    return x.narrow ? (NAME(Held)){.narrow = x.narrow + elements} : (NAME(Held)){.at = x.at + elements};
}

static INLINE void NAME(widen_row)(REAL *to, NAME(Held) x, int64_t width)
{
    if (!x.blocks) {
        LANEWISE for (int64_t d = 0; d < width; d++) to[d] = from_bf16_f32(x.narrow[d]);
        return;
    }
    for (int64_t d = 0; d < width; d += LATHE_BLOCK, x.blocks++) {
        const float scale = block_scale(x.blocks->scale);
        LANEWISE for (int i = 0; i < LATHE_BLOCK; i++) to[d + i] = scale * x.blocks->code[i];
    }
}

/* Rows from … end - 1 of x, which points to row 0: narrow ones and those in blocks in room. */
static INLINE NAME(Rows) NAME(wide_rows)(REAL *room, NAME(Held) x, int64_t row, int64_t width, int64_t from, int64_t end)
{
    if (x.at) return (NAME(Rows)){x.at + from * row, row, from};
    for (int64_t i = 0; i < end - from; i++)
        NAME(widen_row)(room + i * width, NAME(moved_rows)(x, (from + i) * row), width);
    return (NAME(Rows)){room, width, from};
}

/* k points to key 0. */
static NAME(Rows) NAME(keys)(REAL *room, NAME(Held) k, const Queries *own, int64_t from, int64_t end)
{
    const Lathe_attention *g = own->g;
    NAME(Rows) x = NAME(wide_rows)(room, k, g->k.time, g->D, from, end);
    if (!own->m->k_turns) return x;
    const REAL *turns = (const REAL *)own->m->k_turns + begin_of(g, &g->k_turns, own->sample);
    NAME(turn)(room, g->D, x.at, x.row, turns + from * g->k_turns.time, g->k_turns.time, end - from, g->D, 1);
    return (NAME(Rows)){room, g->D, from};
}
