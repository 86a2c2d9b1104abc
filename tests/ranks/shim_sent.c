/* shim_sent.c: counts the bytes that processes send by sendmsg(); each adds its own to the file $SENT when it ends. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

static atomic_llong sent;

ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
    static ssize_t (*real)(int, const struct msghdr *, int);
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, "sendmsg");
    const ssize_t n = real(fd, message, flags);
    if (n > 0) sent += n;
    return n;
}

__attribute__((destructor)) static void tell(void)
{
    FILE *f = getenv("SENT") && sent ? fopen(getenv("SENT"), "a") : NULL;
    if (!f) return;
    fprintf(f, "%lld\n", (long long)sent);
    fclose(f);
}
