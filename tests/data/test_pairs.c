/* test_pairs.c: pairs and chats as rows: rows of a few worked out by hand; the same for any number of readers and from
 * any place on; each pair once an epoch, in batches of like lengths. */
#include "base/words.h"
#include "data/data.h"
#include "data/stream.h"
#include "source/source.h"
#include "token/tokenizer.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SOURCE = 8, SEQ = 6, BATCH = 4 };

#define CHECK(condition)                                                                                               \
    ((condition) ? (void)0 : (printf("FAILED: %s:%d: %s\n", __FILE__, __LINE__, #condition), exit(1)))

static char folder[64];
static Tokenizer *bytes;

/* ------------------------------------------------------------------ files and rows */

static Sources *source_of(const char *name, const char *text, Source_options o)
{
    Words paths = {0};
    char *path = text_of("%s/%s", folder, name);
    FILE *f = fopen(path, "w");
    CHECK(f && fputs(text, f) >= 0 && fclose(f) == 0);
    add_word(&paths, path);
    o.both = true;
    return open_sources(&paths, &o);
}

typedef struct Row {
    int32_t source[SOURCE], source_length, tokens[16], targets[16], length, segments[16], positions[16];
} Row;

static bool take_row(Row_stream *s, Row *r)
{
    memset(r, 0x55, sizeof *r);
    return stream_rows(s, &(Rows){.n = 1,
                                  .tokens = r->tokens,
                                  .targets = r->targets,
                                  .segments = r->segments,
                                  .positions = r->positions,
                                  .source = r->source,
                                  .source_lengths = &r->source_length,
                                  .lengths = &r->length});
}

static Order text_order(int64_t seq, bool pack)
{
    return (Order){.seq = seq,
                   .stride = seq,
                   .block_tokens = 1000,
                   .pack = pack,
                   .once = true,
                   .targets_only = true,
                   .seed = 7,
                   .bos = -1,
                   .begin = -1,
                   .eos = '.',
                   .sep = '>',
                   .pair_end = '.',
                   .ids = 256};
}

static Order pair_order(void)
{
    return (Order){.seq = SEQ,
                   .stride = SEQ,
                   .source_seq = SOURCE,
                   .block_tokens = 1000,
                   .pairs = true,
                   .once = true,
                   .seed = 7,
                   .bos = 1,
                   .eos = 2,
                   .pad = 3,
                   .ids = 256,
                   .batch = BATCH};
}

/* "_": does not count, or is padding; everything else stands for itself. */
static void check_ids(const int32_t *at, const char *wanted, int32_t blank)
{
    for (size_t i = 0; wanted[i]; i++) {
        int32_t id = wanted[i] == '_' ? blank : wanted[i] == '^' ? 1 : wanted[i] == '$' ? 2 : (unsigned char)wanted[i];
        if (at[i] != id) printf("place %zu of \"%s\": %d\n", i, wanted, at[i]);
        CHECK(at[i] == id);
    }
}

/* ------------------------------------------------------------------ by hand */

static const char three[] = "{\"source\": \"ab\", \"target\": \"xyz\"}\n"
                            "{\"prompt\": \"c\", \"completion\": \"u\"}\n"
                            "{\"target\": [\"v\", \"w\"], \"other\": {\"source\": 1}, \"source\": [\"d\", \"e\"]}\n";

/* ab>xyz. (6 places), c>u. (3), d e>v w. (7): the longest first, each into the first row with room. */
static void packed_by_hand(void)
{
    Order o = text_order(10, true);
    Sources *from = source_of("three.jsonl", three, (Source_options){0});
    Row_stream *s = open_stream(from, bytes, &o, 2, NULL);
    Row r;
    CHECK(take_row(s, &r));
    check_ids(r.tokens, "d e>v wc>u", 0);
    check_ids(r.targets, "___v w._u.", -1);
    static const int32_t segments[] = {1, 1, 1, 1, 1, 1, 1, 2, 2, 2}, positions[] = {0, 1, 2, 3, 4, 5, 6, 0, 1, 2};
    CHECK(memcmp(r.segments, segments, sizeof segments) == 0 && memcmp(r.positions, positions, sizeof positions) == 0);
    CHECK(take_row(s, &r));
    check_ids(r.tokens, "ab>xyz", 0);
    check_ids(r.targets, "__xyz.____", -1);
    CHECK(!take_row(s, &r));
    Stream_sum sum;
    CHECK(epoch_ended(s, &sum) && sum.documents == 3 && sum.rows == 2 && sum.predicted == 10);
    CHECK(sum.pairs.pairs == 3 && sum.pairs.source == 6 && sum.pairs.target == 7 && sum.pairs.most_target == 3);
    close_stream(s);
    close_sources(from);
}

/* ab>xyz.c>u.d e>v w. in windows of four places; with all counting nothing is masked. */
static void joined_by_hand(bool all)
{
    static const char *const tokens[] = {"ab>x", "yz.c", ">u.d", " e>v"}, *const masked[] = {"__xy", "z.__", "u.__",
                                                                                             "__v "};
    static const char *const whole[] = {"b>xy", "z.c>", "u.d ", "e>v "};
    Order o = text_order(4, false);
    o.targets_only = !all;
    o.all_count = all;
    Sources *from = source_of("three.jsonl", three, (Source_options){0});
    Row_stream *s = open_stream(from, bytes, &o, 1, NULL);
    Row r;
    for (int k = 0; k < 4; k++) {
        CHECK(take_row(s, &r));
        check_ids(r.tokens, tokens[k], 0);
        check_ids(r.targets, all ? whole[k] : masked[k], -1);
    }
    CHECK(!take_row(s, &r) && stream_at(s).predicted == (all ? 16 : 8));
    close_stream(s);
    close_sources(from);
}

/* A source of ten places in windows of four: those of which nothing counts are left out. */
static void empty_windows_are_left_out(bool pack)
{
    Order o = text_order(4, pack);
    Sources *from = source_of("long.tsv", "source\ttarget\nabcdefghijkl\txyz\n", (Source_options){0});
    Row_stream *s = open_stream(from, bytes, &o, 1, NULL);
    Row r;
    CHECK(take_row(s, &r));
    check_ids(r.tokens, ">xyz", 0);
    check_ids(r.targets, "xyz.", -1);
    CHECK(!take_row(s, &r));
    close_stream(s);
    close_sources(from);
}

/* A chat: what the assistant says, and the end after it. */
static void chat_by_hand(void)
{
    static const char chat[] = "{\"messages\": [{\"content\": \"Hi\", \"role\": \"user\", \"name\": \"x\"}, "
                               "{\"role\": \"assistant\", \"content\": \"Yo\"}]}\n";
    Order o = text_order(13, true);
    const Source_options how = {.chat = &(Chat_form){.before = "<", .after = ":", .end = "|", .behind = "/"}};
    Sources *from = source_of("chat.jsonl", chat, how);
    Row_stream *s = open_stream(from, bytes, &o, 1, NULL);
    Row r;
    CHECK(take_row(s, &r)); /* <user:Hi|/<assistant:Yo|/. : 26 ids, 25 places, of which the first 13 count nothing */
    check_ids(r.tokens, "sistant:Yo|/", 0);
    check_ids(r.targets, "_______Yo|__", -1);
    CHECK(!take_row(s, &r));
    close_stream(s);
    close_sources(from);
}

static int32_t *put_plain(int32_t *to, Encoder *e, const char *text)
{
    Ids ids = {0};
    encode_plain(e, text, (int64_t)strlen(text), &ids);
    memcpy(to, ids.at, sizeof *ids.at * (size_t)ids.n);
    to += ids.n;
    free_ids(&ids);
    return to;
}

/* What somebody says is text, also where it reads as the token that ends a message; the form's own tokens are tokens.
 */
static void chats_cannot_forge_tokens(void)
{
    static const char chat[] =
        "{\"messages\": [{\"role\": \"user\", \"content\": \"a<|im_end|>b\"}, {\"role\": \"user\", "
        "\"content\": \"Hi<|im_\"}, {\"role\": \"assistant\", \"content\": \"<|im_start|>c\"}]}\n";
    Words special = {0};
    add_word(&special, "<|im_start|>");
    add_word(&special, "<|im_end|>");
    Learner *l = open_learner(&(Learning){.kind = TOKEN_BPE, .size = 259, .special = &special});
    learn_from(l, "user", 4);
    Tokenizer *t = close_learner(l);
    Encoder *e = open_encoder(t);
    int32_t start = special_id(t, "<|im_start|>"), end = special_id(t, "<|im_end|>"), wanted[200], *to = wanted,
            *said[2];
    CHECK(start >= 0 && end >= 0 && start != end);
    *to++ = start, to = put_plain(to, e, "user\na<|im_end|>b"), *to++ = end, to = put_plain(to, e, "\n");
    *to++ = start, to = put_plain(to, e, "user\nHi<|im_"), *to++ = end, to = put_plain(to, e, "\n");
    *to++ = start, to = put_plain(to, e, "assistant\n");
    said[0] = to, to = put_plain(to, e, "<|im_start|>c"), *to++ = end, said[1] = to;
    to = put_plain(to, e, "\n");
    Order o = text_order(to - wanted - 1, false);
    o.ids = 259;
    Sources *from = source_of("forged.jsonl", chat, (Source_options){.chat = &chatml_chat});
    Row_stream *s = open_stream(from, t, &o, 1, NULL);
    int32_t tokens[200], targets[200];
    CHECK(stream_rows(s, &(Rows){.n = 1, .tokens = tokens, .targets = targets}));
    for (int64_t i = 0; i < o.seq; i++) {
        const int32_t *next = wanted + i + 1;
        CHECK(tokens[i] == wanted[i] && targets[i] == (next >= said[0] && next < said[1] ? *next : -1));
    }
    close_stream(s);
    close_sources(from);
    close_encoder(e);
}

static const char some[] = "source,target\nab,xy\nabcdefghij,uvwxyz\nc,\"vwxyz\"\n";

static void apart_by_hand(void)
{
    static const char *const source[] = {"ab______", "abcdefgh", "c_______"}, *const tokens[] = {"^xy___", "^uvwxy",
                                                                                                 "^vwxyz"};
    static const char *const targets[] = {"xy$___", "uvwxyz", "vwxyz$"};
    static const int32_t lengths[] = {3, 6, 6}, source_lengths[] = {2, 8, 1};
    Order o = pair_order();
    Sources *from = source_of("some.csv", some, (Source_options){0});
    Row_stream *s = open_stream(from, bytes, &o, 2, NULL);
    Row r;
    for (int k = 0; k < 3; k++) {
        CHECK(take_row(s, &r));
        check_ids(r.source, source[k], 3);
        check_ids(r.tokens, tokens[k], 3);
        check_ids(r.targets, targets[k], -1);
        CHECK(r.length == lengths[k] && r.source_length == source_lengths[k]);
    }
    CHECK(!take_row(s, &r));
    Stream_sum sum;
    CHECK(epoch_ended(s, &sum) && sum.pairs.cut == 1 && sum.pairs.skipped == 0 && sum.predicted == 15);
    CHECK(sum.pairs.places == 26 && sum.pairs.most_source == 10 && sum.pairs.least_source == 1);
    CHECK(sum.pairs.drawn == 3 * (8 + 6)); /* one batch */
    close_stream(s);
    o.skip_long = true;
    s = open_stream(from, bytes, &o, 1, NULL);
    CHECK(take_row(s, &r) && take_row(s, &r) && r.source_length == 1 && !take_row(s, &r));
    CHECK(epoch_ended(s, &sum) && sum.pairs.cut == 0 && sum.pairs.skipped == 1 && sum.rows == 2);
    close_stream(s);
    close_sources(from);
}

static void lists_of_targets(void)
{
    static const char line[] =
        "{\"source\": \"s\", \"target\": [\"a\", \"bc\", \"d\"]}\n{\"source\": \"t\", \"target\": \"e\"}\n";
    static const char *const wanted[][5] = {{"a bc d", "e$"}, {"a$", "e$"}, {"a$", "bc$", "d$", "e$"}};
    Order o = pair_order();
    Row r;
    for (int how = 0; how < 3; how++) {
        Sources *from = source_of("lists.jsonl", line, (Source_options){.targets = (Targets)how});
        Row_stream *s = open_stream(from, bytes, &o, 1, NULL);
        for (int k = 0; wanted[how][k]; k++) {
            CHECK(take_row(s, &r) && r.source_length == 1);
            check_ids(r.targets, wanted[how][k], -1);
        }
        CHECK(!take_row(s, &r));
        close_stream(s);
        close_sources(from);
    }
}

/* ------------------------------------------------------------------ many */

enum { PAIRS = 3000, EPOCH = PAIRS + PAIRS / 10 }; /* every tenth has two targets */

static uint32_t draw(uint32_t *state, uint32_t below)
{
    *state = *state * 1103515245u + 12345u;
    return (*state >> 8) % below;
}

/* Sources of 4 to 8 bytes, the first four their number; targets of 1 to 5. */
static char *many_pairs(void)
{
    char *text = must_alloc(PAIRS * 100), *at = text;
    uint32_t state = 5;
    for (int k = 0; k < PAIRS; k++) {
        at += sprintf(at, "{\"source\": \"%04d%.*s\", \"target\": [\"%.*s\"%s]}\n", k, (int)draw(&state, 5), "abcdefgh",
                      1 + (int)draw(&state, 5), "mnopq", k % 10 ? "" : ", \"zz\"");
    }
    return text;
}

static int number_of(const Row *r)
{
    int k = 0;
    for (int i = 0; i < 4; i++) k = 10 * k + r->source[i] - '0';
    CHECK(k >= 0 && k < PAIRS);
    return k;
}

static Sources *open_many(void)
{
    char *text = many_pairs();
    Sources *from = source_of("many.jsonl", text, (Source_options){.targets = TARGETS_EACH});
    free(text);
    return from;
}

static Order many_order(void)
{
    Order o = pair_order();
    o.once = false;
    o.shuffle = true;
    o.first_tokens = 500;
    o.block_tokens = 9000;
    o.buckets = 50;
    return o;
}

static Row *first_rows(const Order *o, int readers, int n)
{
    Sources *from = open_many();
    Row_stream *s = open_stream(from, bytes, o, readers, NULL);
    Row *all = must_alloc(sizeof *all * (size_t)n);
    for (int i = 0; i < n; i++) CHECK(take_row(s, &all[i]));
    close_stream(s);
    close_sources(from);
    return all;
}

static void same_for_any_readers(void)
{
    enum { ROWS = 4000 };
    Order o = many_order();
    Row *one = first_rows(&o, 1, ROWS), *two = first_rows(&o, 2, ROWS), *eight = first_rows(&o, 8, ROWS);
    CHECK(memcmp(one, two, sizeof *one * ROWS) == 0 && memcmp(one, eight, sizeof *one * ROWS) == 0);
    free(one), free(two), free(eight);
}

static void goes_on_from_any_place(void)
{
    enum { ROWS = 5000, AFTER = 300 };
    uint32_t state = 99;
    Order o = many_order();
    Row *all = first_rows(&o, 2, ROWS), row;
    Sources *from = open_many();
    for (int trial = 0; trial < 20; trial++) {
        int at = (int)draw(&state, ROWS - AFTER);
        Row_stream *s = open_stream(from, bytes, &o, 1 + trial % 3, NULL);
        CHECK(skip_rows(s, at));
        Stream_at place = stream_at(s);
        close_stream(s);
        s = open_stream(from, bytes, &o, 1 + (trial + 1) % 3, &place);
        for (int i = 0; i < AFTER; i++) {
            CHECK(take_row(s, &row));
            CHECK(memcmp(&row, &all[at + i], sizeof row) == 0);
        }
        close_stream(s);
    }
    close_sources(from);
    free(all);
}

/* Places of batches of BATCH rows, each row as long as the longest of them. */
static int64_t padded_places(const Row *r, int n)
{
    int64_t all = 0;
    for (int at = 0; at + BATCH <= n; at += BATCH) {
        int64_t source = 0, target = 0;
        for (int i = at; i < at + BATCH; i++) {
            source = r[i].source_length > source ? r[i].source_length : source;
            target = r[i].length > target ? r[i].length : target;
        }
        all += BATCH * (source + target);
    }
    return all;
}

static void alike_and_once_an_epoch(void)
{
    Order o = many_order(), plain = many_order();
    plain.buckets = 0;
    Row *sorted = first_rows(&o, 1, EPOCH), *drawn = first_rows(&plain, 1, EPOCH);
    static int seen[PAIRS];
    int64_t used = 0;
    for (int i = 0; i < EPOCH; i++) {
        seen[number_of(&sorted[i])]++;
        used += sorted[i].source_length + sorted[i].length;
    }
    for (int k = 0; k < PAIRS; k++) CHECK(seen[k] == (k % 10 ? 1 : 2));
    int64_t own = padded_places(sorted, EPOCH), theirs = padded_places(drawn, EPOCH);
    printf("places: %lld used, %lld in batches as drawn, %lld of like lengths\n", (long long)used, (long long)theirs,
           (long long)own);
    CHECK(own - used < (theirs - used) / 3);
    free(sorted), free(drawn);
}

/* The sums of an epoch are those of its rows. */
static void sums_are_right(void)
{
    Order o = many_order();
    o.once = true;
    Row *all = first_rows(&o, 2, EPOCH), row;
    Sources *from = open_many();
    Row_stream *s = open_stream(from, bytes, &o, 2, NULL);
    int64_t places = 0;
    for (int i = 0; take_row(s, &row); i++) places += all[i].source_length + all[i].length;
    Stream_sum sum;
    CHECK(epoch_ended(s, &sum) && sum.pairs.pairs == EPOCH && sum.pairs.places == places && sum.rows == EPOCH);
    close_stream(s);
    close_sources(from);
    free(all);
}

/* All targets of a source are on one side. */
static void sides_by_source(void)
{
    static char side[PAIRS];
    for (int validation = 0; validation < 2; validation++) {
        Order o = many_order();
        o.once = true;
        o.val_fraction = 0.3;
        o.validation = validation;
        Sources *from = open_many();
        Row_stream *s = open_stream(from, bytes, &o, 1, NULL);
        for (Row r; take_row(s, &r);) side[number_of(&r)] |= (char)(1 << validation);
        close_stream(s);
        close_sources(from);
    }
    int held = 0;
    for (int k = 0; k < PAIRS; k++) {
        CHECK(side[k] == 1 || side[k] == 2);
        held += side[k] == 2;
    }
    CHECK(held > PAIRS / 5 && held < 2 * PAIRS / 5);
}

/* ------------------------------------------------------------------ what does not fit */

static void refused(const char *text, Order o, Source_options how, const char *message)
{
    int code = 0;
    Sources *from = source_of("bad.jsonl", text, how);
    Row_stream *s = open_stream(from, bytes, &o, 1, NULL);
    for (Row r; take_row(s, &r);) continue;
    const char *said = stream_failure(s, &code);
    if (!said || !strstr(said, message)) printf("%s\n", said ? said : "nothing was said");
    CHECK(said && code == EXIT_DATA && strstr(said, message));
    close_stream(s);
    close_sources(from);
}

static void what_does_not_fit(void)
{
    Order counts_all = text_order(4, false);
    counts_all.targets_only = false;
    refused("{\"text\": \"abc\"}\n", pair_order(), (Source_options){0},
            "bad.jsonl:1: error: expected a pair of source and target");
    refused("{\"source\": \"a\", \"target\": \"b\"}\n", counts_all, (Source_options){0}, "--set loss_on=target");
    refused("{\"source\": \"a\", \"target\": \"\"}\n", pair_order(), (Source_options){0},
            "bad.jsonl:1: error: the target of a pair is empty");
    refused("{\"source\": \"\", \"target\": \"b\"}\n", pair_order(), (Source_options){0},
            "the source of a pair is empty");
    refused("{\"source\": \"a\", \"summary\": \"b\"}\n", pair_order(), (Source_options){0},
            "there is no field \"target\"; there are \"summary\"");
    refused("{\"source\": \"a\", \"target\": [\"b\", \"\"]}\n", pair_order(), (Source_options){.targets = TARGETS_EACH},
            "is empty");
}

int main(void)
{
    snprintf(folder, sizeof folder, "%s/pairs-XXXXXX",
             getenv("TMP") && strlen(getenv("TMP")) < 40 ? getenv("TMP") : "/tmp");
    CHECK(mkdtemp(folder) != NULL);
    bytes = open_tokenizer(TOKEN_BYTES);
    limit_bytes(bytes, 256);
    packed_by_hand();
    joined_by_hand(false);
    joined_by_hand(true);
    empty_windows_are_left_out(false);
    empty_windows_are_left_out(true);
    chat_by_hand();
    chats_cannot_forge_tokens();
    apart_by_hand();
    lists_of_targets();
    same_for_any_readers();
    goes_on_from_any_place();
    alike_and_once_an_epoch();
    sums_are_right();
    sides_by_source();
    what_does_not_fit();
    return 0;
}
