/* fake_cublaslt_operands.cc: where the operands of a product may lie: on the device, aligned as its algorithm wants, nothing where
 * the product writes. */
#include "fake_cublaslt.h"

#include <vector>

/* Every element of a matrix of each product: use(index in elements, row, column, which product). */
template <class Use> static void each(const Layout &l, Use use)
{
    for (int64_t i = 0; i < l.batch; i++)
        for (uint64_t column = 0; column < l.columns; column++)
            for (uint64_t row = 0; row < l.rows; row++) use(i * l.apart + (int64_t)column * l.ld + (int64_t)row, row, column, i);
}

static size_t bytes_of(const Layout &l)
{
    return ((l.batch - 1) * l.apart + ((int64_t)l.columns - 1) * l.ld + l.rows) * size_of(l.type);
}

static cublasStatus_t check_operand(const void *at, size_t bytes, uint32_t align, const char *name)
{
    if (!at) return refuse("%s is NULL", name);
    if (!sim_on_device(at, bytes)) return refuse("%s: %zu bytes that are not all in an allocation of the device", name, bytes);
    if ((uintptr_t)at % align)
        return refuse("misaligned: %s is at no multiple of the %u bytes that its algorithm was chosen for", name, align);
    return CUBLAS_STATUS_SUCCESS;
}

/* The bytes that a product writes, and whether it reads others there. */
struct Written {
    std::vector<std::pair<const char *, std::vector<bool>>> parts;

    bool meets(const char *at, size_t bytes) const
    {
        for (const auto &part : parts)
            for (size_t i = 0; i < bytes; i++)
                if (at + i >= part.first && at + i < part.first + part.second.size() && part.second[at + i - part.first]) return true;
        return false;
    }
    bool meets(const void *at, const Layout &l) const
    {
        bool found = false;
        each(l, [&](int64_t i, uint64_t, uint64_t, int64_t) {
            found = found || meets((const char *)at + i * size_of(l.type), size_of(l.type));
        });
        return found;
    }
    bool add(const void *at, const Layout &l) /* false: an element is written twice */
    {
        std::vector<bool> mark(bytes_of(l));
        bool once = true;
        each(l, [&](int64_t i, uint64_t, uint64_t, int64_t) {
            for (size_t k = 0; k < size_of(l.type); k++) {
                once = once && !mark[i * size_of(l.type) + k];
                mark[i * size_of(l.type) + k] = true;
            }
        });
        parts.push_back({(const char *)at, mark});
        return once;
    }
};

static Layout aux_layout(const Product &p) { return {LAYOUT, p.d.type, 0, 1, p.m, p.n, p.desc.aux_ld, 0}; }

cublasStatus_t fake_cublaslt::check_operands(const Product &p, const Algo &algo, const void *A, const void *B, const void *C,
                                             void *D, bool reads_c, void *workspace, size_t workspace_bytes)
{
    struct {
        const void *at;
        Layout layout;
        uint32_t align;
        const char *name;
        bool used, written;
    } all[] = {{D, p.d, algo.align_d, "D", true, true},
               {p.desc.bias, vector_layout(p), algo.align_bias, "bias", uses_vector(p.desc.epilogue), sums(p.desc.epilogue)},
               {p.desc.aux, aux_layout(p), algo.align_aux, "aux", uses_aux(p.desc.epilogue), writes_aux(p.desc.epilogue)},
               {A, p.a, algo.align_a, "A", true, false},
               {B, p.b, algo.align_b, "B", true, false},
               {C, p.c, algo.align_c, "C", reads_c || C == D, false}};
    Written written;
    for (const auto &o : all) {
        if (!o.used) continue;
        cublasStatus_t status = check_operand(o.at, bytes_of(o.layout), o.align, o.name);
        if (status != CUBLAS_STATUS_SUCCESS) return status;
        bool in_place = o.at == D && strcmp(o.name, "C") == 0;
        if (in_place && (p.c.ld != p.d.ld || p.c.apart != p.d.apart)) return refuse("C is D, and lies otherwise");
        if (!in_place && written.meets(o.at, o.layout)) return refuse("%s lies where the product writes", o.name);
        if (o.written && !written.add(o.at, o.layout)) return refuse("%s: elements of a batch lie over each other", o.name);
    }
    if (!algo.workspace) return CUBLAS_STATUS_SUCCESS;
    if (workspace_bytes < algo.workspace)
        return refuse("a workspace of %zu bytes, %llu are needed", workspace_bytes, (unsigned long long)algo.workspace);
    cublasStatus_t status = check_operand(workspace, workspace_bytes, 16, "the workspace");
    if (status != CUBLAS_STATUS_SUCCESS) return status;
    for (const auto &o : all)
        if (o.used && (const char *)o.at < (char *)workspace + workspace_bytes && (char *)workspace < (const char *)o.at + bytes_of(o.layout))
            return refuse("%s lies in the workspace", o.name);
    return CUBLAS_STATUS_SUCCESS;
}
