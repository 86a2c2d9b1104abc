/* known.h: the programs with which this user has trained. */
#ifndef LATHE_BASE_KNOWN_H
#define LATHE_BASE_KNOWN_H

void remember_this_program(void); /* without a cache, not */
/* Its path without links, from malloc; NULL: this user has not trained with what is there now. */
char *known_program(const char *path);

#endif
