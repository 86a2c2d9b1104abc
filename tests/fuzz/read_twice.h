/* read_twice.h: a file's documents are the same in large parts and in small ones, and from any part on. */
#ifndef FUZZ_READ_TWICE_H
#define FUZZ_READ_TWICE_H

#include "fuzz.h"
#include "base/hash.h"
#include "base/words.h"
#include "source/source.h"

typedef struct Read { /* what came out */
    Hash hash;        /* of all documents, each with a mark behind it */
    Place middle;     /* of the part before the half */
    uint64_t behind;  /* hash of the parts from there on */
    int64_t parts, bad;
} Read;

static void hash_part(Hash *h, const Document *d, bool with_place)
{
    if (d->text) hash_add(h, d->text, (size_t)d->bytes);
    else hash_add(h, d->ids, (size_t)(d->n_ids * d->id_size));
    if (d->target) hash_add(h, d->target, (size_t)d->target_bytes);
    if (d->last) hash_add(h, "|", 1);
    if (with_place) hash_add(h, &d->at.offset, sizeof d->at.offset);
    bug_if(d->at.offset < 0 || (d->first != (d->at.inside == 0)));
}

/* From its beginning, or from a place on: then only `behind`. */
static Read read_file(const Sources *s, int64_t part, const Place *from, int64_t half)
{
    Read x = {0};
    Document d;
    Hash behind;
    Reader *r = open_reader(s, part, NULL, NULL);
    hash_start(&x.hash);
    hash_start(&behind);
    for (reader_file(r, 0, from); next_document(r, &d); x.parts++) {
        bug_if(d.bytes > part || d.n_ids * d.id_size > part);
        if (!from && x.parts == half) x.middle = d.at;
        hash_part(&x.hash, &d, false);
        if (from || x.parts >= half) hash_part(&behind, &d, true);
    }
    x.behind = hash_end(&behind);
    x.bad = reader_counts(r)->bad_records;
    close_reader(r);
    return x;
}

/* Malformed records end at another place where parts of them were handed out before: then only that nothing crashes. */
static void read_twice(const char *path, Source_options o, size_t n)
{
    Words paths = {0};
    add_word(&paths, path);
    o.read_bytes = 4 + (int64_t)(n % 61);
    Sources *s = open_sources(&paths, &o);
    int64_t small = 16 + (int64_t)(n % 50);
    Read large = read_file(s, 1 << 13, NULL, 0), parts = read_file(s, small, NULL, 0);
    if (!large.bad && !parts.bad) bug_if(hash_end(&large.hash) != hash_end(&parts.hash));
    if (parts.parts) {
        Read again = read_file(s, small, NULL, parts.parts / 2), rest = read_file(s, small, &again.middle, 0);
        bug_if(rest.behind != again.behind);
    }
    close_sources(s);
}

#endif
