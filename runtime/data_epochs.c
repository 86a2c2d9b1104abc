/* data_epochs.c: documents of files as the batches of a run: which tokens stand around them, what is held back for
 * evaluation, where a resumed run goes on. */
#include "trainer.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ------------------------------------------------------------------ which order */

/* Windows drawn from anywhere need a text of which every token can be found: plain files.  What is empty or not there
 * is left to who opens them, unless it can only be a pattern. */
static bool is_plain(const Trainer *t, const char *path)
{
    struct stat about;
    if (stat(path, &about) != 0) return strcspn(path, "*?[") == strlen(path) && strcmp(path, "-") != 0;
    if (!S_ISREG(about.st_mode)) return false;
    if (about.st_size == 0) return true;
    Words one = {0};
    add_word(&one, path);
    Sources *s = open_sources(&one, &(Source_options){.raw_id_size = (int)t->recipe.raw_id_size});
    bool plain = s->n == 1 && s->file[0].format == FORMAT_TEXT && s->file[0].packed == NOT_PACKED;
    close_sources(s);
    free(one.at);
    return plain;
}

static Sources *run_sources(const Trainer *t, bool bytes)
{
    const Lathe_recipe *r = &t->recipe;
    Source_options o = {.split = (Split_text)r->documents,
                        .text = r->text_field,
                        .bad_records = r->bad_records,
                        .raw_id_size = (int)r->raw_id_size,
                        .ids_below = t->model->vocab};
    o.bad_utf8 = bytes ? UTF8_KEEP : r->bad_utf8 ? UTF8_STOP : UTF8_REPLACE;
    return open_sources(&t->data, &o);
}

Sources *shards_alone(const Trainer *t)
{
    Sources *s = run_sources(t, false);
    bool all = true;
    for (int i = 0; i < s->n; i++)
        all &= s->file[i].format == FORMAT_SHARD && s->file[i].packed == NOT_PACKED && s->file[i].bytes >= 0;
    if (all) return s;
    close_sources(s);
    return NULL;
}

bool wants_epochs(const Trainer *t)
{
    bool plain = true;
    if (t->recipe.order == LATHE_EPOCHS) return true;
    for (int i = 0; i < t->data.n && plain; i++) plain = is_plain(t, t->data.at[i]);
    if (plain || t->recipe.order != LATHE_WINDOWS) return !plain;
    Sources *s = shards_alone(t);
    if (!s)
        fail(EXIT_USAGE, t->data.at[0],
             "order=windows draws from plain text files, or from token shards that are not packed, and not all that is "
             "given are such; leave it out, or give --order epochs");
    close_sources(s);
    return false;
}

/* ------------------------------------------------------------------ opening */

/* The id of a special token by its text, or its number; "none": -1. */
static int32_t token_named(const Trainer *t, const Tokenizer *k, const char *knob, const char *text)
{
    int64_t id;
    if (strcmp(text, "none") == 0) return -1;
    if (isdigit((unsigned char)*text) && parse_count(text, &id) && id < t->model->vocab) return (int32_t)id;
    id = special_id(k, text);
    if (id < 0) id = token_of_text(k, text);
    if (id < 0)
        fail(EXIT_USAGE, NULL, "--set %s=%s: the tokenizer has no such token; give another, its number, or none", knob,
             text);
    return (int32_t)id;
}

/* Lines and paragraphs come without the newline at their end. */
static int32_t usual_end(const Epochs *e)
{
    int32_t id = special_id(e->tokenizer, "<|endoftext|>");
    bool parts = e->t->recipe.documents == LATHE_LINES || e->t->recipe.documents == LATHE_PARAGRAPHS;
    return id < 0 && parts ? token_of_text(e->tokenizer, "\n") : id;
}

static void settle_specials(Epochs *e)
{
    const Lathe_recipe *r = &e->t->recipe;
    e->order.bos = r->bos ? token_named(e->t, e->tokenizer, "bos", r->bos) : -1;
    e->order.eos = r->eos                        ? token_named(e->t, e->tokenizer, "eos", r->eos)
                   : r->documents == LATHE_WHOLE ? -1
                                                 : usual_end(e);
    if (e->order.bos >= e->order.ids || e->order.eos >= e->order.ids)
        fail(EXIT_USAGE, NULL, "the tokens around documents (bos, eos) are beyond the model's vocabulary of %lld",
             (long long)e->order.ids);
}

/* Token shards are documents from one end token to the next. */
static void separate_shards(Epochs *e)
{
    int32_t by = e->order.bos >= 0 ? e->order.bos : e->order.eos;
    if (by < 0) return;
    e->sources->options.separated = true;
    e->sources->options.separator = by;
}

/* Of the first block: 30 ms of encoding, 64 rows at least. */
static int64_t usual_first(const Order *o)
{
    enum { FIRST = 1 << 16 };
    return FIRST > 64 * o->seq ? FIRST : 64 * o->seq;
}

static bool reads_pipe(const Epochs *e)
{
    for (int i = 0; i < e->sources->n; i++)
        if (e->sources->file[i].bytes < 0) return true;
    return false;
}

/* Always the same rows, the first of the documents that are held back. */
static void hold_rows(Epochs *e)
{
    Row_stream *s = open_stream(e->sources, e->tokenizer, &e->held_order, e->readers, NULL);
    bool any = take_block(s, &e->held);
    int code;
    const char *failure = stream_failure(s, &code);
    if (failure) end_program(code, failure);
    if (!any) e->held.rows = 0;
    close_stream(s);
}

/* Characters are numbered when all text has been seen. */
static Tokenizer *learn_characters(const Sources *from)
{
    Learner *l = open_learner(&(Learning){.kind = TOKEN_CHARS});
    Reader *r = open_reader(from, PART_BYTES, NULL, NULL);
    Document d;
    for (int i = 0; i < from->n; i++) {
        if (from->file[i].bytes < 0)
            fail(EXIT_USAGE, from->file[i].path,
                 "its characters are not known before it is read, and it can be read once; give --tokenizer FILE, as "
                 "`lathe tokenize train` makes it");
        reader_file(r, i, NULL);
        while (next_document(r, &d))
            if (d.text) learn_from(l, d.text, d.bytes);
    }
    close_reader(r);
    return close_learner(l);
}

Epochs *open_epochs(const Trainer *t, Tokenizer *k)
{
    const Lathe_recipe *r = &t->recipe;
    Sources *from = run_sources(t, tokenizer_kind(k) == TOKEN_BYTES);
    Epochs *e = must_alloc(sizeof *e);
    if (tokenizer_kind(k) == TOKEN_BYTES) limit_bytes(k, t->model->vocab);
    if (tokenizer_kind(k) == TOKEN_CHARS && tokenizer_size(k) == 0) k = learn_characters(from);
    if (tokenizer_kind(k) != TOKEN_BYTES) check_tokenizer_size(t, k);
    *e = (Epochs){.t = t, .sources = from, .tokenizer = k, .readers = t->readers ? (int)t->readers : 1};
    e->order = (Order){.seq = t->model->seq,
                       .stride = r->stride ? r->stride : t->model->seq,
                       .block_tokens = r->shuffle_tokens ? r->shuffle_tokens : LATHE_SHUFFLE_TOKENS,
                       .pack = r->pack,
                       .shuffle = true,
                       .val_fraction = r->val_fraction,
                       .seed = t->seed,
                       .ids = t->model->vocab};
    if (e->order.stride > e->order.seq)
        fail(EXIT_USAGE, NULL, "--set stride=%lld is longer than a sequence of %lld: tokens between would be left out",
             (long long)e->order.stride, (long long)e->order.seq);
    settle_specials(e);
    separate_shards(e);
    e->held_order = e->order;
    e->held_order.validation = e->held_order.once = true;
    e->held_order.shuffle = false;
    e->held_order.block_tokens = r->eval_tokens ? r->eval_tokens : LATHE_EVAL_TOKENS;
    e->order.first_tokens = usual_first(&e->order);
    if (strcmp(t->command, "train") == 0) check_data_memory(t, epochs_bytes(e));
    if (reads_pipe(e)) {
        e->order.once = true;
        e->order.val_fraction = 0;
    } else if (e->order.val_fraction > 0) hold_rows(e);
    return e;
}

/* ------------------------------------------------------------------ going on */

static json_t *place_json(const Epochs *e, const Place *p)
{
    if (p->file < 0) return json_null();
    return json_pack("{s:s, s:i, s:I, s:I, s:I, s:I, s:o}", "path", e->sources->file[p->file].path, "file",
                     (int)p->file, "offset", (json_int_t)p->offset, "record", (json_int_t)p->record, "line",
                     (json_int_t)p->line, "inside", (json_int_t)p->inside, "hash", hash_json(p->hash));
}

json_t *epochs_json(const Epochs *e)
{
    Stream_at at = e->stream ? stream_at(e->stream) : (Stream_at){.from.file = -1};
    const Stream_sum *s = &at.before;
    json_t *sum = json_pack("{s:I, s:I, s:I, s:I}", "documents", (json_int_t)s->documents, "tokens",
                            (json_int_t)s->tokens, "rows", (json_int_t)s->rows, "predicted", (json_int_t)s->predicted);
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:o}", "epoch", (json_int_t)at.epoch, "block",
                     (json_int_t)at.block, "used", (json_int_t)at.used, "taken", (json_int_t)at.taken, "predicted",
                     (json_int_t)at.predicted, "first_tokens", (json_int_t)e->order.first_tokens, "from",
                     place_json(e, &at.from), "before", sum);
}

static Place stored_place(const Epochs *e, const State *s, const json_t *from)
{
    Place p = {.file = -1};
    if (!json_is_object(from)) return p;
    const char *path = json_string_value(json_object_get(from, "path"));
    int64_t file = whole_member(s, from, "file", 0);
    if (file >= e->sources->n || !path || strcmp(path, e->sources->file[file].path) != 0)
        fail(EXIT_DATA, s->path,
             "the run stopped in %s, file %lld of the data, which is not that file now; give the same --data, or start "
             "anew from the weights with --init",
             path ? path : "a file", (long long)file + 1);
    p = (Place){.file = (int32_t)file,
                .offset = whole_member(s, from, "offset", 0),
                .record = whole_member(s, from, "record", 0),
                .line = whole_member(s, from, "line", 0),
                .inside = whole_member(s, from, "inside", 0)};
    const char *hash = json_string_value(json_object_get(from, "hash"));
    p.hash = hash ? strtoull(hash, NULL, 16) : 0;
    return p;
}

static Stream_at read_place(const Epochs *e, const State *s)
{
    const json_t *all = json_object_get(json_object_get(s->all, "data"), "stream");
    const json_t *before = json_object_get(all, "before");
    if (!json_is_object(all))
        fail(EXIT_DATA, s->path,
             "the checkpoint does not say where in the documents it was; go on with --set "
             "order=windows as it was trained, or start anew from the weights with --init");
    if (e->order.once)
        fail(EXIT_USAGE, NULL,
             "standard input and pipes are read once, so a run on them cannot be resumed; put the data "
             "into files, or start anew from the weights with --init");
    return (Stream_at){.epoch = whole_member(s, all, "epoch", 0),
                       .block = whole_member(s, all, "block", 0),
                       .used = whole_member(s, all, "used", 0),
                       .taken = whole_member(s, all, "taken", 0),
                       .from = stored_place(e, s, json_object_get(all, "from")),
                       .before = {.documents = whole_member(s, before, "documents", 0),
                                  .tokens = whole_member(s, before, "tokens", 0),
                                  .rows = whole_member(s, before, "rows", 0),
                                  .predicted = whole_member(s, before, "predicted", 0)}};
}

/* A checkpoint of before blocks grew, or targets were counted, has no number there: its blocks are all alike, and its
 * rows count as full. */
static void take_new_members(Epochs *e, const State *s, Stream_at *at)
{
    const json_t *all = json_object_get(json_object_get(s->all, "data"), "stream");
    bool old = !json_object_get(all, "first_tokens");
    e->order.first_tokens = old ? 0 : whole_member(s, all, "first_tokens", 0);
    at->predicted = old ? at->taken * e->order.seq : whole_member(s, all, "predicted", 0);
}

void start_epochs(Epochs *e, const State *from)
{
    Stream_at at;
    if (from) {
        at = read_place(e, from);
        take_new_members(e, from, &at);
    }
    e->stream = open_stream(e->sources, e->tokenizer, &e->order, e->readers, from ? &at : NULL);
}

/* By reading: until so many targets that count, or the epoch's end. */
static Stream_at read_ahead(const Epochs *e, const char *option, int64_t targets)
{
    Order o = e->order;
    int code;
    if (o.once) fail(EXIT_USAGE, NULL, "--%s: standard input and pipes are read once; give --steps", option);
    o.once = true;
    Row_stream *s = open_stream(e->sources, e->tokenizer, &o, e->readers, NULL);
    while (stream_at(s).predicted < targets && skip_rows(s, 1)) continue;
    Stream_at at = stream_at(s);
    const char *failure = stream_failure(s, &code);
    if (failure) end_program(code, failure);
    close_stream(s);
    return at;
}

int64_t rows_of_an_epoch(const Epochs *e) { return read_ahead(e, "epochs", INT64_MAX).taken; }

int64_t rows_for_targets(const Epochs *e, int64_t targets)
{
    if (!e->order.pack) return (targets + e->order.seq - 1) / e->order.seq;
    Stream_at at = read_ahead(e, "tokens", targets);
    if (at.predicted >= targets || at.predicted == 0) return at.taken;
    return (int64_t)ceil((double)at.taken * ((double)targets / (double)at.predicted));
}

int64_t targets_taken(const Epochs *e) { return e->stream ? stream_at(e->stream).predicted : 0; }

/* ------------------------------------------------------------------ rows into inputs */

static int32_t *input_of(const Lathe_entry *e, char *in, Lathe_role role)
{
    const Lathe_tensor *t = tensor_with_role(e, role);
    return t ? (int32_t *)(in + t->offset) : NULL;
}

static Rows rows_of(const Lathe_entry *e, char *in)
{
    return (Rows){items_in_call(e), input_of(e, in, LATHE_TOKENS), input_of(e, in, LATHE_TARGETS),
                  input_of(e, in, LATHE_SEGMENTS), input_of(e, in, LATHE_POSITIONS)};
}

/* The rows of a step; what lies before them is left out (replay).  False: the data has ended, or failed. */
bool fill_epochs(Epochs *e, const Lathe_entry *entry, char *in, int64_t step)
{
    Rows to = rows_of(entry, in);
    int64_t ahead = step * to.n - stream_at(e->stream).taken;
    if (ahead > 0 && !skip_rows(e->stream, ahead)) return false;
    return stream_rows(e->stream, &to);
}

void fill_held(const Epochs *e, const Lathe_entry *entry, char *in, const int64_t *item)
{
    Rows to = rows_of(entry, in);
    for (int64_t r = 0; r < to.n; r++) read_row(&e->held, &e->held_order, item[r], &to, r);
}

int64_t held_targets(const Epochs *e, int64_t k) { return row_targets(&e->held, &e->held_order, k); }

/* ------------------------------------------------------------------ what it is */

uint64_t epochs_hash(const Epochs *e) { return sources_hash(e->sources); }

int64_t epochs_bytes(const Epochs *e)
{
    int64_t held = e->order.val_fraction > 0 ? block_bytes(&e->held_order) : 0;
    return stream_bytes(&e->order, e->tokenizer, e->readers) + held;
}

char *epochs_text(const Epochs *e)
{
    int64_t bytes = 0;
    for (int i = 0; i < e->sources->n; i++) bytes += e->sources->file[i].bytes > 0 ? e->sources->file[i].bytes : 0;
    return text_of("%s file%s, %s", grouped_text(e->sources->n), e->sources->n == 1 ? "" : "s", bytes_text(bytes));
}
