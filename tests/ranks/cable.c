/* cable.c: a cable between two network namespaces (tests/ranks/hosts): a TUN device in each, and this process, which
 * carries packets from one to the other: late, at a rate, or not at all.
 *
 *     cable NAMESPACE NAMESPACE FILE     FILE: "DELAY-MS LOSS-PERCENT MBIT", read again at SIGHUP; 0 Mbit: as fast as
 * it can
 *
 * Kernels without sch_netem have no other. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { PACKETS = 4096, PACKET = 2048 }; /* under way in each direction, the others are dropped; bytes: MTU 1500 */

typedef struct Way {
    int from, to;
    int first, n;
    double due[PACKETS], free_at; /* free_at: when the cable has sent what it has taken */
    int bytes[PACKETS];
    char packet[PACKETS][PACKET];
} Way;

static Way ways[2];
static double delay, loss, bytes_per_s;
static volatile sig_atomic_t changed = 1;

static void on_change(int number) { (void)number, changed = 1; }

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void die(const char *what)
{
    fprintf(stderr, "cable: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void read_settings(const char *file)
{
    double mbit;
    FILE *f = fopen(file, "r");
    if (!f || fscanf(f, "%lf %lf %lf", &delay, &loss, &mbit) != 3) die(file);
    fclose(f);
    delay /= 1e3, loss /= 100, bytes_per_s = mbit * 1e6 / 8;
    changed = 0;
}

/* A device called "cable" in the namespace: it stays as long as it is open. */
static int open_end(const char *namespace)
{
    char path[256];
    snprintf(path, sizeof path, "/run/netns/%s", namespace);
    struct ifreq request = {.ifr_flags = IFF_TUN | IFF_NO_PI};
    strcpy(request.ifr_name, "cable");
    const int there = open(path, O_RDONLY | O_CLOEXEC);
    if (there < 0 || setns(there, CLONE_NEWNET) != 0) die(path);
    const int end =
        open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC); /* it belongs to the namespace of this moment */
    if (end < 0 || ioctl(end, TUNSETIFF, &request) != 0) die("/dev/net/tun");
    close(there);
    return end;
}

static bool drawn(double probability)
{
    static uint64_t x = 88172645463325252u;
    x ^= x << 13, x ^= x >> 7, x ^= x << 17;
    return (double)(x >> 11) * 0x1p-53 < probability;
}

static void take_packets(Way *w)
{
    char dropped[PACKET];
    for (;;) {
        const int i = (w->first + w->n) % PACKETS;
        const bool lose = w->n == PACKETS || drawn(loss);
        const ssize_t n = read(w->from, lose ? dropped : w->packet[i], PACKET);
        if (n <= 0) return;
        if (lose) continue;
        const double start = w->free_at > now() ? w->free_at : now();
        w->free_at = bytes_per_s > 0 ? start + (double)n / bytes_per_s : start;
        w->due[i] = w->free_at + delay;
        w->bytes[i] = (int)n;
        w->n++;
    }
}

/* The time until the next packet is due, in seconds; at most 1. */
static double give_packets(Way *w)
{
    for (; w->n; w->first = (w->first + 1) % PACKETS, w->n--) {
        const double wait = w->due[w->first] - now();
        if (wait > 0) return wait < 1 ? wait : 1;
        if (write(w->to, w->packet[w->first], (size_t)w->bytes[w->first]) < 0) continue; /* its device is down */
    }
    return 1;
}

int main(int argc, char **argv)
{
    if (argc != 4) return 2;
    signal(SIGHUP, on_change);
    const int home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC), a = open_end(argv[1]), b = open_end(argv[2]);
    if (home < 0 || setns(home, CLONE_NEWNET) != 0)
        die("the way back"); /* who ends all processes of a host leaves this one */
    ways[0].from = ways[1].to = a;
    ways[0].to = ways[1].from = b;
    printf("ready\n");
    fflush(stdout);
    struct pollfd ends[] = {{a, POLLIN, 0}, {b, POLLIN, 0}};
    for (;;) {
        if (changed) read_settings(argv[3]);
        const double here = give_packets(&ways[0]), there = give_packets(&ways[1]), wait = here < there ? here : there;
        const struct timespec time = {(time_t)wait, (long)((wait - (double)(time_t)wait) * 1e9)};
        if (ppoll(ends, 2, &time, NULL) < 0 && errno != EINTR) die("poll");
        take_packets(&ways[0]), take_packets(&ways[1]);
    }
}
