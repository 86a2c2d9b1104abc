/* adapters.c: adapters that are given beside weights (--adapter): one, or several over one base.
 *
 * What is trained lies at the head of the flat array of parameters, so an adapter is the bytes of that head, a few MB.
 * The weights behind it are there once. */
#include "trainer/adapters.h"
#include "base/words.h"
#include "interface/lathe_model.h"
#include "model/base.h"
#include "model/gguf.h"
#include "model/gguf_out.h"
#include "model/peft.h"
#include "model/tables.h"
#include "step/entry.h"
#include "trainer/memory.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ------------------------------------------------------------------ one */

static void check_base(const Trainer *t, const char *adapter, const char *weights, const void *flat)
{
    char *wanted = base_of_adapter(adapter);
    char *base = wanted && !t->other_base ? base_of_weights(t->model, weights, flat) : NULL;
    if (base && strcmp(base, wanted) != 0)
        fail(EXIT_DATA, adapter,
             "it was trained over weights of hash %s, and those of %s have %s; give the weights that it was trained "
             "over, or --other-base to use it over these",
             wanted, weights, base);
    free(wanted);
    free(base);
}

void take_adapter(const Trainer *t, const char *adapter, const char *weights, void *flat)
{
    struct stat about;
    if (!weights) fail(EXIT_USAGE, NULL, "--adapter is of adapters over weights: give these with --weights PATH");
    if (stat(adapter, &about) == 0 && !S_ISDIR(about.st_mode) && !is_gguf(adapter))
        fail(EXIT_DATA, adapter, "expected a folder of PEFT's, or a GGUF file of an adapter");
    if (t->model->adapters && has_own_adapters(t->model, weights))
        fail(EXIT_USAGE, weights,
             "these weights have adapters of their own, which --adapter would replace; give the weights that it was "
             "trained over, without adapters");
    (is_gguf(adapter) ? read_gguf_adapter : read_peft)(t->model, adapter, flat);
    check_base(t, adapter, weights, flat);
}

/* ------------------------------------------------------------------ several */

static int64_t adapter_bytes(const Lathe_model *m) { return lathe_trained_elements(m) * dtype_size(lathe_weights(m)); }

/* The path behind NAME=, or NULL: the text is a path itself. */
static const char *path_behind_name(const char *text)
{
    const char *equals = strchr(text, '='), *slash = strchr(text, '/');
    bool named = equals && (!slash || equals < slash) && access(text, F_OK) != 0;
    return named ? equals + 1 : NULL;
}

static void keep_adapter(Adapters *a, const char *name)
{
    for (int k = 0; k < a->n; k++)
        if (strcmp(a->name[k], name) == 0)
            fail(EXIT_USAGE, NULL, "--adapter %s=…: %s of that name; give another", name,
                 k ? "there are two" : "the model itself is");
    a->name[a->n] = name;
    memcpy(a->kept + a->n++ * a->bytes, a->memory->params, (size_t)a->bytes);
}

static char *name_in(const char *text, const char *path)
{
    char *name = text_of("%.*s", (int)(path - 1 - text), text);
    if (!*name || !*path) fail(EXIT_USAGE, NULL, "--adapter %s: expected NAME=PATH", text);
    return name;
}

static void open_several(Adapters *a, const Trainer *t, const char *weights)
{
    const Words *given = &t->adapters;
    a->bytes = adapter_bytes(a->m);
    check_memory_beside(t, a->memory, a->bytes * (given->n + 1));
    a->name = must_alloc(sizeof *a->name * (size_t)(given->n + 1));
    a->kept = must_alloc((size_t)(a->bytes * (given->n + 1)));
    keep_adapter(a, a->m->name);
    for (int k = 0; k < given->n; k++) {
        const char *text = given->at[k], *path = path_behind_name(text);
        if (!path) fail(EXIT_USAGE, NULL, "--adapter %s: of several each needs a name: NAME=%s", text, text);
        take_adapter(t, path, weights, a->memory->params);
        keep_adapter(a, name_in(text, path));
    }
    memcpy(a->memory->params, a->kept, (size_t)a->bytes);
    show(stderr, "%d adapters over one base, %s each\n", given->n, bytes_text(a->bytes));
}

void open_adapters(Adapters *a, Trainer *t, const char *weights, Memory *memory)
{
    const Words *given = &t->adapters;
    *a = (Adapters){.m = t->model, .memory = memory};
    if (given->n == 1 && !path_behind_name(given->at[0])) take_adapter(t, given->at[0], weights, memory->params);
    else if (given->n) open_several(a, t, weights);
}

static int adapter_named(const Adapters *a, const char *name)
{
    int k = 0;
    while (name && k < a->n && strcmp(a->name[k], name) != 0) k++;
    return k;
}

bool is_in_use(const Adapters *a, const char *name)
{
    int k = adapter_named(a, name);
    return k == a->n || k == a->used;
}

bool use_adapter(Adapters *a, const char *name)
{
    int k = adapter_named(a, name);
    if (!a->n) return true;
    if (k == a->n) return false;
    if (k == a->used) return true;
    a->used = k;
    memcpy(a->memory->params, a->kept + k * a->bytes, (size_t)a->bytes);
    device_up(a->memory->params, a->bytes);
    return true;
}
