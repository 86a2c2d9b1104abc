/* ranks.c: a run of several ranks: GPUs of this machine (`trainer train --gpus N`), processes of this machine on its
 * processors (`--ranks N`), or processes that a launcher started, perhaps on many machines.
 *
 * Rank 0 works like a trainer of one rank: it alone prints, writes and decides.  The other ranks, its followers, do
 * what it orders: take a step, write their parts of a checkpoint (trainer/parts_save.h) or hand them in, return
 * the parameters that steps on GPUs have updated, take the mean of weights for an evaluation and what is trained again,
 * do their share of an evaluation (trainer/batches.h; on GPUs that have all parameters rank 0 evaluates alone), or end.
 * Ranks on such GPUs of one machine use shared memory (trainer/board.h), the others messages (trainer/join.h,
 * trainer/shared.h). */
#include "base/words.h"
#include "data/data.h"
#include "data/stream.h"
#include "interface/lathe_model.h"
#include "model/block.h"
#include "model/run.h"
#include "model/tables.h"
#include "ranks/beats.h"
#include "ranks/courier.h"
#include "step/average.h"
#include "step/carry.h"
#include "step/device.h"
#include "step/direction.h"
#include "step/entry.h"
#include "step/growth.h"
#include "step/optim.h"
#include "trainer/board.h"
#include "trainer/called.h"
#include "trainer/join.h"
#include "trainer/local_steps.h"
#include "trainer/memory.h"
#include "trainer/parts_save.h"
#include "trainer/ranks.h"
#include "trainer/returns.h"
#include "trainer/samples.h"
#include "trainer/shards.h"
#include "trainer/shared.h"
#include "trainer/step.h"
#include "trainer/told.h"
#include "trainer/trainer.h"
#include "trainer/trial.h"
#include "trainer/unsent.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

typedef enum Ranks_order {
    RANKS_STEP,
    RANKS_RETURN,
    RANKS_GATHER,
    RANKS_SHOW_MEAN,
    RANKS_SHOW_TRAINED,
    RANKS_EVALUATE,
    RANKS_COUNT,
    RANKS_MEET,
    RANKS_END
} Ranks_order;

struct Ranks {
    Board *board;            /* of GPUs of one machine; NULL: ranks send messages */
    char *moments, *carried; /* whole; carried: [ranks], one after the other */
    char *parts;             /* of GPUs without a board: the moments of each */
    bool apart;              /* each GPU has what it has updated; rank 0 knows */
};

int gpus_of(const Trainer *t) { return t->gpus > 1 ? (int)t->gpus : 1; }
bool is_follower(const Trainer *t) { return t->rank > 0; }
bool sends_messages(const Trainer *t) { return t->ranks && !t->ranks->board; }
bool shares_steps(const Trainer *t) { return t->ranks && !t->model->device; }

const char *ranks_option(const Trainer *t) { return t->model->device ? "--gpus" : "--ranks"; }

void check_ranks(Trainer *t)
{
    const bool device = t->model->device;
    const int64_t most = device ? LATHE_MOST_GPUS : LATHE_MOST_FORKED;
    if (t->gpus > 1 && !device)
        fail(
            EXIT_USAGE, NULL,
            "--gpus %lld: this trainer is for the processor; `lathe build MODEL.lua --target cuda` makes one for GPUs, "
            "and --ranks N takes N processes of this machine",
            (long long)t->gpus);
    if (t->processes > 1 && device)
        fail(EXIT_USAGE, NULL, "--ranks %lld: this trainer is for GPUs; give --gpus N", (long long)t->processes);
    if (t->processes > 1) t->gpus = t->processes;
    if (t->gpus > most)
        fail(EXIT_USAGE, NULL, "%s %lld: expected 1 to %lld", ranks_option(t), (long long)t->gpus, (long long)most);
    (void)ranks_patience(); /* here a mistake in it can still be told */
    take_promise(t);
    if (gpus_of(t) == 1) return;
    if (t->model->one_rank)
        fail(EXIT_USAGE, NULL,
             "%s %lld: %s, and each %s would see its own rows alone\n  train on one %s, with a larger batch or "
             "accumulate",
             ranks_option(t), (long long)t->gpus, t->model->one_rank, device ? "GPU" : "rank", device ? "GPU" : "rank");
    if (t->model->exact_rows && (t->gpus & (t->gpus - 1)))
        fail(
            EXIT_USAGE, NULL,
            "%lld ranks: this trainer was built with --exact-sums, which adds ranks in pairs; start 2, 4, 8, … of them",
            (long long)t->gpus);
    if (t->overfit || t->dry_run)
        fail(EXIT_USAGE, NULL, "--%s runs on one %s; %s", t->overfit ? "overfit" : "dry-run", device ? "GPU" : "rank",
             was_started_by_others(t) ? "start it once, without a launcher" : text_of("leave %s out", ranks_option(t)));
}

char *resume_command(const Trainer *t)
{
    const bool one = gpus_of(t) == 1 || was_started_by_others(t);
    const char *ranks = one ? "" : text_of(" %s %d", ranks_option(t), gpus_of(t));
    return text_of("%s%s train --resume --out %s%s", launcher_words(t), t->program, run_folder(t), ranks);
}

bool can_go_on(const Trainer *t) { return newest_checkpoint(run_folder(t), INT64_MAX) >= 0; }

char *how_to_go_on(const Trainer *t)
{
    const int64_t newest = newest_checkpoint(run_folder(t), INT64_MAX);
    if (newest < 0) return text_of("there is no checkpoint yet");
    return text_of("`%s` continues after step %lld", resume_command(t), (long long)newest);
}

/* ------------------------------------------------------------------ starting */

char *whole_array(const Trainer *t, int64_t bytes)
{
    char *at =
        mmap(NULL, (size_t)bytes + 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED)
        fail(EXIT_ERROR, NULL, "%d ranks: the system refused %s for what rank 0 saves: %s", gpus_of(t),
             bytes_text(bytes), error_text(errno));
    return at;
}

static void fork_on_gpus(Trainer *t, Ranks *r)
{
    r->board = open_board(t);
    r->moments = board_moments(r->board);
    r->carried = board_carried(r->board);
    fork_ranks(t, called_of_board(r->board), NULL, NULL);
    if (t->rank == 0) return;
    name_program(text_of("trainer, rank %d", t->rank));
    keep_quiet();
    wait_on_board(r->board, t->rank);
}

void start_ranks(Trainer *t)
{
    if (gpus_of(t) == 1) return;
    t->ranks = must_alloc(sizeof *t->ranks);
    if (t->model->device && !was_started_by_others(t) && !shards_parameters(t)) {
        fork_on_gpus(t, t->ranks);
        return;
    }
    join_processes(t);
    open_messages();
    if (t->model->device) t->ranks->parts = whole_array(t, gpus_of(t) * sharded_bytes(t, &t->recipe));
    t->ranks->moments = whole_array(t, (int64_t)optimizer_bytes(t->model, &t->recipe));
    t->ranks->carried = whole_array(t, gpus_of(t) * carried_bytes(t->model));
}

/* Rank 0 opens its GPU first, and chooses algorithms for products. */
void wait_for_first_gpu(const Trainer *t)
{
    char begin;
    if (t->ranks && t->model->device && !t->ranks->board && is_follower(t)) from_first(&begin, 1);
}

static void join_gpus_by_messages(const Trainer *t, const Memory *m)
{
    char id[LATHE_RANKS_ID], begin = 0;
    if (!is_follower(t)) {
        from_first(&begin, 1);
        name_devices(id);
    }
    from_first(id, sizeof id);
    join_gpus(t, id, m);
}

void join_ranks(const Trainer *t, Optimizer *o, const Memory *m)
{
    if (!t->ranks) return;
    if (t->ranks->board) {
        join_board(t->ranks->board, t, o, m);
        return;
    }
    if (t->model->device) join_gpus_by_messages(t, m);
    else open_shared(t, m, o);
    from_first(&o->loss_scale, sizeof o->loss_scale);
    if (t->model->device) return;
    if (!shards_parameters(t)) from_first(m->params, weight_bytes(t->model));
}

/* ------------------------------------------------------------------ parts and wholes */

void *whole_moments(const Trainer *t, const Memory *m)
{
    return t->ranks && !steps_locally(t) ? t->ranks->moments : m->moments;
}

char *all_carried(const Trainer *t, const Memory *m) { return t->ranks ? t->ranks->carried : m->carried; }

void take_parts(const Trainer *t, const Optimizer *o, const Memory *m, const char *checkpoint)
{
    if (shares_steps(t)) {
        if (adds_gradients(t) && checkpoint) load_own_parts(&(Part_arrays){t, m, o, deal_of(t)}, checkpoint);
        else if (adds_gradients(t)) begin_shared_average(o, m->params);
        return;
    }
    const int64_t each = sharded_bytes(t, &t->recipe);
    if (t->ranks->board) copy_gpu_moments(t, t->rank, o, m->moments, false);
    else {
        for (int k = 0; k < gpus_of(t) && !is_follower(t); k++)
            copy_gpu_moments(t, k, o, t->ranks->parts + k * each, false);
        deal_bytes(t->ranks->parts, m->moments, each);
    }
    device_up(m->moments, sharded_bytes(t, &t->recipe));
}

static void take_shared_states(const Trainer *t, const Memory *m, const char *checkpoint)
{
    const Lathe_model *model = t->model;
    for (const Lathe_tensor *s = model->state; s < model->state + model->states; s++)
        if (s->role == LATHE_MOMENT) from_first((char *)m->state + s->offset, tensor_size(s) * dtype_size(s->dtype));
    load_unsent(t, checkpoint);
    deal_local(t, m);
    if (!carried_bytes(model)) return;
    deal_bytes(t->ranks->carried, m->carried, carried_bytes(model));
    place_carried(model, m->carried, m->state);
}

void take_states(const Trainer *t, const Memory *m, const char *checkpoint)
{
    int64_t carried = carried_bytes(t->model);
    if (shares_steps(t)) {
        take_shared_states(t, m, checkpoint);
        return;
    }
    share_directions(t->model, m->state, !is_follower(t));
    if (!carried) return;
    if (!t->ranks->board) deal_bytes(t->ranks->carried, m->carried, carried);
    place_carried(t->model, t->ranks->board ? t->ranks->carried + t->rank * carried : m->carried, m->state);
    device_up(m->state, m->state_bytes);
}

static void hand_in_moments(const Trainer *t, const Optimizer *o, const Memory *m)
{
    const int64_t each = sharded_bytes(t, &t->recipe);
    if (shards_parameters(t)) collect_there(m->params);
    device_down(m->moments, each);
    if (t->ranks->board) {
        copy_gpu_moments(t, t->rank, o, m->moments, true);
        return;
    }
    gather_bytes(m->moments, t->ranks->parts, each);
    for (int k = 0; k < gpus_of(t) && !is_follower(t); k++) copy_gpu_moments(t, k, o, t->ranks->parts + k * each, true);
}

static void hand_in_parts(const Trainer *t, const Optimizer *o, const Memory *m, const char *folder, Fault *f)
{
    const int64_t carried = carried_bytes(t->model);
    if (!shares_steps(t)) hand_in_moments(t, o, m);
    else if (adds_gradients(t)) begin_parts(t, o, m, folder, f);
    else gather_local(t, m), gather_unsent(t);
    if (!carried) return;
    device_down(m->state, m->state_bytes);
    copy_carried(t->model, t->ranks->board ? t->ranks->carried + t->rank * carried : m->carried, m->state);
    if (!t->ranks->board) gather_bytes(m->carried, t->ranks->carried, carried);
}

/* ------------------------------------------------------------------ orders */

static void give_order(const Trainer *t, Ranks_order what)
{
    int32_t order = (int32_t)what;
    if (t->ranks->board) post_order(t->ranks->board, t, order);
    else from_first(&order, sizeof order);
}

void order_step(const Trainer *t)
{
    if (!t->ranks) return;
    give_order(t, RANKS_STEP);
    t->ranks->apart = t->model->device && !shards_parameters(t);
}

void return_parameters(const Trainer *t, const Memory *m)
{
    await_returns();
    if (!t->ranks || !t->ranks->apart) return;
    give_order(t, RANKS_RETURN);
    return_there(m->params);
    t->ranks->apart = false;
}

void meet_ranks(const Trainer *t, const Memory *m, int64_t step)
{
    give_order(t, RANKS_MEET);
    meet(t, m, step);
    if (!interrupted) interrupted = signal_of_ranks();
}

void order_mean(const Trainer *t, bool shown)
{
    if (t->ranks) give_order(t, shown ? RANKS_SHOW_MEAN : RANKS_SHOW_TRAINED);
}

void order_counts(const Trainer *t) { give_order(t, RANKS_COUNT); }

typedef struct Asked { /* with RANKS_EVALUATE */
    int64_t share, number;
} Asked;

void order_share(const Trainer *t, Share what, int64_t number)
{
    Asked a = {what, number};
    give_order(t, RANKS_EVALUATE);
    from_first(&a, sizeof a);
}

void show_mean_of_ranks(const Trainer *t, const Optimizer *o, const Memory *m)
{
    if (shares_steps(t)) show_shared_average(o, m->params, m->grads);
    else show_averages(o, m->params, m->grads);
}

void gather_ranks(const Trainer *t, const Optimizer *o, const Memory *m, const char *folder, Fault *f)
{
    give_order(t, RANKS_GATHER);
    hand_in_parts(t, o, m, folder, f);
    if (t->ranks->board) wait_for_gathered(t->ranks->board, t);
}

void end_ranks(const Trainer *t)
{
    if (!t->ranks) return;
    if (t->ranks->board) end_board(t->ranks->board);
    give_order(t, RANKS_END);
    if (t->model->device) close_device();
    if (!t->ranks->board) part_processes(t);
}

/* ------------------------------------------------------------------ a follower */

/* Random draws count rows in the batch of all ranks. */
static void set_first_row(const Trial *c, const Lathe_entry *e)
{
    const Lathe_tensor *t = tensor_with_role(e, LATHE_FIRST_ROW);
    int32_t row = (int32_t)(c->t->rank * e->rows);
    if (t) memcpy(c->memory->call + t->offset, &row, sizeof row);
}

/* A rank that steps by itself knows its loss alone. */
static void end_followed(const Trainer *t)
{
    const Step s = end_turn();
    if (steps_locally(t) && has_diverged(&s))
        fail(EXIT_DIVERGED, NULL, "step %lld diverged on rank %d: %s; try a lower learning rate (--set lr=%g)",
             (long long)s.number + 1, t->rank, divergence_text(&s, NULL), t->recipe.lr / 10);
}

static void follow_step(const Trial *c, int64_t step)
{
    int code = EXIT_DATA;
    const Lathe_entry *e = train_for_step(c->turns, c->t->model, step);
    const double from = seconds_now();
    rank_does(RANK_READS, step);
    if (!fill_step(c->data, e, c->memory->call, step)) {
        const char *failure = data_failure(c->data, &code);
        end_program(code,
                    failure ? failure
                            : text_of("trainer, rank %d: error: the data ended here, but not for rank 0", c->t->rank));
    }
    set_scalars(e, c->memory->call, c->t->seed, step, 0);
    set_first_row(c, e);
    note_batch(c->record, e, c->memory->call);
    if (shares_steps(c->t)) tell_of_data(c->data, seconds_now() - from);
    begin_turn(c->t, &c->turns->at[0], c->memory, step, 0);
    if (adds_gradients(c->t)) (void)share_bad_files(c->t, c->data);
    while (turn_must_end()) end_followed(c->t);
}

static void finish_steps(void)
{
    while (turns_begun()) end_turn();
}

/* Whatever else than steps needs what they made. */
static void finish_for(Ranks_order order)
{
    if (order == RANKS_STEP) return;
    finish_steps();
    await_returns();
}

/* While it waits it finishes earlier orders, so that their errors are reported. */
static Ranks_order next_order(const Trial *c, int64_t step)
{
    int32_t order;
    if (c->t->ranks->board) return (Ranks_order)take_order(c->t->ranks->board, c->t->rank, finish_steps);
    finish_steps();
    rank_does(RANK_FOLLOWS, step);
    from_first(&order, sizeof order);
    return (Ranks_order)order;
}

static void share_evaluation(const Trial *c, int64_t step)
{
    Asked a;
    Rouge unused[ROUGES];
    rank_does(RANK_EVALUATES, step - 1);
    from_first(&a, sizeof a);
    if (a.share == SHARE_SCORES) (void)evaluate(c->data, c->memory, c->t, a.number);
    if (a.share == SHARE_METRICS) share_metrics(c->t, c->data, c->memory, a.number);
    if (a.share == SHARE_SAMPLES) json_decref(draw_sample(c->samples, (int)a.number, step));
    if (a.share == SHARE_TEXTS) (void)evaluate_texts(c->texts, a.number, unused);
}

int follow(const Trial *c, int64_t step)
{
    const Optimizer *o = &c->turns->at[0].optimizer;
    const Memory *m = c->memory;
    for (bool opened = false;; opened = true) {
        const Ranks_order order = next_order(c, step);
        if (!opened) open_rank_log(c->t, step); /* rank 0 has the folder now */
        finish_for(order);
        switch (order) {
        case RANKS_STEP: follow_step(c, step++); break;
        case RANKS_RETURN: return_there(m->params); break;
        case RANKS_GATHER:
            hand_in_parts(c->t, o, m, NULL, NULL);
            if (c->t->ranks->board) post_gathered(c->t->ranks->board);
            break;
        case RANKS_SHOW_MEAN: show_mean_of_ranks(c->t, o, m); break;
        case RANKS_SHOW_TRAINED: show_trained(o, m->params, m->grads); break;
        case RANKS_EVALUATE: share_evaluation(c, step); break;
        case RANKS_COUNT: share_counts(c->record); break;
        case RANKS_MEET:
            meet(c->t, m, step);
            (void)share_bad_files(c->t, c->data);
            break;
        case RANKS_END:
            end_parts();
            if (c->t->model->device) close_device();
            if (!c->t->ranks->board) part_processes(c->t);
            return 0;
        }
    }
}
