/* test_kill.c: kill -9 at random instants while a run saves every step: every time the newest checkpoint loads, the run
 * goes on from it, and what comes out in the end is, byte for byte, what a run gives that nobody disturbed. 20 kills;
 * 1,000 with LATHE_LONG=1. */
#include "harness.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char *toy;
static char text[300], run[300], whole[300];

static void write_words(void)
{
    FILE *f = fopen(text, "w");
    Rng r = rng_of(3);
    for (int i = 0; i < 12000; i++)
        fputs((const char *[]){"the ", "cat ", "sat ", "on ", "a ", "mat\n"}[below(&r, 6)], f);
    fclose(f);
}

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
        execl(toy, toy, "train", "--data", text, "--out", run, "--save-every", "1", "--keep-last", "3", "--threads",
              threads, resume ? "--resume" : NULL, (char *)NULL);
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
        const char *on = strstr(line, "goes on after step ");
        if (strncmp(line, "run: ", 5) != 0) {
            if (strstr(line, "error:")) printf("    | %s", line);
            continue;
        }
        *after = on ? atoi(on + 19) : -1;
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
    expect(!started || after == before, "goes on after step %d; the newest checkpoint is step-%d", after, before);
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

int main(void)
{
    const char *build = getenv("BUILD");
    char path[300], *out;
    int kills = long_run() ? 1000 : 20, runs = 0, resumed = 0, undone = 0;
    Rng r = rng_of(11);
    snprintf(path, sizeof path, "%s/toy_model", build ? build : "build");
    toy = realpath(path, NULL);
    if (!toy) skip_test("build/toy_model is not built");
    snprintf(text, sizeof text, "%s/text", temp_folder());
    snprintf(run, sizeof run, "%s/run", temp_folder());
    snprintf(whole, sizeof whole, "%s/whole", temp_folder());
    write_words();
    setenv("OMP_WAIT_POLICY", "passive", 1);
    expect(run_command(&out, "%s train --data %s --out %s", toy, text, whole) == 0, "the undisturbed run: %s", out);
    for (int k = 0; k < kills;) {
        if (!one_kill(&r, &resumed, &undone)) {
            k++;
            continue;
        }
        compare_whole();
        runs++;
        if (run_command(NULL, "rm -rf %s", run) != 0) abort();
    }
    while (newest() != 60) { /* the last one to its end */
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
    printf(
        "note: %d kills, %d of them followed by a resume, %d in the midst of a save or removal; %d runs to their end\n",
        kills, resumed, undone, runs + 1);
    expect(resumed >= kills / 2, "only %d resumes", resumed);
    expect(undone > 0, "no kill has fallen into a save");
    return finish();
}
