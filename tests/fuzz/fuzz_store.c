/* fuzz_store.c: safetensors files: whatever header is taken, its tensors lie inside the file and can be read. */
#include "fuzz.h"
#include "base/words.h"
#include "model/safetensors.h"

#include <string.h>

static volatile double sink;

void fuzz_one(const char *path, const char *text, size_t n)
{
    static Store s;
    (void)text, (void)n;
    read_store(&s, path);
    for (int i = 0; i < s.n; i++) {
        const Stored *t = &s.tensor[i];
        bug_if(find_stored(&s, t->name) == NULL);
        int64_t elements = 1;
        for (int k = 0; k < t->rank; k++) elements *= t->dim[k];
        bool number = stored_is(t, "F32 F64 I32 I64");
        for (int64_t e = 0; number && e < elements; e++) sink = stored_element(t, e);
        for (int64_t b = 0; b < t->bytes; b++) sink = t->at[b];
    }
    close_store(&s);
}
