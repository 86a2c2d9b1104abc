/* gguf_out.c: writes a GGUF file: its keys (gguf_keys.c), and tensors in their types (gguf_types.c). */
#include "base/file.h"
#include "base/words.h"
#include "model/adapter.h"
#include "model/blocks.h"
#include "model/gguf_writer.h"
#include "model/init.h"
#include "model/place.h"
#include "model/tables.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    ALIGNMENT = 32,
    PART = 1024, /* elements that a thread makes at a time; whole blocks */
    PARTS = 64
};

/* ------------------------------------------------------------------ tensors */

/* How a tensor is in the file: with its axes and its order there. */
static Stored place_in_file(const Writer *w, const Hf_tensor *t)
{
    Stored place = {.rank = t->rank};
    memcpy(place.dim, t->dim, sizeof t->dim);
    if (t->ids) place.dim[0] = w->g->ids;
    gguf_order(w->a, t->name, head_of_model(w), &place);
    place.dim[0] -= place.lead;
    return place;
}

static int64_t count_elements(const Stored *place)
{
    int64_t n = 1;
    for (int k = 0; k < place->rank; k++) n *= place->dim[k];
    return n;
}

static int64_t aligned(int64_t n) { return (n + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT; }

void put_info(Writer *w, const Hf_tensor *t, const char *name, const Stored *place, int64_t *offset)
{
    const Gguf_type *type = type_of_tensor(w, t, name, place);
    out_text(w, name, strlen(name));
    out_number(w, (uint64_t)place->rank, 4);
    for (int k = place->rank - 1; k >= 0; k--)
        out_number(w, (uint64_t)place->dim[place->transposed ? place->rank - 1 - k : k], 8);
    out_number(w, (uint64_t)type->number, 4);
    out_number(w, (uint64_t)*offset, 8);
    *offset += aligned(bytes_of_numbers(type->dtype, count_elements(place)));
}

static int64_t experts_of(const Writer *w) { return json_integer_value(said_of_model(w, w->a->experts)); }

/* The matrices of a layer's experts are one tensor, under the first one's number. */
static bool is_part(const Writer *w, const Hf_tensor *t) { return expert_of_name(w->a, t->name) > 0; }

static void join_experts(const Writer *w, const Hf_tensor *t, Stored *place)
{
    if (expert_of_name(w->a, t->name) < 0) return;
    memmove(place->dim + 1, place->dim, (size_t)place->rank++ * sizeof *place->dim);
    place->dim[0] = experts_of(w);
}

/* The tensor of this name, which is near `at`. */
static const Hf_tensor *tensor_near(const Hf *hf, const Hf_tensor *at, const char *name)
{
    for (int i = 0; i < hf->n; i++, at++) {
        if (at == hf->tensor + hf->n) at = hf->tensor;
        if (strcmp(at->name, name) == 0) return at;
    }
    bug_if(true);
    return NULL;
}

static void check_expert_type(const Writer *w, const Hf_tensor *t)
{
    char *name = gguf_name(w->a, t->name), *first = name_of_expert(w->a, name, 0);
    const Hf_tensor *before = tensor_near(w->g->hf, t, first);
    free(name);
    free(first);
    if (!same_pattern(w, before, t))
        fail(EXIT_USAGE, NULL,
             "--type %s: %s and %s would have two types; GGUF has all experts of a layer in one tensor, so name all",
             w->g->type, before->own, t->own);
}

static void put_infos(Writer *w)
{
    int64_t offset = 0;
    for (int i = 0; i < w->g->hf->n; i++) {
        const Hf_tensor *t = &w->g->hf->tensor[i];
        if (is_part(w, t)) {
            check_expert_type(w, t);
            continue;
        }
        Stored place = place_in_file(w, t);
        join_experts(w, t, &place);
        char *name = gguf_name(w->a, t->name);
        if (!name) fail(EXIT_DATA, w->path, "GGUF has no place for %s (%s)", t->name, t->param->where);
        put_info(w, t, name, &place, &offset);
        free(name);
    }
    const char *table[2];
    Stored place = {.rank = 1, .dim = {rope_table_pairs(rope_of_model(w), head_of_model(w))}};
    for (int i = 0, n = rope_tables(rope_of_model(w), table); i < n; i++) put_info(w, NULL, table[i], &place, &offset);
}

void put_padding(Writer *w)
{
    static const char zeros[ALIGNMENT];
    out_bytes(w, zeros, (size_t)(aligned(w->bytes) - w->bytes));
}

/* ------------------------------------------------------------------ elements */

/* A tensor on its way into the file. */
typedef struct Going {
    const Writer *w;
    const Hf_tensor *t;
    Stored place;
    const Gguf_type *type;
} Going;

/* In memory the file's bytes are those of a little-endian machine. */
static void narrow_some(const Gguf_type *type, char *to, int64_t n, const double *x)
{
    if (type->dtype == LATHE_F16 || type->dtype == LATHE_BF16)
        for (int64_t k = 0; k < n; k++) {
            const uint16_t bits = (uint16_t)(type->dtype == LATHE_F16 ? half_bits(x[k]) : short_bits(x[k]));
            memcpy(to + k * (int64_t)sizeof bits, &bits, sizeof bits);
        }
    else write_reals(type->dtype, to, n, x);
}

/* Elements first … first + n, of which blocks are whole; false: some are not finite. */
static bool narrow_part(const Going *g, int64_t first, int64_t n, char *to)
{
    double x[PART];
    const Writer *w = g->w;
    bool finite = true;
    const bool kept = keeps_blocks(w, g->t, &g->place, g->type);
    for (int64_t k = 0; k < n; k++) {
        x[k] = g->t->zero ? 0
                          : whole_weight(w->g->model, g->t->param, g->t->copy, w->g->flat,
                                         hf_place(g->t, unturned_place(&g->place, first + k)));
        finite = finite && isfinite(x[k]);
        if (g->place.raised) x[k] += 1;
    }
    const int64_t bytes = lathe_bytes_of_block(g->type->dtype);
    for (int64_t k = 0; kept && k < n; k += LATHE_BLOCK)
        memcpy(to + k / LATHE_BLOCK * bytes,
               parameter_at(w->g->model, w->g->flat, hf_place(g->t, unturned_place(&g->place, first + k))),
               (size_t)bytes);
    if (!kept && finite) narrow_some(g->type, to, n, x);
    return finite;
}

/* Parts of a tensor are made by all threads, and written in their order. */
static void put_all_elements(Writer *w, const Hf_tensor *t, const Gguf_type *type)
{
    const Going g = {w, t, place_in_file(w, t), type};
    const int64_t n = count_elements(&g.place), part = bytes_of_numbers(type->dtype, PART);
    bug_if(g.place.turned < 0 || g.place.turned % 2);
    char *room = must_alloc((size_t)(part * PARTS));
    for (int64_t first = 0; first < n; first += PART * PARTS) {
        const int64_t count = n - first < PART * PARTS ? n - first : PART * PARTS;
        bool finite = true;
#pragma omp parallel for schedule(static) reduction(&& : finite)
        for (int64_t k = 0; k < count; k += PART)
            finite = narrow_part(&g, first + k, count - k < PART ? count - k : PART, room + k / PART * part) && finite;
        if (!finite)
            fail(EXIT_DATA, w->path, "%s has weights that are not finite; export an earlier checkpoint", t->name);
        out_bytes(w, room, (size_t)bytes_of_numbers(type->dtype, count));
    }
    free(room);
}

static void put_tensor_data(Writer *w, const Hf_tensor *t)
{
    if (is_part(w, t)) return;
    char *name = gguf_name(w->a, t->name);
    int64_t experts = expert_of_name(w->a, t->name) == 0 ? experts_of(w) : 1;
    const Stored place = place_in_file(w, t);
    const Gguf_type *type = type_of_tensor(w, t, name, &place);
    put_all_elements(w, t, type);
    for (int64_t e = 1; e < experts; e++) {
        char *own = name_of_expert(w->a, name, e);
        put_all_elements(w, t = tensor_near(w->g->hf, t, own), type);
        free(own);
    }
    put_padding(w);
    free(name);
}

/* The matrix of the logits, which many models share with the table of their ids. */
static const char *logits_of(const Writer *w)
{
    bool own = false;
    for (int i = 0; i < w->g->hf->n && !own; i++) {
        char *name = gguf_name(w->a, w->g->hf->tensor[i].name);
        own = name && strcmp(name, "output.weight") == 0;
        free(name);
    }
    return own ? "output.weight" : "token_embd.weight";
}

/* By how much rates are divided */
static void put_rope_tables(Writer *w)
{
    const json_t *rope = rope_of_model(w);
    const char *table[2];
    int64_t pairs = rope_table_pairs(rope, head_of_model(w));
    for (int k = 0, n = rope_tables(rope, table); k < n; k++) {
        for (int64_t i = 0; i < pairs; i++) out_number(w, float_bits(rope_table_element(rope, table[k], i, pairs)), 4);
        put_padding(w);
    }
}

/* ------------------------------------------------------------------ the file */

/* Why llama.cpp would compute something else; NULL: it would not. */
static const char *misfit_of_model(const Writer *w)
{
    const json_t *window = said_of_model(w, "sliding_window"), *gelu = said_of_model(w, "activation_function");
    json_int_t width = json_integer_value(said_of_model(w, "hidden_size")),
               heads = json_integer_value(said_of_model(w, "num_attention_heads"));
    if (w->a->experts && json_is_false(said_of_model(w, "norm_topk_prob")))
        return "llama.cpp's weights of a token's experts add up to 1, and this model's do not (normalised = false)";
    if (json_is_integer(window) && !w->a->full_every &&
        json_integer_value(window) < json_integer_value(said_of_model(w, "max_position_embeddings")))
        return text_of("llama.cpp's attention sees all positions in a model of the architecture %s, and this one's a "
                       "window",
                       w->a->name);
    if (json_is_string(gelu) && strcmp(json_string_value(gelu), "gelu_new") != 0)
        return "llama.cpp computes gelu by tanh in a model of the architecture gpt2, and this one by erf (gelu)";
    if (w->a->own_logits && json_is_true(said_of_model(w, "tie_word_embeddings")))
        return "llama.cpp wants a matrix for the logits in a model of this architecture, and this one shares the "
               "embedding's (tied)";
    if (json_is_false(said_of_model(w, "attention_bias")) && w->a->base)
        return "llama.cpp's projections of attention have biases in a model of this architecture, and this one's have "
               "not";
    if (!w->a->biases && !w->a->base &&
        (json_is_true(said_of_model(w, "attention_bias")) || json_is_true(said_of_model(w, "mlp_bias"))))
        return "llama.cpp's projections have no biases in a model of this architecture, and this one's have";
    if (w->a->rotary && !w->a->own_heads && width != heads * head_of_model(w))
        return "llama.cpp's heads are width / heads wide in a model of this architecture, not as head_width says";
    if (w->a->tied && json_is_false(said_of_model(w, "tie_word_embeddings")))
        return "llama.cpp's head is the embedding in a model of this architecture, and this one has its own (tied = "
               "false)";
    if (w->a->tokenizer) return encoder_misfit(w);
    const char *layers = layers_misfit(w->a, json_object_get(w->g->hf->all, "config"));
    return layers ? layers : rope_misfit(w->a, rope_of_model(w));
}

/* Of an encoder: those of its architecture alone; NULL: it has its place. */
static const char *tokenizer_misfit(const Writer *w)
{
    const json_t *t = w->g->tokenizer;
    bool pieces = strcmp(w->a->tokenizer, "bert") == 0;
    char *pre = pieces || has_wordpiece(t) ? NULL : gguf_pre(t);
    bool fits = pieces ? has_wordpiece(t) : pre && strcmp(pre, "gpt-2") == 0;
    free(pre);
    if (!fits)
        return text_of("llama.cpp's models that are %s have %s, and this one has another tokenizer", w->a->type,
                       pieces ? "WordPiece" : "byte-level BPE that cuts text as GPT-2's");
    const char *misfit = pieces ? wordpiece_misfit(t) : NULL;
    return misfit ? misfit : frame_misfit(t);
}

static bool fits_tokenizer(const Gguf_model *g)
{
    const char *kind = json_string_value(json_object_get(json_object_get(g->tokenizer, "model"), "type"));
    if (!kind || strcmp(kind, "BPE") != 0) return false;
    double *score = must_alloc(sizeof *score * (size_t)g->ids);
    char *pre = has_sentencepiece(g->tokenizer) ? NULL : gguf_pre(g->tokenizer);
    bool fits = pre || (has_sentencepiece(g->tokenizer) && scores_of_merges(g->tokenizer, score, g->ids));
    free(score);
    free(pre);
    return fits;
}

/* Published models have gelu by erf all the same. */
static void tell_of_gelu(const Writer *w)
{
    const char *act = json_string_value(said_of_model(w, w->a->first_full ? "hidden_activation" : "hidden_act"));
    if (act && strcmp(act, "gelu") == 0)
        note("llama.cpp computes gelu by tanh, and this model by erf: %s differ in the fourth digit there",
             w->a->tokenizer ? "vectors" : "logits");
}

/* The first of architectures; NULL: none. */
static const char *model_of_hf(const Hf *hf)
{
    return json_string_value(json_array_get(json_object_get(json_object_get(hf->all, "config"), "architectures"), 0));
}

static void check_fits_gguf(const Writer *w)
{
    const char *type = hf_type(w->g->hf), *misfit = w->a ? misfit_of_model(w) : NULL;
    if (!w->a && architecture_of_type(type, NULL))
        fail(EXIT_DATA, w->path,
             "llama.cpp knows no head as that of %s: only vectors of texts (head = \"embedding\") and classes of texts "
             "(\"classes\"); --to hf writes a folder, --to onnx the graph with it",
             model_of_hf(w->g->hf));
    if (!w->a)
        fail(EXIT_DATA, w->path,
             "only models of the types %s are written as GGUF yet, and this is %s; --to hf writes a folder",
             gguf_architectures(false), type ? type : "none of Hugging Face's");
    if (misfit) fail(EXIT_DATA, w->path, "%s; --to hf writes a folder", misfit);
    tell_of_gelu(w);
    misfit = w->a->tokenizer ? tokenizer_misfit(w) : NULL;
    if (misfit) fail(EXIT_DATA, w->path, "%s; --to hf writes a folder", misfit);
    if (w->a->tokenizer) return;
    if (!fits_tokenizer(w->g))
        fail(EXIT_DATA, w->path,
             "llama.cpp needs a tokenizer that it knows by name: expected byte-level BPE that cuts text as one of %s, "
             "or SentencePiece's BPE, found another; --to hf writes a folder",
             gguf_pres());
}

void begin_gguf(Writer *w, int64_t tensors)
{
    w->aside = text_of("%s.part", w->path);
    begin_unfinished(w->aside);
    w->out = open_out(w->aside, &w->fault);
    out_bytes(w, "GGUF", 4);
    out_number(w, 3, 4);
    out_number(w, (uint64_t)tensors, 8);
    out_number(w, (uint64_t)w->keys, 8);
}

void end_gguf(Writer *w)
{
    close_out(w->out);
    if (!replace_file(w->aside, w->path, &w->fault))
        fail(EXIT_DATA, w->path, "%s; its old contents are still there: %s or choose another place with --out",
             w->fault.text, room_remedy(w->fault.number));
    end_unfinished();
    free(w->aside);
}

static int64_t tensors_of_file(const Writer *w)
{
    const char *table[2];
    int64_t n = rope_tables(rope_of_model(w), table);
    for (int i = 0; i < w->g->hf->n; i++) n += !is_part(w, &w->g->hf->tensor[i]);
    return n;
}

void write_gguf(const char *path, const Gguf_model *g)
{
    Writer w = {.g = g, .a = architecture_of_type(hf_type(g->hf), model_of_hf(g->hf)), .path = path};
    check_fits_gguf(&w);
    w.file_type = gguf_main_type(g->type)->of_file;
    w.logits = logits_of(&w);
    check_gguf_types(&w);
    Token *token = tokens_by_id(&w);
    put_keys(&w, token); /* counts them */
    begin_gguf(&w, tensors_of_file(&w));
    put_keys(&w, token);
    put_infos(&w);
    put_padding(&w);
    for (int i = 0; i < g->hf->n; i++) put_tensor_data(&w, &g->hf->tensor[i]);
    put_rope_tables(&w);
    end_gguf(&w);
    free(token);
}
