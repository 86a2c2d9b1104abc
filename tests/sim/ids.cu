/* ids.cu: ids out of range (cuda/ids.cuh): a kernel goes on with 0, and of the first kernel that meets some the smallest is on
 * record, with its check's texts; in three orders of blocks and threads. */
#include "cuda/ids.cuh"
#include "sim.h"

#include <stdio.h>
#include <string.h>

enum { BLOCKS = 3, N = BLOCKS * THREADS };
static int failures;
static void expect(bool holds, const char *what)
{
    if (!holds) failures++, printf("failed: %s\n", what);
}

KERNEL void gather(int *to, const int *ids, int below)
{
    const int i = blockIdx.x * THREADS + threadIdx.x;
    to[i] = data_id(ids[i], below, "toy.lua:3", "gather in wte");
}

KERNEL void overwrite(int *to, const int *ids, int below)
{
    const int i = blockIdx.x * THREADS + threadIdx.x;
    to[i] = computed_id(ids[i], below, "toy.lua:8", "overwrite");
}

static Cuda_bad_id record(void)
{
    Cuda_bad_id bad;
    cudaMemcpy(&bad, cuda_bad_id(), sizeof bad, cudaMemcpyDeviceToHost);
    return bad;
}

static int ids[N], got[N], *device_ids, *device_got;

static void both(int below)
{
    cudaMemcpy(device_ids, ids, sizeof ids, cudaMemcpyHostToDevice);
    launch(gather, BLOCKS, NULL, device_got, (const int *)device_ids, below);
    cudaMemcpy(got, device_got, sizeof got, cudaMemcpyDeviceToHost);
    launch(overwrite, BLOCKS, NULL, device_got, (const int *)device_ids, below - 100);
}

static void smallest_of_the_first(void)
{
    both(1000);
    expect(record().check == 0, "good ids are complained of");
    cudaMemset(cuda_bad_id(), 0, sizeof(Cuda_bad_id));
    ids[7] = 1001, ids[300] = -5, ids[700] = 1000, ids[701] = INT_MIN + 3;
    both(1000);
    Cuda_bad_id bad = record();
    expect(bad.check && (int)(INT_MAX - bad.over) == INT_MIN + 3, "another id than the smallest");
    expect(bad.below == 1000 && bad.data, "another check's range");
    expect(strcmp(bad.place, "toy.lua:3") == 0 && strcmp(bad.what, "gather in wte") == 0, "another check's texts");
    for (int i = 0; i < N; i++) expect(got[i] == (ids[i] >= 0 && ids[i] < 1000 ? ids[i] : 0), "a kernel goes on with another id");
    cudaMemset(cuda_bad_id(), 0, sizeof(Cuda_bad_id));
    ids[7] = ids[300] = ids[700] = ids[701] = 950;
    both(1000);
    bad = record();
    expect((int)(INT_MAX - bad.over) == 950 && !bad.data && strcmp(bad.what, "overwrite") == 0, "the second kernel's");
    cudaMemset(cuda_bad_id(), 0, sizeof(Cuda_bad_id));
}

int main(void)
{
    expect(cudaMalloc(&device_ids, sizeof ids) == cudaSuccess && cudaMalloc(&device_got, sizeof got) == cudaSuccess, "memory");
    for (int order = SIM_FORWARD; order <= SIM_SHUFFLED; order++) {
        for (int i = 0; i < N; i++) ids[i] = i;
        sim_order((Sim_order)order, 5);
        smallest_of_the_first();
    }
    const char *said = sim_report();
    if (*said) failures++, printf("failed: the simulator says:\n%s\n", said);
    return failures != 0;
}
