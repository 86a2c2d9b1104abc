/* table.c: what a sweep tells: a line as each run ends; at the end a table, the same as a file, and how the best is
 * trained again. */
#include "desc/target.h"
#include "runtime/base/file.h"
#include "runtime/base/words.h"
#include "sweep/sweep.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ a run */

static const char *first_line_of(const char *message)
{
    return message ? copy_bytes_as_string(message, strcspn(message, "\n")) : "";
}

void say_run(const Sweep *s, int trial, int seed, int rung)
{
    const Outcome *o = &s->trial[trial].run[seed][rung];
    const char *which = s->seeds > 1 ? format(", seed %lld", (long long)s->seed + seed) : "";
    show(stderr, "trial %d of %lld%s: %s | ", trial + 1, (long long)s->trials, which,
         settings_text(s, &s->trial[trial]));
    if (o->how == DONE) show(stderr, "%s %.4f", s->metric, o->value);
    else show(stderr, "%s", o->how == DIVERGED ? "diverged" : first_line_of(o->message));
    if (o->steps) show(stderr, " after %lld steps, %.1f s", (long long)o->steps, o->seconds);
    fputc('\n', stderr);
}

/* ------------------------------------------------------------------ rows */

typedef struct Row {
    int trial, rung; /* the last that has ended; -1: none has */
    double score, mean, spread, seconds;
    const char *state, *message;
    int64_t steps;
} Row;

static const char *state_of(const Sweep *s, const Row *r)
{
    static const char *const words[] = {[DIVERGED] = "diverged", [FAILED] = "failed", [TOO_LARGE] = "too large"};
    const Sweep_trial *t = &s->trial[r->trial];
    for (int k = 0; k < s->seeds; k++)
        if (t->run[k][r->rung].how != DONE) return words[t->run[k][r->rung].how];
    if (r->rung == s->rungs - 1) return "done";
    return t->rung == r->rung ? "stopped" : "unfinished";
}

static Row row_of(const Sweep *s, int trial)
{
    Row r = {.trial = trial, .rung = s->rungs - 1, .score = INFINITY};
    while (r.rung >= 0 && !has_ended(s, trial, r.rung)) r.rung--;
    if (r.rung < 0) return r;
    r.score = score_of(s, trial, r.rung);
    r.mean = mean_of(s, trial, r.rung, &r.spread);
    r.state = state_of(s, &r);
    for (int k = 0; k < s->seeds; k++) {
        const Outcome *o = &s->trial[trial].run[k][r.rung];
        if (o->how != DONE && !r.message) r.message = o->message;
        r.steps = max64(r.steps, o->steps);
        for (int i = 0; i <= r.rung; i++) r.seconds += s->trial[trial].run[k][i].seconds;
    }
    return r;
}

/* Those that went farther first; of these the better; then the lower number. */
static int by_rank(const void *a, const void *b)
{
    const Row *x = a, *y = b;
    bool fine = isfinite(x->score), other = isfinite(y->score);
    if (fine != other) return fine ? -1 : 1;
    if (x->rung != y->rung && fine) return x->rung > y->rung ? -1 : 1;
    if (x->score != y->score) return x->score < y->score ? -1 : 1;
    return x->trial - y->trial;
}

static Row *ranked_rows(const Sweep *s, int *n)
{
    Row *rows = NEW_ARRAY(Row, s->trials + 1);
    *n = 0;
    for (int i = 0; i < s->trials; i++) {
        Row r = row_of(s, i);
        if (r.rung >= 0) rows[(*n)++] = r;
    }
    qsort(rows, (size_t)*n, sizeof *rows, by_rank);
    return rows;
}

/* ------------------------------------------------------------------ the table */

typedef VEC(Texts) Cells; /* of rows, the first has the headings */

static const char *metric_text(const Row *r, double value, bool exact)
{
    return !isfinite(r->score) ? "" : exact ? format("%.9g", value) : format("%.4f", value);
}

static Texts headings(const Sweep *s, bool file)
{
    Texts t = {0};
    push(&t, "trial");
    for (int i = 0; i < s->over.n; i++) push(&t, s->over.at[i].key);
    if (s->seeds > 1 || file) push(&t, "seeds");
    push(&t, s->metric);
    if (s->seeds > 1 || file) push(&t, "spread");
    push(&t, "steps");
    push(&t, "state");
    push(&t, "seconds");
    if (file) push(&t, "message");
    return t;
}

static Texts cells_of(const Sweep *s, const Row *r, bool file)
{
    Texts t = {0};
    push(&t, format("%d", r->trial + 1));
    for (int i = 0; i < s->over.n; i++) push(&t, s->trial[r->trial].value[i]);
    if (s->seeds > 1 || file) push(&t, format("%lld", (long long)s->seeds));
    push(&t, metric_text(r, r->mean, file));
    if (s->seeds > 1 || file) push(&t, s->seeds > 1 ? metric_text(r, r->spread, file) : "");
    push(&t, format("%lld", (long long)r->steps));
    push(&t, r->state);
    push(&t, format("%.1f", r->seconds));
    if (file) push(&t, r->message ? r->message : "");
    return t;
}

static Cells all_cells(const Sweep *s, const Row *rows, int n, bool file)
{
    Cells c = {0};
    push(&c, headings(s, file));
    for (int i = 0; i < n; i++) push(&c, cells_of(s, &rows[i], file));
    return c;
}

static int widest(const Cells *c, int column)
{
    size_t most = 0;
    for (int i = 0; i < c->n; i++)
        if (strlen(c->at[i].at[column]) > most) most = strlen(c->at[i].at[column]);
    return (int)most;
}

/* The last cells of a row that are empty take no room. */
static void print_row(const Cells *c, int i)
{
    const Texts *row = &c->at[i];
    int last = row->n - 1;
    while (last > 0 && !*row->at[last]) last--;
    for (int k = 0; k < last; k++) {
        print_padded(stdout, row->at[k], widest(c, k));
        show(stdout, "  ");
    }
    show(stdout, "%s\n", row->at[last]);
}

/* Whole, as they have commands to copy: below the table, which they would make wide. */
static void print_messages(const Row *rows, int n)
{
    bool some = false;
    for (int i = 0; i < n; i++) {
        if (!rows[i].message) continue;
        if (!some) show(stdout, "\n");
        some = true;
        show(stdout, "trial %d:", rows[i].trial + 1);
        for (const char *at = rows[i].message; *at; at += strspn(at, "\n")) {
            int line = (int)strcspn(at, "\n");
            show(stdout, "%s%.*s\n", at == rows[i].message ? " " : "  ", line, at);
            at += line;
        }
    }
}

/* As RFC 4180 has it, but for the ends of lines. */
static const char *csv_cell(const char *text)
{
    Text t = {0};
    if (!text[strcspn(text, ",\"\r\n")]) return text;
    say(&t, "\"");
    for (; *text; text++) say(&t, *text == '"' ? "\"\"" : "%c", *text);
    say(&t, "\"");
    return t.at;
}

static void write_csv(const Sweep *s, const Cells *c)
{
    Text t = {0};
    Fault f = {0};
    for (int i = 0; i < c->n; i++)
        for (int k = 0; k < c->at[i].n; k++) say(&t, "%s%s", csv_cell(c->at[i].at[k]), k + 1 < c->at[i].n ? "," : "\n");
    if (!replace_text(format("%s/sweep.csv", s->folder), t.at, &f))
        fail(EXIT_DATA, f.path, "%s; %s", f.text, room_remedy(f.number));
}

/* ------------------------------------------------------------------ the end */

static const char *training_command(const Sweep *s, int trial)
{
    Text t = {0};
    Options o = *s->options;
    if (!o.target->device) o.target = NULL; /* the processor needs no word */
    say(&t, "lathe train %s%s", shell_quoted(s->model), options_text(&o, OTHER_PROGRAM));
    if (o.memory) say(&t, " --memory %s", shell_quoted(o.memory));
    for (int i = 0; i < s->over.n; i++)
        say(&t, " --set %s", shell_quoted(format("%s=%s", s->over.at[i].key, s->trial[trial].value[i])));
    for (int i = 0; i < s->for_run.n; i++) say(&t, " --set %s", shell_quoted(s->for_run.at[i]));
    for (int i = 0; i < s->words.n; i++) say(&t, " %s", shell_quoted(s->words.at[i]));
    if (s->halving && s->steps != s->desc->recipe.steps) say(&t, " --steps %lld", (long long)s->steps);
    say(&t, " --seed %lld", (long long)s->seed);
    return t.at;
}

static void tell_best(const Sweep *s, const Row *best)
{
    const char *spread = s->seeds > 1 ? format(" ± %.4f over %lld seeds", best->spread, (long long)s->seeds) : "";
    show(stdout, "\nthe best is trial %d, %s: %s %.4f%s; its run is in %s, and this trains it again:\n  %s\n",
         best->trial + 1, settings_text(s, &s->trial[best->trial]), s->metric, best->mean, spread,
         trial_folder(s, best->trial, 0), training_command(s, best->trial));
}

/* The command that draws the best runs in one page. */
static void tell_report(const Sweep *s, const Row *rows, int n)
{
    enum { DRAWN = 8 };
    Text t = {0};
    for (int i = 0; i < n && i < DRAWN && isfinite(rows[i].score); i++)
        say(&t, " %s", shell_quoted(trial_folder(s, rows[i].trial, 0)));
    show(stdout, "\nthis draws the best in one page:\n  lathe report%s -o %s\n", t.at,
         shell_quoted(format("%s/report.html", s->folder)));
}

/* Where all have failed, the command line may be wrong: the next one, or the same, begins again. */
static _Noreturn void refuse_all(const Sweep *s, const Row *rows, int n)
{
    bool all = true;
    for (int i = 0; i < n; i++) all &= same(rows[i].state, "failed");
    if (all) forget_outcomes(s);
    fail(EXIT_ERROR, s->folder, "no trial has a result; of trial %d: %s", rows[0].trial + 1,
         rows[0].message ? rows[0].message : rows[0].state);
}

int end_sweep(const Sweep *s)
{
    int n;
    const Row *rows = ranked_rows(s, &n);
    const Cells shown = all_cells(s, rows, n, false), file = all_cells(s, rows, n, true);
    for (int i = 0; i < shown.n; i++) print_row(&shown, i);
    print_messages(rows, n);
    write_csv(s, &file);
    if (n && isfinite(rows[0].score)) {
        tell_report(s, rows, n);
        tell_best(s, &rows[0]);
    }
    fflush(stdout);
    if (sweep_signal) {
        show(stderr, "interrupted: the table has what has ended; the same command goes on\n");
        return 128 + sweep_signal;
    }
    if (n && isfinite(rows[0].score)) return 0;
    refuse_all(s, rows, n);
}
