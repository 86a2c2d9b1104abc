/* gemm_timing.cu: algorithms for products (cuda/gemm_tune.cu) are chosen by timing, the file that remembers them is believed
 * unless it is damaged or another GPU's, and what fails or gives other numbers is not taken.
 *   gemm_timing FILE      FILE: for what is found */
#include "gemm_checks.cuh"

static std::string text_of(const char *path)
{
    std::string text;
    FILE *f = fopen(path, "r");
    for (int c; f && (c = fgetc(f)) != EOF;) text += (char)c;
    if (f) fclose(f);
    return text;
}

struct Tuned {
    Gemm_tuning t;
    Cuda_gemm fc, out, odd, again, batched;

    Tuned(const char *path, size_t room_bytes = 160000)
        : fc(plain_product(GEMM_END_NONE, 128)), out(plain_product(GEMM_END_BIAS, 128)), odd(plain_product(GEMM_END_NONE, 13)),
          again(plain_product(GEMM_END_NONE, 128)), batched(batched_product())
    {
        void *room;
        Cuda_gemm *all[] = {&fc, &out, &odd, &again, &batched};
        cudaMalloc(&room, room_bytes);
        bool started = cuda_gemm_start(workspace, WORKSPACE);
        EXPECT(started != refused_start(), "cuda_gemm_start: %d", started);
        EXPECT(cuda_gemm_tune(all, 5, room, room_bytes, path, false, NULL, &t), "cuda_gemm_tune: %s", cuda_gemm_failure());
        quiet("tuning");
        cudaFree(room);
    }
    ~Tuned()
    {
        for (Cuda_gemm *g : {&fc, &out, &odd, &again, &batched}) cuda_gemm_forget(g);
        cuda_gemm_stop();
    }
    double ms_of(Cuda_gemm *g) /* of a call */
    {
        Block a(F32, 64 * 96, 0), b(F32, 96 * 128, 0), c(F32, 64 * 128, 0), vector(F32, 128, 0);
        cudaEvent_t begin, end;
        float ms;
        cudaEventCreate(&begin), cudaEventCreate(&end);
        cudaEventRecord(begin);
        cuda_gemm(g, c.at(), a.at(), b.at(), false, NULL, vector.at());
        cudaEventRecord(end);
        cudaEventElapsedTime(&ms, begin, end);
        cudaEventDestroy(begin), cudaEventDestroy(end);
        quiet("a product that was timed");
        return ms;
    }
};

static bool near(double x, double y) { return fabs(x - y) < 0.05; }

static void test_choice(const char *path)
{
    fake_cublaslt_costs(3, 1, 2, 0);
    {
        Tuned x(path);
        EXPECT(x.t.timed == 4 && x.t.known == 1 && !x.t.remark[0], "%d timed, %d known: %s", x.t.timed, x.t.known, x.t.remark);
        EXPECT(near(x.ms_of(&x.fc), 1) && near(x.ms_of(&x.again), 1), "the fastest takes 1 ms: %g", x.ms_of(&x.fc));
        EXPECT(near(x.ms_of(&x.odd), 2), "the fastest that can takes 2 ms: %g", x.ms_of(&x.odd));
        EXPECT(near(x.ms_of(&x.batched), 4), "two calls of it take 4 ms: %g", x.ms_of(&x.batched));
    }
    std::string text = text_of(path);
    fake_cublaslt_costs(1, 3, 2, 0); /* the file is believed */
    Tuned x(path);
    EXPECT(x.t.timed == 0 && x.t.known == 5 && x.t.ms == 0, "%d timed, %d known", x.t.timed, x.t.known);
    EXPECT(near(x.ms_of(&x.fc), 3), "what the file says takes 3 ms now: %g", x.ms_of(&x.fc));
    EXPECT(text_of(path) == text, "a file in which nothing is new was written");
}

static void test_ends_timed(const char *path)
{
    remove(path);
    fake_cublaslt_costs(1, 3, 2, 0);
    {
        Tuned x(path);
        EXPECT(x.out.plan[0]->ended.possible && near(x.ms_of(&x.out), 1), "the library's end is the faster one: %g", x.ms_of(&x.out));
    }
    fake_cublaslt_costs(1, 3, 2, 7); /* slow epilogues */
    {
        Tuned x(NULL);
        EXPECT(!x.out.plan[0]->ended.possible && near(x.ms_of(&x.out), 1), "our end is the faster one: %g", x.ms_of(&x.out));
        remove(path);
        Tuned y(path);
    }
    fake_cublaslt_costs(1, 3, 2, 0);
    Tuned x(path);
    EXPECT(x.t.known == 5 && !x.out.plan[0]->ended.possible, "the file says that ours is");
}

/* The fastest by the library's own account does not launch: the next one is taken, and where none does the product is ours. */
static void test_failing(const char *path)
{
    remove(path);
    fake_cublaslt_costs(3, -1, 2, 0);
    {
        Tuned x(path);
        EXPECT(x.t.timed == 4 && !cuda_gemm_failure(), "%d timed: %s", x.t.timed, cuda_gemm_failure() ? cuda_gemm_failure() : "");
        EXPECT(near(x.ms_of(&x.fc), 2), "the fastest that launches takes 2 ms: %g", x.ms_of(&x.fc));
    }
    remove(path);
    fake_cublaslt_costs(-1, -1, -1, 0);
    Tuned none(path);
    EXPECT(!cuda_gemm_failure() && !none.t.timed && none.fc.plan[0]->own, "nothing launches, and the product is not ours");
    EXPECT(none.ms_of(&none.fc) < 0.9, "ours takes %g ms", none.ms_of(&none.fc));
    fake_cublaslt_costs(3, 1, 2, 0);
}

static void test_wrong_one(const char *path, const char *wrong, double fc, bool own, const char *who)
{
    for (int again = 0; again < 2; again++) { /* then by the file */
        if (!again) remove(path);
        sim_device.refuses = again ? "" : wrong;
        Tuned x(path, 400000);
        sim_device.refuses = "";
        EXPECT(x.t.known == (again ? 5 : 1) && (again || x.t.checked == 4), "%s: %d known, %d checked", wrong, x.t.known, x.t.checked);
        EXPECT(x.fc.plan[0]->own == own, "%s: the product is%s ours", wrong, own ? " not" : "");
        EXPECT(own ? x.ms_of(&x.fc) < 0.9 : near(x.ms_of(&x.fc), fc), "%s: a product takes %g ms", wrong, x.ms_of(&x.fc));
        EXPECT(!x.out.plan[0]->ended.possible == (own || strstr(wrong, "end")), "%s: whose end it is", wrong);
    }
    EXPECT(strstr(text_of(path).c_str(), who), "%s: the file does not say \"%s\"", wrong, who);
}

/* What gives other numbers than the plain kernel is not taken, however fast; and the file knows. */
static void test_wrong(const char *path)
{
    fake_cublaslt_costs(3, 1, 2, 0);
    test_wrong_one(path, "wrong_wide", 2, false, "library");
    test_wrong_one(path, "wrong_end", 1, false, "ours");
    test_wrong_one(path, "wrong_all", 0, true, "\twrong\t");
}

/* Whatever is done to the file: nothing breaks, and the next one is whole. */
static void test_damage(const char *path)
{
    fake_cublaslt_costs(3, 1, 2, 0);
    remove(path);
    { Tuned x(path); }
    std::string whole = text_of(path);
    for (int i = 0; i < 15; i++) {
        std::string text = whole;
        size_t at = rng() % text.size();
        if (i % 3 == 0) text.resize(at);
        else if (i % 3 == 1) text[at] = (char)(rng() % 256);
        else text.insert(at, std::string((size_t)below(3000), "\t\nab0"[below(5)]));
        FILE *f = fopen(path, "w");
        fwrite(text.data(), 1, text.size(), f);
        fclose(f);
        { Tuned x(path); }
        Tuned x(path);
        EXPECT(x.t.known == 5 && !x.t.remark[0], "damage %d: %d known: %s", i, x.t.known, x.t.remark);
    }
    fclose(fopen(path, "w"));
    {
        Tuned x(path);
        EXPECT(x.t.timed == 4 && strstr(x.t.remark, "nothing can be read"), "an empty file: %s", x.t.remark);
    }
    fake_cublaslt_version(130200);
    {
        Tuned x(path);
        EXPECT(x.t.timed == 4 && strstr(x.t.remark, "is of another GPU or library"), "another version: %s", x.t.remark);
    }
    fake_cublaslt_version(130100);
    sim_device.name = "Another GPU";
    {
        Tuned x(path);
        EXPECT(x.t.timed == 4 && strstr(x.t.remark, "is of another GPU or library"), "another GPU: %s", x.t.remark);
    }
    sim_device = Sim_device();
    {
        Tuned x("/nowhere/at/all");
        EXPECT(x.t.timed == 4 && strstr(x.t.remark, "cannot write /nowhere/at/all: No such file"), "%s", x.t.remark);
    }
    Tuned x(NULL, 4096);
    EXPECT(x.t.too_large == 5 && !x.t.timed, "%d too large, %d timed", x.t.too_large, x.t.timed);
}

static void test_timing(const char *path)
{
    test_choice(path);
    test_ends_timed(path);
    test_failing(path);
    test_wrong(path);
    test_damage(path);
    remove(path);
    fake_cublaslt_costs(3, 1, 2, 0);
}

int main(int count, char **arguments)
{
    cudaMalloc(&workspace, WORKSPACE);
    test_timing(count > 1 ? arguments[1] : "products.txt");
    return failures != 0;
}
