/* test_power_cut.c: a run that saves every step is recorded call by call (shim_record.c) and replayed into a model of a
 * disk up to a random call, where the power goes: what was not synced is lost in part.  The trainer must then go on
 * from the newest checkpoint that is left, which may not be older than any whose save had ended, to the bytes of a run
 * that nobody disturbed.  20 cuts; 200 with LATHE_LONG=1.
 *
 * The model promises no more than POSIX.  A file keeps what it had at its last fsync; of what was written since there
 * is nothing, all, a beginning, or all with pieces of zeros.  A folder keeps the names that it had at its last fsync;
 * of what was made, renamed and removed since there is nothing, all, a beginning or any part, each call whole.  To show
 * that the model bites, the same cuts are made with every fsync of files left out, and of folders: some must fail. */
#include "harness.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ------------------------------------------------------------------ the recorded calls */

typedef struct Call {
    char kind;
    char *path, *more;
    size_t n; /* bytes of more */
} Call;
typedef struct Calls {
    Call *at;
    int n;
} Calls;

static Calls read_calls(const char *path)
{
    Calls all = {0};
    char kind, name[4096];
    size_t n;
    FILE *f = fopen(path, "rb");
    must(f);
    while (fscanf(f, "%c %zu %4095[^\n]", &kind, &n, name) == 3) {
        Call c = {kind, strdup(name), calloc(1, n + 1), n};
        must(fgetc(f) == '\n' && fread(c.more, 1, n, f) == n);
        all.at = realloc(all.at, sizeof *all.at * (size_t)(all.n + 1));
        all.at[all.n++] = c;
    }
    must(feof(f));
    fclose(f);
    return all;
}

/* ------------------------------------------------------------------ the disk */

typedef struct Inode Inode;
typedef struct Name {
    char *name;
    Inode *inode;
} Name;
typedef struct Change { /* of a folder: a name goes, a name comes */
    char *gone, *come;
    Inode *inode;
} Change;

enum { MOST = 400 };
struct Inode {
    enum { A_FILE, A_FOLDER, A_LINK } kind;
    char *target;      /* A_LINK */
    char *data, *kept; /* A_FILE: now; at the last sync */
    size_t n, kept_n, room;
    size_t dirty;                 /* the first byte written since */
    Name now[MOST], synced[MOST]; /* A_FOLDER */
    int names, synced_names;
    Change change[4 * MOST];
    int changes;
};

static Inode *root;

static Inode *new_inode(int kind)
{
    Inode *i = calloc(1, sizeof *i);
    must(i);
    i->kind = kind;
    return i;
}

static int find_name(const Name *list, int n, const char *name)
{
    for (int i = 0; i < n; i++)
        if (strcmp(list[i].name, name) == 0) return i;
    return -1;
}

static void apply(Name *list, int *n, const Change *c)
{
    int at = c->gone ? find_name(list, *n, c->gone) : -1;
    if (at >= 0) list[at] = list[--*n];
    if (!c->come) return;
    at = find_name(list, *n, c->come);
    must(at >= 0 || *n < MOST);
    list[at >= 0 ? at : (*n)++] = (Name){c->come, c->inode};
}

static void change_folder(Inode *folder, const char *gone, const char *come, Inode *inode)
{
    Change c = {gone ? strdup(gone) : NULL, come ? strdup(come) : NULL, inode};
    must(folder->kind == A_FOLDER && folder->changes < 4 * MOST);
    apply(folder->now, &folder->names, &c);
    folder->change[folder->changes++] = c;
}

/* The folder that a path lies in, and the name there; paths are relative to the root. */
static Inode *parent_of(const char *path, const char **name)
{
    Inode *at = root;
    char part[256];
    for (const char *slash; (slash = strchr(path, '/')); path = slash + 1) {
        snprintf(part, sizeof part, "%.*s", (int)(slash - path), path);
        int i = find_name(at->now, at->names, part);
        must(i >= 0);
        at = at->now[i].inode;
    }
    *name = path;
    return at;
}

static Inode *inode_at(const char *path)
{
    const char *name;
    Inode *folder = parent_of(path, &name);
    if (!*name) return folder;
    int i = find_name(folder->now, folder->names, name);
    return i < 0 ? NULL : folder->now[i].inode;
}

static void write_at(Inode *i, const char *more, size_t n)
{
    char *bytes;
    size_t offset = (size_t)strtoll(more, &bytes, 10);
    bytes++;
    n -= (size_t)(bytes - more);
    if (offset + n > i->room) i->data = realloc(i->data, i->room = 2 * (offset + n));
    memcpy(i->data + offset, bytes, n);
    if (offset + n > i->n) i->n = offset + n;
    if (offset < i->dirty) i->dirty = offset;
}

static void sync_inode(Inode *i)
{
    if (i->kind == A_FOLDER) {
        memcpy(i->synced, i->now, sizeof i->now);
        i->synced_names = i->names;
        i->changes = 0;
        return;
    }
    free(i->kept);
    i->kept = malloc(i->n + 1);
    memcpy(i->kept, i->data ? i->data : "", i->n);
    i->kept_n = i->dirty = i->n;
}

static void replay(const Call *c, size_t root_length, bool sync_files, bool sync_folders)
{
    const char *path = c->path + root_length, *name;
    while (*path == '/') path++;
    Inode *folder = parent_of(path, &name), *it = inode_at(path);
    switch (c->kind) {
    case 'O':
        if (!it) change_folder(folder, NULL, name, new_inode(A_FILE));
        break;
    case 'T': it->n = it->dirty = 0; break;
    case 'W': write_at(it, c->more, c->n); break;
    case 'F':
        if (it->kind == A_FOLDER ? sync_folders : sync_files) sync_inode(it);
        break;
    case 'R': {
        const char *to;
        must(parent_of(c->more + root_length + 1, &to) == folder); /* within a folder: one change */
        change_folder(folder, name, to, it);
        break;
    }
    case 'M': change_folder(folder, NULL, name, new_inode(A_FOLDER)); break;
    case 'L':
        it = new_inode(A_LINK);
        it->target = c->more;
        change_folder(folder, NULL, name, it);
        break;
    default: change_folder(folder, name, NULL, NULL); break; /* U, D */
    }
}

/* ------------------------------------------------------------------ the power goes */

static void keep_file(const Inode *i, const char *path, Rng *r)
{
    const char *data = i->kept;
    size_t n = i->kept_n;
    int fate = (int)below(r, 4);
    char *torn = NULL;
    if (fate && i->dirty < i->n) {
        torn = malloc(i->n);
        memcpy(torn, i->data, i->n);
        data = torn;
        n = fate == 2 ? i->dirty + (size_t)below(r, (int64_t)(i->n - i->dirty) + 1) : i->n;
        for (size_t at = i->dirty; fate == 3 && at < n; at += 512)
            if (below(r, 2)) memset(torn + at, 0, n - at < 512 ? n - at : 512);
    }
    FILE *f = fopen(path, "wb");
    must(f && (!n || fwrite(data, 1, n, f) == n) && fclose(f) == 0);
    free(torn);
}

static void keep_folder(const Inode *folder, const char *path, Rng *r)
{
    Name names[MOST];
    int n = folder->synced_names, fate = (int)below(r, 4);
    int some = fate == 0 ? 0 : fate == 2 ? (int)below(r, folder->changes + 1) : folder->changes;
    memcpy(names, folder->synced, sizeof names);
    for (int i = 0; i < some; i++)
        if (fate != 3 || below(r, 2)) apply(names, &n, &folder->change[i]);
    must(mkdir(path, 0777) == 0);
    for (int i = 0; i < n; i++) {
        char inner[600];
        snprintf(inner, sizeof inner, "%s/%s", path, names[i].name);
        if (names[i].inode->kind == A_FOLDER) keep_folder(names[i].inode, inner, r);
        else if (names[i].inode->kind == A_FILE) keep_file(names[i].inode, inner, r);
        else must(symlink(names[i].inode->target, inner) == 0);
    }
}

/* ------------------------------------------------------------------ a cut */

static const char *toy;
static char disk[300], shim[320], log_path[320];

/* The newest checkpoint whose save had ended: renamed, and the folder synced after that. */
static int promised(const Calls *all, int cut)
{
    int renamed = -1, safe = -1, step;
    for (int i = 0; i < cut; i++) {
        const char *name = strrchr(all->at[i].kind == 'R' ? all->at[i].more : all->at[i].path, '/') + 1;
        if (all->at[i].kind == 'R' && sscanf(name, "step-%d", &step) == 1 && !strchr(name, '.')) renamed = step;
        if (all->at[i].kind == 'F' && strcmp(name, "checkpoints") == 0) safe = renamed;
    }
    return safe;
}

/* "": all is well; else what is wrong. */
static char *try_cut(const Calls *all, int cut, bool sync_files, bool sync_folders, Rng *r)
{
    char run[330], *out;
    int step = -1, safe = promised(all, cut);
    root = new_inode(A_FOLDER);
    for (int i = 0; i < cut; i++) replay(&all->at[i], strlen(disk), sync_files, sync_folders);
    snprintf(run, sizeof run, "%s.after", disk);
    must(run_command(NULL, "rm -rf %s", run) == 0);
    keep_folder(root, run, r);
    must(run_command(NULL, "cp %s/text %s/text", temp_folder(), run) == 0);
    int none = run_command(NULL, "ls %s/run/checkpoints/ 2>/dev/null | grep -q '^step-[0-9]*$'", run);
    int code = run_command(&out, "cd %s && %s train --data text --out run %s --save-every 0 --steps 60", run, toy,
                           none ? "" : "--resume");
    const char *on = strstr(out, "continues after step ");
    if (on) step = atoi(on + strlen("continues after step "));
    if (code != 0) return format("exit code %d: %s", code, out);
    if (step < safe) return format("continues after step %d, and step %d was saved", step, safe);
    if (run_command(&out, "cmp %s/run/model.safetensors %s/whole/model.safetensors", run, temp_folder()) != 0)
        return format("other bytes in the end: %s", out);
    return "";
}

/* Two programs, one after the other: the first ends in a divergence. */
static void record_run(void)
{
    char *out;
    const char *train = format("cd %s && RECORD=%s RECORD_ROOT=%s LD_PRELOAD=%s %s train --data ../text --out run",
                               disk, log_path, disk, shim, toy);
    must(mkdir(disk, 0777) == 0);
    setenv("TOY_NAN_AT", "25", 1);
    expect(run_command(&out, "%s --save-every 1 --keep-last 2", train) == 4, "the recorded run diverges: %s", out);
    unsetenv("TOY_NAN_AT");
    expect(run_command(&out, "%s --resume", train) == 0, "the recorded run goes on: %s", out);
}

static int count_failures(const Calls *all, int cuts, bool sync_files, bool sync_folders, uint64_t seed, bool report)
{
    Rng r = rng_of(seed);
    int failures = 0;
    for (int k = 0; k < cuts; k++) {
        int cut = (int)below(&r, all->n + 1);
        const char *wrong = try_cut(all, cut, sync_files, sync_folders, &r);
        failures += *wrong != 0;
        if (report) expect(!*wrong, "power cut %d, after call %d of %d: %s", k, cut, all->n, wrong);
        else if (failures) break;
    }
    return failures;
}

int main(void)
{
    const char *build = getenv("BUILD"), *cc = getenv("CC");
    char path[300], *out;
    int cuts = long_run() ? 200 : 20;
    snprintf(path, sizeof path, "%s/toy_model", build ? build : "build");
    toy = realpath(path, NULL);
    if (!toy) skip_test("build/toy_model is not built");
    snprintf(disk, sizeof disk, "%s/disk", temp_folder());
    snprintf(shim, sizeof shim, "%s/shim.so", temp_folder());
    snprintf(log_path, sizeof log_path, "%s/log", temp_folder());
    if (run_command(&out, "%s -shared -fPIC -o %s tests/trainer/shim_record.c", cc ? cc : "cc", shim) != 0)
        skip_test("no C compiler for the shim");
    must(run_command(&out, "for i in $(seq 2000); do echo the cat sat on a mat $((i %% 7)); done | tr 0-9 a-j >%s/text",
                     temp_folder()) == 0);
    expect(run_command(&out, "%s train --data %s/text --out %s/whole", toy, temp_folder(), temp_folder()) == 0, "%s",
           out);
    record_run();
    Calls all = read_calls(log_path);
    count_failures(&all, cuts, true, true, 5, true);
    int files = count_failures(&all, 100, false, true, 6, false),
        folders = count_failures(&all, 100, true, false, 7, false);
    expect(files > 0, "without any fsync of files a power cut must do harm");
    expect(folders > 0, "without any fsync of folders a power cut must do harm");
    printf("note: %d power cuts in %d recorded calls\n", cuts, all.n);
    return finish();
}
