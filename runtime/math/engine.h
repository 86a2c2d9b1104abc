/* engine.h: the engine of matrix products: its threads and their buffers (rooms). */
#ifndef LATHE_MATH_ENGINE_H
#define LATHE_MATH_ENGINE_H

#include <stddef.h>
#include <stdint.h>

/* math/cpu.c: does nothing: the check runs before main */
void rt_check_processor(void);

/* Called before the first gemm, and again for another number of threads: sets the number of OpenMP threads and
 * allocates a room for what each packs; loads OpenBLAS if it is the engine. */
void rt_init_gemm(int threads);
/* The calling thread's room, LATHE_ROOM_BYTES: for temporary arrays of a kernel that are too large for a stack.  The
 * plan counts it. */
void *thread_room(void);
/* From now on products whose rows are alike (math/gemm_shape.h) compute the first n alone; others are 0. */
void gemm_rows_live(int64_t n);
const char *gemm_engine(void); /* the engine, or the vector instructions that ours was compiled for */

#endif
