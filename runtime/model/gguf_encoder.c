/* gguf_encoder.c: what GGUF files of encoders say beside sizes and tensors: how a text becomes one vector, the names of
 * classes, which layers see a window.
 *
 * A head for classes is told by its tensor, cls.output; so are RoBERTa's by the tokenizer.  llama.cpp gives all tokens
 * the type of a first text. */
#include "base/json_text.h"
#include "base/words.h"
#include "model/gguf_writer.h"

#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ heads */

static const char classes_tensor[] = "cls.output.weight", pooler_tensor[] = "cls.weight";

static void note_head(Store *s, const char *name)
{
    const Stored *t = find_stored(s, name);
    json_object_del(s->header, name);
    if (t) put_json(s->header, name, json_integer(t->rank ? t->dim[0] : 0));
}

/* In the header, since tensors will have other names. */
void note_heads(Store *s)
{
    note_head(s, classes_tensor);
    note_head(s, pooler_tensor);
}

int64_t gguf_classes(const Store *s) { return json_integer_value(json_object_get(s->header, classes_tensor)); }
bool gguf_has_pooler(const Store *s) { return json_object_get(s->header, pooler_tensor) != NULL; }

static json_t *default_name(int64_t k) { return json_sprintf("LABEL_%lld", (long long)k); }

static json_t *class_names(const Store *s, const Architecture *a)
{
    const json_t *labels = gguf_value_of(s, a, "classifier.output_labels");
    int64_t n = gguf_classes(s);
    json_t *all = json_object();
    if (labels && (int64_t)json_array_size(labels) != n)
        fail(EXIT_DATA, s->path,
             "\"%s.classifier.output_labels\": expected a name for each of the %lld classes of %s, found %s%zu; the "
             "file is damaged",
             a->name, (long long)n, classes_tensor, json_is_array(labels) ? "" : "no list, ", json_array_size(labels));
    for (int64_t k = 0; k < n; k++) {
        json_t *label = json_array_get(labels, (size_t)k);
        char *key = text_of("%lld", (long long)k);
        if (label && !json_is_string(label))
            fail(EXIT_DATA, s->path, "\"%s.classifier.output_labels\"[%s]: expected a text; the file is damaged",
                 a->name, key);
        put_json(all, key, label ? json_incref(label) : default_name(k));
        free(key);
    }
    return all;
}

/* ------------------------------------------------------------------ one vector of a text */

enum { NO_POOLING, MEAN_POOLING, CLS_POOLING, LAST_POOLING, RANK_POOLING, POOLINGS };
static const char *const poolings[POOLINGS] = {"none", "mean", "cls", "last", "rank"};

static char *found_value(const json_t *value)
{
    char *text = value ? json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
    return text ? text : text_of("none");
}

/* A number of `poolings`; -1: the file does not say. */
static int pooling_at(const Store *s, const Architecture *a, const char *key)
{
    const json_t *value = gguf_value_of(s, a, key);
    json_int_t n = json_integer_value(value);
    if (!value) return -1;
    if (!json_is_integer(value) || n < 0 || n >= POOLINGS)
        fail(EXIT_DATA, s->path,
             "\"%s.%s\": expected 0 (none), 1 (mean), 2 (cls), 3 (last) or 4 (rank), found %.60s; the file is damaged",
             a->name, key, found_value(value));
    if (n == LAST_POOLING)
        fail(EXIT_DATA, s->path,
             "\"%s.%s\": expected a vector of all tokens (mean) or of the first (cls), found 3, of the last, which "
             "models/bert.lua does not compute",
             a->name, key);
    return (int)n;
}

const char *gguf_pooling(const Store *s)
{
    int n = pooling_at(s, architecture_of(s), "pooling_type");
    return n < 0 ? NULL : poolings[n];
}

char *pooling_misfit(const Store *s, const json_t *hf)
{
    const char *ours = json_string_value(json_object_get(hf, "pooling"));
    const Architecture *a = architecture_of(s);
    int n = a->tokenizer ? pooling_at(s, a, "pooling_type") : -1;
    bool vector = n == MEAN_POOLING || n == CLS_POOLING;
    if (!ours || !vector || strcmp(ours, "rank") == 0 || strcmp(ours, poolings[n]) == 0) return NULL;
    return text_of("%s.pooling_type: expected %s, found %d (%s)", a->name, ours, n, poolings[n]);
}

/* ------------------------------------------------------------------ ModernBERT */

/* llama.cpp's words for gates.  An unknown one it takes for gelu. */
static const struct {
    const char *theirs, *ours;
} gates[] = {{"gelu", "gelu"}, {"geglu", "gelu"}, {"silu", "silu"}, {"swish", "silu"}, {"swiglu", "silu"}};

static const char *gate_of(const Store *s, const Architecture *a)
{
    const json_t *value = gguf_value_of(s, a, "hidden_activation");
    const char *word = json_string_value(value);
    if (!value) return gates[0].ours;
    for (size_t k = 0; word && k < sizeof gates / sizeof *gates; k++)
        if (strcmp(gates[k].theirs, word) == 0) return gates[k].ours;
    fail(EXIT_DATA, s->path, "\"%s.hidden_activation\": expected gelu or silu, found %.60s", a->name,
         found_value(value));
}

static bool sees_all(const Store *s, const Architecture *a, const json_t *pattern, int64_t layer)
{
    if (json_integer_value(gguf_value_of(s, a, "attention.sliding_window")) < 1) return true;
    if (!json_is_array(pattern)) {
        int64_t every = pattern ? json_integer_value(pattern) : a->first_full;
        return every == 0 ? false : layer % every == 0;
    }
    const json_t *windowed = json_array_get(pattern, (size_t)layer);
    return !json_is_true(windowed) && json_integer_value(windowed) == 0;
}

static json_t *layers_with_window(const Store *s, const Architecture *a, int64_t layers)
{
    enum { MOST_LAYERS = 10000 };
    static const char key[] = "attention.sliding_window_pattern";
    const json_t *pattern = gguf_value_of(s, a, key);
    json_t *all = json_array();
    bool list = json_is_array(pattern) && (int64_t)json_array_size(pattern) == layers;
    if (layers > MOST_LAYERS) fail(EXIT_DATA, s->path, "has %lld layers; the file is damaged", (long long)layers);
    if (pattern && !list && !(json_is_integer(pattern) && json_integer_value(pattern) >= 0))
        fail(EXIT_DATA, s->path,
             "\"%s.%s\": expected a number, or whether each of %lld layers has a window, found %.60s; the file is "
             "damaged",
             a->name, key, (long long)layers, found_value(pattern));
    for (int64_t i = 0; i < layers; i++)
        add_json(all, json_string(sees_all(s, a, pattern, i) ? "full_attention" : "sliding_attention"));
    return all;
}

static void put_modern(const Store *s, const Architecture *a, json_t *config)
{
    const json_t *stretch = gguf_value_of(s, a, "rope.scaling.type"), *theta;
    if (stretch && (!json_is_string(stretch) || strcmp(json_string_value(stretch), "none") != 0))
        fail(EXIT_DATA, s->path, "\"%s.rope.scaling.type\": expected none, found %.60s", a->name, found_value(stretch));
    put_json(config, "hidden_activation", json_string(gate_of(s, a)));
    put_json(config, "layer_types",
             layers_with_window(s, a, json_integer_value(json_object_get(config, "num_hidden_layers"))));
    if (json_integer_value(json_object_get(config, "local_attention")) < 1) json_object_del(config, "local_attention");
    if (!json_object_get(config, "local_rope_theta") && (theta = json_object_get(config, "global_rope_theta")))
        json_object_set(config, "local_rope_theta", (json_t *)theta);
    if (a->classes) {
        int n = pooling_at(s, a, "classifier.pooling_type"); /* llama.cpp takes the mean if a file does not say */
        put_json(config, "classifier_pooling", json_string(n == CLS_POOLING ? "cls" : "mean"));
    }
}

/* ------------------------------------------------------------------ config.json */

bool is_key_of_encoder(const Architecture *a, const char *key)
{
    static const char *const all[] = {"attention.causal", "pooling_type", "classifier.output_labels"};
    static const char *const modern[] = {"classifier.pooling_type", "hidden_activation",
                                         "attention.sliding_window_pattern"};
    bool is = false;
    for (int i = 0; i < 3; i++) is = is || strcmp(key, all[i]) == 0 || (a->first_full && strcmp(key, modern[i]) == 0);
    return is && a->tokenizer;
}

/* The table of the file begins with the first token's row. */
static void add_lead(const Store *s, const Architecture *a, json_t *config)
{
    enum { LARGEST = 1 << 30 };
    json_int_t rows = json_integer_value(json_object_get(config, "max_position_embeddings"));
    if (rows < 1 || rows > LARGEST)
        fail(EXIT_DATA, s->path, "\"%s.context_length\": expected 1 or more, found %lld; the file is damaged", a->name,
             (long long)rows);
    put_json(config, "max_position_embeddings", json_integer(rows + a->lead));
}

void put_encoder(const Store *s, const Architecture *a, json_t *config)
{
    static const char types[] = "tokenizer.ggml.token_type_count";
    const json_t *causal = gguf_value_of(s, a, "attention.causal");
    if (!json_is_false(causal))
        fail(EXIT_DATA, s->path,
             "\"%s.attention.causal\": expected false, as of an encoder, found %.60s%s; models/bert.lua sees both sides",
             a->name, found_value(causal), causal ? "" : ", which means true");
    pooling_at(s, a, "pooling_type");
    if (a->lead) add_lead(s, a, config);
    if (!a->first_full) put_json(config, "type_vocab_size", json_integer(gguf_integer(s, types, -1)));
    json_t *names = class_names(s, a);
    if (a->classes) json_object_set(config, "id2label", names);
    json_decref(names);
    if (a->first_full) put_modern(s, a, config);
}

/* ------------------------------------------------------------------ writing */

static int64_t rows_of_classes(const Writer *w)
{
    for (int i = 0; i < w->g->hf->n; i++) {
        char *name = gguf_name(w->a, w->g->hf->tensor[i].name);
        bool is = name && strcmp(name, classes_tensor) == 0;
        free(name);
        if (is) return w->g->hf->tensor[i].dim[0];
    }
    return 0;
}

/* llama.cpp counts classes by their names. */
static void put_class_names(Writer *w)
{
    const json_t *names = json_object_get(w->g->config, "id2label");
    int64_t n = rows_of_classes(w);
    char *whole = text_of("%s.classifier.output_labels", w->a->name);
    begin_list_key(w, whole, GGUF_TEXT, n);
    for (int64_t k = 0; k < n; k++) {
        char *key = text_of("%lld", (long long)k);
        json_t *name = json_object_get(names, key);
        name = json_is_string(name) ? json_incref(name) : default_name(k);
        out_text(w, json_string_value(name), json_string_length(name));
        json_decref(name);
        free(key);
    }
    free(whole);
}

static void put_own_text(Writer *w, const char *key, const char *text)
{
    char *whole = text_of("%s.%s", w->a->name, key);
    put_text_key(w, whole, text);
    free(whole);
}

static void put_own_integer(Writer *w, const char *key, int64_t x)
{
    json_t *value = json_integer(x);
    put_own_key(w, key, GGUF_U32, value);
    json_decref(value);
}

static int number_of_pooling(const char *word)
{
    int n = 0;
    while (n < POOLINGS && strcmp(poolings[n], word) != 0) n++;
    return n;
}

static void put_modern_keys(Writer *w)
{
    const json_t *types = said_of_model(w, "layer_types");
    const char *act = json_string_value(said_of_model(w, "hidden_activation")),
               *pooled = json_string_value(said_of_model(w, "classifier_pooling"));
    size_t every = 1, n = json_array_size(types);
    while (every < n && strcmp(json_string_value(json_array_get(types, every)), "full_attention") != 0) every++;
    put_own_integer(w, "attention.sliding_window_pattern", (int64_t)every);
    put_own_text(w, "rope.scaling.type", "none");
    put_own_text(w, "hidden_activation", act && strcmp(act, "silu") == 0 ? "silu" : "gelu");
    if (w->a->classes) put_own_integer(w, "classifier.pooling_type", number_of_pooling(pooled ? pooled : "cls"));
}

void put_encoder_keys(Writer *w)
{
    const char *pooling = json_string_value(json_object_get(w->g->hf->all, "pooling"));
    char *causal = text_of("%s.attention.causal", w->a->name);
    put_flag_key(w, causal, false);
    free(causal);
    if (pooling) put_own_integer(w, "pooling_type", number_of_pooling(pooling));
    if (w->a->lead) {
        json_int_t rows = json_integer_value(said_of_model(w, "max_position_embeddings"));
        put_own_integer(w, "context_length", rows - w->a->lead);
    }
    if (w->a->classes) put_class_names(w);
    if (w->a->first_full) put_modern_keys(w);
    else put_integer_key(w, "tokenizer.ggml.token_type_count", json_integer_value(said_of_model(w, "type_vocab_size")));
}

/* ------------------------------------------------------------------ what llama.cpp would compute otherwise */

static bool is_gelu(const char *act) { return act && strncmp(act, "gelu", 4) == 0; }

static bool reads_pairs(const Lathe_model *m)
{
    for (int e = 0; e < m->entries; e++)
        for (int i = 0; i < m->entry[e].inputs; i++)
            if (strcmp(m->entry[e].input[i].name, "types") == 0) return true;
    return false;
}

const char *encoder_misfit(const Writer *w)
{
    static const char *const biases[] = {"norm_bias", "attention_bias", "mlp_bias", "classifier_bias"};
    const char *act = json_string_value(said_of_model(w, w->a->first_full ? "hidden_activation" : "hidden_act")),
               *head = json_string_value(said_of_model(w, "classifier_activation"));
    if (act && !is_gelu(act) && !(w->a->first_full && strcmp(act, "silu") == 0))
        return text_of(
            "llama.cpp computes gelu%s in a model of the architecture %s, and this one's activation is %.60s",
            w->a->first_full ? " or silu" : "", w->a->name, act);
    if (w->a->classes && head && !is_gelu(head))
        return text_of("llama.cpp computes gelu below the classes of the architecture %s, and this one's "
                       "head_activation is %.60s",
                       w->a->name, head);
    for (int i = 0; w->a->first_full && i < 4; i++)
        if (json_is_true(said_of_model(w, biases[i])))
            return text_of("llama.cpp has no biases in a model of the architecture %s, and this one has some (%s)",
                           w->a->name, biases[i]);
    if (reads_pairs(w->g->model))
        return "llama.cpp gives all tokens the type of a first text, and this model reads pairs by two types";
    return NULL;
}
