/* origin.c: files that come with imported weights and that training does not change: config.json, the ids that end a
 * text, the chat template.  Their text is kept byte for byte, from the Hugging Face folder through every checkpoint
 * (huggingface.json: {"files": {name: text, …}}) to the folder that export writes. */
#include "base/file.h"
#include "base/words.h"
#include "model/gguf.h"
#include "model/import.h"
#include "model/llmc.h"
#include "model/origin.h"
#include "token/tokenizer.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* tokenizer.json is not among them: the run saves it. */
static const char *const names[] = {
    "config.json",       "generation_config.json", "tokenizer_config.json", "special_tokens_map.json",
    "added_tokens.json", "chat_template.json",     "chat_template.jinja"};
enum { NAMES = sizeof names / sizeof *names, LARGEST = 128 << 20 /* bytes of a file */ };

struct Origin {
    json_t *files;         /* {name: text} */
    json_t *parsed[NAMES]; /* of .json: objects */
    int n;
    const char *name[NAMES];
};

/* ------------------------------------------------------------------ reading */

/* The file's text, from malloc, ended by a 0; NULL if there is no file. */
static char *read_origin_file(const char *path, size_t *n)
{
    struct stat about;
    if (stat(path, &about) != 0) return NULL;
    if (!S_ISREG(about.st_mode) || about.st_size > LARGEST)
        fail(EXIT_DATA, path, "expected a file of at most %s; fetch it again, or remove it", bytes_text(LARGEST));
    FILE *f = open_stream_to_read(path);
    if (!f) fail(EXIT_DATA, path, "cannot be read: %s", error_text(errno));
    char *text = must_alloc((size_t)about.st_size + 1);
    *n = fread(text, 1, (size_t)about.st_size, f);
    fclose(f);
    return text;
}

static json_t *text_of_file(const char *path)
{
    size_t n;
    char *text = read_origin_file(path, &n);
    if (!text) return NULL;
    json_t *all = memchr(text, 0, n) ? NULL : json_stringn(text, n);
    if (!all) fail(EXIT_DATA, path, "is not UTF-8 text; fetch it again, or remove it");
    free(text);
    return all;
}

static void parse(Origin *o, int k, const char *place)
{
    json_error_t error;
    const json_t *text = json_object_get(o->files, names[k]);
    size_t n = strlen(names[k]);
    if (!text || strcmp(names[k] + n - 5, ".json") != 0) return;
    o->parsed[k] = json_loads(json_string_value(text), 0, &error);
    if (!o->parsed[k]) /* "model_max_length": 1000000000000000019884624838656 */
        o->parsed[k] = json_loads(json_string_value(text), JSON_DECODE_INT_AS_REAL, &error);
    if (!json_is_object(o->parsed[k]))
        fail(EXIT_DATA, place, "expected a JSON object in %s%s%s; fetch it again, or remove it", names[k],
             o->parsed[k] ? "" : ": ", o->parsed[k] ? "" : error.text);
}

static Origin *origin_of(json_t *files, const char *place)
{
    Origin *o = must_alloc(sizeof *o);
    o->files = files;
    for (int k = 0; k < NAMES; k++) {
        const json_t *text = json_object_get(files, names[k]);
        if (text && !json_is_string(text)) fail(EXIT_DATA, place, "%s: expected a text; the file is damaged", names[k]);
        if (!text) continue;
        parse(o, k, place);
        o->name[o->n++] = names[k];
    }
    return o;
}

static Origin *read_kept(const char *path)
{
    json_error_t error;
    size_t n = 0;
    char *text = read_origin_file(path, &n);
    json_t *all = text ? json_loadb(text, n, JSON_REJECT_DUPLICATES, &error) : NULL;
    json_t *files = json_object_get(all, "files");
    free(text);
    if (!json_is_object(files))
        fail(EXIT_DATA, path, "expected {\"files\": {name: text, …}}, as a checkpoint has it%s%s", all ? "" : ": ",
             all ? "" : error.text);
    return origin_of(files, path);
}

static json_t *origin_file_text(const char *weights, const char *folder, const char *name)
{
    bool gguf = is_gguf(weights);
    char *found = gguf ? gguf_file(weights, name) : text_of("%s/%s", folder, name);
    json_t *text = !gguf ? text_of_file(found) : found ? json_string(found) : NULL;
    free(found);
    return text;
}

Origin *read_origin(const char *weights)
{
    char *folder = folder_of(weights), *kept = text_of("%s/huggingface.json", folder);
    Origin *o = NULL;
    if (access(kept, F_OK) == 0 && !is_gguf(weights)) {
        o = read_kept(kept);
    } else if (is_exchange(weights) && !is_llmc(weights)) {
        json_t *files = json_object();
        for (int k = 0; k < NAMES; k++) {
            json_t *text = origin_file_text(weights, folder, names[k]);
            if (text) json_object_set_new(files, names[k], text);
        }
        o = origin_of(files, folder);
    } else {
        free(folder);
    }
    free(kept);
    return o;
}

/* ------------------------------------------------------------------ access */

char *origin_text(const Origin *o)
{
    json_t *all = json_pack("{s:O}", "files", o->files);
    char *text = json_dumps(all, JSON_INDENT(1) | JSON_SORT_KEYS);
    json_decref(all);
    return text;
}

int origin_files(const Origin *o) { return o ? o->n : 0; }
const char *origin_name(const Origin *o, int k) { return o->name[k]; }

const char *origin_file(const Origin *o, const char *name)
{
    return o ? json_string_value(json_object_get(o->files, name)) : NULL;
}

const json_t *origin_object(const Origin *o, const char *name)
{
    for (int k = 0; o && k < NAMES; k++)
        if (strcmp(names[k], name) == 0) return o->parsed[k];
    return NULL;
}

const char *origin_template(const Origin *o)
{
    size_t i;
    const json_t *one, *own = json_object_get(origin_object(o, "tokenizer_config.json"), "chat_template");
    const char *file = origin_file(o, "chat_template.jinja");
    if (!own) own = json_object_get(origin_object(o, "chat_template.json"), "chat_template");
    if (file || json_is_string(own)) return file ? file : json_string_value(own);
    json_array_foreach(own, i, one)
    {
        const char *name = json_string_value(json_object_get(one, "name"));
        if (name && strcmp(name, "default") == 0) return json_string_value(json_object_get(one, "template"));
    }
    return NULL;
}

/* ------------------------------------------------------------------ tokens */

static bool speaks_of_tokens(const char *key)
{
    return strstr(key, "token_id") || strstr(key, "suppress_tokens") || strcmp(key, "bad_words_ids") == 0;
}

static json_t *without_tokens(const json_t *all)
{
    const char *key;
    json_t *value, *rest = json_object();
    json_object_foreach((json_t *)all, key, value) if (!speaks_of_tokens(key)) json_object_set(rest, key, value);
    char *text = json_dumps(rest, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
    json_t *string = json_string(text);
    json_decref(rest);
    free(text);
    return string;
}

void forget_tokens(Origin *o)
{
    json_t *files = json_object();
    for (int k = 0; k < 2; k++) /* config.json, generation_config.json */
        if (o->parsed[k]) json_object_set_new(files, names[k], without_tokens(o->parsed[k]));
    *o = *origin_of(files, "config.json");
}

Tokenizer *tokenizer_beside(const char *weights)
{
    if (is_gguf(weights)) {
        char *text = gguf_file(weights, "tokenizer.json");
        Tokenizer *k = tokenizer_of_json(weights, text, (int64_t)strlen(text));
        free(text);
        return k;
    }
    char *folder = folder_of(weights);
    Tokenizer *k = saved_tokenizer(folder);
    free(folder);
    return k;
}

Tokenizer *tokenizer_named(const char *path) { return is_gguf(path) ? tokenizer_beside(path) : load_tokenizer(path); }

/* Compares the text of tokenizer.json, or its tokens with those of a GGUF.  Also true if there is none beside the
 * weights: then --tokenizer gives theirs. */
bool came_with(const Tokenizer *k, const char *weights)
{
    char *own = tokenizer_text(k);
    if (is_gguf(weights)) {
        bool is = gguf_has_tokens(weights, own);
        free(own);
        return is;
    }
    size_t n = 0;
    char *folder = folder_of(weights), *path = text_of("%s/tokenizer.json", folder),
         *theirs = read_origin_file(path, &n);
    while (n && isspace((unsigned char)theirs[n - 1])) n--;
    bool is = !theirs || (strlen(own) == n && memcmp(own, theirs, n) == 0);
    free(own);
    free(theirs);
    free(path);
    free(folder);
    return is;
}
