/* text.c: a text, token by token: the entry decode, and draws of the next one. */
#include "library/library.h"
#include "model/tables.h"

#include <math.h>
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
    if (l->seen) memset(l->seen, 0, (size_t)l->model->vocab);
    l->position = 0;
}

static const void *scores_of_next(const Library *l, const Lathe_entry *e)
{
    return l->memory.call + align64(e->in_bytes) + output_named(e, "logits")->offset;
}

static int check_token(Library *l, const char *function, int32_t token)
{
    if (token >= 0 && token < l->model->vocab) return LIBRARY_FINE;
    return fail_library(l, LIBRARY_DATA, "%s: expected a token 0 to %lld, found %d", function,
                        (long long)l->model->vocab - 1, (int)token);
}

/* ------------------------------------------------------------------ a token more */

static int next_open(Library *l, const char *function, int32_t token, const Lathe_entry *e)
{
    const int64_t places = places_of_text(l, e);
    int code = check_token(l, function, token);
    if (code) return code;
    if (places && l->position == places)
        return fail_library(l, LIBRARY_USAGE,
                            "%s: the text has %lld tokens, as many as the model has places for; begin "
                            "another one",
                            function, (long long)places);
    memcpy(l->memory.call + tensor_with_role(e, LATHE_TOKENS)->offset, &token, sizeof token);
    set_scalars(e, l->memory.call, l->seed, 0, l->position);
    code = run_open(l, e);
    if (code) return code;
    l->seen[token] = 1;
    l->position++;
    return LIBRARY_FINE;
}

int next_library(Library *l, int32_t token, void *scores)
{
    int code = begin_library_call(l);
    if (code) return code;
    const Lathe_entry *e = entry_of_library(l, ENTRY_decode);
    show_mean(l, true);
    code = e ? next_open(l, "next", token, e) : LIBRARY_USAGE;
    show_mean(l, false);
    if (!code && scores)
        memcpy(scores, scores_of_next(l, e), (size_t)(l->model->vocab * dtype_size(output_named(e, "logits")->dtype)));
    return end_library_call(l, code);
}

int forget_library(Library *l)
{
    int code = begin_library_call(l);
    if (code) return code;
    forget_text(l);
    return end_library_call(l, LIBRARY_FINE);
}

/* ------------------------------------------------------------------ which comes next */

static int check_sampling(Library *l, const Lathe_recipe *r, const Library_sampling *how)
{
    const bool fits = r->temperature >= 0 && r->temperature < INFINITY && r->top_k >= 0 && r->top_p >= 0 &&
                      r->top_p <= 1 && r->min_p >= 0 && r->min_p <= 1 && r->repetition_penalty >= 0 &&
                      r->repetition_penalty < INFINITY;
    if (!fits)
        return fail_library(l, LIBRARY_USAGE,
                            "sampling: expected a temperature from 0, top_k from 0, top_p and min_p from 0 to 1, and a "
                            "repetition_penalty from 0");
    if (!how || (how->ends >= 0 && how->ends <= MAX_ENDS && (!how->ends || how->end) && how->tokens >= 0))
        return LIBRARY_FINE;
    return fail_library(l, LIBRARY_USAGE, "sampling: expected at most %d ends that are not NULL, and tokens from 0",
                        MAX_ENDS);
}

typedef struct Drawing_of {
    Sampler sampler;
    Ends ends;
} Drawing_of;

/* *d must stay where it is. */
static int begin_drawing(Library *l, const Library_sampling *how, Drawing_of *d)
{
    Lathe_recipe r = l->model->recipe;
    if (how) {
        r.temperature = how->temperature, r.top_p = how->top_p, r.min_p = how->min_p;
        r.repetition_penalty = how->repetition_penalty, r.top_k = how->top_k;
    }
    const int code = check_sampling(l, &r, how);
    if (code) return code;
    const int64_t n = l->model->vocab, ids = how && how->tokens && how->tokens < n ? how->tokens : n;
    d->ends.n = how ? how->ends : 0;
    if (d->ends.n) memcpy(d->ends.id, how->end, (size_t)d->ends.n * sizeof *how->end);
    d->sampler = (Sampler){.n = n, .ids = ids, .ends = &d->ends, .may_end = true, .list = l->candidates};
    sampler_init(&d->sampler, &r, how ? how->seed : 0, 0);
    d->sampler.seen = l->seen;
    return LIBRARY_FINE;
}

static int draw_open(Library *l, const Drawing_of *d, const char *function, const Lathe_entry *e, const void *scores,
                     int32_t *token)
{
    Sampler s = d->sampler;
    const int32_t id = sample_token(&s, output_named(e, "logits")->dtype, scores, l->position);
    if (id == SCORE_NOT_FINITE)
        return fail_library(l, LIBRARY_DIVERGED, "%s: the score of token %d is %g; expected a number", function,
                            (int)s.list[0].id, s.list[0].weight);
    if (id == NO_TOKEN)
        return fail_library(l, LIBRARY_DATA, "%s: the model gives no probability to any token that may come next",
                            function);
    *token = id;
    return LIBRARY_FINE;
}

int draw_library(Library *l, const Library_sampling *how, const void *scores, int32_t *token)
{
    Drawing_of d;
    int code = begin_library_call(l);
    if (code) return code;
    const Lathe_entry *e = entry_of_library(l, ENTRY_decode);
    if (!e) code = LIBRARY_USAGE;
    else if (!scores || !token) code = fail_library(l, LIBRARY_USAGE, "draw: scores or token is NULL");
    else code = begin_drawing(l, how, &d);
    if (!code) code = draw_open(l, &d, "draw", e, scores, token);
    return end_library_call(l, code);
}

/* ------------------------------------------------------------------ a whole text */

static int check_room(Library *l, const Lathe_entry *e, const int32_t *tokens, int64_t given, int64_t room)
{
    const int64_t places = places_of_text(l, e);
    if (!tokens) return fail_library(l, LIBRARY_USAGE, "generate: tokens is NULL");
    if (given < 1 || given > room)
        return fail_library(l, LIBRARY_USAGE, "generate: expected 1 to %lld given tokens, found %lld", (long long)room,
                            (long long)given);
    if (places && room > places)
        return fail_library(l, LIBRARY_USAGE, "generate: the model has places for %lld tokens, found room for %lld",
                            (long long)places, (long long)room);
    for (int64_t i = 0; i < given; i++)
        if (check_token(l, "generate", tokens[i])) return LIBRARY_DATA;
    return LIBRARY_FINE;
}

static int generate_open(Library *l, const Library_sampling *how, int32_t *tokens, int64_t given, int64_t room,
                         int64_t *n)
{
    Drawing_of d;
    const Lathe_entry *e = entry_of_library(l, ENTRY_decode);
    int code = e ? check_room(l, e, tokens, given, room) : LIBRARY_USAGE;
    if (!code) code = begin_drawing(l, how, &d);
    if (code) return code;
    forget_text(l);
    for (*n = 0; *n < room; ++*n) {
        if (*n >= given) code = draw_open(l, &d, "generate", e, scores_of_next(l, e), &tokens[*n]);
        if (code || (*n >= given && is_end(&d.ends, tokens[*n]))) return code;
        if (*n + 1 < room) code = next_open(l, "generate", tokens[*n], e);
        if (code) return code;
    }
    return LIBRARY_FINE;
}

int generate_library(Library *l, const Library_sampling *how, int32_t *tokens, int64_t given, int64_t room,
                     int64_t *made)
{
    int64_t n = 0;
    int code = begin_library_call(l);
    if (code) return code;
    show_mean(l, true);
    code = generate_open(l, how, tokens, given, room, &n);
    show_mean(l, false);
    if (made) *made = n;
    return end_library_call(l, code);
}
