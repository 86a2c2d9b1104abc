/* util.c: strings, text under construction, and the two ways to fail. */
#include "base/util.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ------------------------------------------------------------------ strings */

char *vformat(const char *fmt, va_list args)
{
    char short_text[256]; /* long enough for nearly all */
    va_list again;
    va_copy(again, args);
    size_t n = (size_t)vsnprintf(short_text, sizeof short_text, fmt, args);
    char *s = alloc(n + 1);
    if (n < sizeof short_text) memcpy(s, short_text, n);
    else vsnprintf(s, n + 1, fmt, again);
    va_end(again);
    return s;
}

char *format(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    char *s = vformat(fmt, args);
    va_end(args);
    return s;
}

char *copy_bytes_as_string(const char *s, size_t n)
{
    char *p = alloc(n + 1);
    memcpy(p, s, n);
    return p;
}

char *copy_string(const char *s) { return copy_bytes_as_string(s, strlen(s)); }

bool starts_with(const char *s, const char *prefix) { return strncmp(s, prefix, strlen(prefix)) == 0; }

bool same(const char *a, const char *b) { return a == b || (a && b && strcmp(a, b) == 0); }

static int strings_slot(const Strings *t, const char *s)
{
    uint64_t h = hash_bytes(s, strlen(s), 5), mask = (uint64_t)(t->cap - 1);
    while (t->key[h & mask] && !same(t->key[h & mask], s)) h++;
    return (int)(h & mask);
}

int *strings_at(Strings *t, const char *s)
{
    if (t->n * 2 >= t->cap) {
        Strings old = *t;
        t->cap = old.cap ? old.cap * 2 : 64;
        t->key = NEW_ARRAY(const char *, t->cap);
        t->value = NEW_ARRAY(int, t->cap);
        for (int i = 0; i < old.cap; i++) {
            if (!old.key[i]) continue;
            int slot = strings_slot(t, old.key[i]);
            t->key[slot] = old.key[i];
            t->value[slot] = old.value[i];
        }
    }
    int slot = strings_slot(t, s);
    t->n += !t->key[slot];
    t->key[slot] = s;
    return &t->value[slot];
}

int strings_get(const Strings *t, const char *s) { return t->cap ? t->value[strings_slot(t, s)] : 0; }

const char *after_the_first(int k)
{
    char letters[8];
    int at = sizeof letters;
    letters[--at] = 0;
    for (; k > 0; k = (k - 1) / 26) letters[--at] = (char)('a' + (k - 1) % 26);
    return copy_string(letters + at);
}

int number_after_the_first(const char *letters)
{
    int k = 0;
    for (; *letters >= 'a' && *letters <= 'z' && k < INT_MAX / 26 - 1; letters++) k = k * 26 + *letters - 'a' + 1;
    return *letters ? 0 : k;
}

/* A taken string's number is the last that was put behind it. */
const char *unique_string(Strings *taken, const char *wish)
{
    int last = strings_get(taken, wish);
    if (!last) {
        *strings_at(taken, wish) = 1;
        return wish;
    }
    const char *name;
    do name = format("%s_%s", wish, after_the_first(++last));
    while (strings_get(taken, name));
    *strings_at(taken, name) = 1;
    *strings_at(taken, wish) = last;
    return name;
}

/* Levenshtein distance, letters compared without case; words are short. */
static int distance(const char *a, const char *b)
{
    size_t n = strlen(b);
    int *row = NEW_ARRAY(int, n + 1);
    for (size_t j = 0; j <= n; j++) row[j] = (int)j;
    for (size_t i = 0; a[i]; i++) {
        int diagonal = row[0];
        row[0] = (int)i + 1;
        for (size_t j = 0; j < n; j++) {
            int change = diagonal + (tolower((unsigned char)a[i]) != tolower((unsigned char)b[j]));
            int best = row[j] + 1 < row[j + 1] + 1 ? row[j] + 1 : row[j + 1] + 1;
            diagonal = row[j + 1];
            row[j + 1] = best < change ? best : change;
        }
    }
    return row[n];
}

/* Is `part` one of the parts of the word between underscores? "decay" is one of "weight_decay". */
static bool is_part(const char *part, const char *word)
{
    size_t n = strlen(part), all = strlen(word);
    if (n < 4 || n >= all) return false;
    return (strncmp(word, part, n) == 0 && word[n] == '_') || (same(word + all - n, part) && word[all - n - 1] == '_');
}

const char *nearest(const char *word, const char *const *words, int n)
{
    const char *best = NULL, *part = NULL;
    int length = (int)strlen(word), least = length < 3 ? 1 : length < 5 ? 2 : length / 3 + 2; /* farther is no help */
    for (int i = 0; i < n; i++) {
        int d = distance(word, words[i]);
        if (d < least) least = d, best = words[i];
        if (is_part(words[i], word)) part = words[i];
    }
    return part && least > 1 ? part : best;
}

/* FNV-1a, 64 bits, started from a seed. */
uint64_t hash_bytes(const void *data, size_t bytes, uint64_t seed)
{
    uint64_t h = 0xcbf29ce484222325u ^ (seed * 0x9e3779b97f4a7c15u);
    const unsigned char *p = data;
    for (size_t i = 0; i < bytes; i++) h = (h ^ p[i]) * 0x100000001b3u;
    return h ^ (h >> 29);
}

/* ------------------------------------------------------------------ files */

char *read_file(const char *path, size_t *bytes)
{
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC); /* a pipe must not make it wait for a writer */
    struct stat st;
    FILE *f = fd < 0 ? NULL : fdopen(fd, "rb");
    if (!f) return NULL;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        fclose(f);
        errno = 0;
        return NULL;
    }
    char *text = alloc((size_t)st.st_size + 1);
    size_t n = fread(text, 1, (size_t)st.st_size, f);
    fclose(f);
    if (bytes) *bytes = n;
    return text;
}

bool write_file(const char *path, const char *text, size_t bytes)
{
    FILE *f = fopen(path, "wb");
    if (!f) return false;
    bool ok = fwrite(text, 1, bytes, f) == bytes;
    return fclose(f) == 0 && ok;
}

/* ------------------------------------------------------------------ text */

/* Makes room for n more bytes and the final 0. */
static void reserve(Text *t, size_t n)
{
    if (t->n + n + 1 <= t->cap) return;
    size_t cap = (t->n + n + 1) * 2;
    t->at = lengthen(t->at, t->n, t->cap, cap);
    t->cap = cap;
}

void say_bytes(Text *t, const char *bytes, size_t n)
{
    reserve(t, n);
    if (n) memcpy(t->at + t->n, bytes, n); /* of nothing there may be no bytes at all */
    t->n += n;
    t->at[t->n] = 0;
}

/* The arguments must not point into t itself, which may move. */
void say(Text *t, const char *fmt, ...)
{
    va_list args, again;
    va_start(args, fmt);
    va_copy(again, args);
    reserve(t, 31);
    size_t room = t->cap - t->n, n = (size_t)vsnprintf(t->at + t->n, room, fmt, args);
    if (n >= room) {
        reserve(t, n);
        vsnprintf(t->at + t->n, n + 1, fmt, again);
    }
    t->n += n;
    va_end(again);
    va_end(args);
}

/* ------------------------------------------------------------------ failing */

/* "   12 |     x = x + y", where the file can still be read; a caret below column, where that is known (from 1) */
static void show_line(Where where, int column)
{
    if (!where.file || where.line <= 0) return;
    char *text = read_file(where.file, NULL);
    for (int line = 1; text && line < where.line; line++) {
        text = strchr(text, '\n');
        if (text) text++;
    }
    if (!text || !*text) return;
    say_to(stderr, "%5d | %.*s\n", where.line, (int)strcspn(text, "\r\n"), text);
    if (column <= 0 || (size_t)column > strcspn(text, "\r\n") + 1) return;
    fprintf(stderr, "      | ");
    for (int i = 0; i < column - 1; i++) /* a letter of several bytes is one place wide */
        if ((text[i] & 0xC0) != 0x80) fputc(text[i] == '\t' ? '\t' : ' ', stderr);
    fprintf(stderr, "^\n");
}

void (*told_of_mistake)(const char *kind, Where where, int column, const char *text);

static void complain(const char *kind, Where where, int column, const char *fmt, va_list args)
{
    char *text = vformat(fmt, args);
    if (told_of_mistake) told_of_mistake(kind, where, column, text);
    fflush(stdout);
    if (where.file && where.line > 0 && column > 0) say_to(stderr, "%s:%d:%d: ", where.file, where.line, column);
    else if (where.file && where.line > 0) say_to(stderr, "%s:%d: ", where.file, where.line);
    else if (where.file) say_to(stderr, "%s: ", where.file);
    else fprintf(stderr, "lathe: ");
    fprintf(stderr, "%s: ", kind);
    say_text_to(stderr, text);
    fputc('\n', stderr);
    show_line(where, column);
    if (where.path && *where.path) say_to(stderr, "        in %s\n", where.path);
}

int code_of_mistakes = 1;

void err(Where where, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    complain("error", where, 0, fmt, args);
    va_end(args);
    exit(code_of_mistakes);
}

bool remarks_made;

/* A description is traced for every entry: each line is warned of once. */
void warn(Where where, const char *fmt, ...)
{
    static VEC(Where) warned;
    if (remarks_made) return;
    for (int i = 0; i < warned.n; i++)
        if (warned.at[i].line == where.line && same(warned.at[i].file, where.file)) return;
    push(&warned, where);
    va_list args;
    va_start(args, fmt);
    complain("warning", where, 0, fmt, args);
    va_end(args);
}

void err_at(Where where, int column, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    complain("error", where, column, fmt, args);
    va_end(args);
    exit(code_of_mistakes);
}

void usage_error(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    complain("error", (Where){0}, 0, fmt, args);
    va_end(args);
    exit(2);
}

void die_at(const char *file, int line, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    fflush(stdout);
    fprintf(stderr, "lathe: internal error at %s:%d: ", file, line);
    say_text_to(stderr, vformat(fmt, args));
    fprintf(stderr, "\nThis is our mistake: please report it with the description that caused it.\n");
    va_end(args);
    abort();
}
