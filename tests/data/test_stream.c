/* test_stream.c: rows of documents from files: the same for any number of threads and from any place on; each document
 * once an epoch, whole. */
#include "base/words.h"
#include "data/data.h"
#include "data/stream.h"
#include "source/source.h"
#include "token/tokenizer.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SEQ = 32, FILES = 5, DOCUMENTS = 400, FIRST = 300, LONGEST = 800 };

#define CHECK(condition)                                                                                               \
    ((condition) ? (void)0 : (printf("FAILED: %s:%d: %s\n", __FILE__, __LINE__, #condition), exit(1)))

static char folder[64];
static Tokenizer *bytes;

/* ------------------------------------------------------------------ a corpus */

static uint32_t draw(uint32_t *state, uint32_t below)
{
    *state = *state * 1103515245u + 12345u;
    return (*state >> 8) % below;
}

/* Document k says its number; some are empty but for it, some much longer than a sequence. */
static char *document(int k)
{
    uint32_t state = (uint32_t)k * 2654435761u;
    int words = (int)draw(&state, 4) == 0 ? (int)draw(&state, 120) : (int)draw(&state, 6);
    char *text = text_of("<%d", k);
    for (int i = 0; i < words; i++) {
        char *longer = text_of("%s w%u", text, draw(&state, 1000));
        free(text);
        text = longer;
    }
    char *whole = text_of("%s>", text);
    free(text);
    return whole;
}

static void write_file(const char *name, int from, int to)
{
    char *path = text_of("%s/%s", folder, name);
    FILE *f = fopen(path, "w");
    for (int k = from; k < to; k++) {
        char *text = document(k);
        fprintf(f, "%s\n\n", text);
        free(text);
    }
    fclose(f);
    free(path);
}

static void make_corpus(void)
{
    char *template = text_of("%s/stream-XXXXXX", getenv("TMP") ? getenv("TMP") : "/tmp");
    CHECK(mkdtemp(template) != NULL);
    snprintf(folder, sizeof folder, "%s", template);
    for (int i = 0; i < FILES; i++)
        write_file((const char *[]){"a.txt", "b.txt", "c.txt", "d.txt", "e.txt"}[i], i * DOCUMENTS / FILES,
                   (i + 1) * DOCUMENTS / FILES);
}

static Sources *open_corpus(void)
{
    Words paths = {0};
    add_word(&paths, folder);
    return open_sources(&paths, &(Source_options){.split = SPLIT_BLANK});
}

/* ------------------------------------------------------------------ rows */

typedef struct Row {
    int32_t tokens[SEQ], targets[SEQ], segments[SEQ], positions[SEQ];
} Row;

static bool take_row(Row_stream *s, Row *r)
{
    memset(r, 0x55, sizeof *r);
    return stream_rows(
        s, &(Rows){
               .n = 1, .tokens = r->tokens, .targets = r->targets, .segments = r->segments, .positions = r->positions});
}

static Order order_of(bool pack, bool shuffle)
{
    return (Order){.seq = SEQ,
                   .stride = SEQ,
                   .block_tokens = 2000,
                   .pack = pack,
                   .shuffle = shuffle,
                   .seed = 7,
                   .bos = -1,
                   .begin = -1,
                   .eos = '\n',
                   .end = '\n',
                   .ids = 256};
}

static Row *first_rows(const Order *o, int readers, int n)
{
    Sources *from = open_corpus();
    Row_stream *s = open_stream(from, bytes, o, readers, NULL);
    Row *all = must_alloc(sizeof *all * (size_t)n);
    for (int i = 0; i < n; i++) CHECK(take_row(s, &all[i]));
    close_stream(s);
    close_sources(from);
    return all;
}

/* 1,000 batches of 4, several epochs. */
static void same_for_any_readers(bool pack)
{
    enum { ROWS = 4000 };
    Order o = order_of(pack, true);
    o.first_tokens = FIRST;
    Row *one = first_rows(&o, 1, ROWS), *two = first_rows(&o, 2, ROWS), *eight = first_rows(&o, 8, ROWS);
    CHECK(memcmp(one, two, sizeof *one * ROWS) == 0);
    CHECK(memcmp(one, eight, sizeof *one * ROWS) == 0);
    o.seed = 8;
    Row *other = first_rows(&o, 1, ROWS);
    CHECK(memcmp(one, other, sizeof *one * ROWS) != 0);
    free(one), free(two), free(eight), free(other);
}

static int64_t counted(const Row *r, int rows)
{
    int64_t n = 0;
    for (int i = 0; i < rows; i++)
        for (int k = 0; k < SEQ; k++) n += r[i].targets[k] >= 0;
    return n;
}

static void goes_on_from_any_place(bool pack)
{
    enum { ROWS = 3000, AFTER = 200 };
    uint32_t state = 99;
    Order o = order_of(pack, true);
    o.first_tokens = FIRST;
    Row *all = first_rows(&o, 2, ROWS), row;
    Sources *from = open_corpus();
    for (int trial = 0; trial < 20; trial++) {
        int at = (int)draw(&state, ROWS - AFTER);
        Row_stream *s = open_stream(from, bytes, &o, 1 + trial % 3, NULL);
        CHECK(skip_rows(s, at));
        Stream_at place = stream_at(s);
        close_stream(s);
        CHECK(place.taken == at && place.predicted == counted(all, at));
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

/* 300 ids, 600, 1200, 2000, 2000, … in the first epoch; 2000 in each block of the second. */
static void first_blocks_grow(void)
{
    static const int64_t first[] = {300, 900, 2100, 4100, 6100}, second[] = {2000, 4000, 6000};
    Order o = order_of(false, true);
    o.first_tokens = FIRST;
    Sources *from = open_corpus();
    Row_stream *s = open_stream(from, bytes, &o, 1, NULL);
    Row r;
    for (int64_t block = 0, seen = 0; seen < 8;) {
        CHECK(take_row(s, &r));
        Stream_at at = stream_at(s);
        if (at.block == block) continue;
        block = at.block;
        if (!block) continue;
        int64_t least = at.epoch == 0 && block <= 5 ? first[block - 1] : at.epoch && block <= 3 ? second[block - 1] : 0;
        if (!least) continue;
        CHECK(at.before.tokens >= least && at.before.tokens < least + block * LONGEST);
        seen++;
    }
    close_stream(s);
    close_sources(from);
}

/* ------------------------------------------------------------------ which ids */

/* Unshuffled and joined: the files' documents, a newline after each, in windows side by side. */
static void joined_is_the_text(void)
{
    Order o = order_of(false, false);
    Sources *from = open_corpus();
    o.once = true;
    o.block_tokens = 100000; /* one block: nothing is lost where blocks end */
    Row_stream *s = open_stream(from, bytes, &o, 2, NULL);
    char *text = must_alloc(100000);
    for (int k = 0; k < DOCUMENTS; k++) {
        char *d = document(k);
        strcat(strcat(text, d), "\n");
        free(d);
    }
    Row row;
    size_t at = 0;
    for (; take_row(s, &row); at += SEQ)
        for (int i = 0; i < SEQ; i++) {
            CHECK(row.tokens[i] == (unsigned char)text[at + (size_t)i]);
            CHECK(row.targets[i] == (unsigned char)text[at + (size_t)i + 1]);
        }
    CHECK(at + SEQ + 1 > strlen(text) && at + 1 <= strlen(text));
    Stream_sum sum;
    CHECK(epoch_ended(s, &sum) && !epoch_ended(s, &sum));
    CHECK(sum.documents == DOCUMENTS && sum.tokens == (int64_t)strlen(text) && sum.rows == (int64_t)at / SEQ);
    close_stream(s);
    close_sources(from);
    free(text);
}

static void sizes_are_counted(void)
{
    Order o = order_of(false, false);
    Sources *from = open_corpus();
    o.once = true;
    o.block_tokens = 100000;
    Row_stream *s = open_stream(from, bytes, &o, 2, NULL);
    Block b;
    CHECK(take_block(s, &b));
    close_stream(s);
    int64_t ids = 0, least = INT64_MAX, most = 0, split = 0;
    for (int k = 0; k < DOCUMENTS; k++) {
        char *d = document(k);
        int64_t n = (int64_t)strlen(d) + 1;
        ids += n;
        least = n < least ? n : least;
        most = n > most ? n : most;
        split += n - 1 > SEQ;
        free(d);
    }
    CHECK(b.sizes.documents == DOCUMENTS && b.sizes.ids == ids && b.sizes.split == split);
    CHECK(b.sizes.shortest == least && b.sizes.longest == most);
    close_rows(&b);
    close_sources(from);
}

/* What a segment holds must be in its document, at a multiple of the sequence; marks the places that were predicted. */
static void check_segment(const Row *r, int begin, int end, char **text, char **marks)
{
    char part[SEQ + 2] = "";
    for (int i = begin; i < end; i++) part[i - begin] = (char)r->tokens[i];
    part[end - begin] = (char)r->targets[end - 1];
    for (int i = begin; i + 1 < end; i++) CHECK(r->targets[i] == r->tokens[i + 1]);
    for (int i = begin; i < end; i++) CHECK(r->positions[i] == i - begin);
    for (int k = 0; k < DOCUMENTS; k++)
        for (size_t at = 0; at + 1 < strlen(text[k]); at += SEQ) {
            if (strncmp(text[k] + at, part, (size_t)(end - begin + 1)) != 0) continue;
            size_t rest = strlen(text[k]) - 1 - at;
            if ((size_t)(end - begin) != (rest < SEQ ? rest : SEQ) || marks[k][at]) continue;
            memset(marks[k] + at, 1, (size_t)(end - begin));
            return;
        }
    CHECK(!"a segment is no part of a document, or came twice");
}

static void check_padding(const Row *r, int from)
{
    for (int i = from; i < SEQ; i++) CHECK(r->targets[i] == -1 && r->segments[i] == 0 && r->tokens[i] == 0);
}

static void each_document_once(void)
{
    Order o = order_of(true, true);
    Sources *from = open_corpus();
    char *text[DOCUMENTS], *marks[DOCUMENTS];
    for (int k = 0; k < DOCUMENTS; k++) {
        char *d = document(k);
        text[k] = text_of("%s\n", d);
        marks[k] = must_alloc(strlen(text[k]) + 1);
        free(d);
    }
    o.once = true;
    o.block_tokens = 100000;
    Row_stream *s = open_stream(from, bytes, &o, 2, NULL);
    Row r;
    int64_t padded = 0, rows = 0;
    for (; take_row(s, &r); rows++) {
        int begin = 0;
        for (int segment = 1; begin < SEQ && r.segments[begin] == segment; segment++) {
            int end = begin;
            while (end < SEQ && r.segments[end] == segment) end++;
            check_segment(&r, begin, end, text, marks);
            begin = end;
        }
        check_padding(&r, begin);
        padded += SEQ - begin;
    }
    for (int k = 0; k < DOCUMENTS; k++) CHECK(!memchr(marks[k], 0, strlen(text[k]) - 1));
    CHECK(padded * 50 < rows * SEQ); /* 2 % */
    close_stream(s);
    close_sources(from);
}

/* ------------------------------------------------------------------ a thread that fails */

/* All blocks before it are there, however late the rows are taken, and the message is kept for whoever asks. */
static void failure_is_told(void)
{
    int code = 0, rows = 0;
    Order o = order_of(false, false);
    char *path = text_of("%s/z.txt", folder);
    FILE *f = fopen(path, "w");
    fprintf(f, "fine\n\nnot \xff fine\n");
    fclose(f);
    Words paths = {0};
    add_word(&paths, folder);
    Sources *from = open_sources(&paths, &(Source_options){.split = SPLIT_BLANK, .bad_utf8 = UTF8_STOP});
    Row_stream *s = open_stream(from, bytes, &o, 2, NULL);
    Row r;
    while (take_row(s, &r)) rows++;
    const char *text = stream_failure(s, &code);
    CHECK(rows > 1000 && text && code == EXIT_DATA && strstr(text, "z.txt"));
    close_stream(s);
    close_sources(from);
    unlink(path);
}

int main(void)
{
    make_corpus();
    bytes = open_tokenizer(TOKEN_BYTES);
    limit_bytes(bytes, 256);
    for (int pack = 0; pack < 2; pack++) {
        same_for_any_readers(pack);
        goes_on_from_any_place(pack);
    }
    first_blocks_grow();
    joined_is_the_text();
    sizes_are_counted();
    each_document_once();
    failure_is_told();
    return 0;
}
