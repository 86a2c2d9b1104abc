/* http.c: an HTTP server by libmicrohttpd: one thread has all connections; those whose answers are not there yet sleep.
 *
 * A request is read whole, becomes a job, and its connection sleeps until the job has something to say.  A connection
 * that sleeps is not watched by the library, so who answers looks whether its client is still there (jobs.c).  Here the
 * main thread looks once a second for connections whose requests take too long to come (slow clients), and waits for
 * signals. */
#include "serve/http.h"

#include <stdlib.h>
#include <string.h>

#ifdef LATHE_WITH_MICROHTTPD
#include "serve/http_api.h"
#include "serve/reply.h"

#include <arpa/inet.h>
#include <signal.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    LARGEST_BODY = 4 << 20, /* bytes */
    CONNECTIONS = 900,      /* at once; others wait to be accepted */
    IDLE_SECONDS = 20,      /* a connection on which nothing moves */
    REQUEST_SECONDS = 30,   /* a request, from its first byte to its last */
    PATIENCE_SECONDS = 10,  /* at the end: the answer under way, and then the clients who read */
    HEAD_BYTES = 32 << 10
};

typedef struct Line_in { /* a connection */
    struct Line_in *before, *next;
    int socket;
    bool busy;    /* a request has come whole and is being answered */
    double since; /* when the request may have begun */
} Line_in;

typedef struct Call { /* a request on a connection */
    Line_in *line;
    const char *method;
    char *path;
    double came;
    char *body;
    size_t bytes, room;
    bool chat;
    int status;
    Job *job;
} Call;

static Http_api mhd;

typedef struct Server {
    const Served *s;
    Jobs *jobs;
    pthread_mutex_t lock; /* of lines */
    Line_in *lines;
    int calls; /* under way */
    int64_t number, started;
} Server;

/* ------------------------------------------------------------------ replies */

static enum MHD_Result send_text(Call *c, struct MHD_Connection *to, int status, char *text)
{
    struct MHD_Response *r = mhd.MHD_create_response_from_buffer(strlen(text), text, MHD_RESPMEM_MUST_FREE);
    if (!r) return free(text), MHD_NO;
    mhd.MHD_add_response_header(r, "Content-Type", "application/json");
    if (status == 503) mhd.MHD_add_response_header(r, "Retry-After", "1");
    if (status == 401) mhd.MHD_add_response_header(r, "WWW-Authenticate", "Bearer");
    if (status == 405) mhd.MHD_add_response_header(r, "Allow", "GET, POST");
    c->status = status;
    enum MHD_Result done = mhd.MHD_queue_response(to, (unsigned)status, r);
    mhd.MHD_destroy_response(r);
    return done;
}

static enum MHD_Result send_error(Call *c, struct MHD_Connection *to, int status, const char *field, const char *words)
{
    return send_text(c, to, status, error_reply(status, field, words));
}

typedef struct Stream_out {
    Server *server;
    Job *job;
    struct MHD_Connection *to;
} Stream_out;

static void doze(Job *j, struct MHD_Connection *to)
{
    j->asleep = true;
    mhd.MHD_suspend_connection(to);
}

static ssize_t read_stream(void *with, uint64_t at, char *to, size_t room)
{
    Stream_out *s = with;
    Job *j = s->job;
    ssize_t n = 0;
    (void)at;
    pthread_mutex_lock(&s->server->jobs->lock);
    if (j->sent < j->bytes) {
        n = (ssize_t)(j->bytes - j->sent < room ? j->bytes - j->sent : room);
        memcpy(to, j->text + j->sent, (size_t)n);
        j->sent += (size_t)n;
    } else if (j->whole) n = MHD_CONTENT_READER_END_OF_STREAM;
    else doze(j, s->to);
    pthread_mutex_unlock(&s->server->jobs->lock);
    return n;
}

static enum MHD_Result send_stream(Server *server, Call *c, struct MHD_Connection *to)
{
    Stream_out *s = must_alloc(sizeof *s);
    *s = (Stream_out){server, c->job, to};
    struct MHD_Response *r = mhd.MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 4096, read_stream, s, free);
    if (!r) return free(s), MHD_NO;
    mhd.MHD_add_response_header(r, "Content-Type", "text/event-stream; charset=utf-8");
    mhd.MHD_add_response_header(r, "Cache-Control", "no-cache");
    enum MHD_Result done = mhd.MHD_queue_response(to, MHD_HTTP_OK, r);
    mhd.MHD_destroy_response(r);
    return done;
}

/* The connection was woken: the job has its status, or it has ended without one because the client is gone. */
static enum MHD_Result send_job(Server *server, Call *c, struct MHD_Connection *to)
{
    Job *j = c->job;
    char *text = NULL;
    pthread_mutex_lock(&server->jobs->lock);
    int status = j->status;
    bool stream = status == 200 && j->request.stream, ready = status && (stream || j->whole);
    if (ready && !stream) text = text_of("%.*s", (int)j->bytes, j->text);
    if (!ready && !j->whole) doze(j, to);
    bool over = !ready && j->whole;
    pthread_mutex_unlock(&server->jobs->lock);
    if (over) return MHD_NO;
    if (stream) c->status = status;
    if (stream) return send_stream(server, c, to);
    return text ? send_text(c, to, status, text) : MHD_YES;
}

/* ------------------------------------------------------------------ requests */

/* Takes as long for any key of the same length. */
static bool has_key(const char *key, const char *given)
{
    static const char bearer[] = "Bearer ";
    if (!given || strncmp(given, bearer, strlen(bearer)) != 0) return false;
    given += strlen(bearer);
    size_t n = strlen(given), own = strlen(key);
    unsigned differs = n != own;
    for (size_t i = 0; i < n; i++) differs |= (unsigned char)given[i] ^ (unsigned char)key[i % own];
    return differs == 0;
}

static const char *header(struct MHD_Connection *of, const char *name)
{
    return mhd.MHD_lookup_connection_value(of, MHD_HEADER_KIND, name);
}

/* Pages that a browser on this machine shows could ask a server without a key. */
static bool is_stranger(const Server *server, struct MHD_Connection *from)
{
    return !server->s->key && header(from, "Origin") != NULL;
}

/* What the head of a request shows already; YES: the body may come. */
static enum MHD_Result take_head(Server *server, Call *c, struct MHD_Connection *from, bool *over)
{
    const char *length = header(from, "Content-Length"), *path = c->path;
    bool posts = strcmp(c->method, "POST") == 0, gets = strcmp(c->method, "GET") == 0;
    bool chats = strcmp(path, "/v1/chat/completions") == 0, texts = strcmp(path, "/v1/completions") == 0;
    bool models = strcmp(path, "/v1/models") == 0, health = strcmp(path, "/health") == 0;
    *over = true;
    c->chat = chats;
    if (length && strtoull(length, NULL, 10) > LARGEST_BODY)
        return send_error(c, from, 413, NULL, "the body is longer than 4 MB");
    if (!chats && !texts && !models && !health) return send_error(c, from, 404, NULL, "there is nothing here");
    if (chats || texts ? !posts : !gets)
        return send_error(c, from, 405, NULL, chats || texts ? "this is asked by POST" : "this is asked by GET");
    if (health) return send_text(c, from, 200, text_of("{\"status\":\"ok\"}"));
    if (is_stranger(server, from))
        return send_error(c, from, 403, NULL, "pages of browsers are not answered without a key (serve --key)");
    if (server->s->key && !has_key(server->s->key, header(from, "Authorization")))
        return send_error(c, from, 401, NULL, "the key is missing or wrong: Authorization: Bearer KEY");
    if (models) return send_text(c, from, 200, models_reply(server->s->all, server->s->models, server->started));
    if (chats && !server->s->chats) return send_error(c, from, 400, "messages", server->s->no_chats);
    *over = false;
    return MHD_YES;
}

/* NO closes the connection: the client sends more than it may. */
static enum MHD_Result take_body(Call *c, const char *at, size_t n)
{
    if (c->bytes + n > LARGEST_BODY) return MHD_NO;
    if (c->bytes + n > c->room) c->body = must_grow(c->body, c->room = 2 * (c->bytes + n));
    memcpy(c->body + c->bytes, at, n);
    c->bytes += n;
    return MHD_YES;
}

static Job *new_job(Server *server, Call *c, struct MHD_Connection *from)
{
    Job *j = must_alloc(sizeof *j);
    j->owners = 1;
    j->number = server->number++;
    j->created = (int64_t)time(NULL);
    j->connection = from;
    j->socket = c->line->socket;
    return j;
}

/* The connection sleeps before who answers can wake it. */
static enum MHD_Result take_request(Server *server, Call *c, struct MHD_Connection *from)
{
    Refusal fault;
    pthread_mutex_lock(&server->lock);
    c->line->busy = true;
    pthread_mutex_unlock(&server->lock);
    Job *j = c->job = new_job(server, c, from);
    bool good = read_request(c->body ? c->body : "", c->bytes, c->chat, &j->request, &fault);
    free(c->body);
    c->body = NULL;
    if (!good) return send_error(c, from, 400, fault.field, fault.words);
    doze(j, from);
    if (add_job(server->jobs, j)) return MHD_YES;
    j->asleep = false;
    j->status = 503;
    j->whole = true;
    char *text = error_reply(503, NULL, "too many requests wait; try again");
    j->text = text, j->bytes = strlen(text);
    mhd.MHD_resume_connection(from);
    return MHD_YES;
}

static enum MHD_Result on_request(void *with, struct MHD_Connection *from, const char *url, const char *method,
                                  const char *version, const char *body, size_t *bytes, void **own)
{
    Server *server = with;
    Call *c = *own;
    bool over;
    (void)url, (void)version;
    if (!c || !c->line) return MHD_NO;
    if (!c->method) {
        c->method = strcmp(method, "POST") == 0 ? "POST" : strcmp(method, "GET") == 0 ? "GET" : "other";
        return take_head(server, c, from, &over);
    }
    if (*bytes) {
        enum MHD_Result taken = c->status ? MHD_YES : take_body(c, body, *bytes);
        *bytes = 0;
        return taken;
    }
    if (c->status) return MHD_YES;
    return c->job ? send_job(server, c, from) : take_request(server, c, from);
}

static void *on_call_begin(void *with, const char *url, struct MHD_Connection *from)
{
    Server *server = with;
    const union MHD_ConnectionInfo *line = mhd.MHD_get_connection_info(from, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    size_t n = strcspn(url, "?");
    Call *c = must_alloc(sizeof *c);
    c->line = line ? line->socket_context : NULL;
    c->came = seconds_now();
    c->path = text_of("%.*s", n < 200 ? (int)n : 200, url);
    pthread_mutex_lock(&server->lock);
    server->calls++;
    if (c->line) c->line->since = c->came;
    pthread_mutex_unlock(&server->lock);
    return c;
}

static void log_call(const Call *c, bool whole)
{
    const Job *j = c->job;
    int64_t read = j ? j->read : 0, written = j ? j->written : 0;
    show(stderr, "%s %s %d%s %.0f ms", c->method ? c->method : "?", c->path, c->status, whole ? "" : " (left)",
         (seconds_now() - c->came) * 1e3);
    if (read) show(stderr, " read %lld wrote %lld", (long long)read, (long long)written);
    show(stderr, "\n");
}

static void on_call_end(void *with, struct MHD_Connection *of, void **own, enum MHD_RequestTerminationCode how)
{
    Server *server = with;
    Call *c = *own;
    (void)of;
    if (!c) return;
    pthread_mutex_lock(&server->jobs->lock); /* counts are written by who answers */
    log_call(c, how == MHD_REQUEST_TERMINATED_COMPLETED_OK);
    pthread_mutex_unlock(&server->jobs->lock);
    if (c->job) leave_job(server->jobs, c->job);
    pthread_mutex_lock(&server->lock);
    server->calls--;
    if (c->line) c->line->busy = false, c->line->since = seconds_now();
    pthread_mutex_unlock(&server->lock);
    free(c->body);
    free(c->path);
    free(c);
    *own = NULL;
}

/* ------------------------------------------------------------------ connections */

static void on_line(void *with, struct MHD_Connection *c, void **own, enum MHD_ConnectionNotificationCode what)
{
    Server *server = with;
    Line_in *l = *own;
    pthread_mutex_lock(&server->lock);
    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        *own = l = must_alloc(sizeof *l);
        l->socket = mhd.MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
        l->since = seconds_now();
        l->next = server->lines;
        if (l->next) l->next->before = l;
        server->lines = l;
    } else if (l) {
        if (l->before) l->before->next = l->next;
        else server->lines = l->next;
        if (l->next) l->next->before = l->before;
        free(l);
        *own = NULL;
    }
    pthread_mutex_unlock(&server->lock);
}

/* Ends connections whose requests do not come; all: every connection. */
static void hang_up(Server *server, bool all)
{
    double now = seconds_now();
    pthread_mutex_lock(&server->lock);
    for (Line_in *l = server->lines; l; l = l->next)
        if (all || (!l->busy && now - l->since > REQUEST_SECONDS)) shutdown(l->socket, SHUT_RDWR);
    pthread_mutex_unlock(&server->lock);
}

static int calls_now(Server *server)
{
    pthread_mutex_lock(&server->lock);
    int n = server->calls;
    pthread_mutex_unlock(&server->lock);
    return n;
}

static void wake_connection(void *connection) { mhd.MHD_resume_connection(connection); }

/* ------------------------------------------------------------------ beginning and end */

typedef union Address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
} Address;

static bool read_address(const char *host, int port, Address *a)
{
    *a = (Address){0};
    if (strcmp(host, "localhost") == 0) host = "127.0.0.1";
    if (inet_pton(AF_INET, host, &a->v4.sin_addr) == 1) {
        a->v4.sin_family = AF_INET;
        a->v4.sin_port = htons((uint16_t)port);
        return true;
    }
    if (inet_pton(AF_INET6, host, &a->v6.sin6_addr) != 1) return false;
    a->v6.sin6_family = AF_INET6;
    a->v6.sin6_port = htons((uint16_t)port);
    return true;
}

bool is_this_machine(const char *host)
{
    Address a;
    if (!read_address(host, 0, &a))
        fail(EXIT_USAGE, NULL, "--host %s: expected an address, such as 127.0.0.1, 0.0.0.0 or ::1", host);
    if (a.any.sa_family == AF_INET) return ntohl(a.v4.sin_addr.s_addr) >> 24 == 127;
    return IN6_IS_ADDR_LOOPBACK(&a.v6.sin6_addr);
}

static void log_nothing(void *with, const char *fmt, va_list args) { (void)with, (void)fmt, (void)args; }

static struct MHD_Daemon *start_daemon(Server *server)
{
    Address a;
    read_address(server->s->host, server->s->port, &a);
    unsigned flags = MHD_USE_POLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG;
    if (a.any.sa_family == AF_INET6) flags |= MHD_USE_IPv6;
    struct MHD_Daemon *d = mhd.MHD_start_daemon(
        flags, (uint16_t)server->s->port, NULL, NULL, on_request, server, MHD_OPTION_EXTERNAL_LOGGER, log_nothing, NULL,
        MHD_OPTION_SOCK_ADDR, &a.any, MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT,
        (unsigned)IDLE_SECONDS, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HEAD_BYTES, MHD_OPTION_URI_LOG_CALLBACK,
        on_call_begin, server, MHD_OPTION_NOTIFY_COMPLETED, on_call_end, server, MHD_OPTION_NOTIFY_CONNECTION, on_line,
        server, MHD_OPTION_END);
    if (!d)
        fail(EXIT_ERROR, NULL, "%s port %d cannot be opened: another program may have it; give --port N",
             server->s->host, server->s->port);
    return d;
}

static void tell_address(const Server *server, struct MHD_Daemon *d)
{
    const char *host = server->s->host, *open = strchr(host, ':') ? "[" : "", *close = *open ? "]" : "";
    int port = mhd.MHD_get_daemon_info(d, MHD_DAEMON_INFO_BIND_PORT)->port;
    show(stdout, "serving %s at http://%s%s%s:%d/v1\n", server->s->model, open, host, close, port);
    fflush(stdout);
}

static bool ends_now(const sigset_t *signals, long milliseconds)
{
    struct timespec wait = {milliseconds / 1000, milliseconds % 1000 * 1000000};
    return sigtimedwait(signals, NULL, &wait) > 0;
}

/* The answer under way ends by itself, or is cut; then clients read what they have.  A second signal is not patient. */
static void end_server(Server *server, struct MHD_Daemon *d, const sigset_t *signals)
{
    double since = seconds_now();
    bool cut = false;
    end_jobs(server->jobs, false);
    while (!jobs_ended(server->jobs)) {
        if (ends_now(signals, 20) || seconds_now() - since > PATIENCE_SECONDS) cut = true;
        if (cut) end_jobs(server->jobs, true);
    }
    for (since = seconds_now(); calls_now(server) && !cut && seconds_now() - since < PATIENCE_SECONDS;)
        if (ends_now(signals, 20)) cut = true;
    hang_up(server, true);
    mhd.MHD_stop_daemon(d);
}

void open_http(void) { load_http(&mhd); }

void serve_jobs(const Served *s, Jobs *all, void (*start)(void *), void *with)
{
    sigset_t signals;
    Server server = {.s = s, .jobs = all, .started = (int64_t)time(NULL)};
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &signals, NULL); /* all threads inherit it */
    signal(SIGPIPE, SIG_IGN);
    pthread_mutex_init(&server.lock, NULL);
    open_jobs(all, 256, wake_connection);
    struct MHD_Daemon *d = start_daemon(&server);
    start(with);
    tell_address(&server, d);
    while (!ends_now(&signals, 1000)) hang_up(&server, false);
    end_server(&server, d, &signals);
}

#else

bool is_this_machine(const char *host) { return strncmp(host, "127.", 4) == 0; }

void open_http(void)
{
    fail(EXIT_ERROR, NULL,
         "this trainer was built without libmicrohttpd, by which serve answers; Debian, Ubuntu: apt install "
         "libmicrohttpd-dev, and build it again");
}

void serve_jobs(const Served *s, Jobs *all, void (*start)(void *), void *with)
{
    (void)s, (void)all, (void)start, (void)with;
}
#endif
