/* data_utf8.c: UTF-8 in and out. */
#include "base/printable.h"
#include "trainer.h"

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
