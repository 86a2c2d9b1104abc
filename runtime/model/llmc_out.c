/* llmc_out.c: writes llm.c's .bin, as llmc.c reads it. */
#include "base/file.h"
#include "base/words.h"
#include "model/adapter.h"
#include "model/blocks.h"
#include "model/llmc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* llm.c computes no other. */
static void check_fits_llmc(const Llmc_model *g, const char *path)
{
    const char *type = hf_type(g->hf);
    if (!type || strcmp(type, "gpt2") != 0)
        fail(EXIT_DATA, path, "llm.c computes GPT-2 alone, and this is %s; --to hf writes a folder",
             type ? type : "none of Hugging Face's types");
    const json_t *config = json_object_get(g->hf->all, "config"), *act = json_object_get(config, "activation_function");
    if (!json_is_true(json_object_get(config, "tie_word_embeddings")))
        fail(EXIT_DATA, path, "llm.c's head is the embedding, and this model has its own (tied = false)");
    if (!json_is_string(act) || strcmp(json_string_value(act), "gelu_new") != 0)
        fail(EXIT_DATA, path, "llm.c computes gelu by tanh, and this model by erf (gelu)");
}

static const Hf_tensor *tensor_of_kind(const Llmc_model *g, const Llmc_kind *k, int64_t layer)
{
    char *name = name_of_kind(k, layer);
    const Hf_tensor *found = NULL;
    for (int i = 0; i < g->hf->n; i++)
        if (strcmp(g->hf->tensor[i].own, name) == 0) found = &g->hf->tensor[i];
    bug_if(!found);
    free(name);
    return found;
}

static int32_t config_number(const Llmc_model *g, const char *key)
{
    return (int32_t)json_integer_value(json_object_get(json_object_get(g->hf->all, "config"), key));
}

static Llmc_head head_of_model_for_llmc(const Llmc_model *g)
{
    Llmc_head h = {.magic = LLMC_MAGIC, .version = g->bf16 ? LLMC_BF16 : LLMC_FP32, .ids = (int32_t)g->ids};
    h.positions = config_number(g, "n_positions");
    h.layers = config_number(g, "n_layer");
    h.heads = config_number(g, "n_head");
    h.width = config_number(g, "n_embd");
    h.rows = (h.ids + LLMC_MULTIPLE - 1) / LLMC_MULTIPLE * LLMC_MULTIPLE;
    return h;
}

/* Element e of [out][in], which Hugging Face has as [in][out] where a layer multiplies by it. */
static double element_for_llmc(const Llmc_model *g, const Llmc_kind *k, const Hf_tensor *t, int64_t e)
{
    int64_t in = t->rank > 1 ? t->dim[0] : 1, out = t->rank > 1 ? t->dim[1] : 1;
    if (t->zero || (k->out == LLMC_IDS && e >= g->ids * t->dim[1])) return 0;
    return whole_weight(g->model, t->param, t->copy, g->flat,
                        hf_place(t, is_matrix_of_layer(k) ? e % in * out + e / in : e));
}

static void put_for_llmc(const Llmc_model *g, Out *o, const Llmc_kind *k, const Hf_tensor *t, int64_t n)
{
    for (int64_t e = 0; e < n; e++) {
        double x = element_for_llmc(g, k, t, e);
        float real = (float)x;
        uint16_t half = (uint16_t)short_bits(x);
        if (!isfinite(x))
            fail(EXIT_DATA, o->path, "%s has weights that are not finite; export an earlier checkpoint", t->name);
        if (g->bf16) put_out(o, &half, sizeof half);
        else put_out(o, &real, sizeof real);
    }
}

void write_llmc(const char *path, const Llmc_model *g)
{
    Fault fault = {0};
    check_fits_llmc(g, path);
    const Llmc_head h = head_of_model_for_llmc(g);
    char *aside = text_of("%s.part", path), head[LLMC_HEAD_BYTES] = {0};
    memcpy(head, &h, sizeof h);
    begin_unfinished(aside);
    Out *o = open_out(aside, &fault);
    put_out(o, head, sizeof head);
    for (const Llmc_kind *k = llmc_kinds; k < llmc_kinds + LLMC_KINDS; k++)
        for (int64_t layer = 0; layer < copies_of_kind(k, &h); layer++)
            put_for_llmc(g, o, k, tensor_of_kind(g, k, layer), elements_of_kind(k, &h));
    close_out(o);
    if (!replace_file(aside, path, &fault))
        fail(EXIT_DATA, path, "%s; %s or choose another place with --out", fault.text, room_remedy(fault.number));
    end_unfinished();
    free(aside);
}
