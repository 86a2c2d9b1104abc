/* tables.c: a program's tables: entries, their tensors, elements and sizes. */
#include "base/bug.h"
#include "interface/lathe_model.h"
#include "math/blocks.h"
#include "model/place.h"
#include "model/tables.h"

#include <math.h>
#include <string.h>

static const char *const entry_names[] = {
#define ENTRY(name, ...) [ENTRY_##name] = #name,
#include "interface/entries.def"
};

const char *entry_word(Entry entry) { return entry_names[entry]; }

const Lathe_entry *find_entry(const Lathe_model *m, Entry entry)
{
    for (int i = 0; i < m->entries; i++)
        if (strcmp(m->entry[i].name, entry_names[entry]) == 0) return &m->entry[i];
    return NULL;
}

const Lathe_entry *find_turn(const Lathe_model *m, Entry entry, const char *turn)
{
    for (int i = 0; i < m->entries; i++) {
        const Lathe_entry *e = &m->entry[i];
        if (strcmp(e->name, entry_names[entry]) == 0 && e->turn && strcmp(e->turn, turn) == 0) return e;
    }
    return NULL;
}

const Lathe_entry *entry_beside(const Lathe_model *m, Entry entry, const Lathe_entry *of)
{
    return of->turn ? find_turn(m, entry, of->turn) : find_entry(m, entry);
}

void check_entries(const Lathe_model *m)
{
    int known = 0;
    for (int e = NO_ENTRY + 1; e <= ENTRIES; e++) {
        const Lathe_entry *first = find_entry(m, (Entry)e);
        for (int i = 0; first && !first->turn && i < m->entries; i++) /* train: one for each number of micro-batches */
            known += strcmp(m->entry[i].name, first->name) == 0;
        for (int k = 0; k < m->turns; k++) known += find_turn(m, (Entry)e, m->turn[k].name) != NULL;
    }
    bug_if(known != m->entries);
}

void set_scalars(const Lathe_entry *e, char *in, int32_t seed, int64_t step, int64_t position)
{
    for (int i = 0; i < e->inputs; i++) {
        int32_t *at = (int32_t *)(in + e->input[i].offset);
        switch (e->input[i].role) {
        case LATHE_SEED: *at = seed; break;
        case LATHE_STEP: *at = (int32_t)step; break;
        case LATHE_POSITION: *at = (int32_t)position; break;
        case LATHE_FIRST_ROW: *at = 0; break; /* set_first_row() of trainer/ranks.c sets others */
        case LATHE_LOSS_SCALE: *(float *)(void *)at = FIRST_LOSS_SCALE; break; /* a turn has its own */
        default: break;
        }
    }
}

int dtype_size(Lathe_dtype t)
{
    static const int size[] = {
        [LATHE_BOOL] = 1, [LATHE_I32] = 4, [LATHE_F32] = 4, [LATHE_F64] = 8, [LATHE_BF16] = 2, [LATHE_F16] = 2};
    return size[t];
}

int64_t bytes_of_numbers(Lathe_dtype t, int64_t n)
{
    int64_t block = lathe_bytes_of_block(t);
    bug_if(block && n % LATHE_BLOCK);
    return block ? n / LATHE_BLOCK * block : n * dtype_size(t);
}

#define BLOCK_WORD(member, ...) [LATHE_##member] = #member,
static const char *const block_words[] = {LATHE_BLOCK_TYPES(BLOCK_WORD)};
#define SMALL_WORD(member, word, ...) [LATHE_##member] = word,
static const char *const small_words[] = {LATHE_BLOCK_TYPES(SMALL_WORD)};
enum { BLOCK_WORDS = sizeof block_words / sizeof *block_words };

const char *block_word(Lathe_dtype t) { return (int)t < BLOCK_WORDS ? block_words[t] : NULL; }

const char *small_block_word(Lathe_dtype t) { return (int)t < BLOCK_WORDS ? small_words[t] : NULL; }

int64_t tensor_size(const Lathe_tensor *t)
{
    int64_t n = 1;
    for (int k = 0; k < t->rank; k++) n *= t->dim[k];
    return n;
}

double read_element(Lathe_dtype t, const void *at, int64_t i)
{
    switch (t) {
    case LATHE_BOOL: return ((const unsigned char *)at)[i];
    case LATHE_I32: return ((const int32_t *)at)[i];
    case LATHE_F32: return (double)((const float *)at)[i];
    case LATHE_BF16: return (double)from_bf16_f32(((const bf16 *)at)[i]);
    case LATHE_F16: return (double)from_f16_f32(((const f16 *)at)[i]);
    case LATHE_F64: return ((const double *)at)[i];
    default: return (double)block_element(t, at, i);
    }
}

void write_real(Lathe_dtype t, void *at, int64_t i, double x)
{
    if (t == LATHE_F64) ((double *)at)[i] = x;
    else if (t == LATHE_BF16) ((bf16 *)at)[i] = to_bf16_f64(x);
    else if (t == LATHE_F16) ((f16 *)at)[i] = to_f16_f64(x);
    else ((float *)at)[i] = (float)x;
}

bool weighs_rows(const Lathe_tensor *t) { return t->role == LATHE_TARGETS && strcmp(t->name, "weight") == 0; }

const Lathe_tensor *tensor_with_role(const Lathe_entry *e, Lathe_role role)
{
    for (int i = 0; i < e->inputs; i++)
        if (e->input[i].role == role) return &e->input[i];
    return NULL;
}

const Lathe_tensor *output_named(const Lathe_entry *e, const char *name)
{
    for (int i = 0; i < e->outputs; i++)
        if (strcmp(e->output[i].name, name) == 0) return &e->output[i];
    return NULL;
}

double output_scalar(const Lathe_entry *e, const char *out, const char *name)
{
    const Lathe_tensor *t = output_named(e, name);
    bug_if(!t);
    double x = read_element(t->dtype, out + t->offset, 0);
    return isnan(x) ? (double)NAN : x; /* its sign means nothing */
}

int64_t class_count(const Lathe_model *m)
{
    if (m->vocab) return m->vocab;
    for (int i = 0; i < m->entries; i++) {
        const Lathe_tensor *t = output_named(&m->entry[i], "logits");
        if (t && t->rank) return t->dim[t->rank - 1];
    }
    return 0;
}
