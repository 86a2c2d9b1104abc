/* done.c: the lines that tell ranks which parameters are needed, and which gradients are done (schedule/done.c). */
#include "desc/target.h"
#include "emit/emit.h"

/* A parameter or its gradient, or one copy of the struct that contains it. */
static char *said_text(Page *page, const Said *s)
{
    const char *array = s->what == LATHE_NEEDED || s->what == LATHE_DROPPED ? "p" : "d",
               *group = group_of(page, s->param);
    if (!group) return param_text(page, s->param, format("%s->", array), NULL);
    Text t = {0};
    say(&t, "%s->%s", array, group);
    for (int k = 0; k < s->copies; k++) say(&t, "[%s]", loop_letter(page, s->picks[k]));
    return t.at;
}

static void say_to_ranks(Page *page, Text *t, int depth, const Said *s)
{
    say(t, "%*s", depth * 4, "");
    for (int k = 0; k < s->last.n; k++) {
        const Loop *l = s->last.at[k];
        const char *end = l->reverse ? "0" : format("%s - 1", trip_text(page, l));
        say(t, "%s%s == %s%s", k ? " && " : "if (", loop_letter(page, l), end, k == s->last.n - 1 ? ") " : "");
    }
    char *what = said_text(page, s);
    say(t, "%s\n", format(page->target->says[s->what], what, what));
}

void say_before_or_after(Page *page, Text *t, int depth, const Kernel *k, bool before)
{
    const Program *p = page->program;
    for (int i = 0; i < p->said.n; i++) {
        const Said *s = &p->said.at[i];
        if (s->at == k && is_said_before(s) == before) say_to_ranks(page, t, depth, s);
    }
}
