/* header.c: reads the JSON at the beginning of safetensors: an object of objects, of strings, arrays of whole numbers;
 * anything else is skipped or refused. */
#include "library/header.h"

#include <string.h>

static bool is_wrong(Header_text *h, const char *what)
{
    if (!h->wrong) h->wrong = what;
    return false;
}

/* Whether there is another byte, which is then at h->at. */
static bool has_byte(Header_text *h)
{
    if (h->at < h->end) return true;
    int64_t n = h->last - h->next;
    const char *piece = n ? h->from->look(h->from, h->next, &n) : NULL;
    if (!piece) return false;
    h->at = piece;
    h->end = piece + n;
    h->next += n;
    return true;
}

static void skip_space(Header_text *h)
{
    while (has_byte(h) && (*h->at == ' ' || *h->at == '\n' || *h->at == '\t' || *h->at == '\r')) h->at++;
}

static bool is_next(Header_text *h, char c)
{
    skip_space(h);
    return has_byte(h) && *h->at == c;
}

static bool took(Header_text *h, char c)
{
    if (!is_next(h, c)) return false;
    h->at++;
    return true;
}

static bool expect(Header_text *h, char c, const char *what) { return took(h, c) || is_wrong(h, what); }

/* Four hexadecimal digits; -1: there are none. */
static int code_unit(Header_text *h)
{
    int code = 0;
    for (int i = 0; i < 4; i++) {
        static const char digits[] = "0123456789abcdefABCDEF";
        const char *digit = has_byte(h) && *h->at ? strchr(digits, *h->at) : NULL;
        if (!digit) return -1;
        const int at = (int)(digit - digits);
        code = 16 * code + (at < 16 ? at : at - 6);
        h->at++;
    }
    return code;
}

/* The next character of a string, escapes undone; -1: the string is not well formed.  Only ASCII is escaped. */
static int string_character(Header_text *h)
{
    static const char escaped[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
    if (!has_byte(h) || (unsigned char)*h->at < ' ') return -1;
    if (*h->at != '\\') return (unsigned char)*h->at++;
    h->at++;
    if (!has_byte(h)) return -1;
    if (*h->at == 'u') {
        h->at++;
        const int code = code_unit(h);
        return code > 0 && code < 128 ? code : -1;
    }
    const char *found = *h->at ? strchr(escaped, *h->at) : NULL;
    h->at++;
    return found ? meant[found - escaped] : -1;
}

static bool read_string(Header_text *h, char *to, size_t room)
{
    size_t n = 0;
    if (!expect(h, '"', "expected a string")) return false;
    while (has_byte(h) && *h->at != '"') {
        const int c = string_character(h);
        if (c <= 0 || n + 1 >= room) return is_wrong(h, "a string is too long or not well formed");
        to[n++] = (char)c;
    }
    to[n] = 0;
    return expect(h, '"', "a string does not end");
}

static bool header_number(Header_text *h, int64_t *to)
{
    skip_space(h);
    int64_t n = 0;
    bool some = false;
    for (; has_byte(h) && *h->at >= '0' && *h->at <= '9'; h->at++) {
        if (n > (INT64_MAX - 9) / 10) return is_wrong(h, "a number is too large");
        n = 10 * n + (*h->at - '0');
        some = true;
    }
    *to = n;
    return some || is_wrong(h, "expected a whole number");
}

/* [1, 2, 3]: at most `most`; returns how many, -1 if it is not well formed. */
static int read_numbers(Header_text *h, int64_t *to, int most)
{
    int n = 0;
    if (!expect(h, '[', "expected an array")) return -1;
    while (!is_next(h, ']')) {
        if (n == most) return is_wrong(h, "an array is too long"), -1;
        if (n && !expect(h, ',', "expected a comma in an array")) return -1;
        if (!header_number(h, &to[n++])) return -1;
    }
    h->at++;
    return n;
}

static bool read_member(Header_text *h, Described *d, int *seen)
{
    char key[16];
    int64_t places[2];
    if (!read_string(h, key, sizeof key) || !expect(h, ':', "expected a colon")) return false;
    if (strcmp(key, "dtype") == 0) return *seen |= 1, read_string(h, d->dtype, sizeof d->dtype);
    if (strcmp(key, "shape") == 0) return *seen |= 2, (d->rank = read_numbers(h, d->dim, LATHE_MAXRANK)) >= 0;
    if (strcmp(key, "data_offsets") != 0) return is_wrong(h, "a tensor has a member that safetensors does not know");
    *seen |= 4;
    if (read_numbers(h, places, 2) != 2) return is_wrong(h, "data_offsets are not two numbers");
    d->begin = places[0], d->end = places[1];
    return true;
}

static bool read_described(Header_text *h, Described *d)
{
    int seen = 0, members = 0;
    if (!expect(h, '{', "expected a tensor")) return false;
    while (!is_next(h, '}')) {
        if (members++ && !expect(h, ',', "expected a comma in a tensor")) return false;
        if (!read_member(h, d, &seen)) return false;
    }
    h->at++;
    return seen == 7 || is_wrong(h, "a tensor has no dtype, shape or data_offsets");
}

static bool read_notes(Header_text *h, Take_note *note, void *with)
{
    char key[64], text[LIBRARY_NAME];
    int members = 0;
    if (!expect(h, '{', "expected __metadata__ to be an object")) return false;
    while (!is_next(h, '}')) {
        if (members++ && !expect(h, ',', "expected a comma in __metadata__")) return false;
        if (!read_string(h, key, sizeof key) || !expect(h, ':', "expected a colon")) return false;
        if (!read_string(h, text, sizeof text)) return false;
        if (!note(with, key, text)) return false;
    }
    h->at++;
    return true;
}

bool read_library_header(Header_text *h, Take_described *take, Take_note *note, void *with)
{
    int members = 0;
    Described d;
    if (!expect(h, '{', "expected an object")) return false;
    while (!is_next(h, '}')) {
        d = (Described){0};
        if (members++ && !expect(h, ',', "expected a comma")) return false;
        if (!read_string(h, d.name, sizeof d.name) || !expect(h, ':', "expected a colon")) return false;
        const bool notes = strcmp(d.name, "__metadata__") == 0;
        if (notes ? !read_notes(h, note, with) : !read_described(h, &d) || !take(with, &d)) return false;
    }
    h->at++;
    skip_space(h);
    return !has_byte(h) || is_wrong(h, "something follows the last tensor");
}
