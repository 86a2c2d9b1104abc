/* gguf_wordpiece.c: BERT's pieces in GGUF files: a piece that begins a word has the sign for blanks before it there,
 * and one that goes on in a word nothing, where Hugging Face has nothing and "##".  And the tokens that stand around a
 * text, also those of encoders with byte-level pieces.
 *
 * llama.cpp takes text apart as BERT's normaliser; only whether capital letters and accents stay is said. */
#include "base/json_text.h"
#include "base/words.h"
#include "model/gguf_writer.h"
#include "token/tokenizer.h"

#include <stdlib.h>
#include <string.h>

static const char blank[] = "\xe2\x96\x81", inner[] = "##";

/* ------------------------------------------------------------------ the tokens with a meaning */

/* llama.cpp's keys, and the ids of the needed ones of WordPiece where a file does not say. */
static const struct {
    const char *key, *name, *shown; /* of the file, of tokenizer_config.json, in messages */
    int usual;
} specials[] = {
    {"tokenizer.ggml.bos_token_id", "cls_token", "[CLS]", 101},
    {"tokenizer.ggml.seperator_token_id", "sep_token", "[SEP]", 102},
    {"tokenizer.ggml.unknown_token_id", "unk_token", "[UNK]", 100},
    {"tokenizer.ggml.padding_token_id", "pad_token", "[PAD]", -1},
    {"tokenizer.ggml.mask_token_id", "mask_token", "[MASK]", -1},
};
enum { SEP_TOKEN = 1, UNKNOWN_SPECIAL, NEEDED_SPECIALS, SPECIALS = sizeof specials / sizeof *specials };

/* Of byte-level pieces llama.cpp puts the end of a text behind it. */
static const char *key_of_special(const Store *s, int k)
{
    return k == SEP_TOKEN && !is_wordpiece(s) ? "tokenizer.ggml.eos_token_id" : specials[k].key;
}

/* -1: there is none, nor need be one. */
static int64_t id_of_special(const Store *s, int k)
{
    const char *key = key_of_special(s, k);
    bool said = json_object_get(s->header, key) != NULL, pieces = is_wordpiece(s);
    int64_t n = (int64_t)json_array_size(gguf_tokens(s)), id = gguf_integer(s, key, 0);
    if (!said && (k >= NEEDED_SPECIALS || (k == UNKNOWN_SPECIAL && !pieces))) return -1;
    if (!said) id = pieces ? specials[k].usual : -1;
    if (id >= 0 && id < n) return id;
    fail(EXIT_DATA, s->path, "\"%s\": expected the id of %s, below the %lld tokens, found %s%s; the file is damaged",
         key, specials[k].shown, (long long)n, id < 0 ? "none" : text_of("%lld", (long long)id),
         said || !pieces ? "" : ", which is meant where a file does not say");
}

/* From malloc, as tokenizer.json has it; NULL: there is none. */
static char *special_text(const Store *s, int k)
{
    const json_t *types = json_object_get(s->header, "tokenizer.ggml.token_type");
    int64_t id = id_of_special(s, k);
    const char *text = id < 0 ? NULL : json_string_value(json_array_get(gguf_tokens(s), (size_t)id));
    if (id < 0) return NULL;
    if (!text || !*text)
        fail(EXIT_DATA, s->path, "\"tokenizer.ggml.tokens\"[%lld]: expected a text; the file is damaged",
             (long long)id);
    int type = (int)json_integer_value(json_array_get(types, (size_t)id));
    return is_wordpiece(s) ? piece_of_token(text, type) : text_of("%s", text);
}

void put_special_tokens(const Store *s, json_t *config)
{
    for (int k = 0; k < SPECIALS; k++) {
        char *text = special_text(s, k);
        if (text) put_json(config, specials[k].name, json_string(text));
        free(text);
    }
}

/* ------------------------------------------------------------------ reading pieces */

bool is_wordpiece(const Store *s) { return strcmp(gguf_word(s, "tokenizer.ggml.model"), "bert") == 0; }

/* As tokenizer.json has it, from malloc.  Older files have "[unused0]" without the sign. */
char *piece_of_token(const char *text, int type)
{
    size_t n = strlen(text);
    bool whole = type == CONTROL_TOKEN || type == UNKNOWN_TOKEN;
    if (!whole && strncmp(text, blank, sizeof blank - 1) == 0 && text[sizeof blank - 1])
        return text_of("%s", text + sizeof blank - 1);
    whole = whole || type == USERS_TOKEN || type == UNUSED_TOKEN || (n > 2 && text[0] == '[' && text[n - 1] == ']');
    return text_of("%s%s", whole ? "" : inner, text);
}

static json_t *flag_or_null(const Store *s, const char *key, json_t *absent)
{
    json_t *value = json_object_get(s->header, key);
    if (!value) return absent;
    if (!json_is_boolean(value)) fail(EXIT_DATA, s->path, "\"%s\": expected true or false; the file is damaged", key);
    json_decref(absent);
    return json_incref(value);
}

/* Added tokens by their ids, as tokenizer_config.json lists them. */
static json_t *listed_by_id(json_t *added)
{
    json_t *all = json_object(), *token;
    size_t i;
    json_array_foreach(added, i, token)
    {
        char *id = text_of("%lld", (long long)json_integer_value(json_object_get(token, "id")));
        json_object_set(all, id, token);
        free(id);
    }
    json_decref(added);
    return all;
}

json_t *wordpiece_json(const Store *s, json_t *vocab, json_t *added)
{
    json_t *config = json_object();
    put_special_tokens(s, config);
    put_json(config, "added_tokens_decoder", listed_by_id(added));
    put_json(config, "do_lower_case", flag_or_null(s, "tokenizer.ggml.normalizer.lowercase", json_true()));
    put_json(config, "strip_accents", flag_or_null(s, "tokenizer.ggml.normalizer.strip_accents", json_null()));
    json_t *all = tokenizer_of_pieces(s->path, vocab, config);
    json_decref(config);
    return all;
}

/* ------------------------------------------------------------------ around a text, of byte-level pieces */

static bool is_flag_true(const Store *s, const char *key) { return json_is_true(json_object_get(s->header, key)); }

/* Takes both ids over. */
static json_t *template_of(const char *cls, json_t *first, const char *sep, json_t *last)
{
    json_t *single = json_pack("[{s:{s:s, s:i}}, {s:{s:s, s:i}}, {s:{s:s, s:i}}]", "SpecialToken", "id", cls, "type_id",
                               0, "Sequence", "id", "A", "type_id", 0, "SpecialToken", "id", sep, "type_id", 0),
           *pair = json_deep_copy(single);
    add_json(pair, json_pack("{s:{s:s, s:i}}", "Sequence", "id", "B", "type_id", 0));
    add_json(pair, json_pack("{s:{s:s, s:i}}", "SpecialToken", "id", sep, "type_id", 0));
    return json_pack("{s:s, s:o, s:o, s:{s:{s:s, s:[o], s:[s]}, s:{s:s, s:[o], s:[s]}}}", "type", "TemplateProcessing",
                     "single", single, "pair", pair, "special_tokens", cls, "id", cls, "ids", first, "tokens", cls, sep,
                     "id", sep, "ids", last, "tokens", sep);
}

/* RoBERTa has two tokens between texts, and ModernBERT one. */
json_t *frame_of_encoder(const Store *s, const Architecture *a)
{
    static const char *const flags[] = {"tokenizer.ggml.add_bos_token", "tokenizer.ggml.add_eos_token"};
    for (int k = 0; k < 2; k++)
        if (!is_flag_true(s, flags[k]))
            fail(EXIT_DATA, s->path, "\"%s\": expected true: a text of an encoder stands between two tokens", flags[k]);
    char *cls = special_text(s, 0), *sep = special_text(s, SEP_TOKEN);
    json_t *first = json_integer(id_of_special(s, 0)), *last = json_integer(id_of_special(s, SEP_TOKEN));
    json_t *all = a->lead ? json_pack("{s:s, s:[s, o], s:[s, o], s:b, s:b}", "type", "RobertaProcessing", "sep", sep,
                                      last, "cls", cls, first, "trim_offsets", 1, "add_prefix_space", 0)
                          : template_of(cls, first, sep, last);
    free(cls);
    free(sep);
    return all;
}

/* ------------------------------------------------------------------ writing */

static bool is_type_named(const json_t *part, const char *type)
{
    const char *own = json_string_value(json_object_get(part, "type"));
    return own && strcmp(own, type) == 0;
}

bool has_wordpiece(const json_t *tokenizer) { return is_type_named(json_object_get(tokenizer, "model"), "WordPiece"); }

static bool is_off(const json_t *part, const char *key) { return json_is_false(json_object_get(part, key)); }

/* Without ## they would be no text, or one that begins a word. */
static const char *pieces_misfit(const json_t *vocab)
{
    const char *piece;
    json_t *id;
    json_object_foreach((json_t *)vocab, piece, id)
    {
        const char *rest = strncmp(piece, inner, sizeof inner - 1) == 0 ? piece + sizeof inner - 1 : NULL;
        if (rest && (!*rest || strncmp(rest, blank, sizeof blank - 1) == 0))
            return text_of("llama.cpp's files have no place for the piece %.40s of this tokenizer", piece);
    }
    return NULL;
}

const char *wordpiece_misfit(const json_t *tokenizer)
{
    const json_t *model = json_object_get(tokenizer, "model"), *normalizer = json_object_get(tokenizer, "normalizer");
    const char *prefix = json_string_value(json_object_get(model, "continuing_subword_prefix"));
    if (prefix && strcmp(prefix, inner) != 0)
        return text_of("llama.cpp knows pieces that go on in a word by ##, and this tokenizer by %.20s", prefix);
    if (!is_type_named(normalizer, "BertNormalizer") || is_off(normalizer, "clean_text") ||
        is_off(normalizer, "handle_chinese_chars"))
        return "llama.cpp takes text apart as BERT's normaliser, with clean_text and handle_chinese_chars, and this "
               "tokenizer does not";
    return pieces_misfit(json_object_get(model, "vocab"));
}

/* From malloc, as llama.cpp has it. */
char *token_of_piece(const char *piece, int type)
{
    if (type != NORMAL_TOKEN) return text_of("%s", piece);
    if (strncmp(piece, inner, sizeof inner - 1) == 0) return text_of("%s", piece + sizeof inner - 1);
    return text_of("%s%s", blank, piece);
}

static int64_t id_in_json(const json_t *tokenizer, const char *text)
{
    size_t i;
    json_t *token;
    json_array_foreach(json_object_get(tokenizer, "added_tokens"), i, token)
    {
        const char *own = json_string_value(json_object_get(token, "content"));
        if (own && text && strcmp(own, text) == 0) return json_integer_value(json_object_get(token, "id"));
    }
    const json_t *id =
        text ? json_object_get(json_object_get(json_object_get(tokenizer, "model"), "vocab"), text) : NULL;
    return id ? json_integer_value(id) : -1;
}

/* The token before or after a text, by the post-processor; NULL: there is none. */
static const char *token_beside(const json_t *post, bool last)
{
    size_t i;
    json_t *part;
    const char *found = NULL;
    json_array_foreach(json_object_get(post, "processors"), i, part) if (!found) found = token_beside(part, last);
    if (found) return found;
    const json_t *single = json_object_get(post, "single"), *pair = json_object_get(post, last ? "sep" : "cls");
    const json_t *edge = json_array_get(single, last ? json_array_size(single) - 1 : 0);
    if (json_is_array(pair)) return json_string_value(json_array_get(pair, 0));
    return json_string_value(json_object_get(json_object_get(edge, "SpecialToken"), "id"));
}

const char *frame_misfit(const json_t *tokenizer)
{
    const json_t *post = json_object_get(tokenizer, "post_processor");
    const char *first = token_beside(post, false), *last = token_beside(post, true);
    if (id_in_json(tokenizer, first) >= 0 && id_in_json(tokenizer, last) >= 0) return NULL;
    return "llama.cpp puts a text of an encoder between two tokens, such as [CLS] and [SEP], and this tokenizer does not";
}

/* The end of a text is said twice: as llama.cpp's converter does. */
void put_encoder_tokens(Writer *w)
{
    const json_t *t = w->g->tokenizer, *post = json_object_get(t, "post_processor");
    const char *unknown = json_string_value(json_object_get(json_object_get(t, "model"), "unk_token"));
    const char *text[SPECIALS][3] = {{token_beside(post, false)},
                                     {token_beside(post, true)},
                                     {unknown, "<unk>", "[UNK]"},
                                     {"[PAD]", "<pad>"},
                                     {"[MASK]", "<mask>"}};
    for (int k = 0; k < SPECIALS; k++) {
        int64_t id = -1;
        for (int i = 0; i < 3 && id < 0; i++) id = id_in_json(t, text[k][i]);
        if (id >= 0) put_integer_key(w, specials[k].key, id);
        if (k == SEP_TOKEN) put_integer_key(w, "tokenizer.ggml.eos_token_id", id);
    }
    put_flag_key(w, "tokenizer.ggml.add_eos_token", true);
    put_flag_key(w, "tokenizer.ggml.add_sep_token", w->a->lead > 0);
    if (!has_wordpiece(t)) return;
    const json_t *normalizer = json_object_get(t, "normalizer"), *strips = json_object_get(normalizer, "strip_accents");
    put_flag_key(w, "tokenizer.ggml.normalizer.lowercase", !is_off(normalizer, "lowercase"));
    if (json_is_boolean(strips)) put_flag_key(w, "tokenizer.ggml.normalizer.strip_accents", json_is_true(strips));
}
