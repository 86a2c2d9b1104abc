/* ranges.c: sets of characters, and the bytes of UTF-8 that spell one of them. */
#include "base/utf8.h"
#include "grammar/rules.h"

#include <stdlib.h>
#include <string.h>

enum { LAST_CHARACTER = CODE_POINTS - 1, FIRST_SURROGATE = 0xd800, LAST_SURROGATE = 0xdfff };

void add_range(Ranges *r, uint32_t first, uint32_t last)
{
    if (r->n == r->room) r->at = must_grow(r->at, sizeof *r->at * (size_t)(r->room = 2 * r->n + 8));
    r->at[r->n++] = (Range){first, last};
}

void free_ranges(Ranges *r)
{
    free(r->at);
    *r = (Ranges){0};
}

static int by_first_character(const void *a, const void *b)
{
    const Range *x = a, *y = b;
    return x->first < y->first ? -1 : x->first > y->first;
}

static void join_ranges(Ranges *r)
{
    int32_t n = 0;
    if (r->n) qsort(r->at, (size_t)r->n, sizeof *r->at, by_first_character);
    for (int32_t i = 0; i < r->n; i++) {
        const Range next = r->at[i];
        if (n && next.first <= r->at[n - 1].last + 1) {
            if (next.last > r->at[n - 1].last) r->at[n - 1].last = next.last;
        } else r->at[n++] = next;
    }
    r->n = n;
}

/* r becomes the characters that are not in it. */
static void invert_ranges(Ranges *r)
{
    Ranges others = {0};
    uint32_t from = 0;
    join_ranges(r);
    for (int32_t i = 0; i < r->n; i++) {
        if (r->at[i].first > from) add_range(&others, from, r->at[i].first - 1);
        from = r->at[i].last + 1;
    }
    if (from <= LAST_CHARACTER) add_range(&others, from, LAST_CHARACTER);
    free_ranges(r);
    *r = others;
}

void settle_ranges(Ranges *r, bool others)
{
    if (!others) invert_ranges(r);
    add_range(r, FIRST_SURROGATE, LAST_SURROGATE);
    invert_ranges(r);
}

/* ------------------------------------------------------------------ bytes */

static void set_bytes(Byte_set *s, int first, int last)
{
    for (int b = first; b <= last; b++) s->bit[b >> 6] |= UINT64_C(1) << (b & 63);
}

/* first … last are spelled with the same number of bytes, and each byte's range does not depend on the others. */
static bool add_box(Grammar *g, int32_t rule, uint32_t first, uint32_t last)
{
    char low[4], high[4];
    int n = encode_utf8(first, low);
    Element e[4];
    encode_utf8(last, high);
    for (int i = 0; i < n; i++) {
        Byte_set s = {0};
        set_bytes(&s, (unsigned char)low[i], (unsigned char)high[i]);
        e[i] = (Element){ONE_BYTE, low[i] == high[i] ? (unsigned char)low[i] : add_set(g, &s)};
        if (e[i].value < 0) return false;
    }
    return add_way(g, rule, e, n);
}

/* Cuts a range where the number of bytes changes, or where a byte's range would depend on those before it. */
static bool add_boxes(Grammar *g, int32_t rule, uint32_t first, uint32_t last)
{
    static const uint32_t longest[] = {0x7f, 0x7ff, 0xffff};
    while (first <= last) {
        uint32_t end = last;
        for (int i = 0; i < 3; i++)
            if (first <= longest[i] && longest[i] < end) end = longest[i];
        for (int bits = 6; bits <= 18 && first > 0x7f; bits += 6) {
            uint32_t low = (UINT32_C(1) << bits) - 1;
            if ((first & ~low) == (end & ~low)) break;
            if (first & low) end = first | low;
            else if ((end & low) != low) end = (end & ~low) - 1;
        }
        if (!add_box(g, rule, first, end)) return false;
        first = end + 1;
    }
    return true;
}

bool add_characters(Grammar *g, const Ranges *r, Part *to)
{
    Byte_set ascii = {0};
    bool beyond = false, any = false;
    for (int32_t i = 0; i < r->n; i++) {
        uint32_t last = r->at[i].last < 0x7f ? r->at[i].last : 0x7f;
        any |= r->at[i].first <= 0x7f;
        beyond |= r->at[i].last > 0x7f;
        if (r->at[i].first <= 0x7f) set_bytes(&ascii, (int)r->at[i].first, (int)last);
    }
    const Element one = {ONE_BYTE, any ? add_set(g, &ascii) : 0};
    if (!beyond) return add_element(to, one.kind, one.value);
    int32_t rule = add_rule(g, NULL);
    if (rule < 0 || one.value < 0 || (any && !add_way(g, rule, &one, 1))) return false;
    for (int32_t i = 0; i < r->n; i++)
        if (r->at[i].last > 0x7f && !add_boxes(g, rule, r->at[i].first > 0x7f ? r->at[i].first : 0x80, r->at[i].last))
            return false;
    return add_element(to, RULE_HERE, rule);
}
