/* gguf_out.c: writes a GGUF file: keys by the tables of gguf_model.c, the tokenizer, tensors in the types of blocks.c.
 */
#include "base/file.h"
#include "base/words.h"
#include "model/block.h"
#include "model/blocks.h"
#include "model/gguf.h"
#include "model/gguf_out.h"
#include "model/init.h"
#include "model/tables.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { ALIGNMENT = 32, BLOCK = 32 };

typedef struct Writer {
    const Gguf_model *g;
    const char *path;
    Out *out;
    int64_t bytes; /* given */
    int64_t keys;  /* while they are only counted: out is NULL */
} Writer;

/* ------------------------------------------------------------------ numbers, texts, keys */

static void out_bytes(Writer *w, const void *at, size_t n)
{
    if (!w->out) return;
    put_out(w->out, at, n);
    w->bytes += (int64_t)n;
}

static void out_number(Writer *w, uint64_t x, int bytes)
{
    unsigned char at[8];
    for (int i = 0; i < bytes; i++) at[i] = (unsigned char)(x >> 8 * i);
    out_bytes(w, at, (size_t)bytes);
}

static void out_text(Writer *w, const char *text, size_t n)
{
    out_number(w, n, 8);
    out_bytes(w, text, n);
}

static void put_key(Writer *w, const char *key, int type)
{
    w->keys++;
    out_text(w, key, strlen(key));
    out_number(w, (uint64_t)type, 4);
}

static void put_text_key(Writer *w, const char *key, const char *text)
{
    put_key(w, key, GGUF_TEXT);
    out_text(w, text, strlen(text));
}

static void put_integer_key(Writer *w, const char *key, int64_t x)
{
    put_key(w, key, GGUF_U32);
    out_number(w, (uint64_t)x, 4);
}

static void put_flag_key(Writer *w, const char *key, bool x)
{
    put_key(w, key, GGUF_BOOL);
    out_number(w, x, 1);
}

static uint32_t float_bits(double x)
{
    float f = (float)x;
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
}

/* ------------------------------------------------------------------ types of elements */

typedef struct Type {
    const char *name;
    int number, elements, bytes; /* in the file; of a block */
    int of_file;                 /* general.file_type of a file with such matrices */
} Type;

static const Type types[] = {
    {"f32", 0, 1, 4, 0}, {"f16", 1, 1, 2, 1}, {"q8_0", 8, BLOCK, 34, 7}, {"bf16", 30, 1, 2, 32}};

static const Type *type_named(const char *name)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcasecmp(types[i].name, name) == 0) return &types[i];
    return NULL;
}

/* ------------------------------------------------------------------ what the model is */

/* Two keys are reals whatever config.json writes them as; a negative id stands for none. */
static void put_config_key(Writer *w, const char *key, const json_t *value)
{
    if (json_is_array(value)) value = json_array_get(value, 0);
    if (json_is_number(value) && (strstr(key, "epsilon") || strstr(key, "freq_base"))) {
        put_key(w, key, GGUF_F32);
        out_number(w, float_bits(json_number_value(value)), 4);
    } else if (json_is_integer(value) && json_integer_value(value) >= 0) {
        put_integer_key(w, key, json_integer_value(value));
    }
}

/* The description's config.json, since that of imported weights may say the same in other places. */
static const json_t *said_of_model(const Writer *w, const char *key)
{
    return json_object_get(json_object_get(w->g->hf->all, "config"), key);
}

static void put_model_keys(Writer *w)
{
    put_text_key(w, "general.architecture", "llama");
    put_text_key(w, "general.type", "model");
    put_text_key(w, "general.name", w->g->model->name);
    put_integer_key(w, "general.file_type", type_named(w->g->type)->of_file);
    put_integer_key(w, "general.quantization_version", 2);
    for (int i = 0; gguf_key(i); i++) {
        const char *key = gguf_config_key(i);
        put_config_key(w, gguf_key(i),
                       has_end(key, "_token_id") ? json_object_get(w->g->config, key) : said_of_model(w, key));
    }
    put_config_key(w, "llama.attention.head_count_kv", said_of_model(w, "num_key_value_heads"));
    put_config_key(w, "llama.rope.freq_base", said_of_model(w, "rope_theta"));
    put_config_key(w, "llama.rope.dimension_count", said_of_model(w, "head_dim"));
    put_config_key(w, "llama.attention.key_length", said_of_model(w, "head_dim"));
    put_config_key(w, "llama.attention.value_length", said_of_model(w, "head_dim"));
    put_integer_key(w, "llama.vocab_size", w->g->ids);
}

/* ------------------------------------------------------------------ the tokenizer */

typedef struct Token {
    const char *text; /* NULL: no token has this id */
    size_t bytes;
    int type;
} Token;

static void set_token(Writer *w, Token *token, const json_t *id, const char *text, size_t bytes, int type)
{
    json_int_t i = json_integer_value(id);
    if (i < 0 || i >= w->g->ids)
        fail(EXIT_DATA, w->path, "the tokenizer has token %lld, the model only %lld ids", (long long)i,
             (long long)w->g->ids);
    token[i] = (Token){text, bytes, type};
}

static Token *tokens_by_id(Writer *w)
{
    const json_t *t = w->g->tokenizer;
    json_t *vocab = json_object_get(json_object_get(t, "model"), "vocab"), *id, *added;
    Token *token = must_alloc(sizeof *token * (size_t)w->g->ids);
    const char *text;
    size_t bytes, k;
    json_object_keylen_foreach(vocab, text, bytes, id) set_token(w, token, id, text, bytes, NORMAL_TOKEN);
    json_array_foreach(json_object_get(t, "added_tokens"), k, added)
    {
        const json_t *content = json_object_get(added, "content");
        set_token(w, token, json_object_get(added, "id"), json_string_value(content), json_string_length(content),
                  json_is_true(json_object_get(added, "special")) ? CONTROL_TOKEN : USERS_TOKEN);
    }
    for (int64_t i = 0; i < w->g->ids; i++) {
        if (token[i].text) continue;
        token[i].text = text_of("[PAD%lld]", (long long)i);
        token[i] = (Token){token[i].text, strlen(token[i].text), UNUSED_TOKEN};
    }
    return token;
}

static void put_merges(Writer *w, const json_t *merges)
{
    size_t i;
    json_t *pair;
    put_key(w, "tokenizer.ggml.merges", GGUF_ARRAY);
    out_number(w, GGUF_TEXT, 4);
    out_number(w, json_array_size(merges), 8);
    json_array_foreach((json_t *)merges, i, pair)
    {
        const char *a = json_string_value(json_array_get(pair, 0)), *b = json_string_value(json_array_get(pair, 1));
        char *text = a && b ? text_of("%s %s", a, b) : NULL;
        out_text(w, text ? text : json_string_value(pair), text ? strlen(text) : json_string_length(pair));
        free(text);
    }
}

static void put_tokenizer_keys(Writer *w, const Token *token)
{
    const json_t *t = w->g->tokenizer;
    const char *post = json_string_value(json_object_get(json_object_get(t, "post_processor"), "type"));
    put_text_key(w, "tokenizer.ggml.model", "gpt2");
    put_text_key(w, "tokenizer.ggml.pre", gguf_pre(json_object_get(t, "pre_tokenizer")));
    put_key(w, "tokenizer.ggml.tokens", GGUF_ARRAY);
    out_number(w, GGUF_TEXT, 4);
    out_number(w, (uint64_t)w->g->ids, 8);
    for (int64_t i = 0; i < w->g->ids; i++) out_text(w, token[i].text, token[i].bytes);
    put_key(w, "tokenizer.ggml.token_type", GGUF_ARRAY);
    out_number(w, GGUF_I32, 4);
    out_number(w, (uint64_t)w->g->ids, 8);
    for (int64_t i = 0; i < w->g->ids; i++) out_number(w, (uint64_t)token[i].type, 4);
    put_merges(w, json_object_get(json_object_get(t, "model"), "merges"));
    put_flag_key(w, "tokenizer.ggml.add_bos_token", post && strcmp(post, "TemplateProcessing") == 0);
    put_flag_key(w, "tokenizer.ggml.add_space_prefix", false);
    if (w->g->chat_template) put_text_key(w, "tokenizer.chat_template", w->g->chat_template);
}

/* ------------------------------------------------------------------ tensors */

bool is_gguf_type(const char *type) { return type_named(type) != NULL; }

/* Vectors, and rows that are not whole blocks, stay f32. */
static const Type *type_of_tensor(const Writer *w, const Hf_tensor *t)
{
    const Type *type = type_named(w->g->type);
    return t->rank < 2 || t->dim[t->rank - 1] % type->elements ? &types[0] : type;
}

static int64_t rows_of_tensor(const Writer *w, const Hf_tensor *t)
{
    return t->ids ? w->g->ids : t->rank ? t->dim[0] : 1;
}

static int64_t count_elements(const Writer *w, const Hf_tensor *t)
{
    int64_t n = rows_of_tensor(w, t);
    for (int k = 1; k < t->rank; k++) n *= t->dim[k];
    return n;
}

static int64_t bytes_in_file(const Writer *w, const Hf_tensor *t)
{
    const Type *type = type_of_tensor(w, t);
    return count_elements(w, t) / type->elements * type->bytes;
}

static int64_t aligned(int64_t n) { return (n + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT; }

static void put_infos(Writer *w)
{
    int64_t offset = 0;
    for (int i = 0; i < w->g->hf->n; i++) {
        const Hf_tensor *t = &w->g->hf->tensor[i];
        char *name = gguf_name(t->name);
        if (!name) fail(EXIT_DATA, w->path, "GGUF has no place for %s (%s)", t->name, t->param->where);
        out_text(w, name, strlen(name));
        out_number(w, (uint64_t)t->rank, 4);
        for (int k = t->rank - 1; k >= 0; k--) out_number(w, (uint64_t)(k ? t->dim[k] : rows_of_tensor(w, t)), 8);
        out_number(w, (uint64_t)type_of_tensor(w, t)->number, 4);
        out_number(w, (uint64_t)offset, 8);
        offset += aligned(bytes_in_file(w, t));
        free(name);
    }
}

static void put_padding(Writer *w)
{
    static const char zeros[ALIGNMENT];
    out_bytes(w, zeros, (size_t)(aligned(w->bytes) - w->bytes));
}

/* llama.cpp's rule: the largest element becomes 127 or -127; each is rounded half away from zero. */
static void put_block(Writer *w, const double *x)
{
    float largest = 0;
    for (int i = 0; i < BLOCK; i++) largest = fmaxf(largest, fabsf((float)x[i]));
    float scale = largest / 127, inverse = scale > 0 ? 1 / scale : 0;
    out_number(w, half_bits(scale), 2);
    for (int i = 0; i < BLOCK; i++) out_number(w, (uint64_t)(int64_t)roundf((float)x[i] * inverse), 1);
}

static void put_elements_as(Writer *w, const Type *type, const double *x)
{
    switch (type->number) {
    case 0: out_number(w, float_bits(x[0]), 4); break;
    case 1: out_number(w, half_bits(x[0]), 2); break;
    case 8: put_block(w, x); break;
    default: out_number(w, short_bits(x[0]), 2); break;
    }
}

/* The rows of q and k in the order of rotary pairs (unturned_place). */
static void put_tensor_data(Writer *w, const Hf_tensor *t)
{
    const Type *type = type_of_tensor(w, t);
    Stored place = {.rank = t->rank};
    memcpy(place.dim, t->dim, sizeof place.dim);
    if (gguf_is_turned(t->name)) place.turned = json_integer_value(said_of_model(w, "head_dim"));
    bug_if(gguf_is_turned(t->name) && place.turned <= 0);
    int64_t n = count_elements(w, t);
    for (int64_t i = 0; i < n; i += type->elements) {
        double x[BLOCK];
        for (int k = 0; k < type->elements; k++)
            x[k] = t->zero ? 0
                           : read_element(lathe_weights(w->g->model), w->g->flat,
                                          hf_place(t, unturned_place(&place, i + k)));
        for (int k = 0; k < type->elements; k++)
            if (!isfinite(x[k]))
                fail(EXIT_DATA, w->path, "%s has weights that are not finite; export an earlier checkpoint", t->name);
        put_elements_as(w, type, x);
    }
    put_padding(w);
}

/* ------------------------------------------------------------------ the file */

static void check_fits_gguf(const char *path, const Gguf_model *g)
{
    const char *type = json_string_value(json_object_get(g->config, "model_type"));
    if (!type || strcmp(type, "llama") != 0)
        fail(EXIT_DATA, path,
             "only models of the type llama are written as GGUF yet, and this is %s; --to hf writes a folder",
             type ? type : "none of Hugging Face's");
    const json_t *rope = json_object_get(json_object_get(g->hf->all, "config"), "rope_parameters"),
                 *factor = json_object_get(rope, "factor");
    if (factor)
        fail(EXIT_DATA, path, "stretched rotary positions are not written as GGUF yet; --to hf writes a folder");
    const json_t *kind = json_object_get(json_object_get(g->tokenizer, "model"), "type");
    if (!json_is_string(kind) || strcmp(json_string_value(kind), "BPE") != 0 ||
        !gguf_pre(json_object_get(g->tokenizer, "pre_tokenizer")))
        fail(EXIT_DATA, path,
             "llama.cpp needs a tokenizer that it knows by name: expected byte-level BPE that cuts text as smollm, "
             "found another; "
             "--to hf writes a folder");
}

static void put_keys(Writer *w, const Token *token)
{
    put_model_keys(w);
    put_tokenizer_keys(w, token);
}

void write_gguf(const char *path, const Gguf_model *g)
{
    check_fits_gguf(path, g);
    Fault fault = {0};
    char *aside = text_of("%s.part", path);
    Writer w = {.g = g, .path = path};
    Token *token = tokens_by_id(&w);
    put_keys(&w, token); /* counts them */
    begin_unfinished(aside);
    w.out = open_out(aside, &fault);
    out_bytes(&w, "GGUF", 4);
    out_number(&w, 3, 4);
    out_number(&w, (uint64_t)g->hf->n, 8);
    out_number(&w, (uint64_t)w.keys, 8);
    put_keys(&w, token);
    put_infos(&w);
    put_padding(&w);
    for (int i = 0; i < g->hf->n; i++) put_tensor_data(&w, &g->hf->tensor[i]);
    close_out(w.out);
    if (!replace_file(aside, path, &fault))
        fail(EXIT_DATA, path, "%s; its old contents are still there: %s or choose another place with --out", fault.text,
             room_remedy(fault.number));
    end_unfinished();
    free(token);
    free(aside);
}
