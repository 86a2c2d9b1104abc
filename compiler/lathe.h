/* lathe.h: the compiler as its commands and tests use it: all that its rooms have, and the pipeline. */
#ifndef LATHE_H
#define LATHE_H

#include "desc/target.h"
#include "kernels/kernels.h"
#include "passes/passes.h"

/* compile.c */
Module *compile(Desc *d);                                   /* all of them, over every graph of the description */
Module *compile_until(Desc *d, const char *from, const char *until);     /* some of them, both included; NULL: the first, the last */
void compile_kernels(Module *m, const char *until);         /* likewise, of what has kernels already: those after the last that ran; NULL: all */
void print_stage(Text *t, const Module *m, const Pass *after);

/* budget.c: --memory */
typedef struct Choices Choices;                             /* the plans that were tried */
Module *compile_within(const Options *o, const Choices **tried);         /* the fastest plan that fits; err() where none does */
void say_choices(Text *t, const Choices *tried);
void say_choices_json(Text *t, const Choices *tried);

/* build/sizes.c: line: the words that go to the trainer */
bool names_data(const Texts *line);                         /* it has --data, or begins with a run */
void take_sizes_from_data(Options *o, const Desc *d, const Texts *line); /* of data.table, images or series, added to o->sets */

/* front/lua.c and its family */
Desc *front(const Options *o);                              /* traces every entry */
Desc *front_recipe(const Options *o);                       /* reads config, train and data alone */
void front_stubs(const char *dir);

/* build/hosts.c: the words that start a program on machines "a:4,b:4" */
int64_t processes_on(const char *hosts);                               /* that --hosts names */
void start_on_hosts(Texts *words, const char *hosts, const char *program);

/* build/build.c: returns the path of the trainer */
const char *build(const Module *m, const char *dir);
const char *make_library(const Module *m, const char *dir); /* build/library.c: of libNAME.a, or of NAME.c */
const char *build_cuda(const char *dir);                    /* build/cuda.c: by nvcc */
const char *c_flags(void);                                  /* what generated C is compiled with, for tests */

#endif
