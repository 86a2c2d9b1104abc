/* stamp.c: a program of the build: the hash of the runtime's sources, as C: lathe and liblathe_rt.a of one build have
 * the same. */
#include "build/sources.h"

#include <string.h>

int main(int argc, char **argv)
{
    if (argc != 3) die("stamp OUT RUNTIME");
    const char *text = format("extern const char lathe_stamp[];\nconst char lathe_stamp[] = \"%s%016llx\";\n",
                              STAMP_WORDS, (unsigned long long)hash_of_sources(argv[2]));
    return write_file(argv[1], text, strlen(text)) ? 0 : 1;
}
