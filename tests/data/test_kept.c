/* test_kept.c: rows of documents whose ids are kept from an earlier run are those of the text: for any readers, from
 * any place on, with what is kept damaged in any way, and beside other programs. */
#include "base/words.h"
#include "base/cache.h"
#include "data/kept.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#define CHECK(condition)                                                                                               \
    ((condition) ? (void)0 : (printf("FAILED: %s:%d: %s\n", __FILE__, __LINE__, #condition), exit(1)))

enum { SEQ = 32, ROWS = 18000, BYTES = 400000 };

static char *folder, *cache;
static Tokenizer *words;
static uint64_t *expected; /* [ROWS] */

static uint32_t state = 77;

static uint32_t draw(uint32_t below)
{
    state = state * 1103515245u + 12345u;
    return (state >> 8) % below;
}

/* Some documents are longer than a part. */
static void make_corpus(Learner *l)
{
    FILE *json = fopen(text_of("%s/corpus/a.jsonl", folder), "w"),
         *plain = fopen(text_of("%s/corpus/b.txt", folder), "w");
    gzFile gz = gzopen(text_of("%s/corpus/c.txt.gz", folder), "wb0");
    CHECK(json && plain && gz);
    for (int64_t n = 0, k = 0; n < BYTES; k++) {
        char *text = must_alloc(500000);
        int64_t words_of = k == 9 ? 40000 : draw(60), at = 0;
        for (int64_t i = 0; i <= words_of; i++) at += sprintf(text + at, "w%u ", draw(700));
        learn_from(l, text, at);
        fprintf(json, "{\"text\": \"%s\"}\n", text);
        fprintf(plain, "%s\n\n", text);
        gzprintf(gz, "%s\n\n", k % 3 ? "w1 w2" : "w3 w4 w5 w6");
        gzwrite(gz, text, (unsigned)at);
        n += at;
        free(text);
    }
    CHECK(fclose(json) == 0 && fclose(plain) == 0 && gzclose(gz) == Z_OK);
}

static Order order_of(bool validation)
{
    return (Order){.seq = SEQ,
                   .stride = SEQ,
                   .block_tokens = 9000,
                   .pack = true,
                   .shuffle = true,
                   .validation = validation,
                   .val_fraction = 0.2,
                   .seed = 3,
                   .bos = -1,
                   .begin = -1,
                   .eos = 0,
                   .end = 0,
                   .ids = 1000};
}

static Row_stream *start(int readers, const Stream_at *at, bool validation)
{
    Words paths = {0};
    Order o = order_of(validation);
    add_word(&paths, text_of("%s/corpus", folder));
    return open_stream(open_sources(&paths, &(Source_options){.split = SPLIT_BLANK}), words, &o, readers, at);
}

static uint64_t next_row(Row_stream *s)
{
    int32_t all[4][SEQ];
    const Rows to = {.n = 1, .tokens = all[0], .targets = all[1], .segments = all[2], .positions = all[3]};
    CHECK(stream_rows(s, &to));
    return hash_of(all, sizeof all);
}

static void check_rows(int readers)
{
    Row_stream *s = start(readers, NULL, false);
    for (int k = 0; k < ROWS; k++) CHECK(next_row(s) == expected[k]);
    close_stream(s);
}

static void check_from_anywhere(void)
{
    for (int trial = 0; trial < 12; trial++) {
        int at = (int)draw(ROWS - 300);
        setenv("LATHE_CACHE", trial % 2 ? "off" : cache, 1);
        Row_stream *s = start(1, NULL, false);
        CHECK(skip_rows(s, at));
        Stream_at place = stream_at(s);
        close_stream(s);
        setenv("LATHE_CACHE", trial % 3 ? cache : "off", 1);
        s = start(2, &place, false);
        for (int k = at; k < at + 300; k++) CHECK(next_row(s) == expected[k]);
        close_stream(s);
    }
    setenv("LATHE_CACHE", cache, 1);
}

/* ------------------------------------------------------------------ what is kept */

static char *kept[8];
static char *bytes_of[8];
static size_t size_of[8];

static int list_kept(void)
{
    int n = 0;
    DIR *d = opendir(cache);
    for (const struct dirent *e; (e = readdir(d));) {
        CHECK(!strstr(e->d_name, ".part"));
        if (strncmp(e->d_name, "parts-", 6) == 0) kept[n++] = text_of("%s/%s", cache, e->d_name);
    }
    closedir(d);
    return n;
}

static void write_bytes(const char *path, const char *at, size_t n)
{
    FILE *f = fopen(path, "wb");
    CHECK(f && fwrite(at, 1, n, f) == n && fclose(f) == 0);
}

static bool is_whole(int i)
{
    char *now = must_alloc(size_of[i] + 1);
    FILE *f = fopen(kept[i], "rb");
    bool same = f && fread(now, 1, size_of[i] + 1, f) == size_of[i] && memcmp(now, bytes_of[i], size_of[i]) == 0;
    if (f) fclose(f);
    free(now);
    return same;
}

static void read_kept(int n)
{
    for (int i = 0; i < n; i++) {
        struct stat about;
        FILE *f = fopen(kept[i], "rb");
        CHECK(f && fstat(fileno(f), &about) == 0);
        size_of[i] = (size_t)about.st_size;
        bytes_of[i] = must_alloc(size_of[i]);
        CHECK(fread(bytes_of[i], 1, size_of[i], f) == size_of[i]);
        fclose(f);
    }
}

/* Rows are right at once, and after two epochs the entry is too. */
static void damage_is_found(int n)
{
    for (int trial = 0; trial < 24; trial++) {
        int i = trial % n;
        size_t at = trial < 6 ? (size_t)trial * 5 : draw((uint32_t)size_of[i]);
        char *bad = must_alloc(size_of[i]);
        memcpy(bad, bytes_of[i], size_of[i]);
        if (trial % 3 == 2) write_bytes(kept[i], bad, trial == 2 ? 0 : at); /* half written */
        else {
            bad[at] ^= (char)(1 << trial % 8);
            write_bytes(kept[i], bad, size_of[i]);
        }
        free(bad);
        check_rows(1 + trial % 2);
        CHECK(is_whole(i));
    }
}

static void beside_others(int n)
{
    fflush(NULL);
    for (int i = 0; i < n; i++) unlink(kept[i]);
    for (int p = 0; p < 3; p++)
        if (fork() == 0) {
            check_rows(1 + p);
            exit(0);
        }
    for (int p = 0, status; p < 3; p++) CHECK(wait(&status) > 0 && status == 0);
    for (int i = 0; i < n; i++) CHECK(is_whole(i));
}

static int lines_of(const char *path)
{
    char line[1000];
    int n = 0;
    FILE *f = fopen(path, "r");
    fflush(stderr);
    while (f && fgets(line, sizeof line, f)) n += strstr(line, "is damaged") != NULL;
    fclose(f);
    return n;
}

int main(void)
{
    folder = text_of("%s/kept-XXXXXX", getenv("TMP") ? getenv("TMP") : "/tmp");
    CHECK(mkdtemp(folder));
    cache = text_of("%s/cache", folder);
    CHECK(mkdir(text_of("%s/corpus", folder), 0777) == 0);
    Learner *l = open_learner(&(Learning){.kind = TOKEN_WORDS});
    make_corpus(l);
    words = close_learner(l);
    expected = must_alloc(sizeof *expected * ROWS);
    setenv("LATHE_CACHE", "off", 1);
    Row_stream *s = start(1, NULL, false);
    Stream_sum sum;
    int epochs = 0;
    for (int k = 0; k < ROWS; k++) {
        expected[k] = next_row(s);
        epochs += epoch_ended(s, &sum);
    }
    CHECK(epochs >= 2);
    close_stream(s);
    s = start(1, NULL, true);
    uint64_t held = next_row(s);
    close_stream(s);
    setenv("LATHE_CACHE", cache, 1);
    check_rows(1);
    int n = list_kept();
    CHECK(n == 3);
    read_kept(n);
    check_rows(1);
    check_rows(8);
    s = start(1, NULL, true);
    CHECK(next_row(s) == held);
    close_stream(s);
    check_from_anywhere();
    char *said = text_of("%s/said", folder);
    CHECK(freopen(said, "w", stderr));
    damage_is_found(n);
    CHECK(lines_of(said) == 24);
    beside_others(n);
    setenv("LATHE_CACHE_LIMIT", "1000", 1); /* full */
    for (int i = 0; i < n; i++) unlink(kept[i]);
    check_rows(2);
    CHECK(list_kept() == 0);
    return 0;
}
