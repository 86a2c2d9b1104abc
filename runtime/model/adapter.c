/* adapter.c: adapters of low rank, x · Wᵀ + scale · (x · Aᵀ) · Bᵀ (Hu et al. 2021, LoRA), merged into W; how they were
 * trained, in files.
 *
 * Decomposed (Liu et al. 2024, DoRA) each output is multiplied by its gain, magnitude / ‖W + scale · B · A‖ of its row.
 */
#include "model/adapter.h"
#include "base/file.h"
#include "base/words.h"
#include "interface/names.h"
#include "model/base.h"
#include "model/init.h"
#include "model/place.h"
#include "model/tables.h"
#include "model/weights.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST_NAME = 512 };

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

bool holds_adapters(const Lathe_model *m, const Store *s)
{
    char name[LONGEST_NAME];
    for (int i = 0; i < m->adapters; i++) {
        copy_name(name, sizeof name, &m->param[m->adapter[i].a], 0);
        if (find_stored(s, name)) return true;
    }
    return false;
}

void lora_words(const Lathe_lora *l, char *to, size_t room)
{
    snprintf(to, room, "rank=%lld,alpha=%g%s%s", (long long)l->rank, l->alpha, l->rank_stabilised ? ",rslora" : "",
             l->decomposed ? ",dora" : "");
}

char *training_words(const Lathe_model *m)
{
    char words[64];
    int64_t frozen = 0;
    const char *types = words_of_blocks(m);
    for (const Lathe_param *p = m->param; p < m->param + m->params; p++)
        if (!lathe_is_trained(m, p)) frozen += copies_of_parameter(p) * copy_elements(p);
    if (!frozen) return NULL;
    lora_words(&m->lora, words, sizeof words);
    return text_of("%s%s%s parameters are trained, %s frozen%s%s", m->adapters ? "adapters " : "",
                   m->adapters ? text_of("%s: ", words) : "", grouped_text(m->parameter_count - frozen),
                   grouped_text(frozen), types ? " in " : "", types ? types : "");
}

void put_lora_note(Store_writer *w, const Lathe_model *m, const char *base)
{
    char words[64];
    if (!m->adapters) return;
    lora_words(&m->lora, words, sizeof words);
    put_note(w, "lora", words);
    if (base) put_note(w, BASE_NOTE, base);
}

/* Tensors do not show alpha, by which they are scaled. */
void check_lora_note(const Lathe_model *m, const Store *s)
{
    char words[64];
    const char *theirs = store_note(s, "lora");
    lora_words(&m->lora, words, sizeof words);
    if (m->adapters && theirs && strcmp(theirs, words) != 0)
        fail(EXIT_DATA, s->path,
             "expected adapters of --lora %s, found those of --lora %s; build the trainer with the latter", words,
             theirs);
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

/* The same of all inputs, [in], from malloc: faster than one by one, and where B is 0 nearly free. */
static double *summed_row(const Lathe_model *m, const Lathe_adapter *x, int64_t copy, const void *flat, int64_t o)
{
    const Lathe_param *w = &m->param[x->weight], *a = &m->param[x->a], *b = &m->param[x->b];
    const int64_t in = inputs_of(m, x), rank = m->lora.rank, step = x->in_out ? outputs_of(m, x) : 1,
                  begin = copy_place(w, copy, 0) + (x->in_out ? o : o * in);
    double *row = must_alloc(sizeof *row * (size_t)in);
    bug_if(contiguous_elements(w) != copy_elements(w));
    memset(row, 0, sizeof *row * (size_t)in);
    for (int64_t r = 0; r < rank; r++) {
        double weight = read_weight(m, flat, copy_place(b, copy, o * rank + r));
        const int64_t from = copy_place(a, copy, r * in);
        for (int64_t i = 0; weight != 0 && i < in; i++) row[i] += weight * read_weight(m, flat, from + i);
    }
    for (int64_t i = 0; i < in; i++) row[i] = read_weight(m, flat, begin + i * step) + m->lora.scale * row[i];
    return row;
}

/* The norm of each such row, [out], from malloc. */
static double *norms_of(const Lathe_model *m, const Lathe_adapter *x, int64_t copy, const void *flat)
{
    const int64_t in = inputs_of(m, x), out = outputs_of(m, x);
    double *norm = must_alloc(sizeof *norm * (size_t)out);
#pragma omp parallel for schedule(static)
    for (int64_t o = 0; o < out; o++) {
        double square = 0, *row = summed_row(m, x, copy, flat, o);
        for (int64_t i = 0; i < in; i++) square += row[i] * row[i];
        norm[o] = sqrt(square);
        free(row);
    }
    return norm;
}

void begin_magnitudes(const Lathe_model *m, void *flat)
{
    for (const Lathe_adapter *x = m->adapter; x < m->adapter + m->adapters; x++) {
        const Lathe_param *magnitude = magnitude_of(m, x);
        for (int64_t c = 0; magnitude && c < copies_of_parameter(magnitude); c++) {
            double *norm = norms_of(m, x, c, flat);
            write_weights(m, flat, copy_place(magnitude, c, 0), outputs_of(m, x), norm);
            free(norm);
        }
    }
}

/* Of each output, [out], from malloc; NULL: all are 1. */
static double *gains_of(const Lathe_model *m, const Lathe_adapter *x, int64_t copy, const void *flat)
{
    const Lathe_param *magnitude = magnitude_of(m, x);
    double *gain = magnitude ? norms_of(m, x, copy, flat) : NULL;
    for (int64_t o = 0; gain && o < outputs_of(m, x); o++)
        gain[o] = gain[o] > 0 ? read_weight(m, flat, copy_place(magnitude, copy, o)) / gain[o] : 0;
    return gain;
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

static void merge_copy(const Lathe_model *m, const Lathe_adapter *x, int64_t copy, const double *gain, void *flat)
{
    const Lathe_param *w = &m->param[x->weight];
    const int64_t first = copy_place(w, copy, 0), in = inputs_of(m, x), out = outputs_of(m, x);
#pragma omp parallel for schedule(static)
    for (int64_t o = 0; o < out; o++) {
        double *row = summed_row(m, x, copy, flat, o);
        for (int64_t i = 0; i < in; i++) {
            double merged = gain ? gain[o] * row[i] : row[i];
            write_weights(m, flat, first + (x->in_out ? i * out + o : o * in + i), 1, &merged);
        }
        free(row);
    }
}

void merge_adapters(const Lathe_model *m, void *flat)
{
    for (const Lathe_adapter *x = m->adapter; x < m->adapter + m->adapters; x++)
        for (int64_t c = 0; c < copies_of_parameter(&m->param[x->weight]); c++) {
            double *gain = gains_of(m, x, c, flat);
            if (!lies_in_blocks(m, &m->param[x->weight])) merge_copy(m, x, c, gain, flat);
            else if (gain) write_weights(m, flat, copy_place(magnitude_of(m, x), c, 0), outputs_of(m, x), gain);
            free(gain);
        }
}
