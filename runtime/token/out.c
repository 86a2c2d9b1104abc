/* out.c: writes tokenizer.json of Hugging Face's tokenizers, for byte-level BPE, Unigram models and words. */
#include "base/json_text.h"
#include "base/utf8.h"
#include "base/words.h"
#include "token/token.h"
#include "token/tokenizer.h"

static char *letters_of_bytes(const char *at, int64_t n, size_t *bytes)
{
    char *out = must_alloc(2 * (size_t)n + 1), *to = out;
    for (int64_t i = 0; i < n; i++) to += encode_utf8(letter_of_byte((unsigned char)at[i]), to);
    *bytes = (size_t)(to - out);
    return out;
}

static const Special *special_with(const Tokenizer *t, int32_t id)
{
    for (int i = 0; i < t->specials; i++)
        if (t->special[i].id == id) return &t->special[i];
    return NULL;
}

/* The token's name in the file; from malloc. */
static char *name_of(const Tokenizer *t, int32_t id, size_t *bytes)
{
    int64_t n;
    const char *at = string_at(&t->token, id, &n);
    bool found = n > 0 && find_string(&t->token, at, n) == id;
    if (t->kind == TOKEN_BPE && found) return letters_of_bytes(at, n, bytes);
    if (t->kind == TOKEN_UNIGRAM && n == 1 && !found) {
        *bytes = 6;
        return text_of("<0x%02X>", (unsigned)(unsigned char)at[0]);
    }
    char *own = must_alloc((size_t)n + 1);
    if (n) memcpy(own, at, (size_t)n);
    *bytes = (size_t)n;
    return own;
}

/* Of a unigram model: [[token, log probability], …]; special tokens after them are only among the added tokens. */
static json_t *pieces_json(const Tokenizer *t)
{
    json_t *all = json_array();
    for (int32_t id = 0; id < t->n; id++) {
        size_t n;
        char *name = name_of(t, id, &n);
        if (id == t->unknown || !special_with(t, id))
            add_json(all, json_pack("[o, f]", json_stringn(name, n), t->score[id]));
        free(name);
    }
    return all;
}

static json_t *vocab_json(const Tokenizer *t)
{
    json_t *all = json_object();
    for (int32_t id = 0; id < t->n; id++) {
        size_t n;
        char *name = name_of(t, id, &n);
        if (n || id == t->n - 1)
            json_object_setn_new(all, name, n, json_integer(id)); /* the last gives the number of ids */
        free(name);
    }
    return all;
}

static json_t *merge_json(const Tokenizer *t, int32_t left, int32_t right)
{
    size_t n, m;
    char *a = name_of(t, left, &n), *b = name_of(t, right, &m), *both = text_of("%s %s", a, b);
    json_t *merge = json_stringn(both, n + 1 + m);
    free(a);
    free(b);
    free(both);
    return merge;
}

/* tiktoken: each way to make a token of two, in the order of the tokens. */
static void add_ways(const Tokenizer *t, int32_t id, json_t *all)
{
    int64_t n;
    const char *at = string_at(&t->token, id, &n);
    for (int64_t k = 1; k < n; k++) {
        int32_t left = find_string(&t->token, at, k), right = left < 0 ? -1 : find_string(&t->token, at + k, n - k);
        if (right >= 0) add_json(all, merge_json(t, left, right));
    }
}

static json_t *merges_json(const Tokenizer *t)
{
    json_t *all = json_array();
    for (int32_t id = 0; t->by_token && id < t->n; id++)
        if (!special_with(t, id)) add_ways(t, id, all);
    for (int64_t k = 0; k < t->merges; k++) add_json(all, merge_json(t, t->merge[k][0], t->merge[k][1]));
    return all;
}

static json_t *unknown_json(const Tokenizer *t)
{
    int64_t n;
    if (t->unknown < 0) return json_null();
    const char *at = string_at(&t->token, t->unknown, &n);
    return json_stringn(at, (size_t)n);
}

static json_t *model_json(const Tokenizer *t)
{
    if (t->kind == TOKEN_UNIGRAM)
        return json_pack("{s:s, s:i, s:b, s:o}", "type", "Unigram", "unk_id", (int)t->unknown, "byte_fallback", 1,
                         "vocab", pieces_json(t));
    if (t->kind == TOKEN_WORDS)
        return json_pack("{s:s, s:o, s:o}", "type", "WordLevel", "vocab", vocab_json(t), "unk_token", unknown_json(t));
    json_t *all =
        json_pack("{s:s, s:n, s:o, s:n, s:n, s:b, s:b, s:b, s:o, s:o}", "type", "BPE", "dropout", "unk_token",
                  unknown_json(t), "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk", 0, "byte_fallback", 0,
                  "ignore_merges", t->whole, "vocab", vocab_json(t), "merges", merges_json(t));
    if (t->by_token) put_json(all, "by_token", json_true());
    return all;
}

static json_t *byte_level(bool space, bool regex)
{
    return json_pack("{s:s, s:b, s:b, s:b}", "type", "ByteLevel", "add_prefix_space", space, "trim_offsets", 1,
                     "use_regex", regex);
}

static json_t *stage_json(const Split *p)
{
    if (p->digits)
        return json_pack("{s:s, s:b}", "type", "Digits", "individual_digits", strcmp(p->pattern, "\\p{N}") == 0);
    return json_pack("{s:s, s:{s:s}, s:s, s:b}", "type", "Split", "pattern", "Regex", p->pattern, "behavior",
                     p->only ? "Removed" : "Isolated", "invert", p->only);
}

static json_t *pre_tokenizer_json(const Tokenizer *t)
{
    json_t *list = json_array();
    if (t->kind == TOKEN_WORDS) {
        json_decref(list);
        if (!t->punctuation) return json_pack("{s:s}", "type", "WhitespaceSplit");
        return json_pack("{s:s, s:[{s:s}, {s:s, s:s}]}", "type", "Sequence", "pretokenizers", "type", "WhitespaceSplit",
                         "type", "Punctuation", "behavior", "Isolated");
    }
    if (t->kind == TOKEN_UNIGRAM) {
        for (int i = 0; i < t->stages; i++) add_json(list, stage_json(&t->stage[i]));
        return json_pack("{s:s, s:o}", "type", "Sequence", "pretokenizers", list);
    }
    bool last = t->stages && strcmp(t->stage[t->stages - 1].pattern, published_pattern("gpt2")) == 0 &&
                !t->stage[t->stages - 1].only;
    for (int i = 0; i < t->stages - last; i++) add_json(list, stage_json(&t->stage[i]));
    json_t *bytes = byte_level(t->prefix_space, last);
    if (json_array_size(list) == 0) {
        json_decref(list);
        return bytes;
    }
    add_json(list, bytes);
    return json_pack("{s:s, s:o}", "type", "Sequence", "pretokenizers", list);
}

static json_t *added_json(const Tokenizer *t)
{
    json_t *all = json_array();
    for (int i = 0; i < t->specials; i++) {
        const Special *s = &t->special[i];
        add_json(all, json_pack("{s:i, s:s%, s:b, s:b, s:b, s:b, s:b}", "id", (int)s->id, "content", s->text,
                                (size_t)s->bytes, "single_word", 0, "lstrip", s->left, "rstrip", s->right, "normalized",
                                0, "special", 1));
    }
    return all;
}

static json_t *decoder_json(const Tokenizer *t)
{
    if (t->kind == TOKEN_WORDS) return json_null();
    if (t->kind == TOKEN_BPE) return byte_level(true, true);
    return json_pack("{s:s, s:[{s:s}, {s:s}]}", "type", "Sequence", "decoders", "type", "ByteFallback", "type", "Fuse");
}

static json_t *normalizer_json(const Tokenizer *t)
{
    const char *type = t->lower ? "Lowercase" : only_form(t->normals);
    return type ? json_pack("{s:s}", "type", type) : json_null();
}

char *hf_text(const Tokenizer *t)
{
    json_t *all =
        json_pack("{s:s, s:n, s:n, s:o, s:o, s:o, s:n, s:o, s:o}", "version", "1.0", "truncation", "padding",
                  "added_tokens", added_json(t), "normalizer", normalizer_json(t), "pre_tokenizer",
                  pre_tokenizer_json(t), "post_processor", "decoder", decoder_json(t), "model", model_json(t));
    bug_if(!all);
    char *text = json_written(all, JSON_INDENT(1));
    json_decref(all);
    return text;
}
