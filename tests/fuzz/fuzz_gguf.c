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
            int64_t lead = t->lead ? t->lead * t->dim[t->rank - 1] : 0;
            bug_if(unturned_place(t, e) < lead || unturned_place(t, e) >= elements + lead);
            sink = stored_element(t, e);
        }
        for (int64_t b = 0; b < t->bytes; b++) sink = t->at[b];
    }
    close_store(&s);
    static const char *const names[] = {"config.json", "generation_config.json", "tokenizer_config.json", "tokenizer.json"};
    for (int i = 0; i < 4; i++) {
        char *made = gguf_file(path, names[i]);
        if (!made) continue; /* an encoder says nothing of texts that it generates */
        json_t *all = json_loads(made, 0, NULL);
        bug_if(!all);
        json_decref(all);
        free(made);
    }
}
