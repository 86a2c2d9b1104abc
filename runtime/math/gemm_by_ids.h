/* gemm_by_ids.h: the part of math/gemm_own.c for products with matrices that ids choose: rows in the order of their
 * matrices, and how the work is cut.
 *
 * Numbers of rows are sorted by id, those of equal ids ascending, and the rows of each matrix are a product of its own
 * in the tiles of all products, whose panels are packed from rows wherever these lie.  An element's bits depend on how
 * many rows have its row's id, and on extents: an element is one chain of multiply-adds per chunk, as in math/gemm_own.c, so
 * tasks may be cut by the number of threads. */

enum {
    NUMBERS = 1 << 17,                /* in the calling thread's room: of rows, and where those of each matrix begin */
    LIST_BYTES = NUMBERS * 4,
    FEW = 4,                          /* rows of a matrix that are multiplied one by one, without packing */
    EACH_TASKS = 3,                   /* tasks for each thread: rows of matrices differ in number */
    LEAST_COLUMNS = 64, LEAST_ROWS = 64 /* of a task */
};
_Static_assert(2 * LATHE_MATRICES_BY_IDS < NUMBERS, "rows are left beside the beginnings");

/* Some of the rows, sorted: those of matrix e are row[first[e]] … row[first[e + 1] - 1]. */
typedef struct By_matrix {
    int *first, *row;
    int64_t begin, n;                 /* of these rows among all; row counts from there */
} By_matrix;

static int64_t rows_at_a_time(const Lathe_by_ids *g) { return NUMBERS - (g->E + 2); }

static INLINE int checked_id(int id, const Lathe_by_ids *g)
{
    if (!g->id.place) return id;
    return g->id.data ? data_id(id, (int)g->E, g->id.place, g->id.what)
                      : computed_id(id, (int)g->E, g->id.place, g->id.what);
}

/* Counts, then places. */
static By_matrix by_matrix(const int *ids, const Lathe_by_ids *g, int64_t begin)
{
    By_matrix s = {.first = thread_room(), .begin = begin};
    s.n = at_most(g->outer * g->inner - begin, rows_at_a_time(g));
    s.row = s.first + g->E + 2;
    memset(s.first, 0, (size_t)(g->E + 2) * sizeof *s.first);
    for (int64_t i = 0; i < s.n; i++) s.first[checked_id(ids[begin + i], g) + 2]++;
    for (int64_t e = 1; e <= g->E; e++) s.first[e + 1] += s.first[e];
    for (int64_t i = 0; i < s.n; i++) s.row[s.first[checked_id(ids[begin + i], g) + 1]++] = (int)i;
    return s;
}

/* Tasks of a matrix: parts of its rows (of a sum: of its own rows), each in parts of columns. */
typedef struct Cut_by_ids {
    int64_t most;                     /* rows of ids for each task */
    int64_t parts, columns;           /* at most; parts of columns */
    bool shared;
} Cut_by_ids;

static int64_t parts_of_matrix(const Cut_by_ids *cut, const By_matrix *s, int64_t e)
{
    return at_least(parts_of(s->first[e + 1] - s->first[e], cut->most), 1);
}

static Cut_by_ids cut_by_ids(const Lathe_by_ids *g, const By_matrix *s, int64_t columns)
{
    int64_t threads = omp_in_parallel() ? 1 : omp_get_max_threads(), wanted = EACH_TASKS * threads, tasks = 0;
    Cut_by_ids cut = {.most = s->n + 1, .parts = 1, .columns = 1};
    cut.shared = threads > 1 && 2.0 * (double)s->n * (double)g->N * (double)g->K >= TASK_FLOPS;
    if (!cut.shared) return cut;
    cut.most = at_least(parts_of(s->n, wanted), LEAST_ROWS);
    for (int64_t e = 0; e < g->E; e++) {
        int64_t parts = parts_of_matrix(&cut, s, e);
        cut.parts = at_least(cut.parts, parts);
        if (s->first[e + 1] > s->first[e]) tasks += parts;
    }
    cut.columns = at_least(at_most(wanted / at_least(tasks, 1), columns / LEAST_COLUMNS), 1);
    return cut;
}

/* Part k of n in `parts`, but for the last a multiple of unit. */
static int64_t part_from(int64_t n, int64_t parts, int64_t unit, int64_t k)
{
    return at_most(parts_of(parts_of(n, parts), unit) * unit * k, n);
}
