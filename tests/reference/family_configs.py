"""family_configs.py: what config.json of published decoders say, by family, with small random sizes: the cases of family_check.py.

Keys and values are those of the files at Hugging Face, also of older releases of transformers; lengths (windows, first contexts) are
short, so that texts of 200 tokens go beyond them.  REFUSED: what published files say and models/ does not describe, and the word that
the refusal must have."""

GONE = object()  # the key is not in the file
SILU = {"hidden_act": "silu", "initializer_range": 0.02, "use_cache": True, "torch_dtype": "float32", "transformers_version": "4.43.0", "max_position_embeddings": 512}


def llama3(factor, began=64):
    return {"factor": factor, "high_freq_factor": 4.0, "low_freq_factor": 1.0, "original_max_position_embeddings": began, "rope_type": "llama3"}


def longrope(kind="longrope", **more):
    return {"long_factor": "long", "short_factor": "short", "type": kind, **more}


def sizes(r):
    heads, head = r.choice([(4, 2), (6, 3), (4, 1), (6, 2)]), r.choice([8, 10, 16])
    return {"num_attention_heads": heads[0], "num_key_value_heads": heads[1], "hidden_size": heads[0] * head, "num_hidden_layers": r.choice([2, 3]),
            "intermediate_size": r.choice([34, 48, 70]), "vocab_size": 0}  # fmt: skip


LLAMA = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "attention_bias": False, "attention_dropout": 0.0, "mlp_bias": False,
         "pretraining_tp": 1, "rms_norm_eps": 1e-5, "rope_scaling": None, "rope_theta": 5e5, "tie_word_embeddings": False}  # fmt: skip
LLAMAS = {
    "Llama 2 7B": dict(num_key_value_heads="heads", attention_bias=GONE, mlp_bias=GONE, attention_dropout=GONE, rope_theta=GONE, words="spm"),
    "Llama 3 8B": dict(mlp_bias=GONE),
    "Llama 3.1 8B": dict(rope_scaling=llama3(8.0), eos_token_id="list", vocab_more=5),
    "Llama 3.2 1B": dict(rope_scaling=llama3(32.0, 32), tie_word_embeddings=True, head_dim=12),
    "Minitron 4B width": dict(head_dim=14, num_key_value_heads=2, num_attention_heads=4, hidden_size=40),
    "Vicuna 16k (linear)": dict(rope_scaling={"factor": 8.0, "type": "linear"}, num_key_value_heads=GONE, rope_theta=GONE, rms_norm_eps=1e-6, words="spm"),
    "dynamic": dict(rope_scaling={"factor": 2.0, "type": "dynamic"}, max_position_embeddings=48, rope_theta=1e4, dynamic=True, no_gguf="dynamic"),
    "Yarn-Llama-2": dict(rope_scaling={"factor": 16.0, "original_max_position_embeddings": 32, "type": "yarn", "finetuned": True}, rope_theta=GONE, words="spm"),
    "yarn, all keys": dict(rope_scaling={"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 128, "beta_fast": 32.0, "beta_slow": 1.0,
                                         "attention_factor": 1.2}, max_position_embeddings=512),
    "yarn, other betas": dict(rope_scaling={"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64, "beta_fast": 16, "beta_slow": 2}, no_gguf="rope_fast"),
    "Granite 3B code (biases)": dict(attention_bias=True, mlp_bias=True, tie_word_embeddings=True, attention_dropout=0.1),
    "attention_bias alone": dict(attention_bias=True),
    "ReluLLaMA": dict(hidden_act="relu"),
    "yarn with mscale": dict(rope_scaling={"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64, "mscale": 1.0, "mscale_all_dim": 0.5}),
}  # fmt: skip
SMOLLMS = {
    "SmolLM2 135M": dict(is_llama_config=True, rope_interleaved=False, tie_word_embeddings=True, rope_theta=1e5, mlp_bias=False, **{"transformers.js_config": {"kv_cache_dtype": {"q4f16": "float16"}}}),
    "SmolLM2 360M Instruct": dict(is_llama_config=True, rope_interleaved=False, tie_word_embeddings=True, rope_theta=1e5, num_key_value_heads=1, num_attention_heads=3, hidden_size=48),
    "SmolLM2 1.7B": dict(num_key_value_heads="heads", tie_word_embeddings=True, rope_theta=130000, attention_bias=False, mlp_bias=False),
}  # fmt: skip
SMOLLM3 = {**LLAMA, "model_type": "smollm3", "architectures": ["SmolLM3ForCausalLM"], "rope_theta": 5e6, "rms_norm_eps": 1e-6, "max_window_layers": 28, "sliding_window": None,
           "use_sliding_window": False, "no_rope_layer_interval": 4, "num_hidden_layers": 5, "no_rope_layers": [1, 1, 1, 0, 1], "layer_types": ["full_attention"] * 5,
           "pretraining_tp": 2, "tie_word_embeddings": True}  # fmt: skip
SMOLLM3S = {
    "SmolLM3 3B": dict(),
    "every second, lists unsaid": dict(no_rope_layer_interval=2, no_rope_layers=GONE, layer_types=GONE, no_gguf="no_rope_interval"),
    "yarn for 128k": dict(rope_scaling={"factor": 2.0, "original_max_position_embeddings": 64, "type": "yarn"}, tie_word_embeddings=GONE),
}
MISTRAL = {"model_type": "mistral", "architectures": ["MistralForCausalLM"], "rms_norm_eps": 1e-5, "rope_theta": 1e4, "sliding_window": None, "tie_word_embeddings": False,
           "attention_dropout": 0.0}  # fmt: skip
MISTRALS = {
    "Mistral 7B v0.1": dict(sliding_window=24, words="spm", no_gguf="window"),
    "Mistral 7B v0.3": dict(rope_theta=1e6, words="spm"),
    "Mistral Nemo": dict(rope_theta=1e6, head_dim=12),
    "Ministral 8B": dict(rope_theta=1e8, head_dim=16, sliding_window=512),
    "window unsaid": dict(sliding_window=GONE),
    "window of 7": dict(sliding_window=7, head_dim=8, no_gguf="window"),
    "Yarn-Mistral": dict(rope_scaling={"factor": 8.0, "finetuned": True, "original_max_position_embeddings": 64, "type": "yarn"}, sliding_window=512),
}
QWEN2 = {"model_type": "qwen2", "architectures": ["Qwen2ForCausalLM"], "attention_dropout": 0.0, "rms_norm_eps": 1e-6, "rope_theta": 1e6, "tie_word_embeddings": False,
         "use_sliding_window": False, "sliding_window": 32, "max_window_layers": 1}  # fmt: skip
QWEN2S = {
    "Qwen2.5 0.5B": dict(tie_word_embeddings=True, use_mrope=False, vocab_more=11),
    "Qwen2.5 7B Instruct": dict(sliding_window=512, max_window_layers=28),
    "Qwen2.5 with yarn": dict(rope_scaling={"factor": 4.0, "original_max_position_embeddings": 48, "type": "yarn"}),
    "R1 Distill 1.5B": dict(use_mrope=False, rope_theta=10000, sliding_window=16, max_window_layers=21),
    "windows in some layers": dict(use_sliding_window=True, max_window_layers=1, sliding_window=16),
    "linear": dict(rope_scaling={"factor": 4.0, "type": "linear"}),
    "dynamic": dict(rope_scaling={"factor": 3.0, "rope_type": "dynamic"}, max_position_embeddings=40, dynamic=True, no_gguf="dynamic"),
    "Qwen1.5 0.5B": dict(num_key_value_heads="heads", tie_word_embeddings=True, sliding_window=48, max_window_layers=2),
}
QWEN3 = {**QWEN2, "model_type": "qwen3", "architectures": ["Qwen3ForCausalLM"], "attention_bias": False, "head_dim": 12, "sliding_window": None, "max_window_layers": 28,
         "rope_scaling": None}  # fmt: skip
QWEN3S = {
    "Qwen3 0.6B": dict(tie_word_embeddings=True, vocab_more=7),
    "Qwen3 8B": dict(head_dim=16),
    "Qwen3 4B 2507": dict(rope_theta=5000000, tie_word_embeddings=True),
    "Qwen3 with yarn": dict(rope_scaling={"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64}),
}
QWEN3_MOE = {**QWEN3, "model_type": "qwen3_moe", "architectures": ["Qwen3MoeForCausalLM"], "decoder_sparse_step": 1, "mlp_only_layers": [], "moe_intermediate_size": 24,
             "norm_topk_prob": True, "num_experts": 8, "num_experts_per_tok": 3, "output_router_logits": False, "router_aux_loss_coef": 0.001}  # fmt: skip
QWEN3_MOES = {
    "Qwen3 30B A3B": dict(max_window_layers=48),
    "Qwen3 Coder 30B": dict(qkv_bias=False, use_qk_norm=True, shared_expert_intermediate_size=0, rope_theta=10000000, router_aux_loss_coef=0.0, num_experts=5, num_experts_per_tok=2),
    "balance loss": dict(output_router_logits=True, router_aux_loss_coef=0.05, num_experts=4),
    "weights as they are": dict(norm_topk_prob=False, no_gguf="normalised", tie_word_embeddings=True, moe_intermediate_size=17),
    "one of two layers dense": dict(decoder_sparse_step=2, num_hidden_layers=4, intermediate_size=40),
}  # fmt: skip
MIXTRAL = {"model_type": "mixtral", "architectures": ["MixtralForCausalLM"], "attention_dropout": 0.0, "num_experts_per_tok": 2, "num_local_experts": 8, "output_router_logits": False,
           "rms_norm_eps": 1e-5, "rope_theta": 1e6, "router_aux_loss_coef": 0.02, "sliding_window": None, "tie_word_embeddings": False}  # fmt: skip
MIXTRALS = {
    "Mixtral 8x7B": dict(words="spm"),
    "Mixtral 8x22B": dict(router_jitter_noise=0.0, router_aux_loss_coef=0.001),
    "first files (window)": dict(sliding_window=20, no_gguf="window"),
    "balance loss, 3 of 4": dict(output_router_logits=True, num_local_experts=4, num_experts_per_tok=3, head_dim=12),
}
GEMMA = {"model_type": "gemma", "architectures": ["GemmaForCausalLM"], "attention_bias": False, "attention_dropout": 0.0, "head_dim": 16, "hidden_act": "gelu_pytorch_tanh",
         "hidden_activation": "gelu_pytorch_tanh", "rms_norm_eps": 1e-6, "rope_theta": 10000.0, "rope_scaling": None, "words": "spm", "torch_dtype": "float32"}  # fmt: skip
GEMMAS = {
    "Gemma 2B": dict(num_key_value_heads=1, hidden_activation=None),
    "Gemma 7B, first files": dict(num_key_value_heads="heads", hidden_act="gelu", hidden_activation=GONE, head_dim=12),
    "Gemma 1.1 7B": dict(num_key_value_heads="heads"),
}
GEMMA2 = {**GEMMA, "model_type": "gemma2", "architectures": ["Gemma2ForCausalLM"], "attn_logit_softcapping": 50.0, "final_logit_softcapping": 30.0, "cache_implementation": "hybrid",
          "query_pre_attn_scalar": 16, "sliding_window": 20, "rope_scaling": GONE, "num_hidden_layers": 4}  # fmt: skip
GEMMA2S = {
    "Gemma 2 2B": dict(),
    "Gemma 2 9B, first files": dict(sliding_window_size=20, attn_logit_softcapping=4.0, final_logit_softcapping=3.0),
    "Gemma 2 27B": dict(query_pre_attn_scalar=12, head_dim=16, num_key_value_heads=2, num_attention_heads=4, no_gguf="query_width"),
    "without caps": dict(attn_logit_softcapping=None, final_logit_softcapping=None, no_gguf="caps"),
}
GEMMA3 = {**GEMMA2, "model_type": "gemma3_text", "architectures": ["Gemma3ForCausalLM"], "attn_logit_softcapping": None, "final_logit_softcapping": None, "hidden_act": GONE,
          "rope_theta": 1000000, "rope_local_base_freq": 10000, "rope_scaling": None, "num_hidden_layers": 7, "sliding_window_pattern": 6}  # fmt: skip
GEMMA3S = {
    "Gemma 3 1B": dict(num_key_value_heads=1),
    "Gemma 3 270M": dict(sliding_window_pattern=GONE, _sliding_window_pattern=6, use_bidirectional_attention=False, cache_implementation=GONE,
                         layer_types=["sliding_attention"] * 5 + ["full_attention", "sliding_attention"]),
    "Gemma 3 4B's text (linear)": dict(rope_scaling={"factor": 8.0, "rope_type": "linear"}, num_key_value_heads=2, num_attention_heads=4),
    "a cap of logits, every third": dict(sliding_window_pattern=3, final_logit_softcapping=3.0),
}  # fmt: skip
PHI3 = {"model_type": "phi3", "architectures": ["Phi3ForCausalLM"], "attention_bias": False, "attention_dropout": 0.0, "embd_pdrop": 0.0, "resid_pdrop": 0.0, "rms_norm_eps": 1e-5,
        "original_max_position_embeddings": 64, "rope_scaling": None, "rope_theta": 10000.0, "sliding_window": None, "tie_word_embeddings": False,
        "auto_map": {"AutoConfig": "configuration_phi3.Phi3Config", "AutoModelForCausalLM": "modeling_phi3.Phi3ForCausalLM"}}  # fmt: skip
PHI3S = {
    "Phi-3 mini 4k": dict(sliding_window=30, num_key_value_heads="heads", words="spm", no_gguf="window"),
    "Phi-3 mini 128k": dict(rope_scaling=longrope(), original_max_position_embeddings=24, sliding_window=512, num_key_value_heads="heads", words="spm", long=True),
    "Phi-3 mini 128k, first files": dict(rope_scaling=longrope("su"), original_max_position_embeddings=24, sliding_window=512, num_key_value_heads="heads", words="spm", long=True, su=True),
    "Phi-3 medium 128k, short texts": dict(rope_scaling=longrope(), original_max_position_embeddings=320, max_position_embeddings=1024, sliding_window=1024),
    "Phi-4": dict(rope_theta=250000, original_max_position_embeddings=512),
    "Phi-4 mini": dict(rope_scaling=longrope(), original_max_position_embeddings=24, partial_rotary_factor=0.75, tie_word_embeddings=True, full_attn_mod=1, interpolate_factor=1,
                       lm_head_bias=False, mlp_bias=False, sliding_window=512, hidden_size=64, num_attention_heads=4, num_key_value_heads=2, long=True),
    "Phi-4 mini, plain": dict(partial_rotary_factor=0.5, hidden_size=64, num_attention_heads=4, num_key_value_heads=2),
}  # fmt: skip
OLMO2 = {"model_type": "olmo2", "architectures": ["Olmo2ForCausalLM"], "attention_bias": False, "attention_dropout": 0.0, "rms_norm_eps": 1e-6, "rope_scaling": None, "rope_theta": 500000,
         "tie_word_embeddings": False}  # fmt: skip
OLMO2S = {
    "OLMo 2 7B": dict(num_key_value_heads="heads"),
    "OLMo 2 32B": dict(),
    "OLMo 2 1B": dict(num_key_value_heads="heads", rms_norm_eps=GONE, vocab_more=9),
}
NEOX = {"model_type": "gpt_neox", "architectures": ["GPTNeoXForCausalLM"], "hidden_act": "gelu", "layer_norm_eps": 1e-5, "rotary_emb_base": 10000, "rotary_pct": 0.25,
        "tie_word_embeddings": False, "use_parallel_residual": True, "num_key_value_heads": GONE, "hidden_size": 96, "num_attention_heads": 4}  # fmt: skip
NEOXES = {
    "Pythia 160M": dict(classifier_dropout=0.1, attention_bias=True, attention_dropout=0.0, hidden_dropout=0.0, rope_scaling=None),
    "GPT-NeoX 20B": dict(hidden_act="gelu_fast", attention_probs_dropout_prob=0, hidden_dropout_prob=0),
    "RedPajama 3B (serial)": dict(use_parallel_residual=False, rotary_pct=1.0),
    "Polyglot Ko": dict(rotary_pct=0.5, num_steps="global_step200000"),
    "without biases, tied": dict(attention_bias=False, tie_word_embeddings=True, no_gguf="tied"),
    "linear": dict(rope_scaling={"factor": 2.0, "type": "linear"}),
}
GPT2 = {"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "activation_function": "gelu_new", "attn_pdrop": 0.1, "embd_pdrop": 0.1, "resid_pdrop": 0.1, "initializer_range": 0.02,
        "layer_norm_epsilon": 1e-5, "n_embd": 32, "n_head": 4, "n_layer": 2, "n_positions": 512, "vocab_size": 0}  # fmt: skip
GPT2S = {
    "GPT-2": dict(n_ctx=512, summary_activation=None, summary_first_dropout=0.1, summary_proj_to_labels=True, summary_type="cls_index", summary_use_proj=True,
                  task_specific_params={"text-generation": {"do_sample": True, "max_length": 50}}),
    "Cerebras-GPT": dict(activation_function="gelu", n_inner=128, scale_attn_weights=True, scale_attn_by_inverse_layer_idx=False, reorder_and_upcast_attn=False, attn_pdrop=0.0, no_gguf="gelu"),
    "untied, three layers": dict(tie_word_embeddings=False, n_layer=3, n_embd=40, n_inner=None),
    "another width of the mlp": dict(n_inner=72, layer_norm_epsilon=1e-6),
    "Stanford CRFM": dict(scale_attn_by_inverse_layer_idx=True, reorder_and_upcast_attn=True),
}  # fmt: skip

FAMILIES = {
    "llama": (LLAMA, LLAMAS), "smollm2": ({**LLAMA, "rope_theta": 1e5}, SMOLLMS), "smollm3": (SMOLLM3, SMOLLM3S), "mistral": (MISTRAL, MISTRALS), "qwen2": (QWEN2, QWEN2S),
    "qwen3": (QWEN3, QWEN3S), "gemma": (GEMMA, GEMMAS), "gemma2": (GEMMA2, GEMMA2S), "gemma3": (GEMMA3, GEMMA3S), "phi3": (PHI3, PHI3S), "olmo2": (OLMO2, OLMO2S),
    "gpt_neox": (NEOX, NEOXES), "gpt2": (GPT2, GPT2S), "qwen3_moe": (QWEN3_MOE, QWEN3_MOES), "mixtral": (MIXTRAL, MIXTRALS),
}  # fmt: skip
REFUSED = {
    ("llama", "ReluLLaMA"): "hidden_act", ("llama", "yarn with mscale"): "rope_scaling.mscale", ("qwen2", "windows in some layers"): "use_sliding_window",
    ("gpt_neox", "linear"): "rope_scaling", ("gpt2", "another width of the mlp"): "n_inner", ("gpt2", "Stanford CRFM"): "scale_attn_by_inverse_layer_idx",
    ("qwen3_moe", "one of two layers dense"): "decoder_sparse_step", ("bert", "positions by distance"): "position_embedding_type",
    ("minilm", "ms-marco-MiniLM (one number)"): "classes must be 2 or more",
}  # fmt: skip

NOTES = ("words", "vocab_more", "no_gguf", "dynamic", "long", "su")  # what is said to family_check.py


def published(family, name, r):
    """config.json, and what family_check.py is told of it."""
    common, cases = FAMILIES[family]
    said = {**({} if family == "gpt2" else {**SILU, **sizes(r)}), **common, **cases[name]}
    if family == "gpt_neox":
        said["intermediate_size"] = 4 * said["hidden_size"]
    notes = {k: said.pop(k) for k in NOTES if k in said}
    if said.get("num_key_value_heads") == "heads":
        said["num_key_value_heads"] = said["num_attention_heads"]
    rope = said.get("rope_scaling")
    if isinstance(rope, dict) and "long_factor" in rope:
        pairs = int(said["hidden_size"] // said["num_attention_heads"] * said.get("partial_rotary_factor", 1.0)) // 2
        lists = {name: [r.choice([1, 1.05, 1.5, 3.0]) * (i + 1 if name == "long_factor" else 1) for i in range(pairs)] for name in ("short_factor", "long_factor")}
        said["rope_scaling"] = {**rope, **lists}
    return {k: v for k, v in said.items() if v is not GONE}, notes
