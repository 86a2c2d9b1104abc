/* names.c: what buffers and kernels are called.
 *
 * A value is called after its title (graph/title.c). A title of one letter, or one that several layers use, follows the
 * layer's name (ln_1_x). Gradients, and nothing else, begin with d_. What the backward part computes again ends in
 * _again. A value without a title is called a part of the first titled value that is made of it. */
#include "lower/lower.h"

#include <string.h>

enum { MOST_TOLD_APART = 16 }; /* if more layers use a title, the names get letters */

struct Paths {
    const char *at[MOST_TOLD_APART];
    int n;
};

static const char *layer_of(const Node *n) { return n->layer ? n->layer : ""; }

static void note_title(Cut *cut, const char *title, const char *layer)
{
    int *number = strings_at(&cut->names.number, title);
    if (!*number) {
        push(&cut->names.layers, (struct Paths){0});
        *number = cut->names.layers.n;
    }
    struct Paths *paths = &cut->names.layers.at[*number - 1];
    int *pair = paths->n < MOST_TOLD_APART ? strings_at(&cut->names.pairs, format("%s %s", layer, title)) : NULL;
    if (pair && !*pair) paths->at[paths->n++] = layer;
    if (pair) *pair = 1;
}

static void note_user(Cut *cut, Node *n, const Node *of)
{
    void **user = n->title ? NULL : table_at(&cut->names.user, n);
    if (user && !*user) *user = (void *)of;
}

static void note_carries(Cut *cut, const Loop *l)
{
    for (int i = 0; i < l->carries.n; i++)
        for (const Node *n = l->carries.at[i].next;; n = n->in[0]) {
            void **slot = table_at(&cut->names.next, n);
            if (!*slot) *slot = &l->carries.at[i];
            if (!is_another_form(n)) break;
        }
}

static void note_title_users(Cut *cut, const Node *n)
{
    if (n->op == OP_loop) note_carries(cut, n->loop);
    if (is_another_form(n)) title_alike(n->in[0], n);
    const Node *of = n->title ? n : table_get(&cut->names.user, n);
    for (int i = 0; of && i < n->nin; i++) note_user(cut, n->in[i], of);
    if (n->op != OP_pick || n->in[0]->op != OP_loop || !of) return;
    const Loop *l = n->in[0]->loop;
    if (n->ints[0] == PICK_STACK) note_user(cut, l->ys.at[n->ints[1]], of);
    else note_user(cut, l->carries.at[n->ints[1]].next, of);
}

/* A parameter's gradient, which a pass may have made anew. */
static void title_output(const Output *o)
{
    if (o->kind != OUT_GRAD) return;
    for (Node *n = o->node;; n = n->in[0]) {
        title_of_gradient(n, o->name);
        if (!is_another_form(n)) return;
    }
}

/* Before any name is asked for. */
void name_values(Cut *c)
{
    const Graph *g = c->graph;
    Nodes all = {0};
    c->names = (Naming){0};
    all_nodes(g, &all);
    for (int i = 0; i < g->outs.n; i++) title_output(&g->outs.at[i]);
    for (int i = 0; i < all.n; i++)
        if (all.at[i]->title) note_title(c, all.at[i]->title, layer_of(all.at[i]));
        else if (all.at[i]->op == OP_parameter || all.at[i]->op == OP_gradient)
            note_title(c, own_part_of(all.at[i]->name), path_before(all.at[i]->name));
    for (int i = all.n; i-- > 0;) note_title_users(c, all.at[i]);
}

static const char *behind_layer(const char *layer, const char *title)
{
    return *layer && !same(layer, title) ? format("%s_%s", layer, title) : title;
}

/* Its parts from the last on, as many as there is room for. */
static int parts_of(const char *path, const char **part)
{
    int n = 0;
    for (const char *end = path + strlen(path); end > path && n < MAXRANK; end = part[n++] - 1) {
        const char *last = last_part_of(copy_bytes_as_string(path, (size_t)(end - path)));
        part[n] = end - strlen(last);
    }
    for (int i = 0; i < n; i++) part[i] = copy_bytes_as_string(part[i], strcspn(part[i], "."));
    return n;
}

/* The parts of a path in which it differs from the others: decoder, of decoder.layer.attn beside encoder.layer.attn. */
static const char *told_apart(const char *path, const struct Paths *others, int from, const char *name)
{
    const char *part[MAXRANK], *other[MAXRANK];
    bool wanted[MAXRANK] = {0};
    int n = parts_of(path, part);
    for (int i = 0; i < others->n; i++) {
        if (same(others->at[i], path)) continue;
        int m = parts_of(others->at[i], other), k = from;
        bool told = false;
        for (int j = 0; j < n; j++) told |= wanted[j] && (j >= m || !same(part[j], other[j]));
        while (k < n && k < m && same(part[k], other[k])) k++;
        if (!told && k < n) wanted[k] = true;
    }
    for (int k = 0; k < n; k++)
        if (wanted[k]) name = behind_layer(part[k], name);
    return name;
}

/* ln_1, c_attn_y, residual, decoder_attn_qkv */
static const char *name_of_title(const Cut *cut, const char *title, const char *path, bool behind)
{
    int number = strings_get(&cut->names.number, title);
    const struct Paths none = {0}, *layers = number ? &cut->names.layers.at[number - 1] : &none;
    const char *last = last_part_of(path);
    if (same(title, last)) return told_apart(path, layers, 1, title);
    if (behind && *last) return told_apart(path, layers, 1, behind_layer(last, title));
    return told_apart(path, layers, 0, title);
}

static const char *plain_name(const Cut *cut, const Node *n)
{
    if (n->op == OP_parameter || n->op == OP_gradient)
        return name_of_title(cut, own_part_of(n->name), path_before(n->name), true);
    if (n->name) return n->name;
    return name_of_title(cut, n->title, layer_of(n), n->title_rank <= TITLE_LETTER);
}

static const char *titled_name(const Cut *cut, const Node *n)
{
    const char *name = plain_name(cut, n);
    return n->gradient ? format("d_%s", name) : n->again ? format("%s_again", name) : name;
}

/* The value of which n is a view, a rounding or one iteration. */
static const Node *same_value(const Node *n)
{
    for (;; n = n->in[0]) {
        if (n->title || n->name) return n;
        if (n->op == OP_loop_arg && n->ints[0] == ARG_CARRY) return n->loop->carries.at[n->ints[1]].init;
        if (n->op == OP_loop_arg && n->ints[0] == ARG_X) return n->loop->xs.at[n->ints[1]].outer;
        if (n->op == OP_loop_arg) return n;
        if (n->op != OP_cast && !is_view(n)) return n;
    }
}

static const char *name_of_whole(const Node *n)
{
    const char *layer = last_part_of(layer_of(n->in[0])), *result = whole_result_name(n);
    return format("%s%s", n->in[0]->op == OP_attention_back ? "d_" : "", behind_layer(layer, result));
}

const char *value_name(const Cut *cut, const Node *n)
{
    if (n->op == OP_cast && is_stored(n->dtype) && n->in[0]->dtype != n->dtype)
        return format("%s_%s", value_name(cut, n->in[0]), dtype_name(n->dtype));
    const Node *root = same_value(n);
    if (root->name || root->title) return titled_name(cut, root);
    if (root->op == OP_pick && op_info[root->in[0]->op].kind == WHOLE) return name_of_whole(root);
    const Node *user = table_get(&cut->names.user, root);
    if (user) return format(user->op == OP_slice ? "%s_and_others" : "part_of_%s", titled_name(cut, user));
    const char *layer = last_part_of(root->where.path ? root->where.path : "");
    return *layer ? layer : "value";
}

const char *carry_name(const Cut *cut, const struct Carry *c)
{
    bool next = c->next->title && (!c->arg->title || c->next->title_rank > c->arg->title_rank);
    return value_name(cut, next ? c->next : c->arg->title ? c->arg : c->next);
}

/* If n is a stack that a loop makes: the value of one iteration; else NULL. */
static const Node *stacked_by(const Node *n)
{
    bool stack = n->op == OP_pick && n->in[0]->op == OP_loop && n->ints[0] == PICK_STACK;
    return stack ? n->in[0]->loop->ys.at[n->ints[1]] : NULL;
}

/* The carry that y is, as an iteration finds it. */
static const struct Carry *as_carry(const Node *y)
{
    bool carry = y && y->op == OP_loop_arg && y->ints[0] == ARG_CARRY;
    return carry ? &y->loop->carries.at[y->ints[1]] : NULL;
}

/* The name of the array that holds n: a loop's history is called after the carry. */
static const char *array_of(const Cut *cut, const Node *n)
{
    while (is_another_form(n)) n = n->in[0];
    const Node *y = stacked_by(n);
    const struct Carry *c = as_carry(y);
    if (y && !c) c = table_get(&cut->names.next, y);
    return c ? carry_name(cut, c) : value_name(cut, n);
}

const char *name_of_copy(const Cut *cut, const Node *n)
{
    const char *name = value_name(cut, n);
    return same(name, array_of(cut, n)) ? format("%s_copy", name) : name;
}

/* The carry that n shows as an iteration found it, now or in the loop's history; NULL: none. */
static const struct Carry *carry_before(const Node *n)
{
    while (n->op == OP_cast || is_view(n)) n = n->in[0];
    bool slice = n->op == OP_loop_arg && n->ints[0] == ARG_X;
    return as_carry(slice ? stacked_by(n->loop->xs.at[n->ints[1]].outer) : n);
}

static bool has_the_title(const Nodes *nodes, const Node *n)
{
    for (int i = 0; i < nodes->n; i++) {
        const Node *m = nodes->at[i];
        if (m == n || (m->title && m->gradient == n->gradient && same(m->title, n->title) && same(m->layer, n->layer)))
            return true;
    }
    return false;
}

static bool stores_over(const Operands *stores, const Buffer *b)
{
    for (int i = 0; i < stores->n; i++)
        if (stores->at[i].view.buffer == b) return true;
    return false;
}

bool meets_its_next(const Kernel *k, const Operand *load)
{
    const struct Carry *c = carry_before(load->node);
    bool titled = c && c->next->title && !c->next->gradient, state = is_replaced(same_value(load->node));
    if (!(c || state) || same_value(load->node)->gradient || !load->view.buffer) return false;
    for (int p = 0; p < k->phases.n; p++) {
        const Phase *q = &k->phases.at[p];
        if (stores_over(&q->stores, load->view.buffer) || stores_over(&q->row_stores, load->view.buffer)) return true;
        if (!titled) continue;
        if (has_the_title(&q->row, c->next) || has_the_title(&q->each, c->next) || has_the_title(&q->sums, c->next))
            return true;
    }
    return false;
}

/* ------------------------------------------------------------------ kernels */

static const char *place_of_node(const Node *n) { return last_part_of(n->where.path ? n->where.path : ""); }

/* The layers that a kernel takes part in: the last names of its values' paths, at most two. */
static const char *layers_of(const Nodes *nodes)
{
    const char *first = "", *second = "";
    for (int i = 0; i < nodes->n; i++) {
        const char *part = place_of_node(nodes->at[i]);
        if (!*part || same(part, first) || same(part, second)) continue;
        if (!*first) first = part;
        else second = part;
    }
    return *second ? format("%s_%s", first, second) : first;
}

static void made_by(const Kernel *k, Nodes *made)
{
    for (int p = 0; p < k->phases.n; p++) {
        const Phase *q = &k->phases.at[p];
        const Operands *all[] = {&q->stores, &q->row_stores, &q->column_stores};
        for (int a = 0; a < COUNT_OF(all); a++)
            for (int i = 0; i < all[a]->n; i++) push(made, all[a]->at[i].node);
    }
}

/* The carry that has n as its next value, and is called something. */
static const struct Carry *carry_after(const Cut *cut, const Node *n)
{
    const struct Carry *c = table_get(&cut->names.next, n);
    return c && (n->title || c->arg->title) ? c : NULL;
}

static bool is_called(const Node *n)
{
    const Node *root = same_value(n);
    return root->title || root->name;
}

/* The one gradient that comes in from outside; NULL: none, or several. */
static const Node *only_gradient(const Kernel *k)
{
    const Node *only = NULL;
    for (int i = 0; i < k->loads.n; i++) {
        const Node *n = k->loads.at[i].node;
        if (!same_value(n)->gradient || (only && same_value(only) == same_value(n))) continue;
        if (only) return NULL;
        only = n;
    }
    return only;
}

/* ln_1_back of what takes d_ln_1 */
static const char *back_name(const Cut *cut, const Node *gradient)
{
    const char *name = value_name(cut, gradient);
    return starts_with(name, "d_") ? format("%s_back", name + 2) : NULL;
}

/* A kernel that makes one value is called after it (active). Two values: attended_and_ln_2. A backward kernel that
 * takes d_ln_f and makes several values is ln_f_back. Otherwise the name is that of the layers. */
const char *rows_kernel_name(const Cut *cut, const Kernel *k, const Nodes *nodes)
{
    const char *layers = layers_of(nodes), *back_of = NULL;
    Nodes made = {0};
    made_by(k, &made);
    if (made.n == 1 && carry_after(cut, made.at[0])) return carry_name(cut, carry_after(cut, made.at[0]));
    if (made.n == 1 && is_called(made.at[0])) return value_name(cut, made.at[0]);
    bool back = false, again = false;
    for (int i = 0; i < nodes->n; i++) {
        again |= nodes->at[i]->again;
        back |= nodes->at[i]->phase && !nodes->at[i]->again;
    }
    back &= part_of(k, cut->forward) == BACKWARD;
    if (made.n == 2 && !back && !again && is_called(made.at[0]) && is_called(made.at[1]))
        return format("%s_and_%s", value_name(cut, made.at[0]), value_name(cut, made.at[1]));
    if (back && only_gradient(k)) back_of = back_name(cut, only_gradient(k));
    if (back_of) return back_of;
    if (!*layers) return value_name(cut, nodes->at[nodes->n - 1]);
    return format("%s%s", layers, back ? "_back" : again ? "_again" : "");
}

const char *copy_kernel_name(const Cut *cut, const Node *n, const Buffer *to, bool add)
{
    double x;
    const char *verb = add ? "add_to" : !is_filled(n, &x) ? "copy" : x == 0 ? "zero" : "fill";
    bool again = to->home == WORK && same(to->name, format("%s_copy", value_name(cut, n)));
    return format("%s_%s", verb, again ? value_name(cut, n) : to->name);
}

/* The name of its result, or of the value of which that is a part; else the layer's. */
const char *product_name(const Cut *cut, const Node *n)
{
    const char *layer = place_of_node(n);
    if (is_called(n) || (table_get(&cut->names.user, n) && !n->again)) return value_name(cut, n);
    return format("%s%s%s%s", layer, *layer ? "_" : "", "matmul", n->again ? "_again" : n->phase ? "_back" : "");
}

/* The name of a gather, … is that of its result, else its layer's. A kernel that overwrites rows of a state is store_….
 */
const char *whole_kernel_name(const Cut *cut, const Node *n, const Node *result)
{
    const char *layer = place_of_node(n);
    if ((op_info[n->op].facts & UPDATES) && same_value(n->in[0])->name)
        return format("store_%s", last_part_of(same_value(n->in[0])->name));
    if (is_called(result) || !*layer) return value_name(cut, result);
    return n->phase ? format("%s_back", layer) : layer;
}

/* A convolution is called after its result, or its layer; its derivatives after what they are made towards. */
const char *convolution_kernel_name(const Cut *cut, const Kernel *k)
{
    static const char *const towards[] = {"again", "input_back", "weight_back"};
    const Node *first = k->writes.n ? k->writes.at[0].node : k->node;
    const char *layer = place_of_node(k->node);
    if (!k->node->phase || !*layer) return whole_kernel_name(cut, k->node, first);
    return format("%s_%s", layer, towards[convolution_of(k->node).side]);
}

/* A product by ids is called after its result, or its layer; the derivative towards the matrices weight_back. */
const char *by_ids_kernel_name(const Cut *cut, const Kernel *k)
{
    const Node *first = k->writes.n ? k->writes.at[0].node : k->node;
    const char *layer = place_of_node(k->node);
    if (!k->node->phase || !*layer) return whole_kernel_name(cut, k->node, first);
    return format("%s_%s", layer, sums_by_ids(k->node) ? "weight_back" : "rows_back");
}

/* Attention is called after its result, heads; its derivative is heads_back. */
const char *attention_kernel_name(const Cut *cut, const Kernel *k)
{
    const Node *first = k->writes.n ? k->writes.at[0].node : k->node;
    if (k->node->op == OP_attention) return whole_kernel_name(cut, k->node, first);
    for (int i = 0; i < k->reads.n; i++) {
        const char *name = same_value(k->reads.at[i].node)->gradient ? back_name(cut, k->reads.at[i].node) : NULL;
        if (name) return name;
    }
    return whole_kernel_name(cut, k->node, k->node);
}
