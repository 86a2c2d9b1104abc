/* cudnn_plans.cc: the real cuDNN, asked whether it compiles the graphs of attention for an H200 that is not here.  It
 * gets as far as loading the kernel, which the toolkit's stub of the driver refuses: what stands before that holds. */
#include "cuda/cudnn_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIBRARY cudnn_library

static const char h200[] =
    "{\"cudaDeviceId\":0,\"deviceName\":\"NVIDIA "
    "H200\",\"deviceVer\":900,\"driverVer\":13000,\"isTccDriver\":0,\"l2CacheSize\":62914560,"
    "\"maxBlockSize\":[1024,1024,64],\"maxCtasPerSM\":32,\"maxGridSize\":[2147483647,65535,65535],"
    "\"maxRegistersPerSM\":65536,"
    "\"maxSharedMemoryPerBlock\":49152,\"maxSharedMemoryPerBlockOptin\":232448,\"maxSharedMemoryPerSM\":233472,"
    "\"maxThreadsPerBlock\":1024,\"maxThreadsPerSM\":2048,\"memClockRateKHz\":3201000,\"multiProcessorCount\":132,"
    "\"pciDeviceId\":0,"
    "\"regsPerBlock\":65536,\"reservedSharedMemoryPerBlock\":1024,\"smClockRateKHz\":1980000,\"supportCoopLaunch\":1,"
    "\"totalGlobalMem\":150754820096,\"warpSize\":32}";

static bool pretend(void)
{
    cudnnStatus_t status = LIBRARY.cudnnBackendCreateDescriptor(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, &LIBRARY.device);
    if (status == CUDNN_STATUS_SUCCESS)
        status = LIBRARY.cudnnBackendSetAttribute(LIBRARY.device, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION,
                                                  CUDNN_TYPE_CHAR, (int64_t)strlen(h200), h200);
    if (status == CUDNN_STATUS_SUCCESS) status = LIBRARY.cudnnBackendFinalize(LIBRARY.device);
    return status == CUDNN_STATUS_SUCCESS;
}

static struct Shape {
    int64_t batch, heads, groups, time, keys, width;
    bool causal;
} shapes[] = {{64, 12, 12, 1024, 1024, 64, true},
              {4, 8, 4, 1000, 1000, 80, true},
              {2, 4, 4, 256, 512, 128, false},
              /* in the long run */
              {12, 4, 4, 64, 64, 32, true},
              {3, 3, 1, 130, 77, 256, false},
              {8, 8, 8, 2048, 2048, 192, true}};

static Lathe_attention attention_of(const Shape &s)
{
    Lathe_attention g = {};
    int64_t row = (s.heads + 2 * s.groups) * s.width;
    g.nbatch = 1, g.batch[0] = s.batch, g.T = s.time, g.S = s.keys, g.H = s.heads, g.G = s.groups, g.D = g.E = s.width;
    g.causal = s.causal;
    g.q = g.d_q = {{s.time * row}, row, s.width};
    g.k = g.v = g.d_k = g.d_v = {{s.keys * row}, row, s.width};
    g.o = g.d_o = {{s.time * s.heads * s.width}, s.heads * s.width, s.width};
    g.lse = {{s.heads * s.time}, 1, s.time};
    return g;
}

static int repeating; /* ways whose engines give the same bits every time */

/* How many of its ways compile; each must, and be content with our workspace; one at least must give the same bits every time. */
static int ways_of(const Shape &s, Cudnn_what what, cudnnDataType_t type)
{
    Lathe_attention g = attention_of(s);
    Cudnn_graph graph = cudnn_graph(&g, what, type, s.batch);
    cudnnBackendDescriptor_t ways[16];
    int n = cudnn_ways(&graph, ways, 16), good = 0, same = 0;
    for (int i = 0; i < n; i++) {
        char said[2048] = "";
        cudnnBackendDescriptor_t plan = cudnn_plan_of(ways[i]);
        LIBRARY.cudnnGetLastErrorString(said, sizeof said);
        int64_t bytes = cudnn_way_bytes(ways[i]);
        same += cudnn_way_repeats(ways[i]);
        bool room = bytes <= (what == CUDNN_BACKWARD ? cudnn_workspace_bytes(&g, s.batch) : 1024);
        if (!room) printf("a workspace of %lld bytes\n", (long long)bytes);
        if (!plan && !strstr(said, "cuLibraryLoadData")) printf("refused: %s\n", said);
        else good += room;
        if (plan) LIBRARY.cudnnBackendDestroyDescriptor(plan);
        LIBRARY.cudnnBackendDestroyDescriptor(ways[i]);
    }
    cudnn_forget_graph(&graph);
    repeating += same;
    return n && same && good == n ? n : 0;
}

int main(void)
{
    const char *missing = cudnn_load();
    int n = getenv("LATHE_LONG") ? 6 : 3, bad = 0, ways = 0;
    if (missing) {
        puts(missing);
        return 77;
    }
    if (!pretend()) {
        puts("failed: cuDNN refuses the H200's properties");
        return 1;
    }
    for (int i = 0; i < n; i++)
        for (int what = CUDNN_FORWARD; what <= CUDNN_BACKWARD; what++) {
            int found = ways_of(shapes[i], (Cudnn_what)what, i % 2 ? CUDNN_DATA_HALF : CUDNN_DATA_BFLOAT16);
            if (!found) printf("failed: shape %d, %s\n", i, what == CUDNN_BACKWARD ? "backward" : "forward");
            bad += !found, ways += found;
        }
    printf("note: cuDNN %zu compiles %d ways to compute %d shapes for sm_90, %d of which give the same bits every time\n",
           LIBRARY.cudnnGetVersion(), ways, n, repeating);
    return bad > 0;
}
