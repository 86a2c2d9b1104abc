/* hf.c: the model's tensors and configuration in Hugging Face's format, by the description's `hf`, which model.c has as
 * JSON.
 *
 *     config      keys of config.json that describe the model: written, and compared when a folder is read
 *     absent      the meaning of a config.json that lacks one of them (or has null)
 *     alike       {key: values}: other values that mean the same as that of config
 *     elsewhere   another place of a key: "rope_parameters.rope_theta"
 *     unset       keys that must be absent or null
 *     also        keys that are written and not checked
 *     harmless    {key: why}: keys that do not change what the model computes, beside those of hf_config.c
 *     ids         {config: the key with the number of ids, tensors: those with one row per id}: files have that number
 *                 of rows
 *     names       [[name here, name there], …], the first that fits; "*" stands for the same text in both
 *     transposed  matrices that are [in, out] there
 *     zeros       {name: shape}: tensors that exist only there; the first axes are for each %d
 *     copies      {name: parameter}: tensors that may exist there, and must equal that parameter's
 *     ignored     tensors that may exist there and are not parameters
 *     bases       architectures whose files have the same layers below another head: these files are read, too
 *     left        tensors of other heads, which are not read
 *     fresh       parameters that such files may lack, and which are then drawn
 *     aliases     [[their name, another one], …]: names in older files, and in those without a head
 *     ours        tensors that exist only here
 *     pooling     of an encoder: what its output is of a text in llama.cpp: "mean" or "cls", a vector of all tokens or of
 *                 the first; "rank", scores of classes
 *
 * All names are those of this model's files; `names` translates them. */
#include "base/words.h"
#include "interface/lathe_model.h"
#include "model/adapter.h"
#include "model/hf.h"
#include "model/init.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ names */

/* The text that `*` stands for; NULL if the name does not match.  A pattern without `*` matches itself. */
static char *text_of_star(const char *pattern, const char *name)
{
    const char *star = strchr(pattern, '*');
    size_t before = star ? (size_t)(star - pattern) : 0, after = star ? strlen(star + 1) : 0, n = strlen(name);
    if (!star) return strcmp(pattern, name) == 0 ? text_of("%s", "") : NULL;
    if (n < before + after || strncmp(name, pattern, before) != 0) return NULL;
    if (strcmp(name + n - after, star + 1) != 0) return NULL;
    return text_of("%.*s", (int)(n - before - after), name + before);
}

/* By a pair of patterns; NULL: the first does not fit. */
static char *translated(const json_t *pair, const char *name)
{
    char *text = text_of_star(json_string_value(json_array_get(pair, 0)), name);
    const char *to = json_string_value(json_array_get(pair, 1)), *star = strchr(to, '*');
    if (!text) return NULL;
    char *made = star ? text_of("%.*s%s%s", (int)(star - to), to, text, star + 1) : text_of("%s", to);
    free(text);
    return made;
}

char *hf_name(const Hf *hf, const char *name)
{
    size_t i;
    json_t *pair;
    json_array_foreach(json_object_get(hf->all, "names"), i, pair)
    {
        char *made = translated(pair, name);
        if (made) return made;
    }
    return text_of("%s", name);
}

/* Whether a name matches the template, where %d stands for a number. */
static bool is_made_of(const char *template, const char *name)
{
    for (; *template; template ++) {
        if (template[0] == '%' && template[1] == 'd') {
            if (!isdigit((unsigned char)*name)) return false;
            while (isdigit((unsigned char)*name)) name++;
            template ++;
        } else if (*template != *name++) {
            return false;
        }
    }
    return *name == 0;
}

bool hf_is_of(const Hf *hf, const char *template, const char *name)
{
    char *theirs = hf_name(hf, template);
    bool is = is_made_of(template, name) || is_made_of(theirs, name);
    free(theirs);
    return is;
}

bool hf_lists(const json_t *list, const char *word)
{
    for (size_t i = 0; i < json_array_size(list); i++)
        if (strcmp(json_string_value(json_array_get(list, i)), word) == 0) return true;
    return false;
}

const char *hf_type(const Hf *hf)
{
    return json_string_value(json_object_get(json_object_get(hf->all, "config"), "model_type"));
}

/* ------------------------------------------------------------------ tensors */

char *hf_alias(const Hf *hf, const char *name, int *k)
{
    const json_t *all = json_object_get(hf->all, "aliases");
    int n = (int)json_array_size(all);
    for (; *k < n * n; ++*k) { /* one of them, or two, one after the other */
        const json_t *first = json_array_get(all, (size_t)(*k / n)), *second = json_array_get(all, (size_t)(*k % n));
        char *one = translated(first, name), *two = one && *k / n != *k % n ? translated(second, one) : one;
        if (!two) {
            free(one);
            continue;
        }
        if (two != one) free(one);
        ++*k;
        return two;
    }
    return NULL;
}

bool hf_draws(const Lathe_model *m)
{
    if (!m->hf) return false;
    json_t *all = json_loads(m->hf, JSON_REJECT_DUPLICATES, NULL);
    bool draws = json_array_size(json_object_get(all, "fresh")) > 0;
    json_decref(all);
    return draws;
}

static void add_tensors(Hf *hf, const Lathe_param *p, bool zero)
{
    int64_t copies = copies_of_parameter(p);
    hf->tensor = must_grow(hf->tensor, sizeof *hf->tensor * (size_t)(hf->n + copies));
    for (int64_t c = 0; c < copies; c++) {
        Hf_tensor *t = &hf->tensor[hf->n++];
        char own[512];
        copy_name(own, sizeof own, p, c);
        if (hf_lists(json_object_get(hf->all, "ours"), own)) {
            hf->n--;
            continue;
        }
        *t = (Hf_tensor){.param = p, .copy = c, .zero = zero, .rank = p->rank - p->loops};
        t->own = text_of("%s", own);
        t->name = hf_name(hf, own);
        t->fresh = hf_lists(json_object_get(hf->all, "fresh"), p->export_name);
        t->transposed = hf_lists(json_object_get(hf->all, "transposed"), p->export_name);
        t->ids = hf_lists(json_object_get(json_object_get(hf->all, "ids"), "tensors"), p->export_name);
        for (int k = 0; k < t->rank; k++) t->dim[k] = p->dim[p->loops + (t->transposed ? t->rank - 1 - k : k)];
    }
}

/* A description of a tensor that is not a parameter, as one: name, shape and number of copies. */
static Lathe_param *zero_param(const char *name, const json_t *shape)
{
    Lathe_param *p = must_alloc(sizeof *p);
    *p = (Lathe_param){.name = name, .export_name = name, .where = "zeros", .rank = (int)json_array_size(shape)};
    for (const char *s = name; (s = strstr(s, "%d")); s += 2) p->loops++;
    for (int k = 0; k < p->rank; k++) p->dim[k] = json_integer_value(json_array_get(shape, (size_t)k));
    return p;
}

Hf open_hf(const Lathe_model *m)
{
    const char *name;
    json_t *shape;
    json_error_t error;
    if (!m->hf)
        fail(EXIT_ERROR, NULL,
             "%s cannot be exchanged with Hugging Face: its description has no hf; add hf = { config = { … } } "
             "(models/gpt.lua has one), and build again",
             m->name);
    Hf hf = {.all = json_loads(m->hf, JSON_REJECT_DUPLICATES, &error)};
    bug_if(!hf.all);
    for (int i = 0; i < m->params; i++)
        if (!is_of_adapter(m, &m->param[i])) add_tensors(&hf, &m->param[i], false);
    json_object_foreach(json_object_get(hf.all, "zeros"), name, shape) add_tensors(&hf, zero_param(name, shape), true);
    return hf;
}
