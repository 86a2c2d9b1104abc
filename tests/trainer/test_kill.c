/* test_kill.c: kill -9 at random instants while a run saves every step: every time the newest checkpoint loads, the run
 * goes on from it, and what comes out in the end is, byte for byte, what a run gives that nobody disturbed.  20 kills
 * of one model; with LATHE_LONG=1 400 of each of five, one for each way in which batches are made. */
#include "harness.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

typedef struct Victim {
    const char *name, *build; /* what lathe build takes; NULL: a trainer of the build folder */
    void (*write_data)(FILE *);
} Victim;

static const char *trainer;
static char data[300], run[300], whole[300];

static void write_words(FILE *f)
{
    Rng r = rng_of(3);
    for (int i = 0; i < 12000; i++)
        fputs((const char *[]){"the ", "cat ", "sat ", "on ", "a ", "mat\n"}[below(&r, 6)], f);
}

static void write_table(FILE *f)
{
    Rng r = rng_of(4);
    fprintf(f, "a,b,c,class\n");
    for (int i = 0; i < 500; i++) {
        long long a = below(&r, 100), b = below(&r, 9);
        fprintf(f, "%lld,%lld,%d,%lld\n", a, b, i % 7, (a + b) % 4);
    }
}

static void write_pairs(FILE *f)
{
    Rng r = rng_of(5);
    fprintf(f, "source\ttarget\n");
    for (int i = 0; i < 800; i++) fprintf(f, "%lld\t%d\n", (long long)below(&r, 9999), 7 * i % 1000);
}

static const Victim victims[] = {
    {"toy_model", NULL, write_words},
    {"mlp", "models/mlp.lua --set features=3 --set hidden=8 --set classes=4 --set batch=16", write_table},
    {"carry",
     "models/char_rnn.lua --set hidden=16 --set width=8 --set seq=10 --set batch=4 --set layers=2"
     " --set accumulate=2 --set carry=true",
     write_words},
    {"packed",
     "models/gpt.lua --config char --set layers=1 --set width=16 --set heads=2 --set seq=32 --set batch=4"
     " --set vocab=256 --set tokenizer=bytes --set pack=true",
     write_words},
    {"pairs", "tests/models/pairs.lua --set vocab=259 --set width=16 --set source_seq=8 --set seq=10 --set batch=4",
     write_pairs},
};

/* The highest N of step-N, as the folder shows it; -1 where there is none. */
static int newest(void)
{
    char path[320];
    int most = -1, step, end;
    snprintf(path, sizeof path, "%s/checkpoints", run);
    DIR *d = opendir(path);
    for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d))
        if (end = 0, sscanf(e->d_name, "step-%d%n", &step, &end) == 1 && !e->d_name[end] && step > most) most = step;
    if (d) closedir(d);
    return most;
}

static pid_t start(bool resume, const char *threads, FILE **said)
{
    int pipes[2];
    if (pipe(pipes) != 0) abort();
    pid_t child = fork();
    if (child == 0) {
        dup2(pipes[1], 2);
        close(pipes[0]);
        close(pipes[1]);
        execl(trainer, trainer, "train", "--data", data, "--out", run, "--steps", "60", "--save-every", "1",
              "--keep-last", "3", "--threads", threads, resume ? "--resume" : NULL, (char *)NULL);
        _exit(127);
    }
    close(pipes[1]);
    *said = fdopen(pipes[0], "r");
    return child;
}

/* Reads what it says until it trains: true, and the step that it goes on after; false: it ended before that. */
static bool wait_for_start(FILE *said, int *after)
{
    char line[1000];
    while (fgets(line, sizeof line, said)) {
        const char *on = strstr(line, "continues after step ");
        if (strncmp(line, "run: ", 5) != 0) {
            if (strstr(line, "error:")) printf("    | %s", line);
            continue;
        }
        *after = on ? atoi(on + strlen("continues after step ")) : -1;
        return true;
    }
    return false;
}

/* Mostly not before there is something to resume from. */
static void wait_a_while(Rng *r)
{
    for (int i = 0; i < 3000 && newest() < 0 && below(r, 500); i++) nanosleep(&(struct timespec){0, 10000000}, NULL);

    long long nanoseconds = below(r, 4) ? below(r, 60000000) : below(r, 2000000);
    nanosleep(&(struct timespec){0, nanoseconds}, NULL);
}

/* Starts or resumes the run, kills it; true where it was done before that. */
static bool one_kill(Rng *r, int *resumed, int *undone)
{
    static const char *const threads[] = {"1", "2", "3"};
    int before = newest(), after, status;
    FILE *said;
    char rest[4096];
    pid_t child = start(before >= 0, threads[below(r, 3)], &said);
    bool started = wait_for_start(said, &after);
    expect(started, "the run starts with step-%d as its newest", before);
    expect(!started || after == before, "continues after step %d; the newest checkpoint is step-%d", after, before);
    *resumed += started && before >= 0;
    wait_a_while(r);
    kill(child, SIGKILL);
    while (fread(rest, 1, sizeof rest, said) > 0) continue;
    fclose(said);
    waitpid(child, &status, 0);
    expect(WIFSIGNALED(status) || WEXITSTATUS(status) == 0, "exit code %d", WEXITSTATUS(status));
    *undone += run_command(NULL, "ls %s/checkpoints/ | grep -q 'part\\|gone'", run) == 0;
    return !WIFSIGNALED(status);
}

static void compare_whole(void)
{
    char *out;
    int code =
        run_command(&out,
                    "cmp %s/checkpoints/step-60/model.safetensors %s/checkpoints/step-60/model.safetensors && "
                    "cmp %s/checkpoints/step-60/optimizer.safetensors %s/checkpoints/step-60/optimizer.safetensors",
                    run, whole, run, whole);
    expect(code == 0, "a killed run ends with other bytes: %s", out);
}

/* What was killed last goes on to its end. */
static void finish_run(void)
{
    while (newest() != 60) {
        FILE *said;
        int after, status;
        pid_t child = start(newest() >= 0, "1", &said);
        char rest[4096];
        if (!wait_for_start(said, &after)) break;
        while (fread(rest, 1, sizeof rest, said) > 0) continue;
        fclose(said);
        waitpid(child, &status, 0);
    }
    compare_whole();
}

static const char *trainer_of(const Victim *v)
{
    const char *build = getenv("BUILD");
    char path[300], *out;
    if (!v->build) {
        snprintf(path, sizeof path, "%s/%s", build ? build : "build", v->name);
        return realpath(path, NULL);
    }
    snprintf(path, sizeof path, "%s/%s-built", temp_folder(), v->name);
    int code = run_command(&out, "%s/lathe build %s -o %s", build ? build : "build", v->build, path);
    expect(code == 0, "%s is not built: %s", v->name, out);
    strcat(path, "/trainer");
    return code == 0 ? realpath(path, NULL) : NULL;
}

static void write_data_of(const Victim *v)
{
    snprintf(data, sizeof data, "%s/%s.%s", temp_folder(), v->name,
             v->write_data == write_table   ? "csv"
             : v->write_data == write_pairs ? "tsv"
                                            : "txt");
    snprintf(run, sizeof run, "%s/%s-run", temp_folder(), v->name);
    snprintf(whole, sizeof whole, "%s/%s-whole", temp_folder(), v->name);
    FILE *f = fopen(data, "w");
    v->write_data(f);
    fclose(f);
}

static void kill_often(const Victim *v, int kills)
{
    char *out;
    int runs = 0, resumed = 0, undone = 0;
    Rng r = rng_of(11);
    write_data_of(v);
    if (!(trainer = trainer_of(v))) return;
    int code = run_command(&out, "%s train --data %s --steps 60 --out %s --save-every 60", trainer, data, whole);
    expect(code == 0, "the undisturbed run of %s: %s", v->name, out);
    if (code != 0) return;
    for (int k = 0; k < kills;) {
        if (!one_kill(&r, &resumed, &undone)) {
            k++;
            continue;
        }
        compare_whole();
        runs++;
        if (run_command(NULL, "rm -rf %s", run) != 0) abort();
    }
    finish_run();
    printf("note: %s: %d kills, %d followed by a resume, %d in the midst of a save or removal; %d runs to their end\n",
           v->name, kills, resumed, undone, runs + 1);
    expect(resumed >= kills / 2, "only %d resumes of %s", resumed, v->name);
    expect(undone > 0, "no kill of %s has fallen into a save", v->name);
}

int main(void)
{
    if (!trainer_of(victims)) skip_test("build/toy_model is not built");
    setenv("OMP_WAIT_POLICY", "passive", 1);
    if (!long_run()) kill_often(victims, 20);
    for (int i = 0; long_run() && i < COUNT_OF(victims); i++) kill_often(&victims[i], 400);
    return finish();
}
