/* gguf_model.c: a GGUF file as a folder of Hugging Face: its tensors, config.json, and the files of its tokenizer.
 *
 * So a description's `hf` is enough for both, and what is checked of a folder (model/import.c) is checked of a file. */
#include "base/json_text.h"
#include "base/words.h"
#include "model/gguf.h"

#include <stdlib.h>
#include <string.h>

const char rope_table[] = "rope_freqs.weight";

/* ------------------------------------------------------------------ keys of the architecture */

json_t *gguf_value_of(const Store *s, const Architecture *a, const char *key)
{
    char *whole = text_of("%s.%s", a->name, key);
    json_t *value = json_object_get(s->header, whole);
    free(whole);
    return value;
}

int64_t gguf_integer(const Store *s, const char *key, int64_t absent)
{
    const json_t *value = json_object_get(s->header, key);
    if (!value && absent >= 0) return absent;
    if (!json_is_integer(value) || json_integer_value(value) < 0)
        fail(EXIT_DATA, s->path, "\"%s\": expected a whole number, found %.60s; the file is damaged or of another kind",
             key,
             !value                  ? "none"
             : json_is_string(value) ? json_string_value(value)
                                     : "another value");
    return json_integer_value(value);
}

static int64_t own_integer(const Store *s, const Architecture *a, const char *key, int64_t absent)
{
    char *whole = text_of("%s.%s", a->name, key);
    int64_t value = gguf_integer(s, whole, absent);
    free(whole);
    return value;
}

int64_t gguf_head(const Store *s, const Architecture *a)
{
    int64_t heads = own_integer(s, a, "attention.head_count", -1), width = own_integer(s, a, "embedding_length", -1),
            head = own_integer(s, a, "attention.key_length", 0);
    if (head) return head;
    if (heads == 0 || width % heads)
        fail(EXIT_DATA, s->path, "expected a width that heads divide, found %lld and %lld; the file is damaged",
             (long long)width, (long long)heads);
    return width / heads;
}

/* ------------------------------------------------------------------ tensors */

static void check_kind(const Store *s)
{
    const char *type = json_string_value(json_object_get(s->header, "general.type"));
    if (json_integer_value(json_object_get(s->header, "split.count")) > 1)
        fail(EXIT_DATA, s->path,
             "is one of several parts; llama.cpp's llama-gguf-split --merge makes one file of them");
    if (type && strcmp(type, "model") != 0) fail(EXIT_DATA, s->path, "expected a model, found %.60s", type);
}

void read_gguf_model(Store *s, const char *path)
{
    read_gguf(s, path);
    check_kind(s);
    note_heads(s);
    const Architecture *a = architecture_of(s);
    take_rope_tables(s, a);
    rename_tensors(s, a);
    sort_tensors(s);
}

/* ------------------------------------------------------------------ config.json */

/* Keys that the model does not depend on, or that are read by a function of their own. */
static const char *const other_keys[] = {"vocab_size",
                                         "attention.head_count_kv",
                                         "attention.key_length",
                                         "attention.value_length",
                                         "rope.freq_base",
                                         "rope.dimension_count",
                                         "rope.scaling.type",
                                         "rope.scaling.factor",
                                         "rope.scaling.attn_factor",
                                         "rope.scaling.yarn_attn_factor",
                                         "rope.scaling.yarn_beta_fast",
                                         "rope.scaling.yarn_beta_slow",
                                         "rope.scale_linear",
                                         "rope.scaling.finetuned",
                                         "rope.scaling.original_context_length"};

/* Programs that make files note in other keys what they did; llama.cpp reads those of the architecture alone. */
static bool has_meaning(const Architecture *a, const char *key)
{
    size_t n = strlen(a->name);
    if (strchr(key, '.') && (strncmp(key, a->name, n) != 0 || key[n] != '.')) return true;
    for (const Gguf_key *k = a->key; k->gguf; k++)
        if (strcmp(key + n + 1, k->gguf) == 0) return true;
    for (size_t i = 0; i < sizeof other_keys / sizeof *other_keys; i++)
        if (strcmp(key + n + 1, other_keys[i]) == 0) return true;
    return is_key_of_encoder(a, key + n + 1);
}

static bool is_of_key(const Gguf_key *k, const json_t *value)
{
    return k->type == GGUF_BOOL ? json_is_boolean(value) : json_is_number(value);
}

static void check_keys(const Store *s, const Architecture *a)
{
    for (const Gguf_key *k = a->key; k->gguf; k++)
        if (k->use == NEEDED && !is_of_key(k, gguf_value_of(s, a, k->gguf)))
            fail(EXIT_DATA, s->path, "\"%s.%s\": expected %s; the file is damaged", a->name, k->gguf,
                 k->type == GGUF_BOOL ? "true or false" : "a number");
    if (!a->tokenizer && json_is_true(json_object_get(s->header, "tokenizer.ggml.add_eos_token")))
        fail(EXIT_DATA, s->path, "\"tokenizer.ggml.add_eos_token\": a token at the end of each text is not read here");
}

/* Older converters wrote the shared matrix twice. */
static bool is_tied(const Store *s, const Architecture *a)
{
    char *name = hf_of_gguf(a, "token_embd.weight"), *logits = hf_of_gguf(a, "output.weight");
    const Stored *head = logits ? find_stored(s, logits) : NULL, *rows = find_stored(s, name);
    free(name);
    free(logits);
    return !head || (rows && head->bytes == rows->bytes && strcmp(head->dtype, rows->dtype) == 0 &&
                     memcmp(head->at, rows->at, (size_t)head->bytes) == 0);
}

static void put_attention(const Store *s, const Architecture *a, json_t *all)
{
    int64_t head = gguf_head(s, a), turned = own_integer(s, a, "rope.dimension_count", head),
            heads = own_integer(s, a, "attention.head_count", -1), width = own_integer(s, a, "embedding_length", -1);
    if (a->own_heads || heads == 0 || head != width / heads) put_json(all, "head_dim", json_integer(head));
    int64_t keys = own_integer(s, a, "attention.head_count_kv", heads);
    if (!a->base || keys != heads) put_json(all, "num_key_value_heads", json_integer(keys));
    if (a->share) put_json(all, a->share, json_real(head ? (double)turned / (double)head : 1));
    else if (turned != head) put_json(all, "rotary_dim", json_integer(turned));
    if (own_integer(s, a, "attention.value_length", head) != head)
        fail(EXIT_DATA, s->path, "\"%s.attention.value_length\": values of another size than keys are not read here",
             a->name);
    put_rope_parameters(s, a, all);
}

/* No key says which projections have biases. */
static void put_biases(const Store *s, json_t *all)
{
    static const char *const rows[][2] = {{"attention_bias", "model.layers.0.self_attn.q_proj.bias"},
                                          {"mlp_bias", "model.layers.0.mlp.up_proj.bias"}};
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
        if (find_stored(s, rows[k][1])) put_json(all, rows[k][0], json_true());
}

static void pass_unknown_keys(const Store *s, const Architecture *a, json_t *all)
{
    const char *key;
    json_t *value;
    json_object_foreach(s->header, key, value)
    {
        if (strcmp(key, rope_table) == 0 && json_is_object(value)) continue;
        if (!strchr(key, '.'))
            fail(EXIT_DATA, s->path, "\"%.100s\" is no key of GGUF, which have a dot; the file is damaged", key);
        if (!has_meaning(a, key)) json_object_set(all, key, value);
    }
}

/* Converters write 0 for none. */
static void drop_zero(json_t *all, const char *key)
{
    const json_t *value = json_object_get(all, key);
    if (json_is_integer(value) && !json_integer_value(value)) json_object_del(all, key);
}

/* A key of the architecture that no table knows is passed on, so that it is refused by its name. */
json_t *gguf_config(const Store *s)
{
    static const char *const ids[] = {"bos_token_id", "eos_token_id", "pad_token_id"};
    static const char *const id_keys[] = {"bos_token_id", "eos_token_id", "padding_token_id"};
    const Architecture *a = architecture_of(s);
    check_keys(s, a);
    json_t *all = json_loads(a->also, 0, NULL), *value;
    put_json(all, "model_type", json_string(a->type));
    put_json(all, "architectures", json_pack("[s]", a->model));
    put_json(all, "torch_dtype", json_string("float32"));
    put_json(all, "tie_word_embeddings", json_boolean(is_tied(s, a)));
    for (const Gguf_key *k = a->key; k->gguf; k++)
        if ((value = gguf_value_of(s, a, k->gguf))) json_object_set(all, k->hf, value);
    if (!a->experts) drop_zero(all, "num_local_experts");
    drop_zero(all, "sliding_window");
    for (int i = 0; i < 3; i++) {
        char *key = text_of("tokenizer.ggml.%s", id_keys[i]);
        if ((value = json_object_get(s->header, key))) json_object_set(all, ids[i], value);
        free(key);
    }
    put_json(all, "vocab_size",
             json_integer(own_integer(s, a, "vocab_size", (int64_t)json_array_size(gguf_tokens(s)))));
    if (a->rotary) put_attention(s, a, all);
    if (a->tokenizer) put_encoder(s, a, all);
    if (a->biases) put_biases(s, all);
    put_layers(s, a, all);
    pass_unknown_keys(s, a, all);
    return all;
}

/* An encoder's file says gelu, whichever it is. */
static void call_gelu(json_t *config, const json_t *ours)
{
    static const char *const keys[] = {"hidden_act", "hidden_activation", "classifier_activation"};
    for (int k = 0; k < 3; k++) {
        const char *own = json_string_value(json_object_get(ours, keys[k])),
                   *theirs = json_string_value(json_object_get(config, keys[k]));
        if (own && theirs && strncmp(own, "gelu", 4) == 0 && strcmp(theirs, "gelu") == 0)
            put_json(config, keys[k], json_string(own));
    }
}

/* What is a llama in the file may be called so by the description; that it lacks a window is said, too. */
void call_config(json_t *config, const json_t *ours)
{
    const char *type = json_string_value(json_object_get(ours, "model_type")),
               *found = json_string_value(json_object_get(config, "model_type"));
    const Architecture *own = architecture_of_type(type, NULL), *theirs = architecture_of_type(found, NULL);
    if (own && own == theirs && own->tokenizer) call_gelu(config, ours);
    if (!own || !theirs || own == theirs || own->tokenizer || own->experts || theirs->experts ||
        strcmp(own->name, theirs->name) != 0)
        return;
    put_json(config, "model_type", json_string(own->type));
    put_json(config, "architectures", json_pack("[s]", own->model));
    if (!json_object_get(config, "sliding_window")) put_json(config, "sliding_window", json_null());
}

/* ------------------------------------------------------------------ the files */

static const struct {
    const char *name;
    json_t *(*make)(const Store *);
} files[] = {
    {"config.json", gguf_config},
    {"generation_config.json", gguf_generation_config},
    {"tokenizer_config.json", gguf_tokenizer_config},
    {"tokenizer.json", gguf_tokenizer},
};

char *gguf_file(const char *path, const char *name)
{
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        if (strcmp(files[i].name, name) != 0) continue;
        Store s;
        read_gguf_model(&s, path);
        if (architecture_of(&s)->tokenizer && files[i].make == gguf_generation_config) return close_store(&s), NULL;
        json_t *all = files[i].make(&s);
        bug_if(!all);
        char *text = json_written(all, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
        json_decref(all);
        close_store(&s);
        return text;
    }
    return NULL;
}
