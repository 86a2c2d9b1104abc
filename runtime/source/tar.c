/* tar.c: reads the headers of a tar archive.
 *
 * A member is a header of 512 bytes and its contents, filled up to a multiple of 512; two blocks of zeros end the
 * archive.  Long names and sizes come before a member, in a member of their own (GNU's L, pax's x). */
#include "base/file.h"
#include "base/words.h"
#include "source/tar.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BLOCK = 512, MOST_NAME = 1 << 16, MOST_RECORDS = 1 << 20 };

struct Tar {
    char *path;
    int fd;
    int64_t bytes, at;   /* at: of the next header */
    char *name;          /* of the member */
    char *given;         /* by a member before it; NULL: none */
    int64_t given_bytes; /* likewise; -1: none */
};

typedef struct Header {
    char name[100], mode[8], uid[8], gid[8], size[12], time[12], sum[8], type, link[100], magic[6], version[2],
        user[32], group[32], major[8], minor[8], prefix[155], rest[12];
} Header;
_Static_assert(sizeof(Header) == BLOCK, "a block");

static char *header_place(const Tar *t) { return text_of("%s: byte %lld", t->path, (long long)t->at); }

static _Noreturn void cut_off(const Tar *t, const char *what)
{
    fail(EXIT_DATA, header_place(t), "%s: the archive was cut short at %lld bytes; get it again", what,
         (long long)t->bytes);
}

void read_tar(const Tar *t, int64_t first, int64_t n, void *to)
{
    for (int64_t done = 0; done < n;) {
        ssize_t got = pread(t->fd, (char *)to + done, (size_t)(n - done), first + done);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) fail(EXIT_DATA, t->path, "cannot be read: %s", error_text(errno));
        if (got == 0) cut_off(t, "expected more bytes");
        done += got;
    }
}

/* ------------------------------------------------------------------ headers */

/* Octal digits, or with its first bit set, bytes of a large number; -1: neither. */
static int64_t number_of(const char *field, int n)
{
    int64_t x = 0;
    const unsigned char *at = (const unsigned char *)field;
    if (*at == 0x80) {
        for (int i = 1; i < n; i++) {
            if (x >> 54) return -1;
            x = x << 8 | at[i];
        }
        return x;
    }
    int i = 0;
    while (i < n && at[i] == ' ') i++;
    for (; i < n && at[i] >= '0' && at[i] <= '7'; i++) x = x << 3 | (at[i] - '0');
    return i < n && at[i] && at[i] != ' ' ? -1 : x;
}

/* The sum of the header's bytes, those of the sum itself as spaces. */
static bool sum_fits(const Header *h)
{
    int64_t sum = 0;
    const unsigned char *at = (const unsigned char *)h;
    for (int i = 0; i < BLOCK; i++) sum += i >= 148 && i < 156 ? ' ' : at[i];
    return number_of(h->sum, sizeof h->sum) == sum;
}

static bool all_zero(const Header *h)
{
    const char *at = (const char *)h;
    for (int i = 0; i < BLOCK; i++)
        if (at[i]) return false;
    return true;
}

/* false: the end of the archive. */
static bool read_header(const Tar *t, Header *h)
{
    if (t->bytes - t->at < BLOCK) cut_off(t, "expected a header, or the end mark of a tar archive (zeros)");
    read_tar(t, t->at, BLOCK, h);
    if (all_zero(h)) return false;
    if (sum_fits(h)) return true;
    if (t->at == 0 && (unsigned char)h->name[0] == 0x1f && (unsigned char)h->name[1] == 0x8b)
        fail(EXIT_DATA, t->path,
             "is compressed; unpack it (gunzip), because its members are read in any order, and pictures are "
             "compressed already");
    fail(EXIT_DATA, header_place(t), "expected a header of a tar archive, found other bytes; the file is %s",
         t->at ? "damaged" : "no tar archive");
}

/* ------------------------------------------------------------------ names */

static char *name_in_header(const Header *h)
{
    bool ustar = memcmp(h->magic, "ustar", 6) == 0 && h->prefix[0];
    return ustar ? text_of("%.*s/%.*s", (int)sizeof h->prefix, h->prefix, (int)sizeof h->name, h->name)
                 : text_of("%.*s", (int)sizeof h->name, h->name);
}

static char *contents_of(const Tar *t, int64_t n, int64_t most)
{
    if (n > most)
        fail(EXIT_DATA, header_place(t), "expected at most %lld bytes for a member's name and attributes, found %lld",
             (long long)most, (long long)n);
    char *text = must_alloc((size_t)n + 1);
    read_tar(t, t->at + BLOCK, n, text);
    return text;
}

static void give_name(Tar *t, char *name)
{
    free(t->given);
    t->given = name;
}

/* pax: records "LENGTH KEY=VALUE\n". */
static void take_records(Tar *t, int64_t n)
{
    char *text = contents_of(t, n, MOST_RECORDS), *at = text, *end = text + n;
    while (at < end && *at) {
        char *word;
        long long length = strtoll(at, &word, 10);
        char *equals = length > 0 && length <= end - at ? memchr(word, '=', (size_t)(at + length - word)) : NULL;
        if (!equals || word >= at + length || *word != ' ' || at[length - 1] != '\n')
            fail(EXIT_DATA, header_place(t),
                 "expected attributes such as \"20 path=cats/1.jpg\", found other bytes; "
                 "the archive is damaged");
        at[length - 1] = *equals = 0;
        if (strcmp(word + 1, "path") == 0) give_name(t, text_of("%s", equals + 1));
        if (strcmp(word + 1, "size") == 0 && !parse_count(equals + 1, &t->given_bytes))
            fail(EXIT_DATA, header_place(t), "expected the size of a member, found \"%s\"", equals + 1);
        at += length;
    }
    free(text);
}

/* Nothing is written, but a name that leaves its folder is a sign that the archive is not what it should be. */
static void check_name(const Tar *t)
{
    const char *at = t->name;
    bool climbs = *at == '/';
    while (*at && !climbs) {
        size_t n = strcspn(at, "/");
        climbs = n == 2 && at[0] == '.' && at[1] == '.';
        at += n + (at[n] == '/');
    }
    if (climbs)
        fail(EXIT_DATA, text_of("%s: member %s", t->path, t->name),
             "expected a name below the archive's folder, found one that leaves it; pack the archive again");
}

/* ------------------------------------------------------------------ members */

/* Takes what a member of a special kind says of the next; false: it is none. */
static bool is_about_next(Tar *t, const Header *h, int64_t n)
{
    if (h->type == 'L') give_name(t, contents_of(t, n, MOST_NAME));
    else if (h->type == 'x') take_records(t, n);
    else return h->type == 'g' || h->type == 'K';
    return true;
}

static void settle_member(Tar *t, const Header *h, int64_t n, Tar_member *m)
{
    free(t->name);
    t->name = t->given ? t->given : name_in_header(h);
    t->given = NULL;
    t->given_bytes = -1;
    check_name(t);
    *m = (Tar_member){.name = t->name,
                      .first = t->at + BLOCK,
                      .bytes = n,
                      .regular = h->type == '0' || h->type == 0 || h->type == '7'};
    while (strncmp(m->name, "./", 2) == 0) m->name += 2;
}

bool next_tar_member(Tar *t, Tar_member *m)
{
    Header h;
    for (bool found = false; !found;) {
        if (!read_header(t, &h)) return false;
        int64_t n = number_of(h.size, sizeof h.size), room = t->bytes - t->at - BLOCK;
        bool about = strchr("LxgK", h.type) && h.type;
        if (!about && t->given_bytes >= 0) n = t->given_bytes;
        if (n < 0 || n > room)
            fail(EXIT_DATA, text_of("%s: member %s", t->path, t->given ? t->given : name_in_header(&h)),
                 n < 0 ? "expected a size in its header, found none; the archive is damaged"
                       : "expected %lld bytes, found %lld to the end of the archive; it was cut short: get it again",
                 (long long)n, (long long)room);
        if (!is_about_next(t, &h, n)) {
            settle_member(t, &h, n, m);
            found = true;
        }
        t->at += BLOCK + (n + BLOCK - 1) / BLOCK * BLOCK;
    }
    return true;
}

/* ------------------------------------------------------------------ opening */

Tar *open_tar(const char *path)
{
    struct stat about;
    int fd = open_to_read(path);
    if (fd < 0 || fstat(fd, &about) != 0)
        fail(EXIT_DATA, path, "cannot be read: %s; check the path", error_text(errno));
    if (!S_ISREG(about.st_mode))
        fail(EXIT_DATA, path, "expected a regular file, because pictures are read in any order");
    Tar *t = must_alloc(sizeof *t);
    *t = (Tar){.path = text_of("%s", path), .fd = fd, .bytes = about.st_size, .given_bytes = -1};
    return t;
}

void close_tar(Tar *t)
{
    close(t->fd);
    free(t->path);
    free(t->name);
    free(t->given);
    free(t);
}
