/* constraint.c: which tokens may come next in a text: a walk through the vocabulary's tree together with the states of
 * the matcher; a branch that the grammar refuses is left out whole.  The masks of the last states are kept: within a
 * string, say, each token leads to the same state. */
#include "grammar/matcher.h"
#include "grammar/vocabulary.h"

#include <stdlib.h>
#include <string.h>

enum { MASKS = 16 };

struct Constraint {
    const Vocabulary *v;
    Matcher m;
    char *memory;
    uint64_t *mask;       /* [MASKS][words] */
    int32_t owner[MASKS]; /* the state of each; -1: none */
    bool any[MASKS];
    int32_t *path;        /* [longest + 1]: the states of a branch's bytes */
    uint8_t *bytes;       /* [longest + 1] */
    int32_t state, masks; /* masks: how many were made */
    const char *fault;
};

static int64_t mask_bytes(const Vocabulary *v) { return MASKS * v->words * (int64_t)sizeof(uint64_t); }
static int64_t path_bytes(const Vocabulary *v) { return (v->longest + 1) * (int64_t)(sizeof(int32_t) + 1); }

int64_t constraint_bytes(const Vocabulary *v, int64_t texts)
{
    return v->bytes + texts * (matcher_bytes() + mask_bytes(v) + path_bytes(v) + (int64_t)sizeof(Constraint));
}

Constraint *open_constraint(const Vocabulary *v)
{
    Constraint *c = must_alloc(sizeof *c);
    c->v = v;
    c->memory = must_alloc((size_t)(matcher_bytes() + mask_bytes(v) + path_bytes(v)));
    c->mask = (void *)c->memory;
    open_matcher(&c->m, c->memory + mask_bytes(v));
    c->path = (void *)(c->memory + mask_bytes(v) + matcher_bytes());
    c->bytes = (uint8_t *)(c->path + v->longest + 1);
    return c;
}

void close_constraint(Constraint *c)
{
    if (!c) return;
    free(c->memory);
    free(c);
}

static void forget_masks(Constraint *c)
{
    for (int i = 0; i < MASKS; i++) c->owner[i] = -1;
}

static bool lose_track(Constraint *c)
{
    c->fault = "the grammar is too ambiguous, or nests too deep here: a text may be read in too many ways at once";
    return false;
}

void begin_constraint(Constraint *c, const Grammar *g)
{
    c->fault = NULL;
    forget_masks(c);
    c->state = start_matcher(&c->m, g);
    if (c->state < 0) c->state = NO_STATE, lose_track(c);
}

bool may_end_here(const Constraint *c) { return c->m.state[c->state].ends; }
const char *constraint_fault(const Constraint *c) { return c->fault; }

/* Forgets all states but c->state. */
static void forget_most(Constraint *c)
{
    c->state = forget_states(&c->m, c->state);
    forget_masks(c);
}

/* ------------------------------------------------------------------ a text goes on */

bool follow_bytes(Constraint *c, const char *at, int64_t n)
{
    for (int64_t i = 0; i < n && !c->fault; i++) {
        int32_t to = state_after(&c->m, c->state, (uint8_t)at[i]);
        if (to == NO_ROOM) {
            forget_most(c);
            to = state_after(&c->m, c->state, (uint8_t)at[i]);
        }
        if (to < 0) return lose_track(c);
        c->state = to;
    }
    return !c->fault && c->state != NO_STATE;
}

bool take_token(Constraint *c, int32_t id)
{
    const char *at;
    int64_t n = token_bytes(c->v->tokenizer, id, &at);
    return follow_bytes(c, at, n);
}

/* ------------------------------------------------------------------ a walk */

/* The state after the branch's first `depth` bytes, all of which come again after room was made. */
static int32_t walk_again(Constraint *c, int depth)
{
    forget_most(c);
    c->path[0] = c->state;
    for (int k = 0; k < depth; k++) {
        int32_t to = state_after(&c->m, c->path[k], c->bytes[k]);
        if (to < 0) return to;
        c->path[k + 1] = to;
    }
    return c->path[depth];
}

static void mark_tokens(const Vocabulary *v, int32_t id, uint64_t *mask)
{
    for (; id >= 0; id = v->same[id]) mask[id >> 6] |= UINT64_C(1) << (id & 63);
}

static bool walk_vocabulary(Constraint *c, uint64_t *mask, bool *any)
{
    const Vocabulary *v = c->v;
    memset(mask, 0, sizeof *mask * (size_t)v->words);
    *any = false;
    c->path[0] = c->state;
    for (int32_t i = 0; i < v->branches;) {
        const Branch b = v->branch[i];
        c->bytes[b.depth - 1] = b.byte;
        int32_t to = state_after(&c->m, c->path[b.depth - 1], b.byte);
        if (to == NO_ROOM) to = walk_again(c, b.depth);
        if (to < 0) return lose_track(c);
        c->path[b.depth] = to;
        if (to == NO_STATE) {
            i = b.after;
            continue;
        }
        if (b.token >= 0) mark_tokens(v, b.token, mask), *any = true;
        i++;
    }
    return true;
}

const uint64_t *next_tokens(Constraint *c, bool *any)
{
    if (c->fault) return NULL;
    int32_t k = c->m.state[c->state].mask;
    if (k < 0 || c->owner[k] != c->state) {
        k = c->masks++ % MASKS;
        c->owner[k] = -1;
        if (!walk_vocabulary(c, c->mask + k * c->v->words, &c->any[k])) return NULL;
        c->owner[k] = c->state;
        c->m.state[c->state].mask = k;
    }
    *any = c->any[k];
    return c->mask + k * c->v->words;
}
