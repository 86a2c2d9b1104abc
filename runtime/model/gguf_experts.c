/* gguf_experts.c: mixtures of experts: a GGUF file has the matrices of all experts of a layer as one tensor
 * [experts][rows][columns], and a folder of Hugging Face one tensor each. */
#include "base/words.h"
#include "model/gguf.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_EXPERTS = 512 }; /* llama.cpp's */

static int64_t experts_in(const Store *s, const Architecture *a, const Stored *t)
{
    char *name = name_of_expert(a, t->name, 0);
    if (!name) return 0;
    free(name);
    int64_t experts = json_integer_value(gguf_value_of(s, a, "expert_count"));
    if (t->rank != 3 || t->dim[0] != experts || experts < 1 || experts > MOST_EXPERTS)
        fail(EXIT_DATA, s->path,
             "tensor %s: expected the matrices of %lld experts (expert_count), of at most %d, found %d axes, the first "
             "of "
             "%lld; the file is damaged",
             t->name, (long long)experts, MOST_EXPERTS, t->rank, (long long)(t->rank ? t->dim[0] : 0));
    return experts;
}

static void take_apart(const Architecture *a, const Stored *whole, int64_t experts, Stored *to)
{
    for (int64_t e = 0; e < experts; e++) {
        to[e] = *whole;
        to[e].name = name_of_expert(a, whole->name, e);
        to[e].rank = 2;
        memmove(to[e].dim, whole->dim + 1, 2 * sizeof *whole->dim);
        to[e].bytes = whole->bytes / experts;
        to[e].at = whole->at + e * to[e].bytes;
    }
    free((char *)whole->name);
}

void rename_tensors(Store *s, const Architecture *a)
{
    int64_t n = 0, made = 0;
    for (int i = 0; i < s->n; i++) {
        int64_t experts = experts_in(s, a, &s->tensor[i]);
        n += experts ? experts : 1;
    }
    Stored *all = must_alloc(sizeof *all * (size_t)(n + 1));
    for (int i = 0; i < s->n; i++) {
        int64_t experts = experts_in(s, a, &s->tensor[i]);
        if (experts) {
            take_apart(a, &s->tensor[i], experts, &all[made]);
        } else {
            all[made] = s->tensor[i];
            rename_as_hf(s, a, &all[made]);
        }
        made += experts ? experts : 1;
    }
    free(s->tensor);
    s->tensor = all;
    s->n = (int)n;
}
