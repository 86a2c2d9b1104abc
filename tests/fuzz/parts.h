/* parts.h: an input that stands for several files of one folder: its parts, between lines "---". */
#ifndef FUZZ_PARTS_H
#define FUZZ_PARTS_H

#include "base/file.h"
#include "base/words.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void write_part(const char *path, const char *at, size_t n)
{
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(at, 1, n, f) != n) abort();
    fclose(f);
}

/* Each part becomes the file of its name in the folder of `path`; of names that have no part there is no file.  The
 * last part goes to the end, whatever is in it. */
static void write_parts(const char *path, const char *text, size_t n, int names, const char *const *name)
{
    static const char line[] = "\n---\n";
    char *folder = folder_of(path);
    for (int k = 0; k < names; k++) {
        char *own = text_of("%s/%s", folder, name[k]);
        const char *cut = text && k + 1 < names ? memmem(text, n, line, strlen(line)) : NULL;
        size_t bytes = cut ? (size_t)(cut - text) : n;
        if (text) write_part(own, text, bytes);
        else unlink(own);
        n -= cut ? bytes + strlen(line) : bytes;
        text = cut ? cut + strlen(line) : NULL;
        free(own);
    }
    free(folder);
}

#endif
