/* chars.c: tokenizers of bytes and of characters: their numbering, and their tokenizer.json: our own format in
 * checkpoints, and Hugging Face's in exports.
 *
 * In the latter, bytes are a BPE without merges over GPT-2's letters for the 256 bytes; characters are words
 * (WordLevel) of one letter each, into which the text is split, and an unknown one is an error, as it is here. */
#include "base/json_text.h"
#include "base/utf8.h"
#include "base/words.h"
#include "token/token.h"
#include "token/tokenizer.h"

/* ------------------------------------------------------------------ numbering */

void number_characters(Tokenizer *t)
{
    t->n = 0;
    for (int c = 0; c < CODE_POINTS; c++) t->n += t->id[c] != 0;
    t->character = must_alloc(sizeof *t->character * (size_t)t->n);
    for (int c = 0, n = 0; c < CODE_POINTS; c++)
        if (t->id[c]) {
            t->character[n++] = (uint32_t)c;
            t->id[c] = n;
        }
}

/* Printable bytes are their own letters; the others get consecutive letters from U+0100 on. */
uint32_t letter_of_byte(int byte)
{
    uint32_t n = 256;
    for (int b = 0; b < 256; b++) {
        bool itself = (b > 32 && b < 127) || (b > 160 && b < 173) || b > 173;
        if (b == byte) return itself ? (uint32_t)b : n;
        n += !itself;
    }
    bug_if(true);
    return 0;
}

int byte_of_letter(uint32_t letter)
{
    static const short others[] = {127, 128, 129, 130, 131, 132, 133, 134, 135, 136, 137, 138,
                                   139, 140, 141, 142, 143, 144, 145, 146, 147, 148, 149, 150,
                                   151, 152, 153, 154, 155, 156, 157, 158, 159, 160, 173};
    if (letter >= 0x100 && letter <= 0x120) return (int)letter - 0x100;
    if (letter > 0x120 && letter < 0x121 + sizeof others / sizeof *others) return others[letter - 0x121];
    return (letter > 32 && letter < 127) || (letter > 160 && letter < 256 && letter != 173) ? (int)letter : -1;
}

/* ------------------------------------------------------------------ our own */

char *plain_text(const Tokenizer *t)
{
    json_t *all = json_object();
    put_json(all, "type", json_string(t->kind == TOKEN_CHARS ? "chars" : "bytes"));
    if (t->kind == TOKEN_CHARS) {
        json_t *list = json_array();
        for (int i = 0; i < t->n; i++) {
            char utf8[4];
            add_json(list, json_stringn(utf8, (size_t)encode_utf8(t->character[i], utf8)));
        }
        put_json(all, "characters", list);
    }
    char *text = json_written(all, JSON_INDENT(1));
    json_decref(all);
    return text;
}

static void take_list(Tokenizer *t, const json_t *list)
{
    size_t i;
    json_t *item;
    t->id = must_alloc(sizeof *t->id * CODE_POINTS);
    json_array_foreach(list, i, item)
    {
        const unsigned char *s = (const unsigned char *)json_string_value(item);
        int64_t n = (int64_t)json_string_length(item);
        uint32_t code;
        if (!s || n == 0 || decode_utf8(s, n, &code) != n || t->id[code])
            fail(EXIT_DATA, t->path,
                 "\"characters\"[%zu]: expected a string of one character, each once; the file is damaged: "
                 "train again, or give the text with --data",
                 i);
        t->id[code] = 1;
    }
    number_characters(t);
}

bool take_plain(Tokenizer *t, const json_t *all)
{
    const char *type = json_string_value(json_object_get(all, "type"));
    const json_t *list = json_object_get(all, "characters");
    if (type && strcmp(type, "bytes") == 0) {
        t->kind = TOKEN_BYTES;
        t->n = 256;
        return true;
    }
    if (!type || strcmp(type, "chars") != 0 || !json_is_array(list)) return false;
    t->kind = TOKEN_CHARS;
    take_list(t, list);
    return true;
}

/* ------------------------------------------------------------------ Hugging Face's, out */

static json_t *words_of(const Tokenizer *t)
{
    json_t *all = json_object();
    for (int i = 0; i < t->n; i++) {
        char utf8[4];
        size_t n = (size_t)encode_utf8(t->kind == TOKEN_CHARS ? t->character[i] : letter_of_byte(i), utf8);
        json_object_setn_new(all, utf8, n, json_integer(i));
    }
    return all;
}

static json_t *model_of_bytes(const Tokenizer *t)
{
    return json_pack("{s:s, s:n, s:n, s:n, s:n, s:b, s:b, s:b, s:o, s:[]}", "type", "BPE", "dropout", "unk_token",
                     "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk", 0, "byte_fallback", 0,
                     "ignore_merges", 0, "vocab", words_of(t), "merges");
}

static json_t *byte_level(bool space)
{
    return json_pack("{s:s, s:b, s:b, s:b}", "type", "ByteLevel", "add_prefix_space", space, "trim_offsets", 1,
                     "use_regex", space);
}

static json_t *split_into_characters(void)
{
    return json_pack("{s:s, s:{s:s}, s:s, s:b}", "type", "Split", "pattern", "Regex", "[\\s\\S]", "behavior",
                     "Isolated", "invert", 0);
}

char *hf_tokenizer(const Tokenizer *t)
{
    bool chars = t->kind == TOKEN_CHARS;
    if (!chars && t->kind != TOKEN_BYTES) return tokenizer_text(t);
    json_t *model = chars
                        ? json_pack("{s:s, s:o, s:s}", "type", "WordLevel", "vocab", words_of(t), "unk_token", "<unk>")
                        : model_of_bytes(t);
    json_t *all = json_pack("{s:s, s:n, s:n, s:[], s:n, s:o, s:n, s:o, s:o}", "version", "1.0", "truncation", "padding",
                            "added_tokens", "normalizer", "pre_tokenizer",
                            chars ? split_into_characters() : byte_level(false), "post_processor", "decoder",
                            chars ? json_pack("{s:s}", "type", "Fuse") : byte_level(true), "model", model);
    bug_if(!all);
    char *text = json_written(all, JSON_INDENT(2));
    json_decref(all);
    return text;
}

static void set_usual(json_t *all, const char *key, const Tokenizer *t, int32_t id)
{
    int64_t n;
    if (id < 0) return;
    const char *text = string_at(&t->token, id, &n);
    put_json(all, key, json_stringn(text, (size_t)n));
}

char *hf_tokenizer_config(const Tokenizer *t, int64_t context)
{
    json_t *all =
        json_pack("{s:s, s:b, s:b, s:I}", "tokenizer_class", "PreTrainedTokenizerFast", "clean_up_tokenization_spaces",
                  0, "add_prefix_space", 0, "model_max_length", (json_int_t)context);
    const Usual_tokens usual = usual_tokens(t);
    set_usual(all, "bos_token", t, usual.bos);
    set_usual(all, "eos_token", t, usual.eos);
    set_usual(all, "pad_token", t, usual.pad);
    char *text = json_written(all, JSON_INDENT(2));
    json_decref(all);
    return text;
}

/* ------------------------------------------------------------------ Hugging Face's, in */

/* letter[id] of every id, or NULL if they are not single letters numbered 0 … n-1. */
static uint32_t *letters_of(json_t *words)
{
    const char *word;
    size_t bytes, n = json_object_size(words);
    json_t *id;
    uint32_t *letter = must_alloc(sizeof *letter * (n + 1)), code;
    bool *seen = must_alloc(n + 1), ok = n > 0;
    json_object_keylen_foreach(words, word, bytes, id)
    {
        json_int_t i = json_is_integer(id) ? json_integer_value(id) : -1;
        ok = ok && i >= 0 && i < (json_int_t)n && !seen[i] && bytes > 0 &&
             decode_utf8((const unsigned char *)word, (int64_t)bytes, &code) == (int)bytes;
        if (!ok) break;
        seen[i] = true;
        letter[i] = code;
    }
    free(seen);
    if (ok) return letter;
    free(letter);
    return NULL;
}

static bool take_bytes(Tokenizer *t, const uint32_t *letter, int n)
{
    if (n > 256) return false;
    for (int i = 0; i < n; i++)
        if (letter[i] != letter_of_byte(i)) return false;
    t->kind = TOKEN_BYTES;
    t->n = n;
    return true;
}

static bool take_characters(Tokenizer *t, uint32_t *letter, int n)
{
    t->kind = TOKEN_CHARS;
    t->n = n;
    t->character = letter;
    t->id = must_alloc(sizeof *t->id * CODE_POINTS);
    for (int i = 0; i < n; i++) t->id[letter[i]] = i + 1;
    return true;
}

bool take_hf_plain(Tokenizer *t, const json_t *all)
{
    const json_t *model = json_object_get(all, "model");
    const char *type = json_string_value(json_object_get(model, "type"));
    const char *split = json_string_value(json_object_get(json_object_get(all, "pre_tokenizer"), "type"));
    json_t *words = json_object_get(model, "vocab");
    int n = (int)json_object_size(words);
    bool chars = type && split && strcmp(type, "WordLevel") == 0 && strcmp(split, "Split") == 0;
    bool bytes = type && split && strcmp(type, "BPE") == 0 && strcmp(split, "ByteLevel") == 0 &&
                 json_array_size(json_object_get(model, "merges")) == 0;
    if ((!chars && !bytes) || json_array_size(json_object_get(all, "added_tokens"))) return false;
    uint32_t *letter = letters_of(words);
    if (!letter) return false;
    if (chars) return take_characters(t, letter, n);
    bool is = take_bytes(t, letter, n);
    free(letter);
    return is;
}
