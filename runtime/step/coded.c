/* coded.c: moments in 8 bits: the values that codes stand for, and where a program's moments lie. */
#include "base/bug.h"
#include "math/math.h"
#include "model/block.h"
#include "model/init.h"
#include "model/tables.h"
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

bool codes_moments(const Lathe_recipe *r) { return LATHE_USES_CODED && r->bits == 8 && r->optimizer == LATHE_ADAMW; }

bool has_moments(const Lathe_model *m, const Lathe_param *p) { return lathe_is_trained(m, p) && !p->directed; }

Lathe_runs_of runs_of_copies(const Lathe_param *p) { return lathe_runs_of(p->rank, p->loops, p->dim, p->stride); }

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

int64_t coded_table_bytes(const Lathe_model *m)
{
    return align64((int64_t)sizeof(Coded)) + align64((optimizer_runs(m) + 1) * (int64_t)sizeof(Piece));
}

Coded *open_coded(const Lathe_model *m, const Lathe_recipe *r, void *memory, void *tables)
{
    Coded *c = tables;
    Lathe_coded at = {0};
    *c = (Coded){.sizes = coded_sizes(m)};
    place_arrays(c, memory, dtype_size(m->real));
    c->piece = (Piece *)(void *)((char *)tables + align64((int64_t)sizeof *c));
    for (const Lathe_param *p = m->param; p < m->param + m->params; p++)
        for (int64_t copy = 0; lathe_is_trained(m, p) && copy_elements(p) > 0 && copy < copies_of_parameter(p); copy++)
            add_pieces(c, &at, p, copy, rule_of(m, r, p, copy));
    for (int k = 0; k < 2; k++) {
        make_code_table(&c->table[k], k == 0);
        memset(c->code[k], c->table[k].codes.zero, (size_t)c->sizes.codes);
    }
    return c;
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
