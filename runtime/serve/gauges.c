/* gauges.c: a thread of libmicrohttpd's tells the numbers as they are; whoever sets one waits at most while a text of
 * them is made. */
#include "serve/gauges.h"
#include "base/words.h"

#ifdef LATHE_WITH_MICROHTTPD
#include "serve/http_api.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_WATCHERS = 16, SILENT_SECONDS = 20, REQUEST_BYTES = 16 << 10 };

typedef struct Gauge {
    char *name;
    double value;
} Gauge;

struct Gauges {
    Http_api mhd;
    struct MHD_Daemon *daemon;
    pthread_mutex_t lock; /* of what follows */
    char *labels;         /* {model="gpt",run="runs/gpt"} */
    Gauge *gauge;
    int n;
};

/* ------------------------------------------------------------------ the text */

static void put_label(FILE *f, const char *name, const char *value)
{
    fprintf(f, "%s=\"", name);
    for (; *value; value++) {
        if (*value == '"' || *value == '\\') fputc('\\', f);
        if (*value == '\n') fputs("\\n", f);
        else fputc(*value, f);
    }
    fputc('"', f);
}

static void put_gauge_value(FILE *f, double x)
{
    if (isnan(x)) fputs("NaN\n", f);
    else if (isinf(x)) fputs(x > 0 ? "+Inf\n" : "-Inf\n", f);
    else fprintf(f, "%.15g\n", x);
}

static char *text_of_gauges(Gauges *g, size_t *bytes)
{
    char *text = NULL;
    FILE *f = print_to(&text, bytes);
    pthread_mutex_lock(&g->lock);
    for (int i = 0; i < g->n; i++) {
        fprintf(f, "# TYPE %s gauge\n%s%s ", g->gauge[i].name, g->gauge[i].name, g->labels);
        put_gauge_value(f, g->gauge[i].value);
    }
    pthread_mutex_unlock(&g->lock);
    fputs("# EOF\n", f);
    end_print(f);
    return text;
}

/* ------------------------------------------------------------------ answers */

static enum MHD_Result answer(Gauges *g, struct MHD_Connection *to, unsigned status, const char *type, char *text,
                              size_t n)
{
    struct MHD_Response *r = text ? g->mhd.MHD_create_response_from_buffer(n, text, MHD_RESPMEM_MUST_FREE) : NULL;
    if (!r) return free(text), MHD_NO;
    g->mhd.MHD_add_response_header(r, "Content-Type", type);
    if (status == MHD_HTTP_METHOD_NOT_ALLOWED) g->mhd.MHD_add_response_header(r, "Allow", "GET, HEAD");
    enum MHD_Result done = g->mhd.MHD_queue_response(to, status, r);
    g->mhd.MHD_destroy_response(r);
    return done;
}

static enum MHD_Result send_refusal(Gauges *g, struct MHD_Connection *to, unsigned status, const char *words)
{
    return answer(g, to, status, "text/plain; charset=utf-8", text_of("%s", words), strlen(words));
}

static enum MHD_Result on_watcher(void *gauges, struct MHD_Connection *from, const char *url, const char *method,
                                  const char *version, const char *body, size_t *bytes, void **own)
{
    static int begun;
    Gauges *g = gauges;
    size_t n;
    (void)version, (void)body;
    if (!*own) return *own = &begun, MHD_YES; /* answers are due when all of a request is there */
    if (*bytes) return *bytes = 0, MHD_YES;
    if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
        return send_refusal(g, from, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET /metrics\n");
    if (strcmp(url, "/metrics") != 0) return send_refusal(g, from, MHD_HTTP_NOT_FOUND, "there is only /metrics\n");
    char *text = text_of_gauges(g, &n);
    return answer(g, from, MHD_HTTP_OK, "application/openmetrics-text; version=1.0.0; charset=utf-8", text, n);
}

/* ------------------------------------------------------------------ beginning and end */

static char *labels_of(const char *model, const char *run)
{
    char *text = NULL;
    size_t bytes;
    FILE *f = print_to(&text, &bytes);
    fputc('{', f);
    put_label(f, "model", model);
    fputc(',', f);
    put_label(f, "run", run);
    fputc('}', f);
    end_print(f);
    return text;
}

static void log_nowhere(void *with, const char *fmt, va_list args) { (void)with, (void)fmt, (void)args; }

Gauges *open_gauges(int port, const char *model, const char *run)
{
    Gauges *g = must_alloc(sizeof *g);
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    load_http(&g->mhd);
    pthread_mutex_init(&g->lock, NULL);
    g->labels = labels_of(model, run);
    g->daemon = g->mhd.MHD_start_daemon(
        MHD_USE_POLL_INTERNAL_THREAD | MHD_USE_ERROR_LOG, (uint16_t)port, NULL, NULL, on_watcher, g,
        MHD_OPTION_EXTERNAL_LOGGER, log_nowhere, NULL, MHD_OPTION_SOCK_ADDR, (struct sockaddr *)&at,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)MOST_WATCHERS, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)SILENT_SECONDS,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)REQUEST_BYTES, MHD_OPTION_END);
    if (!g->daemon)
        fail(EXIT_ERROR, NULL,
             "--metrics-port %d: the port cannot be opened: another program may have it; give another, or 0", port);
    return g;
}

int port_of_gauges(const Gauges *g) { return g->mhd.MHD_get_daemon_info(g->daemon, MHD_DAEMON_INFO_BIND_PORT)->port; }

static Gauge *new_gauge(Gauges *g, char *name)
{
    g->gauge = must_grow(g->gauge, sizeof *g->gauge * (size_t)(g->n + 1));
    g->gauge[g->n] = (Gauge){name, 0};
    return &g->gauge[g->n++];
}

void set_gauge(Gauges *g, const char *name, double value)
{
    char *full = text_of("lathe_%s", name);
    Gauge *found = NULL;
    for (char *c = full; *c; c++)
        if (!isalnum((unsigned char)*c) || (unsigned char)*c > 127) *c = '_';
    pthread_mutex_lock(&g->lock);
    for (int i = 0; i < g->n && !found; i++)
        if (strcmp(g->gauge[i].name, full) == 0) found = &g->gauge[i];
    if (found) free(full);
    else found = new_gauge(g, full);
    found->value = value;
    pthread_mutex_unlock(&g->lock);
}

void close_gauges(Gauges *g)
{
    if (!g) return;
    g->mhd.MHD_stop_daemon(g->daemon);
    pthread_mutex_destroy(&g->lock);
    for (int i = 0; i < g->n; i++) free(g->gauge[i].name);
    free(g->gauge);
    free(g->labels);
    free(g);
}

#else

Gauges *open_gauges(int port, const char *model, const char *run)
{
    (void)model, (void)run;
    fail(EXIT_ERROR, NULL,
         "--metrics-port %d: this trainer was built without libmicrohttpd, by which it answers; Debian, Ubuntu: apt "
         "install "
         "libmicrohttpd-dev, and build it again",
         port);
}

int port_of_gauges(const Gauges *g) { return g ? 0 : -1; }
void set_gauge(Gauges *g, const char *name, double value) { (void)g, (void)name, (void)value; }
void close_gauges(Gauges *g) { (void)g; }
#endif
