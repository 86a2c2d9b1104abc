/* fuzz_gguf.c: GGUF files: whatever is taken, its tensors lie inside the file and can be read; so can what is made of its keys. */
#include "fuzz.h"
#include "base/words.h"
#include "model/gguf.h"

#include <stdlib.h>

static volatile double sink;

void fuzz_one(const char *path, const char *text, size_t n)
{
    static Store s;
    (void)text, (void)n;
    read_gguf_model(&s, path);
    for (int i = 0; i < s.n; i++) {
        const Stored *t = &s.tensor[i];
        bug_if(find_stored(&s, t->name) == NULL);
        int64_t elements = 1;
        for (int k = 0; k < t->rank; k++) elements *= t->dim[k];
        for (int64_t e = 0; is_stored_real(t) && e < elements; e++) {
            bug_if(unturned_place(t, e) < 0 || unturned_place(t, e) >= elements);
            sink = stored_element(t, e);
        }
        for (int64_t b = 0; b < t->bytes; b++) sink = t->at[b];
    }
    close_store(&s);
    free(gguf_file(path, "config.json"));
    free(gguf_file(path, "tokenizer_config.json"));
    free(gguf_file(path, "tokenizer.json"));
}
