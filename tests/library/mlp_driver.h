/* mlp_driver.h: what the drivers of a library of models/mlp.lua share: a batch, an instance, expectations, and a count of
 * allocations (the linker's --wrap of malloc, calloc, realloc and mmap). */
#include "mlp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

enum { ROWS = MLP_PREDICT_ROWS, COLUMNS = 4, CLASSES = 3 };
static float features[ROWS][COLUMNS] = {{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}, {1, 1, 0, 0}};
static float logits[ROWS][CLASSES];
static int failures;

#define EXPECT(condition, ...)                                                                                         \
    ((condition)                                                                                                       \
         ? (void)0                                                                                                     \
         : (printf("line %d: %s: ", __LINE__, #condition), printf("" __VA_ARGS__), puts(""), failures++, (void)0))

static int allocated;
void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *at, size_t n);
void *__real_mmap(void *at, size_t n, int prot, int flags, int fd, off_t from);
void *__wrap_malloc(size_t n) { return allocated++, __real_malloc(n); }
void *__wrap_calloc(size_t n, size_t size) { return allocated++, __real_calloc(n, size); }
void *__wrap_realloc(void *at, size_t n) { return allocated++, __real_realloc(at, n); }
void *__wrap_mmap(void *at, size_t n, int p, int f, int fd, off_t from)
{
    return allocated++, __real_mmap(at, n, p, f, fd, from);
}

static mlp *opened(const mlp_options *o)
{
    const char *wrong = "no memory";
    const size_t bytes = mlp_bytes(o);
    void *memory = aligned_alloc(64, (bytes + 63) / 64 * 64);
    mlp *m = memory ? mlp_open(memory, bytes, o, &wrong) : NULL;
    if (!m) puts(wrong), exit(1);
    return m;
}

static int predict(mlp *m) { return mlp_predict(m, &(mlp_predict_in){features}, &(mlp_predict_out){.logits = logits}); }

static int is_said(mlp *m, int code, const char *words) { return strstr(mlp_words(m, code), words) != NULL; }
