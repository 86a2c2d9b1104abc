/* weights.c: writes and reads the flat array of parameters (or gradients) as tensors under their export names.
 *
 * A parameter [copies…, shape…] becomes one tensor per copy: "h.%d.mlp.weight" is h.0.mlp.weight, h.1.mlp.weight, … */
#include "base/words.h"
#include "interface/lathe_model.h"
#include "model/adapter.h"
#include "model/block.h"
#include "model/import.h"
#include "model/init.h"
#include "model/place.h"
#include "model/safetensors.h"
#include "model/tables.h"
#include "model/weights.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST_NAME = 512 };
#define TRAINED "trained." /* prefixes of what is trained, beside a mean of weights */
#define AVERAGE "average."

/* ------------------------------------------------------------------ out */

/* Parameters of a model: all, or those that have gradients and moments; or its statistics. */
typedef struct Some {
    const Lathe_param *table;
    int n;
    int64_t from, below;       /* of their offsets: others are left out */
    const Lathe_model *blocks; /* the model whose weights they are: in blocks or with other ranks, too; NULL: not so */
} Some;

static bool belongs_to(Some of, const Lathe_param *p) { return p->offset >= of.from && p->offset < of.below; }

static Some all_parameters(const Lathe_model *m) { return (Some){m->param, m->params, 0, INT64_MAX, m}; }
static Some trained_parameters(const Lathe_model *m)
{
    return (Some){m->param, m->params, 0, lathe_trained_elements(m), NULL};
}
static Some frozen_parameters(const Lathe_model *m)
{
    return (Some){m->param, m->params, lathe_trained_elements(m), INT64_MAX, m};
}
static Some moments_of(const Lathe_model *m) { return (Some){m->param, m->params, 0, lathe_moment_elements(m), NULL}; }
static Some statistics_of(const Lathe_model *m) { return (Some){m->statistic, m->statistics, 0, INT64_MAX, NULL}; }

/* The type of p's elements, if those of others are of `type`. */
static Lathe_dtype type_in(Some of, const Lathe_param *p, Lathe_dtype type)
{
    return of.blocks ? type_of_weight(of.blocks, p) : type;
}

static void declare_some(Store_writer *w, Some of, const char *prefix, Lathe_dtype type)
{
    for (const Lathe_param *p = of.table; p < of.table + of.n; p++) {
        if (!belongs_to(of, p)) continue;
        for (int64_t c = 0; c < copies_of_parameter(p); c++) {
            char name[LONGEST_NAME];
            copy_name(name, sizeof name, p, c);
            char *full = text_of("%s%s", prefix, name);
            declare_tensor(w, full, type_in(of, p, type), p->rank - p->loops, p->dim + p->loops);
            free(full);
        }
    }
}

void put_copy(Store_writer *w, const Lathe_param *p, int64_t copy, const void *flat, Lathe_dtype type)
{
    int64_t run = contiguous_elements(p);
    for (int64_t e = 0; e < copy_elements(p); e += run)
        put_elements(w, (const char *)flat + copy_place(p, copy, e) * dtype_size(type), run, type);
}

static void put_blocks(Store_writer *w, const Lathe_model *m, const Lathe_param *p, int64_t copy, const void *flat)
{
    int64_t run = contiguous_elements(p);
    for (int64_t e = 0; e < copy_elements(p); e += run)
        put_elements(w, parameter_at(m, flat, copy_place(p, copy, e)), run, type_of_weight(m, p));
}

static void put_some(Store_writer *w, Some of, const void *flat, Lathe_dtype type)
{
    for (const Lathe_param *p = of.table; p < of.table + of.n; p++)
        for (int64_t c = 0; c < copies_of_parameter(p) && belongs_to(of, p); c++)
            if (of.blocks && lies_in_blocks(of.blocks, p)) put_blocks(w, of.blocks, p, c, flat);
            else put_copy(w, p, c, flat, type);
}

void declare_parameters(Store_writer *w, const Lathe_model *m, const char *prefix, Lathe_dtype type)
{
    declare_some(w, trained_parameters(m), prefix, type);
}

void put_parameters(Store_writer *w, const Lathe_model *m, const void *flat, Lathe_dtype type)
{
    put_some(w, trained_parameters(m), flat, type);
}

void declare_moments(Store_writer *w, const Lathe_model *m, const char *prefix, Lathe_dtype type)
{
    declare_some(w, moments_of(m), prefix, type);
}

void put_moments(Store_writer *w, const Lathe_model *m, const void *flat, Lathe_dtype type)
{
    put_some(w, moments_of(m), flat, type);
}

void put_weights(Store_writer *w, const Lathe_model *m, const char *base, const void *flat, const void *statistics)
{
    put_lora_note(w, m, base);
    declare_some(w, all_parameters(m), "", lathe_weights(m));
    declare_some(w, statistics_of(m), "", m->real);
    put_some(w, all_parameters(m), flat, lathe_weights(m));
    put_some(w, statistics_of(m), statistics, m->real);
}

/* Numbers of type `from` as those of type `to`. */
static void put_rounded(Store_writer *w, Lathe_dtype to, Lathe_dtype from, const void *flat, int64_t at, int64_t n)
{
    enum { PIECE = 1024 };
    if (lays_out(w)) {
        put_elements(w, (const char *)flat + at * dtype_size(to), n, to);
        return;
    }
    for (int64_t i = 0, some; i < n; i += some) {
        double room[PIECE];
        some = n - i < PIECE ? n - i : PIECE;
        for (int64_t k = 0; k < some; k++) write_real(to, room, k, read_element(from, flat, at + i + k));
        put_elements(w, room, some, to);
    }
}

void put_averages(Store_writer *w, const Lathe_model *m, const char *base, const void *flat, const void *average,
                  const void *statistics)
{
    const Some trained = trained_parameters(m);
    put_lora_note(w, m, base);
    declare_some(w, trained, "", lathe_weights(m));
    declare_some(w, frozen_parameters(m), "", lathe_weights(m));
    declare_some(w, statistics_of(m), "", m->real);
    for (const Lathe_param *p = m->param; p < m->param + m->params; p++)
        for (int64_t c = 0; c < copies_of_parameter(p) && belongs_to(trained, p); c++)
            for (int64_t e = 0, run = contiguous_elements(p); e < copy_elements(p); e += run)
                put_rounded(w, lathe_weights(m), m->real, average, copy_place(p, c, e), run);
    put_some(w, frozen_parameters(m), flat, lathe_weights(m));
    put_some(w, statistics_of(m), statistics, m->real);
}

void put_trained(Store_writer *w, const Lathe_model *m, const void *flat, const void *average)
{
    declare_some(w, trained_parameters(m), TRAINED, lathe_weights(m));
    declare_some(w, trained_parameters(m), AVERAGE, m->real);
    put_some(w, trained_parameters(m), flat, lathe_weights(m));
    put_some(w, trained_parameters(m), average, m->real);
}

void save_weights(const Lathe_model *m, const char *path, const char *base, const void *flat, const void *statistics)
{
    Store_writer *w = start_store(path);
    put_weights(w, m, base, flat, statistics);
    finish_store(w);
}

/* ------------------------------------------------------------------ in */

static const char *stored_word(Lathe_dtype t)
{
    return block_word(t) ? block_word(t) : t == LATHE_F64 ? "F64" : t == LATHE_BF16 ? "BF16" : "F32";
}

static void convert_elements(Lathe_dtype type, void *to, const Stored *from, int64_t first, int64_t n)
{
    enum { AT_ONCE = 1024 };
    double values[AT_ONCE];
    for (int64_t i = 0; i < n; i += AT_ONCE) {
        int64_t count = n - i < AT_ONCE ? n - i : AT_ONCE;
        read_stored(from, first + i, count, values);
        write_reals(type, (char *)to + bytes_of_numbers(type, i), count, values);
    }
}

static void copy_elements_of(Lathe_dtype type, char *to, const Stored *from, int64_t first, int64_t n)
{
    enum { AT_ONCE = 1 << 16 };
    for (int64_t i = 0; i < n; i += AT_ONCE) {
        int64_t count = n - i < AT_ONCE ? n - i : AT_ONCE;
        memcpy(to + bytes_of_numbers(type, i), from->at + bytes_of_numbers(type, first + i),
               (size_t)bytes_of_numbers(type, count));
        leave_behind(from, first + i, count);
    }
}

static bool same_dims(const Lathe_param *p, const Stored *s)
{
    if (s->rank != p->rank - p->loops) return false;
    return s->rank == 0 || memcmp(s->dim, p->dim + p->loops, sizeof *s->dim * (size_t)s->rank) == 0;
}

enum { NAMED_MISFITS = 10 };

void add_misfit(Misfits *m, char *line)
{
    if (m->n++ < NAMED_MISFITS) m->text = text_of("%s\n    %s", m->text ? m->text : "", line);
}

const char *more_misfits(const Misfits *m)
{
    return m->n > NAMED_MISFITS ? text_of("\n    and %d more", m->n - NAMED_MISFITS) : "";
}

/* A part of the expected contents of a file: an array, each tensor under a prefix. */
typedef struct Wanted_array {
    Some of;
    const char *prefix;
    void *flat; /* NULL: only checked */
    Lathe_dtype type;
    const Own_elements *own; /* flat has these alone; NULL: all */
} Wanted_array;

/* Copies elements of the flat array's type bit for bit, and converts others. */
static void take_run(Lathe_dtype type, char *to, const Stored *from, int64_t first, int64_t n)
{
    if (stored_is(from, stored_word(type))) copy_elements_of(type, to, from, first, n);
    else convert_elements(type, to, from, first, n);
}

static void take_own(const Wanted_array *a, int64_t place, const Stored *from, int64_t first, int64_t n)
{
    const Own_elements *own = a->own;
    for (int64_t i = 0, some; i < n; i += some) {
        const Lathe_owner o = lathe_owner_of(own->deal, place + i);
        const int64_t left = o.part.first + o.part.count - (place + i);
        some = left < n - i ? left : n - i;
        if (o.rank != own->rank) continue;
        const int64_t at = lathe_dealt_before(own->deal, o.bucket, o.rank, own->limit) + place + i - o.part.first;
        take_run(a->type, (char *)a->flat + at * dtype_size(a->type), from, first + i, some);
    }
}

static void take_weights(const Wanted_array *a, Lathe_dtype type, int64_t place, const Stored *from, int64_t first,
                         int64_t n)
{
    void *to;
    for (int64_t i = 0, some; i < n; i += some) {
        some = weights_beside(a->of.blocks, a->flat, place + i, n - i, &to);
        if (to) take_run(type, to, from, first + i, some);
    }
}

static void take_elements(const Wanted_array *a, Lathe_dtype type, const Lathe_param *p, int64_t copy,
                          const Stored *from)
{
    const int64_t run = contiguous_elements(p);
    for (int64_t e = 0; e < copy_elements(p); e += run) {
        const int64_t place = copy_place(p, copy, e);
        if (a->own) take_own(a, place, from, e, run);
        else if (a->of.blocks) take_weights(a, type, place, from, e, run);
        else take_run(type, (char *)a->flat + place * dtype_size(type), from, e, run);
    }
    leave_stored(from);
}

typedef struct Wanted {
    const Lathe_model *m;
    int arrays;
    Wanted_array array[4];
    bool converted; /* other real types are accepted */
    bool of_base;   /* the file has no adapters: these stay as they are */
    const char *except;
} Wanted;

/* ------------------------------------------------------------------ layers that are not taken */

/* pattern: a layer, whose parameters are below it, or one of names. */
static bool is_of_pattern(const char *pattern, const char *name)
{
    size_t n = strlen(pattern);
    return fnmatch(pattern, name, 0) == 0 || (strncmp(name, pattern, n) == 0 && name[n] == '.');
}

static char *next_pattern(const char **rest)
{
    size_t n = strcspn(*rest, ",");
    char *word = text_of("%.*s", (int)n, *rest);
    *rest += n + ((*rest)[n] != 0);
    return word;
}

bool is_of_layers(const char *layers, const char *name)
{
    bool found = false;
    for (const char *rest = layers ? layers : ""; *rest && !found;) {
        char *pattern = next_pattern(&rest);
        found = is_of_pattern(pattern, name);
        free(pattern);
    }
    return found;
}

/* "head,norm" of a list of misfits: the layers of tensors that are missing or have other shapes. */
static void suggest_layer(Misfits *bad, const char *name)
{
    const char *dot = strrchr(name, '.');
    char *layer = text_of("%.*s", dot ? (int)(dot - name) : (int)strlen(name), name);
    for (const char *rest = bad->layers ? bad->layers : ""; *rest;) {
        char *known = next_pattern(&rest);
        bool same = strcmp(known, layer) == 0;
        free(known);
        if (same) return;
    }
    bad->layers = text_of("%s%s%s", bad->layers ? bad->layers : "", bad->layers ? "," : "", layer);
}

/* ------------------------------------------------------------------ in */

static void prefixed_name(char *name, const char *prefix, const Lathe_param *p, int64_t copy)
{
    size_t n = (size_t)snprintf(name, LONGEST_NAME, "%s", prefix);
    copy_name(name + n, LONGEST_NAME - n, p, copy);
}

static void take_copy(const Wanted *w, const Store *s, const Wanted_array *a, const Lathe_param *p, int64_t copy,
                      Misfits *bad)
{
    char name[LONGEST_NAME];
    prefixed_name(name, a->prefix, p, copy);
    if (is_of_layers(w->except, name) || (w->of_base && is_of_adapter(w->m, p))) return;
    const Stored *from = find_stored(s, name);
    char *wanted = dims_text(p->rank - p->loops, p->dim + p->loops);
    Lathe_dtype type = type_in(a->of, p, a->type);
    if (!from || !same_dims(p, from)) suggest_layer(bad, name);
    if (!from) {
        add_misfit(bad, text_of("%s: missing; expected %s (%s)", name, wanted, p->where));
    } else if (!same_dims(p, from)) {
        add_misfit(bad,
                   text_of("%s: expected %s, found %s (%s)", name, wanted, dims_text(from->rank, from->dim), p->where));
    } else if (!(w->converted && block_type_of(from->dtype)) &&
               !stored_is(from, w->converted ? "F32 F64 BF16" : stored_word(type))) {
        add_misfit(bad, text_of("%s: expected %s, found %s", name,
                                w->converted ? "F32, F64, BF16, Q8_0 or Q4_0" : stored_word(type), from->dtype));
    } else if (a->flat) {
        take_elements(a, type, p, copy, from);
    }
    free(wanted);
}

static bool is_among(const char *name, char **sorted, int64_t n)
{
    int64_t low = 0, high = n;
    while (low < high) {
        int64_t middle = (low + high) / 2;
        int order = strcmp(name, sorted[middle]);
        if (order == 0) return true;
        if (order < 0) high = middle;
        else low = middle + 1;
    }
    return false;
}

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static char **wanted_names(const Wanted *w, int64_t *n)
{
    int64_t k = 0;
    *n = 0;
    for (int a = 0; a < w->arrays; a++)
        for (int i = 0; i < w->array[a].of.n; i++) *n += copies_of_parameter(&w->array[a].of.table[i]);
    char **names = must_alloc(sizeof *names * (size_t)(*n + 1));
    for (int a = 0; a < w->arrays; a++)
        for (int i = 0; i < w->array[a].of.n; i++)
            for (int64_t c = 0; c < copies_of_parameter(&w->array[a].of.table[i]); c++) {
                names[k] = must_alloc(LONGEST_NAME);
                prefixed_name(names[k++], w->array[a].prefix, &w->array[a].of.table[i], c);
            }
    qsort(names, (size_t)*n, sizeof *names, by_name);
    return names;
}

/* PyTorch counts the batches of its norms beside their statistics; nothing here needs that. */
static bool is_a_count(const Wanted *w, const char *name)
{
    return w->converted && w->m->statistics && has_end(name, ".num_batches_tracked");
}

/* Finds tensors that are not parameters. */
static void find_unknown(const Wanted *w, const Store *s, Misfits *bad)
{
    int64_t n;
    char **names = wanted_names(w, &n);
    for (int i = 0; i < s->n; i++)
        if (!is_among(s->tensor[i].name, names, n) && !is_a_count(w, s->tensor[i].name) &&
            !is_of_layers(w->except, s->tensor[i].name))
            add_misfit(bad, text_of("%s: not a parameter of this model", s->tensor[i].name));
    for (int64_t k = 0; k < n; k++) free(names[k]);
    free(names);
}

static void take_arrays(const Wanted *w, const Store *s)
{
    const Lathe_model *m = w->m;
    Misfits bad = {0};
    for (const Wanted_array *a = w->array; a < w->array + w->arrays; a++)
        for (const Lathe_param *p = a->of.table; p < a->of.table + a->of.n; p++)
            for (int64_t c = 0; c < copies_of_parameter(p) && belongs_to(a->of, p); c++) take_copy(w, s, a, p, c, &bad);
    find_unknown(w, s, &bad);
    if (bad.n == 0) return;
    advise(NULL); /* other checkpoints of the run would not fit either */
    if (w->except && bad.layers)
        advise(
            text_of("--init takes all parameters from %s; --init-except %s draws those anew, such as for other classes",
                    s->path, *w->except ? text_of("%s,%s", w->except, bad.layers) : bad.layers));
    fail(EXIT_DATA, s->path,
         "does not hold the parameters of %s%s; %d tensors do not fit; use weights of a model built with the same "
         "configuration:%s%s",
         m->name, config_of(m), bad.n, bad.text, more_misfits(&bad));
}

/* Each of --init-except names parameters. */
static void check_patterns(const Wanted *w)
{
    int64_t n;
    char **names = wanted_names(w, &n);
    for (const char *rest = w->except; *rest;) {
        char *pattern = next_pattern(&rest);
        bool found = false;
        for (int64_t k = 0; k < n; k++) found |= is_of_pattern(pattern, names[k]);
        if (!found)
            fail(EXIT_USAGE, NULL,
                 "--init-except %s: there is no such layer or parameter; `trainer info` lists them, such as %s",
                 pattern, names[0]);
        free(pattern);
    }
    for (int64_t k = 0; k < n; k++) free(names[k]);
    free(names);
}

void load_arrays(const Lathe_model *m, const Store *s, int arrays, const char *const *prefix, void *const *flat,
                 Lathe_dtype type, const Own_elements *own)
{
    Wanted w = {.m = m, .arrays = arrays};
    bug_if(arrays > (int)(sizeof w.array / sizeof *w.array));
    for (int k = 0; k < arrays; k++) {
        w.array[k] = (Wanted_array){moments_of(m), prefix[k], flat[k], type, own};
        if (flat[k] && !own) clear_memory(flat[k], lathe_moment_elements(m) * dtype_size(type));
    }
    take_arrays(&w, s);
}

void load_trained(const Lathe_model *m, const Store *s, void *flat, void *average, const Own_elements *own)
{
    Wanted w = {.m = m, .arrays = 2};
    w.array[0] = (Wanted_array){trained_parameters(m), TRAINED, flat, lathe_weights(m), NULL};
    w.array[0].of.blocks = m;
    w.array[1] = (Wanted_array){trained_parameters(m), AVERAGE, average, m->real, own};
    take_arrays(&w, s);
}

static void load_parameters(const Lathe_model *m, const Store *s, void *flat, void *statistics, bool converted,
                            const char *except)
{
    Wanted w = {.m = m, .arrays = 2, .converted = converted, .except = except};
    check_lora_note(m, s);
    w.of_base = converted && m->adapters && !holds_adapters(m, s);
    w.array[0] = (Wanted_array){all_parameters(m), "", flat, lathe_weights(m), NULL};
    w.array[1] = (Wanted_array){statistics_of(m), "", statistics, m->real, NULL};
    if (except && *except) check_patterns(&w);
    else if (flat && !w.of_base) clear_weights(m, flat);
    take_arrays(&w, s);
}

void load_model(const Lathe_model *m, const Store *s, void *flat, void *statistics, bool converted)
{
    load_parameters(m, s, flat, statistics, converted, NULL);
}

void load_weights(const Lathe_model *m, const char *path, void *flat, void *statistics, const char *except)
{
    Store s;
    bool without = true;
    if (is_exchange(path)) {
        load_exchange(m, path, flat, except);
    } else {
        read_store(&s, path);
        load_parameters(m, &s, flat, statistics, true, except);
        without = !holds_adapters(m, &s);
        close_store(&s);
    }
    clear_zero_rows(m, flat);
    if (without) begin_magnitudes(m, flat);
}
