/* persistent.cu: what loops in one launch are made of, in the simulator: the meeting of all blocks, with mistakes that must
 * be named, in a stream and in a graph; products of a step against loops in doubles, the same bits for any number of blocks.
 * nvcc compiles the file too. */
#include "cuda/persistent.cuh"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vector>
#ifdef __CUDACC__
static const char *sim_report(void) { return ""; }
enum Sim_order { SIM_FORWARD, SIM_BACKWARD, SIM_SHUFFLED };
static void sim_order(Sim_order, unsigned) {}
static void set_processors(int) {}
static void set_refusals(const char *) {}
static void set_looks(bool) {}
#else
#include "sim.h"
static void set_processors(int n) { sim_device.processors = n; }
static void set_refusals(const char *words)
{
    sim_device.refuses = words;
    (void)sim_refuses(NULL);
}
static void set_looks(bool looks) { sim_device.looks = looks; }
#endif

#define LOOP "a loop of the test"

static int failed;

static void expect(bool holds, const char *what, const char *said = "")
{
    if (holds) return;
    failed++;
    printf("failed: %s%s%s\n", what, *said ? ": " : "", said);
}

static void expect_fault(const char *what, const char *word)
{
    bool error = cudaGetLastError() != cudaSuccess;
    const char *said = sim_report();
    expect(strstr(said, word) && error, what, *said ? said : "nobody sees it");
}

template <class T> static T *device(const std::vector<T> &from)
{
    T *at;
    cudaMalloc(&at, from.size() * sizeof(T));
    cudaMemcpy(at, from.data(), from.size() * sizeof(T), cudaMemcpyHostToDevice);
    return at;
}

template <class T> static void fetch(std::vector<T> *to, const T *at)
{
    cudaMemcpy(to->data(), at, to->size() * sizeof(T), cudaMemcpyDeviceToHost);
}

/* ------------------------------------------------------------------ meetings */

enum { BLOCKS = 5, N = BLOCKS * THREADS, TURNS = 6, FAR = 300 };

/* x[to][i] = x[from][i + FAR] + 1: each round reads what other blocks have written in the one before. */
DEVICE void round_of(int block, int *x, int round)
{
    const int *from = x + round % 2 * N, i = block * THREADS + threadIdx.x;
    int *to = x + (round + 1) % 2 * N;
    to[i] = from[(i + FAR) % N] + 1;
}

DEVICE void one_round(int *x, int round)
{
    for (int block = blockIdx.x; block < BLOCKS; block += gridDim.x) round_of(block, x, round);
}

PERSISTENT void rounds(Grid grid, int *x)
{
    for (int round = grid.from; round < grid.to; round++) {
        EACH_BLOCK(block, BLOCKS) round_of(block, x, round);
        meet(grid);
    }
}

/* Backwards, with the meeting in the middle: x[i] goes by own[t % 2][i] + 1 to a block far away.  Behind it a count. */
PERSISTENT void middle(Grid grid, int *x)
{
    for (int t = TURNS - 1 - grid.from; t >= TURNS - grid.to; t--) {
        int *own = x + (1 + t % 2) * N;
        EACH_BLOCK(block, BLOCKS) own[block * THREADS + threadIdx.x] = x[block * THREADS + threadIdx.x] + 1;
        meet(grid);
        EACH_BLOCK(block, BLOCKS) x[block * THREADS + threadIdx.x] = own[(block * THREADS + threadIdx.x + FAR) % N];
        ONE_BLOCK if (threadIdx.x == 0) x[3 * N] = 10 * x[3 * N] + t;
    }
}

/* Blocks that need nothing of each other. */
PERSISTENT void alone(Grid grid, int *x)
{
    for (int t = grid.from; t < grid.to; t++) EACH_BLOCK(block, BLOCKS) x[block * THREADS + threadIdx.x] += t;
}

PERSISTENT void no_meeting(Grid, int *x)
{
    for (int round = 0; round < TURNS; round++) one_round(x, round);
}

PERSISTENT void every_other(Grid grid, int *x)
{
    for (int round = 0; round < TURNS; round++) {
        one_round(x, round);
        if (round % 2) meet(grid);
    }
}

/* As meet(), with one thing left out. */
enum Left_out { RELEASE, ACQUIRE, BARRIER_BEFORE, BARRIER_AFTER, A_BLOCK };

template <Left_out what> DEVICE void meet_badly(Grid &grid)
{
    grid.due += gridDim.x;
    if (what != BARRIER_BEFORE) __syncthreads();
    if (threadIdx.x == 0) {
        if (what == RELEASE) atomicAdd(grid.arrived, 1u);
        else add_release(grid.arrived, 1);
        if (what != ACQUIRE)
            while ((int)(load_acquire(grid.arrived) - grid.due) < 0) continue;
    }
    if (what != BARRIER_AFTER) __syncthreads();
}

template <Left_out what> PERSISTENT void bad_rounds(Grid grid, int *x)
{
    for (int round = 0; round < TURNS; round++) {
        if (what == A_BLOCK && blockIdx.x == 1 && round == 2) return;
        one_round(x, round);
        meet_badly<what>(grid);
    }
}

/* Memory of the block's own, from meeting to meeting. */
PERSISTENT void own_memory(Grid grid, int *x)
{
    __shared__ int own[THREADS];
    own[threadIdx.x] = blockIdx.x;
    meet(grid);
    x[blockIdx.x * THREADS + threadIdx.x] = own[THREADS - 1 - threadIdx.x];
}

static bool right(const std::vector<int> &x)
{
    bool all = true;
    for (int i = 0; i < N; i++) all &= x[TURNS % 2 * N + i] == (i + TURNS * FAR) % N + TURNS;
    return all;
}

static std::vector<int> start(void)
{
    std::vector<int> x(2 * N);
    for (int i = 0; i < N; i++) x[i] = x[N + i] = i;
    return x;
}

static void test_meetings(void)
{
    std::vector<int> x = start();
    int *at = device(x), *arrived = device(std::vector<int>(1, 77));
    for (int processors : {1, 2, 4, 132}) {
        set_processors(processors);
        x = start();
        cudaMemcpy(at, x.data(), x.size() * sizeof(int), cudaMemcpyHostToDevice);
        launch_persistent(LOOP, rounds, BLOCKS, {TURNS, 1}, 0, NULL, (unsigned *)arrived, at);
        fetch(&x, at);
        expect(right(x), "rounds between meetings", sim_report());
    }
    launch_persistent(LOOP, own_memory, BLOCKS, {1, 1}, 1 << 20, NULL, (unsigned *)arrived, at); /* more room than there is beside its own */
    fetch(&x, at);
    bool own = true;
    for (int i = 0; i < N; i++) own &= x[i] == i / THREADS;
    const char *said = sim_report();
    expect(own && !*said, "shared memory is each block's own", said);
    cudaFree(at);
    cudaFree(arrived);
}

/* A graph's launches begin to count anew. */
static void test_graph(void)
{
    std::vector<int> x = start();
    int *at = device(x), *arrived = device(std::vector<int>(1, 77));
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
    launch_persistent(LOOP, rounds, BLOCKS, {TURNS, 1}, 0, stream, (unsigned *)arrived, at);
    expect(cudaStreamEndCapture(stream, &graph) == cudaSuccess, "a cooperative launch is captured", sim_report());
    expect(cudaGraphInstantiate(&exec, graph, 0) == cudaSuccess, "its graph");
    for (int again = 0; again < 2; again++) {
        x = start();
        cudaMemcpy(at, x.data(), x.size() * sizeof(int), cudaMemcpyHostToDevice);
        cudaGraphLaunch(exec, stream);
        cudaStreamSynchronize(stream);
        fetch(&x, at);
        expect(right(x), "rounds in a graph", sim_report());
    }
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);
    cudaStreamDestroy(stream);
    cudaFree(at);
    cudaFree(arrived);
}

static Grid whole(unsigned *arrived) { return {arrived, 0, 0, 0, NULL, 0, 0, TURNS, WHOLE_LOOP, 0}; }

static void test_mistakes(void)
{
    int *at = device(start());
    unsigned *arrived = (unsigned *)device(std::vector<int>(1, 0));
    launch_persistent(LOOP, no_meeting, BLOCKS, {TURNS, 1}, 0, NULL, arrived, at);
    expect_fault("no meeting", "another block");
    launch_persistent(LOOP, every_other, BLOCKS, {TURNS, 1}, 0, NULL, arrived, at);
    expect_fault("a meeting too few", "another block");
    launch_persistent(LOOP, bad_rounds<RELEASE>, BLOCKS, {TURNS, 1}, 0, NULL, arrived, at);
    expect_fault("nothing released", "another block");
    launch_persistent(LOOP, bad_rounds<ACQUIRE>, BLOCKS, {TURNS, 1}, 0, NULL, arrived, at);
    expect_fault("nothing acquired", "another block");
    launch_persistent(LOOP, bad_rounds<BARRIER_BEFORE>, BLOCKS, {TURNS, 1}, 0, NULL, arrived, at);
    expect_fault("released before others of the block are done", "another block");
    launch_persistent(LOOP, bad_rounds<BARRIER_AFTER>, BLOCKS, {TURNS, 1}, 0, NULL, arrived, at);
    expect_fault("others of the block go on before it is acquired", "another block");
    launch_persistent(LOOP, bad_rounds<A_BLOCK>, BLOCKS, {TURNS, 1}, 0, NULL, arrived, at);
    expect_fault("a block stays away", "for other blocks, which wait too or have returned");
    launch(rounds, 1, NULL, whole(arrived), at); /* alone it does not wait */
    (void)sim_report();
    cudaMemset(arrived, 0, sizeof *arrived);
    launch(rounds, BLOCKS, NULL, whole(arrived), at);
    expect_fault("a launch that is not cooperative", "is not cooperative");
    set_processors(132);
    cudaLaunchAttribute together = {};
    together.id = cudaLaunchAttributeCooperative;
    together.val.cooperative = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(132 * 8 + 1);
    config.blockDim = dim3(THREADS);
    config.attrs = &together;
    config.numAttrs = 1;
    (void)cudaLaunchKernelEx(&config, rounds, whole(arrived), at);
    expect_fault("more blocks than run at once", "a cooperative launch of 1057 blocks, of which 1056 can run at once");
    cudaFree(at);
    cudaFree(arrived);
}

/* ------------------------------------------------------------------ refusals, and meetings that never end */

typedef void (*Loop)(const char *name, cudaStream_t stream, unsigned *arrived, int *at);
static void launch_rounds(const char *name, cudaStream_t stream, unsigned *arrived, int *at)
{
    launch_persistent(name, rounds, BLOCKS, {TURNS, 1}, 0, stream, arrived, at);
}
static void launch_middle(const char *name, cudaStream_t stream, unsigned *arrived, int *at)
{
    launch_persistent(name, middle, BLOCKS, {TURNS, 1}, 0, stream, arrived, at);
}
static void launch_alone(const char *name, cudaStream_t stream, unsigned *arrived, int *at)
{
    launch_persistent(name, alone, BLOCKS, {TURNS, 0}, 0, stream, arrived, at);
}

static std::vector<int> run_loop(Loop loop, const char *name, bool off)
{
    std::vector<int> x(3 * N + 1);
    for (int i = 0; i < N; i++) x[i] = i;
    int *at = device(x), *arrived = device(std::vector<int>(1, 77));
    switch_off(name, off);
    loop(name, NULL, (unsigned *)arrived, at);
    switch_off(name, false);
    fetch(&x, at);
    cudaFree(at);
    cudaFree(arrived);
    return x;
}

/* Refused from the first launch on, or later, or switched off: its stretches are launched, the same bits. */
static void test_refusals(void)
{
    static const struct {
        Loop loop;
        const char *name;
        bool meets;
    } loops[] = {{launch_rounds, "rounds", true}, {launch_middle, "a meeting in the middle", true}, {launch_alone, "no meeting", false}};
    for (const auto &l : loops) {
        set_refusals("");
        loop_launched(l.name)->refused = false;
        const std::vector<int> expected = run_loop(l.loop, l.name, false);
        expect(!loop_launched(l.name)->refused, l.name, "refused");
        expect(run_loop(l.loop, l.name, true) == expected, l.name, "switched off, other numbers");
        for (const char *words : {"cooperative", "together", "cooperative:2"}) {
            set_refusals(words);
            loop_launched(l.name)->refused = false;
            for (int again = 0; again < 3; again++) expect(run_loop(l.loop, l.name, false) == expected, l.name, words);
            const char *said = sim_report();
            expect(!*said && cudaGetLastError() == cudaSuccess, l.name, said);
            expect(loop_launched(l.name)->refused == l.meets, l.name, "whether its blocks are refused");
        }
    }
    set_refusals(NULL);
}

/* The number of meetings that the launch is told of is one that the kernel has. */
static void test_wrong_stretches(void)
{
    std::vector<int> x = start(), first = x;
    int *at = device(x), *arrived = device(std::vector<int>(1, 77));
    switch_off(LOOP, true);
    for (Turns turns : {Turns{TURNS, 2}, Turns{TURNS - 1, 1}}) {
        cudaMemcpy(at, first.data(), x.size() * sizeof(int), cudaMemcpyHostToDevice);
        launch_persistent(LOOP, rounds, BLOCKS, turns, 0, NULL, (unsigned *)arrived, at);
        fetch(&x, at);
        expect(!right(x), "a wrong number of meetings or iterations gives the right numbers", sim_report());
    }
    switch_off(LOOP, false);
    cudaFree(at);
    cudaFree(arrived);
}

PERSISTENT void one_leaves(Grid grid, int *x)
{
    for (int round = 0; round < TURNS; round++) {
        if (blockIdx.x == 1 && round == 2) return;
        one_round(x, round);
        meet(grid);
    }
}

/* It ends, as a failed launch, and says which loop it was. */
static void test_gives_up(void)
{
    int *at = device(start()), *arrived = device(std::vector<int>(1, 77));
    unsigned stuck = 0;
    loops_launched.stuck = &stuck;
    set_looks(true);
    launch_persistent("another loop", rounds, BLOCKS, {TURNS, 1}, 0, NULL, (unsigned *)arrived, at);
    expect(!loop_that_gave_up(), "nothing gives up", sim_report());
    launch_persistent("the loop that hangs", one_leaves, BLOCKS, {TURNS, 1}, 0, NULL, (unsigned *)arrived, at);
    expect_fault("a block stays away, and the others give up", "__trap()");
    expect(loop_that_gave_up() && strcmp(loop_that_gave_up(), "the loop that hangs") == 0, "which loop gave up");
    set_looks(false);
    loops_launched.stuck = NULL;
    cudaFree(at);
    cudaFree(arrived);
}

/* ------------------------------------------------------------------ products */

static unsigned drawn;

static double draw(void) /* from -1 to 1 */
{
    drawn = drawn * 1664525u + 1013904223u;
    return (double)(drawn >> 8) / (1 << 23) - 1;
}

template <class T> static std::vector<T> numbers(int64_t n)
{
    std::vector<T> x;
    for (int64_t i = 0; i < n; i++) x.push_back(T((float)draw()));
    return x;
}

/* How many elements a matrix with these strides, in all batches, reaches over. */
static int64_t reach(int64_t rows, int64_t row, int64_t columns, int64_t column, const Lathe_gemm &s, const int64_t *batch)
{
    int64_t last = (rows - 1) * row + (columns - 1) * column;
    for (int i = 0; i < s.nbatch; i++) last += (s.batch[i] - 1) * batch[i];
    return last + 1;
}

template <class G>
PERSISTENT void one_product(Grid grid, typename G::Out *c, const typename G::In *a, const typename G::In *b, bool add,
                            const typename G::Out *row)
{
    const typename G::In *kept = keep<G>(grid, b); /* room 0: nothing is */
    __syncthreads();
    EACH_BLOCK(slice, slices<G>)
        step_product<G>(slice, kept, c, a, b, add, row);
}

/* Within what the types round: a sum of K products has an error of some units of the largest it could be. */
template <class G> static bool close(const typename G::In *a, const typename G::In *b, double was, double row, double is)
{
    constexpr Lathe_gemm s = G::shape;
    double sum = was + row, size = fabs(was) + fabs(row);
    for (int64_t k = 0; k < s.K; k++) {
        double x = (double)(typename Sum_of<typename G::In>::type)a[k * s.a_k] *
                   (double)(typename Sum_of<typename G::In>::type)b[k * s.b_k];
        sum += x;
        size += fabs(x);
    }
    double unit = sizeof(typename G::Out) == 8 ? 0x1p-52 : 0x1p-23;
    double stored = sizeof(typename G::Out) != 2 ? 0 : Is_fp16<typename G::Out>::value ? 0x1p-11 : 0x1p-8;
    return fabs(is - sum) <= size * unit * (8 + (double)s.K / 8) + fabs(sum) * stored;
}

template <class G> static void test_product(const char *what, bool add, bool with_row)
{
    typedef typename G::In In;
    typedef typename G::Out Out;
    typedef typename Sum_of<In>::type Sum;
    constexpr Lathe_gemm s = G::shape;
    std::vector<In> a = numbers<In>(reach(s.M, s.a_m, s.K, s.a_k, s, s.a_batch));
    std::vector<In> b = numbers<In>(reach(s.K, s.b_k, s.N, s.b_n, s, s.b_batch));
    std::vector<Out> old = numbers<Out>(reach(s.M, s.c_m, s.N, s.c_n, s, s.c_batch)), row = numbers<Out>(s.N), c = old, first;
    In *da = device(a), *db = device(b);
    Out *dc = device(old), *drow = device(row);
    unsigned *arrived = (unsigned *)device(std::vector<int>(1, 0));
    for (int processors : {1, 3, 132, 133}) {
        bool keeps = !s.nbatch && processors % 2; /* a batch's b are several */
        set_processors(processors > 132 ? 132 : processors);
        cudaMemcpy(dc, old.data(), old.size() * sizeof(Out), cudaMemcpyHostToDevice);
        launch_persistent(LOOP, one_product<G>, slices<G>, {1, 0}, keeps ? kept_bytes<G> : 0, NULL, arrived, dc, da, db, add, with_row ? drow : NULL);
        fetch(&c, dc);
        if (first.empty()) first = c;
        expect(!memcmp(c.data(), first.data(), c.size() * sizeof(Out)), "other bits for another number of blocks", what);
    }
    const char *said = sim_report();
    expect(!*said, what, said);
    int64_t batches = 1, wrong = 0;
    for (int i = 0; i < s.nbatch; i++) batches *= s.batch[i];
    for (int64_t l = 0; l < batches; l++) {
        int64_t at = l, ab = 0, bb = 0, cb = 0;
        for (int i = s.nbatch - 1; i >= 0; at /= s.batch[i--]) {
            ab += at % s.batch[i] * s.a_batch[i];
            bb += at % s.batch[i] * s.b_batch[i];
            cb += at % s.batch[i] * s.c_batch[i];
        }
        for (int64_t m = 0; m < s.M; m++)
            for (int64_t n = 0; n < s.N; n++) {
                int64_t i = cb + m * s.c_m + n * s.c_n;
                wrong += !close<G>(&a[ab + m * s.a_m], &b[bb + n * s.b_n], add ? (double)(Sum)old[i] : 0,
                                   with_row ? (double)(Sum)row[n] : 0, (double)(Sum)c[i]);
            }
    }
    expect(!wrong, "elements of a product", what);
    cudaFree(da), cudaFree(db), cudaFree(dc), cudaFree(drow), cudaFree(arrived);
}

#define SLICED(name, In, Out, period, wide, ...)                                                                       \
    struct name : Step_product<In, Out, period, wide> {                                                                \
        static constexpr Lathe_gemm shape = {__VA_ARGS__};                                                             \
        static constexpr bool words = shape.a_m % 2 == 0 && shape.a_k == 1;                                            \
    };
#define PRODUCT(name, In, Out, ...) SLICED(name, In, Out, 0, SLICE, __VA_ARGS__)
PRODUCT(Upright, float, float, .M = 33, .N = 65, .K = 70, .a_m = 70, .a_k = 1, .b_k = 65, .b_n = 1, .c_m = 65, .c_n = 1)
PRODUCT(Turned, float, float, .M = 32, .N = 24, .K = 64, .a_m = 80, .a_k = 1, .b_k = 1, .b_n = 64, .c_m = 24, .c_n = 1)
PRODUCT(Both_turned, float, float, .M = 5, .N = 7, .K = 9, .a_m = 1, .a_k = 5, .b_k = 1, .b_n = 9, .c_m = 1, .c_n = 5)
PRODUCT(One_row, float, float, .M = 1, .N = 40, .K = 100, .a_m = 100, .a_k = 1, .b_k = 1, .b_n = 100, .c_m = 40, .c_n = 1)
PRODUCT(Few_rows, float, float, .M = 3, .N = 1, .K = 5, .a_m = 5, .a_k = 1, .b_k = 1, .b_n = 5, .c_m = 1, .c_n = 1)
PRODUCT(Short, float, float, .M = 8, .N = 9, .K = 1, .a_m = 1, .a_k = 8, .b_k = 9, .b_n = 1, .c_m = 9, .c_n = 1)
PRODUCT(Doubles, double, double, .M = 17, .N = 12, .K = 33, .a_m = 33, .a_k = 1, .b_k = 12, .b_n = 1, .c_m = 12, .c_n = 1)
PRODUCT(Halves, F16, F16, .M = 18, .N = 20, .K = 48, .a_m = 48, .a_k = 1, .b_k = 1, .b_n = 48, .c_m = 20, .c_n = 1)
PRODUCT(Brains, Bf16, Bf16, .M = 32, .N = 16, .K = 64, .a_m = 64, .a_k = 1, .b_k = 1, .b_n = 64, .c_m = 16, .c_n = 1)
PRODUCT(To_floats, Bf16, float, .M = 32, .N = 17, .K = 40, .a_m = 40, .a_k = 1, .b_k = 17, .b_n = 1, .c_m = 17, .c_n = 1)
PRODUCT(Batch, float, float, .nbatch = 1, .batch = {6}, .a_batch = {30}, .b_batch = {0}, .c_batch = {27}, .M = 3, .N = 9,
        .K = 10, .a_m = 10, .a_k = 1, .b_k = 9, .b_n = 1, .c_m = 9, .c_n = 1)
PRODUCT(Batches, float, float, .nbatch = 2, .batch = {2, 3}, .a_batch = {150, 50}, .b_batch = {7, 210}, .c_batch = {7, 70},
        .M = 5, .N = 7, .K = 10, .a_m = 10, .a_k = 1, .b_k = 14, .b_n = 1, .c_m = 14, .c_n = 1)

SLICED(Tensor_gates, Bf16, float, 12, 2, .M = 33, .N = 48, .K = 144, .a_m = 144, .a_k = 1, .b_k = 1, .b_n = 144, .c_m = 48,
       .c_n = 1)
SLICED(Tensor_column, F16, F16, 24, 1, .M = 5, .N = 24, .K = 64, .a_m = 70, .a_k = 1, .b_k = 24, .b_n = 1, .c_m = 24, .c_n = 1)
PRODUCT(Tensor_batch, Bf16, Bf16, .nbatch = 1, .batch = {3}, .a_batch = {320}, .b_batch = {160}, .c_batch = {100}, .M = 20,
        .N = 5, .K = 16, .a_m = 16, .a_k = 1, .b_k = 1, .b_n = 32, .c_m = 5, .c_n = 1)
SLICED(Gates, float, float, 12, 2, .M = 9, .N = 48, .K = 70, .a_m = 70, .a_k = 1, .b_k = 1, .b_n = 70, .c_m = 48, .c_n = 1)
SLICED(Odd_gates, Bf16, float, 7, 1, .M = 4, .N = 21, .K = 16, .a_m = 16, .a_k = 1, .b_k = 21, .b_n = 1, .c_m = 21, .c_n = 1)
SLICED(Uneven, float, float, 14, 4, .M = 2, .N = 28, .K = 33, .a_m = 33, .a_k = 1, .b_k = 1, .b_n = 33, .c_m = 28, .c_n = 1)

template <class G> static void test_ends(const char *what)
{
    for (int i = 0; i < 4; i++) test_product<G>(what, i % 2, i / 2 && !G::shape.nbatch && G::shape.c_n == 1);
}

static void test_products(void)
{
    test_ends<Upright>("upright");
    test_ends<Turned>("turned");
    test_ends<Both_turned>("a and c by columns");
    test_ends<One_row>("one row");
    test_ends<Few_rows>("a column of few rows");
    test_ends<Short>("K of 1");
    test_ends<Doubles>("doubles");
    test_ends<Halves>("fp16");
    test_ends<Brains>("bf16");
    test_ends<To_floats>("bf16 to floats");
    test_ends<Gates>("columns of four gates");
    test_ends<Odd_gates>("single columns of three gates");
    test_ends<Uneven>("a last slice that is narrower");
    test_ends<Tensor_gates>("gates on tensor cores");
    test_ends<Tensor_column>("columns on tensor cores");
    test_ends<Tensor_batch>("a batch on tensor cores");
    test_ends<Batch>("a batch over one b");
    test_ends<Batches>("two batch axes");
}

int main(void)
{
    for (int order = SIM_FORWARD; order <= SIM_SHUFFLED; order++) {
        sim_order((Sim_order)order, 3);
        test_meetings();
        test_graph();
        test_mistakes();
        test_refusals();
        test_wrong_stretches();
        test_gives_up();
        test_products();
    }
    return failed > 0;
}
