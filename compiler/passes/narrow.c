/* narrow.c: gives products and attention operands of 16 bits, where the target multiplies such (--precision
 * bf16, fp16): sums run in 32 bits, and what comes out is rounded once.  Under --parameters bf16 parameters are leaves
 * of 16 bits, whatever the target multiplies.
 *
 * Needs pass_store.  Leaves: dots and attention over BF16 or F16, made by casts where the values are made; what others
 * read of a result in 16 bits is a cast back.  A parameter is cast at the top: once in an entry, however many loops
 * around its product.  Views, stacks and slices of loops are over the 16 bits, so that nothing is ever widened to
 * memory.
 *
 * All else is computed in fp32, whatever it is stored in.  What of products is not narrowed, and why:
 *
 * - terms of sums: a result that becomes a gradient of a parameter, a state or an output, or that a loop adds up: it is
 *   one of many, or the last word
 *
 * - leaves read little: a state, an input or a parameter of 32 bits whose elements are each multiplied fewer than
 * FEWEST times: such a product waits for memory, and a copy is read and written besides (decode: weights, keys)
 *
 * - log sum exp of attention: an error of 2^-9 of it would be one of the exponent */
#include "passes/passes.h"

enum { FEWEST = 32 };

typedef struct Narrowing {
    DType real, narrow;
    bool products, weights; /* what is narrowed */
    Table terms;            /* old nodes that are added up */
    Table made;             /* new value -> in 16 bits */
} Narrowing;

/* ------------------------------------------------------------------ what is added up */

static void mark_term(Narrowing *s, Node *n);

static void mark_loop_term(Narrowing *s, const Node *n)
{
    const Loop *l = (n->op == OP_pick ? n->in[0] : n)->loop;
    bool carry = n->op == OP_pick ? n->ints[0] == PICK_CARRY : n->ints[0] == ARG_CARRY;
    int k = (int)n->ints[1];
    if (n->ints[0] == ARG_INDEX && n->op == OP_loop_arg) return;
    if (carry) mark_term(s, l->carries.at[k].init), mark_term(s, l->carries.at[k].next);
    else mark_term(s, n->op == OP_pick ? l->ys.at[k] : l->xs.at[k].outer);
}

/* n and what it is made of, element by element. */
static void mark_term(Narrowing *s, Node *n)
{
    void **slot = table_at(&s->terms, n);
    if (*slot) return;
    *slot = n;
    if (n->op == OP_loop_arg || (n->op == OP_pick && n->in[0]->op == OP_loop)) mark_loop_term(s, n);
    if (op_info[n->op].kind == MAP || is_move(n))
        for (int k = 0; k < n->nin; k++) mark_term(s, n->in[k]);
}

/* Marks the x of next = add(carry, x), if nothing else reads the carry. */
static void mark_sums(Narrowing *s, const Loop *l, const Table *readers)
{
    for (int k = 0; k < l->carries.n; k++) {
        const struct Carry *c = &l->carries.at[k];
        bool adds = c->next && c->next->op == OP_add && (c->next->in[0] == c->arg) != (c->next->in[1] == c->arg);
        if (adds && (intptr_t)table_get(readers, c->arg) == 1 && !loop_stacks(l, c->arg))
            mark_term(s, c->next->in[c->next->in[0] == c->arg]);
    }
}

static void find_terms(Narrowing *s, const Graph *g)
{
    Nodes all = {0};
    Table readers = {0};
    all_nodes(g, &all);
    for (int i = 0; i < all.n; i++)
        for (int k = 0; k < all.at[i]->nin; k++) {
            void **slot = table_at(&readers, all.at[i]->in[k]);
            *slot = (void *)((intptr_t)*slot + 1);
        }
    for (int i = 0; i < g->outs.n; i++) mark_term(s, g->outs.at[i].node);
    for (int i = 0; i < all.n; i++)
        if (all.at[i]->op == OP_loop) mark_sums(s, all.at[i]->loop, &readers);
}

/* ------------------------------------------------------------------ what is read too little */

/* A state with an entry overwritten is still that state. */
static const Node *uncast_source(const Node *n)
{
    for (;;) {
        if (is_view(n)) n = n->in[0];
        else if (n->op == OP_loop_arg && n->ints[0] == ARG_X) n = n->loop->xs.at[n->ints[1]].outer;
        else if (n->op == OP_cast || (op_info[n->op].facts & UPDATES)) n = n->in[0];
        else return n;
    }
}

/* `products`: multiplications by elements of the operand, in one run of the node that reads it. */
static bool is_read_enough(const Narrowing *s, const Node *operand, const Node *reader, int64_t products)
{
    const Node *leaf = uncast_source(operand);
    if (leaf->op == OP_parameter && s->weights) return true;
    for (const Loop *l = reader->in_loop; l; l = l->parent) products *= l->trip;
    return op_info[leaf->op].kind != LEAF || is_filled(leaf, NULL) || products >= FEWEST * elements(leaf->shape);
}

static bool dot_is_worth_it(const Narrowing *s, const Node *n)
{
    Dot_axes x = dot_axes(n);
    int64_t products = elements(n->shape);
    for (int k = 0; k < x.nc; k++) products *= n->in[0]->shape.dim[x.ac[k]];
    return is_read_enough(s, n->in[0], n, products) && is_read_enough(s, n->in[1], n, products);
}

static bool attention_is_worth_it(const Narrowing *s, const Node *n)
{
    Attention a = attention_of(n);
    int64_t products = elements(a.q->shape) * a.k->shape.dim[a.k->shape.rank - 3];
    return is_read_enough(s, a.q, n, products) && is_read_enough(s, a.k, n, products) &&
           is_read_enough(s, a.v, n, products);
}

/* ------------------------------------------------------------------ in 16 bits */

static bool is_widened(const Narrowing *s, const Node *n)
{
    return n->op == OP_cast && n->dtype == s->real && n->in[0]->dtype == s->narrow;
}

/* Is n widened for products? On a target that cannot multiply in 16 bits, only parameters are. */
static bool is_widened_here(const Narrowing *s, const Node *n)
{
    return is_widened(s, n) && (s->products || is_weight(n));
}

static Node *narrowed(Narrowing *s, Node *n);

static Node *narrowed_move(Narrowing *s, const Node *n)
{
    Node **in = NEW_ARRAY(Node *, n->nin), key = *n;
    for (int k = 0; k < n->nin; k++) in[k] = narrowed(s, n->in[k]);
    key.in = in;
    key.dtype = s->narrow;
    return intern(key);
}

static Node *narrowed_here(Narrowing *s, Node *n)
{
    if (is_filled(n, NULL)) return cast_op(n, s->narrow);
    if (is_move(n)) return narrowed_move(s, n);
    if (n->op == OP_loop_arg && n->ints[0] == ARG_X)
        return loop_x(n->loop, narrowed(s, n->loop->xs.at[n->ints[1]].outer));
    if (n->op == OP_pick && n->in[0]->op == OP_loop && n->ints[0] == PICK_STACK)
        return loop_stack(n->in[0]->loop, narrowed(s, n->in[0]->loop->ys.at[n->ints[1]]));
    return cast_op(n, s->narrow);
}

/* The new value n in 16 bits: made where n is, and once for all who read it. */
static Node *narrowed(Narrowing *s, Node *n)
{
    Node *known = is_widened(s, n) ? n->in[0] : table_get(&s->made, n);
    if (known) return known;
    Making was = make_beside(n);
    known = narrowed_here(s, n);
    make_with(was);
    return *table_at(&s->made, n) = known;
}

/* ------------------------------------------------------------------ over 16 bits */

static Node *narrow_dot(Narrowing *s, const Node *old, Node *const *in)
{
    if (!dot_is_worth_it(s, old)) return NULL;
    bool term = table_get(&s->terms, old);
    Node key = *old, *operands[] = {narrowed(s, in[0]), narrowed(s, in[1])};
    key.in = operands;
    key.dtype = term ? s->real : s->narrow;
    return cast_op(intern(key), s->real);
}

static Node *narrow_attention(Narrowing *s, const Node *old, Node *const *in)
{
    Attention a = attention_of(old);
    Node **own = NEW_ARRAY(Node *, old->nin);
    if (!attention_is_worth_it(s, old)) return NULL;
    for (int k = 0; k < old->nin; k++) {
        bool stays =
            old->in[k]->dtype != s->real || old->in[k] == a.lse || old->in[k] == a.bias || is_attention_number(old, k);
        own[k] = stays ? in[k] : narrowed(s, in[k]);
    }
    return whole_op(old->op, old->nin, own, old->nints, old->ints);
}

/* A view of what is widened is a view of the 16 bits, widened. */
static Node *narrow_view(Narrowing *s, const Node *old, Node *const *in)
{
    for (int k = 0; k < old->nin; k++)
        if (!is_widened_here(s, in[k])) return NULL;
    Node view = *old;
    view.in = (Node **)in;
    return old->nin ? cast_op(narrowed_move(s, &view), s->real) : NULL;
}

static Node *narrow_weight(Narrowing *s, const Node *old)
{
    return s->weights && old->dtype == s->real ? cast_op(parameter_like(old, old->name, s->narrow, old->shape), s->real)
                                               : NULL;
}

/* Rows of a table of parameters. */
static Node *narrow_gather(Narrowing *s, const Node *old, Node *const *in)
{
    Node *own[] = {in[0]->in[0], in[1]}, key = *old;
    key.in = own;
    key.dtype = s->narrow;
    return cast_op(intern(key), s->real);
}

static Node *narrow_product(Narrowing *s, Node *old, Node *const *in)
{
    if (old->op == OP_cast && old->dtype == s->narrow) return narrowed(s, in[0]);
    if (old->op == OP_dot && old->dtype == s->real) return narrow_dot(s, old, in);
    if (old->op == OP_attention || old->op == OP_attention_back) return narrow_attention(s, old, in);
    return NULL;
}

static Node *over_narrow(Rewrite *r, Node *old, Node *const *in)
{
    Narrowing *s = r->user;
    Node *product = s->products ? narrow_product(s, old, in) : NULL;
    if (product) return product;
    if (old->op == OP_parameter) return narrow_weight(s, old);
    if ((op_info[old->op].facts & LOOKS_UP) && is_weight(in[0]) && is_widened(s, in[0]))
        return narrow_gather(s, old, in);
    if (is_move(old) && old->dtype == s->real) return narrow_view(s, old, in);
    if (!s->products) return NULL;
    if (old->op != OP_pick || op_info[in[0]->op].kind != WHOLE) return NULL;
    Node *result = pick(in[0], (int)old->ints[0], 0);
    return result->dtype == s->narrow ? cast_op(result, s->real) : result;
}

/* Stacks of what is widened hold the 16 bits. */
static Node *narrow_stack(Rewrite *r, Node *old)
{
    Narrowing *s = r->user;
    if (old->op != OP_pick || old->in[0]->op != OP_loop || old->ints[0] != PICK_STACK) return NULL;
    Loop *l = rewritten(r, old->in[0])->loop;
    Node *y = rewritten(r, old->in[0]->loop->ys.at[old->ints[1]]);
    if (!is_widened_here(s, y)) return NULL;
    Making was = make_in_phase(old->phase);
    Node *n = cast_op(loop_stack(l, y->in[0]), s->real);
    make_with(was);
    return n;
}

/* So do loops' slices. */
static Node *narrow_slice(Rewrite *r, const Loop *old, int k, Loop *new)
{
    Narrowing *s = r->user;
    Node *outer = rewritten(r, old->xs.at[k].outer);
    if (!is_widened_here(s, outer)) return NULL;
    Making was = make_in_phase(old->node ? old->node->phase : 0);
    Node *n = cast_op(loop_x(new, outer->in[0]), s->real);
    make_with(was);
    return n;
}

void pass_narrow(Graph *g, const Desc *d)
{
    const Precision p = precision_of(d->options);
    Narrowing s = {.real = p.real, .weights = p.weights != p.real, .products = p.multiplied != p.real};
    Rewrite r = {.node = over_narrow, .needs = loops_first, .before = narrow_stack, .slice = narrow_slice, .user = &s};
    if ((!s.weights && !s.products) || without(d, PASS_narrow)) return;
    s.narrow = s.products ? p.multiplied : p.weights;
    if (s.products) find_terms(&s, g);
    rewrite_graph(&r, g);
}
