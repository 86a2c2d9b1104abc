/* memory.c: allocates the one block of memory of a run, laid out by the model's tables.
 *
 *     parameters | teacher | gradients | optimizer | states | generation | step | shared |
 *     inputs outputs work of the entry being called
 *
 * All but the last line lasts for the whole run; the first four are flat arrays; only a device has `step`, only ranks
 * on processors `shared`.  Entries use the last part in turn, so it has the size of the largest entry that a run calls
 * (the command `grad` allocates what its own entry needs).  Every part starts at a multiple of 64 bytes. */
#include "base/machine.h"
#include "base/words.h"
#include "interface/lathe_model.h"
#include "interface/shard.h"
#include "lathe_rt.h"
#include "model/block.h"
#include "model/tables.h"
#include "step/carry.h"
#include "step/coded.h"
#include "step/optim.h"
#include "step/statistics.h"
#include "text/generate.h"
#include "trainer/gpu_parts.h"
#include "trainer/join.h"
#include "trainer/knobs.h"
#include "trainer/local_steps.h"
#include "trainer/memory.h"
#include "trainer/ranks.h"
#include "trainer/shards.h"
#include "trainer/shared.h"
#include "trainer/step.h"
#include "trainer/trainer.h"
#include "trainer/training.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096, BLOCK = 1 << 21 }; /* bytes: of a page; of a huge page, which one thread touches */

/* ------------------------------------------------------------------ sizes */

int64_t shard_bytes(const Trainer *t)
{
    return lathe_shard_elements(lathe_moment_elements(t->model), gpus_of(t)) * dtype_size(t->model->real);
}

int64_t sharded_bytes(const Trainer *t, const Lathe_recipe *r)
{
    const Lathe_model *m = t->model;
    const Lathe_deal d = deal_of(t);
    if (steps_locally(t)) return (int64_t)optimizer_bytes(m, r);
    if (!m->device && gpus_of(t) > 1) return lathe_dealt_optimizer(&d, r) * dtype_size(m->real);
    return lathe_sharded_elements(r, lathe_moment_elements(m), m->directed_elements, gpus_of(t)) * dtype_size(m->real);
}

static bool has_one(const Entry *entries, Entry e)
{
    while (*entries != NO_ENTRY && *entries != e) entries++;
    return *entries == e;
}

/* Each lies behind the inputs of its train. */
static int64_t largest_direction(const Lathe_model *m)
{
    int64_t most = 0;
    for (const Lathe_entry *e = m->entry; e < m->entry + m->entries; e++) {
        const Lathe_entry *direction = entry_beside(m, ENTRY_direction, e);
        if (strcmp(e->name, "train") != 0 || !direction) continue;
        int64_t bytes = align64(e->in_bytes) + call_bytes(direction);
        if (bytes > most) most = bytes;
    }
    return most;
}

static int64_t largest_call(const Lathe_model *m, const Entry *entries)
{
    int64_t most = has_one(entries, ENTRY_direction) ? largest_direction(m) : 0;
    for (; *entries != NO_ENTRY; entries++) {
        const Lathe_entry *first = find_entry(m, *entries);
        for (int i = 0; first && i < m->entries; i++) /* those of all turns */
            if (strcmp(m->entry[i].name, first->name) == 0 && call_bytes(&m->entry[i]) > most)
                most = call_bytes(&m->entry[i]);
    }
    return most;
}

/* Bytes of this machine's memory that the plan takes.  With a device, only the pages of the block that the host touches
 * count. */
static int64_t whole_plan(const Lathe_model *m)
{
    int64_t bytes = m->device ? 0 : m->planned_bytes;
    for (int i = m->categories - m->host_categories; i < m->categories; i++) bytes += m->plan[i].bytes;
    return bytes;
}

/* here: so many processes of this machine want it together. */
static void refuse_too_large(const Trainer *t, int64_t wanted, int here)
{
    const Lathe_model *m = t->model;
    int64_t there = t->memory_limit && !m->device ? t->memory_limit : available_bytes();
    if (wanted <= there) return;
    fail(EXIT_ERROR, NULL,
         "%s needs %s (%s bytes)%s, and %s %s; nothing was taken.  %s, or build the model smaller: "
         "`lathe build MODEL.lua --set batch=N` with N below %lld (`trainer info` shows what needs how much)",
         t->command, bytes_text(wanted), grouped_text(wanted),
         here > 1 ? text_of(" for the %d ranks of this machine", here) : "",
         t->memory_limit && !m->device ? "--memory-limit is" : "this machine has",
         t->memory_limit && !m->device ? bytes_text(there) : text_of("%s available", bytes_text(there)),
         t->memory_limit && !m->device ? "Raise the limit" : "End other programs", (long long)m->batch);
}

/* Of processes with GPUs, whose hosts have most in common, one is counted. */
static int processes_here(const Trainer *t)
{
    int own, all;
    settle_place(t, &own, &all);
    return t->model->device ? 1 : all;
}

static int64_t plan_of_process(const Trainer *t)
{
    return gpus_of(t) > 1 && !t->model->device ? bytes_of_run(t) : whole_plan(t->model);
}

/* Every process of this machine needs as much. */
void check_memory(const Trainer *t)
{
    const int here = processes_here(t);
    refuse_too_large(t, here * plan_of_process(t), here);
}

/* What is only read later, forked processes have in common. */
void check_data_memory(const Trainer *t, int64_t bytes, bool grows)
{
    const int here = processes_here(t), times = grows || was_started_by_others(t) ? here : 1;
    const int64_t more = bytes - planned(t->model, CATEGORY_data);
    refuse_too_large(t, here * plan_of_process(t) + (more > 0 ? times * more : 0), here);
}

void check_memory_beside(const Trainer *t, const Memory *m, int64_t bytes)
{
    refuse_too_large(t, bytes + m->bytes + planned(t->model, CATEGORY_blas) + planned(t->model, CATEGORY_data), 1);
}

/* ------------------------------------------------------------------ the block */

static char *map_block(const Trainer *t, int64_t bytes)
{
    int flags = MAP_PRIVATE | MAP_ANONYMOUS |
                (t->model->device ? MAP_NORESERVE : 0); /* most of its pages are only on the device */
    char *base = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (base == MAP_FAILED)
        fail(EXIT_ERROR, NULL,
             "%s needs %s of memory and the system refused it; end other programs, or rebuild with a "
             "smaller batch",
             t->command, bytes_text(bytes));
    if (!t->model->device) (void)madvise(base, (size_t)bytes, MADV_HUGEPAGE);
    return base;
}

/* Touches the pages, shared among the threads, so that steps do not wait for the kernel.  It stops after a time limit
 * and leaves the other pages to the first step.  A page lies in the memory next to the thread that touched it first. */
static void touch(char *base, int64_t bytes)
{
    const double until = seconds_now() + 0.15;
    PARALLEL
    for (int64_t i = 0; i < (bytes + BLOCK - 1) / BLOCK; i++) {
        int64_t end = (i + 1) * BLOCK < bytes ? (i + 1) * BLOCK : bytes;
        if (seconds_now() > until) continue;
        for (int64_t at = i * BLOCK; at < end; at += PAGE) ((volatile char *)base)[at] = 0;
    }
}

static void *part(Memory *m, int64_t *at, int64_t bytes)
{
    void *p = bytes ? m->base + *at : NULL;
    *at += align64(bytes);
    return p;
}

/* Moments in 8 bits, and rates by layers. */
static void check_bits_and_layers(const Trainer *t)
{
    const Lathe_recipe *r = &t->recipe;
    if (r->bits != 8 && r->bits != 32)
        fail(EXIT_USAGE, NULL, "bits=%lld: expected 8 or 32, of a number in adamw's moments", (long long)r->bits);
    if (r->bits == 8 && r->optimizer != LATHE_ADAMW)
        fail(EXIT_USAGE, NULL,
             "bits=8: only adamw keeps its moments in 8 bits; leave bits out, or set optimizer=adamw");
    if (r->bits == 8 && t->model->turns)
        fail(EXIT_USAGE, NULL, "bits=8: moments are in 8 bits only without turns; leave it out");
    if (r->bits == 8 && gpus_of(t) > 1)
        fail(EXIT_USAGE, NULL,
             "bits=8: moments are in 8 bits on one %s only; set bits=32, of which each %s keeps its part",
             t->model->device ? "GPU" : "rank", t->model->device ? "GPU" : "rank");
    if (r->layer_decay > 0 && t->model->recipe.layer_decay == 0)
        fail(EXIT_USAGE, NULL, "layer_decay=%g: this trainer was built without it; rebuild with layer_decay in train",
             r->layer_decay);
}

/* Whether a run with this optimizer, but the recipe's other settings, has room in the plan. */
static bool has_room_for(const Trainer *t, Lathe_optimizer kind)
{
    Lathe_recipe r = t->recipe;
    const bool free = kind == LATHE_SCHEDULE_FREE, fp16 = strcmp(t->model->precision, "fp16") == 0;
    r.optimizer = kind;
    if (free && (r.ema > 0 || r.clip_weights > 0 || t->model->directed_elements || (t->model->device && fp16)))
        return false;
    if (r.bits == 8 && kind != LATHE_ADAMW) return false;
    return (int64_t)optimizer_bytes(t->model, &r) <= planned(t->model, CATEGORY_optimizer);
}

char *optimizers_with_room(const Trainer *t)
{
    const char *word;
    char *all = text_of("%s", "");
    for (int k = 0; (word = optimizer_word((Lathe_optimizer)k)); k++) {
        if (!has_room_for(t, (Lathe_optimizer)k)) continue;
        char *more = text_of("%s%s%s", all, *all ? ", " : "", word);
        free(all);
        all = more;
    }
    return all;
}

/* Refuses a recipe that was changed to an optimizer whose moments need more than was planned. */
static void check_optimizer(const Trainer *t, int64_t bytes)
{
    int64_t room = planned(t->model, CATEGORY_optimizer);
    if (t->recipe.optimizer == LATHE_SCHEDULE_FREE && t->recipe.ema > 0)
        fail(EXIT_USAGE, NULL, "ema=%g: schedule_free has a mean of the weights already; leave one of them out",
             t->recipe.ema);
    if (t->recipe.optimizer == LATHE_SCHEDULE_FREE && (t->recipe.clip_weights > 0 || t->model->directed_elements))
        fail(EXIT_USAGE, NULL, "schedule_free goes neither with clip_weights nor beside %s; leave one of them out",
             t->model->direction.name ? t->model->direction.name : "a limit");
    check_bits_and_layers(t);
    if (t->recipe.optimizer == LATHE_SCHEDULE_FREE && t->model->device && strcmp(t->model->precision, "fp16") == 0)
        fail(EXIT_USAGE, NULL,
             "schedule_free counts the updates that fp16 skips, which a GPU's host learns too late; build with "
             "--precision bf16");
    if (bytes <= room) return;
    const char *fit = optimizers_with_room(t);
    fail(EXIT_USAGE, NULL,
         "this optimizer needs %s of memory, and this trainer was built for one that needs %s; take one that fits (%s) "
         "or rebuild with the optimizer in the description's train table",
         bytes_text(bytes), bytes_text(room), *fit ? fit : "none does with these settings");
}

/* Bytes of each part.  A training run takes the planned size; other commands take what they need. */
typedef struct Parts {
    int64_t params, teacher, grads, moments, state, call, generation, step, shared, rooms;
} Parts;

static Parts planned_parts(const Lathe_model *m)
{
    int64_t inputs = planned(m, CATEGORY_inputs) - ahead_bytes(m);
    int64_t call = align64(inputs) + align64(planned(m, CATEGORY_outputs)) + align64(planned(m, CATEGORY_work));
    return (Parts){planned(m, CATEGORY_parameters),
                   planned(m, CATEGORY_teacher),
                   planned(m, CATEGORY_gradients),
                   planned(m, CATEGORY_optimizer),
                   planned(m, CATEGORY_states),
                   call,
                   planned(m, CATEGORY_generation),
                   planned(m, CATEGORY_step),
                   0,
                   0};
}

/* Each of several GPUs has its own part of the moments.  Another optimizer than the plan's may need less on one GPU and
 * more here, where only the last rank has the rest of a cut. */
static Parts parts_of_gpu(const Trainer *t, Parts p)
{
    const Lathe_model *m = t->model;
    if (gpus_of(t) == 1) return p;
    const int64_t built = sharded_bytes(t, &m->recipe), own = sharded_bytes(t, &t->recipe);
    if (p.moments) p.moments = own > built ? own : built;
    p.shared = shared_bytes(t);
    if (shards_parameters(t)) {
        p.params = bytes_of_own(t, false);
        p.grads = bytes_of_own(t, true);
        p.rooms = bytes_of_rooms(t);
    }
    if (p.step)
        p.step = lathe_step_bytes(lathe_trained_elements(m), m->directed_elements, optimizer_runs(m), gpus_of(t));
    return p;
}

static int64_t states_of(const Lathe_model *m, const Entry *entries)
{
    return states_taken(m, has_one(entries, ENTRY_decode), has_one(entries, ENTRY_slots));
}

static Parts needed_parts(const Trainer *t, bool optimizer, const Entry *entries)
{
    const Lathe_model *m = t->model;
    int64_t states = align64(states_of(m, entries)) + statistics_bytes(m);
    Parts p = {.params = weight_bytes(m),
               .teacher = m->teacher ? weight_bytes(m->teacher) : 0,
               .grads = flat_bytes(m),
               .state = states,
               .call = largest_call(m, entries)};
    if (optimizer) p.moments = (int64_t)optimizer_bytes(m, &t->recipe);
    if (optimizer) p.state += carried_bytes(m);
    if (optimizer && m->device && codes_moments(&t->recipe))
        p.step = lathe_step_bytes(lathe_trained_elements(m), 0, optimizer_runs(m), 1) +
                 lathe_coded_step_bytes(optimizer_runs(m));
    int64_t slots = has_one(entries, ENTRY_slots) ? m->recipe.slots : 1;
    if (has_one(entries, ENTRY_decode)) p.generation = generation_bytes(m, &t->recipe, slots);
    return p;
}

/* A run may write texts that its plan did not foresee (--set samples=…, longer ones), or have moments in 8 bits. */
static Parts parts_of_run(const Trainer *t, Parts need)
{
    Parts p = parts_of_gpu(t, planned_parts(t->model));
    if (need.state > p.state) p.state = need.state;
    if (need.generation > p.generation) p.generation = need.generation;
    if (need.step > p.step) p.step = need.step;
    return p;
}

static int64_t parts_sum(Parts p, bool grads)
{
    return align64(p.params) + (grads ? align64(p.teacher) + align64(p.grads) : 0) + align64(p.moments) +
           align64(p.state) + align64(p.call) + align64(p.generation) + p.step + align64(p.shared) + p.rooms;
}

int64_t bytes_of_run(const Trainer *t)
{
    Parts plan = planned_parts(t->model), run = parts_of_run(t, needed_parts(t, true, entries_of_run(t)));
    return t->model->planned_bytes + parts_sum(run, true) - parts_sum(plan, true);
}

Rank_plan plan_of_rank(const Trainer *t)
{
    const Parts plan = planned_parts(t->model), own = parts_of_gpu(t, plan);
    return (Rank_plan){t->model->planned_bytes + parts_sum(own, true) - parts_sum(plan, true), own.moments, own.step,
                       own.shared};
}

/* The plan must be large enough for a run without texts, and must be the sum of its lines. */
static void check_plan(const Lathe_model *m, bool run, Parts plan, Parts need)
{
    bug_if(need.params > plan.params || need.teacher > plan.teacher || need.grads > plan.grads ||
           states_taken(m, false, false) > plan.state || (run && need.call > plan.call));
    int64_t beside = m->device ? planned(m, CATEGORY_workspace) + ahead_bytes(m)
                               : planned(m, CATEGORY_blas) + planned(m, CATEGORY_data);
    bug_if(parts_sum(plan, true) + beside != m->planned_bytes);
    bug_if(m->device && plan.step < lathe_step_bytes(lathe_trained_elements(m), 0, optimizer_runs(m), 1));
}

/* Beside the states: copies of the model's statistics, and of what train carries. */
static void place_copies(Memory *m, const Lathe_model *model, bool optimizer)
{
    char *at = (char *)m->state + align64(m->state_bytes);
    m->statistics = model->statistics ? at : NULL;
    m->carried = optimizer && carried_bytes(model) ? at + align64(statistics_bytes(model)) : NULL;
}

void take_memory(Memory *m, const Trainer *t, bool grads, bool optimizer, const Entry *entries)
{
    Parts need = needed_parts(t, optimizer, entries), plan = planned_parts(t->model);
    check_plan(t->model, optimizer, plan, need);
    check_optimizer(t, need.moments);
    Parts take = optimizer ? parts_of_run(t, need) : parts_of_gpu(t, need);
    m->state_bytes = states_of(t->model, entries);
    m->bytes = parts_sum(take, grads) - take.rooms;
    if (t->model->device) check_memory(t);
    else
        refuse_too_large(
            t, m->bytes + take.rooms + planned(t->model, CATEGORY_blas) + planned(t->model, CATEGORY_data) + t->beside,
            1);
    m->base = map_block(t, m->bytes);
    int64_t at = 0;
    m->params = part(m, &at, take.params);
    m->teacher = part(m, &at, grads ? take.teacher : 0); /* entries with gradients alone read it */
    m->grads = part(m, &at, grads ? take.grads : 0);
    m->moments = part(m, &at, take.moments);
    m->state = part(m, &at, take.state);
    place_copies(m, t->model, optimizer);
    m->generation = part(m, &at, take.generation);
    m->generation_bytes = take.generation;
    m->step = part(m, &at, take.step);
    m->shared = part(m, &at, take.shared);
    m->call_bytes = take.call;
    m->call = m->base + at;
    if (t->model->device) {
        if (optimizer && shards_parameters(t)) open_gpu_parts(t, m);
        if (*entries != NO_ENTRY) open_device(m, t);
        return;
    }
    if (m->grads) touch(m->grads, take.grads);
    if (optimizer && shards_parameters(t)) open_own_arrays(t, m);
    if (memory_nodes("") == 1) touch(m->call, take.call); /* else the rows' threads do: first come, nearest */
    /* callers clear and fill parameters and moments, shared as the update shares them */
}
