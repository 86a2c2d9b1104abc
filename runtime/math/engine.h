/* engine.h: the products' engine: its threads and their rooms. */
#ifndef LATHE_MATH_ENGINE_H
#define LATHE_MATH_ENGINE_H

#include <stddef.h>

/* math/cpu.c: does nothing: what counts happens before main */
void rt_check_processor(void);

/* Before the first gemm: sets the number of OpenMP threads and takes a room for what each packs; loads OpenBLAS where
 * it is the engine.  Again for another number. */
void rt_init_gemm(int threads);
/* The calling thread's room, LATHE_ROOM_BYTES: for whatever a kernel of the runtime needs while it runs and what is too
 * large for a stack.  The plan counts it. */
void *thread_room(void);
const char *gemm_engine(void); /* the engine, or the vectors that ours was compiled for */

#endif
