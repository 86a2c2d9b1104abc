/* intern.c: all nodes of a compilation: finds the one that is equal, or makes it; what new nodes are made with.
 *
 * A compilation has one Store, which its arena owns: the nodes, the counters of ids, and what new nodes are made with.
 * The pointer to it is a variable of this file and no argument, since over a thousand calls make nodes, most of them
 * inside expressions such as map2(OP_mul, a, cast_op(b, t)), and no two compilations of a process run at once.  The
 * Store comes with the first node and goes with the arena. */
#include "graph/graph.h"

#include <string.h>

typedef struct Slot { /* the hash beside the node: others' nodes need not be read */
    uint64_t hash;
    Node *node;
} Slot;

typedef struct Store {
    Making making;
    Made_leaves *leaves; /* where the trace that runs notes its leaves; NULL: nowhere */
    int ids, loop_ids;   /* given so far */
    Slot *slot;          /* of all nodes, by hash */
    int n, cap;
} Store;

static Store *current;

static Store *nodes_made(void)
{
    if (!current) current = NEW(Store);
    return current;
}

int node_count(void) { return nodes_made()->ids; }
int new_loop_id(void) { return ++nodes_made()->loop_ids; }
void note_leaves(Made_leaves *leaves) { nodes_made()->leaves = leaves; }

/* ------------------------------------------------------------------ what new nodes are made with */

Making making(void) { return nodes_made()->making; }
void make_with(Making m) { nodes_made()->making = m; }
void make_at(Where where) { nodes_made()->making.where = where; }
Making making_of(const Node *n) { return (Making){n->where, n->phase, n->recompute}; }

static Making replaced(Making m)
{
    Making was = making();
    make_with(m);
    return was;
}

Making make_as(const Node *n) { return replaced(making_of(n)); }
Making make_beside(const Node *n) { return replaced((Making){n->where, n->phase, making().recompute}); }
Making make_on_line_of(const Node *n) { return replaced((Making){n->where, making().phase, making().recompute}); }
Making make_in_phase(int phase) { return replaced((Making){making().where, phase, making().recompute}); }
Making make_recomputed(bool recompute) { return replaced((Making){making().where, making().phase, recompute}); }

/* ------------------------------------------------------------------ interning */

static uint64_t mix(uint64_t h, uint64_t x) { return (h ^ x) * 0x9e3779b97f4a7c15u ^ (h >> 31); }

static uint64_t hash_node(const Node *n)
{
    uint64_t h = mix(mix(n->op, n->dtype), (uint64_t)n->phase);
    for (int i = 0; i < n->shape.rank; i++) h = mix(h, (uint64_t)n->shape.dim[i]);
    for (int i = 0; i < n->nin; i++) h = mix(h, (uint64_t)n->in[i]->id + 1);
    for (int i = 0; i < n->nints; i++) h = mix(h, (uint64_t)n->ints[i]);
    if (n->loop) h = mix(h, (uint64_t)n->loop->id);
    h = mix(h, (uint64_t)n->counts);
    if (n->name) h = mix(h, hash_bytes(n->name, strlen(n->name), 1));
    if (n->data) h = mix(h, hash_bytes(n->data, sizeof(double) * (size_t)elements(n->shape), 2));
    uint64_t value;
    memcpy(&value, &n->value, sizeof value);
    h = mix(h, value);
    return h ^ h >> 32;
}

static bool same_data(const Node *a, const Node *b)
{
    if (!a->data || !b->data) return a->data == b->data;
    return memcmp(a->data, b->data, sizeof(double) * (size_t)elements(a->shape)) == 0;
}

static bool same_node(const Node *a, const Node *b)
{
    return a->op == b->op && a->dtype == b->dtype && a->phase == b->phase && a->nin == b->nin && a->nints == b->nints &&
           same_shape(a->shape, b->shape) && a->loop == b->loop && a->counts == b->counts && same(a->name, b->name) &&
           memcmp(&a->value, &b->value, sizeof a->value) == 0 && same_data(a, b) &&
           (!a->nin || memcmp(a->in, b->in, sizeof *a->in * (size_t)a->nin) == 0) &&
           (!a->nints || memcmp(a->ints, b->ints, sizeof *a->ints * (size_t)a->nints) == 0);
}

static Slot *slot_for(Slot *slots, int cap, uint64_t hash, const Node *key)
{
    uint64_t at = hash & (uint64_t)(cap - 1);
    while (slots[at].node && !(key && slots[at].hash == hash && same_node(slots[at].node, key)))
        at = (at + 1) & (uint64_t)(cap - 1);
    return &slots[at];
}

static void grow_slots(Store *s)
{
    int cap = s->cap ? s->cap * 2 : 1024;
    Slot *slots = NEW_ARRAY(Slot, cap);
    for (int i = 0; i < s->cap; i++)
        if (s->slot[i].node) *slot_for(slots, cap, s->slot[i].hash, NULL) = s->slot[i];
    s->slot = slots;
    s->cap = cap;
}

/* The loop a node belongs to: its own for an argument, else the innermost (largest id) among its inputs'. */
static Loop *innermost(const Node *n)
{
    if (n->op == OP_loop_arg) return n->loop;
    if (n->op == OP_loop) return n->loop->parent;
    Loop *l = NULL;
    for (int i = 0; i < n->nin; i++) {
        Loop *other = n->in[i]->in_loop;
        if (other && (!l || other->id > l->id)) l = other;
    }
    return l;
}

static int steps_from_constants(const Node *n)
{
    OpKind kind = op_info[n->op].kind;
    if (n->in_loop || kind == LOOP || kind == WHOLE || (op_info[n->op].facts & OF_RANKS)) return 0;
    if (kind == LEAF) return n->op == OP_constant || n->op == OP_iota;
    int most = 0;
    for (int i = 0; i < n->nin; i++) {
        if (!n->in[i]->known) return 0;
        if (n->in[i]->known > most) most = n->in[i]->known;
    }
    return most + 1;
}

static Node *find_or_make(Store *s, Node key)
{
    if (s->n * 2 >= s->cap) grow_slots(s);
    uint64_t hash = hash_node(&key);
    Slot *slot = slot_for(s->slot, s->cap, hash, &key);
    if (slot->node) {
        take_axes(&slot->node->shape, key.shape);
        hand_on_title(slot->node, &key);
        return slot->node;
    }
    Node *n = copy_of(&key, sizeof key);
    n->in = copy_of(key.in, sizeof *key.in * (size_t)key.nin);
    n->ints = copy_of(key.ints, sizeof *key.ints * (size_t)key.nints);
    n->id = s->ids++;
    n->in_loop = innermost(n);
    n->known = steps_from_constants(n);
    n->where = s->making.where;
    n->recompute = s->making.recompute;
    axes_of_node(n);
    s->n++;
    *slot = (Slot){hash, n};
    return n;
}

Node *intern(Node key)
{
    Store *s = nodes_made();
    Node *n = find_or_make(s, key);
    bool is_leaf = n->op == OP_iota || n->op == OP_constant;
    if (s->leaves && is_leaf) push(s->leaves, ((struct Made_leaf){n, s->making.where}));
    return n;
}
