/* passes.h: the pipeline: its passes, by number and by name, and what runs them.  A part of lathe.h, which includes it. */
#ifndef PASSES_H
#define PASSES_H

typedef enum Pass_number {      /* in options.without */
#define GRAPH_PASS(name, ...) PASS_##name,
#define CUT_PASS(name, ...) PASS_##name,
#define LOWER_PASS(name, ...) PASS_##name,
#define KERNEL_PASS(name, ...) PASS_##name,
#define PLAN_PASS(name, ...) PASS_##name,
#define SCHEDULE_PASS(name, ...) PASS_##name,
#include "passes.def"
} Pass_number;
static inline bool without(const Desc *d, Pass_number pass) { return d->options->without >> pass & 1; }
static inline void leave_out(Pass_number pass, bool out)
{
    options.without = (options.without & ~((uint64_t)1 << pass)) | (uint64_t)out << pass;
}

/* Passes: one file each, or one for a few of a kind (schedule/); passes.def lists them in order and says what they do. */
#define GRAPH_PASS(name, ...) void pass_##name(Graph *g, const Desc *d);
#define CUT_PASS(name, ...) void pass_##name(Cut *c);
#define LOWER_PASS(name, ...) Program *pass_##name(Cut *c);
#define KERNEL_PASS(name, ...) void pass_##name(Program *p, const Desc *d);
#define PLAN_PASS(name, ...) void pass_##name(Module *m);
#define SCHEDULE_PASS(name, ...) void pass_##name(Program *p, const Desc *d);
#include "passes.def"
Param *find_param(const Desc *d, const char *name);         /* wide ones too; NULL where there is none */
Precision precision_of(const Options *o);                   /* an unknown one is the user's mistake */
const Precision *precision(void);                           /* of the command line */
void check_precision(const Options *o);                     /* refuses on a command line what only tests may ask for */
const char *needed_forward(const Graph *g);                 /* by a node's id: whether loss, metrics or states need it */
void plan_for_gpus(Module *m, int gpus);                    /* the plan of each of several that train together */

/* compile.c: the pipeline, as a table of passes in the order in which they run */
typedef struct Pass {
    const char *name;
    enum { FRONT, GRAPHS, CUTS, LOWER, KERNELS, PLAN, SCHEDULE } kind;
    const char *option;         /* fuse of --no-fuse; NULL: it cannot be left out */
    const char *doc, *off;      /* what it does; what is without it */
    union {
        void (*graph)(Graph *, const Desc *);
        void (*kernels)(Program *, const Desc *);
        void (*cut)(Cut *);
        Program *(*lower)(Cut *);
        void (*plan)(Module *);
    } run;
} Pass;
bool take_switch(const char *word);                         /* --no-fuse; false: it is none */
const Pass *last_of_stage(const char *word);                /* graphs, cuts, …, schedule; NULL: it is none */
const Pass *pass_list(int *n);                              /* the first is the front, which has run */
Module *compile(Desc *d);                                   /* all of them, over every graph of the description */
Module *compile_until(Desc *d, const char *from, const char *until);     /* some of them, both included; NULL: the first, the last */
void compile_kernels(Module *m, const char *until);         /* likewise, of what has kernels already: those after the last that ran; NULL: all */
bool comes_before(const char *pass, const char *other);
void print_stage(Text *t, const Module *m, const Pass *after);

#endif
