/* adapter.c: adapters of low rank, x · Wᵀ + scale · (x · Aᵀ) · Bᵀ (Hu et al. 2021, LoRA), merged into W; how they were
 * trained, in files. */
#include "model/adapter.h"
#include "base/file.h"
#include "base/words.h"
#include "interface/names.h"
#include "model/init.h"
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

static void merge_copy(const Lathe_model *m, const Lathe_adapter *x, int64_t copy, void *flat)
{
    const Lathe_param *w = &m->param[x->weight], *a = &m->param[x->a], *b = &m->param[x->b];
    const Lathe_dtype type = lathe_weights(m);
    const int64_t in = a->dim[a->loops + 1], out = b->dim[b->loops], rank = m->lora.rank;
    const int64_t of_w = copy_place(w, copy, 0), of_a = copy_place(a, copy, 0), of_b = copy_place(b, copy, 0);
    bug_if(contiguous_elements(w) != out * in || contiguous_elements(a) != rank * in);
#pragma omp parallel for schedule(static)
    for (int64_t o = 0; o < out; o++)
        for (int64_t i = 0; i < in; i++) {
            double sum = 0;
            for (int64_t r = 0; r < rank; r++)
                sum += read_element(type, flat, of_b + o * rank + r) * read_element(type, flat, of_a + r * in + i);
            int64_t at = of_w + (x->in_out ? i * out + o : o * in + i);
            write_real(type, flat, at, read_element(type, flat, at) + m->lora.scale * sum);
        }
}

void merge_adapters(const Lathe_model *m, void *flat)
{
    for (const Lathe_adapter *x = m->adapter; x < m->adapter + m->adapters; x++)
        for (int64_t c = 0; c < copies_of_parameter(&m->param[x->weight]); c++) merge_copy(m, x, c, flat);
}
