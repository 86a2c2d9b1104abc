/* turns.c: the turns of a step as reports and commands see them. */
#include "base/words.h"
#include "model/tables.h"
#include "step/turn.h"
#include "trainer/report.h"
#include "trainer/trainer.h"

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
    add_to_step(&notes->step, s);
}

Step noted_step(Turn_notes *notes)
{
    notes->begun = false;
    return notes->step;
}

char *turns_text(const Turn_notes *notes)
{
    char *all = text_of("%s", "");
    for (int k = 0; k < notes->n && notes->of[k].name; k++) {
        char *more = text_of("%s%s%s %.4f", all, k ? ", " : " (", notes->of[k].name, notes->of[k].loss);
        free(all);
        all = more;
    }
    char *closed = text_of("%s%s", all, *all ? ")" : "");
    free(all);
    return closed;
}

char *turns_member(const Turn_notes *notes)
{
    char *all = text_of("%s", "");
    for (int k = 0; k < notes->n && notes->of[k].name; k++) {
        char *more = text_of("%s%s\"%s\":{\"loss\":%.9g,\"lr\":%.9g,\"grad_norm\":%.9g}", all, k ? "," : ",\"turns\":{",
                             notes->of[k].name, notes->of[k].loss, notes->of[k].rate, notes->of[k].norm);
        free(all);
        all = more;
    }
    char *closed = text_of("%s%s", all, *all ? "}" : "");
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
