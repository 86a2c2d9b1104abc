/* known.c: the programs with which this user has trained, as notes in the cache folder.  A run's folder may be a
 * stranger's, and name any program; one of these the user has run before.
 *
 * A note is named after a hash of the path, and holds the path and the SHA-256 of the program: another one may be put
 * in its place. */
#include "base/known.h"
#include "base/cache.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/sha256.h"
#include "base/words.h"

#include <dirent.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *folder_of_notes(void)
{
    char *cache = cache_folder(), *folder = cache ? text_of("%s/trainers", cache) : NULL;
    free(cache);
    return folder;
}

/* The note's text; NULL: the program cannot be read. */
static char *text_of_note(const char *program)
{
    char piece[1 << 13], digits[SHA256_DIGITS + 1];
    FILE *f = open_stream_to_read(program);
    Sha256 h;
    if (!f) return NULL;
    sha256_start(&h);
    for (size_t n; (n = fread(piece, 1, sizeof piece, f)) > 0;) sha256_add(&h, piece, n);
    fclose(f);
    const Digest digest = sha256_end(&h);
    digest_text(&digest, digits);
    return text_of("%s\n%s\n", program, digits);
}

static bool says(const char *note, const char *wanted)
{
    char text[PATH_MAX + SHA256_DIGITS + 3];
    FILE *f = open_stream_to_read(note);
    const size_t n = f ? fread(text, 1, sizeof text, f) : 0;
    if (f) fclose(f);
    return n == strlen(wanted) && memcmp(text, wanted, n) == 0;
}

/* Whether the program of a note is there no longer. */
static bool is_stale(const char *note)
{
    char path[PATH_MAX + 1] = "";
    FILE *f = open_stream_to_read(note);
    if (!f) return false;
    if (!fgets(path, sizeof path, f)) path[0] = 0;
    fclose(f);
    path[strcspn(path, "\n")] = 0;
    return access(path, F_OK) != 0;
}

static void drop_notes(const char *folder)
{
    DIR *d = opendir(folder);
    for (const struct dirent *e; d && (e = readdir(d));) {
        char *note = e->d_name[0] == '.' ? NULL : text_of("%s/%s", folder, e->d_name);
        if (note && is_stale(note)) unlink(note);
        free(note);
    }
    if (d) closedir(d);
}

/* Of the program at a real path: its note and the note's text, from malloc; NULL: none can be. */
static char *note_of(const char *folder, const char *real, char **text)
{
    *text = folder && real ? text_of_note(real) : NULL;
    return *text ? text_of("%s/%016llx", folder, (unsigned long long)hash_of(real, strlen(real))) : NULL;
}

void remember_this_program(void)
{
    Fault fault = {0};
    char *real = realpath("/proc/self/exe", NULL), *folder = folder_of_notes(), *text;
    char *note = note_of(folder, real, &text);
    if (note && !says(note, text) && make_folders(folder, &fault)) {
        drop_notes(folder);
        replace_text(note, text, &fault);
    }
    clear_fault(&fault);
    free(real), free(folder), free(text), free(note);
}

char *known_program(const char *path)
{
    char *real = realpath(path, NULL), *folder = folder_of_notes(), *text;
    char *note = note_of(folder, real, &text);
    const bool known = note && says(note, text);
    free(folder), free(text), free(note);
    if (known) return real;
    free(real);
    return NULL;
}
