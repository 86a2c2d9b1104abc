/* gguf_types.c: in which type each tensor of a GGUF file is written: --type q4_0,*embed*=q8_0. */
#include "base/words.h"
#include "model/adapter.h"
#include "model/gguf_writer.h"
#include "model/place.h"
#include "model/tables.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const Gguf_type types[] = {{"f32", 0, LATHE_F32, 0},
                                  {"f16", 1, LATHE_F16, 1},
                                  {"q4_0", 2, LATHE_Q4_0, 2},
                                  {"q8_0", 8, LATHE_Q8_0, 7},
                                  {"bf16", 30, LATHE_BF16, 32}};

static const Gguf_type *type_named(const char *name, size_t n)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strlen(types[i].name) == n && strncasecmp(types[i].name, name, n) == 0) return &types[i];
    return NULL;
}

/* ------------------------------------------------------------------ what is asked for */

/* TYPE, or PATTERN=TYPE */
typedef struct Word {
    const Gguf_type *type; /* NULL: it is none */
    char *match;           /* from malloc; NULL: of all */
} Word;

/* The word that begins at *rest, which then is behind it. */
static Word next_type_word(const char **rest)
{
    const char *at = *rest, *equals = NULL;
    size_t n = strcspn(at, ",");
    for (size_t i = 0; i < n; i++)
        if (at[i] == '=') equals = at + i;
    const char *type = equals ? equals + 1 : at;
    *rest = at + n + (at[n] != 0);
    return (Word){type_named(type, n - (size_t)(type - at)), equals ? text_of("%.*s", (int)(equals - at), at) : NULL};
}

bool is_gguf_type(const char *asked)
{
    bool sound = *asked != 0;
    for (const char *rest = asked; *rest;) {
        bool first = rest == asked;
        Word word = next_type_word(&rest);
        sound = sound && word.type && (word.match ? *word.match : first);
        free(word.match);
    }
    return sound;
}

bool asks_for_blocks(const char *asked)
{
    bool some = false;
    while (*asked) {
        Word word = next_type_word(&asked);
        some |= word.type && block_word(word.type->dtype);
        free(word.match);
    }
    return some;
}

const Gguf_type *gguf_main_type(const char *asked)
{
    Word word = next_type_word(&asked);
    const Gguf_type *type = word.match ? &types[0] : word.type;
    free(word.match);
    return type;
}

/* The last pattern that names it says its type; NULL: none does. */
static const Gguf_type *type_by_pattern(const char *asked, const char *name)
{
    const Gguf_type *type = NULL;
    for (const char *rest = asked; *rest;) {
        Word word = next_type_word(&rest);
        if (word.match && lathe_matches(word.match, name)) type = word.type;
        free(word.match);
    }
    return type;
}

/* ------------------------------------------------------------------ of a tensor */

static int64_t row_of_file(const Stored *place)
{
    return place->rank ? place->dim[place->transposed ? 0 : place->rank - 1] : 1;
}

int64_t elements_at_once(const Gguf_type *type) { return lathe_bytes_of_block(type->dtype) ? LATHE_BLOCK : 1; }

bool keeps_blocks(const Writer *w, const Hf_tensor *t, const Stored *place, const Gguf_type *type)
{
    return lathe_bytes_of_block(type->dtype) && type_of_weight(w->g->model, t->param) == type->dtype && !t->zero &&
           t->transposed == place->transposed && !is_adapted(w->g->model, t->param);
}

/* In files of 4 bits llama.cpp's tool gives the logits' matrix at least 6, and positions 32, which an encoder's always
 * have; we give the former 8, unless its weights have only 4 anyway. */
static const Gguf_type *own_type(const Writer *w, const Hf_tensor *t, const char *name, const Stored *place)
{
    const Gguf_type *type = gguf_main_type(w->g->type);
    const bool small = type->dtype == LATHE_Q4_0 && !keeps_blocks(w, t, place, type);
    if (small && strcmp(name, w->logits) == 0) return type_named("q8_0", 4);
    return (small || w->a->tokenizer) && strcmp(name, "position_embd.weight") == 0 ? &types[0] : type;
}

/* Vectors, routers, an encoder's types, and rows that are not whole blocks, stay f32. */
static bool is_matrix(const char *name, const Stored *place)
{
    return place->rank >= 2 && !strstr(name, ".ffn_gate_inp.") && strcmp(name, "token_types.weight") != 0;
}

const Gguf_type *type_of_tensor(const Writer *w, const Hf_tensor *t, const char *name, const Stored *place)
{
    if (!t || !is_matrix(name, place)) return &types[0];
    const Gguf_type *asked = type_by_pattern(w->g->type, t->own), *type = asked ? asked : own_type(w, t, name, place);
    return row_of_file(place) % elements_at_once(type) ? &types[0] : type;
}

/* ------------------------------------------------------------------ whether patterns make sense */

static bool names_matrix(const Writer *w, const char *pattern)
{
    bool found = false;
    for (int i = 0; i < w->g->hf->n && !found; i++) {
        const Hf_tensor *t = &w->g->hf->tensor[i];
        char *name = gguf_name(w->a, t->name);
        const Stored place = {.rank = t->rank};
        found = name && is_matrix(name, &place) && lathe_matches(pattern, t->own);
        free(name);
    }
    return found;
}

bool same_pattern(const Writer *w, const Hf_tensor *a, const Hf_tensor *b)
{
    return type_by_pattern(w->g->type, a->own) == type_by_pattern(w->g->type, b->own);
}

void check_gguf_types(const Writer *w)
{
    for (const char *rest = w->g->type; *rest;) {
        Word word = next_type_word(&rest);
        if (word.match && !names_matrix(w, word.match))
            fail(EXIT_USAGE, NULL, "--type %s=%s: no matrix that is written has such a name; `trainer info` lists them",
                 word.match, word.type->name);
        free(word.match);
    }
}
