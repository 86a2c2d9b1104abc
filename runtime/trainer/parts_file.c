/* parts_file.c: which bytes of a checkpoint's files each of several ranks on processors has.
 *
 * The functions that write a file of one process (model/weights.h) are asked where they would put which elements
 * (start_layout), and each range of elements is cut where its owner changes (interface/dealt.h).  So the file is the
 * same, whoever writes it.  An array is whole on each rank, such as the parameters, or each rank has its own elements
 * alone, such as moments: then only the address is used at which it would lie whole.  What is not dealt to ranks is
 * rank 0's. */
#include "trainer/parts_file.h"
#include "model/tables.h"
#include "model/weights.h"
#include "step/coded.h"
#include "trainer/rank_file.h"
#include "trainer/ranks.h"
#include "trainer/shards.h"
#include "trainer/shared.h"
#include "trainer/unsent.h"

#include <stdlib.h>

const char *const part_file_names[PART_FILES] = {"model.safetensors", TRAINED_FILE, "optimizer.safetensors", RANK_FILE};

bool has_part_file(const Part_arrays *a, Part_file file)
{
    switch (file) {
    case PARTS_MODEL: return true;
    case PARTS_TRAINED: return a->o->average != NULL;
    case PARTS_OPTIMIZER: return a->o->moments > 0;
    default: return sends_narrow(a->t);
    }
}

/* ------------------------------------------------------------------ files */

static void put_moments_of(const Part_arrays *a, Store_writer *w)
{
    const Optimizer *o = a->o;
    if (o->coded) {
        put_coded(w, a->t->model, o);
        return;
    }
    for (int k = 0; k < o->moments; k++) {
        char *prefix = text_of("%s.", o->moment_name[k]);
        declare_moments(w, a->t->model, prefix, o->real);
        free(prefix);
    }
    for (int k = 0; k < o->moments; k++) put_moments(w, a->t->model, o->moment[k], o->real);
}

static void put_arrays_of(const Part_arrays *a, Part_file file, Store_writer *w)
{
    const Lathe_model *m = a->t->model;
    const void *params = a->m->params, *average = a->o->average, *statistics = a->m->statistics;
    switch (file) {
    case PARTS_MODEL:
        if (average) put_averages(w, m, a->t->base, params, average, statistics);
        else put_weights(w, m, a->t->base, params, statistics);
        break;
    case PARTS_TRAINED: put_trained(w, m, params, average); break;
    case PARTS_OPTIMIZER: put_moments_of(a, w); break;
    default: lay_unsent(a->t, w);
    }
}

Store_writer *start_whole_file(const Part_arrays *a, Part_file file, const char *folder, Fault *f)
{
    if (!has_part_file(a, file)) return NULL;
    char *path = text_of("%s/%s", folder, part_file_names[file]);
    Store_writer *w = start_store_at(path, f);
    put_arrays_of(a, file, w);
    flush_store(w);
    free(path);
    return w;
}

int64_t start_part_file(const Part_arrays *a, Part_file file, const char *path, Fault *f)
{
    Store_writer *w = start_header(path, f);
    put_arrays_of(a, file, w);
    return end_layout(w);
}

/* ------------------------------------------------------------------ pieces */

enum { SOURCES = 1 + LATHE_MOMENTS };

typedef struct Walk {
    const Part_arrays *a;
    Part_source source[SOURCES];
    int sources;
    Part_taker *take;
    void *with;
} Walk;

static void add_sources(Walk *w, Part_file file)
{
    const Part_arrays *a = w->a;
    const Optimizer *o = a->o;
    const Lathe_dtype weight = lathe_weights(a->t->model);
    const char *own = own_parameters();
    const Part_source params = {a->m->params, own ? own : a->m->params, weight, weight, own != NULL, a->deal.n};
    const Part_source mean = {o->average, own_mean(), file == PARTS_MODEL ? weight : o->real, o->real, true, a->deal.n};
    if (file == PARTS_TRAINED || (file == PARTS_MODEL && !o->average)) w->source[w->sources++] = params;
    if (o->average && file != PARTS_OPTIMIZER) w->source[w->sources++] = mean;
    for (int k = 0; k < o->moments && file == PARTS_OPTIMIZER; k++)
        w->source[w->sources++] = (Part_source){o->moment[k], own_moment(k), o->real, o->real, true, a->deal.moments};
}

/* Elements first … end - 1 of a source, cut where their owner changes. */
static void take_owned(const Walk *w, const Part_source *s, int64_t first, int64_t end, int64_t place)
{
    const int64_t size = dtype_size(s->in_file);
    for (int64_t e = first, next; e < end; e = next) {
        const Lathe_owner o = lathe_owner_of(&w->a->deal, e);
        next = o.part.first + o.part.count < end ? o.part.first + o.part.count : end;
        const Part_piece p = {.rank = o.rank,
                              .place = place + (e - first) * size,
                              .bytes = (next - e) * size,
                              .source = s,
                              .first = e,
                              .part = o.part,
                              .bucket = o.bucket};
        w->take(w->with, &p);
    }
}

static void take_laid(void *with, const void *at, int64_t bytes, int64_t place)
{
    const Walk *w = with;
    for (const Part_source *s = w->source; s < w->source + w->sources; s++) {
        const int64_t size = dtype_size(s->in_file);
        const uintptr_t from = (uintptr_t)at - (uintptr_t)s->laid;
        if (from >= (uintptr_t)(s->n * size)) continue; /* also if it lies before */
        take_owned(w, s, (int64_t)from / size, ((int64_t)from + bytes) / size, place);
        return;
    }
    w->take(w->with, &(Part_piece){.place = place, .bytes = bytes, .at = at});
}

/* Each rank has a row. */
static void take_own_rows(const Walk *w)
{
    const int64_t bytes = unsent_bytes(w->a->t);
    for (int k = 0; k < gpus_of(w->a->t); k++)
        w->take(w->with, &(Part_piece){.rank = k, .place = k * bytes, .bytes = bytes, .at = own_unsent()});
}

void each_part_piece(const Part_arrays *a, Part_file file, Part_taker *take, void *with)
{
    Walk w = {.a = a, .take = take, .with = with};
    if (file == PARTS_RANKS) {
        take_own_rows(&w);
        return;
    }
    add_sources(&w, file);
    Store_writer *layout = start_layout(take_laid, &w);
    put_arrays_of(a, file, layout);
    (void)end_layout(layout);
}

static void take_converted(const Part_source *s, const char *from, int64_t n, Part_bytes_taker *take, void *with)
{
    enum { PIECE = 1024 };
    for (int64_t i = 0, some; i < n; i += some) {
        double room[PIECE];
        some = n - i < PIECE ? n - i : PIECE;
        for (int64_t k = 0; k < some; k++) write_real(s->in_file, room, k, read_element(s->here, from, i + k));
        take(with, room, some * dtype_size(s->in_file));
    }
}

void bytes_of_piece(const Part_arrays *a, const Part_piece *p, Part_bytes_taker *take, void *with)
{
    if (p->at) {
        take(with, p->at, p->bytes);
        return;
    }
    const Part_source *s = p->source;
    int64_t place = p->first;
    if (s->compact) place += lathe_dealt_before(&a->deal, p->bucket, p->rank, s->n) - p->part.first;
    const char *from = s->own + place * dtype_size(s->here);
    if (s->in_file == s->here) take(with, from, p->bytes);
    else take_converted(s, from, p->bytes / dtype_size(s->in_file), take, with);
}

/* ------------------------------------------------------------------ reading */

static void open_part_file(Store *s, Part_file file, const char *checkpoint)
{
    read_store(s, text_of("%s/%s", checkpoint, part_file_names[file]));
}

static void load_own_moments_of(const Part_arrays *a, const char *checkpoint)
{
    Store s;
    const Optimizer *o = a->o;
    const Own_elements own = {&a->deal, a->t->rank, a->deal.moments};
    const char *prefix[LATHE_MOMENTS];
    void *moment[LATHE_MOMENTS];
    for (int k = 0; k < o->moments; k++) {
        prefix[k] = text_of("%s.", o->moment_name[k]);
        moment[k] = own_moment(k);
    }
    open_part_file(&s, PARTS_OPTIMIZER, checkpoint);
    load_arrays(a->t->model, &s, o->moments, prefix, moment, o->real, &own);
    close_store(&s);
}

void load_own_parts(const Part_arrays *a, const char *checkpoint)
{
    Store s;
    const Own_elements own = {&a->deal, a->t->rank, a->deal.n};
    if (a->o->moments) load_own_moments_of(a, checkpoint);
    if (!a->o->average) return;
    open_part_file(&s, PARTS_TRAINED, checkpoint);
    load_trained(a->t->model, &s, NULL, own_mean(), &own);
    close_store(&s);
}
