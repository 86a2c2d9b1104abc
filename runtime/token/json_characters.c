/* json_characters.c: the part of tokenizer.json for byte pairs over characters, as SentencePiece makes them for Llama 2
 * and Mistral: blanks are written as U+2581, text is not cut before it is merged, and characters without a token become
 * the tokens of their bytes, <0x0A>. */
#include "base/words.h"
#include "token/token.h"
#include "token/tokenizer.h"

#define BLANK_SIGN "\xe2\x96\x81"

/* ------------------------------------------------------------------ blanks */

static bool says_text(const json_t *part, const char *key, const char *text)
{
    const char *own = json_string_value(json_object_get(part, key));
    return own && strcmp(own, text) == 0;
}

/* A blank before each text, even before one that begins with a blank, and the sign for blanks. */
static void take_change(Tokenizer *t, const json_t *part)
{
    const json_t *pattern = json_object_get(part, "pattern");
    if (says_text(part, "type", "Prepend") && says_text(part, "prepend", BLANK_SIGN))
        t->prefix_space = t->prefix_always = true;
    else if (says_text(part, "type", "Replace") && says_text(pattern, "String", " ") &&
             says_text(part, "content", BLANK_SIGN))
        t->blank_sign = true;
    else set_other(t, text_of("BPE of characters with the normalizer %.40s", type_of(part)));
}

static void take_changes(Tokenizer *t, const json_t *all)
{
    size_t i;
    json_t *part, *parts = json_object_get(all, "normalizers");
    if (is_nothing(all)) return;
    if (strcmp(type_of(all), "Sequence") != 0) take_change(t, all);
    else json_array_foreach(parts, i, part) take_change(t, part);
}

/* Whether no token has a blank after another character, so that none spans the position before a word. */
static bool words_begin(const Tokenizer *t)
{
    for (int32_t id = 0; id < t->n; id++) {
        int64_t n;
        const char *at = string_at(&t->token, id, &n);
        bool given = n > 1 && find_string(&t->token, at, n) == id;
        for (int64_t k = 1; given && k < n; k++)
            if (at[k] == ' ' && at[k - 1] != ' ') return false;
    }
    return true;
}

/* ------------------------------------------------------------------ all of it */

static void check_fallback(Tokenizer *t)
{
    for (int b = 0; b < 256; b++)
        if (t->byte_id[b] < 0) {
            set_other(t, text_of("BPE of characters without a token for the byte 0x%02x", b));
            return;
        }
}

void take_sentencepiece(Tokenizer *t, json_t *all, json_t *model)
{
    static const char *const absent[] = {"dropout", "continuing_subword_prefix", "end_of_word_suffix", "ignore_merges"};
    const json_t *pre = json_object_get(all, "pre_tokenizer");
    json_t *vocab = json_object_get(model, "vocab");
    t->kind = TOKEN_BPE;
    t->characters = true;
    if (!json_is_object(vocab)) fail(EXIT_DATA, t->path, "expected a \"vocab\" of {token: id, …}; the file is damaged");
    for (size_t i = 0; i < sizeof absent / sizeof *absent; i++)
        if (!is_nothing(json_object_get(model, absent[i])))
            set_other(t, text_of("BPE of characters with %s", absent[i]));
    take_changes(t, json_object_get(all, "normalizer"));
    if (strcmp(type_of(pre), "Metaspace") == 0) take_metaspace(t, pre);
    else if (!is_nothing(pre)) set_other(t, text_of("BPE of characters that cuts text by %.40s", type_of(pre)));
    if (!t->blank_sign) set_other(t, text_of("BPE of characters without a sign for blanks"));
    if (t->other) return;
    take_blank_pieces(t, vocab, json_object_get(all, "added_tokens"), true);
    check_fallback(t);
    if (t->other) return;
    take_merges(t, json_object_get(model, "merges"));
    set_pairs(t);
    t->cut_words = !t->cut_blanks && words_begin(t);
    /* a blank before each part of a text would be one more */
    t->letters_end = t->cut_words && !t->prefix_always;
}
