/* adapter.c: adapters of low rank, x · Wᵀ + scale · (x · Aᵀ) · Bᵀ (Hu et al. 2021, LoRA), merged into W.
 *
 * Decomposed (Liu et al. 2024, DoRA) each output is multiplied by its gain, magnitude / ‖W + scale · B · A‖ of its row.
 */
#include "model/adapter.h"
#include "base/bug.h"
#include "model/init.h"
#include "model/place.h"
#include "model/tables.h"

#include <math.h>
#include <string.h>

enum { PIECE = 512 }; /* inputs that are summed at a time */

const Lathe_param *magnitude_of(const Lathe_model *m, const Lathe_adapter *x)
{
    return x->magnitude < 0 ? NULL : &m->param[x->magnitude];
}

bool is_of_adapter(const Lathe_model *m, const Lathe_param *p)
{
    for (int i = 0; i < m->adapters; i++)
        if (p == &m->param[m->adapter[i].a] || p == &m->param[m->adapter[i].b] || p == magnitude_of(m, &m->adapter[i]))
            return true;
    return false;
}

/* ------------------------------------------------------------------ merging */

/* Σ over the rank of a row of B and a column of A, which begin at these elements; in: from one row of A to the next. */
static double product_at(const Lathe_model *m, const void *flat, int64_t of_b, int64_t of_a, int64_t in)
{
    double sum = 0;
    for (int64_t r = 0; r < m->lora.rank; r++)
        sum += read_weight(m, flat, of_b + r) * read_weight(m, flat, of_a + r * in);
    return sum;
}

static int64_t outputs_of(const Lathe_model *m, const Lathe_adapter *x)
{
    const Lathe_param *b = &m->param[x->b];
    return b->dim[b->loops];
}

static int64_t inputs_of(const Lathe_model *m, const Lathe_adapter *x)
{
    const Lathe_param *a = &m->param[x->a];
    return a->dim[a->loops + 1];
}

/* W + scale · B · A of a copy, from input i to output o. */
static double summed(const Lathe_model *m, const Lathe_adapter *x, int64_t copy, const void *flat, int64_t o, int64_t i)
{
    const Lathe_param *w = &m->param[x->weight], *a = &m->param[x->a], *b = &m->param[x->b];
    const int64_t in = inputs_of(m, x), e = x->in_out ? i * outputs_of(m, x) + o : o * in + i;
    double sum = product_at(m, flat, copy_place(b, copy, 0) + o * m->lora.rank, copy_place(a, copy, 0) + i, in);
    return read_weight(m, flat, copy_place(w, copy, 0) + e) + m->lora.scale * sum;
}

bool is_adapted(const Lathe_model *m, const Lathe_param *p)
{
    for (const Lathe_adapter *x = m->adapter; x < m->adapter + m->adapters; x++)
        if (p == &m->param[x->weight]) return true;
    return false;
}

/* The same of n inputs, from `first` on: faster than one by one, and where B is 0 nearly free. */
static void summed_piece(const Lathe_model *m, const Lathe_adapter *x, int64_t copy, const void *flat, int64_t o,
                         int64_t first, int64_t n, double *row)
{
    const Lathe_param *w = &m->param[x->weight], *a = &m->param[x->a], *b = &m->param[x->b];
    const int64_t in = inputs_of(m, x), rank = m->lora.rank, step = x->in_out ? outputs_of(m, x) : 1,
                  begin = copy_place(w, copy, 0) + (x->in_out ? o : o * in);
    bug_if(contiguous_elements(w) != copy_elements(w));
    for (int64_t i = 0; i < n; i++) row[i] = 0;
    for (int64_t r = 0; r < rank; r++) {
        double weight = read_weight(m, flat, copy_place(b, copy, o * rank + r));
        const int64_t from = copy_place(a, copy, r * in) + first;
        for (int64_t i = 0; weight != 0 && i < n; i++) row[i] += weight * read_weight(m, flat, from + i);
    }
    for (int64_t i = 0; i < n; i++) row[i] = read_weight(m, flat, begin + (first + i) * step) + m->lora.scale * row[i];
}

static int64_t piece_from(int64_t first, int64_t all) { return all - first < PIECE ? all - first : PIECE; }

/* The norm of the row of output o. */
static double row_norm(const Lathe_model *m, const Lathe_adapter *x, int64_t copy, const void *flat, int64_t o)
{
    double square = 0, row[PIECE];
    for (int64_t first = 0, n; first < inputs_of(m, x); first += n) {
        n = piece_from(first, inputs_of(m, x));
        summed_piece(m, x, copy, flat, o, first, n, row);
        for (int64_t i = 0; i < n; i++) square += row[i] * row[i];
    }
    return sqrt(square);
}

void begin_magnitudes(const Lathe_model *m, void *flat)
{
    for (const Lathe_adapter *x = m->adapter; x < m->adapter + m->adapters; x++) {
        const Lathe_param *magnitude = magnitude_of(m, x);
        for (int64_t c = 0; magnitude && c < copies_of_parameter(magnitude); c++) {
#pragma omp parallel for schedule(static)
            for (int64_t o = 0; o < outputs_of(m, x); o++) {
                const double norm = row_norm(m, x, c, flat, o);
                write_weights(m, flat, copy_place(magnitude, c, o), 1, &norm);
            }
        }
    }
}

/* Of output o; 1 if it has no magnitude. */
static double gain_of(const Lathe_model *m, const Lathe_adapter *x, int64_t copy, const void *flat, int64_t o)
{
    const Lathe_param *magnitude = magnitude_of(m, x);
    if (!magnitude) return 1;
    const double norm = row_norm(m, x, copy, flat, o);
    return norm > 0 ? read_weight(m, flat, copy_place(magnitude, copy, o)) / norm : 0;
}

double whole_weight(const Lathe_model *m, const Lathe_param *p, int64_t copy, const void *flat, int64_t at)
{
    for (const Lathe_adapter *x = m->adapter; x < m->adapter + m->adapters && lies_in_blocks(m, p); x++)
        if (p == &m->param[x->weight]) {
            const int64_t e = at - copy_place(p, copy, 0), columns = p->dim[p->loops + 1];
            const int64_t o = x->in_out ? e % columns : e / columns, i = x->in_out ? e / columns : e % columns;
            const Lathe_param *gain = magnitude_of(m, x);
            double merged = summed(m, x, copy, flat, o, i);
            return (double)(float)(gain ? merged * read_weight(m, flat, copy_place(gain, copy, o)) : merged);
        }
    return read_weight(m, flat, at);
}

static void merge_output(const Lathe_model *m, const Lathe_adapter *x, int64_t copy, int64_t o, void *flat)
{
    const Lathe_param *w = &m->param[x->weight];
    const int64_t place = copy_place(w, copy, 0), in = inputs_of(m, x), out = outputs_of(m, x);
    const double gain = gain_of(m, x, copy, flat, o);
    for (int64_t first = 0, n; first < in; first += n) {
        double row[PIECE];
        n = piece_from(first, in);
        summed_piece(m, x, copy, flat, o, first, n, row);
        for (int64_t i = 0; i < n; i++) {
            double merged = magnitude_of(m, x) ? gain * row[i] : row[i];
            write_weights(m, flat, place + (x->in_out ? (first + i) * out + o : o * in + first + i), 1, &merged);
        }
    }
}

/* The magnitude of an output, in whose place its gain comes: weights in blocks stay as they are. */
static void keep_gain(const Lathe_model *m, const Lathe_adapter *x, int64_t copy, int64_t o, void *flat)
{
    const double gain = gain_of(m, x, copy, flat, o);
    if (magnitude_of(m, x)) write_weights(m, flat, copy_place(magnitude_of(m, x), copy, o), 1, &gain);
}

void merge_adapters(const Lathe_model *m, void *flat)
{
    for (const Lathe_adapter *x = m->adapter; x < m->adapter + m->adapters; x++)
        for (int64_t c = 0; c < copies_of_parameter(&m->param[x->weight]); c++) {
#pragma omp parallel for schedule(static)
            for (int64_t o = 0; o < outputs_of(m, x); o++)
                if (lies_in_blocks(m, &m->param[x->weight])) keep_gain(m, x, c, o, flat);
                else merge_output(m, x, c, o, flat);
        }
}
