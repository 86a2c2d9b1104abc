/* line.h: the command line as it was given. */
#ifndef LINE_H
#define LINE_H

#include "desc/options.h"

struct Pass;

enum {
    PASSES_ON = 1,       /* words that are no options of ours go to the trainer, or are the command's own */
    RUNS = 2,            /* --set may name settings of a run */
    INSTRUMENTS = 4,     /* builds as by --instrument */
    RANKS_OF_PLAN = 8,   /* --gpus and --ranks say how many are planned for (of build, by --memory) */
    RANKS_OF_TRAINER = 16, /* --gpus and --ranks are the trainer's */
    TWO_THINGS = 32       /* it compares two things, each of which may have options of its own */
};

typedef struct Command {
    const char *name;
    int (*run)(void);
    int manner; /* of these */
    const char *arguments, *help;
} Command;

struct Line_thing {              /* of TWO_THINGS */
    const char *what;
    Options options;            /* those of both, and its own */
    bool own;                   /* it has some of its own */
};

struct Line {
    const Command *command;
    const char *model;
    Options options; /* what every compilation of the command is asked for */
    Texts rest; /* what the command passes on */
    char **all; /* tokenize, data: what lathe-data gets */
    int things;
    struct Line_thing thing[2];
    Options shared; /* of both */
    bool shared_given;
    bool table; /* --help=table (runtime/base/help.h) */
};

extern struct Line line_of;
/* Into line_of; ends the program where an option is wrong. */
void take_line(const Command *command, int argc, char **argv);
/* --help or -h; with a description, help of what passes words on is the trainer's. */
bool asks_for_help(const Command *command, int argc, char **argv);
int ranks_planned(const char *one_rank); /* that --gpus or --ranks says; ends the program where the target has none, or one_rank says why not */
void check_data_is_there(const Texts *words); /* of the trainer: ends the program where a path of --data is not */
void print_option_row(const char *name, const char *argument, const char *help); /* of an option in help */
void print_options(const char *command);   /* those of one command; NULL: all */
bool is_first_of_graphs(const struct Pass *p); /* whether dump --from may begin with it */

int do_ops(void), do_settings(void), do_passes(void), do_stubs(void), do_version(void); /* commands/lists.c */
void begin_mistakes(void);           /* from now on they are also noted as JSON: "{…}, {…}"; line and column from 1, 0: not known */
const char *mistakes_text(void);
void print_names_of(const struct Desc *d); /* for completions: configurations, keys */

#endif
