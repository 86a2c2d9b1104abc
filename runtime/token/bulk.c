/* bulk.c: encodes a long text in parts, by all threads, with ids in the text's order; and shards, the files that store
 * ids. */
#include "base/file.h"
#include "base/words.h"
#include "token/token.h"

#include <errno.h>
#include <fcntl.h>
#include <omp.h>
#include <unistd.h>

enum {
    PART = 1 << 20,      /* bytes of a part of a text, if it can be cut */
    JOB = 1 << 18,       /* least bytes that a thread encodes at a time */
    BATCH = 1 << 21,     /* bytes of a batch per thread */
    MOST_PARTS = 1 << 16 /* of a batch */
};

/* ------------------------------------------------------------------ many threads */

typedef struct Part {
    const char *place;
    int64_t at, bytes; /* in the text */
    int64_t ids;       /* ids of its job, up to and including this part */
    bool first, last;
} Part;

typedef struct Job {
    int64_t part, parts, bytes;
    Ids ids;
} Job;

struct Bulk {
    const Tokenizer *t;
    Take_part *take;
    void *arg;
    int threads;
    Encoder **encoder; /* [threads] */
    char *text;        /* [room] all waiting parts */
    Part *part;
    Job *job; /* [job_room]; the next batch reuses arrays of ids */
    int64_t bytes, room, parts, part_room, jobs, job_room;
};

Bulk *open_bulk(const Tokenizer *t, Take_part *take, void *arg)
{
    Bulk *b = must_alloc(sizeof *b);
    *b = (Bulk){.t = t, .take = take, .arg = arg, .threads = omp_get_max_threads()};
    b->encoder = must_alloc(sizeof *b->encoder * (size_t)b->threads);
    for (int i = 0; i < b->threads; i++) b->encoder[i] = open_encoder(t);
    return b;
}

static void run_job(Bulk *b, Job *j)
{
    Encoder *e = b->encoder[omp_get_thread_num()];
    j->ids.n = 0;
    for (Part *p = b->part + j->part; p < b->part + j->part + j->parts; p++) {
        encoder_place(e, p->place);
        encode_bytes(e, b->text + p->at, p->bytes, &j->ids);
        p->ids = j->ids.n;
    }
}

static void hand_out(const Bulk *b, const Job *j)
{
    int64_t from = 0;
    for (const Part *p = b->part + j->part; p < b->part + j->part + j->parts; p++) {
        b->take(b->arg, j->ids.at + from, p->ids - from, p->first, p->last);
        from = p->ids;
    }
}

static void run_batch(Bulk *b)
{
#pragma omp parallel for schedule(dynamic, 1)
    for (int64_t i = 0; i < b->jobs; i++) run_job(b, &b->job[i]);
    for (int64_t i = 0; i < b->jobs; i++) hand_out(b, &b->job[i]);
    b->bytes = b->parts = b->jobs = 0;
}

static void *more_room(void *at, int64_t n, int64_t *room, size_t size)
{
    if (n <= *room) return at;
    int64_t before = *room;
    *room = n + n / 2;
    at = must_grow(at, size * (size_t)*room);
    memset((char *)at + size * (size_t)before, 0, size * (size_t)(*room - before));
    return at;
}

static void wait_part(Bulk *b, Part p)
{
    b->part = more_room(b->part, b->parts + 1, &b->part_room, sizeof *b->part);
    b->part[b->parts] = p;
    if (b->jobs == 0 || b->job[b->jobs - 1].bytes >= JOB) {
        b->job = more_room(b->job, b->jobs + 1, &b->job_room, sizeof *b->job);
        Job *j = &b->job[b->jobs++];
        *j = (Job){.part = b->parts, .ids = j->ids};
    }
    b->job[b->jobs - 1].parts++;
    b->job[b->jobs - 1].bytes += p.bytes;
    b->parts++;
}

void bulk_text(Bulk *b, const char *place, const char *text, int64_t n, bool first, bool last)
{
    int64_t most = BATCH * (int64_t)b->threads;
    if (b->bytes && b->bytes + n > most) run_batch(b);
    b->text = more_room(b->text, b->bytes + n > most ? b->bytes + n : most, &b->room, 1);
    if (n) memcpy(b->text + b->bytes, text, (size_t)n);
    wait_part(b, (Part){place, b->bytes, n, 0, first, last});
    b->bytes += n;
    if (b->parts == MOST_PARTS) run_batch(b);
}

void close_bulk(Bulk *b)
{
    run_batch(b);
    for (int i = 0; i < b->threads; i++) close_encoder(b->encoder[i]);
    for (int64_t i = 0; i < b->job_room; i++) free_ids(&b->job[i].ids);
    free(b->encoder);
    free(b->text);
    free(b->part);
    free(b->job);
    free(b);
}

/* ------------------------------------------------------------------ one text */

/* The length of the next part: about PART, or more if no cut is found up to there. */
static int64_t part_bytes(Encoder *e, const char *at, int64_t left)
{
    for (int64_t n = PART; n < left; n *= 2) {
        int64_t cut = safe_cut(e, at, n);
        if (cut > 0) return cut;
    }
    return left;
}

typedef struct Taker {
    Take_ids *take;
    void *arg;
} Taker;

static void take_part(void *taker, const int32_t *id, int64_t n, bool first, bool last)
{
    const Taker *t = taker;
    (void)first, (void)last;
    t->take(t->arg, id, n);
}

void encode_text(const Tokenizer *t, const char *place, const char *text, int64_t n, Take_ids *take, void *arg)
{
    Taker taker = {take, arg};
    Bulk *b = open_bulk(t, take_part, &taker);
    for (int64_t at = 0, bytes; at < n; at += bytes) {
        bytes = part_bytes(b->encoder[0], text + at, n - at);
        bulk_text(b, place, text + at, bytes, at == 0, at + bytes == n);
    }
    close_bulk(b);
}

/* ------------------------------------------------------------------ shards */

/* The header of llm.c: 256 numbers; the first three are magic, version and the number of ids, which have 16 bits (magic
 * 20240520, version 1) or 32 bits (20240801, 7). */
enum { HEAD = 256, MAGIC_16 = 20240520, VERSION_16 = 1, MAGIC_32 = 20240801, VERSION_32 = 7 };

struct Shard_out {
    Out *out;
    char *path;
    Fault *fault;
    int size; /* bytes of an id */
    int64_t n;
};

int shard_id_size(const Tokenizer *t) { return t->n <= 1 << 16 ? 2 : 4; }

static void fill_head(int32_t *head, int size, int64_t n)
{
    memset(head, 0, sizeof(int32_t) * HEAD);
    head[0] = size == 2 ? MAGIC_16 : MAGIC_32;
    head[1] = size == 2 ? VERSION_16 : VERSION_32;
    head[2] = (int32_t)n;
}

Shard_out *open_shard_out(const char *path, int size, Fault *f)
{
    int32_t head[HEAD] = {0};
    Shard_out *s = must_alloc(sizeof *s);
    *s = (Shard_out){open_out(path, f), text_of("%s", path), f, size, 0};
    put_out(s->out, head, sizeof head);
    return s;
}

void put_ids(Shard_out *s, const int32_t *id, int64_t n)
{
    enum { ROOM = 4096 };
    uint16_t room[ROOM];
    s->n += n;
    if (s->n > INT32_MAX && !s->fault->path) {
        errno = EFBIG;
        set_fault(s->fault, s->path, "written: more than 2,147,483,647 ids; write several shards");
    }
    if (s->size == 4) {
        put_out(s->out, id, sizeof *id * (size_t)n);
        return;
    }
    for (int64_t i = 0, k = 0; i < n; i += k) {
        for (k = 0; k < ROOM && i + k < n; k++) room[k] = (uint16_t)id[i + k];
        put_out(s->out, room, sizeof *room * (size_t)k);
    }
}

/* The header is written last, so an incomplete shard has none. */
int64_t close_shard_out(Shard_out *s)
{
    int32_t head[HEAD];
    int64_t n = s->n;
    fill_head(head, s->size, n);
    close_out(s->out);
    int fd = s->fault->path ? -1 : open(s->path, O_WRONLY | O_CLOEXEC);
    if (!s->fault->path && (fd < 0 || pwrite(fd, head, sizeof head, 0) != sizeof head || fsync(fd) != 0))
        set_fault(s->fault, s->path, "written");
    if (fd >= 0) close(fd);
    free(s->path);
    free(s);
    return n;
}

/* The number of ids, of *size bytes each; -1: not a shard, or incomplete. */
int64_t shard_ids(const void *at, int64_t bytes, int *size)
{
    int32_t head[HEAD];
    if (bytes < (int64_t)sizeof head) return -1;
    memcpy(head, at, sizeof head);
    *size = head[0] == MAGIC_16 && head[1] == VERSION_16 ? 2 : head[0] == MAGIC_32 && head[1] == VERSION_32 ? 4 : 0;
    return *size && head[2] >= 0 && bytes == (int64_t)sizeof head + (int64_t)head[2] * *size ? head[2] : -1;
}
