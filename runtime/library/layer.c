/* layer.c: a layer inside another program (lathe build --layer): outputs from inputs, then gradients from those of the
 * outputs.
 *
 * The entry layer leaves in the arena what layer_back reads.  If another call has used the arena in between, or a
 * gradient is asked for twice, layer runs again, with the same draws. */
#include "library/library.h"
#include "lathe_rt.h"
#include "model/tables.h"
#include "step/entry.h"

#include <string.h>

/* Outputs, or the gradients of inputs among them. */
static void copy_outputs(const Library *l, const Lathe_entry *e, void *const *wanted, bool gradients)
{
    const char *out = l->memory.call + align64(e->in_bytes);
    for (int k = 0; k < e->outputs; k++)
        if (wanted[k] && is_gradient_of_layer(&e->output[k]) == gradients)
            memcpy(wanted[k], out + e->output[k].offset,
                   (size_t)(tensor_size(&e->output[k]) * dtype_size(e->output[k].dtype)));
}

static int run_forward(Library *l, const Lathe_entry *e, const void *const *given, int32_t seed)
{
    const int code = take_given(l, e, given, seed, 0, false);
    return code ? code : run_shown(l, e);
}

static int forward_open(Library *l, const void *const *given, int32_t seed, void *const *wanted, int64_t *ticket)
{
    const Lathe_entry *e = entry_of_library(l, ENTRY_layer);
    const int code = e ? run_forward(l, e, given, seed) : LIBRARY_USAGE;
    if (code) return code;
    copy_outputs(l, e, wanted, false);
    *ticket = l->ticket = ++l->tickets;
    return LIBRARY_FINE;
}

int forward_library(Library *l, const void *const *given, int32_t seed, void *const *wanted, int64_t *ticket)
{
    int code = begin_library_call(l);
    return code ? code : end_library_call(l, forward_open(l, given, seed, wanted, ticket));
}

static int backward_open(Library *l, int64_t ticket, const void *const *given, int32_t seed, void *const *wanted)
{
    const Lathe_entry *e = entry_of_library(l, ENTRY_layer), *back = e ? entry_of_library(l, ENTRY_layer_back) : NULL;
    if (!back) return LIBRARY_USAGE;
    int code = ticket && ticket == l->ticket ? LIBRARY_FINE : run_forward(l, e, given, seed);
    if (!code) code = take_given(l, e, given, seed, 0, true);
    if (!code) code = run_shown(l, back);
    if (!code) copy_outputs(l, e, wanted, true);
    return code;
}

int backward_library(Library *l, int64_t ticket, const void *const *given, int32_t seed, void *const *wanted)
{
    int code = begin_library_call(l);
    return code ? code : end_library_call(l, backward_open(l, ticket, given, seed, wanted));
}
