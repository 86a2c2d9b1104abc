/* text.h: the words of nests as text, which text.c prints and parse.c reads. */
#ifndef SCHEDULE_TEXT_H
#define SCHEDULE_TEXT_H

#include "kernels/parse.h"
#include "kernels/nest.h"

enum { LAUNCH_WORDS = LAUNCHED_PLAIN + 1 };
enum { COLUMN_WORDS = APART + 1, WAIT_WORDS = OF_BLOCKS + 1, TEAM_WORDS = 4 };
extern const char *const column_words[], *const wait_words[], *const team_words[], *const launch_words[];
extern const int team_sizes[TEAM_WORDS];

void say_nest(Printer *p, const Kernel *k);       /* its line, if there is something to say */
bool took_nest(Reader *r, Kernel *k);             /* the line, or one of a launch; false: it is another */
void end_nest(Reader *r, Kernel *k, Where start); /* of a kernel that has been read, and begins there */
void say_wait_at_end(Printer *p, const Kernel *repeat);
void read_wait_at_end(Reader *r, Kernel *repeat);

#endif
