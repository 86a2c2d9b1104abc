/* state.c: the text of state.json: its checksum, the checksums of the files beside it, and reading its members.  The
 * file is not trusted.
 *
 * The last member is the checksum of all text before it, so that a flipped bit anywhere is found. */
#include "base/file.h"
#include "base/hash.h"
#include "base/json_text.h"
#include "base/words.h"
#include "interface/version.h"
#include "step/optim.h"
#include "step/state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { LARGEST_STATE = 1 << 24 }; /* bytes */

json_t *hash_json(uint64_t hash)
{
    char digits[17];
    snprintf(digits, sizeof digits, "%016llx", (unsigned long long)hash);
    return word_json(digits);
}

/* ------------------------------------------------------------------ out */

void add_mark(json_t *state, const char *file, Mark m)
{
    json_t *mark = json_pack("{s:I, s:o}", "bytes", (json_int_t)m.bytes, "xxh64", hash_json(m.hash));
    put_json(json_object_get(state, "files"), file, mark);
}

char *state_last_line(const char *body, size_t bytes)
{
    return text_of(",\n \"xxh64\": \"%016llx\"\n}\n", (unsigned long long)hash_of(body, bytes));
}

char *state_text(const json_t *state)
{
    char *body = json_written(state, JSON_INDENT(1) | JSON_REAL_PRECISION(17));
    size_t bytes = strlen(body) - strlen("\n}");
    char *last = state_last_line(body, bytes), *text = text_of("%.*s%s", (int)bytes, body, last);
    free(body);
    free(last);
    return text;
}

/* ------------------------------------------------------------------ in */

static char *read_text(const char *path, size_t *bytes)
{
    struct stat about;
    FILE *f = open_stream_to_read(path);
    if (!f || fstat(fileno(f), &about) != 0)
        fail(EXIT_DATA, path, "expected the state of a checkpoint, but it cannot be read: %s; check the path",
             error_text(errno));
    if (!S_ISREG(about.st_mode) || about.st_size > LARGEST_STATE)
        fail(EXIT_DATA, path, "expected the state of a checkpoint, a file of at most %d bytes", LARGEST_STATE);
    char *text = must_alloc((size_t)about.st_size + 1);
    *bytes = fread(text, 1, (size_t)about.st_size, f);
    fclose(f);
    return text;
}

static void check_text(const char *path, const char *text, size_t bytes)
{
    char *last = state_last_line("", 0);
    size_t length = strlen(last), body = bytes - length;
    free(last);
    if (bytes < length + 2) fail(EXIT_DATA, path, "is cut off: it has only %zu bytes", bytes);
    last = state_last_line(text, body);
    if (memcmp(text + body, last, length) != 0)
        fail(EXIT_DATA, path, "its text does not have the checksum in its last line: it is cut off or damaged");
    free(last);
}

int64_t whole_member(const State *s, const json_t *from, const char *name, int64_t least)
{
    const json_t *value = json_object_get(from, name);
    if (!json_is_integer(value) || json_integer_value(value) < least)
        fail(EXIT_DATA, s->path, "expected \"%s\" to be a whole number of at least %lld; the file is damaged", name,
             (long long)least);
    return json_integer_value(value);
}

/* A member that older files lack. */
static int64_t later_member(const State *s, const json_t *from, const char *name)
{
    return json_object_get(from, name) ? whole_member(s, from, name, 0) : 0;
}

static double real_member(const json_t *from, const char *name)
{
    const json_t *value = json_object_get(from, name);
    return json_is_number(value) ? json_number_value(value) : 0;
}

static Noise noise_of(const State *s, const json_t *noise)
{
    if (!json_is_object(noise)) return (Noise){0};
    return (Noise){whole_member(s, noise, "steps", 0), real_member(noise, "signal"), real_member(noise, "noise")};
}

void read_state(State *s, const char *checkpoint)
{
    json_error_t error;
    size_t bytes;
    *s = (State){.path = text_of("%s/state.json", checkpoint)};
    char *text = read_text(s->path, &bytes);
    check_text(s->path, text, bytes);
    s->all = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &error);
    free(text);
    if (!json_is_object(s->all))
        fail(EXIT_DATA, s->path, "is not a JSON object (line %d): %s; the file is damaged", error.line, error.text);
    const json_t *evaluation = json_object_get(s->all, "evaluation");
    const int64_t major = whole_member(s, s->all, "format", 1);
    if (major > LATHE_CHECKPOINT_MAJOR)
        fail(EXIT_DATA, s->path,
             "expected format %d of checkpoints or an older one, found %lld; build the trainer with the newer Lathe",
             LATHE_CHECKPOINT_MAJOR, (long long)major);
    s->at = (Progress){
        .step = whole_member(s, s->all, "step", 0),
        .evaluated = whole_member(s, evaluation, "step", -1),
        .best_step = whole_member(s, evaluation, "best_step", -1),
        .best_value = real_member(evaluation, json_object_get(evaluation, "best_value") ? "best_value" : "best_loss"),
        .stale = later_member(s, evaluation, "since_best"),
        .elapsed = real_member(s->all, "elapsed_s")};
    const json_t *epoch = json_object_get(s->all, "epoch");
    if (json_is_object(epoch)) {
        s->at.epoch_steps = whole_member(s, epoch, "steps", 0);
        s->at.epoch_loss = real_member(epoch, "loss");
        s->at.epochs = later_member(s, epoch, "ended");
    }
    const json_t *scale = json_object_get(s->all, "loss_scale");
    if (json_is_object(scale))
        s->at.loss_scale =
            (Loss_scale){(float)whole_member(s, scale, "scale", 0), (int32_t)whole_member(s, scale, "good", 0),
                         whole_member(s, scale, "skipped", 0)};
    s->at.noise = noise_of(s, json_object_get(s->all, "noise_scale"));
}

void close_state(State *s)
{
    free(s->path);
    json_decref(s->all);
    *s = (State){0};
}

static uint64_t hash_of_mapped(const void *at, size_t bytes)
{
    enum { AT_ONCE = 1 << 20 };
    Hash h;
    hash_start(&h);
    for (size_t i = 0; i < bytes; i += AT_ONCE) {
        size_t n = bytes - i < AT_ONCE ? bytes - i : AT_ONCE;
        hash_add(&h, (const char *)at + i, n);
        drop_pages(at, (int64_t)i, (int64_t)(i + n));
    }
    return hash_end(&h);
}

void check_mark(const State *s, const char *file, const char *path, const void *at, size_t bytes)
{
    const json_t *mark = json_object_get(json_object_get(s->all, "files"), file);
    const char *wanted = json_string_value(json_object_get(mark, "xxh64"));
    int64_t size = whole_member(s, mark, "bytes", 0);
    json_t *found = hash_json(hash_of_mapped(at, bytes));
    if (size != (int64_t)bytes)
        fail(EXIT_DATA, path, "expected %lld bytes, as %s says, found %zu; it is cut off or from another checkpoint",
             (long long)size, s->path, bytes);
    if (!wanted || strcmp(wanted, json_string_value(found)) != 0)
        fail(EXIT_DATA, path, "expected the checksum %s, as %s says, found %s; the file is damaged",
             wanted ? wanted : "(none)", s->path, json_string_value(found));
    json_decref(found);
}
