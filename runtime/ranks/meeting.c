/* meeting.c: whoever connects while ranks find each other over TCP, and what ranks tell each other then.
 *
 * Whoever does not speak as a rank of this run is sent away, or has nothing to say in time; nobody waits for it. */
#include "ranks/meeting.h"
#include "base/words.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { GREETING_TIME = 5 }; /* s */

static const char magic[8] = "lathe 1"; /* the version of what ranks say here */

bool is_rank_0(const Meeting *m) { return m->p.rank == 0; }

bool refuse_meeting(Meeting *m, const char *why)
{
    if (!m->refusal) m->refusal = why;
    return false;
}

int *socket_to(Meeting *m, int rank, int channel) { return &m->socket[rank * CHANNELS + channel]; }

const char *named_guest(const Greeting *g) { return text_of("rank %d, on %.*s", g->rank, HOST, g->host); }

Greeting own_greeting(const Meeting *m, int channel)
{
    Greeting g = {.run = m->run,
                  .key = m->key,
                  .ranks = m->p.ranks,
                  .rank = m->p.rank,
                  .channel = channel,
                  .port = m->port,
                  .machine = machine_hash()};
    memcpy(g.magic, magic, sizeof magic);
    snprintf(g.host, sizeof g.host, "%s", host_name());
    return g;
}

bool is_greeting(const char *words) { return memcmp(words, magic, sizeof magic) == 0; }

bool tell_member(const Meeting *m, int socket, Notice_kind kind, const char *text)
{
    Notice n = {.kind = (int32_t)kind, .key = kind == NOTICE_TABLE ? m->key : 0};
    memcpy(n.magic, magic, sizeof magic);
    snprintf(n.text, sizeof n.text, "%s", text);
    return send_whole(socket, &n, sizeof n, m->until);
}

/* ------------------------------------------------------------------ guests */

static void send_away(Meeting *m, const Guest *g, const char *why)
{
    const Address from = address_of(g->socket, true);
    snprintf(m->sent_away, sizeof m->sent_away, "; %s has been sent away: %s", address_text(&from), why);
    close(g->socket);
}

/* One of ours, but of no use here: it is told. */
static void refuse_guest(Meeting *m, const Guest *g, const char *why)
{
    (void)tell_member(m, g->socket, NOTICE_REFUSED, why);
    send_away(m, g, why);
}

static void welcome_guest(Meeting *m, const Guest *g)
{
    const Greeting *s = &g->said;
    Member *member = s->rank > 0 && s->rank < m->p.ranks ? &m->member[s->rank] : NULL;
    if (s->run != m->run || s->ranks != m->p.ranks || !member || !is_rank_0(m))
        refuse_guest(m, g,
                     text_of("it is rank %d of %d, and here is rank %d of %d; let the ranks of one run have the same "
                             "WORLD_SIZE, and each a RANK and each run a MASTER_PORT of its own",
                             s->rank, s->ranks, m->p.rank, m->p.ranks));
    else if (m->told || member->socket != NONE)
        refuse_guest(m, g,
                     text_of("rank %d of this run is there already, on %.*s; give each process a RANK of its own",
                             s->rank, HOST, member->said.host));
    else if (tell_member(m, g->socket, NOTICE_WELCOME, host_name())) *member = (Member){g->socket, *s, false};
    else close(g->socket);
}

static void take_wire(Meeting *m, const Guest *g)
{
    const Greeting *s = &g->said;
    const bool right = m->told && s->key == m->key && s->run == m->run && s->channel >= 0 && s->channel < CHANNELS &&
                       s->rank > m->p.rank && s->rank < m->p.ranks;
    int *socket = right ? socket_to(m, s->rank, s->channel) : NULL;
    if (!socket || *socket != NONE) send_away(m, g, "it does not know the key of this run");
    else *socket = g->socket;
}

/* Returns whether it is a guest still. */
static bool hear_guest(Meeting *m, Guest *g)
{
    const ssize_t n = recv(g->socket, (char *)&g->said + g->got, sizeof g->said - g->got, 0);
    if (n > 0) g->got += (size_t)n;
    const size_t known = g->got < sizeof magic ? g->got : sizeof magic;
    if (memcmp(&g->said, magic, known) != 0) send_away(m, g, "it speaks another language");
    else if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) close(g->socket);
    else if (g->got < sizeof g->said) return true;
    else if (g->said.channel == TO_MEET) welcome_guest(m, g);
    else take_wire(m, g);
    return false;
}

static void hear_guests(Meeting *m, const struct pollfd *look)
{
    int left = 0;
    for (int i = 0; i < m->guests; i++) {
        Guest *g = &m->guest[i];
        const bool late = seconds_now() - g->since > GREETING_TIME;
        if (look[i].revents && !hear_guest(m, g)) continue;
        if (late) send_away(m, g, "it says nothing");
        else m->guest[left++] = *g;
    }
    m->guests = left;
}

static void take_guests(Meeting *m)
{
    for (int s; m->guests < GUESTS && (s = accept_from(m->listening)) >= 0;)
        m->guest[m->guests++] = (Guest){.socket = s, .since = seconds_now()};
}

/* ------------------------------------------------------------------ members */

static bool take_addresses(Meeting *m, const Notice *n)
{
    const size_t bytes = (size_t)m->p.ranks * sizeof *m->table;
    m->key = n->key;
    m->told = receive_whole(m->member[0].socket, m->table, bytes, m->until);
    return m->told;
}

/* Before all are there, its launcher may start it again. */
void lose_member(Meeting *m, Member *member)
{
    close(member->socket);
    member->socket = NONE;
    if (!is_rank_0(m))
        refuse_meeting(m, text_of("rank 0, on %.*s, has ended while the ranks were finding each other; it says why",
                                  HOST, member->said.host));
    else if (m->told)
        refuse_meeting(m, text_of("%s, has ended while the ranks were finding each other", named_guest(&member->said)));
}

static void hear_member(Meeting *m, Member *member)
{
    Notice n;
    if (!receive_whole(member->socket, &n, sizeof n, m->until) || !is_greeting(n.magic)) {
        lose_member(m, member);
        return;
    }
    n.text[sizeof n.text - 1] = 0;
    switch (n.kind) {
    case NOTICE_READY: member->ready = true; break;
    case NOTICE_GO: m->go = true; break;
    case NOTICE_FAILED: refuse_meeting(m, text_of("%s", n.text)); break;
    case NOTICE_TABLE:
        if (!take_addresses(m, &n)) lose_member(m, member);
        break;
    }
}

/* Who does not know the key yet lets guests wait. */
bool look_around(Meeting *m, double seconds)
{
    const int members = is_rank_0(m) ? m->p.ranks : 1;
    struct pollfd *guest = m->look + 1, *member = guest + m->guests;
    const bool takes = (is_rank_0(m) || m->told) && m->guests < GUESTS;
    m->look[0] = (struct pollfd){takes ? m->listening : NONE, POLLIN, 0};
    for (int i = 0; i < m->guests; i++) guest[i] = (struct pollfd){m->guest[i].socket, POLLIN, 0};
    for (int k = 0; k < members; k++) member[k] = (struct pollfd){m->member[k].socket, POLLIN, 0};
    if (poll(m->look, (nfds_t)(1 + m->guests + members), (int)(1e3 * seconds)) > 0)
        for (int k = 0; k < members; k++)
            if (member[k].revents) hear_member(m, &m->member[k]);
    hear_guests(m, guest);
    if (takes) take_guests(m);
    return !m->refusal;
}
