/* gguf_names.c: the architectures of GGUF files that are known, and what Hugging Face calls their keys and tensors.
 *
 * llama.cpp runs Mistral as a llama.  A file says no more than that, so it is read as a llama, or as what the
 * description says it is. */
#include "base/words.h"
#include "model/gguf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ keys of numbers, without "llama." */

#define USUAL_KEYS                                                                                                     \
    {"block_count", "num_hidden_layers", GGUF_U32, NEEDED}, {"embedding_length", "hidden_size", GGUF_U32, NEEDED},     \
        {"context_length", "max_position_embeddings", GGUF_U32, NEEDED},                                               \
    {                                                                                                                  \
        "attention.head_count", "num_attention_heads", GGUF_U32, NEEDED                                                \
    }

static const Gguf_key llama_keys[] = {
    USUAL_KEYS,
    {"feed_forward_length", "intermediate_size", GGUF_U32, NEEDED},
    {"attention.layer_norm_rms_epsilon", "rms_norm_eps", GGUF_F32, NEEDED},
    {"expert_count", "num_local_experts", GGUF_U32, READ},
    {"attention.sliding_window", "sliding_window", GGUF_U32, READ},
    {NULL, NULL, 0, READ},
};

static const Gguf_key mixtral_keys[] = {
    USUAL_KEYS,
    {"feed_forward_length", "intermediate_size", GGUF_U32, NEEDED},
    {"attention.layer_norm_rms_epsilon", "rms_norm_eps", GGUF_F32, NEEDED},
    {"expert_count", "num_local_experts", GGUF_U32, NEEDED},
    {"expert_used_count", "num_experts_per_tok", GGUF_U32, NEEDED},
    {"attention.sliding_window", "sliding_window", GGUF_U32, READ},
    {NULL, NULL, 0, READ},
};

/* feed_forward_length is of layers without experts, of which there are none. */
static const Gguf_key qwen3_moe_keys[] = {
    USUAL_KEYS,
    {"feed_forward_length", "intermediate_size", GGUF_U32, READ},
    {"expert_feed_forward_length", "moe_intermediate_size", GGUF_U32, NEEDED},
    {"attention.layer_norm_rms_epsilon", "rms_norm_eps", GGUF_F32, NEEDED},
    {"expert_count", "num_experts", GGUF_U32, NEEDED},
    {"expert_used_count", "num_experts_per_tok", GGUF_U32, NEEDED},
    {NULL, NULL, 0, READ},
};

static const Gguf_key gemma_keys[] = {
    USUAL_KEYS,
    {"feed_forward_length", "intermediate_size", GGUF_U32, NEEDED},
    {"attention.layer_norm_rms_epsilon", "rms_norm_eps", GGUF_F32, NEEDED},
    {"attention.sliding_window", "sliding_window", GGUF_U32, WRITTEN},
    {"attn_logit_softcapping", "attn_logit_softcapping", GGUF_F32, WRITTEN},
    {"final_logit_softcapping", "final_logit_softcapping", GGUF_F32, WRITTEN},
    {"attention.sliding_window_pattern", "sliding_window_pattern", GGUF_U32, READ},
    {"rope.freq_base_swa", "rope_local_base_freq", GGUF_F32, WRITTEN},
    {NULL, NULL, 0, READ},
};

static const Gguf_key gpt_keys[] = {
    {"block_count", "n_layer", GGUF_U32, NEEDED},
    {"embedding_length", "n_embd", GGUF_U32, NEEDED},
    {"feed_forward_length", "n_inner", GGUF_U32, NEEDED},
    {"context_length", "n_positions", GGUF_U32, NEEDED},
    {"attention.head_count", "n_head", GGUF_U32, NEEDED},
    {"attention.layer_norm_epsilon", "layer_norm_epsilon", GGUF_F32, NEEDED},
    {NULL, NULL, 0, READ},
};

static const Gguf_key neox_keys[] = {
    USUAL_KEYS,
    {"feed_forward_length", "intermediate_size", GGUF_U32, NEEDED},
    {"attention.layer_norm_epsilon", "layer_norm_eps", GGUF_F32, NEEDED},
    {"use_parallel_residual", "use_parallel_residual", GGUF_BOOL, NEEDED},
    {NULL, NULL, 0, READ},
};

/* ------------------------------------------------------------------ tensors, without ".weight" and ".bias" */

/* How elements lie there.  APART: q, k and v of all heads; RAISED: each is 1 more; JOINED: the matrices of all
 * experts of a layer are one tensor.  GOES_ON: behind the last row of a table:
 * common_tensors follow. */
enum { SAME, TURNED, TRANSPOSED, APART, RAISED, JOINED, GOES_ON };

typedef struct Gguf_tensor {
    const char *gguf, *hf; /* %d: the number of a layer, then that of an expert; NULL after the last of a table */
    int order;
} Gguf_tensor;

/* The names of most architectures.  A table that goes on here may have a row of its own for one of them. */
static const Gguf_tensor common_tensors[] = {
    {"token_embd", "model.embed_tokens", SAME},
    {"output_norm", "model.norm", SAME},
    {"blk.%d.attn_q", "model.layers.%d.self_attn.q_proj", SAME},
    {"blk.%d.attn_k", "model.layers.%d.self_attn.k_proj", SAME},
    {"blk.%d.attn_v", "model.layers.%d.self_attn.v_proj", SAME},
    {"blk.%d.attn_output", "model.layers.%d.self_attn.o_proj", SAME},
    {"blk.%d.ffn_gate", "model.layers.%d.mlp.gate_proj", SAME},
    {"blk.%d.ffn_up", "model.layers.%d.mlp.up_proj", SAME},
    {"blk.%d.ffn_down", "model.layers.%d.mlp.down_proj", SAME},
    {NULL, NULL, SAME},
};

static const Gguf_tensor llama_tensors[] = {
    {"output", "lm_head", SAME},
    {"blk.%d.attn_norm", "model.layers.%d.input_layernorm", SAME},
    {"blk.%d.ffn_norm", "model.layers.%d.post_attention_layernorm", SAME},
    {"blk.%d.attn_q", "model.layers.%d.self_attn.q_proj", TURNED},
    {"blk.%d.attn_k", "model.layers.%d.self_attn.k_proj", TURNED},
    {"blk.%d.attn_q_norm", "model.layers.%d.self_attn.q_norm", SAME},
    {"blk.%d.attn_k_norm", "model.layers.%d.self_attn.k_norm", SAME},
    {NULL, NULL, GOES_ON},
};

static const Gguf_tensor mixtral_tensors[] = {
    {"output", "lm_head", SAME},
    {"blk.%d.attn_norm", "model.layers.%d.input_layernorm", SAME},
    {"blk.%d.ffn_norm", "model.layers.%d.post_attention_layernorm", SAME},
    {"blk.%d.attn_q", "model.layers.%d.self_attn.q_proj", TURNED},
    {"blk.%d.attn_k", "model.layers.%d.self_attn.k_proj", TURNED},
    {"blk.%d.ffn_gate_inp", "model.layers.%d.block_sparse_moe.gate", SAME},
    {"blk.%d.ffn_gate_exps", "model.layers.%d.block_sparse_moe.experts.%d.w1", JOINED},
    {"blk.%d.ffn_up_exps", "model.layers.%d.block_sparse_moe.experts.%d.w3", JOINED},
    {"blk.%d.ffn_down_exps", "model.layers.%d.block_sparse_moe.experts.%d.w2", JOINED},
    {NULL, NULL, GOES_ON},
};

static const Gguf_tensor qwen3_moe_tensors[] = {
    {"output", "lm_head", SAME},
    {"blk.%d.attn_norm", "model.layers.%d.input_layernorm", SAME},
    {"blk.%d.ffn_norm", "model.layers.%d.post_attention_layernorm", SAME},
    {"blk.%d.attn_q_norm", "model.layers.%d.self_attn.q_norm", SAME},
    {"blk.%d.attn_k_norm", "model.layers.%d.self_attn.k_norm", SAME},
    {"blk.%d.ffn_gate_inp", "model.layers.%d.mlp.gate", SAME},
    {"blk.%d.ffn_gate_exps", "model.layers.%d.mlp.experts.%d.gate_proj", JOINED},
    {"blk.%d.ffn_up_exps", "model.layers.%d.mlp.experts.%d.up_proj", JOINED},
    {"blk.%d.ffn_down_exps", "model.layers.%d.mlp.experts.%d.down_proj", JOINED},
    {NULL, NULL, GOES_ON},
};

static const Gguf_tensor gemma_tensors[] = {
    {"output_norm", "model.norm", RAISED},
    {"blk.%d.attn_norm", "model.layers.%d.input_layernorm", RAISED},
    {"blk.%d.ffn_norm", "model.layers.%d.post_attention_layernorm", RAISED},
    {NULL, NULL, GOES_ON},
};

static const Gguf_tensor gemma3_tensors[] = {
    {"output_norm", "model.norm", RAISED},
    {"output", "lm_head", SAME},
    {"blk.%d.attn_norm", "model.layers.%d.input_layernorm", RAISED},
    {"blk.%d.attn_q_norm", "model.layers.%d.self_attn.q_norm", RAISED},
    {"blk.%d.attn_k_norm", "model.layers.%d.self_attn.k_norm", RAISED},
    {"blk.%d.post_attention_norm", "model.layers.%d.post_attention_layernorm", RAISED},
    {"blk.%d.ffn_norm", "model.layers.%d.pre_feedforward_layernorm", RAISED},
    {"blk.%d.post_ffw_norm", "model.layers.%d.post_feedforward_layernorm", RAISED},
    {NULL, NULL, GOES_ON},
};

static const Gguf_tensor olmo_tensors[] = {
    {"output", "lm_head", SAME},
    {"blk.%d.attn_q_norm", "model.layers.%d.self_attn.q_norm", SAME},
    {"blk.%d.attn_k_norm", "model.layers.%d.self_attn.k_norm", SAME},
    {"blk.%d.post_attention_norm", "model.layers.%d.post_attention_layernorm", SAME},
    {"blk.%d.post_ffw_norm", "model.layers.%d.post_feedforward_layernorm", SAME},
    {NULL, NULL, GOES_ON},
};

static const Gguf_tensor phi_tensors[] = {
    {"token_embd", "model.embed_tokens", SAME},
    {"output_norm", "model.norm", SAME},
    {"output", "lm_head", SAME},
    {"blk.%d.attn_norm", "model.layers.%d.input_layernorm", SAME},
    {"blk.%d.ffn_norm", "model.layers.%d.post_attention_layernorm", SAME},
    {"blk.%d.attn_qkv", "model.layers.%d.self_attn.qkv_proj", SAME},
    {"blk.%d.attn_output", "model.layers.%d.self_attn.o_proj", SAME},
    {"blk.%d.ffn_up", "model.layers.%d.mlp.gate_up_proj", SAME},
    {"blk.%d.ffn_down", "model.layers.%d.mlp.down_proj", SAME},
    {NULL, NULL, SAME},
};

static const Gguf_tensor gpt_tensors[] = {
    {"token_embd", "transformer.wte", SAME},
    {"position_embd", "transformer.wpe", SAME},
    {"output_norm", "transformer.ln_f", SAME},
    {"output", "lm_head", SAME},
    {"blk.%d.attn_norm", "transformer.h.%d.ln_1", SAME},
    {"blk.%d.ffn_norm", "transformer.h.%d.ln_2", SAME},
    {"blk.%d.attn_qkv", "transformer.h.%d.attn.c_attn", TRANSPOSED},
    {"blk.%d.attn_output", "transformer.h.%d.attn.c_proj", TRANSPOSED},
    {"blk.%d.ffn_up", "transformer.h.%d.mlp.c_fc", TRANSPOSED},
    {"blk.%d.ffn_down", "transformer.h.%d.mlp.c_proj", TRANSPOSED},
    {NULL, NULL, SAME},
};

static const Gguf_tensor neox_tensors[] = {
    {"token_embd", "gpt_neox.embed_in", SAME},
    {"output_norm", "gpt_neox.final_layer_norm", SAME},
    {"output", "embed_out", SAME},
    {"blk.%d.attn_norm", "gpt_neox.layers.%d.input_layernorm", SAME},
    {"blk.%d.ffn_norm", "gpt_neox.layers.%d.post_attention_layernorm", SAME},
    {"blk.%d.attn_qkv", "gpt_neox.layers.%d.attention.query_key_value", APART},
    {"blk.%d.attn_output", "gpt_neox.layers.%d.attention.dense", SAME},
    {"blk.%d.ffn_up", "gpt_neox.layers.%d.mlp.dense_h_to_4h", SAME},
    {"blk.%d.ffn_down", "gpt_neox.layers.%d.mlp.dense_4h_to_h", SAME},
    {NULL, NULL, SAME},
};

/* ------------------------------------------------------------------ architectures */

#define SILU       "{\"hidden_act\": \"silu\"}"
#define GELU       "{\"hidden_act\": \"gelu\"}" /* a file does not say which */
#define TANH_GELU  "{\"hidden_act\": \"gelu_pytorch_tanh\"}"
#define ACTIVATION "{\"hidden_activation\": \"gelu_pytorch_tanh\"}"
#define OF_EXPERTS                                                                                                     \
    "{\"hidden_act\": \"silu\", \"norm_topk_prob\": true, \"decoder_sparse_step\": 1, \"mlp_only_layers\": []}"
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
};
enum { ARCHITECTURES = sizeof architectures / sizeof *architectures };

/* "llama, mistral, qwen2, …", or the names of files. */
char *gguf_architectures(bool in_files)
{
    char *all = NULL;
    for (int i = 0; i < ARCHITECTURES; i++) {
        const Architecture *a = &architectures[i];
        if (in_files && i && strcmp(a->name, a[-1].name) == 0) continue;
        const char *word = in_files ? a->name : a->type;
        char *more = all ? text_of("%s%s%s", all, i + 1 < ARCHITECTURES ? ", " : " or ", word) : text_of("%s", word);
        free(all);
        all = more;
    }
    return all;
}

const Architecture *architecture_of_type(const char *type)
{
    for (int i = 0; type && i < ARCHITECTURES; i++)
        if (strcmp(architectures[i].type, type) == 0) return &architectures[i];
    return NULL;
}

/* Mixtral is a llama to llama.cpp. */
static bool has_experts(const Store *s, const char *name)
{
    char *key = text_of("%s.expert_count", name);
    const json_t *count = json_object_get(s->header, key);
    free(key);
    return json_is_integer(count) && json_integer_value(count) > 0;
}

const Architecture *architecture_of(const Store *s)
{
    const char *name = json_string_value(json_object_get(s->header, "general.architecture"));
    if (!name) fail(EXIT_DATA, s->path, "does not say its \"general.architecture\"; the file is damaged");
    for (int i = 0; i < ARCHITECTURES; i++)
        if (strcmp(architectures[i].name, name) == 0 && has_experts(s, name) == (architectures[i].experts != NULL))
            return &architectures[i];
    fail(EXIT_DATA, s->path,
         "\"general.architecture\": expected %s, found %.60s, which is not read from GGUF yet; take the model's "
         "Hugging Face folder, if models/ has a description for it",
         gguf_architectures(true), name);
}

/* ------------------------------------------------------------------ names of tensors */

enum { NUMBERS = 2 }; /* of a layer and of an expert */

typedef struct Digits { /* of a name; n = 0: it has no such number */
    const char *at;
    int n;
} Digits;

/* The numbers of a name up to its last dot, where `from` has %d; false: it does not fit. */
static bool fits(const char *from, const char *name, Digits *number)
{
    const char *end = strrchr(name, '.');
    int k = 0;
    for (; *from && end && name <= end; from++) {
        if (*from != '%') {
            if (*from != *name++) return false;
            continue;
        }
        number[k] = (Digits){name, (int)strspn(name, "0123456789")};
        name += number[k].n;
        if (!number[k++].n) return false;
        from++; /* d */
    }
    return !*from && name == end;
}

/* `to` with these numbers (0 for those that are missing), and what follows the last dot of `name`. */
static char *spelled(const char *to, const Digits *number, const char *name)
{
    char *text = text_of("%s", "");
    for (const char *at = to, *next; *at; at = next) {
        bool is_number = *at == '%';
        next = is_number ? at + 2 : at + strcspn(at, "%");
        char *more = !is_number  ? text_of("%s%.*s", text, (int)(next - at), at)
                     : number->n ? text_of("%s%.*s", text, number->n, number->at)
                                 : text_of("%s0", text);
        number += is_number;
        free(text);
        text = more;
    }
    char *whole = text_of("%s%s", text, strrchr(name, '.'));
    free(text);
    return whole;
}

/* The name that `to` makes of one that fits `from`; NULL: it does not fit. */
static char *translated(const char *from, const char *to, const char *name)
{
    Digits number[NUMBERS] = {0};
    return fits(from, name, number) ? spelled(to, number, name) : NULL;
}

static const Gguf_tensor *row_behind(const Gguf_tensor *row)
{
    return row->gguf ? row + 1 : row->order == GOES_ON ? common_tensors : NULL;
}

static const Gguf_tensor *tensor_row(const Architecture *a, bool is_hf, const char *name, char **other)
{
    for (const Gguf_tensor *row = a->tensor; row; row = row_behind(row))
        if (row->gguf && (*other = translated(is_hf ? row->hf : row->gguf, is_hf ? row->gguf : row->hf, name)))
            return row;
    return NULL;
}

char *gguf_name(const Architecture *a, const char *hf)
{
    char *name;
    return tensor_row(a, true, hf, &name) ? name : NULL;
}

char *hf_of_gguf(const Architecture *a, const char *gguf)
{
    char *name;
    return tensor_row(a, false, gguf, &name) ? name : NULL;
}

int64_t expert_of_name(const Architecture *a, const char *hf)
{
    char *name;
    Digits number[NUMBERS] = {0};
    const Gguf_tensor *row = tensor_row(a, true, hf, &name);
    if (!row) return -1;
    free(name);
    return row->order == JOINED && fits(row->hf, hf, number) ? atoll(number[1].at) : -1;
}

char *name_of_expert(const Architecture *a, const char *gguf, int64_t expert)
{
    char *name, digits[24];
    const Gguf_tensor *row = tensor_row(a, false, gguf, &name);
    Digits number[NUMBERS] = {0};
    if (!row) return NULL;
    free(name);
    if (row->order != JOINED || !fits(row->gguf, gguf, number)) return NULL;
    number[1] = (Digits){digits, snprintf(digits, sizeof digits, "%lld", (long long)expert)};
    return spelled(row->hf, number, gguf);
}

/* A vector has the order of its matrix's rows. */
void gguf_order(const Architecture *a, const char *hf, int64_t head, Stored *t)
{
    char *name;
    const Gguf_tensor *row = tensor_row(a, true, hf, &name);
    if (!row) return;
    free(name);
    if (row->order == TURNED && a->turned) t->turned = head;
    if (row->order == APART) t->apart = head;
    t->raised = row->order == RAISED;
    t->transposed = row->order == TRANSPOSED && t->rank == 2;
}

static void check_heads(const Store *s, const Stored *t)
{
    int64_t head = t->apart ? t->apart : t->turned, whole = t->apart ? 3 * head : head;
    if (head == 0 || head % 2 || t->rank == 0 || t->dim[0] % whole)
        fail(EXIT_DATA, s->path,
             "tensor %s: expected rows of whole heads of %lld, found %lld rows; the file is damaged", t->name,
             (long long)whole, (long long)(t->rank ? t->dim[0] : 0));
}

void rename_as_hf(const Store *s, const Architecture *a, Stored *t)
{
    char *name, *own = gguf_name(a, t->name);
    if (own) fail(EXIT_DATA, s->path, "tensor %.100s has no name of GGUF; convert the model again", t->name);
    const Gguf_tensor *row = tensor_row(a, false, t->name, &name);
    if (!row) return;
    free((char *)t->name);
    t->name = name;
    if (row->order == SAME) return;
    bool in_heads = row->order == APART || (row->order == TURNED && a->turned);
    gguf_order(a, name, in_heads ? gguf_head(s, a) : 0, t);
    if (in_heads) check_heads(s, t);
    int64_t rows = t->dim[0];
    if (t->transposed) t->dim[0] = t->dim[1], t->dim[1] = rows;
}
