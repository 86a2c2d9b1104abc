/* carrier_drive.c: ranks that send each other messages, and check what arrives: tests/ranks/wires.sh, mpi.sh, tcp.sh.
 *
 *   carrier_drive wires N          N processes of this machine
 *   carrier_drive mpi              under mpirun
 *   carrier_drive tcp              with torchrun's variables
 *   carrier_drive stranger PORT WORDS   says that to whoever listens there, and waits until it is sent away
 *   carrier_drive …  lose R HOW    then rank R ends (exit, kill), and the others say when they know
 *   carrier_drive …  mismatch      then rank 0 sends rank 1 more than it expects
 *   carrier_drive …  cross BYTES   only that: all send so many bytes to each other, twice: how long it takes */
#include "ranks/carrier.h"
#include "base/words.h"
#include "ranks/sockets.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS = 6, EACH = 4, MOST = 1 << 22, PIECE = (1 << 20) + 13 };

static const Carrier *carrier;
static int64_t bytes_sent, bytes_received;

/* What no two messages have in common. */
static uint64_t mixed(int round, int from, int to, int channel, int k)
{
    uint64_t x = 1;
    const int all[] = {round, from, to, channel, k};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        x = (x ^ (uint64_t)all[i]) * 0x9e3779b97f4a7c15u, x ^= x >> 29;
    return x;
}

/* 0, 1, few or many; in the last round more than one piece. */
static int64_t size_of_message(int round, uint64_t x)
{
    if (round % 6 == 5) return PIECE - 1 + (int64_t)(x % (2 * PIECE));
    const int64_t sizes[] = {0, 1, (int64_t)(x >> 8) & 0x3f, (int64_t)(x >> 8) & 0xffff};
    return sizes[x & 3];
}

typedef struct Message {
    char *at;
    int64_t bytes;
    uint64_t seed;
    int handle, peer; /* handle -1: ended */
    bool out;
} Message;

static void fill(const Message *m)
{
    for (int64_t i = 0; i < m->bytes; i++) m->at[i] = (char)((m->seed + (uint64_t)i * 0x2545f4914f6cdd1du) >> 37);
}

static void check(const Message *m, const char *of)
{
    for (int64_t i = 0; i < m->bytes; i++)
        if (m->at[i] != (char)((m->seed + (uint64_t)i * 0x2545f4914f6cdd1du) >> 37))
            fail(1, NULL, "rank %d: byte %lld of %lld %s is wrong", carrier->rank, (long long)i, (long long)m->bytes,
                 of);
}

static void stop_if_lost(void)
{
    int rank;
    if (carrier->lost(&rank)) fail(1, NULL, "rank %d has lost %d: %s", carrier->rank, rank, carrier->failure());
}

/* A rank that has all of its messages may have ended. */
static void stop_if_lost_in(const Message *all, int n)
{
    int rank;
    if (!carrier->lost(&rank)) return;
    for (int i = 0; i < n; i++)
        if (all[i].handle >= 0 && (rank < 0 || all[i].peer == rank)) stop_if_lost();
}

static void begin(Message *m, int round, int peer, int channel, int k, bool out)
{
    const int from = out ? carrier->rank : peer, to = out ? peer : carrier->rank;
    *m = (Message){.seed = mixed(round, from, to, channel, k), .peer = peer, .out = out};
    m->bytes = size_of_message(round, m->seed);
    m->at = must_alloc((size_t)m->bytes + 1);
    if (out) fill(m);
    m->handle = out ? carrier->send(peer, (Channel)channel, m->at, m->bytes)
                    : carrier->receive(peer, (Channel)channel, m->at, m->bytes);
}

/* With each other rank: sends on both channels in turn, receives on one channel after the other. */
static int begin_all(Message *to, int round, bool out)
{
    int n = 0;
    for (int peer = 0; peer < carrier->ranks; peer++)
        for (int i = 0; peer != carrier->rank && i < EACH * CHANNELS; i++)
            begin(&to[n++], round, peer, out ? i % CHANNELS : CHANNELS - 1 - i / EACH, out ? i / CHANNELS : i % EACH,
                  out);
    return n;
}

/* Receives begin before their sends in some rounds, after them in others. */
static void exchange(int round)
{
    Message all[2 * EACH * CHANNELS * 64];
    int n = begin_all(all, round, round % 2), left;
    n += begin_all(all + n, round, !(round % 2));
    for (left = n; left;) {
        const int before = left;
        for (int i = n - 1; i >= 0; i--)
            if (all[i].handle >= 0 && carrier->ended(all[i].handle)) all[i].handle = -1, left--;
        if (left == before) stop_if_lost_in(all, n), carrier->pause(1);
    }
    for (int i = 0; i < n; i++) {
        *(all[i].out ? &bytes_sent : &bytes_received) += all[i].bytes;
        check(&all[i], all[i].out ? "that was sent" : "that was received");
        free(all[i].at);
    }
}

/* One message to each other rank, and one from it. */
static void cross(int64_t bytes)
{
    Message all[128];
    int n = 0, left;
    for (int out = 0; out < 2; out++)
        for (int peer = 0; peer < carrier->ranks; peer++) {
            if (peer == carrier->rank) continue;
            char *at = must_alloc((size_t)bytes + 1);
            all[n++] = (Message){.at = at,
                                 .handle = out ? carrier->send(peer, CHANNEL_WORK, at, bytes)
                                               : carrier->receive(peer, CHANNEL_WORK, at, bytes)};
        }
    for (left = n; left;) {
        for (int i = 0; i < n; i++)
            if (all[i].handle >= 0 && carrier->ended(all[i].handle)) all[i].handle = -1, left--;
        if (left) carrier->pause(1);
    }
    for (int i = 0; i < n; i++) free(all[i].at);
}

/* The second message is an answer to the first. */
static void cross_twice(int64_t bytes)
{
    const double start = seconds_now();
    cross(bytes), cross(bytes);
    fprintf(stderr, "rank %d: twice %lld bytes each way in %.0f ms\n", carrier->rank, (long long)bytes,
            1e3 * (seconds_now() - start));
}

static void lose(int rank, const char *how)
{
    char word[64] = "", last[] = "the last word", lasts[64][sizeof last];
    int got, handles[64];
    if (carrier->rank == rank) {
        for (int i = 0; i < carrier->ranks; i++) /* its last word, which nobody waits for yet */
            if (i != rank && (got = carrier->send(i, CHANNEL_WORD, last, sizeof last)) >= 0)
                while (!carrier->ended(got)) carrier->pause(1);
        if (strcmp(how, "kill") == 0) raise(SIGKILL);
        carrier->leave(7);
    }
    for (int i = 0; i < carrier->ranks; i++)
        if (i != carrier->rank)
            handles[i] = carrier->receive(i, CHANNEL_WORD, i == rank ? lasts[i] : word, sizeof last);
    usleep(50000);
    const double start = seconds_now();
    bool told = false;
    int who = -1;
    while (!carrier->lost(&who)) {
        told = told || carrier->ended(handles[rank]);
        carrier->pause(0.2);
        if (seconds_now() - start > 20) fail(1, NULL, "rank %d: nobody is lost", carrier->rank);
    }
    told = told || carrier->ended(handles[rank]);
    fprintf(stderr, "rank %d lost %d %s, %s its last word: %s\n", carrier->rank, who,
            seconds_now() - start < 1 ? "within 1 s" : "late",
            told && strcmp(lasts[rank], last) == 0 ? "and had" : "without", carrier->failure());
    usleep(300000); /* before the others lose this one */
    carrier->leave(who == rank ? 0 : 1);
}

static void mismatch(void)
{
    char words[] = "twelve bytes";
    int m =
        carrier->rank == 0 ? carrier->send(1, CHANNEL_WORD, words, 12) : carrier->receive(0, CHANNEL_WORD, words, 11);
    while (!carrier->ended(m) || carrier->rank == 0) {
        stop_if_lost();
        carrier->pause(0.1);
    }
}

static void exchange_all(void)
{
    for (int round = 0; round < ROUNDS; round++) exchange(round);
    fprintf(stderr, "rank %d sent %lld bytes and received %lld\n", carrier->rank, (long long)bytes_sent,
            (long long)bytes_received);
}

static int as_rank(char **argv)
{
    const char *then = argv[0] ? argv[0] : "";
    fprintf(stderr, "rank %d of %d, %s, %s\n", carrier->rank, carrier->ranks, carrier->name, host_name());
    if (strcmp(then, "cross") == 0) cross_twice(atoll(argv[1]));
    else exchange_all();
    if (strcmp(then, "lose") == 0) lose(atoi(argv[1]), argv[2]);
    if (strcmp(then, "mismatch") == 0) mismatch();
    carrier->close();
    return 0;
}

static int wires(int n, char **argv)
{
    const char *refusal;
    struct Wires *w = make_wires(n, &refusal);
    if (!w) fail(EXIT_ERROR, NULL, "%s", refusal);
    for (int rank = 0; rank < n; rank++)
        if (fork() == 0) {
            carrier = open_wires(w, rank);
            exit(as_rank(argv));
        }
    open_wires(w, -1);
    int status, failed = 0;
    while (wait(&status) > 0) failed |= WIFEXITED(status) && WEXITSTATUS(status) == 1;
    return failed;
}

static void on_signal(int number) { (void)number; }

static int under_mpirun(char **argv)
{
    const char *refusal;
    const int handled[] = {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGCHLD, SIGSEGV, SIGBUS, SIGFPE, SIGABRT, SIGILL};
    const int n = (int)(sizeof handled / sizeof *handled);
    for (int i = 0; i < n; i++) signal(handled[i], i % 2 || i < 4 ? on_signal : SIG_DFL);
    mpi_piece = PIECE;
    carrier = open_mpi(&refusal);
    if (!carrier) fail(EXIT_ERROR, NULL, "%s", refusal);
    struct sigaction now;
    for (int i = 0; i < n; i++)
        if (sigaction(handled[i], NULL, &now) != 0 || now.sa_handler != (i % 2 || i < 4 ? on_signal : SIG_DFL))
            fail(1, NULL, "signal %d has another handler", handled[i]);
    for (int i = 0; i < n; i++) signal(handled[i], SIG_DFL);
    return as_rank(argv);
}

static int with_variables(char **argv)
{
    const char *refusal = promise_fault();
    carrier = refusal ? NULL : open_tcp(&refusal);
    if (!carrier) fail(EXIT_ERROR, NULL, "%s", refusal);
    return as_rank(argv);
}

static int as_stranger(int port, const char *words)
{
    char answer;
    const Address a = {.family = 4, .port = (uint16_t)port, .at = {127, 0, 0, 1}};
    const int s = connect_to(&a, seconds_now() + 5);
    if (s < 0 || !send_whole(s, words, strlen(words), seconds_now() + 5)) fail(EXIT_ERROR, NULL, "nobody listens");
    return receive_whole(s, &answer, 1, seconds_now() + 20);
}

int main(int argc, char **argv)
{
    name_program("carrier_drive");
    if (argc > 2 && strcmp(argv[1], "wires") == 0) return wires(atoi(argv[2]), argv + 3);
    if (argc > 1 && strcmp(argv[1], "mpi") == 0) return under_mpirun(argv + 2);
    if (argc > 1 && strcmp(argv[1], "tcp") == 0) return with_variables(argv + 2);
    if (argc > 3 && strcmp(argv[1], "stranger") == 0) return as_stranger(atoi(argv[2]), argv[3]);
    fail(EXIT_USAGE, NULL, "wires N, mpi, tcp, or stranger PORT WORDS");
}
