/* text.c: a text, token by token: the entry decode. */
#include "library/library.h"
#include "model/tables.h"

#include <string.h>

/* The places that decode has; 0: it needs none, and a text may have any length. */
static int64_t places_of_text(const Library *l, const Lathe_entry *e)
{
    const int64_t room = lathe_room(l->model->seq, l->model->context);
    if (!tensor_with_role(e, LATHE_POSITION)) return 0;
    return room < l->model->seq ? room : l->model->seq;
}

static void forget_text(Library *l)
{
    for (const Lathe_tensor *s = l->model->state; s < l->model->state + l->model->states; s++)
        if (s->role == LATHE_STATE)
            memset((char *)l->memory.state + s->offset, 0, (size_t)bytes_of_numbers(s->dtype, tensor_size(s)));
    l->position = 0;
}

static int next_open(Library *l, int32_t token, void *scores)
{
    const Lathe_entry *e = entry_of_library(l, ENTRY_decode);
    if (!e) return LIBRARY_USAGE;
    const int64_t places = places_of_text(l, e);
    const Lathe_tensor *tokens = tensor_with_role(e, LATHE_TOKENS), *logits = output_named(e, "logits");
    if (token < 0 || token >= l->model->vocab)
        return fail_library(l, LIBRARY_DATA, "next: expected a token 0 to %lld, found %d",
                            (long long)l->model->vocab - 1, (int)token);
    if (places && l->position == places)
        return fail_library(l, LIBRARY_USAGE,
                            "next: the text has %lld tokens, as many as the model has places for; begin "
                            "another one",
                            (long long)places);
    memcpy(l->memory.call + tokens->offset, &token, sizeof token);
    set_scalars(e, l->memory.call, l->seed, 0, l->position);
    int code = run_shown(l, e);
    if (code) return code;
    l->position++;
    if (scores)
        memcpy(scores, l->memory.call + align64(e->in_bytes) + logits->offset,
               (size_t)(l->model->vocab * dtype_size(logits->dtype)));
    return LIBRARY_FINE;
}

int next_library(Library *l, int32_t token, void *scores)
{
    int code = begin_library_call(l);
    return code ? code : end_library_call(l, next_open(l, token, scores));
}

int forget_library(Library *l)
{
    int code = begin_library_call(l);
    if (code) return code;
    forget_text(l);
    return end_library_call(l, LIBRARY_FINE);
}
