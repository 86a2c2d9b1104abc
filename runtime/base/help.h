/* help.h: help as a table, COMMAND --help=table, of which compiler/tools/manual.sh makes man pages and completions: a line
 * a row, with tabs between
 *
 *     usage PROGRAM COMMAND ARGUMENTS TEXT      the rows behind it are of this command
 *     command NAME ARGUMENTS TEXT               one that the program has
 *     option NAME ARGUMENT TEXT
 *     also PROGRAM COMMAND                      it takes the options of that one, too
 *     config NAME, set KEY VALUE                what the description on the line has */
#ifndef LATHE_BASE_HELP_H
#define LATHE_BASE_HELP_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static inline bool asks_for_table(const char *word) { return strcmp(word, "--help=table") == 0; }

static inline void print_cell(const char *text, char end)
{
    for (; text && *text; text++) putchar(*text == '\n' || *text == '\t' ? ' ' : *text);
    putchar(end);
}

static inline void print_table_row(const char *kind, const char *name, const char *argument, const char *text)
{
    print_cell(kind, '\t');
    print_cell(name, '\t');
    print_cell(argument, '\t');
    print_cell(text, '\n');
}

static inline void print_table_usage(const char *program, const char *command, const char *arguments, const char *text)
{
    print_cell("usage", '\t');
    print_table_row(program, command, arguments, text);
}

#endif
