/* cudnn.cu: attention by cuDNN (runtime/cuda_cudnn*.cu) with the simulator's, against plain loops in doubles: random
 * shapes, all of a batch at once and in parts; forward and backward by cuDNN or by kernels of Lathe, in each
 * combination; what it must leave to them; in a graph; missing, too old. */
#include "attention_judge.cuh"

#include "cuda/attention_choice.cuh"
#include "cuda/cudnn_internal.h"

enum { WORKSPACE = 400 << 10 }; /* some cases are cut into parts */
static void *workspace;

static void restart(void) /* it keeps a limited number of shapes */
{
    cudnn_stop();
    cudnn_start(workspace, WORKSPACE);
}

/* Until 9.15 its derivatives are only taken where keys come in 128s (cuda/cudnn.cu). */
static bool any_keys(void) { return cudnn_version() > 91500; }
static int keys_in(void) { return any_keys() ? 1 : 128; }

/* Of those that cuDNN serves: causal or not, nothing else. */
template <class T> static Case served_case(int *number)
{
    for (;;) {
        Case c = make_case((*number += 4) | 32, below(6) == 0, 100, 128, 8,
                           [](double x) { return (double)(float)T((float)x); }, keys_in());
        if (c.aligned && !(c.flags & ~CAUSAL) && !c.offset && c.g.T > 1 && c.g.S > 1) return c;
    }
}

template <class T> static Results run_by(Case &c, bool forward_cudnn, bool back_cudnn)
{
    auto forward = [&](auto... a) {
        forward_cudnn ? attention<T, 128, 128, false>(NULL, a...) : launch_attention<T, 128, 128, false>(NULL, a...);
    };
    auto back = [&](auto... a) {
        back_cudnn ? attention_back<T, 128, 128, false>(NULL, a...)
                   : launch_attention_back<T, 128, 128, false>(NULL, a...);
    };
    c.weights = false;
    return run<T, float>(c, forward, back);
}

template <class T> static void test_type(const char *name, Lathe_dtype type, int n, double epsilon)
{
    int number = 0, left = 0;
    for (int i = 0; i < n && !failures; i++) {
        restart();
        Case c = served_case<T>(&number);
        Results r[4];
        for (int by = 0; by < 4; by++) r[by] = run_by<T>(c, by & 1, by & 2);
        /* where lse is odd between parts; or as the library says */
        left += !cudnn_serves(type, &c.g, CUDNN_FORWARD_LSE) || !cudnn_serves(type, &c.g, CUDNN_BACKWARD);
        all_queries(c);
        for (int by = 0; by < 4; by++)
            for (Which x : results)
                if (x != P) compare(c, i, x, r[by].x[x], epsilon);
        const char *said = sim_report();
        EXPECT(!*said, "case %d: %s", i, said);
    }
    EXPECT(left <= n / 3, "%s: %d of %d are not served", name, left, n);
    printf("note: %s: worst error %.2f units\n", name, worst);
    worst = 0;
}

/* Masks and turns that cuDNN is not asked for, though it would take the shape. */
static void test_left_to_ours(int n)
{
    for (int i = 0, number = 0; i < n && !failures; number += 4) {
        Case c = make_case(
            number | 32, false, 0, 64, 8, [](double x) { return (double)(float)Bf16((float)x); }, keys_in());
        restart();
        bool shape = c.aligned && !c.g.window && !(c.flags & DROPPED) && cudnn_serves(LATHE_BF16, &c.g, CUDNN_BACKWARD);
        if (!shape || !(c.offset || c.flags & (LENGTHS | SEGMENTS | TURNED))) continue;
        Results r = run_by<Bf16>(c, true, true);
        all_queries(c);
        for (Which x : results)
            if (x != P) compare(c, i, x, r.x[x], 0x1p-9);
        i++;
    }
}

/* ------------------------------------------------------------------ q, k, v side by side, as a projection leaves them
 */

static Lathe_attention packed(int64_t batch, int64_t heads, int64_t groups, int64_t time, int64_t width)
{
    Lathe_attention g = {};
    int64_t row = (heads + 2 * groups) * width;
    g.nbatch = 1, g.batch[0] = batch, g.T = g.S = time, g.H = heads, g.G = groups, g.D = g.E = width;
    g.scale = 0.25, g.causal = true;
    g.q = g.k = g.v = g.d_q = g.d_k = g.d_v = {{time * row}, row, width};
    g.o = g.d_o = {{time * heads * width}, heads * width, width};
    g.lse = {{heads * time}, 1, time};
    return g;
}

static void test_refusals(void)
{
    struct {
        const char *what;
        Lathe_attention g;
        Lathe_dtype type;
    } all[] = {{"fp32", packed(2, 2, 2, 64, 64), LATHE_F32},
               {"a head 60 wide", packed(2, 2, 2, 64, 60), LATHE_BF16},
               {"a window", packed(2, 2, 2, 64, 64), LATHE_BF16},
               {"dropout", packed(2, 2, 2, 64, 64), LATHE_BF16},
               {"one query", packed(2, 2, 2, 1, 64), LATHE_BF16},
               {"rows not in pieces", packed(2, 2, 2, 64, 64), LATHE_BF16},
               {"batch axes apart", packed(2, 2, 2, 128, 64), LATHE_F16},
               {"a head 264 wide", packed(2, 2, 2, 64, 264), LATHE_BF16}};
    all[2].g.window = 5, all[3].g.threshold = 7, all[5].g.q.time += 4;
    Lathe_attention &apart = all[6].g;
    apart.nbatch = 2, apart.batch[1] = 2;
    for (Lathe_heads *x :
         {&apart.q, &apart.k, &apart.v, &apart.o, &apart.lse, &apart.d_q, &apart.d_k, &apart.d_v, &apart.d_o})
        x->batch[1] = x->batch[0], x->batch[0] *= 2;
    EXPECT(cudnn_serves(LATHE_F16, &apart, CUDNN_BACKWARD), "two batch axes are not served");
    apart.q.batch[0] += 64;
    for (auto &a : all) {
        bool served = cudnn_serves(a.type, &a.g, CUDNN_FORWARD) || cudnn_serves(a.type, &a.g, CUDNN_FORWARD_LSE) ||
                      cudnn_serves(a.type, &a.g, CUDNN_BACKWARD);
        EXPECT(!served, "%s is served", a.what);
    }
    Lathe_attention good = packed(2, 2, 2, 128, 64), few = packed(2, 2, 2, 64, 64), wide = packed(2, 4, 4, 1024, 64);
    EXPECT(cudnn_serves(LATHE_BF16, &good, CUDNN_BACKWARD), "128 keys are not served");
    EXPECT(cudnn_serves(LATHE_BF16, &few, CUDNN_BACKWARD) == any_keys(), "64 keys");
    EXPECT(cudnn_serves(LATHE_BF16, &wide, CUDNN_FORWARD), "1024 keys are not served forward");
    EXPECT(!cudnn_serves(LATHE_BF16, &wide, CUDNN_BACKWARD), "a workspace of 8 MB lies in 400 KB");
    char *odd = (char *)workspace + 2;
    EXPECT(!cudnn_attention(NULL, LATHE_BF16, &good, odd, NULL, odd, odd, odd), "a misaligned pointer is served");
}

/* A batch cut into parts has the gradients of one that is not (the simulator's the same bits; cuDNN may choose another kernel). */
static void test_parts(void)
{
    Lathe_attention g = packed(4, 2, 1, 256, 16);
    size_t wide = (size_t)(4 * 256 * 4 * 16), narrow = (size_t)(4 * 256 * 2 * 16), queries = 4 * 2 * 256;
    Bf16 *qkv, *o, *d_o, *d_qkv;
    float *lse;
    char *larger;
    std::vector<Bf16> given(wide), gradient(narrow), in_parts(wide), at_once(wide);
    cudaMalloc(&qkv, 2 * wide), cudaMalloc(&d_qkv, 2 * wide), cudaMalloc(&o, 2 * narrow), cudaMalloc(&d_o, 2 * narrow);
    cudaMalloc(&lse, 4 * queries), cudaMalloc(&larger, 8 << 20);
    for (Bf16 &x : given) x = Bf16((float)normal());
    for (Bf16 &x : gradient) x = Bf16((float)normal());
    cudaMemcpy(qkv, given.data(), 2 * wide, cudaMemcpyHostToDevice);
    cudaMemcpy(d_o, gradient.data(), 2 * narrow, cudaMemcpyHostToDevice);
    EXPECT(cudnn_attention(NULL, LATHE_BF16, &g, o, lse, qkv, qkv + 32, qkv + 48), "forward is not served");
    for (int parts = 1; parts >= 0; parts--) {
        bool served = cudnn_attention_back(NULL, LATHE_BF16, &g, d_qkv, d_qkv + 32, d_qkv + 48, qkv, qkv + 32, qkv + 48,
                                           o, lse, d_o);
        EXPECT(served, "a batch %s is not served", parts ? "in parts" : "at once");
        cudaMemcpy((parts ? in_parts : at_once).data(), d_qkv, 2 * wide, cudaMemcpyDeviceToHost);
        cudaMemset(d_qkv, 0, 2 * wide);
        cudnn_stop();
        cudnn_start(larger, 8 << 20);
    }
    double off = 0, norm = 0;
    for (size_t i = 0; i < wide; i++) {
        double x = (float)in_parts[i], y = (float)at_once[i];
        off += (x - y) * (x - y), norm += y * y;
    }
    EXPECT(off <= 0x1p-14 * norm, "a batch in parts is off by %.2g of its gradients' norm", sqrt(off / norm));
    for (void *x : {(void *)qkv, (void *)d_qkv, (void *)o, (void *)d_o, (void *)lse}) cudaFree(x);
}

/* What a stream was captured with runs again, on other numbers: no pointer of the host's is in it. */
static void test_graph(void)
{
    Lathe_attention g = packed(4, 2, 1, 48, 16);
    size_t in = (size_t)(4 * 48 * 4 * 16), out = (size_t)(4 * 48 * 2 * 16);
    Bf16 *qkv, *o;
    cudaMalloc(&qkv, in * 2), cudaMalloc(&o, out * 2);
    std::vector<Bf16> given(in), got(out), again(out);
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    EXPECT(cudnn_serves(LATHE_BF16, &g, CUDNN_FORWARD), "the graph's shape is not served");
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
    EXPECT(cudnn_attention(stream, LATHE_BF16, &g, o, NULL, qkv, qkv + 32, qkv + 48), "the graph's call is not served");
    cudaStreamEndCapture(stream, &graph);
    cudaGraphInstantiate(&exec, graph, 0);
    for (int round = 0; round < 2; round++) {
        for (Bf16 &x : given) x = Bf16((float)normal());
        cudaMemcpy(qkv, given.data(), in * 2, cudaMemcpyHostToDevice);
        cudaGraphLaunch(exec, stream), cudaStreamSynchronize(stream);
        cudaMemcpy(got.data(), o, out * 2, cudaMemcpyDeviceToHost);
        EXPECT(cudnn_attention(stream, LATHE_BF16, &g, o, NULL, qkv, qkv + 32, qkv + 48), "the call is not served");
        cudaStreamSynchronize(stream);
        cudaMemcpy(again.data(), o, out * 2, cudaMemcpyDeviceToHost);
        EXPECT(memcmp(got.data(), again.data(), out * 2) == 0, "a graph's launch %d gives other bits than a call",
               round);
    }
    cudaGraphExecDestroy(exec), cudaGraphDestroy(graph), cudaStreamDestroy(stream);
    cudaFree(qkv), cudaFree(o);
    const char *said = sim_report();
    EXPECT(!*said, "the graph: %s", said);
}

/* A call that fails, or the second of one in parts, is not served, nor is that shape again. */
static void test_failing(void)
{
    Lathe_attention g = packed(4, 2, 1, 64, 16);
    Bf16 *qkv, *o;
    cudaMalloc(&qkv, (size_t)(4 * 64 * 4 * 16) * 2), cudaMalloc(&o, (size_t)(4 * 64 * 2 * 16) * 2);
    cudaMemset(qkv, 0, (size_t)(4 * 64 * 4 * 16) * 2);
    for (int after = 0; after < 2; after++) {
        EXPECT(cudnn_attention(NULL, LATHE_BF16, &g, o, NULL, qkv, qkv + 32, qkv + 48), "it is not served while nothing fails");
        sim_device.refuses = "execute";
        EXPECT(!cudnn_attention(NULL, LATHE_BF16, &g, o, NULL, qkv, qkv + 32, qkv + 48), "what fails is served");
        sim_device.refuses = "";
        EXPECT(!cudnn_serves(LATHE_BF16, &g, CUDNN_FORWARD), "what has failed is served");
        EXPECT(cudaPeekAtLastError() == cudaSuccess, "an error is left");
        cudnn_stop();
        cudnn_start(workspace, WORKSPACE);
    }
    cudaFree(qkv), cudaFree(o);
}

/* Engines that say that they give other bits each time are none. */
static void test_notes(void)
{
    Lathe_attention g = packed(2, 2, 2, 64, 16);
    cudnn_stop();
    setenv("FAKE_CUDNN_VARIES", "1", 1);
    cudnn_start(workspace, WORKSPACE);
    EXPECT(!cudnn_serves(LATHE_BF16, &g, CUDNN_FORWARD) && !cudnn_serves(LATHE_BF16, &g, CUDNN_BACKWARD), "what varies is taken");
    cudnn_stop();
    unsetenv("FAKE_CUDNN_VARIES");
    cudnn_start(workspace, WORKSPACE);
    EXPECT(cudnn_serves(LATHE_BF16, &g, CUDNN_FORWARD), "what does not vary is not taken");
}

/* The exit code is 77 where it is not there, or of a version that is not taken. */
static int ask(const char *missing)
{
    bool there = cudnn_version() != 0;
    puts(missing ? missing : there ? "cuDNN is there" : "cuDNN is not there");
    if (there) return 0;
    const char *why = cudnn_load(); /* NULL: it loads, but does not start */
    return why && !strstr(why, " has no ") ? 77 : 1;
}

int main(int argc, char **)
{
    cudaMalloc(&workspace, WORKSPACE);
    const char *missing = cudnn_start(workspace, WORKSPACE);
    if (argc > 1) return ask(missing);
    if (missing) return puts(missing), 1;
    int n = getenv("LATHE_LONG") ? 100 : 9;
    test_refusals();
    if (getenv("FAKE_CUDNN_NOTES")) test_notes();
    test_parts();
    test_type<Bf16>("bf16", LATHE_BF16, n, 0x1p-9);
    test_type<F16>("fp16", LATHE_F16, n / 3, 0x1p-12);
    test_left_to_ours(8);
    test_graph();
    test_failing();
    cudnn_stop();
    const char *said = sim_report();
    EXPECT(!*said, "at the end: %s", said);
    return failures > 0;
}
