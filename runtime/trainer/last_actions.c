/* last_actions.c: RUN/logs/rank-K.now: what rank K does, and in which step.
 *
 *     rank 2 of 4, on b, process 812
 *     step 1205, adding up over ranks
 *
 * The file is mapped, so the words stay when all ranks are killed at once, as MPICH's mpirun does when one of them is:
 * then none can say anything, and the next start of the run says it.  A rank that ends in good order removes its file.
 */
#include "trainer/last_actions.h"
#include "base/file.h"
#include "base/words.h"
#include "interface/dealt.h"
#include "ranks/courier.h"
#include "trainer/ranks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { BYTES = 512, SHOWN = 8 };

static char *own_file; /* NULL: none */

static char *file_of(const char *run, int rank) { return text_of("%s/logs/rank-%d.now", run, rank); }

static void keep_no_action(const char *why)
{
    note("%s %s: if all ranks are killed at once, nothing will tell what this one did", own_file, why);
    own_file = NULL;
}

void open_last_action(const Trainer *t)
{
    Fault f = {0};
    char first[BYTES] = "";
    if (!make_folders(text_of("%s/logs", run_folder(t)), &f)) return;
    own_file = file_of(run_folder(t), t->rank);
    snprintf(first, sizeof first, "rank %d of %d, on %.300s, process %d\n", t->rank, gpus_of(t), host_name(),
             (int)getpid());
    const int file = open(own_file, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    const size_t begun = strlen(first);
    memset(first + begun, ' ', ACTION_BYTES);
    if (file < 0 || write(file, first, begun + ACTION_BYTES) != (ssize_t)(begun + ACTION_BYTES)) {
        keep_no_action(error_text(errno));
        if (file >= 0) close(file);
        return;
    }
    char *at = mmap(NULL, begun + ACTION_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (at == MAP_FAILED) keep_no_action(error_text(errno));
    else show_action_at(at + begun);
}

void close_last_action(void)
{
    show_action_at(NULL);
    if (own_file) unlink(own_file);
    own_file = NULL;
}

/* "rank 2 of 4, on b, process 812: step 1205, adding up over ranks"; NULL: there is none */
static char *last_action(const char *path)
{
    char text[BYTES] = "";
    const int file = open_to_read(path);
    const ssize_t n = file < 0 ? -1 : read(file, text, sizeof text - 1);
    if (file >= 0) close(file);
    char *end = n > 0 ? strchr(text, '\n') : NULL;
    if (!end) return NULL;
    *end++ = 0;
    for (size_t k = strlen(end); k && (end[k - 1] == ' ' || end[k - 1] == '\n');) end[--k] = 0;
    return text_of("%s: %s", text, *end ? end : "before its first step");
}

void tell_last_actions(const char *run)
{
    int found = 0;
    if (access(text_of("%s/logs", run), F_OK) != 0) return;
    for (int k = 0; k < LATHE_MOST_RANKS; k++) {
        char *path = file_of(run, k), *words = last_action(path);
        if (words && !found) note("the last run here did not end in good order; its ranks, when they were last seen:");
        if (words && found < SHOWN) note("%s", words);
        found += words != NULL;
        unlink(path);
        free(path), free(words);
    }
    if (found > SHOWN) note("and %d more", found - SHOWN);
}
