/* coded_file.c: moments in 8 bits, in checkpoints. */
#include "base/words.h"
#include "model/init.h"
#include "model/safetensors.h"
#include "model/tables.h"
#include "model/weights.h"
#include "step/coded.h"

#include <stdlib.h>
#include <string.h>

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
