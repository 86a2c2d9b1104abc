/* harness_cuda.h: emitted CUDA in tests: a module's ROWS and index kernels as CUDA text in the simulator (tests/sim) and
 * as C, on the same random memory. */
#ifndef HARNESS_CUDA_H
#define HARNESS_CUDA_H

#include "harness.h"
#include "emit/emit.h"

/* A compiled model.cu, with a simulator of its own. */
typedef struct Device {
    void *library;
    const Lathe_model *model;
    void (*launch)(int number, void *const *arguments);
    int (*malloc)(void **at, size_t bytes);
    int (*free)(void *at);
    int (*copy)(void *to, const void *from, size_t bytes, int kind);
    void (*order)(int order, unsigned seed);
    void (*processors)(int n); /* that it says it has: the most blocks of a loop in one launch */
    void (*plain)(bool all);     /* whether what addresses by ids is done by plain loops */
    const char *(*report)(void);
    const char *(*start)(void); /* for products; what of them failed so far, or NULL */
} Device;

typedef struct Pair { /* one for each function of the CUDA text */
    const Kernel *kernel;
    const Program *program;
    Call cuda, c;
} Pair;

typedef struct Both {
    const char *folder, *c_folder; /* of model.cu, of model.c */
    const Module *module;
    VEC(Pair) pairs;
    void *c_library; /* NULL until sides are compared */
    void (*call)(int number, void *const *arguments); /* of C */
    Device device;
} Both;

void need_simulator(void);                   /* compiles it; skips the test where there is no C++ compiler */
Both both_sides(const Module *m);            /* compiled for target_cuda; sets options.target */
void close_both(Both *b);
Device device_with(const Both *b, const char *from, const char *to); /* model.cu with the first `from` made `to` */
Device device_of_text(const Both *b, const char *text, const char *header); /* another model.cu; and lathe_cuda.cuh, or NULL */

/* Every kernel: what C gives, bit for bit where nothing is reduced, else to `bound` units of the last place of a
 * buffer's norm; the same bits in each order of blocks and threads; nothing to complain of. */
void compare_sides(Both *b, const char *what, double bound, Rng *r);

/* Every entry, beside that of the CPU target's text of the same model, whose memory it uses: outputs and states to `bound` of
 * their norms, what is no real number exactly, first gradients to `gradients`; nothing to complain of.  train makes `steps` steps
 * with an optimizer of the test's own on each side, the parameters of the CPU's go to the entries after it; decode writes
 * three tokens. */
void compare_entries(const Device *d, Live *cpu, const char *what, int steps, double bound, double gradients, Rng *r);
const char *first_complaint(const Both *b, const Device *d, Rng *r); /* of the simulator; "nothing" */

/* harness_emitted.c: sides and entries of whole models, whose lines have the word `chosen`; without one, some model's text
 * must have each wanted text in it. */
typedef struct Wanted {
    const char *text;
    bool seen;
} Wanted;
void compare_models(const char *const *lines, int n, const char *chosen, Wanted *wanted, int texts);

/* One call of an entry there, with parameters and inputs drawn by the seed: a hash of its outputs, states and gradients.
 * said: what the simulator complained of, "" if nothing. */
uint64_t entry_bits(const Device *d, Live *cpu, const char *entry, uint64_t seed, const char **said);

typedef struct Differences { /* the largest met: of outputs and states while training, and of other entries; of gradients */
    double training, other, gradient;
} Differences;
extern Differences worst;
extern double largest_error;              /* met so far, in those units */
extern double finite_values, all_values;  /* of real outputs where something is reduced */

#endif
