/* test_held.c: which documents are kept for evaluation: the same ones when files are added, in every format, and
 * whatever file a document lies in. */
#include "base/words.h"
#include "data/data.h"
#include "data/stream.h"
#include "source/source.h"
#include "token/tokenizer.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { SEQ = 32, DOCUMENTS = 300, ADDED = 80, ALL = DOCUMENTS + ADDED };

#define CHECK(condition)                                                                                               \
    ((condition) ? (void)0 : (printf("FAILED: %s:%d: %s\n", __FILE__, __LINE__, #condition), exit(1)))

typedef enum Kind { PARAGRAPHS, RECORDS, SHARDS, KINDS } Kind;

static const char *const ending[KINDS] = {"txt", "jsonl", "bin"};
static Tokenizer *bytes;

/* Document k says its number. */
static void put_document(FILE *f, Kind kind, int k)
{
    char *text = text_of("<%d> the words of it are %d and %d", k, k * k, k % 7);
    if (kind == PARAGRAPHS) fprintf(f, "%s\n\n", text);
    if (kind == RECORDS) fprintf(f, "{\"text\": \"%s\"}\n", text);
    for (const char *c = text; kind == SHARDS && *c; c++) {
        const uint16_t id[2] = {'\n', (unsigned char)*c};
        fwrite(c == text ? id : id + 1, sizeof *id, c == text ? 2 : 1, f);
    }
    free(text);
}

static void put_file(const char *folder, const char *name, Kind kind, int from, int to)
{
    char *path = text_of("%s/%s.%s", folder, name, ending[kind]);
    FILE *f = fopen(path, "wb");
    CHECK(f != NULL);
    for (int k = from; k < to; k++) put_document(f, kind, k);
    fclose(f);
    free(path);
}

/* Marks the documents of one side. */
static void list_side(const char *folder, bool validation, char *marks)
{
    Order o = {.seq = SEQ,
               .stride = SEQ,
               .block_tokens = 5000,
               .pack = true,
               .once = true,
               .validation = validation,
               .val_fraction = 0.25,
               .bos = -1,
               .begin = -1,
               .eos = -1,
               .end = -1,
               .ids = 256};
    Words paths = {0};
    add_word(&paths, folder);
    Sources *from = open_sources(
        &paths, &(Source_options){.split = SPLIT_BLANK, .raw_id_size = 2, .separated = true, .separator = '\n'});
    Row_stream *s = open_stream(from, bytes, &o, 2, NULL);
    int32_t tokens[SEQ + 1] = {0};
    memset(marks, 0, ALL);
    while (stream_rows(s, &(Rows){.n = 1, .tokens = tokens}))
        for (int i = 0; i < SEQ; i++) {
            int k = 0;
            if (tokens[i] != '<') continue;
            while (++i < SEQ && tokens[i] >= '0' && tokens[i] <= '9') k = 10 * k + tokens[i] - '0';
            if (i == SEQ || tokens[i] != '>') continue; /* it goes on in another row */
            CHECK(k < ALL && !marks[k]);
            marks[k] = 1;
        }
    int code;
    CHECK(!stream_failure(s, &code));
    close_stream(s);
    close_sources(from);
}

/* Files before, between and behind those that are there; and the same documents in other files. */
static void stay_where_they_are(const char *top, Kind kind, char *held)
{
    char train[ALL], after[ALL], *folder = text_of("%s/%s", top, ending[kind]), *other = text_of("%s-2", folder);
    int n = 0;
    CHECK(mkdir(folder, 0700) == 0 && mkdir(other, 0700) == 0);
    put_file(folder, "b", kind, 0, DOCUMENTS / 3);
    put_file(folder, "d", kind, DOCUMENTS / 3, DOCUMENTS);
    list_side(folder, true, held);
    list_side(folder, false, train);
    for (int k = 0; k < DOCUMENTS; k++) {
        CHECK(held[k] != train[k]);
        n += held[k];
    }
    CHECK(n > DOCUMENTS / 6 && n < DOCUMENTS / 3);
    put_file(folder, "a", kind, DOCUMENTS, DOCUMENTS + ADDED / 2);
    put_file(folder, "c", kind, DOCUMENTS + ADDED / 2, ALL);
    list_side(folder, true, after);
    CHECK(memcmp(held, after, DOCUMENTS) == 0);
    put_file(other, "all", kind, 0, ALL);
    list_side(other, true, held);
    CHECK(memcmp(held, after, ALL) == 0);
    free(folder);
    free(other);
}

int main(void)
{
    char *top = text_of("%s/held-XXXXXX", getenv("TMP") ? getenv("TMP") : "/tmp"), held[KINDS][ALL];
    CHECK(mkdtemp(top) != NULL);
    bytes = open_tokenizer(TOKEN_BYTES);
    limit_bytes(bytes, 256);
    for (Kind kind = PARAGRAPHS; kind < KINDS; kind++) stay_where_they_are(top, kind, held[kind]);
    CHECK(memcmp(held[PARAGRAPHS], held[RECORDS], ALL) == 0); /* by the text alone */
    return 0;
}
