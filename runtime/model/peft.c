/* peft.c: adapters of low rank as a folder that PEFT has: adapter_config.json and adapter_model.safetensors.
 *
 * Names of tensors are "base_model.model." + the name of the weight's layer at Hugging Face + ".lora_A.weight",
 * ".lora_B.weight"; A is [rank, in] and B [out, rank] there as here.  A decomposed adapter (DoRA) has magnitudes [out]
 * too, ".lora_magnitude_vector". */
#include "model/peft.h"
#include "base/file.h"
#include "base/json_text.h"
#include "base/words.h"
#include "interface/names.h"
#include "model/adapter.h"
#include "model/base.h"
#include "model/import.h"
#include "model/init.h"
#include "model/place.h"
#include "model/tables.h"
#include "model/weights.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST_NAME = 512 };

/* Of a weight's copy: the name of its layer at Hugging Face, from malloc. */
static char *layer_name(const Hf *hf, const Lathe_param *weight, int64_t copy)
{
    char own[LONGEST_NAME];
    copy_name(own, sizeof own, weight, copy);
    char *theirs = hf_name(hf, own), *dot = strrchr(theirs, '.');
    if (!dot)
        fail(
            EXIT_ERROR, weight->where,
            "PEFT's names are of layers: the name '%s' that the description's hf gives this weight must end in .weight",
            theirs);
    *dot = 0;
    return theirs;
}

static char *half_name(const char *layer, const char *half) { return text_of("base_model.model.%s.%s", layer, half); }

/* ------------------------------------------------------------------ out */

void check_only_adapters(const Lathe_model *m)
{
    for (const Lathe_param *p = m->param; p < m->param + m->params; p++)
        if (lathe_is_trained(m, p) && !is_of_adapter(m, p))
            fail(EXIT_ERROR, NULL,
                 "%s is trained beside the adapters (--lora train=…), and only adapters are written alone; export "
                 "--to hf merges all into one model",
                 p->export_name);
}

/* columns: 0: a vector */
static void declare_half(Store_writer *w, const char *layer, const char *half, Lathe_dtype type, int64_t rows,
                         int64_t columns)
{
    char *name = half_name(layer, half);
    declare_tensor(w, name, type, columns ? 2 : 1, (int64_t[]){rows, columns});
    free(name);
}

int64_t rows_of_b(const Hf *hf, const Lathe_adapter *x, const Lathe_model *m, int64_t ids)
{
    for (int i = 0; i < hf->n; i++)
        if (hf->tensor[i].param == &m->param[x->weight] && hf->tensor[i].ids) return ids;
    return m->param[x->b].dim[m->param[x->b].loops];
}

static void declare_adapter(Store_writer *w, const Lathe_model *m, const Lathe_adapter *x, const char *layer,
                            int64_t rows)
{
    const Lathe_param *a = &m->param[x->a];
    const Lathe_dtype type = lathe_weights(m);
    declare_half(w, layer, "lora_A.weight", type, m->lora.rank, a->dim[a->loops + 1]);
    declare_half(w, layer, "lora_B.weight", type, rows, m->lora.rank);
    if (magnitude_of(m, x)) declare_half(w, layer, "lora_magnitude_vector", type, rows, 0);
}

static void put_adapter(Store_writer *w, const Lathe_model *m, const Lathe_adapter *x, int64_t copy, int64_t rows,
                        const void *flat)
{
    const Lathe_param *magnitude = magnitude_of(m, x);
    const Lathe_dtype type = lathe_weights(m);
    put_copy(w, &m->param[x->a], copy, flat, type);
    put_elements(w, parameter_at(m, flat, copy_place(&m->param[x->b], copy, 0)), rows * m->lora.rank, type);
    if (magnitude) put_elements(w, parameter_at(m, flat, copy_place(magnitude, copy, 0)), rows, type);
}

static void write_halves(const Lathe_model *m, const Hf *hf, const char *path, const void *flat, int64_t ids,
                         const char *base)
{
    Store_writer *w = start_store(path);
    if (base) put_note(w, BASE_NOTE, base);
    for (int put = 0; put < 2; put++)
        for (const Lathe_adapter *x = m->adapter; x < m->adapter + m->adapters; x++)
            for (int64_t c = 0; c < copies_of_parameter(&m->param[x->a]); c++) {
                char *layer = layer_name(hf, &m->param[x->weight], c);
                if (put) put_adapter(w, m, x, c, rows_of_b(hf, x, m, ids), flat);
                else declare_adapter(w, m, x, layer, rows_of_b(hf, x, m, ids));
                free(layer);
            }
    finish_store(w);
}

/* Every adapted layer by its whole name, since ends of names ("c_proj") may be those of other layers too. */
static json_t *target_modules(const Lathe_model *m, const Hf *hf)
{
    json_t *all = json_array();
    for (const Lathe_adapter *x = m->adapter; x < m->adapter + m->adapters; x++)
        for (int64_t c = 0; c < copies_of_parameter(&m->param[x->weight]); c++) {
            char *layer = layer_name(hf, &m->param[x->weight], c);
            json_array_append_new(all, json_string(layer));
            free(layer);
        }
    return all;
}

/* Whether their weights are [in, out] there, as in a Conv1D of GPT-2: they are all alike. */
static bool is_in_out(const Lathe_model *m, const Hf *hf)
{
    for (int i = 0; i < hf->n; i++)
        if (hf->tensor[i].param == &m->param[m->adapter[0].weight])
            return hf->tensor[i].transposed != m->adapter[0].in_out;
    return m->adapter[0].in_out;
}

static json_t *peft_config(const Lathe_model *m, const Hf *hf, const char *base)
{
    const Lathe_lora *l = &m->lora;
    bool causal = find_entry(m, ENTRY_decode) != NULL;
    return json_pack("{s:s, s:s?, s:s?, s:I, s:f, s:f, s:b, s:b, s:b, s:s, s:b, s:n, s:o}", "peft_type", "LORA",
                     "task_type", causal ? "CAUSAL_LM" : NULL, "base_model_name_or_path", base, "r",
                     (json_int_t)l->rank, "lora_alpha", l->alpha, "lora_dropout", l->dropout, "use_rslora",
                     (int)l->rank_stabilised, "use_dora", (int)l->decomposed, "fan_in_fan_out", (int)is_in_out(m, hf),
                     "bias", "none", "inference_mode", 1, "modules_to_save", "target_modules", target_modules(m, hf));
}

void write_peft(const Lathe_model *m, const Hf *hf, const char *folder, const void *flat, int64_t ids, Peft_base base)
{
    Fault fault = {0};
    check_only_adapters(m);
    char *weights = text_of("%s/adapter_model.safetensors", folder);
    write_halves(m, hf, weights, flat, ids, base.hash);
    json_t *config = peft_config(m, hf, base.name);
    char *dumped = json_dumps(config, JSON_INDENT(2) | JSON_SORT_KEYS), *text = text_of("%s\n", dumped);
    char *path = text_of("%s/adapter_config.json", folder);
    if (!replace_text(path, text, &fault))
        fail(EXIT_DATA, fault.path, "%s; choose another folder with --out", fault.text);
    json_decref(config);
    free(weights);
    free(dumped);
    free(text);
    free(path);
}

/* ------------------------------------------------------------------ in */

/* Keys of adapter_config.json that change what an adapter computes, and what they are in one that is read. */
static const struct {
    const char *key, *plain, *why;
} plain_keys[] = {
    {"bias", "\"none\"", "biases are trained too"},
    {"lora_bias", "false", "the adapters have biases"},
    {"modules_to_save", "null", "whole layers are trained too"},
    {"trainable_token_indices", "null", "tokens are trained too"},
    {"target_parameters", "null", "it adapts what is no linear layer, such as all experts as one parameter"},
    {"rank_pattern", "null", "ranks differ"},
    {"alpha_pattern", "null", "alphas differ"},
    {"layer_replication", "null", "layers are repeated"},
    {"use_qalora", "false", "inputs are pooled (QALoRA)"},
    {"alora_invocation_tokens", "null", "it acts behind some tokens only"},
    {"arrow_config", "null", "it is mixed of several"},
    {"use_bdlora", "null", "A and B are block-diagonal (BD-LoRA)"},
    {"kasa_config", "null", "singular values lie between A and B (KaSA)"},
    {"monteclora_config", "null", "it is drawn around a mean (MonteCLoRA)"},
};

static bool is_empty(const json_t *value)
{
    return !value || json_is_null(value) || json_is_false(value) || (json_is_array(value) && !json_array_size(value)) ||
           (json_is_object(value) && !json_object_size(value));
}

static void check_plain(const char *path, const json_t *config)
{
    for (size_t i = 0; i < sizeof plain_keys / sizeof *plain_keys; i++) {
        const json_t *value = json_object_get(config, plain_keys[i].key);
        json_t *plain = json_loads(plain_keys[i].plain, JSON_DECODE_ANY, NULL);
        bool is = is_empty(value) || json_equal(value, plain);
        json_decref(plain);
        if (!is)
            fail(EXIT_DATA, path, "%s: %s, which this program cannot compute; expected %s", plain_keys[i].key,
                 plain_keys[i].why, plain_keys[i].plain);
    }
}

/* Some ways to begin change the base too, and their adapters are meant for that one. */
static void check_beginning(const char *path, const json_t *config)
{
    static const char *const plain[] = {"gaussian", "orthogonal", "eva"};
    const json_t *value = json_object_get(config, "init_lora_weights");
    const char *word = json_string_value(value);
    if (!word) return;
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (strcmp(word, plain[i]) == 0) return;
    fail(
        EXIT_DATA, path,
        "init_lora_weights: \"%.40s\" also changes the base, so the adapter does not fit the weights as published; let "
        "PEFT convert it (save_pretrained with path_initial_model_for_weight_conversion)",
        word);
}

static Lathe_lora lora_of(const char *path, const json_t *config)
{
    const json_t *type = json_object_get(config, "peft_type"), *rank = json_object_get(config, "r"),
                 *alpha = json_object_get(config, "lora_alpha");
    if (!json_is_string(type) || strcmp(json_string_value(type), "LORA") != 0)
        fail(EXIT_DATA, path, "peft_type must be \"LORA\", found %s", type ? "another kind of adapter" : "none");
    if (!json_is_integer(rank) || !json_is_number(alpha))
        fail(EXIT_DATA, path, "expected r, an integer, and lora_alpha, a number");
    return (Lathe_lora){.rank = json_integer_value(rank),
                        .alpha = json_number_value(alpha),
                        .rank_stabilised = json_is_true(json_object_get(config, "use_rslora")),
                        .decomposed = json_is_true(json_object_get(config, "use_dora"))};
}

static void check_config(const Lathe_model *m, const char *folder)
{
    char words[64], theirs[64], *path = text_of("%s/adapter_config.json", folder);
    json_t *config = read_json_file(path, "PEFT writes it beside adapter_model.safetensors");
    const Lathe_lora l = lora_of(path, config);
    check_plain(path, config);
    check_beginning(path, config);
    lora_words(&l, theirs, sizeof theirs);
    lora_words(&m->lora, words, sizeof words);
    if (!m->adapters) fail(EXIT_USAGE, path, "this trainer has no adapters; build it with --lora %s,match=…", theirs);
    if (strcmp(words, theirs) != 0)
        fail(EXIT_DATA, path,
             "expected adapters of --lora %s, found those of --lora %s; build the trainer "
             "with the latter",
             words, theirs);
    json_decref(config);
    free(path);
}

/* least: fewest rows that it may have; the others are zero. */
static void take_half(const Store *s, const char *layer, const char *half, const Lathe_model *m, const Lathe_param *p,
                      int64_t copy, int64_t least, void *flat)
{
    char *name = half_name(layer, half);
    const int rank = p->rank - p->loops;
    const int64_t rows = p->dim[p->loops], columns = rank == 2 ? p->dim[p->loops + 1] : 1;
    const Stored *from = find_stored(s, name);
    if (!from)
        fail(EXIT_DATA, s->path, "%s is missing; build the trainer with a --lora match=… of what there is", name);
    if (from->rank != rank || from->dim[0] < least || from->dim[0] > rows || (rank == 2 && from->dim[1] != columns) ||
        !is_stored_real(from))
        fail(EXIT_DATA, s->path, "%s: expected %s of reals, found %s; this is an adapter of another model", name,
             dims_text(rank, p->dim + p->loops), dims_text(from->rank, from->dim));
    for (int64_t i = 0; i < rows * columns; i++) {
        double x = i < from->dim[0] * columns ? stored_element(from, i) : 0;
        if (!isfinite(x)) fail(EXIT_DATA, s->path, "%s: has values that are not finite", name);
        write_weights(m, flat, copy_place(p, copy, 0) + i, 1, &x);
    }
    free(name);
}

/* The number of tensors that it is. */
static int take_adapter_copy(const Store *s, const Lathe_model *m, const Hf *hf, const Lathe_adapter *x, int64_t copy,
                             void *flat)
{
    const Lathe_param *magnitude = magnitude_of(m, x);
    const int64_t least = rows_of_b(hf, x, m, 1);
    char *layer = layer_name(hf, &m->param[x->weight], copy);
    take_half(s, layer, "lora_A.weight", m, &m->param[x->a], copy, m->lora.rank, flat);
    take_half(s, layer, "lora_B.weight", m, &m->param[x->b], copy, least, flat);
    if (magnitude) take_half(s, layer, "lora_magnitude_vector", m, magnitude, copy, least, flat);
    free(layer);
    return magnitude ? 3 : 2;
}

void read_peft(const Lathe_model *m, const char *folder, void *flat)
{
    Store s;
    check_config(m, folder);
    Hf hf = open_hf(m);
    char *path = text_of("%s/adapter_model.safetensors", folder);
    int taken = 0;
    read_store(&s, path);
    for (const Lathe_adapter *x = m->adapter; x < m->adapter + m->adapters; x++)
        for (int64_t c = 0; c < copies_of_parameter(&m->param[x->weight]); c++)
            taken += take_adapter_copy(&s, m, &hf, x, c, flat);
    if (taken < s.n)
        fail(EXIT_DATA, path,
             "%d tensors are of layers that have no adapter in this trainer, of %d; build it with a "
             "--lora match=… that names them too",
             s.n - taken, s.n);
    close_store(&s);
    free(path);
}
