/* cells.h: the rows of a table in a text file, as texts. */
#ifndef LATHE_DATA_CELLS_H
#define LATHE_DATA_CELLS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* A CSV or TSV file, compressed or not.  The separator is a tab, a semicolon or a comma, the one that the first line has
 * most of.  Fields may be in double quotes, as in RFC 4180; lines end in \n, \r\n or \r; empty lines do not count.  What
 * is no table ends the program (3).  In JSON lines (.jsonl, .ndjson) each line is an object of texts, numbers, true,
 * false and null; null, and a key that a line has not, is an empty cell. */
typedef struct Cells Cells;

_Noreturn void refuse_folder(const char *path); /* where a table is expected */
Cells *open_cells(const char *path); /* and reads the names of the columns */
Cells *open_cells_and_lists(const char *path); /* the same; in JSON lines a value may also be a list, whose cell is empty */
void close_cells(Cells *c);
bool next_cells(Cells *c);     /* the next row; false: there is none */
int cell_count(const Cells *c); /* of each row, and of the names */
const char *column_name(const Cells *c, int k);
const char *cell(const Cells *c, int k);      /* of the row; without spaces around it, unless quoted */
const json_t *cell_list(const Cells *c, int k); /* of the row; NULL: the cell is no list */
char *cell_place(const Cells *c, int k);      /* "t.csv:12, column "b""; from malloc */
int64_t cell_line(const Cells *c);            /* of the row */
void number_of_cell(const Cells *c, int k, double *to); /* ends the program (3) if it is none */
int column_named(const Cells *c, const char *name); /* -1: none */
char *among_columns(const Cells *c, const char *wanted); /* "among the 3: "a", "b", "c"; did you mean "a"?"; from malloc */
int wanted_column(Cells *c, const char *name); /* the same; JSON lines get an empty one, with a note */

#endif
