/* token.c: the interface of tokenizers: size and texts, and encoders, which pass text to the tokenizer's kind.
 *
 * Text is cut at special tokens (token/special.c), then into pieces by the published expressions (token/split.c); each
 * piece is encoded independently (token/pieces.c).  safe_cut() finds a place where a text may be cut without changing
 * an id: for published expressions, between an ASCII letter and a space, or a wide letter and a wide mark (Chinese has
 * no spaces). */
#include "base/hash.h"
#include "base/utf8.h"
#include "base/words.h"
#include "token/token.h"
#include "token/tokenizer.h"

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
    free_trie(&t->trie);
    free_normals(t->normals);
    free(t->score);
    free(t->text);
    free(t->inner);
    free(t->other);
    free(t->path);
    free(t);
}

static bool has_strings(const Tokenizer *t) { return t->kind != TOKEN_BYTES && t->kind != TOKEN_CHARS; }

Token_kind tokenizer_kind(const Tokenizer *t) { return t->kind; }
int64_t tokenizer_size(const Tokenizer *t) { return t->n; }
const char *tokenizer_path(const Tokenizer *t) { return t->path; }
const char *unread_tokenizer(const Tokenizer *t) { return t->other; }

int32_t special_id(const Tokenizer *t, const char *text)
{
    int64_t n = (int64_t)strlen(text);
    for (int i = 0; i < t->specials; i++)
        if (t->special[i].bytes == n && memcmp(t->special[i].text, text, (size_t)n) == 0) return t->special[i].id;
    return has_strings(t) ? find_string(&t->token, text, n) : -1;
}

int32_t token_of_text(const Tokenizer *t, const char *text)
{
    int64_t n = (int64_t)strlen(text);
    uint32_t code;
    if (has_strings(t)) return find_string(&t->token, text, n);
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
    *at = string_at(t->kind == TOKEN_WORDS || t->kind == TOKEN_WORDPIECE ? &t->shown : &t->token, id, &n);
    return n;
}

bool adds_blank(const Tokenizer *t)
{
    return (t->kind == TOKEN_UNIGRAM || t->characters) && (t->prefix_space || t->prefix_pieces);
}

char *tokenizer_text(const Tokenizer *t)
{
    if (t->text) return text_of("%s", t->text);
    return has_strings(t) ? hf_text(t) : plain_text(t);
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
    static const char *const words[] = {"bytes", "characters", "words", "BPE", "Unigram", "WordPiece"};
    if (t->kind >= TOKEN_BPE) return text_of("%s of %s tokens", words[t->kind], grouped_text(t->n));
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
    Splitter *splitter; /* BPE, Unigram */
    Pieces *pieces;
    Ids *out;   /* of the call */
    bool signs; /* in the text */
    Draft_text normal[2];
    char *room, *word; /* of words, and of text with a blank before it; of a piece with one */
    int64_t room_bytes, word_bytes;
};

Encoder *open_encoder(const Tokenizer *t)
{
    Encoder *e = must_alloc(sizeof *e);
    bug_if(t->other || !t->n);
    e->t = t;
    e->place = t->path;
    if (t->kind < TOKEN_BPE) return e;
    if (t->kind != TOKEN_WORDPIECE) e->splitter = open_splitter(t, &e->place);
    e->pieces = open_pieces(t, &e->place);
    return e;
}

void close_encoder(Encoder *e)
{
    if (!e) return;
    if (e->splitter) close_splitter(e->splitter);
    close_pieces(e->pieces);
    free(e->room);
    free(e->word);
    free(e->normal[0].at);
    free(e->normal[1].at);
    free(e);
}

int64_t encoder_heap(const Tokenizer *t) { return t->kind >= TOKEN_BPE ? PIECES_BYTES : 0; }
void encoder_place(Encoder *e, const char *place) { e->place = place ? place : e->t->path; }

static char *need_bytes(char **room, int64_t *there, int64_t bytes)
{
    if (bytes <= *there) return *room;
    free(*room);
    *there = bytes * 2;
    return *room = must_alloc((size_t)*there);
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

int64_t unknown_character(const Tokenizer *t, const char *text, int64_t n, uint32_t *code)
{
    int length = 1;
    for (int64_t i = 0; i < n; i += length) {
        const unsigned char *at = (const unsigned char *)text + i;
        *code = *at;
        if (t->kind == TOKEN_BYTES && *at >= t->n) return i;
        if (t->kind != TOKEN_CHARS) continue;
        length = decode_utf8(at, n - i, code);
        if (length == 0 || !t->id[*code]) return i;
    }
    return -1;
}

static void encode_words(Encoder *e, const char *text, int64_t n)
{
    char *word = need_bytes(&e->room, &e->room_bytes, 4 * n + 8);
    int64_t bytes, from = 0;
    while (next_word(e->t, text, &from, n, word, &bytes)) {
        int32_t id = find_string(&e->t->token, word, bytes);
        put_id(e->out, id >= 0 ? id : e->t->unknown);
    }
}

/* Words, and marks by themselves, each in its pieces. */
static void encode_word_pieces(Encoder *e, const char *text, int64_t n)
{
    if (e->t->normals) text = normal_text(e->t->normals, text, &n, e->normal);
    char *word = need_bytes(&e->room, &e->room_bytes, 4 * n + 8);
    int64_t bytes, from = 0;
    while (next_word(e->t, text, &from, n, word, &bytes)) encode_piece(e->pieces, word, bytes, e->out);
}

static void take_piece(void *encoder, const char *at, int64_t n)
{
    Encoder *e = encoder;
    encode_piece(e->pieces, at, n, e->out);
}

static char *after_blank(char **room, int64_t *there, const char *at, int64_t n)
{
    char *to = need_bytes(room, there, n + 1);
    to[0] = ' ';
    memcpy(to + 1, at, (size_t)n);
    return to;
}

static const char blank_sign[] = "\xe2\x96\x81"; /* U+2581 */

static bool has_sign(const char *text, int64_t n)
{
    const char *at = text, *end = text + n;
    for (; end - at >= 3 && (at = memchr(at, blank_sign[0], (size_t)(end - at - 2))); at++)
        if (memcmp(at, blank_sign, 3) == 0) return true;
    return false;
}

const char *tokenizer_form(const Tokenizer *t) { return only_form(t->normals); }

static const char *without_signs(Encoder *e, const char *text, int64_t *n)
{
    char *room = need_bytes(&e->room, &e->room_bytes, *n), *to = room;
    for (int64_t i = 0; i < *n;) {
        bool sign = *n - i >= 3 && memcmp(text + i, blank_sign, 3) == 0;
        *to++ = sign ? ' ' : text[i];
        i += sign ? 3 : 1;
    }
    *n = to - room;
    return room;
}

/* Where the piece that begins at i ends. */
static int64_t end_of_piece(const Tokenizer *t, const char *at, int64_t n, int64_t i)
{
    const char *end = t->cut_blanks || t->cut_words ? memchr(at + i + 1, ' ', (size_t)(n - i - 1)) : NULL;
    while (end && t->cut_words && end[-1] == ' ')
        end = end + 1 < at + n ? memchr(end + 1, ' ', (size_t)(at + n - end - 1)) : NULL;
    return end ? end - at : n;
}

static void take_blanks(void *encoder, const char *at, int64_t n)
{
    Encoder *e = encoder;
    if (e->signs) at = without_signs(e, at, &n);
    if (e->t->prefix_pieces && at[0] != ' ') at = after_blank(&e->word, &e->word_bytes, at, n++);
    for (int64_t i = 0; i < n;) {
        int64_t end = end_of_piece(e->t, at, n, i);
        encode_piece(e->pieces, at + i, end - i, e->out);
        i = end;
    }
}

/* begins: text is at the beginning. */
static void encode_pieces(Encoder *e, const char *text, int64_t n, bool begins)
{
    const Tokenizer *t = e->t;
    if (t->normals) text = normal_text(t->normals, text, &n, e->normal);
    e->signs = t->blank_sign && has_sign(text, n);
    if (t->prefix_space && (begins || !t->prefix_first) && n > 0 &&
        (t->prefix_always || (text[0] != ' ' && !(t->blank_sign && has_sign(text, n < 3 ? n : 3)))))
        text = after_blank(&e->word, &e->word_bytes, text, n++);
    split_text(e->splitter, text, n, t->kind == TOKEN_BPE && !t->characters ? take_piece : take_blanks, e);
}

/* Text without special tokens in it. */
static void encode_stretch(Encoder *e, const char *text, int64_t n, bool begins)
{
    switch (e->t->kind) {
    case TOKEN_BYTES: encode_as_bytes(e, text, n); break;
    case TOKEN_CHARS: encode_characters(e, text, n); break;
    case TOKEN_WORDS: encode_words(e, text, n); break;
    case TOKEN_WORDPIECE: encode_word_pieces(e, text, n); break;
    case TOKEN_BPE:
    case TOKEN_UNIGRAM: encode_pieces(e, text, n, begins); break;
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
        encode_stretch(e, text + from, end - from, from == 0);
        put_id(out, s->id);
        from = at + s->bytes;
        while (s->right && from < n && is_blank(text[from])) from++;
    }
    encode_stretch(e, text + from, n - from, from == 0);
}

void encode_plain(Encoder *e, const char *text, int64_t n, Ids *out)
{
    e->out = out;
    encode_stretch(e, text, n, true);
}

/* ------------------------------------------------------------------ cutting text */

/* Before a character; an incomplete one at the end belongs to the next part. */
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

/* Between an ideograph, a letter of kana or hangul, and one of 。 、 ！ ， ？: published patterns match letters only in
 * runs of letters, and those marks in pieces that begin with them, letters following at most. */
static bool is_wide_end(const char *text, int64_t n, int64_t k)
{
    static const char marks[][4] = {"\xe3\x80\x82", "\xe3\x80\x81", "\xef\xbc\x81", "\xef\xbc\x8c", "\xef\xbc\x9f"};
    uint32_t code = 0;
    bool mark = false;
    if (k < 3 || k + 3 > n || decode_utf8((const unsigned char *)text + k - 3, 3, &code) != 3) return false;
    for (int i = 0; i < 5; i++) mark = mark || memcmp(text + k, marks[i], 3) == 0;
    return mark && ((code >= 0x4e00 && code < 0x9fa6) || (code >= 0x3041 && code < 0x3097) ||
                    (code >= 0x30a1 && code < 0x30fb) || (code >= 0xac00 && code < 0xd7a4));
}

/* Words: after a space, which belongs to no word.  Unigram models without patterns: before a space, which begins a
 * piece.  Published patterns: between a letter and a space.  Letters are matched only in runs of letters, which a space
 * ends like the end of the text; no expression looks back, and those that look ahead by one character have only spaces
 * before it. */
static bool may_cut(const Tokenizer *t, const char *text, int64_t n, int64_t k)
{
    bool pieces = t->kind == TOKEN_WORDS || t->kind == TOKEN_WORDPIECE
                      ? is_blank(text[k - 1])
                      : k < n && is_letter(text[k - 1]) && is_blank(text[k]) &&
                            (text[k] == ' ' || (t->stages && !t->prefix_space));
    pieces = pieces || (t->marks_begin && !t->prefix_space && is_wide_end(text, n, k));
    return pieces && !(t->specials && special_crosses(t, text, n, k));
}

int64_t safe_cut(Encoder *e, const char *text, int64_t n)
{
    const Tokenizer *t = e->t;
    if (t->kind == TOKEN_BYTES) return n;
    if (t->kind == TOKEN_CHARS) return cut_characters(text, n);
    if ((t->kind == TOKEN_BPE || t->kind == TOKEN_UNIGRAM) && !t->letters_end) return 0;
    int64_t k = n;
    while (k > 0 && !may_cut(t, text, n, k)) k--;
    return k;
}
