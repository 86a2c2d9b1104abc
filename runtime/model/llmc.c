/* llmc.c: reads llm.c's .bin: 256 numbers, of which the first eight count, then a GPT-2's tensors in a fixed order,
 * those of a kind of all layers together.  Version 3 is fp32, version 5 bf16.  Matrices are [out][in], where Hugging
 * Face has [in][out]; the table of ids has rows of zeros up to a multiple of 128. */
#include "model/llmc.h"
#include "base/file.h"
#include "base/words.h"
#include "model/gguf.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

const Llmc_kind llmc_kinds[] = {{"wte.weight", LLMC_IDS, 1},
                                {"wpe.weight", LLMC_POSITIONS, 1},
                                {"h.%d.ln_1.weight", 1, 0},
                                {"h.%d.ln_1.bias", 1, 0},
                                {"h.%d.attn.c_attn.weight", 3, 1},
                                {"h.%d.attn.c_attn.bias", 3, 0},
                                {"h.%d.attn.c_proj.weight", 1, 1},
                                {"h.%d.attn.c_proj.bias", 1, 0},
                                {"h.%d.ln_2.weight", 1, 0},
                                {"h.%d.ln_2.bias", 1, 0},
                                {"h.%d.mlp.c_fc.weight", 4, 1},
                                {"h.%d.mlp.c_fc.bias", 4, 0},
                                {"h.%d.mlp.c_proj.weight", 1, 4},
                                {"h.%d.mlp.c_proj.bias", 1, 0},
                                {"ln_f.weight", 1, 0},
                                {"ln_f.bias", 1, 0}};
_Static_assert(sizeof llmc_kinds / sizeof *llmc_kinds == LLMC_KINDS, "the number of kinds");

static bool is_of_layers_of(const Llmc_kind *k) { return strstr(k->name, "%d") != NULL; }
bool is_matrix_of_layer(const Llmc_kind *k) { return is_of_layers_of(k) && k->in; }

char *name_of_kind(const Llmc_kind *k, int64_t layer)
{
    const char *at = strstr(k->name, "%d");
    return at ? text_of("%.*s%lld%s", (int)(at - k->name), k->name, (long long)layer, at + 2) : text_of("%s", k->name);
}

int64_t rows_of_kind(const Llmc_kind *k, const Llmc_head *h)
{
    return k->out == LLMC_IDS ? h->rows : k->out == LLMC_POSITIONS ? h->positions : (int64_t)k->out * h->width;
}

int64_t elements_of_kind(const Llmc_kind *k, const Llmc_head *h)
{
    return rows_of_kind(k, h) * (k->in ? (int64_t)k->in * h->width : 1);
}

int64_t copies_of_kind(const Llmc_kind *k, const Llmc_head *h) { return is_of_layers_of(k) ? h->layers : 1; }

/* ------------------------------------------------------------------ in */

bool is_llmc(const char *path)
{
    struct stat about;
    int32_t first = 0;
    if (stat(path, &about) != 0 || !S_ISREG(about.st_mode)) return false;
    FILE *f = open_stream_to_read(path);
    bool is = f && fread(&first, sizeof first, 1, f) == 1 && first == LLMC_MAGIC;
    if (f) fclose(f);
    return is;
}

static bool is_between(int32_t x, int32_t most) { return x >= 1 && x <= most; }

static Llmc_head head_of_llmc(const Store *s)
{
    enum { MOST_LAYERS = 1 << 14, MOST_WIDTH = 1 << 18, MOST_ROWS = 1 << 26 };
    Llmc_head h;
    if (s->map_bytes < LLMC_HEAD_BYTES)
        fail(EXIT_DATA, s->path, "expected 1024 bytes before the tensors, found %zu in all; it is cut off",
             s->map_bytes);
    memcpy(&h, s->map, sizeof h);
    if (h.version != LLMC_FP32 && h.version != LLMC_BF16)
        fail(EXIT_DATA, s->path, "expected version 3 (fp32) or 5 (bf16) of llm.c's files, found %d", (int)h.version);
    bool fits = is_between(h.layers, MOST_LAYERS) && is_between(h.width, MOST_WIDTH) && is_between(h.heads, h.width) &&
                is_between(h.rows, MOST_ROWS) && is_between(h.ids, h.rows) && is_between(h.positions, MOST_ROWS);
    if (!fits || h.width % h.heads)
        fail(EXIT_DATA, s->path,
             "expected the sizes of a GPT-2, found %d positions, %d ids in %d rows, %d layers, %d heads, width %d; it "
             "is "
             "damaged",
             (int)h.positions, (int)h.ids, (int)h.rows, (int)h.layers, (int)h.heads, (int)h.width);
    return h;
}

static Stored stored_of_kind(const Llmc_kind *k, const Llmc_head *h, int64_t layer, const char *at, int size)
{
    char *name = name_of_kind(k, layer);
    Stored t = {.name = text_of("transformer.%s", name), .dtype = size == 4 ? "F32" : "BF16", .at = at};
    t.rank = k->in ? 2 : 1;
    t.dim[0] = k->out == LLMC_IDS ? h->ids : rows_of_kind(k, h); /* without the rows of zeros */
    t.dim[1] = (int64_t)k->in * h->width;
    t.bytes = t.dim[0] * (k->in ? t.dim[1] : 1) * size;
    t.transposed = is_matrix_of_layer(k);
    if (t.transposed) t.dim[0] = t.dim[1], t.dim[1] = rows_of_kind(k, h);
    free(name);
    return t;
}

void read_llmc(Store *s, const char *path)
{
    *s = (Store){.path = path, .own_names = true, .header = json_object()};
    map_store(s, "a file of llm.c's");
    const Llmc_head h = head_of_llmc(s);
    int64_t size = h.version == LLMC_FP32 ? 4 : 2, tensors = 0, bytes = LLMC_HEAD_BYTES;
    for (const Llmc_kind *k = llmc_kinds; k < llmc_kinds + LLMC_KINDS; k++) {
        tensors += copies_of_kind(k, &h);
        bytes += copies_of_kind(k, &h) * elements_of_kind(k, &h) * size;
    }
    if ((int64_t)s->map_bytes != bytes)
        fail(EXIT_DATA, path, "expected %lld bytes, by the sizes at its start, found %zu; it is cut off or damaged",
             (long long)bytes, s->map_bytes);
    s->tensor = must_alloc(sizeof *s->tensor * (size_t)tensors);
    const char *at = (const char *)s->map + LLMC_HEAD_BYTES;
    for (const Llmc_kind *k = llmc_kinds; k < llmc_kinds + LLMC_KINDS; k++)
        for (int64_t layer = 0; layer < copies_of_kind(k, &h); layer++, at += elements_of_kind(k, &h) * size)
            s->tensor[s->n++] = stored_of_kind(k, &h, layer, at, (int)size);
    for (int i = 0; i < s->n; i++) s->tensor[i].map = s->map;
    sort_tensors(s);
}

json_t *llmc_config(const Store *s)
{
    const Llmc_head h = head_of_llmc(s);
    return json_pack("{s:s, s:i, s:i, s:i, s:i, s:i, s:s, s:b}", "model_type", "gpt2", "n_layer", (int)h.layers,
                     "n_head", (int)h.heads, "n_embd", (int)h.width, "n_positions", (int)h.positions, "vocab_size",
                     (int)h.ids, "activation_function", "gelu_new", "tie_word_embeddings", 1);
}
