/* threads.h: what the files that print ROWS kernels as CUDA threads share. */
#ifndef EMIT_THREADS_H
#define EMIT_THREADS_H

#include "emit/rows.h"

/* emit/threads.c: a row by a team of threads, elements side by side */
void make_team(Rows *r);                        /* 1, WARP or THREADS, and how its threads share a row */
void say_aligned(Rows *r);                      /* of the arrays that it does so in */

/* emit/sweep.c: its loops */
const char *inner_type(const Rows *r);          /* of an index of the inner axis */
void open_beside(Rows *r, const char *from);    /* UNROLL for (int c = c4; c < c4 + 4; c++) */
void open_sweep(Rows *r);                       /* the loops over the inner axis, in which each thread of the team takes its elements */
void count_turns(Rows *r);                      /* what a thread keeps of its row, or adds up of all: the elements of its turns */

/* emit/wide.c: what a thread's turn reads and writes as wholes */
bool is_wide(const Rows *r, int bit);           /* of Nest.wide */
void begin_wholes(Rows *r);                     /* reads them; elements are theirs until */
void end_wholes(Rows *r);                       /* writes them */
void elements_beside(Rows *r);                  /* a turn's elements, between the two */
const char *given_elements(Rows *r);            /* ", bf16 logits, bf16 &d_logits": parameters, whose names stand for them from then on */
const char *elements_to_give(Rows *r);          /* ", own_logits[c - c4], …"; outside of a turn ", logits[r][c], …" */

/* emit/kept.c: before the sweeps of a block's row: copies of what several of them read */
void keep_rows(Rows *r);

/* emit/columns_threads.c: a kernel that reduces over all rows: in Spelling */
const char *teams_of_block(const Rows *r);      /* WARPS */
const char *begin_launched_block(Rows *r, Columns *columns);
const char *end_launched_block(Rows *r, Columns *columns, const char *team);
const char *add_launched_blocks(Rows *r, Columns *columns);

#endif
