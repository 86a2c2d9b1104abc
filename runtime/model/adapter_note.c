/* adapter_note.c: how adapters of low rank were trained: in words, and as notes in files. */
#include "base/words.h"
#include "model/adapter.h"
#include "model/base.h"
#include "model/init.h"
#include "model/place.h"
#include "model/safetensors.h"
#include "model/tables.h"

#include <string.h>

enum { LONGEST_NAME = 512 };

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
