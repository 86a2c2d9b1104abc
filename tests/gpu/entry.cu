/* entry.cu: a model's entry train on this GPU (or in the simulator), beside what the CPU gave (dump.h): loss and
 * gradients; the same bits from the second call on, in a graph, and on memory that was something else before.  Linked
 * with a case's model.cu and tables.c. entry FOLDER NAME LOSS GRADIENTS     the most that loss (relative) and gradients
 * (of their norm) may be off */
#include "cuda/cudnn.h"
#include "cuda/gemm.h"
#include "dump.h"
#include "sim.h"
#include "step/device.h"

#include <cuda_runtime.h>
#include <math.h>
#include <map>
#include <string>
#include <vector>

void (*cuda_lap)(int kernel, cudaStream_t stream);
void (*cuda_part)(int part, cudaStream_t stream);
void (*cuda_parameters_needed)(const void *first, size_t bytes, cudaStream_t stream);
void (*cuda_gradients_done)(const void *first, size_t bytes, cudaStream_t stream);
void (*cuda_parameters_dropped)(const void *first, size_t bytes, cudaStream_t stream);
void (*cuda_gradients_begun)(const void *first, size_t bytes, cudaStream_t stream);
void (*cuda_over_ranks)(void *to, const void *from, size_t bytes, cudaStream_t stream);
const Lathe_device lathe_cuda = {};
extern "C" int lathe_main(int, char **) { return 2; } /* both are a trainer's, and tables.c names them */

enum { WORKSPACE = 64 << 20 };

static int failed;

static void complain(const char *name, const char *what, const char *why)
{
    failed++;
    printf("failed: %s: %s%s\n", name, what, why);
}

/* ------------------------------------------------------------------ the dump */

struct Array {
    int32_t type;
    int64_t elements;
    std::vector<char> bytes;
};

static std::map<std::string, Array> read_dump(const char *path)
{
    std::map<std::string, Array> all;
    FILE *from = fopen(path, "rb");
    Dump_head h;
    while (from && fread(&h, sizeof h, 1, from) == 1) {
        Array &a = all[h.name];
        a.type = h.type, a.elements = h.elements;
        a.bytes.resize((size_t)(h.elements * dump_bytes(h.type)));
        if (fread(a.bytes.data(), 1, a.bytes.size(), from) != a.bytes.size()) all.clear();
    }
    if (from) fclose(from);
    return all;
}

static double element(int32_t type, const char *at, int64_t i)
{
    return type == LATHE_F64 ? ((const double *)at)[i] : ((const float *)at)[i];
}

/* ------------------------------------------------------------------ the entry and its memory */

struct Entry {
    const Lathe_model *model = &lathe_model;
    const Lathe_entry *entry = NULL;
    char *params, *grads, *in, *out, *state, *work;
    cudaStream_t stream;
    int real;
};

static char *room(int64_t bytes)
{
    char *at = NULL;
    if (cudaMalloc((void **)&at, (size_t)bytes + 256) != cudaSuccess)
        printf("failed: no %lld bytes on the GPU\n", (long long)bytes), exit(1);
    return at;
}

static Entry open_entry(void)
{
    Entry e;
    for (int i = 0; i < e.model->entries; i++)
        if (strcmp(e.model->entry[i].name, "train") == 0) e.entry = &e.model->entry[i];
    e.real = e.model->real == LATHE_F64 ? 8 : 4;
    e.params = room(e.model->flat_elements * e.real), e.grads = room(e.model->flat_elements * e.real);
    e.in = room(e.entry->in_bytes), e.out = room(e.entry->out_bytes), e.work = room(e.entry->work_bytes);
    e.state = room(e.model->state_bytes);
    cudaStreamCreateWithFlags(&e.stream, cudaStreamNonBlocking);
    return e;
}

/* Everything as before the first step; what nobody has written is `filling`. */
static void give(const Entry &e, std::map<std::string, Array> &dump, int filling)
{
    std::vector<char> in((size_t)e.entry->in_bytes);
    for (int i = 0; i < e.entry->inputs; i++) {
        const Array &a = dump[std::string("in.") + e.entry->input[i].name];
        memcpy(in.data() + e.entry->input[i].offset, a.bytes.data(), a.bytes.size());
    }
    cudaMemcpy(e.in, in.data(), in.size(), cudaMemcpyHostToDevice);
    cudaMemcpy(e.params, dump["params"].bytes.data(), dump["params"].bytes.size(), cudaMemcpyHostToDevice);
    cudaMemset(e.state, 0, (size_t)e.model->state_bytes);
    cudaMemset(e.grads, filling, (size_t)(e.model->flat_elements * e.real));
    cudaMemset(e.out, filling, (size_t)e.entry->out_bytes);
    cudaMemset(e.work, filling, (size_t)e.entry->work_bytes);
    cudaDeviceSynchronize();
}

static void run(const Entry &e)
{
    Lathe_call call = {e.params, e.grads, e.in, e.out, e.state, e.work, e.stream};
    e.entry->run(&call);
}

struct Result {
    std::vector<char> grads, loss;
};

static Result result(const Entry &e)
{
    Result r;
    cudaStreamSynchronize(e.stream);
    r.grads.resize((size_t)(e.model->flat_elements * e.real));
    cudaMemcpy(r.grads.data(), e.grads, r.grads.size(), cudaMemcpyDeviceToHost);
    for (int i = 0; i < e.entry->outputs; i++)
        if (strcmp(e.entry->output[i].name, "loss") == 0) {
            r.loss.resize((size_t)dump_bytes(e.entry->output[i].dtype));
            cudaMemcpy(r.loss.data(), e.out + e.entry->output[i].offset, r.loss.size(), cudaMemcpyDeviceToHost);
        }
    return r;
}

/* ------------------------------------------------------------------ what is asked of them */

/* Elements of parameters, not of the padding between them. */
template <class Do> static void each_element(const Lathe_model *m, Do do_it)
{
    for (int p = 0; p < m->params; p++) {
        int64_t n = 1;
        for (int k = 0; k < m->param[p].rank; k++) n *= m->param[p].dim[k];
        for (int64_t i = 0; i < n; i++) {
            int64_t at = m->param[p].offset, rest = i;
            for (int k = m->param[p].rank - 1; k >= 0; k--)
                at += rest % m->param[p].dim[k] * m->param[p].stride[k], rest /= m->param[p].dim[k];
            do_it(at);
        }
    }
}

static bool same_gradients(const Entry &e, const Result &a, const Result &b)
{
    bool same = a.loss == b.loss;
    each_element(e.model, [&](int64_t i) {
        same &= memcmp(&a.grads[(size_t)(i * e.real)], &b.grads[(size_t)(i * e.real)], (size_t)e.real) == 0;
    });
    return same;
}

static void compare(const Entry &e, const char *name, std::map<std::string, Array> &dump, const Result &r,
                    double loss_bound, double grad_bound)
{
    double want = element(LATHE_F64, dump["loss"].bytes.data(), 0), got = element(e.model->real, r.loss.data(), 0),
           off = 0, norm = 0;
    const Array &g = dump["grads"];
    each_element(e.model, [&](int64_t i) {
        double ours = element(g.type, g.bytes.data(), i), theirs = element(e.model->real, r.grads.data(), i);
        off += (ours - theirs) * (ours - theirs), norm += ours * ours;
    });
    double loss_off = fabs(got - want) / fabs(want), grad_off = sqrt(off / norm);
    printf("row: %s  loss off by %.1e  gradients by %.1e of their norm\n", name, loss_off, grad_off);
    if (!(loss_off <= loss_bound)) complain(name, "the loss", " is not the CPU's");
    if (!(grad_off <= grad_bound)) complain(name, "the gradients", " are not the CPU's");
}

static cudaGraphExec_t captured(const Entry &e)
{
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    cudaStreamBeginCapture(e.stream, cudaStreamCaptureModeThreadLocal);
    run(e);
    cudaStreamEndCapture(e.stream, &graph);
    cudaGraphInstantiate(&exec, graph, 0);
    if (graph) cudaGraphDestroy(graph);
    return exec;
}

int main(int argc, char **argv)
{
    if (argc != 5) return 2;
    const char *name = argv[2];
    std::map<std::string, Array> dump = read_dump((std::string(argv[1]) + "/entry.dump").c_str());
    if (!dump.count("params") || dump["params"].elements != lathe_model.flat_elements ||
        dump["params"].type != lathe_model.real) {
        complain(name, "entry.dump", " is not this model's");
        return 1;
    }
    char *workspace = room(WORKSPACE);
    cuda_gemm_start(workspace, WORKSPACE);
    const char *missing = cudnn_start(workspace, WORKSPACE);
    Entry e = open_entry();
    give(e, dump, 0xff);
    run(e);
    Result first = result(e);
    compare(e, name, dump, first, atof(argv[3]), atof(argv[4]));
    give(e, dump, 0x3c);
    run(e);
    if (!same_gradients(e, first, result(e))) complain(name, "a second call", " gives other bits");
    cudaGraphExec_t graph = captured(e);
    for (int round = 0; round < 2; round++) {
        give(e, dump, 0xff);
        cudaGraphLaunch(graph, e.stream);
        if (!same_gradients(e, first, result(e))) complain(name, "a graph", " gives other bits");
    }
    if (const char *failure = cuda_gemm_failure()) complain(name, "products: ", failure);
    const char *said = sim_report();
    if (*said) complain(name, "", said);
    if (missing && getenv("LATHE_VERBOSE")) puts(missing);
    return failed > 0;
}
