/* tcp.c: how ranks that torchrun's variables promise find each other.
 *
 * Rank 0 listens.  Each other rank opens a port of its own, connects to rank 0 and says who it is.  When all are there,
 * rank 0 tells each where the others are, and a key that it has drawn.  Then each connects to the ranks below it, with
 * a socket for each channel, on which it says the key.  Who has all its sockets is ready; when all are, rank 0 lets
 * them go, and letters.c carries their messages. */
#include "base/hash.h"
#include "base/words.h"
#include "ranks/beats.h"
#include "ranks/carrier.h"
#include "ranks/letters.h"
#include "ranks/meeting.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

enum { ADDRESSES = 16, ANSWERING_TIME = 5, CONNECTING_TIME = 3 }; /* s */

/* Of the eight times a rank's patience that the courier gives the start: until all have come, which rank 0 says first;
 * until all are connected. */
static double time_to_come(const Meeting *m) { return (is_rank_0(m) ? 7 : 7.25) * ranks_patience(); }
static double time_to_meet(void) { return 7.9 * ranks_patience(); }

/* ------------------------------------------------------------------ rank 0 */

static bool has_not_come(const Meeting *m, int rank) { return rank > 0 && m->member[rank].socket == NONE; }

static bool all_are_there(const Meeting *m)
{
    for (int k = 0; k < m->p.ranks; k++)
        if (has_not_come(m, k)) return false;
    return true;
}

/* "rank 2 of 4", "ranks 1, 2 of 4", and who else came */
static const char *missing_ranks(const Meeting *m)
{
    enum { MOST = 20 };
    int n = 0;
    char list[12 * MOST + 8] = "";
    for (int k = 0; k < m->p.ranks; k++) {
        if (!has_not_come(m, k)) continue;
        const size_t at = strlen(list);
        if (n < MOST) snprintf(list + at, sizeof list - at, "%s%d", n ? ", " : "", k);
        if (n++ == MOST) snprintf(list + at, sizeof list - at, ", …");
    }
    return text_of("%s %s of %d%s", n > 1 ? "ranks" : "rank", list, m->p.ranks, m->sent_away);
}

static bool await_all(Meeting *m)
{
    while (!all_are_there(m)) {
        const double waited = seconds_now() - m->since;
        if (seconds_now() > m->until)
            return refuse_meeting(m,
                                  text_of("rank 0 has waited %.0f s at port %d for %s; %s within that time "
                                          "(LATHE_RANK_PATIENCE=S: 7 times S seconds), or unset %s to train with "
                                          "one rank",
                                          waited, m->port, missing_ranks(m),
                                          m->p.slurm ? "let srun start all tasks, with all their environment,"
                                                     : "start all ranks with this rank's MASTER_ADDR and MASTER_PORT",
                                          m->p.variable));
        if (!m->noted && waited > ranks_patience()) {
            note("rank 0 waits at port %d for %s", m->port, missing_ranks(m));
            m->noted = true;
        }
        if (!look_around(m, 0.2)) return false;
    }
    return true;
}

/* Where a rank finds another: at the address from which that came to rank 0; if it came from rank 0's own machine, at
 * the one where rank 0 was found. */
static Address address_for(const Meeting *m, int receiver, int of)
{
    const Address to = address_of(m->member[receiver].socket, true);
    Address a = address_of(m->member[of].socket, true);
    if (is_loopback(&a) && !is_loopback(&to)) a = address_of(m->member[receiver].socket, false);
    a.port = (uint16_t)m->member[of].said.port;
    return a;
}

static bool tell_all_where(Meeting *m)
{
    const size_t bytes = (size_t)m->p.ranks * sizeof *m->table;
    if (getrandom(&m->key, sizeof m->key, 0) != (ssize_t)sizeof m->key || !m->key) m->key = m->run;
    m->member[0].said = own_greeting(m, TO_MEET);
    m->told = true;
    m->until = m->since + time_to_meet();
    for (int k = 0; k < m->p.ranks; k++) {
        const Greeting *g = &m->member[k].said;
        m->table[k].machine = g->machine;
        memcpy(m->table[k].host, g->host, sizeof g->host);
    }
    for (int k = 1; k < m->p.ranks; k++) {
        for (int i = 1; i < m->p.ranks; i++) m->table[i].address = address_for(m, k, i);
        if (!tell_member(m, m->member[k].socket, NOTICE_TABLE, "") ||
            !send_whole(m->member[k].socket, m->table, bytes, m->until)) {
            lose_member(m, &m->member[k]);
            return false;
        }
    }
    return true;
}

static int first_not_wired(const Meeting *m)
{
    for (int i = 0; i < m->p.ranks * CHANNELS; i++)
        if (i / CHANNELS != m->p.rank && m->socket[i] == NONE) return i / CHANNELS;
    return NONE;
}

static const Greeting *first_not_ready(const Meeting *m)
{
    for (int k = 1; k < m->p.ranks; k++)
        if (!m->member[k].ready) return &m->member[k].said;
    return NULL;
}

static bool let_all_go(Meeting *m)
{
    while (first_not_ready(m) || first_not_wired(m) != NONE) {
        const Greeting *late = first_not_ready(m);
        if (seconds_now() > m->until)
            return refuse_meeting(m,
                                  text_of("%s, has not reached all other ranks in %.0f s; it may hang, or its machine",
                                          late ? named_guest(late) : "a rank", seconds_now() - m->since));
        if (!look_around(m, 0.2)) return false;
    }
    for (int k = 1; k < m->p.ranks; k++) (void)tell_member(m, m->member[k].socket, NOTICE_GO, "");
    return true;
}

static bool lead(Meeting *m)
{
    m->port = m->p.port;
    m->listening = listen_at(&m->port, m->here);
    if (m->listening < 0)
        return refuse_meeting(m,
                              text_of("rank 0 of %d listens for the others at port %d, which cannot be had: %s; give "
                                      "another %sLATHE_RANKS_PORT%s to all ranks",
                                      m->p.ranks, m->port, error_text(errno), m->p.slurm ? "" : "MASTER_PORT, or ",
                                      m->p.slurm ? "" : ","));
    return await_all(m) && tell_all_where(m) && let_all_go(m);
}

/* ------------------------------------------------------------------ the others */

/* Returns whether it was rank 0 of this run; else *why says what was wrong. */
static bool greet_rank_0(Meeting *m, int socket, const char **why)
{
    Notice n = {0};
    const Greeting g = own_greeting(m, TO_MEET);
    const double until = seconds_now() + ANSWERING_TIME;
    *why = "it does not answer as a rank 0 of this version";
    if (!send_whole(socket, &g, sizeof g, until) || !receive_whole(socket, &n, sizeof n, until)) return false;
    if (!is_greeting(n.magic)) return false;
    n.text[sizeof n.text - 1] = 0;
    snprintf(m->member[0].said.host, HOST, "%.*s", HOST - 1, n.text);
    const Address at = address_of(socket, true);
    return n.kind == NOTICE_WELCOME ||
           refuse_meeting(m, text_of("%s does not take this rank: %s", address_text(&at), n.text));
}

static bool try_rank_0(Meeting *m, const Address *a, const char **why)
{
    const int s = connect_to(a, seconds_now() + CONNECTING_TIME);
    if (s < 0) *why = error_text(errno);
    else if (greet_rank_0(m, s, why)) m->member[0].socket = s;
    else close(s);
    return s >= 0 && m->member[0].socket == s;
}

static bool find_rank_0(Meeting *m)
{
    const char *host = m->here ? "127.0.0.1" : m->p.address, *why = "";
    Address a[ADDRESSES];
    for (double nap = 0.05; seconds_now() < m->until; nap = nap < 0.5 ? 1.5 * nap : nap) {
        const int n = find_addresses(host, m->p.port, a, ADDRESSES, &why);
        for (int i = 0; i < n && !m->refusal; i++)
            if (try_rank_0(m, &a[i], &why)) return true;
        if (m->refusal) return false;
        nanosleep(&(struct timespec){.tv_nsec = (long)(nap * 1e9)}, NULL);
    }
    return refuse_meeting(
        m,
        text_of("rank 0 of %d was not found at %s port %d for %.0f s (%s): %s and no firewall is between%s", m->p.ranks,
                host, m->p.port, seconds_now() - m->since, why,
                m->p.slurm ? "see to it that task 0 runs there, on the first machine of SLURM_STEP_NODELIST,"
                           : "start it with RANK=0 on that machine; see to it that MASTER_ADDR and MASTER_PORT name it",
                m->p.own_port ? "" : ", or give all ranks LATHE_RANKS_PORT"));
}

static bool connect_wire(Meeting *m, int to, int channel)
{
    const Greeting g = own_greeting(m, channel);
    const Address a = to ? m->table[to].address : address_of(m->member[0].socket, true);
    const int s = connect_to(&a, m->until);
    *socket_to(m, to, channel) = s;
    if (s >= 0 && send_whole(s, &g, sizeof g, m->until)) return true;
    const char *error = error_text(errno);
    const char *why = text_of("%s, cannot reach rank %d, on %.*s, at %s: %s; ranks connect to each other at ports that "
                              "the system chooses: let firewalls pass them, or give all ranks LATHE_RANKS_PORT=P, then "
                              "rank K has port P + K",
                              named_guest(&g), to, HOST, m->table[to].host, address_text(&a), error);
    (void)tell_member(m, m->member[0].socket, NOTICE_FAILED, why);
    return refuse_meeting(m, why);
}

static bool connect_all(Meeting *m)
{
    for (int k = 0; k < m->p.rank; k++)
        for (int c = 0; c < CHANNELS; c++)
            if (!connect_wire(m, k, c)) return false;
    return true;
}

static bool await_rank_0(Meeting *m)
{
    if (seconds_now() < m->until) return look_around(m, 0.2);
    return refuse_meeting(
        m, text_of("rank 0, on %s, has not let this rank begin for %.0f s; it waits for other ranks, or hangs",
                   m->member[0].said.host, seconds_now() - m->since));
}

static bool await_wires(Meeting *m)
{
    for (int late; (late = first_not_wired(m)) != NONE;) {
        if (seconds_now() > m->until)
            return refuse_meeting(
                m, text_of("rank %d, on %.*s, has not reached this rank in %.0f s; it may hang, or its machine", late,
                           HOST, m->table[late].host, seconds_now() - m->since));
        if (!look_around(m, 0.2)) return false;
    }
    return true;
}

static bool follow_rank_0(Meeting *m)
{
    m->port = m->p.own_port;
    m->listening = listen_at(&m->port, m->here);
    if (m->listening < 0)
        return refuse_meeting(m, text_of("rank %d listens for others at port %d, which cannot be had: %s%s", m->p.rank,
                                         m->port, error_text(errno),
                                         m->port ? "; give another LATHE_RANKS_PORT to all ranks" : ""));
    if (!find_rank_0(m)) return false;
    while (!m->told)
        if (!await_rank_0(m)) return false;
    m->until = m->since + time_to_meet();
    if (!connect_all(m) || !await_wires(m)) return false;
    if (!tell_member(m, m->member[0].socket, NOTICE_READY, "")) return false;
    while (!m->go)
        if (!await_rank_0(m)) return false;
    return true;
}

/* ------------------------------------------------------------------ begin and end */

static void end_meeting(Meeting *m)
{
    if (m->listening >= 0) close(m->listening);
    for (int i = 0; i < m->guests; i++) close(m->guest[i].socket);
    for (int k = 0; k < m->p.ranks; k++)
        if (m->member[k].socket != NONE) close(m->member[k].socket);
    free(m->member), free(m->table), free(m->socket), free(m->look), free(m);
}

static bool shares_machine(const Entry *a, const Entry *b)
{
    return a == b || (a->machine && a->machine == b->machine);
}

static int count_machines(const Meeting *m)
{
    int n = 0;
    for (int k = 0; k < m->p.ranks; k++) {
        bool known = false;
        for (int i = 0; i < k && !known; i++) known = shares_machine(&m->table[i], &m->table[k]);
        n += !known;
    }
    return n;
}

static Carrier who_met(const Meeting *m)
{
    Carrier c = {.rank = m->p.rank, .ranks = m->p.ranks};
    const Entry *own = &m->table[c.rank];
    const int machines = count_machines(m);
    for (int k = 0; k < c.ranks; k++) {
        c.places += shares_machine(&m->table[k], own);
        c.place += k < c.rank && shares_machine(&m->table[k], own);
    }
    snprintf(c.name, sizeof c.name, machines == 1 ? "TCP on one machine" : "TCP between %d machines", machines);
    return c;
}

static bool is_here(const Promise *p)
{
    return p->places == p->ranks || strcmp(p->address, "localhost") == 0 || strcmp(p->address, "127.0.0.1") == 0;
}

static Meeting *begin_meeting(const Promise *p)
{
    Meeting *m = must_alloc(sizeof *m);
    const size_t ranks = (size_t)p->ranks;
    const char *run = text_of("%d %s", p->ranks, p->run ? p->run : "");
    *m = (Meeting){.p = *p, .run = hash_of(run, strlen(run)), .here = is_here(p), .listening = NONE};
    m->since = seconds_now();
    m->until = m->since + time_to_come(m);
    m->member = must_alloc(ranks * sizeof *m->member);
    m->table = must_alloc(ranks * sizeof *m->table);
    m->socket = must_alloc(ranks * CHANNELS * sizeof *m->socket);
    m->look = must_alloc((1 + GUESTS + ranks) * sizeof *m->look);
    for (int k = 0; k < p->ranks; k++) m->member[k].socket = NONE;
    for (int i = 0; i < p->ranks * CHANNELS; i++) m->socket[i] = NONE;
    allow_files((int64_t)p->ranks * (CHANNELS + 1) + GUESTS);
    return m;
}

const Carrier *open_tcp(const char **refusal)
{
    Promise p;
    *refusal = "no launcher has promised ranks to this process: start it by torchrun, or with its variables, or by "
               "srun with LATHE_RANKS=slurm";
    if (!ranks_promised(&p) || !p.address) return NULL;
    Meeting *m = begin_meeting(&p);
    const bool met = is_rank_0(m) ? lead(m) : follow_rank_0(m);
    const Carrier of = who_met(m), *opened = met ? open_letters(&of, m->socket, true) : NULL;
    *refusal = m->refusal ? m->refusal : "the ranks did not find each other";
    end_meeting(m);
    return opened;
}
