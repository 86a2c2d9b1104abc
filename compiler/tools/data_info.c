/* data_info.c: `lathe data info`: prints what files of training data contain: documents, their lengths, and what
 * cutting them into sequences would make of them. */
#include "data/data.h"
#include "model/origin.h"
#include "tools/data_command.h"

#include <stdlib.h>
#include <string.h>

enum { PART = 1 << 20, PIECES = 1 << 16 }; /* PIECES: packed with each other */

/* ------------------------------------------------------------------ what is wanted */

static struct {
    const char *tokenizer, *raw, *separator, *buckets;
    Source_words from;
    int64_t seq, stride;
    bool drop_short, json;
    Pairs_asked pairs; /* source_seq 0: not asked */
    Source_options source;
    Words paths;
} wanted;

static const Flag flags[] = {
    {"--tokenizer", FLAG_TEXT, &wanted.tokenizer, "FILE|DIR",
     "count its tokens; bytes, words (between blanks): count those (bytes)"},
    {"--seq", FLAG_COUNT, &wanted.seq, "N", "say what cutting documents into sequences of N does"},
    {"--stride", FLAG_COUNT, &wanted.stride, "N", "from the start of one to that of the next (the whole sequence)"},
    {"--drop-short", FLAG_ON, &wanted.drop_short, "", "sequences that are not full are left out"},
    {"--source-seq", FLAG_COUNT, &wanted.pairs.source_seq, "N",
     "of pairs: say what training does, sources of N and targets of --seq, with --batch"},
    {"--batch", FLAG_COUNT, &wanted.pairs.batch, "N", "rows of the model's batch"},
    {"--buckets", FLAG_TEXT, &wanted.buckets, "N", "batches among which pairs are sorted by length (100); 0: none"},
    {"--skip-long", FLAG_ON, &wanted.pairs.skip_long, "", "pairs that do not fit are left out (they are cut)"},
    {"--shuffle-tokens", FLAG_COUNT, &wanted.pairs.shuffle_tokens, "N", "as in training (4194304)"},
    {"--seed", FLAG_COUNT, &wanted.pairs.seed, "N", "of the order (1)"},
    SOURCE_FLAGS(wanted.from, "replace"),
    {"--raw", FLAG_TEXT, &wanted.raw, "u16|u32", "files .bin without a header are such ids"},
    {"--separator", FLAG_TEXT, &wanted.separator, "ID", "documents of token shards begin with it (a shard is one)"},
    {"--json", FLAG_ON, &wanted.json, "", "the result as JSON"},
};

static const Command_line line = {
    "data info", "FILE… [options]",
    "Says how many documents and tokens are in files, globs, folders or standard input (-), and how long they are.",
    flags, sizeof flags / sizeof *flags};

static void take_pairs(void)
{
    Pairs_asked *p = &wanted.pairs;
    p->seq = wanted.seq;
    p->buckets = whole_number("--buckets", wanted.buckets, 1 << 20, LATHE_BUCKETS);
    if (!p->seed) p->seed = 1;
    if (p->source_seq && !(p->seq && p->batch))
        fail(EXIT_USAGE, NULL, "--source-seq %lld: expected --seq and --batch, too, those of the model",
             (long long)p->source_seq);
    if (p->source_seq && wanted.tokenizer && strcmp(wanted.tokenizer, "words") == 0)
        fail(EXIT_USAGE, NULL,
             "--source-seq counts what a model reads, and no model reads words; give --tokenizer FILE");
}

static void take_options(int argc, char **argv)
{
    static const char *const raw[] = {"u16", "u32"};
    take_command_line(&line, argc, argv, 2, &wanted.paths);
    wanted.source = source_options(&wanted.from, UTF8_REPLACE, INT64_MAX);
    if (wanted.raw) wanted.source.raw_id_size = choice_of("--raw", wanted.raw, raw, 2) ? 4 : 2;
    wanted.source.separated = wanted.separator != NULL;
    wanted.source.separator = (int32_t)whole_number("--separator", wanted.separator, INT32_MAX, 0);
    if (!wanted.stride) wanted.stride = wanted.seq;
    take_pairs();
    if (wanted.stride > wanted.seq)
        fail(EXIT_USAGE, NULL, "--stride %lld: expected at most --seq, which is %lld", (long long)wanted.stride,
             (long long)wanted.seq);
    if (wanted.paths.n == 0) fail(EXIT_USAGE, NULL, "data info needs files to read: lathe data info %s", line.usage);
}

/* ------------------------------------------------------------------ counting */

typedef struct Unit { /* what lengths count */
    const char *name;
    Tokenizer *tokenizer; /* NULL: bytes or words */
    Encoder *encoder;
    bool words;
    int32_t unknown; /* id; -1: there is none */
    Ids ids;
} Unit;

static Unit open_unit(void)
{
    const char *name = wanted.tokenizer;
    Unit u = {.name = "bytes", .unknown = -1};
    if (!name || strcmp(name, "bytes") == 0) return u;
    if (strcmp(name, "words") == 0) return u.name = "words", u.words = true, u;
    u.name = "tokens";
    u.tokenizer = tokenizer_named(name);
    u.encoder = open_encoder(u.tokenizer);
    u.unknown = special_id(u.tokenizer, "<unk>");
    if (u.unknown < 0) u.unknown = special_id(u.tokenizer, "[UNK]");
    return u;
}

static int64_t cut_shown_text(void *unit, const char *text, int64_t n)
{
    return safe_cut(((Unit *)unit)->encoder, text, n);
}

/* Words between blanks; *inside: the text before ended in one. */
static int64_t count_words(const char *text, int64_t n, bool *inside)
{
    int64_t words = 0;
    for (int64_t i = 0; i < n; i++) {
        bool blank = text[i] == ' ' || (text[i] >= '\t' && text[i] <= '\r');
        words += !blank && !*inside;
        *inside = !blank;
    }
    return words;
}

static int64_t count_text(Unit *u, const char *text, int64_t n, bool *inside, int64_t *unknown)
{
    if (u->words) return count_words(text, n, inside);
    if (!u->encoder) return n;
    u->ids.n = 0;
    encode_bytes(u->encoder, text, n, &u->ids);
    for (int64_t i = 0; u->unknown >= 0 && i < u->ids.n; i++) *unknown += u->ids.at[i] == u->unknown;
    return u->ids.n;
}

/* ------------------------------------------------------------------ sequences */

typedef struct Forecast { /* of what --seq makes of the documents */
    Chunking how;
    int64_t sequences, full, dropped, places, cut; /* cut: documents in several */
    int64_t rows[PACK_FIRST + 1];                  /* by packing */
    int32_t *piece;                                /* [PIECES] short ones that wait to be packed */
    int64_t pieces;
    Slot *slot;
    void *scratch;
} Forecast;

static void pack_waiting(Forecast *f)
{
    for (int how = PACK_NONE; how <= PACK_FIRST; how++)
        f->rows[how] += pack_pieces((Packing)how, f->piece, f->pieces, f->how.seq, f->slot, f->scratch);
    f->pieces = 0;
}

static void open_forecast(Forecast *f)
{
    *f = (Forecast){.how = {.seq = wanted.seq, .stride = wanted.stride, .ahead = 1, .drop_short = wanted.drop_short}};
    if (!wanted.seq) return;
    f->piece = must_alloc(sizeof *f->piece * PIECES);
    f->slot = must_alloc(sizeof *f->slot * PIECES);
    f->scratch = must_alloc((size_t)pack_scratch(PIECES, wanted.seq));
}

/* A document of n tokens. */
static void add_forecast(Forecast *f, int64_t n)
{
    if (!f->piece) return;
    int64_t chunks = count_chunks(&f->how, n);
    f->sequences += chunks;
    f->dropped += chunks_drop(&f->how, n);
    f->cut += chunks > 1;
    if (chunks == 0) return;
    int64_t last = chunk_at(&f->how, n, chunks - 1).length, full = last == f->how.seq ? chunks : chunks - 1;
    f->full += full;
    f->places += full * f->how.seq;
    for (int how = PACK_NONE; how <= PACK_FIRST; how++) f->rows[how] += full;
    if (full == chunks) return;
    f->places += last;
    f->piece[f->pieces++] = (int32_t)last;
    if (f->pieces == PIECES) pack_waiting(f);
}

static double padding(const Forecast *f, Packing how)
{
    double all = (double)f->rows[how] * (double)f->how.seq;
    return all > 0 ? 1 - (double)f->places / all : 0;
}

/* ------------------------------------------------------------------ reading */

typedef struct Info {
    Sources *files;
    Unit unit;
    Lengths *text, *target; /* target: of pairs */
    Forecast forecast;
    Order order; /* of pairs in training, and what becomes of them: */
    Pair_sum trained;
    int64_t unknown, file_bytes;
    bool inside;    /* of a word */
    int64_t length; /* of the document so far */
    const Counts *counts;
} Info;

static void take_part(Info *x, const Document *d)
{
    if (d->first) x->length = 0, x->inside = false;
    x->length += d->text ? count_text(&x->unit, d->text, d->bytes, &x->inside, &x->unknown) : d->n_ids;
    if (d->target) {
        bool inside = false;
        add_length(x->target, count_text(&x->unit, d->target, d->target_bytes, &inside, &x->unknown));
    }
    if (!d->last) return;
    add_length(x->text, x->length);
    if (!d->target) add_forecast(&x->forecast, x->length);
}

static void read_files(Info *x)
{
    Document d;
    x->files = open_sources(&wanted.paths, &wanted.source);
    Reader *r = open_reader(x->files, PART, x->unit.encoder ? cut_shown_text : NULL, &x->unit);
    for (int i = 0; i < x->files->n; i++) {
        const Source_file *f = &x->files->file[i];
        if (f->format == FORMAT_NPY) fail(EXIT_DATA, f->path, "is a NumPy array, which has no documents; take it out");
        if (f->bytes > 0) x->file_bytes += f->bytes;
        if (x->unit.encoder) encoder_place(x->unit.encoder, f->path);
        for (reader_file(r, i, NULL); next_document(r, &d);) take_part(x, &d);
    }
    if (x->forecast.piece) pack_waiting(&x->forecast);
    x->counts = reader_counts(r);
}

static void train_pairs(Info *x)
{
    if (!wanted.pairs.source_seq) return;
    Tokenizer *t = x->unit.tokenizer ? x->unit.tokenizer : open_tokenizer(TOKEN_BYTES);
    if (!x->unit.tokenizer) limit_bytes(t, 256);
    x->order = pairs_order(&wanted.pairs);
    x->trained = count_pairs(&wanted.paths, wanted.source, t, &x->order);
}

/* What lengths count: shards have tokens in any case. */
static const char *unit_name(const Info *x)
{
    for (int i = 0; i < x->files->n; i++)
        if (x->files->file[i].format == FORMAT_SHARD) return "tokens";
    return x->unit.name;
}

/* ------------------------------------------------------------------ saying it */

enum { BAR = 40 };

/* Every bin is a power of two to the next. */
static void print_histogram(const Lengths *h)
{
    int64_t most = 1;
    for (int64_t from = 0; from <= length_most(h); from = from ? 2 * from : 1) {
        int64_t n = lengths_between(h, from, from ? 2 * from : 1);
        most = n > most ? n : most;
    }
    for (int64_t from = 0; from <= length_most(h); from = from ? 2 * from : 1) {
        int64_t n = lengths_between(h, from, from ? 2 * from : 1);
        char bar[BAR + 1] = "";
        memset(bar, '#', (size_t)((n * BAR + most - 1) / most));
        if (n || from >= length_least(h))
            show(stdout, "  %12s … %-12s %12s  %s\n", grouped_text(from), grouped_text(from ? 2 * from - 1 : 0),
                 grouped_text(n), bar);
    }
}

static double mean_length(const Lengths *h)
{
    return length_count(h) ? (double)length_sum(h) / (double)length_count(h) : 0;
}

static void print_lengths(const char *what, const Lengths *h, const char *unit)
{
    show(stdout, "%-11s %s %s; min %s, mean %.1f, median %s, 95 %% within %s, max %s\n", what,
         grouped_text(length_sum(h)), unit, grouped_text(length_least(h)), mean_length(h),
         grouped_text(length_quantile(h, 0.5)), grouped_text(length_quantile(h, 0.95)), grouped_text(length_most(h)));
    print_histogram(h);
}

static void print_forecast(const Forecast *f)
{
    show(stdout, "sequences   of %s at most, the next token the target, stride %s: %s (%s full), %s documents cut\n",
         grouped_text(f->how.seq), grouped_text(f->how.stride), grouped_text(f->sequences), grouped_text(f->full),
         grouped_text(f->cut));
    if (f->how.drop_short) show(stdout, "  %s tokens dropped with what is not full\n", grouped_text(f->dropped));
    show(stdout, "  a row each: %s rows, %.2f %% padding (programs that do not pack)\n",
         grouped_text(f->rows[PACK_NONE]), 100 * padding(f, PACK_NONE));
    show(stdout, "  packed in order: %s rows, %.2f %% padding (programs that pack as they read)\n",
         grouped_text(f->rows[PACK_NEXT]), 100 * padding(f, PACK_NEXT));
    show(stdout, "  packed, the longest first: %s rows, %.2f %% padding (Lathe's trainer with pack = true)\n",
         grouped_text(f->rows[PACK_FIRST]), 100 * padding(f, PACK_FIRST));
}

static int64_t longer_than(const Lengths *h, int64_t n) { return lengths_between(h, n + 1, INT64_MAX); }

/* Pairs, where it is not said how a model takes them. */
static void print_longer(const Info *x)
{
    double all = (double)length_count(x->target);
    int64_t text = longer_than(x->text, wanted.seq), target = longer_than(x->target, wanted.seq);
    show(stdout, "above %s   sources: %s (%.2f %%), targets: %s (%.2f %%)\n", grouped_text(wanted.seq),
         grouped_text(text), 100 * (double)text / all, grouped_text(target), 100 * (double)target / all);
}

static void print_faults(const Info *x)
{
    const Counts *c = x->counts;
    if (c->empty_files) show(stdout, "empty       %s files with nothing in them\n", grouped_text(c->empty_files));
    if (c->bad_records)
        show(stdout, "malformed   %s records skipped; the first: %s\n", grouped_text(c->bad_records), c->first_bad);
    if (c->replaced) show(stdout, "not UTF-8   %s places, U+FFFD put in\n", grouped_text(c->replaced));
    if (c->zero_bytes) show(stdout, "zero bytes  %s\n", grouped_text(c->zero_bytes));
}

static void print_info(const Info *x)
{
    const char *unit = unit_name(x);
    show(stdout, "files       %s%s%s\n", grouped_text(x->files->n), x->file_bytes ? ", " : "",
         x->file_bytes ? bytes_text(x->file_bytes) : ""); /* a pipe's are not known */
    show(stdout, "documents   %s%s\n", grouped_text(length_count(x->text)), length_count(x->target) ? " pairs" : "");
    print_lengths(length_count(x->target) ? "source" : "text", x->text, unit);
    if (length_count(x->target)) print_lengths("target", x->target, unit);
    int64_t all = length_sum(x->text) + length_sum(x->target);
    if (x->unit.unknown >= 0)
        show(stdout, "unknown     %s (%.3f %%)\n", grouped_text(x->unknown),
             all ? 100.0 * (double)x->unknown / (double)all : 0.0);
    if (x->trained.pairs) show(stdout, "training    %s\n", pairs_text(&x->trained, &x->order));
    else if (wanted.seq && length_count(x->target)) print_longer(x);
    else if (wanted.seq) print_forecast(&x->forecast);
    print_faults(x);
}

/* ------------------------------------------------------------------ … as JSON */

static json_t *lengths_json(const Lengths *h)
{
    json_t *bins = json_array();
    for (int64_t from = 0; from <= length_most(h) && length_count(h); from = from ? 2 * from : 1) {
        int64_t to = from ? 2 * from : 1, n = lengths_between(h, from, to);
        if (n)
            json_array_append_new(bins, json_pack("{s:I,s:I,s:I}", "from", (json_int_t)from, "below", (json_int_t)to,
                                                  "documents", (json_int_t)n));
    }
    return json_pack("{s:I,s:I,s:f,s:I,s:I,s:I,s:o}", "sum", (json_int_t)length_sum(h), "min",
                     (json_int_t)length_least(h), "mean", mean_length(h), "median", (json_int_t)length_quantile(h, 0.5),
                     "p95", (json_int_t)length_quantile(h, 0.95), "max", (json_int_t)length_most(h), "histogram", bins);
}

static json_t *forecast_json(const Forecast *f)
{
    static const char *const names[] = {[PACK_NONE] = "rows", [PACK_NEXT] = "packed_in_order", [PACK_FIRST] = "packed"};
    json_t *all =
        json_pack("{s:I,s:I,s:I,s:I,s:I,s:I,s:I}", "seq", (json_int_t)f->how.seq, "stride", (json_int_t)f->how.stride,
                  "sequences", (json_int_t)f->sequences, "full", (json_int_t)f->full, "cut", (json_int_t)f->cut,
                  "dropped", (json_int_t)f->dropped, "places", (json_int_t)f->places);
    for (int how = PACK_NONE; how <= PACK_FIRST; how++)
        json_object_set_new(
            all, names[how],
            json_pack("{s:I,s:f}", "rows", (json_int_t)f->rows[how], "padding", padding(f, (Packing)how)));
    return all;
}

static json_t *info_json(const Info *x)
{
    const Counts *c = x->counts;
    json_t *all = json_pack("{s:i,s:I,s:I,s:s,s:o}", "files", x->files->n, "file_bytes", (json_int_t)x->file_bytes,
                            "documents", (json_int_t)length_count(x->text), "unit", unit_name(x),
                            length_count(x->target) ? "source" : "text", lengths_json(x->text));
    if (length_count(x->target)) json_object_set_new(all, "target", lengths_json(x->target));
    if (x->unit.unknown >= 0) json_object_set_new(all, "unknown", json_integer(x->unknown));
    if (x->trained.pairs) json_object_set_new(all, "training", pairs_json(&x->trained, &x->order));
    else if (wanted.seq && length_count(x->target))
        json_object_set_new(all, "longer",
                            json_pack("{s:I,s:I,s:I}", "seq", (json_int_t)wanted.seq, "source",
                                      (json_int_t)longer_than(x->text, wanted.seq), "target",
                                      (json_int_t)longer_than(x->target, wanted.seq)));
    else if (wanted.seq) json_object_set_new(all, "forecast", forecast_json(&x->forecast));
    json_object_set_new(all, "empty_files", json_integer(c->empty_files));
    json_object_set_new(all, "bad_records", json_integer(c->bad_records));
    if (c->first_bad) json_object_set_new(all, "first_bad", json_string(c->first_bad));
    json_object_set_new(all, "replaced", json_integer(c->replaced));
    json_object_set_new(all, "zero_bytes", json_integer(c->zero_bytes));
    return all;
}

int data_command(int argc, char **argv)
{
    if (argc < 2 || strcmp(argv[1], "info") != 0)
        fail(EXIT_USAGE, NULL, "expected `lathe data info FILE…`%s%s", argc > 1 ? ", found lathe data " : "",
             argc > 1 ? argv[1] : "");
    take_options(argc, argv);
    if (are_recordings(&wanted.paths)) return tell_recordings(&wanted.paths, wanted.json), 0;
    if (are_pictures(&wanted.paths)) return tell_pictures(&wanted.paths, wanted.json), 0;
    bool documents = wanted.from.text || wanted.from.target || wanted.from.format || wanted.tokenizer || wanted.seq;
    if (!documents && are_arrays_of_rows(&wanted.paths)) return tell_arrays(&wanted.paths, wanted.json), 0;
    if (!documents && are_tables(&wanted.paths)) return tell_tables(&wanted.paths, wanted.json), 0;
    Info x = {.unit = open_unit(), .text = new_lengths(), .target = new_lengths()};
    open_forecast(&x.forecast);
    read_files(&x);
    train_pairs(&x);
    if (wanted.json) print_json(info_json(&x));
    else print_info(&x);
    return 0;
}
