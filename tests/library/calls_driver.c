/* calls_driver.c: for calls.sh: calls that are wrong, and what a library must leave alone. */
#include "mlp_driver.h"

#include <dirent.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__ /* is slow */
enum { INSTANCES = 100, DAMAGED = 1000, RACED = 500 };
#else
enum { INSTANCES = 1000, DAMAGED = 3000, RACED = 3000 };
#endif
static int32_t targets[ROWS] = {0, 1, 2, 1};
static char room[1 << 20];

static int threads_now(void)
{
    int n = 0;
    DIR *d = opendir("/proc/self/task");
    for (const struct dirent *e; d && (e = readdir(d));) n += e->d_name[0] != '.';
    if (d) closedir(d);
    return n;
}

static void closed(mlp *m)
{
    mlp_close(m);
    free(m);
}

static void wrong_opens(void)
{
    const char *wrong = NULL;
    const size_t bytes = mlp_bytes(NULL);
    char *memory = aligned_alloc(64, (bytes + 127) / 64 * 64);
    EXPECT(!mlp_open(NULL, bytes, NULL, &wrong) && strstr(wrong, "NULL"));
    EXPECT(!mlp_open(memory, bytes - 1, NULL, &wrong) && strstr(wrong, "as bytes() says of the same options"));
    EXPECT(!mlp_open(memory + 8, bytes, NULL, &wrong) && strstr(wrong, "aligned"));
    EXPECT(!mlp_open(memory, bytes, &(mlp_options){.threads = -1}, &wrong) && strstr(wrong, "threads"));
    EXPECT(!mlp_open(memory, 0, NULL, NULL));
    memset(memory, 0x55, bytes);
    EXPECT(predict((mlp *)memory) == MLP_USAGE && is_said((mlp *)memory, MLP_USAGE, "not open"));
    mlp_close((mlp *)memory);
    mlp_close(NULL);
    EXPECT(predict(NULL) == MLP_USAGE && is_said(NULL, MLP_USAGE, "NULL"));
    mlp *m = mlp_open(memory, bytes, NULL, &wrong);
    EXPECT(m && predict(m) == 0);
    mlp_close(m);
    EXPECT(predict(m) == MLP_USAGE && is_said(m, MLP_USAGE, "not open"));
    free(memory);
}

/* Without its checksum, which would find all damage. */
static void copy_unchecked(char *to, const char *saved, size_t used)
{
    memcpy(to, saved, used);
    for (char *at = to + 8; at < to + 900; at++)
        if (memcmp(at, "\"checksum", 9) == 0) at[1] = 'C';
}

static void damaged_loads(mlp *m, const char *saved, size_t used)
{
    char *copy = malloc(used);
    float before[ROWS][CLASSES];
    EXPECT(predict(m) == 0);
    memcpy(before, logits, sizeof before);
    EXPECT(mlp_load(m, NULL, 10) == MLP_USAGE);
    for (size_t n = 0; n < used; n += n < 700 ? 1 : 97) { /* cut off; behind exactly n bytes lies nothing */
        char *exact = malloc(n ? n : 1);
        memcpy(exact, saved, n);
        EXPECT(mlp_load(m, exact, n) == MLP_DATA, "%zu bytes", n);
        free(exact);
    }
    unsigned seed = 1;
    for (int k = 0; k < DAMAGED; k++) { /* changed in the header */
        copy_unchecked(copy, saved, used);
        for (int i = 0; i <= k % 3; i++) seed = seed * 1664525 + 1013904223, copy[seed % 900] = (char)(seed >> 24);
        (void)mlp_load(m, copy, used);
    }
    copy_unchecked(copy, saved, used);
    memset(copy + used - 8, 0xff, 4);
    EXPECT(mlp_load(m, copy, used) == MLP_DATA && is_said(m, MLP_DATA, "not finite"));
    EXPECT(mlp_load(m, saved, used) == 0 && predict(m) == 0);
    EXPECT(memcmp(before, logits, sizeof before) == 0);
    free(copy);
}

#ifndef ANSWERS
static int train(mlp *m, mlp_step_out *out) { return mlp_step(m, &(mlp_step_in){features, targets}, out); }

static void wrong_steps(mlp *m)
{
    mlp_step_out out;
    size_t used = 0;
    EXPECT(mlp_step(m, NULL, &out) == MLP_USAGE && is_said(m, MLP_USAGE, "inputs are NULL"));
    EXPECT(mlp_step(m, &(mlp_step_in){features, NULL}, &out) == MLP_USAGE && is_said(m, MLP_USAGE, "targets"));
    EXPECT(mlp_predict(m, &(mlp_predict_in){features}, NULL) == MLP_USAGE);
    EXPECT(mlp_evaluate(m, &(mlp_evaluate_in){features, targets}, NULL) == MLP_USAGE);
    targets[2] = CLASSES;
    const int code = train(m, &out);
    EXPECT(code == MLP_DATA && is_said(m, code, "step: the input targets: expected numbers 0 to 2, found targets[2] = 3"),
           "%s", mlp_words(m, code));
    targets[2] = 2;
    features[1][1] = NAN;
    EXPECT(train(m, &out) == MLP_DIVERGED && is_said(m, MLP_DIVERGED, "finite"));
    features[1][1] = 1;
    EXPECT(mlp_steps(m) == 0 && mlp_steps(NULL) == -1);
    EXPECT(train(m, &out) == 0 && mlp_steps(m) == 1 && isfinite(out.loss));
    EXPECT(mlp_save(m, room, 10, &used) == MLP_USAGE && used > 10 && is_said(m, MLP_USAGE, "room"));
}

/* ---- one instance, two threads */

static void *train_much(void *m)
{
    int busy = 0;
    for (int k = 0; k < RACED; k++) {
        const int code = mlp_step(m, &(mlp_step_in){features, targets}, NULL);
        busy += code == MLP_BUSY;
        if (code && code != MLP_BUSY) abort();
    }
    return (void *)(intptr_t)busy;
}

static void two_threads(void)
{
    pthread_t thread;
    mlp *m = opened(&(mlp_options){.threads = 2});
    if (pthread_create(&thread, NULL, train_much, m) != 0) abort();
    void *others, *busy = train_much(m);
    pthread_join(thread, &others);
    EXPECT(mlp_steps(m) == 2 * RACED - (intptr_t)busy - (intptr_t)others, "%lld steps", (long long)mlp_steps(m));
    EXPECT(mlp_words(m, MLP_BUSY)[0]);
    closed(m);
}

/* ---- what stays as it was */

static void own_handler(int number) { (void)number; }

static void quiet_life(void)
{
    char folder[4096], folder_after[4096];
    struct sigaction before[65], after;
    mlp_step_out out;
    size_t used;
    signal(SIGUSR1, own_handler);
    for (int k = 1; k < 65; k++) (void)sigaction(k, NULL, &before[k]);
    const char *locale = setlocale(LC_ALL, NULL), *cwd = getcwd(folder, sizeof folder);
    mlp *m = opened(&(mlp_options){.threads = 3});
    const int threads = threads_now();
    (void)predict(m);
    allocated = 0;
    for (int k = 0; k < 50; k++) EXPECT(train(m, &out) == 0);
    EXPECT(predict(m) == 0);
    EXPECT(mlp_evaluate(m, &(mlp_evaluate_in){features, targets}, &(mlp_evaluate_out){0}) == 0);
    EXPECT(mlp_save(m, room, sizeof room, &used) == 0 && mlp_load(m, room, used) == 0);
    const int some = allocated;
    EXPECT(some == 0, "%d allocations after open", some);
    EXPECT(threads_now() == threads);
    for (int k = 1; k < 65; k++)
        EXPECT(sigaction(k, NULL, &after) != 0 || after.sa_handler == before[k].sa_handler, "signal %d", k);
    EXPECT(strcmp(locale, setlocale(LC_ALL, NULL)) == 0 && cwd &&
           strcmp(cwd, getcwd(folder_after, sizeof folder_after)) == 0);
    closed(m);
}

static void thousand(void)
{
    const int threads = threads_now();
    for (int k = 0; k < INSTANCES; k++) {
        mlp *m = opened(&(mlp_options){.threads = 1 + k % 3, .seed = k});
        EXPECT(train(m, NULL) == 0);
        closed(m);
    }
    for (int k = 0; k < 100 && threads_now() > threads; k++) usleep(1000);
    EXPECT(threads_now() == threads);
}
#endif

int main(int argc, char **argv)
{
    size_t used = 0;
    FILE *f;
    mlp *m = opened(NULL);
    if (argc == 3 && strcmp(argv[1], "load") == 0) {
        if (!(f = fopen(argv[2], "rb"))) return 1;
        used = fread(room, 1, sizeof room, f);
        fclose(f);
        EXPECT(predict(m) == MLP_USAGE && is_said(m, MLP_USAGE, "weights first"));
        const int code = mlp_load(m, room, used);
        EXPECT(code == 0 && predict(m) == 0, "%s", mlp_words(m, code));
        EXPECT(mlp_save_weights(m, room, sizeof room, &used) == 0);
        damaged_loads(m, room, used);
        return failures != 0;
    }
    wrong_opens();
#ifndef ANSWERS
    wrong_steps(m);
    EXPECT(mlp_save(m, room, sizeof room, &used) == 0);
    if (argc == 3) return (f = fopen(argv[2], "wb")) && fwrite(room, 1, used, f) == used && fclose(f) == 0 ? 0 : 1;
    damaged_loads(m, room, used);
    two_threads();
    quiet_life();
    thousand();
#endif
    closed(m);
    return failures != 0;
}
