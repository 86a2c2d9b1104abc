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
    const Architecture *a;
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

/* A negative id stands for none. */
static void put_config_key(Writer *w, const char *key, int type, const json_t *value)
{
    if (json_is_array(value)) value = json_array_get(value, 0);
    if (type == GGUF_F32 && json_is_number(value)) {
        put_key(w, key, GGUF_F32);
        out_number(w, float_bits(json_number_value(value)), 4);
    } else if (json_is_integer(value) && json_integer_value(value) >= 0) {
        put_integer_key(w, key, json_integer_value(value));
    }
}

/* A key of the architecture, as the description says the number. */
static void put_own_key(Writer *w, const char *key, int type, const json_t *value)
{
    char *whole = text_of("%s.%s", w->a->name, key);
    put_config_key(w, whole, type, value);
    free(whole);
}

/* The description's config.json, since that of imported weights may say the same in other places. */
static const json_t *said_of_model(const Writer *w, const char *key)
{
    return json_object_get(json_object_get(w->g->hf->all, "config"), key);
}

static int64_t head_of_model(const Writer *w) { return json_integer_value(said_of_model(w, "head_dim")); }

static void put_rope_keys(Writer *w)
{
    const json_t *rope = said_of_model(w, "rope_parameters");
    const char *type = json_string_value(json_object_get(rope, "rope_type"));
    put_own_key(w, "rope.freq_base", GGUF_F32, said_of_model(w, "rope_theta"));
    put_own_key(w, "rope.dimension_count", GGUF_U32, said_of_model(w, "head_dim"));
    put_own_key(w, "rope.scaling.original_context_length", GGUF_U32,
                json_object_get(rope, "original_max_position_embeddings"));
    if (!type || strcmp(type, "linear") != 0) return;
    char *key = text_of("%s.rope.scaling.type", w->a->name);
    put_text_key(w, key, type);
    free(key);
    put_own_key(w, "rope.scaling.factor", GGUF_F32, json_object_get(rope, "factor"));
}

static void put_model_keys(Writer *w)
{
    put_text_key(w, "general.architecture", w->a->name);
    put_text_key(w, "general.type", "model");
    put_text_key(w, "general.name", w->g->model->name);
    put_integer_key(w, "general.file_type", type_named(w->g->type)->of_file);
    put_integer_key(w, "general.quantization_version", 2);
    for (const Gguf_key *k = w->a->key; k->gguf; k++)
        if (k->needed) put_own_key(w, k->gguf, k->type, said_of_model(w, k->hf));
    if (w->a->rotary) {
        put_own_key(w, "attention.head_count_kv", GGUF_U32, said_of_model(w, "num_key_value_heads"));
        put_own_key(w, "attention.key_length", GGUF_U32, said_of_model(w, "head_dim"));
        put_own_key(w, "attention.value_length", GGUF_U32, said_of_model(w, "head_dim"));
        put_rope_keys(w);
    }
    char *key = text_of("%s.vocab_size", w->a->name);
    put_integer_key(w, key, w->g->ids);
    free(key);
    put_config_key(w, "tokenizer.ggml.bos_token_id", GGUF_U32, json_object_get(w->g->config, "bos_token_id"));
    put_config_key(w, "tokenizer.ggml.eos_token_id", GGUF_U32, json_object_get(w->g->config, "eos_token_id"));
    put_config_key(w, "tokenizer.ggml.padding_token_id", GGUF_U32, json_object_get(w->g->config, "pad_token_id"));
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

/* Of SentencePiece's; newer files of Hugging Face do not say which token stands for what is unknown. */
static const char *unknown_of(const json_t *tokenizer)
{
    const char *unknown = json_string_value(json_object_get(json_object_get(tokenizer, "model"), "unk_token"));
    return unknown ? unknown : "<unk>";
}

static void set_piece_type(Writer *w, Token *token)
{
    unsigned byte;
    if (strcmp(token->text, unknown_of(w->g->tokenizer)) == 0) token->type = UNKNOWN_TOKEN;
    else if (token->type == NORMAL_TOKEN && token->bytes == 6 && sscanf(token->text, "<0x%2X>", &byte) == 1)
        token->type = BYTE_TOKEN;
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
        if (token[i].text && has_sentencepiece(t)) set_piece_type(w, &token[i]);
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

/* Of byte-level tokenizers how text is cut and the merges; of SentencePiece's a score for each token. */
static void put_model_of_tokenizer(Writer *w)
{
    const json_t *t = w->g->tokenizer;
    char *pre = has_sentencepiece(t) ? text_of("default") : gguf_pre(t);
    put_text_key(w, "tokenizer.ggml.model", has_sentencepiece(t) ? "llama" : "gpt2");
    put_text_key(w, "tokenizer.ggml.pre", pre);
    free(pre);
    if (!has_sentencepiece(t)) {
        put_merges(w, json_object_get(json_object_get(t, "model"), "merges"));
        return;
    }
    double *score = must_alloc(sizeof *score * (size_t)w->g->ids);
    scores_of_merges(t, score, w->g->ids);
    put_key(w, "tokenizer.ggml.scores", GGUF_ARRAY);
    out_number(w, GGUF_F32, 4);
    out_number(w, (uint64_t)w->g->ids, 8);
    for (int64_t i = 0; i < w->g->ids; i++) out_number(w, float_bits(score[i]), 4);
    free(score);
}

static bool has_first_token(const json_t *post)
{
    size_t i;
    json_t *part;
    json_array_foreach(json_object_get(post, "processors"), i, part) if (has_first_token(part)) return true;
    return json_object_size(json_object_get(post, "special_tokens")) > 0;
}

static void put_tokenizer_keys(Writer *w, const Token *token)
{
    const json_t *t = w->g->tokenizer;
    put_model_of_tokenizer(w);
    put_key(w, "tokenizer.ggml.tokens", GGUF_ARRAY);
    out_number(w, GGUF_TEXT, 4);
    out_number(w, (uint64_t)w->g->ids, 8);
    for (int64_t i = 0; i < w->g->ids; i++) out_text(w, token[i].text, token[i].bytes);
    put_key(w, "tokenizer.ggml.token_type", GGUF_ARRAY);
    out_number(w, GGUF_I32, 4);
    out_number(w, (uint64_t)w->g->ids, 8);
    for (int64_t i = 0; i < w->g->ids; i++) out_number(w, (uint64_t)token[i].type, 4);
    for (int64_t i = 0; i < w->g->ids; i++)
        if (token[i].type == UNKNOWN_TOKEN) put_integer_key(w, "tokenizer.ggml.unknown_token_id", i);
    put_flag_key(w, "tokenizer.ggml.add_bos_token", has_first_token(json_object_get(t, "post_processor")));
    put_flag_key(w, "tokenizer.ggml.add_space_prefix", has_sentencepiece(t) && prepends_blank(t));
    if (w->g->chat_template) put_text_key(w, "tokenizer.chat_template", w->g->chat_template);
}

/* ------------------------------------------------------------------ tensors */

bool is_gguf_type(const char *type) { return type_named(type) != NULL; }

/* How a tensor is in the file: with its axes and its order there. */
static Stored place_in_file(const Writer *w, const Hf_tensor *t)
{
    Stored place = {.rank = t->rank};
    memcpy(place.dim, t->dim, sizeof t->dim);
    if (t->ids) place.dim[0] = w->g->ids;
    gguf_order(w->a, t->name, head_of_model(w), &place);
    return place;
}

static int64_t row_of_file(const Stored *place)
{
    return place->rank ? place->dim[place->transposed ? 0 : place->rank - 1] : 1;
}

/* Vectors, and rows that are not whole blocks, stay f32. */
static const Type *type_of_tensor(const Writer *w, const Stored *place)
{
    const Type *type = type_named(w->g->type);
    return place->rank < 2 || row_of_file(place) % type->elements ? &types[0] : type;
}

static int64_t count_elements(const Stored *place)
{
    int64_t n = 1;
    for (int k = 0; k < place->rank; k++) n *= place->dim[k];
    return n;
}

static int64_t aligned(int64_t n) { return (n + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT; }

static void put_info(Writer *w, const char *name, const Stored *place, int64_t *offset)
{
    const Type *type = type_of_tensor(w, place);
    out_text(w, name, strlen(name));
    out_number(w, (uint64_t)place->rank, 4);
    for (int k = place->rank - 1; k >= 0; k--)
        out_number(w, (uint64_t)place->dim[place->transposed ? place->rank - 1 - k : k], 8);
    out_number(w, (uint64_t)type->number, 4);
    out_number(w, (uint64_t)*offset, 8);
    *offset += aligned(count_elements(place) / type->elements * type->bytes);
}

/* By how much rates are divided: a vector. */
static Stored place_of_rope_table(const Writer *w) { return (Stored){.rank = 1, .dim = {head_of_model(w) / 2}}; }

static void put_infos(Writer *w)
{
    int64_t offset = 0;
    for (int i = 0; i < w->g->hf->n; i++) {
        const Hf_tensor *t = &w->g->hf->tensor[i];
        Stored place = place_in_file(w, t);
        char *name = gguf_name(w->a, t->name);
        if (!name) fail(EXIT_DATA, w->path, "GGUF has no place for %s (%s)", t->name, t->param->where);
        put_info(w, name, &place, &offset);
        free(name);
    }
    if (!is_rope_table(said_of_model(w, "rope_parameters"))) return;
    Stored place = place_of_rope_table(w);
    put_info(w, rope_table, &place, &offset);
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

static void put_tensor_data(Writer *w, const Hf_tensor *t)
{
    Stored place = place_in_file(w, t);
    const Type *type = type_of_tensor(w, &place);
    bug_if(place.turned < 0 || place.turned % 2);
    int64_t n = count_elements(&place);
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

static void put_rope_table(Writer *w)
{
    const json_t *rope = said_of_model(w, "rope_parameters");
    int64_t pairs = head_of_model(w) / 2;
    if (!is_rope_table(rope)) return;
    for (int64_t i = 0; i < pairs; i++) out_number(w, float_bits(rope_table_element(rope, i, pairs)), 4);
    put_padding(w);
}

/* ------------------------------------------------------------------ the file */

/* Why llama.cpp would compute something else; NULL: it would not. */
static const char *misfit_of_model(const Writer *w)
{
    const json_t *window = said_of_model(w, "sliding_window"), *gelu = said_of_model(w, "activation_function");
    json_int_t width = json_integer_value(said_of_model(w, "hidden_size")),
               heads = json_integer_value(said_of_model(w, "num_attention_heads"));
    if (json_is_integer(window) &&
        json_integer_value(window) < json_integer_value(said_of_model(w, "max_position_embeddings")))
        return "llama.cpp's attention sees all positions in a model of the architecture llama, and this one's a window";
    if (json_is_string(gelu) && strcmp(json_string_value(gelu), "gelu_new") != 0)
        return "llama.cpp computes gelu by tanh in a model of the architecture gpt2, and this one by erf (gelu)";
    if (w->a->rotary && !w->a->own_heads && width != heads * head_of_model(w))
        return "llama.cpp's heads are width / heads wide in a model of this architecture, and this one's are not "
               "(head_width)";
    return rope_misfit(w->a, said_of_model(w, "rope_parameters"));
}

static bool fits_tokenizer(const Gguf_model *g)
{
    const char *kind = json_string_value(json_object_get(json_object_get(g->tokenizer, "model"), "type"));
    if (!kind || strcmp(kind, "BPE") != 0) return false;
    double *score = must_alloc(sizeof *score * (size_t)g->ids);
    char *pre = has_sentencepiece(g->tokenizer) ? NULL : gguf_pre(g->tokenizer);
    bool fits = pre || (has_sentencepiece(g->tokenizer) && scores_of_merges(g->tokenizer, score, g->ids));
    free(score);
    free(pre);
    return fits;
}

static void check_fits_gguf(const Writer *w)
{
    const char *type = hf_type(w->g->hf), *misfit = w->a ? misfit_of_model(w) : NULL;
    if (!w->a)
        fail(EXIT_DATA, w->path,
             "only models of the types %s are written as GGUF yet, and this is %s; --to hf writes a folder",
             gguf_architectures(false), type ? type : "none of Hugging Face's");
    if (misfit) fail(EXIT_DATA, w->path, "%s; --to hf writes a folder", misfit);
    if (!fits_tokenizer(w->g))
        fail(EXIT_DATA, w->path,
             "llama.cpp needs a tokenizer that it knows by name: expected byte-level BPE that cuts text as one of %s, "
             "or "
             "SentencePiece's BPE, found another; --to hf writes a folder",
             gguf_pres());
}

static void put_keys(Writer *w, const Token *token)
{
    put_model_keys(w);
    put_tokenizer_keys(w, token);
}

void write_gguf(const char *path, const Gguf_model *g)
{
    Fault fault = {0};
    char *aside = text_of("%s.part", path);
    Writer w = {.g = g, .a = architecture_of_type(hf_type(g->hf)), .path = path};
    check_fits_gguf(&w);
    Token *token = tokens_by_id(&w);
    put_keys(&w, token); /* counts them */
    begin_unfinished(aside);
    w.out = open_out(aside, &fault);
    out_bytes(&w, "GGUF", 4);
    out_number(&w, 3, 4);
    out_number(&w, (uint64_t)g->hf->n + is_rope_table(said_of_model(&w, "rope_parameters")), 8);
    out_number(&w, (uint64_t)w.keys, 8);
    put_keys(&w, token);
    put_infos(&w);
    put_padding(&w);
    for (int i = 0; i < g->hf->n; i++) put_tensor_data(&w, &g->hf->tensor[i]);
    put_rope_table(&w);
    close_out(w.out);
    if (!replace_file(aside, path, &fault))
        fail(EXIT_DATA, path, "%s; its old contents are still there: %s or choose another place with --out", fault.text,
             room_remedy(fault.number));
    end_unfinished();
    free(token);
    free(aside);
}
