/* pictures.c: batches of pictures, decoded by threads ahead of the steps that use them.
 *
 * A batch is a list of turns, which are known before anything is read, and a room for each picture.  Threads take turn
 * after turn, of the earliest batch that has some, and each writes to its own room, so batches do not depend on how
 * many threads there are.  Memory is taken when the data is opened; what libjpeg and libpng take is bounded. */
#include "base/file.h"
#include "base/hash.h"
#include "base/thread.h"
#include "base/words.h"
#include "data/pictures.h"
#include "data/resample.h"
#include "data/vary.h"
#include "model/tables.h"
#include "source/picture.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ASKED, AHEAD, BATCHES = 3 }; /* one that is waited for; those of the steps to come */

typedef struct Batch {
    int64_t step;           /* -1: none */
    int64_t n, taken, done; /* turns: of the batch, begun, ended */
    Picture_turn *turn;     /* [n] */
    char **wrong;           /* [n] why a picture cannot be read; NULL: it can */
    uint8_t *pixels;        /* [n][height][width][channels] */
} Batch;

typedef struct Decoder { /* of a thread */
    Pictures *p;
    pthread_t thread;
    Resampler *resampler;
    unsigned char *chunk;
    const Picture_turn *turn; /* the one at work */
    bool varied;              /* cropped and flipped as in training */
} Decoder;

struct Pictures {
    const Reading *reading;
    Picture_index *index;
    Picture_form form;
    int64_t pixels; /* numbers of a picture */
    int64_t rows;   /* room of a batch */
    Batch batch[BATCHES];
    int batches, decoders;
    Decoder *decoder;
    bool started;
    char *failure;
    char **fault; /* [n] of the pictures, if some may be bad: what is wrong; else NULL */
    int64_t bad;
    pthread_mutex_t lock;
    pthread_cond_t work, ready;
};

/* ------------------------------------------------------------------ one picture */

static const Picture_turn *varied_turn(const Decoder *d) { return d->varied ? d->turn : NULL; }

static void take_size(void *with, int width, int height)
{
    Decoder *d = with;
    Cut cut = settle_cut(&d->p->form, varied_turn(d), width, height);
    start_picture(d->resampler, width, height, &cut);
}

static void take_row(void *with, int y, const uint8_t *rgb)
{
    const Decoder *d = with;
    add_picture_row(d->resampler, y, rgb);
}

/* NULL, or what is wrong. */
static char *read_open_picture(Decoder *d, const Picture *q, int fd)
{
    struct stat about;
    Picture_bytes from = {fd, q->first, q->bytes, d->chunk};
    if (fstat(fd, &about) != 0 || !S_ISREG(about.st_mode) || about.st_size < q->first + q->bytes ||
        (q->archive < 0 && about.st_size != q->bytes))
        return text_of(
            "expected %lld bytes, as when the data was opened, found other ones; leave the data as it is while "
            "it is read",
            (long long)q->bytes);
    return read_picture(&from, &(Picture_taker){d, take_size, take_row});
}

static char *read_turn(Decoder *d, uint8_t *out)
{
    const Picture_index *s = d->p->index;
    const Picture *q = &s->at[d->turn->item];
    int fd = open_to_read(q->archive < 0 ? s->names + q->name : s->archives.at[q->archive]);
    char *wrong = fd < 0 ? text_of("cannot be read: %s", error_text(errno)) : read_open_picture(d, q, fd);
    if (fd >= 0) close(fd);
    if (wrong) return wrong;
    end_picture(d->resampler, out);
    if (d->varied) vary_pixels(&d->p->form, d->turn, out);
    return NULL;
}

/* ------------------------------------------------------------------ threads */

/* The earliest batch with turns that nobody has begun; NULL: none. */
static Batch *batch_to_read(Pictures *p)
{
    Batch *first = NULL;
    for (int i = 0; i < p->batches; i++) {
        Batch *b = &p->batch[i];
        if (b->taken < b->n && (!first || b->step < first->step)) first = b;
    }
    return first;
}

static void *read_turns(void *with)
{
    Decoder *d = with;
    Pictures *p = d->p;
    pthread_mutex_lock(&p->lock);
    for (;;) {
        Batch *b = batch_to_read(p);
        if (!b) {
            pthread_cond_wait(&p->work, &p->lock);
            continue;
        }
        int64_t k = b->taken++;
        pthread_mutex_unlock(&p->lock);
        d->turn = &b->turn[k];
        d->varied = b != &p->batch[ASKED];
        char *wrong = read_turn(d, b->pixels + k * p->pixels);
        pthread_mutex_lock(&p->lock);
        b->wrong[k] = wrong;
        if (++b->done == b->n) pthread_cond_broadcast(&p->ready);
    }
    return NULL;
}

/* At the first batch, because processes of several GPUs are made after the data is opened. */
static void start_decoders(Pictures *p)
{
    for (int i = 0; i < p->decoders && !p->started; i++)
        if (!start_thread(&p->decoder[i].thread, read_turns, &p->decoder[i]))
            fail(EXIT_ERROR, NULL, "a thread that reads pictures cannot be started");
    p->started = true;
}

/* Turns of the batch are set; its pictures are read. */
static void hand_to_decoders(Pictures *p, Batch *b, int64_t step, int64_t n)
{
    pthread_mutex_lock(&p->lock);
    b->step = step;
    b->taken = b->done = 0;
    b->n = n;
    pthread_cond_broadcast(&p->work);
    pthread_mutex_unlock(&p->lock);
    start_decoders(p);
}

/* Turns that nobody has begun are left out if they are not wanted. */
static void wait_for(Pictures *p, Batch *b, bool wanted)
{
    pthread_mutex_lock(&p->lock);
    if (!wanted) b->n = b->taken;
    while (b->done < b->n) pthread_cond_wait(&p->ready, &p->lock);
    pthread_mutex_unlock(&p->lock);
}

/* ------------------------------------------------------------------ batches */

static bool is_picture_input(const Pictures *p, const Lathe_entry *e, const Lathe_tensor *t)
{
    return t->role == LATHE_FEATURES && t->dtype != LATHE_I32 && tensor_size(t) == e->rows * p->pixels;
}

static void put_pixels(const Lathe_tensor *t, char *at, const uint8_t *from, int64_t n)
{
    for (int64_t i = 0; i < n && t->dtype == LATHE_F32; i++) ((float *)(void *)at)[i] = from[i];
    for (int64_t i = 0; i < n && t->dtype != LATHE_F32; i++) write_real(t->dtype, at, i, from[i]);
}

static void fill_from_batch(const Pictures *p, const Batch *b, const Lathe_entry *e, char *in, bool training)
{
    for (int i = 0; i < e->inputs; i++) {
        const Lathe_tensor *t = &e->input[i];
        char *at = in + t->offset;
        if (is_picture_input(p, e, t)) put_pixels(t, at, b->pixels, e->rows * p->pixels);
        for (int64_t r = 0; r < e->rows && t->role == LATHE_TARGETS; r++)
            if (t->dtype == LATHE_I32) ((int32_t *)(void *)at)[r] = picture_class(p, b->turn[r].item);
    }
    mix_pictures(&p->form, e, in, training ? b->turn : NULL);
}

/* A damaged picture becomes black, where bad_records allows it. */
static void pass_over_bad(Pictures *p, Batch *b)
{
    for (int64_t k = 0; k < b->n && p->fault; k++) {
        char **known = &p->fault[b->turn[k].item];
        if (!b->wrong[k] || (!*known && p->bad == p->reading->recipe->bad_records)) continue;
        if (!*known) {
            p->bad++;
            *known = text_of("%s", b->wrong[k]);
            note("%s: %s; its predictions stay empty", picture_place(p->index, &p->index->at[b->turn[k].item]), *known);
        }
        free(b->wrong[k]);
        b->wrong[k] = NULL;
        memset(b->pixels + k * p->pixels, 0, (size_t)p->pixels);
    }
}

/* The message of the first picture that cannot be read; NULL: there is none. */
static char *batch_fault(const Pictures *p, Batch *b)
{
    char *text = NULL;
    for (int64_t k = 0; k < b->n; k++) {
        if (b->wrong[k] && !text)
            text = text_of("%s: error: %s%s", picture_place(p->index, &p->index->at[b->turn[k].item]), b->wrong[k],
                           p->reading->predicting ? "" : "; `lathe data info FOLDER` tells how many are so");
        free(b->wrong[k]);
        b->wrong[k] = NULL;
    }
    return text;
}

void fill_pictures(Pictures *p, const Lathe_entry *e, char *in, const int64_t *item)
{
    Batch *b = &p->batch[ASKED];
    bug_if(e->rows > p->rows);
    for (int64_t r = 0; r < e->rows; r++) b->turn[r] = (Picture_turn){item[r], 0};
    hand_to_decoders(p, b, -1, e->rows);
    wait_for(p, b, true);
    pass_over_bad(p, b);
    char *fault = batch_fault(p, b);
    if (fault) end_program(EXIT_DATA, fault);
    fill_from_batch(p, b, e, in, false);
}

static Batch *batch_of_step(Pictures *p, int64_t step) { return &p->batch[AHEAD + step % (BATCHES - AHEAD)]; }

/* Begins to read the batches of the step and of those after it, up to the number that there is room for. */
static void read_ahead(Pictures *p, int64_t step, int64_t n, Give_turns *give, void *with)
{
    for (int64_t s = step; s < step + BATCHES - AHEAD; s++) {
        Batch *b = batch_of_step(p, s);
        if (b->step == s && b->n == n) continue;
        wait_for(p, b, false);
        free(batch_fault(p, b));
        give(with, s, n, b->turn);
        hand_to_decoders(p, b, s, n);
    }
}

bool fill_picture_step(Pictures *p, const Lathe_entry *e, char *in, int64_t step, Give_turns *give, void *with)
{
    Batch *b = batch_of_step(p, step);
    if (p->failure) return false;
    bug_if(e->rows > p->rows || p->batches < BATCHES);
    read_ahead(p, step, e->rows, give, with);
    wait_for(p, b, true);
    p->failure = batch_fault(p, b);
    if (p->failure) return false;
    fill_from_batch(p, b, e, in, true);
    b->step = -1; /* its room is for the next but one */
    read_ahead(p, step + 1, e->rows, give, with);
    return true;
}

const char *pictures_failure(const Pictures *p, int *code)
{
    *code = EXIT_DATA;
    return p->failure;
}

/* ------------------------------------------------------------------ opening */

/* [rows][height][width][channels], also with micro-batches. */
static void settle_form(Pictures *p, const Lathe_entry *e)
{
    for (int i = 0; i < e->inputs; i++) {
        const Lathe_tensor *t = &e->input[i];
        if (t->role != LATHE_FEATURES || t->dtype == LATHE_I32 || t->rank < 4) continue;
        const int64_t *last = t->dim + t->rank - 3;
        p->form.input = t->name;
        p->form.height = (int)last[0], p->form.width = (int)last[1], p->form.channels = (int)last[2];
    }
    p->form.recipe = p->reading->recipe;
    p->form.seed = p->reading->seed;
    p->pixels = (int64_t)p->form.height * p->form.width * p->form.channels;
    bug_if(p->form.channels != 1 && p->form.channels != 3);
}

static int64_t most_rows(const Pictures *p)
{
    int64_t most = 0;
    for (int i = 0; i < p->reading->model->entries; i++) {
        const Lathe_entry *e = &p->reading->model->entry[i];
        for (int k = 0; k < e->inputs; k++)
            if (is_picture_input(p, e, &e->input[k]) && e->rows > most) most = e->rows;
    }
    return most;
}

static void check_classes(const Pictures *p, const Lathe_entry *e)
{
    const Lathe_tensor *t = tensor_with_role(e, LATHE_TARGETS);
    int n = p->index->classes.n;
    if (t && t->below && n > t->below)
        fail(EXIT_DATA, p->reading->paths.at[0],
             "expected at most %lld classes (input %s is below that), found %d, such as %s; build the model for %d "
             "classes (--set classes=N, if its description calls them that)",
             (long long)t->below, t->name, n, p->index->classes.at[n - 1], n);
}

static bool may_be_bad(const Reading *reading) { return reading->predicting && reading->recipe->bad_records > 0; }

int64_t pictures_heap(const Pictures *p)
{
    const Picture_form *f = &p->form;
    int64_t own =
        resampler_bytes(f->width, f->height, f->channels, f->recipe->interpolation) + PICTURE_CHUNK + PICTURE_ROOM;
    int64_t turn = (int64_t)(sizeof(Picture_turn) + sizeof(char *)) + p->pixels;
    int64_t faults = may_be_bad(p->reading) ? p->index->n * (int64_t)sizeof(char *) : 0;
    return index_bytes(p->index) + p->batches * p->rows * turn + p->decoders * own + faults;
}

static void take_room(Pictures *p)
{
    for (int i = 0; i < p->batches; i++)
        p->batch[i] = (Batch){.step = -1,
                              .turn = must_alloc(sizeof(Picture_turn) * (size_t)p->rows),
                              .wrong = must_alloc(sizeof(char *) * (size_t)p->rows),
                              .pixels = must_alloc((size_t)(p->rows * p->pixels))};
    if (may_be_bad(p->reading)) p->fault = must_alloc(sizeof *p->fault * (size_t)p->index->n);
    p->decoder = must_alloc(sizeof *p->decoder * (size_t)p->decoders);
    const Picture_form *f = &p->form;
    for (int i = 0; i < p->decoders; i++)
        p->decoder[i] =
            (Decoder){.p = p,
                      .resampler = open_resampler(f->width, f->height, f->channels, f->recipe->interpolation),
                      .chunk = must_alloc(PICTURE_CHUNK)};
}

/* Beside a step on this processor one; beside a GPU half the processors, shared among the GPUs.  More threads than
 * pictures that are read ahead would have nothing to do. */
static int threads_of(const Reading *reading, int64_t rows)
{
    enum { MOST = 8 };
    int64_t n = sysconf(_SC_NPROCESSORS_ONLN) / 2 / reading->gpus;
    if (n > MOST) n = MOST;
    if (!reading->model->device || n < 1) n = 1;
    if (reading->readers) n = reading->readers;
    return (int)(n < 2 * rows ? n : 2 * rows);
}

Pictures *open_pictures(const Reading *reading, const Lathe_entry *e, const Words *known)
{
    Pictures *p = must_alloc(sizeof *p);
    *p = (Pictures){.reading = reading, .batches = reading->training ? BATCHES : AHEAD};
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->work, NULL);
    pthread_cond_init(&p->ready, NULL);
    settle_form(p, e);
    p->rows = most_rows(p);
    p->decoders = threads_of(reading, p->rows);
    p->index = find_pictures(&reading->paths, !reading->predicting, known);
    if (!reading->predicting) {
        if (reading->recipe->bad_records)
            note("bad_records has no effect here: only predict goes on past pictures that cannot be read");
        check_classes(p, e);
        shuffle_pictures(p->index);
    }
    if (reading->check_memory) reading->check_memory(reading->with, pictures_heap(p));
    take_room(p);
    return p;
}

/* ------------------------------------------------------------------ what there is */

int64_t pictures_rows(const Pictures *p) { return p->index->n; }
int pictures_readers(const Pictures *p) { return p->decoders; }
const Words *pictures_classes(const Pictures *p) { return &p->index->classes; }
char *classes_text(const Pictures *p) { return class_counts(p->index); }
int32_t picture_class(const Pictures *p, int64_t item) { return p->index->at[item].class; }
const char *picture_fault(const Pictures *p, int64_t item) { return p->fault ? p->fault[item] : NULL; }
uint64_t picture_draw(const Pictures *p, int64_t item) { return p->index->at[item].draw; }

const char *picture_name(const Pictures *p, int64_t item) { return p->index->names + p->index->at[item].name; }

uint64_t pictures_hash(const Pictures *p)
{
    Hash h;
    hash_start(&h);
    for (int64_t i = 0; i < p->index->n; i++) {
        const Picture *q = &p->index->at[i];
        hash_add(&h, &q->draw, sizeof q->draw);
        hash_add(&h, &q->bytes, sizeof q->bytes);
        hash_add(&h, &q->class, sizeof q->class);
    }
    return hash_end(&h);
}
