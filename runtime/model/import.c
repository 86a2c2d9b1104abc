/* import.c: imports weights from a folder in Hugging Face's format (config.json, model.safetensors or its shards), or
 * from a GGUF file, which is seen as one, into the flat array.
 *
 * config.json must agree with the description's `hf`, because numbers of heads and rotary angles do not show in shapes.
 * 16-bit floats are accepted.  Rows of ids that the files lack become the mean of the others: rows of zeros would get
 * much probability if the other logits are negative. */
#include "base/file.h"
#include "base/words.h"
#include "interface/lathe_model.h"
#include "model/block.h"
#include "model/gguf.h"
#include "model/hf.h"
#include "model/import.h"
#include "model/init.h"
#include "model/llmc.h"
#include "model/place.h"
#include "model/run.h"
#include "model/safetensors.h"
#include "model/tables.h"
#include "model/weights.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ------------------------------------------------------------------ which files */

static bool is_folder(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

static bool is_index(const char *path)
{
    size_t n = strlen(path);
    return n > 5 && strcmp(path + n - 5, ".json") == 0;
}

char *weights_file(const char *path)
{
    if (!is_folder(path)) return text_of("%s", path);
    char *whole = newest_weights(path), *index = text_of("%s.index.json", whole);
    if (access(whole, F_OK) == 0 || access(index, F_OK) != 0) {
        if (access(whole, F_OK) != 0 && access(text_of("%s/pytorch_model.bin", path), F_OK) == 0)
            fail(EXIT_DATA, path,
                 "expected model.safetensors, found pytorch_model.bin, which runs code when it is read; write it "
                 "again in Python: AutoModelForCausalLM.from_pretrained(…).save_pretrained(…)");
        if (access(whole, F_OK) != 0) refuse_folder_of_gguf(path);
        return whole;
    }
    return index;
}

json_t *read_json_file(const char *path, const char *remedy)
{
    json_error_t error;
    FILE *f = open_stream_to_read(path);
    json_t *all = f ? json_loadf(f, JSON_REJECT_DUPLICATES, &error) : NULL;
    if (!f) fail(EXIT_DATA, path, "cannot be read: %s; %s", error_text(errno), remedy);
    fclose(f);
    if (!all)
        fail(EXIT_DATA, error.line > 0 ? text_of("%s:%d:%d", path, error.line, error.column) : path, "not JSON: %s; %s",
             error.text, remedy);
    if (!json_is_object(all)) fail(EXIT_DATA, path, "expected a JSON object; %s", remedy);
    return all;
}

/* config.json beside the weights, if it is Hugging Face's; a run's has no model_type.  If the
 * folder has checkpoints, it is a run's, and the file is not read.  Otherwise only this file says whether matrices are
 * transposed. */
static json_t *config_beside(const char *weights, char **path)
{
    char *folder = folder_of(weights);
    bool run = newest_checkpoint(folder, INT64_MAX) >= 0;
    *path = text_of("%s/config.json", folder);
    free(folder);
    if (run || access(*path, F_OK) != 0) return NULL;
    json_t *all = read_json_file(*path, "it gives the layout of the weights beside it: fetch it again, or, if a "
                                        "trainer wrote these weights, remove it");
    if (json_is_string(json_object_get(all, "model_type"))) return all;
    json_decref(all);
    return NULL;
}

bool is_exchange(const char *weights)
{
    if (is_gguf(weights) || is_llmc(weights)) return true;
    char *path;
    json_t *config = config_beside(weights, &path);
    bool is = config || is_index(weights);
    json_decref(config);
    free(path);
    return is;
}

/* ------------------------------------------------------------------ one file or several */

typedef struct Shards {
    const char *path; /* the file, or the index */
    int n;
    Store *store;
} Shards;

static const Stored *find_in(const Shards *s, const char *name)
{
    for (int i = 0; i < s->n; i++) {
        const Stored *found = find_stored(&s->store[i], name);
        if (found) return found;
    }
    return NULL;
}

/* A shard must be beside its index, so its name may not be a path. */
static void add_shard(Shards *s, const char *file)
{
    if (!file || !*file || strchr(file, '/'))
        fail(EXIT_DATA, s->path, "\"weight_map\" names %s, but shards must be beside their index; the file is damaged",
             file ? file : "no file");
    char *folder = folder_of(s->path), *path = text_of("%s/%s", folder, file);
    free(folder);
    for (int i = 0; i < s->n; i++)
        if (strcmp(s->store[i].path, path) == 0) {
            free(path);
            return;
        }
    s->store = must_grow(s->store, sizeof *s->store * (size_t)(s->n + 1));
    read_store(&s->store[s->n++], path);
}

static void check_shards(const Shards *s, const json_t *map)
{
    int64_t held = 0;
    const char *name;
    json_t *file;
    json_object_foreach((json_t *)map, name, file) if (!find_in(s, name))
        fail(EXIT_DATA, s->path, "tensor %s should be in %s, which lacks it; fetch the shards again", name,
             json_string_value(file));
    for (int i = 0; i < s->n; i++) held += s->store[i].n;
    if (held != (int64_t)json_object_size(map))
        fail(EXIT_DATA, s->path, "names %lld tensors, but its shards have %lld; fetch index and shards again",
             (long long)json_object_size(map), (long long)held);
}

static Shards open_shards(const char *path)
{
    Shards s = {.path = path};
    const char *name;
    json_t *file;
    if (!is_index(path)) {
        s.store = must_alloc(sizeof *s.store);
        if (is_gguf(path)) read_gguf_model(&s.store[s.n++], path);
        else if (is_llmc(path)) read_llmc(&s.store[s.n++], path);
        else read_store(&s.store[s.n++], path);
        return s;
    }
    json_t *all = read_json_file(path, "fetch it again"), *map = json_object_get(all, "weight_map");
    if (!json_is_object(map) || json_object_size(map) == 0)
        fail(EXIT_DATA, path, "expected {\"weight_map\": {tensor: file, …}}; the file is damaged");
    json_object_foreach(map, name, file) add_shard(&s, json_string_value(file));
    check_shards(&s, map);
    json_decref(all);
    return s;
}

static void close_shards(Shards *s)
{
    for (int i = 0; i < s->n; i++) {
        char *path = s->n > 1 ? (char *)s->store[i].path : NULL;
        close_store(&s->store[i]);
        free(path);
    }
    free(s->store);
}

/* ------------------------------------------------------------------ elements */

int64_t hf_place(const Hf_tensor *t, int64_t element)
{
    if (t->transposed) element = element % t->dim[1] * t->dim[0] + element / t->dim[1];
    return copy_place(t->param, t->copy, element);
}

/* Adds a row for each id that the files lack: the mean of theirs, which lowers the probabilities of the others by at
 * most missing / ids (Hewitt 2021, Initializing New Word Embeddings for Pretrained Language Models). */
static void fill_rows(const Lathe_model *m, const Hf_tensor *t, int64_t rows, void *flat)
{
    if (!has_all_weights(flat) && lathe_is_trained(m, t->param))
        fail(EXIT_USAGE, NULL,
             "%s has %lld rows in the files and %lld here. Rows that are added are the mean of all, and with "
             "--shard-parameters no rank has these: `trainer init --init PATH --out W.safetensors` adds them, and "
             "--init takes that file",
             t->name, (long long)rows, (long long)t->dim[0]);
    int64_t width = copy_elements(t->param) / t->dim[0], beside = lies_in_blocks(m, t->param) ? LATHE_BLOCK : 1;
    for (int64_t j = 0; j < width; j += beside) {
        double mean[LATHE_BLOCK] = {0};
        for (int64_t i = 0; i < rows; i++)
            for (int64_t k = 0; k < beside; k++) mean[k] += read_weight(m, flat, hf_place(t, i * width + j + k));
        for (int64_t k = 0; k < beside; k++) mean[k] /= (double)rows;
        for (int64_t i = rows; i < t->dim[0]; i++) write_weights(m, flat, hf_place(t, i * width + j), beside, mean);
    }
}

/* Where element e of a copy is in the file, if either is transposed. */
static int64_t place_in_stored(const Hf_tensor *t, const Stored *from, int64_t e)
{
    if (t->transposed) e = e % t->dim[0] * t->dim[1] + e / t->dim[0];
    return from->transposed ? e % from->dim[1] * from->dim[0] + e / from->dim[1] : e;
}

/* A block of the parameter's copy.  Neighbours there are neighbours in the file, but where only one is transposed; then
 * `first` counts elements of the copy, and else of the file.  None is raised, as vectors may be. */
static bool import_block(const Lathe_model *m, const Hf_tensor *t, const Stored *from, int64_t first, void *flat)
{
    const Lathe_dtype type = type_of_weight(m, t->param);
    double values[LATHE_BLOCK];
    bool finite = true;
    int64_t place = hf_place(t, unturned_place(from, first));
    if (t->transposed != from->transposed) {
        place = copy_place(t->param, t->copy, first);
        for (int64_t i = 0; i < LATHE_BLOCK; i++) read_stored(from, place_in_stored(t, from, first + i), 1, &values[i]);
    } else if (stored_is(from, block_word(type))) {
        memcpy(parameter_at(m, flat, place), from->at + bytes_of_numbers(type, first),
               (size_t)bytes_of_numbers(type, LATHE_BLOCK));
        leave_behind(from, first, LATHE_BLOCK);
        return isfinite(read_weight(m, flat, place));
    } else {
        read_stored(from, first, LATHE_BLOCK, values);
    }
    for (int i = 0; i < LATHE_BLOCK; i++) finite = finite && isfinite(values[i]);
    if (finite) write_weights(m, flat, place, LATHE_BLOCK, values);
    return finite;
}

static bool import_blocks(const Lathe_model *m, const Hf_tensor *t, const Stored *from, void *flat)
{
    bool finite = true;
    int64_t n = stored_elements(from);
#pragma omp parallel for reduction(&& : finite) if (n > 1 << 16)
    for (int64_t first = 0; first < n; first += LATHE_BLOCK) finite = import_block(m, t, from, first, flat) && finite;
    return finite;
}

static void take_zeros(const Hf_tensor *t, const Stored *from, Misfits *bad)
{
    int64_t n = stored_elements(from), i = 0;
    while (i < n && stored_element(from, i) == 0) i++;
    if (i < n)
        add_misfit(bad, text_of("%s: expected zeros, because this model has no such parameter; element %lld is %g",
                                t->name, (long long)i, stored_element(from, i)));
}

static bool import_numbers(const Lathe_model *m, const Hf_tensor *t, const Stored *from, void *flat)
{
    enum { AT_ONCE = 1024 };
    bool finite = true;
    const bool all = has_all_weights(flat);
    int64_t n = stored_elements(from);
#pragma omp parallel for reduction(&& : finite) if (n > 64 * AT_ONCE)
    for (int64_t first = 0; first < n; first += AT_ONCE) {
        double values[AT_ONCE];
        int64_t count = n - first < AT_ONCE ? n - first : AT_ONCE;
        read_stored(from, first, count, values);
        for (int64_t i = 0; i < count; i++) {
            finite = finite && isfinite(values[i]);
            const int64_t place = hf_place(t, unturned_place(from, first + i));
            if (all) write_real(lathe_weights(m), flat, place, values[i]);
            else write_weights(m, flat, place, 1, &values[i]);
        }
    }
    return finite;
}

/* Rows of the model that a file leaves out, since no text reads them. */
static void clear_lead(const Lathe_model *m, const Hf_tensor *t, int64_t n, void *flat)
{
    const double zeros[LATHE_BLOCK] = {0};
    const int64_t beside = lies_in_blocks(m, t->param) ? LATHE_BLOCK : 1;
    for (int64_t i = 0; i < n; i += beside) write_weights(m, flat, hf_place(t, i), beside, zeros);
}

static void take_tensor(const Lathe_model *m, const Hf_tensor *t, const Stored *from, void *flat, Misfits *bad)
{
    bool finite = (lies_in_blocks(m, t->param) ? import_blocks : import_numbers)(m, t, from, flat);
    leave_stored(from);
    if (!finite) add_misfit(bad, text_of("%s: has values that are not finite", t->name));
    if (from->lead) clear_lead(m, t, unturned_place(from, 0), flat);
    if (t->ids && from->dim[0] < t->dim[0]) fill_rows(m, t, from->dim[0], flat);
}

/* ------------------------------------------------------------------ what does not fit */

/* Every table of ids must have as many rows as the first; missing rows are added. */
static bool fits(const Hf_tensor *t, const Stored *from, int64_t *rows)
{
    if (from->rank != t->rank) return false;
    for (int k = t->ids ? 1 : 0; k < t->rank; k++)
        if (from->dim[k] + (k ? 0 : from->lead) != t->dim[k]) return false;
    if (!t->ids) return true;
    if (*rows == 0) *rows = from->dim[0];
    return from->dim[0] == *rows && *rows >= 1 && *rows <= t->dim[0];
}

/* Under one of its names. */
static const Stored *find_tensor(const Hf *hf, const Shards *s, const Hf_tensor *t)
{
    const Stored *from = find_in(s, t->name);
    if (!from) from = find_in(s, t->own);
    int k = 0;
    for (char *name; !from && (name = hf_alias(hf, t->own, &k)); free(name)) from = find_in(s, name);
    return from;
}

static void take(const Lathe_model *m, const Hf_tensor *t, const Stored *from, int64_t *rows, void *flat, Misfits *bad)
{
    char *wanted = dims_text(t->rank, t->dim);
    const char *fewer = t->ids ? " or fewer rows, but the same number in all tables of ids" : "";
    if (!from) {
        if (!t->zero) add_misfit(bad, text_of("%s: missing; expected %s (%s)", t->name, wanted, t->param->where));
    } else if (!fits(t, from, rows)) {
        add_misfit(bad, text_of("%s: expected %s%s, found %s (%s)", from->name, wanted, fewer,
                                dims_text(from->rank, from->dim), t->param->where));
    } else if (!is_stored_real(from)) {
        add_misfit(bad, text_of("%s: expected F32, F64, F16 or BF16, found %s", from->name, from->dtype));
    } else if (t->zero) {
        take_zeros(t, from, bad);
    } else {
        take_tensor(m, t, from, flat, bad);
    }
    free(wanted);
}

static bool equal_stored(const Stored *a, const Stored *b)
{
    return b && a->rank == b->rank && memcmp(a->dim, b->dim, sizeof *a->dim * (size_t)a->rank) == 0 &&
           strcmp(a->dtype, b->dtype) == 0 && memcmp(a->at, b->at, (size_t)a->bytes) == 0;
}

static const Stored *find_either(const Hf *hf, const Shards *s, const char *own)
{
    char *theirs = hf_name(hf, own);
    const Stored *found = find_in(s, theirs);
    free(theirs);
    return found ? found : find_in(s, own);
}

/* ------------------------------------------------------------------ with another head */

/* "bert.pooler.dense.weight and 3 more" */
static void tell_tensors(const Words *names, const char *what)
{
    if (names->n == 0) return;
    note("%s%s %s", names->at[0], names->n > 1 ? text_of(" and %d more", names->n - 1) : "", what);
}

/* Whether the description's head may do without it, and it is drawn. */
static bool is_drawn(const Hf_tensor *t, const Stored *from, const char *except)
{
    if (except && *except && is_of_layers(except, t->own)) return true;
    return except && t->fresh && !from;
}

static void check_except(const Hf *hf, const char *path, const char *except)
{
    bool any = !except || !*except;
    for (int i = 0; i < hf->n; i++) any |= is_of_layers(except, hf->tensor[i].own);
    if (!any)
        fail(EXIT_USAGE, path, "--init-except %s: there is no such layer or parameter; `trainer info` lists them",
             except);
}

static bool is_left(const Hf *hf, const char *name)
{
    size_t i;
    json_t *value;
    json_array_foreach(json_object_get(hf->all, "left"), i, value)
    {
        const char *own = json_string_value(value);
        bool is = hf_is_of(hf, own, name);
        int k = 0;
        for (char *other; !is && (other = hf_alias(hf, own, &k)); free(other)) is = strcmp(other, name) == 0;
        if (is) return true;
    }
    return false;
}

/* Whether it is neither a tensor of the model, nor a copy of one, nor one to ignore. */
static bool is_extra(const Hf *hf, const Shards *s, const Stored *tensor, Misfits *bad)
{
    const char *name;
    json_t *value;
    size_t i;
    for (int k = 0; k < hf->n; k++)
        if (hf->tensor[k].from == tensor || strcmp(hf->tensor[k].own, tensor->name) == 0) return false;
    json_array_foreach(json_object_get(hf->all, "ignored"), i,
                       value) if (hf_is_of(hf, json_string_value(value), tensor->name)) return false;
    json_object_foreach(json_object_get(hf->all, "copies"), name, value)
    {
        if (!hf_is_of(hf, name, tensor->name)) continue;
        if (!equal_stored(tensor, find_either(hf, s, json_string_value(value))))
            add_misfit(bad,
                       text_of("%s: expected the same as %s, which this model uses in its place, found other values",
                               tensor->name, json_string_value(value)));
        return false;
    }
    return true;
}

static void refuse(const Lathe_model *m, const char *path, const Misfits *bad)
{
    if (bad->n == 0) return;
    fail(EXIT_DATA, path,
         "does not fit the model that this trainer was built for, %s%s: %d difference%s; build it with the "
         "configuration of these weights:%s%s",
         m->name, config_of(m), bad->n, bad->n == 1 ? "" : "s", bad->text, more_misfits(bad));
}

static void take_tensors(const Lathe_model *m, Hf *hf, const Shards *s, const char *except, int64_t *rows, void *flat,
                         Misfits *bad)
{
    Words drawn = {0}, left = {0}, fixed = {0};
    for (int i = 0; i < hf->n; i++) {
        const Stored *from = hf->tensor[i].from = find_tensor(hf, s, &hf->tensor[i]);
        bool draws = is_drawn(&hf->tensor[i], from, except);
        if (draws) add_word(&drawn, hf->tensor[i].name);
        if (draws && !lathe_is_trained(m, hf->tensor[i].param)) add_word(&fixed, hf->tensor[i].own);
        if (!draws) take(m, &hf->tensor[i], from, rows, flat, bad);
    }
    for (int i = 0; i < s->n; i++)
        for (int k = 0; k < s->store[i].n; k++) {
            const Stored *tensor = &s->store[i].tensor[k];
            if (!is_extra(hf, s, tensor, bad)) continue;
            if (is_left(hf, tensor->name)) add_word(&left, text_of("%s", tensor->name));
            else add_misfit(bad, text_of("%s: not a tensor of this model", tensor->name));
        }
    tell_tensors(&drawn, "are drawn from the seed: these weights are of another head");
    tell_tensors(&fixed, "stay as they are drawn, but for adapters; --lora …,train=LAYER trains them");
    tell_tensors(&left, "are not read: they are of another head");
}

void load_exchange(const Lathe_model *m, const char *path, void *flat, const char *except)
{
    Misfits bad = {0};
    Hf hf = open_hf(m);
    char *config_path;
    int64_t rows = 0;
    bool gguf = is_gguf(path), alone = gguf || is_llmc(path); /* it says itself how it is configured */
    Shards s = alone ? open_shards(path) : (Shards){0};
    json_t *config = gguf    ? gguf_config(&s.store[0])
                     : alone ? llmc_config(&s.store[0])
                             : config_beside(path, &config_path);
    if (alone) config_path = text_of("%s", path);
    if (gguf) call_config(config, json_object_get(hf.all, "config"));
    char *pooling = gguf ? pooling_misfit(&s.store[0], hf.all) : NULL;
    if (pooling) add_misfit(&bad, pooling);
    if (config) check_hf_config(&hf, m, config, &bad);
    refuse(m, config_path, &bad);
    int64_t told = config ? hf_ids(&hf, config) : 0;
    if (!alone) s = open_shards(path);
    check_except(&hf, path, except);
    if (!m->adapters && !(except && (*except || hf_draws(m))))
        clear_weights(m, flat); /* else some stay as they were drawn */
    take_tensors(m, &hf, &s, except, &rows, flat, &bad);
    if (told && rows && told != rows)
        add_misfit(&bad, text_of("config.json says %lld ids, but the tables of ids have %lld rows", (long long)told,
                                 (long long)rows));
    refuse(m, path, &bad);
    close_shards(&s);
    json_decref(config);
    free(config_path);
}

void each_exchanged(const Lathe_model *m, const char *path, void (*take)(void *, const Hf_tensor *, const Stored *),
                    void *with)
{
    Hf hf = open_hf(m);
    int64_t rows = 0;
    Shards s = open_shards(path);
    for (const Hf_tensor *t = hf.tensor; t < hf.tensor + hf.n; t++) {
        const Stored *from = find_tensor(&hf, &s, t);
        if (from && fits(t, from, &rows) && is_stored_real(from)) take(with, t, from);
    }
    close_shards(&s);
}
