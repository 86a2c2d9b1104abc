/* data_new_values.c: for `lathe new`: what a description calls the keys of a config.json, by family, and their values
 * in Lua. */
#include "tools/data_new.h"
#include "base/words.h"

#include <stdlib.h>
#include <string.h>

static const char rope[] = "rope_parameters.full_attention rope_parameters rope_scaling";
#define GEMMAS "gemma gemma2 gemma3_text"

static const Size of_llama[] = {
    {"num_hidden_layers", NULL, "layers", SIZE, NULL, NULL},
    {"num_attention_heads", NULL, "heads", SIZE, NULL, NULL},
    {"num_key_value_heads", NULL, "kv_heads", SIZE, "model.config.heads", NULL},
    {"head_dim", NULL, "head_width", SIZE, "256", GEMMAS},
    {"head_dim", NULL, "head_width", SIZE, "", NULL},
    {"hidden_size", NULL, "width", SIZE, NULL, NULL},
    {"moe_intermediate_size", NULL, "hidden", SIZE, "768", "qwen3_moe"},
    {"intermediate_size", NULL, "hidden", SIZE, NULL, NULL},
    {"vocab_size", NULL, "vocab", SIZE, NULL, NULL},
    {"max_position_embeddings", NULL, "context", SIZE, NULL, NULL},
    {"sliding_window", NULL, "window", SIZE, "4096", "gemma2 gemma3_text"},
    {"sliding_window", NULL, "window", SIZE, "", "mistral mixtral phi3"},
    {"num_local_experts", "=num_experts", "experts", SIZE, "8", "mixtral"},
    {"num_experts", "=num_local_experts", "experts", SIZE, "128", "qwen3_moe"},
    {"num_experts_per_tok", NULL, "active", SIZE, "2", "mixtral"},
    {"num_experts_per_tok", NULL, "active", SIZE, "8", "qwen3_moe"},
    {"norm_topk_prob", NULL, "normalised", SWITCH, "false", "qwen3_moe"},
    {"router_aux_loss_coef", NULL, "balance", BALANCE, NULL, "mixtral qwen3_moe"},
    {"layer_types", "=sliding_window_pattern", "full_every", EVERY, "2", "gemma2"}, /* older files: by a number */
    {"layer_types", "=sliding_window_pattern", "full_every", EVERY, "6", "gemma3_text"},
    {"query_pre_attn_scalar", NULL, "query_width", SIZE, "256", "gemma2 gemma3_text"},
    {"attn_logit_softcapping", NULL, "score_cap", CAP, "50.0", "gemma2"},
    {"final_logit_softcapping", NULL, "logit_cap", CAP, "30.0", "gemma2"},
    {"final_logit_softcapping", NULL, "logit_cap", CAP, "0.0", "gemma3_text"},
    {"tie_word_embeddings", NULL, "tied", SWITCH, "true", "smollm3 " GEMMAS},
    {"tie_word_embeddings", NULL, "tied", SWITCH, "false", NULL},
    {"attention_bias", NULL, "attention_bias", ON, "", "llama qwen3 qwen3_moe olmo2 smollm3 " GEMMAS},
    {"mlp_bias", NULL, "mlp_bias", ON, "", "llama smollm3"},
    {"rope_theta", rope, "rope_theta", REAL, "1000000.0", "gemma3_text mixtral"},
    {"rope_theta", rope, "rope_theta", REAL, "2000000.0", "smollm3"},
    {"rope_theta", rope, "rope_theta", REAL, "10000.0", NULL},
    {"rope_local_base_freq", "=rope_parameters.sliding_attention.rope_theta", "rope_local", REAL, "10000.0",
     "gemma3_text"},
    {"no_rope_layers", "=no_rope_layer_interval", "no_rope_interval", EVERY, "4", "smollm3"},
    {"partial_rotary_factor", rope, "rotary_share", REAL, "", "phi3"},
    {"rope_type", rope, "rope", ROPE, "", NULL}, /* "type" in older files */
    {"factor", rope, "rope_factor", REAL, "", NULL},
    {"low_freq_factor", rope, "rope_low", REAL, "", NULL},
    {"high_freq_factor", rope, "rope_high", REAL, "", NULL},
    {"original_max_position_embeddings", rope, "rope_context", SIZE, "", NULL},
    {"beta_fast", rope, "rope_fast", REAL, "", NULL},
    {"beta_slow", rope, "rope_slow", REAL, "", NULL},
    {"short_factor", rope, "rope_short", LIST, "", NULL},
    {"long_factor", rope, "rope_long", LIST, "", NULL},
    {"attention_factor", rope, "rope_amplitude", REAL, "", NULL},
    {"rms_norm_eps", NULL, "eps", REAL, "1e-5", "mixtral olmo2 phi3"},
    {"rms_norm_eps", NULL, "eps", REAL, "1e-6", NULL},
    {NULL, NULL, NULL, SIZE, NULL, NULL},
};

static const Size of_gpt[] = {
    {"n_layer", NULL, "layers", SIZE, NULL, NULL},
    {"n_head", NULL, "heads", SIZE, NULL, NULL},
    {"n_embd", NULL, "width", SIZE, NULL, NULL},
    {"vocab_size", NULL, "vocab", SIZE, NULL, NULL},
    {"n_positions", NULL, "context", SIZE, NULL, NULL},
    {"tie_word_embeddings", NULL, "tied", SWITCH, "true", NULL},
    {"activation_function", NULL, "gelu", GELU, "\"tanh\"", NULL},
    {NULL, NULL, NULL, SIZE, NULL, NULL},
};

/* Older files have keys of their own for rotary positions. */
static const Size of_neox[] = {
    {"num_hidden_layers", NULL, "layers", SIZE, NULL, NULL},
    {"num_attention_heads", NULL, "heads", SIZE, NULL, NULL},
    {"hidden_size", NULL, "width", SIZE, NULL, NULL},
    {"intermediate_size", NULL, "hidden", SIZE, NULL, NULL},
    {"vocab_size", NULL, "vocab", SIZE, NULL, NULL},
    {"max_position_embeddings", NULL, "context", SIZE, NULL, NULL},
    {"tie_word_embeddings", NULL, "tied", SWITCH, "false", NULL},
    {"use_parallel_residual", NULL, "parallel", SWITCH, "true", NULL},
    {"attention_bias", NULL, "attention_bias", SWITCH, "true", NULL},
    {"hidden_act", NULL, "activation", GELUS, "", NULL},
    {"rope_theta", "rope_parameters", "rope_theta", REAL, "", NULL},
    {"rotary_emb_base", NULL, "rope_theta", REAL, "", NULL},
    {"partial_rotary_factor", "rope_parameters", "rotary_share", REAL, "", NULL},
    {"rotary_pct", NULL, "rotary_share", REAL, "", NULL},
    {"layer_norm_eps", NULL, "eps", REAL, "1e-5", NULL},
    {NULL, NULL, NULL, SIZE, NULL, NULL},
};

static const Size of_bert[] = {
    {"num_hidden_layers", NULL, "layers", SIZE, NULL, NULL},
    {"num_attention_heads", NULL, "heads", SIZE, NULL, NULL},
    {"hidden_size", NULL, "width", SIZE, NULL, NULL},
    {"intermediate_size", NULL, "hidden", SIZE, NULL, NULL},
    {"vocab_size", NULL, "vocab", SIZE, NULL, NULL},
    {"max_position_embeddings", NULL, "context", SIZE, NULL, NULL},
    {"type_vocab_size", NULL, "types", SIZE, "2", NULL},
    {"hidden_act", NULL, "activation", ACTIVATION, "", NULL},
    {"layer_norm_eps", NULL, "eps", REAL, "1e-12", NULL},
    {"hidden_dropout_prob", NULL, "dropout", SHARE, "0.1", NULL},
    {"attention_probs_dropout_prob", NULL, "attention_dropout", SHARE, "0.1", NULL},
    {"classifier_dropout", NULL, "head_dropout", SHARE, "c.dropout", NULL},
    {"id2label", NULL, "classes", NAMES, "2", NULL},
    {NULL, NULL, NULL, SIZE, NULL, NULL},
};

/* Older files have keys of their own for rotary positions and layers without a window. */
static const Size of_modern[] = {
    {"num_hidden_layers", NULL, "layers", SIZE, NULL, NULL},
    {"num_attention_heads", NULL, "heads", SIZE, NULL, NULL},
    {"hidden_size", NULL, "width", SIZE, NULL, NULL},
    {"intermediate_size", NULL, "hidden", SIZE, NULL, NULL},
    {"vocab_size", NULL, "vocab", SIZE, NULL, NULL},
    {"max_position_embeddings", NULL, "context", SIZE, NULL, NULL},
    {"hidden_activation", NULL, "activation", ACTIVATION, "", NULL},
    {"norm_eps", NULL, "eps", REAL, "1e-5", NULL},
    {"norm_bias", NULL, "norm_bias", SWITCH, "false", NULL},
    {"attention_bias", NULL, "attention_bias", SWITCH, "false", NULL},
    {"mlp_bias", NULL, "mlp_bias", SWITCH, "false", NULL},
    {"classifier_bias", NULL, "head_bias", SWITCH, "false", NULL},
    {"decoder_bias", NULL, "decoder_bias", SWITCH, "true", NULL},
    {"classifier_activation", NULL, "head_activation", ACTIVATION, "", NULL},
    {"classifier_pooling", NULL, "pooling", WORD, "\"cls\"", NULL},
    {"local_attention", NULL, "window", SIZE, "128", NULL},
    {"layer_types", "=global_attn_every_n_layers", "full_every", FROM_FIRST, "3", NULL},
    {"global_rope_theta", "=rope_parameters.full_attention.rope_theta", "rope_theta", REAL, "160000.0", NULL},
    {"local_rope_theta", "=rope_parameters.sliding_attention.rope_theta", "rope_local", REAL, "10000.0", NULL},
    {"mlp_dropout", NULL, "dropout", SHARE, "0.0", NULL},
    {"attention_dropout", NULL, "attention_dropout", SHARE, "0.0", NULL},
    {"embedding_dropout", NULL, "embedding_dropout", SHARE, "0.0", NULL},
    {"classifier_dropout", NULL, "head_dropout", SHARE, "0.0", NULL},
    {"id2label", NULL, "classes", NAMES, "2", NULL},
    {NULL, NULL, NULL, SIZE, NULL, NULL},
};

const Family families[] = {
    {"llama", "llama", of_llama, true},       {"mistral", "llama", of_llama, true},
    {"mixtral", "llama", of_llama, true},     {"qwen2", "llama", of_llama, true},
    {"qwen3", "llama", of_llama, true},       {"qwen3_moe", "llama", of_llama, true},
    {"gemma", "llama", of_llama, true},       {"gemma2", "llama", of_llama, true},
    {"gemma3_text", "llama", of_llama, true}, {"olmo2", "llama", of_llama, true},
    {"phi3", "llama", of_llama, true},        {"smollm3", "llama", of_llama, true},
    {"gpt_neox", "neox", of_neox, false},     {"gpt2", "gpt", of_gpt, false},
    {"bert", "bert", of_bert, true},          {"roberta", "bert", of_bert, true},
    {"modernbert", "bert", of_modern, true},
};
const int family_count = sizeof families / sizeof *families;

static _Noreturn void unfit(const char *place, const Size *s, const json_t *found, const char *expected)
{
    char *text = found ? json_dumps(found, JSON_ENCODE_ANY | JSON_COMPACT) : text_of("none");
    fail(EXIT_DATA, place, "%s: expected %s, found %.60s", s->theirs, expected, text);
}

/* As short as it can be, and no integer in Lua: 1e-05, 500000.0. */
static char *real_text(double x)
{
    char text[40];
    bool plain = x >= 1e-3 && x < 1e15;
    for (int digits = 1; plain && digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*f", digits, x);
        if (strtod(text, NULL) == x) return text_of("%s", text);
    }
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, x);
        if (strtod(text, NULL) == x) break;
    }
    return text_of("%s%s", text, strpbrk(text, ".e") ? "" : ".0");
}

/* By the n bytes of a path: "a.b" */
static const json_t *found_by(const json_t *config, const char *path, size_t n)
{
    for (const char *end = path + n; config && path < end; path += strspn(path, ".")) {
        size_t part = strcspn(path, ". ");
        char *key = text_of("%.*s", (int)part, path);
        config = json_object_get(config, key);
        free(key);
        path += part;
    }
    return config;
}

/* NULL where it is absent or null. */
static const json_t *found_in(const json_t *config, const Size *s, const char *key)
{
    const json_t *found = json_object_get(config, key);
    for (const char *at = s->elsewhere; at && *at && (!found || json_is_null(found)); at += strspn(at, " ")) {
        size_t n = strcspn(at, " ");
        found = *at == '=' ? found_by(config, at + 1, n - 1) : json_object_get(found_by(config, at, n), key);
        at += n;
    }
    return json_is_null(found) ? NULL : found;
}

/* Of the four names of gelu, or of two more. */
static bool is_activation(const char *name, int n)
{
    static const char *const names[] = {"gelu", "gelu_new", "gelu_fast", "gelu_pytorch_tanh", "relu", "silu"};
    for (int k = 0; name && k < n; k++)
        if (strcmp(names[k], name) == 0) return true;
    return false;
}

/* Layers that see all, and those without rotary positions */
static bool is_other_layer(const json_t *layer)
{
    const char *type = json_string_value(layer);
    return type ? strcmp(type, "full_attention") == 0 : json_is_integer(layer) && json_integer_value(layer) == 0;
}

/* Every which layer is such a one; none is: one more than there are.  0: they do not repeat. */
static json_int_t interval_of(const json_t *layers)
{
    size_t n = json_array_size(layers), every = n + 1;
    for (size_t i = n; i-- > 0;)
        if (is_other_layer(json_array_get(layers, i))) every = i + 1;
    for (size_t i = 0; i < n; i++)
        if (is_other_layer(json_array_get(layers, i)) != ((i + 1) % every == 0)) return 0;
    return (json_int_t)every;
}

/* The same, counted from the first, which is such a one. */
static json_int_t interval_from_first(const json_t *layers)
{
    size_t n = json_array_size(layers), every = 1;
    while (every < n && !is_other_layer(json_array_get(layers, every))) every++;
    for (size_t i = 0; i < n; i++)
        if (is_other_layer(json_array_get(layers, i)) != (i % every == 0)) return 0;
    return (json_int_t)every;
}

/* The balance loss counts where output_router_logits asks for it. */
static char *balance_text(const char *place, const Size *s, const json_t *config)
{
    const json_t *found = found_in(config, s, s->theirs);
    if (!json_is_true(json_object_get(config, "output_router_logits"))) return text_of("0.0");
    if (!found) return text_of("0.001");
    if (!json_is_number(found) || json_number_value(found) < 0) unfit(place, s, found, "a number, 0 or more");
    return real_text(json_number_value(found));
}

static char *rope_text(const char *place, const Size *s, const json_t *found)
{
    static const char *const ways[] = {"linear", "llama3", "yarn", "dynamic", "longrope"};
    const char *said = json_string_value(found);
    if (said && strcmp(said, "default") == 0) return text_of("%s", "");
    if (said && strcmp(said, "su") == 0) said = "longrope"; /* as older files have it */
    for (size_t k = 0; said && k < sizeof ways / sizeof *ways; k++)
        if (strcmp(said, ways[k]) == 0) return text_of("\"%s\"", said);
    unfit(place, s, found, "\"default\", \"linear\", \"llama3\", \"yarn\", \"dynamic\" or \"longrope\"");
}

/* A text of numbers between blanks */
static char *list_text(const char *place, const Size *s, const json_t *found)
{
    enum { MOST = 4096 };
    size_t i, n = json_array_size(found);
    json_t *one;
    char *all = text_of("%s", "");
    if (n < 1 || n > MOST) unfit(place, s, found, "a list of numbers above 0");
    json_array_foreach(found, i, one)
    {
        if (!json_is_number(one) || json_number_value(one) <= 0) unfit(place, s, found, "a list of numbers above 0");
        char *next = text_of("%s%s%s", all, i ? " " : "", real_text(json_number_value(one)));
        free(all);
        all = next;
    }
    return text_of("\"%s\"", all);
}

char *value_text(const char *place, const Size *s, const json_t *config)
{
    enum { LARGEST = 1 << 30 };
    const json_t *found = found_in(config, s, s->theirs);
    if (!found && s->value == ROPE) found = found_in(config, s, "type");
    if (!found && s->value == CAP && json_is_null(json_object_get(config, s->theirs))) return text_of("0.0");
    if (s->value == BALANCE) return balance_text(place, s, config);
    if (!found && s->absent) return text_of("%s", s->absent);
    json_int_t n = json_integer_value(found);
    switch (s->value) {
    case SIZE:
        if (!json_is_integer(found) || n < 1 || n > LARGEST) unfit(place, s, found, "a whole number, 1 or more");
        return text_of("%lld", (long long)n);
    case EVERY:
        if (json_is_array(found)) n = interval_of(found);
        if (n < 1 || n > LARGEST) unfit(place, s, found, "a list in which every so many-th layer is unlike the others");
        return text_of("%lld", (long long)n);
    case FROM_FIRST:
        if (json_is_array(found)) n = interval_from_first(found);
        if (n < 1 || n > LARGEST)
            unfit(place, s, found, "a list in which the first and every so many-th layer are full");
        return text_of("%lld", (long long)n);
    case WORD:
        if (!json_is_string(found) ||
            strspn(json_string_value(found), "abcdefghijklmnopqrstuvwxyz_") != strlen(json_string_value(found)))
            unfit(place, s, found, "a word");
        return text_of("\"%s\"", json_string_value(found));
    case BALANCE:
    case CAP:
    case REAL:
        if (!json_is_number(found) || json_number_value(found) <= 0) unfit(place, s, found, "a number above 0");
        return real_text(json_number_value(found));
    case SHARE:
        if (!json_is_number(found) || json_number_value(found) < 0 || json_number_value(found) >= 1)
            unfit(place, s, found, "a number from 0 to 1");
        return json_number_value(found) > 0 ? real_text(json_number_value(found)) : text_of("0.0");
    case NAMES:
        n = (json_int_t)json_object_size(found);
        if (n < 1 || n > LARGEST) unfit(place, s, found, "names of classes");
        return text_of("%lld", (long long)n);
    case ON:
    case SWITCH:
        if (!json_is_boolean(found)) unfit(place, s, found, "true or false");
        if (s->value == ON && !json_is_true(found)) return text_of("%s", "");
        return text_of("%s", json_is_true(found) ? "true" : "false");
    case GELU:
        if (json_is_string(found) && strcmp(json_string_value(found), "gelu_new") == 0) return text_of("\"tanh\"");
        if (json_is_string(found) && strcmp(json_string_value(found), "gelu") == 0) return text_of("\"erf\"");
        unfit(place, s, found, "\"gelu_new\" or \"gelu\"");
    case GELUS:
        if (!is_activation(json_string_value(found), 4))
            unfit(place, s, found, "\"gelu\", \"gelu_new\", \"gelu_fast\" or \"gelu_pytorch_tanh\"");
        return text_of("\"%s\"", json_string_value(found));
    case ACTIVATION:
        if (!is_activation(json_string_value(found), 6))
            unfit(place, s, found,
                  "\"gelu\", \"gelu_new\", \"gelu_fast\", \"gelu_pytorch_tanh\", \"relu\" or \"silu\"");
        return text_of("\"%s\"", json_string_value(found));
    case ROPE: return rope_text(place, s, found);
    case LIST: return list_text(place, s, found);
    }
    bug_at(__FILE__, __LINE__, "a kind of value");
}
