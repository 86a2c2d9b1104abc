/* test_check_done.c: what says too early, or of others, that gradients are done is caught; so is what says too late
 * that parameters are needed, or too early that they are dropped: programs of models are broken by hand, each in a
 * process of its own. */
#include "kernels/kernels.h"
#include "kernels/text.h"
#include "../graph/apart.h"

typedef struct Fault {
    const char *what;
    bool (*breaks)(Program *p, Said *d); /* false: there is no such way */
    int least;                           /* so many places that are caught */
    unsigned of;                         /* bits: the sayings that it may break */
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

/* Behind the next kernel, or the one before. */
static bool later(Program *p, Said *d)
{
    int at = 0;
    Kernel *const *list = list_with(p->kernels.at, p->kernels.n, d->at, &at);
    const Kernel *next = list == p->kernels.at && at + 1 < p->kernels.n ? list[at + 1] : NULL;
    if (next) d->at = next;
    return next != NULL;
}

static bool earlier(Program *p, Said *d)
{
    int at = 0;
    Kernel *const *list = list_with(p->kernels.at, p->kernels.n, d->at, &at);
    if (!at || list[at - 1]->kind == REPEAT) return false;
    d->at = list[at - 1];
    return true;
}

/* Another's place, which comes before. */
static bool place_of_another(Program *p, Said *d)
{
    for (int i = 0; i < p->said.n; i++) {
        const Said *other = &p->said.at[i];
        if (other->what != LATHE_DONE || other->at->step >= d->at->step) continue;
        const Param *own = d->param;
        *d = *other;
        d->param = own;
        return true;
    }
    return false;
}

static bool in_every_iteration(Program *p, Said *d)
{
    (void)p;
    if (d->last.n) return d->last.n--, true;
    return d->copies && d->copies--;
}

static bool copies_of_others(Program *p, Said *d)
{
    (void)p;
    if (!d->last.n) return false;
    d->picks[d->copies++] = d->last.at[--d->last.n];
    return true;
}

/* When all copies are picked once more, by loops in which the last iteration alone says it. */
static bool copy_at_the_end(Program *p, Said *d)
{
    (void)p;
    if (!d->copies) return false;
    push(&d->last, d->picks[d->copies - 1]);
    return true;
}

static bool left_out(Program *p, Said *d)
{
    *d = p->said.at[--p->said.n];
    return true;
}

static bool twice(Program *p, Said *d)
{
    push(&p->said, *d);
    return true;
}

enum { NEEDED = 1 << LATHE_NEEDED, DROPPED = 1 << LATHE_DROPPED, BEGUN = 1 << LATHE_BEGUN, DONE = 1 << LATHE_DONE };
static const Fault faults[] = {
    {"one kernel too early", earlier, 20, DONE | DROPPED},
    {"at the place of another", place_of_another, 10, DONE},
    {"in every iteration", in_every_iteration, 5, DONE},
    {"of copies that there are not", copies_of_others, 3, DONE},
    {"of a copy, and at the end", copy_at_the_end, 1, DONE},
    {"twice", twice, 10, DONE},
    {"not at all", left_out, 10, NEEDED | BEGUN},
    {"one kernel too late", later, 10, NEEDED | BEGUN},
};

static int found[COUNT_OF(faults)];

typedef struct Try {
    const Module *module;
    Program *program;
    int fault, said;
} Try;

enum { NO_WAY = 90 };

static void check_broken(const void *with)
{
    const Try *t = with;
    const Said *said = &t->program->said.at[t->said];
    if (t->fault >= 0 && !(faults[t->fault].of & 1U << said->what)) _exit(NO_WAY);
    if (t->fault >= 0 && !faults[t->fault].breaks(t->program, &t->program->said.at[t->said])) _exit(NO_WAY);
    check_program(t->program, "this", t->module->desc);
}

static void check_model(const char *arguments)
{
    const Module *m = compile_model(arguments);
    Program *p = m->programs.at[0];
    char *said;
    expect(p->said.n > 0, "%s: nothing is said", arguments);
    int code = apart(check_broken, &(Try){m, p, -1, 0}, &said);
    expect(code == 0, "%s: %s", arguments, said);
    for (int f = 0; f < COUNT_OF(faults); f++)
        for (int i = 0; i < p->said.n; i++) {
            code = apart(check_broken, &(Try){m, p, f, i}, &said);
            if (code == NO_WAY) continue;
            bool caught = code && strstr(said, "after this: ");
            found[f] += caught;
            expect(caught, "%s: that %s is %s %s: %s", arguments, p->said.at[i].param->name,
                   saying_words[p->said.at[i].what], faults[f].what, said);
        }
}

int main(void)
{
    check_model("models/gpt.lua --config char --set layers=3 --set width=24 --set heads=2 --set batch=4 --set seq=8"
                " --target cuda");
    check_model("models/char_rnn.lua --config tiny --target cuda --set seq=8");
    check_model("models/mu.lua --config tiny --target cuda");
    check_model("models/gpt.lua --config char --set layers=3 --set width=24 --set heads=2 --set batch=4 --set seq=8"
                " --shard-parameters");
    check_model("models/char_rnn.lua --config tiny --set seq=8 --set accumulate=2 --shard-parameters");
    check_model(
        "tests/models/carried.lua --shard-parameters"); /* a loop over copies reads a stack that is needed whole */
    for (int f = 0; f < COUNT_OF(faults); f++) {
        expect(found[f] >= faults[f].least, "%s: caught at %d places only", faults[f].what, found[f]);
        printf("%8d times %s\n", found[f], faults[f].what);
    }
    return finish();
}
