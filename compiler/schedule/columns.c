/* columns.c: pass columns: where reductions over all rows are added up on CUDA.
 *
 * There are two stages. In the first, a block of threads takes a block of rows. Its teams add up in shared memory, or
 * in registers if rows are wide or shared memory is too small; their sums are then added in order to a partial
 * result. In the second, another kernel adds up the partial results in order. If nothing is reduced along the rows
 * and rows are long, several blocks also share the columns. */
#include "desc/passes.h"
#include "desc/target.h"
#include "kernels/nest.h"

enum { SHORT = 16 };         /* a shorter row is one thread's */
enum { SHARED = 48 * 1024 }; /* bytes of shared memory that any block has */

static int64_t column_bytes(const Kernel *k)
{
    int64_t bytes = 0;
    for (int i = 0; i < k->partials.n; i++) bytes += dtype_bytes(k->partials.at[i]->dtype);
    return bytes;
}

/* Partial results must have one type: they go through one array, one after another. */
static bool of_one_type(const Kernel *k)
{
    bool all = true;
    for (int i = 1; i < k->partials.n; i++) all &= k->partials.at[i]->dtype == k->partials.at[0]->dtype;
    return all;
}

static int64_t inner_extent(const Kernel *k)
{
    const Shape *s = &k->partials.at[0]->shape; /* [blocks][inner] */
    return s->dim[s->rank - 1];
}

/* The number of sums, over all columns, that a thread of a team has. */
static int64_t sums_of_thread(const Kernel *k, int team) { return (inner_extent(k) + team - 1) / team * k->partials.n; }

/* With more sums than these in registers, too few registers are left for the rest, and many turns make long code. */
enum { OF_WARP = 96, OF_BLOCK = 32 };

/* From this number of columns on, each lane takes several elements side by side. In shared memory they would be in
 * the same bank. */
enum { WIDE = 256 };

/* Each team has its own sums, in shared memory if they fit. If not, and for wide rows, the sums are in registers, and
 * one column at a time goes through shared memory. If one column does not fit either, the whole block is one team. */
static int team_for_columns(const Kernel *k, Column_sums *columns)
{
    int64_t inner = inner_extent(k);
    int team = inner < SHORT ? TEAM_OF_ONE : TEAM_OF_WARP, teams = TEAM_OF_BLOCK / team;
    bool shared = column_bytes(k) * inner * teams <= SHARED;
    int64_t one = dtype_bytes(k->partials.at[0]->dtype) * inner * teams;
    bool registers =
        team == TEAM_OF_WARP && of_one_type(k) && one <= SHARED && sums_of_thread(k, TEAM_OF_WARP) <= OF_WARP;
    bool better = registers && inner >= WIDE && k->partials.at[0]->dtype != F64; /* a double takes two registers */
    *columns = shared && !better ? IN_SHARED : IN_REGISTERS;
    if (shared || registers) return team;
    if (sums_of_thread(k, TEAM_OF_BLOCK) > OF_BLOCK) *columns = IN_PARTIALS;
    return TEAM_OF_BLOCK;
}

int64_t shared_for_columns(const Kernel *k)
{
    Column_sums columns;
    if (k->kind != ROWS || !k->block) return 0;
    int team = team_for_columns(k, &columns);
    int64_t second = column_bytes(k) * TEAM_OF_BLOCK, first = dtype_bytes(k->partials.at[0]->dtype);
    if (columns == IN_SHARED) first = column_bytes(k);
    bool has = columns == IN_SHARED || team == TEAM_OF_WARP;
    return second + (has ? first * inner_extent(k) * (TEAM_OF_BLOCK / team) : 0);
}

/* Is nothing reduced along a row, and is a row too long for a team to keep its sums? */
static bool columns_run_apart(const Kernel *k, Column_sums columns)
{
    bool sums = k->phases.n > 1 || k->phases.at[0].sums.n || k->phases.at[0].row_stores.n || k->kept.n;
    return !sums && columns == IN_PARTIALS;
}

static void place_sums(Kernel *k, const Desc *d)
{
    enum { MANY = 64 };
    Nest *n = k->nest;
    if (k->kind != ROWS || !k->block || d->options->target->loops) return;
    n->columns = IN_PARTIALS;
    n->team = TEAM_OF_BLOCK;
    if (without(d, PASS_columns)) return;
    n->team = team_for_columns(k, &n->columns);
    if (columns_run_apart(k, n->columns)) n->columns = APART, n->team = TEAM_OF_ONE;
    n->by_warps = n->blocks >= MANY && inner_extent(k) > 1;
}

void pass_columns(Program *p, const Desc *d) { each_nest(p, place_sums, d); }
