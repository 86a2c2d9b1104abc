/* http.h: the server: connections to libmicrohttpd, requests to jobs. */
#ifndef LATHE_SERVE_HTTP_H
#define LATHE_SERVE_HTTP_H

#include "serve/jobs.h"

typedef struct Served {
    const char *host; /* an address, of IPv4 or IPv6 */
    int port;         /* 0: any that is free */
    const char *key;  /* NULL: everybody may ask */
    const char *model;
    const char *const *all; /* names that requests may give, [models], model among them */
    int models;
    bool chats; /* whether there are answers to chats */
    const char *no_chats; /* why not */
} Served;

bool is_this_machine(const char *host); /* an address that others cannot reach; ends the program (2) if it is none */
void open_http(void); /* ends the program (1) if libmicrohttpd is missing */
/* Answers jobs' connections until a signal asks for the end.  start is called when the port is open; it starts who
 * answers. */
void serve_jobs(const Served *s, Jobs *all, void (*start)(void *with), void *with);

#endif
