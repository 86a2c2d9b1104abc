/* export.c: `trainer export --to hf`: weights as a folder that Hugging Face's transformers loads: model.safetensors,
 * config.json, and the tokenizer.
 *
 * The description's `hf` names every tensor, so this file knows no model by name.  Weights of a Conv1D are transposed;
 * biases that the model lacks are written as zeros; rows of ids beyond the tokenizer's are left out. */
#include "base/file.h"
#include "base/json_text.h"
#include "base/words.h"
#include "data/chats.h"
#include "data/files.h"
#include "interface/lathe_model.h"
#include "math/engine.h"
#include "model/adapter.h"
#include "model/base.h"
#include "model/block.h"
#include "model/gguf.h"
#include "model/gguf_out.h"
#include "model/hf.h"
#include "model/import.h"
#include "model/llmc.h"
#include "model/origin.h"
#include "model/peft.h"
#include "model/place.h"
#include "model/run.h"
#include "model/safetensors.h"
#include "model/tables.h"
#include "model/weights.h"
#include "token/tokenizer.h"
#include "trainer/adapters.h"
#include "trainer/memory.h"
#include "trainer/state.h"
#include "trainer/trainer.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ------------------------------------------------------------------ what to write */

typedef struct Export {
    Trainer *t;
    Hf hf;
    Tokenizer *tokenizer; /* NULL: not known */
    const char *unread;   /* its kind, if it is not read here; NULL: there is none */
    Origin *origin;       /* files that the weights came with; NULL: they were not imported */
    int64_t ids;          /* number of rows in tables of ids */
    Memory memory;
    double difference; /* of what a GGUF says: difference_in_file() */
} Export;

/* Rows of the model's tables of ids: its vocabulary; rows of data may be texts, too. */
static int64_t rows_of_ids(const Export *x)
{
    for (int i = 0; i < x->hf.n && !x->t->model->vocab; i++)
        if (x->hf.tensor[i].ids) return x->hf.tensor[i].dim[0];
    return x->t->model->vocab;
}

/* The tokenizer saved beside the weights, if this trainer can read its kind. */
static void find_tokenizer(Export *x)
{
    const char *weights = x->t->weights;
    x->tokenizer = is_gguf(weights) && !gguf_tokenizer_is_known(weights) ? NULL : tokenizer_beside(weights);
    if (!x->tokenizer) return;
    x->unread = unread_tokenizer(x->tokenizer);
    if (x->unread) x->tokenizer = NULL;
    else if (tokenizer_kind(x->tokenizer) == TOKEN_BYTES) limit_bytes(x->tokenizer, rows_of_ids(x));
}

/* The number of rows of the imported tables, or all of the model's: rows beyond the tokenizer's take part in
 * softmax. */
static void settle_ids(Export *x)
{
    int64_t vocab = rows_of_ids(x), known = x->tokenizer ? tokenizer_size(x->tokenizer) : 0,
            had = hf_ids(&x->hf, origin_object(x->origin, "config.json"));
    x->ids = x->t->ids ? x->t->ids : had && had <= vocab && had >= known ? had : known > vocab ? known : vocab;
    if (x->ids > vocab)
        fail(EXIT_USAGE, NULL, "expected at most %lld ids, the model's vocabulary, found %lld; they are %s",
             (long long)vocab, (long long)x->ids,
             x->t->ids ? "from --ids" : "those of the tokenizer, which belongs to another model");
    if (known > x->ids)
        fail(EXIT_USAGE, NULL, "--ids %lld: the tokenizer has %lld; leave --ids out", (long long)x->ids,
             (long long)known);
}

/* ------------------------------------------------------------------ model.safetensors */

static void tensor_dims(const Export *x, const Hf_tensor *t, int64_t *dim)
{
    memcpy(dim, t->dim, sizeof t->dim);
    if (t->ids) dim[0] = x->ids;
}

static int64_t tensor_elements(const Export *x, const Hf_tensor *t)
{
    int64_t dim[LATHE_MAXRANK], n = 1;
    tensor_dims(x, t, dim);
    for (int k = 0; k < t->rank; k++) n *= dim[k];
    return n;
}

static void put_tensor(Store_writer *w, const Export *x, const Hf_tensor *t)
{
    enum { ROOM = 1024 };
    char room[ROOM * sizeof(double)];
    Lathe_dtype type = lathe_weights(x->t->model);
    size_t size = (size_t)dtype_size(type);
    int64_t n = tensor_elements(x, t), used = 0;
    memset(room, 0, sizeof room);
    for (int64_t i = 0; i < n; i++) {
        if (!t->zero && lies_in_blocks(x->t->model, t->param))
            write_real(type, room, used,
                       whole_weight(x->t->model, t->param, t->copy, x->memory.params, hf_place(t, i)));
        else if (!t->zero)
            memcpy(room + (size_t)used * size, (char *)x->memory.params + (size_t)hf_place(t, i) * size, size);
        if (++used < ROOM && i + 1 < n) continue;
        put_elements(w, room, used, type);
        used = 0;
    }
}

static int by_their_name(const void *a, const void *b)
{
    return strcmp((*(const Hf_tensor *const *)a)->name, (*(const Hf_tensor *const *)b)->name);
}

/* In the order of Hugging Face's own files: what comes in and is not changed goes out byte for byte. */
static void write_tensors(const Export *x, const char *path)
{
    Store_writer *w = start_store(path);
    const Hf_tensor **all = must_alloc((size_t)x->hf.n * sizeof *all + 1);
    for (int i = 0; i < x->hf.n; i++) all[i] = &x->hf.tensor[i];
    qsort(all, (size_t)x->hf.n, sizeof *all, by_their_name);
    for (int i = 0; i < x->hf.n; i++) {
        int64_t dim[LATHE_MAXRANK];
        tensor_dims(x, all[i], dim);
        declare_tensor(w, all[i]->name, lathe_weights(x->t->model), all[i]->rank, dim);
    }
    for (int i = 0; i < x->hf.n; i++) put_tensor(w, x, all[i]);
    finish_store(w);
    free(all);
}

/* ------------------------------------------------------------------ the folder */

static void write_file(const char *folder, const char *name, char *text)
{
    Fault fault = {0};
    char *path = text_of("%s/%s", folder, name);
    if (!replace_text(path, text, &fault))
        fail(EXIT_DATA, fault.path, "%s; %s or choose another folder with --out", fault.text,
             room_remedy(fault.number));
    free(path);
    free(text);
}

static char *with_end(char *text)
{
    size_t n = strlen(text);
    return n && text[n - 1] == '\n' ? text : text_of("%s\n", text);
}

static json_t *parsed(char *text)
{
    json_t *all = json_loads(text, JSON_ALLOW_NUL, NULL);
    bug_if(!all);
    free(text);
    return all;
}

/* The names of the classes that the run learned, as transformers has them. */
static char *with_classes(const Export *x, char *config)
{
    char *folder = folder_of(x->t->weights), *path = text_of("%s/classes.json", folder);
    const Words *names = !is_gguf(x->t->weights) && access(path, F_OK) == 0 ? read_classes(path) : NULL;
    json_t *all = names ? parsed(text_of("%s", config)) : NULL, *by_id = json_object(), *by_their_name = json_object();
    for (int k = 0; names && k < names->n; k++) {
        put_json(by_id, text_of("%d", k), word_json(names->at[k]));
        put_json(by_their_name, names->at[k], json_integer(k));
    }
    free(folder);
    free(path);
    if (!names || json_equal(by_id, json_object_get(all, "id2label"))) return config;
    put_json(all, "id2label", by_id);
    put_json(all, "label2id", by_their_name);
    free(config);
    return json_dumps(all, JSON_INDENT(2) | JSON_SORT_KEYS | JSON_REAL_PRECISION(15));
}

/* The files that the weights came with, without config.json. */
static void write_origin(const Export *x)
{
    for (int k = 0; k < origin_files(x->origin); k++) {
        const char *name = origin_name(x->origin, k);
        if (strcmp(name, "config.json") != 0) write_file(x->t->out, name, text_of("%s", origin_file(x->origin, name)));
    }
}

static bool same_place(const char *a, const char *b)
{
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* An earlier export may be replaced; any other contents may not. */
static void make_folder(const Trainer *t)
{
    Fault fault = {0};
    char *weights = text_of("%s/model.safetensors", t->out), *from = folder_of(t->weights);
    if (same_place(from, t->out) || (holds_a_run(t->out) && !is_exchange(weights)))
        fail(EXIT_USAGE, t->out,
             "has a trainer's weights, which the export would replace; choose another folder with --out");
    if (!make_folders(t->out, &fault)) fail(EXIT_DATA, fault.path, "%s; choose another folder with --out", fault.text);
    free(weights);
    free(from);
}

/* transformers and PEFT would apply adapters once more to weights that have them. */
static void check_not_beside(const Trainer *t, const char *file, const char *what)
{
    char *beside = text_of("%s/%s", t->out, file);
    if (access(beside, F_OK) == 0)
        fail(EXIT_USAGE, beside, "here is %s, and weights beside an adapter would have it twice; choose another folder",
             what);
    free(beside);
}

static void write_folder(const Export *x)
{
    const Trainer *t = x->t;
    check_not_beside(t, "adapter_config.json", "an adapter");
    make_folder(t);
    write_tensors(x, text_of("%s/model.safetensors", t->out));
    write_file(t->out, "config.json",
               with_end(with_classes(x, hf_config(&x->hf, t->model, x->origin, x->tokenizer, x->ids))));
    write_origin(x);
    write_card(t, "transformers");
    if (!x->tokenizer) return;
    write_file(t->out, "tokenizer.json", hf_tokenizer(x->tokenizer)); /* byte for byte as it was read */
    if (!origin_file(x->origin, "tokenizer_config.json"))
        write_file(t->out, "tokenizer_config.json", with_end(hf_tokenizer_config(x->tokenizer, t->model->seq)));
}

/* ------------------------------------------------------------------ a GGUF file */

typedef struct Apart {
    double largest, most; /* weight; difference from the file */
} Apart;

static Apart apart_in_file(const Export *x, const Hf_tensor *t, const Stored *own)
{
    enum { ROOM = 1024 };
    const int64_t n = tensor_elements(x, t) - (own->lead ? unturned_place(own, 0) : 0);
    double largest = 0, most = 0;
#pragma omp parallel for schedule(static) reduction(max : largest, most)
    for (int64_t first = 0; first < n; first += ROOM) {
        double values[ROOM];
        const int64_t count = n - first < ROOM ? n - first : ROOM;
        read_stored(own, first, count, values);
        for (int64_t i = 0; i < count; i++) {
            int64_t at = hf_place(t, unturned_place(own, first + i));
            double weight = t->zero ? 0 : whole_weight(x->t->model, t->param, t->copy, x->memory.params, at);
            largest = fmax(largest, fabs(weight));
            most = fmax(most, fabs(weight - values[i]));
        }
    }
    return (Apart){largest, most};
}

/* Of the largest weight of each tensor: by how much what the file says differs.  1 + w is rounded, if nothing else. */
static double difference_in_file(const Export *x, const char *path, bool exact)
{
    Store s;
    double worst = 0;
    read_gguf_model(&s, path);
    for (int k = 0; k < x->hf.n; k++) {
        const Stored *own = find_stored(&s, x->hf.tensor[k].name);
        if (!own) own = find_stored(&s, x->hf.tensor[k].own); /* of an encoder, whose names have no prefix there */
        bug_if(!own);
        const Apart a = apart_in_file(x, &x->hf.tensor[k], own);
        bug_if(exact && a.most > (own->raised ? FLT_EPSILON * (1 + a.largest) : 0));
        if (a.most > 0) worst = fmax(worst, a.most / a.largest);
    }
    close_store(&s);
    return worst;
}

/* A file that is not of llama.cpp's, or that the weights come from, is not replaced. */
static void check_gguf_place(const Trainer *t)
{
    if (same_place(t->weights, t->out))
        fail(EXIT_USAGE, t->out, "is the file that the weights are in; choose another with --out");
    if (access(t->out, F_OK) == 0 && !is_gguf(t->out))
        fail(EXIT_USAGE, t->out, "is there and no GGUF file; choose another name with --out");
}

/* llama.cpp normalises nothing.  What people type is in NFC but for rare texts, which then have other ids. */
static void check_normal_form(const Export *x)
{
    const char *form = tokenizer_form(x->tokenizer);
    if (!form || tokenizer_kind(x->tokenizer) == TOKEN_WORDPIECE) return; /* whose normaliser llama.cpp has */
    if (strcmp(form, "NFC") != 0)
        fail(EXIT_DATA, x->t->weights,
             "its tokenizer normalises text to %s, which llama.cpp cannot; --to hf writes a folder", form);
    note("its tokenizer normalises text to NFC, which llama.cpp leaves out: text that is not in NFC gets different "
         "ids there");
}

/* Of a model that was trained here, and had none before, that of its form of chats; NULL: it is plain. */
static const char *template_to_write(Export *x)
{
    Trainer *t = x->t;
    const char *own = origin_template(x->origin);
    Chat_form form;
    char *why;
    if (own || is_exchange(t->weights)) return own;
    take_own_settings(t, t->weights, "chat");
    if (!find_chat_form(&t->recipe, x->origin, x->tokenizer, &form, &why)) return NULL;
    return form_template(&form);
}

static void write_gguf_file(Export *x)
{
    const Trainer *t = x->t;
    if (!x->tokenizer)
        fail(EXIT_DATA, t->weights,
             "expected a tokenizer beside the weights, which llama.cpp needs in the file, found %s",
             x->unread ? x->unread : "none");
    json_t *config = parsed(with_classes(x, hf_config(&x->hf, t->model, x->origin, x->tokenizer, x->ids))),
           *tokenizer = parsed(hf_tokenizer(x->tokenizer));
    check_normal_form(x);
    Gguf_model g = {.hf = &x->hf,
                    .model = t->model,
                    .flat = x->memory.params,
                    .ids = x->ids,
                    .config = config,
                    .tokenizer = tokenizer,
                    .chat_template = template_to_write(x),
                    .type = t->type ? t->type : "f32"};
    write_gguf(t->out, &g);
    json_decref(config);
    json_decref(tokenizer);
    bool exact = strcmp(g.type, "f32") == 0 && lathe_weights(t->model) == LATHE_F32;
    x->difference = difference_in_file(x, t->out, exact);
    if (!t->json)
        show(stdout, "read again: weights differ by at most %.1e of the largest in their tensor\n", x->difference);
}

/* ------------------------------------------------------------------ a file of llm.c's */

static void check_llmc_place(const Trainer *t)
{
    if (same_place(t->weights, t->out))
        fail(EXIT_USAGE, t->out, "is the file that the weights are in; choose another with --out");
    if (access(t->out, F_OK) == 0 && !is_llmc(t->out))
        fail(EXIT_USAGE, t->out, "is there and no file of llm.c's; choose another name with --out");
}

static void write_llmc_file(const Export *x)
{
    const Trainer *t = x->t;
    bool bf16 = t->type && strcasecmp(t->type, "bf16") == 0;
    write_llmc(t->out, &(Llmc_model){&x->hf, t->model, x->memory.params, x->ids, bf16});
}

/* ------------------------------------------------------------------ trainer export */

static void print_export(const Export *x)
{
    const Trainer *t = x->t;
    int64_t vocab = rows_of_ids(x);
    if (t->json) {
        print_json(json_pack("{s:s, s:s, s:i, s:I, s:b}", "folder", utf8_of(t->out), "weights", utf8_of(t->weights),
                             "tensors", x->hf.n, "ids", (json_int_t)x->ids, "tokenizer", x->tokenizer != NULL));
        return;
    }
    show(stdout, "wrote %d tensors of %s to %s\n", x->hf.n, t->weights, t->out);
    if (weights_in_blocks(t->model) && t->model->adapters && t->type && asks_for_blocks(t->type))
        note("what the adapters change by less than half a step of %s is rounded away, since the weights had been "
             "rounded before; --type f16 keeps it",
             t->type);
    if (t->model->adapters)
        note("the adapters are merged into the weights; --to peft or gguf-adapter writes them alone");
    if (x->ids < vocab)
        note("%lld of the model's %lld rows of ids are written; the others are left out", (long long)x->ids,
             (long long)vocab);
    if (!x->tokenizer) note("there is no readable tokenizer beside %s, so none was written", t->weights);
}

static void need_adapters(const Trainer *t)
{
    if (!t->adapter && !has_own_adapters(t->model, t->weights))
        fail(EXIT_DATA, t->weights, "expected adapters, found weights without any; train some first");
}

/* A head that the base lacked was drawn, and is in no file but the run's. */
static void check_head_of_base(const Export *x)
{
    const json_t *theirs = json_object_get(origin_object(x->origin, "config.json"), "architectures");
    if (!theirs || json_equal(theirs, json_object_get(json_object_get(x->hf.all, "config"), "architectures"))) return;
    for (int i = 0; i < x->hf.n; i++)
        if (x->hf.tensor[i].fresh)
            fail(EXIT_ERROR, NULL,
                 "%s was drawn from the seed, since the weights that training began with are of another head, and "
                 "adapters alone would be without it; export --to hf merges all into one model",
                 x->hf.tensor[i].name);
}

/* What PEFT calls the base: the name at Hugging Face that came with it, or its folder. */
static const char *base_name(const Export *x)
{
    const json_t *config = origin_object(x->origin, "config.json");
    const char *named = json_string_value(json_object_get(config, "_name_or_path")),
               *from = x->t->adapter ? x->t->weights : weights_before(x->t->weights);
    if (named && *named) return named;
    return from && !is_gguf(from) && is_exchange(from) ? folder_of(from) : NULL;
}

static void write_adapter_folder(const Export *x, const char *base)
{
    const Trainer *t = x->t;
    check_not_beside(t, "model.safetensors", "a model");
    check_not_beside(t, "model.safetensors.index.json", "a model");
    make_folder(t);
    write_peft(t->model, &x->hf, t->out, x->memory.params, x->ids, (Peft_base){base, base_name(x)});
    write_card(t, "peft");
}

static int export_adapters(const Export *x, bool gguf)
{
    const Trainer *t = x->t;
    need_adapters(t);
    check_head_of_base(x);
    const char *base = base_of_weights(t->model, t->weights, x->memory.params);
    const Gguf_model g = {.hf = &x->hf, .model = t->model, .flat = x->memory.params, .ids = x->ids, .base = base};
    if (gguf) write_gguf_adapter(t->out, &g);
    else write_adapter_folder(x, base);
    if (t->json)
        print_json(json_pack("{s:s, s:s, s:i}", "folder", utf8_of(t->out), "weights", utf8_of(t->weights), "adapters",
                             t->model->adapters));
    else show(stdout, "wrote the adapters of %s to %s\n", t->weights, t->out);
    return 0;
}

static bool is_to(const Trainer *t, const char *format) { return t->to && strcmp(t->to, format) == 0; }

static bool is_type_of_llmc(const char *type) { return strcasecmp(type, "f32") == 0 || strcasecmp(type, "bf16") == 0; }

static void check_format(const Trainer *t, bool adapters)
{
    bool gguf = is_to(t, "gguf"), llmc = is_to(t, "llmc"), known = gguf || llmc || is_to(t, "hf") || is_to(t, "onnx");
    if (t->to && !adapters && !known)
        fail(EXIT_USAGE, NULL,
             "--to %s: expected hf, a folder as Hugging Face has it, gguf, a file for llama.cpp, llmc, one for llm.c, "
             "onnx, one with the graph, or, of adapters alone, peft, a folder, or gguf-adapter, a file",
             t->to);
    if (adapters && !t->model->adapters)
        fail(EXIT_USAGE, NULL, "--to %s: this model has no adapters; build it with --lora to train some", t->to);
    if (!t->out)
        fail(EXIT_USAGE, NULL,
             "export needs --out DIR: the folder to write, or with --to gguf, gguf-adapter, llmc and onnx the file");
    if (t->type && !(gguf && is_gguf_type(t->type)) && !(llmc && is_type_of_llmc(t->type)))
        fail(EXIT_USAGE, NULL,
             "--type %s: expected f32, f16, bf16, q8_0 or q4_0 with --to gguf, and behind it, for some of the "
             "matrices, PATTERN=TYPE, separated by commas; f32 or bf16 with --to llmc",
             t->type);
}

int export_command(Trainer *t)
{
    static const Entry none[] = {NO_ENTRY};
    Export x = {.t = t};
    bool gguf = is_to(t, "gguf"), file = is_to(t, "gguf-adapter"), adapters = file || is_to(t, "peft");
    bool llmc = is_to(t, "llmc");
    check_format(t, adapters);
    if (!t->weights) t->weights = run_weights(default_folder(t), "name a run's folder or a file with --weights PATH");
    if (is_to(t, "onnx")) return export_onnx(t);
    if (gguf || file) check_gguf_place(t);
    if (llmc) check_llmc_place(t);
    x.hf = open_hf(t->model);
    find_tokenizer(&x);
    x.origin = read_origin(t->weights);
    settle_ids(&x);
    use_threads(t);
    take_memory(&x.memory, t, false, false, none);
    load_weights(t->model, t->weights, x.memory.params, x.memory.statistics, NULL);
    if (t->adapter) take_adapter(t, t->adapter, t->weights, x.memory.params);
    if (adapters) return export_adapters(&x, file);
    if (t->model->adapters) merge_adapters(t->model, x.memory.params);
    if (gguf) write_gguf_file(&x);
    else if (llmc) write_llmc_file(&x);
    else write_folder(&x);
    print_export(&x);
    return 0;
}
