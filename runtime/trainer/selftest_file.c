/* selftest_file.c: results of selftest.c on this device with this program.  They are a file in the cache folder, named
 * after both: a line that identifies both, then the ways that failed, one per line. */
#include "base/hash.h"
#include "base/words.h"
#include "step/entry.h"
#include "trainer/selftest.h"
#include "trainer/trainer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 512, NAME = 200 };

static struct Known {
    char *path, *head; /* NULL: results are not saved */
    bool there;
    char wrong[MOST][NAME];
    int n;
} known;

/* The hash covers the kernels, which are part of the program. */
static uint64_t hash_of_program(void)
{
    static char piece[1 << 16];
    Hash h;
    hash_start(&h);
    FILE *f = fopen("/proc/self/exe", "rb");
    for (size_t n; f && (n = fread(piece, 1, sizeof piece, f)) > 0;) hash_add(&h, piece, n);
    if (f) fclose(f);
    return hash_end(&h);
}

static void read_known(void)
{
    char line[1000];
    FILE *f = fopen(known.path, "r");
    if (!f) return;
    known.there = fgets(line, sizeof line, f) && strncmp(line, known.head, strlen(known.head)) == 0;
    while (known.there && fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = 0;
        keep_wrong_way(line);
    }
    fclose(f);
}

void remember_selftest(const char *folder, const Trainer *t)
{
    if (!folder) return;
    known = (struct Known){.head = text_of("lathe selftest 1, %s, program %016llx", about_device(),
                                           (unsigned long long)hash_of_program())};
    known.path = text_of("%s/selftest-%016llx", folder, (unsigned long long)hash_of(known.head, strlen(known.head)));
    if (strcmp(t->command, "selftest") == 0) return;
    read_known();
    for (int i = 0; i < known.n; i++) {
        take_second_way(known.wrong[i], true);
        note("%s: its second way is used, because it failed a test on this machine", known.wrong[i]);
    }
}

bool needs_selftest(void)
{
    const char *wish = getenv("LATHE_CUDA_TUNE");
    return known.path && !known.there && !(wish && strcmp(wish, "off") == 0);
}

void keep_wrong_way(const char *name)
{
    if (known.n < MOST) snprintf(known.wrong[known.n++], NAME, "%.*s", NAME - 1, name);
}

bool is_wrong_way(const char *name)
{
    bool found = false;
    for (int i = 0; i < known.n; i++) found |= strcmp(known.wrong[i], name) == 0;
    return found;
}

/* Written to another file and renamed: a reader finds the old file or the new one. */
void keep_selftest(void)
{
    if (!known.path) return;
    char *aside = text_of("%s.%ld", known.path, (long)getpid());
    FILE *f = fopen(aside, "w");
    bool written = f && fprintf(f, "%s\n", known.head) > 0;
    for (int i = 0; written && i < known.n; i++) written = fprintf(f, "%s\n", known.wrong[i]) > 0;
    if (f && fclose(f) != 0) written = false;
    if (!written || rename(aside, known.path) != 0) {
        note("cannot write %s: %s; the next start tests again", known.path, strerror(errno));
        unlink(aside);
    }
    free(aside);
}
