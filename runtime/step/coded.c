/* coded.c: moments in 8 bits: the values that codes stand for, where a program's moments lie, and checkpoints of them.
 */
#include "base/words.h"
#include "math/math.h"
#include "model/block.h"
#include "model/init.h"
#include "model/tables.h"
#include "model/weights.h"
#include "step/coded.h"
#include "step/entry.h"

#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ codes */

static int by_size_of_code(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* The number of middles that x is above. */
static int code_by_search(const Code_table *t, float x)
{
    int at = 0;
    for (int half = CODES / 2; half > 0; half /= 2) at += x > t->codes.middle[at + half - 1] ? half : 0;
    return at;
}

static void fill_cells(Code_table *t)
{
    for (uint32_t i = 0; i < CELLS; i++) {
        const uint32_t first = i ? (FIRST_CELL + i) << (23 - CELL_BITS) : 0, next = (FIRST_CELL + i + 1)
                                                                                    << (23 - CELL_BITS);
        t->cell[i] = code_by_search(t, f32_of_bits(first));
        t->cell[CELLS + i] = code_by_search(t, -f32_of_bits(next));
    }
}

/* Computed in double and rounded once; the package's own table differs by one unit of the last place in places. */
void make_code_table(Code_table *t, bool has_sign)
{
    int n = 0;
    double unit = 1e-6;
    t->codes.value[n++] = 0;
    t->codes.value[n++] = 1;
    for (int i = 0; i < 7; i++, unit *= 10) {
        const int parts = (has_sign ? 1 : 2) << i;
        for (int k = 0; k < parts; k++) {
            const double middle = unit * (0.1 + 0.9 * (k + 0.5) / parts);
            t->codes.value[n++] = (float)middle;
            if (has_sign) t->codes.value[n++] = (float)-middle;
        }
    }
    bug_if(n != CODES);
    qsort(t->codes.value, CODES, sizeof *t->codes.value, by_size_of_code);
    for (int i = 0; i < CODES; i++)
        t->codes.middle[i] = i + 1 < CODES ? (t->codes.value[i] + t->codes.value[i + 1]) / 2 : INFINITY;
    for (t->codes.zero = 0; t->codes.value[t->codes.zero] != 0;) t->codes.zero++;
    fill_cells(t);
}

static inline int32_t cell_of(float x)
{
    const int32_t bits = (int32_t)bits_of_f32(x), at = ((bits & 0x7fffffff) >> (23 - CELL_BITS)) - FIRST_CELL;
    const int32_t within = at < 0 ? 0 : at < CELLS ? at : CELLS - 1;
    return within + (bits < 0 ? CELLS : 0);
}

#define REAL    float
#define NAME(x) x##_f32
#include "step/coded_real.h"
#undef REAL
#undef NAME
#define REAL    double
#define NAME(x) x##_f64
#include "step/coded_real.h"

/* ------------------------------------------------------------------ where they lie */

bool codes_moments(const Lathe_recipe *r) { return r->bits == 8 && r->optimizer == LATHE_ADAMW; }

static bool has_moments(const Lathe_model *m, const Lathe_param *p) { return lathe_is_trained(m, p) && !p->directed; }

static Lathe_runs_of runs_of_copies(const Lathe_param *p)
{
    return lathe_runs_of(p->rank, p->loops, p->dim, p->stride);
}

Lathe_coded coded_sizes(const Lathe_model *m)
{
    Lathe_coded all = {0};
    for (const Lathe_param *p = m->param; p < m->param + m->params; p++)
        if (has_moments(m, p)) lathe_add_coded(&all, runs_of_copies(p));
    return all;
}

static void add_pieces(Coded *c, Lathe_coded *at, const Lathe_param *p, int64_t copy, Rule rule)
{
    const Lathe_runs_of r = runs_of_copies(p);
    const enum Piece_kind kind = p->directed ? MOMENTLESS : lathe_is_coded(r) ? CODED : PLAIN;
    for (int64_t e = 0; e < r.elements; e += r.run) {
        c->piece[c->pieces++] = (Piece){
            copy_place(p, copy, e), r.run, kind == CODED ? at->codes : at->plain, at->blocks, c->blocks, kind, rule};
        c->blocks += lathe_coded_blocks(r.run);
        if (kind == CODED) at->codes += r.run, at->blocks += lathe_coded_blocks(r.run);
        if (kind == PLAIN) at->plain += r.run;
    }
}

static void place_arrays(Coded *c, char *at, int64_t real)
{
    const Lathe_coded n = c->sizes;
    for (int k = 0; k < 2; k++, at += n.plain * real) c->plain[k] = at;
    for (int k = 0; k < 2; k++, at += n.blocks * (int64_t)sizeof(float)) c->largest[k] = (float *)(void *)at;
    for (int k = 0; k < 2; k++, at += n.codes) c->code[k] = (uint8_t *)at;
}

Coded *open_coded(const Lathe_model *m, const Lathe_recipe *r, void *memory)
{
    Coded *c = must_alloc(sizeof *c);
    Lathe_coded at = {0};
    c->sizes = coded_sizes(m);
    place_arrays(c, memory, dtype_size(m->real));
    c->piece = must_alloc((size_t)(optimizer_runs(m) + 1) * sizeof *c->piece);
    for (const Lathe_param *p = m->param; p < m->param + m->params; p++)
        for (int64_t copy = 0; lathe_is_trained(m, p) && copy_elements(p) > 0 && copy < copies_of_parameter(p); copy++)
            add_pieces(c, &at, p, copy, rule_of(m, r, p, copy));
    for (int k = 0; k < 2; k++) {
        make_code_table(&c->table[k], k == 0);
        memset(c->code[k], c->table[k].codes.zero, (size_t)c->sizes.codes);
    }
    return c;
}

void close_coded(Coded *c)
{
    if (c) free(c->piece);
    free(c);
}

void coded_up(const Optimizer *o)
{
    const Coded *c = o->coded;
    for (int k = 0; c && k < 2; k++) device_up(c->code[k], c->sizes.codes);
}

const Piece *piece_of_block(const Coded *c, int64_t block)
{
    int low = 0, high = c->pieces - 1;
    while (low < high) {
        const int middle = (low + high + 1) / 2;
        if (c->piece[middle].block <= block) low = middle;
        else high = middle - 1;
    }
    return c->piece + low;
}

/* ------------------------------------------------------------------ checkpoints */

#define LARGEST "largest."

typedef struct Tensor { /* a copy of a parameter, whose pieces follow each other */
    const Lathe_param *p;
    const Piece *first;
    const char *name, *largest; /* in files, of moment k */
    int64_t elements, blocks;
    int k;
} Tensor;

typedef void Visit(void *with, const Tensor *t);

static void visit_copy(const Lathe_param *p, int64_t copy, const Piece *first, int k, const char *kind, Visit *visit,
                       void *with)
{
    char own[512];
    const Lathe_runs_of r = runs_of_copies(p);
    copy_name(own, sizeof own, p, copy);
    char *name = text_of("%s.%s", kind, own), *largest = text_of(LARGEST "%s", name);
    visit(with, &(Tensor){p, first, name, largest, r.elements, r.elements / r.run * lathe_coded_blocks(r.run), k});
    free(name);
    free(largest);
}

static void visit_moments(const Lathe_model *m, const Optimizer *o, Visit *visit, void *with)
{
    for (int k = 0; k < o->moments; k++) {
        const Piece *piece = o->coded->piece;
        for (const Lathe_param *p = m->param; p < m->param + m->params; p++) {
            if (!lathe_is_trained(m, p) || copy_elements(p) == 0) continue;
            for (int64_t copy = 0; copy < copies_of_parameter(p); copy++) {
                if (has_moments(m, p)) visit_copy(p, copy, piece, k, o->moment_name[k], visit, with);
                piece += runs_of_copies(p).elements / runs_of_copies(p).run;
            }
        }
    }
}

/* Its numbers: codes, or plain ones. */
static void *moment_of_tensor(const Optimizer *o, const Tensor *t)
{
    const Coded *c = o->coded;
    if (t->first->kind == CODED) return c->code[t->k] + t->first->first;
    return (char *)c->plain[t->k] + t->first->first * dtype_size(o->real);
}

static Lathe_dtype type_of_numbers(const Optimizer *o, const Tensor *t)
{
    return t->first->kind == CODED ? LATHE_BOOL : o->real; /* a byte */
}

typedef struct Putting {
    Store_writer *w;
    const Optimizer *o;
} Putting;

static void declare_coded(void *with, const Tensor *t)
{
    const Putting *to = with;
    declare_tensor(to->w, t->name, type_of_numbers(to->o, t), t->p->rank - t->p->loops, t->p->dim + t->p->loops);
    if (t->first->kind == CODED) declare_tensor(to->w, t->largest, LATHE_F32, 1, &t->blocks);
}

static void put_moment(void *with, const Tensor *t)
{
    const Putting *to = with;
    put_elements(to->w, moment_of_tensor(to->o, t), t->elements, type_of_numbers(to->o, t));
    if (t->first->kind == CODED)
        put_elements(to->w, to->o->coded->largest[t->k] + t->first->scale, t->blocks, LATHE_F32);
}

void put_coded(Store_writer *w, const Lathe_model *m, const Optimizer *o)
{
    Putting to = {w, o};
    visit_moments(m, o, declare_coded, &to);
    visit_moments(m, o, put_moment, &to);
}

typedef struct Taking {
    const Store *from;
    const Optimizer *o;
    Misfits bad;
    int tensors;
} Taking;

static void take_stored(Taking *t, const char *name, Lathe_dtype type, int rank, const int64_t *dim, void *to)
{
    static const char *const words[] = {[LATHE_BOOL] = "U8", [LATHE_F32] = "F32", [LATHE_F64] = "F64"};
    const Stored *s = find_stored(t->from, name);
    const bool same = s && s->rank == rank && (rank == 0 || memcmp(s->dim, dim, sizeof *dim * (size_t)rank) == 0);
    char *wanted = dims_text(rank, dim);
    t->tensors++;
    if (!s) add_misfit(&t->bad, text_of("%s: missing; expected %s %s", name, words[type], wanted));
    else if (!same || !stored_is(s, words[type]))
        add_misfit(&t->bad, text_of("%s: expected %s %s, found %s %s", name, words[type], wanted, s->dtype,
                                    dims_text(s->rank, s->dim)));
    else memcpy(to, s->at, (size_t)s->bytes);
    free(wanted);
}

static void take_moment(void *with, const Tensor *t)
{
    Taking *to = with;
    take_stored(to, t->name, type_of_numbers(to->o, t), t->p->rank - t->p->loops, t->p->dim + t->p->loops,
                moment_of_tensor(to->o, t));
    if (t->first->kind == CODED)
        take_stored(to, t->largest, LATHE_F32, 1, &t->blocks, to->o->coded->largest[t->k] + t->first->scale);
}

void check_coded(const Store *s, const Optimizer *o, const char *checkpoint)
{
    bool there = false;
    for (int i = 0; i < s->n; i++) there |= strncmp(s->tensor[i].name, LARGEST, sizeof LARGEST - 1) == 0;
    if (there == (o->coded && o->coded->sizes.blocks)) return;
    fail(EXIT_DATA, s->path,
         "its moments are in %d bits and those of this run in %d; leave out --set bits, or start a new run from its "
         "weights: --init %s",
         there ? 8 : 32, there ? 32 : 8, checkpoint);
}

void load_coded(const Lathe_model *m, const Store *s, const Optimizer *o)
{
    Taking t = {.from = s, .o = o};
    visit_moments(m, o, take_moment, &t);
    if (t.bad.n == 0 && t.tensors == s->n) return;
    advise(NULL); /* other checkpoints of the run would not fit either */
    if (t.bad.n == 0) fail(EXIT_DATA, s->path, "expected %d tensors, found %d; it is another model's", t.tensors, s->n);
    fail(EXIT_DATA, s->path,
         "expected the moments of %s%s in 8 bits; %d tensors do not fit; resume with a trainer of the same "
         "configuration, or start from its weights with --init:%s%s",
         m->name, config_of(m), t.bad.n, t.bad.text, more_misfits(&t.bad));
}
