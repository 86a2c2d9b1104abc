/* gguf_tokens.c: the tokenizer of a GGUF file as Hugging Face's files: tokenizer.json, tokenizer_config.json,
 * generation_config.json.
 *
 * A file says by a name how text is cut into pieces (tokenizer.ggml.pre), and llama.cpp has the expressions of that
 * name.  It normalises nothing. */
#include "base/json_text.h"
#include "base/words.h"
#include "model/gguf.h"

#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ how text is cut */

#define CONTRACTIONS "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define GPT2         "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"
#define GPT4(numbers)                                                                                                  \
    CONTRACTIONS "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|" numbers                                                             \
                 "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define DIGIT "\\p{N}"

#define QWEN35                                                                                                         \
    CONTRACTIONS "|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|\\p{N}| ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+"    \
                 "|\\s+(?!\\S)|\\s+"
/* Mistral's; llama.cpp takes letters beyond ASCII for small and for capital ones at once. */
#define CAPITAL "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define SMALL   "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"
#define TEKKEN                                                                                                         \
    "[^\\r\\n\\p{L}\\p{N}]?" CAPITAL "*" SMALL "+|[^\\r\\n\\p{L}\\p{N}]?" CAPITAL "+" SMALL "*|\\p{N}"                 \
    "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define FALCON_MARKS "[\\p{P}\\$\\+<=>\\^~\\|`]+"
#define MARKS        "[\\p{P}\\$\\+<=>\\^~\\|]+"
#define IDEOGRAPHS   "[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+"

enum { MOST_CUTS = 5 };

/* Of several names for the same, the first is written. */
static const struct {
    const char *names;              /* tokenizer.ggml.pre */
    const char *pattern[MOST_CUTS]; /* expressions, one after the other; each match is a piece */
    bool whole;                     /* a piece that is a token is not merged */
    bool first;                     /* a text begins with a token unless the file says no */
} cuts[] = {
    {"gpt-2 phi-2 mpt olmo jais roberta-bpe modern-bert", {GPT2}, false, false},
    {"smollm starcoder refact command-r codeshell exaone", {DIGIT, GPT2}, false, false},
    {"llama-bpe llama3 llama-v3 falcon3", {GPT4("\\p{N}{1,3}")}, true, true},
    {"dbrx smaug-bpe chatglm-bpe", {GPT4("\\p{N}{1,3}")}, false, false},
    {"qwen2 deepseek-r1-qwen stablelm2 hunyuan", {GPT4(DIGIT)}, false, false},
    {"qwen35", {QWEN35}, false, false},
    {"tekken", {TEKKEN}, true, true},
    {"deepseek-coder", {"[\r\n]", "\\s?\\p{L}+", "\\s?\\p{P}+", IDEOGRAPHS, DIGIT}, false, false},
    {"falcon", {FALCON_MARKS, GPT2, "[0-9][0-9][0-9]"}, false, false},
    {"default", {MARKS, GPT2, "\\p{N}+", "[0-9][0-9][0-9]"}, false, false},
};
enum { CUTS = sizeof cuts / sizeof *cuts };

static bool has_name(const char *names, const char *name)
{
    size_t n = strlen(name);
    for (const char *at = names; n && (at = strstr(at, name)); at += n)
        if ((at == names || at[-1] == ' ') && (at[n] == ' ' || at[n] == 0)) return true;
    return false;
}

/* As the tokenizer.json of such a model has it: letters for bytes come last. */
static json_t *cut_json(int k)
{
    json_t *all = json_array();
    bool last = false;
    for (int i = 0; i < MOST_CUTS && cuts[k].pattern[i]; i++) {
        const char *pattern = cuts[k].pattern[i];
        last = strcmp(pattern, GPT2) == 0 && !(i + 1 < MOST_CUTS && cuts[k].pattern[i + 1]);
        if (strcmp(pattern, DIGIT) == 0)
            add_json(all, json_pack("{s:s, s:b}", "type", "Digits", "individual_digits", 1));
        else if (!last)
            add_json(all, json_pack("{s:s, s:{s:s}, s:s, s:b}", "type", "Split", "pattern", "Regex", pattern,
                                    "behavior", "Isolated", "invert", 0));
    }
    add_json(all, json_pack("{s:s, s:b, s:b, s:b}", "type", "ByteLevel", "add_prefix_space", 0, "trim_offsets", 1,
                            "use_regex", last));
    if (json_array_size(all) > 1) return json_pack("{s:s, s:o}", "type", "Sequence", "pretokenizers", all);
    json_t *only = json_incref(json_array_get(all, 0));
    json_decref(all);
    return only;
}

static bool flag_in(const json_t *part, const char *name, bool absent)
{
    const json_t *value = json_object_get(part, name);
    return value ? json_is_true(value) : absent;
}

/* The expression of a part of a pre-tokenizer; "": it cuts nothing; NULL: it is none of what the table has. */
static const char *expression_of(const json_t *part)
{
    const char *type = json_string_value(json_object_get(part, "type")),
               *regex = json_string_value(json_object_get(json_object_get(part, "pattern"), "Regex")),
               *behavior = json_string_value(json_object_get(part, "behavior"));
    if (!type) return NULL;
    if (strcmp(type, "Digits") == 0) return flag_in(part, "individual_digits", false) ? DIGIT : "\\p{N}+";
    if (strcmp(type, "ByteLevel") == 0 && !flag_in(part, "add_prefix_space", true))
        return flag_in(part, "use_regex", true) ? GPT2 : "";
    return strcmp(type, "Split") == 0 && behavior && strcmp(behavior, "Isolated") == 0 ? regex : NULL;
}

/* Whether the parts of a pre-tokenizer cut as row k. */
static bool cuts_as(int k, const json_t *parts)
{
    size_t i;
    json_t *part;
    int n = 0;
    json_array_foreach((json_t *)parts, i, part)
    {
        const char *pattern = expression_of(part), *known = n < MOST_CUTS ? cuts[k].pattern[n] : NULL;
        if (!pattern || (*pattern && (!known || strcmp(pattern, known) != 0))) return false;
        n += *pattern != 0;
    }
    return n == MOST_CUTS || !cuts[k].pattern[n];
}

char *gguf_pre(const json_t *tokenizer)
{
    const json_t *pre = json_object_get(tokenizer, "pre_tokenizer"), *model = json_object_get(tokenizer, "model"),
                 *parts = json_object_get(pre, "pretokenizers");
    bool whole = json_is_true(json_object_get(model, "ignore_merges"));
    json_t *list = parts ? json_incref((json_t *)parts) : json_pack("[O]", pre);
    int k = 0;
    while (k < CUTS && (cuts[k].whole != whole || !cuts_as(k, list))) k++;
    json_decref(list);
    if (k == CUTS) return NULL;
    return text_of("%.*s", (int)strcspn(cuts[k].names, " "), cuts[k].names);
}

char *gguf_pres(void)
{
    char *all = text_of("%s", "");
    for (int k = 0; k < CUTS; k++) {
        char *more = text_of("%s%s%s", all, k ? ", " : "", cuts[k].names);
        free(all);
        all = more;
    }
    return all;
}

json_t *gguf_tokens(const Store *s) { return json_object_get(s->header, "tokenizer.ggml.tokens"); }

const char *gguf_word(const Store *s, const char *key)
{
    const char *word = json_string_value(json_object_get(s->header, key));
    return word ? word : "none";
}

/* The row of cuts; -1: none. */
static int cut_of(const Store *s)
{
    const char *model = gguf_word(s, "tokenizer.ggml.model"), *pre = gguf_word(s, "tokenizer.ggml.pre");
    for (int k = 0; strcmp(model, "gpt2") == 0 && k < CUTS; k++)
        if (has_name(cuts[k].names, pre)) return k;
    return -1;
}

static int known_cut_of(const Store *s)
{
    int k = cut_of(s);
    if (k >= 0) return k;
    fail(
        EXIT_DATA, s->path,
        "\"tokenizer.ggml.model\": expected llama, or gpt2 with a \"tokenizer.ggml.pre\" of %s; found model %.60s, pre "
        "%.60s, which is not read from GGUF yet; --tokenizer FILE gives the model's tokenizer.json",
        gguf_pres(), gguf_word(s, "tokenizer.ggml.model"), gguf_word(s, "tokenizer.ggml.pre"));
}

/* ------------------------------------------------------------------ tokens */

/* As tokenizer.json has it, from malloc. */
static char *shown_token(const Store *s, const char *text, int type)
{
    return is_wordpiece(s) ? piece_of_token(text, type) : text_of("%s", text);
}

static json_t *vocab_of(const Store *s, json_t *added)
{
    const json_t *types = json_object_get(s->header, "tokenizer.ggml.token_type");
    json_t *vocab = json_object(), *token;
    size_t i;
    if (types && json_array_size(types) != json_array_size(gguf_tokens(s)))
        fail(EXIT_DATA, s->path,
             "\"tokenizer.ggml.token_type\": expected a list as long as that of tokens; the file is damaged");
    json_array_foreach(gguf_tokens(s), i, token)
    {
        const char *text = json_string_value(token);
        if (!text || !*text || (!is_wordpiece(s) && json_object_get(vocab, text)))
            fail(EXIT_DATA, s->path,
                 "\"tokenizer.ggml.tokens\"[%zu]: expected a text that no other token has; the file is damaged", i);
        json_int_t type = json_integer_value(json_array_get(types, i));
        char *piece = shown_token(s, text, (int)type);
        if (json_object_get(vocab, piece))
            fail(EXIT_DATA, s->path,
                 "\"tokenizer.ggml.tokens\"[%zu]: is the piece %.60s, as an earlier one is; the file is damaged", i,
                 piece);
        json_object_set_new(vocab, piece, json_integer((json_int_t)i));
        free(piece);
        if (type == CONTROL_TOKEN || type == USERS_TOKEN || type == UNKNOWN_TOKEN)
            add_json(added, json_pack("{s:I, s:O, s:b, s:b, s:b, s:b, s:b}", "id", (json_int_t)i, "content", token,
                                      "single_word", 0, "lstrip", 0, "rstrip", 0, "normalized", 0, "special",
                                      type != USERS_TOKEN));
    }
    return vocab;
}

/* The text of the token that a key names; NULL: the file lacks the key. */
static const char *token_at(const Store *s, const char *key)
{
    if (!json_object_get(s->header, key)) return NULL;
    int64_t id = gguf_integer(s, key, -1);
    const char *text = json_string_value(json_array_get(gguf_tokens(s), (size_t)id));
    if (!text)
        fail(EXIT_DATA, s->path, "\"%s\": expected an id below the %zu tokens, found %lld; the file is damaged", key,
             json_array_size(gguf_tokens(s)), (long long)id);
    return text;
}

/* The token before a text, if the file wants one. */
static json_t *post_processor_of(const Store *s, bool absent)
{
    const Architecture *a = architecture_of(s);
    if (a->tokenizer) return frame_of_encoder(s, a);
    const char *key = "tokenizer.ggml.bos_token_id", *first = token_at(s, key);
    if (!flag_in(s->header, "tokenizer.ggml.add_bos_token", absent)) return json_null();
    if (!first)
        fail(EXIT_DATA, s->path, "lacks \"%s\", and wants that token before each text; the file is damaged", key);
    json_t *id = json_object_get(s->header, key);
    return json_pack("{s:s, s:[{s:{s:s, s:i}}, {s:{s:s, s:i}}], s:[], s:{s:{s:s, s:[O], s:[s]}}}", "type",
                     "TemplateProcessing", "single", "SpecialToken", "id", first, "type_id", 0, "Sequence", "id", "A",
                     "type_id", 0, "pair", "special_tokens", first, "id", first, "ids", id, "tokens", first);
}

static bool is_sentencepiece(const Store *s) { return strcmp(gguf_word(s, "tokenizer.ggml.model"), "llama") == 0; }

/* A blank before a text and after each special token, as llama.cpp puts it; then the sign for blanks. */
static json_t *blanks_json(const Store *s)
{
    json_t *sign =
        json_pack("{s:s, s:{s:s}, s:s}", "type", "Replace", "pattern", "String", " ", "content", "\xe2\x96\x81");
    if (!flag_in(s->header, "tokenizer.ggml.add_space_prefix", true)) return sign;
    return json_pack("{s:s, s:[{s:s, s:s}, o]}", "type", "Sequence", "normalizers", "type", "Prepend", "prepend",
                     "\xe2\x96\x81", sign);
}

/* Back to text: bytes, and without the blank before it. */
static json_t *signed_decoder_json(const json_t *blanks)
{
    json_t *all = json_pack("[{s:s, s:{s:s}, s:s}, {s:s}, {s:s}]", "type", "Replace", "pattern", "String",
                            "\xe2\x96\x81", "content", " ", "type", "ByteFallback", "type", "Fuse");
    if (json_object_get(blanks, "normalizers"))
        add_json(all, json_pack("{s:s, s:s, s:i, s:i}", "type", "Strip", "content", " ", "start", 1, "stop", 0));
    return json_pack("{s:s, s:o}", "type", "Sequence", "decoders", all);
}

static json_t *sentencepiece_json(const Store *s)
{
    json_t *added = json_array(), *vocab = vocab_of(s, added), *unknown = json_null(), *blanks = blanks_json(s);
    const char *first = token_at(s, "tokenizer.ggml.unknown_token_id");
    if (first) unknown = json_string(first);
    return json_pack("{s:s, s:n, s:n, s:o, s:o, s:n, s:o, s:o, s:{s:s, s:o, s:b, s:b, s:o, s:o}}", "version", "1.0",
                     "truncation", "padding", "added_tokens", added, "normalizer", blanks, "pre_tokenizer",
                     "post_processor", post_processor_of(s, true), "decoder", signed_decoder_json(blanks), "model",
                     "type", "BPE", "unk_token", unknown, "fuse_unk", 1, "byte_fallback", 1, "merges",
                     merges_of_scores(s, vocab, added), "vocab", vocab);
}

json_t *gguf_tokenizer(const Store *s)
{
    if (is_sentencepiece(s)) return sentencepiece_json(s);
    if (is_wordpiece(s)) {
        json_t *all = json_array();
        return wordpiece_json(s, vocab_of(s, all), all);
    }
    int k = known_cut_of(s);
    json_t *merges = json_object_get(s->header, "tokenizer.ggml.merges"), *added = json_array(),
           *vocab = vocab_of(s, added);
    if (!json_is_array(merges)) fail(EXIT_DATA, s->path, "lacks \"tokenizer.ggml.merges\"; the file is damaged");
    return json_pack("{s:s, s:n, s:n, s:o, s:n, s:o, s:o, s:{s:s, s:b, s:b, s:b}, s:{s:s, s:b, s:b, s:b, s:O, s:o}}",
                     "version", "1.0", "truncation", "padding", "added_tokens", added, "normalizer", "pre_tokenizer",
                     cut_json(k), "post_processor", post_processor_of(s, cuts[k].first), "decoder", "type", "ByteLevel",
                     "add_prefix_space", 1, "trim_offsets", 1, "use_regex", 1, "model", "type", "BPE", "fuse_unk", 0,
                     "byte_fallback", 0, "ignore_merges", cuts[k].whole, "merges", merges, "vocab", vocab);
}

bool has_sentencepiece(const json_t *tokenizer)
{
    return json_is_true(json_object_get(json_object_get(tokenizer, "model"), "byte_fallback"));
}

bool prepends_blank(const json_t *tokenizer)
{
    const json_t *pre = json_object_get(tokenizer, "pre_tokenizer"),
                 *parts = json_object_get(json_object_get(tokenizer, "normalizer"), "normalizers");
    const char *scheme = json_string_value(json_object_get(pre, "prepend_scheme"));
    size_t i;
    json_t *part;
    json_array_foreach((json_t *)parts, i, part)
    {
        const char *type = json_string_value(json_object_get(part, "type"));
        if (type && strcmp(type, "Prepend") == 0) return true;
    }
    return scheme ? strcmp(scheme, "never") != 0 : flag_in(pre, "add_prefix_space", json_is_object(pre));
}

bool gguf_has_tokens(const char *path, const char *tokenizer)
{
    Store s;
    read_gguf(&s, path);
    size_t i;
    json_t *token, *all = json_loads(tokenizer, JSON_ALLOW_NUL, NULL), *added = json_array(),
                   *theirs = vocab_of(&s, added), *types = json_object_get(s.header, "tokenizer.ggml.token_type"),
                   *own = json_deep_copy(json_object_get(json_object_get(all, "model"), "vocab"));
    json_array_foreach(json_object_get(all, "added_tokens"), i, token)
    {
        const char *text = json_string_value(json_object_get(token, "content"));
        if (json_is_object(own) && text) json_object_set(own, text, json_object_get(token, "id"));
    }
    json_array_foreach(gguf_tokens(&s), i, token)
    {
        if (json_integer_value(json_array_get(types, i)) != UNUSED_TOKEN) continue;
        char *piece = shown_token(&s, json_string_value(token), UNUSED_TOKEN);
        json_object_del(theirs, piece);
        free(piece);
    }
    bool same = json_is_object(own) && json_equal(own, theirs);
    json_decref(all);
    json_decref(added);
    json_decref(theirs);
    json_decref(own);
    close_store(&s);
    return same;
}

bool gguf_tokenizer_is_known(const char *path)
{
    Store s;
    read_gguf(&s, path);
    bool known = cut_of(&s) >= 0 || is_sentencepiece(&s) || is_wordpiece(&s);
    close_store(&s);
    return known;
}

json_t *gguf_tokenizer_config(const Store *s)
{
    json_t *all = json_pack("{s:s}", "tokenizer_class", "PreTrainedTokenizerFast");
    json_t *template = json_object_get(s->header, "tokenizer.chat_template");
    const char *first = token_at(s, "tokenizer.ggml.bos_token_id"), *last = token_at(s, "tokenizer.ggml.eos_token_id");
    if (json_is_string(template)) json_object_set(all, "chat_template", template);
    if (first) put_json(all, "bos_token", json_string(first));
    if (last) put_json(all, "eos_token", json_string(last));
    if (architecture_of(s)->tokenizer) put_special_tokens(s, all);
    return all;
}

/* Texts end at the end of a text, of a turn and of a message. */
json_t *gguf_generation_config(const Store *s)
{
    static const char *const ends[] = {"tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id",
                                       "tokenizer.ggml.eom_token_id"};
    static const char *const others[][2] = {{"tokenizer.ggml.bos_token_id", "bos_token_id"},
                                            {"tokenizer.ggml.padding_token_id", "pad_token_id"}};
    json_t *all = json_object(), *ids = json_array(), *value;
    for (int i = 0; i < 2; i++)
        if ((value = json_object_get(s->header, others[i][0]))) json_object_set(all, others[i][1], value);
    for (int i = 0; i < 3; i++)
        if (token_at(s, ends[i])) json_array_append(ids, json_object_get(s->header, ends[i]));
    if (json_array_size(ids) == 1) json_object_set(all, "eos_token_id", json_array_get(ids, 0));
    else if (json_array_size(ids)) json_object_set(all, "eos_token_id", ids);
    json_decref(ids);
    return all;
}
