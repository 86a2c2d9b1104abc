/* init.c: parameters before training: each element is a function of the seed, its tensor's name and its index. */
#include "interface/lathe_model.h"
#include "math/math.h"
#include "math/random.h"
#include "model/adapter.h"
#include "model/block.h"
#include "model/init.h"
#include "model/place.h"
#include "model/tables.h"

#include <stdio.h>
#include <string.h>

enum { CHUNK = 512 }; /* elements drawn at a time; a multiple of 4 */

int64_t copies_of_parameter(const Lathe_param *p)
{
    int64_t n = 1;
    for (int k = 0; k < p->loops; k++) n *= p->dim[k];
    return n;
}

int64_t copy_elements(const Lathe_param *p)
{
    int64_t n = 1;
    for (int k = p->loops; k < p->rank; k++) n *= p->dim[k];
    return n;
}

int64_t contiguous_elements(const Lathe_param *p)
{
    int64_t n = 1;
    for (int k = p->rank - 1; k >= p->loops && p->stride[k] == n; k--) n *= p->dim[k];
    return n;
}

/* The element'th of the axes from … to-1 in C order, in elements of the flat arrays. */
static int64_t place_along(const Lathe_param *p, int from, int to, int64_t element)
{
    int64_t place = 0;
    for (int k = to - 1; k >= from; k--) {
        place += element % p->dim[k] * p->stride[k];
        element /= p->dim[k];
    }
    return place;
}

int64_t copy_place(const Lathe_param *p, int64_t copy, int64_t element)
{
    return p->offset + place_along(p, 0, p->loops, copy) + place_along(p, p->loops, p->rank, element);
}

void copy_name(char *out, size_t size, const Lathe_param *p, int64_t copy)
{
    size_t n = 0;
    int axis = 0;
    for (const char *s = p->export_name; *s && n + 1 < size; s++) {
        if (s[0] != '%' || s[1] != 'd' || axis >= p->loops) {
            out[n++] = *s;
            continue;
        }
        int64_t inner = 1;
        for (int k = axis + 1; k < p->loops; k++) inner *= p->dim[k];
        int used = snprintf(out + n, size - n, "%lld", (long long)(copy / inner % p->dim[axis]));
        n = n + (size_t)used < size ? n + (size_t)used : size - 1;
        axis++;
        s++;
    }
    out[n] = 0;
}

/* Values of elements first … first+n-1; first is a multiple of CHUNK. */
static void draw_values(double *value, const Lathe_param *p, Stream s, int64_t first, int n)
{
    uint32_t word[CHUNK];
    for (int i = 0; i < CHUNK / 4; i++) {
        Philox p4 = stream_block(s, first / 4 + i);
        for (int k = 0; k < 4; k++) word[4 * i + k] = p4.word[k];
    }
    if (p->init == LATHE_UNIFORM) {
        for (int i = 0; i < n; i++) value[i] = p->init_a + (p->init_b - p->init_a) * uniform_of_word(word[i]);
        return;
    }
    float z[CHUNK];
    for (int i = 0; i < CHUNK / 2; i++) normals_of_words(word[2 * i], word[2 * i + 1], &z[2 * i], &z[2 * i + 1]);
    for (int i = 0; i < n; i++) value[i] = p->init_a * z[i] + p->init_b;
}

/* m: the model, of whose parameters p is one; NULL: p is a statistic. */
static void fill_chunk(void *flat, const Lathe_model *m, Lathe_dtype type, const Lathe_param *p, int64_t copy, Stream s,
                       int64_t first, int n)
{
    double value[CHUNK];
    double same = p->init == LATHE_ONES ? 1 : p->init == LATHE_CONSTANT ? p->init_a : 0;
    if (p->init == LATHE_NORMAL || p->init == LATHE_UNIFORM) draw_values(value, p, s, first, n);
    else
        for (int i = 0; i < n; i++) value[i] = same;
    int64_t run = contiguous_elements(p), length;
    for (int64_t i = 0; i < n; i += length) {
        length = run - (first + i) % run;
        if (length > n - i) length = n - i;
        int64_t at = copy_place(p, copy, first + i);
        if (m) write_weights(m, flat, at, length, value + i);
        else write_reals(type, (char *)flat + at * dtype_size(type), length, value + i);
    }
}

/* Rows are along the first axis that does not count copies. */
void clear_zero_rows(const Lathe_model *m, void *flat)
{
    static const double zeros[LATHE_BLOCK];
    for (int i = 0; i < m->params; i++) {
        const Lathe_param *p = &m->param[i];
        if (!p->zero_row) continue;
        int64_t width = copy_elements(p) / p->dim[p->loops], first = (p->zero_row - 1) * width;
        for (int64_t copy = 0; copy < copies_of_parameter(p); copy++)
            for (int64_t k = 0, n = lies_in_blocks(m, p) ? LATHE_BLOCK : 1; k < width; k += n)
                write_weights(m, flat, copy_place(p, copy, first + k), n, zeros);
    }
}

/* Whether other ranks have all elements first … first+n-1 of a copy, and nothing need be drawn. */
static bool is_elsewhere(const Lathe_model *m, const void *flat, const Lathe_param *p, int64_t copy, int64_t first,
                         int64_t n)
{
    const int64_t run = contiguous_elements(p);
    return m && first % run + n <= run && !has_any_weight(m, flat, copy_place(p, copy, first), n);
}

static void draw_parameter(const Lathe_model *m, const Lathe_param *p, Lathe_dtype type, uint64_t seed, void *flat)
{
    int64_t n = copy_elements(p), chunks = (n + CHUNK - 1) / CHUNK;
#pragma omp parallel for schedule(static)
    for (int64_t k = 0; k < copies_of_parameter(p) * chunks; k++) {
        char name[512];
        int64_t copy = k / chunks, first = k % chunks * CHUNK, count = n - first < CHUNK ? n - first : CHUNK;
        if (is_elsewhere(m, flat, p, copy, first, count)) continue;
        copy_name(name, sizeof name, p, copy);
        fill_chunk(flat, m, type, p, copy, stream_of(seed, name), first, (int)count);
    }
}

void init_parameters(const Lathe_model *m, uint64_t seed, void *flat)
{
    clear_weights(m, flat);
    for (int i = 0; i < m->params; i++)
        if (m->param[i].init != LATHE_ZEROS)
            draw_parameter(m, &m->param[i], type_of_weight(m, &m->param[i]), seed, flat);
    clear_zero_rows(m, flat);
    begin_magnitudes(m, flat);
}

void init_statistics(const Lathe_model *m, void *statistics)
{
    for (int i = 0; i < m->statistics; i++) draw_parameter(NULL, &m->statistic[i], m->real, 0, statistics);
}

void init_weights(const Lathe_model *m, uint64_t seed, const Memory *memory)
{
    init_parameters(m, seed, memory->params);
    init_statistics(m, memory->statistics);
}
