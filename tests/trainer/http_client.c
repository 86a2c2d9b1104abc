/* http_client.c: a tiny client of HTTP for serve.sh: http_client PORT METHOD PATH [BODY-FILE|-] [HEADER…], the answer's
 * status on stderr and its body, chunks joined, on stdout.  METHOD "leave" posts, reads a little, and goes away; "half"
 * sends half a request and waits until the server ends it. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static _Noreturn void give_up(const char *what)
{
    perror(what);
    exit(1);
}

static int open_line(int port)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((unsigned short)port)};
    int line = socket(AF_INET, SOCK_STREAM, 0);
    inet_pton(AF_INET, "127.0.0.1", &to.sin_addr);
    if (line < 0 || connect(line, (struct sockaddr *)&to, sizeof to) != 0) give_up("connect");
    return line;
}

static char *whole_file(const char *path, size_t *bytes)
{
    FILE *f = fopen(path, "rb");
    char *at = malloc(64 << 20);
    if (!f || !at) give_up(path);
    *bytes = fread(at, 1, 64 << 20, f);
    fclose(f);
    return at;
}

static void send_all(int line, const char *at, size_t n)
{
    for (ssize_t some; n; at += some, n -= (size_t)some)
        if ((some = send(line, at, n, MSG_NOSIGNAL)) <= 0) return; /* the server has said enough */
}

static void join_chunks(const char *at, const char *end)
{
    while (at < end) {
        char *after;
        size_t n = strtoul(at, &after, 16);
        if (n == 0 || after + 2 + n > end) return;
        fwrite(after + 2, 1, n, stdout);
        at = after + 2 + n + 2;
    }
}

static int show_answer(int line)
{
    size_t room = 1 << 24, n = 0;
    char *all = malloc(room);
    for (ssize_t some; (some = recv(line, all + n, room - n - 1, 0)) > 0;) n += (size_t)some;
    all[n] = 0;
    char *body = strstr(all, "\r\n\r\n");
    if (!body) return fprintf(stderr, "no answer\n"), 1;
    *body = 0;
    fprintf(stderr, "%.3s\n", n > 12 ? all + 9 : "");
    if (strcasestr(all, "\r\nTransfer-Encoding: chunked")) join_chunks(body + 4, all + n);
    else fwrite(body + 4, 1, n - (size_t)(body + 4 - all), stdout);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc < 4) return 2;
    int line = open_line(atoi(argv[1]));
    int leaves = strcmp(argv[2], "leave") == 0, half = strcmp(argv[2], "half") == 0;
    size_t bytes = 0;
    char *body = argc > 4 && strcmp(argv[4], "-") != 0 ? whole_file(argv[4], &bytes) : NULL, head[4096];
    const char *host = argc > 5 && strncmp(argv[5], "Host:", 5) == 0 ? "" : "Host: here\r\n"; /* its own comes below */
    int n = snprintf(head, sizeof head, "%s %s HTTP/1.1\r\n%sConnection: close\r\nContent-Length: %zu\r\n",
                     leaves || half ? "POST" : argv[2], argv[3], host, bytes);
    for (int i = 5; i < argc; i++) n += snprintf(head + n, sizeof head - (size_t)n, "%s\r\n", argv[i]);
    n += snprintf(head + n, sizeof head - (size_t)n, "\r\n");
    send_all(line, head, (size_t)n);
    send_all(line, body, half ? bytes / 2 : bytes);
    if (leaves) return recv(line, head, 1, 0) != 1;
    return show_answer(line);
}
