/* diff.h: `lathe diff`: what two descriptions, programs or runs say, in one form, and where they differ. */
#ifndef DIFF_H
#define DIFF_H

#include "base/util.h"
#include "desc/desc.h"
#include "runtime/base/json_text.h"
#include "runtime/base/words.h"

#define FILES_OF_RUN "files by name and size" /* a row of "data" */

typedef enum Compared_kind { OF_DESCRIPTION, OF_PROGRAM, OF_RUN } Compared_kind;

typedef struct Compared {           /* one of the two things */
    const char *what;           /* as the command line names it */
    Compared_kind kind;
    char *said;                 /* "gpt char, fp32; done at step 160" */
    json_t *facts;              /* sections of names and values; kernels: of entries, a list each */
} Compared;

/* facts.c: which members and words a section has, so that all kinds say the same */
extern const char *const sections[];                            /* the most important first; NULL at the end */
json_t *section_of(json_t *facts, const char *name);            /* it is made */
json_t *whole_json(double x);                                   /* an integer where it is one */
json_t *extents_json(int n, const int64_t *extent);
void put_parameter(json_t *facts, const char *name, const json_t *copies, const json_t *shape, bool frozen);
void put_kernel(json_t *facts, const char *entry, json_t *kernel);      /* of name, path, where, formula, flops, bytes */

/* of_module.c, of_program.c, of_run.c: end the program where it is not to be read */
void take_description(Compared *s, const Options *o);
void take_program(Compared *s);                                     /* a folder that `lathe build` wrote */
void take_run(Compared *s);

/* compare.c: [{name, a, b}] of a section */
json_t *section_differences(const json_t *a, const json_t *b, bool words);
bool same_values(const json_t *a, const json_t *b, bool words); /* words: those that are numbers are read */
/* kernels.c: [{where, name, a, b}], the largest change first */
json_t *kernel_differences(const json_t *a, const json_t *b);
/* steps.c: of two runs: {compared, parts: [{name, step, a, b}], at, values: […], results: […], times: […]} */
json_t *step_differences(const char *a, const char *b);

/* print.c */
void print_differences(const json_t *all, bool whole);          /* whole: all rows of each section */

#endif
