/* context.c: the one context of a trainer; in a library, that of the instance whose threads ask. */
#include "math/context.h"
#include "threads/pool.h"

#ifdef LATHE_LIBRARY
Lathe_context *lathe_context(void) { return owner_of_pool(); }
#else
static Lathe_context all;

Lathe_context *lathe_context(void) { return &all; }
#endif
