/* pages.c: one thread of libmicrohttpd's answers, one request after another.  Only requests that name this machine are
 * answered: a page of another server, whose name was made to lead here, learns nothing. */
#include "serve/pages.h"
#include "base/words.h"

#ifdef LATHE_WITH_MICROHTTPD
#include "serve/http_api.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_READERS = 16, IDLE_SECONDS = 20, HEADER_BYTES = 16 << 10 };

typedef struct Page_server {
    Http_api mhd;
    const Pages *pages;
} Page_server;

static enum MHD_Result send_text(Page_server *s, struct MHD_Connection *to, unsigned status, const char *type,
                                 char *text, size_t n)
{
    struct MHD_Response *r = s->mhd.MHD_create_response_from_buffer(n, text, MHD_RESPMEM_MUST_FREE);
    if (!r) return free(text), MHD_NO;
    s->mhd.MHD_add_response_header(r, "Content-Type", type);
    s->mhd.MHD_add_response_header(r, "Cache-Control", "no-store");
    enum MHD_Result done = s->mhd.MHD_queue_response(to, status, r);
    s->mhd.MHD_destroy_response(r);
    return done;
}

static enum MHD_Result send_words(Page_server *s, struct MHD_Connection *to, unsigned status, const char *words)
{
    return send_text(s, to, status, "text/plain; charset=utf-8", text_of("%s", words), strlen(words));
}

/* Without its port. */
static bool names_this_machine(const char *host)
{
    static const char *const own[] = {"127.0.0.1", "localhost"};
    for (int i = 0; host && i < 2; i++) {
        size_t n = strlen(own[i]);
        if (strncmp(host, own[i], n) == 0 && (!host[n] || host[n] == ':')) return true;
    }
    return false;
}

static enum MHD_Result on_page(void *server, struct MHD_Connection *from, const char *url, const char *method,
                               const char *version, const char *body, size_t *bytes, void **own)
{
    static int begun;
    Page_server *s = server;
    size_t n;
    (void)version, (void)body;
    if (!*own) return *own = &begun, MHD_YES; /* answers are due when all of a request is there */
    if (*bytes) return *bytes = 0, MHD_YES;
    if (!names_this_machine(s->mhd.MHD_lookup_connection_value(from, MHD_HEADER_KIND, "Host")))
        return send_words(s, from, MHD_HTTP_FORBIDDEN, "only for this machine, as 127.0.0.1 or localhost\n");
    if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
        return send_words(s, from, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET /\n");
    if (strcmp(url, "/") != 0) return send_words(s, from, MHD_HTTP_NOT_FOUND, "there is only /\n");
    char *page = s->pages->make(s->pages->with, &n);
    return send_text(s, from, MHD_HTTP_OK, "text/html; charset=utf-8", page, n);
}

static void tell_nobody(void *with, const char *fmt, va_list args) { (void)with, (void)fmt, (void)args; }

void serve_pages(const Pages *p, int port)
{
    static Page_server s; /* the thread has it */
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    sigset_t ends;
    int number;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    s.pages = p;
    signal(SIGPIPE, SIG_IGN);
    load_http(&s.mhd);
    sigemptyset(&ends);
    sigaddset(&ends, SIGINT), sigaddset(&ends, SIGTERM), sigaddset(&ends, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &ends, NULL); /* before the thread begins, which has them blocked too */
    struct MHD_Daemon *daemon = s.mhd.MHD_start_daemon(
        MHD_USE_POLL_INTERNAL_THREAD | MHD_USE_ERROR_LOG, (uint16_t)port, NULL, NULL, on_page, &s,
        MHD_OPTION_EXTERNAL_LOGGER, tell_nobody, NULL, MHD_OPTION_SOCK_ADDR, (struct sockaddr *)&at,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)MOST_READERS, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_SECONDS,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HEADER_BYTES, MHD_OPTION_END);
    if (!daemon)
        fail(EXIT_ERROR, NULL, "--port %d: the port cannot be opened: another program may have it; give another, or 0",
             port);
    p->ready(s.mhd.MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT)->port);
    while (sigwait(&ends, &number) != 0) {}
    s.mhd.MHD_stop_daemon(daemon);
}

#else

void serve_pages(const Pages *p, int port)
{
    (void)p;
    fail(EXIT_ERROR, NULL,
         "--watch (port %d): Lathe was built without libmicrohttpd, by which it answers; Debian, Ubuntu: apt install "
         "libmicrohttpd-dev, and build it again",
         port);
}
#endif
