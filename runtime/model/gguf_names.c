/* gguf_names.c: what Hugging Face calls a GGUF file's tensors, and the other way, by the tables of gguf_tables.c. */
#include "base/words.h"
#include "model/gguf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBERS = 2 }; /* of a layer and of an expert */

typedef struct Digits { /* of a name; n = 0: it has no such number */
    const char *at;
    int n;
} Digits;

/* The numbers of a name up to its last dot, where `from` has %d; false: it does not fit. */
static bool fits(const char *from, const char *name, Digits *number)
{
    const char *end = strrchr(name, '.');
    int k = 0;
    for (; *from && end && name <= end; from++) {
        if (*from != '%') {
            if (*from != *name++) return false;
            continue;
        }
        number[k] = (Digits){name, (int)strspn(name, "0123456789")};
        name += number[k].n;
        if (!number[k++].n) return false;
        from++; /* d */
    }
    return !*from && name == end;
}

/* `to` with these numbers (0 for those that are missing), and what follows the last dot of `name`. */
static char *spelled(const char *to, const Digits *number, const char *name)
{
    char *text = text_of("%s", "");
    for (const char *at = to, *next; *at; at = next) {
        bool is_number = *at == '%';
        next = is_number ? at + 2 : at + strcspn(at, "%");
        char *more = !is_number  ? text_of("%s%.*s", text, (int)(next - at), at)
                     : number->n ? text_of("%s%.*s", text, number->n, number->at)
                                 : text_of("%s0", text);
        number += is_number;
        free(text);
        text = more;
    }
    char *whole = text_of("%s%s", text, strrchr(name, '.'));
    free(text);
    return whole;
}

/* The name that `to` makes of one that fits `from`; NULL: it does not fit. */
static char *translated(const char *from, const char *to, const char *name)
{
    Digits number[NUMBERS] = {0};
    return fits(from, name, number) ? spelled(to, number, name) : NULL;
}

static const Gguf_tensor *row_behind(const Gguf_tensor *row) { return row->gguf ? row + 1 : row->next; }

/* Encoders with another head than their files' have a prefix before all but the head. */
static const char *bare_name(const Architecture *a, const char *hf)
{
    size_t n = a->prefix ? strlen(a->prefix) : 0;
    return n && strncmp(hf, a->prefix, n) == 0 ? hf + n : hf;
}

static const Gguf_tensor *tensor_row(const Architecture *a, bool is_hf, const char *name, char **other)
{
    if (is_hf) name = bare_name(a, name);
    for (const Gguf_tensor *row = a->tensor; row; row = row_behind(row))
        if (row->gguf && (*other = translated(is_hf ? row->hf : row->gguf, is_hf ? row->gguf : row->hf, name)))
            return row;
    return NULL;
}

char *gguf_name(const Architecture *a, const char *hf)
{
    char *name;
    return tensor_row(a, true, hf, &name) ? name : NULL;
}

char *hf_of_gguf(const Architecture *a, const char *gguf)
{
    char *name;
    return tensor_row(a, false, gguf, &name) ? name : NULL;
}

int64_t expert_of_name(const Architecture *a, const char *hf)
{
    char *name;
    Digits number[NUMBERS] = {0};
    const Gguf_tensor *row = tensor_row(a, true, hf, &name);
    if (!row) return -1;
    free(name);
    return row->order == JOINED && fits(row->hf, bare_name(a, hf), number) ? atoll(number[1].at) : -1;
}

char *name_of_expert(const Architecture *a, const char *gguf, int64_t expert)
{
    char *name, digits[24];
    const Gguf_tensor *row = tensor_row(a, false, gguf, &name);
    Digits number[NUMBERS] = {0};
    if (!row) return NULL;
    free(name);
    if (row->order != JOINED || !fits(row->gguf, gguf, number)) return NULL;
    number[1] = (Digits){digits, snprintf(digits, sizeof digits, "%lld", (long long)expert)};
    return spelled(row->hf, number, gguf);
}

/* A vector has the order of its matrix's rows. */
void gguf_order(const Architecture *a, const char *hf, int64_t head, Stored *t)
{
    char *name;
    const Gguf_tensor *row = tensor_row(a, true, hf, &name);
    if (!row) return;
    free(name);
    if (row->order == TURNED && a->turned) t->turned = head;
    if (row->order == APART) t->apart = head;
    if (row->order == LED) t->lead = a->lead;
    t->raised = row->order == RAISED;
    t->transposed = row->order == TRANSPOSED && t->rank == 2;
}

static void check_heads(const Store *s, const Stored *t)
{
    int64_t head = t->apart ? t->apart : t->turned, whole = t->apart ? 3 * head : head;
    if (head == 0 || head % 2 || t->rank == 0 || t->dim[0] % whole)
        fail(EXIT_DATA, s->path,
             "tensor %s: expected rows of whole heads of %lld, found %lld rows; the file is damaged", t->name,
             (long long)whole, (long long)(t->rank ? t->dim[0] : 0));
}

void rename_as_hf(const Store *s, const Architecture *a, Stored *t)
{
    char *name, *own = gguf_name(a, t->name);
    if (own) fail(EXIT_DATA, s->path, "tensor %.100s has no name of GGUF; convert the model again", t->name);
    const Gguf_tensor *row = tensor_row(a, false, t->name, &name);
    if (!row) return;
    free((char *)t->name);
    t->name = name;
    if (row->order == SAME) return;
    if (row->order == LED && t->rank != 2)
        fail(EXIT_DATA, s->path, "tensor %s: expected a matrix, found %d axes; the file is damaged", t->name, t->rank);
    bool in_heads = row->order == APART || (row->order == TURNED && a->turned);
    gguf_order(a, name, in_heads ? gguf_head(s, a) : 0, t);
    if (in_heads) check_heads(s, t);
    int64_t rows = t->dim[0];
    if (t->transposed) t->dim[0] = t->dim[1], t->dim[1] = rows;
}
