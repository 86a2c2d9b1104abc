/* plan.c: gives every WORK buffer an offset in the arena and adds up all memory, to the byte.
 *
 * Buffers whose lifetimes do not meet may share bytes: largest first, each at the lowest offset that is free while it
 * lasts
 * (--no-reuse: none share).  Needs: pass_order on every program.  Leaves: offsets, work_bytes, lower bounds, Plan.
 */
#include "desc/passes.h"
#include "desc/target.h"
#include "passes/passes.h"
#include "plan/plan.h"

#include <stdlib.h>
#include <string.h>

enum { ALIGN = 64 };

/* Bytes of the arena while they are in use: by one buffer, and by those that take them over from it one after another.
 */
typedef struct Life {
    Buffer *buffer;
    int first, last;
} Life;
typedef VEC(Life) Lives;

static Lives lives_of(const Program *p)
{
    Lives lives = {0};
    for (int i = 0; i < p->buffers.n; i++) {
        Buffer *b = p->buffers.at[i];
        b->number = -1;
        if (b->home != WORK || b->first < 0 || b->in_place_of) continue;
        b->number = lives.n;
        push(&lives, ((Life){b, b->first, b->last}));
    }
    for (int i = 0; i < p->buffers.n; i++) {
        const Buffer *b = p->buffers.at[i];
        int at = b->in_place_of ? bytes_of(b)->number : -1;
        if (at >= 0 && b->last > lives.at[at].last) lives.at[at].last = b->last;
    }
    return lives;
}

static int larger_first(const void *a, const void *b)
{
    const Life *x = a, *y = b;
    if (x->buffer->bytes != y->buffer->bytes) return x->buffer->bytes < y->buffer->bytes ? 1 : -1;
    if (x->first != y->first) return x->first - y->first;
    return x->last - y->last;
}

/* A buffer that has its offset. These are sorted by offset, and small, since each new buffer looks through all. */
typedef struct Placed {
    int64_t from, to; /* bytes */
    int first, last;
} Placed;

/* The lowest offset at which l is apart from all placed ones that live when it does. */
static int64_t lowest_free(const Placed *placed, int n, const Life *l)
{
    int64_t at = 0, bytes = l->buffer->bytes;
    for (int i = 0; i < n && placed[i].from < at + bytes; i++)
        if (placed[i].first <= l->last && l->first <= placed[i].last) at = max64(at, placed[i].to);
    return at;
}

static void put_buffer(Placed *placed, int n, const Life *l)
{
    int64_t from = l->buffer->offset;
    int low = 0, high = n; /* the first that begins later */
    while (low < high) {
        int middle = (low + high) / 2;
        if (placed[middle].from <= from) low = middle + 1;
        else high = middle;
    }
    memmove(&placed[low + 1], &placed[low], (size_t)(n - low) * sizeof *placed);
    placed[low] = (Placed){from, round_up(from + l->buffer->bytes, ALIGN), l->first, l->last};
}

/* The largest sum of bytes that are in use at one step. */
static int64_t peak(const Program *p)
{
    Lives lives = lives_of(p);
    int64_t most = 0, live = 0, *more = NEW_ARRAY(int64_t, p->steps + 1); /* in use from this step on */
    for (int i = 0; i < lives.n; i++) {
        if (lives.at[i].last < lives.at[i].first) continue;
        more[lives.at[i].first] += lives.at[i].buffer->bytes;
        more[lives.at[i].last + 1] -= lives.at[i].buffer->bytes;
    }
    for (int step = 0; step < p->steps; step++) most = max64(most, live += more[step]);
    return most;
}

static int64_t peak_apart(const Program *p)
{
    Program apart = *p;
    apart.buffers.at = NEW_ARRAY(Buffer *, p->buffers.n + 1);
    for (int i = 0; i < p->buffers.n; i++) {
        apart.buffers.at[i] = copy_of(p->buffers.at[i], sizeof(Buffer));
        apart.buffers.at[i]->in_place_of = NULL;
    }
    return peak(&apart);
}

/* Entries use one arena in turn.  One that is small enough anyway works apart: its kernels are then those of others. */
static void in_place_where_it_pays(Module *m)
{
    int64_t largest = 0;
    for (int i = 0; i < m->programs.n; i++) largest = max64(largest, peak(m->programs.at[i]));
    for (int i = 0; i < m->programs.n && !m->desc->options->all_in_place; i++) {
        Program *p = m->programs.at[i];
        if (peak_apart(p) > largest) continue;
        for (int k = 0; k < p->buffers.n; k++) p->buffers.at[k]->in_place_of = NULL;
        p->taken_over = 0;
    }
}

static void pack(Program *p, bool shares)
{
    Lives lives = lives_of(p);
    Placed *placed = NEW_ARRAY(Placed, lives.n + 1);
    if (lives.n) qsort(lives.at, (size_t)lives.n, sizeof *lives.at, larger_first);
    for (int i = 0; i < lives.n; i++) {
        Buffer *b = lives.at[i].buffer;
        b->offset = !shares ? p->work_bytes : lowest_free(placed, i, &lives.at[i]);
        put_buffer(placed, i, &lives.at[i]);
        p->work_bytes = max64(p->work_bytes, round_up(b->offset + b->bytes, ALIGN));
    }
    for (int i = 0; i < p->buffers.n; i++) {
        Buffer *b = p->buffers.at[i];
        b->offset = bytes_of(b)->offset;
        if (b->home == WORK && b->first >= 0) p->unshared_bytes += round_up(b->bytes, ALIGN);
    }
    p->lower_bound = peak(p);
}

static int64_t home_bytes(const Program *p, Home home)
{
    int64_t sum = 0;
    for (int i = 0; i < p->buffers.n; i++)
        if (p->buffers.at[i]->home == home) sum += round_up(p->buffers.at[i]->bytes, ALIGN);
    return sum;
}

int64_t bytes_of_state(const Desc *d, const Tensor_spec *s)
{
    DType type = s->dtype == F32 && precision_of(d->options).real == F64 ? F64 : s->dtype;
    return round_up(bytes_of_elements(type, elements(s->shape)), ALIGN);
}

static int64_t bytes_of_role(const Desc *d, Lathe_role role, bool fixed)
{
    int64_t sum = 0;
    for (int i = 0; i < d->states.n; i++) {
        const Tensor_spec *s = &d->states.at[i];
        if (s->role == role && (s->fixed || !fixed)) sum += bytes_of_state(d, s);
    }
    return sum;
}

/* Bytes of the states that encode and decode share: of those that encode writes (fixed), or of all. */
static int64_t decode_bytes(const Desc *d, bool fixed) { return bytes_of_role(d, LATHE_STATE, fixed); }

static bool is_copied(const Tensor_spec *s) { return s->role == LATHE_CARRIED || s->role == LATHE_STATISTIC; }

static bool writes_texts(const Desc *d) { return lathe_writes_texts(&d->recipe, entry_graph(d, ENTRY_sample)); }

/* Bytes of the states that a run takes, and of a copy of what train hands from step to step: a checkpoint is written
 * from that copy while the next step runs. */
static int64_t state_bytes(const Desc *d)
{
    int64_t sum = writes_texts(d) ? decode_bytes(d, false) : 0;
    for (int i = 0; i < d->states.n; i++) {
        const Tensor_spec *s = &d->states.at[i];
        if (s->role != LATHE_STATE && s->role != LATHE_SLOT_STATE) sum += bytes_of_state(d, s) * (is_copied(s) ? 2 : 1);
    }
    return sum;
}

/* Outputs of decode with a number for each of its rows, beside logits: as many as are kept of what is written. */
static int64_t extras(const Graph *decode, int64_t rows)
{
    int64_t n = 0;
    for (int i = 0; i < decode->outs.n; i++) {
        const Output *o = &decode->outs.at[i];
        n += o->kind == OUT_VALUE && o->node->shape.rank > 0 && elements(o->node->shape) == rows &&
             !same(o->name, "logits");
    }
    return n < LATHE_EXTRAS ? n : LATHE_EXTRAS;
}

static bool reads_tokens(const Desc *d)
{
    for (int i = 0; i < d->inputs.n; i++)
        if (d->inputs.at[i].role == LATHE_TOKENS) return true;
    return false;
}

static int64_t generation_bytes(const Desc *d)
{
    const Lathe_recipe *r = &d->recipe;
    const Graph *decode = entry_graph(d, ENTRY_decode);
    if (!decode || !reads_tokens(d) || !writes_texts(d)) return 0;
    return lathe_generation_bytes(r, r->rows, d->seq, d->context, d->vocab, extras(decode, r->rows),
                                  decode_bytes(d, false), decode_bytes(d, true));
}

/* The first element that is stored in such blocks; -1: none is. */
static int64_t first_in_blocks(const Desc *d, DType t)
{
    int64_t first = -1;
    for (int i = 0; i < d->params.n; i++) {
        const Param *p = d->params.at[i];
        if (p->blocks == t && (first < 0 || p->offset < first)) first = p->offset;
    }
    return first;
}

/* An even number of blocks in all, so that floats may follow.  start: the offset of the array's first parameter. */
static void add_blocks(Flat *f, const Desc *d, int64_t start)
{
    int64_t first[DTYPES], whole = -1;
    for (DType t = 0; t < DTYPES; t++) {
        first[t] = in_blocks(t) ? first_in_blocks(d, t) : -1;
        if (first[t] >= 0) first[t] -= start;
        if (whole < 0) whole = first[t];
    }
    if (whole < 0) return;
    f->elements = round_up(f->elements - whole, 2 * LATHE_BLOCK) + whole;
    int64_t end = f->elements;
    for (DType t = DTYPES; t-- > 0;) {
        if (first[t] < 0) continue;
        f->in_blocks[t] = end - first[t];
        end = first[t];
    }
}

static Flat flat_of(const Desc *d, int64_t start)
{
    Flat f = {0};
    for (int i = 0; i < d->params.n; i++) {
        const Param *p = d->params.at[i];
        int64_t end = p->offset + 1 - start;
        for (int k = 0; k < p->shape.rank; k++) end += (p->shape.dim[k] - 1) * p->stride[k];
        f.count += elements(p->shape);
        f.elements = max64(f.elements, round_up(end, 16));
        if (!p->frozen) f.trained = max64(f.trained, round_up(end, 16));
        if (!p->frozen && !p->directed) f.moments = max64(f.moments, round_up(end, 16));
    }
    add_blocks(&f, d, start);
    return f;
}

static void add_parameters(Plan *plan, const Desc *d)
{
    const DType weights = precision_of(d->options).weights;
    plan->flat = flat_of(d, 0);
    plan->parameters = round_up(flat_bytes_before(&plan->flat, weights, plan->flat.elements), ALIGN);
    if (!d->teacher) return;
    plan->taught = flat_of(d->teacher, first_of_teacher(d));
    plan->teacher = round_up(flat_bytes_before(&plan->taught, weights, plan->taught.elements), ALIGN);
}

/* Does the description ask for documents in epochs? (The trainer also chooses that by the data it is given.) */
static bool streams(const Desc *d)
{
    const Lathe_recipe *r = &d->recipe;
    return !lathe_reads_rows(r) && !r->prefers && r->order == LATHE_EPOCHS;
}

/* Does a training run call the entry? `grad` is a command of its own and takes memory for itself. */
static bool in_a_run(const Program *p) { return p->graph->entry != ENTRY_grad; }

/* Has kernels that take rooms of threads. */
static bool multiplies(Kernel *const *kernels, int n)
{
    for (int i = 0; i < n; i++)
        if (kernels[i]->kind == GEMM || kernels[i]->kind == ATTENTION || kernels[i]->kind == CONVOLUTION ||
            kernels[i]->kind == BY_IDS || multiplies(kernels[i]->body.at, kernels[i]->body.n))
            return true;
    return false;
}

int64_t runs_in_step(const Desc *d)
{
    int64_t n = 0;
    for (int i = 0; i < d->params.n; i++) {
        const Param *p = d->params.at[i];
        n += lathe_runs(p->shape.rank, p->loops, p->shape.dim, p->stride);
    }
    return n;
}

/* The most bytes that one derivative of attention takes, if cuDNN may compute it (runtime/cuda/attention_choice.cuh).
 */
static int64_t attention_bytes(Kernel *const *kernels, int n)
{
    int64_t most = 0;
    for (int i = 0; i < n; i++) {
        const Node *node = kernels[i]->node;
        most = max64(most, attention_bytes(kernels[i]->body.at, kernels[i]->body.n));
        if (kernels[i]->kind != ATTENTION || node->op != OP_attention_back || !is_stored(node->dtype)) continue;
        Attention a = attention_of(node);
        if (a.lengths || a.q_segments || a.q_turns || a.window || a.flags & (DROPOUT | SOFT_CAP | SCORE_BIAS)) continue;
        int nb = a.q->shape.rank - 3;
        const int64_t *q = a.q->shape.dim, *k = a.k->shape.dim;
        int64_t samples = elements(a.q->shape) / (q[nb] * q[nb + 1] * q[nb + 2]);
        most = max64(most, lathe_attention_bytes(samples, q[nb + 1], k[nb + 1], q[nb], k[nb], q[nb + 2],
                                                 a.v->shape.dim[nb + 2]));
    }
    return most;
}

/* Memory in which products pack, or that a device's libraries take. They use it one after another. It is larger than
 * products alone need where there is attention too. */
static void plan_products(Plan *plan, const Program *p, bool device)
{
    if (!device) {
        plan->blas = LATHE_PLANNED_THREADS * LATHE_ROOM_BYTES;
        return;
    }
    int64_t attention = attention_bytes(p->kernels.at, p->kernels.n), bytes = LATHE_GPU_WORKSPACE;
    attention = attention < LATHE_ATTENTION_WORKSPACE ? attention : LATHE_ATTENTION_WORKSPACE;
    if (attention) bytes = max64(bytes, round_up(attention, LATHE_GPU_ALIGN)) + LATHE_GPU_ALIGN;
    plan->workspace = max64(plan->workspace, bytes);
}

/* Gradients and work are the device's alone, and so is where inputs of steps arrive. */
static void plan_device(Plan *plan, const Module *m)
{
    int64_t inputs = 0, ahead = 0;
    for (int i = 0; i < m->programs.n; i++) {
        const Program *p = m->programs.at[i];
        int64_t bytes = home_bytes(p, INPUTS);
        inputs = max64(inputs, bytes);
        if (entry_of(p->graph)->step) ahead = lathe_ahead_bytes(bytes);
    }
    plan->image = plan->parameters + plan->teacher + plan->optimizer + plan->states + plan->generation + plan->step +
                  plan->inputs + plan->outputs;
    plan->pinned = lathe_pinned_bytes(lathe_staged_bytes(inputs));
    plan->inputs += ahead;
    plan->total += ahead;
    plan->lower_bound += ahead;
}

/* Before any bytes are added up: all that the plan may hold, were nothing shared, is far from the end of 64 bits. */
static void check_plan_bytes(const Module *m)
{
    double bytes = 0;
    for (int i = 0; i < m->programs.n; i++)
        for (int k = 0; k < m->programs.at[i]->buffers.n; k++) bytes += (double)m->programs.at[i]->buffers.at[k]->bytes;
    for (int i = 0; i < m->desc->params.n; i++) bytes += 4.0 * 8 * (double)elements(m->desc->params.at[i]->shape);
    const Desc *teacher = m->desc->teacher;
    for (int i = 0; teacher && i < teacher->params.n; i++) bytes += 8 * (double)elements(teacher->params.at[i]->shape);
    for (int i = 0; i < m->desc->states.n; i++) bytes += 2.0 * 8 * (double)elements(m->desc->states.at[i].shape);
    if (bytes > 0x1p60)
        err((Where){.file = m->desc->file},
            "the values of this description would take %.3g bytes, and 2^60 are the most", bytes);
}

/* The host's loops count in int; a GPU's threads in 64 bits where they have to. */
static void check_counts(Kernel *const *kernels, int n, int64_t bytes)
{
    for (int i = 0; i < n; i++) {
        const Kernel *k = kernels[i];
        int64_t most = k->rows;
        for (int a = 0; a < k->space.rank; a++) most = max64(most, k->space.dim[a]);
        if (most > INT32_MAX)
            err(k->where,
                "this runs over %lld elements of one axis, and 2147483647 are the most (the plan has %.1f GB)\n"
                "  make the batch or the sequence smaller; accumulate adds up several batches",
                (long long)most, (double)bytes * 1e-9);
        check_counts(k->body.at, k->body.n, bytes);
    }
}

static int64_t bytes_of_moments(const Plan *plan, const Desc *d)
{
    const int moments = lathe_moments(&d->recipe);
    const int64_t real = dtype_bytes(precision_of(d->options).real);
    Lathe_coded coded = {0};
    if (d->recipe.bits != 8) return moments * plan->flat.moments * real;
    for (int i = 0; i < d->params.n; i++) {
        const Param *p = d->params.at[i];
        if (p->frozen || p->directed) continue;
        lathe_add_coded(&coded, lathe_runs_of(p->shape.rank, p->loops, p->shape.dim, p->stride));
    }
    return lathe_coded_bytes(&coded, moments, real);
}

/* What all entries share. */
static void plan_shared(Plan *plan, const Desc *d)
{
    const Precision precision = precision_of(d->options);
    add_parameters(plan, d);
    plan->gradients = plan->flat.trained * dtype_bytes(precision.real);
    plan->optimizer = bytes_of_moments(plan, d);
    if (lathe_averages(&d->recipe)) plan->mean = plan->gradients;
    plan->optimizer += plan->mean;
    if (streams(d)) plan->data = lathe_stream_bytes(&d->recipe, d->seq, d->source_seq, LATHE_PLANNED_READERS);
    if (d->options->target->device)
        plan->step = max64(1, d->turns.n) * lathe_step_bytes(plan->flat.trained, 0, runs_in_step(d), 1);
    if (d->options->target->device && d->recipe.bits == 8) plan->step += lathe_coded_step_bytes(runs_in_step(d));
    plan->states = state_bytes(d);
    plan->directed = bytes_of_role(d, LATHE_MOMENT, false);
    plan->slots = bytes_of_role(d, LATHE_SLOT_STATE, false);
    plan->generation = generation_bytes(d);
}

/* Those of direction lie behind those of train, which may serve again (call_behind() of the runtime). */
static int64_t inputs_in_call(const Module *m, const Program *p)
{
    int64_t in = home_bytes(p, INPUTS);
    for (int i = 0; p->graph->entry == ENTRY_direction && i < m->programs.n; i++) {
        const Program *q = m->programs.at[i];
        const bool before = q->graph->entry == ENTRY_train && !q->graph->grown && is_of_turn(q->graph, p->graph->turn);
        if (before) in += round_up(home_bytes(q, INPUTS), 64);
    }
    return in;
}

/* Entries run one at a time, so the plan has the arena, inputs and outputs of the one that needs most. */
static void plan_program(Module *m, Program *p, int64_t *largest, int64_t *bound)
{
    Plan *plan = &m->plan;
    pack(p, !without(m->desc, PASS_plan));
    if (multiplies(p->kernels.at, p->kernels.n)) plan_products(plan, p, m->desc->options->target->device);
    if (!in_a_run(p)) return;
    int64_t in = inputs_in_call(m, p), out = home_bytes(p, OUTPUTS);
    if (p->work_bytes + in + out > *largest) {
        *largest = p->work_bytes + in + out;
        plan->inputs = in;
        plan->outputs = out;
        plan->work = p->work_bytes;
    }
    *bound = max64(*bound, p->lower_bound + in + out);
    if (entry_of(p->graph)->step && !p->graph->grown)
        for (int k = 0; k < p->kernels.n; k++) m->flops_per_step += p->kernels.at[k]->flops;
}

void pass_plan(Module *m)
{
    Plan *plan = &m->plan;
    const bool device = m->desc->options->target->device;
    int64_t largest = 0, bound = 0;
    *plan = (Plan){.ranks = 1};
    check_plan_bytes(m);
    in_place_where_it_pays(m);
    plan_shared(plan, m->desc);
    for (int i = 0; i < m->programs.n; i++) plan_program(m, m->programs.at[i], &largest, &bound);
    int64_t persistent = plan->parameters + plan->teacher + plan->gradients + plan->optimizer + plan->states;
    int64_t beside = plan->blas + plan->generation + plan->step + plan->workspace;
    if (!device) beside += plan->data;
    plan->total = persistent + largest + beside;
    plan->lower_bound = persistent + bound + beside;
    if (device) plan_device(plan, m);
    for (int i = 0; !device && i < m->programs.n; i++)
        check_counts(m->programs.at[i]->kernels.at, m->programs.at[i]->kernels.n, plan->total);
}
