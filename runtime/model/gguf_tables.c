/* gguf_tables.c: the architectures of GGUF files that are known, and what Hugging Face calls their keys and tensors.
 *
 * llama.cpp runs Mistral as a llama, and RoBERTa as a bert.  A file says no more than that, so a llama is read as a
 * llama, or as what the description says it is; a bert with byte-level pieces is a RoBERTa. */
#include "base/words.h"
#include "model/gguf.h"

#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ keys of numbers, without "llama." */

#define OF_ATTENTION                                                                                                   \
    {"block_count", "num_hidden_layers", GGUF_U32, NEEDED}, {"embedding_length", "hidden_size", GGUF_U32, NEEDED},     \
        {"context_length", "max_position_embeddings", GGUF_U32, NEEDED},                                               \
    {                                                                                                                  \
        "attention.head_count", "num_attention_heads", GGUF_U32, NEEDED                                                \
    }
#define USUAL_KEYS                                                                                                     \
    OF_ATTENTION, { "feed_forward_length", "intermediate_size", GGUF_U32, NEEDED }
#define RMS_EPSILON                                                                                                    \
    {                                                                                                                  \
        "attention.layer_norm_rms_epsilon", "rms_norm_eps", GGUF_F32, NEEDED                                           \
    }
#define LAST_KEY                                                                                                       \
    {                                                                                                                  \
        NULL, NULL, 0, READ                                                                                            \
    }

static const Gguf_key llama_keys[] = {
    USUAL_KEYS,
    RMS_EPSILON,
    {"expert_count", "num_local_experts", GGUF_U32, READ},
    {"attention.sliding_window", "sliding_window", GGUF_U32, READ},
    LAST_KEY,
};

static const Gguf_key mixtral_keys[] = {
    USUAL_KEYS,
    RMS_EPSILON,
    {"expert_count", "num_local_experts", GGUF_U32, NEEDED},
    {"expert_used_count", "num_experts_per_tok", GGUF_U32, NEEDED},
    {"attention.sliding_window", "sliding_window", GGUF_U32, READ},
    LAST_KEY,
};

/* feed_forward_length is of layers without experts, of which there are none. */
static const Gguf_key qwen3_moe_keys[] = {
    OF_ATTENTION,
    {"feed_forward_length", "intermediate_size", GGUF_U32, READ},
    {"expert_feed_forward_length", "moe_intermediate_size", GGUF_U32, NEEDED},
    RMS_EPSILON,
    {"expert_count", "num_experts", GGUF_U32, NEEDED},
    {"expert_used_count", "num_experts_per_tok", GGUF_U32, NEEDED},
    LAST_KEY,
};

static const Gguf_key gemma_keys[] = {
    USUAL_KEYS,
    RMS_EPSILON,
    {"attention.sliding_window", "sliding_window", GGUF_U32, WRITTEN},
    {"attn_logit_softcapping", "attn_logit_softcapping", GGUF_F32, WRITTEN},
    {"final_logit_softcapping", "final_logit_softcapping", GGUF_F32, WRITTEN},
    {"attention.sliding_window_pattern", "sliding_window_pattern", GGUF_U32, READ},
    {"rope.freq_base_swa", "rope_local_base_freq", GGUF_F32, WRITTEN},
    LAST_KEY,
};

static const Gguf_key gpt_keys[] = {
    {"block_count", "n_layer", GGUF_U32, NEEDED},
    {"embedding_length", "n_embd", GGUF_U32, NEEDED},
    {"feed_forward_length", "n_inner", GGUF_U32, NEEDED},
    {"context_length", "n_positions", GGUF_U32, NEEDED},
    {"attention.head_count", "n_head", GGUF_U32, NEEDED},
    {"attention.layer_norm_epsilon", "layer_norm_epsilon", GGUF_F32, NEEDED},
    LAST_KEY,
};

static const Gguf_key neox_keys[] = {
    USUAL_KEYS,
    {"attention.layer_norm_epsilon", "layer_norm_eps", GGUF_F32, NEEDED},
    {"use_parallel_residual", "use_parallel_residual", GGUF_BOOL, NEEDED},
    LAST_KEY,
};

static const Gguf_key bert_keys[] = {
    USUAL_KEYS,
    {"attention.layer_norm_epsilon", "layer_norm_eps", GGUF_F32, NEEDED},
    LAST_KEY,
};

/* The converter takes one key for the other, where config.json lacks one. */
static const Gguf_key modern_keys[] = {
    USUAL_KEYS,
    {"attention.layer_norm_rms_epsilon", "norm_eps", GGUF_F32, READ},
    {"attention.layer_norm_epsilon", "norm_eps", GGUF_F32, NEEDED},
    {"attention.sliding_window", "local_attention", GGUF_U32, WRITTEN},
    {"rope.freq_base", "global_rope_theta", GGUF_F32, NEEDED},
    {"rope.freq_base_swa", "local_rope_theta", GGUF_F32, WRITTEN},
    LAST_KEY,
};

/* ------------------------------------------------------------------ tensors, without ".weight" and ".bias" */

#define LAST_ROW                                                                                                       \
    {                                                                                                                  \
        NULL, NULL, SAME, NULL                                                                                         \
    }
#define THEN(table)                                                                                                    \
    {                                                                                                                  \
        NULL, NULL, SAME, table                                                                                        \
    }

/* The names of most architectures. */
static const Gguf_tensor common_tensors[] = {
    {"token_embd", "model.embed_tokens", SAME, NULL},
    {"output_norm", "model.norm", SAME, NULL},
    {"output", "lm_head", SAME, NULL},
    {"blk.%d.attn_q", "model.layers.%d.self_attn.q_proj", SAME, NULL},
    {"blk.%d.attn_k", "model.layers.%d.self_attn.k_proj", SAME, NULL},
    {"blk.%d.attn_v", "model.layers.%d.self_attn.v_proj", SAME, NULL},
    {"blk.%d.attn_output", "model.layers.%d.self_attn.o_proj", SAME, NULL},
    {"blk.%d.ffn_gate", "model.layers.%d.mlp.gate_proj", SAME, NULL},
    {"blk.%d.ffn_up", "model.layers.%d.mlp.up_proj", SAME, NULL},
    {"blk.%d.ffn_down", "model.layers.%d.mlp.down_proj", SAME, NULL},
    LAST_ROW,
};

/* q and k are turned where the architecture says so. */
static const Gguf_tensor llama_tensors[] = {
    {"blk.%d.attn_norm", "model.layers.%d.input_layernorm", SAME, NULL},
    {"blk.%d.ffn_norm", "model.layers.%d.post_attention_layernorm", SAME, NULL},
    {"blk.%d.attn_q", "model.layers.%d.self_attn.q_proj", TURNED, NULL},
    {"blk.%d.attn_k", "model.layers.%d.self_attn.k_proj", TURNED, NULL},
    {"blk.%d.attn_q_norm", "model.layers.%d.self_attn.q_norm", SAME, NULL},
    {"blk.%d.attn_k_norm", "model.layers.%d.self_attn.k_norm", SAME, NULL},
    THEN(common_tensors),
};

static const Gguf_tensor mixtral_tensors[] = {
    {"blk.%d.ffn_gate_inp", "model.layers.%d.block_sparse_moe.gate", SAME, NULL},
    {"blk.%d.ffn_gate_exps", "model.layers.%d.block_sparse_moe.experts.%d.w1", JOINED, NULL},
    {"blk.%d.ffn_up_exps", "model.layers.%d.block_sparse_moe.experts.%d.w3", JOINED, NULL},
    {"blk.%d.ffn_down_exps", "model.layers.%d.block_sparse_moe.experts.%d.w2", JOINED, NULL},
    THEN(llama_tensors),
};

static const Gguf_tensor qwen3_moe_tensors[] = {
    {"blk.%d.ffn_gate_inp", "model.layers.%d.mlp.gate", SAME, NULL},
    {"blk.%d.ffn_gate_exps", "model.layers.%d.mlp.experts.%d.gate_proj", JOINED, NULL},
    {"blk.%d.ffn_up_exps", "model.layers.%d.mlp.experts.%d.up_proj", JOINED, NULL},
    {"blk.%d.ffn_down_exps", "model.layers.%d.mlp.experts.%d.down_proj", JOINED, NULL},
    THEN(llama_tensors),
};

static const Gguf_tensor gemma_tensors[] = {
    {"output_norm", "model.norm", RAISED, NULL},
    {"blk.%d.attn_norm", "model.layers.%d.input_layernorm", RAISED, NULL},
    {"blk.%d.ffn_norm", "model.layers.%d.post_attention_layernorm", RAISED, NULL},
    THEN(common_tensors),
};

static const Gguf_tensor gemma3_tensors[] = {
    {"output_norm", "model.norm", RAISED, NULL},
    {"blk.%d.attn_norm", "model.layers.%d.input_layernorm", RAISED, NULL},
    {"blk.%d.attn_q_norm", "model.layers.%d.self_attn.q_norm", RAISED, NULL},
    {"blk.%d.attn_k_norm", "model.layers.%d.self_attn.k_norm", RAISED, NULL},
    {"blk.%d.post_attention_norm", "model.layers.%d.post_attention_layernorm", RAISED, NULL},
    {"blk.%d.ffn_norm", "model.layers.%d.pre_feedforward_layernorm", RAISED, NULL},
    {"blk.%d.post_ffw_norm", "model.layers.%d.post_feedforward_layernorm", RAISED, NULL},
    THEN(common_tensors),
};

static const Gguf_tensor olmo_tensors[] = {
    {"blk.%d.attn_q_norm", "model.layers.%d.self_attn.q_norm", SAME, NULL},
    {"blk.%d.attn_k_norm", "model.layers.%d.self_attn.k_norm", SAME, NULL},
    {"blk.%d.post_attention_norm", "model.layers.%d.post_attention_layernorm", SAME, NULL},
    {"blk.%d.post_ffw_norm", "model.layers.%d.post_feedforward_layernorm", SAME, NULL},
    THEN(common_tensors),
};

static const Gguf_tensor phi_tensors[] = {
    {"blk.%d.attn_qkv", "model.layers.%d.self_attn.qkv_proj", SAME, NULL},
    {"blk.%d.ffn_up", "model.layers.%d.mlp.gate_up_proj", SAME, NULL},
    THEN(llama_tensors),
};

static const Gguf_tensor gpt_tensors[] = {
    {"token_embd", "transformer.wte", SAME, NULL},
    {"position_embd", "transformer.wpe", SAME, NULL},
    {"output_norm", "transformer.ln_f", SAME, NULL},
    {"output", "lm_head", SAME, NULL},
    {"blk.%d.attn_norm", "transformer.h.%d.ln_1", SAME, NULL},
    {"blk.%d.ffn_norm", "transformer.h.%d.ln_2", SAME, NULL},
    {"blk.%d.attn_qkv", "transformer.h.%d.attn.c_attn", TRANSPOSED, NULL},
    {"blk.%d.attn_output", "transformer.h.%d.attn.c_proj", TRANSPOSED, NULL},
    {"blk.%d.ffn_up", "transformer.h.%d.mlp.c_fc", TRANSPOSED, NULL},
    {"blk.%d.ffn_down", "transformer.h.%d.mlp.c_proj", TRANSPOSED, NULL},
    LAST_ROW,
};

static const Gguf_tensor neox_tensors[] = {
    {"token_embd", "gpt_neox.embed_in", SAME, NULL},
    {"output_norm", "gpt_neox.final_layer_norm", SAME, NULL},
    {"output", "embed_out", SAME, NULL},
    {"blk.%d.attn_norm", "gpt_neox.layers.%d.input_layernorm", SAME, NULL},
    {"blk.%d.ffn_norm", "gpt_neox.layers.%d.post_attention_layernorm", SAME, NULL},
    {"blk.%d.attn_qkv", "gpt_neox.layers.%d.attention.query_key_value", APART, NULL},
    {"blk.%d.attn_output", "gpt_neox.layers.%d.attention.dense", SAME, NULL},
    {"blk.%d.ffn_up", "gpt_neox.layers.%d.mlp.dense_h_to_4h", SAME, NULL},
    {"blk.%d.ffn_down", "gpt_neox.layers.%d.mlp.dense_4h_to_h", SAME, NULL},
    LAST_ROW,
};

/* An encoder's heads: cls, from the first token, and cls.output, above it. */
static const Gguf_tensor bert_tensors[] = {
    {"token_embd", "embeddings.word_embeddings", SAME, NULL},
    {"token_embd_norm", "embeddings.LayerNorm", SAME, NULL},
    {"token_types", "embeddings.token_type_embeddings", SAME, NULL},
    {"position_embd", "embeddings.position_embeddings", LED, NULL},
    {"blk.%d.attn_q", "encoder.layer.%d.attention.self.query", SAME, NULL},
    {"blk.%d.attn_k", "encoder.layer.%d.attention.self.key", SAME, NULL},
    {"blk.%d.attn_v", "encoder.layer.%d.attention.self.value", SAME, NULL},
    {"blk.%d.attn_output", "encoder.layer.%d.attention.output.dense", SAME, NULL},
    {"blk.%d.attn_output_norm", "encoder.layer.%d.attention.output.LayerNorm", SAME, NULL},
    {"blk.%d.ffn_up", "encoder.layer.%d.intermediate.dense", SAME, NULL},
    {"blk.%d.ffn_down", "encoder.layer.%d.output.dense", SAME, NULL},
    {"blk.%d.layer_output_norm", "encoder.layer.%d.output.LayerNorm", SAME, NULL},
    {"cls", "pooler.dense", SAME, NULL},
    {"cls.output", "classifier", SAME, NULL},
    LAST_ROW,
};

static const Gguf_tensor roberta_classes_tensors[] = {
    {"cls", "classifier.dense", SAME, NULL},
    {"cls.output", "classifier.out_proj", SAME, NULL},
    THEN(bert_tensors),
};

static const Gguf_tensor modern_tensors[] = {
    {"token_embd", "embeddings.tok_embeddings", SAME, NULL},
    {"token_embd_norm", "embeddings.norm", SAME, NULL},
    {"output_norm", "final_norm", SAME, NULL},
    {"blk.%d.attn_norm", "layers.%d.attn_norm", SAME, NULL},
    {"blk.%d.attn_qkv", "layers.%d.attn.Wqkv", SAME, NULL},
    {"blk.%d.attn_output", "layers.%d.attn.Wo", SAME, NULL},
    {"blk.%d.ffn_norm", "layers.%d.mlp_norm", SAME, NULL},
    {"blk.%d.ffn_up", "layers.%d.mlp.Wi", SAME, NULL},
    {"blk.%d.ffn_down", "layers.%d.mlp.Wo", SAME, NULL},
    {"cls", "head.dense", SAME, NULL},
    {"cls.norm", "head.norm", SAME, NULL},
    {"cls.output", "classifier", SAME, NULL},
    LAST_ROW,
};

/* ------------------------------------------------------------------ architectures */

#define SILU       "{\"hidden_act\": \"silu\"}"
#define GELU       "{\"hidden_act\": \"gelu\"}" /* a file does not say which */
#define TANH_GELU  "{\"hidden_act\": \"gelu_pytorch_tanh\"}"
#define ACTIVATION "{\"hidden_activation\": \"gelu_pytorch_tanh\"}"
#define OF_EXPERTS                                                                                                     \
    "{\"hidden_act\": \"silu\", \"norm_topk_prob\": true, \"decoder_sparse_step\": 1, \"mlp_only_layers\": []}"
#define NO_BIASES                                                                                                      \
    "{\"norm_bias\": false, \"attention_bias\": false, \"mlp_bias\": false, \"classifier_bias\": false, "              \
    "\"classifier_activation\": \"gelu\", \"hidden_activation\": \"gelu\"}"
#define NEW_GELU "{\"activation_function\": \"gelu_new\"}"

static const Architecture architectures[] = {
    {"llama", "llama", "LlamaForCausalLM", llama_keys, llama_tensors, SILU, .rotary = true, .own_heads = true,
     .turned = true, .biases = true},
    {"llama", "mistral", "MistralForCausalLM", llama_keys, llama_tensors, SILU, .rotary = true, .own_heads = true,
     .turned = true},
    {"llama", "mixtral", "MixtralForCausalLM", mixtral_keys, mixtral_tensors, SILU, .rotary = true, .own_heads = true,
     .turned = true, .experts = "num_local_experts"},
    {"qwen2", "qwen2", "Qwen2ForCausalLM", llama_keys, llama_tensors, SILU, .rotary = true},
    {"qwen3", "qwen3", "Qwen3ForCausalLM", llama_keys, llama_tensors, SILU, .rotary = true, .own_heads = true},
    {"qwen3moe", "qwen3_moe", "Qwen3MoeForCausalLM", qwen3_moe_keys, qwen3_moe_tensors, OF_EXPERTS, .rotary = true,
     .own_heads = true, .experts = "num_experts"},
    {"gemma", "gemma", "GemmaForCausalLM", gemma_keys, gemma_tensors, TANH_GELU, .rotary = true, .own_heads = true,
     .tied = true},
    {"gemma2", "gemma2", "Gemma2ForCausalLM", gemma_keys, gemma3_tensors, ACTIVATION, .rotary = true, .own_heads = true,
     .tied = true, .full_every = 2, .layers_by_heads = 46},
    {"gemma3", "gemma3_text", "Gemma3ForCausalLM", gemma_keys, gemma3_tensors, ACTIVATION, .rotary = true,
     .own_heads = true, .full_every = 6, .local_base = true, .layers_by_heads = 62},
    {"olmo2", "olmo2", "Olmo2ForCausalLM", llama_keys, olmo_tensors, SILU, .rotary = true, .own_logits = true},
    {"phi3", "phi3", "Phi3ForCausalLM", llama_keys, phi_tensors, SILU, .rotary = true, .share = "partial_rotary_factor",
     .factors = true},
    {"smollm3", "smollm3", "SmolLM3ForCausalLM", llama_keys, llama_tensors, SILU, .rotary = true, .own_heads = true,
     .turned = true, .no_rope = 4},
    {"gptneox", "gpt_neox", "GPTNeoXForCausalLM", neox_keys, neox_tensors, GELU, .rotary = true, .own_logits = true,
     .share = "rotary_pct", .base = "rotary_emb_base"},
    {"gpt2", "gpt2", "GPT2LMHeadModel", gpt_keys, gpt_tensors, NEW_GELU, .rotary = false},
    {"bert", "bert", "BertModel", bert_keys, bert_tensors, GELU, .tokenizer = "bert", .prefix = "bert."},
    {"bert", "bert", "BertForSequenceClassification", bert_keys, bert_tensors, GELU, .tokenizer = "bert",
     .prefix = "bert.", .classes = true},
    {"bert", "roberta", "RobertaModel", bert_keys, bert_tensors, GELU, .tokenizer = "gpt2", .pre = "roberta-bpe",
     .prefix = "roberta.", .lead = 2},
    {"bert", "roberta", "RobertaForSequenceClassification", bert_keys, roberta_classes_tensors, GELU,
     .tokenizer = "gpt2", .pre = "roberta-bpe", .prefix = "roberta.", .lead = 2, .classes = true},
    {"modern-bert", "modernbert", "ModernBertModel", modern_keys, modern_tensors, NO_BIASES, .tokenizer = "gpt2",
     .pre = "modern-bert", .prefix = "model.", .first_full = 3},
    {"modern-bert", "modernbert", "ModernBertForSequenceClassification", modern_keys, modern_tensors, NO_BIASES,
     .tokenizer = "gpt2", .pre = "modern-bert", .prefix = "model.", .first_full = 3, .classes = true},
};
enum { ARCHITECTURES = sizeof architectures / sizeof *architectures };

/* Whether row i is the first of its architecture, or of its type. */
static bool is_first(int i, bool in_files)
{
    return !i || strcmp(in_files ? architectures[i].name : architectures[i].type,
                        in_files ? architectures[i - 1].name : architectures[i - 1].type) != 0;
}

/* "llama, mistral, qwen2, …", or the names of files. */
char *gguf_architectures(bool in_files)
{
    char *all = NULL;
    int last = ARCHITECTURES - 1;
    while (!is_first(last, in_files)) last--;
    for (int i = 0; i <= last; i++) {
        if (!is_first(i, in_files)) continue;
        const char *word = in_files ? architectures[i].name : architectures[i].type;
        char *more = all ? text_of("%s%s%s", all, i < last ? ", " : " or ", word) : text_of("%s", word);
        free(all);
        all = more;
    }
    return all;
}

const Architecture *architecture_of_type(const char *type, const char *model)
{
    const Architecture *found = NULL;
    for (int i = 0; type && i < ARCHITECTURES; i++) {
        const Architecture *a = &architectures[i];
        if (strcmp(a->type, type) != 0) continue;
        if (model && strcmp(a->model, model) == 0) return a;
        if (!found) found = a;
    }
    return found && model && found->tokenizer ? NULL : found;
}

/* Mixtral is a llama to llama.cpp. */
static bool has_experts(const Store *s, const char *name)
{
    char *key = text_of("%s.expert_count", name);
    const json_t *count = json_object_get(s->header, key);
    free(key);
    return json_is_integer(count) && json_integer_value(count) > 0;
}

/* What a file is that says the name of a. */
static bool suits(const Store *s, const Architecture *a)
{
    const char *model = json_string_value(json_object_get(s->header, "tokenizer.ggml.model"));
    if (has_experts(s, a->name) != (a->experts != NULL)) return false;
    return !a->tokenizer || (model && strcmp(a->tokenizer, model) == 0 && a->classes == (gguf_classes(s) > 0));
}

const Architecture *architecture_of(const Store *s)
{
    const char *name = json_string_value(json_object_get(s->header, "general.architecture")), *pieces = NULL;
    if (!name) fail(EXIT_DATA, s->path, "does not say its \"general.architecture\"; the file is damaged");
    for (int i = 0; i < ARCHITECTURES; i++) {
        if (strcmp(architectures[i].name, name) != 0) continue;
        if (suits(s, &architectures[i])) return &architectures[i];
        pieces = architectures[i].tokenizer;
    }
    if (pieces)
        fail(EXIT_DATA, s->path,
             "\"tokenizer.ggml.model\": expected %s in a file of the architecture %s, found %.60s, which is not read "
             "from GGUF yet; take the model's Hugging Face folder",
             strcmp(name, "bert") == 0 ? "bert or gpt2" : pieces, name, gguf_word(s, "tokenizer.ggml.model"));
    fail(EXIT_DATA, s->path,
         "\"general.architecture\": expected %s, found %.60s, which is not read from GGUF yet; take the model's "
         "Hugging Face folder, if models/ has a description for it",
         gguf_architectures(true), name);
}
