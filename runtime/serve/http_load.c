/* http_load.c: loads libmicrohttpd when a server starts: no other command needs it. */
#ifdef LATHE_WITH_MICROHTTPD
#include "serve/http_api.h"
#include "base/words.h"

#include <dlfcn.h>
#include <string.h>

static void find(void *library, const char *name, void *to)
{
    void *at = dlsym(library, name);
    if (!at) fail(EXIT_ERROR, NULL, "libmicrohttpd is too old: it has no %s; version 0.9.71 or later is needed", name);
    memcpy(to, &at, sizeof at);
}

#define FIND(NAME) find(library, #NAME, &to->NAME)

void load_http(Http_api *to)
{
    void *library = dlopen("libmicrohttpd.so.12", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        fail(EXIT_ERROR, NULL,
             "serve answers by libmicrohttpd, which cannot be loaded: %s; Debian, Ubuntu: apt install libmicrohttpd12",
             dlerror());
    FIND(MHD_start_daemon);
    FIND(MHD_stop_daemon);
    FIND(MHD_get_daemon_info);
    FIND(MHD_get_connection_info);
    FIND(MHD_lookup_connection_value);
    FIND(MHD_suspend_connection);
    FIND(MHD_resume_connection);
    FIND(MHD_create_response_from_buffer);
    FIND(MHD_create_response_from_callback);
    FIND(MHD_add_response_header);
    FIND(MHD_queue_response);
    FIND(MHD_destroy_response);
}
#else
typedef int Http_load_empty; /* a file may not be empty */
#endif
