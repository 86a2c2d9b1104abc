/* data_token_bulk.c: a long text to ids: parts of it by all threads at once, put back in their order; and shards, the
 * files that ids are kept in. */
#include "data_token.h"

#include <errno.h>
#include <fcntl.h>
#include <omp.h>
#include <unistd.h>

enum { PART = 1 << 20 }; /* bytes that a thread encodes at a time, where text can be cut */

/* ------------------------------------------------------------------ many threads */

typedef struct Part {
    const char *at;
    int64_t bytes;
    Ids ids;
} Part;

/* From `at` on: as far as PART, or, where no cut is found so far, as far as it takes. */
static int64_t part_bytes(Encoder *e, const char *at, int64_t left)
{
    for (int64_t n = PART; n < left; n *= 2) {
        int64_t cut = safe_cut(e, at, n);
        if (cut > 0) return cut;
    }
    return left;
}

typedef struct Team {
    int threads;
    Encoder **encoder; /* [threads] */
    Part *part;        /* [2 threads] */
} Team;

static Team open_team(const Tokenizer *t, const char *place)
{
    Team all = {omp_get_max_threads(), NULL, NULL};
    all.encoder = must_alloc(sizeof *all.encoder * (size_t)all.threads);
    all.part = must_alloc(sizeof *all.part * (size_t)(2 * all.threads));
    for (int i = 0; i < all.threads; i++) {
        all.encoder[i] = open_encoder(t);
        encoder_place(all.encoder[i], place);
    }
    return all;
}

static void close_team(Team *all)
{
    for (int i = 0; i < all->threads; i++) close_encoder(all->encoder[i]);
    for (int i = 0; i < 2 * all->threads; i++) free_ids(&all->part[i].ids);
    free(all->encoder);
    free(all->part);
}

void encode_text(const Tokenizer *t, const char *place, const char *text, int64_t n, Take_ids *take, void *arg)
{
    Team all = open_team(t, place);
    for (int64_t at = 0; at < n;) {
        int parts = 0;
        for (; parts < 2 * all.threads && at < n; parts++) {
            Part *p = &all.part[parts];
            p->at = text + at;
            p->bytes = part_bytes(all.encoder[0], p->at, n - at);
            p->ids.n = 0;
            at += p->bytes;
        }
#pragma omp parallel for schedule(dynamic, 1)
        for (int i = 0; i < parts; i++) {
            Part *p = &all.part[i];
            encode_bytes(all.encoder[omp_get_thread_num()], p->at, p->bytes, &p->ids);
        }
        for (int i = 0; i < parts; i++) take(arg, all.part[i].ids.at, all.part[i].ids.n);
    }
    close_team(&all);
}

/* ------------------------------------------------------------------ shards */

/* As llm.c has them: 256 numbers, of which the first three are magic, version and how many ids follow: 16 bits each
 * (magic 20240520, version 1), or 32 (20240801, 7). */
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

/* The head goes in last: a shard that was cut off has none. */
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

/* How many ids of `size` bytes each; -1: it is none, or cut off. */
int64_t shard_ids(const void *at, int64_t bytes, int *size)
{
    int32_t head[HEAD];
    if (bytes < (int64_t)sizeof head) return -1;
    memcpy(head, at, sizeof head);
    *size = head[0] == MAGIC_16 && head[1] == VERSION_16 ? 2 : head[0] == MAGIC_32 && head[1] == VERSION_32 ? 4 : 0;
    return *size && head[2] >= 0 && bytes == (int64_t)sizeof head + (int64_t)head[2] * *size ? head[2] : -1;
}
