/* meeting.h: what ranks that find each other over TCP know and say: meeting.c hears, tcp.c leads and follows. */
#ifndef LATHE_RANKS_MEETING_H
#define LATHE_RANKS_MEETING_H

#include "ranks/carrier.h"
#include "ranks/sockets.h"

#include <poll.h>

enum { NONE = -1, TO_MEET = -1, GUESTS = 256, HOST = 64 };

typedef struct Greeting { /* what a rank says first on each connection */
    char magic[8];
    uint64_t run, key;            /* key: of the ranks that have met; 0: of one that comes to meet them */
    int32_t ranks, rank, channel; /* channel TO_MEET: it comes to rank 0 */
    int32_t port;                 /* where it listens */
    uint64_t machine;
    char host[HOST];
} Greeting;

typedef enum Notice_kind {
    NOTICE_WELCOME,
    NOTICE_REFUSED,
    NOTICE_TABLE,
    NOTICE_READY,
    NOTICE_FAILED,
    NOTICE_GO
} Notice_kind;

typedef struct Notice { /* on the connection between rank 0 and another */
    char magic[8];
    int32_t kind;
    char text[500];
    uint64_t key; /* of TABLE, which the entries of all ranks follow */
} Notice;

typedef struct Entry { /* of a rank, in the table */
    Address address;
    uint64_t machine;
    char host[HOST];
} Entry;

typedef struct Guest { /* has connected, and has not yet said who it is */
    int socket;
    Greeting said;
    size_t got;
    double since;
} Guest;

typedef struct Member { /* rank 0's: another rank; another's: rank 0 */
    int socket;         /* NONE: not there */
    Greeting said;
    bool ready;
} Member;

typedef struct Meeting {
    Promise p;
    uint64_t run, key;
    double since, until;
    bool here;           /* all ranks are on this machine */
    int listening, port; /* port: where */
    Guest guest[GUESTS];
    int guests;
    Member *member; /* [ranks]; of a rank but 0: [0] alone */
    Entry *table;   /* [ranks] */
    int *socket;    /* [ranks][CHANNELS] */
    bool told, go;  /* where all are; that they may go */
    bool noted;     /* that others are missing */
    const char *refusal;
    char sent_away[300]; /* words about the last one that had no business here */
    struct pollfd *look; /* [1 + GUESTS + ranks] */
} Meeting;

bool is_rank_0(const Meeting *m);
int *socket_to(Meeting *m, int rank, int channel);
const char *named_guest(const Greeting *g); /* "rank 2, on HOST" */
Greeting own_greeting(const Meeting *m, int channel);
bool is_greeting(const char *words); /* whether a greeting or a notice of this version begins so */
bool refuse_meeting(Meeting *m, const char *why);   /* the first reason stays; false */
bool tell_member(const Meeting *m, int socket, Notice_kind kind, const char *text);
void lose_member(Meeting *m, Member *member); /* its connection has ended */
/* Waits up to so many seconds for whatever comes, and takes it.  false: the ranks do not meet. */
bool look_around(Meeting *m, double seconds);

#endif
