/* jobs.c: the queue of requests, first come, first served; a job is freed when its connection and who answers have both
 * left it. */
#define _GNU_SOURCE
#include "serve/jobs.h"
#include "serve/reply.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

void open_jobs(Jobs *all, int most, void (*wake)(void *))
{
    *all = (Jobs){.most = most, .wake = wake};
    pthread_mutex_init(&all->lock, NULL);
    pthread_cond_init(&all->more, NULL);
}

static void leave_one(Job *j)
{
    if (--j->owners) return;
    free_request(&j->request);
    free(j->text);
    free(j);
}

static void wake_up(Jobs *all, Job *j)
{
    if (j->asleep && !j->gone) all->wake(j->connection);
    j->asleep = false;
}

static void add_to_answer(Job *j, const char *text, size_t bytes)
{
    if (j->bytes + bytes > j->room) j->text = must_grow(j->text, j->room = 2 * (j->bytes + bytes) + 256);
    memcpy(j->text + j->bytes, text, bytes);
    j->bytes += bytes;
}

/* A closed connection can be read: nothing comes.  A client that only ends its half of it counts as gone, too. */
static bool is_gone(Job *j)
{
    struct pollfd p = {j->socket, POLLRDHUP, 0};
    if (!j->gone && poll(&p, 1, 0) == 1 && (p.revents & (POLLRDHUP | POLLHUP | POLLERR | POLLNVAL))) j->whole = true;
    return j->gone || j->whole;
}

/* ------------------------------------------------------------------ connections */

/* Those whose clients are gone leave the queue. */
static void drop_gone(Jobs *all)
{
    Job **at = &all->first;
    all->last = NULL;
    while (*at) {
        Job *j = *at;
        if (!is_gone(j)) {
            all->last = j;
            at = &j->next;
            continue;
        }
        *at = j->next;
        all->waiting--;
        wake_up(all, j);
        leave_one(j);
    }
}

bool add_job(Jobs *all, Job *j)
{
    pthread_mutex_lock(&all->lock);
    if (all->waiting >= all->most) drop_gone(all);
    bool taken = !all->ending && all->waiting < all->most;
    if (taken) {
        j->owners++;
        if (all->last) all->last->next = j;
        else all->first = j;
        all->last = j;
        all->waiting++;
        pthread_cond_signal(&all->more);
    }
    pthread_mutex_unlock(&all->lock);
    return taken;
}

void leave_job(Jobs *all, Job *j)
{
    pthread_mutex_lock(&all->lock);
    j->gone = true;
    leave_one(j);
    pthread_mutex_unlock(&all->lock);
}

void end_jobs(Jobs *all, bool cut)
{
    pthread_mutex_lock(&all->lock);
    all->ending = true;
    all->cut = all->cut || cut;
    pthread_cond_broadcast(&all->more);
    pthread_mutex_unlock(&all->lock);
}

bool jobs_ended(Jobs *all)
{
    pthread_mutex_lock(&all->lock);
    bool ended = all->worked;
    pthread_mutex_unlock(&all->lock);
    return ended;
}

/* ------------------------------------------------------------------ who answers */

static void finish_job(Jobs *all, Job *j)
{
    j->whole = true;
    wake_up(all, j);
    leave_one(j);
}

static Job *take_first(Jobs *all)
{
    Job *j = all->first;
    all->first = j->next;
    if (!all->first) all->last = NULL;
    all->waiting--;
    j->next = NULL;
    return j;
}

static void refuse_rest(Jobs *all)
{
    char *text = error_reply(503, NULL, "the server is ending");
    while (all->first) {
        Job *j = take_first(all);
        j->status = 503;
        add_to_answer(j, text, strlen(text));
        finish_job(all, j);
    }
    free(text);
}

Job *next_job(Jobs *all, bool wait)
{
    Job *j = NULL;
    pthread_mutex_lock(&all->lock);
    while (!j && !all->ending && (wait || all->first)) {
        if (!all->first) pthread_cond_wait(&all->more, &all->lock);
        if (all->ending || !all->first) continue;
        j = take_first(all);
        if (is_gone(j)) finish_job(all, j), j = NULL;
    }
    if (all->ending) refuse_rest(all);
    all->worked = wait && !j;
    pthread_mutex_unlock(&all->lock);
    return j;
}

bool job_wanted(Jobs *all, Job *j)
{
    pthread_mutex_lock(&all->lock);
    bool wanted = !all->cut && !is_gone(j);
    pthread_mutex_unlock(&all->lock);
    return wanted;
}

/* A connection that ends reads them for the log, whether the answer is whole or not. */
void job_counts(Jobs *all, Job *j, int64_t read, int64_t written)
{
    pthread_mutex_lock(&all->lock);
    j->read = read;
    j->written = written;
    pthread_mutex_unlock(&all->lock);
}

void job_says(Jobs *all, Job *j, int status, const char *text, size_t bytes)
{
    pthread_mutex_lock(&all->lock);
    if (!j->status) j->status = status;
    add_to_answer(j, text, bytes);
    if (j->request.stream) wake_up(all, j);
    pthread_mutex_unlock(&all->lock);
}

void job_done(Jobs *all, Job *j)
{
    pthread_mutex_lock(&all->lock);
    finish_job(all, j);
    pthread_mutex_unlock(&all->lock);
}
