/* second_way.h: reports once that CUDA or a library refuses the first way of computing something, so that a slower way
 * is used. */
#ifndef LATHE_CUDA_SECOND_WAY_H
#define LATHE_CUDA_SECOND_WAY_H

#include <stdio.h>
#include <string.h>

inline struct Second_ways {
    char said[64][160]; /* those reported already */
    int n;
} second_ways;

/* what: a product or loop with its Lua line, or a library; why: what was refused, and the cost. */
static inline void second_way(const char *what, const char *why)
{
    Second_ways *all = &second_ways;
    char line[sizeof all->said[0]];
    snprintf(line, sizeof line, "%s", what);
    for (int i = 0; i < all->n; i++)
        if (strcmp(all->said[i], line) == 0) return;
    if (all->n < (int)(sizeof all->said / sizeof all->said[0])) snprintf(all->said[all->n++], sizeof line, "%s", line);
    fprintf(stderr, "note: %s: %s\n", what, why);
}

/* Names of ways that are not used: a test found them wrong here, or they are being compared with their second way. */
inline struct Switched_off {
    char name[512][200];
    int n;
} switched_off;

static inline bool is_switched_off(const char *name)
{
    for (int i = 0; i < switched_off.n; i++)
        if (strcmp(switched_off.name[i], name) == 0) return true;
    return false;
}

static inline void switch_off(const char *name, bool off)
{
    Switched_off *all = &switched_off;
    if (is_switched_off(name) == off) return;
    if (off && all->n < (int)(sizeof all->name / sizeof all->name[0]))
        snprintf(all->name[all->n++], sizeof all->name[0], "%s", name);
    for (int i = 0; !off && i < all->n; i++)
        if (strcmp(all->name[i], name) == 0) memcpy(all->name[i], all->name[--all->n], sizeof all->name[0]);
}

/* Names of the kernels launched so far that address by ids.  plain: all use plain loops, for tests. */
inline struct Index_kernels {
    char name[256][200];
    int n;
    bool plain;
} index_kernels;

/* `if (!plain_loop("embed_gather: gpt.lua:31")) launch(embed_gather, …); else launch(embed_gather_plain, …);` */
static inline bool plain_loop(const char *name)
{
    Index_kernels *all = &index_kernels;
    char own[sizeof all->name[0]];
    bool known = all->n == (int)(sizeof all->name / sizeof all->name[0]);
    snprintf(own, sizeof own, "%s", name);
    for (int i = 0; i < all->n && !known; i++) known = strcmp(all->name[i], own) == 0;
    if (!known) memcpy(all->name[all->n++], own, sizeof own);
    return all->plain || is_switched_off(own);
}

#endif
