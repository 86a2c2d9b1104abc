/* harness.h: what the C tests share: checks, commands, graphs compiled in process, generated programs run in process.
 * Tests run from the top folder of the source. */
#ifndef HARNESS_H
#define HARNESS_H

#include "lathe.h"
#include "interface/lathe_model.h"

/* Checks are counted; a failed one is printed.  return finish() from main. */
bool expect(bool ok, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int finish(void);
/* In a process of its own, since a compilation's arena lives as long as its process: whether all its checks passed. */
bool run_apart(void (*run)(void *user), void *user);
_Noreturn void skip_test(const char *why);
bool long_run(void); /* LATHE_LONG=1: the campaign, not the quick mode */

/* A folder of this test's own, removed at the end unless LATHE_KEEP is set. */
const char *temp_folder(void);
int run_command(char **output, const char *fmt, ...)
    __attribute__((format(printf, 2, 3))); /* exit code; both streams */
const char *lathe_command(void);           /* $LATHE, or build/lathe */

/* Numbers: xorshift, nothing that generated code uses. */
typedef struct Rng {
    uint64_t state;
} Rng;
Rng rng_of(uint64_t seed);
double uniform(Rng *r); /* [0, 1) */
double normal(Rng *r);
int64_t below(Rng *r, int64_t n);

double norm_of(const double *a, int64_t n);
double norm_of_difference(const double *a, const double *b, int64_t n);

const char *printed(const Graph *g); /* its text */

/* What several graphs read, for compile(), by the passes of `lathe build`: parameters, inputs and states are found
 * by name, and equal names mean the same tensor. */
Desc *describe_graphs(int n, Graph *const *graphs);

/* A generated program in this process, with memory for each of its entries. */
typedef struct Live {
    const Lathe_model *model;
    void *library;
    char *params, *grads, *state; /* flat, of model->real; parameters of lathe_weights() */
    struct Room {
        char *in, *out, *work;
    } * room; /* by entry */
} Live;
extern Options options; /* of what a test compiles; the CPU at first */
void take_options(const char *arguments);      /* of `lathe build`, checking every stage: sets `options` */
Module *compile_model(const char *arguments); /* as `lathe build ARGUMENTS`; takes them as options */
Live *load_module(const Module *m);       /* emits into a temporary folder and loads that */
Live *load_folder(const char *dir);       /* dir/model.c */
const char *test_flags(void);             /* what they compile with: those of build/build.c, in the quick form with */
extern const char *gcc_level;             /* "-O0", or what a test sets; NULL: as for users */
Live *live_in(void *library);             /* of one that is loaded */
Live *build_model(const char *arguments); /* compile_model, load_module */
void unload(Live *l);

void fill_statistics(const Lathe_model *m, char *state); /* as they are before training */

int entry_index(const Live *l, const char *name); /* -1 where there is none */
void call_entry(Live *l, int entry);      /* NaN in outputs, work memory and, if there are any, gradients first */
double loss_of(const Live *l, int entry); /* the output of that name */
const Lathe_tensor *find_tensor(const Lathe_tensor *list, int n, const char *name); /* NULL where there is none */
const Lathe_tensor *input_of(const Live *l, int entry, const char *name);           /* both fail the test instead */
const Lathe_tensor *output_of(const Live *l, int entry, const char *name);
void *input_at(const Live *l, int entry, const char *name);
double *read_output(const Live *l, int entry, const char *name); /* contiguous, in the arena */
int64_t tensor_elements(const Lathe_tensor *t);

/* Elements by dtype. */
double get_element(Lathe_dtype t, const void *at, int64_t i);
void set_element(Lathe_dtype t, void *at, int64_t i, double value);

/* A parameter's i-th element in C order lies at element flat_place(p, i) of each flat array. */
int64_t param_elements(const Lathe_param *p);
int64_t flat_place(const Lathe_param *p, int64_t i);
double *read_param(const Live *l, const char *flat, const Lathe_param *p);
void write_param(Live *l, const Lathe_param *p, const double *values);

/* Parameters drawn as declared, with some noise on constants so that no gradient is zero by symmetry. */
void fill_params(Live *l, Rng *r);
void fill_inputs(Live *l, int entry, Rng *r); /* by role: ids below the vocabulary, features normal, seed, step 0 */

/* Compares the gradients of every parameter whose name starts with prefix with differences of the loss: along one
 * random direction and in `samples` elements each, to 1e-6 of the norm of the tensor's gradient, and rounding.  Returns
 * the worst. */
double check_gradients(Live *l, int entry, const char *what, const char *prefix, int samples, Rng *r);

/* What PyTorch said: a file of tests/reference (record.py), its tensors as doubles. */
typedef struct Recording {
    void *header;
    const char *data;
} Recording;
typedef struct Recorded {
    DType dtype;
    Shape shape;
    int64_t n;
    double *at;
} Recorded;
Recording open_recording(const char *path);
bool has_recorded(const Recording *r, const char *name);
Recorded recorded(const Recording *r, const char *name);
const char *said(const Recording *r, const char *key); /* the file's metadata; NULL where there is none */
/* Outputs and gradients of the entry grad, from the recorded weights, are those recorded, within bound of each tensor's
 * norm.  Returns the number of outputs but the loss. */
int check_recorded(const char *description, const char *recording, const char *precision, double bound);

#endif
