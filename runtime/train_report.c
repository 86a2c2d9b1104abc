/* train_report.c: how a run shows itself: the progress line on stderr, and config.json and metrics.jsonl in its folder.
 */
#include "trainer.h"

#include <errno.h>
#include <math.h>
#include <omp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

/* ------------------------------------------------------------------ the folder */

static json_t *knobs_json(const Lathe_model *m)
{
    json_t *all = json_object();
    for (int i = 0; i < m->knobs; i++) json_object_set_new(all, m->knob[i][0], json_string(m->knob[i][1]));
    return all;
}

static json_t *words_json(const Words *w)
{
    json_t *all = json_array();
    for (int i = 0; i < w->n; i++) json_array_append_new(all, json_string(w->at[i]));
    return all;
}

static void write_config(const Trainer *t, const char *path)
{
    const Lathe_model *m = t->model;
    json_t *all = json_object();
    json_object_set_new(all, "model", json_string(m->name));
    json_object_set_new(all, "config", m->config ? json_string(m->config) : json_null());
    json_object_set_new(all, "precision", json_string(m->precision));
    json_object_set_new(all, "source_hash", json_string(m->source_hash));
    json_object_set_new(all, "built_with", knobs_json(m));
    json_object_set_new(all, "recipe", recipe_json(&t->recipe));
    json_object_set_new(all, "data", words_json(&t->data));
    json_object_set_new(all, "weights", t->weights ? json_string(t->weights) : json_null());
    json_object_set_new(all, "seed", json_integer(t->seed));
    json_object_set_new(all, "threads", json_integer(omp_get_max_threads()));
    FILE *f = fopen(path, "w");
    bool ok = f && json_dumpf(all, f, JSON_INDENT(2) | JSON_REAL_PRECISION(15)) == 0 && fputc('\n', f) != EOF;
    if (!f || fclose(f) != 0 || !ok)
        fail(EXIT_DATA, path, "cannot be written: %s; free some space or choose another folder with --out",
             error_text(errno));
    json_decref(all);
}

static void print_banner(const Report *r)
{
    const Trainer *t = r->t;
    const Lathe_model *m = t->model;
    const Data *d = r->data;
    const char *unit = d->text ? "tokens" : "rows";
    fprintf(stderr, "%s%s: %s parameters, %s, %d thread%s, %s of memory (%s beside it for the data's tables)\n",
            m->name, config_of(m), grouped_text(m->parameter_count), m->precision, omp_get_max_threads(),
            omp_get_max_threads() == 1 ? "" : "s", bytes_text(m->planned_bytes),
            bytes_text(d->text ? text_heap(d->text) : csv_heap(d->csv)));
    fprintf(stderr, "data: %s %s to train on, %s to evaluate; %s %s a step\n", grouped_text(d->train), unit,
            grouped_text(d->val), grouped_text(r->items_per_step * d->seq), unit);
    bool there = access(text_of("%s/model.safetensors", run_folder(t)), F_OK) == 0;
    fprintf(stderr, "run: %s%s\n", run_folder(t), there ? " (replaces the run that is there)" : "");
}

void open_report(Report *r, const Trainer *t, const Data *d, int64_t items_per_step)
{
    *r = (Report){.t = t, .data = d, .items_per_step = items_per_step, .steps = t->recipe.steps};
    const char *folder = run_folder(t);
    Fault f = {0};
    if (!make_folders(folder, &f)) fail(EXIT_DATA, f.path, "the run folder %s; choose another with --out", f.text);
    char *config = text_of("%s/config.json", folder);
    write_config(t, config);
    free(config);
    r->metrics_path = text_of("%s/metrics.jsonl", folder);
    r->metrics = fopen(r->metrics_path, "w");
    if (!r->metrics)
        fail(EXIT_DATA, r->metrics_path, "cannot be written: %s; choose another folder with --out", error_text(errno));
    setvbuf(r->metrics, NULL, _IOLBF, 1 << 16);
    r->tty = isatty(2);
    r->every = t->recipe.log_every ? t->recipe.log_every : 1 + r->steps / 10000;
    print_banner(r);
    r->started = r->last_step = seconds_now();
}

/* ------------------------------------------------------------------ the progress line */

static char *rate_text(double per_second)
{
    if (per_second >= 1e6) return text_of("%.1fM", per_second / 1e6);
    if (per_second >= 1e4) return text_of("%.1fk", per_second / 1e3);
    return text_of("%.0f", per_second);
}

static char *duration_text(double seconds)
{
    int64_t s = (int64_t)(seconds + 0.5);
    if (s >= 3600)
        return text_of("%lld:%02lld:%02lld", (long long)(s / 3600), (long long)(s / 60 % 60), (long long)(s % 60));
    return text_of("%lld:%02lld", (long long)(s / 60), (long long)(s % 60));
}

/* Columns of the terminal; a longer line would not be overwritten by the next. */
static int terminal_width(void)
{
    struct winsize size;
    return ioctl(2, TIOCGWINSZ, &size) == 0 && size.ws_col > 20 ? size.ws_col : 120;
}

static double units_per_second(const Report *r)
{
    return (double)(r->items_per_step * r->data->seq) / (r->smooth_ms * 1e-3);
}

static char *progress_text(const Report *r, int64_t done, Step s)
{
    return text_of("step %lld/%lld | loss %.4f | norm %.3g | lr %.1e | %.*f ms | %s %s/s | ETA %s", (long long)done,
                   (long long)r->steps, s.loss, s.norm, s.rate, r->smooth_ms < 10 ? 1 : 0, r->smooth_ms,
                   rate_text(units_per_second(r)), r->data->text ? "tok" : "rows",
                   duration_text((double)(r->steps - done) * r->smooth_ms * 1e-3));
}

void end_line(Report *r)
{
    if (r->line_open) fputc('\n', stderr);
    r->line_open = false;
}

static bool line_due(const Report *r, int64_t done, double now)
{
    if (done == 1 || done == r->steps) return true;
    if (r->t->recipe.log_every) return done % r->t->recipe.log_every == 0;
    return now - r->last_line >= (r->tty ? 0.2 : 10);
}

static void show_progress(Report *r, int64_t done, Step s, double now)
{
    if (!line_due(r, done, now)) return;
    char *line = progress_text(r, done, s);
    if (r->tty && !r->t->recipe.log_every) {
        fprintf(stderr, "\r%.*s\033[K", terminal_width() - 1, line);
        r->line_open = true;
    } else {
        fprintf(stderr, "%s\n", line);
    }
    free(line);
    r->last_line = now;
}

/* ------------------------------------------------------------------ what happens in a run */

static void write_metrics(Report *r, int64_t done, Step s, double now)
{
    if (done % r->every != 0 && done != 1 && done != r->steps) return;
    fprintf(r->metrics,
            "{\"step\":%lld,\"split\":\"train\",\"loss\":%.9g,\"lr\":%.9g,\"grad_norm\":%.9g,\"%s\":%.6g,\"%s\":%lld,"
            "\"time\":%.3f}\n",
            (long long)done, s.loss, s.rate, s.norm, r->data->text ? "tok_s" : "rows_s", units_per_second(r),
            r->data->text ? "tokens" : "rows", (long long)(done * r->items_per_step * r->data->seq), now - r->started);
}

/* ------------------------------------------------------------------ a loss that jumps */

/* Standard deviations by which the loss lies above its mean, both over about the last hundred steps (exponentially
 * weighted; Welford's update).  0 for the first thirty, and for what is no more than rounding. */
double spike_score(Spike *s, double loss)
{
    enum { SETTLED = 30, MEMORY = 100 };
    double share = 1.0 / (s->n < MEMORY ? s->n + 1 : MEMORY), off = loss - s->mean;
    double deviation = sqrt(s->variance), least = 1e-3 * fabs(s->mean);
    double score = s->n < SETTLED ? 0 : off / (deviation > least ? deviation : least);
    if (score > SPIKE) off = SPIKE * deviation; /* one jump shall not hide the next */
    s->mean += share * off;
    s->variance = (1 - share) * (s->variance + share * off * off);
    s->n++;
    return score;
}

static void warn_of_spike(Report *r, int64_t done, double loss)
{
    enum { APART = 100 }; /* steps between two warnings */
    double mean = r->spike.mean, score = spike_score(&r->spike, loss);
    if (score <= SPIKE || done < r->next_warning) return;
    r->next_warning = done + APART;
    report_text(r,
                "step %lld: the loss jumped to %.4f, %.0f standard deviations above its mean of %.4f; if that lasts, "
                "lower the learning rate (--set lr=%g) or clip gradients (--set clip=1)",
                (long long)done, loss, score, mean, r->t->recipe.lr / 2);
}

/* The first steps count for less: the mean of the time is over at most the last twenty or so. */
void report_step(Report *r, int64_t done, Step s)
{
    double now = seconds_now(), ms = (now - r->last_step) * 1e3;
    double share = done <= 2 ? 1 : done < 20 ? 1 / (double)(done - 1) : 0.05;
    r->smooth_ms += share * (ms - r->smooth_ms);
    r->last_step = now;
    write_metrics(r, done, s, now);
    show_progress(r, done, s, now);
    warn_of_spike(r, done, s.loss);
}

void report_text(Report *r, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    end_line(r);
    vfprintf(stderr, fmt, args);
    fputc('\n', stderr);
    va_end(args);
    r->last_step = seconds_now();
}

void report_scores(Report *r, int64_t done, const Scores *s)
{
    json_t *line = json_pack("{s:I, s:s}", "step", (json_int_t)done, "split", "val"), *scores = scores_json(s, r->data);
    json_object_update(line, scores);
    json_dumpf(line, r->metrics, JSON_COMPACT | JSON_REAL_PRECISION(9));
    fputc('\n', r->metrics);
    json_decref(scores);
    json_decref(line);
    char *text = scores_text(s, r->data);
    report_text(r, "eval %lld/%lld | %s", (long long)done, (long long)r->steps, text);
    free(text);
}

void close_report(Report *r)
{
    end_line(r);
    if (ferror(r->metrics) | fclose(r->metrics)) note("%s is not complete: %s", r->metrics_path, error_text(errno));
    free(r->metrics_path);
}
