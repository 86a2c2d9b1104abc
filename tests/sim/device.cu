/* device.cu: a trainer's memory on a GPU (cuda/device.h) in the simulator: the host's block and the device's, copies, entries as
 * graphs.  What goes wrong is in device_wrong.cu, of the same program. */
#include "device_checks.cuh"

/* runs: of the entry's text, in six steps */
static void test_steps(bool waits, const char *refuses, int runs)
{
    double params[16], in = 0;
    Gpu_entry entry = {train, NULL, false, 0, {}, NULL};
    Lathe_call c = call();
    setenv("LATHE_CUDA_CHECK", waits ? "1" : "0", 1);
    sim_device.refuses = refuses;
    opened();
    EXPECT(sim_allocated() == sizeof block + 1256 + 512, "%zu bytes were taken", sim_allocated());
    EXPECT((uintptr_t)gpu_workspace() % 256 == 0, "the workspace is not aligned");
    EXPECT((char *)gpu_place(block.out) - (char *)gpu_place(block.params) == (char *)block.out - (char *)block.params, "places");
    for (int i = 0; i < 16; i++) params[i] = block.params[i] = (float)(i - 3);
    gpu_up(block.params, sizeof block.params);
    enqueued = 0;
    for (int step = 0; step < 6; step++) {
        block.in[0] = 0.5f * (float)(step + 1), block.in[1] = (float)step;
        in = block.in[0];
        gpu_up(block.in, sizeof block.in);
        memset(block.in, 0xff, sizeof block.in); /* the host goes on */
        gpu_run(&entry, &c);
        gpu_down(block.out, sizeof block.out);
        for (int i = 0; i < 16; i++) {
            params[i] += in * params[i];
            EXPECT(block.out[i] == (float)(step * params[i]), "step %d: %g, not %g", step, block.out[i], step * params[i]);
        }
    }
    EXPECT(enqueued == runs, "%s: the entry's text ran %d times", refuses, enqueued);
    sim_device.refuses = "";
    gpu_down(block.params, sizeof block.params);
    for (int i = 0; i < 16; i++) EXPECT(block.params[i] == (float)params[i], "%g, not %g", block.params[i], params[i]);
    block.work[9] = 5;
    for (int i = 0; i < 10 * MANY; i++) block.more[i] = (float)i;
    gpu_up(&block, sizeof block); /* eleven pieces */
    block.work[9] = 6;
    for (int i = 0; i < 10 * MANY; i++) block.more[i] = -1;
    gpu_down(&block, sizeof block);
    EXPECT(block.work[9] == 5, "%g, not 5", block.work[9]);
    for (int i = 0; i < 10 * MANY; i++) EXPECT(block.more[i] == (float)i, "number %d of eleven pieces is %g", i, block.more[i]);
    EXPECT(!gpu_failure(), "%s", gpu_failure());
    gpu_forget(&entry);
    closed();
}

static bool other_fails;
static bool other_failed(void) { return other_fails; }
static void train_and_fail(void *, const Lathe_call *c)
{
    other_fails = enqueued == 1; /* while it is captured */
    train(NULL, c);
}

/* A library fails while an entry is captured: it is not launched without what that was to do, nor is anything after it. */
static void test_others(void)
{
    Gpu_entry entry = {train_and_fail, NULL, false, 0, {}, NULL};
    Lathe_call c = call();
    setenv("LATHE_CUDA_CHECK", "0", 1);
    opened();
    gpu_ask(other_failed);
    for (int i = 0; i < 16; i++) block.params[i] = 1;
    block.in[0] = 1;
    gpu_up(&block, sizeof block);
    enqueued = 0, other_fails = false;
    for (int step = 0; step < 3; step++) gpu_run(&entry, &c);
    gpu_down(block.params, sizeof block.params);
    EXPECT(block.params[0] == 2 && enqueued == 2, "%g, not 2, behind %d calls", block.params[0], enqueued);
    other_fails = false;
    gpu_ask(NULL);
    gpu_forget(&entry);
    closed();
}

/* params go to the next block's place and are doubled, twice, each by a loop in one launch. */
PERSISTENT void around(Grid grid, float *x, float *y)
{
    for (int t = grid.from; t < grid.to; t++) {
        EACH_BLOCK(block, 16) if (threadIdx.x == 0) y[block] = x[(block + 1) % 16];
        meet(grid);
        EACH_BLOCK(block, 16) if (threadIdx.x == 0) x[block] = 2 * y[block];
        meet(grid);
    }
}

static void train_around(void *, const Lathe_call *c)
{
    enqueued++;
    for (const char *name : {"first_time: toy.lua:5", "second_time: toy.lua:6"})
        launch_persistent(name, around, 16, {3, 2}, 0, (cudaStream_t)c->stream, (unsigned *)c->work + 100, (float *)c->params,
                          (float *)c->work);
}

/* The blocks of a loop are refused, at once or while it is captured, where that may break what is captured: no update is lost,
 * none is made twice, and what runs is a graph.  runs: of the entry's text, in six steps */
static void test_refused_loops(const char *refuses, int runs)
{
    Gpu_entry entry = {train_around, NULL, false, 0, {}, NULL};
    Lathe_call c = call();
    setenv("LATHE_CUDA_CHECK", "0", 1);
    for (Loop_launched &loop : loops_launched.at) loop.refused = false;
    sim_device.refuses = refuses;
    (void)sim_refuses(NULL);
    opened();
    for (int i = 0; i < 16; i++) block.params[i] = (float)(i + 1);
    gpu_up(&block, sizeof block);
    enqueued = 0;
    double expected = 1;
    for (int step = 0; step < 6; step++) {
        gpu_run(&entry, &c);
        gpu_down(block.params, sizeof block.params);
        expected *= 64;
        for (int i = 0; i < 16; i++) {
            const double x = expected * ((i + 6 * (step + 1)) % 16 + 1);
            EXPECT(block.params[i] == (float)x, "%s, step %d: %g, not %g", refuses, step, block.params[i], x);
        }
    }
    EXPECT(enqueued == runs && entry.graph, "%s: the entry's text ran %d times, and there is %s graph", refuses, enqueued, entry.graph ? "a" : "no");
    EXPECT(!gpu_failure(), "%s", gpu_failure());
    gpu_forget(&entry);
    closed();
    sim_device.refuses = "";
}

/* More copies than there are pinned buffers, none of them waited for, each from where the host writes again at once. */
static void test_many_copies(int n)
{
    setenv("LATHE_CUDA_CHECK", "0", 1);
    opened();
    for (int i = 0; i < 10; i++) {
        float *at = block.more + n * i;
        for (int k = 0; k < n; k++) at[k] = (float)(i * n + k + 1);
        gpu_up(at, n * (int64_t)sizeof *at);
        for (int k = 0; k < n; k++) at[k] = -1;
    }
    gpu_down(block.more, 10 * n * (int64_t)sizeof *block.more);
    for (int i = 0; i < 10 * n; i++) EXPECT(block.more[i] == (float)(i + 1), "number %d is %g", i, block.more[i]);
    closed();
}

/* Rows that change places there, and what is cleared; only that. */
static void test_there(void)
{
    static const float expected[] = {0, 3, 1, 4, 0, 6, 7, 8};
    opened();
    for (int i = 0; i < 8; i++) block.work[i] = (float)(i + 1);
    gpu_up(block.work, sizeof block.work);
    gpu_copy(block.work + 1, block.work + 2, sizeof(float), 1, sizeof(float));
    gpu_copy(block.work + 2, block.work, sizeof(float), 1, sizeof(float));
    gpu_clear(block.work, sizeof(float));
    gpu_clear(block.work + 4, sizeof(float));
    for (int i = 0; i < 8; i++) block.work[i] = -1;
    gpu_down(block.work, 8 * sizeof(float));
    for (int i = 0; i < 8; i++) EXPECT(block.work[i] == expected[i], "%g, not %g", block.work[i], expected[i]);
    for (int i = 0; i < 8; i++) block.work[i] = (float)i;
    gpu_up(block.work, sizeof block.work);
    gpu_copy(block.work + 16, block.work + 1, 2 * sizeof(float), 2, 4 * sizeof(float)); /* of two rows of four the middle */
    gpu_down(block.work + 16, 8 * sizeof(float));
    EXPECT(block.work[16] == 1 && block.work[17] == 2 && block.work[20] == 5 && block.work[21] == 6, "pieces");
    closed();
}

/* Results that are read while what follows is under way. */
static void test_sent(void)
{
    double seconds = -1;
    opened();
    for (int step = 0; step < 5; step++) {
        block.in[0] = (float)step;
        gpu_begin(step % 2);
        gpu_up(block.in, sizeof block.in);
        gpu_send(step % 2, gpu_place(block.in), sizeof(float));
        float got = step ? *(const float *)gpu_sent((step - 1) % 2, &seconds) : -1;
        EXPECT(got == (float)(step - 1) && (!step || seconds > 0), "step %d: %g after %g s", step, got, seconds);
    }
    closed();
}

/* Steps whose inputs come while the one before them runs, as a trainer begins and ends them: each has its own. */
static void test_ahead(bool waits)
{
    enum { STEPS = 9 };
    double params = 1, expected[STEPS];
    Gpu_entry entry = {train, NULL, false, 0, {}, NULL};
    Lathe_call c = call();
    setenv("LATHE_CUDA_CHECK", waits ? "1" : "0", 1);
    opened();
    for (int i = 0; i < 16; i++) block.params[i] = 1;
    gpu_up(block.params, sizeof block.params);
    for (int step = 0; step <= STEPS; step++) {
        for (int i = 0; i < 16 && step < STEPS; i++) block.in[i] = (float)(1 + (step + i) % 3);
        if (step < STEPS) {
            params += block.in[0] * params;
            expected[step] = block.in[1] * params;
            gpu_ahead(block.in, sizeof(float));
            gpu_ahead(block.in + 1, sizeof block.in - sizeof(float));
            memset(block.in, 0xff, sizeof block.in); /* the host goes on */
            gpu_arrive();
            gpu_run(&entry, &c);
            gpu_send(step % 2, gpu_place(block.out), sizeof block.out);
        }
        const float *got = step ? (const float *)gpu_sent((step - 1) % 2, NULL) : NULL;
        if (got) EXPECT(got[0] == (float)expected[step - 1] && got[15] == got[0], "step %d: %g and %g, not %g", step - 1, got[0], got[15], expected[step - 1]);
    }
    EXPECT(!gpu_failure(), "%s", gpu_failure());
    gpu_forget(&entry);
    closed();
}

/* Whoever asks whether an event is reached goes on asking, with nothing gone wrong by it. */
static double longest;
static bool no_trouble(double waited)
{
    longest = waited > longest ? waited : longest;
    return false;
}

static void test_watched(void)
{
    Gpu_entry entry = {train, NULL, false, 0, {}, NULL};
    Lathe_call c = call();
    setenv("LATHE_CUDA_CHECK", "0", 1);
    opened();
    gpu_watch(no_trouble);
    longest = 0;
    gpu_up(&block, sizeof block);
    for (int i = 0; i < 4; i++) {
        gpu_run(&entry, &c);
        gpu_down(block.out, sizeof block.out);
    }
    gpu_wait();
    EXPECT(!gpu_failure() && longest > 0, "%s after %g s", gpu_failure(), longest);
    gpu_forget(&entry);
    gpu_watch(NULL);
    closed();
}

/* Where others are in trouble, what was to be read later has not come, and nothing stale is read for it. */
static bool trouble(double) { return true; }

static void test_trouble(void)
{
    opened();
    gpu_begin(0);
    gpu_send(0, gpu_place(&block), 8);
    EXPECT(gpu_sent(0, NULL), "%s", gpu_failure());
    gpu_watch(trouble);
    gpu_begin(0);
    Lathe_call c = call();
    Gpu_entry entry = {train, NULL, false, 0, {}, NULL};
    gpu_run(&entry, &c);
    gpu_send(0, gpu_place(&block), 8);
    EXPECT(!gpu_sent(0, NULL) && !gpu_failure(), "it is said to be there: %s", gpu_failure());
    gpu_watch(NULL);
    gpu_wait();
    gpu_forget(&entry);
    closed();
}

/* Other pointers make another graph. */
static void test_another_call(void)
{
    Gpu_entry entry = {train, NULL, false, 0, {}, NULL};
    Lathe_call c = call(), other = call();
    other.work = (char *)(block.work + 64);
    setenv("LATHE_CUDA_CHECK", "0", 1); /* graphs */
    memset(&block, 0, sizeof block);
    for (int i = 0; i < 16; i++) block.params[i] = 1;
    block.in[0] = 1;
    opened();
    gpu_up(&block, sizeof block);
    for (int i = 0; i < 3; i++) gpu_run(&entry, &c);
    for (int i = 0; i < 3; i++) gpu_run(&entry, &other);
    gpu_down(&block, sizeof block);
    EXPECT(block.params[0] == 64 && block.work[0] == 4 && block.work[64] == 32, "%g %g %g", block.params[0], block.work[0], block.work[64]);
    gpu_forget(&entry);
    closed();
}

int main(void)
{
    for (int order = SIM_FORWARD; order <= SIM_SHUFFLED; order++) {
        sim_order((Sim_order)order, 5);
        test_steps(false, "", 2);
        test_steps(true, "", 6);
        test_steps(false, "capture", 6);    /* no graphs: the second call, and those after it, as the first */
        test_steps(false, "captured", 7);   /* its end fails: the second call's text runs again */
        test_steps(false, "graph", 7);
        test_refused_loops("", 2);
        test_refused_loops("cooperative", 2);
        test_refused_loops("cooperative:3", 2);
        test_refused_loops("cooperative:3 invalidates", 4);
        test_refused_loops("cooperative:4 invalidates", 4);
        test_others();
        test_many_copies(16);
        test_many_copies(MANY);
        test_there();
        test_sent();
        test_watched();
        test_trouble();
        test_another_call();
        test_ahead(false);
        test_ahead(true);
    }
    test_failures();
    test_stuck();
    test_refusals();
    return failures != 0;
}
