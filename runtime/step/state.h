/* state.h: the progress of a run, and the text of its state.json. */
#ifndef LATHE_STEP_STATE_H
#define LATHE_STEP_STATE_H

#include "base/file.h"
#include "step/noise.h"
#include "step/optim.h"

#include <jansson.h>

typedef struct Progress { /* of a run, beside its arrays */
    int64_t step;         /* steps done */
    int64_t evaluated;    /* steps done at the last evaluation; -1: none */
    int64_t best_step;    /* step of the best evaluation by the recipe's metric; -1: none */
    double best_value, elapsed; /* elapsed: s */
    int64_t stale;        /* evaluations since the best */
    int64_t epoch_steps;       /* steps since the epoch began, for data in epochs */
    double epoch_loss;         /* sum of their losses */
    int64_t epochs;            /* number of ended epochs */
    Loss_scale loss_scale;
    Noise noise;
} Progress;

typedef struct State { /* a state.json that was read */
    char *path;
    Progress at;
    json_t *all;
    bool unchecked; /* check_mark() takes any bytes: the caller finds what differs */
} State;

json_t *hash_json(uint64_t hash);
void add_mark(json_t *state, const char *file, Mark m);
char *state_text(const json_t *state);                 /* with its checksum, from malloc */
char *state_last_line(const char *body, size_t bytes); /* what state_text adds */
void read_state(State *s, const char *checkpoint);     /* ends the program (3) if it is damaged */
int64_t whole_member(const State *s, const json_t *from, const char *name, int64_t least); /* or ends the program (3) */
void close_state(State *s);
/* Ends the program (3) if the bytes of a mapped file differ from those of the saved checkpoint. */
void check_mark(const State *s, const char *file, const char *path, const void *at, size_t bytes);

#endif
