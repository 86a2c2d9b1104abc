/* hosts.c: `lathe train --hosts a:4,b:4`: the words of mpirun that start a trainer's processes on those machines.
 *
 * Open MPI and MPICH's Hydra take the same list of machines under other names. */
#include "build/build.h"
#include "runtime/interface/dealt.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A machine's name or address, and how many processes it gets. */
static int64_t processes_of(const char *host, size_t n)
{
    const char *colon = memchr(host, ':', n);
    const size_t name = colon ? (size_t)(colon - host) : n;
    char *end = NULL;
    bool fine = name > 0 && host[0] != '-';
    for (size_t i = 0; i < name; i++) fine &= isalnum((unsigned char)host[i]) || strchr(".-_", host[i]);
    const long long count = colon ? strtoll(colon + 1, &end, 10) : 1;
    if (!fine || count < 1 || count > LATHE_MOST_RANKS ||
        (colon && (end != host + n || !isdigit((unsigned char)colon[1]))))
        usage_error("--hosts: expected machines and their numbers of processes, such as a:4,b:4, found `%.*s`", (int)n,
                    host);
    return count;
}

int64_t processes_on(const char *hosts)
{
    int64_t all = 0;
    for (const char *at = hosts;; at++) {
        const size_t n = strcspn(at, ",");
        all += processes_of(at, n);
        at += n;
        if (!*at) return all;
    }
}

static bool is_hydra(const char *mpirun)
{
    char line[512];
    bool hydra = false, known = false;
    FILE *f = popen(format("%s --version 2>&1 </dev/null", shell_quoted(mpirun)), "r");
    while (f && fgets(line, sizeof line, f)) {
        hydra |= strstr(line, "HYDRA") != NULL;
        known |= strstr(line, "Open MPI") || strstr(line, "OpenRTE");
    }
    if (f) pclose(f);
    if (!hydra && !known)
        usage_error("--hosts: %s is neither Open MPI's nor MPICH's; start the trainer with it by hand", mpirun);
    return hydra;
}

void start_on_hosts(Texts *words, const char *hosts, const char *program)
{
    const int64_t n = processes_on(hosts);
    const char *mpirun = in_path("mpirun");
    if (!mpirun)
        usage_error(
            "--hosts needs mpirun, which is not in PATH; install openmpi-bin or mpich, the same on all machines");
    push(words, mpirun);
    push(words, is_hydra(mpirun) ? "-hosts" : "--host");
    push(words, hosts);
    push(words, "-n");
    push(words, format("%lld", (long long)n));
    const char *whole = realpath(program, NULL); /* mpirun looks a bare name up in PATH */
    push(words, whole ? whole : program);
}
