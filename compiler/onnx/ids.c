/* ids.c: entries chosen by ids as operators.  ONNX has them for the axis behind the shared ones: other axes are moved.
 */
#include "onnx/onnx.h"

#include <string.h>

/* x [shared…][before…][chosen][after…], ids [shared…][ids…], entries [shared…][before…][ids…][after…] */
typedef struct Chosen {
    int shared, before, after, nids;
    Shape x, ids;
} Chosen;

static Chosen chosen_of(const Node *n, Shape x, Shape ids)
{
    int axis = (int)n->ints[0], shared = (int)n->ints[1];
    return (Chosen){shared, axis - shared, x.rank - axis - 1, ids.rank - shared, x, ids};
}

/* The axes of [shared][before][middle][after] in the order [shared][middle][before][after]. */
static void middle_forward(const Chosen *c, int middle, int *perm)
{
    int n = 0;
    for (int k = 0; k < c->shared; k++) perm[n++] = k;
    for (int k = 0; k < middle; k++) perm[n++] = c->shared + c->before + k;
    for (int k = 0; k < c->before; k++) perm[n++] = c->shared + k;
    for (int k = 0; k < c->after; k++) perm[n++] = c->shared + c->before + middle + k;
}

static const char *with_middle_forward(Onnx *o, const Chosen *c, const char *a, int middle)
{
    int perm[2 * MAXRANK];
    middle_forward(c, middle, perm);
    return transposed(o, a, c->shared + c->before + middle + c->after, perm);
}

static const char *with_middle_back(Onnx *o, const Chosen *c, const char *a, int middle)
{
    int perm[2 * MAXRANK], back[2 * MAXRANK], rank = c->shared + c->before + middle + c->after;
    middle_forward(c, middle, perm);
    for (int k = 0; k < rank; k++) back[perm[k]] = k;
    return transposed(o, a, rank, back);
}

/* i64 [shared…][ids…][1] */
static const char *ids_as_places(Onnx *o, const Chosen *c, const char *ids)
{
    const char *longs = cast_in_file(o, ids, ONNX_I64);
    return operator_2(o, "Unsqueeze", longs, longs_in_file(o, 1, &(int64_t){c->ids.rank}));
}

/* The index along shared axis k of each id: i64 [shared…][ids…][1]. */
static const char *shared_place(Onnx *o, const Chosen *c, int k)
{
    int64_t extent = c->ids.dim[k], *all = NEW_ARRAY(int64_t, extent);
    Shape alone = {.rank = c->ids.rank + 1}, full = c->ids;
    for (int64_t i = 0; i < extent; i++) all[i] = i;
    for (int i = 0; i < alone.rank; i++) alone.dim[i] = i == k ? extent : 1;
    full.dim[full.rank++] = 1;
    const char *places = reshape_in_file(o, longs_in_file(o, (int)extent, all), alone);
    return operator_2(o, "Expand", places, longs_in_file(o, full.rank, full.dim));
}

/* Where ScatterND puts an entry: [shared…][ids…][shared + 1]. */
static const char *places_of_entries(Onnx *o, const Chosen *c, const char *ids)
{
    const char *in[MAXRANK + 1];
    Text axis = {0};
    if (!c->shared) return ids_as_places(o, c, ids);
    for (int k = 0; k < c->shared; k++) in[k] = shared_place(o, c, k);
    in[c->shared] = ids_as_places(o, c, ids);
    attribute_int(&axis, "axis", -1);
    return operator_n(o, "Concat", c->shared + 1, in, &axis);
}

void onnx_gather(Onnx *o)
{
    const Node *n = o->node;
    const Chosen c = chosen_of(n, n->in[0]->shape, n->in[1]->shape);
    const char *x = whole_input(o, 0), *ids = whole_input(o, 1);
    Text t = {0};
    if (!c.shared) {
        attribute_int(&t, "axis", n->ints[0]);
        set_name(o, n, operator_n(o, "Gather", 2, (const char *[]){x, ids}, &t));
        return;
    }
    attribute_int(&t, "batch_dims", c.shared);
    const char *in[] = {with_middle_forward(o, &c, x, 1), ids_as_places(o, &c, ids)};
    set_name(o, n, with_middle_back(o, &c, operator_n(o, "GatherND", 2, in, &t), c.nids));
}

static const char *scattered(Onnx *o, const Chosen *c, const char *x, const char *ids, const char *updates, bool adds)
{
    Text t = {0};
    if (adds) attribute_text(&t, "reduction", "add");
    const char *in[] = {x, places_of_entries(o, c, ids), with_middle_forward(o, c, updates, c->nids)};
    return with_middle_back(o, c, operator_n(o, "ScatterND", 3, in, &t), 1);
}

void onnx_scatter_add(Onnx *o)
{
    const Node *n = o->node;
    const Chosen c = chosen_of(n, n->shape, n->in[1]->shape);
    int perm[2 * MAXRANK];
    Shape s = {.rank = n->shape.rank};
    middle_forward(&c, 1, perm);
    for (int k = 0; k < s.rank; k++) s.dim[k] = n->shape.dim[perm[k]];
    const char *zeros = operator_2(o, "Expand", number_in_file(o, n->dtype, 0), longs_in_file(o, s.rank, s.dim));
    set_name(o, n, scattered(o, &c, zeros, whole_input(o, 1), whole_input(o, 0), true));
}

void onnx_overwrite(Onnx *o)
{
    const Node *n = o->node;
    const Chosen c = chosen_of(n, n->shape, n->in[1]->shape);
    const char *x = with_middle_forward(o, &c, whole_input(o, 0), 1);
    set_name(o, n, scattered(o, &c, x, whole_input(o, 1), whole_input(o, 2), false));
}
