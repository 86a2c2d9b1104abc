/* tokenizers.h: what tests of tokenizers share: texts that are drawn, and what must hold of any of them: ids decode to
 * the text, cuts change nothing. */
#ifndef TOKENIZERS_H
#define TOKENIZERS_H

#include "harness.h"
#include "base/utf8.h"
#include "base/words.h"
#include "token/tokenizer.h"

#include <string.h>

/* ------------------------------------------------------------------ drawing */

static Rng random_numbers;
static inline uint32_t draw(uint32_t n) { return (uint32_t)below(&random_numbers, n); }

/* Code points of the whole range of Unicode's scalars, mostly those that patterns tell apart. */
static inline uint32_t draw_character(void)
{
    static const char common[] = "  \n\n\r\t''sStTreEabcXYZ0123.,;!?-_/<|>";
    uint32_t c;
    switch (draw(6)) {
    case 0:
    case 1: return (unsigned char)common[draw(sizeof common - 1)];
    case 2: return 'a' + draw(26);
    case 3: return draw(0x250);
    case 4: return draw(0x3100);
    default:
        do c = draw(CODE_POINTS);
        while (c >= 0xd800 && c < 0xe000);
        return c;
    }
}

static inline int64_t draw_text(char *out, int64_t characters)
{
    char *to = out;
    for (int64_t i = 0; i < characters; i++) to += encode_utf8(draw_character(), to);
    return to - out;
}

static inline char *decoded(const Tokenizer *t, const Ids *ids, int64_t *n)
{
    char *out = NULL;
    size_t used = 0;
    for (int64_t i = 0; i < ids->n; i++) {
        const char *at;
        int64_t bytes = token_bytes(t, ids->at[i], &at);
        out = realloc(out, used + (size_t)bytes + 1);
        memcpy(out + used, at, (size_t)bytes);
        used += (size_t)bytes;
    }
    *n = (int64_t)used;
    return out;
}

static inline bool same_ids(const Ids *a, const Ids *b)
{
    return a->n == b->n && (a->n == 0 || memcmp(a->at, b->at, sizeof *a->at * (size_t)a->n) == 0);
}

/* ------------------------------------------------------------------ there and back */

static inline void check_texts(const Tokenizer *t, const char *name, bool invalid)
{
    char *text = malloc(4 * 3000), *back;
    Encoder *e = open_encoder(t);
    Ids ids = {0};
    for (int k = 0; k < 400; k++) {
        int64_t n = draw_text(text, 1 + draw(k % 8 ? 60 : 2000)), m;
        for (int64_t i = 0; invalid && i < n; i++)
            if (draw(9) == 0) text[i] = (char)draw(256);
        ids.n = 0;
        encode_bytes(e, text, n, &ids);
        back = decoded(t, &ids, &m);
        expect(m == n && memcmp(back, text, (size_t)n) == 0, "%s: text %d of %lld bytes comes back as %lld others",
               name, k, (long long)n, (long long)m);
        free(back);
    }
    close_encoder(e);
    free_ids(&ids);
    free(text);
}

/* Wherever safe_cut lets a text be cut, its two parts have the ids of the whole, whatever follows. */
static inline int64_t check_cuts(const Tokenizer *t, const char *name)
{
    char *text = malloc(4 * 400);
    Encoder *e = open_encoder(t);
    Ids whole = {0}, parts = {0};
    int64_t cuts = 0;
    for (int k = 0; k < 1500; k++) {
        int64_t n = draw_text(text, 1 + draw(300)), seen = 1 + draw((uint32_t)n), cut = safe_cut(e, text, seen);
        expect(cut >= 0 && cut <= seen, "%s: a cut at %lld of %lld", name, (long long)cut, (long long)seen);
        cuts += cut > 0;
        whole.n = parts.n = 0;
        encode_bytes(e, text, n, &whole);
        encode_bytes(e, text, cut, &parts);
        encode_bytes(e, text + cut, n - cut, &parts);
        expect(same_ids(&whole, &parts), "%s: text %d: other ids when it is cut at %lld of %lld", name, k,
               (long long)cut, (long long)n);
    }
    close_encoder(e);
    free_ids(&whole);
    free_ids(&parts);
    free(text);
    return cuts;
}

#endif
