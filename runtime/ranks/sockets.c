/* sockets.c: connections over TCP, by addresses of both versions of the internet protocol. */
#define _GNU_SOURCE /* accept4 */
#include "ranks/sockets.h"
#include "base/words.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum { KIND = SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, MOST_WAITING = 4096 };

typedef union Name { /* as the system has it */
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
} Name;

/* The soft limit is often 1,024, the hard one much more. */
void allow_files(int64_t more)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
    rlim_t wanted = (rlim_t)more + 256;
    if (limit.rlim_cur >= wanted) return;
    limit.rlim_cur = limit.rlim_max != RLIM_INFINITY && limit.rlim_max < wanted ? limit.rlim_max : wanted;
    setrlimit(RLIMIT_NOFILE, &limit);
}

/* ------------------------------------------------------------------ addresses */

static Name system_address(const Address *a, socklen_t *bytes)
{
    Name n = {0};
    if (a->family == 4) {
        n.v4.sin_family = AF_INET;
        n.v4.sin_port = htons(a->port);
        memcpy(&n.v4.sin_addr, a->at, sizeof n.v4.sin_addr);
    } else {
        n.v6.sin6_family = AF_INET6;
        n.v6.sin6_port = htons(a->port);
        memcpy(&n.v6.sin6_addr, a->at, sizeof n.v6.sin6_addr);
    }
    *bytes = a->family == 4 ? sizeof n.v4 : sizeof n.v6;
    return n;
}

/* A socket of version 6 has peers of version 4, too. */
static Address address_in(const Name *n)
{
    Address a = {0};
    if (n->any.sa_family == AF_INET) {
        a.family = 4;
        a.port = ntohs(n->v4.sin_port);
        memcpy(a.at, &n->v4.sin_addr, 4);
    } else if (n->any.sa_family == AF_INET6) {
        const bool mapped = IN6_IS_ADDR_V4MAPPED(&n->v6.sin6_addr);
        a.family = mapped ? 4 : 6;
        a.port = ntohs(n->v6.sin6_port);
        memcpy(a.at, (const uint8_t *)&n->v6.sin6_addr + (mapped ? 12 : 0), mapped ? 4 : 16);
    }
    return a;
}

Address address_of(int socket, bool peer)
{
    Name n = {0};
    socklen_t bytes = sizeof n;
    if ((peer ? getpeername : getsockname)(socket, &n.any, &bytes) != 0) return (Address){0};
    return address_in(&n);
}

bool is_loopback(const Address *a)
{
    static const uint8_t six[16] = {[15] = 1};
    return a->family == 4 ? a->at[0] == 127 : memcmp(a->at, six, sizeof six) == 0;
}

const char *address_text(const Address *a)
{
    static char text[INET6_ADDRSTRLEN + 16];
    char number[INET6_ADDRSTRLEN] = "an unknown address";
    (void)inet_ntop(a->family == 4 ? AF_INET : AF_INET6, a->at, number, sizeof number);
    snprintf(text, sizeof text, "%s port %d", number, a->port);
    return text;
}

/* A static trainer knows no names (base/loader.c). */
int find_addresses(const char *host, int port, Address *a, int most, const char **why)
{
    struct addrinfo wish = {.ai_socktype = SOCK_STREAM}, *found = NULL;
    int n = 0;
    *a = (Address){.port = (uint16_t)port};
    if (inet_pton(AF_INET, host, a->at) == 1) a->family = 4;
    else if (inet_pton(AF_INET6, host, a->at) == 1) a->family = 6;
    if (a->family) return 1;
    const int code = getaddrinfo(host, NULL, &wish, &found);
    if (code != 0) {
        *why = code == EAI_SYSTEM ? error_text(errno) : gai_strerror(code);
        return 0;
    }
    for (struct addrinfo *f = found; f && n < most; f = f->ai_next) {
        Name name = {0};
        memcpy(&name, f->ai_addr, f->ai_addrlen < sizeof name ? f->ai_addrlen : sizeof name);
        a[n] = address_in(&name);
        a[n].port = (uint16_t)port;
        if (a[n].family) n++;
    }
    freeaddrinfo(found);
    *why = "it has no address";
    return n;
}

/* ------------------------------------------------------------------ connections */

/* Small messages go at once, and firewalls see that a silent connection lives.  No limit for what is not acknowledged
 * (TCP_USER_TIMEOUT): it would end a connection whose peer lives, but does not read for a while. */
static void tune(int socket)
{
    const int yes = 1, idle = 60, apart = 10;
    setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof yes);
    setsockopt(socket, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
    setsockopt(socket, IPPROTO_TCP, TCP_KEEPINTVL, &apart, sizeof apart);
}

static int closed_with(int socket, int error)
{
    close(socket);
    errno = error;
    return -1;
}

static int listen_as(const Address *a)
{
    socklen_t bytes;
    const Name n = system_address(a, &bytes);
    const int yes = 1, no = 0, s = socket(n.any.sa_family, KIND, 0);
    if (s < 0) return -1;
    setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (a->family == 6) setsockopt(s, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
    if (bind(s, &n.any, bytes) != 0 || listen(s, MOST_WAITING) != 0) return closed_with(s, errno);
    return s;
}

int listen_at(int *port, bool here)
{
    const uint16_t at = (uint16_t)*port;
    int s = here ? -1 : listen_as(&(Address){.family = 6, .port = at});
    if (s < 0 && (here || errno != EADDRINUSE))
        s = listen_as(&(Address){.family = 4, .port = at, .at = {here ? 127 : 0, 0, 0, here ? 1 : 0}});
    if (s >= 0) *port = address_of(s, false).port;
    return s;
}

int accept_from(int listening)
{
    const int s = accept4(listening, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (s >= 0) tune(s);
    return s;
}

/* Returns false when the time has passed. */
static bool await_socket(int socket, short events, double until)
{
    const double rest = until - seconds_now();
    struct pollfd p = {.fd = socket, .events = events};
    if (rest > 0) (void)poll(&p, 1, rest < 0.1 ? 1 + (int)(1e3 * rest) : 100);
    return rest > 0;
}

static bool is_connected(int socket, double until)
{
    int error = 0;
    socklen_t bytes = sizeof error;
    struct pollfd p = {.fd = socket, .events = POLLOUT};
    while (poll(&p, 1, 0) <= 0)
        if (!await_socket(socket, POLLOUT, until)) return errno = ETIMEDOUT, false;
    if (getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &bytes) != 0) return false;
    errno = error;
    return error == 0;
}

/* Where nobody listens at a port that the system gives out, a connection may meet itself. */
static bool meets_itself(int socket)
{
    const Address own = address_of(socket, false), other = address_of(socket, true);
    return own.port == other.port && memcmp(own.at, other.at, sizeof own.at) == 0;
}

int connect_to(const Address *a, double until)
{
    socklen_t bytes;
    const Name n = system_address(a, &bytes);
    const int s = socket(n.any.sa_family, KIND, 0);
    if (s < 0) return -1;
    if (connect(s, &n.any, bytes) != 0 && errno != EINPROGRESS && errno != EINTR) return closed_with(s, errno);
    if (!is_connected(s, until)) return closed_with(s, errno);
    if (meets_itself(s)) return closed_with(s, ECONNREFUSED);
    tune(s);
    return s;
}

static bool may_come_later(void) { return errno == EAGAIN || errno == EINTR || errno == ENOBUFS || errno == ENOMEM; }

bool send_whole(int socket, const void *at, size_t bytes, double until)
{
    for (size_t done = 0; done < bytes;) {
        const ssize_t n = send(socket, (const char *)at + done, bytes - done, MSG_NOSIGNAL);
        if (n > 0) done += (size_t)n;
        else if (!may_come_later() || !await_socket(socket, POLLOUT, until)) return false;
    }
    return true;
}

bool receive_whole(int socket, void *at, size_t bytes, double until)
{
    for (size_t done = 0; done < bytes;) {
        const ssize_t n = recv(socket, (char *)at + done, bytes - done, 0);
        if (n > 0) done += (size_t)n;
        else if (n == 0 || !may_come_later() || !await_socket(socket, POLLIN, until)) return false;
    }
    return true;
}
