/* threads.h: what is shared by the files that print ROWS kernels as CUDA threads. */
#ifndef EMIT_THREADS_H
#define EMIT_THREADS_H

#include "emit/rows.h"

/* emit/threads.c: a team of threads takes a row, and a thread elements side by side */
void make_team(Rows *r);   /* how many threads, and how they share a row */
void say_aligned(Rows *r); /* tells the compiler which arrays are aligned */

/* emit/sweep.c: loops */
const char *inner_type(const Rows *r); /* the type of an index of the inner axis */
void open_beside(Rows *r, const char *from); /* UNROLL for (int c = c4; c < c4 + 4; c++) */
void open_sweep(Rows *r);  /* the loops over the inner axis; each thread of the team takes its elements */
void count_turns(Rows *r); /* lets arrays have an element for each turn: what a thread keeps of its row, or its sums */

/* emit/wide.c: what a turn of a thread reads and writes as wholes */
bool is_wide(const Rows *r, int bit); /* a bit of Nest.wide */
void begin_wholes(Rows *r);           /* reads them; elements are theirs until end_wholes() */
void end_wholes(Rows *r);             /* writes them */
void elements_beside(Rows *r);        /* the elements of a turn, between the two */
/* ", bf16 logits, bf16 &d_logits": parameters; from then on these names are the elements */
const char *given_elements(Rows *r);
const char *elements_to_give(Rows *r); /* ", own_logits[c - c4], …" in a turn, else ", logits[r][c], …" */

/* emit/kept.c: copies of what several sweeps of a row read */
void keep_rows(Rows *r);

/* emit/columns_threads.c: reductions over all rows, for Spelling */
const char *teams_of_block(const Rows *r); /* WARPS */
const char *begin_launched_block(Rows *r, Columns *columns);
const char *end_launched_block(Rows *r, Columns *columns, const char *team);
const char *add_launched_blocks(Rows *r, Columns *columns);

#endif
