/* context.h: what the kernels of a call share besides their arguments: rooms for packing, and ids out of range. */
#ifndef LATHE_MATH_CONTEXT_H
#define LATHE_MATH_CONTEXT_H

#include <stdbool.h>
#include <stdint.h>

typedef struct Lathe_context {
    char *rooms;                /* of gemm_room_bytes(), one for each thread */
    int threads_with_room;
    int64_t live_rows;          /* products whose rows are alike compute the first of them alone; 0: all */
    struct Lathe_met_id {       /* the smallest id out of range of the first kernel with any; what NULL: none */
        const char *place, *what;
        int id, below;
        bool data;
    } met;
    char lock;                  /* of `met` */
} Lathe_context;

/* That of the calling thread: a trainer has one (math/context.c); a library has one for each instance. */
Lathe_context *lathe_context(void);

#endif
