/* trie.c: a trie of tokens by their bytes, to find the tokens that begin at a position of a text. */
#include "base/words.h"
#include "token/token.h"

static uint64_t place_of_edge(const Trie *t, uint64_t key)
{
    uint64_t h = key * 0x9E3779B97F4A7C15u, i = (h ^ h >> 32) & (t->slots - 1);
    while (t->edge[i].to && t->edge[i].key != key) i = (i + 1) & (t->slots - 1);
    return i;
}

static void widen_trie(Trie *t)
{
    Edge *old = t->edge;
    uint64_t slots = t->slots;
    t->slots = slots ? 2 * slots : 1024;
    t->edge = must_alloc(sizeof *t->edge * t->slots);
    for (uint64_t i = 0; i < slots; i++)
        if (old[i].to) t->edge[place_of_edge(t, old[i].key)] = old[i];
    free(old);
}

const Edge *follow_byte(const Trie *t, int32_t node, char byte)
{
    const Edge *e = t->slots ? &t->edge[place_of_edge(t, edge_key(node, byte))] : NULL;
    return e && e->to ? e : NULL;
}

void add_to_trie(Trie *t, const char *at, int64_t n, int32_t id)
{
    int32_t node = 0;
    for (int64_t i = 0; i < n; i++) {
        if ((uint64_t)(t->nodes + 1) * 2 >= t->slots) widen_trie(t);
        Edge *e = &t->edge[place_of_edge(t, edge_key(node, at[i]))];
        if (!e->to) *e = (Edge){edge_key(node, at[i]), ++t->nodes, -1};
        if (i == n - 1) e->id = id;
        node = e->to;
    }
}

void free_trie(Trie *t)
{
    free(t->edge);
    *t = (Trie){0};
}
