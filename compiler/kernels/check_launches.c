/* check_launches.c: the launches of a kernel are all that it needs, in their order, their blocks take all there is and
 * none takes nothing, and what a block has in shared memory fits there. */
#include "kernels/check_nests.h"

enum { WARPS_OF_BLOCK = TEAM_OF_BLOCK / TEAM_OF_WARP, STATIC_ROOM = 48 * 1024, ROOM = 99 * 1024 };

typedef struct Work { /* of a launch: the number of units, and how many of them a block takes */
    int64_t units, each;
} Work;

static bool takes_all(const Launch *l, Work w)
{
    return l->blocks > 0 && l->blocks * w.each >= w.units && (l->blocks - 1) * w.each < w.units;
}

/* ------------------------------------------------------------------ rows */

static Work work_of_rows(const Kernel *k, const Nest *n)
{
    int last = n->space.shape.rank - 1;
    int64_t rows = extent_of(&n->space, 0, last), inner = n->space.shape.dim[last];
    if (k->sliced) return (Work){k->persistent->period, k->persistent->wide};
    if (n->team == TEAM_OF_ELEMENTS) return (Work){rows * inner, (int64_t)TEAM_OF_BLOCK * n->beside};
    if (!n->columns) return (Work){rows * n->team, TEAM_OF_BLOCK};
    if (n->columns != APART) return (Work){rows, k->block};
    return (Work){n->blocks * round_up(inner, (int64_t)TEAM_OF_BLOCK * n->beside), (int64_t)TEAM_OF_BLOCK * n->beside};
}

static bool keeps_its_rows(const Nest *n, const Launch *l)
{
    int64_t least = 0;
    for (int i = 0; i < n->kept.n; i++)
        for (int o = 0; o < n->rows->loads.n; o++)
            if (n->rows->loads.at[o].node == n->kept.at[i])
                least +=
                    n->space.shape.dim[n->space.shape.rank - 1] * dtype_bytes(n->rows->loads.at[o].view.buffer->dtype);
    return l->room >= least && (l->room > 0) == (n->kept.n > 0);
}

/* Sums of the teams of a block, each of its own, that meet there. */
static bool has_place_for_sums(const Kernel *k, const Nest *n, const Launch *l)
{
    bool meet = n->columns && n->columns != APART && n->team != TEAM_OF_BLOCK;
    int64_t least = 0;
    for (int i = 0; meet && i < k->partials.n; i++) {
        int64_t bytes = dtype_bytes(k->partials.at[i]->dtype) * n->space.shape.dim[n->space.shape.rank - 1];
        int64_t teams = bytes * (TEAM_OF_BLOCK / n->team);
        least = n->columns == IN_SHARED ? least + teams : max64(least, teams);
    }
    return l->shared >= least && (l->shared > 0) == meet;
}

static const char *rows_fault(const Kernel *k, const Nest *n)
{
    const Launch *l = n->launches.at;
    if (n->launches.n != 1 + (k->block > 0) || l->what != LAUNCHED_ALL) return "it has other launches than it needs";
    if (!takes_all(l, work_of_rows(k, n))) return "its blocks take more or less than there is";
    if (!keeps_its_rows(n, l)) return "its launch has no room for the rows that it keeps";
    if (!has_place_for_sums(k, n, l)) return "its launch has no place for the sums of its teams";
    if (!k->block) return NULL;
    int64_t inner = n->space.shape.dim[n->space.shape.rank - 1];
    if (l[1].what != LAUNCHED_COLUMNS) return "nobody adds up the sums of its blocks";
    if (!takes_all(&l[1], (Work){inner, n->by_warps ? TEAM_OF_WARP : TEAM_OF_BLOCK}))
        return "not all columns are summed";
    return (l[1].shared > 0) == n->by_warps && !l[1].room ? NULL : "warps that share sums have a place for them";
}

/* ------------------------------------------------------------------ by ids, along an axis */

static Work work_of_ids(const Kernel *k, const Nest *n, Launched what)
{
    const Picked *p = n->picked;
    const Space *s = &n->space;
    int64_t batch = extent_of(s, 0, p->batch), ids = extent_of(s, p->batch, p->batch + p->ids);
    int64_t after = extent_of(s, p->batch + p->ids, p->id);
    if (what == LAUNCHED_START) return (Work){batch * s->shape.dim[p->id] * after, TEAM_OF_BLOCK};
    if (k->kind != GATHER && what == LAUNCHED_ALL) return (Work){batch * ids, 1};
    if (k->kind != GATHER) return (Work){batch * after, TEAM_OF_BLOCK};
    if (what == LAUNCHED_PLAIN) return (Work){batch * ids, TEAM_OF_BLOCK};
    return (Work){batch * ids * after, (int64_t)TEAM_OF_BLOCK * n->beside};
}

static Work work_of_walk(const Nest *n, Launched what)
{
    int64_t rows = extent_of(&n->space, 0, n->along->rows);
    return (Work){rows, n->team == TEAM_OF_WARP && what == LAUNCHED_ALL ? WARPS_OF_BLOCK : TEAM_OF_BLOCK};
}

/* Values that are there from the start are written first, and a plain loop comes after the launch that it replaces. */
static const char *index_fault(const Kernel *k, const Nest *n)
{
    int at = 0;
    bool starts = n->picked && n->picked->starts, lists = false;
    Launched order[3];
    if (starts) order[at++] = LAUNCHED_START;
    order[at++] = LAUNCHED_ALL;
    if (n->plain) order[at++] = LAUNCHED_PLAIN;
    if (n->plain && k->persistent) return "in one launch nothing falls back";
    if (at != n->launches.n) return "it has other launches than it needs";
    for (int i = 0; i < at; i++) {
        const Launch *l = &n->launches.at[i];
        Work w = n->picked ? work_of_ids(k, n, order[i]) : work_of_walk(n, order[i]);
        if (l->what != order[i]) return "its launches are in another order";
        if (!takes_all(l, w)) return "its blocks take more or less than there is";
        if (n->picked)
            lists = k->kind == SCATTER && i == starts &&
                    extent_of(&n->space, n->picked->batch, n->picked->batch + n->picked->ids) > 1;
        if (l->room || (l->shared > 0) != lists) return "who lists ids, and nobody else, has a place for them";
    }
    return NULL;
}

const char *launch_fault(const Kernel *k)
{
    const Nest *n = k->nest;
    if (k->kind != ROWS && !n->picked && !n->along) return n->launches.n ? "its launches are a library's" : NULL;
    for (int i = 0; i < n->launches.n; i++) {
        const Launch *l = &n->launches.at[i];
        if (l->shared > STATIC_ROOM || l->room > ROOM) return "a block has no room for what it shares";
    }
    return k->kind == ROWS ? rows_fault(k, n) : index_fault(k, n);
}
