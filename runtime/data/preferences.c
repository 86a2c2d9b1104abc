/* preferences.c: preference pairs: JSON lines, encoded once and kept, and rows of a batch made of them.
 *
 * A row is a prompt and one of its answers.  What comes behind the prompt counts: of a chat, the answer and what ends
 * the message. */
#include "base/hash.h"
#include "base/words.h"
#include "data/data.h"
#include "data/preferences.h"
#include "data/stream.h"
#include "model/origin.h"
#include "model/tables.h"
#include "token/tokenizer.h"

#include <stdlib.h>
#include <string.h>

enum { LONGEST_RECORD = 1 << 26 }; /* bytes */

typedef struct Pair_reader {
    const Reading *reading;
    Order order; /* bos, begin, sep, pair_end */
    const Tokenizer *tokenizer;
    Encoder *encoder;
    const Chat_form *form;
    const char *unknown_chat;
    Preferences *to;
    Ids ids;      /* all rows */
    int64_t room; /* pairs */
    Preference record;
    int64_t bad, cut, left_out; /* records; answers; pairs */
    char *first_bad, *first_left_out;
} Pair_reader;

/* ------------------------------------------------------------------ rows */

static void append_id(Ids *to, int32_t id)
{
    if (id < 0) return;
    if (to->n == to->room) to->at = must_grow(to->at, sizeof *to->at * (size_t)(to->room = 2 * to->room + 1024));
    to->at[to->n++] = id;
}

/* Appends what both answers follow; returns its ids. */
static int32_t encode_asked(Pair_reader *r)
{
    const Preference *p = &r->record;
    int64_t before = r->ids.n;
    append_id(&r->ids, p->messages ? r->order.bos : r->order.begin);
    if (p->messages) encode_messages(r->encoder, r->tokenizer, r->form, p->message, p->messages, &r->ids);
    else {
        encode_bytes(r->encoder, p->text.at, p->text.bytes, &r->ids);
        append_id(&r->ids, r->order.sep);
    }
    return (int32_t)(r->ids.n - before);
}

static void encode_answer(Pair_reader *r, Passage answer)
{
    if (r->record.messages) {
        encode_answered(r->encoder, r->tokenizer, r->form, answer, &r->ids);
        return;
    }
    encode_bytes(r->encoder, answer.at, answer.bytes, &r->ids);
    append_id(&r->ids, r->order.pair_end);
}

static void room_for_pair(Pair_reader *r)
{
    Preferences *p = r->to;
    if (p->n < r->room) return;
    size_t n = (size_t)(r->room = 2 * r->room + 256);
    p->from = must_grow(p->from, sizeof *p->from * (2 * n + 1));
    p->prompt = must_grow(p->prompt, sizeof *p->prompt * 2 * n);
    p->key = must_grow(p->key, sizeof *p->key * n);
}

/* Encodes a record's two rows behind the others; false: it is left out, since it does not fit. */
static bool add_rows(Pair_reader *r, const char *place)
{
    Preferences *p = r->to;
    int64_t begin = r->ids.n, most = p->seq + 1, cut = 0; /* the last id is a target alone */
    room_for_pair(r);
    for (int i = 0; i < ANSWERS; i++) {
        int64_t from = r->ids.n, row = 2 * p->n + i;
        p->from[row] = from;
        p->prompt[row] = encode_asked(r);
        p->key[p->n] = hash_of(r->ids.at + from, sizeof *r->ids.at * (size_t)p->prompt[row]);
        encode_answer(r, r->record.answer[i]);
        if (r->ids.n - from <= (p->prompt[row] ? p->prompt[row] : 1)) /* the first id of a row is no target */
            fail(EXIT_DATA, place,
                 "no token of an answer counts: it has none, or nothing stands before it; give a prompt, or --set "
                 "bos=TOKEN");
        bool longer = r->ids.n - from > most, skips = r->reading->recipe->on_long == LATHE_SKIP_LONG;
        if (p->prompt[row] >= most || (longer && skips)) {
            r->ids.n = begin;
            return false;
        }
        if (longer) r->ids.n = from + most;
        cut += longer;
    }
    p->from[2 * ++p->n] = r->ids.n;
    r->cut += cut;
    return true;
}

/* ------------------------------------------------------------------ records */

/* Ends the program, unless bad_records allows one more. */
static void refuse_record(Pair_reader *r, char *place, char *why)
{
    if (r->bad++ >= r->reading->recipe->bad_records)
        fail(EXIT_DATA, place, "%s%s", why,
             r->reading->recipe->bad_records ? "; there are more such records than bad_records allows" : "");
    if (!r->first_bad) r->first_bad = text_of("%s: %s", place, why);
    free(place);
    free(why);
}

/* From malloc; NULL: the form of chats has the prompt's messages, and each answer. */
static char *form_fault(const Pair_reader *r)
{
    const Preference *p = &r->record;
    int number;
    const char *fault = chat_fault(r->form, p->message, p->messages, &number);
    if (fault) return text_of("message %d of \"prompt\" (%s): %s", number, p->message[number - 1].role, fault);
    for (int i = 0; i < ANSWERS; i++) {
        const Chat_message m = {.role = "assistant", .said = p->answer[i]};
        fault = message_fault(r->form, &m, 1);
        if (fault) return text_of("the answer in \"%s\": %s", i == CHOSEN ? "chosen" : "rejected", fault);
    }
    return NULL;
}

static void take_record(Pair_reader *r, const char *path, int64_t line, const char *at, int64_t bytes)
{
    json_error_t error;
    char *why = NULL, *place = text_of("%s:%lld", path, (long long)line);
    json_t *record = json_loadb(at, (size_t)bytes, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);
    if (!record) why = text_of("expected a JSON object in each line: %s, at byte %d", error.text, error.position);
    bool read = record && read_preference(record, &r->record, &why), chat = read && r->record.messages;
    if (chat && r->unknown_chat) fail(EXIT_DATA, place, "%s", r->unknown_chat);
    if (chat) why = form_fault(r);
    if (why) {
        refuse_record(r, place, why);
        json_decref(record);
        return;
    }
    encoder_place(r->encoder, place);
    if (!add_rows(r, place) && !r->left_out++) r->first_left_out = text_of("%s", place);
    encoder_place(r->encoder, path);
    json_decref(record);
    free(place);
}

static bool is_blank_line(const char *at, int64_t n)
{
    while (n && at[n - 1] && strchr(" \t\r", at[n - 1])) n--;
    return n == 0;
}

static void read_file(Pair_reader *r, const Source_file *f)
{
    enum { CHUNK = 1 << 18 };
    if (f->bytes < 0)
        fail(EXIT_USAGE, f->path,
             "preference pairs are read again on --resume, which a pipe cannot be; write them into a file");
    if (f->format != FORMAT_JSONL)
        fail(EXIT_DATA, f->path,
             "expected preference pairs as JSON lines, {\"prompt\": …, \"chosen\": …, \"rejected\": …}, found %s",
             format_name(f->format));
    Input *in = open_input(f->path, f->bytes);
    char *text = NULL, *end;
    int64_t n = 0, begin = 0, room = 0, line = 1, got;
    do {
        memmove(text ? text : "", text ? text + begin : "", (size_t)(n -= begin));
        begin = 0;
        if (n + CHUNK > room) text = must_grow(text, (size_t)(room = 2 * room + CHUNK));
        if (n > LONGEST_RECORD)
            fail(EXIT_DATA, text_of("%s:%lld", f->path, (long long)line), "the record has more than %d bytes",
                 LONGEST_RECORD);
        n += got = read_input(in, text + n, CHUNK);
        for (; (end = memchr(text + begin, '\n', (size_t)(n - begin))) || (got < CHUNK && begin < n); line++) {
            int64_t bytes = end ? end - (text + begin) : n - begin;
            if (!is_blank_line(text + begin, bytes)) take_record(r, f->path, line, text + begin, bytes);
            begin += bytes + (end != NULL);
        }
    } while (got == CHUNK);
    free(text);
    close_input(in);
}

/* ------------------------------------------------------------------ all of them */

static void settle_form(Pair_reader *r)
{
    const Reading *reading = r->reading;
    char *why = NULL;
    Chat_form *form = must_alloc(sizeof *form);
    find_chat_form(reading->recipe, origin_read(reading, r->tokenizer), r->tokenizer, form, &why);
    r->form = form;
    r->unknown_chat = why;
}

static void tell_fit(const Pair_reader *r)
{
    if (r->bad)
        note("%s malformed record%s skipped, the first: %s", grouped_text(r->bad), r->bad == 1 ? " is" : "s are",
             r->first_bad);
    if (r->cut)
        note("%s answer%s cut: prompt and answer are longer than a sequence of %lld tokens (--set seq=N, when built)",
             grouped_text(r->cut), r->cut == 1 ? " is" : "s are", (long long)r->to->seq);
    if (r->left_out)
        note("%s pair%s left out, since %s, the first: %s", grouped_text(r->left_out),
             r->left_out == 1 ? " is" : "s are",
             r->reading->recipe->on_long == LATHE_SKIP_LONG
                 ? "prompt and answer are longer than a sequence (on_long=skip)"
                 : "the prompt alone fills a sequence",
             r->first_left_out);
}

static void check_tokenizer(const Reading *reading, Tokenizer *k)
{
    if (tokenizer_kind(k) == TOKEN_BYTES) limit_bytes(k, reading->model->vocab);
    else check_tokenizer_size(reading, k);
    if (tokenizer_size(k) == 0)
        fail(EXIT_USAGE, NULL,
             "the characters of the tokenizer are not known; give --tokenizer FILE, or --init with one beside it");
}

Preferences *read_preferences(const Reading *reading, Tokenizer *k)
{
    Preferences *p = must_alloc(sizeof *p);
    *p = (Preferences){.seq = reading->model->seq};
    check_tokenizer(reading, k);
    Pair_reader r = {.reading = reading, .tokenizer = k, .encoder = open_encoder(k), .to = p};
    r.order.ids = reading->model->vocab;
    settle_specials(&r.order, reading, k);
    settle_form(&r);
    const Source_options o = source_settings(reading->recipe, tokenizer_kind(k) == TOKEN_BYTES);
    Sources *files = open_sources(&reading->paths, &o);
    for (int i = 0; i < files->n; i++) read_file(&r, &files->file[i]);
    close_sources(files);
    close_encoder(r.encoder);
    tell_fit(&r);
    if (!p->n)
        fail(EXIT_DATA, reading->paths.at[0], "expected preference pairs, found none%s", r.left_out ? " that fit" : "");
    p->id = r.ids.at;
    p->heap = (int64_t)sizeof *p->id * r.ids.room + r.room * (int64_t)(2 * sizeof *p->from + 2 * sizeof *p->prompt +
                                                                       sizeof *p->key + 2 * sizeof *p->reference);
    free(r.record.message);
    return p;
}

int32_t *divide_preferences(const Preferences *p, double val_fraction, int64_t *train)
{
    int32_t *row = must_alloc(sizeof *row * (size_t)(p->n + 1));
    int64_t n = 0;
    for (int held = 0; held <= 1; held++) {
        for (int64_t k = 0; k < p->n; k++)
            if (is_held(val_fraction, p->key[k]) == held) row[n++] = (int32_t)k;
        if (!held) *train = n;
    }
    return row;
}

uint64_t preference_hash(const Preferences *p, int64_t pair)
{
    int64_t from = p->from[2 * pair], to = p->from[2 * pair + 2];
    return hash_of(p->id + from, sizeof *p->id * (size_t)(to - from));
}

uint64_t preferences_hash(const Preferences *p)
{
    Hash h;
    hash_start(&h);
    hash_add(&h, p->from, sizeof *p->from * (size_t)(2 * p->n + 1));
    hash_add(&h, p->prompt, sizeof *p->prompt * 2 * (size_t)p->n);
    hash_add(&h, p->id, sizeof *p->id * (size_t)p->from[2 * p->n]);
    return hash_end(&h);
}

/* ------------------------------------------------------------------ batches */

/* What the input has for place i of a row of n ids, whose last is a target alone. */
static int32_t filled_id(const Preferences *p, int64_t row, Lathe_role role, int64_t i)
{
    const int32_t *id = p->id + p->from[row];
    bool inside = i + 1 < p->from[row + 1] - p->from[row];
    switch (role) {
    case LATHE_TOKENS: return inside ? id[i] : 0;
    case LATHE_TARGETS: return inside && i + 1 >= p->prompt[row] ? id[i + 1] : -1;
    case LATHE_SEGMENTS: return inside; /* of descriptions that can pack: a row is one document */
    default: return inside ? (int32_t)i : 0;
    }
}

void fill_preferences(const Preferences *p, const Lathe_entry *e, char *in, const int64_t *pair)
{
    int64_t rows = ANSWERS * e->rows;
    for (int k = 0; k < e->inputs; k++) {
        const Lathe_tensor *t = &e->input[k];
        bool ids = t->role == LATHE_TOKENS || t->role == LATHE_TARGETS || t->role == LATHE_SEGMENTS ||
                   t->role == LATHE_POSITIONS;
        int32_t *to = (int32_t *)(void *)(in + t->offset);
        if (!ids && t->role != LATHE_REFERENCE) continue;
        bug_if(tensor_size(t) != rows * (ids ? p->seq : 1) || (!ids && !p->reference));
        for (int64_t r = 0; r < rows; r++) {
            int64_t row = ANSWERS * pair[r / ANSWERS] + r % ANSWERS;
            if (!ids) write_real(t->dtype, in + t->offset, r, p->reference[row]);
            for (int64_t i = 0; ids && i < p->seq; i++) *to++ = filled_id(p, row, t->role, i);
        }
    }
}
