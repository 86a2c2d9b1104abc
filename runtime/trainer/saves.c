/* saves.c: the saves of a run, and what is said of them. */
#include "trainer/saves.h"
#include "base/file.h"
#include "base/words.h"
#include "model/run.h"
#include "ranks/courier.h"
#include "trainer/checkpoint.h"
#include "trainer/ranks.h"
#include "trainer/report.h"
#include "trainer/signals.h"
#include "trainer/state.h"

#include <stdlib.h>
#include <unistd.h>

static void report_saved(Training *r)
{
    int64_t step = saved_step(r->saver);
    const Fault *link = link_fault(r->saver);
    report_text(&r->report, "step %lld: saved %s", (long long)step, checkpoint_path(run_folder(r->t), step));
    if (link) report_text(&r->report, "note: %s %s; Lathe itself does not need this link", link->path, link->text);
}

void report_save(Training *r)
{
    const Fault *f = save_fault(r->saver);
    int64_t saved = saved_step(r->saver);
    if (!f) {
        report_saved(r);
        return;
    }
    char *newest = saved < 0 ? text_of("there is no checkpoint yet")
                             : text_of("the newest checkpoint is of step %lld", (long long)saved);
    report_text(&r->report,
                "%s: error: %s; step %lld is not saved, %s.  The run continues, and the next save tries again: %s "
                "(`kill -USR1 %d` saves at once)",
                f->path, f->text, (long long)tried_step(r->saver), newest, save_remedy(r->saver), (int)getpid());
    free(newest);
}

void save_run(Training *r)
{
    double from = seconds_now();
    if (end_save(r->saver, true)) report_save(r);
    forget_wanted_save();
    r->saved_at = seconds_now();
    if (saved_step(r->saver) == r->at.step) return;
    rank_does(RANK_SAVES, r->at.step - 1);
    r->at.elapsed = r->saved_at - r->report.started;
    keep_lock(run_folder(r->t));
    begin_save(r->saver, &r->at, state_json(r->t, &r->data, &r->at));
    r->report.spent.saving += seconds_now() - from;
}

void save_last(Training *r)
{
    save_run(r);
    if (!end_save(r->saver, true)) return;
    const Fault *f = save_fault(r->saver);
    if (!f) {
        report_saved(r);
        return;
    }
    close_report(&r->report);
    bool saved = saved_step(r->saver) >= 0;
    fail(EXIT_DATA, f->path, "%s; step %lld is not saved, %s: %s, or choose another folder with --out%s", f->text,
         (long long)r->at.step, saved ? "earlier checkpoints are still there" : "there is no checkpoint",
         save_remedy(r->saver), saved ? ", and continue with --resume" : "");
}

void tell_saved(const Training *r)
{
    note("step %lld is saved; to continue: `%s`", (long long)r->at.step, resume_command(r->t));
}

void save_before_end(Training *r)
{
    save_run(r);
    (void)end_save(r->saver, true);
    const Fault *f = saved_step(r->saver) == r->at.step ? NULL : save_fault(r->saver);
    if (f) note("%s: %s; step %lld is not saved: %s", f->path, f->text, (long long)r->at.step, save_remedy(r->saver));
    else tell_saved(r);
}

/* Saves an evaluation that a signal had interrupted and that the resumed run made: that step's checkpoint exists
 * already. */
void save_evaluation(Training *r)
{
    const char *run = run_folder(r->t);
    Fault f = {0};
    int64_t best = r->at.best_step == r->at.step ? r->at.step : -1;
    renew_evaluation(&r->from, &r->at, &r->t->recipe, &f);
    if (!f.path) link_checkpoint(run, r->at.step, best, &f);
    if (f.path) report_text(&r->report, "note: %s %s; the next resume evaluates again", f.path, f.text);
}
