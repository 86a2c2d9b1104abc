/* data_token.c: what a tokenizer is to others: its size and texts, and encoders, which hand each stretch of text to its
 * kind. */
#include "data_token.h"

/* ------------------------------------------------------------------ making and asking */

Tokenizer *new_tokenizer(Token_kind kind, const char *path)
{
    Tokenizer *t = must_alloc(sizeof *t);
    t->kind = kind;
    t->path = text_of("%s", path);
    t->unknown = -1;
    return t;
}

Tokenizer *open_tokenizer(Token_kind kind) { return new_tokenizer(kind, "text"); }

void limit_bytes(Tokenizer *t, int64_t most) { t->n = most < 256 ? (int32_t)most : 256; }

void free_tokenizer(Tokenizer *t)
{
    if (!t) return;
    free_strings(&t->token);
    free_strings(&t->shown);
    free_splits(t);
    for (int i = 0; i < t->specials; i++) free(t->special[i].text);
    free(t->special);
    free(t->character);
    free(t->id);
    free(t->merge);
    free(t->pair);
    free(t->text);
    free(t->other);
    free(t->path);
    free(t);
}

Token_kind tokenizer_kind(const Tokenizer *t) { return t->kind; }
int64_t tokenizer_size(const Tokenizer *t) { return t->n; }
const char *tokenizer_path(const Tokenizer *t) { return t->path; }
const char *unread_tokenizer(const Tokenizer *t) { return t->other; }

int32_t special_id(const Tokenizer *t, const char *text)
{
    int64_t n = (int64_t)strlen(text);
    for (int i = 0; i < t->specials; i++)
        if (t->special[i].bytes == n && memcmp(t->special[i].text, text, (size_t)n) == 0) return t->special[i].id;
    return t->kind == TOKEN_WORDS || t->kind == TOKEN_BPE ? find_string(&t->token, text, n) : -1;
}

int32_t token_of_text(const Tokenizer *t, const char *text)
{
    int64_t n = (int64_t)strlen(text);
    uint32_t code;
    if (t->kind == TOKEN_WORDS || t->kind == TOKEN_BPE) return find_string(&t->token, text, n);
    if (t->kind == TOKEN_BYTES) return n == 1 && (unsigned char)text[0] < t->n ? (unsigned char)text[0] : -1;
    return n && decode_utf8((const unsigned char *)text, n, &code) == n ? t->id[code] - 1 : -1;
}

int64_t token_bytes(const Tokenizer *t, int32_t id, const char **at)
{
    static _Thread_local char plain[4];
    int64_t n;
    bug_if(id < 0 || id >= t->n);
    *at = plain;
    if (t->kind == TOKEN_CHARS) return encode_utf8(t->character[id], plain);
    if (t->kind == TOKEN_BYTES) return plain[0] = (char)id, 1;
    *at = string_at(t->kind == TOKEN_WORDS ? &t->shown : &t->token, id, &n);
    return n;
}

char *tokenizer_text(const Tokenizer *t)
{
    if (t->text) return text_of("%s", t->text);
    return t->kind == TOKEN_BYTES || t->kind == TOKEN_CHARS ? plain_text(t) : hf_text(t);
}

uint64_t tokenizer_hash(const Tokenizer *t)
{
    char *text = tokenizer_text(t);
    uint64_t hash = hash_of(text, strlen(text));
    free(text);
    return hash;
}

char *tokenizer_words(const Tokenizer *t)
{
    static const char *const words[] = {"bytes", "characters", "words", "BPE"};
    if (t->kind == TOKEN_BPE) return text_of("BPE of %s tokens", grouped_text(t->n));
    return text_of("%s %s", grouped_text(t->n), words[t->kind]);
}

void free_ids(Ids *ids)
{
    free(ids->at);
    *ids = (Ids){0};
}

/* ------------------------------------------------------------------ encoders */

struct Encoder {
    const Tokenizer *t;
    const char *place;  /* for messages */
    Splitter *splitter; /* BPE */
    Merger *merger;
    Ids *out;   /* of the call */
    char *room; /* of words, and of text with a blank before it */
    int64_t room_bytes;
};

Encoder *open_encoder(const Tokenizer *t)
{
    Encoder *e = must_alloc(sizeof *e);
    bug_if(t->other || !t->n);
    e->t = t;
    e->place = t->path;
    if (t->kind != TOKEN_BPE) return e;
    e->splitter = open_splitter(t, &e->place);
    e->merger = open_merger(t, &e->place);
    return e;
}

void close_encoder(Encoder *e)
{
    if (!e) return;
    if (e->splitter) close_splitter(e->splitter);
    if (e->merger) close_merger(e->merger);
    free(e->room);
    free(e);
}

int64_t encoder_heap(const Tokenizer *t) { return t->kind == TOKEN_BPE ? MERGER_BYTES : 0; }
void encoder_place(Encoder *e, const char *place) { e->place = place ? place : e->t->path; }

static char *need_room(Encoder *e, int64_t bytes)
{
    if (bytes <= e->room_bytes) return e->room;
    free(e->room);
    e->room_bytes = bytes * 2;
    return e->room = must_alloc((size_t)e->room_bytes);
}

static void put_id(Ids *out, int32_t id)
{
    need_ids(out, 1);
    out->at[out->n++] = id;
}

static void encode_as_bytes(const Encoder *e, const char *text, int64_t n)
{
    need_ids(e->out, n);
    for (int64_t i = 0; i < n; i++) {
        int32_t id = (unsigned char)text[i];
        if (id >= e->t->n)
            fail(EXIT_DATA, e->place, "byte 0x%02x is not one of the %d bytes this model knows; leave it out", id,
                 e->t->n);
        e->out->at[e->out->n++] = id;
    }
}

static void encode_characters(const Encoder *e, const char *text, int64_t n)
{
    const unsigned char *at = (const unsigned char *)text, *end = at + n;
    need_ids(e->out, n);
    while (at < end) {
        uint32_t code;
        int length = decode_utf8(at, end - at, &code);
        if (length == 0)
            fail(EXIT_DATA, e->place, "byte %lld is not UTF-8: a model of characters needs text",
                 (long long)(at - (const unsigned char *)text));
        if (!e->t->id[code])
            fail(EXIT_DATA, e->place, "%s is not one of the %d characters this model knows; leave it out",
                 character_text(code), e->t->n);
        e->out->at[e->out->n++] = e->t->id[code] - 1;
        at += length;
    }
}

static void encode_words(Encoder *e, const char *text, int64_t n)
{
    char *word = need_room(e, 4 * n + 8);
    int64_t bytes, from = 0;
    while (next_word(e->t, text, &from, n, word, &bytes)) {
        int32_t id = find_string(&e->t->token, word, bytes);
        put_id(e->out, id >= 0 ? id : e->t->unknown);
    }
}

static void take_piece(void *encoder, const char *at, int64_t n)
{
    Encoder *e = encoder;
    merge_piece(e->merger, at, n, e->out);
}

static void encode_pieces(Encoder *e, const char *text, int64_t n)
{
    if (e->t->prefix_space && n > 0 && text[0] != ' ') {
        char *room = need_room(e, n + 1);
        room[0] = ' ';
        memcpy(room + 1, text, (size_t)n);
        text = room;
        n++;
    }
    split_text(e->splitter, text, n, take_piece, e);
}

/* Text without special tokens in it. */
static void encode_stretch(Encoder *e, const char *text, int64_t n)
{
    switch (e->t->kind) {
    case TOKEN_BYTES: encode_as_bytes(e, text, n); break;
    case TOKEN_CHARS: encode_characters(e, text, n); break;
    case TOKEN_WORDS: encode_words(e, text, n); break;
    case TOKEN_BPE: encode_pieces(e, text, n); break;
    }
}

void encode_bytes(Encoder *e, const char *text, int64_t n, Ids *out)
{
    const Tokenizer *t = e->t;
    int64_t from = 0;
    e->out = out;
    while (t->specials && from < n) {
        int which;
        int64_t at = find_special(t, text, from, n, &which), end = at;
        if (which < 0) break;
        const Special *s = &t->special[which];
        while (s->left && end > from && is_blank(text[end - 1])) end--;
        encode_stretch(e, text + from, end - from);
        put_id(out, s->id);
        from = at + s->bytes;
        while (s->right && from < n && is_blank(text[from])) from++;
    }
    encode_stretch(e, text + from, n - from);
}

/* ------------------------------------------------------------------ where text may be cut */

/* Before a character: an incomplete one at the end is left to what follows. */
static int64_t cut_characters(const char *text, int64_t n)
{
    for (int64_t k = n; k > 0 && k > n - 4; k--) {
        uint32_t code;
        unsigned char first = (unsigned char)text[k - 1];
        if (first < 0x80) return k;
        if ((first & 0xc0) == 0x80) continue;
        return decode_utf8((const unsigned char *)text + k - 1, n - k + 1, &code) == n - k + 1 ? n : k - 1;
    }
    return n;
}

static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/* Words: behind a blank, which belongs to none.  Published patterns of BPE: between a letter and a blank: letters are
 * matched by runs of letters alone, which a blank ends as the end of the text does; no expression looks back, and those
 * that look ahead, by one character, have only blanks before them. */
static bool may_cut(const Tokenizer *t, const char *text, int64_t n, int64_t k)
{
    bool pieces = t->kind == TOKEN_WORDS
                      ? is_blank(text[k - 1])
                      : k < n && is_letter(text[k - 1]) && is_blank(text[k]) && (!t->prefix_space || text[k] == ' ');
    return pieces && !(t->specials && special_crosses(t, text, n, k));
}

int64_t safe_cut(Encoder *e, const char *text, int64_t n)
{
    const Tokenizer *t = e->t;
    if (t->kind == TOKEN_BYTES) return n;
    if (t->kind == TOKEN_CHARS) return cut_characters(text, n);
    if (t->kind == TOKEN_BPE && !t->letters_end) return 0;
    int64_t k = n;
    while (k > 0 && !may_cut(t, text, n, k)) k--;
    return k;
}
