/* done.c: the lines that tell the trainer which gradients are done (schedule/done.c). */
#include "desc/target.h"
#include "emit/emit.h"

/* The gradient of a parameter, or of one copy of the struct that contains it. */
static char *gradients_text(Page *page, const Done *d)
{
    const char *group = group_of(page, d->param);
    if (!group) return param_text(page, d->param, "d->", NULL);
    Text t = {0};
    say(&t, "d->%s", group);
    for (int k = 0; k < d->copies; k++) say(&t, "[%s]", loop_letter(page, d->picks[k]));
    return t.at;
}

void say_done(Page *page, Text *t, int depth, const Kernel *after)
{
    const Program *p = page->program;
    for (int i = 0; i < p->done.n; i++) {
        const Done *d = &p->done.at[i];
        if (d->after != after) continue;
        say(t, "%*s", depth * 4, "");
        for (int k = 0; k < d->last.n; k++) {
            const Loop *l = d->last.at[k];
            const char *end = l->reverse ? "0" : format("%s - 1", trip_text(page, l));
            say(t, "%s%s == %s%s", k ? " && " : "if (", loop_letter(page, l), end, k == d->last.n - 1 ? ") " : "");
        }
        char *what = gradients_text(page, d);
        say(t, "%s\n", format(page->target->gradients_done, what, what));
    }
}
