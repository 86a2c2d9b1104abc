/* gguf_layers.c: architectures whose layers differ from each other: which of them see a window, at which rates those
 * turn, by what scores are divided, and which have no rotary positions, in GGUF files and as config.json has them.
 *
 * A file may say little of this: llama.cpp knows the rest by the architecture, and by the number of layers one model of
 * it whose scores are divided by the root of width / heads instead of a head's width. */
#include "base/json_text.h"
#include "base/words.h"
#include "model/gguf.h"

#include <stdlib.h>
#include <string.h>

static const double LOCAL_BASE = 10000; /* of rotary positions in layers with a window */
static const char window_key[] = "attention.sliding_window", pattern_key[] = "attention.sliding_window_pattern";

/* ------------------------------------------------------------------ reading */

int64_t gguf_query_width(const Architecture *a, int64_t layers, int64_t width, int64_t heads, int64_t head)
{
    return layers == a->layers_by_heads && heads > 0 ? width / heads : head;
}

static const char *layer_word(bool windowed) { return windowed ? "sliding_attention" : "full_attention"; }

/* Of a list that says for each layer whether it has the window. */
static json_t *layers_of_list(const Store *s, const Architecture *a, const json_t *list, int64_t layers)
{
    json_t *types = json_array(), *one;
    size_t i;
    if ((int64_t)json_array_size(list) != layers)
        fail(EXIT_DATA, s->path, "\"%s.%s\": expected one for each of %lld layers, found %lld; the file is damaged",
             a->name, pattern_key, (long long)layers, (long long)json_array_size(list));
    json_array_foreach((json_t *)list, i, one)
        add_json(types, json_string(layer_word(json_is_true(one) || json_integer_value(one) > 0)));
    return types;
}

static json_t *layers_by_number(int64_t layers, int64_t every)
{
    json_t *types = json_array();
    for (int64_t i = 1; i <= layers; i++) add_json(types, json_string(layer_word(every == 0 || i % every)));
    return types;
}

/* A 1 for each layer with rotary positions */
static json_t *layers_with_rope(const Architecture *a, int64_t layers)
{
    json_t *all = json_array();
    for (int64_t i = 1; i <= layers; i++) add_json(all, json_integer(i % a->no_rope != 0));
    return all;
}

static void put_windows(const Store *s, const Architecture *a, int64_t layers, json_t *config)
{
    int64_t width = json_integer_value(json_object_get(config, "hidden_size")),
            heads = json_integer_value(json_object_get(config, "num_attention_heads"));
    const json_t *pattern = gguf_value_of(s, a, pattern_key), *window = gguf_value_of(s, a, window_key);
    if (pattern && !json_is_integer(pattern) && !json_is_array(pattern))
        fail(EXIT_DATA, s->path, "\"%s.%s\": expected a number or a list; the file is damaged", a->name, pattern_key);
    bool every_full = a->local_base && json_integer_value(window) < 1; /* llama.cpp's rule for Gemma 3 */
    int64_t every = json_is_integer(pattern) ? json_integer_value(pattern) : a->full_every;
    put_json(config, "query_pre_attn_scalar", json_integer(gguf_query_width(a, layers, width, heads, gguf_head(s, a))));
    put_json(config, "layer_types",
             every_full               ? layers_by_number(layers, 1)
             : json_is_array(pattern) ? layers_of_list(s, a, pattern, layers)
                                      : layers_by_number(layers, every));
    if (every_full) json_object_del(config, "sliding_window");
}

/* Layers with a window have a base of their own. */
static void put_local_base(const Store *s, const Architecture *a, json_t *config)
{
    json_t *base = gguf_value_of(s, a, "rope.freq_base_swa"), *rope = json_object_get(config, "rope_parameters");
    put_json(config, "rope_local_base_freq", base ? json_incref(base) : json_real(LOCAL_BASE));
    if (!rope) return;
    json_object_set(config, "rope_scaling", rope); /* of layers without the window */
    json_object_del(config, "rope_parameters");
}

/* The numbers were read by gguf_config() already. */
void put_layers(const Store *s, const Architecture *a, json_t *config)
{
    enum { MOST_LAYERS = 10000 };
    int64_t layers = json_integer_value(json_object_get(config, "num_hidden_layers"));
    if ((a->full_every || a->no_rope) && layers > MOST_LAYERS)
        fail(EXIT_DATA, s->path, "has %lld layers; the file is damaged", (long long)layers);
    if (a->full_every) put_windows(s, a, layers, config);
    if (a->local_base) put_local_base(s, a, config);
    if (a->no_rope) put_json(config, "no_rope_layers", layers_with_rope(a, layers));
}

/* ------------------------------------------------------------------ writing */

int64_t full_every_of(const json_t *types)
{
    size_t i;
    json_t *type;
    json_array_foreach((json_t *)types, i, type) if (strcmp(json_string_value(type), layer_word(false)) == 0) break;
    return (int64_t)i + 1;
}

static const char *rope_layers_misfit(const Architecture *a, const json_t *config)
{
    json_t *usual = layers_with_rope(a, json_integer_value(json_object_get(config, "num_hidden_layers")));
    bool has = json_equal(usual, json_object_get(config, "no_rope_layers"));
    json_decref(usual);
    if (has) return NULL;
    return text_of("llama.cpp leaves out rotary positions of every %dth layer in a model of the architecture %s, and "
                   "this one of others (no_rope_interval)",
                   a->no_rope, a->name);
}

const char *layers_misfit(const Architecture *a, const json_t *config)
{
    int64_t layers = json_integer_value(json_object_get(config, "num_hidden_layers")),
            width = json_integer_value(json_object_get(config, "hidden_size")),
            heads = json_integer_value(json_object_get(config, "num_attention_heads")),
            head = json_integer_value(json_object_get(config, "head_dim"));
    if (a->no_rope) return rope_layers_misfit(a, config);
    if (!a->full_every) return NULL;
    if (json_integer_value(json_object_get(config, "query_pre_attn_scalar")) !=
        gguf_query_width(a, layers, width, heads, head))
        return "llama.cpp divides scores by the root of a head's width in a model of this architecture and depth, not "
               "as query_width says";
    if (!a->local_base &&
        !(json_object_get(config, "attn_logit_softcapping") && json_object_get(config, "final_logit_softcapping")))
        return "llama.cpp caps scores and logits in a model of the architecture gemma2, and this one has no score_cap "
               "or no logit_cap";
    return NULL;
}
