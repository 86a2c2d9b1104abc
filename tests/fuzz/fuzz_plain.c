/* fuzz_plain.c: plain text, any bytes, as files, paragraphs and lines. */
#include "read_twice.h"

void fuzz_one(const char *path, const char *text, size_t n)
{
    (void)text;
    for (int split = SPLIT_FILE; split <= SPLIT_LINE; split++) {
        read_twice(path, (Source_options){.format = FORMAT_TEXT, .split = (Split_text)split}, n);
        read_twice(path, (Source_options){.format = FORMAT_TEXT, .split = (Split_text)split, .bad_utf8 = UTF8_KEEP}, n);
    }
}
