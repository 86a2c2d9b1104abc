/* data_vocab.c: tokens of a text: bytes or characters, UTF-8 in and out, and the file that keeps a vocabulary. */
#include "trainer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ UTF-8 */

/* Refuses what Unicode refuses: stray and missing continuation bytes, longer forms than needed, surrogates, beyond
 * 10FFFF. */
int decode_utf8(const unsigned char *at, int64_t n, uint32_t *code)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    unsigned char first = at[0];
    if (first < 0x80) return *code = first, 1;
    int length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    if (first < 0xc2 || first > 0xf4 || length > n) return 0;
    uint32_t c = first & (0x7fu >> length);
    for (int i = 1; i < length; i++) {
        if ((at[i] & 0xc0) != 0x80) return 0;
        c = c << 6 | (at[i] & 0x3fu);
    }
    if (c < least[length] || c >= CODE_POINTS || (c >= 0xd800 && c < 0xe000)) return 0;
    return *code = c, length;
}

int encode_utf8(uint32_t c, char *out)
{
    if (c < 0x80) return out[0] = (char)c, 1;
    int length = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (int i = length - 1; i > 0; i--, c >>= 6) out[i] = (char)(0x80 | (c & 0x3f));
    out[0] = (char)(((0xf00 >> length) & 0xff) | c);
    return length;
}

char *character_text(uint32_t code)
{
    char utf8[5] = "";
    if (code < 32 || code == 127) return text_of("U+%04X", code);
    utf8[encode_utf8(code, utf8)] = 0;
    return text_of("'%s' (U+%04X)", utf8, code);
}

/* ------------------------------------------------------------------ numbering */

void number_characters(Vocab *v)
{
    v->n = 0;
    for (int c = 0; c < CODE_POINTS; c++) v->n += v->id[c] != 0;
    v->character = must_alloc(sizeof *v->character * (size_t)v->n);
    for (int c = 0, n = 0; c < CODE_POINTS; c++)
        if (v->id[c]) {
            v->character[n++] = (uint32_t)c;
            v->id[c] = n;
        }
}

int token_text(const Vocab *v, int32_t id, char *out)
{
    if (v->kind == LATHE_CHARS) return encode_utf8(v->character[id], out);
    out[0] = (char)id;
    return 1;
}

int64_t encode_text(const Vocab *v, const char *s, int32_t *ids)
{
    const unsigned char *at = (const unsigned char *)s, *end = at + strlen(s);
    int64_t n = 0;
    while (at < end) {
        uint32_t code = *at;
        int length = v->kind == LATHE_CHARS ? decode_utf8(at, end - at, &code) : 1;
        if (length == 0)
            fail(EXIT_DATA, "prompt", "byte %lld is not UTF-8: a model of characters needs text",
                 (long long)(at - (const unsigned char *)s));
        int32_t id = v->kind == LATHE_CHARS ? v->id[code] - 1 : (int32_t)code;
        if (id < 0 || id >= v->n)
            fail(EXIT_DATA, "prompt", "%s is not one of the %d %s this model knows; leave it out",
                 v->kind == LATHE_CHARS ? character_text(code) : text_of("byte 0x%02x", code), v->n,
                 v->kind == LATHE_CHARS ? "characters" : "bytes");
        ids[n++] = id;
        at += length;
    }
    return n;
}

/* ------------------------------------------------------------------ tokenizer.json */

static char *vocab_path(const char *folder) { return text_of("%s/tokenizer.json", folder); }

char *vocab_json(const Vocab *v)
{
    json_t *all = json_object();
    json_object_set_new(all, "type", json_string(v->kind == LATHE_CHARS ? "chars" : "bytes"));
    if (v->kind == LATHE_CHARS) {
        json_t *list = json_array();
        for (int i = 0; i < v->n; i++) {
            char utf8[4];
            json_array_append_new(list, json_stringn(utf8, (size_t)encode_utf8(v->character[i], utf8)));
        }
        json_object_set_new(all, "characters", list);
    }
    char *text = json_dumps(all, JSON_INDENT(1));
    json_decref(all);
    return text;
}

static void take_characters(Vocab *v, const json_t *list, const char *path)
{
    size_t i;
    json_t *item;
    v->id = must_alloc(sizeof *v->id * CODE_POINTS);
    json_array_foreach(list, i, item)
    {
        const unsigned char *s = (const unsigned char *)json_string_value(item);
        int64_t n = (int64_t)json_string_length(item);
        uint32_t code;
        if (!s || n == 0 || decode_utf8(s, n, &code) != n || v->id[code])
            fail(EXIT_DATA, path,
                 "\"characters\"[%zu]: expected a string of one character, each once; the file is damaged: "
                 "train again, or give the text with --data",
                 i);
        v->id[code] = 1;
    }
    number_characters(v);
}

/* Another kind of Hugging Face's is told, and left to who wants to use it. */
static void take_other(Vocab *v, const json_t *all, const char *path)
{
    const json_t *model = json_object_get(all, "model");
    const char *type = json_string_value(json_object_get(model, "type"));
    if (!json_is_object(model))
        fail(EXIT_DATA, path,
             "expected {\"type\": \"bytes\"} or {\"type\": \"chars\", \"characters\": […]}, as train writes it, or "
             "a tokenizer of Hugging Face's");
    v->other =
        text_of("%s of %zu tokens", type ? type : "unknown kind", json_object_size(json_object_get(model, "vocab")));
}

void need_readable_vocab(const Vocab *v, const char *folder)
{
    if (!v->other) return;
    fail(EXIT_DATA, vocab_path(folder),
         "expected a tokenizer of bytes or characters, found %s, which this trainer does not read; --tokenizer bytes "
         "(or chars) goes without it, and gives ids other meanings",
         v->other);
}

bool load_vocab(Vocab *v, const char *folder)
{
    json_error_t error;
    char *path = vocab_path(folder);
    FILE *f = fopen(path, "rb");
    if (!f) return free(path), false;
    json_t *all = json_loadf(f, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);
    fclose(f);
    if (!all) fail(EXIT_DATA, text_of("%s:%d:%d", path, error.line, error.column), "not JSON: %s", error.text);
    const char *type = json_string_value(json_object_get(all, "type"));
    const json_t *list = json_object_get(all, "characters");
    if (type && strcmp(type, "bytes") == 0) {
        v->kind = LATHE_BYTES;
        v->n = 256;
    } else if (type && strcmp(type, "chars") == 0 && json_is_array(list)) {
        v->kind = LATHE_CHARS;
        take_characters(v, list, path);
    } else if (!take_hf_tokenizer(v, all)) {
        take_other(v, all, path);
    }
    json_decref(all);
    free(path);
    return true;
}
