/* bug.h: for our mistakes: what must hold, in every room and in a library. */
#ifndef LATHE_BASE_BUG_H
#define LATHE_BASE_BUG_H

/* Prints the place, and aborts; a library only aborts. */
#define bug_if(condition) ((condition) ? bug_at(__FILE__, __LINE__, #condition) : (void)0)
#ifdef LATHE_LIBRARY
#include <stdlib.h>
static inline _Noreturn void bug_at(const char *file, int line, const char *what)
{
    (void)file, (void)line, (void)what;
    abort();
}
#else
_Noreturn void bug_at(const char *file, int line, const char *what);
#endif

#endif
