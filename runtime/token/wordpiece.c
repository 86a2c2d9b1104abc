/* wordpiece.c: WordPiece, as BERT has it: words, and marks by themselves, become the longest pieces that the vocabulary
 * has, from left to right; pieces that do not begin a word have a prefix, ##.  A word that has no such pieces is one
 * unknown token.  And what a file of it says: Hugging Face's tokenizer.json, or a list of pieces, vocab.txt. */
#include "base/utf8.h"
#include "base/words.h"
#include "token/token.h"
#include "token/tokenizer.h"

enum { LONGEST_WORD_CHARACTERS = 1000 };

/* ------------------------------------------------------------------ a word */

static int64_t characters_in(const char *at, int64_t n)
{
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++) count += ((unsigned char)at[i] & 0xc0) != 0x80;
    return count;
}

/* The longest piece that begins at `from`: its end, and its id; 0: there is none.  room: a piece with its prefix. */
static int64_t longest_piece(const Tokenizer *t, const char *word, int64_t n, int64_t from, char *room, int32_t *id)
{
    int64_t before = from ? (int64_t)strlen(t->inner) : 0;
    memcpy(room, t->inner, (size_t)before);
    memcpy(room + before, word + from, (size_t)(n - from));
    for (int64_t end = n; end > from; end--) {
        if (end < n && ((unsigned char)word[end] & 0xc0) == 0x80) continue; /* inside a character */
        *id = find_string(&t->token, room, before + end - from);
        if (*id >= 0) return end;
    }
    return 0;
}

void word_pieces(const Tokenizer *t, const char *word, int64_t n, Ids *out)
{
    char few[256], *room = few;
    int64_t begin = out->n, need = n + (int64_t)strlen(t->inner);
    if (need > (int64_t)sizeof few) room = must_alloc((size_t)need);
    bool known = characters_in(word, n) <= t->longest_word;
    for (int64_t from = 0, end; known && from < n; from = end) {
        int32_t id;
        end = longest_piece(t, word, n, from, room, &id);
        known = end > 0;
        if (known) put_id(out, id);
    }
    if (room != few) free(room);
    if (known) return;
    out->n = begin;
    put_id(out, t->unknown);
}

/* ------------------------------------------------------------------ from tokenizer.json */

static void set_pieces(Tokenizer *t, const char *inner, int64_t longest, const char *unknown)
{
    t->inner = text_of("%s", inner);
    t->longest_word = longest;
    t->unknown = special_id(t, unknown);
    if (t->unknown < 0)
        fail(EXIT_DATA, t->path, "\"unk_token\": expected a token of the vocabulary; the file is damaged");
}

/* How ids are shown: a blank before each word, none before what continues one. */
static void set_shown(Tokenizer *t)
{
    int64_t before = (int64_t)strlen(t->inner), n;
    for (int32_t i = 0; i < t->n; i++) {
        const char *at = string_at(&t->token, i, &n);
        bool inner = n > before && memcmp(at, t->inner, (size_t)before) == 0;
        char *text = inner ? text_of("%.*s", (int)(n - before), at + before) : text_of(" %.*s", (int)n, at);
        add_string(&t->shown, text, (int64_t)strlen(text), false);
        free(text);
    }
}

void take_wordpiece(Tokenizer *t, json_t *all, json_t *model)
{
    const json_t *normalizer = json_object_get(all, "normalizer"), *pre = json_object_get(all, "pre_tokenizer"), *token;
    const json_t *most = json_object_get(model, "max_input_chars_per_word");
    const char *inner = json_string_value(json_object_get(model, "continuing_subword_prefix"));
    const char *unknown = json_string_value(json_object_get(model, "unk_token"));
    size_t i;
    t->kind = TOKEN_WORDPIECE;
    t->punctuation = true;
    if (json_integer_value(most) < 0 || json_integer_value(most) > LONGEST_WORD_CHARACTERS)
        set_other(t, text_of("WordPiece with words that are not of 0 to %d characters", LONGEST_WORD_CHARACTERS));
    if (strcmp(type_of(pre), "BertPreTokenizer") != 0) /* at white space, marks by themselves */
        set_other(t, text_of("WordPiece that cuts text by %.40s", type_of(pre)));
    json_array_foreach(json_object_get(all, "added_tokens"), i,
                       token) if (json_is_true(json_object_get(token, "normalized")))
        set_other(t, text_of("WordPiece with added tokens that are normalised"));
    if (!is_nothing(normalizer)) take_normalizer(t, normalizer);
    if (t->other) return;
    take_vocab(t, json_object_get(model, "vocab"), json_object_get(all, "added_tokens"));
    t->n = t->token.n;
    set_pieces(t, inner ? inner : "##", json_is_integer(most) ? json_integer_value(most) : 100,
               unknown ? unknown : "[UNK]");
    set_shown(t);
}
