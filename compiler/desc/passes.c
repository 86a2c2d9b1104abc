/* passes.c: the table of passes (passes.def), in the order in which they run. */
#include "desc/passes.h"

#include <string.h>

static const Pass passes[] = {
    {"front", FRONT, NULL, "runs the description: every entry's graph, as written", NULL, {NULL}},
#define GRAPH_PASS(name, option, doc, off)    {#name, GRAPHS, option, doc, off, {.graph = pass_##name}},
#define CUT_PASS(name, option, doc, off)      {#name, CUTS, option, doc, off, {.cut = pass_##name}},
#define LOWER_PASS(name, option, doc, off)    {#name, LOWER, option, doc, off, {.lower = pass_##name}},
#define KERNEL_PASS(name, option, doc, off)   {#name, KERNELS, option, doc, off, {.kernels = pass_##name}},
#define PLAN_PASS(name, option, doc, off)     {#name, PLAN, option, doc, off, {.plan = pass_##name}},
#define SCHEDULE_PASS(name, option, doc, off) {#name, SCHEDULE, option, doc, off, {.kernels = pass_##name}},
#include "desc/passes.def"
};
enum { LAST = COUNT_OF(passes) - 1 };
_Static_assert(LAST <= 64, "Options.without has a bit for each pass");

static const char *const stages[] = {STAGE_LIST(LIST_WORD)};

const Pass *last_of_stage(const char *word)
{
    const Pass *last = NULL;
    for (int i = 0; i < COUNT_OF(passes); i++)
        if (same(stages[passes[i].kind], word)) last = &passes[i];
    return last;
}

const Pass *pass_list(int *n)
{
    *n = COUNT_OF(passes);
    return passes;
}

bool take_switch(Options *o, const char *word)
{
    for (int i = 1; i <= LAST && starts_with(word, "--no-"); i++)
        if (passes[i].option && same(passes[i].option, word + strlen("--no-"))) {
            leave_out(o, (Pass_number)(i - 1), true);
            return true;
        }
    return false;
}

int place_of_pass(const char *name)
{
    for (int i = 0; i < COUNT_OF(passes); i++)
        if (same(passes[i].name, name)) return i;
    die("there is no pass %s", name);
}

int last_pass(void) { return LAST; }

bool comes_before(const char *pass, const char *other) { return place_of_pass(pass) < place_of_pass(other); }
