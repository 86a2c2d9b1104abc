/* test_waits.c: the warning of a run that waits for its data, by a clock that the test sets: none while steps settle or
 * where little is waited, one where a fifth of the time is, the next a minute later. */
#include "base/words.h"
#include "data/data.h"
#include "trainer/report.h"
#include "trainer/step.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static double now = 1000; /* s */

int clock_gettime(clockid_t which, struct timespec *t)
{
    (void)which;
    *t = (struct timespec){(time_t)now, (long)((now - (double)(time_t)now) * 1e9)};
    return 0;
}

/* Steps of a tenth of a second, `waited` of it; how many lines of stderr speak of waiting. */
static int warnings(Report *r, int64_t from, int64_t steps, double waited, char *last)
{
    char line[1000];
    int n = 0, before = dup(2);
    FILE *said = tmpfile();
    fflush(stderr);
    dup2(fileno(said), 2);
    for (int64_t i = 1; i <= steps; i++) {
        now += 0.1;
        report_step(r, from + i, (Step){.loss = 1, .data_wait = waited});
    }
    fflush(stderr);
    dup2(before, 2);
    rewind(said);
    while (fgets(line, sizeof line, said))
        if (strstr(line, "waiting for data")) n++, strcpy(last, line);
    fclose(said);
    close(before);
    return n;
}

static int failures;

static void expect(const char *what, int found, int wanted)
{
    if (found == wanted) return;
    printf("FAILED: %s: %d warnings, expected %d\n", what, found, wanted);
    failures++;
}

int main(void)
{
    const Lathe_entry train = {.name = "train", .rows = 1};
    Lathe_model model = {.entries = 1, .entry = &train, .recipe.accumulate = 1};
    Trainer t = {.model = &model, .recipe.log_every = 1000000};
    Epochs e = {.readers = 3};
    Reading reading = {.model = &model, .gpus = 1};
    Data d = {.epochs = &e, .reading = &reading};
    Report r = {.t = &t, .data = &d, .steps = 100000, .every = 1000000, .first = 100, .last_step = now};
    char line[1000] = "";
    expect("the first steps, all of them waiting", warnings(&r, 100, 19, 0.09, line), 0);
    expect("then", warnings(&r, 119, 1, 0.09, line), 1);
    if (!strstr(line, "step 120: 90 % of the time is spent waiting for data; give more --readers (3 now)"))
        failures++, printf("FAILED: %s", line);
    expect("no other within a minute", warnings(&r, 120, 599, 0.09, line), 0);
    expect("but after it", warnings(&r, 719, 10, 0.09, line), 1);
    expect("little is waited, after all that",
           (warnings(&r, 729, 200, 0.01, line), warnings(&r, 929, 5000, 0.01, line)), 0);
    expect("just below a fifth", warnings(&r, 5929, 5000, 0.0199, line), 0);
    expect("a fifth, for three minutes", warnings(&r, 10929, 1800, 0.021, line), 3);
    d.epochs = NULL; /* windows are mapped: nobody waits */
    expect("windows", warnings(&r, 12729, 1000, 0.09, line), 0);
    if (!failures) printf("ok\n");
    return failures != 0;
}
