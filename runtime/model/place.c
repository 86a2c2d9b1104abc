/* place.c: weights in the flat array of parameters, of which the last ones may lie in blocks (interface/dtype.h). */
#include "model/place.h"
#include "base/words.h"
#include "math/blocks.h"
#include "model/tables.h"

static int64_t first_in_blocks(const Lathe_model *m) { return m->flat_elements - m->block_elements; }

bool lies_in_blocks(const Lathe_model *m, const Lathe_param *p) { return p->offset >= first_in_blocks(m); }

Lathe_dtype type_of_weight(const Lathe_model *m, const Lathe_param *p)
{
    return lies_in_blocks(m, p) ? m->block_type : lathe_weights(m);
}

void *parameter_at(const Lathe_model *m, const void *flat, int64_t e)
{
    int64_t first = first_in_blocks(m), whole = e < first ? e : first;
    return (char *)flat + bytes_of_numbers(lathe_weights(m), whole) + bytes_of_numbers(m->block_type, e - whole);
}

double read_weight(const Lathe_model *m, const void *flat, int64_t e)
{
    if (e < first_in_blocks(m)) return read_element(lathe_weights(m), flat, e);
    int64_t within = (e - first_in_blocks(m)) % LATHE_BLOCK;
    return read_element(m->block_type, parameter_at(m, flat, e - within), within);
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
    write_reals(e < first_in_blocks(m) ? lathe_weights(m) : m->block_type, parameter_at(m, flat, e), n, x);
}
