/* gguf_model.c: a GGUF file as a folder of Hugging Face: names and layout of tensors, config.json, the tokenizer.
 *
 * So a description's `hf` is enough for both, and what is checked of a folder (model/import.c) is checked of a file. */
#include "base/json_text.h"
#include "base/words.h"
#include "model/gguf.h"

#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ names and layout */

static const struct {
    const char *gguf, *hf;
    bool turned; /* rows of a head are in the order of rotary pairs: 0, D/2, 1, D/2 + 1, … (llama.cpp's converter) */
} of_block[] = {
    {"attn_norm", "input_layernorm", false}, {"ffn_norm", "post_attention_layernorm", false},
    {"attn_q", "self_attn.q_proj", true},    {"attn_k", "self_attn.k_proj", true},
    {"attn_v", "self_attn.v_proj", false},   {"attn_output", "self_attn.o_proj", false},
    {"ffn_gate", "mlp.gate_proj", false},    {"ffn_up", "mlp.up_proj", false},
    {"ffn_down", "mlp.down_proj", false},
};

static const char *const of_model[][2] = {
    {"token_embd.weight", "model.embed_tokens.weight"},
    {"output_norm.weight", "model.norm.weight"},
    {"output.weight", "lm_head.weight"},
};

static const char head_key[] = "llama.attention.head_count", kv_head_key[] = "llama.attention.head_count_kv";

static int64_t gguf_integer(const Store *s, const char *key, int64_t absent)
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

static int64_t head_size(const Store *s)
{
    int64_t heads = gguf_integer(s, head_key, -1), width = gguf_integer(s, "llama.embedding_length", -1);
    if (heads == 0 || width % heads)
        fail(EXIT_DATA, s->path, "expected a width that heads divide, found %lld and %lld; the file is damaged",
             (long long)width, (long long)heads);
    return gguf_integer(s, "llama.attention.key_length", width / heads);
}

/* What follows "blk.3." or "model.layers.3."; NULL: the name is another.  A number has no sign and no leading 0. */
static const char *after_layer(const char *before, const char *name, int *layer)
{
    size_t n = strlen(before);
    if (strncmp(name, before, n) != 0 || name[n] < '0' || name[n] > '9' || (name[n] == '0' && name[n + 1] != '.'))
        return NULL;
    char *end;
    long k = strtol(name + n, &end, 10);
    *layer = (int)k;
    return *end == '.' && k < 1 << 20 ? end + 1 : NULL;
}

/* The row of of_block for a name such as "blk.3.attn_q.weight", or "model.layers.3.self_attn.q_proj.weight" of Hugging
 * Face; what follows it begins at the dot.  -1: it is not one of a block. */
static int row_of_block(const char *name, bool is_hf, int *layer, const char **dot)
{
    const char *part = after_layer(is_hf ? "model.layers." : "blk.", name, layer);
    if (!part || !(*dot = strrchr(part, '.'))) return -1;
    size_t n = (size_t)(*dot - part);
    for (size_t i = 0; i < sizeof of_block / sizeof *of_block; i++) {
        const char *known = is_hf ? of_block[i].hf : of_block[i].gguf;
        if (strlen(known) == n && strncmp(part, known, n) == 0) return (int)i;
    }
    return -1;
}

char *gguf_name(const char *hf)
{
    int layer;
    const char *dot;
    for (size_t i = 0; i < sizeof of_model / sizeof *of_model; i++)
        if (strcmp(of_model[i][1], hf) == 0) return text_of("%s", of_model[i][0]);
    int k = row_of_block(hf, true, &layer, &dot);
    return k < 0 ? NULL : text_of("blk.%d.%s%s", layer, of_block[k].gguf, dot);
}

bool gguf_is_turned(const char *hf)
{
    int layer;
    const char *dot;
    int k = row_of_block(hf, true, &layer, &dot);
    return k >= 0 && of_block[k].turned;
}

static void rename_tensor(const Store *s, Stored *t)
{
    int layer;
    const char *dot;
    int k = row_of_block(t->name, false, &layer, &dot);
    char *name = k < 0 ? NULL : text_of("model.layers.%d.%s%s", layer, of_block[k].hf, dot);
    for (size_t i = 0; !name && i < sizeof of_model / sizeof *of_model; i++)
        if (strcmp(of_model[i][0], t->name) == 0) name = text_of("%s", of_model[i][1]);
    if (!name && strncmp(t->name, "model.", 6) == 0)
        fail(EXIT_DATA, s->path, "tensor %.100s has no name of GGUF; convert the model again", t->name);
    if (name) {
        free((char *)t->name);
        t->name = name;
    }
    if (k < 0 || !of_block[k].turned) return;
    t->turned = head_size(s);
    if (t->turned == 0 || t->turned % 2 || t->rank == 0 || t->dim[0] % t->turned)
        fail(EXIT_DATA, s->path,
             "tensor %s: expected rows of whole heads of %lld, found %lld rows; the file is damaged", t->name,
             (long long)t->turned, (long long)(t->rank ? t->dim[0] : 0));
}

static void check_kind(const Store *s)
{
    const char *name = json_string_value(json_object_get(s->header, "general.architecture")),
               *type = json_string_value(json_object_get(s->header, "general.type"));
    if (json_integer_value(json_object_get(s->header, "split.count")) > 1)
        fail(EXIT_DATA, s->path,
             "is one of several parts; llama.cpp's llama-gguf-split --merge makes one file of them");
    if (type && strcmp(type, "model") != 0) fail(EXIT_DATA, s->path, "expected a model, found %.60s", type);
    if (!name) fail(EXIT_DATA, s->path, "does not say its \"general.architecture\"; the file is damaged");
    if (strcmp(name, "llama") != 0)
        fail(EXIT_DATA, s->path,
             "expected a model of the architecture llama, found %.60s, which is not read from GGUF yet; take the "
             "model's "
             "Hugging Face folder, if models/ has a description for it",
             name);
}

void read_gguf_model(Store *s, const char *path)
{
    read_gguf(s, path);
    check_kind(s);
    for (int i = 0; i < s->n; i++) rename_tensor(s, &s->tensor[i]);
    sort_tensors(s);
}

/* ------------------------------------------------------------------ config.json */

static const char *const same_keys[][2] = {
    {"llama.block_count", "num_hidden_layers"}, /* the first six must be there */
    {"llama.embedding_length", "hidden_size"},
    {"llama.feed_forward_length", "intermediate_size"},
    {"llama.context_length", "max_position_embeddings"},
    {head_key, "num_attention_heads"},
    {"llama.attention.layer_norm_rms_epsilon", "rms_norm_eps"},
    {"llama.expert_count", "num_local_experts"},
    {"llama.attention.sliding_window", "sliding_window"},
    {"tokenizer.ggml.bos_token_id", "bos_token_id"},
    {"tokenizer.ggml.eos_token_id", "eos_token_id"},
    {"tokenizer.ggml.padding_token_id", "pad_token_id"},
};

/* Keys that the model does not depend on, beside those that begin with "general." and "tokenizer.". */
static const char *const other_keys[] = {"llama.vocab_size",           kv_head_key,
                                         "llama.rope.freq_base",       "llama.rope.dimension_count",
                                         "llama.attention.key_length", "llama.attention.value_length"};

static bool has_meaning(const char *key)
{
    for (size_t i = 0; i < sizeof same_keys / sizeof *same_keys; i++)
        if (strcmp(same_keys[i][0], key) == 0) return true;
    for (size_t i = 0; i < sizeof other_keys / sizeof *other_keys; i++)
        if (strcmp(other_keys[i], key) == 0) return true;
    return strncmp(key, "general.", 8) == 0 || strncmp(key, "tokenizer.", 10) == 0;
}

static json_t *tokens_of(const Store *s) { return json_object_get(s->header, "tokenizer.ggml.tokens"); }

static void check_keys(const Store *s)
{
    enum { NEEDED = 6 };
    for (int i = 0; i < NEEDED; i++)
        if (!json_is_number(json_object_get(s->header, same_keys[i][0])))
            fail(EXIT_DATA, s->path, "\"%s\": expected a number; the file is damaged", same_keys[i][0]);
    if (json_is_true(json_object_get(s->header, "tokenizer.ggml.add_eos_token")))
        fail(EXIT_DATA, s->path, "\"tokenizer.ggml.add_eos_token\": a token at the end of each text is not read here");
}

/* A key that no table knows is passed on, so that it is refused by its name. */
json_t *gguf_config(const Store *s)
{
    check_keys(s);
    int64_t head = head_size(s), turned = gguf_integer(s, "llama.rope.dimension_count", head);
    json_t *all =
        json_pack("{s:s, s:[s], s:s, s:s, s:I, s:I, s:b}", "model_type", "llama", "architectures", "LlamaForCausalLM",
                  "hidden_act", "silu", "torch_dtype", "float32", "head_dim", (json_int_t)head, "num_key_value_heads",
                  (json_int_t)gguf_integer(s, kv_head_key, gguf_integer(s, head_key, -1)), "tie_word_embeddings",
                  find_stored(s, "lm_head.weight") == NULL);
    const char *key;
    json_t *value, *base = json_object_get(s->header, "llama.rope.freq_base");
    for (size_t i = 0; i < sizeof same_keys / sizeof *same_keys; i++)
        if ((value = json_object_get(s->header, same_keys[i][0]))) json_object_set(all, same_keys[i][1], value);
    const json_t *experts = json_object_get(all, "num_local_experts");
    if (json_is_integer(experts) && !json_integer_value(experts)) json_object_del(all, "num_local_experts");
    put_json(all, "rope_theta", base ? json_incref(base) : json_real(10000.0));
    put_json(all, "vocab_size",
             json_integer(gguf_integer(s, "llama.vocab_size", (int64_t)json_array_size(tokens_of(s)))));
    if (turned != head) put_json(all, "rotary_dim", json_integer(turned));
    if (gguf_integer(s, "llama.attention.value_length", head) != head)
        fail(EXIT_DATA, s->path, "values of another size than keys are not read here");
    json_object_foreach(s->header, key, value)
    {
        if (has_meaning(key)) continue;
        if (!strchr(key, '.'))
            fail(EXIT_DATA, s->path, "\"%.100s\" is no key of GGUF, which have a dot; the file is damaged", key);
        json_object_set(all, key, value);
    }
    return all;
}

const char *gguf_key(int i) { return i < (int)(sizeof same_keys / sizeof *same_keys) ? same_keys[i][0] : NULL; }
const char *gguf_config_key(int i) { return same_keys[i][1]; }

/* ------------------------------------------------------------------ the tokenizer */

/* How text is cut into pieces, by tokenizer.ggml.pre, as Hugging Face's file of such a model says it. */
static const struct {
    const char *pre, *pre_tokenizer;
} cuts[] = {
    {"smollm", "{\"type\": \"Sequence\", \"pretokenizers\": [{\"type\": \"Digits\", \"individual_digits\": true}, "
               "{\"type\": \"ByteLevel\", \"add_prefix_space\": false, \"trim_offsets\": true, \"use_regex\": true}]}"},
};

const char *gguf_pre(const json_t *pre_tokenizer)
{
    const char *found = NULL;
    for (size_t i = 0; !found && i < sizeof cuts / sizeof *cuts; i++) {
        json_t *known = json_loads(cuts[i].pre_tokenizer, 0, NULL);
        if (json_equal(known, pre_tokenizer)) found = cuts[i].pre;
        json_decref(known);
    }
    return found;
}

static const char *gguf_word(const Store *s, const char *key)
{
    const char *word = json_string_value(json_object_get(s->header, key));
    return word ? word : "none";
}

/* The row of cuts; -1: none. */
static int cut_of(const Store *s)
{
    const char *model = gguf_word(s, "tokenizer.ggml.model"), *pre = gguf_word(s, "tokenizer.ggml.pre");
    for (size_t i = 0; strcmp(model, "gpt2") == 0 && i < sizeof cuts / sizeof *cuts; i++)
        if (strcmp(cuts[i].pre, pre) == 0) return (int)i;
    return -1;
}

static json_t *pre_tokenizer_of(const Store *s)
{
    int k = cut_of(s);
    if (k >= 0) return json_loads(cuts[k].pre_tokenizer, 0, NULL);
    fail(EXIT_DATA, s->path,
         "expected a tokenizer of the model gpt2 that cuts text as smollm, found model %.60s, pre %.60s, which is "
         "not read from GGUF yet; --tokenizer FILE gives the model's tokenizer.json",
         gguf_word(s, "tokenizer.ggml.model"), gguf_word(s, "tokenizer.ggml.pre"));
}

static json_t *vocab_of(const Store *s, json_t *added)
{
    const json_t *types = json_object_get(s->header, "tokenizer.ggml.token_type");
    json_t *vocab = json_object(), *token;
    size_t i;
    if (types && json_array_size(types) != json_array_size(tokens_of(s)))
        fail(EXIT_DATA, s->path,
             "\"tokenizer.ggml.token_type\": expected a list as long as that of tokens; the file is damaged");
    json_array_foreach(tokens_of(s), i, token)
    {
        const char *text = json_string_value(token);
        if (!text || !*text || json_object_get(vocab, text))
            fail(EXIT_DATA, s->path,
                 "\"tokenizer.ggml.tokens\"[%zu]: expected a text that no other token has; the file is damaged", i);
        json_object_set_new(vocab, text, json_integer((json_int_t)i));
        json_int_t type = json_integer_value(json_array_get(types, i));
        if (type == CONTROL_TOKEN || type == USERS_TOKEN)
            add_json(added, json_pack("{s:I, s:O, s:b, s:b, s:b, s:b, s:b}", "id", (json_int_t)i, "content", token,
                                      "single_word", 0, "lstrip", 0, "rstrip", 0, "normalized", 0, "special",
                                      type == CONTROL_TOKEN));
    }
    return vocab;
}

/* The text of the token that a key names; NULL: the file lacks the key. */
static const char *token_at(const Store *s, const char *key)
{
    if (!json_object_get(s->header, key)) return NULL;
    int64_t id = gguf_integer(s, key, -1);
    const char *text = json_string_value(json_array_get(tokens_of(s), (size_t)id));
    if (!text)
        fail(EXIT_DATA, s->path, "\"%s\": expected an id below the %zu tokens, found %lld; the file is damaged", key,
             json_array_size(tokens_of(s)), (long long)id);
    return text;
}

/* The token before a text, if the file wants one. */
static json_t *post_processor_of(const Store *s)
{
    const char *key = "tokenizer.ggml.bos_token_id", *first = token_at(s, key);
    if (!json_is_true(json_object_get(s->header, "tokenizer.ggml.add_bos_token"))) return json_null();
    if (!first)
        fail(EXIT_DATA, s->path, "lacks \"%s\", and wants that token before each text; the file is damaged", key);
    json_t *id = json_object_get(s->header, key);
    return json_pack("{s:s, s:[{s:{s:s, s:i}}, {s:{s:s, s:i}}], s:[], s:{s:{s:s, s:[O], s:[s]}}}", "type",
                     "TemplateProcessing", "single", "SpecialToken", "id", first, "type_id", 0, "Sequence", "id", "A",
                     "type_id", 0, "pair", "special_tokens", first, "id", first, "ids", id, "tokens", first);
}

static json_t *tokenizer_of_gguf(const Store *s)
{
    json_t *merges = json_object_get(s->header, "tokenizer.ggml.merges"), *pre = pre_tokenizer_of(s),
           *added = json_array(), *vocab = vocab_of(s, added);
    if (!json_is_array(merges)) fail(EXIT_DATA, s->path, "lacks \"tokenizer.ggml.merges\"; the file is damaged");
    return json_pack("{s:s, s:n, s:n, s:o, s:n, s:o, s:o, s:{s:s, s:b, s:b, s:b, s:O, s:o}}", "version", "1.0",
                     "truncation", "padding", "added_tokens", added, "normalizer", "pre_tokenizer", pre,
                     "post_processor", post_processor_of(s), "model", "type", "BPE", "fuse_unk", 0, "byte_fallback", 0,
                     "ignore_merges", 0, "merges", merges, "vocab", vocab);
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
    json_array_foreach(tokens_of(&s), i, token) if (json_integer_value(json_array_get(types, i)) == UNUSED_TOKEN)
        json_object_del(theirs, json_string_value(token));
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
    bool known = cut_of(&s) >= 0;
    close_store(&s);
    return known;
}

static json_t *tokenizer_config_of(const Store *s)
{
    json_t *all = json_pack("{s:s}", "tokenizer_class", "PreTrainedTokenizerFast");
    json_t *template = json_object_get(s->header, "tokenizer.chat_template");
    const char *first = token_at(s, "tokenizer.ggml.bos_token_id"), *last = token_at(s, "tokenizer.ggml.eos_token_id");
    if (json_is_string(template)) json_object_set(all, "chat_template", template);
    if (first) put_json(all, "bos_token", json_string(first));
    if (last) put_json(all, "eos_token", json_string(last));
    return all;
}

/* Texts end at the end of a text, of a turn and of a message. */
static json_t *generation_config_of(const Store *s)
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

static const struct {
    const char *name;
    json_t *(*make)(const Store *);
} files[] = {
    {"config.json", gguf_config},
    {"generation_config.json", generation_config_of},
    {"tokenizer_config.json", tokenizer_config_of},
    {"tokenizer.json", tokenizer_of_gguf},
};

char *gguf_file(const char *path, const char *name)
{
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        if (strcmp(files[i].name, name) != 0) continue;
        Store s;
        read_gguf_model(&s, path);
        json_t *all = files[i].make(&s);
        bug_if(!all);
        char *text = json_written(all, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
        json_decref(all);
        close_store(&s);
        return text;
    }
    return NULL;
}
