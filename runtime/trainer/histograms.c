/* histograms.c: RUN/histograms.jsonl: how gradients and updates are spread, parameter by parameter.
 *
 * In about fifty steps of a run some elements of each copy of a parameter are looked at: a sixteenth, at least 64, at
 * most 4,096, each at a place of its own in one of equal stretches, which depends on nothing but the shape.  Counts are
 * by powers of two: of |gradient| as it comes from the loss, before clipping, and of |update| / |weight|.  Root mean
 * squares are of the same elements. */
#include "trainer/histograms.h"
#include "base/file.h"
#include "base/json_text.h"
#include "base/words.h"
#include "model/init.h"
#include "model/tables.h"
#include "step/entry.h"
#include "trainer/ranks.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LOOKS = 50, PART = 16, FEWEST = 64, MOST = 4096, MOST_ROWS = 256 };
enum { LOWEST = -48, HIGHEST = 16, POWERS = HIGHEST - LOWEST }; /* powers of two that have counts of their own */

typedef struct Looked {
    const Lathe_param *param;
    int64_t copy, elements, sampled; /* copy -1: all of them */
    int64_t first;                   /* into `gradient` and `weight` */
} Looked;

typedef struct Spread { /* of some numbers */
    double squares;
    int64_t zeros, count[POWERS];
} Spread;

struct Histograms {
    const Trainer *t;
    Looked *place;
    int places;
    int64_t every, steps;
    double *gradient, *weight; /* before the update */
    bool begun;
    int fd;
    char *path, *line;
    Fault fault;
};

/* ------------------------------------------------------------------ which elements */

static int64_t sampled_of(int64_t elements)
{
    int64_t part = elements / PART, least = elements < FEWEST ? elements : FEWEST;
    return part < least ? least : part < MOST ? part : MOST;
}

/* Mixes the bits of x (SplitMix64, Steele, Lea, Flood 2014). */
static uint64_t scattered(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* The place of sample i in the flat arrays. */
static int64_t place_of_sample(const Looked *p, int64_t i)
{
    int64_t low = (int64_t)((double)p->elements * (double)i / (double)p->sampled);
    int64_t high = (int64_t)((double)p->elements * (double)(i + 1) / (double)p->sampled),
            each = copy_elements(p->param);
    int64_t e = high > low + 1 ? low + (int64_t)(scattered((uint64_t)i) % (uint64_t)(high - low)) : low;
    return p->copy >= 0 ? copy_place(p->param, p->copy, e) : copy_place(p->param, e / each, e % each);
}

static void add_place(Histograms *h, const Lathe_param *p, int64_t copy, int64_t *first)
{
    int64_t n = copy_elements(p) * (copy < 0 ? copies_of_parameter(p) : 1);
    h->place[h->places++] = (Looked){p, copy, n, sampled_of(n), *first};
    *first += sampled_of(n);
}

static bool is_looked_at(const Lathe_model *m, const Lathe_param *p)
{
    return lathe_is_trained(m, p) && copy_elements(p) > 0 && copies_of_parameter(p) > 0;
}

/* A row for each copy of each parameter; if these are too many, one for all copies of it. */
static int64_t choose_places(Histograms *h, const Lathe_model *m)
{
    int64_t rows = 0, first = 0;
    for (int i = 0; i < m->params; i++)
        if (is_looked_at(m, &m->param[i])) rows += copies_of_parameter(&m->param[i]);
    h->place = must_alloc(sizeof *h->place * MOST_ROWS);
    for (int i = 0; i < m->params && h->places < MOST_ROWS; i++) {
        const Lathe_param *p = &m->param[i];
        if (!is_looked_at(m, p)) continue;
        if (rows > MOST_ROWS || copies_of_parameter(p) == 1) add_place(h, p, rows > MOST_ROWS ? -1 : 0, &first);
        else
            for (int64_t copy = 0; copy < copies_of_parameter(p); copy++) add_place(h, p, copy, &first);
    }
    return first;
}

/* ------------------------------------------------------------------ a step */

static bool is_due(const Histograms *h, int64_t step)
{
    return h && !h->fault.path && (step == 0 || (step + 1) % h->every == 0 || step + 1 == h->steps);
}

static bool is_of_turn(const Looked *p, const Turn *u, const Trainer *t)
{
    if (u->name && !lathe_in_scopes(t->model->turn[u->number].of, p->param->name)) return false;
    return !rule_of(t->model, &t->recipe, p->param, p->copy < 0 ? 0 : p->copy).frozen;
}

bool note_before_update(Histograms *h, const Turn *u, const Memory *m, int64_t step, double scale)
{
    if (!is_due(h, step)) return false;
    const Lathe_model *model = h->t->model;
    const Lathe_dtype real = model->real, weights = lathe_weights(model);
#pragma omp parallel for schedule(dynamic)
    for (int k = 0; k < h->places; k++) {
        const Looked *p = &h->place[k];
        for (int64_t i = 0; i < p->sampled && is_of_turn(p, u, h->t); i++) {
            const int64_t at = place_of_sample(p, i);
            h->gradient[p->first + i] = scale * read_element(real, m->grads, at);
            h->weight[p->first + i] = read_element(weights, m->params, at);
        }
    }
    return h->begun = true;
}

static void add_number(Spread *s, double x)
{
    s->squares += x * x;
    if (x == 0 || isnan(x)) {
        s->zeros++;
        return;
    }
    int power = isinf(x) ? HIGHEST : ilogb(x);
    s->count[(power < LOWEST ? LOWEST : power >= HIGHEST ? HIGHEST - 1 : power) - LOWEST]++;
}

/* "gradient":{"zeros":0,"from":-12,"counts":[1,5,9]}: from 2^-12 on */
static void put_spread(FILE *f, const char *name, const Spread *s)
{
    int low = 0, high = POWERS - 1;
    while (low < high && !s->count[low]) low++;
    while (high > low && !s->count[high]) high--;
    fprintf(f, ",\"%s\":{\"zeros\":%lld,\"from\":%d,\"counts\":[", name, (long long)s->zeros, low + LOWEST);
    for (int k = low; k <= high; k++) fprintf(f, "%s%lld", k > low ? "," : "", (long long)s->count[k]);
    fprintf(f, "]}");
}

/* The root mean square. */
static double mean_size(const Spread *s, const Looked *p) { return sqrt(s->squares / (double)p->sampled); }

static void put_place(FILE *f, const Histograms *h, const Looked *p, const Memory *m)
{
    Spread gradient = {0}, update = {0}, weight = {0}, ratio = {0};
    const Lathe_dtype weights = lathe_weights(h->t->model);
    char name[1024];
    for (int64_t i = 0; i < p->sampled; i++) {
        double before = h->weight[p->first + i];
        double change = read_element(weights, m->params, place_of_sample(p, i)) - before;
        add_number(&gradient, h->gradient[p->first + i]);
        add_number(&update, change);
        add_number(&weight, before);
        add_number(&ratio, change == 0 ? 0 : change / before); /* infinite for a weight of 0 */
    }
    snprintf(name, sizeof name, "%s", p->param->name);
    if (p->copy >= 0) copy_name(name, sizeof name, p->param, p->copy);
    json_t *word = word_json(name);
    char *quoted = json_written(word, JSON_ENCODE_ANY);
    fprintf(f,
            "{\"name\":%s,\"elements\":%lld,\"sampled\":%lld,\"rms\":{\"gradient\":%.6g,\"update\":%.6g,"
            "\"weight\":%.6g}",
            quoted, (long long)p->elements, (long long)p->sampled, mean_size(&gradient, p), mean_size(&update, p),
            mean_size(&weight, p));
    put_spread(f, "gradient", &gradient);
    put_spread(f, "ratio", &ratio);
    fputc('}', f);
    free(quoted);
    json_decref(word);
}

void note_after_update(Histograms *h, const Turn *u, const Memory *m, int64_t step)
{
    size_t bytes;
    char *line = NULL;
    bool first = true;
    if (!h || !h->begun) return;
    h->begun = false;
    FILE *f = print_to(&line, &bytes);
    fprintf(f, "{\"step\":%lld,\"split\":\"histograms\"", (long long)step + 1);
    if (u->name) fprintf(f, ",\"turn\":\"%s\"", u->name);
    fprintf(f, ",\"parameters\":[");
    for (int k = 0; k < h->places; k++) {
        if (!is_of_turn(&h->place[k], u, h->t)) continue;
        if (!first) fputc(',', f);
        put_place(f, h, &h->place[k], m);
        first = false;
    }
    fprintf(f, "]}\n");
    end_print(f);
    if (append_whole(h->fd, line, bytes, h->path, &h->fault)) free(h->line), h->line = line;
    else free(line);
}

char *last_histograms(Histograms *h)
{
    char *line = h ? h->line : NULL;
    if (h) h->line = NULL;
    return line;
}

/* ------------------------------------------------------------------ the file */

static bool is_line_before(const char *line, size_t n, int64_t step)
{
    long long number;
    return line[n - 1] == '\n' && sscanf(line, "{\"step\":%lld,", &number) == 1 && number <= step;
}

/* Copies the lines up to the checkpoint: a killed run may have left more, and half a line. */
static void start_file(Histograms *h, const char *before, int64_t step)
{
    char *aside = text_of("%s.part", h->path), *line = NULL;
    size_t room = 0;
    ssize_t n;
    FILE *f = before ? open_stream_to_read(before) : NULL;
    Out *o = open_out(aside, &h->fault);
    while (f && (n = getline(&line, &room, f)) > 0)
        if (is_line_before(line, (size_t)n, step)) put_out(o, line, (size_t)n);
    if (f) fclose(f);
    close_out(o);
    replace_file(aside, h->path, &h->fault);
    if (h->fault.path) unlink(aside);
    else h->fd = open(h->path, O_WRONLY | O_APPEND | O_CLOEXEC);
    if (h->fd < 0) set_fault(&h->fault, h->path, "written"); /* unless there is one */
    free(aside);
    free(line);
}

Histograms *open_histograms(const Trainer *t, const Progress *at, const char *before)
{
    if (t->no_histograms || on_device() || gpus_of(t) > 1) return NULL; /* a rank has only sums of its own elements */
    Histograms *h = must_alloc(sizeof *h);
    h->t = t;
    h->fd = -1;
    h->steps = t->recipe.steps;
    h->every = (h->steps + LOOKS - 1) / LOOKS;
    int64_t n = choose_places(h, t->model);
    h->gradient = must_alloc(sizeof *h->gradient * (size_t)(n + 1));
    h->weight = must_alloc(sizeof *h->weight * (size_t)(n + 1));
    h->path = text_of("%s/histograms.jsonl", run_folder(t));
    start_file(h, before, at->step);
    return h;
}

void close_histograms(Histograms *h)
{
    if (!h) return;
    if (h->fd >= 0 && close(h->fd) != 0) set_fault(&h->fault, h->path, "written");
    if (h->fault.path) note("%s is not complete: it %s", h->path, h->fault.text);
    clear_fault(&h->fault);
    free(h->place), free(h->gradient), free(h->weight), free(h->path), free(h->line), free(h);
}
