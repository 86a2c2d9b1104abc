/* adapter.c: adapters of low rank, x · Wᵀ + scale · (x · Aᵀ) · Bᵀ (Hu et al. 2021, LoRA): merged into W, or as a
 * folder that PEFT loads.
 *
 * PEFT's names are "base_model.model." + the name of W's layer at Hugging Face + ".lora_A.weight", ".lora_B.weight";
 * A is [rank, in] and B [out, rank] there as here. */
#include "model/adapter.h"
#include "base/file.h"
#include "base/words.h"
#include "interface/names.h"
#include "model/init.h"
#include "model/tables.h"
#include "model/weights.h"

#include <stdlib.h>
#include <string.h>

enum { LONGEST_NAME = 512 };

bool is_of_adapter(const Lathe_model *m, const Lathe_param *p)
{
    for (int i = 0; i < m->adapters; i++)
        if (p == &m->param[m->adapter[i].a] || p == &m->param[m->adapter[i].b]) return true;
    return false;
}

bool holds_adapters(const Lathe_model *m, const Store *s)
{
    char name[LONGEST_NAME];
    for (int i = 0; i < m->adapters; i++) {
        copy_name(name, sizeof name, &m->param[m->adapter[i].a], 0);
        if (find_stored(s, name)) return true;
    }
    return false;
}

static void lora_words(const Lathe_model *m, char *to, size_t room)
{
    const Lathe_lora *l = &m->lora;
    snprintf(to, room, "rank=%lld,alpha=%g%s", (long long)l->rank, l->alpha, l->rank_stabilised ? ",rslora" : "");
}

void put_lora_note(Store_writer *w, const Lathe_model *m)
{
    char words[64];
    if (!m->adapters) return;
    lora_words(m, words, sizeof words);
    put_note(w, "lora", words);
}

/* Tensors do not show alpha, by which they are scaled. */
void check_lora_note(const Lathe_model *m, const Store *s)
{
    char words[64];
    const char *theirs = store_note(s, "lora");
    lora_words(m, words, sizeof words);
    if (m->adapters && theirs && strcmp(theirs, words) != 0)
        fail(EXIT_DATA, s->path, "expected adapters of --lora %s, found those of --lora %s; build with the same", words,
             theirs);
}

/* ------------------------------------------------------------------ merging */

static void merge_copy(const Lathe_model *m, const Lathe_adapter *x, int64_t copy, void *flat)
{
    const Lathe_param *w = &m->param[x->weight], *a = &m->param[x->a], *b = &m->param[x->b];
    const Lathe_dtype type = lathe_weights(m);
    const int64_t in = a->dim[a->loops + 1], out = b->dim[b->loops], rank = m->lora.rank;
    const int64_t of_w = copy_place(w, copy, 0), of_a = copy_place(a, copy, 0), of_b = copy_place(b, copy, 0);
    bug_if(contiguous_elements(w) != out * in || contiguous_elements(a) != rank * in);
#pragma omp parallel for schedule(static)
    for (int64_t o = 0; o < out; o++)
        for (int64_t i = 0; i < in; i++) {
            double sum = 0;
            for (int64_t r = 0; r < rank; r++)
                sum += read_element(type, flat, of_b + o * rank + r) * read_element(type, flat, of_a + r * in + i);
            int64_t at = of_w + (x->in_out ? i * out + o : o * in + i);
            write_real(type, flat, at, read_element(type, flat, at) + m->lora.scale * sum);
        }
}

void merge_adapters(const Lathe_model *m, void *flat)
{
    for (const Lathe_adapter *x = m->adapter; x < m->adapter + m->adapters; x++)
        for (int64_t c = 0; c < copies_of_parameter(&m->param[x->weight]); c++) merge_copy(m, x, c, flat);
}

/* ------------------------------------------------------------------ PEFT's folder */

static void check_only_adapters(const Lathe_model *m)
{
    for (const Lathe_param *p = m->param; p < m->param + m->params; p++)
        if (lathe_is_trained(m, p) && !is_of_adapter(m, p))
            fail(EXIT_ERROR, NULL,
                 "%s is trained beside the adapters (--lora train=…), and only adapters are written as PEFT's; export "
                 "--to hf merges all into one model",
                 p->export_name);
}

/* Of a weight's copy: the name of its layer at Hugging Face, from malloc. */
static char *layer_name(const Hf *hf, const Lathe_param *weight, int64_t copy)
{
    char own[LONGEST_NAME];
    copy_name(own, sizeof own, weight, copy);
    char *theirs = hf_name(hf, own), *dot = strrchr(theirs, '.');
    bug_if(!dot);
    *dot = 0;
    return theirs;
}

static void declare_half(Store_writer *w, const char *layer, const char *half, Lathe_dtype type, int64_t rows,
                         int64_t columns)
{
    char *name = text_of("base_model.model.%s.%s.weight", layer, half);
    declare_tensor(w, name, type, 2, (int64_t[]){rows, columns});
    free(name);
}

/* Rows of B: one for each id that the weight has there, where it has ids at all. */
static int64_t rows_of_b(const Hf *hf, const Lathe_adapter *x, const Lathe_model *m, int64_t ids)
{
    for (int i = 0; i < hf->n; i++)
        if (hf->tensor[i].param == &m->param[x->weight] && hf->tensor[i].ids) return ids;
    return m->param[x->b].dim[m->param[x->b].loops];
}

static void write_halves(const Lathe_model *m, const Hf *hf, const char *path, const void *flat, int64_t ids)
{
    const Lathe_dtype type = lathe_weights(m);
    Store_writer *w = start_store(path);
    for (int put = 0; put < 2; put++)
        for (const Lathe_adapter *x = m->adapter; x < m->adapter + m->adapters; x++) {
            const Lathe_param *a = &m->param[x->a], *b = &m->param[x->b];
            const int64_t in = a->dim[a->loops + 1], rows = rows_of_b(hf, x, m, ids);
            for (int64_t c = 0; c < copies_of_parameter(a); c++) {
                char *layer = layer_name(hf, &m->param[x->weight], c);
                const char *from = (const char *)flat + copy_place(b, c, 0) * dtype_size(type);
                if (put) put_copy(w, a, c, flat, type), put_elements(w, from, rows * m->lora.rank, type);
                else {
                    declare_half(w, layer, "lora_A", type, m->lora.rank, in);
                    declare_half(w, layer, "lora_B", type, rows, m->lora.rank);
                }
                free(layer);
            }
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

static json_t *peft_config(const Lathe_model *m, const Hf *hf)
{
    const Lathe_lora *l = &m->lora;
    bool causal = find_entry(m, ENTRY_decode) != NULL;
    return json_pack("{s:s, s:s?, s:n, s:I, s:f, s:f, s:b, s:b, s:s, s:b, s:n, s:o}", "peft_type", "LORA", "task_type",
                     causal ? "CAUSAL_LM" : NULL, "base_model_name_or_path", "r", (json_int_t)l->rank, "lora_alpha",
                     l->alpha, "lora_dropout", l->dropout, "use_rslora", (int)l->rank_stabilised, "fan_in_fan_out",
                     (int)is_in_out(m, hf), "bias", "none", "inference_mode", 1, "modules_to_save", "target_modules",
                     target_modules(m, hf));
}

void write_peft(const Lathe_model *m, const Hf *hf, const char *folder, const void *flat, int64_t ids)
{
    Fault fault = {0};
    check_only_adapters(m);
    char *weights = text_of("%s/adapter_model.safetensors", folder);
    write_halves(m, hf, weights, flat, ids);
    json_t *config = peft_config(m, hf);
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
