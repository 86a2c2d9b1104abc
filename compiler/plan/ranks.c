/* ranks.c: the plan of each of several ranks that take steps together. */
#include "desc/target.h"
#include "passes/passes.h"
#include "plan/plan.h"
#include "runtime/interface/pages.h"

/* Bytes of the state of the entry train. A checkpoint has that of every rank. */
static int64_t bytes_carried(const Desc *d)
{
    int64_t sum = 0;
    for (int i = 0; i < d->states.n; i++)
        if (d->states.at[i].role == LATHE_CARRIED) sum += bytes_of_state(d, &d->states.at[i]);
    return sum;
}

/* Bytes of the optimizer's state in each rank, and of the mean of the weights among it. */
static void deal_optimizer(Module *m, int64_t real)
{
    Plan *plan = &m->plan;
    const Lathe_recipe *recipe = &m->desc->recipe;
    const Lathe_deal d = lathe_deal(plan->flat.trained, plan->flat.moments, real, LATHE_DEALT_BYTES, plan->ranks);
    plan->shared += (recipe->local_steps > 0 ? plan->optimizer : 0) + lathe_gathered_bytes(&d, recipe, real);
    plan->between = lathe_rank_bytes(&d, recipe, real);
    if (recipe->local_steps > 0) return; /* each has all moments */
    plan->optimizer = real * lathe_dealt_optimizer(&d, recipe);
    if (plan->mean) plan->mean = real * lathe_dealt_room(&d, d.n);
}

static void shard_optimizer(Module *m, int64_t real)
{
    Plan *plan = &m->plan;
    const Lathe_recipe *recipe = &m->desc->recipe;
    const int64_t directed = plan->flat.trained - plan->flat.moments;
    plan->optimizer = real * lathe_sharded_elements(recipe, plan->flat.moments, directed, plan->ranks);
    if (plan->mean)
        plan->mean =
            plan->optimizer - real * lathe_moments(recipe) * lathe_shard_elements(plan->flat.moments, plan->ranks);
    plan->step = lathe_step_bytes(plan->flat.trained, directed, runs_in_step(m->desc), plan->ranks);
}

static int64_t bytes_of_flat(const Plan *p) { return p->parameters + (p->gradients + 63) / 64 * 64; }

/* Of what ranks have other sizes of; parts of the block begin at multiples of 64 bytes. */
static int64_t bytes_dealt(const Module *m)
{
    const Plan *p = &m->plan;
    const int64_t flat = bytes_of_flat(p), optimizer = (p->optimizer + 63) / 64 * 64;
    if (!m->desc->options->target->device) return flat + optimizer + (p->between + 63) / 64 * 64;
    return (m->desc->options->shard_parameters ? flat : 0) + p->optimizer + p->step;
}

/* Rooms for buckets of what the entries need at once. */
static int rooms_of(const Module *m, const Lathe_deal *d, bool gradients)
{
    int most = 0;
    for (int i = 0; i < m->programs.n; i++) {
        const Sayings s = sayings_of(m->programs.at[i]);
        Lathe_said *room = NEW_ARRAY(Lathe_said, s.n + 1);
        const int n = gradients ? lathe_most_begun(s.at, s.n, d) : lathe_most_needed(s.at, s.n, d, room);
        if (n > most) most = n;
    }
    return lathe_rooms_for(d, most);
}

/* Of a GPU: its own elements, and pages for what the entries need at once. */
static int64_t bytes_in_rooms(const Module *m, const Lathe_shards *s, int64_t element, bool gradients)
{
    const int pages = lathe_pages_of(s, element, LATHE_PAGE_BYTES);
    Lathe_set *apart = NEW_ARRAY(Lathe_set, s->buckets), *in_room = NEW_ARRAY(Lathe_set, pages);
    lathe_begin_apart(s, apart);
    for (int i = 0; i < m->programs.n; i++) {
        const Sayings all = sayings_of(m->programs.at[i]);
        lathe_set_apart(s, all.at, all.n, gradients, NEW_ARRAY(Lathe_said, all.n + 1), apart);
    }
    const int rooms = lathe_give_rooms(s, apart, element, LATHE_PAGE_BYTES, NEW_ARRAY(int, pages), in_room);
    return lathe_kept_bytes(s, element) + (int64_t)rooms * LATHE_PAGE_BYTES;
}

/* All parameters are on the host of rank 0 alone, when a run begins and when it saves. */
static void shard_on_gpus(Module *m, int64_t real, int64_t weight)
{
    Plan *plan = &m->plan;
    const Lathe_shards s = lathe_shards(plan->flat.trained, 0, LATHE_BUCKET_BYTES / real, plan->ranks);
    plan->shared += plan->parameters;
    plan->image -= plan->parameters - bytes_of_flat(plan);
    plan->parameters = bytes_in_rooms(m, &s, weight, false);
    plan->gradients = bytes_in_rooms(m, &s, real, true);
    plan->image -= bytes_of_flat(plan);
}

/* Each has its own elements, and rooms; and the frozen parameters whole. */
static void shard_parameters(Module *m, int64_t real)
{
    Plan *plan = &m->plan;
    const int64_t weight = dtype_bytes(precision_of(m->desc->options).weights);
    if (m->desc->options->target->device) {
        shard_on_gpus(m, real, weight);
        return;
    }
    const Lathe_deal d = lathe_deal(plan->flat.trained, plan->flat.moments, real, LATHE_DEALT_BYTES, plan->ranks);
    const int64_t frozen =
        plan->flat.elements > plan->flat.trained ? plan->parameters - weight * plan->flat.trained : 0;
    plan->parameters = lathe_held_bytes(&d, rooms_of(m, &d, false), weight) + frozen;
    plan->frozen = frozen;
    plan->gradients = lathe_held_bytes(&d, rooms_of(m, &d, true), real);
}

/* Each keeps its parts of the moments (runtime/interface/shard.h, dealt.h); the host of GPUs has them whole, and rank 0
 * after steps that ranks take by themselves. */
void plan_for_ranks(Module *m, int ranks)
{
    Plan *plan = &m->plan;
    const int64_t real = dtype_bytes(precision_of(m->desc->options).real), before = bytes_dealt(m);
    plan->ranks = ranks;
    plan->shared = ranks * bytes_carried(m->desc);
    if (m->desc->options->target->device) {
        plan->shared += plan->optimizer;
        shard_optimizer(m, real);
    } else deal_optimizer(m, real);
    if (m->desc->options->shard_parameters) shard_parameters(m, real);
    const int64_t more = bytes_dealt(m) - before;
    plan->total += more;
    plan->lower_bound += more;
    plan->image += more;
}
