/* brief.c: kernels in brief, a line each: what is made, of what. */
#include "kernels/kernels.h"
#include "kernels/text.h"

static void say_name(Text *t, const char **names, int *n, const Operand *o)
{
    const char *name = o->view.buffer ? o->view.buffer->name : NULL;
    if (!name) return;
    for (int i = 0; i < *n; i++)
        if (same(names[i], name)) return;
    say(t, "%s%s%s", *n ? ", " : "", name, o->add ? " +=" : "");
    names[(*n)++] = name;
}

typedef struct Names_of { /* the buffers that a kernel reads, or writes */
    Text *text;
    const char *names[64];
    int n;
    bool writes;
} Names_of;

static void name_operand(Operand *o, bool writes, void *user)
{
    Names_of *names = user;
    if (writes == names->writes && names->n < COUNT_OF(names->names)) say_name(names->text, names->names, &names->n, o);
}

static void say_names(Text *t, const Kernel *k, bool writes)
{
    Names_of names = {.text = t, .writes = writes};
    each_operand((Kernel *)k, name_operand, &names);
}

void say_brief(Text *t, int depth, const Kernel *k)
{
    say(t, "%*s%s %s", depth, "", kernel_kind(k), k->name);
    if (k->body.n) {
        if (k->kind == REPEAT) say(t, " %lld%s\n", (long long)k->loop->trip, k->loop->reverse ? " backwards" : "");
        else say(t, " of %lld rows\n", (long long)k->rows);
        for (int i = 0; i < k->body.n; i++) say_brief(t, depth + 2, k->body.at[i]);
        return;
    }
    if (k->kind == ROWS) say(t, " %s in %d", shape_text(k->space), k->phases.n);
    say(t, ": ");
    say_names(t, k, true);
    say(t, " <- ");
    say_names(t, k, false);
    say(t, "\n");
}
