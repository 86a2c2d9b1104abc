/* gemm_tune.cu: chooses a product's algorithm, the fastest of those that agree with the plain kernel, and keeps the
 * choice in a file.
 *
 * The file: a line with GPU, version of cuBLASLt and workspace, then one line per product:
 *     KEY <tab> library|ours <tab> algorithm <tab> algorithm with the library's end, or - <tab> microseconds
 *     KEY <tab> wrong <tab> - <tab> - <tab> 0        every algorithm is wrong: the product is the plain kernel's
 * An algorithm is the library's struct in hexadecimal, which is checked before use.  Products whose lines cannot be
 * read are timed again. */
#include "cuda/gemm_internal.h"
#include "lathe_cuda.cuh"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { CANDIDATES = 16, TIMES = 3, LINE = 2048 };

/* ------------------------------------------------------------------ operands in the room */

/* Numbers between about 1 and 2 with both signs, in any of the types. */
KERNEL void fill_with_numbers(uint16_t *x, int64_t n)
{
    for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i < n; i += (int64_t)gridDim.x * THREADS) {
        uint32_t bits = (uint32_t)i * 2654435761u;
        bits ^= bits >> 15;
        x[i] = (uint16_t)(0x3f80u | (bits & 0x7fu) | (bits & 0x100u) << 7);
    }
}

/* Bytes from an operand's beginning to its last element; batch strides are not negative here. */
static int64_t span(const Lathe_gemm *s, const int64_t *batch, int64_t rows, int64_t row, int64_t columns,
                    int64_t column, int size)
{
    int64_t last = (rows - 1) * row + (columns - 1) * column;
    for (int i = 0; i < s->nbatch; i++)
        if (batch[i] > 0) last += (s->batch[i] - 1) * batch[i];
    return ((last + 1) * size + 255) / 256 * 256;
}

typedef struct Operands {
    char *a, *b, *c, *vector, *aux;
    int64_t bytes; /* of all */
} Operands;

static bool goes_back(const Lathe_gemm *s)
{
    for (int i = 0; i < s->nbatch; i++)
        if (s->a_batch[i] < 0 || s->b_batch[i] < 0 || s->c_batch[i] < 0) return true;
    return false;
}

static Operands operands_at(const Cuda_gemm *g, char *room)
{
    const Lathe_gemm *s = &g->shape;
    const int in = gemm_bytes(g).in, out = gemm_bytes(g).out;
    Operands o = {};
    o.a = room;
    o.b = o.a + span(s, s->a_batch, s->M, s->a_m, s->K, s->a_k, in);
    o.c = o.b + span(s, s->b_batch, s->K, s->b_k, s->N, s->b_n, in);
    o.vector = o.c + span(s, s->c_batch, s->M, s->c_m, s->N, s->c_n, out);
    o.aux = o.vector + ((s->M > s->N ? s->M : s->N) * out + 255) / 256 * 256;
    o.bytes = o.aux + (g->aux_m * s->M * out + 255) / 256 * 256 - room;
    return o;
}

/* ------------------------------------------------------------------ timing */

typedef struct Clock {
    cudaStream_t stream;
    cudaEvent_t begin, end;
    char *room;
    size_t bytes;
    double spent; /* ms */
    Gemm_results plain; /* the right result, after the operands; c NULL: no room for it */
    unsigned *word;     /* in the device's memory */
    bool afresh;
    int wrong;          /* algorithms */
} Clock;

static void fill(char *room, int64_t bytes, cudaStream_t stream)
{
    const int64_t n = bytes / 2;
    launch(fill_with_numbers, (int)(n / THREADS < 1024 ? n / THREADS + 1 : 1024), stream, (uint16_t *)room, n);
}

/* Fills the operands and computes the plain kernel's result at the end of the room, which is then shortened by it. */
static void make_plain(Clock *k, const Cuda_gemm *g)
{
    const Operands o = operands_at(g, k->room);
    const int64_t c = o.vector - o.c, vector = o.aux - o.vector, aux = o.bytes - (o.aux - k->room),
                  more = c + vector + aux + 256;
    char *at = k->room + ((int64_t)k->bytes - more) / 256 * 256;
    Gemm_plan own = {};
    k->plain = {};
    if ((int64_t)k->bytes < o.bytes + more + 256) return;
    k->plain = {at, gemm_sums(g) ? at + c : o.vector, gemm_is_gelu(g) ? at + c + vector : o.aux};
    k->word = (unsigned *)(at + c + vector + aux);
    k->bytes = (size_t)(at - k->room);
    own.own = true;
    fill(k->room, o.bytes, k->stream);
    gemm_run(g, &own, false, k->plain.c, o.a, o.b, false, k->stream, k->plain.vector, k->plain.aux);
}

/* Whether the plan's result agrees with the plain kernel's; also true if the plan fails, which is detected
 * elsewhere. */
static bool is_right(const Clock *k, const Cuda_gemm *g, const Gemm_plan *p, bool ended)
{
    const Operands o = operands_at(g, k->room);
    const Gemm_results made = {o.c, o.vector, o.aux};
    char why[200];
    if (!k->plain.c) return true;
    gemm_run(g, p, ended, o.c, o.a, o.b, false, k->stream, o.vector, o.aux);
    if (gemm_library.failure[0]) return true;
    const float off = gemm_off(g, &made, &k->plain, k->word, k->stream);
    if (off <= 1) return true;
    if (cudaPeekAtLastError() != cudaSuccess) return true;
    snprintf(why, sizeof why,
             "an algorithm of cuBLASLt%s gives other numbers than the plain kernel (by %.3g times what rounding "
             "explains): it is not used",
             ended ? " with its end" : "", (double)off);
    second_way(g->name, why);
    return false;
}

/* The mean time of a few runs in ms; operands move through the room, so that a large room makes them come from memory.
 * Infinite if it fails. */
static double time_of(Clock *k, const Cuda_gemm *g, const Gemm_plan *p, bool ended)
{
    int64_t sets = (int64_t)k->bytes / operands_at(g, k->room).bytes;
    float ms = 0;
    for (int i = -1; i < TIMES; i++) { /* the first is not counted */
        Operands o = operands_at(g, k->room);
        int64_t by = (i + 1) % sets * o.bytes;
        if (i == 0) cudaEventRecord(k->begin, k->stream);
        gemm_run(g, p, ended, o.c + by, o.a + by, o.b + by, false, k->stream, o.vector + by, o.aux + by);
    }
    cudaEventRecord(k->end, k->stream);
    bool ran = cudaEventSynchronize(k->end) == cudaSuccess &&
               cudaEventElapsedTime(&ms, k->begin, k->end) == cudaSuccess;
    if (cudaGetLastError() != cudaSuccess || !ran || gemm_library.failure[0]) return HUGE_VAL;
    k->spent += ms;
    return ms / (double)TIMES;
}

#define ALL_WRONG "every algorithm of cuBLASLt gives other numbers than the plain kernel"

/* Sets *way to the fastest algorithm and returns its time in ms; the plan's own if the library offers none.  An
 * algorithm that cannot be launched is left out, unless all are so. */
static double fastest(Clock *k, const Cuda_gemm *g, Gemm_plan *p, Way *way)
{
    cublasLtMatmulHeuristicResult_t some[CANDIDATES];
    int n = gemm_algorithms(g, p, way, some, CANDIDATES), best = 0, wrong = 0;
    double least = HUGE_VAL;
    char failure[sizeof gemm_library.failure] = "";
    if (gemm_library.failure[0]) return least;
    for (int i = 0; i < n; i++) {
        way->algo = some[i].algo;
        const bool right = is_right(k, g, p, way == &p->ended);
        double ms = right ? time_of(k, g, p, way == &p->ended) : HUGE_VAL;
        wrong += !right;
        if (ms < least) least = ms, best = i;
        if (gemm_library.failure[0]) memcpy(failure, gemm_library.failure, sizeof failure);
        gemm_library.failure[0] = 0;
    }
    k->wrong += wrong;
    if (n) way->algo = some[best].algo;
    if (wrong && least == HUGE_VAL) snprintf(gemm_library.failure, sizeof gemm_library.failure, "%s", ALL_WRONG);
    else if (n && least == HUGE_VAL) memcpy(gemm_library.failure, failure, sizeof failure);
    return least;
}

static double choose_by_time(Clock *k, const Cuda_gemm *g, Gemm_plan *p)
{
    double ours = fastest(k, g, p, &p->plain); /* including our end, if there is one */
    if (!p->ended.possible || gemm_library.failure[0]) return ours;
    double theirs = fastest(k, g, p, &p->ended);
    gemm_library.failure[0] = 0; /* the end is then ours */
    p->ended.possible = theirs <= ours;
    return theirs <= ours ? theirs : ours;
}

/* ------------------------------------------------------------------ the file */

static void say_key(char *to, const Cuda_gemm *g)
{
    const Lathe_gemm *s = &g->shape;
    int n = snprintf(to, LINE, "numbers %d end %d aux %lld: %lld %lld %lld: %lld %lld, %lld %lld, %lld %lld",
                     (int)g->numbers, (int)g->end, (long long)g->aux_m, (long long)s->M, (long long)s->N,
                     (long long)s->K, (long long)s->a_m, (long long)s->a_k, (long long)s->b_k, (long long)s->b_n,
                     (long long)s->c_m, (long long)s->c_n);
    for (int i = 0; i < s->nbatch; i++)
        n += snprintf(to + n, (size_t)(LINE - n), "; %lld: %lld %lld %lld", (long long)s->batch[i],
                      (long long)s->a_batch[i], (long long)s->b_batch[i], (long long)s->c_batch[i]);
}

static void say_algo(char *to, const cublasLtMatmulAlgo_t *algo)
{
    for (size_t i = 0; i < sizeof *algo; i++) sprintf(to + 2 * i, "%02x", ((const unsigned char *)algo)[i]);
}

static bool read_algo(const char *from, cublasLtMatmulAlgo_t *algo)
{
    if (strlen(from) != 2 * sizeof *algo) return false;
    for (size_t i = 0; i < sizeof *algo; i++) {
        unsigned byte;
        if (sscanf(from + 2 * i, "%2x", &byte) != 1) return false;
        ((unsigned char *)algo)[i] = (unsigned char)byte;
    }
    return true;
}

static void say_head(char *to)
{
    cudaDeviceProp device;
    const char *name = cudaGetDeviceProperties(&device, 0) == cudaSuccess ? device.name : "an unknown GPU";
    snprintf(to, LINE, "lathe products 3, %s, cuBLASLt %zu, workspace %zu\n", name, LIBRARY.cublasLtGetVersion(),
             gemm_library.workspace_bytes);
}

/* The file's lines in order, including those of other products. */
typedef struct Lines {
    char *text;
    size_t n;
} Lines;

static bool add_line(Lines *l, const char *text)
{
    size_t more = strlen(text);
    char *grown = (char *)realloc(l->text, l->n + more + 1);
    if (!grown) return false;
    memcpy(grown + l->n, text, more + 1);
    l->text = grown;
    l->n += more;
    return true;
}

static void read_file(Lines *l, const char *path, Gemm_tuning *t)
{
    char line[LINE], head[LINE];
    FILE *f = path ? fopen(path, "r") : NULL;
    if (!f && path && errno != ENOENT)
        snprintf(t->remark, sizeof t->remark, "cannot read %.150s: %.80s; products are timed again", path,
                 strerror(errno));
    if (!f) return;
    say_head(head);
    if (!fgets(line, sizeof line, f)) {
        snprintf(t->remark, sizeof t->remark, "%.150s: nothing can be read there; products are timed again", path);
    } else if (strcmp(line, head) != 0) {
        line[strcspn(line, "\n")] = 0;
        snprintf(t->remark, sizeof t->remark, "%.100s is of another GPU or library (%.80s); products are timed again",
                 path, line);
    } else {
        while (fgets(line, sizeof line, f))
            if (strchr(line, '\n')) add_line(l, line); /* complete lines */
    }
    fclose(f);
}

/* Written to another file and renamed: a reader finds the old file or the new one. */
static void write_file(const Lines *l, const char *path, Gemm_tuning *t)
{
    char head[LINE], aside[LINE];
    say_head(head);
    snprintf(aside, sizeof aside, "%s.%ld", path, (long)getpid());
    FILE *f = fopen(aside, "w");
    bool written = f && fputs(head, f) >= 0 && fputs(l->text ? l->text : "", f) >= 0;
    int error = errno;
    if (f && fclose(f) != 0) written = false, error = errno;
    if (written && rename(aside, path) == 0) return;
    if (written) error = errno;
    if (f) remove(aside);
    snprintf(t->remark, sizeof t->remark, "cannot write %.150s: %.80s; the next run times its products again", path,
             strerror(error));
}

static const char *line_of(const Lines *l, const char *key)
{
    size_t n = strlen(key);
    for (const char *at = l->text; at && *at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL)
        if (strncmp(at, key, n) == 0 && at[n] == '\t') return at + n + 1;
    return NULL;
}

static void drop_line(Lines *l, const char *key)
{
    char *at = (char *)line_of(l, key);
    if (!at) return;
    at -= strlen(key) + 1;
    size_t n = strcspn(at, "\n");
    n += at[n] == '\n';
    memmove(at, at + n, strlen(at + n) + 1);
    l->n -= n;
}

static bool accepted(const Gemm_plan *p, const Way *way, const cublasLtMatmulAlgo_t *algo)
{
    cublasLtMatmulHeuristicResult_t result;
    return LIBRARY.cublasLtMatmulAlgoCheck(gemm_library.handle, way->desc, p->a, p->b, way->d, way->d, algo,
                                           &result) == CUBLAS_STATUS_SUCCESS &&
           result.workspaceSize <= gemm_library.workspace_bytes;
}

/* Takes g's choice from the file, if it has one. */
static bool take_known(const Lines *l, const char *key, const Cuda_gemm *g, Gemm_plan *p)
{
    char who[16], plain[2 * sizeof(cublasLtMatmulAlgo_t) + 8], ended[sizeof plain];
    const char *line = line_of(l, key);
    cublasLtMatmulAlgo_t first, second;
    if (!line || sscanf(line, "%15s %135s %135s", who, plain, ended) != 3) return false;
    bool library = strcmp(who, "library") == 0;
    if (strcmp(who, "wrong") == 0) return gemm_take_own(g, p, ALL_WRONG), true;
    if (!library && strcmp(who, "ours") != 0) return false;
    if (!read_algo(plain, &first) || !accepted(p, &p->plain, &first)) return false;
    if (library && (!p->ended.possible || !read_algo(ended, &second) || !accepted(p, &p->ended, &second))) return false;
    p->plain.algo = first;
    if (library) p->ended.algo = second;
    p->ended.possible = library;
    return true;
}

static void say_product(Lines *l, const char *key, const Gemm_plan *p, double ms)
{
    char line[2 * LINE], plain[2 * sizeof p->plain.algo + 1], ended[sizeof plain] = "-";
    say_algo(plain, &p->plain.algo);
    if (p->ended.possible) say_algo(ended, &p->ended.algo);
    snprintf(line, sizeof line, "%s\t%s\t%s\t%s\t%.2f\n", key, p->ended.possible ? "library" : "ours", plain, ended,
             1e3 * ms);
    add_line(l, line);
}

static void say_wrong(Lines *l, const char *key)
{
    char line[2 * LINE];
    snprintf(line, sizeof line, "%s\twrong\t-\t-\t0\n", key);
    add_line(l, line);
}

/* ------------------------------------------------------------------ all of them */

static void tune(Cuda_gemm *g, Clock *k, Lines *l, Gemm_tuning *t)
{
    char key[LINE];
    Operands o = operands_at(g, k->room);
    bool wide = gemm_is_wide(g, o.c, o.a, o.b, o.vector, o.aux);
    Gemm_plan *p = gemm_plan(g, wide, g->end == GEMM_END_NONE ? NULL : o.vector, o.aux);
    if (!p || p->own) return;
    say_key(key, g);
    if (!k->afresh && take_known(l, key, g, p)) {
        t->known++;
    } else if (goes_back(&g->shape) || o.bytes > (int64_t)k->bytes) {
        t->too_large++;
    } else {
        const size_t bytes = k->bytes;
        k->wrong = 0;
        make_plain(k, g);
        double ms = choose_by_time(k, g, p);
        k->bytes = bytes;
        drop_line(l, key);
        if (k->plain.c) t->checked++;
        if (k->wrong) t->wrong++;
        if (strcmp(gemm_library.failure, ALL_WRONG) == 0) say_wrong(l, key), t->timed++;
        if (gemm_library.failure[0]) return gemm_take_own(g, p, gemm_library.failure);
        say_product(l, key, p, ms);
        t->timed++;
    }
}

bool cuda_gemm_tune(Cuda_gemm *const *products, int n, void *room, size_t bytes, const char *path, bool afresh,
                    cudaStream_t stream, Gemm_tuning *tuning)
{
    Clock k = {stream, NULL, NULL, (char *)room, bytes, 0, {}, NULL, afresh, 0};
    Lines lines = {NULL, 0};
    *tuning = {};
    read_file(&lines, path, tuning);
    if (cudaEventCreate(&k.begin) != cudaSuccess || cudaEventCreate(&k.end) != cudaSuccess) {
        gemm_fail(NULL, "events to time products", CUBLAS_STATUS_EXECUTION_FAILED);
        return false;
    }
    fill((char *)room, (int64_t)bytes, stream);
    for (int i = 0; i < n && !gemm_library.failure[0]; i++) tune(products[i], &k, &lines, tuning);
    tuning->ms = k.spent;
    cudaEventDestroy(k.begin);
    cudaEventDestroy(k.end);
    if (path && tuning->timed && !gemm_library.failure[0]) write_file(&lines, path, tuning);
    free(lines.text);
    return !gemm_library.failure[0];
}
