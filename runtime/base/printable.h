/* printable.h: makes text from outside (names, paths, lines of files) printable: UTF-8 without control characters.
 *
 * Control characters act on a terminal, and those that change the direction of writing mislead readers; so messages
 * show them as \x1b or \u202e, and bytes that are not UTF-8 as \xe9.  The compiler and the runtime share this. */
#ifndef LATHE_BASE_PRINTABLE_H
#define LATHE_BASE_PRINTABLE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* The length of the first character, 0 if it is not UTF-8.  Like Unicode, it refuses stray and missing continuation
 * bytes, overlong forms, surrogates, and codes above 10FFFF. */
static inline int utf8_character(const unsigned char *at, int64_t n, uint32_t *code)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    unsigned char first = at[0];
    if (first < 0x80) return *code = first, 1;
    int length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    if (first < 0xc2 || first > 0xf4 || length > n) return 0;
    uint32_t c = first & (0x7fu >> length);
    for (int i = 1; i < length; i++) {
        if ((at[i] & 0xc0) != 0x80) return 0;
        c = c << 6 | (at[i] & 0x3fu);
    }
    if (c < least[length] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000)) return 0;
    return *code = c, length;
}

static inline bool is_utf8(const char *text)
{
    uint32_t code;
    for (size_t n = strlen(text); n;) {
        int length = utf8_character((const unsigned char *)text, (int64_t)n, &code);
        if (!length) return false;
        text += length, n -= (size_t)length;
    }
    return true;
}

/* C0, DEL, C1; line and paragraph separators; marks that change the direction of writing. */
static inline bool is_control(uint32_t c)
{
    return c < 32 || (c >= 127 && c < 160) || c == 0x61c || c == 0x200e || c == 0x200f || (c >= 0x2028 && c <= 0x202e) ||
           (c >= 0x2066 && c <= 0x2069);
}

/* The most bytes that n bytes may become, with the zero at the end. */
static inline size_t printable_room(size_t n) { return 4 * n + 1; }

/* Writes the printable text and a zero; control characters in `keep` ("\n\t") stay.  Returns the bytes before the
 * zero. */
static inline size_t make_printable(char *to, const char *text, size_t n, const char *keep)
{
    char *start = to;
    uint32_t code;
    for (size_t i = 0; i < n;) {
        int length = utf8_character((const unsigned char *)text + i, (int64_t)(n - i), &code);
        if (length == 0) to += sprintf(to, "\\x%02x", (unsigned char)text[i]), length = 1;
        else if (!is_control(code) || (code && code < 32 && strchr(keep, (int)code))) {
            memcpy(to, text + i, (size_t)length);
            to += length;
        } else to += sprintf(to, code < 128 ? "\\x%02x" : "\\u%04x", (unsigned)code);
        i += (size_t)length;
    }
    *to = 0;
    return (size_t)(to - start);
}

/* For JSON, which must be UTF-8: a byte of a name or path that is not UTF-8 is written as \xe9, and a backslash that
 * would be read back as such as \x5c.  All other text is unchanged, and unescape_bytes() restores the original. */
static inline bool is_escape(const char *s)
{
    static const char digits[] = "0123456789abcdef";
    return s[0] == '\\' && s[1] == 'x' && s[2] && strchr(digits, s[2]) && s[3] && strchr(digits, s[3]);
}

/* to has printable_room(). */
static inline void escape_bytes(char *to, const char *text)
{
    uint32_t code;
    for (size_t left = strlen(text); left;) {
        int length = utf8_character((const unsigned char *)text, (int64_t)left, &code);
        if (length == 0 || is_escape(text)) to += sprintf(to, "\\x%02x", (unsigned char)*text), length = 1;
        else {
            memcpy(to, text, (size_t)length);
            to += length;
        }
        text += length, left -= (size_t)length;
    }
    *to = 0;
}

/* Works in place. */
static inline void unescape_bytes(char *text)
{
    char *to = text;
    for (unsigned byte; *text; to++) {
        if (is_escape(text) && sscanf(text + 2, "%2x", &byte) == 1 && byte) *to = (char)byte, text += 4;
        else *to = *text++;
    }
    *to = 0;
}

#endif
