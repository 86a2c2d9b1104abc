/* base.c: which weights adapters belong to, their base, by a hash of the frozen ones as they are in a file.
 *
 * Each element counts by its tensor's name, its place in it and its value as a float, and the counts are added.  So the
 * hash is the same for a folder, a GGUF and a checkpoint that hold the same numbers, in F32, F16, BF16 or blocks, and
 * whatever type they have in memory.  It is another one where numbers were rounded.  Zeros count nothing.  It tells
 * mistakes, not forgeries. */
#include "model/base.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/words.h"
#include "model/adapter.h"
#include "model/gguf.h"
#include "model/import.h"
#include "model/init.h"
#include "model/place.h"
#include "model/tables.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LONGEST_NAME = 512, AT_ONCE = 1024 };

/* ------------------------------------------------------------------ the hash */

static uint64_t hashed(uint64_t x)
{
    x = (x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
    x = (x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
    return x ^ x >> 32;
}

/* place: of an element of the tensor called so */
static inline uint64_t count_of(uint64_t name, int64_t place, float f)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    if (f == 0) return 0;
    return hashed(name + (uint64_t)place * UINT64_C(0x9e3779b97f4a7c15) + bits * UINT64_C(0xc2b2ae3d27d4eb4f));
}

/* t: how it lies in files of Hugging Face; NULL: as here. */
static int64_t own_place(const Hf_tensor *t, const Stored *from, int64_t i)
{
    int64_t e = unturned_place(from, i);
    return t && t->transposed ? e % t->dim[1] * t->dim[0] + e / t->dim[1] : e;
}

static uint64_t sum_floats(uint64_t named, const float *at, int64_t n)
{
    uint64_t sum = 0;
#pragma omp parallel for reduction(+ : sum) if (n > 64 * AT_ONCE)
    for (int64_t i = 0; i < n; i++) sum += count_of(named, i, at[i]);
    return sum;
}

static uint64_t sum_stored(uint64_t named, const Hf_tensor *t, const Stored *from, int64_t n)
{
    const bool in_order = !from->turned && !from->lead && !from->apart && !from->transposed && !(t && t->transposed);
    uint64_t sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (int64_t first = 0; first < n; first += AT_ONCE) {
        double values[AT_ONCE];
        int64_t count = n - first < AT_ONCE ? n - first : AT_ONCE;
        read_stored(from, first, count, values);
        for (int64_t i = 0; in_order && i < count; i++) sum += count_of(named, first + i, (float)values[i]);
        for (int64_t i = 0; !in_order && i < count; i++)
            sum += count_of(named, own_place(t, from, first + i), (float)values[i]);
    }
    return sum;
}

/* ------------------------------------------------------------------ of weights */

typedef struct Sum {
    const Lathe_model *m;
    const void *flat; /* where these weights have been read to; NULL: nowhere */
    uint64_t all;
} Sum;

/* A copy of a parameter where it lies in memory as it is in the file, which need not be read twice then; or NULL. */
static const float *floats_of(const Sum *s, const Lathe_param *p, int64_t copy, const Hf_tensor *t)
{
    bool plain = s->flat && lathe_weights(s->m) == LATHE_F32 && !lies_in_blocks(s->m, p) && !p->zero_row;
    if (!plain || contiguous_elements(p) != copy_elements(p) || (t && t->ids && t->transposed)) return NULL;
    return parameter_at(s->m, s->flat, copy_place(p, copy, 0));
}

static void add_tensor(Sum *s, const char *name, const Lathe_param *p, int64_t copy, const Hf_tensor *t,
                       const Stored *from)
{
    const float *at = from->lead ? NULL : floats_of(s, p, copy, t);
    const uint64_t named = hash_of(name, strlen(name));
    int64_t n = 1;
    for (int k = 0; k < from->rank; k++) n *= from->dim[k];
    s->all += at ? sum_floats(named, at, n) : sum_stored(named, t, from, n);
    leave_stored(from);
}

static bool is_of_base(const Lathe_model *m, const Lathe_param *p)
{
    return !lathe_is_trained(m, p) && !is_of_adapter(m, p);
}

static void add_exchanged(void *with, const Hf_tensor *t, const Stored *from)
{
    Sum *s = with;
    if (!t->zero && is_of_base(s->m, t->param)) add_tensor(s, t->own, t->param, t->copy, t, from);
}

static void add_own(Sum *s, const Store *store)
{
    for (const Lathe_param *p = s->m->param; p < s->m->param + s->m->params; p++)
        for (int64_t c = 0; is_of_base(s->m, p) && c < copies_of_parameter(p); c++) {
            char name[LONGEST_NAME];
            copy_name(name, sizeof name, p, c);
            const Stored *from = find_stored(store, name);
            if (from && is_stored_real(from)) add_tensor(s, name, p, c, NULL, from);
        }
}

char *base_of_weights(const Lathe_model *m, const char *path, const void *flat)
{
    Sum s = {.m = m, .flat = flat};
    Store store;
    if (is_exchange(path)) {
        each_exchanged(m, path, add_exchanged, &s);
    } else {
        read_store(&store, path);
        const char *said = store_note(&store, BASE_NOTE);
        char *own = said ? text_of("%.64s", said) : NULL;
        if (!own) add_own(&s, &store);
        close_store(&store);
        if (own) return own;
    }
    return text_of("%016llx", (unsigned long long)s.all);
}

bool has_own_adapters(const Lathe_model *m, const char *weights)
{
    Store store;
    if (is_exchange(weights)) return false;
    read_store(&store, weights);
    bool has = holds_adapters(m, &store);
    close_store(&store);
    return has;
}

/* ------------------------------------------------------------------ of adapters alone */

char *base_of_adapter(const char *path)
{
    Store s;
    char *file = is_gguf(path) ? NULL : text_of("%s/adapter_model.safetensors", path);
    if (file) read_store(&s, file);
    else read_gguf(&s, path);
    const char *said = file ? store_note(&s, BASE_NOTE) : json_string_value(json_object_get(s.header, BASE_NOTE));
    char *own = said ? text_of("%.64s", said) : NULL;
    close_store(&s);
    free(file);
    return own;
}
