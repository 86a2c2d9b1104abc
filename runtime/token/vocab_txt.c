/* vocab_txt.c: a list of BERT's pieces, vocab.txt, and its tokenizer_config.json, as the tokenizer.json that
 * transformers' BertTokenizer makes of them: a piece a line, whose number is its id. */
#include "base/json_text.h"
#include "base/words.h"
#include "token/token.h"
#include "token/tokenizer.h"

/* ------------------------------------------------------------------ the configuration, which may be missing */

static const char *const classes[] = {"BertTokenizer",           "BertTokenizerFast",      "DistilBertTokenizer",
                                      "DistilBertTokenizerFast", "ElectraTokenizer",       "ElectraTokenizerFast",
                                      "MobileBertTokenizer",     "MobileBertTokenizerFast"};

static void check_class(const char *path, const json_t *config)
{
    const char *class = json_string_value(json_object_get(config, "tokenizer_class"));
    bool known = !class;
    for (size_t i = 0; i < sizeof classes / sizeof *classes && !known; i++) known = strcmp(class, classes[i]) == 0;
    if (!known)
        fail(EXIT_DATA, path, "expected a list of BERT's pieces, found that of %.60s; save it as tokenizer.json",
             class);
    if (json_is_false(json_object_get(config, "do_basic_tokenize")))
        fail(EXIT_DATA, path,
             "expected do_basic_tokenize, found false in tokenizer_config.json; save it as tokenizer.json");
}

/* "[CLS]", or {"content": "[CLS]", …} */
static const char *special_named(const json_t *config, const char *key, const char *usual)
{
    const json_t *said = json_object_get(config, key), *inner = json_object_get(said, "content");
    const char *text = json_string_value(inner ? inner : said);
    return text ? text : usual;
}

static json_t *switch_of(const json_t *config, const char *key, json_t *usual)
{
    json_t *said = json_object_get(config, key);
    if (!json_is_boolean(said)) return usual;
    json_decref(usual);
    return json_incref(said);
}

/* ------------------------------------------------------------------ the parts of tokenizer.json */

/* Where the piece of a line ends: as in transformers, white space at the end is none of it. */
static const char *end_of_piece(const char *at, const char *stop)
{
    while (stop > at) {
        const char *last = stop - 1;
        while (last > at && (*last & 0xc0) == 0x80) last--;
        if (!is_space_at(last, stop - last)) break;
        stop = last;
    }
    return stop;
}

static void refuse_twin(const char *place, const char *piece, bool last)
{
    if (!*piece)
        fail(EXIT_DATA, place, "expected a piece, found a blank line, as an earlier one is%s; each line is an id",
             last ? ", at the end of the file" : "");
    fail(EXIT_DATA, place, "the piece \"%.60s\" stands in an earlier line, too; each line is an id", piece);
}

/* To transformers it is a piece, too; usually the file was edited. */
static void tell_blank_line(const char *path, const json_t *vocab, int64_t lines)
{
    const json_t *blank = json_object_get(vocab, "");
    if (!blank || json_integer_value(blank) != lines - 1) return;
    note("%s:%lld: the last line is blank and counts as a piece; take it out if the model has one row of ids less",
         path, (long long)lines);
}

/* Lines end as Python reads them: in \n, \r\n or \r. */
static json_t *pieces_of_lines(const char *path, const char *at, int64_t n)
{
    json_t *all = json_object();
    int64_t id = 0;
    for (const char *end = at + n; at < end; id++) {
        const char *stop = at;
        while (stop < end && *stop != '\n' && *stop != '\r') stop++;
        json_t *piece = json_stringn(at, (size_t)(end_of_piece(at, stop) - at));
        char *place = text_of("%s:%lld", path, (long long)id + 1);
        if (!piece || memchr(at, 0, (size_t)(stop - at)))
            fail(EXIT_DATA, place, "expected a piece in UTF-8, found other bytes");
        if (json_object_get(all, json_string_value(piece)))
            refuse_twin(place, json_string_value(piece), stop + 1 >= end);
        put_json(all, json_string_value(piece), json_integer(id));
        json_decref(piece);
        free(place);
        at = stop + (stop < end) + (stop + 1 < end && stop[0] == '\r' && stop[1] == '\n');
    }
    tell_blank_line(path, all, id);
    return all;
}

/* Tokens that tokenizer_config.json lists by their ids, with how they are found in text. */
static void add_decoded(json_t *added, json_t *listed)
{
    const char *id;
    json_t *token;
    json_object_foreach(listed, id, token)
    {
        json_t *copy = json_deep_copy(token);
        int64_t number;
        if (!parse_count(id, &number) || !json_string_value(json_object_get(token, "content"))) continue;
        put_json(copy, "id", json_integer(number));
        add_json(added, copy);
    }
}

static bool has_added(const json_t *added, const char *text)
{
    size_t i;
    json_t *token;
    json_array_foreach(added, i,
                       token) if (strcmp(json_string_value(json_object_get(token, "content")), text) == 0) return true;
    return false;
}

enum { UNKNOWN, CLS, SEP, SPECIALS = 5 };

static json_t *added_tokens(const char *path, const json_t *vocab, const json_t *config, const char *special[SPECIALS])
{
    static const char *const keys[SPECIALS][2] = {{"unk_token", "[UNK]"},
                                                  {"cls_token", "[CLS]"},
                                                  {"sep_token", "[SEP]"},
                                                  {"pad_token", "[PAD]"},
                                                  {"mask_token", "[MASK]"}};
    json_t *added = json_array();
    add_decoded(added, json_object_get(config, "added_tokens_decoder"));
    for (int i = 0; i < SPECIALS; i++) {
        const char *text = special[i] = special_named(config, keys[i][0], keys[i][1]);
        const json_t *id = json_object_get(vocab, text);
        if (!id && i <= SEP) fail(EXIT_DATA, path, "expected a line with the %s %.60s, found none", keys[i][0], text);
        if (id && !has_added(added, text))
            add_json(added, json_pack("{s:I, s:s, s:b, s:b, s:b, s:b, s:b}", "id", json_integer_value(id), "content",
                                      text, "single_word", 0, "lstrip", 0, "rstrip", 0, "normalized", 0, "special", 1));
    }
    return added;
}

static json_t *token_part(const char *id, int type)
{
    return json_pack("{s:{s:s, s:i}}", "SpecialToken", "id", id, "type_id", type);
}

static json_t *text_part(const char *id, int type)
{
    return json_pack("{s:{s:s, s:i}}", "Sequence", "id", id, "type_id", type);
}

static json_t *special_part(const char *text, const json_t *vocab)
{
    return json_pack("{s:s, s:[I], s:[s]}", "id", text, "ids", json_integer_value(json_object_get(vocab, text)),
                     "tokens", text);
}

static json_t *frame_json(const char *cls, const char *sep, const json_t *vocab)
{
    return json_pack("{s:s, s:[o, o, o], s:[o, o, o, o, o], s:{s:o, s:o}}", "type", "TemplateProcessing", "single",
                     token_part(cls, 0), text_part("A", 0), token_part(sep, 0), "pair", token_part(cls, 0),
                     text_part("A", 0), token_part(sep, 0), text_part("B", 1), token_part(sep, 1), "special_tokens",
                     cls, special_part(cls, vocab), sep, special_part(sep, vocab));
}

json_t *tokenizer_of_pieces(const char *path, json_t *vocab, const json_t *config)
{
    const char *special[SPECIALS];
    json_t *added = added_tokens(path, vocab, config, special);
    json_t *all = json_pack(
        "{s:s, s:n, s:n, s:o, s:{s:s, s:b, s:o, s:o, s:o}, s:{s:s}, s:o, s:{s:s, s:s, s:b}, s:{s:s, s:s, s:s, s:i, "
        "s:o}}",
        "version", "1.0", "truncation", "padding", "added_tokens", added, "normalizer", "type", "BertNormalizer",
        "clean_text", 1, "handle_chinese_chars", switch_of(config, "tokenize_chinese_chars", json_true()),
        "strip_accents", switch_of(config, "strip_accents", json_null()), "lowercase",
        switch_of(config, "do_lower_case", json_true()), "pre_tokenizer", "type", "BertPreTokenizer", "post_processor",
        frame_json(special[CLS], special[SEP], vocab), "decoder", "type", "WordPiece", "prefix", "##", "cleanup", 1,
        "model", "type", "WordPiece", "unk_token", special[UNKNOWN], "continuing_subword_prefix", "##",
        "max_input_chars_per_word", 100, "vocab", vocab);
    bug_if(!all);
    return all;
}

char *json_of_pieces(const char *path, const char *text, int64_t n, const json_t *config)
{
    check_class(path, config);
    json_t *all = tokenizer_of_pieces(path, pieces_of_lines(path, text, n), config);
    char *written = json_dumps(all, JSON_COMPACT);
    json_decref(all);
    return written;
}
