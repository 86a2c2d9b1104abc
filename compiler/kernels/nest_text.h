/* text.h: the words of nests as text, which text.c prints and parse.c reads. */
#ifndef SCHEDULE_TEXT_H
#define SCHEDULE_TEXT_H

#include "kernels/parse.h"
#include "kernels/nest.h"

enum { LAUNCH_WORDS = 0 LAUNCH_LIST(LIST_ONE), DENSE_WORDS = 0 DENSE_LIST(LIST_ONE) };
enum { COLUMN_WORDS = 0 COLUMN_LIST(LIST_ONE), WAIT_WORDS = 0 WAIT_LIST(LIST_ONE), TEAM_WORDS = 0 TEAM_LIST(LIST_ONE) };
extern const char *const column_words[COLUMN_WORDS], *const wait_words[WAIT_WORDS], *const team_words[TEAM_WORDS];
extern const char *const launch_words[LAUNCH_WORDS], *const dense_words[DENSE_WORDS];
extern const int team_sizes[TEAM_WORDS];

void say_nest(Printer *p, const Kernel *k);       /* its line, if there is something to say */
bool took_nest(Reader *r, Kernel *k);             /* the line, or one of a launch; false: it is another */
void end_nest(Reader *r, Kernel *k, Where start); /* of a kernel that has been read, and begins there */
void say_wait_at_end(Printer *p, const Kernel *repeat);
void read_wait_at_end(Reader *r, Kernel *repeat);

#endif
