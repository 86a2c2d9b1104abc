/* json_unigram.c: the part of tokenizer.json for Unigram models: tokens with their log probabilities, and text cut at
 * spaces, which are written as U+2581. */
#include "base/words.h"
#include "token/token.h"
#include "token/tokenizer.h"

#include <math.h>

#define BLANK_SIGN "\xe2\x96\x81"

/* ------------------------------------------------------------------ tokens */

/* "<0x41>": 65; -1: not a byte. */
static int byte_of_name(const Name *n)
{
    unsigned byte = 0;
    char end = 0;
    bool shaped = n->bytes == 6 && memcmp(n->at, "<0x", 3) == 0;
    return shaped && sscanf(n->at + 3, "%2X%c", &byte, &end) == 2 && end == '>' ? (int)byte : -1;
}

/* Replaces the sign by spaces. */
int64_t blanks_in(const Name *n, char *out)
{
    char *to = out;
    for (int64_t i = 0; i < n->bytes;) {
        bool sign = n->bytes - i >= 3 && memcmp(n->at + i, BLANK_SIGN, 3) == 0;
        *to++ = sign ? ' ' : n->at[i];
        i += sign ? 3 : 1;
    }
    return to - out;
}

static void take_piece(Tokenizer *t, const Name *n, bool bytes, char *room)
{
    int byte = n->at && bytes && !n->added ? byte_of_name(n) : -1;
    int64_t length = n->bytes;
    if (n->at && t->blank_sign && !n->added) length = blanks_in(n, room);
    else if (n->at) memcpy(room, n->at, (size_t)length);
    if (byte >= 0 && t->byte_id[byte] < 0) {
        t->byte_id[byte] = add_string(&t->token, (char[]){(char)byte}, 1, false);
        return;
    }
    bool given = n->at && !n->added && byte < 0 && length && find_string(&t->token, room, length) < 0;
    add_string(&t->token, n->at ? room : NULL, length, given);
}

void take_blank_pieces(Tokenizer *t, json_t *vocab, const json_t *added, bool bytes)
{
    int64_t n;
    Name *name = names_of(t, vocab, added, &n);
    char *room = must_alloc(LONGEST_TOKEN);
    for (int b = 0; b < 256; b++) t->byte_id[b] = -1;
    for (int64_t i = 0; i < n; i++) take_piece(t, &name[i], bytes, room);
    free(room);
    free(name);
    t->n = (int32_t)n;
}

static void take_scores(Tokenizer *t, const json_t *vocab)
{
    double least = 0;
    size_t i;
    json_t *piece;
    t->score = must_alloc(sizeof *t->score * (size_t)t->n);
    json_array_foreach(vocab, i, piece)
    {
        t->score[i] = json_number_value(json_array_get(piece, 1));
        if (!isfinite(t->score[i]) || fabs(t->score[i]) > 1e9)
            fail(EXIT_DATA, t->path, "\"vocab\"[%zu]: expected a log probability, found %g", i, t->score[i]);
        if (i == 0 || t->score[i] < least) least = t->score[i];
    }
    set_scores(t, least);
}

void set_scores(Tokenizer *t, double least)
{
    t->unknown_score = least - 10; /* as in SentencePiece and Hugging Face's tokenizers */
    for (int32_t id = 0; id < t->n; id++) {
        int64_t n;
        const char *at = string_at(&t->token, id, &n);
        if (n && find_string(&t->token, at, n) == id) add_to_trie(&t->trie, at, n, id);
    }
}

void finish_scores(Tokenizer *t)
{
    double least = 0;
    for (int32_t id = 0; id < t->n; id++) least = t->score[id] < least ? t->score[id] : least;
    least = 10 * least - 100;
    for (int b = 0; b < 256; b++) t->score[t->byte_id[b]] = least;
    set_scores(t, least);
}

/* Whether a space is a token, and no token has a space after its first letter, so that no token spans the position
 * before a space. */
static bool blanks_begin(const Tokenizer *t)
{
    for (int32_t id = 0; id < t->n; id++) {
        int64_t n;
        const char *at = string_at(&t->token, id, &n);
        if (n > 1 && find_string(&t->token, at, n) == id && memchr(at + 1, ' ', (size_t)(n - 1))) return false;
    }
    return find_string(&t->token, " ", 1) >= 0;
}

/* ------------------------------------------------------------------ how text is cut */

void take_metaspace(Tokenizer *t, const json_t *part)
{
    const char *sign = json_string_value(json_object_get(part, "replacement"));
    const char *scheme = json_string_value(json_object_get(part, "prepend_scheme"));
    if (!scheme) scheme = flag_of(part, "add_prefix_space", true) ? "always" : "never";
    if (sign && strcmp(sign, BLANK_SIGN) != 0)
        set_other(t, text_of("%s that writes blanks as \"%.20s\"", kind_word(t), sign));
    bool first = strcmp(scheme, "first") == 0, always = strcmp(scheme, "always") == 0;
    if (first && t->stages) set_other(t, text_of("%s with a blank before the first piece", kind_word(t)));
    t->blank_sign = true;
    t->cut_blanks = flag_of(part, "split", true);
    t->prefix_first = first;
    t->prefix_space = first || (always && !t->stages);
    t->prefix_pieces = always && t->stages;
}

static void take_part(Tokenizer *t, const json_t *part)
{
    const char *type = type_of(part);
    if (t->blank_sign) set_other(t, text_of("a Unigram that cuts text by %.40s after Metaspace", type));
    else if (strcmp(type, "Metaspace") == 0) take_metaspace(t, part);
    else if (strcmp(type, "WhitespaceSplit") == 0) take_pattern(t, "\\S+", true, false);
    else if (strcmp(type, "Split") == 0) take_split(t, part);
    else set_other(t, text_of("a Unigram that cuts text by %.40s", type));
}

static void take_cuts(Tokenizer *t, const json_t *pre)
{
    size_t i;
    json_t *part;
    if (strcmp(type_of(pre), "Sequence") == 0)
        json_array_foreach(json_object_get(pre, "pretokenizers"), i, part) take_part(t, part);
    else if (!is_nothing(pre)) take_part(t, pre);
}

/* ------------------------------------------------------------------ all of it */

static void take_unknown(Tokenizer *t, const json_t *model)
{
    const json_t *id = json_object_get(model, "unk_id");
    if (!id || json_is_null(id)) return;
    json_int_t n = json_is_integer(id) ? json_integer_value(id) : -1;
    if (n < 0 || n >= t->n)
        fail(EXIT_DATA, t->path, "\"unk_id\": expected an id of the vocabulary; the file is damaged");
    t->unknown = (int32_t)n;
}

void take_unigram(Tokenizer *t, json_t *all, json_t *model)
{
    json_t *vocab = json_object_get(model, "vocab");
    const json_t *normalizer = json_object_get(all, "normalizer");
    t->kind = TOKEN_UNIGRAM;
    if (!json_is_array(vocab))
        fail(EXIT_DATA, t->path, "expected a \"vocab\" of [[token, log probability], …]; the file is damaged");
    bool cuts = is_nothing(normalizer) || take_normalizer(t, normalizer);
    if (!t->other) take_cuts(t, json_object_get(all, "pre_tokenizer"));
    if (t->other) return;
    take_blank_pieces(t, vocab, json_object_get(all, "added_tokens"), flag_of(model, "byte_fallback", false));
    take_scores(t, vocab);
    take_unknown(t, model);
    if (t->stages == 0) t->letters_end = t->cut_blanks = t->cut_blanks || (t->blank_sign && blanks_begin(t));
    t->letters_end = t->letters_end && cuts;
    t->marks_begin = t->marks_begin && !t->normals;
}
