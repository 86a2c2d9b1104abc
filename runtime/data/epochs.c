/* epochs.c: batches made of the documents of files: which sources, which tokens surround documents, which documents are
 * held back for evaluation.  data/place.c has the place where a resumed run continues.
 *
 * Windows are drawn from anywhere in plain text files (data/text.c); all other data is documents in epochs: folders,
 * compressed files, JSON lines, tables, shards, pipes, or any file with order=epochs.  The hash of a document decides
 * whether it is held back, so the choice does not change when files are added; the first eval_tokens of those are read
 * at the start and kept.  The data of a run is identified by the names, sizes and first 4 KB of its files. */
#include "base/hash.h"
#include "base/utf8.h"
#include "base/words.h"
#include "data/chats.h"
#include "data/data.h"
#include "data/reading.h"
#include "data/stream.h"
#include "interface/lathe_model.h"
#include "math/random.h"
#include "model/origin.h"
#include "model/tables.h"
#include "source/source.h"
#include "step/carry.h"
#include "step/growth.h"
#include "token/tokenizer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SOURCE_SITE = 0x7fff0007 };

/* ------------------------------------------------------------------ which order */

/* Windows drawn from anywhere need a text in which every token can be found: plain files.  Empty and missing files are
 * reported where they are opened, unless the path can only be a pattern. */
static bool is_plain_file(const Reading *reading, const char *path)
{
    struct stat about;
    if (stat(path, &about) != 0) return strcspn(path, "*?[") == strlen(path) && strcmp(path, "-") != 0;
    if (!S_ISREG(about.st_mode)) return false;
    if (about.st_size == 0) return true;
    Words one = {0};
    add_word(&one, path);
    Sources *s = open_sources(&one, &(Source_options){.raw_id_size = (int)reading->recipe->raw_id_size});
    bool plain = s->n == 1 && s->file[0].format == FORMAT_TEXT && s->file[0].packed == NOT_PACKED;
    close_sources(s);
    free(one.at);
    return plain;
}

Source_options source_settings(const Lathe_recipe *r, bool bytes)
{
    static const Split_text splits[] = {[LATHE_FILES] = SPLIT_FILE,
                                        [LATHE_PARAGRAPHS] = SPLIT_BLANK,
                                        [LATHE_LINES] = SPLIT_LINE,
                                        [LATHE_WHOLE] = SPLIT_WHOLE};
    static const Targets targets[] = {[LATHE_TARGETS_JOINED] = TARGETS_JOIN,
                                      [LATHE_FIRST_TARGET] = TARGETS_FIRST,
                                      [LATHE_EACH_TARGET] = TARGETS_EACH};
    Bad_utf8 bad = r->bad_utf8 == LATHE_STOP_AT_BAD ? UTF8_STOP : UTF8_REPLACE;
    return (Source_options){.split = splits[r->documents],
                            .text = r->text_field,
                            .target = r->target_field,
                            .targets = targets[r->targets],
                            .bad_records = r->bad_records,
                            .bad_utf8 = bytes ? UTF8_KEEP : bad};
}

static Sources *find_files(const Reading *reading, const Words *paths, bool bytes)
{
    const Lathe_recipe *r = reading->recipe;
    Source_options o = source_settings(r, bytes);
    o.both = true;
    o.raw_id_size = (int)r->raw_id_size;
    o.ids_below = reading->model->vocab;
    return open_sources(paths, &o);
}

/* Checks the first bytes; later bytes that are not UTF-8 are counted when they are read. */
static void check_texts(const Sources *s, bool bytes)
{
    for (int i = 0; i < s->n; i++) {
        const Source_file *f = &s->file[i];
        const char *head;
        if (f->bytes < 0 || f->format == FORMAT_SHARD || f->format == FORMAT_NPY) continue;
        Input *in = open_input(f->path, -1);
        int64_t n = peek_input(in, &head, PEEK);
        check_is_text(f->path, (const unsigned char *)head, n, bytes, false);
        close_input(in);
    }
}

Sources *shards_alone(const Reading *reading)
{
    Sources *s = find_files(reading, &reading->paths, false);
    bool all = true;
    for (int i = 0; i < s->n; i++)
        all &= s->file[i].format == FORMAT_SHARD && s->file[i].packed == NOT_PACKED && s->file[i].bytes >= 0;
    if (all) return s;
    close_sources(s);
    return NULL;
}

/* Notes settings about documents, which windows of plain text do not have. */
static void note_unused(const Reading *reading)
{
    static const char *const names[] = {"documents", "shuffle_tokens", "stride", "bos", "eos", "bad_utf8"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names_setting(reading, names[i]))
            note("%s is not used: windows are drawn from plain text files; --order epochs reads them as documents",
                 names[i]);
}

bool wants_epochs(const Reading *reading)
{
    int64_t weight[LATHE_SOURCES];
    bool plain = true, mixed = lathe_mix(reading->recipe->mix, weight) != 0;
    bool contiguous = reading->recipe->order == LATHE_CONTIGUOUS,
         windows = contiguous || reading->recipe->order == LATHE_WINDOWS;
    const char *order = contiguous ? "contiguous" : "windows";
    if (mixed && windows)
        fail(EXIT_USAGE, NULL, "mix needs epochs of documents, which order=%s does not have; leave one out", order);
    if (reading->recipe->order == LATHE_EPOCHS || mixed || reading->model->recipe.pairs) return true;
    for (int i = 0; i < reading->paths.n && plain; i++) plain = is_plain_file(reading, reading->paths.at[i]);
    if (plain) note_unused(reading);
    if (plain || !windows) return !plain;
    Sources *s = shards_alone(reading);
    if (!s)
        fail(EXIT_USAGE, reading->paths.at[0],
             "order=%s reads only plain text files, or token shards that are not compressed; "
             "%s",
             order,
             model_carries(reading->model) ? "this model carries states, and needs that order"
                                           : "leave it out, or give --order epochs");
    close_sources(s);
    return false;
}

/* ------------------------------------------------------------------ opening */

static void check_mix(const Reading *reading, int weights)
{
    const char *mix = reading->recipe->mix;
    if (weights < 0)
        fail(EXIT_USAGE, NULL,
             "mix=%s: expected weights, one for each path of --data, such as 7,3: at most %d, each from 0.000001 to "
             "1000000",
             mix, LATHE_SOURCES);
    if (weights > 0 && weights != reading->paths.n)
        fail(EXIT_USAGE, NULL,
             "mix=%s has %d weight%s, --data %d path%s: expected a weight for each (a folder is one path, and so is a "
             "pattern in quotes); change one of them, or give --mix none",
             mix, weights, weights == 1 ? "" : "s", reading->paths.n, reading->paths.n == 1 ? "" : "s");
}

static void check_no_pipe(const Epoch_source *s)
{
    for (int i = 0; i < s->files->n; i++)
        if (s->files->file[i].bytes < 0)
            fail(EXIT_USAGE, s->files->file[i].path,
                 "a source of a mixture must not end, as standard input and pipes do: the others would continue "
                 "without its share; write the data into a file");
}

/* Without weights all paths are one source. */
static void find_sources(Epochs *e, bool bytes)
{
    const Reading *reading = e->reading;
    int64_t weight[LATHE_SOURCES];
    int n = lathe_mix(reading->recipe->mix, weight);
    check_mix(reading, n);
    e->n = n ? n : 1;
    e->source = must_alloc(sizeof *e->source * (size_t)e->n);
    for (int i = 0; i < e->n; i++) {
        const Words path = {reading->paths.at + i, 1};
        e->source[i] = (Epoch_source){.path = reading->paths.at[i],
                                      .weight = n ? weight[i] : 1,
                                      .files = find_files(reading, n ? &path : &reading->paths, bytes)};
        e->weights += e->source[i].weight;
        check_texts(e->source[i].files, bytes);
        if (e->n > 1) check_no_pipe(&e->source[i]);
    }
}

/* In token shards, an end token ends a document. */
static void separate_shards(Epochs *e)
{
    int32_t by = e->order.bos >= 0 ? e->order.bos : e->order.eos;
    if (by < 0) return;
    for (int i = 0; i < e->n; i++) {
        e->source[i].files->options.separated = true;
        e->source[i].files->options.separator = by;
    }
}

/* An unknown form ends the program only if there is a chat. */
static void settle_chats(Epochs *e)
{
    const Reading *r = e->reading;
    char *why = NULL;
    Chat_form *form = must_alloc(sizeof *form);
    find_chat_form(r->recipe, origin_read(r, e->tokenizer), e->tokenizer, form, &why);
    for (int i = 0; i < e->n; i++) {
        e->source[i].files->options.chat = form;
        e->source[i].files->options.unknown_chat = why;
    }
}

/* Tokens of the first block: 30 ms of encoding, and at least 64 rows. */
int64_t first_block_tokens(const Order *o)
{
    enum { FIRST = 1 << 16 };
    int64_t row = o->seq + o->source_seq;
    return FIRST > 64 * row ? FIRST : 64 * row;
}

static bool reads_pipe(const Epochs *e)
{
    const Sources *s = e->source[0].files;
    for (int i = 0; i < s->n; i++)
        if (s->file[i].bytes < 0) return true;
    return false;
}

/* Keeps the first rows of the documents that are held back: always the same rows. */
static void hold_rows(Epochs *e, Epoch_source *of)
{
    Row_stream *s = open_stream(of->files, e->tokenizer, &of->held_order, e->readers, NULL);
    bool any = take_block(s, &of->held);
    int code;
    const char *failure = stream_failure(s, &code);
    if (failure) end_program(code, failure);
    if (!any) of->held.rows = 0;
    e->held_rows += of->held.rows;
    close_stream(s);
}

static void learn_source(Learner *l, const Sources *from)
{
    Reader *r = open_reader(from, PART_BYTES, NULL, NULL);
    Document d;
    for (int i = 0; i < from->n; i++) {
        if (from->file[i].bytes < 0)
            fail(EXIT_USAGE, from->file[i].path,
                 "its characters are not known before it is read, and it can be read only once; give --tokenizer FILE, "
                 "which `lathe tokenize train` makes");
        reader_file(r, i, NULL);
        while (next_document(r, &d)) {
            if (d.text) learn_from(l, d.text, d.bytes);
            if (d.target) learn_from(l, d.target, d.target_bytes);
        }
    }
    close_reader(r);
}

/* Characters are numbered when all text has been seen. */
static Tokenizer *learn_characters(const Epochs *e)
{
    Learner *l = open_learner(&(Learning){.kind = TOKEN_CHARS});
    for (int i = 0; i < e->n; i++) learn_source(l, e->source[i].files);
    Tokenizer *k = close_learner(l);
    if (tokenizer_size(k) == 0) fail_without_characters();
    return k;
}

/* Divides shuffle_tokens and eval_tokens among the sources by weight.  Two sources with the same files have different
 * seeds. */
static void share_out(Epochs *e, Epoch_source *s, int number)
{
    int64_t seq = e->order.seq;
    s->order = e->order;
    s->order.block_tokens = lathe_share(e->order.block_tokens, s->weight, e->weights, seq);
    s->order.first_tokens = lathe_share(e->order.first_tokens, s->weight, e->weights, seq);
    if (number) s->order.seed = (int32_t)uniform_below(e->order.seed, number, SOURCE_SITE, 0, INT32_MAX);
    s->held_order = s->order;
    s->held_order.validation = s->held_order.once = true;
    s->held_order.shuffle = false;
    s->held_order.first_tokens = 0; /* it has only one block */
    s->held_order.block_tokens = lathe_share(e->eval_tokens, s->weight, e->weights, seq);
}

/* The order of all sources together, but for the tokens of their first blocks. */
static void settle_order(Epochs *e, const Reading *reading)
{
    const Lathe_recipe *r = reading->recipe;
    e->eval_tokens = r->eval_tokens ? r->eval_tokens : LATHE_EVAL_TOKENS;
    e->order = (Order){.seq = reading->model->seq,
                       .stride = r->stride ? r->stride : reading->model->seq,
                       .block_tokens = r->shuffle_tokens ? r->shuffle_tokens : LATHE_SHUFFLE_TOKENS,
                       .pack = r->pack,
                       .shuffle = true,
                       .val_fraction = r->val_fraction,
                       .seed = reading->seed,
                       .ids = reading->model->vocab};
    if (e->order.stride > e->order.seq)
        fail(EXIT_USAGE, NULL,
             "--set stride=%lld is longer than a sequence of %lld: tokens between sequences would be left out",
             (long long)e->order.stride, (long long)e->order.seq);
    settle_pairs(&e->order, reading);
    settle_specials(&e->order, reading, e->tokenizer);
}

/* The data of a pipe is read once, and nothing of it is held back. */
static void read_once(Epochs *e, int gpus)
{
    if (gpus > 1)
        fail(EXIT_USAGE, NULL,
             "standard input and pipes can be read only once, and each of the %d ranks reads all data; give a file",
             gpus);
    e->order.once = e->source->order.once = true;
    e->order.val_fraction = e->source->order.val_fraction = 0;
}

Epochs *open_epochs(const Reading *reading, Tokenizer *k)
{
    Epochs *e = must_alloc(sizeof *e);
    *e = (Epochs){.reading = reading, .readers = reading->readers ? (int)reading->readers : 1};
    find_sources(e, tokenizer_kind(k) == TOKEN_BYTES);
    if (tokenizer_kind(k) == TOKEN_BYTES) limit_bytes(k, reading->model->vocab);
    if (tokenizer_kind(k) == TOKEN_CHARS && tokenizer_size(k) == 0) k = learn_characters(e);
    if (tokenizer_kind(k) != TOKEN_BYTES) check_tokenizer_size(reading, k);
    e->tokenizer = k;
    settle_order(e, reading);
    separate_shards(e);
    settle_chats(e);
    e->order.first_tokens = first_block_tokens(&e->order);
    for (int i = 0; i < e->n; i++) share_out(e, &e->source[i], i);
    if (reading->check_memory) reading->check_memory(reading->with, epochs_bytes(e), true);
    if (reads_pipe(e)) read_once(e, reading->gpus);
    else if (e->order.val_fraction > 0)
        for (int i = 0; i < e->n; i++) hold_rows(e, &e->source[i]);
    return e;
}

/* ------------------------------------------------------------------ how many, and which */

static void refuse_once(const Epochs *e, const char *option)
{
    if (e->order.once)
        fail(EXIT_USAGE, NULL, "--%s: standard input and pipes can be read only once; give --steps", option);
}

static int64_t rows_of_source(const Epochs *e, const Epoch_source *of)
{
    Order o = of->order;
    int code;
    o.once = true;
    Row_stream *s = open_stream(of->files, e->tokenizer, &o, e->readers, NULL);
    while (skip_rows(s, 1)) continue;
    int64_t rows = stream_at(s).taken;
    const char *failure = stream_failure(s, &code);
    if (failure) end_program(code, failure);
    close_stream(s);
    return rows;
}

int64_t rows_of_an_epoch(const Epochs *e)
{
    int64_t rows = 0;
    refuse_once(e, "epochs");
    for (int i = 0; i < e->n; i++) rows += rows_of_source(e, &e->source[i]);
    return rows;
}

int64_t rows_for_targets(const Epochs *e, int64_t targets)
{
    int source, code, left = e->n;
    Stream_sum sum;
    if (!e->order.pack && !e->order.pairs && !e->order.targets_only) return (targets + e->order.seq - 1) / e->order.seq;
    refuse_once(e, "tokens");
    Mixture *m = open_rows_of(e, NULL);
    while (mixture_predicted(m) < targets && left > 0 && skip_mixture(m, 1))
        while (mixture_epoch(m, &source, &sum)) left -= sum.epoch == 0;
    int64_t rows = mixture_taken(m), predicted = mixture_predicted(m);
    const char *failure = mixture_failure(m, &code);
    if (failure) end_program(code, failure);
    close_mixture(m);
    if (predicted >= targets || predicted == 0) return rows;
    return (int64_t)ceil((double)rows * ((double)targets / (double)predicted));
}

int64_t targets_taken(const Epochs *e) { return e->rows ? mixture_predicted(e->rows) : 0; }
double source_share(const Epochs *e, int source) { return (double)e->source[source].weight / (double)e->weights; }

/* ------------------------------------------------------------------ rows into inputs */

static int32_t *input_of(const Lathe_entry *e, char *in, Lathe_role role)
{
    const Lathe_tensor *t = tensor_with_role(e, role);
    return t ? (int32_t *)(in + t->offset) : NULL;
}

static Rows rows_of(const Lathe_entry *e, char *in)
{
    return (Rows){.n = e->rows,
                  .tokens = input_of(e, in, LATHE_TOKENS),
                  .targets = input_of(e, in, LATHE_TARGETS),
                  .segments = input_of(e, in, LATHE_SEGMENTS),
                  .positions = input_of(e, in, LATHE_POSITIONS),
                  .source = input_of(e, in, LATHE_SOURCE),
                  .source_lengths = input_of(e, in, LATHE_SOURCE_LENGTHS),
                  .lengths = input_of(e, in, LATHE_LENGTHS)};
}

int64_t rows_taken_before(const Epochs *e, int64_t step)
{
    return e->reading->gpus * rows_before(e->reading->model, step);
}

/* Fills in the rows of a step; earlier rows that were not used are skipped (replay).  False: the data has ended, or
 * reading failed. */
bool fill_epochs(Epochs *e, const Lathe_entry *entry, char *in, int64_t step)
{
    Rows to = rows_of(entry, in);
    int64_t n = e->reading->gpus * to.n, ahead = rows_taken_before(e, step) + e->more - mixture_taken(e->rows);
    if (ahead > 0 && !skip_mixture(e->rows, ahead)) return false;
    return mixture_rows(e->rows, &to, n, *e->reading->rank * to.n);
}

/* The source of the k-th row of all held-back rows; sets *k to the row's number in that source. */
static const Epoch_source *holder(const Epochs *e, int64_t *k)
{
    const Epoch_source *s = e->source;
    for (; *k >= s->held.rows; s++) *k -= s->held.rows;
    return s;
}

void fill_held(const Epochs *e, const Lathe_entry *entry, char *in, const int64_t *item)
{
    Rows to = rows_of(entry, in);
    for (int64_t r = 0; r < to.n; r++) {
        int64_t k = item[r];
        const Epoch_source *s = holder(e, &k);
        read_row(&s->held, &s->held_order, k, &to, r);
    }
}

/* ------------------------------------------------------------------ what it is */

uint64_t epochs_hash(const Epochs *e)
{
    uint64_t all[LATHE_SOURCES];
    for (int i = 0; i < e->n; i++) all[i] = sources_hash(e->source[i].files);
    return e->n == 1 ? all[0] : hash_of(all, sizeof *all * (size_t)e->n);
}

int64_t held_bytes(const Epochs *e)
{
    int64_t bytes = 0;
    for (int i = 0; i < e->n && e->order.val_fraction > 0; i++) bytes += block_bytes(&e->source[i].held_order);
    return bytes;
}

int64_t epochs_bytes(const Epochs *e)
{
    int64_t bytes = held_bytes(e);
    for (int i = 0; i < e->n; i++) bytes += stream_bytes(&e->source[i].order, e->tokenizer, e->readers);
    return bytes;
}

char *files_text(const Epoch_source *s)
{
    int64_t bytes = 0, ids = 0;
    int n = s->files->n, shards = 0;
    for (int i = 0; i < n; i++) {
        const Source_file *f = &s->files->file[i];
        bytes += f->bytes > 0 ? f->bytes : 0;
        if (f->format == FORMAT_SHARD && f->ids >= 0) shards++, ids += f->ids;
    }
    char *size = text_of("%s file%s, %s", grouped_text(n), n == 1 ? "" : "s", bytes_text(bytes));
    return shards == n ? text_of("%s, %s tokens", size, grouped_text(ids)) : size;
}
