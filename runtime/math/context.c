/* context.c: the one context of a trainer. */
#include "math/context.h"

static Lathe_context all;

Lathe_context *lathe_context(void) { return &all; }
