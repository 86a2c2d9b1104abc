/* checkpoint.c: writes checkpoints in the background, and reads them.
 *
 *     step-N/model.safetensors      parameters, and statistics of nn.batchnorm, under their export names
 *           /optimizer.safetensors  moments, as exp_avg.NAME, …; absent where the optimizer has none
 *           /directions.safetensors what an optimizer written in Lua keeps (step/direction.c); absent without one
 *           /trained.safetensors    what is trained, where model.safetensors has a mean of it (step/average.h)
 *           /states.safetensors     what train carries from step to step (step/carry.c); absent where it does not
 *           /ranks.safetensors      what each of several ranks keeps by itself (trainer/rank_file.c); mostly absent
 *           /tokenizer.json         where the data is text
 *           /table.json             where it is a table of mixed columns
 *           /classes.json           where it is pictures or recordings
 *           /huggingface.json       what imported weights came with (model/origin.c)
 *           /state.json             the rest, and the checksums of the others (trainer/state.c)
 *
 * It is written into step-N.part; every file and the folder are synced, the folder is renamed, and checkpoints/ is
 * synced.  So at every moment a folder step-N is complete or absent.  The arrays are not copied: only the optimizer's
 * update changes them.  The writing thread reads them in place while the next step runs forward and backward; that
 * step's update waits until all bytes are written (wait_until_copied), and syncing continues after that.  A device's
 * arrays are copied to the host's block first, which steps on the device do not touch.  Ranks on processors write
 * their parts of model, optimizer, trained and ranks.safetensors themselves (trainer/parts_save.c). */
#include "base/file.h"
#include "base/json_text.h"
#include "base/thread.h"
#include "base/words.h"
#include "data/data.h"
#include "interface/lathe_model.h"
#include "model/base.h"
#include "model/block.h"
#include "model/origin.h"
#include "model/llmc.h"
#include "model/gguf.h"
#include "model/run.h"
#include "model/safetensors.h"
#include "model/weights.h"
#include "step/carry.h"
#include "step/coded.h"
#include "step/direction.h"
#include "step/entry.h"
#include "step/optim.h"
#include "step/state.h"
#include "step/statistics.h"
#include "token/tokenizer.h"
#include "trainer/checkpoint.h"
#include "trainer/hashes.h"
#include "trainer/local_steps.h"
#include "trainer/parts_save.h"
#include "trainer/rank_file.h"
#include "trainer/ranks.h"
#include "trainer/shards.h"
#include "trainer/trainer.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct Saver {
    const Trainer *t;
    const Memory *m;
    const Optimizer *o;
    char *vocab, *table, *classes,
        *origin; /* texts of tokenizer.json, table.json, classes.json, huggingface.json; NULL: there is none */
    int metrics; /* metrics.jsonl, synced before each checkpoint, so that it has at least its steps */
    int64_t saved;
    /* of the current save, or the last */
    Progress at;
    json_t *state;
    Fault fault, links; /* links: latest, best, …; the checkpoint is complete without them */
    pthread_t thread;
    bool running, waited; /* waited: wait_until_copied() has waited for it */
    sem_t copied;
    atomic_bool finished;
};

/* ------------------------------------------------------------------ writing */

static Store_writer *start_own_moments(const Saver *s, const char *folder, Fault *f)
{
    if (!model_directs(s->t->model)) return NULL;
    char *path = text_of("%s/directions.safetensors", folder);
    Store_writer *w = start_directions(s->t->model, s->m->state, path, f);
    free(path);
    return w;
}

static Store_writer *start_states(const Saver *s, const char *folder, Fault *f)
{
    if (!s->m->carried) return NULL;
    char *path = text_of("%s/states.safetensors", folder);
    Store_writer *w = start_carried(s->t->model, all_carried(s->t, s->m), gpus_of(s->t), path, f);
    free(path);
    return w;
}

static void write_one_beside(Saver *s, const char *folder, const char *file, const char *text, Fault *f)
{
    if (!text) return;
    char *path = text_of("%s/%s", folder, file);
    add_mark(s->state, file, write_text(path, text, f));
    free(path);
}

static void write_beside(Saver *s, const char *folder, Fault *f)
{
    write_one_beside(s, folder, "tokenizer.json", s->vocab, f);
    write_one_beside(s, folder, "table.json", s->table, f);
    write_one_beside(s, folder, "classes.json", s->classes, f);
    write_one_beside(s, folder, "huggingface.json", s->origin, f);
    char *text = state_text(s->state), *state = text_of("%s/state.json", folder);
    write_text(state, text, f);
    free(text);
    free(state);
}

/* By this process, or in parts by ranks. */
static void end_file(Saver *s, Store_writer *w, Part_file part, Fault *f)
{
    if (w) add_mark(s->state, part_file_names[part], end_store(w));
    else if (is_written_in_parts(part)) add_mark(s->state, part_file_names[part], mark_of_parts(part, f));
}

static void write_files(Saver *s, const char *folder, Fault *f)
{
    Store_writer *file[PART_FILES] = {NULL};
    const bool alone = !adds_gradients(s->t);
    if (alone) {
        const Part_arrays all = {.t = s->t, .m = s->m, .o = s->o};
        for (Part_file k = PARTS_MODEL; k < PARTS_RANKS; k++) file[k] = start_whole_file(&all, k, folder, f);
    } else write_own_parts(f);
    Store_writer *directions = start_own_moments(s, folder, f);
    sem_post(&s->copied);
    Store_writer *states = start_states(s, folder, f);
    if (alone) file[PARTS_RANKS] = start_rank_file(s->t, folder, f);
    else wait_for_parts(f);
    end_file(s, file[PARTS_MODEL], PARTS_MODEL, f);
    end_file(s, file[PARTS_OPTIMIZER], PARTS_OPTIMIZER, f);
    end_file(s, file[PARTS_TRAINED], PARTS_TRAINED, f);
    if (directions) add_mark(s->state, "directions.safetensors", end_store(directions));
    if (states) add_mark(s->state, "states.safetensors", end_store(states));
    end_file(s, file[PARTS_RANKS], PARTS_RANKS, f);
    write_beside(s, folder, f);
    if (!f->path && fsync(s->metrics) != 0 && errno != EINVAL)
        set_fault(f, text_of("%s/metrics.jsonl", run_folder(s->t)), "synced to the disk");
    sync_hashes(s->t->hashes, f);
    sync_folder(folder, f);
}

static void *write_checkpoint(void *saver)
{
    Saver *s = saver;
    Fault *f = &s->fault;
    const char *run = run_folder(s->t);
    char *path = checkpoint_path(run, s->at.step), *aside = text_of("%s.part", path);
    if (!adds_gradients(s->t)) {
        (void)remove_folder(aside);
        add_folder(aside, f);
    }
    write_files(s, aside, f);
    replace_file(aside, path, f);
    if (f->path) (void)remove_folder(aside);
    else link_checkpoint(run, s->at.step, s->at.best_step == s->at.step ? s->at.step : -1, &s->links);
    if (!f->path) prune_run(run, s->t->recipe.keep_last, s->at.best_step);
    free(path);
    free(aside);
    atomic_store(&s->finished, true);
    return NULL;
}

/* ------------------------------------------------------------------ in the background */

Saver *open_saver(const Trainer *t, const Memory *m, const Optimizer *o, const Data *d, int metrics, int64_t saved)
{
    Saver *s = must_alloc(sizeof *s);
    *s = (Saver){.t = t, .m = m, .o = o, .metrics = metrics, .saved = saved, .at.step = saved, .finished = true};
    if (d->tokenizer) s->vocab = tokenizer_text(d->tokenizer);
    if (columns_of(d)) s->table = json_written(schema_json(columns_of(d)), JSON_COMPACT | JSON_REAL_PRECISION(17));
    if (classes_of(d)) s->classes = json_written(classes_json(classes_of(d)), JSON_COMPACT);
    if (t->origin) s->origin = origin_text(t->origin);
    return s;
}

static void take_from_device(Saver *s)
{
    const Lathe_model *m = s->t->model;
    if (!shards_parameters(s->t)) device_down(s->m->params, weight_bytes(m));
    copy_statistics(m, s->m);
    directions_down(m, s->m->state);
    if (s->t->ranks) {
        char *path = checkpoint_path(run_folder(s->t), s->at.step), *aside = text_of("%s.part", path);
        gather_ranks(s->t, s->o, s->m, aside, &s->fault);
        free(path);
        free(aside);
        return;
    }
    device_down(s->m->moments, (int64_t)optimizer_bytes(m, &s->t->recipe));
    if (s->m->carried) device_down(s->m->state, s->m->state_bytes);
    if (s->m->carried) copy_carried(m, s->m->carried, s->m->state);
}

void begin_save(Saver *s, const Progress *p, json_t *state)
{
    bug_if(s->running || s->state);
    clear_fault(&s->fault);
    clear_fault(&s->links);
    s->at = *p;
    s->state = state;
    s->waited = false;
    take_from_device(s);
    atomic_store(&s->finished, false);
    sem_init(&s->copied, 0, 0);
    s->running = start_thread(&s->thread, write_checkpoint, s);
    if (!s->running) write_checkpoint(s);
}

void wait_until_copied(Saver *s)
{
    if (!s || !s->running || s->waited) return;
    while (sem_wait(&s->copied) != 0) continue; /* interrupted by a signal */
    s->waited = true;
}

bool end_save(Saver *s, bool wait)
{
    if (!s->state || (!wait && !atomic_load(&s->finished))) return false;
    if (s->running) pthread_join(s->thread, NULL);
    sem_destroy(&s->copied);
    json_decref(s->state);
    s->state = NULL;
    s->running = false;
    if (!s->fault.path) s->saved = s->at.step;
    return true;
}

int64_t saved_step(const Saver *s) { return s->saved; }
int64_t tried_step(const Saver *s) { return s->at.step; }
bool save_runs(const Saver *s) { return s && !atomic_load(&s->finished); }
const Fault *save_fault(const Saver *s) { return s->fault.path ? &s->fault : NULL; }

const Fault *link_fault(const Saver *s) { return s->links.path ? &s->links : NULL; }

const char *save_remedy(const Saver *s)
{
    switch (s->fault.number) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG: return room_remedy(s->fault.number);
    case EACCES:
    case EPERM:
    case EROFS: return "make the folder writable";
    case ENOENT:
    case ENOTDIR: return "the run folder is gone: restore it, with a folder checkpoints in it";
    default: return "look at the disk (dmesg)";
    }
}

/* ------------------------------------------------------------------ finding one */

static bool has_file(const char *folder, const char *name)
{
    char *path = text_of("%s/%s", folder, name);
    bool there = access(path, F_OK) == 0;
    free(path);
    return there;
}

static char *newest_of(const char *run)
{
    int64_t step = newest_checkpoint(run, INT64_MAX);
    if (step < 0)
        fail(EXIT_DATA, run,
             "has no checkpoint to resume from; leave --resume out to start a new run, or name one with --resume=PATH");
    return checkpoint_path(run, step);
}

/* RUN of RUN/checkpoints/step-N, or NULL. */
static char *run_of_path(const char *checkpoint)
{
    char *folder = folder_of(checkpoint), *run = NULL;
    size_t n = strlen(folder), k = strlen("/checkpoints");
    if (n > k && strcmp(folder + n - k, "/checkpoints") == 0) run = text_of("%.*s", (int)(n - k), folder);
    free(folder);
    return run;
}

static char *run_of(const char *checkpoint)
{
    char *run = run_of_path(checkpoint), *real = run ? NULL : realpath(checkpoint, NULL);
    if (real) run = run_of_path(real);
    free(real);
    return run;
}

char *find_checkpoint(Trainer *t)
{
    char *path = text_of("%s", t->resume);
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/') path[--n] = 0;
    if (!*path) return newest_of(t->out);
    if (!has_file(path, "state.json") && has_file(path, "checkpoints")) {
        if (!t->out_given) t->out = path;
        return newest_of(path);
    }
    char *run = run_of(path);
    if (!has_file(path, "state.json"))
        fail(EXIT_DATA, path, "expected a checkpoint, which has a state.json, or a run folder, which has checkpoints");
    if (!t->out_given && run) t->out = run;
    return path;
}

/* ------------------------------------------------------------------ reading */

static void read_marked(Store *store, const State *s, const char *checkpoint, const char *file)
{
    char *path = text_of("%s/%s", checkpoint, file);
    read_store(store, path);
    check_mark(s, file, path, store->map, store->map_bytes);
}

static void close_marked(Store *store)
{
    char *path = (char *)store->path;
    close_store(store);
    free(path);
}

/* A resumed run writes what an unbroken one does: also of the base no more than the checkpoint says. */
static void load_parameters(Trainer *t, const State *s, const char *checkpoint, const Memory *m)
{
    Store store;
    read_marked(&store, s, checkpoint, "model.safetensors");
    load_model(t->model, &store, m->params, m->statistics, false);
    const char *base = store_note(&store, BASE_NOTE);
    t->base = base ? text_of("%.64s", base) : NULL;
    close_marked(&store);
}

static bool has_trained(const State *s) { return json_object_get(json_object_get(s->all, "files"), TRAINED_FILE); }

void load_own_parameters(const Trainer *t, const State *s, const char *checkpoint, const Memory *m)
{
    Store store;
    read_store(&store, text_of("%s/model.safetensors", checkpoint));
    load_model(t->model, &store, m->params, m->statistics, false);
    close_marked(&store);
    if (!has_trained(s)) return;
    read_store(&store, text_of("%s/" TRAINED_FILE, checkpoint));
    load_trained(t->model, &store, m->params, NULL, NULL);
    close_marked(&store);
}

static void load_moments(const Trainer *t, const State *s, const char *checkpoint, const Optimizer *o)
{
    Store store;
    const char *prefix[LATHE_MOMENTS];
    if (!o->moments) return;
    for (int k = 0; k < o->moments; k++) prefix[k] = text_of("%s.", o->moment_name[k]);
    read_marked(&store, s, checkpoint, "optimizer.safetensors");
    check_coded(&store, o, checkpoint);
    if (o->coded) load_coded(t->model, &store, o);
    else if (!adds_gradients(t)) load_arrays(t->model, &store, o->moments, prefix, o->moment, o->real, NULL);
    close_marked(&store);
    for (int k = 0; k < o->moments; k++) free((char *)prefix[k]);
}

/* Checks a small file of the checkpoint, if it has one. */
static void check_beside(const State *s, const char *checkpoint, const char *file)
{
    char *path = text_of("%s/%s", checkpoint, file);
    if (json_object_get(json_object_get(s->all, "files"), file)) {
        struct stat about;
        int fd = open_to_read(path);
        if (fd < 0 || fstat(fd, &about) != 0) fail(EXIT_DATA, path, "cannot be read: %s", error_text(errno));
        if (!S_ISREG(about.st_mode)) fail(EXIT_DATA, path, "expected a file of a checkpoint, found no regular file");
        size_t bytes = (size_t)about.st_size;
        void *at = bytes ? mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, fd, 0) : NULL;
        if (at == MAP_FAILED) fail(EXIT_DATA, path, "cannot be read: %s", error_text(errno));
        check_mark(s, file, path, at, bytes);
        if (at) munmap(at, bytes);
        close(fd);
    }
    free(path);
}

void check_model(const Trainer *t, const char *checkpoint)
{
    Store store;
    char *path = text_of("%s/model.safetensors", checkpoint);
    read_store(&store, path);
    load_model(t->model, &store, NULL, NULL, false);
    close_store(&store);
    free(path);
}

static void read_states(Store *store, const State *s, const char *checkpoint, const char *file, const char *keeps)
{
    if (!json_object_get(json_object_get(s->all, "files"), file))
        fail(EXIT_DATA, checkpoint, "expected %s: %s, and the run did not; start a new run from its weights: --init %s",
             file, keeps, checkpoint);
    read_marked(store, s, checkpoint, file);
}

/* A run that goes on without the mean of weights goes on with what was trained, too. */
static void load_beside_average(const Trainer *t, const State *s, const char *checkpoint, const Memory *m,
                                const Optimizer *o)
{
    Store store;
    if (!has_trained(s) && !o->average) return;
    read_states(&store, s, checkpoint, TRAINED_FILE, "this run keeps a mean of the weights");
    load_trained(t->model, &store, m->params, adds_gradients(t) ? NULL : o->average, NULL);
    close_marked(&store);
}

static void load_own_moments(const Trainer *t, const State *s, const char *checkpoint, const Memory *m)
{
    Store store;
    read_states(&store, s, checkpoint, "directions.safetensors", "this model's optimizer keeps states of its own");
    load_directions(t->model, &store, m->state);
    close_marked(&store);
}

static void load_states(const Trainer *t, const State *s, const char *checkpoint, const Memory *m)
{
    Store store;
    read_states(&store, s, checkpoint, "states.safetensors", "this model carries a state from step to step");
    load_carried(t->model, &store, gpus_of(t), all_carried(t, m));
    if (!t->ranks) place_carried(t->model, m->carried, m->state);
    close_marked(&store);
}

static void load_own(const Trainer *t, const State *s, const char *checkpoint)
{
    Store store;
    if (!json_object_get(json_object_get(s->all, "files"), RANK_FILE)) return;
    read_marked(&store, s, checkpoint, RANK_FILE);
    load_rank_file(t, &store);
    close_marked(&store);
}

void load_checkpoint(Trainer *t, const State *s, const char *checkpoint, const Memory *m, const Optimizer *o)
{
    load_parameters(t, s, checkpoint, m);
    load_moments(t, s, checkpoint, o);
    load_beside_average(t, s, checkpoint, m, o);
    if (model_directs(t->model)) load_own_moments(t, s, checkpoint, m);
    if (carried_bytes(t->model)) load_states(t, s, checkpoint, m);
    if (keeps_rank_file(t)) load_own(t, s, checkpoint);
}

/* Sets the remedy that is reported if a checkpoint is damaged. */
void open_checkpoint(State *s, const char *checkpoint)
{
    static const char *const beside[] = {"tokenizer.json", "table.json", "classes.json", "huggingface.json", NULL};
    char *run = run_of(checkpoint), *base = strrchr(checkpoint, '/');
    int64_t step, before = -1;
    if (run && base && strncmp(base, "/step-", 6) == 0 && parse_count(base + 6, &step))
        before = newest_checkpoint(run, step);
    if (before >= 0) advise(text_of("the previous checkpoint is %s", checkpoint_path(run, before)));
    read_state(s, checkpoint);
    for (const char *const *file = beside; *file; file++) check_beside(s, checkpoint, *file);
    free(run);
}

void check_saved_weights(const char *path)
{
    char *folder = folder_of(path);
    const char *slash = strrchr(path, '/'), *file = slash ? slash + 1 : path;
    if (has_file(folder, "state.json") && !is_gguf(path) && !is_llmc(path)) {
        State s;
        Store store;
        open_checkpoint(&s, folder);
        read_store(&store, path);
        if (json_object_get(json_object_get(s.all, "files"), file))
            check_mark(&s, file, path, store.map, store.map_bytes);
        close_store(&store);
        close_state(&s);
    }
    free(folder);
}
