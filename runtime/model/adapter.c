/* adapter.c: adapters of low rank, x · Wᵀ + scale · (x · Aᵀ) · Bᵀ (Hu et al. 2021, LoRA), merged into W; how they were
 * trained, in files. */
#include "model/adapter.h"
#include "base/file.h"
#include "base/words.h"
#include "interface/names.h"
#include "model/init.h"
#include "model/place.h"
#include "model/tables.h"
#include "model/weights.h"

#include <stdlib.h>
#include <string.h>

enum { LONGEST_NAME = 512 };

bool is_of_adapter(const Lathe_model *m, const Lathe_param *p)
{
    for (int i = 0; i < m->adapters; i++)
        if (p == &m->param[m->adapter[i].a] || p == &m->param[m->adapter[i].b]) return true;
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
    snprintf(to, room, "rank=%lld,alpha=%g%s", (long long)l->rank, l->alpha, l->rank_stabilised ? ",rslora" : "");
}

void put_lora_note(Store_writer *w, const Lathe_model *m)
{
    char words[64];
    if (!m->adapters) return;
    lora_words(&m->lora, words, sizeof words);
    put_note(w, "lora", words);
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

/* Element e of a copy of the weight, merged; in float, as weights are. */
static double merged_element(const Lathe_model *m, const Lathe_adapter *x, int64_t copy, const void *flat, int64_t e)
{
    const Lathe_param *w = &m->param[x->weight], *a = &m->param[x->a], *b = &m->param[x->b];
    const int64_t in = a->dim[a->loops + 1], out = b->dim[b->loops], columns = x->in_out ? out : in;
    const int64_t o = x->in_out ? e % columns : e / columns, i = x->in_out ? e / columns : e % columns;
    double sum = product_at(m, flat, copy_place(b, copy, 0) + o * m->lora.rank, copy_place(a, copy, 0) + i, in);
    return read_weight(m, flat, copy_place(w, copy, 0) + e) + m->lora.scale * sum;
}

double whole_weight(const Lathe_model *m, const Lathe_param *p, int64_t copy, const void *flat, int64_t at)
{
    for (const Lathe_adapter *x = m->adapter; lies_in_blocks(m, p) && x < m->adapter + m->adapters; x++)
        if (p == &m->param[x->weight])
            return (double)(float)merged_element(m, x, copy, flat, at - copy_place(p, copy, 0));
    return read_weight(m, flat, at);
}

static void merge_copy(const Lathe_model *m, const Lathe_adapter *x, int64_t copy, void *flat)
{
    const Lathe_param *w = &m->param[x->weight];
    int64_t first = copy_place(w, copy, 0), n = copy_elements(w);
    bug_if(contiguous_elements(w) != n);
#pragma omp parallel for schedule(static)
    for (int64_t e = 0; e < n; e++) {
        double merged = merged_element(m, x, copy, flat, e);
        write_weights(m, flat, first + e, 1, &merged);
    }
}

void merge_adapters(const Lathe_model *m, void *flat)
{
    for (const Lathe_adapter *x = m->adapter; x < m->adapter + m->adapters; x++)
        for (int64_t c = 0; c < copies_of_parameter(&m->param[x->weight]); c++)
            if (!lies_in_blocks(m, &m->param[x->weight])) merge_copy(m, x, c, flat);
}
