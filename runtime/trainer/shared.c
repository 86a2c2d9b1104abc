/* shared.c: a step that several ranks on processors take together (ZeRO-1, Rajbhandari et al. 2020).
 *
 * Each rank computes the gradients of its own rows.  Once the entry has reported all elements of a bucket as done,
 * every rank sends each other rank that one's part, and adds up its own (ranks/sums.h); the backward pass goes on
 * meanwhile. Then each rank has the sums of its elements.  Ranks tell each other their losses and sums of squares, so
 * all know the norm; each updates its elements and sends them to the others.  Means over ranks are means over all rows,
 * since every rank has as many and counts are those of all ranks (front/objective.c). */
#include "trainer/shared.h"
#include "base/words.h"
#include "lathe_rt.h"
#include "model/tables.h"
#include "ranks/courier.h"
#include "ranks/sums.h"
#include "step/average.h"
#include "trainer/local_steps.h"
#include "trainer/narrow.h"
#include "trainer/parts_save.h"
#include "trainer/ranks.h"
#include "trainer/returns.h"
#include "trainer/shards.h"
#include "trainer/told.h"
#include "trainer/travels.h"
#include "trainer/trial.h"
#include "trainer/unsent.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BEGUN = -1 };
typedef enum Number { /* of a rank, in a step; the first ones also of a meeting */
                      NUMBER_SIGNAL,
                      NUMBER_TOLD,
                      NUMBER_LOSS = NUMBER_TOLD + NUMBERS_TOLD,
                      NUMBER_SQUARES,
                      NUMBER_PARTS
} Number;
static_assert(NUMBER_PARTS + LATHE_LOSSES <= LATHE_RANK_NUMBERS, "room for each");

static struct Shared {
    const Carrier *c;
    Lathe_deal deal;
    Lathe_dtype real;
    int64_t element, weight; /* bytes of a gradient, of a parameter */
    int64_t sent;            /* of a gradient as it is sent */
    bool narrow;             /* as bf16 (trainer/unsent.c) */
    Piece *piece; /* [ranks], as the next: of an exchange; of sums, here and by the courier; numbers, one number */
    void **x, **parts;
    double **row, *column;
    char *arriving, *counts; /* [LATHE_BUCKETS_UNDER_WAY][ranks - 1][part]; [ranks][LATHE_COUNTS_BYTES] */
    double *numbers;         /* those sent, those that arrived */
    void *moments;           /* of this rank: its mean of the weights, then each moment */
    int64_t room, mean_room; /* elements of a moment, of the mean */
    /* of the step: */
    char *grads;
    int64_t left[LATHE_MOST_DEALT], exchange[LATHE_MOST_DEALT]; /* elements to come, or BEGUN */
    int bucket[LATHE_MOST_DEALT], begun;                        /* those begun, in this order */
    Travel *travel[LATHE_MOST_DEALT];                           /* of these */
    int signal;
} shared;

static Lathe_part part_of(int k, int rank) { return lathe_dealt_to(&shared.deal, k, rank, shared.deal.ranks); }
static Lathe_part own_part(int k) { return part_of(k, shared.c->rank); }
static Lathe_part whole_bucket(int k) { return lathe_dealt_to(&shared.deal, k, 0, 1); }

/* ------------------------------------------------------------------ opening */

/* LATHE_RANK_BUCKET: bytes, for tests. */
Lathe_deal deal_of(const Trainer *t)
{
    const char *wish = getenv("LATHE_RANK_BUCKET");
    const int64_t bytes = wish && atoll(wish) > 0 ? atoll(wish) : LATHE_DEALT_BYTES;
    return lathe_deal(lathe_trained_elements(t->model), lathe_moment_elements(t->model), dtype_size(t->model->real),
                      bytes, gpus_of(t));
}

int64_t shared_bytes(const Trainer *t)
{
    const Lathe_deal d = deal_of(t);
    return gpus_of(t) > 1 && !t->model->device ? lathe_rank_bytes(&d, &t->recipe, dtype_size(t->model->real)) : 0;
}

void wait_for_ranks_until(int64_t number)
{
    const double begin = seconds_now();
    must_go_on(wait_for_exchange(number));
    note_wait(begin);
}

static void exchange_in_step(void)
{
    const double begin = seconds_now();
    must_go_on(exchange(shared.piece));
    note_wait(begin);
}

static void gradients_done_here(const void *first, int64_t bytes);
static void over_ranks_here(void *to, const void *from, int64_t bytes);

void open_messages(void)
{
    struct Shared *s = &shared;
    s->c = carrier_in_use();
    const size_t ranks = (size_t)s->c->ranks;
    s->piece = must_alloc(ranks * sizeof *s->piece);
    s->x = must_alloc(ranks * sizeof *s->x);
    s->parts = must_alloc(ranks * sizeof *s->parts);
    s->row = must_alloc(ranks * sizeof *s->row);
    s->column = must_alloc(ranks * sizeof *s->column);
}

void open_shared(const Trainer *t, const Memory *m, const Optimizer *o)
{
    struct Shared *s = &shared;
    s->deal = deal_of(t);
    s->real = t->model->real;
    s->element = dtype_size(s->real);
    s->weight = dtype_size(lathe_weights(t->model));
    s->sent = sent_size(t);
    s->narrow = sends_narrow(t);
    char *beside = (char *)m->shared + lathe_shared_bytes(&s->deal, s->sent);
    open_unsent(t, beside);
    open_local_steps(t, beside + lathe_narrow_bytes(&s->deal, &t->recipe, s->element));
    s->arriving = m->shared;
    s->counts = s->arriving + LATHE_BUCKETS_UNDER_WAY * lathe_arriving(&s->deal) * s->sent;
    s->numbers = (double *)(void *)(s->counts + s->c->ranks * LATHE_COUNTS_BYTES);
    s->moments = m->moments;
    s->room = lathe_dealt_room(&s->deal, s->deal.moments);
    s->mean_room = o->average ? lathe_dealt_room(&s->deal, s->deal.n) : 0;
    if (!shards_parameters(t)) open_returns(&s->deal, m->params, s->weight);
    rt_gradients_done = gradients_done_here;
    rt_over_ranks = over_ranks_here;
}

/* As integers, since it may lie before the array. */
static void *elements_on(char *at, int64_t n) { return (void *)((uintptr_t)at + (uintptr_t)(n * shared.element)); }

/* ------------------------------------------------------------------ counts */

/* Of the rows of all ranks: the divisor of a loss.  Outside of a step, a rank runs entries alone. */
static void over_ranks_here(void *to, const void *from, int64_t bytes)
{
    if (!shared.grads) {
        memcpy(to, from, (size_t)bytes);
        return;
    }
    void **x = shared.x;
    for (int64_t at = 0, n; at < bytes; at += n) {
        n = bytes - at < LATHE_COUNTS_BYTES ? bytes - at : LATHE_COUNTS_BYTES;
        for (int k = 0; k < shared.c->ranks; k++) {
            x[k] = shared.counts + k * LATHE_COUNTS_BYTES;
            shared.piece[k] = (Piece){(const char *)from + at, x[k], n, n};
        }
        memcpy(x[shared.c->rank], (const char *)from + at, (size_t)n);
        exchange_in_step();
        add_over_ranks(shared.real, (char *)to + at, x, shared.c->ranks, n / shared.element, 1);
    }
}

/* ------------------------------------------------------------------ gradients */

static char *arriving(int place, int rank, int64_t count)
{
    const int64_t n = lathe_arriving(&shared.deal) * shared.sent;
    const int other = rank < shared.c->rank ? rank : rank - 1;
    return shared.arriving + place % LATHE_BUCKETS_UNDER_WAY * n + other * count * shared.sent;
}

/* Parts of others are sent from where they lie, and stand there again as reals once they are. */
static void narrow_bucket(int k, bool back)
{
    for (int r = 0; r < shared.c->ranks; r++) {
        const Lathe_part p = part_of(k, r);
        if (!back) round_part(shared.grads, &p, r != shared.c->rank);
        else if (r != shared.c->rank) widen_reals(shared.real, shared.grads + p.first * shared.element, p.count);
    }
}

/* By the courier: the parts of all ranks have arrived. */
static void add_bucket(void *with)
{
    void **x = shared.parts;
    const int place = (int)((int *)with - shared.bucket);
    const Lathe_part own = own_part(shared.bucket[place]);
    char *here = shared.grads + own.first * shared.element;
    char *to = elements_on(gradients_for(shared.bucket[place], shared.grads), own.first);
    for (int k = 0; k < shared.c->ranks; k++) x[k] = k == shared.c->rank ? here : arriving(place, k, own.count);
    if (shared.narrow) {
        narrow_bucket(shared.bucket[place], true);
        add_narrow(shared.real, to, x, shared.c->rank, shared.c->ranks, own.count, 1.0 / shared.c->ranks,
                   narrow_room());
    } else if (own.count) add_over_ranks(shared.real, to, x, shared.c->ranks, own.count, 1.0 / shared.c->ranks);
    end_travel(shared.travel[place]);
}

static void begin_bucket(int k)
{
    const int place = shared.begun++, before = place - LATHE_BUCKETS_UNDER_WAY;
    const Lathe_part own = own_part(k);
    if (shared.narrow) narrow_bucket(k, false);
    for (int r = 0; r < shared.c->ranks; r++) {
        const Lathe_part p = part_of(k, r);
        shared.piece[r] = (Piece){shared.grads + p.first * shared.element, arriving(place, r, own.count),
                                  p.count * shared.sent, own.count * shared.sent};
    }
    shared.left[k] = BEGUN;
    shared.bucket[place] = k;
    shared.travel[place] = begin_travel(TRAVEL_GRADIENTS, (whole_bucket(k).count - own.count) * shared.sent);
    shared.exchange[place] =
        begin_exchange(shared.piece, before < 0 ? 0 : shared.exchange[before], add_bucket, &shared.bucket[place]);
    note_gradients_sent(k, shared.exchange[place]);
}

static void gradients_done_here(const void *first, int64_t bytes)
{
    if (!shared.grads) return;
    const int64_t from = ((const char *)first - shared.grads) / shared.element;
    const int64_t to = lathe_dealt_piece_end(&shared.deal, from + bytes / shared.element);
    for (int k = 0; k < shared.deal.buckets; k++) {
        const Lathe_part p = whole_bucket(k);
        const int64_t begin = from > p.first ? from : p.first, end = to < p.first + p.count ? to : p.first + p.count;
        if (begin >= end) continue;
        bug_if(shared.left[k] < end - begin);
        shared.left[k] -= end - begin;
        if (shared.left[k] == 0) begin_bucket(k);
    }
    note_gradients_done(first, bytes);
}

static void begin_adding(void *grads)
{
    shared.grads = grads;
    shared.begun = 0;
    begin_travels();
    for (int k = 0; k < shared.deal.buckets; k++) shared.left[k] = whole_bucket(k).count;
}

/* ------------------------------------------------------------------ losses and the norm */

static int64_t chunks_of_rank(int rank)
{
    int64_t n = 0;
    for (int k = 0; k < shared.deal.buckets; k++) n += lathe_step_chunks(part_of(k, rank).count);
    return n;
}

/* A rank's sums of squares, chunk by chunk, between the optimizer's table and a row of numbers. */
static void copy_squares(const Optimizer *o, int rank, double *row, bool back)
{
    for (int k = 0; k < shared.deal.buckets; k++) {
        const Lathe_part p = part_of(k, rank);
        const int64_t n = lathe_step_chunks(p.count);
        double *table = o->partial + p.first / LATHE_STEP_CHUNK;
        if (n) memcpy(back ? table : row, back ? row : table, (size_t)n * sizeof *row);
        row += n;
    }
}

static double mean_of(int number)
{
    for (int k = 0; k < shared.c->ranks; k++) shared.column[k] = shared.row[k][number];
    return sum_over_ranks(shared.real, shared.column, shared.c->ranks, 1.0 / shared.c->ranks);
}

static void put_own(double *own)
{
    own[NUMBER_SIGNAL] = interrupted;
    put_told(own + NUMBER_TOLD);
}

static void take_others(int rank, const double *numbers)
{
    if (numbers[NUMBER_SIGNAL] != 0 && !shared.signal) shared.signal = (int)numbers[NUMBER_SIGNAL];
    take_told(rank, numbers + NUMBER_TOLD);
}

static void share_numbers(const Optimizer *o, Turn_result *r)
{
    const int ranks = shared.c->ranks, own = shared.c->rank;
    double **row = shared.row, *at = shared.numbers + LATHE_RANK_NUMBERS + chunks_of_rank(own), *out = shared.numbers;
    put_own(out);
    out[NUMBER_LOSS] = r->loss;
    out[NUMBER_SQUARES] = r->part_squares;
    for (int k = 0; k < r->parts; k++) out[NUMBER_PARTS + k] = r->part[k];
    copy_squares(o, own, out + LATHE_RANK_NUMBERS, false);
    for (int k = 0; k < ranks; k++) {
        const int64_t n = LATHE_RANK_NUMBERS + chunks_of_rank(k), bytes = (int64_t)sizeof *at;
        row[k] = k == own ? out : at;
        shared.piece[k] = (Piece){out, at, (LATHE_RANK_NUMBERS + chunks_of_rank(own)) * bytes, n * bytes};
        if (k != own) at += n;
    }
    exchange_in_step();
    for (int k = 0; k < ranks; k++) {
        copy_squares(o, k, row[k] + LATHE_RANK_NUMBERS, true);
        take_others(k, row[k]);
    }
    r->loss = mean_of(NUMBER_LOSS);
    r->part_squares = mean_of(NUMBER_SQUARES);
    for (int k = 0; k < r->parts; k++) r->part[k] = mean_of(NUMBER_PARTS + k);
}

int signal_of_ranks(void) { return shared.signal ? shared.signal : asked_to_end(); }

void share_at_meeting(void)
{
    const int64_t each = NUMBER_LOSS;
    double *all = shared.numbers, *own = all + shared.c->rank * each;
    const int64_t bytes = each * (int64_t)sizeof *all;
    for (int k = 0; k < shared.c->ranks; k++) shared.piece[k] = (Piece){own, all + k * each, bytes, bytes};
    put_own(own);
    must_go_on(exchange(shared.piece));
    for (int k = 0; k < shared.c->ranks; k++) take_others(k, all + k * each);
}

/* Every rank's elements of a bucket of an array to all others. */
static int64_t share_bucket(Travel_kind kind, int k, char *array, int64_t element)
{
    const Lathe_part own = own_part(k);
    for (int r = 0; r < shared.c->ranks; r++) {
        const Lathe_part p = part_of(k, r);
        shared.piece[r] =
            (Piece){array + own.first * element, array + p.first * element, own.count * element, p.count * element};
    }
    const int64_t bytes = own.count * element * (shared.c->ranks - 1);
    return begin_exchange(shared.piece, 0, end_travel, begin_travel(kind, bytes));
}

/* Those that have elements from `first` on. */
static void share_buckets(Travel_kind kind, char *array, int64_t element, int64_t first)
{
    int64_t last = 0;
    for (int k = 0; k < shared.deal.buckets; k++)
        if (whole_bucket(k).first + whole_bucket(k).count > first) last = share_bucket(kind, k, array, element);
    wait_for_ranks_until(last);
}

/* Parameters that `change` changes, bucket by bucket; they are on their way when it returns. */
static void return_buckets(void *params, void (*change)(int k, const void *with), const void *with)
{
    for (int i = 0; i < shared.deal.buckets; i++) {
        const int k = bucket_to_return(i);
        change(k, with);
        note_return(k, share_bucket(TRAVEL_PARAMETERS, k, params, shared.weight));
    }
}

void share_parts(void *array, int64_t element) { share_buckets(TRAVEL_PARAMETERS, array, element, 0); }

/* First what has a room already: it makes room for what no kernel touches. */
static void add_rest(void)
{
    for (int touched = 1; touched >= 0; touched--)
        for (int k = 0; k < shared.deal.buckets; k++) {
            if (shared.left[k] == BEGUN || (touched && !are_gradients_ready(k))) continue;
            make_gradients_ready(k);
            begin_bucket(k);
        }
    if (shared.begun) wait_for_ranks_until(shared.exchange[shared.begun - 1]);
    release_gradients();
}

void mean_over_ranks(void *array)
{
    begin_adding(array);
    add_rest();
    shared.grads = NULL;
}

static void end_adding(const Turn *u, const Lathe_call *call, Turn_result *r)
{
    const Optimizer *o = &u->optimizer;
    add_rest();
    for (int k = 0; k < shared.deal.buckets; k++) {
        const Lathe_part own = own_part(k);
        void *grads = gradients_for(k, call->grads);
        drop_frozen_range(o, grads, own.first, own.first + own.count);
        if (own.count) squares_of_range(o, grads, own.first, own.first + own.count);
    }
    share_numbers(o, r);
    r->norm = norm_of_squares(o) / r->unit;
    if (shared.deal.moments < shared.deal.n)
        share_buckets(TRAVEL_GRADIENTS, call->grads, shared.element, shared.deal.moments);
    shared.grads = NULL;
}

void compute_shared(const Turn *u, const Lathe_call *call, int64_t step, Turn_result *r)
{
    rank_does(RANK_COMPUTES, step);
    begin_adding(call->grads);
    await_unsaid();
    compute_gradients(u, call, r);
    rank_does(RANK_ADDS, step);
    end_adding(u, call, r);
    rank_does(RANK_UPDATES, step);
}

/* ------------------------------------------------------------------ the update */

char *own_mean(void) { return shared.moments; }
char *own_moment(int i) { return (char *)shared.moments + (shared.mean_room + i * shared.room) * shared.element; }

/* The optimizer with the moments of this rank in the places where formulas for bucket k look for them. */
static Optimizer optimizer_of_bucket(const Optimizer *o, int k)
{
    Optimizer own = *o;
    const Lathe_part p = own_part(k);
    const int rank = shared.c->rank;
    const int64_t mean = lathe_dealt_before(&shared.deal, k, rank, shared.deal.n) - p.first;
    const int64_t moment = lathe_dealt_before(&shared.deal, k, rank, shared.deal.moments) - p.first;
    if (own.average) own.average = elements_on(own_mean(), mean);
    for (int i = 0; i < own.moments; i++) own.moment[i] = elements_on(own_moment(i), moment);
    return own;
}

typedef struct Update { /* of a step */
    const Optimizer *o;
    void *params;
    const void *grads;
    Rates rates;
} Update;

static void update_bucket(int k, const void *with)
{
    const Update *u = with;
    const Lathe_part p = own_part(k);
    const Optimizer own = optimizer_of_bucket(u->o, k);
    if (p.count)
        optimizer_range(&own, parameters_for(k, u->params), gradients_for(k, u->grads), p.first, p.first + p.count,
                        &u->rates);
}

void update_shared(Optimizer *o, void *params, const void *grads, int64_t step, const Pace *pace)
{
    const Update u = {o, params, grads, rates_of(o, step, pace)};
    wait_until_parts_written();
    for (int k = 0; o->segments && own_parameters() && k < shared.deal.buckets; k++) update_bucket(k, &u);
    if (o->segments && !own_parameters()) return_buckets(params, update_bucket, &u);
}

typedef struct Mean { /* of the weights, to be shown */
    const Optimizer *o;
    void *params;
} Mean;

static void show_bucket(int k, const void *with)
{
    const Mean *m = with;
    const Lathe_part p = own_part(k);
    const Optimizer own = optimizer_of_bucket(m->o, k);
    show_average_range(&own, m->params, p.first, p.first + p.count);
}

void begin_shared_average(const Optimizer *o, void *params)
{
    for (int k = 0; o->average && k < shared.deal.buckets; k++) {
        const Lathe_part p = own_part(k);
        const Optimizer own = optimizer_of_bucket(o, k);
        begin_average_range(&own, params, p.first, p.first + p.count);
    }
}

void show_shared_average(const Optimizer *o, void *params, void *aside)
{
    const Mean m = {o, params};
    if (!o->average) return;
    wait_until_parts_written();
    keep_trained(o, params, aside);
    return_buckets(params, show_bucket, &m);
    await_returns();
}

char *room_of_messages(int64_t *bytes)
{
    *bytes = LATHE_BUCKETS_UNDER_WAY * lathe_arriving(&shared.deal) * shared.sent;
    return shared.arriving;
}
