/* fake_cudnn.cc: cuDNN of the simulator, a library of its own (cuda/cudnn.cu loads it): descriptors as the real one has
 * them, and graphs of operations computed one after the other, in doubles rounded to what each tensor holds.
 *
 * It knows nothing of attention.  It refuses attributes that are missing, descriptors that are not finished or were
 * given back, pointers that are missing, misaligned, or not of the device for all that their tensor reaches, and says
 * so (sim_report).  Of two ways to compute a graph it cannot compile the first.  FAKE_CUDNN_VERSION is its version;
 * FAKE_CUDNN_STARTS=0: it does not start. */
#include "cuda/cudnn_api.h"
#include "cuda/tensor.cuh"
#include "sim.h"

#include <map>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vector>

struct Descriptor {
    cudnnBackendDescriptorType_t type;
    bool finished;
    std::map<int, std::vector<char>> attributes;
    int way;
};

static std::vector<Descriptor *> living;
static const cudnnStatus_t BAD = (cudnnStatus_t)2000;

static cudnnStatus_t refuse(const char *what)
{
    sim_refuse(cudaErrorInvalidValue, "cuDNN: %s", what);
    return BAD;
}

static Descriptor *known(cudnnBackendDescriptor_t d)
{
    for (Descriptor *one : living)
        if (one == d) return one;
    refuse("a descriptor that is none");
    return NULL;
}

template <class T> static std::vector<T> all(const Descriptor *d, int name)
{
    auto found = d->attributes.find(name);
    if (found == d->attributes.end()) return {};
    const std::vector<char> &bytes = found->second;
    std::vector<T> values(bytes.size() / sizeof(T));
    if (!bytes.empty()) memcpy((void *)values.data(), bytes.data(), bytes.size());
    return values;
}

template <class T> static T one(const Descriptor *d, int name, T otherwise = {})
{
    std::vector<T> values = all<T>(d, name);
    return values.empty() ? otherwise : values[0];
}

static Descriptor *part(const Descriptor *d, int name) { return one<Descriptor *>(d, name); }

/* ------------------------------------------------------------------ tensors */

static int bytes_of(cudnnDataType_t type)
{
    return type == CUDNN_DATA_BOOLEAN ? 1 : type == CUDNN_DATA_HALF || type == CUDNN_DATA_BFLOAT16 ? 2 : 4;
}

/* Where its elements are: on the device, in a number of the host's, or here. */
struct Values {
    cudnnDataType_t type;
    std::vector<int64_t> dim, stride;
    char *device = NULL;
    std::vector<double> here;
};

static int64_t reach(const std::vector<int64_t> &dim, const std::vector<int64_t> &stride)
{
    int64_t last = 0;
    for (int i = 0; i < 4; i++) last += (dim[i] - 1) * stride[i];
    return last + 1;
}

static int64_t place(const Values &x, const int64_t (&at)[4])
{
    int64_t i = 0;
    for (int k = 0; k < 4; k++) i += (x.dim[k] == 1 ? 0 : at[k]) * x.stride[k];
    return i;
}

static double rounded(cudnnDataType_t type, double x)
{
    switch (type) {
    case CUDNN_DATA_BFLOAT16: return (float)Bf16((float)x);
    case CUDNN_DATA_HALF: return (float)F16((float)x);
    case CUDNN_DATA_FLOAT: return (float)x;
    default: return x;
    }
}

static double get(const Values &x, const int64_t (&at)[4])
{
    int64_t i = place(x, at);
    if (!x.device) return x.here[(size_t)i];
    if (x.type == CUDNN_DATA_BFLOAT16) return (float)((Bf16 *)x.device)[i];
    if (x.type == CUDNN_DATA_HALF) return (float)((F16 *)x.device)[i];
    return ((float *)x.device)[i];
}

static void put(Values &x, const int64_t (&at)[4], double value)
{
    int64_t i = place(x, at);
    if (!x.device) x.here[(size_t)i] = rounded(x.type, value);
    else if (x.type == CUDNN_DATA_BFLOAT16) ((Bf16 *)x.device)[i] = Bf16((float)value);
    else if (x.type == CUDNN_DATA_HALF) ((F16 *)x.device)[i] = F16((float)value);
    else ((float *)x.device)[i] = (float)value;
}

/* Calls do(at) for each index of it. */
template <class Do> static void each(const std::vector<int64_t> &dim, Do do_it)
{
    int64_t at[4];
    for (at[0] = 0; at[0] < dim[0]; at[0]++)
        for (at[1] = 0; at[1] < dim[1]; at[1]++)
            for (at[2] = 0; at[2] < dim[2]; at[2]++)
                for (at[3] = 0; at[3] < dim[3]; at[3]++) do_it(at);
}

/* ------------------------------------------------------------------ operations */

struct Run {
    std::map<int64_t, void *> given;
    std::map<int64_t, double> numbers;
    std::map<const Descriptor *, Values> values;
};

static Values &values_of(Run &r, const Descriptor *t)
{
    auto found = r.values.find(t);
    if (found != r.values.end()) return found->second;
    Values &x = r.values[t];
    int64_t id = one<int64_t>(t, CUDNN_ATTR_TENSOR_UNIQUE_ID);
    x.type = one<cudnnDataType_t>(t, CUDNN_ATTR_TENSOR_DATA_TYPE);
    x.dim = all<int64_t>(t, CUDNN_ATTR_TENSOR_DIMENSIONS), x.stride = all<int64_t>(t, CUDNN_ATTR_TENSOR_STRIDES);
    if (one<char>(t, CUDNN_ATTR_TENSOR_IS_VIRTUAL)) x.here.assign((size_t)reach(x.dim, x.stride), NAN);
    else if (one<char>(t, CUDNN_ATTR_TENSOR_IS_BY_VALUE)) x.here.assign(1, r.numbers[id]);
    else x.device = (char *)r.given[id];
    return x;
}

static bool unmasked; /* a mistake put in: keys that are not to be seen are */

static double pointwise(cudnnPointwiseMode_t mode, double x, double b, double t)
{
    switch (mode) {
    case CUDNN_POINTWISE_ADD: return x + b;
    case CUDNN_POINTWISE_MUL: return x * b;
    case CUDNN_POINTWISE_DIV: return x / b;
    case CUDNN_POINTWISE_SUB: return x - b;
    case CUDNN_POINTWISE_EXP: return exp(x);
    case CUDNN_POINTWISE_LOG: return log(x);
    case CUDNN_POINTWISE_CMP_GE: return x >= b;
    case CUDNN_POINTWISE_BINARY_SELECT: return t || unmasked ? x : b;
    default: return NAN;
    }
}

static void run_pointwise(Run &r, const Descriptor *o)
{
    const Descriptor *how = part(o, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
    const Descriptor *b = part(o, CUDNN_ATTR_OPERATION_POINTWISE_BDESC),
                     *t = part(o, CUDNN_ATTR_OPERATION_POINTWISE_TDESC);
    cudnnPointwiseMode_t mode = one<cudnnPointwiseMode_t>(how, CUDNN_ATTR_POINTWISE_MODE);
    int64_t axis = one<int64_t>(how, CUDNN_ATTR_POINTWISE_AXIS, -1);
    Values &x = values_of(r, part(o, CUDNN_ATTR_OPERATION_POINTWISE_XDESC));
    Values &y = values_of(r, part(o, CUDNN_ATTR_OPERATION_POINTWISE_YDESC));
    each(y.dim, [&](const int64_t(&at)[4]) {
        double value = mode == CUDNN_POINTWISE_GEN_INDEX ? (double)at[axis]
                                                         : pointwise(mode, get(x, at), b ? get(values_of(r, b), at) : 0,
                                                                     t ? get(values_of(r, t), at) : 0);
        put(y, at, value);
    });
}

/* Heads of b are shared by those of a. */
static void run_product(Run &r, const Descriptor *o)
{
    Values &a = values_of(r, part(o, CUDNN_ATTR_OPERATION_MATMUL_ADESC)),
           &b = values_of(r, part(o, CUDNN_ATTR_OPERATION_MATMUL_BDESC));
    Values &c = values_of(r, part(o, CUDNN_ATTR_OPERATION_MATMUL_CDESC));
    if (a.dim[3] != b.dim[2] || c.dim[2] != a.dim[2] || c.dim[3] != b.dim[3] || c.dim[1] % b.dim[1] ||
        c.dim[1] != a.dim[1]) {
        refuse("the extents of a product do not fit");
        return;
    }
    each(c.dim, [&](const int64_t(&at)[4]) {
        double sum = 0;
        for (int64_t k = 0; k < a.dim[3]; k++)
            sum += get(a, {at[0], at[1], at[2], k}) * get(b, {at[0], at[1] / (c.dim[1] / b.dim[1]), k, at[3]});
        put(c, at, sum);
    });
}

/* To extents of 1, or of heads to the groups that share one. */
static void run_reduction(Run &r, const Descriptor *o)
{
    const Descriptor *how = part(o, CUDNN_ATTR_OPERATION_REDUCTION_DESC);
    bool sum = one<cudnnReduceTensorOp_t>(how, CUDNN_ATTR_REDUCTION_OPERATOR) == CUDNN_REDUCE_TENSOR_ADD;
    Values &x = values_of(r, part(o, CUDNN_ATTR_OPERATION_REDUCTION_XDESC)),
           &y = values_of(r, part(o, CUDNN_ATTR_OPERATION_REDUCTION_YDESC));
    std::map<int64_t, double> found;
    for (int k = 0; k < 4; k++)
        if (x.dim[k] % y.dim[k]) refuse("the extents of a reduction do not fit");
    auto to = [&](const int64_t(&at)[4]) {
        return place(y, {at[0] * y.dim[0] / x.dim[0], at[1] * y.dim[1] / x.dim[1], at[2] * y.dim[2] / x.dim[2],
                         at[3] * y.dim[3] / x.dim[3]});
    };
    each(x.dim, [&](const int64_t(&at)[4]) {
        auto first = found.insert({to(at), sum ? 0 : -INFINITY}).first;
        first->second = sum ? first->second + get(x, at) : fmax(first->second, get(x, at));
    });
    each(y.dim, [&](const int64_t(&at)[4]) { put(y, at, found[place(y, at)]); });
}

/* The same memory, read with other extents and strides. */
static void run_reshape(Run &r, const Descriptor *o)
{
    Values x = values_of(r, part(o, CUDNN_ATTR_OPERATION_RESHAPE_XDESC));
    Values &y = values_of(r, part(o, CUDNN_ATTR_OPERATION_RESHAPE_YDESC));
    x.dim = y.dim, x.stride = y.stride;
    each(y.dim, [&](const int64_t(&at)[4]) { put(y, at, get(x, at)); });
}

static void run_graph(const Descriptor *graph, Run r)
{
    for (const Descriptor *o : all<Descriptor *>(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS)) {
        switch (o->type) {
        case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR: run_pointwise(r, o); break;
        case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR: run_product(r, o); break;
        case CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR: run_reduction(r, o); break;
        case CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR: run_reshape(r, o); break;
        default: refuse("an operation that it does not have"); break;
        }
    }
}

/* ------------------------------------------------------------------ what descriptors must have */

static std::vector<int> wanted(cudnnBackendDescriptorType_t type)
{
    switch (type) {
    case CUDNN_BACKEND_TENSOR_DESCRIPTOR:
        return {CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_ATTR_TENSOR_DIMENSIONS,
                CUDNN_ATTR_TENSOR_STRIDES, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT};
    case CUDNN_BACKEND_POINTWISE_DESCRIPTOR: return {CUDNN_ATTR_POINTWISE_MODE, CUDNN_ATTR_POINTWISE_MATH_PREC};
    case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR:
        return {CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, CUDNN_ATTR_OPERATION_POINTWISE_XDESC,
                CUDNN_ATTR_OPERATION_POINTWISE_YDESC};
    case CUDNN_BACKEND_MATMUL_DESCRIPTOR: return {CUDNN_ATTR_MATMUL_COMP_TYPE};
    case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR:
        return {CUDNN_ATTR_OPERATION_MATMUL_DESC, CUDNN_ATTR_OPERATION_MATMUL_ADESC, CUDNN_ATTR_OPERATION_MATMUL_BDESC,
                CUDNN_ATTR_OPERATION_MATMUL_CDESC};
    case CUDNN_BACKEND_REDUCTION_DESCRIPTOR: return {CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_ATTR_REDUCTION_COMP_TYPE};
    case CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR:
        return {CUDNN_ATTR_OPERATION_REDUCTION_DESC, CUDNN_ATTR_OPERATION_REDUCTION_XDESC,
                CUDNN_ATTR_OPERATION_REDUCTION_YDESC};
    case CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR:
        return {CUDNN_ATTR_OPERATION_RESHAPE_XDESC, CUDNN_ATTR_OPERATION_RESHAPE_YDESC};
    case CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR:
        return {CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_ATTR_OPERATIONGRAPH_OPS};
    case CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR:
        return {CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH};
    case CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR:
        return {CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG};
    case CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR:
        return {CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS,
                CUDNN_ATTR_VARIANT_PACK_WORKSPACE};
    default: return {};
    }
}

enum { THE_GRAPH = -1 }; /* of an engine's configuration */

/* Beside a derivative's products, told by their number, the square of weights is in the workspace. */
static int64_t workspace_of(const Descriptor *graph)
{
    int products = 0;
    int64_t squares = 0;
    for (const Descriptor *o : all<Descriptor *>(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS)) {
        if (o->type != CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR) continue;
        std::vector<int64_t> dim =
            all<int64_t>(part(o, CUDNN_ATTR_OPERATION_MATMUL_CDESC), CUDNN_ATTR_TENSOR_DIMENSIONS);
        if (products++ == 0)
            squares = dim[0] * dim[1] * ((dim[2] + 127) / 128 * 128) * ((dim[3] + 127) / 128 * 128) * 2;
    }
    return products > 2 ? squares + 256 : 256;
}

/* Everything that a call must bring, as one thing that can be done later. */
static cudnnStatus_t bring(const Descriptor *graph, const Descriptor *pack, Run *r)
{
    std::vector<int64_t> ids = all<int64_t>(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
    std::vector<void *> at = all<void *>(pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
    for (size_t i = 0; i < ids.size(); i++) r->given[ids[i]] = at[i];
    for (const Descriptor *d : living) {
        if (d->type != CUDNN_BACKEND_TENSOR_DESCRIPTOR || one<char>(d, CUDNN_ATTR_TENSOR_IS_VIRTUAL)) continue;
        bool used = false;
        for (const Descriptor *o : all<Descriptor *>(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS))
            for (auto &a : o->attributes)
                used |= a.second.size() == sizeof d && memcmp(a.second.data(), &d, sizeof d) == 0;
        if (!used) continue;
        int64_t id = one<int64_t>(d, CUDNN_ATTR_TENSOR_UNIQUE_ID);
        char *where = (char *)r->given[id];
        if (!where) return refuse("a tensor without a pointer");
        if (one<char>(d, CUDNN_ATTR_TENSOR_IS_BY_VALUE)) {
            r->numbers[id] = *(float *)where;
            continue;
        }
        int64_t elements =
            reach(all<int64_t>(d, CUDNN_ATTR_TENSOR_DIMENSIONS), all<int64_t>(d, CUDNN_ATTR_TENSOR_STRIDES));
        int64_t align = one<int64_t>(d, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT);
        if ((size_t)where % (size_t)align) return refuse("a misaligned pointer");
        if (!sim_on_device(where, (size_t)(elements * bytes_of(one<cudnnDataType_t>(d, CUDNN_ATTR_TENSOR_DATA_TYPE)))))
            return refuse("a tensor that is not all on the device");
    }
    return CUDNN_STATUS_SUCCESS;
}

/* ------------------------------------------------------------------ the interface */

struct cudnnContext {
    cudaStream_t stream;
};

size_t cudnnGetVersion(void)
{
    const char *version = getenv("FAKE_CUDNN_VERSION");
    return version ? (size_t)atoi(version) : 91900;
}

const char *cudnnGetErrorString(cudnnStatus_t) { return "CUDNN_STATUS_FAKE"; }
void cudnnGetLastErrorString(char *message, size_t size) { snprintf(message, size, "see sim_report"); }

cudnnStatus_t cudnnCreate(cudnnHandle_t *handle)
{
    const char *starts = getenv("FAKE_CUDNN_STARTS");
    if (starts && *starts == '0') return (cudnnStatus_t)1001;
    *handle = new cudnnContext();
    return CUDNN_STATUS_SUCCESS;
}

/* All descriptors must have been given back. */
cudnnStatus_t cudnnDestroy(cudnnHandle_t handle)
{
    delete handle;
    return living.empty() ? CUDNN_STATUS_SUCCESS : refuse("descriptors are left");
}

cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream)
{
    handle->stream = stream;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t *descriptor)
{
    living.push_back(new Descriptor{type, false, {}, 0});
    *descriptor = living.back();
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor)
{
    for (size_t i = 0; i < living.size(); i++)
        if (living[i] == descriptor) {
            delete living[i];
            living.erase(living.begin() + (long)i);
            return CUDNN_STATUS_SUCCESS;
        }
    return refuse("a descriptor given back that is none");
}

cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t descriptor)
{
    Descriptor *d = known(descriptor);
    if (!d) return BAD;
    for (int name : wanted(d->type))
        if (!d->attributes.count(name)) return refuse("an attribute is missing");
    if (d->type == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR &&
        part(d, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG)->way == 0)
        return CUDNN_STATUS_NOT_SUPPORTED;
    d->finished = true;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t n, const void *elements)
{
    Descriptor *d = known(descriptor);
    if (!d || d->finished) return refuse("an attribute of a finished descriptor");
    size_t size = type == CUDNN_TYPE_BOOLEAN || type == CUDNN_TYPE_CHAR ? 1
                  : type == CUDNN_TYPE_INT64 || type == CUDNN_TYPE_HANDLE || type == CUDNN_TYPE_VOID_PTR ||
                          type == CUDNN_TYPE_BACKEND_DESCRIPTOR
                      ? 8
                      : 4;
    if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR)
        for (int64_t i = 0; i < n; i++) {
            Descriptor *p = known(((cudnnBackendDescriptor_t *)elements)[i]);
            if (!p || !p->finished) return refuse("a part that is not finished");
        }
    d->attributes[name].assign((const char *)elements, (const char *)elements + (size_t)n * size);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t, int64_t asked, int64_t *n, void *elements)
{
    Descriptor *d = known(descriptor);
    if (!d) return BAD;
    if (name == CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE) {
        *n = 1;
        *(int64_t *)elements = workspace_of(part(d, THE_GRAPH));
        return CUDNN_STATUS_SUCCESS;
    }
    if (name == CUDNN_ATTR_ENGINECFG_ENGINE) {
        Descriptor *engine = known(*(cudnnBackendDescriptor_t *)elements);
        if (!engine || engine->type != CUDNN_BACKEND_ENGINE_DESCRIPTOR) return refuse("an engine's place that is none");
        *n = 1, engine->finished = true;
        return CUDNN_STATUS_SUCCESS;
    }
    if (name == CUDNN_ATTR_ENGINE_NUMERICAL_NOTE && asked >= 2) {
        const int tensor_cores = 0;
        ((cudnnBackendNumericalNote_t *)elements)[0] = (cudnnBackendNumericalNote_t)tensor_cores;
        ((cudnnBackendNumericalNote_t *)elements)[1] = CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC;
        *n = getenv("FAKE_CUDNN_VARIES") ? 2 : 1;
        return CUDNN_STATUS_SUCCESS;
    }
    if (name != CUDNN_ATTR_ENGINEHEUR_RESULTS || asked < 2) return refuse("an attribute that it does not tell");
    *n = 2;
    for (int i = 0; i < 2; i++) {
        Descriptor *way = known(((cudnnBackendDescriptor_t *)elements)[i]);
        way->way = i, way->finished = true;
        way->attributes[THE_GRAPH] = d->attributes[CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH];
    }
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan, cudnnBackendDescriptor_t pack)
{
    Descriptor *p = known(plan), *given = known(pack);
    if (!p || !given || !p->finished || !given->finished) return refuse("a plan or its operands are not finished");
    const Descriptor *graph = part(part(p, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG), THE_GRAPH);
    if (!known((void *)graph)) return BAD;
    Run r;
    void *workspace = one<void *>(given, CUDNN_ATTR_VARIANT_PACK_WORKSPACE);
    size_t bytes = (size_t)workspace_of(graph);
    cudnnStatus_t status = bring(graph, given, &r);
    if (status != CUDNN_STATUS_SUCCESS) return status;
    if (!sim_on_device(workspace, bytes)) return refuse("a workspace that is too small");
    if (sim_refuses("execute")) return CUDNN_STATUS_NOT_SUPPORTED;
    bool wrong = sim_refuses("wrong_attention");
    sim_enqueue(handle->stream, "cuDNN", [=] {
        memset(workspace, 0xff, bytes);
        unmasked = wrong;
        run_graph(graph, r);
        unmasked = false;
        return cudaSuccess;
    });
    return CUDNN_STATUS_SUCCESS;
}
