/* info.c: `trainer info`: what this trainer was built for. */
#include "base/json_text.h"
#include "base/words.h"
#include "interface/lathe_model.h"
#include "model/adapter.h"
#include "model/block.h"
#include "model/place.h"
#include "model/tables.h"
#include "step/optim.h"
#include "trainer/about.h"
#include "trainer/knobs.h"
#include "trainer/memory.h"
#include "trainer/trainer.h"

#include <stdlib.h>
#include <string.h>

static const char *dtype_word(Lathe_dtype t)
{
    static const char *const word[] = {"bool", "i32", "f32", "f64"};
    return word[t];
}

/* ------------------------------------------------------------------ for people */

static void print_tensor(const Lathe_tensor *t, const char *before)
{
    show(stdout, "%s%s %s [", before, t->name, dtype_word(t->dtype));
    for (int k = 0; k < t->rank; k++) show(stdout, "%s%lld", k ? ", " : "", (long long)t->dim[k]);
    show(stdout, "]");
}

/* "train_2": of two micro-batches, as dumps call it */
static char *key_of_entry(const Lathe_model *m, const Lathe_entry *e)
{
    const Lathe_entry *first = find_entry(m, ENTRY_train);
    if (e->turn) return text_of("%s_%s", e->name, e->turn);
    if (!first || e == first || strcmp(e->name, first->name) != 0) return text_of("%s", e->name);
    return text_of("%s_%lld", e->name, (long long)(e->rows * m->recipe.accumulate / first->rows));
}

static void print_entry(const Lathe_model *m, const Lathe_entry *e)
{
    if (e->turn) show(stdout, "  %s, turn %s\n           in:", e->name, e->turn);
    else show(stdout, "  %-8s in:", key_of_entry(m, e));
    for (int i = 0; i < e->inputs; i++) print_tensor(&e->input[i], i ? ", " : " ");
    show(stdout, "\n           out:");
    for (int i = 0; i < e->outputs; i++) print_tensor(&e->output[i], i ? ", " : " ");
    show(stdout, "\n           %.3g GFLOP a call, %s of work memory\n", e->flops * 1e-9, bytes_text(e->work_bytes));
}

/* The effect of groups and decay on it; of several copies, the first is shown. */
static char *rule_text(const Lathe_model *m, const Lathe_recipe *recipe, const Lathe_param *p)
{
    Rule r = rule_of(m, recipe, p, 0);
    if (r.frozen || !lathe_is_trained(m, p)) {
        const char *word = block_word(type_of_weight(m, p));
        return word ? text_of("  (frozen, %s)", word) : text_of("  (frozen)");
    }
    char *rate = r.lr_scale != 1 ? text_of("  (rate × %g)", r.lr_scale) : text_of("%s", "");
    if (p->directed) return text_of("%s  (%s, decay %g)", rate, lathe_direction_of(m, p)->name, r.decay);
    if (r.decay < 0) return rate;
    return r.decay == 0 ? text_of("%s  (no decay)", rate) : text_of("%s  (decay %g)", rate, r.decay);
}

/* Its name in checkpoints, with a * for the number of the copy: a pattern for `groups`. */
static char *pattern_of(const Lathe_param *p)
{
    char *name = text_of("%s", p->export_name), *to = name;
    for (const char *s = p->export_name; *s; s++) {
        bool number = s[0] == '%' && s[1] == 'd';
        *to++ = number ? '*' : *s;
        s += number;
    }
    *to = 0;
    return name;
}

static void print_param(const Lathe_param *p, const char *rule)
{
    char *name = pattern_of(p);
    show(stdout, "  %-40s ", name);
    for (int k = 0; k < p->loops; k++) show(stdout, "%lld × ", (long long)p->dim[k]);
    show(stdout, "%s  %s%s\n", dims_text(p->rank - p->loops, p->dim + p->loops), p->where, rule);
    free(name);
}

static void print_turn(const Lathe_turn *u)
{
    show(stdout, "\nturn %s: loss %s, parameters of %s, %s at rate %g", u->name, u->loss, u->of,
         optimizer_word(u->recipe.optimizer), u->recipe.lr);
    if (u->every > 1) show(stdout, ", in every step whose number is a multiple of %lld", (long long)u->every);
    show(stdout, "\n");
}

/* Bytes of what decode remembers of each position, unless that is in fp32 (0), and its type. */
static int64_t bytes_of_cache(const Lathe_model *m, Lathe_dtype *type)
{
    int64_t bytes = 0;
    for (int i = 0; i < m->states; i++) {
        const Lathe_tensor *s = &m->state[i];
        if (s->role != LATHE_STATE || (s->dtype != LATHE_BF16 && !lathe_bytes_of_block(s->dtype))) continue;
        bytes += bytes_of_numbers(s->dtype, tensor_size(s));
        *type = s->dtype;
    }
    return bytes;
}

static void print_cache(const Lathe_model *m)
{
    Lathe_dtype type = LATHE_F32;
    int64_t bytes = bytes_of_cache(m, &type);
    if (bytes) show(stdout, "keys and values of decode in %s: %s bytes\n", option_word(type), grouped_text(bytes));
}

static void put_cache(json_t *all, const Lathe_model *m)
{
    Lathe_dtype type = LATHE_F32;
    int64_t bytes = bytes_of_cache(m, &type);
    put_json(all, "cache", bytes ? json_string(option_word(type)) : json_null());
    put_json(all, "cache_bytes", bytes ? json_integer(bytes) : json_null());
}

static void print_info(const Trainer *t)
{
    const Lathe_model *m = t->model;
    show(stdout, "%s%s, %s, source %s: %s parameters in %d tensors\n", m->name, config_of(m), m->precision,
         m->source_hash, grouped_text(m->parameter_count), m->params);
    char *trained = training_words(m);
    if (trained) show(stdout, "%s\n", trained);
    free(trained);
    if (m->teacher)
        show(stdout, "teacher %s%s: %s parameters in %d tensors\n", m->teacher->name, config_of(m->teacher),
             grouped_text(m->teacher->parameter_count), m->teacher->params);
    if (m->vocab)
        show(stdout, "batch %lld, seq %lld, vocab %lld\n", (long long)m->batch, (long long)m->seq, (long long)m->vocab);
    show(stdout, "\nbuilt with (rebuild to change):\n");
    for (int i = 0; i < m->knobs; i++) show(stdout, "  %-20s %s\n", m->knob[i][0], m->knob[i][1]);
    show(stdout, "\nrecipe (--set changes it):\n");
    print_knobs(stdout, &t->recipe, m->turns);
    for (int k = 0; k < m->turns; k++) print_turn(&m->turn[k]);
    if (find_entry(m, ENTRY_train) && !m->turns)
        show(stdout, "\noptimizers that have room here (--set optimizer=NAME): %s\n", optimizers_with_room(t));
    show(stdout, "\nmemory: %s bytes planned, lower bound %s\n", grouped_text(m->planned_bytes),
         grouped_text(m->lower_bound_bytes));
    for (int i = 0; i < m->categories; i++)
        show(stdout, "  %-12s %16s\n", m->plan[i].category, grouped_text(m->plan[i].bytes));
    print_cache(m);
    if (m->recipe.slots > 1)
        show(stdout, "%lld texts at once (serve, generate): %s bytes of states, beside %s of one text\n",
             (long long)m->recipe.slots, grouped_text(m->state_bytes - states_taken(m, true, false)),
             grouped_text(states_taken(m, true, false) - states_taken(m, false, false)));
    show(stdout, "\nentries:\n");
    for (int i = 0; i < m->entries; i++) print_entry(m, &m->entry[i]);
    show(stdout, "\nparameters, as checkpoints and groups name them (* is the number of a layer):\n");
    for (int i = 0; i < m->params; i++) print_param(&m->param[i], rule_text(m, &m->recipe, &m->param[i]));
    if (m->statistics) show(stdout, "\nstatistics, which checkpoints have beside them:\n");
    for (int i = 0; i < m->statistics; i++) print_param(&m->statistic[i], "");
}

/* ------------------------------------------------------------------ for programs */

static json_t *dims_json(int rank, const int64_t *dim)
{
    json_t *all = json_array();
    for (int k = 0; k < rank; k++) add_json(all, json_integer(dim[k]));
    return all;
}

static json_t *tensors_json(const Lathe_tensor *t, int n)
{
    json_t *all = json_object();
    for (int i = 0; i < n; i++)
        put_json(all, t[i].name,
                 json_pack("{s:s, s:o}", "dtype", dtype_word(t[i].dtype), "shape", dims_json(t[i].rank, t[i].dim)));
    return all;
}

static json_t *entries_json(const Lathe_model *m)
{
    json_t *all = json_object();
    for (int i = 0; i < m->entries; i++) {
        const Lathe_entry *e = &m->entry[i];
        put_json(all, key_of_entry(m, e),
                 json_pack("{s:o, s:o, s:f, s:I}", "inputs", tensors_json(e->input, e->inputs), "outputs",
                           tensors_json(e->output, e->outputs), "flops", e->flops, "work_bytes",
                           (json_int_t)e->work_bytes));
    }
    return all;
}

/* As `lathe diff` says it of a description. */
static const char *start_words(const Lathe_param *p)
{
    static const char *const words[] = {[LATHE_ZEROS] = "zeros",
                                        [LATHE_ONES] = "ones",
                                        [LATHE_CONSTANT] = "constant",
                                        [LATHE_NORMAL] = "normal",
                                        [LATHE_UNIFORM] = "uniform"};
    const char *decay = p->decay ? "" : ", no decay";
    if (p->init < LATHE_CONSTANT) return text_of("%s%s", words[p->init], decay);
    if (p->init == LATHE_CONSTANT) return text_of("%s %.9g%s", words[p->init], p->init_a, decay);
    return text_of("%s %.9g %.9g%s", words[p->init], p->init_a, p->init_b, decay);
}

static json_t *kernels_of_steps(const Lathe_model *m)
{
    json_t *all = json_object();
    for (int i = 0; i < m->entries; i++) {
        const Lathe_entry *e = &m->entry[i];
        if (e->kernels) put_json(all, key_of_entry(m, e), planned_kernels(e));
    }
    return all;
}

static json_t *parameters_json(const Lathe_model *m, const Lathe_param *table, int n)
{
    json_t *all = json_object();
    for (int i = 0; i < n; i++) {
        const Lathe_param *p = &table[i];
        char *name = pattern_of(p);
        put_json(all, name,
                 json_pack("{s:s, s:s, s:o, s:i, s:s, s:b, s:b, s:s}", "export", p->export_name, "layer",
                           utf8_of(p->name), "shape", dims_json(p->rank, p->dim), "copies_axes", p->loops, "start",
                           start_words(p), "decay", p->decay, "frozen", table == m->param && !lathe_is_trained(m, p),
                           "where", utf8_of(p->where)));
        free(name);
    }
    return all;
}

static void print_info_json(const Trainer *t)
{
    const Lathe_model *m = t->model;
    json_t *plan = json_object(), *built = json_object();
    for (int i = 0; i < m->categories; i++) put_json(plan, m->plan[i].category, json_integer(m->plan[i].bytes));
    for (int i = 0; i < m->knobs; i++) put_json(built, m->knob[i][0], word_json(m->knob[i][1]));
    json_t *all = json_pack("{s:s, s:s?, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I}", "model", utf8_of(m->name), "config",
                            utf8_of(m->config), "precision", m->precision, "source_hash", m->source_hash,
                            "parameter_count", (json_int_t)m->parameter_count, "batch", (json_int_t)m->batch, "seq",
                            (json_int_t)m->seq, "vocab", (json_int_t)m->vocab, "planned_bytes",
                            (json_int_t)m->planned_bytes, "lower_bound_bytes", (json_int_t)m->lower_bound_bytes);
    char words[64], *blocks = words_of_blocks(m);
    lora_words(&m->lora, words, sizeof words);
    put_json(all, "lora", m->adapters ? json_string(words) : json_null());
    if (m->teacher)
        put_json(all, "teacher",
                 json_pack("{s:s, s:I}", "model", utf8_of(m->teacher->name), "parameter_count",
                           (json_int_t)m->teacher->parameter_count));
    put_json(all, "blocks", blocks ? json_string(blocks) : json_null());
    free(blocks);
    put_cache(all, m);
    put_json(all, "plan", plan);
    put_json(all, "built_with", built);
    json_t *recipe = recipe_json(&t->recipe);
    if (m->direction.name) put_json(recipe, "optimizer", word_json(m->direction.name)); /* as in config.json */
    put_json(all, "recipe", recipe);
    put_json(all, "kernels", kernels_of_steps(m));
    put_json(all, "entries", entries_json(m));
    put_json(all, "parameters", parameters_json(m, m->param, m->params));
    if (m->statistics) put_json(all, "statistics", parameters_json(m, m->statistic, m->statistics));
    print_json(all);
}

int info_command(Trainer *t)
{
    if (t->json) print_info_json(t);
    else print_info(t);
    return 0;
}
