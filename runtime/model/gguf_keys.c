/* gguf_keys.c: the keys of a GGUF file that is written: what the model is, by the table of gguf_names.c, and its
 * tokenizer. */
#include "base/words.h"
#include "model/gguf_writer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ numbers, texts, keys */

void out_bytes(Writer *w, const void *at, size_t n)
{
    if (!w->out) return;
    put_out(w->out, at, n);
    w->bytes += (int64_t)n;
}

void out_number(Writer *w, uint64_t x, int bytes)
{
    unsigned char at[8];
    for (int i = 0; i < bytes; i++) at[i] = (unsigned char)(x >> 8 * i);
    out_bytes(w, at, (size_t)bytes);
}

void out_text(Writer *w, const char *text, size_t n)
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

void put_text_key(Writer *w, const char *key, const char *text)
{
    put_key(w, key, GGUF_TEXT);
    out_text(w, text, strlen(text));
}

void put_integer_key(Writer *w, const char *key, int64_t x)
{
    put_key(w, key, GGUF_U32);
    out_number(w, (uint64_t)x, 4);
}

void put_flag_key(Writer *w, const char *key, bool x)
{
    put_key(w, key, GGUF_BOOL);
    out_number(w, x, 1);
}

uint32_t float_bits(double x)
{
    float f = (float)x;
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
}

void put_real_key(Writer *w, const char *key, double x)
{
    put_key(w, key, GGUF_F32);
    out_number(w, float_bits(x), 4);
}

void begin_list_key(Writer *w, const char *key, int type, int64_t n)
{
    put_key(w, key, GGUF_ARRAY);
    out_number(w, (uint64_t)type, 4);
    out_number(w, (uint64_t)n, 8);
}

/* ------------------------------------------------------------------ what the model is */

/* A negative id stands for none. */
static void put_config_key(Writer *w, const char *key, int type, const json_t *value)
{
    if (json_is_array(value)) value = json_array_get(value, 0);
    if (type == GGUF_BOOL) {
        put_flag_key(w, key, json_is_true(value));
    } else if (type == GGUF_F32 && json_is_number(value)) {
        put_real_key(w, key, json_number_value(value));
    } else if (json_is_integer(value) && json_integer_value(value) >= 0) {
        put_integer_key(w, key, json_integer_value(value));
    }
}

/* A key of the architecture, as the description says the number. */
void put_own_key(Writer *w, const char *key, int type, const json_t *value)
{
    char *whole = text_of("%s.%s", w->a->name, key);
    put_config_key(w, whole, type, value);
    free(whole);
}

const json_t *said_of_model(const Writer *w, const char *key)
{
    return json_object_get(json_object_get(w->g->hf->all, "config"), key);
}

int64_t head_of_model(const Writer *w)
{
    int64_t head = json_integer_value(said_of_model(w, "head_dim")),
            heads = json_integer_value(said_of_model(w, "num_attention_heads"));
    return head || !heads ? head : json_integer_value(said_of_model(w, "hidden_size")) / heads;
}

/* As descriptions round it. */
static int64_t turned_of_model(const Writer *w)
{
    double share = w->a->share ? json_number_value(said_of_model(w, w->a->share)) : 1;
    return (int64_t)floor((double)head_of_model(w) * share + 1e-6);
}

const json_t *rope_of_model(const Writer *w)
{
    const json_t *rope = said_of_model(w, "rope_parameters"), *full = json_object_get(rope, "full_attention");
    return full ? full : rope;
}

static void put_amplitude(Writer *w, const json_t *rope)
{
    json_t *x = json_real(rope_amplitude(rope, json_integer_value(said_of_model(w, "max_position_embeddings"))));
    if (json_real_value(x) != 1) put_own_key(w, "rope.scaling.attn_factor", GGUF_F32, x);
    json_decref(x);
}

static void put_rope_keys(Writer *w)
{
    const json_t *rope = rope_of_model(w);
    const char *type = json_string_value(json_object_get(rope, "rope_type"));
    put_own_key(w, "rope.freq_base", GGUF_F32, said_of_model(w, w->a->base ? w->a->base : "rope_theta"));
    json_t *turned = json_integer(turned_of_model(w));
    put_own_key(w, "rope.dimension_count", GGUF_U32, turned);
    json_decref(turned);
    put_own_key(w, "rope.scaling.original_context_length", GGUF_U32,
                json_object_get(rope, "original_max_position_embeddings"));
    put_amplitude(w, rope);
    bool yarn = type && strcmp(type, "yarn") == 0, two = type && strcmp(type, "longrope") == 0;
    if (!yarn && !two && (!type || strcmp(type, "linear") != 0)) return;
    char *key = text_of("%s.rope.scaling.type", w->a->name);
    put_text_key(w, key, type);
    free(key);
    if (!two) put_own_key(w, "rope.scaling.factor", GGUF_F32, json_object_get(rope, "factor"));
    if (!yarn) return;
    put_own_key(w, "rope.scaling.yarn_beta_fast", GGUF_F32, json_object_get(rope, "beta_fast"));
    put_own_key(w, "rope.scaling.yarn_beta_slow", GGUF_F32, json_object_get(rope, "beta_slow"));
}

/* Which layers see all, where llama.cpp would not know. */
static void put_layer_keys(Writer *w)
{
    const json_t *types = said_of_model(w, "layer_types");
    int64_t every = w->a->full_every ? full_every_of(types) : 0;
    bool some = every <= (int64_t)json_array_size(types),
         usual = every == w->a->full_every || (!some && every <= w->a->full_every);
    if (usual) return;
    char *key = text_of("%s.attention.sliding_window_pattern", w->a->name);
    put_integer_key(w, key, every);
    free(key);
}

static void put_model_keys(Writer *w)
{
    put_text_key(w, "general.architecture", w->a->name);
    put_text_key(w, "general.type", "model");
    put_text_key(w, "general.name", w->g->model->name);
    put_integer_key(w, "general.file_type", w->file_type);
    put_integer_key(w, "general.quantization_version", 2);
    for (const Gguf_key *k = w->a->key; k->gguf; k++)
        if (k->use != READ && !(w->a->lead && strcmp(k->gguf, "context_length") == 0))
            put_own_key(w, k->gguf, k->type, said_of_model(w, k->hf));
    if (w->a->rotary) {
        put_own_key(w, "attention.head_count_kv", GGUF_U32, said_of_model(w, "num_key_value_heads"));
        put_own_key(w, "attention.key_length", GGUF_U32, said_of_model(w, "head_dim"));
        put_own_key(w, "attention.value_length", GGUF_U32, said_of_model(w, "head_dim"));
        put_rope_keys(w);
        put_layer_keys(w);
    }
    char *key = text_of("%s.vocab_size", w->a->name);
    put_integer_key(w, key, w->g->ids);
    free(key);
    if (w->a->tokenizer) {
        put_encoder_keys(w);
        return;
    }
    put_config_key(w, "tokenizer.ggml.bos_token_id", GGUF_U32, json_object_get(w->g->config, "bos_token_id"));
    put_config_key(w, "tokenizer.ggml.eos_token_id", GGUF_U32, json_object_get(w->g->config, "eos_token_id"));
    put_config_key(w, "tokenizer.ggml.padding_token_id", GGUF_U32, json_object_get(w->g->config, "pad_token_id"));
}

/* ------------------------------------------------------------------ the tokenizer */

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

static void set_wordpiece(Token *token)
{
    token->text = token_of_piece(token->text, token->type);
    token->bytes = strlen(token->text);
}

Token *tokens_by_id(Writer *w)
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
        if (token[i].text && has_wordpiece(t)) set_wordpiece(&token[i]);
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
    begin_list_key(w, "tokenizer.ggml.merges", GGUF_TEXT, (int64_t)json_array_size(merges));
    json_array_foreach((json_t *)merges, i, pair)
    {
        const char *a = json_string_value(json_array_get(pair, 0)), *b = json_string_value(json_array_get(pair, 1));
        char *text = a && b ? text_of("%s %s", a, b) : NULL;
        out_text(w, text ? text : json_string_value(pair), text ? strlen(text) : json_string_length(pair));
        free(text);
    }
}

/* The converter's name for a tokenizer of BERT's, by which llama.cpp decides nothing. */
static const char usual_pieces[] = "bert-bge";

static void put_wordpiece(Writer *w)
{
    put_text_key(w, "tokenizer.ggml.model", "bert");
    put_text_key(w, "tokenizer.ggml.pre", usual_pieces);
}

/* Of byte-level tokenizers how text is cut and the merges; of SentencePiece's a score for each token. */
static void put_model_of_tokenizer(Writer *w)
{
    const json_t *t = w->g->tokenizer;
    if (has_wordpiece(t)) {
        put_wordpiece(w);
        return;
    }
    char *pre = w->a->pre ? text_of("%s", w->a->pre) : has_sentencepiece(t) ? text_of("default") : gguf_pre(t);
    put_text_key(w, "tokenizer.ggml.model", has_sentencepiece(t) ? "llama" : "gpt2");
    put_text_key(w, "tokenizer.ggml.pre", pre);
    free(pre);
    if (!has_sentencepiece(t)) {
        put_merges(w, json_object_get(json_object_get(t, "model"), "merges"));
        return;
    }
    double *score = must_alloc(sizeof *score * (size_t)w->g->ids);
    scores_of_merges(t, score, w->g->ids);
    begin_list_key(w, "tokenizer.ggml.scores", GGUF_F32, w->g->ids);
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
    begin_list_key(w, "tokenizer.ggml.tokens", GGUF_TEXT, w->g->ids);
    for (int64_t i = 0; i < w->g->ids; i++) out_text(w, token[i].text, token[i].bytes);
    begin_list_key(w, "tokenizer.ggml.token_type", GGUF_I32, w->g->ids);
    for (int64_t i = 0; i < w->g->ids; i++) out_number(w, (uint64_t)token[i].type, 4);
    for (int64_t i = 0; i < w->g->ids; i++)
        if (token[i].type == UNKNOWN_TOKEN) put_integer_key(w, "tokenizer.ggml.unknown_token_id", i);
    put_flag_key(w, "tokenizer.ggml.add_bos_token",
                 w->a->tokenizer || has_first_token(json_object_get(t, "post_processor")));
    if (w->a->tokenizer) {
        put_encoder_tokens(w);
        return;
    }
    put_flag_key(w, "tokenizer.ggml.add_space_prefix", has_sentencepiece(t) && prepends_blank(t));
    if (w->g->chat_template) put_text_key(w, "tokenizer.chat_template", w->g->chat_template);
}

/* ------------------------------------------------------------------ all of them */

void put_keys(Writer *w, const Token *token)
{
    put_model_keys(w);
    put_tokenizer_keys(w, token);
}
