/* utf8.c: UTF-8 in and out. */
#include "base/printable.h"
#include "base/utf8.h"
#include "base/words.h"

#include <stdlib.h>

int decode_utf8(const unsigned char *at, int64_t n, uint32_t *code) { return utf8_character(at, n, code); }

int encode_utf8(uint32_t c, char *out)
{
    if (c < 0x80) return out[0] = (char)c, 1;
    int length = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (int i = length - 1; i > 0; i--, c >>= 6) out[i] = (char)(0x80 | (c & 0x3f));
    out[0] = (char)(((0xf00 >> length) & 0xff) | c);
    return length;
}

int64_t unfinished_utf8(const char *text, int64_t n)
{
    for (int64_t k = 1; k <= 3 && k <= n; k++) {
        unsigned char c = (unsigned char)text[n - k];
        if ((c & 0xc0) == 0x80) continue;
        int length = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc2 ? 2 : 1;
        return c <= 0xf4 && length > k ? k : 0;
    }
    return 0;
}

char *character_text(uint32_t code)
{
    char utf8[5] = "";
    if (code < 32 || code == 127) return text_of("U+%04X", code);
    utf8[encode_utf8(code, utf8)] = 0;
    return text_of("'%s' (U+%04X)", utf8, code);
}

static bool is_no_text(unsigned char c) { return (c < 32 && !(c >= 8 && c <= 13) && c != 27) || c == 127; }

/* A fast check for common text. */
static bool all_plain(const unsigned char *at)
{
    unsigned char odd = 0;
    for (int i = 0; i < 32; i++) odd |= at[i] >= 127 || (at[i] < 32 && at[i] != '\n' && at[i] != '\t' && at[i] != '\r');
    return !odd;
}

int64_t bytes_of_no_text(const unsigned char *at, int64_t n, int64_t *first)
{
    int64_t bad = 0, end = n - unfinished_utf8((const char *)at, n);
    *first = -1;
    for (int64_t i = 0; i < end;) {
        uint32_t code;
        if (end - i >= 32 && all_plain(at + i)) {
            i += 32;
            continue;
        }
        int length = at[i] < 0x80 ? 1 : decode_utf8(at + i, end - i, &code);
        if (length == 0 || is_no_text(at[i])) {
            if (bad++ == 0) *first = i;
            length = 1;
        }
        i += length;
    }
    return bad;
}

void check_is_text(const char *path, const unsigned char *at, int64_t n, bool bytes, bool all)
{
    int64_t first, bad = bytes_of_no_text(at, n, &first), line = 1;
    for (int64_t i = 0; i < first; i++) line += at[i] == '\n';
    if (bad == 0 || (bad <= n / 10 && !all)) return;
    char *found = text_of("%s of %s bytes are control characters or not UTF-8, the first in line %s", grouped_text(bad),
                          grouped_text(n), grouped_text(line));
    if (bad > n / 10 && !bytes)
        fail(EXIT_DATA, path, "is no text: %s; take it out, or give --tokenizer bytes for data that is none", found);
    note("%s%s: %s; they are trained on as they are", path, bad > n / 10 ? " is no text" : "", found);
    free(found);
}
