/* tokenizer_checks.h: what must hold of any tokenizer that is taken. */
#ifndef TOKENIZER_CHECKS_H
#define TOKENIZER_CHECKS_H

#include "base/hash.h"
#include "base/utf8.h"
#include "token/token.h"

enum { TEXT_TRIED = 400 };

/* All that text gives comes back: every byte has a token, and nothing is added or left out. */
static bool keeps_all(const Tokenizer *t)
{
    bool unigram = t->kind == TOKEN_UNIGRAM && !t->normals && !t->blank_sign, pieces = t->kind == TOKEN_BPE || unigram;
    bool all = t->kind == TOKEN_BYTES || pieces;
    for (int b = 0; pieces && b < 256; b++) all = all && t->byte_id[b] >= 0;
    for (int i = 0; i < t->stages; i++) all = all && !t->stage[i].only;
    for (int i = 0; i < t->specials; i++) all = all && !t->special[i].left && !t->special[i].right;
    return all && !t->prefix_space && t->n >= 256;
}

static void compare_text(const Tokenizer *t, const Ids *ids, const char *text, int64_t n)
{
    int64_t done = 0;
    for (int64_t i = 0; i < ids->n; i++) {
        const char *at;
        int64_t bytes = token_bytes(t, ids->at[i], &at);
        bug_if(done + bytes > n || memcmp(text + done, at, (size_t)bytes) != 0);
        done += bytes;
    }
    bug_if(done != n);
}

/* What it could not encode ended the program before this. */
static void encode_twice(const Tokenizer *t, const char *text, int64_t n)
{
    Encoder *e = open_encoder(t);
    Ids whole = {0}, parts = {0};
    int64_t cut = safe_cut(e, text, n / 2);
    bug_if(cut < 0 || cut > n / 2);
    encode_bytes(e, text, n, &whole);
    encode_bytes(e, text, cut, &parts);
    encode_bytes(e, text + cut, n - cut, &parts);
    bug_if(whole.n != parts.n || (whole.n && memcmp(whole.at, parts.at, sizeof *whole.at * (size_t)whole.n) != 0));
    for (int64_t i = 0; i < whole.n; i++) bug_if(whole.at[i] < 0 || whole.at[i] >= tokenizer_size(t));
    if (keeps_all(t)) compare_text(t, &whole, text, n);
    close_encoder(e);
    free_ids(&whole);
    free_ids(&parts);
}

/* The text in what the tokenizer has tokens for; from malloc. */
static char *known_text(const Tokenizer *t, const char *text, int64_t *n)
{
    char *out = must_alloc(4 * (size_t)*n + 1), *to = out;
    int first = 0;
    while (first < 256 && t->byte_id[first] < 0) first++;
    for (int64_t i = 0; i < *n; i++) {
        unsigned char byte = (unsigned char)text[i];
        if (t->kind == TOKEN_CHARS) to += encode_utf8(t->character[byte % t->n], to);
        else if (t->kind != TOKEN_BPE || t->unknown >= 0 || t->byte_id[byte] >= 0) *to++ = (char)byte;
        else if (first < 256) *to++ = (char)first;
    }
    *n = to - out;
    return out;
}

static void check_taken(Tokenizer *t, const char *path, const char *text, int64_t n)
{
    char *saved = tokenizer_text(t);
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(saved, 1, strlen(saved), f) != strlen(saved)) abort();
    fclose(f);
    Tokenizer *again = load_tokenizer(path);
    bug_if(tokenizer_size(again) < tokenizer_size(t) || tokenizer_hash(again) != hash_of(saved, strlen(saved)));
    free_tokenizer(again);
    free(saved);
    n = n < TEXT_TRIED ? n : TEXT_TRIED;
    char *known = known_text(t, text, &n);
    encode_twice(t, known, n);
    free(known);
    free_tokenizer(t);
}

#endif
