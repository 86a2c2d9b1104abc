/* help.h: help as a table, COMMAND --help=table, of which compiler/tools/manual.sh makes man pages and completions: a line
 * a row, with tabs between
 *
 *     usage PROGRAM COMMAND ARGUMENTS TEXT      the rows behind it are of this command
 *     command NAME ARGUMENTS TEXT               one that the program has
 *     option NAME ARGUMENT TEXT
 *     value OPTION WORD                         what its argument may be, where a table says it
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

/* Of names as messages list them: "a, b or c". */
static inline void print_table_values(const char *option, const char *names)
{
    char word[64];
    for (const char *at = names; *(at += strspn(at, ", ")); at += strcspn(at, ", ")) {
        snprintf(word, sizeof word, "%.*s", (int)strcspn(at, ", "), at);
        if (strcmp(word, "or") != 0) print_table_row("value", option, word, "");
    }
}

static inline void print_table_usage(const char *program, const char *command, const char *arguments, const char *text)
{
    print_cell("usage", '\t');
    print_table_row(program, command, arguments, text);
}

#endif
