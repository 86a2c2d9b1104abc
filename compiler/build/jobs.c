/* jobs.c: objects that are compiled, several at a time, where what they are made of has changed. */
#include "build/jobs.h"
#include "build/sources.h"
#include "runtime/base/machine.h"

#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static bool is_header(const char *name)
{
    return ends_in(name, ".h") || ends_in(name, ".cuh") || ends_in(name, ".def");
}

uint64_t hash_of_headers(uint64_t seed)
{
    Files all = files_below(runtime_dir(), is_header);
    for (int i = 0; i < all.n; i++) seed = hash_file(format("%s/%s", runtime_dir(), all.at[i]), seed);
    return seed;
}

void add_object(Jobs *all, const char *dir, const char *source, const char *name, Words words, uint64_t headers)
{
    Job j = {.source = source,
             .object = format("%s/%s.o", dir, name),
             .log = format("%s/%s.log", dir, name),
             .words = words};
    push(&j.words, "-o");
    push(&j.words, j.object);
    push(&j.words, "-c");
    push(&j.words, source);
    j.hash = hash_file(source, hash_command(&j.words, headers));
    j.wanted = !has_hash(j.object, j.hash);
    push(all, j);
}

static Job *job_of(Jobs *all, pid_t child)
{
    for (int i = 0; i < all->n; i++)
        if (all->at[i].child == child) return &all->at[i];
    return NULL;
}

/* Waits for one; false: it has failed. */
static bool end_one(Jobs *all, Job **failed)
{
    int status;
    pid_t child = waitpid(-1, &status, 0);
    if (child < 0) err((Where){0}, "cannot wait for the compiler: %s", strerror(errno));
    Job *j = job_of(all, child);
    if (!j) return true;
    j->child = 0;
    if (exit_of(status) == 0) {
        keep_hash(j->object, j->hash);
        unlink(j->log);
    } else if (!*failed) {
        *failed = j;
    }
    return !*failed;
}

void run_jobs(Jobs *all)
{
    int running = 0, most = cores_here();
    Job *failed = NULL;
    for (int i = 0; i < all->n && !failed; i++) {
        Job *j = &all->at[i];
        if (!j->wanted) continue;
        if (running == most) running--, end_one(all, &failed);
        if (!failed) running++, j->child = start_logged(&j->words, j->log);
    }
    while (running > 0) running--, end_one(all, &failed);
    if (!failed) return;
    const char *file = strrchr(failed->source, '/') + 1;
    bool cuda = ends_in(file, ".cu");
    refused(format("%s refuses %s", cuda ? "nvcc" : "the C compiler", failed->source), failed->source,
            format("%s%s", file, cuda ? "(" : ":"), failed->log);
}
