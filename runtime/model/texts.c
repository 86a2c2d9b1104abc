/* texts.c: texts about a program's tables, and what is said where an entry is missing. */
#include "base/words.h"
#include "interface/lathe_model.h"
#include "model/place.h"
#include "model/tables.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

const char *option_word(Lathe_dtype t)
{
#define SMALL_WORD(member, word, ...) [LATHE_##member] = word,
    static const char *const words[] = {[LATHE_F32] = "fp32", [LATHE_BF16] = "bf16", LATHE_BLOCK_TYPES(SMALL_WORD)};
    return words[t];
}

const Lathe_entry *need_entry(const Lathe_model *m, Entry entry)
{
    const Lathe_entry *e = find_entry(m, entry);
    if (!e && (entry == ENTRY_train || entry == ENTRY_grad))
        fail(EXIT_USAGE, NULL,
             "this trainer does not train: it was built with --parameters, in %s; without that, or with --lora and "
             "--frozen, it does",
             words_of_blocks(m));
    if (!e)
        fail(EXIT_ERROR, NULL,
             "%s has no entry %s: its description does not provide one, or it was built without it; `trainer info` "
             "lists its entries",
             m->name, entry_word(entry));
    return e;
}

Lathe_dtype block_type_of(const char *word)
{
    for (int t = 0; t < LATHE_DTYPES; t++)
        if (block_word((Lathe_dtype)t) && strcasecmp(block_word((Lathe_dtype)t), word) == 0) return (Lathe_dtype)t;
    return LATHE_BOOL;
}

char *dims_text(int rank, const int64_t *dim)
{
    char *s = text_of("[");
    for (int k = 0; k < rank; k++) {
        char *longer = text_of("%s%s%lld", s, k ? ", " : "", (long long)dim[k]);
        free(s);
        s = longer;
    }
    return text_of("%s]", s);
}

const char *config_of(const Lathe_model *m) { return m->config && *m->config ? text_of(" %s", m->config) : ""; }

char *words_of_blocks(const Lathe_model *m)
{
    char *words = NULL;
    for (Lathe_dtype t = 0; t < LATHE_DTYPES; t++) {
        if (!m->in_blocks[t]) continue;
        char *longer = text_of("%s%s%s", words ? words : "", words ? " and " : "", small_block_word(t));
        free(words);
        words = longer;
    }
    return words;
}
