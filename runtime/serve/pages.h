/* pages.h: a page for a browser of this machine, made anew for each request. */
#ifndef LATHE_SERVE_PAGES_H
#define LATHE_SERVE_PAGES_H

#include <stddef.h>

typedef struct Pages {
    char *(*make)(void *with, size_t *bytes); /* from malloc; one call at a time */
    void *with;
    void (*ready)(int port); /* called when the port is open */
} Pages;

/* Answers GET / at 127.0.0.1 until SIGINT, SIGTERM or SIGHUP; port 0: any that is free.  Ends the program (1) if the port
 * cannot be opened or libmicrohttpd is missing. */
void serve_pages(const Pages *p, int port);

#endif
