/* hashes.c: writes RUN/hashes.jsonl, a chain (base/chain.h) of records (records.c).
 *
 * A resumed run keeps the lines up to its checkpoint, as it does with metrics.jsonl, so its file is that of an unbroken
 * run, unless settings or data differ: then another head says so. */
#include "trainer/hashes.h"
#include "base/chain.h"
#include "base/known.h"
#include "base/words.h"
#include "step/entry.h"
#include "trainer/data_files.h"
#include "trainer/ranks.h"
#include "trainer/records.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { EVERY = 10 }; /* steps */

struct Hashes {
    Recorder recorder;
    char last[SHA256_DIGITS + 1];
    int fd;
    char *path;
    Fault fault;
};

int64_t hashes_asked(const Trainer *t)
{
    int64_t every = EVERY;
    if (!t->log_hashes) return 0;
    if (*t->log_hashes && (!parse_count(t->log_hashes, &every) || every < 1))
        fail(EXIT_USAGE, NULL, "--log-hashes=%s: expected a number of steps, 1 or more", t->log_hashes);
    if (t->model->device)
        fail(EXIT_USAGE, NULL,
             "--log-hashes is for processors: a GPU's bits are those of its kind alone; leave it out, or "
             "build with --target cpu");
    return every;
}

/* ------------------------------------------------------------------ a line */

static void put_record(Hashes *h, json_t *record)
{
    if (!h->fault.path) {
        char *line = chained_line(record, h->last);
        append_whole(h->fd, line, strlen(line), h->path, &h->fault);
        free(line);
    }
    json_decref(record);
}

void hash_batch(Hashes *h, const Lathe_entry *e, const char *in, int64_t step)
{
    if (h) begin_record(&h->recorder, e, in, step);
}

void hash_turn(Hashes *h, const Step *s, bool last)
{
    if (!h) return;
    record_turn(&h->recorder, s);
    if (last) put_record(h, step_record(&h->recorder));
}

void hash_scores(Hashes *h, const Scores *s, int64_t step)
{
    if (h) put_record(h, scores_record(s, step));
}

/* ------------------------------------------------------------------ the beginning, or going on */

/* The lines that the checkpoint has seen are the first ones. */
static int64_t kept_links(const Chain *c, const Progress *at)
{
    int64_t n = 0;
    while (n < c->n && c->link[n].step <= (strcmp(c->link[n].split, "val") == 0 ? at->evaluated : at->step)) n++;
    return n;
}

static void copy_links(Hashes *h, const Chain *c, int64_t n)
{
    char *aside = text_of("%s.part", h->path);
    Out *o = open_out(aside, &h->fault);
    for (int64_t i = 0; i < n; i++) put_out(o, c->link[i].at, c->link[i].bytes);
    close_out(o);
    replace_file(aside, h->path, &h->fault);
    if (h->fault.path) unlink(aside);
    else h->fd = open(h->path, O_WRONLY | O_APPEND | O_CLOEXEC);
    if (h->fault.path || h->fd < 0)
        fail(EXIT_DATA, h->path, "%s; %s or choose another folder with --out",
             h->fault.path ? h->fault.text : text_of("cannot be written: %s", error_text(errno)),
             room_remedy(h->fault.path ? h->fault.number : errno));
    free(aside);
}

/* Equal but for their places in a chain. */
static bool says_the_same(const Link *l, const json_t *record)
{
    static const char *const of_place[] = {"step", "previous", "hash"};
    json_t *was = link_json(l), *now = json_copy((json_t *)record);
    for (size_t i = 0; i < sizeof of_place / sizeof *of_place; i++) {
        json_object_del(was, of_place[i]);
        json_object_del(now, of_place[i]);
    }
    /* Reals are compared as they are written. */
    char *a = json_dumps(was, JSON_COMPACT | JSON_SORT_KEYS | JSON_REAL_PRECISION(17));
    char *b = json_dumps(now, JSON_COMPACT | JSON_SORT_KEYS | JSON_REAL_PRECISION(17));
    bool same = a && b && strcmp(a, b) == 0;
    free(a), free(b);
    json_decref(was), json_decref(now);
    return same;
}

static int64_t last_head(const Chain *c, int64_t n)
{
    while (n > 0 && strcmp(c->link[n - 1].split, "head") != 0) n--;
    return n - 1;
}

/* Whether a chain goes on without another head: the same settings and files, and no step missing. */
static bool goes_on(const Chain *c, int64_t n, const json_t *records, int64_t step)
{
    int64_t head = last_head(c, n);
    size_t i, same = 0;
    const json_t *record;
    if (head < 0 || c->link[n - 1].step != step) return false;
    json_array_foreach(records, i, record) same +=
        head + (int64_t)i < n && says_the_same(&c->link[head + (int64_t)i], record);
    const int64_t next = head + (int64_t)json_array_size(records);
    return same == json_array_size(records) && next < n && strcmp(c->link[next].split, "start") == 0;
}

/* The head, and the files of the data. */
static json_t *first_records(const Recorder *r, int64_t step)
{
    json_t *all = json_array();
    Own_files files = files_of_run(r->t);
    json_array_append_new(all, head_record(r, step));
    for (int i = 0; i < files.n; i++) json_array_append_new(all, file_record(&files.at[i], step));
    free_files(&files);
    return all;
}

static int64_t every_of(const Chain *c, int64_t n)
{
    json_t *head = link_json(&c->link[last_head(c, n)]);
    int64_t every = json_integer_value(json_object_get(head, "every"));
    json_decref(head);
    return every < 1 ? EVERY : every;
}

/* The number of links that a resumed run keeps.  A chain that is damaged up to its checkpoint is not gone on with. */
static int64_t read_before(Chain *c, const char *before, const Progress *at)
{
    char *why = NULL;
    if (!before) return 0;
    read_chain(c, before, &why);
    const int64_t n = kept_links(c, at);
    if (why && (n == 0 || c->link[n - 1].step < at->step))
        fail(EXIT_DATA, before,
             "%s; the chain cannot go on: move the file away to resume without it, or to begin another with "
             "--log-hashes",
             why);
    free(why);
    return n;
}

/* A chain of steps that are no longer a part of the run. */
static void forget_hashes(char *path)
{
    char *half = text_of("%s.part", path);
    unlink(path);
    unlink(half);
    free(half);
    free(path);
}

Hashes *open_hashes(const Trainer *t, Data *d, const Memory *m, Step_turns *turns, const Progress *at,
                    const char *before)
{
    Chain c = {0};
    const int64_t every = hashes_asked(t), n = read_before(&c, before, at);
    char *path = text_of("%s/" HASHES_FILE, run_folder(t));
    if (n && t->model->device)
        fail(EXIT_DATA, before,
             "a run of a processor wrote it, and a GPU cannot go on with it: move it away to go on without");
    if ((every || n) && gpus_of(t) > 1)
        fail(EXIT_USAGE, NULL, "%s of runs of one rank; %s", every ? "--log-hashes is" : "hashes are kept",
             every ? "leave it out" : text_of("move %s away to go on without", before));
    if (!every && n == 0) return forget_hashes(path), NULL;
    Hashes *h = must_alloc(sizeof *h);
    remember_this_program();
    h->path = path;
    open_recorder(&h->recorder, t, d, m, turns, every ? every : every_of(&c, n));
    copy_links(h, &c, n);
    if (n) {
        json_t *last = link_json(&c.link[n - 1]);
        snprintf(h->last, sizeof h->last, "%s", json_string_value(json_object_get(last, "hash")));
        json_decref(last);
    }
    json_t *records = first_records(&h->recorder, at->step), *record;
    size_t i;
    if (!goes_on(&c, n, records, at->step)) {
        json_array_foreach(records, i, record) put_record(h, json_incref(record));
        put_record(h, start_record(&h->recorder, at->step));
    }
    json_decref(records);
    close_chain(&c);
    return h;
}

void sync_hashes(const Hashes *h, Fault *f)
{
    if (h && !f->path && !h->fault.path && fsync(h->fd) != 0 && errno != EINVAL)
        set_fault(f, h->path, "synced to the disk");
}

void close_hashes(Hashes *h)
{
    if (!h) return;
    if (close(h->fd) != 0) set_fault(&h->fault, h->path, "written");
    if (h->fault.path) note("%s is not complete: it %s", h->path, h->fault.text);
    clear_fault(&h->fault);
    close_recorder(&h->recorder);
    free(h->path);
    free(h);
}
