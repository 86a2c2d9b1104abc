/* kernels.cu: CUDA written by hand that is right: it gives the right numbers in the simulator, in three orders of blocks and
 * threads.  nvcc compiles the file too. */
#include "kernels_checks.cuh"

/* sum += x[0] + … + x[n - 1]: a tree in shared memory, then one atomic addition a block */
__global__ void sum_of(int *sum, const int *x, int n)
{
    __shared__ int part[128];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    part[threadIdx.x] = i < n ? x[i] : 0;
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        __syncthreads();
        if ((int)threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
    }
    if (threadIdx.x == 0) atomicAdd(sum, part[0]);
}

/* y[columns][rows] = x[rows][columns], by tiles of 32 x 32 */
__global__ void transpose(float *y, const float *x, int rows, int columns)
{
    __shared__ float tile[32][33];
    int column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 32 + threadIdx.y;
    for (int i = 0; i < 32; i += 8)
        if (row + i < rows && column < columns) tile[threadIdx.y + i][threadIdx.x] = x[(row + i) * columns + column];
    __syncthreads();
    int to_column = blockIdx.y * 32 + threadIdx.x, to_row = blockIdx.x * 32 + threadIdx.y;
    for (int i = 0; i < 32; i += 8)
        if (to_row + i < columns && to_column < rows) y[(to_row + i) * rows + to_column] = tile[threadIdx.x][threadIdx.y + i];
}

/* Running sums of each warp by shuffles, and a sum over groups of 8 lanes; y[2][threads] */
__global__ void scans(int *y, const int *x)
{
    int i = threadIdx.x, lane = i % 32, sum = x[i], group = x[i];
    for (int d = 1; d < 32; d *= 2) {
        int below = __shfl_up_sync(FULL, sum, d);
        if (lane >= d) sum += below;
    }
    for (int d = 4; d > 0; d /= 2) group += __shfl_xor_sync(FULL, group, d, 8);
    y[i] = sum;
    y[blockDim.x + i] = __shfl_sync(FULL, group, 0, 8);
}

/* The halves of a warp go different ways, each with its own mask: lane 0's value, or lane 31's. */
__global__ void halves(int *y, const int *x)
{
    int i = threadIdx.x, v = x[i];
    if (i < 16) v = __shfl_sync(0x0000ffffu, v, 0);
    else v = __shfl_sync(0xffff0000u, v, 31);
    unsigned odd = __ballot_sync(FULL, v & 1);
    y[i] = v + (__popc(odd) << 8) + (__any_sync(FULL, i == 5) << 16) + (__all_sync(FULL, i < 31) << 17);
}

/* Neighbours of a warp exchange through shared memory: __syncwarp is enough. */
__global__ void exchange(float *y, const float *x)
{
    __shared__ float own[64];
    own[threadIdx.x] = x[threadIdx.x];
    __syncwarp();
    y[threadIdx.x] = own[threadIdx.x ^ 1];
}

__global__ void reversed(float *y, const float *x, int n)
{
    DYNAMIC_SHARED(float, row);
    for (int i = threadIdx.x; i < n; i += blockDim.x) row[i] = x[i];
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = row[n - 1 - i];
}

__constant__ int edges[4] = {0, 10, 20, 30};

/* How many of x fall into each of 4 bins: atomics in shared memory, then in global memory */
__global__ void histogram(int *count, const int *x, int n)
{
    __shared__ int own[4];
    if (threadIdx.x < 4) own[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        int bin = 3;
        while (bin > 0 && x[i] < edges[bin]) bin--;
        atomicAdd(&own[bin], 1);
    }
    __syncthreads();
    if (threadIdx.x < 4) atomicAdd(&count[threadIdx.x], own[threadIdx.x]);
}

__global__ void add_four(float4 *y, const float4 *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float4 a = x[i], b = y[i];
    y[i] = make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}

/* c[16][8] = a[16][16] · b[16][8]: matrices of bf16 pass through shared memory, copied while the warp waits */
__global__ void product(float *c, const uint16_t *a, const uint16_t *b)
{
    DYNAMIC_SHARED(uint16_t, room); /* rows of 8 elements more than they have */
    int lane = threadIdx.x;
    copy_async(room + lane / 2 * 24 + lane % 2 * 8, a + lane * 8, true);
    copy_commit();
    copy_async(room + 384 + lane * 24, b + lane % 16 * 8, lane < 16);
    copy_commit();
    copy_wait<1>();
    __syncwarp();
    uint32_t x[4], y[4];
    float d[4] = {0, 0, 0, 0};
    load_matrices(x, room + lane % 16 * 24 + lane / 16 * 8);
    copy_wait<0>();
    __syncwarp();
    load_columns(y, room + 384 + lane % 16 * 24);
    mma<Bf16>(d, x, y);
    for (int r = 0; r < 4; r++) c[(lane / 4 + r / 2 * 8) * 8 + lane % 4 * 2 + r % 2] = d[r];
}

/* ------------------------------------------------------------------ the test */

static void expect_silence(const char *what)
{
    const char *said = sim_report();
    if (*said) printf("%s: %s\n", what, said);
    expect(!*said, what);
}

template <class T> static void fetch(T *to, const T *at, size_t n)
{
    cudaMemcpy(to, at, n * sizeof(T), cudaMemcpyDeviceToHost);
    cudaFree((void *)at);
}

static void test_integers(void)
{
    enum { N = 1000 };
    static int x[N], y[N], count[4], zero[4];
    int sum = 0, expected = 0, bins[4] = {0};
    for (int i = 0; i < N; i++) {
        x[i] = i * 7 % 41;
        expected += x[i];
        bins[x[i] < 10 ? 0 : x[i] < 20 ? 1 : x[i] < 30 ? 2 : 3]++;
    }
    int *dx = device(x, N), *dsum = device(&sum, 1), *dcount = device(zero, 4);
    run(sum_of, 8, 128, 0, dsum, dx, (int)N);
    run(histogram, 3, 64, 0, dcount, dx, (int)N);
    fetch(&sum, dsum, 1);
    fetch(count, dcount, 4);
    expect(sum == expected && !memcmp(count, bins, sizeof bins), "sums and histogram");

    int *dy = device((int *)NULL, 128);
    run(scans, 1, 64, 0, dy, dx);
    fetch(y, dy, 128);
    for (int i = 0; i < 64; i++) {
        int scan = 0, group = 0;
        for (int k = i / 32 * 32; k <= i; k++) scan += x[k];
        for (int k = i / 8 * 8; k < i / 8 * 8 + 8; k++) group += x[k];
        expect(y[i] == scan && y[64 + i] == group, "scans by shuffles");
    }
    dy = device((int *)NULL, 32);
    run(halves, 1, 32, 0, dy, dx);
    fetch(y, dy, 32);
    for (int i = 0; i < 32; i++) {
        int ones = 16 * (x[0] & 1) + 16 * (x[31] & 1);
        expect(y[i] == (i < 16 ? x[0] : x[31]) + (ones << 8) + (1 << 16), "votes and masks of half a warp");
    }
    cudaFree(dx);
    expect_silence("integers");
}

static void test_floats(void)
{
    enum { ROWS = 37, COLUMNS = 70, N = ROWS * COLUMNS };
    static float x[N], y[N];
    for (int i = 0; i < N; i++) x[i] = (float)i;
    float *dx = device(x, N), *dy = device((float *)NULL, N);
    run(transpose, dim3(3, 2), dim3(32, 8), 0, dy, dx, (int)ROWS, (int)COLUMNS);
    fetch(y, dy, N);
    bool equal = true;
    for (int r = 0; r < ROWS; r++)
        for (int c = 0; c < COLUMNS; c++) equal &= y[c * ROWS + r] == x[r * COLUMNS + c];
    expect(equal, "transpose");

    dy = device((float *)NULL, 64);
    run(exchange, 1, 64, 0, dy, dx);
    fetch(y, dy, 64);
    for (int i = 0; i < 64; i++) expect(y[i] == x[i ^ 1], "exchange in a warp");

    dy = device((float *)NULL, 100);
    run(reversed, 1, 32, 100 * sizeof(float), dy, dx, 100);
    fetch(y, dy, 100);
    for (int i = 0; i < 100; i++) expect(y[i] == x[99 - i], "dynamic shared memory");

    dy = device(x, 96);
    run(add_four, 1, 32, 0, (float4 *)dy, (const float4 *)dx, 24);
    fetch(y, dy, 96);
    for (int i = 0; i < 96; i++) expect(y[i] == 2 * x[i], "four floats at a time");
    cudaFree(dx);
    expect_silence("floats");
}

/* Small integers, so that bf16 and sums are exact. */
static void test_product(void)
{
    uint16_t a[256], b[128];
    float c[128];
    int x[256], y[128];
    for (int i = 0; i < 256; i++) x[i] = i * 37 % 101 - 50, a[i] = Bf16((float)x[i]).bits;
    for (int i = 0; i < 128; i++) y[i] = i * 53 % 97 - 48, b[i] = Bf16((float)y[i]).bits;
    uint16_t *da = device(a, 256), *db = device(b, 128);
    float *dc = device((float *)NULL, 128);
    run(product, 1, 32, (384 + 32 * 24) * 2, dc, da, db);
    fetch(c, dc, 128);
    for (int i = 0; i < 128; i++) {
        int sum = 0;
        for (int k = 0; k < 16; k++) sum += x[i / 8 * 16 + k] * y[k * 8 + i % 8];
        expect(c[i] == (float)sum, "a product of matrices");
    }
    cudaFree(da), cudaFree(db);
    expect_silence("a product of matrices");
}

static void test_numbers(void)
{
    for (unsigned i = 0; i < 65536; i++) {
        Bf16 b;
        F16 h;
        b.bits = h.bits = (uint16_t)i;
        float x = b, y = h, up = ldexpf((float)(i & 1023) + (i >> 10 & 31 ? 1024 : 0), (int)(i >> 10 & 31 ? i >> 10 & 31 : 1) - 25);
        expect(x != x || Bf16(x).bits == i, "bf16 there and back");
        expect(y != y || F16(y).bits == i, "fp16 there and back");
        expect((i >> 10 & 31) == 31 || y == (i >> 15 ? -up : up), "the value of fp16");
        if ((i & 0x7fff) >= 0x7bff) continue;
        h.bits++;
        float next = h, middle = (y + next) / 2; /* exact */
        expect(F16(middle).bits == (i & 1 ? i + 1 : i), "fp16: a tie is even's");
        expect(F16(nextafterf(middle, y)).bits == i && F16(nextafterf(middle, next)).bits == i + 1, "fp16: the nearest");
    }
    expect(Bf16(1.00390625f).bits == 0x3f80 && Bf16(1.01171875f).bits == 0x3f82, "bf16: a tie is even's");
    expect(Bf16(NAN) != Bf16(NAN) && F16(NAN) != F16(NAN) && F16(65520.0f).bits == 0x7c00, "no number, and too large");
}

int main(void)
{
    test_numbers();
    for (int order = SIM_FORWARD; order <= SIM_SHUFFLED; order++) {
        sim_order((Sim_order)order, 1);
        test_integers();
        test_floats();
        test_product();
    }
    return failed > 0;
}
