/* data_files.c: hashes of the files of data, and the record of one that has changed.
 *
 * Beside a file's SHA-256 there are sums (base/sums.h) of XXH64 of its pieces: of lines, or of 4,096 bytes where there
 * is no end of line.  Stretches of pieces have sums of their own, so that one change in each is found, and the stretch
 * where pieces were added or left out. */
#include "trainer/data_files.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/json_text.h"
#include "base/sha256.h"
#include "base/sums.h"
#include "base/words.h"
#include "data/array.h"

#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ------------------------------------------------------------------ which files */

enum { DEEPEST_FOLDER = 64 }; /* which ends cycles of links */

static void add_one(Own_files *all, const char *of, char *name, char *path)
{
    if ((all->n & (all->n - 1)) == 0) all->at = must_grow(all->at, sizeof *all->at * (size_t)(2 * all->n + 1));
    all->at[all->n++] = (Own_file){of, name, path};
}

static int by_name_of_entry(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}
static int is_seen(const struct dirent *e) { return e->d_name[0] != '.'; }

/* A file, or those in a folder and below. */
static void add_files_below(Own_files *all, const char *of, const char *name, const char *path, int depth)
{
    struct stat about;
    struct dirent **entry;
    if (stat(path, &about) != 0 || depth > DEEPEST_FOLDER) return;
    if (S_ISREG(about.st_mode)) add_one(all, of, text_of("%s", name), text_of("%s", path));
    if (!S_ISDIR(about.st_mode)) return;
    int n = scandir(path, &entry, is_seen, by_name_of_entry);
    for (int i = 0; i < n; i++) {
        char *inner = text_of("%s/%s", name, entry[i]->d_name), *place = text_of("%s/%s", path, entry[i]->d_name);
        add_files_below(all, of, inner, place, depth + 1);
        free(inner), free(place), free(entry[i]);
    }
    if (n >= 0) free(entry);
}

static const char *last_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

/* PATH, INPUT=PATH, or a pattern of names. */
static void add_given(Own_files *all, const char *of, const char *word)
{
    const char *equals = strchr(word, '=');
    glob_t found;
    if (access(word, F_OK) != 0 && equals && access(equals + 1, F_OK) == 0) word = equals + 1;
    if (access(word, F_OK) == 0) {
        add_files_below(all, of, last_name(word), word, 0);
        return;
    }
    if (glob(word, 0, NULL, &found) != 0) return;
    for (size_t i = 0; i < found.gl_pathc; i++)
        add_files_below(all, of, last_name(found.gl_pathv[i]), found.gl_pathv[i], 0);
    globfree(&found);
}

Own_files files_of_run(const Trainer *t)
{
    Own_files all = {0};
    const char *tokenizer = t->tokenizer ? t->tokenizer : t->recipe.tokenizer_file;
    for (int i = 0; i < t->data.n; i++) add_given(&all, "data", t->data.at[i]);
    for (int i = 0; i < t->val_data.n; i++) add_given(&all, "val_data", t->val_data.at[i]);
    if (t->recipe.tokenizer == LATHE_TOKENIZER_FILE && tokenizer) add_given(&all, "tokenizer", tokenizer);
    return all;
}

void free_files(Own_files *all)
{
    for (int i = 0; i < all->n; i++) free(all->at[i].name), free(all->at[i].path);
    free(all->at);
    *all = (Own_files){0};
}

/* ------------------------------------------------------------------ pieces and stretches */

enum { PIECE_BYTES = 4096, STRETCHES = 64, FIRST_STRETCH = 16 };

typedef struct Pieces { /* of a file */
    int64_t head, row;  /* of an array: bytes before the first row, and of each; row 0: of lines */
    int64_t n, stretch; /* stretch: pieces in one */
    int stretches;
    Sums sums[STRETCHES];
    Digest digest;
    int64_t bytes;
    /* to find one: */
    int64_t wanted;            /* number of a piece, from 0; -1: none */
    int64_t line, first, last; /* its line, and its bytes */
    bool is_text;              /* no byte is 0 */
} Pieces;

static void join_stretches(Pieces *p)
{
    for (int k = 0; k < STRETCHES / 2; k++) {
        p->sums[k] = p->sums[2 * k];
        join_sums(&p->sums[k], &p->sums[2 * k + 1]);
    }
    memset(p->sums + STRETCHES / 2, 0, sizeof p->sums / 2);
    p->stretch *= 2;
}

/* The sums of all stretches are those of places in the file, so those of two join into one's.  A given stretch stays;
 * what is behind the last belongs to it. */
static void sum_piece(Pieces *p, const char *at, int64_t bytes, bool grows)
{
    if (grows && p->n == p->stretch * STRETCHES) join_stretches(p);
    int64_t k = p->n / p->stretch;
    if (k >= STRETCHES) k = STRETCHES - 1;
    add_to_sums(&p->sums[k], (uint64_t)++p->n, hash_of(at, (size_t)bytes) >> 3);
    if (p->stretches <= k) p->stretches = (int)k + 1;
}

static int64_t length_of_piece(const Pieces *p, const char *at, int64_t bytes)
{
    int64_t most = bytes < PIECE_BYTES ? bytes : PIECE_BYTES;
    if (p->row) { /* up to the end of the head, or of the row */
        int64_t left = p->bytes < p->head ? p->head - p->bytes : p->row - (p->bytes - p->head) % p->row;
        return left < most ? left : most;
    }
    const char *end = memchr(at, '\n', (size_t)most);
    return end ? end + 1 - at : most;
}

/* Reads it all, a room at a time; a piece that the room cuts is moved to its beginning. */
static void read_as_pieces(Pieces *p, const Own_file *file, bool grows)
{
    enum { ROOM = 1 << 20 };
    char *room = must_alloc(ROOM);
    int64_t held = 0, line = 1;
    bool ended = false;
    Sha256 h;
    FILE *f = open_stream_to_read(file->path);
    sha256_start(&h);
    p->is_text = true;
    while (f && !ended) {
        int64_t got = (int64_t)fread(room + held, 1, (size_t)(ROOM - held), f), at = 0;
        ended = got == 0;
        sha256_add(&h, room + held, (size_t)got);
        p->is_text = p->is_text && !memchr(room + held, 0, (size_t)got);
        held += got;
        while (at < held &&
               (ended || held - at >= PIECE_BYTES || (!p->row && memchr(room + at, '\n', (size_t)(held - at))))) {
            int64_t n = length_of_piece(p, room + at, held - at);
            if (p->n == p->wanted) p->line = line, p->first = p->bytes, p->last = p->bytes + n - 1;
            sum_piece(p, room + at, n, grows);
            line += room[at + n - 1] == '\n';
            p->bytes += n;
            at += n;
        }
        memmove(room, room + at, (size_t)(held - at));
        held -= at;
    }
    if (!f || ferror(f))
        fail(EXIT_DATA, file->path, "expected a file of the run's %s, but it cannot be read: %s", file->of,
             error_text(errno));
    fclose(f);
    free(room);
    p->digest = sha256_end(&h);
}

static void find_rows(Pieces *p, const Own_file *file)
{
    Array *a = open_npy(file->path);
    p->head = a->data;
    p->row = a->width * a->size;
    close_array(a);
}

json_t *file_record(const Own_file *file, int64_t step)
{
    Pieces p = {.stretch = FIRST_STRETCH, .wanted = -1};
    if (has_end(file->path, ".npy")) find_rows(&p, file);
    char digits[SHA256_DIGITS + 1], sums[STRETCHES * SUMS_DIGITS + 1] = "";
    read_as_pieces(&p, file, true);
    digest_text(&p.digest, digits);
    for (int k = 0; k < p.stretches; k++) sums_text(&p.sums[k], sums + SUMS_DIGITS * k);
    json_t *all = json_pack("{s:I, s:s, s:s}", "step", (json_int_t)step, "split", "file", "of", file->of);
    put_json(all, "name", word_json(file->name));
    put_json(all, "bytes", json_integer(p.bytes));
    put_json(all, "sha256", json_string(digits));
    if (p.row) put_json(all, "head_bytes", json_integer(p.head));
    if (p.row) put_json(all, "row_bytes", json_integer(p.row));
    put_json(all, "pieces", json_integer(p.n));
    put_json(all, "stretch", json_integer(p.stretch));
    put_json(all, "sums", json_string(sums));
    return all;
}

/* ------------------------------------------------------------------ what has changed */

/* Where piece `number` of a file begins and ends: "line 312", "row 17", "some of bytes 270 to 535". */
static char *piece_text(const Own_file *file, const Pieces *of, int64_t number)
{
    Pieces p = {.stretch = FIRST_STRETCH, .wanted = number, .head = of->head, .row = of->row};
    read_as_pieces(&p, file, true);
    if (p.row && p.first >= p.head) return text_of("row %s", grouped_text((p.first - p.head) / p.row));
    if (!p.row && p.is_text) return text_of("line %s", grouped_text(p.line));
    return text_of("some of bytes %s to %s", grouped_text(p.first), grouped_text(p.last));
}

/* The first stretch whose sums differ. */
static int first_other(const Pieces *now, const Pieces *was)
{
    int k = 0;
    while (k < STRETCHES - 1 && memcmp(&now->sums[k], &was->sums[k], sizeof *now->sums) == 0) k++;
    return k;
}

static int others(const Pieces *now, const Pieces *was)
{
    int n = 0;
    for (int k = 0; k < STRETCHES; k++) n += memcmp(&now->sums[k], &was->sums[k], sizeof *now->sums) != 0;
    return n;
}

/* "line 312 differs", or "it differs between line 257 and line 272" */
static char *place_text(const Own_file *file, const Pieces *now, const Pieces *was)
{
    const int k = first_other(now, was);
    const int64_t first = k * was->stretch, last = k == STRETCHES - 1 ? INT64_MAX : first + was->stretch - 1;
    uint64_t i, by;
    if (now->n == was->n && place_of_change(&was->sums[k], &now->sums[k], &i, &by) && (int64_t)i > first &&
        (int64_t)i - 1 <= last)
        return text_of("%s differs", piece_text(file, now, (int64_t)i - 1));
    if (now->n == 0) return text_of("it is empty now");
    if (first >= now->n) return text_of("it ends behind %s", piece_text(file, now, now->n - 1));
    return text_of("it differs between %s and %s", piece_text(file, now, first),
                   piece_text(file, now, last < now->n ? last : now->n - 1));
}

/* false: the record is not one that a trainer wrote. */
static bool take_kept_sums(Pieces *was, const json_t *record)
{
    const char *sums = json_string_value(json_object_get(record, "sums"));
    const json_t *pieces = json_object_get(record, "pieces"), *stretch = json_object_get(record, "stretch");
    size_t n = sums ? strlen(sums) : 0;
    *was = (Pieces){.n = json_integer_value(pieces), .stretch = json_integer_value(stretch)};
    was->head = json_integer_value(json_object_get(record, "head_bytes"));
    was->row = json_integer_value(json_object_get(record, "row_bytes"));
    if (!sums || n % SUMS_DIGITS || n / SUMS_DIGITS > STRETCHES || was->n < 0 || was->head < 0 || was->row < 0 ||
        was->stretch < 1 || was->stretch > INT64_MAX / (2 * STRETCHES))
        return false;
    was->stretches = (int)(n / SUMS_DIGITS);
    for (int k = 0; k < was->stretches; k++)
        if (!parse_sums(sums + SUMS_DIGITS * k, &was->sums[k])) return false;
    return true;
}

char *change_of_file(const Own_file *file, const json_t *record)
{
    const char *digits = json_string_value(json_object_get(record, "sha256"));
    int64_t bytes = json_integer_value(json_object_get(record, "bytes"));
    char own[SHA256_DIGITS + 1];
    Pieces was, now;
    bool known = take_kept_sums(&was, record);
    now = (Pieces){.stretch = known ? was.stretch : FIRST_STRETCH, .wanted = -1};
    if (known) now.head = was.head, now.row = was.row;
    read_as_pieces(&now, file, !known);
    digest_text(&now.digest, own);
    if (digits && strcmp(own, digits) == 0) return NULL;
    if (!known) return text_of("it is another file");
    char *size = bytes == now.bytes
                     ? text_of("%s", "")
                     : text_of(": it has %s bytes, and had %s", grouped_text(now.bytes), grouped_text(bytes));
    char *place = place_text(file, &now, &was);
    const int n = others(&now, &was);
    char *all = now.n == was.n && n > 1 ? text_of("%s, the first of %d places or more%s", place, n, size)
                                        : text_of("%s%s", place, size);
    free(size);
    free(place);
    return all;
}
