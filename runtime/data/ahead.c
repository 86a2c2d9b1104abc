/* ahead.c: batches of files, read by threads ahead of the steps that use them.
 *
 * A batch is a list of turns, which are known before anything is read, and a room for each file.  Threads take turn
 * after turn, of the earliest batch that has some, and each writes to its own room, so batches do not depend on how
 * many threads there are.  Memory is taken when the data is opened; what the libraries of formats take is bounded. */
#include "base/file.h"
#include "base/machine.h"
#include "base/thread.h"
#include "base/words.h"
#include "data/files.h"
#include "step/growth.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ASKED, AHEAD, BATCHES = 3, SHOWN = 8 }; /* one that is waited for; those of the steps to come */

typedef struct Batch {
    int64_t step;           /* -1: none */
    int64_t n, taken, done; /* turns: of the batch, begun, ended */
    File_turn *turn;        /* [n] */
    char **wrong;           /* [n] why a file cannot be read; NULL: it can */
    bool *left_out;         /* [n] it cannot, and the recipe leaves it out */
    char *rooms;            /* [n][form.room] */
} Batch;

typedef struct File_thread {
    Files *f;
    pthread_t thread;
    void *own; /* of form.open_thread */
} File_thread;

struct Files {
    const Reading *reading;
    File_index *index;
    Files_form form;
    int64_t rows; /* room of a batch, without those beyond */
    Batch batch[BATCHES];
    int batches, threads;
    File_thread *thread;
    bool started;
    char *failure;
    char **fault;     /* [n] of the files, if some may be bad: what is wrong; else NULL */
    int64_t left_out; /* files */
    Bad_file *met;    /* [mets] in steps of this rank, which the others do not know of */
    int64_t mets;
    pthread_mutex_t lock;
    pthread_cond_t work, ready;
};

/* ------------------------------------------------------------------ one file */

/* NULL, or what is wrong. */
static char *file_changed(const Data_file *q, int fd)
{
    struct stat about;
    if (fstat(fd, &about) == 0 && S_ISREG(about.st_mode) && about.st_size >= q->first + q->bytes &&
        (q->archive >= 0 || about.st_size == q->bytes))
        return NULL;
    return text_of("expected %lld bytes, as when the data was opened, found other ones; leave the data as it is while "
                   "it is read",
                   (long long)q->bytes);
}

static char *read_turn(const File_thread *t, const File_turn *turn, bool varied, char *room, bool *left_out)
{
    const File_index *s = t->f->index;
    const Data_file *q = &s->at[turn->item];
    int fd = open_to_read(q->archive < 0 ? s->names + q->name : s->archives.at[q->archive]);
    *left_out = false;
    if (fd < 0) return text_of("cannot be read: %s", error_text(errno));
    char *wrong = file_changed(q, fd);
    if (!wrong) {
        wrong = t->f->form.read(t->own, fd, q, varied ? turn : NULL, room);
        *left_out = wrong && t->f->form.leaves_out && t->f->form.leaves_out(t->own);
    }
    close(fd);
    return wrong;
}

/* ------------------------------------------------------------------ threads */

/* The earliest batch with turns that nobody has begun; NULL: none. */
static Batch *batch_to_read(Files *f)
{
    Batch *first = NULL;
    for (int i = 0; i < f->batches; i++) {
        Batch *b = &f->batch[i];
        if (b->taken < b->n && (!first || b->step < first->step)) first = b;
    }
    return first;
}

static void *read_turns(void *with)
{
    File_thread *t = with;
    Files *f = t->f;
    pthread_mutex_lock(&f->lock);
    for (;;) {
        Batch *b = batch_to_read(f);
        if (!b) {
            pthread_cond_wait(&f->work, &f->lock);
            continue;
        }
        int64_t k = b->taken++;
        pthread_mutex_unlock(&f->lock);
        bool left_out;
        char *wrong = read_turn(t, &b->turn[k], b != &f->batch[ASKED], b->rooms + k * f->form.room, &left_out);
        pthread_mutex_lock(&f->lock);
        b->wrong[k] = wrong;
        b->left_out[k] = left_out;
        if (++b->done == b->n) pthread_cond_broadcast(&f->ready);
    }
    return NULL;
}

/* At the first batch, because processes of several GPUs are made after the data is opened. */
static void start_threads(Files *f)
{
    for (int i = 0; i < f->threads && !f->started; i++)
        if (!start_thread(&f->thread[i].thread, read_turns, &f->thread[i]))
            fail(EXIT_ERROR, NULL, "a thread that reads files cannot be started");
    f->started = true;
}

/* Turns of the batch are set; its files are read. */
static void hand_to_threads(Files *f, Batch *b, int64_t step, int64_t n)
{
    pthread_mutex_lock(&f->lock);
    b->step = step;
    b->taken = b->done = 0;
    b->n = n;
    pthread_cond_broadcast(&f->work);
    pthread_mutex_unlock(&f->lock);
    start_threads(f);
}

/* Turns that nobody has begun are left out if they are not wanted. */
static void wait_for(Files *f, Batch *b, bool wanted)
{
    pthread_mutex_lock(&f->lock);
    if (!wanted) b->n = b->taken;
    while (b->done < b->n) pthread_cond_wait(&f->ready, &f->lock);
    pthread_mutex_unlock(&f->lock);
}

/* ------------------------------------------------------------------ batches */

/* Whether bad_records allows a file that cannot be read, or the recipe leaves it out; the first time it is told.  The
 * training thread asks, step after step, so it does not depend on the threads. */
static bool is_excused(Files *f, int64_t item, const char *wrong, bool left_out)
{
    if (!f->fault) return false;
    if (f->fault[item]) return true;
    if (left_out) {
        if (f->left_out++ < SHOWN)
            note("%s: %s; its predictions stay empty", place_of_file(f->index, &f->index->at[item]), wrong);
    } else if (!note_bad_file(f->index, item, wrong, f->reading->recipe->bad_records,
                              f->reading->predicting ? "its predictions stay empty" : "bad_records leaves it out"))
        return false;
    f->fault[item] = text_of("%s", wrong);
    return true;
}

/* Ranks on GPUs count by themselves. */
static bool tells_others(const Reading *r) { return r->gpus > 1 && !r->model->device; }

/* The same, in a step.  Of several ranks rank 0 ends the run: another tells of one too many, and goes on until then. */
static bool is_excused_here(Files *f, const Batch *b, int64_t k)
{
    const int64_t item = b->turn[k].item;
    const bool known = f->fault[item], excused = is_excused(f, item, b->wrong[k], b->left_out[k]);
    if (known || !tells_others(f->reading) || (!excused && *f->reading->rank == 0)) return excused;
    f->met = must_grow(f->met, sizeof *f->met * (size_t)(f->mets + 1));
    f->met[f->mets] = (Bad_file){.item = item};
    snprintf(f->met[f->mets].why, sizeof f->met->why, "%s", b->wrong[k]);
    f->mets++;
    return true;
}

/* A batch's step, and whose rows it has: `rows` are this rank's, `all` those of all ranks. */
typedef struct Step_rows {
    int64_t step, rows, all;
    Give_turn *give;
    void *with;
} Step_rows;

/* Reads a row of another rank into the room of row k; false: it cannot be read. */
static bool read_other_rank(Files *f, Batch *b, int64_t k, const File_turn *turn)
{
    const int64_t n = b->n;
    free(b->wrong[k]);
    b->turn[k] = *turn;
    pthread_mutex_lock(&f->lock);
    b->taken = b->done = k;
    b->n = k + 1;
    pthread_cond_broadcast(&f->work);
    while (b->done < b->n) pthread_cond_wait(&f->ready, &f->lock);
    b->n = b->taken = b->done = n;
    pthread_mutex_unlock(&f->lock);
    return !b->wrong[k];
}

/* Puts the row of the step in the place of row k which is as near before it as can be; false: none can be read.  One
 * rank has all rows at hand. */
static bool stand_in(Files *f, Batch *b, int64_t k, const Step_rows *s)
{
    for (int64_t i = 1; i < s->all; i++) {
        int64_t at = (k + s->all - i) % s->all;
        if (at >= b->n) {
            File_turn turn = s->give(s->with, s->step, s->rows, at);
            if (read_other_rank(f, b, k, &turn)) return true;
        } else if (!b->wrong[at]) {
            memcpy(b->rooms + k * f->form.room, b->rooms + at * f->form.room, (size_t)f->form.room);
            b->turn[k] = b->turn[at];
            return true;
        }
    }
    return false;
}

/* To predict, a damaged file is zeros; in training another one of the step stands in its place, so that the step has
 * all its rows.  The row beyond this rank's is counted by another rank. */
static void pass_over_bad(Files *f, Batch *b, const Step_rows *s)
{
    for (int64_t k = 0; k < b->n && f->fault; k++) {
        if (!b->wrong[k] || (k < s->rows && !is_excused_here(f, b, k))) continue;
        if (f->reading->predicting) memset(b->rooms + k * f->form.room, 0, (size_t)f->form.room);
        else if (!stand_in(f, b, k, s)) continue;
        free(b->wrong[k]);
        b->wrong[k] = NULL;
    }
}

/* The message of the first file that cannot be read; NULL: there is none. */
static char *batch_fault(const Files *f, Batch *b)
{
    char *text = NULL;
    for (int64_t k = 0; k < b->n; k++) {
        if (b->wrong[k] && !text)
            text = text_of("%s: error: %s%s", place_of_file(f->index, &f->index->at[b->turn[k].item]), b->wrong[k],
                           bad_files_advice(f->index, f->reading));
        free(b->wrong[k]);
        b->wrong[k] = NULL;
    }
    return text;
}

void fill_files(Files *f, const Lathe_entry *e, char *in, const int64_t *item)
{
    Batch *b = &f->batch[ASKED];
    bug_if(e->rows > f->rows);
    for (int64_t r = 0; r < e->rows; r++) b->turn[r] = (File_turn){item[r], 0};
    hand_to_threads(f, b, -1, e->rows);
    wait_for(f, b, true);
    pass_over_bad(f, b, &(Step_rows){.rows = e->rows, .all = e->rows});
    char *fault = batch_fault(f, b);
    if (fault) end_program(EXIT_DATA, fault);
    f->form.fill(f->form.with, e, in, b->turn, false, b->rooms);
}

int64_t keep_readable(Files *f, int32_t *item, int64_t n)
{
    Batch *b = &f->batch[ASKED];
    int64_t kept = 0;
    for (int64_t from = 0, k; from < n && f->fault; from += k) {
        k = n - from < f->rows ? n - from : f->rows;
        for (int64_t i = 0; i < k; i++) b->turn[i] = (File_turn){item[from + i], 0};
        hand_to_threads(f, b, -1, k);
        wait_for(f, b, true);
        for (int64_t i = 0; i < k; i++) {
            bool bad = b->wrong[i] && is_excused(f, b->turn[i].item, b->wrong[i], b->left_out[i]);
            if (!bad) item[kept++] = (int32_t)b->turn[i].item;
            if (bad) free(b->wrong[i]), b->wrong[i] = NULL;
        }
        char *fault = batch_fault(f, b);
        if (fault) end_program(EXIT_DATA, fault);
    }
    return f->fault ? kept : n;
}

static Batch *batch_of_step(Files *f, int64_t step) { return &f->batch[AHEAD + step % (BATCHES - AHEAD)]; }

/* Begins to read the batches of the step and of those after it, up to the number that there is room for. */
static void read_ahead(Files *f, int64_t step, Give_turn *give, void *with)
{
    for (int64_t s = step; s < step + BATCHES - AHEAD; s++) {
        Batch *b = batch_of_step(f, s);
        const int64_t rows = train_of_step(f->reading->model, s)->rows, n = rows + f->form.beyond;
        if (b->step == s && b->n == n) continue;
        wait_for(f, b, false);
        free(batch_fault(f, b));
        for (int64_t k = 0; k < n; k++) b->turn[k] = give(with, s, rows, k);
        hand_to_threads(f, b, s, n);
    }
}

bool fill_file_step(Files *f, const Lathe_entry *e, char *in, int64_t step, Give_turn *give, void *with)
{
    Batch *b = batch_of_step(f, step);
    if (f->failure) return false;
    bug_if(e->rows > f->rows || f->batches < BATCHES);
    read_ahead(f, step, give, with);
    wait_for(f, b, true);
    pass_over_bad(f, b, &(Step_rows){step, e->rows, f->reading->gpus * e->rows, give, with});
    f->failure = batch_fault(f, b);
    if (f->failure) return false;
    f->form.fill(f->form.with, e, in, b->turn, true, b->rooms);
    b->step = -1; /* its room is for the next but one */
    read_ahead(f, step + 1, give, with);
    return true;
}

const char *files_failure(const Files *f, int *code)
{
    *code = EXIT_DATA;
    return f->failure;
}

/* ------------------------------------------------------------------ several ranks */

const Bad_file *met_bad_files(const Files *f, int64_t *n)
{
    *n = f->mets;
    return f->met;
}

/* Rank 0 tells those of the others as its own; one too many ends the run there. */
static void take_bad_file(Files *f, const Bad_file *bad)
{
    const bool first = *f->reading->rank == 0;
    bug_if(bad->item < 0 || bad->item >= f->index->n);
    if (f->fault[bad->item]) return;
    f->fault[bad->item] = text_of("%s", bad->why);
    if (note_bad_file(f->index, bad->item, bad->why, f->reading->recipe->bad_records,
                      first ? "bad_records leaves it out" : NULL))
        return;
    if (!f->failure)
        f->failure = text_of("%s: error: %s%s", place_of_file(f->index, &f->index->at[bad->item]), bad->why,
                             bad_files_advice(f->index, f->reading));
}

bool take_bad_files(Files *f, const Bad_file *bad, int64_t n)
{
    f->mets = 0;
    for (int64_t i = 0; i < n; i++) take_bad_file(f, &bad[i]);
    return !f->failure;
}

/* ------------------------------------------------------------------ opening */

static bool may_be_bad(const Files *f)
{
    return f->reading->recipe->bad_records > 0 || (f->reading->predicting && f->form.leaves_out);
}

/* That one rank tells others of. */
static int64_t bad_files_at_most(const Files *f)
{
    const int64_t allowed = f->reading->recipe->bad_records;
    return allowed < f->index->n ? allowed : f->index->n;
}

int64_t files_heap(const Files *f)
{
    int64_t turn = (int64_t)(sizeof(File_turn) + sizeof(char *) + sizeof(bool)) + f->form.room;
    int64_t faults = may_be_bad(f) ? f->index->n * (int64_t)sizeof(char *) : 0;
    if (faults && tells_others(f->reading)) faults += bad_files_at_most(f) * (int64_t)sizeof *f->met;
    int64_t rows = f->rows + f->form.beyond;
    return file_index_bytes(f->index) + f->batches * rows * turn + f->threads * f->form.thread_bytes + faults;
}

static void take_room(Files *f)
{
    const size_t rows = (size_t)(f->rows + f->form.beyond);
    for (int i = 0; i < f->batches; i++)
        f->batch[i] = (Batch){.step = -1,
                              .turn = must_alloc(sizeof(File_turn) * rows),
                              .left_out = must_alloc(sizeof(bool) * rows),
                              .wrong = must_alloc(sizeof(char *) * rows),
                              .rooms = must_alloc(rows * (size_t)f->form.room)};
    if (may_be_bad(f)) f->fault = must_alloc(sizeof *f->fault * (size_t)f->index->n);
    f->thread = must_alloc(sizeof *f->thread * (size_t)f->threads);
    for (int i = 0; i < f->threads; i++) f->thread[i] = (File_thread){.f = f, .own = f->form.open_thread(f->form.with)};
}

/* Beside a step on this processor one; beside a GPU half the processors, shared among the GPUs.  More threads than
 * files that are read ahead would have nothing to do. */
static int threads_for(const Reading *reading, int64_t rows)
{
    enum { MOST = 8 };
    int64_t n = cores_here() / 2 / reading->gpus;
    if (n > MOST) n = MOST;
    if (!reading->model->device || n < 1) n = 1;
    if (reading->readers) n = reading->readers;
    return (int)(n < 2 * rows ? n : 2 * rows);
}

Files *open_files(const Reading *reading, File_index *index, const Files_form *form, int64_t rows)
{
    Files *f = must_alloc(sizeof *f);
    *f = (Files){.reading = reading, .index = index, .form = *form, .rows = rows};
    f->batches = reading->training ? BATCHES : AHEAD;
    f->threads = threads_for(reading, rows);
    pthread_mutex_init(&f->lock, NULL);
    pthread_cond_init(&f->work, NULL);
    pthread_cond_init(&f->ready, NULL);
    if (reading->check_memory) reading->check_memory(reading->with, files_heap(f), true);
    take_room(f);
    return f;
}

/* ------------------------------------------------------------------ what there is */

File_index *index_of_files(const Files *f) { return f->index; }
int file_readers(const Files *f) { return f->threads; }
const char *remedy_of_files(const Files *f) { return f->form.hasten(f->form.with); }
char *words_of_files(const Files *f) { return f->form.tell(f->form.with); }
int64_t faulty_files(const Files *f) { return f->index->bad + f->left_out; }
const char *fault_of_file(const Files *f, int64_t item) { return f->fault ? f->fault[item] : NULL; }
