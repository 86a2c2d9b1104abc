/* verify.c: `trainer verify`: computes steps of a run again, from its nearest checkpoint, and compares what comes out
 * with the run's hashes (hashes.c); a run without them, with its losses and checkpoints.  It writes nothing. */
#include "base/json_text.h"
#include "base/process.h"
#include "base/words.h"
#include "interface/given.h"
#include "model/run.h"
#include "model/tables.h"
#include "step/average.h"
#include "step/growth.h"
#include "trainer/state.h"
#include "trainer/verify.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

void differs_at(Verify *v, int64_t step, const char *what, const char *fmt, ...)
{
    va_list args;
    char *text;
    size_t bytes;
    FILE *f = print_to(&text, &bytes);
    va_start(args, fmt);
    vfprintf(f, fmt, args);
    va_end(args);
    end_print(f);
    json_t *all = json_object();
    put_json(all, "step", step < 0 ? json_null() : json_integer(step));
    put_json(all, "what", json_string(what));
    put_json(all, "text", word_json(text));
    add_json(v->differences, all);
    if (v->asked->json) return free(text);
    if (step < 0) show(stdout, "differs: %s: %s\n", what, text);
    else show(stdout, "differs at step %lld: %s: %s\n", (long long)step, what, text);
    fflush(stdout);
    free(text);
}

static bool same_so_far(const Verify *v, size_t before) { return json_array_size(v->differences) == before; }

/* ------------------------------------------------------------------ a step against its record */

static double number_of_bits(const json_t *digits)
{
    const char *text = json_string_value(digits);
    uint64_t bits = text ? strtoull(text, NULL, 16) : 0;
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* A number, or one of each turn. */
static char *bits_text(const json_t *value)
{
    if (!json_is_array(value)) return text_of("%.17g", number_of_bits(value));
    char *all = text_of("%s", "");
    for (size_t i = 0; i < json_array_size(value); i++)
        all = text_of("%s%s%.17g", all, i ? ", " : "", number_of_bits(json_array_get(value, i)));
    return all;
}

static const char *line_of_loss(const Lathe_entry *e)
{
    const char *where = "";
    for (int k = 0; k < e->kernels; k++)
        if (!e->kernel[k].backward && *e->kernel[k].where) where = e->kernel[k].where;
    return where;
}

static char *names_of_inputs(const Lathe_entry *e)
{
    char *all = text_of("%s", "");
    for (const Lathe_tensor *i = e->input; i < e->input + e->inputs; i++)
        if (lathe_is_given(i->role)) all = text_of("%s%s%s", all, *all ? ", " : "", i->name);
    return all;
}

static bool is_another(const json_t *was, const json_t *now, const char *name)
{
    const json_t *a = json_object_get(was, name), *b = json_object_get(now, name);
    return a && !json_equal(a, b);
}

static void compare_bits(Verify *v, const char *name, const json_t *was, const json_t *now, const char *of)
{
    if (!is_another(was, now, name)) return;
    const int64_t step = json_integer_value(json_object_get(now, "step"));
    char *a = bits_text(json_object_get(was, name)), *b = bits_text(json_object_get(now, name));
    differs_at(v, step, name, "%s is %s here, and was %s%s", of, b, a,
               is_another(was, now, "batch") ? "" : "; the batch is the same");
    free(a);
    free(b);
}

static void compare_step(Verify *v, const Lathe_entry *e, const json_t *was, const json_t *now)
{
    const int64_t step = json_integer_value(json_object_get(now, "step"));
    if (is_another(was, now, "rows"))
        differs_at(v, step, "rows", "other rows are taken: the seed, or the number of rows of the data, is another");
    if (is_another(was, now, "batch"))
        differs_at(v, step, "batch", "the inputs (%s) are not those of the run%s", names_of_inputs(e),
                   is_another(was, now, "rows")   ? ""
                   : json_object_get(was, "rows") ? ": the same rows have other contents"
                                                  : "");
    const char *where = line_of_loss(e);
    char *loss = *where ? text_of("the loss (%s)", where) : text_of("the loss");
    compare_bits(v, "loss", was, now, loss);
    compare_bits(v, "norm", was, now, "the norm of the gradient");
    tell_changed_tensors(v, step, was, now);
    v->tensors += json_object_get(was, "each") != NULL;
    free(loss);
}

static const Lathe_entry *compute_step(Verify *v, int64_t step)
{
    Training *r = &v->run;
    const Lathe_entry *e = train_for_step(&r->turns, r->t->model, step);
    if (!fill_step(&r->data, e, r->memory.call, step))
        fail(EXIT_DATA, NULL, "the data ends before step %lld; give the run's own with --data", (long long)step + 1);
    set_scalars(e, r->memory.call, r->t->seed, step, 0);
    begin_record(&v->recorder, e, r->memory.call, step);
    for (int k = 0; k < r->turns.n; k++) {
        if (!turn_is_due(&r->turns.at[k], step)) continue;
        Step s = take_turn(r->t, &r->turns.at[k], &r->memory, step);
        record_turn(&v->recorder, &s);
    }
    r->at.step = step + 1;
    v->compared++;
    return e;
}

/* ------------------------------------------------------------------ an evaluation */

static Scores scores_now(Verify *v)
{
    Training *r = &v->run;
    const Optimizer *o = &r->turns.at[0].optimizer;
    if (o->average) show_averages(o, r->memory.params, r->memory.grads);
    Scores s = evaluate(&r->data, &r->memory, r->t, r->t->recipe.eval_rows);
    add_rouge(&s, r->texts, r->at.step);
    add_task_metric(&s, &r->data, &r->memory, r->t);
    if (o->average) show_trained(o, r->memory.params, r->memory.grads);
    return s;
}

static void compare_scores(Verify *v, const json_t *was, int64_t step)
{
    Scores s = scores_now(v);
    json_t *all = scores_record(&s, step), *now = json_object_get(all, "scores"),
           *before = json_object_get(was, "scores"), *value;
    const char *name;
    v->evaluations++;
    json_object_foreach(before, name, value)
    {
        if (json_equal(value, json_object_get(now, name))) continue;
        differs_at(v, step, "evaluation", "%s is %.17g here, and was %.17g", name,
                   number_of_bits(json_object_get(now, name)), number_of_bits(value));
        break;
    }
    json_decref(all);
}

/* ------------------------------------------------------------------ all steps */

static bool has_checkpoint(const Verify *v, int64_t step)
{
    char *path = checkpoint_path(v->folder, step), *state = text_of("%s/state.json", path);
    bool there = access(state, F_OK) == 0;
    free(path);
    free(state);
    return there;
}

static void follow_chain(Verify *v)
{
    const size_t before = json_array_size(v->differences);
    for (int64_t i = v->next; i < v->chain.n && v->chain.link[i].step <= v->last && same_so_far(v, before); i++) {
        const Link *l = &v->chain.link[i];
        json_t *was = link_json(l);
        if (strcmp(l->split, "train") == 0) {
            if (l->step != v->run.at.step + 1) {
                json_decref(was);
                break;
            }
            const Lathe_entry *e = compute_step(v, v->run.at.step);
            json_t *now = step_record(&v->recorder);
            compare_step(v, e, was, now);
            if (same_so_far(v, before) && has_checkpoint(v, l->step)) compare_checkpoint(v, l->step);
            json_decref(now);
        } else if (strcmp(l->split, "val") == 0 && v->run.evaluates && l->step == v->run.at.step) {
            compare_scores(v, was, l->step);
        }
        json_decref(was);
    }
    if (same_so_far(v, before) && v->run.at.step < v->last)
        fail(EXIT_DATA, v->folder, "the chain has no record of step %lld, which the run could not write",
             (long long)v->run.at.step + 1);
}

/* metrics.jsonl has losses in nine digits; null is one that is not finite. */
static bool is_printed(double x, const json_t *printed)
{
    char text[40];
    snprintf(text, sizeof text, "%.9g", x);
    if (!json_is_number(printed)) return json_is_null(printed) && !isfinite(x);
    return strtod(text, NULL) == json_number_value(printed);
}

static void compare_line(Verify *v, const json_t *line, double loss)
{
    const json_t *was = json_object_get(line, "loss");
    if (!is_printed(loss, was))
        differs_at(v, v->run.at.step, "loss", "%.9g here, and %.9g in metrics.jsonl", loss, json_number_value(was));
}

static double loss_of_record(const json_t *record)
{
    const json_t *loss = json_object_get(record, "loss"), *one;
    double sum = 0;
    size_t i;
    if (!json_is_array(loss)) return number_of_bits(loss);
    json_array_foreach(loss, i, one) sum += number_of_bits(one);
    return sum;
}

/* A step, and the checkpoint behind it.  Returns the loss. */
static double follow_step(Verify *v, size_t before)
{
    compute_step(v, v->run.at.step);
    json_t *now = step_record(&v->recorder);
    const double loss = loss_of_record(now);
    json_decref(now);
    if (same_so_far(v, before) && has_checkpoint(v, v->run.at.step)) compare_checkpoint(v, v->run.at.step);
    return loss;
}

/* Up to the step of a line of metrics.jsonl, if it is of the piece; true: its loss was compared. */
static bool follow_line(Verify *v, const json_t *line, size_t before)
{
    const char *split = json_string_value(json_object_get(line, "split"));
    const int64_t step = json_integer_value(json_object_get(line, "step"));
    double loss = NAN;
    if (!split || strcmp(split, "train") != 0 || step > v->last || step <= v->run.at.step) return false;
    while (v->run.at.step < step && same_so_far(v, before)) loss = follow_step(v, before);
    if (v->run.at.step == step) compare_line(v, line, loss);
    return true;
}

static void follow_metrics(Verify *v)
{
    char *path = text_of("%s/metrics.jsonl", v->folder), *line = NULL;
    size_t room = 0;
    const size_t before = json_array_size(v->differences);
    const int64_t checkpoints = v->checkpoints; /* one where the piece begins */
    ssize_t n;
    bool compared = false;
    FILE *f = open_stream_to_read(path);
    while (f && same_so_far(v, before) && (n = getline(&line, &room, f)) > 0) {
        json_t *all = json_loadb(line, (size_t)n, 0, NULL);
        compared |= follow_line(v, all, before);
        json_decref(all);
    }
    while (same_so_far(v, before) && v->run.at.step < v->last) (void)follow_step(v, before);
    if (f) fclose(f);
    free(line);
    free(path);
    if (!compared && v->checkpoints == checkpoints && same_so_far(v, before))
        fail(EXIT_DATA, v->folder,
             "nothing to compare: of these steps, metrics.jsonl has no loss, and no checkpoint is there");
}

/* ------------------------------------------------------------------ the command */

static void tell_start(const Verify *v)
{
    if (v->asked->json) return;
    if (v->goes_on) show(stdout, "from step %lld on the run had other settings or data\n", (long long)v->first);
    show(stdout, "%s: steps %lld to %lld, computed from %s\n", v->folder, (long long)v->first, (long long)v->last,
         v->checkpoint  ? v->checkpoint
         : v->first > 1 ? "the initial weights, as no earlier checkpoint is there"
                        : "the initial weights");
    if (v->unknown && v->unknown <= v->last)
        show(stdout,
             "the run was resumed after step %lld, and its checkpoint there is gone: if it had other settings before, "
             "steps up to there differ\n",
             (long long)v->unknown);
    if (v->chained && !v->goes_on)
        show(stdout, "the chain of hashes is whole: %s lines, the last hash is %s%s\n", grouped_text(v->chain.n),
             v->chain.last, v->chain.cut ? "; behind it is half a line, as a kill leaves it" : "");
    if (!v->chained && !v->goes_on)
        show(stdout, "the run has no hashes (--log-hashes): its losses, to the nine digits of metrics.jsonl, and its "
                     "checkpoints are compared\n");
    fflush(stdout);
}

static char *counted(int64_t n, const char *one, const char *more)
{
    return n ? text_of("; %s %s", grouped_text(n), n == 1 ? one : more) : text_of("%s", "");
}

/* Whether a difference is one of a step. */
static bool of_steps(const Verify *v)
{
    const json_t *one;
    size_t i;
    json_array_foreach(v->differences, i, one) if (json_is_integer(json_object_get(one, "step"))) return true;
    return false;
}

static void tell_end(const Verify *v)
{
    bool same = json_array_size(v->differences) == 0;
    if (v->asked->json) {
        json_t *all = json_pack("{s:b, s:I, s:[I, I], s:I, s:o}", "same", same, "from", (json_int_t)v->from, "steps",
                                (json_int_t)v->first, (json_int_t)v->last, "compared", (json_int_t)v->compared,
                                "hashes", json_boolean(v->chained));
        put_json(all, "checkpoints", json_integer(v->checkpoints));
        put_json(all, "evaluations", json_integer(v->evaluations));
        put_json(all, "differences", json_incref(v->differences));
        print_json(all);
        return;
    }
    char *steps = text_of("steps %lld to %lld", (long long)v->from + 1, (long long)(v->from + v->compared));
    if (same)
        show(stdout, "same: %s%s%s%s\n", steps,
             counted(v->tensors, "hash of all parameters", "hashes of all parameters"),
             counted(v->evaluations, "evaluation", "evaluations"),
             counted(v->checkpoints, "checkpoint", "checkpoints"));
    else if (!of_steps(v) && v->compared) show(stdout, "%s are the same: what differs does not reach them\n", steps);
    else if (v->compared > 1) show(stdout, "%s were computed; those before are the same\n", steps);
}

/* A chain is synced before a checkpoint is saved.  Asked for a piece of it, what is behind does not matter. */
static void compare_end(Verify *v)
{
    const int64_t newest = newest_checkpoint(v->folder, INT64_MAX), last = v->chain.link[v->chain.n - 1].step;
    if (v->asked->range || newest <= last) return;
    differs_at(v, -1, "chain",
               "it ends at step %lld, and a checkpoint of step %lld is there: lines at its end are missing",
               (long long)last, (long long)newest);
}

/* Whatever is not as it was is said, and the steps are computed until one differs. */
static void verify_piece(Verify *v)
{
    Training *r = &v->run;
    if (v->chained) compare_files(v);
    if (v->chained) compare_end(v);
    prepare_training(r, &v->trains);
    const int64_t every = json_integer_value(json_object_get(v->said, "every"));
    open_recorder(&v->recorder, r->t, &r->data, &r->memory, &r->turns, every < 1 ? 1 : every);
    compare_head(v);
    if (!compare_start(v)) return;
    if (v->chained) follow_chain(v);
    else follow_metrics(v);
}

static int verify_part(Verify *v)
{
    tell_start(v);
    take_command(v);
    verify_piece(v);
    tell_end(v);
    const bool same = json_array_size(v->differences) == 0;
    if (!same && v->last < v->end && !v->asked->json)
        show(stdout, "from step %lld on the run had other settings or data: these steps were not computed\n",
             (long long)v->last + 1);
    close_recorder(&v->recorder);
    return same ? 0 : EXIT_DIFFERS;
}

/* The memory of a part is gone before the next one takes its own. */
static int verify_part_in_process(Verify *v)
{
    int status;
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) exit(end_process("trainer", verify_part(v)));
    if (child < 0 || waitpid(child, &status, 0) < 0)
        fail(EXIT_ERROR, NULL, "cannot start a process: %s", error_text(errno));
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* A run that was resumed with other settings or data has parts, each with a head of its own in the chain. */
static void refuse_ranks(const Trainer *t)
{
    const int64_t newest = t->out ? newest_checkpoint(t->out, INT64_MAX) : -1;
    if (newest < 0) return;
    json_t *state = json_load_file(text_of("%s/state.json", checkpoint_path(t->out, newest)), 0, NULL);
    if (ranks_of_state(state) > 1)
        fail(EXIT_USAGE, t->out, "the run had %lld ranks; verify computes steps of one rank alone",
             (long long)ranks_of_state(state));
    json_decref(state);
}

int verify_command(Trainer *t)
{
    static Verify v;
    int code = 0;
    refuse_ranks(t);
    if (t->model->device)
        fail(EXIT_USAGE, NULL,
             "verify is for processors: a GPU's bits are those of its kind alone; build with --target cpu");
    keep_quiet();
    for (bool more = true; more && code == 0;) {
        v.asked = t;
        v.folder = t->out;
        v.differences = json_array();
        find_piece(&v);
        more = v.last < v.end;
        code = more ? verify_part_in_process(&v) : verify_part(&v);
        t->range = text_of("%lld..%lld", (long long)v.last + 1, (long long)v.end);
        close_chain(&v.chain);
        json_decref(v.said);
        json_decref(v.differences);
        v = (Verify){.goes_on = true};
    }
    return code;
}
