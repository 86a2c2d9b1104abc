/* fuzz_llmc.c: llm.c's files: the tensors of what is taken lie inside the file, side by side, and can be read. */
#include "fuzz.h"
#include "base/words.h"
#include "model/llmc.h"

static volatile double sink;

void fuzz_one(const char *path, const char *text, size_t n)
{
    Store s;
    (void)text, (void)n;
    read_llmc(&s, path);
    const char *end = (const char *)s.map + s.map_bytes;
    for (int i = 0; i < s.n; i++) {
        const Stored *t = &s.tensor[i];
        int64_t elements = t->dim[0] * (t->rank > 1 ? t->dim[1] : 1);
        bug_if(t->at < (const char *)s.map || t->at + t->bytes > end || find_stored(&s, t->name) != t);
        for (int64_t e = 0; e < elements; e++) {
            bug_if(unturned_place(t, e) < 0 || unturned_place(t, e) >= elements);
            sink = stored_element(t, e);
        }
    }
    json_decref(llmc_config(&s));
    close_store(&s);
}
