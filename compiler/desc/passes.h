/* passes.h: the passes, by number and by name (passes.def), and the table of them. */
#ifndef DESC_PASSES_H
#define DESC_PASSES_H

#include "desc/desc.h"

struct Cut;
struct Program;
struct Module;

typedef enum Pass_number {      /* in Options.without */
#define GRAPH_PASS(name, ...) PASS_##name,
#define CUT_PASS(name, ...) PASS_##name,
#define LOWER_PASS(name, ...) PASS_##name,
#define KERNEL_PASS(name, ...) PASS_##name,
#define PLAN_PASS(name, ...) PASS_##name,
#define SCHEDULE_PASS(name, ...) PASS_##name,
#include "desc/passes.def"
} Pass_number;
static inline bool without(const Desc *d, Pass_number pass) { return d->options->without >> pass & 1; }
static inline void leave_out(Options *o, Pass_number pass, bool out)
{
    o->without = (o->without & ~((uint64_t)1 << pass)) | (uint64_t)out << pass;
}

/* Passes: one file each, or one for a few of a kind (schedule/); passes.def lists them in order and says what they do. */
#define GRAPH_PASS(name, ...) void pass_##name(Graph *g, const Desc *d);
#define CUT_PASS(name, ...) void pass_##name(struct Cut *c);
#define LOWER_PASS(name, ...) struct Program *pass_##name(struct Cut *c);
#define KERNEL_PASS(name, ...) void pass_##name(struct Program *p, const Desc *d);
#define PLAN_PASS(name, ...) void pass_##name(struct Module *m);
#define SCHEDULE_PASS(name, ...) void pass_##name(struct Program *p, const Desc *d);
#include "desc/passes.def"
/* The stages: each has one representation, or makes the next one of it. */
#define STAGE_LIST(X) \
    X(FRONT, "front") X(GRAPHS, "graphs") X(CUTS, "cuts") X(LOWER, "lower") X(KERNELS, "kernels") X(PLAN, "plan") X(SCHEDULE, "schedule")
typedef enum Stage { STAGE_LIST(LIST_MEMBER) } Stage;

/* passes.c: the pipeline, as a table of passes in the order in which they run */
typedef struct Pass {
    const char *name;
    Stage kind;
    const char *option;         /* fuse of --no-fuse; NULL: it cannot be left out */
    const char *doc, *off;      /* what it does; what is without it */
    union {
        void (*graph)(Graph *, const Desc *);
        void (*kernels)(struct Program *, const Desc *);
        void (*cut)(struct Cut *);
        struct Program *(*lower)(struct Cut *);
        void (*plan)(struct Module *);
    } run;
} Pass;
bool take_switch(Options *o, const char *word);             /* --no-fuse; false: it is none */
const Pass *last_of_stage(const char *word);                /* graphs, cuts, …, schedule; NULL: it is none */
const Pass *pass_list(int *n);                              /* the first is the front, which has run */
int place_of_pass(const char *name);                        /* in the list */
int last_pass(void);                                        /* its place */
bool comes_before(const char *pass, const char *other);

#endif
