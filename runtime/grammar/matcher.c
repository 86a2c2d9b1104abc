/* matcher.c: follows a grammar byte by byte.
 *
 * A place in the grammar is a stack: an element, and above it what goes on when its way ends.  Stacks share what they
 * have in common, because equal nodes are one.  A state is the set of all stacks that a text may have led to, each
 * waiting for a byte.  States and the moves between them are kept, so a text that goes where another went costs a
 * look-up per byte; when there is no room, all are forgotten but one.  A rule that is the last of its way leaves
 * nothing above, so lists may be of any length. */
#include "grammar/matcher.h"

#include <string.h>

enum { CHAINS = 1 << 15 };

/* ------------------------------------------------------------------ memory */

static void *piece_of(char **at, int64_t bytes)
{
    void *p = *at;
    if (*at) *at += bytes;
    return p;
}

static int64_t lay_out_matcher(Matcher *m, char *memory)
{
    char *at = memory;
    const int64_t number = sizeof(int32_t);
    m->node = piece_of(&at, NODES * (int64_t)sizeof(Node));
    m->state = piece_of(&at, STATES * (int64_t)sizeof(State));
    m->node_chain = piece_of(&at, CHAINS * number);
    m->state_chain = piece_of(&at, STATES * number);
    m->item = piece_of(&at, ITEMS * number);
    m->move = piece_of(&at, MOVES * number);
    m->work = piece_of(&at, NODES * number);
    return NODES * (int64_t)sizeof(Node) + STATES * (int64_t)sizeof(State) +
           (CHAINS + STATES + ITEMS + MOVES + NODES) * number;
}

int64_t matcher_bytes(void)
{
    Matcher none = {0};
    return lay_out_matcher(&none, NULL);
}

void open_matcher(Matcher *m, char *memory) { lay_out_matcher(m, memory); }

/* ------------------------------------------------------------------ nodes */

static uint32_t mixed(uint32_t a, uint32_t b)
{
    uint64_t x = ((uint64_t)a << 32 | b) * UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)(x >> 32);
}

static int32_t node_of(Matcher *m, int32_t element, int32_t above)
{
    int32_t *chain = &m->node_chain[mixed((uint32_t)element, (uint32_t)above) % CHAINS];
    for (int32_t i = *chain; i; i = m->node[i].next)
        if (m->node[i].element == element && m->node[i].above == above) return i;
    if (m->nodes == NODES) return NO_ROOM;
    m->node[m->nodes] = (Node){element, above, *chain, 0};
    return *chain = m->nodes++;
}

/* ------------------------------------------------------------------ searches */

typedef struct Found { /* what a search has reached: the state item[items … items + n - 1], and nodes to go on from */
    int32_t n, waiting;
    bool ends;
} Found;

/* Goes on from a node; 0 is the end of the text. */
static bool reach(Matcher *m, Found *to, int32_t node)
{
    if (node < 0) return false;
    if (node == 0) return to->ends = true;
    if (m->node[node].seen == m->searches) return true;
    m->node[node].seen = m->searches;
    m->work[to->waiting++] = node;
    return true;
}

static bool reach_ways(Matcher *m, Found *to, int32_t rule, int32_t above)
{
    for (int32_t w = m->g->rule[rule].first; w >= 0; w = m->g->way[w].next)
        if (!reach(m, to, node_of(m, m->g->way[w].first, above))) return false;
    return true;
}

/* Goes into rules and out of ways until only bytes are left; 0, or what went wrong. */
static int32_t settle_found(Matcher *m, Found *to)
{
    while (to->waiting) {
        const int32_t at = m->work[--to->waiting], element = m->node[at].element, above = m->node[at].above;
        const Element *e = &m->g->element[element];
        if (e->kind == WAY_ENDS) {
            if (!reach(m, to, above)) return NO_ROOM;
        } else if (e->kind == RULE_HERE) {
            int32_t rest = e[1].kind == WAY_ENDS ? above : node_of(m, element + 1, above);
            if (rest < 0 || !reach_ways(m, to, e->value, rest)) return NO_ROOM;
        } else {
            if (to->n == MOST_ITEMS) return TOO_MANY;
            if (m->items + to->n == ITEMS) return NO_ROOM;
            m->item[m->items + to->n++] = at;
        }
    }
    return 0;
}

/* ------------------------------------------------------------------ states */

/* Shell's, because the library's sort may take memory. */
static void sort_items(int32_t *at, int32_t n)
{
    for (int32_t gap = n / 2; gap; gap /= 2)
        for (int32_t i = gap; i < n; i++) {
            int32_t x = at[i], k = i;
            for (; k >= gap && at[k - gap] > x; k -= gap) at[k] = at[k - gap];
            at[k] = x;
        }
}

/* The state of the n items behind the last state's. */
static int32_t state_of_items(Matcher *m, int32_t n, bool ends)
{
    int32_t *item = m->item + m->items;
    uint32_t hash = ends;
    if (n == 0 && !ends) return NO_STATE;
    sort_items(item, n);
    for (int32_t i = 0; i < n; i++) hash = mixed(hash, (uint32_t)item[i]);
    int32_t *chain = &m->state_chain[hash % STATES];
    for (int32_t i = *chain; i; i = m->state[i].next) {
        const State *s = &m->state[i];
        if (s->n == n && s->ends == ends && memcmp(m->item + s->first, item, sizeof *item * (size_t)n) == 0) return i;
    }
    if (m->states == STATES || (m->states + 1) * m->g->classes > MOVES) return NO_ROOM;
    memset(m->move + m->states * m->g->classes, -1, sizeof *m->move * (size_t)m->g->classes);
    m->state[m->states] = (State){m->items, n, *chain, -1, ends};
    m->items += n;
    return *chain = m->states++;
}

static void begin_search(Matcher *m, Found *to)
{
    *to = (Found){0};
    m->searches++;
}

static int32_t end_search(Matcher *m, Found *to)
{
    int32_t wrong = settle_found(m, to);
    return wrong ? wrong : state_of_items(m, to->n, to->ends);
}

static int32_t find_move(Matcher *m, int32_t state, uint8_t byte)
{
    const State s = m->state[state];
    Found to;
    begin_search(m, &to);
    for (int32_t i = 0; i < s.n; i++) {
        const Node at = m->node[m->item[s.first + i]];
        const Element *e = &m->g->element[at.element];
        if (!set_has(&m->g->set[e->value], byte)) continue;
        int32_t next = e[1].kind == WAY_ENDS ? at.above : node_of(m, at.element + 1, at.above);
        if (!reach(m, &to, next)) return NO_ROOM;
    }
    return end_search(m, &to);
}

int32_t state_after(Matcher *m, int32_t state, uint8_t byte)
{
    int32_t *move = &m->move[state * m->g->classes + m->g->class_of[byte]];
    if (*move == -1) {
        int32_t to = find_move(m, state, byte);
        if (to < 0) return to;
        *move = to;
    }
    return *move;
}

/* ------------------------------------------------------------------ all of them */

static void clear_matcher(Matcher *m)
{
    memset(m->node_chain, 0, sizeof *m->node_chain * CHAINS);
    memset(m->state_chain, 0, sizeof *m->state_chain * STATES);
    m->items = 0;
    m->nodes = m->states = 1; /* the end of the text; the state that refuses it */
    m->state[NO_STATE] = (State){0, 0, 0, -1, false};
    memset(m->move, 0, sizeof *m->move * (size_t)m->g->classes);
    m->searches = 0;
}

int32_t start_matcher(Matcher *m, const Grammar *g)
{
    Found to;
    m->g = g;
    clear_matcher(m);
    begin_search(m, &to);
    int32_t state = reach_ways(m, &to, g->root, 0) ? end_search(m, &to) : NO_ROOM;
    return state == NO_ROOM ? TOO_MANY : state;
}

/* A node's number is above that of what is above it, so nodes move down in their order. */
int32_t forget_states(Matcher *m, int32_t state)
{
    const State s = m->state[state];
    const int32_t n = m->nodes;
    int32_t *moved = m->work;
    memset(moved, 0, sizeof *moved * (size_t)n);
    for (int32_t i = 0; i < s.n; i++) moved[m->kept[i] = m->item[s.first + i]] = 1;
    for (int32_t i = n - 1; i > 0; i--)
        if (moved[i]) moved[m->node[i].above] = 1;
    moved[0] = 0;
    clear_matcher(m);
    for (int32_t i = 1; i < n; i++)
        if (moved[i]) moved[i] = node_of(m, m->node[i].element, moved[m->node[i].above]);
    for (int32_t i = 0; i < s.n; i++) m->item[i] = moved[m->kept[i]];
    return state_of_items(m, s.n, s.ends);
}
