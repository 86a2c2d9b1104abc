/* data_vocab_hf.c: bytes and characters as tokenizer.json of Hugging Face's tokenizers, out and in.
 *
 * Bytes are a BPE without merges over GPT-2's letters for the 256 bytes; characters are words (WordLevel) of one letter
 * each, into which the text is split, and one that is not among them is an error there as it is here. */
#include "trainer.h"

#include <stdlib.h>
#include <string.h>

/* GPT-2's letter for a byte: printable ones are themselves, the others follow each other from U+0100 on. */
static uint32_t letter_of_byte(int byte)
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

static uint32_t letter_of(const Vocab *v, int id)
{
    return v->kind == LATHE_CHARS ? v->character[id] : letter_of_byte(id);
}

/* ------------------------------------------------------------------ out */

static json_t *words_of(const Vocab *v)
{
    json_t *all = json_object();
    for (int i = 0; i < v->n; i++) {
        char utf8[4];
        size_t n = (size_t)encode_utf8(letter_of(v, i), utf8);
        json_object_setn_new(all, utf8, n, json_integer(i));
    }
    return all;
}

static json_t *model_of_bytes(const Vocab *v)
{
    return json_pack("{s:s, s:n, s:n, s:n, s:n, s:b, s:b, s:b, s:o, s:[]}", "type", "BPE", "dropout", "unk_token",
                     "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk", 0, "byte_fallback", 0,
                     "ignore_merges", 0, "vocab", words_of(v), "merges");
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

char *hf_tokenizer(const Vocab *v)
{
    bool chars = v->kind == LATHE_CHARS;
    json_t *model = chars
                        ? json_pack("{s:s, s:o, s:s}", "type", "WordLevel", "vocab", words_of(v), "unk_token", "<unk>")
                        : model_of_bytes(v);
    json_t *all = json_pack("{s:s, s:n, s:n, s:[], s:n, s:o, s:n, s:o, s:o}", "version", "1.0", "truncation", "padding",
                            "added_tokens", "normalizer", "pre_tokenizer",
                            chars ? split_into_characters() : byte_level(false), "post_processor", "decoder",
                            chars ? json_pack("{s:s}", "type", "Fuse") : byte_level(true), "model", model);
    bug_if(!all);
    char *text = json_dumps(all, JSON_INDENT(2));
    json_decref(all);
    return text;
}

char *hf_tokenizer_config(int64_t context)
{
    json_t *all =
        json_pack("{s:s, s:b, s:b, s:I}", "tokenizer_class", "PreTrainedTokenizerFast", "clean_up_tokenization_spaces",
                  0, "add_prefix_space", 0, "model_max_length", (json_int_t)context);
    char *text = json_dumps(all, JSON_INDENT(2));
    json_decref(all);
    return text;
}

/* ------------------------------------------------------------------ in */

/* letter[id] of every id, or NULL where they are not single letters numbered 0 … n-1. */
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

static bool take_bytes(Vocab *v, const uint32_t *letter, int n)
{
    if (n > 256) return false;
    for (int i = 0; i < n; i++)
        if (letter[i] != letter_of_byte(i)) return false;
    v->kind = LATHE_BYTES;
    v->n = n;
    return true;
}

static bool take_characters(Vocab *v, uint32_t *letter, int n)
{
    v->kind = LATHE_CHARS;
    v->n = n;
    v->character = letter;
    v->id = must_alloc(sizeof *v->id * CODE_POINTS);
    for (int i = 0; i < n; i++) v->id[letter[i]] = i + 1;
    return true;
}

bool take_hf_tokenizer(Vocab *v, const json_t *all)
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
    if (chars) return take_characters(v, letter, n);
    bool is = take_bytes(v, letter, n);
    free(letter);
    return is;
}
