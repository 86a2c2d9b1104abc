/* test_check_done.c: what says too early, or of others, that gradients are done is caught: programs of models are
 * broken by hand, each in a process of its own. */
#include "kernels/kernels.h"
#include "../graph/apart.h"

typedef struct Fault {
    const char *what;
    bool (*breaks)(Program *p, Done *d); /* false: there is no such way */
    int least;                           /* so many places that are caught */
} Fault;

/* The list that k is in. */
static Kernel *const *list_with(Kernel *const *kernels, int n, const Kernel *k, int *at)
{
    for (int i = 0; i < n; i++) {
        if (kernels[i] == k) return *at = i, kernels;
        Kernel *const *list = list_with(kernels[i]->body.at, kernels[i]->body.n, k, at);
        if (list) return list;
    }
    return NULL;
}

/* Behind the kernel before. */
static bool earlier(Program *p, Done *d)
{
    int at = 0;
    Kernel *const *list = list_with(p->kernels.at, p->kernels.n, d->after, &at);
    if (!at || list[at - 1]->kind == REPEAT) return false;
    d->after = list[at - 1];
    return true;
}

/* Another's place, which comes before. */
static bool place_of_another(Program *p, Done *d)
{
    for (int i = 0; i < p->done.n; i++) {
        const Done *other = &p->done.at[i];
        if (other->after->step >= d->after->step) continue;
        const Param *own = d->param;
        *d = *other;
        d->param = own;
        return true;
    }
    return false;
}

static bool in_every_iteration(Program *p, Done *d)
{
    (void)p;
    if (d->last.n) return d->last.n--, true;
    return d->copies && d->copies--;
}

static bool copies_of_others(Program *p, Done *d)
{
    (void)p;
    if (!d->last.n) return false;
    d->picks[d->copies++] = d->last.at[--d->last.n];
    return true;
}

/* When all copies are picked once more, by loops in which the last iteration alone says it. */
static bool copy_at_the_end(Program *p, Done *d)
{
    (void)p;
    if (!d->copies) return false;
    push(&d->last, d->picks[d->copies - 1]);
    return true;
}

static bool twice(Program *p, Done *d)
{
    push(&p->done, *d);
    return true;
}

static const Fault faults[] = {
    {"one kernel too early", earlier, 10},
    {"at the place of another", place_of_another, 10},
    {"in every iteration", in_every_iteration, 5},
    {"of copies that there are not", copies_of_others, 3},
    {"of a copy, and at the end", copy_at_the_end, 1},
    {"twice", twice, 10},
};

static int found[COUNT_OF(faults)];

typedef struct Try {
    const Module *module;
    Program *program;
    int fault, done;
} Try;

enum { NO_WAY = 90 };

static void check_broken(const void *with)
{
    const Try *t = with;
    if (t->fault >= 0 && !faults[t->fault].breaks(t->program, &t->program->done.at[t->done])) _exit(NO_WAY);
    check_program(t->program, "this", t->module->desc);
}

static void check_model(const char *arguments)
{
    const Module *m = compile_model(arguments);
    Program *p = m->programs.at[0];
    char *said;
    expect(p->done.n > 0, "%s: no gradient is done", arguments);
    int code = apart(check_broken, &(Try){m, p, -1, 0}, &said);
    expect(code == 0, "%s: %s", arguments, said);
    for (int f = 0; f < COUNT_OF(faults); f++)
        for (int i = 0; i < p->done.n; i++) {
            code = apart(check_broken, &(Try){m, p, f, i}, &said);
            if (code == NO_WAY) continue;
            bool caught = code && strstr(said, "after this: ");
            found[f] += caught;
            expect(caught, "%s: gradients of %s are done %s: %s", arguments, p->done.at[i].param->name, faults[f].what,
                   said);
        }
}

int main(void)
{
    check_model("models/gpt.lua --config char --set layers=3 --set width=24 --set heads=2 --set batch=4 --set seq=8"
                " --target cuda");
    check_model("models/char_rnn.lua --config tiny --target cuda --set seq=8");
    check_model("models/mu.lua --config tiny --target cuda");
    for (int f = 0; f < COUNT_OF(faults); f++) {
        expect(found[f] >= faults[f].least, "%s: caught at %d places only", faults[f].what, found[f]);
        printf("%8d times %s\n", found[f], faults[f].what);
    }
    return finish();
}
