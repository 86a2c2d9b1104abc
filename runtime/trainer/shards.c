/* shards.c: parameters and gradients of which each rank keeps its own elements (ZeRO-3, Rajbhandari et al. 2020).
 * On GPUs: cuda/parts.cu.
 *
 * Entries see whole arrays.  Their addresses are reserved; a bucket is mapped to one of a few rooms while an entry
 * needs it (parameters) or while it is made (gradients), and touching any other is a fault of ours that ends the
 * program. Needed buckets are gathered from all ranks, the next ones ahead of time; the entry's table says which those
 * are (interface/held.h).  Gradients leave as soon as they are done, and their sums stay with the rank that owns them.
 *
 * All ranks run the same entries, and what is fetched depends on what those say alone, never on time: so exchanges are
 * the same on all ranks. */
#define _GNU_SOURCE /* memfd_create */
#include "trainer/shards.h"
#include "base/words.h"
#include "lathe_rt.h"
#include "model/place.h"
#include "model/tables.h"
#include "ranks/courier.h"
#include "step/entry.h"
#include "trainer/gathers.h"
#include "trainer/gpu_parts.h"
#include "trainer/ranks.h"
#include "trainer/shared.h"
#include "trainer/travels.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { NOWHERE = -1 };

typedef struct Array {
    char *region, *own;      /* as entries see it; this rank's elements */
    int64_t element, bucket; /* bytes */
    int64_t end;             /* bytes: up to here of what is mapped by buckets; frozen parameters lie behind */
    int file, rooms;
    Lathe_held held;
    int room_of[LATHE_MOST_DEALT], *bucket_in; /* [rooms]; NOWHERE */
    int64_t exchange[LATHE_MOST_DEALT];        /* that it takes part in, or 0 */
} Array;

static struct Shards {
    Lathe_deal deal;
    int rank;
    Array parameters, gradients;
    const Lathe_entry *entry;
    int at;       /* of what the entry says, what it has said last; -1: nothing */
    Piece *piece; /* [ranks] */
} shards;

char *own_parameters(void) { return shards.parameters.own; }
char *own_gradients(void) { return shards.gradients.own; }

/* ------------------------------------------------------------------ sizes */

static bool says_anything(const Lathe_model *m)
{
    bool says = false;
    for (int i = 0; i < m->entries; i++) says |= m->entry[i].sayings > 0;
    return says;
}

bool shards_parameters(const Trainer *t) { return gpus_of(t) > 1 && says_anything(t->model); }

static int most_sayings(const Lathe_model *m)
{
    int most = 0;
    for (int i = 0; i < m->entries; i++)
        if (m->entry[i].sayings > most) most = m->entry[i].sayings;
    return most;
}

static int rooms_for(const Trainer *t, bool gradients)
{
    const Lathe_model *m = t->model;
    const Lathe_deal d = deal_of(t);
    Lathe_said *room = must_alloc((size_t)most_sayings(m) * sizeof *room);
    int most = 0;
    for (const Lathe_entry *e = m->entry; e < m->entry + m->entries; e++) {
        const int n =
            gradients ? lathe_most_begun(e->said, e->sayings, &d) : lathe_most_needed(e->said, e->sayings, &d, room);
        if (n > most) most = n;
    }
    free(room);
    return lathe_rooms_for(&d, most);
}

static int64_t element_of(const Trainer *t, bool gradients)
{
    return dtype_size(gradients ? t->model->real : lathe_weights(t->model));
}

int64_t bytes_of_own(const Trainer *t, bool gradients)
{
    if (t->model->device) return bytes_kept_on_gpu(t, gradients);
    const Lathe_deal d = deal_of(t);
    return lathe_own_bytes(&d, element_of(t, gradients));
}

static int64_t bytes_of_dealt(const Trainer *t) { return lathe_trained_elements(t->model) * element_of(t, false); }

int64_t bytes_of_frozen(const Trainer *t)
{
    return t->model->frozen_elements ? planned(t->model, CATEGORY_parameters) - bytes_of_dealt(t) : 0;
}

int64_t bytes_of_rooms(const Trainer *t)
{
    if (t->model->device) return bytes_of_gpu_rooms(t);
    const Lathe_deal d = deal_of(t);
    int64_t bytes = bytes_of_frozen(t);
    for (int gradients = 0; gradients < 2; gradients++)
        bytes += rooms_for(t, gradients) * lathe_bucket_bytes(&d, element_of(t, gradients));
    return bytes;
}

void check_shards_of(const Trainer *t)
{
    const Lathe_recipe *r = &t->recipe;
    const char *why = NULL;
    if (!shards_parameters(t)) return;
    if (lathe_averages(r)) why = "a mean of the weights (ema, schedule_free)";
    if (r->local_steps) why = "local_steps";
    if (r->send_gradients == LATHE_SEND_BF16) why = "send_gradients=bf16";
    if (t->model->device && r->eval_generate) why = "eval_generate on GPUs";
    if (why)
        fail(EXIT_USAGE, NULL,
             "this trainer was built with --shard-parameters, which does not go with %s; leave one out", why);
    const int64_t whole = weight_bytes(t->model) + flat_bytes(t->model);
    const int64_t parts = bytes_of_own(t, false) + bytes_of_own(t, true) + bytes_of_rooms(t);
    if (parts >= whole)
        note("--shard-parameters: parts of parameters and gradients, and room for what is needed at once, take %s in "
             "each rank, and whole ones %s: leave it out",
             bytes_text(parts), bytes_text(whole));
    if (!t->model->device && deal_of(t).each * LATHE_STEP_CHUNK * element_of(t, false) % sysconf(_SC_PAGESIZE))
        fail(EXIT_ERROR, NULL, "--shard-parameters: pages of memory are larger here (%ld bytes) than it can do with",
             sysconf(_SC_PAGESIZE));
}

/* ------------------------------------------------------------------ rooms */

static _Noreturn void refuse_memory(const char *what)
{
    fail(EXIT_ERROR, NULL, "--shard-parameters: the system refused %s: %s; end other programs, or take more ranks",
         what, error_text(errno));
}

static void hide(const Array *a, char *at, int64_t bytes)
{
    void *to =
        mmap(at, (size_t)bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (at ? MAP_FIXED : 0), -1, 0);
    if (to == MAP_FAILED) refuse_memory("addresses");
    if (!at) ((Array *)(uintptr_t)a)->region = to;
}

static char *place_of_bucket(const Array *a, int k) { return a->region + k * a->bucket; }

/* Of a bucket's addresses; 0: all of it lies in a page with frozen parameters. */
static size_t bytes_to_map(const Array *a, int k)
{
    const int64_t left = a->end - k * a->bucket;
    return (size_t)(left < a->bucket ? left : a->bucket);
}

static void leave_room(Array *a, int k)
{
    if (bytes_to_map(a, k)) hide(a, place_of_bucket(a, k), (int64_t)bytes_to_map(a, k));
    a->bucket_in[a->room_of[k]] = NOWHERE;
    a->room_of[k] = NOWHERE;
}

/* When no room is free: of parameters those that were fetched ahead, of gradients those that were done first. */
static int bucket_that_leaves(const Array *a)
{
    int first = NOWHERE;
    for (int k = 0; k < shards.deal.buckets; k++) {
        if (a->room_of[k] == NOWHERE || lathe_holds_bucket(&a->held, &shards.deal, k)) continue;
        if (a == &shards.gradients && !a->exchange[k]) continue;
        if (first == NOWHERE || a->exchange[k] < a->exchange[first]) first = k;
    }
    bug_if(first == NOWHERE);
    return first;
}

static void await_exchange(Array *a, int k)
{
    if (a->exchange[k]) wait_for_ranks_until(a->exchange[k]);
    a->exchange[k] = 0;
}

static int free_room(Array *a)
{
    for (int i = 0; i < a->rooms; i++)
        if (a->bucket_in[i] == NOWHERE) return i;
    const int k = bucket_that_leaves(a), room = a->room_of[k];
    await_exchange(a, k);
    leave_room(a, k);
    return room;
}

static void enter_room(Array *a, int k)
{
    const int room = free_room(a);
    char *at = place_of_bucket(a, k);
    if (bytes_to_map(a, k) && mmap(at, bytes_to_map(a, k), PROT_READ | PROT_WRITE,
                                   MAP_SHARED | MAP_FIXED | MAP_POPULATE, a->file, room * a->bucket) == MAP_FAILED)
        refuse_memory("a room for parameters");
    a->bucket_in[room] = k;
    a->room_of[k] = room;
}

/* They stay, as does the page in which they begin. */
static void open_frozen(const Trainer *t, Array *a)
{
    const int64_t page = sysconf(_SC_PAGESIZE);
    a->end = bytes_of_dealt(t) / page * page;
    if (mmap(a->region + a->end, (size_t)(weight_bytes(t->model) - a->end), PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
        refuse_memory("frozen parameters");
}

static void open_array(const Trainer *t, Array *a, void *own, bool gradients)
{
    const Lathe_deal *d = &shards.deal;
    a->own = own;
    a->element = element_of(t, gradients);
    a->bucket = lathe_bucket_bytes(d, a->element);
    a->rooms = rooms_for(t, gradients);
    a->file = memfd_create(gradients ? "gradients" : "parameters", MFD_CLOEXEC);
    if (a->file < 0) refuse_memory("a file in memory");
    errno = posix_fallocate(a->file, 0, a->rooms * a->bucket); /* now, where it can be refused */
    if (errno) refuse_memory("rooms for parameters");
    a->end = d->buckets * a->bucket;
    hide(a, NULL, a->end > weight_bytes(t->model) ? a->end : weight_bytes(t->model));
    if (!gradients && t->model->frozen_elements) open_frozen(t, a);
    a->held.at = must_alloc((size_t)most_sayings(t->model) * sizeof *a->held.at);
    a->bucket_in = must_alloc((size_t)a->rooms * sizeof *a->bucket_in);
    for (int i = 0; i < a->rooms; i++) a->bucket_in[i] = NOWHERE;
    for (int k = 0; k < d->buckets; k++) a->room_of[k] = NOWHERE;
}

/* ------------------------------------------------------------------ this rank's elements */

static Lathe_part own_of(int k) { return lathe_dealt_to(&shards.deal, k, shards.rank, shards.deal.ranks); }
static int64_t own_before(int k) { return lathe_dealt_before(&shards.deal, k, shards.rank, shards.deal.n); }

/* As integers, since it may lie before the array. */
static void *seen_from(const Array *a, int k)
{
    return (void *)((uintptr_t)a->own + (uintptr_t)((own_before(k) - own_of(k).first) * a->element));
}

void *parameters_for(int k, void *whole) { return shards.parameters.own ? seen_from(&shards.parameters, k) : whole; }

void *gradients_for(int k, const void *whole)
{
    return shards.gradients.own ? seen_from(&shards.gradients, k) : (void *)(uintptr_t)whole;
}

/* ------------------------------------------------------------------ parameters */

static void begin_gathering(int k)
{
    Array *a = &shards.parameters;
    const Lathe_part own = own_of(k);
    const char *from = a->own + own_before(k) * a->element;
    enter_room(a, k);
    memcpy(a->region + own.first * a->element, from, (size_t)(own.count * a->element));
    for (int r = 0; r < shards.deal.ranks; r++) {
        const Lathe_part p = lathe_dealt_to(&shards.deal, k, r, shards.deal.ranks);
        shards.piece[r] = (Piece){from, a->region + p.first * a->element, own.count * a->element, p.count * a->element};
    }
    const int64_t bytes = own.count * a->element * (shards.deal.ranks - 1);
    a->exchange[k] = begin_exchange(shards.piece, 0, end_travel, begin_travel(TRAVEL_PARAMETERS, bytes));
}

/* The next buckets that the entry needs and that are not at hand now, at most LATHE_BUCKETS_AHEAD. */
static int buckets_ahead(int *ahead)
{
    const Lathe_entry *e = shards.entry;
    int n = 0, first, end;
    for (int i = shards.at + 1; i < e->sayings && n < LATHE_BUCKETS_AHEAD; i++) {
        if (e->said[i].what != LATHE_NEEDED) continue;
        lathe_buckets_of(&shards.deal, e->said[i], &first, &end);
        for (int k = first; k < end && n < LATHE_BUCKETS_AHEAD; k++) {
            bool listed = lathe_holds_bucket(&shards.parameters.held, &shards.deal, k);
            for (int j = 0; j < n; j++) listed |= ahead[j] == k;
            if (!listed) ahead[n++] = k;
        }
    }
    return n;
}

static void fetch_ahead(void)
{
    int ahead[LATHE_BUCKETS_AHEAD];
    const int n = buckets_ahead(ahead);
    for (int i = 0; i < n; i++)
        if (shards.parameters.room_of[ahead[i]] == NOWHERE) begin_gathering(ahead[i]);
}

static Lathe_said piece_said(const Array *a, Lathe_saying what, const void *first, int64_t bytes)
{
    return (Lathe_said){what, ((const char *)first - a->region) / a->element, bytes / a->element};
}

/* Where the entry is in its table.  A loop over micro-batches says the same again. */
static void find_said(Lathe_said s)
{
    const Lathe_entry *e = shards.entry;
    int i = shards.at;
    bug_if(!e || !e->sayings);
    for (int n = 0; n < e->sayings; n++) {
        i = (i + 1) % e->sayings;
        if (e->said[i].what == s.what && e->said[i].first == s.first) break;
    }
    bug_if(e->said[i].what != s.what || e->said[i].first != s.first);
    shards.at = i;
}

static void parameters_needed_here(const void *first, int64_t bytes)
{
    Array *a = &shards.parameters;
    const Lathe_said s = piece_said(a, LATHE_NEEDED, first, bytes);
    int begin, end;
    find_said(s);
    lathe_hold(&a->held, s);
    lathe_buckets_of(&shards.deal, s, &begin, &end);
    for (int k = begin; k < end; k++)
        if (a->room_of[k] == NOWHERE) begin_gathering(k);
    fetch_ahead();
    for (int k = begin; k < end; k++) await_exchange(a, k);
}

static bool is_ahead(int k)
{
    int ahead[LATHE_BUCKETS_AHEAD];
    bool is = false;
    for (int n = buckets_ahead(ahead); n > 0; n--) is |= ahead[n - 1] == k;
    return is;
}

static void parameters_dropped_here(const void *first, int64_t bytes)
{
    Array *a = &shards.parameters;
    const Lathe_said s = piece_said(a, LATHE_DROPPED, first, bytes);
    int begin, end;
    find_said(s);
    lathe_let_go(&a->held, s);
    lathe_buckets_of(&shards.deal, s, &begin, &end);
    for (int k = begin; k < end; k++)
        if (a->room_of[k] != NOWHERE && !lathe_holds_bucket(&a->held, &shards.deal, k) && !is_ahead(k))
            leave_room(a, k);
}

/* ------------------------------------------------------------------ gradients */

bool are_gradients_ready(int k) { return !shards.gradients.own || shards.gradients.room_of[k] != NOWHERE; }

void make_gradients_ready(int k)
{
    if (are_gradients_ready(k)) return;
    enter_room(&shards.gradients, k);
    memset(place_of_bucket(&shards.gradients, k), 0, (size_t)shards.gradients.bucket);
}

static void gradients_begun_here(const void *first, int64_t bytes)
{
    const Lathe_said s = piece_said(&shards.gradients, LATHE_BEGUN, first, bytes);
    int begin, end;
    find_said(s);
    lathe_buckets_of(&shards.deal, s, &begin, &end);
    for (int k = begin; k < end; k++) make_gradients_ready(k);
}

void note_gradients_sent(int k, int64_t exchange) { shards.gradients.exchange[k] = exchange; }

void note_gradients_done(const void *first, int64_t bytes)
{
    if (shards.gradients.own) find_said(piece_said(&shards.gradients, LATHE_DONE, first, bytes));
}

void release_gradients(void)
{
    Array *a = &shards.gradients;
    for (int k = 0; a->own && k < shards.deal.buckets; k++) {
        a->exchange[k] = 0;
        if (a->room_of[k] != NOWHERE) leave_room(a, k);
    }
}

/* ------------------------------------------------------------------ opening */

static void entry_begins(const Lathe_entry *e)
{
    const Array *a[] = {&shards.parameters, &shards.gradients};
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < shards.deal.buckets; k++) bug_if(a[i]->room_of[k] != NOWHERE);
    shards.entry = e;
    shards.at = -1;
}

void open_own_arrays(const Trainer *t, Memory *m)
{
    shards.deal = deal_of(t);
    shards.rank = t->rank;
    shards.piece = must_alloc((size_t)gpus_of(t) * sizeof *shards.piece);
    open_array(t, &shards.parameters, m->params, false);
    open_array(t, &shards.gradients, m->grads, true);
    m->params = shards.parameters.region;
    m->grads = shards.gradients.region;
    keep_own_weights(m->params, shards.parameters.own, &(Own_elements){&shards.deal, t->rank, shards.deal.n});
    rt_entry_begins = entry_begins;
    rt_parameters_needed = parameters_needed_here;
    rt_parameters_dropped = parameters_dropped_here;
    rt_gradients_begun = gradients_begun_here;
}
