/* loader.c: of a static trainer (lathe build --static): takes the place of libdl's functions.  It loads nothing;
 * libutf8proc, which other trainers load, is linked.  Who asks for another library says what is missing, as where it is
 * not installed.
 *
 * A static program that loads libraries needs those of the very glibc that it was linked with; this one runs anywhere.
 */
#ifdef LATHE_STATIC
#include <dlfcn.h>
#include <netdb.h>
#include <string.h>
#ifdef LATHE_WITH_UTF8PROC
#include <utf8proc.h>
#endif

typedef void Linked_function(void);
static const struct Linked {
    const char *name;
    Linked_function *function;
} linked[] = {
#ifdef LATHE_WITH_UTF8PROC
    {"utf8proc_decompose", (Linked_function *)utf8proc_decompose},
    {"utf8proc_reencode", (Linked_function *)utf8proc_reencode},
    {"utf8proc_category", (Linked_function *)utf8proc_category},
#endif
    {"", NULL},
};

void *dlopen(const char *file, int mode)
{
    (void)mode;
    return file && strncmp(file, "libutf8proc.", 12) == 0 ? (void *)linked : NULL;
}

void *dlsym(void *restrict library, const char *restrict name)
{
    void *found = NULL;
    for (size_t i = 0; library == linked && i < sizeof linked / sizeof *linked; i++)
        if (strcmp(name, linked[i].name) == 0) memcpy(&found, &linked[i].function, sizeof found);
    return found;
}

int dlclose(void *library)
{
    (void)library;
    return 0;
}

char *dlerror(void) { return "this trainer is static (lathe build --static), and loads no libraries"; }

/* Names of machines: libc's would load libraries, too. */
int getaddrinfo(const char *restrict name, const char *restrict service, const struct addrinfo *restrict hints,
                struct addrinfo **restrict found)
{
    (void)name, (void)service, (void)hints, (void)found;
    return EAI_FAIL;
}

void freeaddrinfo(struct addrinfo *found) { (void)found; }
#else
typedef int Loader_empty; /* a file may not be empty */
#endif
