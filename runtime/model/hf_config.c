/* hf_config.c: config.json: checks that a folder's belongs to this model, and makes the one that export writes.
 *
 * Keys of the description's `hf` are compared.  Any other key may change what the model computes, so it is accepted
 * only if it has the neutral value of the table `changes`, if the table `harmless` says why it does not matter, or if
 * it is null, which means unset.  Other keys are refused by name, unless --ignore-config names them. */
#include "base/json_text.h"
#include "base/words.h"
#include "interface/lathe_model.h"
#include "model/hf.h"
#include "model/origin.h"
#include "model/weights.h"
#include "token/tokenizer.h"

#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ keys beside the description's */

/* neutral: with this value (JSON), the model is the same as without the key. */
static const struct {
    const char *key, *neutral, *what;
} changes[] = {
    {"sliding_window", "null", "attention sees only the last N positions (nn.attention { window = N })"},
    {"use_sliding_window", "false", "attention of some layers sees a window"},
    {"attention_window_size", "null", "attention sees a window"},
    {"attention_chunk_size", "null", "attention sees chunks"},
    {"partial_rotary_factor", "1", "rotary positions turn a part of each head alone"},
    {"rotary_pct", "1", "rotary positions turn a part of each head alone"},
    {"rotary_dim", "null", "rotary positions turn a part of each head alone"},
    {"rope_scaling", "null", "rotary positions are stretched"},
    {"rope_interleaved", "false", "rotary positions turn neighbours, and here the two halves of a head"},
    {"rope_local_base_freq", "null", "some layers have rotary positions of another base"},
    {"use_bidirectional_attention", "false", "attention also looks at later positions"},
    {"no_rope_layers", "[]", "some layers have no rotary positions"},
    {"use_mrope", "false", "rotary positions have three parts"},
    {"interpolate_factor", "1", "rotary positions are stretched"},
    {"full_attn_mod", "1", "attention of some layers sees a part"},
    {"position_embedding_type", "\"absolute\"", "positions are by distance"},
    {"alibi", "false", "scores have a bias by distance"},
    {"attention_bias", "false", "projections of attention have biases"},
    {"qkv_bias", "false", "projections of attention have biases"},
    {"mlp_bias", "false", "projections of the mlp have biases"},
    {"use_bias", "false", "projections have biases"},
    {"lm_head_bias", "false", "logits have biases"},
    {"attn_logit_softcapping", "null", "scores of attention are capped"},
    {"final_logit_softcapping", "null", "logits are capped"},
    {"logits_soft_cap", "null", "logits are capped"},
    {"logit_scale", "1", "logits are scaled"},
    {"logits_scaling", "1", "logits are scaled"},
    {"embedding_multiplier", "1", "embeddings are scaled"},
    {"scale_embedding", "false", "embeddings are scaled"},
    {"residual_multiplier", "1", "branches are scaled"},
    {"attention_multiplier", "null", "scores have another scale"},
    {"query_pre_attn_scalar", "null", "scores have another scale"},
    {"scale_attn_weights", "true", "scores are not scaled"},
    {"scale_attn_by_inverse_layer_idx", "false", "scores of each layer have a scale of their own"},
    {"clip_qkv", "null", "q, k and v are clipped"},
    {"qk_layernorm", "false", "q and k are normalised"},
    {"use_qk_norm", "false", "q and k are normalised"},
    {"parallel_attn", "false", "attention and mlp are side by side"},
    {"use_parallel_residual", "false", "attention and mlp are side by side"},
    {"multi_query", "false", "all heads share one key and value"},
    {"add_cross_attention", "false", "blocks attend to an encoder"},
    {"is_encoder_decoder", "false", "there is an encoder"},
    {"cross_attention_hidden_size", "null", "blocks attend to an encoder"},
    {"num_experts", "null", "the mlp is a mixture of experts"},
    {"num_local_experts", "null", "the mlp is a mixture of experts"},
    {"shared_expert_intermediate_size", "0", "each token goes through one more expert"},
    {"decoder_sparse_step", "1", "some layers have an mlp instead of experts"},
    {"mlp_only_layers", "[]", "some layers have an mlp instead of experts"},
    {"norm_topk_prob", "true", "the weights of a token's experts do not add up to 1"},
    {"router_jitter_noise", "0", "what routers see is multiplied by random numbers in training"},
    {"pruned_heads", "{}", "heads were taken out"},
    {"quantization_config", "null", "weights are quantised"},
    {"auto_map", "null", "the model is code beside the weights"},
};

static const struct {
    const char *keys, *why;
} harmless[] = {
    {"_name_or_path _commit_hash transformers_version is_llama_config transformers.js_config finetuned num_steps",
     "names and marks"},
    {"torch_dtype dtype use_bfloat16 tf_legacy_loss", "how tensors are stored, which they say themselves"},
    {"_attn_implementation _attn_implementation_internal _attn_implementation_autoset attn_implementation use_cache "
     "cache_implementation pretraining_tp gradient_checkpointing chunk_size_feed_forward torchscript "
     "reorder_and_upcast_attn",
     "kernels, memory, the order of a sum"},
    {"return_dict use_return_dict output_attentions output_hidden_states output_scores return_dict_in_generate "
     "output_past",
     "what the library returns"},
    {"initializer_range", "weights before training"},
    {"attention_dropout attn_pdrop embd_pdrop resid_pdrop hidden_dropout embedding_dropout dropout",
     "used in training only; the description has its own"},
    {"n_ctx", "what n_positions says, too"},
    {"max_window_layers", "counts only with use_sliding_window"},
    {"is_decoder", "blocks of a language model are causal in any case"},
    {"tie_encoder_decoder", "counts only with an encoder"},
    {"summary_activation summary_first_dropout summary_proj_to_labels summary_type summary_use_proj id2label label2id "
     "num_labels _num_labels problem_type finetuning_task task_specific_params classifier_dropout",
     "heads of other tasks"},
    {"bos_token_id eos_token_id pad_token_id sep_token_id unk_token_id decoder_start_token_id forced_bos_token_id "
     "forced_eos_token_id tokenizer_class prefix suppress_tokens begin_suppress_tokens bad_words_ids",
     "what tokens mean; generate reads it"},
    {"max_length min_length do_sample early_stopping num_beams num_beam_groups diversity_penalty temperature top_k "
     "top_p typical_p repetition_penalty length_penalty no_repeat_ngram_size encoder_no_repeat_ngram_size "
     "num_return_sequences remove_invalid_values exponential_decay_length_penalty",
     "how texts are drawn"},
};

static bool has_word(const char *words, const char *word)
{
    size_t n = strlen(word); /* a key may be empty */
    for (const char *at = words; n && (at = strstr(at, word)); at += n)
        if ((at == words || at[-1] == ' ') && (at[n] == ' ' || at[n] == 0)) return true;
    return false;
}

static bool is_harmless(const Hf *hf, const char *key)
{
    for (size_t i = 0; i < sizeof harmless / sizeof *harmless; i++)
        if (has_word(harmless[i].keys, key)) return true;
    return json_object_get(json_object_get(hf->all, "harmless"), key) ||
           json_object_get(json_object_get(hf->all, "also"), key);
}

/* ------------------------------------------------------------------ values */

/* "a.b" in a tree of objects; NULL where it is absent or null. */
static const json_t *found_at(const json_t *all, const char *path)
{
    if (!path) return NULL;
    while (*path && all) {
        size_t n = strcspn(path, ".");
        char *key = text_of("%.*s", (int)n, path);
        all = json_object_get(all, key);
        free(key);
        path += n + (path[n] == '.');
    }
    return json_is_null(all) ? NULL : all;
}

/* Numbers are compared by value: 10000 is 10000.0. */
static bool agree(const json_t *a, const json_t *b)
{
    const char *key;
    json_t *value;
    if (json_is_number(a) && json_is_number(b)) return json_number_value(a) == json_number_value(b);
    if (json_is_array(a) && json_is_array(b)) {
        bool same = json_array_size(a) == json_array_size(b);
        for (size_t i = 0; same && i < json_array_size(a); i++)
            same = agree(json_array_get(a, i), json_array_get(b, i));
        return same;
    }
    if (!json_is_object(a) || !json_is_object(b)) return json_equal(a, b);
    json_object_foreach((json_t *)a, key, value)
    {
        const json_t *other = json_object_get(b, key);
        if (other && !json_is_null(other) && !agree(value, other)) return false;
    }
    return true;
}

static char *json_text(const json_t *x)
{
    return json_dumps(x, JSON_COMPACT | JSON_ENCODE_ANY | JSON_SORT_KEYS | JSON_REAL_PRECISION(15));
}

/* Keys by which null turns something off; null of others means that they are absent. */
static const char off_by_null[] = "attn_logit_softcapping final_logit_softcapping";

/* Lists of what layers have may be said by a number: each layer of it, counted from `first` on, has the one, and all
 * others the other. */
static const struct {
    const char *key, *number, *one, *other;
    int first;
} patterns[] = {
    {"layer_types", "sliding_window_pattern", "\"full_attention\"", "\"sliding_attention\"", 1},
    {"layer_types", "global_attn_every_n_layers", "\"full_attention\"", "\"sliding_attention\"", 0},
    {"no_rope_layers", "no_rope_layer_interval", "0", "1", 1},
};
enum { PATTERNS = sizeof patterns / sizeof *patterns };

static const json_t *said_by_pattern(const json_t *theirs, const char *key)
{
    enum { MOST_LAYERS = 10000 };
    int k = 0;
    while (k < PATTERNS && (strcmp(patterns[k].key, key) != 0 || !json_object_get(theirs, patterns[k].number))) k++;
    if (k == PATTERNS) return NULL;
    json_int_t every = json_integer_value(json_object_get(theirs, patterns[k].number)),
               layers = json_integer_value(json_object_get(theirs, "num_hidden_layers"));
    if (every < 1 || layers > MOST_LAYERS) return NULL;
    json_t *all = json_array();
    for (json_int_t i = patterns[k].first; i < layers + patterns[k].first; i++)
        add_json(all, json_loads(i % every ? patterns[k].other : patterns[k].one, JSON_DECODE_ANY, NULL));
    return all;
}

/* The value of a key of the description's in their config.json, also elsewhere in it or by its absence; NULL: none. */
static const json_t *said_of(const Hf *hf, const json_t *theirs, const char *key, bool *silent)
{
    const json_t *said = found_at(theirs, key), *own = json_object_get(theirs, key);
    if (own && has_word(off_by_null, key)) said = own;
    if (!said) said = found_at(theirs, json_string_value(json_object_get(json_object_get(hf->all, "elsewhere"), key)));
    if (!said) said = said_by_pattern(theirs, key);
    *silent = !said;
    return said ? said : json_object_get(json_object_get(hf->all, "absent"), key);
}

/* Also by another value that means the same. */
static bool suits(const Hf *hf, const char *key, const json_t *ours, const json_t *said)
{
    size_t i;
    json_t *other;
    if (agree(ours, said)) return true;
    json_array_foreach(json_object_get(json_object_get(hf->all, "alike"), key), i,
                       other) if (agree(other, said)) return true;
    return false;
}

/* ------------------------------------------------------------------ reading one */

static Words ignored;

void ignore_config(const Words *keys) { ignored = *keys; }

static bool is_ignored(const char *key)
{
    for (int i = 0; i < ignored.n; i++)
        if (strcmp(ignored.at[i], key) == 0) return true;
    return false;
}

/* Whether it is another head on the same layers. */
static bool is_base(const Hf *hf, const char *key, const json_t *said)
{
    if (strcmp(key, "architectures") != 0 || !json_is_array(said)) return false;
    const char *name = json_string_value(json_array_get(said, 0));
    return name && hf_lists(json_object_get(hf->all, "bases"), name);
}

static void misfit(Misfits *bad, const char *key, char *line)
{
    if (is_ignored(key)) note("config.json: ignored because of --ignore-config: %s", line);
    else add_misfit(bad, line);
}

/* A window at least as long as the context has no effect, and neither has one that is switched off. */
static bool is_wide(const Lathe_model *m, const json_t *theirs, const char *key, const json_t *value)
{
    if (strcmp(key, "sliding_window") != 0) return false;
    int64_t longest = m->context > m->seq ? m->context : m->seq;
    return (json_is_integer(value) && json_integer_value(value) >= longest) ||
           json_is_false(json_object_get(theirs, "use_sliding_window"));
}

/* Whether their config.json says of a key of the description's what it says, or what has the same effect. */
static bool says_same(const Hf *hf, const Lathe_model *m, const json_t *theirs, const char *key, const json_t *ours,
                      const json_t *said)
{
    const json_t *own = json_object_get(theirs, key);
    if (said && suits(hf, key, ours, said)) return true;
    return is_wide(m, theirs, key, ours) && (json_is_null(own) || (said && is_wide(m, theirs, key, said)));
}

static void check_said(const Hf *hf, const Lathe_model *m, const json_t *theirs, Misfits *bad)
{
    const char *key;
    json_t *ours;
    size_t i;
    json_object_foreach(json_object_get(hf->all, "config"), key, ours)
    {
        bool silent;
        const json_t *said = said_of(hf, theirs, key, &silent);
        if (!said || says_same(hf, m, theirs, key, ours, said) || is_base(hf, key, said)) continue;
        misfit(bad, key,
               text_of("%s: expected %s, found %s%s", key, json_text(ours), json_text(said),
                       silent ? " (the default if the key is absent)" : ""));
    }
    json_array_foreach(json_object_get(hf->all, "unset"), i, ours)
    {
        bool silent;
        const char *name = json_string_value(ours);
        const json_t *said = has_word(off_by_null, name) ? said_of(hf, theirs, name, &silent) : found_at(theirs, name);
        if (said && !json_is_null(said))
            misfit(bad, name, text_of("%s: expected none, found %s", name, json_text(said)));
    }
}

static bool is_full_attention(const json_t *layers)
{
    size_t i, n = json_array_size(layers);
    for (i = 0; i < n; i++)
        if (!json_is_string(json_array_get(layers, i)) ||
            strcmp(json_string_value(json_array_get(layers, i)), "full_attention") != 0)
            return false;
    return n > 0;
}

static bool is_neutral(const Lathe_model *m, const json_t *theirs, const char *key, const json_t *value, int k)
{
    if (is_wide(m, theirs, key, value)) return true;
    json_t *neutral = json_loads(changes[k].neutral, JSON_DECODE_ANY, NULL);
    bug_if(!neutral);
    bool is = json_is_number(neutral) ? agree(neutral, value) : json_equal(neutral, value);
    json_decref(neutral);
    return is;
}

static bool is_of_description(const Hf *hf, const char *key)
{
    size_t i;
    json_t *word;
    json_array_foreach(json_object_get(hf->all, "unset"), i,
                       word) if (strcmp(json_string_value(word), key) == 0) return true;
    const char *count = json_string_value(json_object_get(json_object_get(hf->all, "ids"), "config"));
    return (count && strcmp(count, key) == 0) || json_object_get(json_object_get(hf->all, "config"), key);
}

/* place: the key's full path, "rope_parameters.partial_rotary_factor". */
static void check_key(const Hf *hf, const Lathe_model *m, const json_t *theirs, const char *key, const char *place,
                      const json_t *value, Misfits *bad)
{
    if (json_is_null(value) || is_harmless(hf, key)) return;
    if (strcmp(key, "layer_types") == 0 && is_full_attention(value)) return;
    for (int k = 0; k < PATTERNS; k++) /* compared as lists */
        if (strcmp(key, patterns[k].number) == 0 && is_of_description(hf, patterns[k].key)) return;
    for (size_t k = 0; k < sizeof changes / sizeof *changes; k++) {
        if (strcmp(changes[k].key, key) != 0) continue;
        if (is_neutral(m, theirs, key, value, (int)k)) return;
        misfit(bad, place,
               text_of("%s: found %s: %s, but not in this description", place, json_text(value), changes[k].what));
        return;
    }
    misfit(
        bad, place,
        text_of("%s: found %s, an unknown key; if it does not change what the model computes, add --ignore-config %s",
                place, json_text(value), place));
}

/* Checks keys within one of the description's keys that is a table, such as rope_parameters, unless the description has
 * them. */
static void check_inner(const Hf *hf, const Lathe_model *m, const json_t *theirs, const char *key, const json_t *ours,
                        const json_t *value, Misfits *bad)
{
    const char *inner;
    json_t *said;
    if (!json_is_object(ours)) return;
    json_object_foreach((json_t *)value, inner, said)
    {
        char *place = text_of("%s.%s", key, inner);
        const json_t *own = json_object_get(ours, inner);
        if (own) check_inner(hf, m, theirs, place, own, said, bad);
        else check_key(hf, m, theirs, inner, place, said, bad);
        free(place);
    }
}

/* The table of the description's that an older key has, as rope_scaling has that of rope_parameters; NULL: none. */
static const json_t *table_by_older_key(const Hf *hf, const char *older)
{
    const char *key;
    json_t *place;
    json_object_foreach(json_object_get(hf->all, "elsewhere"), key, place)
    {
        const json_t *ours = json_object_get(json_object_get(hf->all, "config"), key);
        if (strcmp(json_string_value(place), older) == 0 && json_is_object(ours)) return ours;
    }
    return NULL;
}

void check_hf_config(const Hf *hf, const Lathe_model *m, const json_t *theirs, Misfits *bad)
{
    const char *key;
    json_t *value;
    check_said(hf, m, theirs, bad);
    json_object_foreach((json_t *)theirs, key, value)
    {
        if (is_of_description(hf, key))
            check_inner(hf, m, theirs, key, json_object_get(json_object_get(hf->all, "config"), key), value, bad);
        else check_key(hf, m, theirs, key, key, value, bad);
        check_inner(hf, m, theirs, key, table_by_older_key(hf, key), value, bad);
    }
}

int64_t hf_ids(const Hf *hf, const json_t *theirs)
{
    const char *count = json_string_value(json_object_get(json_object_get(hf->all, "ids"), "config"));
    const json_t *ids = count ? json_object_get(theirs, count) : NULL;
    return json_is_integer(ids) ? json_integer_value(ids) : 0;
}

/* ------------------------------------------------------------------ writing one */

static const char *type_word(Lathe_dtype weights)
{
    return weights == LATHE_F64 ? "float64" : weights == LATHE_BF16 ? "bfloat16" : "float32";
}

/* Newer releases of transformers call it dtype, older ones torch_dtype; a file with neither means float32. */
static void set_type(json_t *all, Lathe_dtype weights, const json_t *theirs)
{
    static const char *const keys[] = {"dtype", "torch_dtype"};
    bool some = json_object_get(all, keys[0]) || json_object_get(all, keys[1]);
    if (theirs && !some && weights == LATHE_F32) return;
    for (int i = 0; i < 2; i++)
        if (!some || json_object_get(all, keys[i])) json_object_set_new(all, keys[i], json_string(type_word(weights)));
}

static void set_token(json_t *all, const char *key, int32_t id)
{
    json_object_set_new(all, key, id < 0 ? json_null() : json_integer(id));
}

static json_t *new_config(const Hf *hf, const Tokenizer *k)
{
    size_t i;
    json_t *all = json_deep_copy(json_object_get(hf->all, "also")), *unset;
    Usual_tokens usual = k ? usual_tokens(k) : (Usual_tokens){-1, -1, -1};
    if (!json_is_object(all)) all = json_object();
    json_object_update(all, json_object_get(hf->all, "config"));
    json_array_foreach(json_object_get(hf->all, "unset"), i, unset) if (has_word(off_by_null, json_string_value(unset)))
        json_object_set_new(all, json_string_value(unset), json_null());
    set_token(all, "bos_token_id", usual.bos);
    set_token(all, "eos_token_id", usual.eos);
    set_token(all, "pad_token_id", usual.pad);
    return all;
}

/* Their config.json, with this model's values where they differ. */
static json_t *old_config(const Hf *hf, const Lathe_model *m, const json_t *theirs)
{
    json_t *all = json_deep_copy(theirs), *ours;
    const char *key;
    json_object_foreach(json_object_get(hf->all, "config"), key, ours)
    {
        bool silent;
        const json_t *said = said_of(hf, theirs, key, &silent);
        if (!says_same(hf, m, theirs, key, ours, said)) json_object_set(all, key, ours);
    }
    return all;
}

char *hf_config(const Hf *hf, const Lathe_model *m, const Origin *o, const Tokenizer *k, int64_t ids)
{
    const json_t *theirs = o ? origin_object(o, "config.json") : NULL;
    const char *count = json_string_value(json_object_get(json_object_get(hf->all, "ids"), "config"));
    json_t *all = theirs ? old_config(hf, m, theirs) : new_config(hf, k);
    if (count && !(theirs && hf_ids(hf, theirs) == ids)) json_object_set_new(all, count, json_integer(ids));
    set_type(all, lathe_weights(m), theirs);
    bool same = theirs && json_equal(all, theirs);
    char *text = same ? text_of("%s", origin_file(o, "config.json"))
                      : json_dumps(all, JSON_INDENT(2) | JSON_SORT_KEYS | JSON_REAL_PRECISION(15));
    json_decref(all);
    return text;
}
