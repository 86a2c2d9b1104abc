/* fuzz_vocab.c: tokenizer.json: a vocabulary that is taken turns every id into text, and that text into the id. */
#include "fuzz.h"
#include "trainer.h"

#include <stdlib.h>
#include <string.h>

/* load_vocab wants the folder: the file is FOLDER/tokenizer.json. */
void fuzz_one(const char *path, const char *text, size_t n)
{
    char *folder = text_of("%s", path), *slash = strrchr(folder, '/');
    Vocab v = {0};
    (void)text, (void)n;
    bug_if(!slash);
    *slash = 0;
    bool there = load_vocab(&v, folder);
    free(folder);
    if (!there || v.kind != LATHE_CHARS) return;
    for (int32_t id = 0; id < v.n; id++) {
        char bytes[8] = "";
        int32_t back = -1;
        bug_if(token_text(&v, id, bytes) < 1);
        bug_if(v.character[id] && (encode_text(&v, bytes, &back) != 1 || back != id));
    }
    free(v.character);
    free(v.id);
}
