/* seeds.c: runs a fuzz target over files, a process each: seeds_NAME FILE….  A file may be refused (exit 1, 2, 3); a
 * signal, another code, or more than a minute is a failure. */
#include "fuzz.h"
#include "base/file.h"
#include "base/words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SECONDS = 60, LARGEST = 1 << 20 };

static char folder[] = "/tmp/lathe-seeds-XXXXXX", path[sizeof folder + 20];

static size_t copy_input(const char *from, char *text)
{
    FILE *in = fopen(from, "rb"), *out = fopen(path, "wb");
    size_t n = in ? fread(text, 1, LARGEST, in) : 0;
    if (!in || !out || fwrite(text, 1, n, out) != n) perror(from), exit(99);
    fclose(in);
    fclose(out);
    return n;
}

/* NULL: it behaved. */
static const char *run(const char *file, char *text)
{
    static char fault[100];
    size_t n = copy_input(file, text);
    pid_t child = fork();
    if (child == 0) {
        alarm(SECONDS);
        char *own = malloc(n + 1); /* ends where the input does, for sanitizers */
        memcpy(own, text, n);
        own[n] = 0;
        fuzz_one(path, own, n);
        free(own);
        exit(0);
    }
    int status;
    waitpid(child, &status, 0);
    if (WIFSIGNALED(status)) snprintf(fault, sizeof fault, "ended by signal %d", WTERMSIG(status));
    else if (WEXITSTATUS(status) > 3) snprintf(fault, sizeof fault, "exit code %d", WEXITSTATUS(status));
    else return NULL;
    return fault;
}

int main(int argc, char **argv)
{
    int failed = 0;
    char *text = malloc(LARGEST);
    if (!text || !mkdtemp(folder)) return perror(folder), 1;
    snprintf(path, sizeof path, "%s/tokenizer.json", folder);
    for (int i = 1; i < argc; i++) {
        const char *fault = run(argv[i], text);
        if (fault) printf("FAILED: %s: %s\n", argv[i], fault), failed++;
    }
    remove_folder(folder);
    free(text);
    printf("%d files\n", argc - 1);
    return failed > 0;
}
