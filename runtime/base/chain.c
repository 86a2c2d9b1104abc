/* chain.c: lines of JSON in which each has the hash of the line before, so that none can be changed, left out or added
 * without changing all behind it.
 *
 *     {"step":7,…,"previous":"HASH OF THE LINE BEFORE","hash":"SHA-256 of this line before `,"hash":`"}
 *
 * A reader trusts nothing: the text may be cut off, damaged, or written by others. */
#include "base/chain.h"
#include "base/file.h"
#include "base/json_text.h"
#include "base/words.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define BEFORE_HASH ",\"hash\":\""
#define AFTER_HASH  "\"}\n"
enum { END_BYTES = sizeof BEFORE_HASH - 1 + SHA256_DIGITS + sizeof AFTER_HASH - 1 };

static const char *const splits[] = {"head", "file", "start", "train", "val"};
enum { SPLITS = sizeof splits / sizeof *splits };

char *chained_line(json_t *record, char last[SHA256_DIGITS + 1])
{
    put_json(record, "previous", json_string(last));
    char *text = json_written(record, JSON_COMPACT | JSON_REAL_PRECISION(17));
    const size_t bytes = strlen(text) - 1; /* without the last brace */
    Digest d = sha256_of(text, bytes);
    digest_text(&d, last);
    char *line = text_of("%.*s" BEFORE_HASH "%s" AFTER_HASH, (int)bytes, text, last);
    free(text);
    return line;
}

/* ------------------------------------------------------------------ reading */

static bool is_split(const char *word)
{
    for (int i = 0; word && i < SPLITS; i++)
        if (strcmp(word, splits[i]) == 0) return true;
    return false;
}

/* What is wrong with a line that ends as it should; NULL: nothing. */
static char *line_fault(const Chain *c, const char *at, size_t bytes, json_t *all, const char *own)
{
    const json_t *step = json_object_get(all, "step");
    const char *previous = json_string_value(json_object_get(all, "previous"));
    if (bytes < END_BYTES || memcmp(at + bytes - END_BYTES, BEFORE_HASH, sizeof BEFORE_HASH - 1) != 0 ||
        memcmp(at + bytes - (sizeof AFTER_HASH - 1), AFTER_HASH, sizeof AFTER_HASH - 1) != 0)
        return text_of("expected `" BEFORE_HASH "` and 64 digits at its end, found none");
    if (memcmp(at + bytes - (sizeof AFTER_HASH - 1) - SHA256_DIGITS, own, SHA256_DIGITS) != 0)
        return text_of("its text does not have the hash that it ends with: it was changed");
    if (!previous || strcmp(previous, c->last) != 0)
        return text_of("it does not have the hash of the line before: lines were left out, added or put elsewhere");
    if (!json_is_integer(step) || json_integer_value(step) < 0 ||
        !is_split(json_string_value(json_object_get(all, "split"))))
        return text_of("expected a step and one of the kinds head, file, start, train, val");
    if (c->n && json_integer_value(step) < c->link[c->n - 1].step)
        return text_of("step %lld follows step %lld", (long long)json_integer_value(step),
                       (long long)c->link[c->n - 1].step);
    if (!c->n && strcmp(json_string_value(json_object_get(all, "split")), "head") != 0)
        return text_of("expected the head of a chain in the first line");
    return NULL;
}

static bool add_link(Chain *c, const char *at, size_t bytes, char **why)
{
    char own[SHA256_DIGITS + 1];
    Digest d = sha256_of(at, bytes < END_BYTES ? bytes : bytes - END_BYTES);
    json_t *all = json_loadb(at, bytes, JSON_REJECT_DUPLICATES, NULL);
    digest_text(&d, own);
    char *fault = json_is_object(all) ? line_fault(c, at, bytes, all, own) : text_of("expected a JSON object");
    if (fault) {
        *why = text_of("line %lld: %s", (long long)c->n + 1, fault);
        free(fault);
        json_decref(all);
        return false;
    }
    if ((c->n & (c->n - 1)) == 0) c->link = must_grow(c->link, sizeof *c->link * (size_t)(2 * c->n + 1));
    Link *l = &c->link[c->n++];
    *l = (Link){.step = json_integer_value(json_object_get(all, "step")), .at = at, .bytes = bytes};
    snprintf(l->split, sizeof l->split, "%s", json_string_value(json_object_get(all, "split")));
    memcpy(c->last, own, sizeof own);
    json_decref(all);
    return true;
}

bool parse_chain(Chain *c, char *text, size_t bytes, char **why)
{
    *c = (Chain){.text = text};
    for (const char *at = text, *end = text + bytes; at < end;) {
        const char *line = memchr(at, '\n', (size_t)(end - at));
        c->cut = !line;
        if (c->cut) break;
        if (!add_link(c, at, (size_t)(line + 1 - at), why)) return false;
        at = line + 1;
    }
    if (c->n) return true;
    *why = text_of("expected the head of a chain, found %s", bytes ? "half a line" : "an empty file");
    return false;
}

bool read_chain(Chain *c, const char *path, char **why)
{
    struct stat about;
    FILE *f = open_stream_to_read(path);
    *c = (Chain){0};
    *why = NULL;
    if (!f && errno == ENOENT) return false;
    if (!f || fstat(fileno(f), &about) != 0 || !S_ISREG(about.st_mode)) {
        *why = f ? text_of("expected a regular file") : text_of("cannot be read: %s", error_text(errno));
        if (f) fclose(f);
        return false;
    }
    char *text = must_alloc((size_t)about.st_size + 1);
    size_t bytes = fread(text, 1, (size_t)about.st_size, f);
    bool failed = ferror(f);
    fclose(f);
    if (failed) {
        *why = text_of("cannot be read");
        free(text);
        return false;
    }
    return parse_chain(c, text, bytes, why);
}

json_t *link_json(const Link *l)
{
    json_t *all = json_loadb(l->at, l->bytes, JSON_REJECT_DUPLICATES, NULL);
    bug_if(!all); /* it was read before */
    return all;
}

void close_chain(Chain *c)
{
    free(c->text);
    free(c->link);
    *c = (Chain){0};
}
