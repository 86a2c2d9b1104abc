/* digest.c: the tensors that a run goes on with, where they lie in memory, and their hashes.
 *
 * A hash is of the bytes that the tensor has in a file of safetensors, so others can compute it from a checkpoint.
 * Frozen parameters are hashed once. */
#include "trainer/digest.h"
#include "base/words.h"
#include "model/init.h"
#include "model/place.h"
#include "model/tables.h"

#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ which there are */

static Kept_tensor *add_tensor(Kept_tensors *all, char *name, const char *where, const char *file)
{
    if ((all->n & (all->n - 1)) == 0) all->at = must_grow(all->at, sizeof *all->at * (size_t)(2 * all->n + 1));
    Kept_tensor *k = &all->at[all->n++];
    *k = (Kept_tensor){.name = name, .where = where ? where : "", .file = file};
    return k;
}

/* One for each copy; below: of their offsets. */
static void add_parameters(Kept_tensors *all, const char *prefix, const char *file, const void *flat, int64_t below,
                           const Lathe_dtype *type)
{
    const Lathe_model *m = all->model;
    for (const Lathe_param *p = m->param; p < m->param + m->params; p++)
        for (int64_t c = 0; c < copies_of_parameter(p) && p->offset < below; c++) {
            char name[512];
            copy_name(name, sizeof name, p, c);
            Kept_tensor *k = add_tensor(all, text_of("%s%s", prefix, name), p->where, file);
            k->param = p;
            k->copy = c;
            k->flat = flat;
            k->type = type ? *type : type_of_weight(m, p);
            k->elements = copy_elements(p);
            k->fixed = !type && !lathe_is_trained(m, p);
        }
}

static void add_bytes(Kept_tensors *all, const char *name, const char *file, const void *at, int64_t bytes)
{
    Kept_tensor *k = add_tensor(all, text_of("%s", name), NULL, file);
    k->flat = at;
    k->type = LATHE_BOOL;
    k->elements = bytes;
}

static void add_optimizer(Kept_tensors *all, const Trainer *t, const Memory *m, const Optimizer *o)
{
    static const char file[] = "optimizer.safetensors", beside[] = "trained.safetensors";
    const Lathe_model *model = all->model;
    if (o->coded) {
        add_bytes(all, "moments in 8 bits", file, m->moments, (int64_t)optimizer_bytes(model, &t->recipe));
        return;
    }
    for (int k = 0; k < o->moments; k++) {
        char *prefix = text_of("%s.", o->moment_name[k]);
        add_parameters(all, prefix, file, o->moment[k], lathe_moment_elements(model), &o->real);
        free(prefix);
    }
    if (o->average) add_parameters(all, "average.", beside, o->average, lathe_trained_elements(model), &o->real);
}

/* Those that checkpoints have: "train.lstm.h" as "lstm.h". */
static void add_states(Kept_tensors *all, const Memory *m)
{
    const Lathe_model *model = all->model;
    const Lathe_param *statistic = model->statistic;
    for (const Lathe_tensor *s = model->state; s < model->state + model->states; s++) {
        const char *dot = strchr(s->name, '.'), *name = dot ? dot + 1 : s->name, *where = NULL, *file;
        if (s->role == LATHE_CARRIED) file = "states.safetensors";
        else if (s->role == LATHE_MOMENT) file = "directions.safetensors";
        else if (s->role != LATHE_STATISTIC) continue;
        else file = "model.safetensors", where = statistic->where, name = statistic++->export_name;
        Kept_tensor *k = add_tensor(all, text_of("%s", name), where, file);
        k->flat = (const char *)m->state + s->offset;
        k->type = s->dtype;
        k->elements = tensor_size(s);
    }
}

Kept_tensors tensors_of_run(const Trainer *t, const Memory *m, const Optimizer *o)
{
    Kept_tensors all = {.model = t->model};
    add_parameters(&all, "", o->average ? "trained.safetensors" : "model.safetensors", m->params, INT64_MAX, NULL);
    all.parameters = all.n;
    add_optimizer(&all, t, m, o);
    add_states(&all, m);
    return all;
}

void free_tensors(Kept_tensors *all)
{
    for (int i = 0; i < all->n; i++) free(all->at[i].name);
    free(all->at);
    *all = (Kept_tensors){0};
}

/* ------------------------------------------------------------------ their bytes */

static bool is_in_bytes(const Kept_tensor *k) { return k->type == LATHE_BOOL || block_word(k->type) != NULL; }

int size_of_number(const Kept_tensor *k) { return is_in_bytes(k) ? 1 : dtype_size(k->type); }

int64_t bytes_of_tensor(const Kept_tensor *k)
{
    return k->type == LATHE_BOOL ? k->elements : bytes_of_numbers(k->type, k->elements);
}

double number_of_tensor(const Kept_tensor *k, const void *number)
{
    return is_in_bytes(k) ? *(const unsigned char *)number : read_element(k->type, number, 0);
}

/* Runs of neighbours, in the order of files. */
void each_run(const Kept_tensors *all, const Kept_tensor *k, Take_run *take, void *with)
{
    if (!k->param) {
        take(with, (void *)k->flat, bytes_of_tensor(k));
        return;
    }
    const bool weights = k - all->at < all->parameters;
    for (int64_t e = 0, run = contiguous_elements(k->param); e < k->elements; e += run) {
        int64_t place = copy_place(k->param, k->copy, e);
        void *at = weights ? parameter_at(all->model, k->flat, place) : (char *)k->flat + place * dtype_size(k->type);
        take(with, at, bytes_of_numbers(k->type, run));
    }
}

/* ------------------------------------------------------------------ their hashes */

typedef struct Sum {
    Sha256 hash;
    Sums sums;
    bool summed;
    int size;
    uint64_t n; /* numbers so far */
} Sum;

static void hash_run(void *sum, void *at, int64_t bytes)
{
    Sum *s = sum;
    sha256_add(&s->hash, at, (size_t)bytes);
    for (int64_t b = 0; s->summed && b < bytes; b += s->size) {
        uint64_t bits = 0;
        memcpy(&bits, (const char *)at + b, (size_t)s->size);
        add_to_sums(&s->sums, ++s->n, bits);
    }
}

void hash_tensors(Kept_tensors *all, int from, int to, bool sums)
{
#pragma omp parallel for schedule(dynamic)
    for (int i = from; i < to; i++) {
        Kept_tensor *k = &all->at[i];
        if (k->fixed && k->known) continue;
        Sum s = {.summed = sums || k->fixed, .size = size_of_number(k)};
        sha256_start(&s.hash);
        each_run(all, k, hash_run, &s);
        k->digest = sha256_end(&s.hash);
        k->sums = s.sums;
        k->known = true;
    }
}

Digest digest_of_tensors(const Kept_tensors *all, int from, int to)
{
    Sha256 h;
    char text[SHA256_DIGITS + 1];
    sha256_start(&h);
    for (int i = from; i < to; i++) {
        digest_text(&all->at[i].digest, text);
        sha256_add(&h, text, SHA256_DIGITS);
        sha256_add(&h, "  ", 2);
        sha256_add(&h, all->at[i].name, strlen(all->at[i].name));
        sha256_add(&h, "\n", 1);
    }
    return sha256_end(&h);
}
