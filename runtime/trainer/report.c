/* report.c: the output of a run: the progress line on stderr, and config.json and metrics.jsonl in its folder. */
#include "base/file.h"
#include "base/json_text.h"
#include "base/words.h"
#include "data/data.h"
#include "data/stream.h"
#include "interface/lathe_model.h"
#include "model/block.h"
#include "model/tables.h"
#include "step/entry.h"
#include "step/state.h"
#include "trainer/about.h"
#include "trainer/eval.h"
#include "trainer/knobs.h"
#include "trainer/logs.h"
#include "trainer/ranks.h"
#include "trainer/report.h"
#include "trainer/step.h"
#include "trainer/trainer.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <omp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ------------------------------------------------------------------ the folder */

static json_t *knobs_json(const Lathe_model *m)
{
    json_t *all = json_object();
    for (int i = 0; i < m->knobs; i++) put_json(all, m->knob[i][0], word_json(m->knob[i][1]));
    return all;
}

static json_t *words_json(const Words *w)
{
    json_t *all = json_array();
    for (int i = 0; i < w->n; i++) add_json(all, word_json(w->at[i]));
    return all;
}

static void write_config(const Trainer *t, const char *path)
{
    const Lathe_model *m = t->model;
    json_t *all = json_object();
    put_json(all, "model", word_json(m->name));
    put_json(all, "config", m->config ? word_json(m->config) : json_null());
    put_json(all, "precision", word_json(m->precision));
    put_json(all, "source_hash", word_json(m->source_hash));
    put_json(all, "built_with", knobs_json(m));
    json_t *recipe = recipe_json(&t->recipe);
    if (m->direction.name) put_json(recipe, "optimizer", word_json(m->direction.name)); /* the other is for the rest */
    put_json(all, "recipe", recipe);
    put_json(all, "data", words_json(&t->data));
    if (t->val_data.n) put_json(all, "val_data", words_json(&t->val_data));
    put_json(all, "weights", t->weights ? word_json(t->weights) : json_null());
    put_json(all, "seed", json_integer(t->seed));
    put_json(all, "threads", json_integer(omp_get_max_threads()));
    char *text = json_written(all, JSON_INDENT(1) | JSON_REAL_PRECISION(15));
    char *lines = text_of("%s\n", text);
    Fault f = {0};
    if (!replace_text(path, lines, &f))
        fail(EXIT_DATA, path, "%s; %s or choose another folder with --out", f.text, room_remedy(f.number));
    free(text);
    free(lines);
    json_decref(all);
}

/* ------------------------------------------------------------------ metrics.jsonl */

/* Whether a line is complete and belongs to the steps and evaluations that a run has done. */
static bool is_kept(const char *line, size_t n, const Progress *at)
{
    json_t *all = line[n - 1] == '\n' ? json_loadb(line, n, 0, NULL) : NULL;
    const json_t *step = json_object_get(all, "step");
    const char *split = json_string_value(json_object_get(all, "split"));
    bool late = split && (strcmp(split, "val") == 0 || strcmp(split, "sample") == 0);
    int64_t last = late ? at->evaluated : at->step;
    bool kept = json_is_integer(step) && json_integer_value(step) <= last;
    json_decref(all);
    return kept;
}

/* Copies the lines up to a resumed run's checkpoint: a killed run may have left more, and half a line. */
static void copy_metrics(const char *from, Out *to, const Progress *at)
{
    char *line = NULL;
    size_t room = 0;
    ssize_t n;
    FILE *f = from ? open_stream_to_read(from) : NULL;
    while (f && (n = getline(&line, &room, f)) > 0)
        if (is_kept(line, (size_t)n, at)) put_out(to, line, (size_t)n);
    if (f ? !feof(f) : from && errno != ENOENT) set_fault(to->fault, from, "read");
    if (f) fclose(f);
    free(line);
}

static void start_metrics(Report *r, const char *from, const Progress *at)
{
    char *aside = text_of("%s.part", r->metrics_path);
    Fault f = {0};
    Out *o = open_out(aside, &f);
    copy_metrics(from, o, at);
    close_out(o);
    replace_file(aside, r->metrics_path, &f);
    if (f.path) fail(EXIT_DATA, f.path, "%s; %s or choose another folder with --out", f.text, room_remedy(f.number));
    r->metrics = open(r->metrics_path, O_WRONLY | O_APPEND | O_CLOEXEC);
    if (r->metrics < 0)
        fail(EXIT_DATA, r->metrics_path, "cannot be written: %s; choose another folder with --out", error_text(errno));
    free(aside);
}

static void put_line(Report *r, char *line)
{
    if (append_whole(r->metrics, line, strlen(line), r->metrics_path, &r->metrics_fault)) add_to_logs(r->logs, line);
    free(line);
}

void open_report(Report *r, const Trainer *t, const Data *d, int64_t items_per_step, const Progress *at,
                 const char *metrics)
{
    *r = (Report){.t = t, .data = d, .items_per_step = items_per_step, .steps = t->recipe.steps, .first = at->step};
    char *config = text_of("%s/config.json", run_folder(t));
    write_config(t, config);
    free(config);
    write_about(t, at);
    r->metrics_path = text_of("%s/metrics.jsonl", run_folder(t));
    start_metrics(r, metrics, at);
    r->logs = open_logs(&(Wanted_logs){t->log, t->metrics_port, t->model->name, run_folder(t), at->elapsed});
    r->on_eval = (On_eval){.command = t->on_eval, .run = run_folder(t)};
    r->tty = isatty(2);
    r->every = t->recipe.log_every ? t->recipe.log_every : 1 + r->steps / 10000;
    print_banner(r);
    r->units = r->epoch.units = units_taken(d, items_before(d, at->step));
    r->last_step = seconds_now();
    r->started = r->last_step - at->elapsed;
    r->epoch.step = at->step;
    r->epoch.started = r->last_step;
}

/* ------------------------------------------------------------------ the progress line */

static char *rate_text(double per_second)
{
    if (per_second >= 1e6) return text_of("%.1fM", per_second / 1e6);
    if (per_second >= 1e4) return text_of("%.1fk", per_second / 1e3);
    return text_of("%.0f", per_second);
}

char *duration_text(double seconds)
{
    int64_t s = (int64_t)(seconds + 0.5);
    if (s >= 3600)
        return text_of("%lld:%02lld:%02lld", (long long)(s / 3600), (long long)(s / 60 % 60), (long long)(s % 60));
    return text_of("%lld:%02lld", (long long)(s / 60), (long long)(s % 60));
}

static double units_per_second(const Report *r) { return r->smooth_units / (r->smooth_ms * 1e-3); }

/* The share of the time between steps that was spent waiting for data that threads read ahead. */
static double data_share(const Report *r) { return r->smooth_ms > 0 ? r->smooth_data * 1e3 / r->smooth_ms : 0; }

static double ranks_share(const Report *r) { return r->smooth_ms > 0 ? r->smooth_ranks * 1e3 / r->smooth_ms : 0; }

static char *progress_text(const Report *r, int64_t done, Step s)
{
    char *data = data_readers(r->data) ? text_of(" | data %.1f %%", 100 * data_share(r)) : text_of("%s", "");
    char *ranks = shares_steps(r->t) ? text_of(" | ranks %.1f %%", 100 * ranks_share(r)) : text_of("%s", "");
    char *turns = turns_text(&r->notes);
    double left = (double)(items_before(r->data, r->steps) - items_before(r->data, done));
    char *line = text_of("step %lld/%lld | loss %.4f%s | %.*f ms%s%s | %s %s/s | ETA %s", (long long)done,
                         (long long)r->steps, s.loss, turns, r->smooth_ms < 10 ? 1 : 0, r->smooth_ms, data, ranks,
                         rate_text(units_per_second(r)), has_tokens(r->data) ? "tok" : item_word(r->data),
                         duration_text(left / r->smooth_items * r->smooth_ms * 1e-3));
    free(data);
    free(ranks);
    free(turns);
    return line;
}

void end_line(Report *r)
{
    if (r->line_open) fputc('\n', stderr);
    r->line_open = false;
}

static bool line_due(const Report *r, int64_t done, double now)
{
    if (done == r->first + 1 || done == r->steps) return true;
    if (r->t->recipe.log_every) return done % r->t->recipe.log_every == 0;
    return now - r->last_line >= (r->tty ? 0.2 : 10);
}

static void show_progress(Report *r, int64_t done, Step s, double now)
{
    note_live_loss(&r->live, s.loss);
    if (!line_due(r, done, now)) return;
    char *line = progress_text(r, done, s);
    if (r->tty && !r->t->recipe.log_every) {
        show_live_line(&r->live, done, r->steps, line);
        r->line_open = true;
    } else {
        show(stderr, "%s\n", line);
    }
    free(line);
    r->last_line = now;
}

/* ------------------------------------------------------------------ what happens in a run */

static char *waits_text(const Report *r)
{
    if (!data_readers(r->data)) return text_of("%s", "");
    if (!r->data->epochs) return text_of(",\"data_wait\":%.4f", data_share(r));
    return text_of(",\"data_wait\":%.4f,\"queue\":%.3f", data_share(r), mixture_fill(r->data->epochs->rows));
}

/* Members after "time" vary with the machine. */
static void write_metrics(Report *r, int64_t done, Step s, double now)
{
    if (done % r->every != 0 && done != 1 && done != r->steps) return;
    if (s.skipped) return; /* its norm is not a number */
    char *data = waits_text(r), *turns = turns_member(&r->notes);
    char *ranks = shares_steps(r->t) ? text_of(",\"ranks_wait\":%.4f", ranks_share(r)) : text_of("%s", "");
    put_line(r, text_of("{\"step\":%lld,\"split\":\"train\",\"loss\":%.9g%s,\"%s\":%.6g,\"%s\":%lld,"
                        "\"time\":%.3f%s%s}\n",
                        (long long)done, s.loss, turns, has_tokens(r->data) ? "tok_s" : "rows_s", units_per_second(r),
                        has_tokens(r->data) ? "tokens" : "rows", (long long)r->units, now - r->started, data, ranks));
    free(data);
    free(ranks);
    free(turns);
}

/* ------------------------------------------------------------------ a loss that jumps */

static void warn_of_waiting(Report *r, int64_t done, double now)
{
    enum { SETTLED = 20, SOON = 5, APART = 60 }; /* steps; seconds from the start, and between two warnings */
    int readers = data_readers(r->data);
    if (!readers || data_share(r) < 0.2 || done - r->first < SETTLED || now - r->started < SOON ||
        now < r->next_data_warning)
        return;
    r->next_data_warning = now + APART;
    report_text(r, "step %lld: %.0f %% of the time is spent waiting for data; give more --readers (%d now)%s",
                (long long)done, 100 * data_share(r), readers,
                r->data->files ? remedy_of_files(r->data->files) : ", or encode the text once: lathe tokenize encode");
}

static void show_pairs(Report *r, const char *of, const Pair_sum *s)
{
    if (s->pairs == 0) return;
    char *text = pairs_text(s, &r->data->epochs->order);
    report_text(r, "%s%s", of, text);
    free(text);
}

static void show_first_pairs(Report *r)
{
    const Epochs *e = r->data->epochs;
    for (int i = 0; i < e->n; i++) {
        const Block *b = mixture_block(e->rows, i);
        if (b) show_pairs(r, "data: the first ", &b->sum);
    }
}

/* JSON has no word for NaN: null is what readers of numbers take for one. */
void report_divergence(Report *r, int64_t step, const char *turn, const Step *s)
{
    json_t *all = json_pack("{s:I, s:s, s:o, s:o, s:o, s:o}", "step", (json_int_t)step, "split", "train", "loss",
                            real_json(s->loss), "lr", real_json(s->rate), "grad_norm", real_json(s->norm), "time",
                            real_json(seconds_now() - r->started));
    if (turn) put_json(all, "turn", word_json(turn));
    put_line(r, text_of("%s\n", json_written(all, JSON_COMPACT | JSON_REAL_PRECISION(9))));
    json_decref(all);
}

/* Times are averaged over about the last twenty steps. */
void report_step(Report *r, int64_t done, Step s)
{
    double now = seconds_now(), ms = (now - r->last_step) * 1e3;
    int64_t n = done - r->first, units = units_taken(r->data, items_before(r->data, done));
    double share = n <= 2 ? 1 : n < 20 ? 1 / (double)(n - 1) : 0.05;
    r->smooth_ms += share * (ms - r->smooth_ms);
    r->smooth_data += share * (s.data_wait - r->smooth_data);
    r->smooth_ranks += share * (s.ranks - r->smooth_ranks);
    r->smooth_units += share * ((double)(units - r->units) - r->smooth_units);
    r->smooth_items +=
        share * ((double)(items_before(r->data, done) - items_before(r->data, done - 1)) - r->smooth_items);
    r->units = units;
    r->spent.data += s.data;
    r->spent.forward += s.forward;
    r->spent.backward += s.backward;
    r->spent.update += s.update;
    r->spent.there += s.there;
    r->spent.ranks += s.ranks;
    r->last_step = now;
    write_metrics(r, done, s, now);
    show_progress(r, done, s, now);
    if (!r->t->model->turns) warn_of_spike(r, done, s.loss);
    warn_of_waiting(r, done, now);
    if (n == 1 && r->data->epochs) show_first_pairs(r);
}

void report_text(Report *r, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    end_line(r);
    vshow(stderr, fmt, args);
    fputc('\n', stderr);
    va_end(args);
    r->last_step = seconds_now();
}

void report_scores(Report *r, int64_t done, const Scores *s)
{
    json_t *line = json_pack("{s:I, s:s}", "step", (json_int_t)done, "split", "val"), *scores = scores_json(s, r->data);
    json_object_update(line, scores);
    char *json = json_written(line, JSON_COMPACT | JSON_REAL_PRECISION(9)), *text;
    put_line(r, text_of("%s\n", json));
    json_decref(scores);
    json_decref(line);
    text = scores_text(s, r->data);
    report_text(r, "eval %lld/%lld | %s", (long long)done, (long long)r->steps, text);
    tell_command(&r->on_eval, done, json);
    free(json);
    free(text);
}

void report_sample(Report *r, int64_t done, const json_t *sample)
{
    json_t *line = json_pack("{s:I, s:s}", "step", (json_int_t)done, "split", "sample");
    const char *text = json_string_value(json_object_get(sample, "text"));
    json_object_set(line, "prompt", json_object_get(sample, "prompt"));
    json_object_set(line, "text", json_object_get(sample, "text"));
    json_object_set(line, "outputs", json_object_get(sample, "outputs")); /* only if there are any */
    char *json = json_written(line, JSON_COMPACT);
    put_line(r, text_of("%s\n", json));
    report_text(r, "sample %lld/%lld | %s", (long long)done, (long long)r->steps, text ? text : "in metrics.jsonl");
    free(json);
    json_decref(line);
}

/* ------------------------------------------------------------------ an epoch */

static Spent spent_since(const Spent *now, const Spent *then)
{
    return (Spent){now->data - then->data,     now->forward - then->forward, now->backward - then->backward,
                   now->update - then->update, now->there - then->there,     now->evaluation - then->evaluation,
                   now->saving - then->saving, now->ranks - then->ranks};
}

/* "forward 30.1 %, backward 60.2 %, update 2.0 %" */
static char *parts_text(const Spent *s, double percent)
{
    if (on_device()) return text_of("steps on the GPU %.1f %%", s->there * percent);
    return text_of("forward %.1f %%, backward %.1f %%, update %.1f %%", s->forward * percent, s->backward * percent,
                   s->update * percent);
}

/* Whether to report an epoch.  A small source of a mixture may end one every few steps, so it is reported after at
 * least a hundred steps. */
static bool is_told(const Report *r, int source, const Stream_sum *sum)
{
    const Epochs *e = r->data->epochs;
    double rows = 100 * source_share(e, source) * (double)r->items_per_step;
    int64_t every = (int64_t)(rows / (double)(sum->rows ? sum->rows : 1)) + 1;
    return e->n == 1 || sum->epoch == 0 || (sum->epoch + 1) % every == 0;
}

/* ,"source":"books"; "" without a mixture */
static char *source_member(const char *path)
{
    json_t *name = path ? word_json(path) : NULL;
    char *quoted = name ? json_written(name, JSON_ENCODE_ANY) : NULL;
    char *member = quoted ? text_of(",\"source\":%s", quoted) : text_of("%s", "");
    json_decref(name);
    free(quoted);
    return member;
}

/* Loss, times and rates are those since the last summary or the start of the program; a token is a target that
 * counts. */
bool report_epoch(Report *r, const Progress *p, int source, const Stream_sum *sum)
{
    if (!is_told(r, source, sum)) return false;
    const char *path = r->data->epochs->n > 1 ? r->data->epochs->source[source].path : NULL;
    char *member = source_member(path), *parts;
    double now = seconds_now(), took = now - r->epoch.started, loss = p->epoch_loss / (double)p->epoch_steps;
    Spent s = spent_since(&r->spent, &r->epoch.spent);
    int64_t places = sum->rows * r->data->seq, number = sum->epoch + 1;
    double rows = (double)(items_before(r->data, p->step) - items_before(r->data, r->epoch.step)) / took;
    double units = (double)(r->units - r->epoch.units) / took, percent = 100 / took;
    parts = parts_text(&s, percent);
    put_line(
        r,
        text_of("{\"step\":%lld,\"split\":\"epoch\",\"epoch\":%lld%s,\"loss\":%.9g,\"documents\":%lld,\"tokens\":%lld,"
                "\"sequences\":%lld,\"predicted\":%lld,\"time\":%.3f,\"tok_s\":%.6g,\"sequences_s\":%.6g,"
                "\"seconds\":{\"data\":%.4f,\"forward\":%.4f,\"backward\":%.4f,\"update\":%.4f,%s\"evaluation\":%.4f,"
                "\"saving\":%.4f}}\n",
                (long long)p->step, (long long)number, member, loss, (long long)sum->documents, (long long)sum->tokens,
                (long long)sum->rows, (long long)sum->predicted, now - r->started, units, rows, s.data, s.forward,
                s.backward, s.update, on_device() ? text_of("\"gpu\":%.4f,", s.there) : "", s.evaluation, s.saving));
    report_text(r,
                "epoch %lld%s%s | loss %.4f | %s documents, %s tokens, %s %s (%.1f %% of positions do not count) | %s "
                "tok/s, %s sequences/s | data %.1f %%, %s, evaluation %.1f %%, saving %.1f %%",
                (long long)number, path ? " of " : "", path ? path : "", loss, grouped_text(sum->documents),
                grouped_text(sum->tokens), grouped_text(sum->rows), item_word(r->data),
                places ? 100 * (1 - (double)sum->predicted / (double)places) : 0.0, rate_text(units), rate_text(rows),
                s.data * percent, parts, s.evaluation * percent, s.saving * percent);
    free(parts);
    show_pairs(r, text_of("epoch %lld | ", (long long)number), &sum->pairs);
    free(member);
    return true;
}

void start_next_epoch(Report *r, int64_t done) { r->epoch = (Epoch_start){seconds_now(), done, r->units, r->spent}; }

void close_report(Report *r)
{
    end_line(r);
    wait_for_command(&r->on_eval);
    if (close(r->metrics) != 0) set_fault(&r->metrics_fault, r->metrics_path, "written");
    close_logs(r->logs);
    if (r->metrics_fault.path) note("%s is not complete: it %s", r->metrics_path, r->metrics_fault.text);
    free(r->metrics_path);
}
