/* sockets.h: connections over TCP: to listen, to connect, to send and receive a whole until a time (seconds_now()). */
#ifndef LATHE_RANKS_SOCKETS_H
#define LATHE_RANKS_SOCKETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct Address { /* of a port; as ranks tell each other */
    uint16_t family, port; /* family: 4, 6, or 0: unknown */
    uint8_t at[16];
} Address;

void allow_files(int64_t more); /* that many more open ones, as far as the hard limit goes */

/* Both give sockets that do not block, or -1 and errno.  port: 0 takes a free one; *port is the one taken.  here: for
 * processes of this machine alone. */
int listen_at(int *port, bool here);
int accept_from(int listening);
int connect_to(const Address *a, double until);
/* Numbers or names; returns how many, most `most`; 0: *why says why. */
int find_addresses(const char *host, int port, Address *a, int most, const char **why);

bool send_whole(int socket, const void *at, size_t bytes, double until);
bool receive_whole(int socket, void *at, size_t bytes, double until);

Address address_of(int socket, bool peer); /* the other end's, or this one's */
bool is_loopback(const Address *a);
const char *address_text(const Address *a); /* "10.0.0.2 port 29500"; until the next call */

#endif
