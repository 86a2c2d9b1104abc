/* levels.c: main of a trainer that has its code for several levels of x86-64 (lathe build --for x86-64): takes the
 * highest that this processor has, or that of $LATHE_LEVEL.  It is compiled for every one of them. */
#ifdef LATHE_LEVELS
#include "math/levels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main_v2(int argc, char **argv), main_v3(int argc, char **argv), main_v4(int argc, char **argv);

/* 2 to 4; or ends the program. */
static int level_asked(const char *word, int most)
{
    const int level = strlen(word) == 1 && *word >= '2' && *word <= '4' ? *word - '0' : 0;
    if (level && level <= most) return level;
    if (level) fprintf(stderr, "trainer: error: LATHE_LEVEL=%d: this processor has level %d of x86-64\n", level, most);
    else fprintf(stderr, "trainer: error: LATHE_LEVEL=%.20s: expected 2, 3 or 4\n", word);
    exit(level ? 1 : 2);
}

int main(int argc, char **argv)
{
    const char *word = getenv("LATHE_LEVEL");
    const int most = level_here(), level = word && *word ? level_asked(word, most) : most;
    switch (level) {
    case 4: return main_v4(argc, argv);
    case 3: return main_v3(argc, argv);
    case 2: return main_v2(argc, argv);
    default:
        fprintf(stderr, "trainer: error: this program needs a processor with SSE4.2 and POPCNT (x86-64-v2), which this "
                        "one lacks\n");
        return 1;
    }
}
#else
typedef int Levels_empty; /* a file may not be empty */
#endif
