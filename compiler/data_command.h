/* data_command.h: what the commands of lathe-data share: their options. */
#ifndef DATA_COMMAND_H
#define DATA_COMMAND_H

#include "trainer.h"

typedef enum Flag_kind { FLAG_ON, FLAG_TEXT, FLAG_TEXTS, FLAG_COUNT } Flag_kind; /* bool, const char *, Words, int64_t */

typedef struct Flag {
    const char *name; /* "--out" */
    Flag_kind kind;
    void *to;
    const char *argument, *help;
} Flag;

/* Takes the options of argv[from …]; what is none goes to rest.  What is wrong ends the program (2); --help prints usage,
 * text and options, and ends it. */
typedef struct Command_line {
    const char *name, *usage, *help; /* "tokenize train" */
    const Flag *flag;
    int flags;
} Command_line;
void take_command_line(const Command_line *c, int argc, char **argv, int from, Words *rest);
const char *need_flag(const Command_line *c, const char *name, const char *value); /* value, or ends the program (2) */

/* The commands themselves: each returns the exit code; argv[0] is its name. */
int data_command(int argc, char **argv); /* data_info.c */
int tokenize_command(int argc, char **argv); /* data_tokenize.c */

#endif
