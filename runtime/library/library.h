/* library.h: a model as a library: one instance in memory of the caller.  The functions that `lathe build --library`
 * prints (NAME.h) call these with the model's tables.
 *
 * After open_library() nothing is allocated.  Nothing here writes to a terminal, ends the program, or keeps anything
 * outside the instance.  An instance is used by one call at a time; different instances are independent. */
#ifndef LATHE_LIBRARY_LIBRARY_H
#define LATHE_LIBRARY_LIBRARY_H

#include "interface/lathe_model.h"
#include "math/context.h"
#include "model/block.h"
#include "model/tables.h"
#include "step/sample.h"
#include "step/turn.h"
#include "threads/pool.h"

#include <string.h>

/* As the trainer exits; BUSY: another call of the instance is running. */
enum { LIBRARY_FINE, LIBRARY_USAGE = 2, LIBRARY_DATA, LIBRARY_DIVERGED, LIBRARY_BUSY, LIBRARY_FILE, LIBRARY_NO_FILE };
enum { LIBRARY_WORDS = 400, PROCESSOR_WORDS = 448, LIBRARY_NAME = 512 };

typedef struct Library_options {
    int threads;                /* 0: one */
    int32_t seed;               /* of initial weights and random operations */
    Run_threads *run;           /* the caller's threads (threads/pool.h); NULL: its own */
    void *with;
} Library_options;

typedef struct Library {
    uint64_t mark;              /* of an open instance */
    const Lathe_model *model;
    Lathe_context context;
    Pool *pool;
    char busy;                  /* a call is running */
    Pool *pool_before;          /* that the calling thread used, and the regions that it was in */
    void *regions;
    bool loaded;                /* there are weights: initial ones, or others */
    int32_t seed;
    int64_t step;               /* steps done */
    int64_t tickets, ticket;    /* of calls of a layer: how many; the one whose values are in the arena, or 0 */
    int64_t position;           /* tokens of the text so far */
    Memory memory;
    int64_t *place;             /* of each tensor in a text that is read (library/saved.c) */
    Candidate *candidates;      /* for the next token: [vocab]; NULL: texts are not written */
    unsigned char *seen;        /* [vocab]: not 0 for tokens that the text has */
    Step_turns turns;           /* none without the entry train */
    char words[LIBRARY_WORDS];  /* of the last failure */
} Library;

typedef struct Library_step {   /* as metrics.jsonl has it */
    double loss, grad_norm, lr;
    double part[LATHE_LOSSES];  /* losses by name, in the order of train's outputs behind the loss */
    bool skipped;               /* gradients overflowed fp16; the next step has a smaller loss scale */
} Library_step;

/* Whether a model trains.  A library that only answers knows it while it is compiled, and leaves out what training needs. */
static inline bool is_trained_here(const Lathe_model *m)
{
#ifdef LATHE_INFERENCE
    (void)m;
    return false;
#else
    return find_entry(m, ENTRY_train) != NULL;
#endif
}

static inline bool is_layer_here(const Lathe_model *m)
{
#ifdef LATHE_LAYER
    return find_entry(m, ENTRY_layer) != NULL;
#else
    (void)m;
    return false;
#endif
}

/* Of the outputs of a layer: d_x, of an input. */
static inline bool is_gradient_of_layer(const Lathe_tensor *t) { return strncmp(t->name, "d_", 2) == 0; }

/* ---- library/open.c */

/* Of a processor that lacks instructions; NULL: it does not.  memory: as many bytes as bytes() says then, for the words. */
const char *refusal_of_processor(void *memory, size_t bytes);
size_t library_bytes(const Lathe_model *m, const Library_options *o);
/* memory: library_bytes(), 64-byte aligned.  Returns NULL, and says why in *words. */
Library *open_library(const Lathe_model *m, void *memory, size_t bytes, const Library_options *o, const char **words);
void close_library(Library *l);
int64_t steps_of_library(const Library *l); /* done; -1: it is not open */

/* ---- library/call.c: return LIBRARY_FINE or another of the codes above; library_words() says more */

/* given: the arrays of an entry's inputs, in its order; without those that the library fills (interface/given.h). */
int step_library(Library *l, const void *const *given, Library_step *result);
/* The numbers that eval gives for its batch, in the order of its outputs. */
int evaluate_library(Library *l, const void *const *given, double *result);
/* wanted: where the outputs of predict go, in its order; NULL: it is not wanted. */
int predict_library(Library *l, const void *const *given, void *const *wanted);
const Lathe_entry *entry_of_library(Library *l, Entry entry); /* NULL: it cannot run, and words say why */
int run_open(Library *l, const Lathe_entry *e); /* whose inputs are there */
void show_mean(Library *l, bool shown); /* puts the mean of the weights in their place, if there is one; and back */
/* Copies the inputs that are given to those of the entry, or the gradients of outputs among them; also fills the others. */
int take_given(Library *l, const Lathe_entry *e, const void *const *given, int32_t seed, int64_t step, bool gradients);
/* Runs it with the mean of the weights in their place. */
int run_shown(Library *l, const Lathe_entry *e);
const char *library_words(const Library *l, int code); /* what was wrong in the last call, which returned that code */
/* For the calls: begins one of an open instance that no other call uses, and ends it.  Needs: end_library_call() after
 * LIBRARY_FINE. */
int begin_library_call(Library *l);
int end_library_call(Library *l, int code);
int fail_library(Library *l, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* ---- library/layer.c: of a layer */

/* wanted: of all outputs; here those that are no gradients, there those that are.  seed: of dropout.  backward_library() of
 * the last ticket goes on from there; else it computes the outputs again, from the same inputs.  The gradients of parameters
 * are then in memory.grads. */
int forward_library(Library *l, const void *const *given, int32_t seed, void *const *wanted, int64_t *ticket);
int backward_library(Library *l, int64_t ticket, const void *const *given, int32_t seed, void *const *wanted);

/* ---- library/text.c: of models with the entry decode, in one row, whose texts depend on nothing else */

/* Adds a token to the text.  scores: the logits of the next one, [vocab], of the type that decode has; NULL: not wanted. */
int next_library(Library *l, int32_t token, void *scores);
int forget_library(Library *l); /* begins another text */

typedef struct Library_sampling { /* as the settings of generate that are called so */
    double temperature, top_p, min_p, repetition_penalty;
    int64_t top_k;
    int32_t seed;
    int64_t tokens;     /* only ids below it are drawn; 0: all */
    const int32_t *end; /* [ends]: tokens that end a text */
    int ends;
} Library_sampling;

/* The token that comes next, by its scores; draws depend on seed and position.  how NULL: as the description says. */
int draw_library(Library *l, const Library_sampling *how, const void *scores, int32_t *token);
/* A new text of at most `room` tokens: the `given` ones, and those that are drawn.  *made: its tokens, without an end. */
int generate_library(Library *l, const Library_sampling *how, int32_t *tokens, int64_t given, int64_t room,
                     int64_t *made);

/* ---- library/save.c, library/load.c */

/* As safetensors: the parameters, or also what training needs to go on as if it had not been saved.  The former are the
 * bytes of a trainer's model.safetensors.  *used: how many; to NULL: only counts them. */
int save_library(Library *l, void *to, size_t bytes, size_t *used, bool all);
/* What save_library() or a trainer has written.  Without what training needs, optimizer and step begin anew.  If it does
 * not fit, the instance is as it was. */
int load_instance(Library *l, const void *from, size_t bytes);
/* ---- library/file.c: the same bytes in a file, which is written beside its place and then put there.  Not without libc. */

int save_file_of_library(Library *l, const char *path, bool all);
int load_file_of_library(Library *l, const char *path);

/* ---- library/saved.c */

int saved_tensors(const Lathe_model *m); /* of which library->place has one each */

#endif
