/* fuzz_schema.c: the text of a JSON schema; the grammar that it becomes is one, or it is refused by a path. */
#include "base/words.h"
#include "fuzz.h"
#include "grammar/grammar.h"

#include <stdlib.h>
#include <string.h>

void fuzz_one(const char *path, const char *text, size_t n)
{
    Grammar_fault f;
    (void)path;
    json_t *schema = json_loadb(text, n, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, NULL);
    if (!schema) return;
    Grammar *g = schema_grammar(schema, &f);
    if (!g && (f.words[0] != '#' || !memchr(f.words, 0, sizeof f.words))) abort();
    free_grammar(g);
    json_decref(schema);
}
