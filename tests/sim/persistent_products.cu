/* persistent_products.cu: products of a step of loops in one launch, in the simulator, against loops in doubles: the same bits for
 * any number of blocks.  nvcc compiles the file too. */
#include "persistent_checks.cuh"

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
        test_products();
    }
    return failed > 0;
}
