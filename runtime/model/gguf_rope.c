/* gguf_rope.c: stretched rotary positions in GGUF files, and as config.json has them (rope_parameters).
 *
 * Two ways are known.  "linear" is two keys.  That of Llama 3 is a tensor, rope_freqs.weight, by which each rate is
 * divided; the numbers that it was made from are not in the file, so they are sought: published models have different
 * factors and contexts, and all of them change between 1 and 4 turns. */
#include "base/json_text.h"
#include "base/words.h"
#include "model/gguf.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double LOW_TURNS = 1, HIGH_TURNS = 4;

/* By how much Llama 3 divides a rate: not at all if it turns often in the context, by the factor if seldom. */
static double stretch_of(double rate, double factor, double context)
{
    double turns = rate * context / (2 * acos(-1));
    double share = fmin(fmax((turns - LOW_TURNS) / (HIGH_TURNS - LOW_TURNS), 0), 1);
    return 1 / ((1 - share) / factor + share);
}

static double pair_rate(double base, int64_t pair, int64_t pairs) { return pow(base, -(double)pair / (double)pairs); }

static double base_of(const Store *s, const Architecture *a)
{
    const json_t *base = gguf_value_of(s, a, "rope.freq_base");
    return base ? json_number_value(base) : 10000;
}

/* ------------------------------------------------------------------ rope_freqs.weight */

static bool fits_table(const double *table, int64_t pairs, double base, double factor, double context)
{
    for (int64_t i = 0; i < pairs; i++) {
        double known = stretch_of(pair_rate(base, i, pairs), factor, context);
        if (!(fabs(table[i] - known) <= 1e-4 * known)) return false;
    }
    return true;
}

/* What the file says, if that fits, or a power of two; 0: none. */
static int64_t context_of_table(const Store *s, const Architecture *a, const double *table, int64_t pairs,
                                double factor)
{
    enum { SHORTEST = 8, LONGEST = 1 << 24 };
    double base = base_of(s, a);
    json_int_t said = json_integer_value(gguf_value_of(s, a, "rope.scaling.original_context_length"));
    if (said > 0 && fits_table(table, pairs, base, factor, (double)said)) return said;
    for (int64_t context = SHORTEST; context <= LONGEST; context *= 2)
        if (fits_table(table, pairs, base, factor, (double)context)) return context;
    return 0;
}

static json_t *parameters_of_table(const Store *s, const Architecture *a, const Stored *t)
{
    int64_t pairs = t->rank == 1 ? t->dim[0] : 0;
    if (!is_stored_real(t) || pairs < 1 || 2 * pairs != gguf_head(s, a))
        fail(EXIT_DATA, s->path,
             "tensor %s: expected a number for each of the %lld pairs of a head; the file is damaged", t->name,
             (long long)(gguf_head(s, a) / 2));
    double *table = must_alloc(sizeof *table * (size_t)pairs), factor = 0;
    read_stored(t, 0, pairs, table);
    for (int64_t i = 0; i < pairs; i++) factor = fmax(factor, table[i]);
    int64_t context = factor > 1 ? context_of_table(s, a, table, pairs, factor) : 0;
    bool none = fits_table(table, pairs, base_of(s, a), 1, 1);
    free(table);
    if (none) return json_pack("{s:s}", "rope_type", "default");
    if (!context)
        fail(EXIT_DATA, s->path,
             "tensor %s: expected rates stretched as Llama 3's, from 1 to 4 turns of a context, found others; take the "
             "model's Hugging Face folder",
             t->name);
    return json_pack("{s:s, s:f, s:f, s:f, s:I}", "rope_type", "llama3", "factor", factor, "low_freq_factor", LOW_TURNS,
                     "high_freq_factor", HIGH_TURNS, "original_max_position_embeddings", (json_int_t)context);
}

static bool has_rope_table(const Architecture *a) { return a->turned && !a->no_rope; }

/* The object takes the tensor's place: its name, which is none of a key, leads to it in the header. */
void take_rope_table(Store *s, const Architecture *a)
{
    for (int i = 0; has_rope_table(a) && i < s->n; i++) {
        Stored *t = &s->tensor[i];
        if (strcmp(t->name, rope_table) != 0) continue;
        put_json(s->header, rope_table, parameters_of_table(s, a, t));
        free((char *)t->name);
        memmove(t, t + 1, sizeof *t * (size_t)(--s->n - i));
        return;
    }
}

/* ------------------------------------------------------------------ config.json */

/* "type" is what older readers call rope_type. */
static json_t *linear_parameters(const Store *s, const Architecture *a)
{
    const char *type = json_string_value(gguf_value_of(s, a, "rope.scaling.type"));
    json_t *factor = gguf_value_of(s, a, "rope.scaling.factor");
    if (!factor) factor = gguf_value_of(s, a, "rope.scale_linear");
    double x = json_is_number(factor) ? json_number_value(factor) : 1;
    if (type && strcmp(type, "linear") != 0 && strcmp(type, "none") != 0) return json_pack("{s:s}", "rope_type", type);
    if ((type && strcmp(type, "none") == 0) || x == 0 || x == 1) return json_pack("{s:s}", "rope_type", "default");
    return json_pack("{s:s, s:O}", "rope_type", "linear", "factor", factor);
}

static bool is_default(const json_t *parameters)
{
    return strcmp(json_string_value(json_object_get(parameters, "rope_type")), "default") == 0;
}

void put_rope_parameters(const Store *s, const Architecture *a, json_t *config)
{
    json_t *base = gguf_value_of(s, a, "rope.freq_base"), *all = linear_parameters(s, a),
           *table = json_object_get(s->header, rope_table);
    const char *key = a->base ? a->base : "rope_theta";
    put_json(config, key, base ? json_incref(base) : json_real(10000.0));
    if (json_is_object(table) && !is_default(table)) {
        if (!is_default(all))
            fail(EXIT_DATA, s->path, "rotary positions are stretched by %s and by rope.scaling, which is not read here",
                 rope_table);
        json_decref(all);
        all = json_incref(table);
    }
    if (!is_default(all)) {
        put_json(all, "rope_theta", json_incref(json_object_get(config, key)));
        put_json(all, "type", json_incref(json_object_get(all, "rope_type")));
        json_object_set(config, "rope_parameters", all);
    }
    json_decref(all);
}

/* ------------------------------------------------------------------ writing */

double rope_table_element(const json_t *rope, int64_t pair, int64_t pairs)
{
    double base = json_number_value(json_object_get(rope, "rope_theta")),
           factor = json_number_value(json_object_get(rope, "factor")),
           context = json_number_value(json_object_get(rope, "original_max_position_embeddings"));
    return stretch_of(pair_rate(base, pair, pairs), factor, context);
}

bool is_rope_table(const json_t *rope)
{
    const char *type = json_string_value(json_object_get(rope, "rope_type"));
    return type && strcmp(type, "llama3") == 0;
}

const char *rope_misfit(const Architecture *a, const json_t *rope)
{
    if (!is_rope_table(rope)) return NULL;
    if (!has_rope_table(a)) return "llama.cpp stretches rotary positions as Llama 3 only in the architecture llama";
    if (json_number_value(json_object_get(rope, "low_freq_factor")) != LOW_TURNS ||
        json_number_value(json_object_get(rope, "high_freq_factor")) != HIGH_TURNS)
        return "stretched positions that change between other turns than 1 and 4 (rope_low, rope_high) have no place";
    return NULL;
}
