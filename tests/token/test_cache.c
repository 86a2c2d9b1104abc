/* test_cache.c: ids that are kept between runs: right whatever became of their file, and whoever else writes it; no
 * more of them than the limit, what was not used for longest gone first, and nothing that is in use. */
#include "base/cache.h"
#include "token/token.h"

#include <time.h>
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(condition)                                                                                               \
    ((condition) ? (void)0 : (printf("FAILED: %s:%d: %s\n", __FILE__, __LINE__, #condition), exit(1)))

enum { TEXTS = 5, WORDS = 3000 };

static char *folder, *text[TEXTS];
static Tokenizer *words;

static char *make_text(uint32_t state)
{
    char *all = must_alloc(WORDS * 8 + 1), *at = all;
    for (int i = 0; i < WORDS; i++) {
        state = state * 1103515245u + 12345u;
        at += sprintf(at, "w%u ", (state >> 8) % 500);
    }
    return all;
}

static Tokenizer *learn_words(void)
{
    Learner *l = open_learner(&(Learning){.kind = TOKEN_WORDS});
    for (int k = 0; k < TEXTS; k++) learn_from(l, text[k], (int64_t)strlen(text[k]));
    return close_learner(l);
}

static Token_list list_of(int k)
{
    int64_t n = (int64_t)strlen(text[k]);
    return list_tokens(words, &(Stretch){text[k], "text", n}, 1, hash_of(text[k], (size_t)n));
}

static void check_list(int k)
{
    Token_list l = list_of(k);
    Ids ids = {0};
    Encoder *e = open_encoder(words);
    encode_bytes(e, text[k], (int64_t)strlen(text[k]), &ids);
    CHECK(l.n == ids.n && l.n == WORDS);
    for (int64_t i = 0; i < l.n; i++) CHECK(list_id(&l, i) == ids.at[i]);
    close_encoder(e);
    free_ids(&ids);
}

/* In a process of its own, whose files are not in use once it has ended. */
static void check_apart(int k)
{
    int status;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        check_list(k);
        exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child && status == 0);
}

static char *path_of(int k)
{
    return text_of("%s/tokens-%016llx-%016llx.bin", folder, (unsigned long long)hash_of(text[k], strlen(text[k])),
                   (unsigned long long)tokenizer_hash(words));
}

static bool is_kept(int k)
{
    char *path = path_of(k);
    bool there = access(path, F_OK) == 0;
    free(path);
    return there;
}

static int files(void)
{
    int n = 0;
    DIR *d = opendir(folder);
    for (const struct dirent *e; (e = readdir(d));) n += e->d_name[0] != '.' && strcmp(e->d_name, "lock") != 0;
    closedir(d);
    return n;
}

static void set_used(int k, int64_t seconds_ago)
{
    char *path = path_of(k);
    struct timespec when[2] = {{time(NULL) - seconds_ago, 0}, {time(NULL) - seconds_ago, 0}};
    CHECK(utimensat(AT_FDCWD, path, when, 0) == 0);
    free(path);
}

/* ------------------------------------------------------------------ damage */

static char *read_file(const char *path, size_t *n)
{
    struct stat about;
    FILE *f = fopen(path, "rb");
    CHECK(f && fstat(fileno(f), &about) == 0);
    char *all = must_alloc((size_t)about.st_size);
    *n = fread(all, 1, (size_t)about.st_size, f);
    fclose(f);
    return all;
}

static void write_file(const char *path, const char *at, size_t n)
{
    FILE *f = fopen(path, "wb");
    CHECK(f && fwrite(at, 1, n, f) == n && fclose(f) == 0);
}

static void made_anew(const char *path, const char *whole, size_t n)
{
    size_t now;
    check_apart(0);
    char *again = read_file(path, &now);
    CHECK(now == n && memcmp(again, whole, n) == 0);
    free(again);
}

static void damage_is_found(void)
{
    size_t n;
    check_apart(0);
    char *path = path_of(0), *whole = read_file(path, &n), *bad = must_alloc(n + 7);
    for (size_t k = 0; k < 40; k++) {
        size_t at = k < 24 ? k : 1024 + k * 7919 % (n - 1024);
        if (at >= 12 && at < 16) continue; /* a word of the head that says nothing */
        memcpy(bad, whole, n);
        bad[at] ^= (char)(1 << k % 8);
        write_file(path, bad, n);
        made_anew(path, whole, n);
    }
    for (size_t k = 0; k < 3; k++) { /* an id that no token has, under a checksum that is right */
        memcpy(bad, whole, n);
        memcpy(bad + 1024 + 2 * (k * 700 % WORDS), "\xff\xff", 2);
        uint64_t sum = hash_of(bad + 1024, n - 1024);
        memcpy(bad + 16, &sum, sizeof sum);
        write_file(path, bad, n);
        made_anew(path, whole, n);
    }
    for (size_t k = 0; k < 10; k++) {
        write_file(path, whole, k < 3 ? k * 600 : n - k * 2);
        made_anew(path, whole, n);
    }
    memcpy(bad, whole, n);
    write_file(path, bad, n + 7);
    made_anew(path, whole, n);
    memset(bad, 0, n);
    write_file(path, bad, n);
    made_anew(path, whole, n);
}

/* ------------------------------------------------------------------ together */

static void all_at_once(void)
{
    enum { PROCESSES = 6 };
    char *path = path_of(1), *part = text_of("%s/tokens-left.1.part", folder);
    write_file(part, "half", 4); /* of a program that was killed */
    fflush(NULL);
    for (int p = 0; p < PROCESSES; p++)
        if (fork() == 0) {
            for (int i = 0; i < 8; i++) {
                if (i % 3 == p % 3) unlink(path);
                check_list(1);
            }
            exit(0);
        }
    for (int p = 0, status; p < PROCESSES; p++) CHECK(wait(&status) > 0 && status == 0);
    check_apart(1);
    CHECK(is_kept(1) && access(part, F_OK) != 0);
}

/* ------------------------------------------------------------------ the limit */

static void oldest_goes_first(void)
{
    struct stat about;
    for (int k = 0; k < 3; k++) check_apart(k);
    CHECK(stat(path_of(0), &about) == 0 && files() == 3);
    setenv("LATHE_CACHE_LIMIT", text_of("%lld", (long long)about.st_size * 3 + 100), 1);
    for (int k = 0; k < 3; k++) set_used(k, 1000 - 100 * k);
    check_apart(0); /* used, and so the newest */
    check_apart(3);
    CHECK(is_kept(0) && !is_kept(1) && is_kept(2) && is_kept(3));
    set_used(2, 500);
    char *path = path_of(2);
    int fd = open_cached(path); /* in use, and touched: the others are older */
    set_used(2, 5000);
    set_used(0, 400);
    check_apart(4);
    CHECK(!is_kept(0) && is_kept(2) && is_kept(3) && is_kept(4));
    setenv("LATHE_CACHE_LIMIT", "100", 1);
    check_apart(0); /* fits nowhere, and is right */
    CHECK(files() == 3 && is_kept(2) && !is_kept(0));
    close(fd);
    unsetenv("LATHE_CACHE_LIMIT");
}

static void without_a_folder(void)
{
    char *file = text_of("%s/file", folder), *below = text_of("%s/below", file);
    write_file(file, "x", 1);
    setenv("LATHE_CACHE", below, 1);
    check_apart(0);
    setenv("LATHE_CACHE", "off", 1);
    check_apart(0);
}

int main(void)
{
    folder = text_of("%s/cache-XXXXXX", getenv("TMP") ? getenv("TMP") : "/tmp");
    CHECK(mkdtemp(folder));
    setenv("LATHE_CACHE", folder, 1);
    unsetenv("LATHE_CACHE_LIMIT");
    for (int k = 0; k < TEXTS; k++) text[k] = make_text((uint32_t)k + 1);
    words = learn_words();
    damage_is_found();
    all_at_once();
    oldest_goes_first();
    without_a_folder();
    return 0;
}
