/* prompts.c: the prompts of `generate`: texts of --prompt, whole files of --prompt-file, in the order given. */
#include "base/words.h"
#include "text/generate.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LARGEST = 64 << 20 }; /* bytes of a prompt */

static void add(Prompts *p, Prompt one)
{
    p->at = must_grow(p->at, sizeof *p->at * (size_t)(p->n + 1));
    p->at[p->n++] = one;
}

void add_prompt(Prompts *p, const char *text) { add(p, (Prompt){{text, (int64_t)strlen(text)}, "prompt"}); }

/* Reads a whole open file, which may be a pipe. */
static Passage read_prompt(int fd, const char *place)
{
    size_t bytes = 0, room = 1 << 16;
    char *text = must_alloc(room);
    for (ssize_t got = 1; got;) {
        if (bytes > LARGEST)
            fail(EXIT_DATA, place, "is larger than the limit for a prompt, %s; give a shorter one",
                 bytes_text(LARGEST));
        if (bytes == room) text = must_grow(text, room *= 2);
        got = read(fd, text + bytes, room - bytes);
        if (got < 0 && errno != EINTR) fail(EXIT_DATA, place, "the prompt cannot be read: %s", error_text(errno));
        if (got > 0) bytes += (size_t)got;
    }
    return (Passage){text, (int64_t)bytes};
}

void add_prompt_file(Prompts *p, const char *path)
{
    static bool taken;
    struct stat about;
    bool input = strcmp(path, "-") == 0;
    const char *place = input ? "standard input" : path;
    if (input && taken) fail(EXIT_USAGE, NULL, "--prompt-file -: standard input is a single prompt; give it once");
    taken = taken || input;
    int fd = input ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &about) != 0)
        fail(EXIT_DATA, place, "the prompt cannot be read: %s; give a file, or - for standard input",
             error_text(errno));
    if (S_ISDIR(about.st_mode)) fail(EXIT_DATA, place, "expected a file with a prompt, found a folder");
    add(p, (Prompt){read_prompt(fd, place), place});
    if (!input) close(fd);
}
