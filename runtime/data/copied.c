/* copied.c: reads columns of a table as texts, row by row, to be written beside predictions. */
#include "base/words.h"
#include "data/cells.h"
#include "data/copied.h"
#include "data/schema.h"

#include <stdlib.h>
#include <string.h>

struct Copied {
    Words paths, names;
    int file; /* that is open, or was last */
    Cells *cells;
    int *at; /* [names] where they are in it */
};

static void find_copied(Copied *c, const char *path)
{
    for (int k = 0; k < c->names.n; k++) {
        const char *name = c->names.at[k];
        if ((c->at[k] = column_named(c->cells, name)) < 0)
            fail(EXIT_DATA, path, "--keep: there is no column \"%.60s\" %s", name, among_columns(c->cells, name));
    }
}

static void open_file(Copied *c)
{
    c->cells = open_cells_and_lists(c->paths.at[c->file]);
    find_copied(c, c->paths.at[c->file]);
}

Copied *open_copied(const Words *paths, const char *names)
{
    Copied *c = must_alloc(sizeof *c);
    c->paths = *paths;
    for (const char *at = names, *end; at; at = *end ? end + 1 : NULL) {
        at += strspn(at, " ");
        end = at + strcspn(at, ",");
        const char *name = text_of("%.*s", (int)(end - at), at);
        for (int k = 0; k < c->names.n; k++)
            if (strcmp(c->names.at[k], name) == 0) fail(EXIT_USAGE, NULL, "--keep %s names %s twice", names, name);
        add_word(&c->names, name);
    }
    for (int i = 0; i < paths->n; i++)
        refuse_stream(paths->at[i], "with --keep a table is read twice, and a pipe can be read only once");
    c->at = must_alloc(sizeof *c->at * (size_t)c->names.n);
    open_file(c);
    return c;
}

int copied_columns(const Copied *c) { return c->names.n; }
const char *copied_name(const Copied *c, int k) { return c->names.at[k]; }

const char *copied_text(const Copied *c, int k)
{
    if (cell_list(c->cells, c->at[k]))
        fail(EXIT_DATA, cell_place(c->cells, c->at[k]), "--keep copies texts and numbers, and this is a list");
    return cell(c->cells, c->at[k]);
}

void next_copied(Copied *c)
{
    while (!next_cells(c->cells)) {
        close_cells(c->cells);
        if (++c->file == c->paths.n)
            fail(EXIT_DATA, c->paths.at[c->file - 1], "the file has fewer rows than a moment ago; do not change it");
        open_file(c);
    }
}
