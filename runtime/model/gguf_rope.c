/* gguf_rope.c: stretched rotary positions in GGUF files, and as config.json has them (rope_parameters).
 *
 * "linear" and "yarn" are keys.  That of Llama 3 is a tensor, rope_freqs.weight, by which each rate is divided; the
 * numbers that it was made from are not in the file, so they are sought: published models have different factors and
 * contexts, and all of them change between 1 and 4 turns.  "longrope" (Phi-3) is two such tensors, for short texts and
 * for long ones. */
#include "base/json_text.h"
#include "base/words.h"
#include "math/double.h"
#include "model/gguf.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double LOW_TURNS = 1, HIGH_TURNS = 4;

/* By how much Llama 3 divides a rate: not at all if it turns often in the context, by the factor if seldom. */
static double stretch_of(double rate, double factor, double context)
{
    double turns = rate * context / (2 * 3.14159265358979323846);
    double share = fmin(fmax((turns - LOW_TURNS) / (HIGH_TURNS - LOW_TURNS), 0), 1);
    return 1 / ((1 - share) / factor + share);
}

static double pair_rate(double base, int64_t pair, int64_t pairs)
{
    return pow_f64(base, -(double)pair / (double)pairs);
}

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

/* [pairs] */
static double *table_of(const Store *s, const Stored *t, int64_t pairs)
{
    if (!is_stored_real(t) || pairs < 1 || t->rank != 1 || t->dim[0] != pairs)
        fail(EXIT_DATA, s->path,
             "tensor %s: expected a number for each of the %lld pairs of a head; the file is damaged", t->name,
             (long long)pairs);
    double *table = must_alloc(sizeof *table * (size_t)pairs);
    read_stored(t, 0, pairs, table);
    return table;
}

static json_t *parameters_of_table(const Store *s, const Architecture *a, const Stored *t)
{
    int64_t pairs = gguf_head(s, a) / 2;
    double *table = table_of(s, t, pairs), factor = 0;
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

/* ------------------------------------------------------------------ rope_factors_short.weight, …_long.weight */

static const struct {
    const char *name, *hf;
} factors[] = {{"rope_factors_long.weight", "long_factor"}, {"rope_factors_short.weight", "short_factor"}};
enum { FACTORS = sizeof factors / sizeof *factors };

static json_t *factors_of_table(const Store *s, const Architecture *a, const Stored *t)
{
    json_t *turned = gguf_value_of(s, a, "rope.dimension_count"), *list = json_array();
    int64_t pairs = (turned ? json_integer_value(turned) : gguf_head(s, a)) / 2;
    double *table = table_of(s, t, pairs);
    for (int64_t i = 0; i < pairs; i++)
        if (!(table[i] > 0 && isfinite(table[i])))
            fail(EXIT_DATA, s->path, "tensor %s: expected numbers above 0", t->name);
        else add_json(list, json_real(table[i]));
    free(table);
    return list;
}

/* What a tensor that stretches positions means; NULL: it is none. */
static json_t *meaning_of(const Store *s, const Architecture *a, const Stored *t)
{
    if (has_rope_table(a) && strcmp(t->name, rope_table) == 0) return parameters_of_table(s, a, t);
    for (int k = 0; a->factors && k < FACTORS; k++)
        if (strcmp(t->name, factors[k].name) == 0) return factors_of_table(s, a, t);
    return NULL;
}

/* The meaning takes the tensor's place: its name, which is none of a key, leads to it in the header. */
void take_rope_tables(Store *s, const Architecture *a)
{
    for (int k = 0; k < FACTORS; k++) json_object_del(s->header, factors[k].name);
    for (int i = s->n - 1; i >= 0; i--) {
        Stored *t = &s->tensor[i];
        json_t *meaning = meaning_of(s, a, t);
        if (!meaning) continue;
        put_json(s->header, t->name, meaning);
        free((char *)t->name);
        memmove(t, t + 1, sizeof *t * (size_t)(--s->n - i));
    }
}

/* ------------------------------------------------------------------ config.json */

static double rope_number(const Store *s, const Architecture *a, const char *key, double absent)
{
    const json_t *value = gguf_value_of(s, a, key);
    double x = json_number_value(value);
    if (value && !(x > 0 && x < 1e15))
        fail(EXIT_DATA, s->path, "\"%s.%s\": expected a number above 0; the file is damaged", a->name, key);
    return value ? x : absent;
}

static int64_t first_context(const Store *s, const Architecture *a)
{
    return (int64_t)rope_number(s, a, "rope.scaling.original_context_length", rope_number(s, a, "context_length", 1));
}

/* What YaRN multiplies cosines and sines by, unless a model says something else. */
static double yarn_amplitude(double factor) { return factor > 1 ? 0.1 * log_f64(factor) + 1 : 1; }

/* Converters write a model's own amplitude as yarn_attn_factor, which llama.cpp then leaves out; it multiplies the
 * usual one by attn_factor.  Rounded to what is certain in floats, so that it is read as it was written. */
static double amplitude_of(const Store *s, const Architecture *a, double usual)
{
    char text[40];
    double own =
        rope_number(s, a, "rope.scaling.yarn_attn_factor", usual) * rope_number(s, a, "rope.scaling.attn_factor", 1);
    snprintf(text, sizeof text, "%.7g", own);
    return own == usual ? usual : strtod(text, NULL);
}

static json_t *yarn_parameters(const Store *s, const Architecture *a, double factor)
{
    double usual = yarn_amplitude(factor), own = amplitude_of(s, a, usual);
    json_t *all = json_pack("{s:s, s:f, s:I}", "rope_type", "yarn", "factor", factor,
                            "original_max_position_embeddings", (json_int_t)first_context(s, a));
    double fast = rope_number(s, a, "rope.scaling.yarn_beta_fast", 0),
           slow = rope_number(s, a, "rope.scaling.yarn_beta_slow", 0);
    if (fast > 0) put_json(all, "beta_fast", json_real(fast));
    if (slow > 0) put_json(all, "beta_slow", json_real(slow));
    if (own != usual) put_json(all, "attention_factor", json_real(own));
    return all;
}

static json_t *longrope_parameters(const Store *s, const Architecture *a)
{
    json_t *all = json_pack("{s:s, s:I, s:f}", "rope_type", "longrope", "original_max_position_embeddings",
                            (json_int_t)first_context(s, a), "attention_factor",
                            rope_number(s, a, "rope.scaling.attn_factor", 1));
    for (int k = 0; k < FACTORS; k++) {
        json_t *list = json_object_get(s->header, factors[k].name);
        if (!list) fail(EXIT_DATA, s->path, "expected the tensor %s, which stretched positions need", factors[k].name);
        json_object_set(all, factors[k].hf, list);
    }
    return all;
}

/* "type" is what older readers call rope_type. */
static json_t *scaling_parameters(const Store *s, const Architecture *a)
{
    const char *type = json_string_value(gguf_value_of(s, a, "rope.scaling.type"));
    json_t *factor = gguf_value_of(s, a, "rope.scaling.factor");
    if (!factor) factor = gguf_value_of(s, a, "rope.scale_linear");
    double x = json_is_number(factor) ? json_number_value(factor) : 1;
    if (type && strcmp(type, "yarn") == 0) return yarn_parameters(s, a, x > 0 ? x : 1);
    if ((type && strcmp(type, "longrope") == 0) || json_object_get(s->header, factors[0].name))
        return longrope_parameters(s, a); /* converters leave the type out */
    if (rope_number(s, a, "rope.scaling.attn_factor", 1) != 1)
        fail(EXIT_DATA, s->path, "\"%s.rope.scaling.attn_factor\" is read only beside the types yarn and longrope",
             a->name);
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
    json_t *base = gguf_value_of(s, a, "rope.freq_base"), *all = scaling_parameters(s, a),
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

static bool is_type(const json_t *rope, const char *type)
{
    const char *own = json_string_value(json_object_get(rope, "rope_type"));
    if (!own) own = json_string_value(json_object_get(rope, "type"));
    return own && (strcmp(own, type) == 0 || (strcmp(own, "su") == 0 && strcmp(type, "longrope") == 0));
}

static double said_number(const json_t *rope, const char *key) { return json_number_value(json_object_get(rope, key)); }

int rope_tables(const json_t *rope, const char **name)
{
    if (is_type(rope, "llama3")) return name[0] = rope_table, 1;
    for (int k = 0; k < FACTORS; k++) name[k] = factors[k].name;
    return is_type(rope, "longrope") ? FACTORS : 0;
}

int64_t rope_table_pairs(const json_t *rope, int64_t head)
{
    const json_t *list = json_object_get(rope, factors[0].hf);
    return list ? (int64_t)json_array_size(list) : head / 2;
}

double rope_table_element(const json_t *rope, const char *name, int64_t pair, int64_t pairs)
{
    for (int k = 0; k < FACTORS; k++)
        if (strcmp(name, factors[k].name) == 0)
            return json_number_value(json_array_get(json_object_get(rope, factors[k].hf), (size_t)pair));
    return stretch_of(pair_rate(said_number(rope, "rope_theta"), pair, pairs), said_number(rope, "factor"),
                      said_number(rope, "original_max_position_embeddings"));
}

double rope_amplitude(const json_t *rope, int64_t context)
{
    double own = said_number(rope, "attention_factor"), factor = said_number(rope, "factor"),
           first = said_number(rope, "original_max_position_embeddings");
    if (is_type(rope, "yarn")) return own > 0 ? own / yarn_amplitude(factor) : 1;
    if (!is_type(rope, "longrope") || own > 0) return own > 0 ? own : 1;
    if (!(factor > 0)) factor = (double)context / first;
    return factor > 1 ? sqrt(1 + log_f64(factor) / log_f64(first)) : 1;
}

const char *rope_misfit(const Architecture *a, const json_t *rope)
{
    if (is_type(rope, "dynamic"))
        return "llama.cpp has no rotary positions that stretch with the text (rope = \"dynamic\"); for texts up to the "
               "context they are as usual: export with rope = \"default\"";
    if (is_type(rope, "longrope") && !a->factors)
        return "llama.cpp's files have two lists of stretched positions (rope = \"longrope\") only in the architecture "
               "phi3";
    if (is_type(rope, "yarn") && ((json_object_get(rope, "beta_fast") && said_number(rope, "beta_fast") != 32) ||
                                  (json_object_get(rope, "beta_slow") && said_number(rope, "beta_slow") != 1)))
        return "llama.cpp takes 32 and 1 turns for rope = \"yarn\", whatever a file says (rope_fast, rope_slow)";
    if (!is_type(rope, "llama3")) return NULL;
    if (!has_rope_table(a)) return "llama.cpp stretches rotary positions as Llama 3 only in the architecture llama";
    if (said_number(rope, "low_freq_factor") != LOW_TURNS || said_number(rope, "high_freq_factor") != HIGH_TURNS)
        return "stretched positions that change between other turns than 1 and 4 (rope_low, rope_high) have no place";
    return NULL;
}
