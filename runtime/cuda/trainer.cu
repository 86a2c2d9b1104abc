/* trainer.cu: a trainer's device (step/device.h) by CUDA: memory, entries, steps as one graph each, laps.
 *
 * A step is one graph: the entry, then the optimizer (cuda/optim.cu): the norm, one block that clips and checks that
 * everything is finite, the entry direction if the optimizer is written in Lua, and one launch that updates all
 * parameters.  Loss and norm of a step are read after the next one has begun (Lathe_device.lag).  A step that is not
 * finite stops all updates on the device, so the parameters before it are preserved. */
#include "cuda/coded.h"
#include "cuda/cudnn.h"
#include "cuda/device.h"
#include "cuda/direction.h"
#include "cuda/gemm.h"
#include "cuda/ids.h"
#include "cuda/optim.h"
#include "cuda/parts.h"
#include "cuda/persistent.cuh"
#include "cuda/ranks.h"
#include "cuda/rates.h"
#include "interface/names.h"
#include "lathe_cuda.cuh"
#include "step/device.h"

enum { CAPABILITY = 80, LAG = 1, MOST_ENTRIES = ENTRIES + 2 * LATHE_TURNS };

void (*cuda_lap)(int kernel, cudaStream_t stream);
void (*cuda_part)(int part, cudaStream_t stream);

struct Gpu_turn {                       /* of a step */
    Gpu_entry step;
    Gpu_optimizer optimizer;
    Gpu_step *given;                    /* in the host's block */
    const Lathe_entry *direction;       /* NULL: none */
    Lathe_call directing;               /* the device's */
};

static struct {
    const Lathe_model *model;
    const Lathe_entry *now;             /* the entry being enqueued */
    Gpu_entry entry[MOST_ENTRIES];
    Gpu_turn turn[LATHE_TURNS], *taken; /* taken: the one being enqueued */
    char *block;
    int64_t bytes;
    bool multiplies;
    int rank, gpus, place;
    int64_t begun, ended;
    bool apart;                         /* parameters of the last update are on the GPUs that made it */
    int checked, wrong;                 /* products */
    char remark[1024];
} trainer;

/* ------------------------------------------------------------------ failures */

static const char *failure(void)
{
    if (gpu_failure()) return gpu_failure();
    if (ranks_joined() && ranks_failure()) return ranks_failure();
    return cuda_gemm_failure();
}

static bool others_failed(void) { return failure() != NULL; }

/* ------------------------------------------------------------------ the clock */

struct Marks {                          /* events of the current step, in its order */
    cudaEvent_t *event;                 /* [room] */
    int *what;
    int n, room;
};

/* Beginning, then the end of each kernel; beginning of each part, then the end. */
static struct Marks laps, parts;
static void (*told_lap)(int kernel, double seconds);
static bool timed_parts;

static void mark(Marks *m, int what)
{
    if (m->n == m->room) {
        int room = 2 * m->room + 64;
        m->event = (cudaEvent_t *)realloc(m->event, sizeof *m->event * (size_t)room);
        m->what = (int *)realloc(m->what, sizeof *m->what * (size_t)room);
        if (!m->event || !m->what) abort();
        for (; m->room < room; m->room++) (void)cudaEventCreate(&m->event[m->room]);
    }
    m->what[m->n] = what;
    gpu_mark(m->event[m->n++]);
}

/* From mark i - 1 to mark i. */
static double seconds_to(const Marks *m, int i)
{
    float ms = 0;
    (void)cudaEventElapsedTime(&ms, m->event[i - 1], m->event[i]);
    return 1e-3 * ms;
}

static const char *kernel_text(const Lathe_entry *e, int lap)
{
    static char text[400];
    for (int i = 0; e && i < e->kernels; i++) {
        const Lathe_kernel *k = &e->kernel[i];
        if (k->lap != lap) continue;
        snprintf(text, sizeof text, "%s: %s%s%s", k->name, k->where, *k->path ? " " : "", k->path);
        return text;
    }
    if (lap == LAP_NORM || lap == LAP_DIRECTION || lap == LAP_UPDATE) return "the optimizer's step";
    snprintf(text, sizeof text, "kernel %d of entry %s", lap, e ? e->name : "");
    return text;
}

/* Called after each launch of an entry's kernel.  Those of direction have numbers that train's have, too, so they are
 * one lap. */
static void lap_ended(int kernel, cudaStream_t)
{
    const bool inside = trainer.taken && trainer.now == trainer.taken->direction;
    if (gpu_in_trouble()) gpu_launched(kernel_text(trainer.now, kernel));
    if (told_lap && laps.n && !inside) mark(&laps, kernel);
}

static void tell_laps(void)
{
    for (int i = 1; i < laps.n && told_lap; i++) told_lap(laps.what[i], seconds_to(&laps, i));
    laps.n = 0;
}

static void watch(void (*lap)(int kernel, double seconds))
{
    told_lap = lap;
    for (Gpu_turn &u : trainer.turn) u.step.by_itself = lap != NULL;
}

static void forget_steps(void)
{
    for (Gpu_turn &u : trainer.turn) gpu_forget(&u.step);
}

/* The events become part of the step's graph, so it is made again. */
static void time_parts(bool wanted)
{
    forget_steps();
    timed_parts = wanted;
}

static void part_begins(int part, cudaStream_t)
{
    if (timed_parts && (parts.n == 0 || parts.what[parts.n - 1] != part)) mark(&parts, part);
}

static void tell_parts(Step_result *r)
{
    double seconds[STEP_PARTS] = {};
    for (int i = 1; i < parts.n && timed_parts; i++) seconds[parts.what[i - 1]] += seconds_to(&parts, i);
    r->forward = seconds[FORWARD_PART], r->backward = seconds[BACKWARD_PART], r->update = seconds[UPDATE_PART];
}

/* ------------------------------------------------------------------ opening */

/* Called while the block is unused; clears it afterwards. */
static void tune(const Device_needs *n)
{
    Cuda_gemm *const *products;
    Gemm_tuning tuning;
    int count = cuda_products(&products);
    const char *wish = getenv("LATHE_CUDA_TUNE");
    trainer.checked = trainer.wrong = 0;
    if (count == 0 || (wish && strcmp(wish, "off") == 0 && !n->afresh)) return;
    cuda_gemm_tune(products, count, gpu_place(n->block), (size_t)n->bytes, n->products, n->afresh, gpu_stream(),
                   &tuning);
    trainer.checked = tuning.checked, trainer.wrong = tuning.wrong;
    gpu_clear(n->block, n->bytes);
    snprintf(trainer.remark, sizeof trainer.remark, "%s", tuning.remark);
}

/* Starts cuDNN if the plan has a workspace for attention's derivatives. */
static void start_cudnn(int64_t workspace)
{
    if (workspace <= LATHE_GPU_WORKSPACE) return;
    const char *missing = cudnn_start(gpu_workspace(), (size_t)(workspace - LATHE_GPU_ALIGN));
    size_t n = strlen(trainer.remark);
    if (missing) snprintf(trainer.remark + n, sizeof trainer.remark - n, "%s%s", n ? "\n" : "", missing);
}

static void enqueue_entry(void *with, const Lathe_call *device)
{
    trainer.now = (const Lathe_entry *)with;
    parts_begin(trainer.now);
    trainer.now->run(device);
}

static const char *open_gpu(const Device_needs *n, const char **remark)
{
    const int64_t workspace = n->workspace;
    const char *refusal = NULL;
    Gpu_needs needs = {};
    if (n->gpus > 1 && ranks_load()) return ranks_load();
    needs.command = n->command, needs.number = n->place, needs.gpus = n->places, needs.host = n->block;
    needs.bytes = n->bytes;
    needs.workspace = workspace, needs.ahead = n->ahead, needs.staged = n->inputs, needs.most = n->most;
    needs.capability = CAPABILITY;
    if (n->parts) needs.rooms = n->parts->page * (n->parts->parameters.rooms + n->parts->gradients.rooms);
    trainer.model = n->model;
    trainer.rank = n->rank, trainer.gpus = n->gpus, trainer.place = n->place;
    trainer.block = (char *)n->block, trainer.bytes = n->bytes, trainer.multiplies = workspace > 0;
    trainer.remark[0] = 0;
    if (n->model->entries > MOST_ENTRIES) return "this model has more entries than the trainer knows";
    refusal = gpu_open(&needs);
    if (refusal) return refusal;
    refusal = n->parts ? parts_open(n->place, n->parts, n->model) : NULL;
    if (refusal) {
        parts_close();
        gpu_close();
        return refusal;
    }
    for (int i = 0; i < n->model->entries; i++) {
        trainer.entry[i] = {};
        trainer.entry[i].enqueue = enqueue_entry;
        trainer.entry[i].with = (void *)&n->model->entry[i];
    }
    cuda_lap = lap_ended;
    gpu_ask(others_failed);
    if (workspace && cuda_gemm_start(gpu_workspace(), LATHE_GPU_WORKSPACE - LATHE_GPU_ALIGN)) tune(n);
    start_cudnn(workspace);
    *remark = trainer.remark[0] ? trainer.remark : NULL;
    return NULL;
}

/* After another rank's failure, the program ends without waiting for anything. */
static void close_gpu(void)
{
    const bool lost = ranks_joined() && ranks_failure();
    gpu_watch(NULL);
    gpu_ask(NULL);
    if (lost) ranks_leave();
    if (lost) return;
    for (Gpu_entry &e : trainer.entry) gpu_forget(&e);
    forget_steps();
    ranks_leave();
    cuda_gemm_stop();
    cudnn_stop();
    parts_close();
    gpu_close();
}

/* ------------------------------------------------------------------ several GPUs */

static const char *join(const char *id, const Lathe_shards *shards)
{
    const char *refusal = ranks_join(trainer.rank, id, shards, trainer.model->real, lathe_weights(trainer.model));
    if (!refusal) gpu_watch(ranks_in_trouble);
    if (!refusal && parts_opened()) parts_join(trainer.rank);
    return refusal;
}

static void share(void *at, int64_t bytes) { ranks_share(gpu_place(at), bytes, gpu_stream()); }

/* It waits, so that a failure is reported. */
static void return_updated(void *params)
{
    ranks_return(gpu_place(params), gpu_stream());
    gpu_wait();
    trainer.apart = false;
}

/* ------------------------------------------------------------------ entries */

static void tell_bad_id(const Cuda_bad_id *from, Bad_id *to)
{
    snprintf(to->place, sizeof to->place, "%s", from->place);
    snprintf(to->what, sizeof to->what, "%s", from->what);
    to->id = (int)(INT32_MAX - (int64_t)from->over);
    to->below = from->below;
    to->data = from->data != 0;
}

static void send_bad_id(int room) { gpu_send(room, cuda_bad_id(), sizeof(Cuda_bad_id)); }
static_assert(sizeof(Cuda_bad_id) <= LATHE_GPU_SENT, "a room holds it");

static bool take_bad_id(int room, Bad_id *to)
{
    const Cuda_bad_id *bad = (const Cuda_bad_id *)gpu_sent(room, NULL);
    if (!bad || !bad->check) return false;
    tell_bad_id(bad, to);
    return true;
}

static bool run(const Lathe_entry *e, const Lathe_call *call, Bad_id *bad)
{
    assert(!trainer.apart);
    gpu_up(call->in, e->in_bytes);
    gpu_run(&trainer.entry[e - trainer.model->entry], call);
    send_bad_id(0);
    return !take_bad_id(0, bad);
}

/* ------------------------------------------------------------------ steps */

static const Lathe_tensor *loss_of(const Lathe_entry *e)
{
    for (int i = 0; i < e->outputs; i++)
        if (strcmp(e->output[i].name, "loss") == 0) return &e->output[i];
    return NULL;
}

static const Lathe_tensor *loss_scale_of(const Lathe_entry *e)
{
    for (int i = 0; i < e->inputs; i++)
        if (e->input[i].role == LATHE_LOSS_SCALE) return &e->input[i];
    return NULL;
}

static int losses_reported(void) { return trainer.model->losses < LATHE_LOSSES ? trainer.model->losses : LATHE_LOSSES; }

/* Losses by name, before the next step overwrites them. */
static void keep_losses(const Lathe_entry *e, const Lathe_call *device, Gpu_step *step)
{
    for (int k = 0; k < losses_reported(); k++) {
        const Lathe_tensor *t = &e->output[1 + k];
        (void)cudaMemcpyAsync(&step->part[k], (const char *)device->out + t->offset, t->dtype == LATHE_F64 ? 8 : 4,
                              cudaMemcpyDeviceToDevice, (cudaStream_t)device->stream);
    }
}

static double kept_loss(const Lathe_entry *e, const Gpu_step *step, int k)
{
    float x;
    if (e->output[1 + k].dtype == LATHE_F64) return step->part[k];
    memcpy(&x, &step->part[k], sizeof x);
    return (double)x;
}

/* Of the turn that is being enqueued: what its optimizer subtracts, in the place of the gradients. */
static void enqueue_direction(void)
{
    const Gpu_turn *u = trainer.taken;
    const Lathe_entry *before = trainer.now;
    cudaStream_t stream = gpu_stream();
    if (failure()) return;
    gpu_ready_gradients(&u->optimizer, u->directing.grads, lathe_moment_elements(trainer.model), stream);
    gpu_tell_direction(&u->optimizer, u->direction, (void *)u->directing.in, stream);
    trainer.now = u->direction;
    u->direction->run(&u->directing);
    trainer.now = before;
    LAP(LAP_DIRECTION);
}

static void enqueue_step(void *with, const Lathe_call *device)
{
    const Lathe_entry *e = (const Lathe_entry *)with;
    const Lathe_tensor *loss = loss_of(e), *scale = loss_scale_of(e);
    const Gpu_optimizer *o = &trainer.taken->optimizer;
    const Loss_scale *now = &o->step->loss_scale;
    if (scale) /* the value from the host is older */
        (void)cudaMemcpyAsync((char *)device->in + scale->offset, &now->scale, sizeof now->scale,
                              cudaMemcpyDeviceToDevice, (cudaStream_t)device->stream);
    const void *at = (const char *)device->out + loss->offset;
    const Cuda_bad_id *bad = (const Cuda_bad_id *)cuda_bad_id();
    cudaStream_t stream = (cudaStream_t)device->stream;
    parts.n = 0;
    cuda_part = part_begins;
    if (ranks_joined()) ranks_begin(o, (void *)device->params, device->grads, stream);
    enqueue_entry(with, device);
    cuda_part = NULL;
    if (failure()) return; /* the gradients are not those of this step */
    keep_losses(e, device, o->step);
    part_begins(UPDATE_PART, stream);
    parts_rest(stream);
    if (ranks_joined()) ranks_optimize(at, loss->dtype, bad, stream);
    else gpu_optimize(o, (void *)device->params, device->grads, at, loss->dtype, bad, stream);
    part_begins(STEP_PARTS, stream);
}

static void set_coded(Gpu_optimizer *g, const Optimizer *o, char *tables)
{
    g->coded = gpu_coded(o->coded, tables, gpu_place(tables), gpu_place);
    gpu_up(tables, lathe_coded_step_bytes(optimizer_runs(trainer.model)));
}

/* Each turn has a part of `step`; updates stop for all turns at once. */
static void set_optimizer(int turn, const Optimizer *o, void *moments, void *step, const Lathe_entry *direction,
                          const Lathe_call *directing)
{
    Gpu_turn *u = &trainer.turn[turn];
    Optimizer device = *o;
    const Lathe_model *m = trainer.model;
    const int64_t real = o->real == LATHE_F64 ? 8 : 4,
                  each = lathe_shard_elements(lathe_moment_elements(m), trainer.gpus) * real;
    const int64_t mean = o->average ? each + lathe_shard_elements(m->directed_elements, trainer.gpus) * real : 0;
    const bool one = trainer.gpus == 1;
    char *own = (char *)step + turn * lathe_step_bytes(lathe_trained_elements(m), m->directed_elements,
                                                       optimizer_runs(m), trainer.gpus);
    for (int k = 0; k < o->moments; k++)
        device.moment[k] = gpu_place(one ? o->moment[k] : (char *)moments + mean + k * each);
    device.average = gpu_place(one || !o->average ? o->average : moments);
    u->given = (Gpu_step *)own;
    u->given->loss_scale = o->loss_scale;
    u->optimizer = gpu_optimizer(&device, u->given, gpu_place(own), trainer.gpus, trainer.rank);
    u->optimizer.stopped = &trainer.turn[0].optimizer.step->stopped;
    u->direction = direction;
    if (direction) u->directing = gpu_call(directing), u->optimizer.direct = enqueue_direction;
    gpu_up(own, LATHE_STEP_HEAD + o->segments * LATHE_SEGMENT_BYTES);
    if (o->coded)
        set_coded(&u->optimizer, o, own + lathe_step_bytes(lathe_trained_elements(m), 0, optimizer_runs(m), 1));
}

static void begin_step(int turn, const Lathe_entry *e, const Lathe_call *call, const Rates *rates, double clip,
                       int64_t number)
{
    const int room = (int)(trainer.begun++ % LATHE_GPU_ROOMS);
    Gpu_turn *u = trainer.taken = &trainer.turn[turn];
    u->step.enqueue = enqueue_step;
    u->step.with = (void *)e;
    u->given->rates = *rates;
    u->given->clip = clip;
    u->given->number = number;
    gpu_ahead(u->given, offsetof(Gpu_step, loss));
    gpu_ahead(call->in, e->in_bytes);
    gpu_arrive();
    gpu_begin(room);
    if (told_lap) mark(&laps, 0);
    gpu_run(&u->step, call);
    trainer.apart = ranks_joined() && !parts_opened();
    gpu_send(room, gpu_place(u->given), sizeof *u->given);
}

static bool end_step(Step_result *result, Bad_id *bad)
{
    const int room = (int)(trainer.ended++ % LATHE_GPU_ROOMS);
    double seconds = 0;
    const Gpu_step *sent = (const Gpu_step *)gpu_sent(room, &seconds);
    if (!sent) return true;
    const Gpu_step got = *sent;
    *result = {got.loss, got.norm, seconds, 0, 0, 0, {}, got.skipped != 0, got.loss_scale};
    for (int k = 0; k < losses_reported(); k++)
        result->part[k] = kept_loss((const Lathe_entry *)trainer.taken->step.with, &got, k);
    tell_laps();
    tell_parts(result);
    if (!got.bad_id) return true;
    send_bad_id(room);
    return !take_bad_id(room, bad);
}

/* All turns move one mean.  Of several GPUs each waits, so that a failure is reported. */
static void show(void *params)
{
    const Gpu_optimizer *o = &trainer.turn[0].optimizer;
    const Lathe_part all = {0, o->o.n, 0};
    assert(!trainer.apart);
    if (ranks_joined()) ranks_show(o, gpu_place(params), gpu_stream()), gpu_wait();
    else gpu_show_average(o, gpu_place(params), &all, gpu_stream());
}

static void rates(double *copy, double *product)
{
    gpu_rates(trainer.model, trainer.block, trainer.bytes, trainer.multiplies, copy, product);
}

/* ------------------------------------------------------------------ second ways */

/* Loops in one launch, kernels that address by ids, attention by cuDNN. */
static int ways(void) { return loops_launched.n + index_kernels.n + cudnn_plans(); }

static const char *way(int i, bool *exact)
{
    const int loops = loops_launched.n, kernels = index_kernels.n;
    if (exact) *exact = i < loops + kernels;
    return i < loops             ? loops_launched.at[i].name
           : i < loops + kernels ? index_kernels.name[i - loops]
                                 : cudnn_plan(i - loops - kernels);
}

/* Graphs have the other way, so they are dropped. */
static void second(const char *name, bool wanted)
{
    for (Gpu_entry &e : trainer.entry) gpu_forget(&e);
    forget_steps();
    switch_off(name, wanted);
}

static int products(int *wrong)
{
    *wrong = trainer.wrong;
    return trainer.checked;
}

static const char *about(void)
{
    static char text[500];
    cudaDeviceProp device = {};
    int driver = 0;
    (void)cudaDriverGetVersion(&driver);
    (void)cudaGetDeviceProperties(&device, trainer.place);
    snprintf(text, sizeof text, "%.250s, driver %d, cuBLASLt %zu, cuDNN %zu", device.name, driver, cuda_gemm_version(),
             cudnn_version());
    return text;
}

const Lathe_device lathe_cuda = {"GPU", open_gpu, close_gpu, failure, gpu_up, gpu_down, gpu_clear, gpu_copy, run, LAG,
                                 set_optimizer, begin_step, end_step, show, ranks_name, join, share, return_updated,
                                 parts_spread, parts_collect, watch, time_parts, rates, ways, way, second, products,
                                 about};
