/* ids.c: what gather, scatter_add and overwrite share. */
#include "ops/ids.h"

Shape shape_by_ids(Shape x, Shape ids, int axis, int nbatch)
{
    must(axis >= nbatch && axis < x.rank && nbatch <= ids.rank);
    for (int i = 0; i < nbatch; i++) must(x.dim[i] == ids.dim[i]);
    must(x.rank - 1 + ids.rank - nbatch <= MAXRANK);
    Shape s = {0};
    for (int i = 0; i < axis; i++) s = with_axis(s, x, i);
    for (int i = nbatch; i < ids.rank; i++) s = with_axis(s, ids, i);
    for (int i = axis + 1; i < x.rank; i++) s = with_axis(s, x, i);
    return s;
}

const char *ids_fault(const Node *n, Shape x, const Node *ids, Shape *y)
{
    Shape s = {0};
    if (ids->dtype != I32) return "ids are i32";
    if (n->nints != 2 || n->ints[1] < 0 || n->ints[1] > n->ints[0] || n->ints[0] >= x.rank ||
        n->ints[1] > ids->shape.rank)
        return "its ints must be an axis and a number of batch axes before it";
    int axis = (int)n->ints[0], nbatch = (int)n->ints[1];
    for (int i = 0; i < nbatch; i++)
        if (x.dim[i] != ids->shape.dim[i]) return "batch axes must have equal extents";
    if (x.rank - 1 + ids->shape.rank - nbatch > MAXRANK) return "its result has too many axes";
    for (int i = 0; i < axis; i++) s.dim[s.rank++] = x.dim[i];
    for (int i = nbatch; i < ids->shape.rank; i++) s.dim[s.rank++] = ids->shape.dim[i];
    for (int i = axis + 1; i < x.rank; i++) s.dim[s.rank++] = x.dim[i];
    *y = s;
    return valid_shape(s) ? NULL : "it is too large";
}

int64_t place_by_id(const Node *n, Shape x, const Value *ids, const int64_t *at)
{
    int axis = (int)n->ints[0], nbatch = (int)n->ints[1], nids = ids->shape.rank - nbatch;
    int64_t id_at[MAXRANK], to[MAXRANK];
    for (int k = 0; k < nbatch; k++) id_at[k] = at[k];
    for (int k = 0; k < nids; k++) id_at[nbatch + k] = at[axis + k];
    int64_t id = (int64_t)ids->at[offset_at(ids->shape, id_at)];
    if (id < 0 || id >= x.dim[axis])
        die("%s at %s:%d: id %lld is not below %lld", op_info[n->op].name, n->where.file ? n->where.file : "?",
            n->where.line, (long long)id, (long long)x.dim[axis]);
    for (int k = 0; k < axis; k++) to[k] = at[k];
    to[axis] = id;
    for (int k = axis + 1; k < x.rank; k++) to[k] = at[k - 1 + nids];
    return offset_at(x, to);
}

Row_fact meets_by_ids(const Row_pair *p) { return row_meets(p, "rows are chosen among the batch by ids"); }

bool same_rows(Row_fact a, Row_fact b) { return a.axis == b.axis && a.outer == b.outer && a.inner == b.inner; }
