/* done.c: the lines by which an entry says which gradients are done (schedule/done.c). */
#include "emit/emit.h"

/* A parameter's, or a copy of the struct that it is in. */
static char *gradients_text(const Done *d)
{
    const char *group = group_of(d->param);
    if (!group) return param_text(d->param, "d->", NULL);
    Text t = {0};
    say(&t, "d->%s", group);
    for (int k = 0; k < d->copies; k++) say(&t, "[%s]", loop_letter(d->picks[k]));
    return t.at;
}

void say_done(Text *t, int depth, const Kernel *after)
{
    const Program *p = program_in_scope();
    for (int i = 0; i < p->done.n; i++) {
        const Done *d = &p->done.at[i];
        if (d->after != after) continue;
        say(t, "%*s", depth * 4, "");
        for (int k = 0; k < d->last.n; k++) {
            const Loop *l = d->last.at[k];
            const char *end = l->reverse ? "0" : format("%s - 1", trip_text(l));
            say(t, "%s%s == %s%s", k ? " && " : "if (", loop_letter(l), end, k == d->last.n - 1 ? ") " : "");
        }
        char *what = gradients_text(d);
        say(t, "gradients_done(&%s, sizeof %s, stream);\n", what, what);
    }
}
