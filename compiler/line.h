/* line.h: the command line as it was given. */
#ifndef LINE_H
#define LINE_H

#include "base/util.h"

typedef VEC(const char *) Words;

struct Line {
    const char *command, *model;
    const char *from; /* dump: the first pass that runs */
    Words rest;       /* train, export, replay: what the trainer gets */
    char **all;       /* tokenize, data: what lathe-data gets */
};

extern struct Line line_of;
void take_line(int argc, char **argv); /* into line_of and options; ends the program where an option is wrong */
void print_options(void);

#endif
