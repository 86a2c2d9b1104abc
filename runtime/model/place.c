/* place.c: weights in the flat array of parameters, of which the last ones may lie in blocks (interface/dtype.h). */
#include "model/place.h"
#include "base/bug.h"
#include "math/blocks.h"
#include "model/block.h"
#include "model/tables.h"

static const Lathe_dtype first_in_blocks = (Lathe_dtype)(LATHE_F16 + 1);

/* A part of the flat array: elements of one type, up to `end`. */
typedef struct Part {
    Lathe_dtype type;
    int64_t first, end, bytes_before;
} Part;

/* The one with element e. */
static Part part_at(const Lathe_model *m, int64_t e)
{
    Part p = {lathe_weights(m), 0, m->flat_elements - weights_in_blocks(m), 0};
    for (Lathe_dtype t = first_in_blocks; t < LATHE_DTYPES && e >= p.end; t++)
        if (m->in_blocks[t])
            p = (Part){t, p.end, p.end + m->in_blocks[t], p.bytes_before + bytes_of_numbers(p.type, p.end - p.first)};
    return p;
}

int64_t weights_in_blocks(const Lathe_model *m)
{
    int64_t n = 0;
    for (Lathe_dtype t = first_in_blocks; t < LATHE_DTYPES; t++) n += m->in_blocks[t];
    return n;
}

bool lies_in_blocks(const Lathe_model *m, const Lathe_param *p) { return block_word(type_of_weight(m, p)) != NULL; }

Lathe_dtype type_of_weight(const Lathe_model *m, const Lathe_param *p) { return part_at(m, p->offset).type; }

void *parameter_at(const Lathe_model *m, const void *flat, int64_t e)
{
    const Part p = part_at(m, e);
    return (char *)flat + p.bytes_before + bytes_of_numbers(p.type, e - p.first);
}

double read_weight(const Lathe_model *m, const void *flat, int64_t e)
{
    const Part p = part_at(m, e);
    return read_element(p.type, (const char *)flat + p.bytes_before, e - p.first);
}

void write_reals(Lathe_dtype t, void *at, int64_t n, const double *x)
{
    bool blocks = lathe_bytes_of_block(t);
    for (int64_t i = 0; !blocks && i < n; i++) write_real(t, at, i, x[i]);
    bug_if(blocks && n % LATHE_BLOCK);
    for (int64_t i = 0; blocks && i < n; i += LATHE_BLOCK) {
        float block[LATHE_BLOCK];
        for (int k = 0; k < LATHE_BLOCK; k++) block[k] = (float)x[i + k];
        narrow_block(t, at, i / LATHE_BLOCK, block);
    }
}

void write_weights(const Lathe_model *m, void *flat, int64_t e, int64_t n, const double *x)
{
    void *at;
    for (int64_t i = 0, some; i < n; i += some) {
        some = weights_beside(m, flat, e + i, n - i, &at);
        if (at) write_reals(part_at(m, e + i).type, at, some, x + i);
    }
}

/* ------------------------------------------------------------------ elements of one rank */

static struct Kept { /* of the array whose elements other ranks have, too */
    const void *flat;
    char *own;
    Lathe_deal deal;
    int rank;
    int64_t limit, before[LATHE_MOST_DEALT];
} kept;

void keep_own_weights(const void *flat, void *own, const Own_elements *which)
{
    kept = (struct Kept){flat, own, *which->deal, which->rank, which->limit, {0}};
    for (int k = 0; k < kept.deal.buckets; k++)
        kept.before[k] = lathe_dealt_before(&kept.deal, k, kept.rank, kept.limit);
}

bool has_all_weights(const void *flat) { return !flat || flat != kept.flat; }

int64_t weights_beside(const Lathe_model *m, const void *flat, int64_t e, int64_t n, void **at)
{
    if (has_all_weights(flat) || e >= kept.limit) { /* each rank has the frozen ones */
        *at = parameter_at(m, flat, e);
        return n;
    }
    const Lathe_owner o = lathe_owner_of(&kept.deal, e);
    const int64_t left = o.part.first + o.part.count - e, place = kept.before[o.bucket] + e - o.part.first;
    *at = o.rank == kept.rank ? kept.own + place * dtype_size(lathe_weights(m)) : NULL;
    return left < n ? left : n;
}

bool has_any_weight(const Lathe_model *m, const void *flat, int64_t e, int64_t n)
{
    void *at = NULL;
    for (int64_t i = 0; i < n && !at;) i += weights_beside(m, flat, e + i, n - i, &at);
    return at != NULL;
}

void clear_weights(const Lathe_model *m, void *flat)
{
    if (has_all_weights(flat)) clear_memory(flat, weight_bytes(m));
    else {
        char *frozen = parameter_at(m, flat, kept.limit);
        clear_memory(kept.own, lathe_own_bytes(&kept.deal, dtype_size(lathe_weights(m))));
        clear_memory(frozen, weight_bytes(m) - (frozen - (char *)flat));
    }
}
