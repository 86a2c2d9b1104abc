/* turns.c: the turns of a step as reports, commands and checkpoints see them. */
#include "base/json_text.h"
#include "base/words.h"
#include "model/tables.h"
#include "step/turn.h"
#include "trainer/knobs.h"
#include "trainer/report.h"
#include "trainer/state.h"
#include "trainer/trainer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ their results */

void note_turn(Turn_notes *notes, const Turn *u, const Step *s)
{
    if (!notes->begun) *notes = (Turn_notes){.begun = true};
    notes->of[notes->n].name = u->name;
    notes->of[notes->n].loss = s->loss;
    notes->of[notes->n].norm = s->norm;
    notes->of[notes->n++].rate = s->rate;
    for (int k = 0; k < s->parts; k++) notes->part_name[k] = u->entry->output[1 + k].name;
    add_to_step(&notes->step, s);
}

Step noted_step(Turn_notes *notes)
{
    notes->begun = false;
    return notes->step;
}

/* " (discriminator 0.6931, generator 0.7012)" */
static char *named_losses(const Turn_notes *notes)
{
    const bool turns = notes->of[0].name;
    char *all = text_of("%s", "");
    for (int k = 0; k < (turns ? notes->n : notes->step.parts); k++) {
        char *more = text_of("%s%s%s %.4f", all, k ? ", " : " (", turns ? notes->of[k].name : notes->part_name[k],
                             turns ? notes->of[k].loss : notes->step.part[k]);
        free(all);
        all = more;
    }
    char *closed = text_of("%s%s", all, *all ? ")" : "");
    free(all);
    return closed;
}

static double norm_of(const Turn_notes *notes, int k) { return notes->of[k].norm; }
static double rate_of(const Turn_notes *notes, int k) { return notes->of[k].rate; }

/* " | norm 0.51, 0.49": of each turn, in their order */
static char *numbers_text(const Turn_notes *notes, double of(const Turn_notes *, int), bool rate)
{
    char *all = text_of(" | %s", rate ? "lr" : "norm");
    for (int k = 0; k < notes->n; k++) {
        char *more = text_of(rate ? "%s%s %.1e" : "%s%s %.3g", all, k ? "," : "", of(notes, k));
        free(all);
        all = more;
    }
    return all;
}

/* " | noise scale 132", in rows; "" while it is not known */
static char *noise_text(const Step *s)
{
    if (!s->measures_noise || !isfinite(s->noise_scale)) return text_of("%s", "");
    return text_of(s->noise_scale < 100 ? " | noise scale %.3g" : " | noise scale %.0f", s->noise_scale);
}

char *turns_text(const Turn_notes *notes)
{
    char *losses = named_losses(notes), *norms = numbers_text(notes, norm_of, false);
    char *rates = numbers_text(notes, rate_of, true), *noise = noise_text(&notes->step);
    char *all = text_of("%s%s%s%s", losses, norms, rates, noise);
    free(losses);
    free(norms);
    free(rates);
    free(noise);
    return all;
}

/* ,"batch":16,"noise_scale":120; null: it is not known yet */
static char *batch_members(const Step *s)
{
    char *batch = s->batch ? text_of(",\"batch\":%lld", (long long)s->batch) : text_of("%s", "");
    if (!s->measures_noise) return batch;
    char *all = isfinite(s->noise_scale) ? text_of("%s,\"noise_scale\":%.9g", batch, s->noise_scale)
                                         : text_of("%s,\"noise_scale\":null", batch);
    free(batch);
    return all;
}

/* Of a step without turns: ,"encoder":4.1,"lr":0.001,"grad_norm":0.5 */
static char *step_members(const Turn_notes *notes)
{
    char *all = text_of("%s", "");
    for (int k = 0; k < notes->step.parts; k++) {
        char *more = text_of("%s,\"%s\":%.9g", all, notes->part_name[k], notes->step.part[k]);
        free(all);
        all = more;
    }
    char *batch = batch_members(&notes->step);
    char *closed = text_of("%s,\"lr\":%.9g,\"grad_norm\":%.9g%s", all, notes->step.rate, notes->step.norm, batch);
    free(all);
    free(batch);
    return closed;
}

char *turns_member(const Turn_notes *notes)
{
    if (!notes->of[0].name) return step_members(notes);
    char *all = text_of("%s", "");
    for (int k = 0; k < notes->n && notes->of[k].name; k++) {
        char *more = text_of("%s%s\"%s\":{\"loss\":%.9g,\"lr\":%.9g,\"grad_norm\":%.9g}", all, k ? "," : ",\"turns\":{",
                             notes->of[k].name, notes->of[k].loss, notes->of[k].rate, notes->of[k].norm);
        free(all);
        all = more;
    }
    char *closed = text_of("%s}", all);
    free(all);
    return closed;
}

/* ------------------------------------------------------------------ --turn */

static int turn_number(const Trainer *t)
{
    const Lathe_model *m = t->model;
    const char *names[LATHE_TURNS];
    if (!t->turn) return 0;
    if (!m->turns) fail(EXIT_USAGE, NULL, "--turn %s: %s has no turns; leave it out", t->turn, m->name);
    for (int k = 0; k < m->turns; k++) {
        names[k] = m->turn[k].name;
        if (strcmp(names[k], t->turn) == 0) return k;
    }
    const char *close = nearest_word(t->turn, names, (size_t)m->turns);
    fail(EXIT_USAGE, NULL, "--turn %s: there is no such turn; %s%s", t->turn,
         close ? "did you mean " : "`trainer info` lists them", close ? text_of("%s?", close) : "");
}

Turn *wanted_turn(const Trainer *t, Step_turns *turns) { return &turns->at[turn_number(t)]; }

const Lathe_entry *wanted_entry(const Trainer *t, Entry entry)
{
    const Lathe_model *m = t->model;
    int k = turn_number(t);
    const Lathe_entry *e = m->turns ? find_turn(m, entry, m->turn[k].name) : NULL;
    return e ? e : need_entry(m, entry);
}

/* ------------------------------------------------------------------ a resumed run */

json_t *turns_json(const Trainer *t)
{
    const Lathe_model *m = t->model;
    json_t *all = json_array();
    for (const Lathe_turn *u = m->turn; u < m->turn + m->turns; u++) {
        json_t *one = json_object(), *settings = turn_recipe_json(&u->recipe);
        put_json(one, "name", word_json(u->name));
        put_json(one, "loss", word_json(u->loss));
        put_json(one, "of", word_json(u->of));
        put_json(one, "every", json_integer(u->every));
        json_object_update(one, settings);
        json_decref(settings);
        add_json(all, one);
    }
    return all;
}

static const json_t *turn_called(const json_t *turns, const json_t *name)
{
    size_t i;
    const json_t *one;
    json_array_foreach(turns, i, one) if (json_equal(json_object_get(one, "name"), name)) return one;
    return NULL;
}

static char *said(const json_t *value)
{
    if (json_is_string(value)) return word_of_json(value);
    return json_is_null(value) ? text_of("none") : text_of("%.6g", json_number_value(value));
}

/* AdamW goes on with Adam's means; other optimizers would take them for something else. */
static bool keeps_moments(const char *a, const char *b)
{
    return a && b && (strcmp(a, b) == 0 || (strncmp(a, "adam", 4) == 0 && strncmp(b, "adam", 4) == 0));
}

static void compare_turn(const json_t *own, const json_t *theirs, const char *checkpoint)
{
    char *name = word_of_json(json_object_get(own, "name"));
    const char *key;
    const json_t *value;
    json_object_foreach((json_t *)(uintptr_t)own, key, value)
    {
        const json_t *other = json_object_get(theirs, key);
        if (!other || json_equal(value, other)) continue;
        char *now = said(value), *then = said(other);
        if (strcmp(key, "optimizer") == 0 && !keeps_moments(now, then))
            fail(EXIT_DATA, checkpoint,
                 "turn %s was trained by %s, and this trainer has %s for it, which cannot go on with the other's "
                 "moments; "
                 "start a new run (--init takes weights)",
                 name, then, now);
        note("turn %s: %s is %s in this trainer; it was %s in the checkpoint", name, key, now, then);
        free(now);
        free(then);
    }
    free(name);
}

/* theirs: a checkpoint's, as turns_json() writes them; NULL: it has none. */
void compare_turns(const Trainer *t, const json_t *theirs, const char *checkpoint)
{
    json_t *own = turns_json(t), *one;
    size_t i;
    if (!theirs && !t->model->turns) return;
    json_array_foreach(own, i, one)
    {
        const json_t *other = turn_called(theirs, json_object_get(one, "name"));
        if (other) compare_turn(one, other, checkpoint);
        else if (theirs) note("turn %s is new: the checkpoint's run had none called so", t->model->turn[i].name);
    }
    json_array_foreach((json_t *)(uintptr_t)theirs, i, one) if (!turn_called(own, json_object_get(one, "name")))
        note("the checkpoint's turn %s is not in this trainer", json_string_value(json_object_get(one, "name")));
    json_decref(own);
}
