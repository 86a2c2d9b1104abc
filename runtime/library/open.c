/* open.c: an instance: its parts in the caller's memory; its beginning and end. */
#include "library/library.h"
#include "lathe_rt.h"
#include "math/gemm.h"
#include "math/lacks.h"
#include "model/init.h"
#include "model/tables.h"
#include "step/average.h"
#include "step/carry.h"
#include "step/optim.h"
#include "step/statistics.h"
#include "threads/threads.h"

#include <stdio.h>
#include <string.h>

static const uint64_t open_mark = 0x6c61746865206f70; /* no pointer, no small number */

/* ------------------------------------------------------------------ parts */

/* The next part of the memory; base NULL: it is only counted. */
typedef struct Parts_of {
    char *base;
    int64_t at;
} Parts_of;

static void *part_behind(Parts_of *p, int64_t bytes)
{
    char *here = p->base ? p->base + p->at : NULL;
    p->at += align64(bytes);
    return bytes ? here : NULL;
}

/* That of the largest entry; direction lies behind the inputs of its train. */
static int64_t largest_call_of(const Lathe_model *m)
{
    int64_t most = 0;
    for (const Lathe_entry *e = m->entry; e < m->entry + m->entries; e++) {
        const Lathe_entry *direction = strcmp(e->name, "train") == 0 ? entry_beside(m, ENTRY_direction, e) : NULL;
        const int64_t own = call_bytes(e), both = direction ? align64(e->in_bytes) + call_bytes(direction) : 0;
        if (own > most) most = own;
        if (both > most) most = both;
    }
    return most;
}

static int threads_wanted(const Library_options *o) { return o && o->threads > 1 ? o->threads : 1; }

/* l: a new instance, or one that is only counted. */
static void lay_out_library(Library *l, Parts_of *p, const Lathe_model *m, const Library_options *o)
{
    const Lathe_recipe *r = &m->recipe;
    const bool trains = is_trained_here(m);
    Memory *of = &l->memory;
    l->model = m;
    l->context.threads_with_room = threads_wanted(o);
    l->pool = part_behind(p, (int64_t)pool_bytes(threads_wanted(o)));
    l->context.rooms = part_behind(p, threads_wanted(o) * gemm_room_bytes());
    l->place = part_behind(p, saved_tensors(m) * (int64_t)sizeof *l->place);
    const int64_t words = find_entry(m, ENTRY_decode) && !find_entry(m, ENTRY_encode) ? m->vocab : 0;
    l->candidates = part_behind(p, words * (int64_t)sizeof *l->candidates);
    l->seen = part_behind(p, words);
    of->params = part_behind(p, weight_bytes(m));
    of->state_bytes = states_taken(m, find_entry(m, ENTRY_decode), false);
    of->state = part_behind(p, of->state_bytes);
    of->carried = part_behind(p, trains ? carried_bytes(m) : 0);
    of->statistics = part_behind(p, statistics_bytes(m));
    of->grads = part_behind(p, trains || is_layer_here(m) ? flat_bytes(m) : 0);
    of->moments = part_behind(p, trains ? (int64_t)optimizer_bytes(m, r) : 0);
    of->generation = part_behind(p, trains ? turn_table_bytes(m, r) : 0); /* the optimizers' tables */
    of->call_bytes = largest_call_of(m);
    of->call = part_behind(p, of->call_bytes);
}

size_t library_bytes(const Lathe_model *m, const Library_options *o)
{
    Library counted;
    Parts_of p = {NULL, align64(sizeof counted)};
    memset(&counted, 0, sizeof counted);
    lay_out_library(&counted, &p, m, o);
    return (size_t)p.at;
}

/* ------------------------------------------------------------------ beginning and end */

/* Words with numbers lie in the memory. */
static const char *refusal_of(const Lathe_model *m, void *memory, size_t bytes, const Library_options *o)
{
    if (!memory) return "open: memory is NULL; expected as many bytes as bytes() says";
    if ((uintptr_t)memory % 64) return "open: the memory is not aligned; expected a multiple of 64 bytes";
    if (o && (o->threads < 0 || o->threads > 1024)) return "open: expected 0 to 1024 threads";
    if (bytes >= library_bytes(m, o)) return NULL;
    if (bytes < LIBRARY_WORDS) return "open: the memory is too small; expected as many bytes as bytes() says";
    snprintf(memory, LIBRARY_WORDS,
             "open: expected %lld bytes of memory, as bytes() says of the same options, found %lld",
             (long long)library_bytes(m, o), (long long)bytes);
    return memory;
}

ANY_PROCESSOR const char *refusal_of_processor(void *memory, size_t bytes)
{
    size_t n;
    const char *word = first_lacking(lathe_needs, &n);
    if (!word) return NULL;
    if (!memory || bytes < PROCESSOR_WORDS) return "open: this library was built for another processor";
    SNPRINTF_ANYWHERE(
        memory, PROCESSOR_WORDS,
        "open: this library was built for a processor with %.*s instructions, which this one lacks; build it on "
        "this machine, or with --for for an older one",
        (int)n, word);
    return memory;
}

static void begin_training(Library *l)
{
    const Lathe_model *m = l->model;
    clear_moments(m, &m->recipe, l->memory.moments);
    place_turns(&l->turns, m, &m->recipe, l->memory.moments, l->memory.generation);
    begin_averages(&l->turns.at[0].optimizer, l->memory.params);
}

Library *open_library(const Lathe_model *m, void *memory, size_t bytes, const Library_options *o, const char **words)
{
    Library *l = memory;
    Parts_of p = {memory, align64(sizeof *l)};
    *words = refusal_of(m, memory, bytes, o);
    if (*words) return NULL;
    memset(memory, 0, library_bytes(m, o));
    lay_out_library(l, &p, m, o);
    l->seed = o ? o->seed : 0;
    *words = open_pool(l->pool, threads_wanted(o), o ? o->run : NULL, o ? o->with : NULL, &l->context);
    if (*words) return NULL;
    l->mark = open_mark;
    begin_library_call(l);
    l->loaded = is_trained_here(m) || is_layer_here(m);
    if (l->loaded) {
        init_weights(m, (uint64_t)l->seed, &l->memory);
        weights_up(m, &l->memory);
    }
    if (is_trained_here(m)) begin_training(l);
    end_library_call(l, LIBRARY_FINE);
    return l;
}

void close_library(Library *l)
{
    if (!l || l->mark != open_mark) return;
    close_pool(l->pool);
    l->mark = 0;
}

/* ------------------------------------------------------------------ calls */

int begin_library_call(Library *l)
{
    if (!l || l->mark != open_mark) return LIBRARY_USAGE;
    if (!try_lock(&l->busy)) return LIBRARY_BUSY;
    l->words[0] = 0;
    l->regions = leave_regions();
    l->pool_before = use_pool(l->pool);
    return LIBRARY_FINE;
}

int end_library_call(Library *l, int code)
{
    use_pool(l->pool_before);
    return_to_regions(l->regions);
    leave_lock(&l->busy);
    return code;
}

int64_t steps_of_library(const Library *l) { return l && l->mark == open_mark ? l->step : -1; }

const char *library_words(const Library *l, int code)
{
    if (code == LIBRARY_FINE) return "";
    if (code == LIBRARY_BUSY) return "another call of this instance is running; one at a time";
    if (!l) return "the instance is NULL; open() returns one";
    if (l->mark != open_mark) return "the instance is not open: open() did not return it, or it was closed";
    return l->words;
}
