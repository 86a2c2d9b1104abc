/* data_new_encoder.c: what `lathe new` makes of an encoder: its head, and settings for texts with classes, for words
 * with labels, for pairs of texts, or for hidden words. */
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

/* That of the command line; else by the folder. */
const char *encoder_head(const char *given, const char *from, const json_t *config)
{
    const char *task = json_string_value(json_array_get(json_object_get(config, "architectures"), 0));
    char *modules = text_of("%s/modules.json", from); /* of sentence-transformers */
    bool vectors = access(modules, F_OK) == 0;
    free(modules);
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
    Tokenizer *k = saved_tokenizer(from);
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

char *encoder_text(const char *head, const char *from)
{
    bool vectors = strcmp(head, "embedding") == 0, masked = strcmp(head, "masked") == 0;
    bool tokens = strcmp(head, "tokens") == 0;
    return text_of("\n-- What it is for: classes, tokens, masked or embedding\nc.head = \"%s\"\n%s"
                   "\n-- Settings for data of one's own, a table with columns of these names\n"
                   "c.batch, c.seq = 16, math.min(128, c.context - 2)\n"
                   "c.text = \"%s\"\n%s"
                   "c.lr, c.warmup, c.steps, c.eval_every = 5e-5, 20, 200, 50\n\n"
                   "model.configs = nil\n"
                   "return model\n",
                   head, masked ? ids_of_tokens(from) : "", tokens ? "tokens" : "text",
                   vectors  ? "c.second = \"second\"\n"
                   : masked ? ""
                   : tokens ? "c.label = \"labels\"\n"
                            : "c.label = \"label\"\n");
}
