/* gguf_adapter.c: adapters of low rank as a GGUF file, which llama.cpp loads over their base (--lora).
 *
 * A [rank, in] and B [out, rank] are there as here, under the name of the weight and ".lora_a", ".lora_b"; rows of B
 * lie in the order of the weight's. */
#include "base/words.h"
#include "model/adapter.h"
#include "model/base.h"
#include "model/gguf_writer.h"
#include "model/import.h"
#include "model/init.h"
#include "model/place.h"
#include "model/peft.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST_NAME = 512 };

/* A or B of one weight: its name and order in a file. */
typedef struct Half {
    const Lathe_param *param;
    int64_t copy;
    char *name; /* from malloc */
    Stored place;
} Half;

static Half half_of(const Lathe_model *m, const Hf *hf, const Architecture *a, const Lathe_adapter *x, int64_t copy,
                    bool is_b, int64_t head, int64_t ids)
{
    const Lathe_param *p = &m->param[is_b ? x->b : x->a];
    Half h = {.param = p, .copy = copy, .place = {.rank = 2, .dim = {p->dim[p->loops], p->dim[p->loops + 1]}}};
    char own[LONGEST_NAME];
    copy_name(own, sizeof own, &m->param[x->weight], copy);
    char *theirs = hf_name(hf, own), *weight = gguf_name(a, theirs);
    if (!weight) fail(EXIT_DATA, NULL, "GGUF has no place for %s (%s)", theirs, m->param[x->weight].where);
    if (expert_of_name(a, theirs) >= 0)
        fail(EXIT_USAGE, NULL,
             "%s: GGUF has all experts of a layer in one tensor, and their adapters are not kept there yet; export --to "
             "peft writes a folder, and --to gguf the whole model with them merged",
             theirs);
    h.name = text_of("%s.lora_%c", weight, is_b ? 'b' : 'a');
    if (is_b) {
        h.place.dim[0] = rows_of_b(hf, x, m, ids);
        gguf_order(a, theirs, head, &h.place);
        h.place.transposed = false; /* that is of weights */
    }
    free(theirs);
    free(weight);
    return h;
}

static const Architecture *architecture_of_adapters(const Lathe_model *m, const Hf *hf, const char *path)
{
    const char *type = hf_type(hf);
    const Architecture *a = architecture_of_type(type, NULL);
    if (!m->adapters) fail(EXIT_USAGE, path, "this trainer has no adapters; build it with --lora");
    if (m->lora.decomposed)
        fail(EXIT_USAGE, path,
             "these adapters are decomposed (--lora dora), which llama.cpp and its files do not know; export --to peft "
             "writes a folder, and --to gguf the whole model with them merged");
    if (a && a->tokenizer)
        fail(EXIT_DATA, path,
             "adapters of encoders are not kept in GGUF yet; export --to peft writes a folder, and --to gguf the whole "
             "model with them merged");
    if (!a)
        fail(EXIT_DATA, path,
             "only adapters of the types %s are kept in GGUF, and this model is %s; PEFT's are a folder",
             gguf_architectures(false), type ? type : "none of Hugging Face's");
    return a;
}

/* ------------------------------------------------------------------ out */

/* llama.cpp scales by alpha / rank, whatever trained them. */
static void put_adapter_keys(Writer *w)
{
    const Lathe_lora *l = &w->g->model->lora;
    put_text_key(w, "general.type", "adapter");
    put_text_key(w, "general.architecture", w->a->name);
    put_text_key(w, "adapter.type", "lora");
    put_real_key(w, "adapter.lora.alpha", l->scale * (double)l->rank);
    if (w->g->base) put_text_key(w, BASE_NOTE, w->g->base);
}

static void put_half(Writer *w, const Half *h)
{
    int64_t columns = h->place.dim[1];
    for (int64_t i = 0; i < h->place.dim[0] * columns; i++) {
        int64_t at = copy_place(h->param, h->copy, unturned_place(&h->place, i));
        double x = read_weight(w->g->model, w->g->flat, at);
        if (!isfinite(x))
            fail(EXIT_DATA, w->path, "%s has values that are not finite; export an earlier checkpoint", h->name);
        out_number(w, float_bits(x), 4);
    }
    put_padding(w);
}

static void put_halves(Writer *w, bool infos)
{
    const Lathe_model *m = w->g->model;
    int64_t offset = 0;
    for (const Lathe_adapter *x = m->adapter; x < m->adapter + m->adapters; x++)
        for (int64_t k = 0; k < 2 * copies_of_parameter(&m->param[x->weight]); k++) {
            Half h = half_of(m, w->g->hf, w->a, x, k / 2, k % 2, head_of_model(w), w->g->ids);
            if (infos) put_info(w, NULL, h.name, &h.place, &offset);
            else put_half(w, &h);
            free(h.name);
        }
}

void write_gguf_adapter(const char *path, const Gguf_model *g)
{
    Writer w = {.g = g, .path = path, .a = architecture_of_adapters(g->model, g->hf, path)};
    int64_t tensors = 0;
    check_only_adapters(g->model);
    for (const Lathe_adapter *x = g->model->adapter; x < g->model->adapter + g->model->adapters; x++)
        tensors += 2 * copies_of_parameter(&g->model->param[x->weight]);
    put_adapter_keys(&w); /* counts them */
    begin_gguf(&w, tensors);
    put_adapter_keys(&w);
    put_halves(&w, true);
    put_padding(&w);
    put_halves(&w, false);
    end_gguf(&w);
}

/* ------------------------------------------------------------------ in */

static const char *key_text(const Store *s, const char *key)
{
    const char *text = json_string_value(json_object_get(s->header, key));
    return text ? text : "nothing";
}

static void check_adapter_keys(const Store *s, const Architecture *a)
{
    if (strcmp(key_text(s, "general.type"), "adapter") != 0 || strcmp(key_text(s, "adapter.type"), "lora") != 0)
        fail(EXIT_DATA, s->path,
             "expected an adapter (general.type \"adapter\", adapter.type \"lora\"), found %.60s, %.60s",
             key_text(s, "general.type"), key_text(s, "adapter.type"));
    if (strcmp(key_text(s, "general.architecture"), a->name) != 0)
        fail(EXIT_DATA, s->path, "expected an adapter of a model of the architecture %s, found %.60s", a->name,
             key_text(s, "general.architecture"));
}

/* The rank is that of any A; alpha / rank must be this trainer's scale. */
static void check_scale(const Store *s, const Lathe_model *m, const Half *first)
{
    const Stored *from = find_stored(s, first->name);
    const json_t *alpha = json_object_get(s->header, "adapter.lora.alpha");
    if (!from || from->rank != 2 || !json_is_number(alpha))
        fail(EXIT_DATA, s->path, "expected adapter.lora.alpha, a number, and a tensor %s", first->name);
    double theirs = json_number_value(alpha), own = m->lora.scale * (double)m->lora.rank;
    if (from->dim[0] != m->lora.rank || fabs(theirs - own) > 1e-6 * fabs(own))
        fail(EXIT_DATA, s->path,
             "expected adapters of --lora rank=%lld,alpha=%g, found those of --lora rank=%lld,alpha=%g; build the "
             "trainer "
             "with the latter",
             (long long)m->lora.rank, own, (long long)from->dim[0], theirs);
}

static void take_gguf_half(const Store *s, const Lathe_model *m, const Half *h, void *flat)
{
    const Stored *from = find_stored(s, h->name);
    int64_t rows = h->param->dim[h->param->loops], columns = h->place.dim[1];
    if (!from)
        fail(EXIT_DATA, s->path, "%s is missing; build the trainer with a --lora match=… of what there is", h->name);
    if (from->rank != 2 || from->dim[0] < h->place.dim[0] || from->dim[0] > rows || from->dim[1] != columns ||
        !is_stored_real(from))
        fail(EXIT_DATA, s->path, "%s: expected [%lld, %lld] of reals; this is an adapter of another model", h->name,
             (long long)rows, (long long)columns);
    for (int64_t i = 0; i < rows * columns; i++) {
        double x = i < from->dim[0] * columns ? stored_element(from, i) : 0;
        if (!isfinite(x)) fail(EXIT_DATA, s->path, "%s: has values that are not finite", h->name);
        write_weights(m, flat, copy_place(h->param, h->copy, unturned_place(&h->place, i)), 1, &x);
    }
}

void read_gguf_adapter(const Lathe_model *m, const char *path, void *flat)
{
    Store s;
    Hf hf = open_hf(m);
    const Architecture *a = architecture_of_adapters(m, &hf, path);
    const Gguf_model g = {.hf = &hf, .model = m};
    int64_t taken = 0, head = head_of_model(&(Writer){.g = &g, .a = a});
    read_gguf(&s, path);
    sort_tensors(&s);
    check_adapter_keys(&s, a);
    for (const Lathe_adapter *x = m->adapter; x < m->adapter + m->adapters; x++)
        for (int64_t k = 0; k < 2 * copies_of_parameter(&m->param[x->weight]); k++, taken++) {
            Half h = half_of(m, &hf, a, x, k / 2, k % 2, head, 1);
            if (!taken) check_scale(&s, m, &h);
            take_gguf_half(&s, m, &h, flat);
            free(h.name);
        }
    if (taken < s.n)
        fail(EXIT_DATA, path,
             "%lld tensors are of layers that have no adapter in this trainer, of %d; build it with a --lora match=… "
             "that names them too",
             (long long)(s.n - taken), s.n);
    close_store(&s);
}
