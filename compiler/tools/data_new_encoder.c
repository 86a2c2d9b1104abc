/* data_new_encoder.c: what `lathe new` makes of an encoder: its head, and settings for texts with classes, for words
 * with labels, for pairs of texts, or for hidden words. */
#include "model/gguf.h"
#include "model/import.h"
#include "model/origin.h"
#include "token/tokenizer.h"
#include "tools/data_command.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const encoders[] = {"bert", "roberta", "modernbert"};
static const char *const heads[] = {"classes", "tokens", "masked", "embedding"};

static bool stands_among(const char *word, const char *const *words, int n)
{
    for (int k = 0; k < n; k++)
        if (strcmp(words[k], word) == 0) return true;
    return false;
}

bool is_encoder(const char *type) { return stands_among(type, encoders, sizeof encoders / sizeof *encoders); }

/* sentence-transformers' list of parts, in its folders */
static bool has_modules(const char *from)
{
    char *modules = text_of("%s/modules.json", from);
    bool has = access(modules, F_OK) == 0;
    free(modules);
    return has;
}

/* llama.cpp's converter leaves out a layer below BERT's classes, without which they are others. */
static const char *head_of_gguf(const char *from, const json_t *config)
{
    const char *type = json_string_value(json_object_get(config, "model_type"));
    Store s;
    read_gguf_model(&s, from);
    bool classes = gguf_classes(&s) > 0, whole = strcmp(type, "bert") != 0 || gguf_has_pooler(&s);
    close_store(&s);
    if (classes && !whole)
        note("its classes lack the layer below them (pooler), which llama.cpp's converter leaves out: head = "
             "\"embedding\" reads the rest; the model's Hugging Face folder has both");
    return classes && whole ? "classes" : "embedding";
}

/* That of the command line; else by the folder, or the file. */
const char *encoder_head(const char *given, const char *from, const json_t *config)
{
    const char *task = json_string_value(json_array_get(json_object_get(config, "architectures"), 0));
    if (!given && is_gguf(from)) return head_of_gguf(from, config);
    bool vectors = has_modules(from);
    if (!given) return vectors ? "embedding" : task && has_end(task, "ForTokenClassification") ? "tokens" : "classes";
    if (!stands_among(given, heads, sizeof heads / sizeof *heads))
        fail(EXIT_USAGE, NULL, "--head: expected classes, tokens, masked or embedding, found %.60s", given);
    return given;
}

/* The ids that hide words and end texts; "": the folder has no tokenizer that is read. */
static char *ids_of_tokens(const char *from)
{
    static const char *const names[][4] = {
        {"mask", "[MASK]", "<mask>"}, {"cls", "[CLS]", "<s>"}, {"sep", "[SEP]", "</s>"}};
    Tokenizer *k = is_gguf(from) ? tokenizer_beside(from) : saved_tokenizer(from);
    char *text = text_of("%s", "");
    for (int i = 0; i < 3 && k && !unread_tokenizer(k); i++) {
        int32_t id = special_id(k, names[i][1]);
        if (id < 0) id = special_id(k, names[i][2]);
        if (id < 0)
            fail(EXIT_DATA, tokenizer_path(k), "expected the token %s or %s, found none", names[i][1], names[i][2]);
        text = text_of("%sc.%s = %d\n", text, names[i][0], (int)id);
    }
    free_tokenizer(k);
    return text;
}

/* ------------------------------------------------------------------ one vector of a text */

typedef struct Vector {
    const char *of;    /* "mean" or "cls" */
    bool said, pooler; /* by the weights, which may lack a layer on the first token */
} Vector;

/* true in the file of sentence-transformers' part that pools: of its folder, in the order of its parts. */
static bool pools_first(const char *from)
{
    char *path = text_of("%s/1_Pooling/config.json", from);
    json_t *all = access(path, F_OK) == 0 ? read_json_file(path, "fetch it again") : NULL;
    const char *mode = json_string_value(json_object_get(all, "pooling_mode"));
    bool mean = json_is_true(json_object_get(all, "pooling_mode_mean_tokens")) || (mode && strcmp(mode, "mean") == 0),
         first = json_is_true(json_object_get(all, "pooling_mode_cls_token")) || (mode && strcmp(mode, "cls") == 0);
    if (all && mean == first)
        fail(EXIT_DATA, path,
             "expected a vector of all tokens (mean) or of the first (cls), found another, which "
             "models/bert.lua does not compute");
    json_decref(all);
    free(path);
    return first;
}

static Vector vector_of(const char *from)
{
    Vector v = {"mean", false, true};
    if (!is_gguf(from)) {
        if (has_modules(from) && pools_first(from)) v.of = "cls";
        v.said = has_modules(from);
        return v;
    }
    Store s;
    read_gguf_model(&s, from);
    const char *word = gguf_pooling(&s);
    v.said = word && (strcmp(word, "mean") == 0 || strcmp(word, "cls") == 0);
    if (v.said) v.of = word;
    v.pooler = gguf_has_pooler(&s) && !gguf_classes(&s);
    close_store(&s);
    return v;
}

/* Settings of a head for vectors, which are told. */
static char *vector_text(const char *from)
{
    Vector v = vector_of(from);
    show(stdout, "  %-12s %-9s %s\n", "vector", v.of,
         v.said ? "as these weights say: mean of all tokens, cls of the first"
                : "which these weights do not say; or cls");
    return text_of("c.vector = \"%s\"\n%s", v.of, v.pooler ? "" : "c.pooler = false\n");
}

char *encoder_text(const char *head, const char *from)
{
    bool vectors = strcmp(head, "embedding") == 0, masked = strcmp(head, "masked") == 0;
    bool tokens = strcmp(head, "tokens") == 0;
    char *of_head = masked ? ids_of_tokens(from) : vectors ? vector_text(from) : text_of("%s", "");
    return text_of("\n-- What it is for: classes, tokens, masked or embedding\nc.head = \"%s\"\n%s"
                   "\n-- Settings for data of one's own, a table with columns of these names\n"
                   "c.batch, c.seq = 16, math.min(128, c.context - 2)\n"
                   "c.text = \"%s\"\n%s"
                   "c.lr, c.warmup, c.steps, c.eval_every = 5e-5, 20, 200, 50\n\n"
                   "model.configs = nil\n"
                   "return model\n",
                   head, of_head, tokens ? "tokens" : "text",
                   vectors  ? "c.second = \"second\"\n"
                   : masked ? ""
                   : tokens ? "c.label = \"labels\"\n"
                            : "c.label = \"label\"\n");
}
