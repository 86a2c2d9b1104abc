"""encoder_configs.py: what config.json of published encoders say, with small random sizes, and heads: cases of family_check.py."""

from family_configs import GONE

BERT = {"model_type": "bert", "attention_probs_dropout_prob": 0.1, "gradient_checkpointing": False, "hidden_act": "gelu", "hidden_dropout_prob": 0.1, "initializer_range": 0.02,
        "layer_norm_eps": 1e-12, "max_position_embeddings": 40, "pad_token_id": 0, "position_embedding_type": "absolute", "torch_dtype": "float32", "transformers_version": "4.6.0.dev0",
        "type_vocab_size": 2, "use_cache": True, "vocab_size": 96}  # fmt: skip
CLASSES = {"id2label": {"0": "negative", "1": "neutral", "2": "positive"}, "label2id": {"negative": 0, "neutral": 1, "positive": 2}}
NAMES = {"id2label": {str(i): name for i, name in enumerate(("O", "B-PER", "I-PER", "B-ORG", "I-ORG"))}, "label2id": {name: i for i, name in enumerate(("O", "B-PER", "I-PER", "B-ORG", "I-ORG"))}}
POOLER = {"directionality": "bidi", "pooler_fc_size": 768, "pooler_num_attention_heads": 12, "pooler_num_fc_layers": 3, "pooler_size_per_head": 128, "pooler_type": "first_token_transform"}
BERTS = {
    "bert-base-uncased": ("masked", {}),
    "finbert": ("classes", CLASSES),
    "multilingual": ("masked", {**POOLER, "layer_norm_eps": 1e-12, "classifier_dropout": None}),
    "bert-base-NER": ("tokens", {**NAMES, "output_past": True, "_num_labels": 5}),
    "bert as vectors": ("embedding", {"position_embedding_type": GONE}),
    "gelu_new, two labels": ("classes", {"hidden_act": "gelu_new", "layer_norm_eps": 1e-5, "type_vocab_size": 2, "classifier_dropout": 0.2}),
    "relu": ("tokens", {"hidden_act": "relu", "hidden_dropout_prob": 0.0}),
    "positions by distance": ("classes", {"position_embedding_type": "relative_key"}),
}
MINILMS = {
    "all-MiniLM-L6-v2": ("embedding", {"_name_or_path": "nreimers/MiniLM-L6-H384-uncased", "num_hidden_layers": 2, "hidden_size": 48, "num_attention_heads": 3}),
    "MiniLM-L12-H384": ("classes", {"layer_norm_eps": 1e-12, "num_hidden_layers": 4, "hidden_size": 24, "num_attention_heads": 3}),
    "MiniLM, hidden words": ("masked", {"num_hidden_layers": 3}),
    "MiniLM, words": ("tokens", {**NAMES, "num_hidden_layers": 3}),
    "ms-marco-MiniLM (one number)": ("classes", {"id2label": {"0": "LABEL_0"}, "label2id": {"LABEL_0": 0}}),
}
ROBERTA = {**BERT, "model_type": "roberta", "bos_token_id": 0, "eos_token_id": 2, "pad_token_id": 1, "layer_norm_eps": 1e-5, "max_position_embeddings": 42, "type_vocab_size": 1}
ROBERTAS = {
    "roberta-base": ("masked", {"use_cache": GONE, "gradient_checkpointing": GONE, "position_embedding_type": GONE}),
    "twitter-roberta": ("classes", CLASSES),
    "roberta-large-ner": ("tokens", {**NAMES, "type_vocab_size": 1, "classifier_dropout": None}),
    "all-distilroberta": ("embedding", {"num_hidden_layers": 1}),
    "two types": ("classes", {"type_vocab_size": 2}),
}
MODERN = {"model_type": "modernbert", "attention_bias": False, "attention_dropout": 0.0, "bos_token_id": 1, "classifier_activation": "gelu", "classifier_bias": False, "classifier_dropout": 0.0,
          "classifier_pooling": "mean", "cls_token_id": 1, "decoder_bias": True, "deterministic_flash_attn": False, "embedding_dropout": 0.0, "eos_token_id": 2,
          "global_attn_every_n_layers": 3, "global_rope_theta": 160000.0, "gradient_checkpointing": False, "hidden_activation": "gelu", "initializer_cutoff_factor": 2.0,
          "initializer_range": 0.02, "layer_norm_eps": 1e-5, "local_attention": 12, "local_rope_theta": 10000.0, "max_position_embeddings": 512, "mlp_bias": False, "mlp_dropout": 0.0,
          "norm_bias": False, "norm_eps": 1e-5, "num_hidden_layers": 5, "pad_token_id": 0, "position_embedding_type": "absolute", "reference_compile": True, "sep_token_id": 2,
          "tie_word_embeddings": True, "torch_dtype": "float32", "vocab_size": 96}  # fmt: skip
MODERNS = {
    "ModernBERT-base": ("masked", {"sparse_pred_ignore_index": -100, "sparse_prediction": False, "repad_logits_with_grad": False}),
    "ModernBERT, classes": ("classes", CLASSES),
    "ModernBERT, the first token": ("classes", {**CLASSES, "classifier_pooling": "cls", "classifier_bias": True}),
    "ModernBERT, words": ("tokens", {**NAMES, "global_attn_every_n_layers": 2}),
    "gte-modernbert": ("embedding", {"local_attention": 8}),
    "all biases": ("masked", {"attention_bias": True, "mlp_bias": True, "norm_bias": True, "decoder_bias": False, "hidden_activation": "gelu_pytorch_tanh"}),
}
ENCODERS = {"bert": (BERT, BERTS), "minilm": (BERT, MINILMS), "roberta": (ROBERTA, ROBERTAS), "modernbert": (MODERN, MODERNS)}


def published(family, name, r):
    """The head, and config.json"""
    common, cases = ENCODERS[family]
    head, own = cases[name]
    heads = r.choice([1, 2, 3])
    sizes = {"num_attention_heads": heads, "hidden_size": heads * r.choice([8, 10, 16]), "num_hidden_layers": r.choice([1, 2, 3]), "intermediate_size": r.choice([34, 48, 70])}
    return head, {k: v for k, v in {**sizes, **common, **own}.items() if v is not GONE}
