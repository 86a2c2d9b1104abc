/* courier.h: the thread that carries messages between the ranks of a run.
 *
 * It carries out exchanges, in which each rank sends a piece to each other rank and receives one; all ranks begin the
 * same exchanges in the same order.  Besides, every rank tells rank 0 each second how it is, and rank 0 tells all. */
#ifndef LATHE_RANKS_COURIER_H
#define LATHE_RANKS_COURIER_H

#include "ranks/carrier.h"

#include <stdint.h>

/* What the program does; words in courier.c. */
typedef enum Rank_action {
    RANK_STARTS, RANK_READS, RANK_COMPUTES, RANK_ADDS, RANK_UPDATES, RANK_EVALUATES, RANK_SAVES, RANK_FOLLOWS, RANK_ENDS
} Rank_action;

enum { EXIT_RANK = 6 }; /* the exit code of a run that another rank's failure ended */

typedef struct Piece { /* sent to a rank, and received from it */
    const void *out;
    void *in;
    int64_t out_bytes, in_bytes;
} Piece;

/* open: called in the thread.  Returns NULL, or why not. */
const char *start_courier(const Carrier *(*open)(void *with, const char **refusal), void *with);
const Carrier *carrier_in_use(void); /* NULL: one rank */
/* Returns its number, above 0.  piece: [ranks], copied; that of this rank is left out.  after: the number of an exchange
 * that must have ended before this one starts; 0: none.  finish: called by the thread when all has arrived; NULL:
 * nothing. */
int64_t begin_exchange(const Piece *piece, int64_t after, void (*finish)(void *with), void *with);
bool wait_for_exchange(int64_t number); /* until it and all before it have ended; false: the run has failed */
/* Both, in an order of its own: it does not wait for those that were begun before. */
bool exchange(const Piece *piece);
void rank_does(Rank_action action, int64_t step); /* for the words about a rank that is lost */
enum { ACTION_BYTES = 64 };
void show_action_at(char *at); /* each time it is told: "step 7, saving", as [ACTION_BYTES] with spaces; NULL: nowhere */
void ask_for_save(void);    /* of rank 0, by another rank: also in a signal handler */
void ask_to_end(int signal); /* in a handler: rank 0 learns of the signal */
int asked_to_end(void);      /* by rank 0: the signal that another has got; 0: none */
bool take_asked_save(void); /* by rank 0: whether another has asked since */
const char *ranks_failure(int *code);  /* NULL: none */
int lost_rank(void);                   /* whose silence is that; -1: none */
bool was_stopped(void);                /* this process, shortly before: the others have ended without it */
/* This rank ends with a failure: rank 0, or all, are told.  Returns whether rank 0 has printed the text.  Does not
 * return if the run has failed already. */
bool tell_own_failure(int code, const char *text);
/* If another rank is lost or has failed, the thread calls it until it returns true; others then learn of it, and this
 * process ends.  Not once ranks are parting. */
void when_ranks_fail(bool (*tell)(int code, const char *text));
void watch_processes(const int64_t *process); /* [ranks]: numbers of those on this machine; 0: on others; kept */
/* A few words of another kind to rank 0, by another rank's thread; a later note replaces one that is not sent yet. */
enum { LATHE_NOTE_BYTES = 1900 };
void give_note(const void *at, int64_t bytes);
bool take_note(int rank, void *at, int64_t bytes); /* by rank 0: the rank's last one, once */
void end_courier(void); /* in good order; all ranks call it */

#endif
