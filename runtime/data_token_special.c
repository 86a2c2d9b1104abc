/* data_token_special.c: special tokens in text: found before the text is cut into pieces, the leftmost first, of those
 * that start together the longest. */
#include "data_token.h"

bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

void add_special(Tokenizer *t, const char *text, int64_t bytes, int32_t id, bool left, bool right)
{
    t->special = must_grow(t->special, sizeof *t->special * (size_t)(t->specials + 1));
    char *own = must_alloc((size_t)bytes + 1);
    memcpy(own, text, (size_t)bytes);
    t->special[t->specials++] = (Special){own, bytes, id, left, right};
    if (bytes) t->starts[(unsigned char)text[0]] = true;
}

static int longest_at(const Tokenizer *t, const char *text, int64_t n)
{
    int best = -1;
    for (int i = 0; i < t->specials; i++) {
        const Special *s = &t->special[i];
        if (s->bytes == 0 || s->bytes > n || memcmp(s->text, text, (size_t)s->bytes) != 0) continue;
        if (best < 0 || s->bytes > t->special[best].bytes) best = i;
    }
    return best;
}

int64_t find_special(const Tokenizer *t, const char *text, int64_t from, int64_t n, int *which)
{
    *which = -1;
    for (int64_t i = from; i < n; i++) {
        if (!t->starts[(unsigned char)text[i]]) continue;
        *which = longest_at(t, text + i, n - i);
        if (*which >= 0) return i;
    }
    return n;
}

/* Also where one may, with what follows text[n). */
bool special_crosses(const Tokenizer *t, const char *text, int64_t n, int64_t cut)
{
    for (int i = 0; i < t->specials; i++) {
        const Special *s = &t->special[i];
        for (int64_t at = cut - s->bytes + 1 > 0 ? cut - s->bytes + 1 : 0; at < cut; at++) {
            int64_t seen = n - at < s->bytes ? n - at : s->bytes;
            if (memcmp(s->text, text + at, (size_t)seen) == 0) return true;
        }
    }
    return false;
}

bool has_special(const Tokenizer *t, const char *text, int64_t n, int64_t from, int64_t to)
{
    int which;
    for (int64_t at = 0; t->specials; at += t->special[which].bytes) {
        at = find_special(t, text, at, n, &which);
        if (which < 0 || at >= to) return false;
        if (at + t->special[which].bytes > from) return true;
    }
    return false;
}
