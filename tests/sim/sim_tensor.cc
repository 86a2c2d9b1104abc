/* sim_tensor.cc: the simulator's matrix instructions of a warp, and copies that are on their way.  Compiled without
 * -fsanitize=thread. */
#include "sim_threads.h"
#include "sim_tensor.h"

#include <string.h>
#include <vector>

/* ------------------------------------------------------------------ numbers of 16 bits */

static float of_bf16(uint16_t x)
{
    uint32_t bits = (uint32_t)x << 16;
    float y;
    memcpy(&y, &bits, sizeof y);
    return y;
}

static float of_fp16(uint16_t x)
{
    int exponent = x >> 10 & 31, fraction = x & 1023;
    double y = exponent == 31 ? (fraction ? NAN : INFINITY)
               : exponent     ? ldexp(1024 + fraction, exponent - 25)
                              : ldexp(fraction, -24);
    return (float)(x >> 15 ? -y : y);
}

/* Half `high` of a register. */
static float half_of(uint32_t x, int high, bool fp16)
{
    uint16_t bits = (uint16_t)(high ? x >> 16 : x);
    return fp16 ? of_fp16(bits) : of_bf16(bits);
}

/* ------------------------------------------------------------------ matrices of a warp */

/* What a lane brings. */
struct Mma {
    float *d;
    const uint32_t *a, *b;
    bool fp16;
};
struct Ldmatrix {
    uint32_t *to;
    const void *at;
    uint16_t row[8];
    bool transposed;
};

/* a[16][16], b[16][8], d[16][8].  Lane 4 g + q holds a[g + 8 (r & 1)][2 q + h + 8 (r >> 1)] in half h of register r,
 * b[2 q + h + 8 r][g] and d[g + 8 (r >> 1)][2 q + (r & 1)]. */
static void multiply(Mma *const *lane)
{
    double a[16][16], b[16][8];
    bool fp16 = lane[0]->fp16;
    for (int l = 0; l < SIM_WARP; l++) {
        int g = l / 4, q = l % 4;
        for (int r = 0; r < 4; r++)
            for (int h = 0; h < 2; h++) a[g + 8 * (r & 1)][2 * q + h + 8 * (r >> 1)] = half_of(lane[l]->a[r], h, fp16);
        for (int r = 0; r < 2; r++)
            for (int h = 0; h < 2; h++) b[2 * q + h + 8 * r][g] = half_of(lane[l]->b[r], h, fp16);
    }
    for (int l = 0; l < SIM_WARP; l++)
        for (int r = 0; r < 4; r++) {
            int row = l / 4 + 8 * (r >> 1), column = 2 * (l % 4) + (r & 1);
            double sum = lane[l]->d[r];
            for (int k = 0; k < 16; k++) sum += a[row][k] * b[k][column];
            lane[l]->d[r] = (float)sum;
        }
}

static long conflicts;

long sim_conflicts(void)
{
    long n = conflicts;
    conflicts = 0;
    return n;
}

/* Rows of 16 bytes lie in eight groups of banks: how often two of a matrix are in one. */
static void count_conflicts(Ldmatrix *const *row)
{
    int in[8] = {0}, most = 0;
    for (int i = 0; i < 8; i++) {
        bool again = false;
        for (int k = 0; k < i; k++) again |= row[k]->at == row[i]->at;
        int n = again ? 0 : ++in[(uintptr_t)row[i]->at / 16 % 8];
        most = n > most ? n : most;
    }
    conflicts += most - 1;
}

/* Lane 4 g + q gets elements 2 q and 2 q + 1 of row g of matrix m in register m; transposed: of column g. */
static void load(Ldmatrix *const *lane)
{
    for (int m = 0; m < 4; m++) {
        count_conflicts(lane + 8 * m);
        for (int l = 0; l < SIM_WARP; l++) {
            int g = l / 4, q = l % 4;
            uint16_t low = lane[l]->transposed ? lane[8 * m + 2 * q]->row[g] : lane[8 * m + g]->row[2 * q];
            uint16_t high = lane[l]->transposed ? lane[8 * m + 2 * q + 1]->row[g] : lane[8 * m + g]->row[2 * q + 1];
            lane[l]->to[m] = (uint32_t)high << 16 | low;
        }
    }
}

void sim_matrices(Sim_op op, const uint64_t *brought)
{
    if (op == SIM_MMA) multiply((Mma *const *)brought);
    if (op == SIM_LDMATRIX) load((Ldmatrix *const *)brought);
}

void sim_mma(Sim_place at, float *d, const uint32_t *a, const uint32_t *b, bool fp16)
{
    Mma mine = {d, a, b, fp16};
    sim_collective(SIM_MMA, at, 0xffffffffu, (uint64_t)&mine, 0, SIM_WARP);
}

void sim_ldmatrix(Sim_place at, uint32_t *to, const void *row, bool transposed)
{
    Ldmatrix mine = {to, row, {0}, transposed};
    if (!sim_shared(row)) sim_fault(cudaErrorIllegalAddress, "ldmatrix of a row that is not in shared memory");
    sim_touch(row, 16, false);
    memcpy(mine.row, row, 16);
    sim_collective(SIM_LDMATRIX, at, 0xffffffffu, (uint64_t)&mine, 0, SIM_WARP);
}

/* ------------------------------------------------------------------ copies on their way */

struct Copy {
    void *to; /* NULL: the end of a group */
    const void *from;
};
static std::vector<Copy> copies[SIM_MOST_THREADS];

void sim_forget_copies(void)
{
    for (std::vector<Copy> &c : copies) c.clear();
}

void sim_copy_async(void *to, const void *from, bool there)
{
    if (!sim_shared(to)) sim_fault(cudaErrorIllegalAddress, "an asynchronous copy to what is not shared memory");
    if (there && sim_shared(from)) sim_fault(cudaErrorIllegalAddress, "an asynchronous copy from shared memory");
    if (there) sim_touch(from, 16, false);
    sim_take_off(to, 16);
    copies[sim_now().thread].push_back({to, there ? from : NULL});
}

void sim_copy_commit(void) { copies[sim_now().thread].push_back({NULL, NULL}); }

/* Groups 0 … ends - left - 1 land; what no commit has closed is of no group. */
void sim_copy_wait(int left)
{
    std::vector<Copy> &mine = copies[sim_now().thread];
    int ends = 0;
    for (const Copy &c : mine) ends += !c.to;
    size_t n = 0;
    for (; n < mine.size() && ends > left; n++) {
        ends -= !mine[n].to;
        if (mine[n].to) sim_land(mine[n].to, mine[n].from, 16);
    }
    mine.erase(mine.begin(), mine.begin() + (long)n);
}

void sim_thread_ends(void)
{
    int n = 0;
    for (const Copy &c : copies[sim_now().thread]) n += c.to != NULL;
    if (n) sim_fault(cudaErrorLaunchFailure, "returns with %d asynchronous copies that it has not waited for", n);
}
