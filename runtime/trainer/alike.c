/* alike.c: whether all ranks have the same build, description, settings, data and starting point. */
#include "trainer/alike.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/json_text.h"
#include "base/words.h"
#include "data/data.h"
#include "ranks/courier.h"
#include "trainer/gathers.h"
#include "trainer/join.h"
#include "trainer/knobs.h"
#include "trainer/ranks.h"
#include "trainer/shards.h"
#include "trainer/state.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FACT_DATA = 2, FACT_VAL_DATA, FACT_SETTINGS, FACT_STEP, FACT_WEIGHTS, FACT_ADAPTER, FACTS };
enum { OF_ORIGIN = FACT_SETTINGS, SETTINGS_BYTES = 1 << 14 };
static const char *const fact_names[FACTS] = {"description", "plan", "data",    "val_data",
                                              "settings",    "step", "weights", "adapter"};
typedef struct Facts { /* of a rank: hashes, or 0 */
    uint64_t of[FACTS], machine;
    int64_t process;
    char host[64];
} Facts;

/* ------------------------------------------------------------------ what a rank has */

static uint64_t hash_of_json(const json_t *value)
{
    if (!value) return 0;
    char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_SORT_KEYS | JSON_REAL_PRECISION(17));
    const uint64_t hash = hash_of(text, strlen(text));
    free(text);
    return hash;
}

static json_t *settings_with_seed(const Trainer *t)
{
    json_t *settings = recipe_json(&t->recipe);
    put_json(settings, "seed", json_integer(t->seed));
    return settings;
}

/* Some pieces, since all of it would take as long as to load it. */
static void add_pieces_of(Hash *h, const char *path)
{
    enum { PIECES = 64, EACH = 4096 };
    struct stat about;
    char room[EACH];
    const int fd = open_to_read(path);
    if (fd < 0) return;
    if (fstat(fd, &about) == 0 && S_ISREG(about.st_mode)) {
        hash_add(h, &about.st_size, sizeof about.st_size);
        for (int64_t k = 0; k < PIECES; k++) {
            const ssize_t n = pread(fd, room, EACH, about.st_size / PIECES * k);
            if (n > 0) hash_add(h, room, (size_t)n);
        }
    }
    close(fd);
}

static int has_tensors(const struct dirent *e)
{
    static const char ending[] = ".safetensors";
    const size_t n = strlen(e->d_name), of = sizeof ending - 1;
    return (n > of && strcmp(e->d_name + n - of, ending) == 0) || strcmp(e->d_name, "adapter_config.json") == 0;
}

/* Of a file, of the files that an index names, or of an adapter's folder, of which each rank reads its part. */
static uint64_t hash_of_files(const Trainer *t, const char *path)
{
    struct dirent **entry = NULL;
    Hash h;
    if (!path || !shards_parameters(t) || t->model->device) return 0;
    const char *ending = strrchr(path, '.');
    const char *folder = ending && strcmp(ending, ".json") == 0 ? folder_of(path) : path;
    hash_start(&h);
    add_pieces_of(&h, path);
    const int n = scandir(folder, &entry, has_tensors, alphasort);
    for (int i = 0; i < n; i++) {
        add_pieces_of(&h, text_of("%s/%s", folder, entry[i]->d_name));
        free(entry[i]);
    }
    free(entry);
    return hash_end(&h);
}

static Facts facts_of(const Trainer *t, Data *d, int64_t step)
{
    Facts f = {.machine = machine_hash(), .process = getpid()};
    for (int k = 0; k < OF_ORIGIN; k++) f.of[k] = hash_of_json(json_object_get(origin_of_run(t, d), fact_names[k]));
    json_t *settings = settings_with_seed(t);
    f.of[FACT_SETTINGS] = hash_of_json(settings);
    f.of[FACT_STEP] = (uint64_t)step;
    f.of[FACT_WEIGHTS] = hash_of_files(t, t->weights);
    f.of[FACT_ADAPTER] = hash_of_files(t, t->adapter);
    json_decref(settings);
    snprintf(f.host, sizeof f.host, "%s", host_name());
    return f;
}

/* ------------------------------------------------------------------ what differs */

/* "lr 0.01, and rank 0, on HOST, has 0.02": by rank 0, which gets the settings of that rank, unless texts in them are
 * long; else NULL. */
static const char *differing_setting(const Trainer *t, int rank, const char *host)
{
    char *text = must_alloc(SETTINGS_BYTES);
    Piece *piece = must_alloc((size_t)gpus_of(t) * sizeof *piece);
    json_t *own = settings_with_seed(t), *value;
    const char *key, *found = NULL;
    if (t->rank == rank) {
        char *all = json_dumps(own, JSON_COMPACT | JSON_REAL_PRECISION(17));
        if (strlen(all) < SETTINGS_BYTES) strcpy(text, all);
        piece[0] = (Piece){.out = text, .out_bytes = SETTINGS_BYTES};
        free(all);
    }
    if (t->rank == 0) piece[rank] = (Piece){.in = text, .in_bytes = SETTINGS_BYTES};
    must_go_on(exchange(piece));
    json_t *other = t->rank == 0 ? json_loads(text, 0, NULL) : NULL;
    json_object_foreach(own, key, value)
    {
        json_t *its = json_object_get(other, key);
        if (!its || json_equal(its, value) || found) continue;
        found = text_of("%s %s, and rank 0, on %s, has %s", key, exact_text(its), host, exact_text(value));
    }
    json_decref(other);
    json_decref(own);
    free(piece);
    free(text);
    return found;
}

static _Noreturn void refuse_unlike(const Trainer *t, const Facts *all, int rank, int fact)
{
    static const char *const remedy[FACTS] = {
        "build once, and copy that trainer to all machines",
        "build once, and copy that trainer to all machines",
        "give all ranks the same files (--data)",
        "give all ranks the same files (--val-data)",
        "give all ranks the same options",
        "let all ranks see one run folder (--out), and wait until it is there on all",
        "give all ranks the same files (--init): each reads its part of the parameters",
        "give all ranks the same files (--adapter): each reads its part of the parameters"};
    const bool of_files = fact == FACT_DATA || fact == FACT_VAL_DATA || fact == FACT_WEIGHTS || fact == FACT_ADAPTER;
    const char *what_to_do = remedy[fact == FACT_WEIGHTS && t->resume ? FACT_STEP : fact];
    const char *setting = fact == FACT_SETTINGS ? differing_setting(t, rank, all[0].host) : NULL;
    char never;
    Piece *none = must_alloc((size_t)gpus_of(t) * sizeof *none);
    none[0] = (Piece){.in = &never, .in_bytes = 1};
    if (is_follower(t)) must_go_on(exchange(none)); /* until rank 0 has said it */
    if (setting)
        fail(EXIT_USAGE, NULL, "rank %d of %d, on %s, has %s; %s", rank, gpus_of(t), all[rank].host, setting,
             what_to_do);
    fail(of_files ? EXIT_DATA : EXIT_USAGE, NULL,
         "rank %d of %d, on %s, does not have the %s of rank 0, on %s (hashes %016llx and %016llx); %s", rank,
         gpus_of(t), all[rank].host, fact_names[fact], all[0].host, (unsigned long long)all[rank].of[fact],
         (unsigned long long)all[0].of[fact], what_to_do);
}

/* ------------------------------------------------------------------ all ranks */

/* MPI does not tell that a process has ended. */
static void watch_neighbours_of(const Trainer *t, const Facts *all)
{
    int64_t *process = must_alloc((size_t)gpus_of(t) * sizeof *process);
    for (int k = 0; k < gpus_of(t); k++) {
        const bool here = k != t->rank && all[k].machine && all[k].machine == all[t->rank].machine;
        process[k] = here && kill((pid_t)all[k].process, 0) == 0 ? all[k].process : 0;
    }
    watch_processes(process);
}

void check_alike(const Trainer *t, Data *d, int64_t step)
{
    const int ranks = gpus_of(t);
    if (!carrier_in_use()) return;
    Facts own = facts_of(t, d, step), *all = must_alloc((size_t)ranks * sizeof *all);
    Piece *piece = must_alloc((size_t)ranks * sizeof *piece);
    for (int k = 0; k < ranks; k++) piece[k] = (Piece){&own, &all[k], sizeof own, sizeof own};
    all[t->rank] = own;
    must_go_on(exchange(piece));
    for (int k = 1; k < ranks; k++)
        for (int f = 0; f < FACTS; f++)
            if (all[k].of[f] != all[0].of[f]) refuse_unlike(t, all, k, f);
    if (was_started_by_others(t)) watch_neighbours_of(t, all);
    free(piece);
    free(all);
}
