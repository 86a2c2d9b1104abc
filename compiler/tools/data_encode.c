/* data_encode.c: `lathe tokenize encode`: documents to token shards, or to lines of JSON, in memory that depends
 * on no file. */
#include "model/origin.h"
#include "tools/data_command.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PART = 1 << 20, MOST = INT32_MAX }; /* bytes of a document at a time; ids that a shard's head can count */

/* ------------------------------------------------------------------ out */

typedef struct Encoding {
    const Tokenizer *t;
    const char *path;     /* --out; NULL: standard output */
    char *name, *aside;   /* of the file under way: in the end, until then */
    int64_t shard_tokens; /* 0: one shard */
    int shards;
    Shard_out *shard; /* or JSON lines */
    FILE *json;
    int32_t before, after; /* ids around each document; -1: none */
    int64_t n, all;        /* ids of the file, or line; of all files */
    Fault fault;
} Encoding;

/* tokens.bin, or tokens-000000.bin and so on. */
static char *shard_name(const Encoding *e)
{
    const char *dot = strrchr(e->path, '.'), *slash = strrchr(e->path, '/');
    int stem = dot && (!slash || dot > slash) ? (int)(dot - e->path) : (int)strlen(e->path);
    return e->shard_tokens ? text_of("%.*s-%06d%s", stem, e->path, e->shards, e->path + stem) : text_of("%s", e->path);
}

static void open_file(Encoding *e, bool json)
{
    e->n = 0;
    e->name = e->path ? shard_name(e) : NULL;
    e->aside = e->name ? text_of("%s.part", e->name) : NULL;
    e->shards++;
    if (!json) e->shard = open_shard_out(e->aside, shard_id_size(e->t), &e->fault);
    else e->json = e->aside ? fopen(e->aside, "w") : stdout;
    if (json && !e->json) fail(EXIT_DATA, e->aside, "cannot be written: %s", error_text(errno));
    if (e->aside) begin_unfinished(e->aside);
}

static void close_file(Encoding *e)
{
    if (e->shard) close_shard_out(e->shard);
    if (e->json && e->path && (fflush(e->json) != 0 || ferror(e->json) | (fclose(e->json) != 0)))
        set_fault(&e->fault, e->aside, "written");
    if (e->path) replace_file(e->aside, e->name, &e->fault);
    if (e->fault.path) refuse_fault(&e->fault);
    end_unfinished();
    free(e->aside);
    free(e->name);
    e->aside = e->name = NULL;
    e->shard = NULL;
}

static void put_all(Encoding *e, const int32_t *id, int64_t n)
{
    if (e->shard) put_ids(e->shard, id, n);
    for (int64_t i = 0; e->json && i < n; i++) fprintf(e->json, "%s%d", e->n + i ? ", " : "", (int)id[i]);
    e->n += n;
    e->all += n;
    if (e->fault.path) refuse_fault(&e->fault);
}

/* A shard ends with the document in which it becomes full. */
static void take_part(void *encoding, const int32_t *id, int64_t n, bool first, bool last)
{
    Encoding *e = encoding;
    if (e->shard && e->shard_tokens && (e->n > MOST - n - 2 || (first && e->n >= e->shard_tokens))) {
        close_file(e);
        open_file(e, false);
    }
    if (first && e->json) fputc('[', e->json), e->n = 0;
    if (first && e->before >= 0) put_all(e, &e->before, 1);
    put_all(e, id, n);
    if (last && e->after >= 0) put_all(e, &e->after, 1);
    if (last && e->json) fputs("]\n", e->json);
}

/* ------------------------------------------------------------------ in */

static int64_t cut_given_text(void *encoder, const char *text, int64_t n) { return safe_cut(encoder, text, n); }

static void encode_document(Bulk *b, const Sources *s, const Document *d)
{
    const char *path = s->file[d->at.file].path;
    if (d->target)
        fail(EXIT_DATA, source_place(s, &d->at),
             "has a source and a target, and a shard has one text a document: choose a field with --text NAME");
    bulk_text(b, path, d->text, d->bytes, d->first, d->last);
}

/* Bytes of text. */
static int64_t encode_files(Encoding *e, const Words *inputs, const Source_options *o)
{
    Document d;
    Sources *s = open_sources(inputs, o);
    Encoder *cutter = open_encoder(e->t);
    Reader *r = open_reader(s, PART, cut_given_text, cutter);
    Bulk *b = open_bulk(e->t, take_part, e);
    for (int i = 0; i < s->n; i++) {
        need_text(&s->file[i]);
        for (reader_file(r, i, NULL); next_document(r, &d);) encode_document(b, s, &d);
    }
    close_bulk(b);
    int64_t bytes = reader_counts(r)->bytes;
    if (reader_counts(r)->bad_records)
        note("%s malformed records skipped; the first: %s", grouped_text(reader_counts(r)->bad_records),
             reader_counts(r)->first_bad);
    close_reader(r);
    close_encoder(cutter);
    close_sources(s);
    return bytes;
}

/* ------------------------------------------------------------------ the command */

static int32_t id_named(const Tokenizer *t, const char *option, const char *name)
{
    int32_t id = name ? special_id(t, name) : -1;
    if (name && id < 0) id = token_of_text(t, name);
    if (name && id < 0) fail(EXIT_USAGE, NULL, "%s %s: %s has no such token", option, name, tokenizer_path(t));
    return id;
}

static void encode_all(Encoding *e, const Words *inputs, const Source_options *o, bool json)
{
    double begin = seconds_now();
    open_file(e, json);
    int64_t bytes = encode_files(e, inputs, o);
    close_file(e);
    double seconds = seconds_now() - begin;
    show(stderr, "%s tokens of %s (%.2f bytes a token), %.1f MB/s", grouped_text(e->all), bytes_text(bytes),
         e->all ? (double)bytes / (double)e->all : 0.0, seconds > 0 ? 1e-6 * (double)bytes / seconds : 0.0);
    if (e->shard_tokens) show(stderr, ", %d shards", e->shards);
    fputc('\n', stderr);
}

int encode_command(int argc, char **argv)
{
    Words inputs = {0};
    Source_words words = {0};
    const char *path = NULL, *before = NULL, *after = NULL;
    bool json = false;
    Encoding e = {0};
    const Flag flags[] = {
        {"--tokenizer", FLAG_TEXT, &path, "FILE|DIR",
         "tokenizer.json, vocab.json, encoder.json, vocab.txt, *.tiktoken, *.gguf, or the folder of one"},
        {"--out", FLAG_TEXT, &e.path, "FILE",
         "a token shard as llm.c has them (16 bits an id, 32 beyond 65,536 tokens)"},
        {"--shard-tokens", FLAG_COUNT, &e.shard_tokens, "N",
         "several: FILE-000000 and so on, a new one after the document in which one reaches N tokens"},
        {"--json", FLAG_ON, &json, "", "a list of ids a document, a line each, to --out or standard output"},
        {"--separator", FLAG_TEXT, &before, "TOKEN", "a token before each document, such as '<|endoftext|>'"},
        {"--eos", FLAG_TEXT, &after, "TOKEN", "a token after each document"},
        SOURCE_FLAGS(words, "keep"),
    };
    const Command_line c = {"tokenize encode", "--tokenizer FILE|DIR --out FILE INPUT…",
                            "Token ids of documents: of files, globs, folders, or - for standard input; also packed.",
                            flags, sizeof flags / sizeof *flags};
    take_command_line(&c, argc, argv, 2, &inputs);
    Tokenizer *t = tokenizer_named(need_flag(&c, "--tokenizer FILE|DIR", path));
    if (!json) need_flag(&c, "--out FILE (or --json)", e.path);
    if (json && e.shard_tokens) fail(EXIT_USAGE, NULL, "--shard-tokens is for shards, and --json makes lines");
    need_inputs(&c, &inputs);
    e.t = t;
    e.before = id_named(t, "--separator", before);
    e.after = id_named(t, "--eos", after);
    const Source_options o = source_options(&words, UTF8_KEEP, 0);
    encode_all(&e, &inputs, &o, json);
    return 0;
}
