/* device_wrong.cu: what goes wrong with a GPU (cuda/device.h) in the simulator: failures with their kernel's name, and what a user
 * is told of a GPU that will not do. */
#include "device_checks.cuh"

__global__ void astray(float *y) { y[1000000] = 1; }

static void goes_astray(void *, const Lathe_call *c)
{
    cudaStream_t stream = (cudaStream_t)c->stream;
    start("scale: toy.lua:1", scale, stream, (float *)c->work, (const float *)c->params, (const float *)c->in);
    start("astray: toy.lua:7 layer.fc", astray, stream, (float *)c->work);
    start("scale: toy.lua:3", scale, stream, (float *)c->work, (const float *)c->params, (const float *)c->in);
}

static void failure_has(const char *word)
{
    const char *failure = gpu_failure();
    EXPECT(failure && strstr(failure, word), "\"%s\" should have been said, not \"%s\"", word, failure ? failure : "");
    sim_report();
}

void test_failures(void)
{
    Lathe_call c = call();
    Gpu_entry stray = {goes_astray, NULL, false, 0, {}, NULL};
    setenv("LATHE_CUDA_CHECK", "1", 1);
    opened();
    gpu_run(&stray, &c);
    failure_has("astray: toy.lua:7 layer.fc: an illegal memory access");
    gpu_run(&stray, &c);
    gpu_down(block.out, sizeof block.out);
    closed();

    setenv("LATHE_CUDA_CHECK", "0", 1); /* found out later: by whoever waits */
    stray = {goes_astray, NULL, false, 0, {}, NULL};
    opened();
    gpu_run(&stray, &c);
    gpu_wait();
    failure_has("an illegal memory access");
    closed();

    Gpu_entry entry = {train, NULL, false, 0, {}, NULL};
    opened();
    sim_device.no_image = true;
    gpu_run(&entry, &c);
    sim_device = Sim_device();
    failure_has("scale: toy.lua:1: no kernel image");
    closed();

    opened();
    EXPECT(!gpu_place((char *)&block + sizeof block + 64), "an address outside of the block has a place");
    failure_has("outside of the block");
    closed();
    for (int way = 0; way < 3; way++) { /* it begins in the block */
        float *last = block.more + 10 * MANY - 4;
        opened();
        (way == 0 ? gpu_up(last, 20) : way == 1 ? gpu_down(last, 20) : gpu_ahead(last, 20));
        failure_has("outside of the block");
        closed();
    }
    opened();
    gpu_ahead(block.more, 300);
    gpu_ahead(block.more, 1);
    failure_has("more than was to be sent ahead");
    closed();
}

/* A loop in one launch whose blocks wait for ever. */
PERSISTENT void hangs(Grid grid)
{
    if (blockIdx.x == 1) return;
    meet(grid);
}

static void enqueue_hanging(void *, const Lathe_call *c)
{
    launch_persistent("lstm_time: toy.lua:9 lstm", hangs, 3, {1, 1}, 0, (cudaStream_t)c->stream, (unsigned *)c->work);
}

void test_stuck(void)
{
    Gpu_entry entry = {enqueue_hanging, NULL, false, 0, {}, NULL};
    Lathe_call c = call();
    sim_device.looks = true;
    opened();
    gpu_run(&entry, &c);
    gpu_wait();
    failure_has("lstm_time: toy.lua:9 lstm: its blocks waited for each other without end");
    closed();
    sim_device.looks = false;
}

static void refused(const char *word, Sim_device device)
{
    Gpu_needs n = needs();
    sim_device = device;
    const char *refusal = gpu_open(&n);
    EXPECT(refusal && strstr(refusal, word), "\"%s\" should have been said, not \"%s\"", word, refusal ? refusal : "");
    EXPECT(sim_allocated() == 0, "something was taken");
    if (!refusal) gpu_close();
    sim_device = Sim_device();
    sim_report();
}

void test_refusals(void)
{
    Sim_device usual, d;
    d = usual, d.count = 0, refused("is for a GPU, and there is none here (CUDA: no CUDA-capable device", d);
    d = usual, d.driver = 0, refused("there is none here (CUDA: CUDA driver version is insufficient", d);
    d = usual, d.driver = 12040, refused("the driver here is for CUDA 12.4, and this trainer was built with CUDA 13.0", d);
    d = usual, d.major = 7, d.minor = 5, refused("Simulated GPU, has compute capability 7.5, and this trainer's kernels are for 8.0", d);
    d = usual, d.memory = sizeof block + 1000, refused("train needs 84520 bytes of the GPU's memory (0.0 GB: 83264 planned, 1256 for", d);
    Gpu_needs n = needs();
    n.most = sizeof block + 1255 + 512; /* nobody else's fault */
    const char *refusal = gpu_open(&n);
    EXPECT(refusal && strstr(refusal, "(0.0 GB: 83264 planned, 1256 for the library's products), and --memory-limit allows 84519"), "%s", refusal);
    n.most++;
    d = usual, d.memory = sizeof block + 1256 + 512;
    sim_device = d;
    refusal = gpu_open(&n);
    EXPECT(!refusal, "exactly as much as is needed: %s", refusal);
    gpu_close();
    sim_device = usual;
}
