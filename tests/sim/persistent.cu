/* persistent.cu: what loops in one launch are made of, in the simulator: the meeting of all blocks, with mistakes that must
 * be named, in a stream and in a graph; launches that are refused.  nvcc compiles the file too. */
#include "persistent_checks.cuh"

static void expect_fault(const char *what, const char *word)
{
    bool error = cudaGetLastError() != cudaSuccess;
    const char *said = sim_report();
    expect(strstr(said, word) && error, what, *said ? said : "nobody sees it");
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
    }
    return failed > 0;
}
