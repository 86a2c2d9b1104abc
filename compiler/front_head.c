/* front_head.c: the head, nn.linear_cross_entropy, as the library calls it; nn.lua checks and says what is wrong. */
#include "front.h"
#include "head.h"

/* core.linear_cross_entropy(x, ids, weight, across, smoothing, bias or nil, ignored or nil): losses, predicted ids,
 * both shaped like ids. */
static int linear_cross_entropy_call(lua_State *L)
{
    static const char what[] = "nn.linear_cross_entropy";
    const Tensor *x = tensor_at(L, 1, what), *ids = tensor_at(L, 2, what);
    int64_t rows = elements(ids->node->shape), width = x->node->shape.dim[x->node->shape.rank - 1];
    here = lua_place(L);
    Head h = {.ids = reshape(ids->node, shape_of(1, &rows)), .weight = tensor_at(L, 3, what)->node};
    h.x = reshape(x->node, shape_of(2, (int64_t[]){rows, width}));
    h.across = (int)luaL_checkinteger(L, 4);
    h.smoothing = luaL_checknumber(L, 5);
    if (!lua_isnoneornil(L, 6)) h.bias = tensor_at(L, 6, what)->node;
    h.ignores = !lua_isnoneornil(L, 7);
    if (h.ignores) h.ignored = luaL_checkinteger(L, 7);
    Node *n = linear_cross_entropy(&h);
    const Mixed *mixed = x->mixed ? x->mixed : ids->mixed;
    for (int k = 0; k < 2; k++) push_tensor(L, reshape(pick(n, k, 0), ids->node->shape), ids->batch, ids->time, mixed);
    return 2;
}

const luaL_Reg head_functions[] = {{"linear_cross_entropy", linear_cross_entropy_call}, {NULL, NULL}};
