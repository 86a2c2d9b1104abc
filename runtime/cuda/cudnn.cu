/* cudnn.cu: cuDNN, loaded at run time: the calls of attention that it serves, their compiled plans, and their
 * execution. */
#include "cuda/cudnn_internal.h"
#include "cuda/second_way.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIBRARY cudnn_library

struct Cudnn_library cudnn_library;

enum { OLDEST = 90600, PLANS = 64, WAYS = 16 };

struct Plan { /* for one shape; plan NULL: not served */
    Lathe_attention shape;
    Lathe_dtype type;
    Cudnn_what what;
    int64_t samples; /* per call: a part of the batch */
    cudnnBackendDescriptor_t plan, way;
    Cudnn_graph graph; /* the plan needs it */
    char name[200];    /* for messages; unique */
};

static struct {
    Plan at[PLANS];
    int n;
} plans;

/* ------------------------------------------------------------------ the library */

static char remark[512]; /* why the library is not used */

static const char *without(const char *format, const char *a, const char *b)
{
    snprintf(remark, sizeof remark, format, a, b);
    return remark;
}

const char *cudnn_load(void)
{
    const char *named = getenv("LATHE_CUDNN"), *path = named && *named ? named : "libcudnn.so.9";
    if (LIBRARY.loaded) return NULL;
    void *loaded = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!loaded) return without("cuDNN was not found (%.300s%s): attention runs in kernels of Lathe", dlerror(), "");
#define FIND(name)                                                                                                     \
    LIBRARY.name = (decltype(&::name))dlsym(loaded, #name);                                                            \
    if (!LIBRARY.name) return without("cuDNN (%.200s) has no %s: attention runs in kernels of Lathe", path, #name);
    CUDNN_FUNCTIONS(FIND)
#undef FIND
    size_t version = LIBRARY.cudnnGetVersion();
    char text[64];
    snprintf(text, sizeof text, "%zu.%zu.%zu", version / 10000, version / 100 % 100, version % 100);
    if (version / 10000 != 9 || version < OLDEST)
        return without("cuDNN (%.200s) is %s, and 9.6 or a later 9 is needed: attention runs in kernels of Lathe", path,
                       text);
    if (version == 91000 || version == 91001)
        return without("cuDNN (%.200s) is %s, whose attention is known to be wrong: attention runs in kernels of Lathe",
                       path, text);
    LIBRARY.loaded = loaded;
    return NULL;
}

const char *cudnn_start(void *workspace, size_t bytes)
{
    const char *named = getenv("LATHE_CUDNN");
    if (named && strcmp(named, "none") == 0) return NULL;
    const char *missing = cudnn_load();
    if (missing) return missing;
    cudnnStatus_t status = LIBRARY.cudnnCreate(&LIBRARY.handle);
    LIBRARY.workspace = (char *)workspace;
    LIBRARY.workspace_bytes = bytes;
    if (status == CUDNN_STATUS_SUCCESS) return NULL;
    LIBRARY.handle = NULL;
    return without("cuDNN does not start (%s%s): attention runs in kernels of Lathe",
                   LIBRARY.cudnnGetErrorString(status), "");
}

static void forget(Plan *p)
{
    LIBRARY.cudnnBackendDestroyDescriptor(p->plan);
    LIBRARY.cudnnBackendDestroyDescriptor(p->way);
    cudnn_forget_graph(&p->graph);
    p->plan = NULL;
}

void cudnn_stop(void)
{
    for (int i = 0; i < plans.n; i++)
        if (plans.at[i].plan) forget(&plans.at[i]);
    plans.n = 0;
    if (LIBRARY.handle) LIBRARY.cudnnDestroy(LIBRARY.handle);
    LIBRARY.handle = NULL;
}

size_t cudnn_version(void) { return LIBRARY.handle ? LIBRARY.cudnnGetVersion() : 0; }

/* A call that fails is not given to the library again: our kernel then computes it, and overwrites all partial
 * results. */
static bool failed(const char *name, const char *what, cudnnStatus_t status)
{
    if (status == CUDNN_STATUS_SUCCESS) return false;
    char said[256] = "", why[400];
    LIBRARY.cudnnGetLastErrorString(said, sizeof said);
    snprintf(why, sizeof why, "%s fails (%s: %.200s); this attention runs in kernels of Lathe", what,
             LIBRARY.cudnnGetErrorString(status), said);
    second_way(name, why);
    return true;
}

/* ------------------------------------------------------------------ plans */

static bool is_set(cudnnBackendDescriptor_t d, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                   int64_t n, const void *elements)
{
    return LIBRARY.cudnnBackendSetAttribute(d, name, type, n, elements) == CUDNN_STATUS_SUCCESS;
}

static cudnnBackendDescriptor_t made(cudnnBackendDescriptorType_t type)
{
    cudnnBackendDescriptor_t d = NULL;
    return LIBRARY.cudnnBackendCreateDescriptor(type, &d) == CUDNN_STATUS_SUCCESS ? d : NULL;
}

int cudnn_ways(const Cudnn_graph *g, cudnnBackendDescriptor_t *ways, int most)
{
    cudnnBackendHeurMode_t mode = CUDNN_HEUR_MODE_A;
    cudnnBackendDescriptor_t asked = made(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    int64_t found = 0;
    for (int i = 0; i < most; i++) ways[i] = made(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    bool done = g->graph &&
                is_set(asked, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &g->graph) &&
                is_set(asked, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode);
    if (done && LIBRARY.device)
        done = is_set(asked, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &LIBRARY.device);
    done = done && LIBRARY.cudnnBackendFinalize(asked) == CUDNN_STATUS_SUCCESS &&
           LIBRARY.cudnnBackendGetAttribute(asked, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, most,
                                            &found, ways) == CUDNN_STATUS_SUCCESS;
    LIBRARY.cudnnBackendDestroyDescriptor(asked);
    for (int i = done ? (int)found : 0; i < most; i++) LIBRARY.cudnnBackendDestroyDescriptor(ways[i]);
    return done ? (int)found : 0;
}

int64_t cudnn_way_bytes(cudnnBackendDescriptor_t way)
{
    int64_t bytes = 0, n = 0;
    cudnnStatus_t status =
        LIBRARY.cudnnBackendGetAttribute(way, CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, &n, &bytes);
    return status == CUDNN_STATUS_SUCCESS && n == 1 ? bytes : INT64_MAX / 2;
}

/* An engine is deterministic if its notes do not say otherwise; an engine without notes is not trusted. */
bool cudnn_way_repeats(cudnnBackendDescriptor_t way)
{
    cudnnBackendNumericalNote_t notes[4 * CUDNN_NUMERICAL_NOTE_TYPE_COUNT];
    cudnnBackendDescriptor_t engine = made(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
    int64_t n = 0, most = sizeof notes / sizeof *notes;
    bool told = LIBRARY.cudnnBackendGetAttribute(way, CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &n,
                                                 &engine) == CUDNN_STATUS_SUCCESS &&
                LIBRARY.cudnnBackendGetAttribute(engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
                                                 most, &n, notes) == CUDNN_STATUS_SUCCESS;
    for (int i = 0; told && i < n; i++) told = notes[i] != CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC;
    LIBRARY.cudnnBackendDestroyDescriptor(engine);
    return told;
}

cudnnBackendDescriptor_t cudnn_plan_of(cudnnBackendDescriptor_t way)
{
    cudnnBackendDescriptor_t plan = made(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    bool done = is_set(plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &way);
    if (done && LIBRARY.handle)
        done = is_set(plan, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &LIBRARY.handle);
    if (done && LIBRARY.device)
        done = is_set(plan, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &LIBRARY.device);
    if (done && LIBRARY.cudnnBackendFinalize(plan) == CUDNN_STATUS_SUCCESS) return plan;
    LIBRARY.cudnnBackendDestroyDescriptor(plan);
    return NULL;
}

/* ------------------------------------------------------------------ shapes */

static int64_t all_samples(const Lathe_attention *g)
{
    int64_t n = 1;
    for (int i = 0; i < g->nbatch; i++) n *= g->batch[i];
    return n;
}

int64_t cudnn_between_samples(const Lathe_attention *g, const Lathe_heads *x)
{
    int64_t apart = 0, n = 1; /* n samples so far, of the innermost axes, with stride `apart` */
    for (int i = g->nbatch - 1; i >= 0; i--) {
        if (g->batch[i] == 1) continue;
        if (n == 1) apart = x->batch[i];
        else if (x->batch[i] != n * apart) return -1;
        n *= g->batch[i];
    }
    return n > 1 ? apart : (g->H * x->head > g->T * x->time ? g->H * x->head : g->T * x->time);
}

/* whether rows of 16-bit elements consist of pieces of 16 bytes */
static bool in_pieces(const Lathe_attention *g, const Lathe_heads *x)
{
    int64_t apart = cudnn_between_samples(g, x);
    return apart > 0 && apart % 8 == 0 && x->time > 0 && x->time % 8 == 0 && x->head % 8 == 0 &&
           (x->head > 0 || g->H == 1);
}

static bool may_be(Lathe_dtype type, const Lathe_attention *g, Cudnn_what what)
{
    bool whole = (type == LATHE_BF16 || type == LATHE_F16) && !g->window && !g->threshold && g->T > 1 && g->S > 1 &&
                 g->D % 8 == 0 && g->E % 8 == 0 && g->D <= LATHE_MAX_HEAD && g->E <= LATHE_MAX_HEAD;
    whole = whole && in_pieces(g, &g->q) && in_pieces(g, &g->k) && in_pieces(g, &g->v) && in_pieces(g, &g->o) &&
            (what == CUDNN_FORWARD || cudnn_between_samples(g, &g->lse) > 0);
    if (what != CUDNN_BACKWARD || !whole) return whole;
    if (LIBRARY.cudnnGetVersion() <= 91500 && g->S % 128) return false; /* up to that version, gradients may be wrong */
    return in_pieces(g, &g->d_o) && in_pieces(g, &g->d_q) && in_pieces(g, &g->d_k) && in_pieces(g, &g->d_v);
}

/* ------------------------------------------------------------------ plans of shapes */

/* Bytes of the deltas of a call's queries, at the beginning of the workspace; the library's part follows. */
static int64_t delta_bytes(const Lathe_attention *g, int64_t samples)
{
    return (samples * g->H * g->T * 4 + 255) / 256 * 256;
}

int64_t cudnn_workspace_bytes(const Lathe_attention *g, int64_t samples)
{
    return lathe_attention_bytes(samples, g->H, g->G, g->T, g->S, g->D, g->E);
}

static cudnnDataType_t number_of(Lathe_dtype type)
{
    return type == LATHE_BF16 ? CUDNN_DATA_BFLOAT16 : CUDNN_DATA_HALF;
}

/* The name has an FNV-1a hash of the shape and its strides, so that equal extents with other strides differ.  where:
 * the first line that asked. */
static void name_plan(Plan *p, const char *where)
{
    static const char *const what[] = {"forward", "forward", "backward"};
    const Lathe_attention *g = &p->shape;
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < sizeof *g; i++) hash = (hash ^ ((const unsigned char *)g)[i]) * 16777619u;
    snprintf(p->name, sizeof p->name,
             "attention by cuDNN, %s: %.80s%s%lld heads of %lld, %lld queries, %lld keys%s (%08x)", what[p->what],
             where ? where : "", where ? ", " : "", (long long)g->H, (long long)g->D, (long long)g->T, (long long)g->S,
             g->causal ? ", causal" : "", hash);
}

/* Makes the plan for p->samples; NULL if the workspace is too small or nothing can be compiled. */
static void make_plan(Plan *p)
{
    cudnnBackendDescriptor_t ways[WAYS];
    int64_t left =
        (int64_t)LIBRARY.workspace_bytes - (p->what == CUDNN_BACKWARD ? delta_bytes(&p->shape, p->samples) : 0);
    p->graph = cudnn_graph(&p->shape, p->what, number_of(p->type), p->samples);
    int n = cudnn_ways(&p->graph, ways, WAYS);
    for (int i = 0; i < n; i++) {
        if (!p->plan && cudnn_way_repeats(ways[i]) && cudnn_way_bytes(ways[i]) <= left)
            p->plan = cudnn_plan_of(ways[i]), p->way = ways[i];
        if (!p->plan || p->way != ways[i]) LIBRARY.cudnnBackendDestroyDescriptor(ways[i]);
    }
    if (!p->plan) cudnn_forget_graph(&p->graph);
}

/* Whether a call may have n samples: the derivative's workspace is large enough (forward needs little), and parts begin
 * at multiples of 16 bytes. */
static bool may_take(const Lathe_attention *g, Cudnn_what what, int64_t n)
{
    int64_t all = all_samples(g);
    if (what != CUDNN_BACKWARD) return n == all;
    return all % n == 0 && cudnn_workspace_bytes(g, n) <= (int64_t)LIBRARY.workspace_bytes &&
           (n == all || n * cudnn_between_samples(g, &g->lse) % 4 == 0);
}

static Plan *plan_of(Lathe_dtype type, const Lathe_attention *given, Cudnn_what what)
{
    Lathe_attention shape = *given, *g = &shape;
    shape.where = NULL;
    for (int i = 0; i < plans.n; i++) {
        Plan *p = &plans.at[i];
        if (p->type == type && p->what == what && memcmp(&p->shape, g, sizeof *g) == 0) return p;
    }
    if (!LIBRARY.handle || plans.n == PLANS || !may_be(type, g, what)) return NULL;
    Plan *p = &plans.at[plans.n++];
    *p = {*g, type, what, all_samples(g), NULL, NULL, {}, ""};
    name_plan(p, given->where);
    while (p->samples > 0 && !may_take(g, what, p->samples)) p->samples--;
    if (p->samples > 0) make_plan(p);
    return p;
}

int cudnn_plans(void) { return plans.n; }
const char *cudnn_plan(int i) { return plans.at[i].plan ? plans.at[i].name : NULL; }

bool cudnn_serves(Lathe_dtype type, const Lathe_attention *g, Cudnn_what what)
{
    const Plan *p = plan_of(type, g, what);
    return p && p->plan;
}

/* ------------------------------------------------------------------ calls */

struct Given { /* an operand of a call */
    Cudnn_id id;
    const void *at;
    const Lathe_heads *heads;
};

struct Pointers { /* of a part of a call, in the library's form */
    int64_t id[16];
    const void *at[16];
    int n;
};

static void give(Pointers *p, Cudnn_id id, const void *at)
{
    p->id[p->n] = id;
    p->at[p->n++] = at;
}

/* Computes the plan's number of samples, from `first` on; false: it failed. */
static bool run_part(const Plan *p, const Given *given, int n, int64_t first)
{
    static const float unseen = -INFINITY, one = 1;
    const Lathe_attention *g = &p->shape;
    float scale = (float)g->scale;
    char *own = LIBRARY.workspace + (p->what == CUDNN_BACKWARD ? delta_bytes(g, p->samples) : 0);
    Pointers a = {};
    for (int i = 0; i < n; i++) {
        int64_t bytes = first * cudnn_between_samples(g, given[i].heads) * (given[i].id == ID_LSE ? 4 : 2);
        give(&a, given[i].id, (const char *)given[i].at + bytes);
    }
    give(&a, ID_SCALE, &scale);
    if (g->causal) give(&a, ID_UNSEEN, &unseen);
    if (p->what == CUDNN_BACKWARD) give(&a, ID_DELTA, LIBRARY.workspace), give(&a, ID_ONE, &one);
    cudnnBackendDescriptor_t pack = made(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    bool set = is_set(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, a.n, a.id) &&
               is_set(pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, a.n, a.at) &&
               is_set(pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &own);
    cudnnStatus_t status = set ? LIBRARY.cudnnBackendFinalize(pack) : CUDNN_STATUS_NOT_SUPPORTED;
    bool done = !failed(p->name, "a call's operands", status) &&
                !failed(p->name, "a call", LIBRARY.cudnnBackendExecute(LIBRARY.handle, p->plan, pack));
    LIBRARY.cudnnBackendDestroyDescriptor(pack);
    return done;
}

static bool run(cudaStream_t stream, Lathe_dtype type, const Lathe_attention *g, Cudnn_what what, const Given *given,
                int n)
{
    for (int i = 0; i < n; i++)
        if (!given[i].at || (size_t)given[i].at % 16) return false;
    Plan *p = plan_of(type, g, what);
    if (!p || !p->plan || is_switched_off(p->name)) return false;
    bool done = !failed(p->name, "a stream", LIBRARY.cudnnSetStream(LIBRARY.handle, stream));
    for (int64_t first = 0; done && first < all_samples(g); first += p->samples) done = run_part(p, given, n, first);
    if (done) return true;
    forget(p);
    return false;
}

bool cudnn_attention(cudaStream_t stream, Lathe_dtype type, const Lathe_attention *g, void *o, float *lse,
                     const void *q, const void *k, const void *v)
{
    const Given given[] = {
        {ID_O, o, &g->o}, {ID_Q, q, &g->q}, {ID_K, k, &g->k}, {ID_V, v, &g->v}, {ID_LSE, lse, &g->lse}};
    return run(stream, type, g, lse ? CUDNN_FORWARD_LSE : CUDNN_FORWARD, given, lse ? 5 : 4);
}

bool cudnn_attention_back(cudaStream_t stream, Lathe_dtype type, const Lathe_attention *g, void *d_q, void *d_k,
                          void *d_v, const void *q, const void *k, const void *v, const void *o, const float *lse,
                          const void *d_o)
{
    const Given given[] = {{ID_D_Q, d_q, &g->d_q}, {ID_D_K, d_k, &g->d_k}, {ID_D_V, d_v, &g->d_v},
                           {ID_Q, q, &g->q},       {ID_K, k, &g->k},       {ID_V, v, &g->v},
                           {ID_O, o, &g->o},       {ID_LSE, lse, &g->lse}, {ID_D_O, d_o, &g->d_o}};
    return run(stream, type, g, CUDNN_BACKWARD, given, 9);
}
