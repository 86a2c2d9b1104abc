/* mistakes.c: mistakes as JSON, for editors: `lathe check --json`. */
#include "base/util.h"
#include "line.h"

#include <stdio.h>

static Text mistakes;

const char *mistakes_text(void) { return mistakes.n ? mistakes.at : ""; }

/* Of an error the object of `lathe check --json`, which ends the program. */
static void take_mistake(const char *kind, Where where, int column, const char *text)
{
    say(&mistakes, "%s{\"severity\": \"%s\", \"file\": %s, \"line\": %d, \"column\": %d, \"message\": %s}",
        mistakes.n ? ", " : "", kind, where.file ? json_text(where.file) : "null", where.file ? where.line : 0, column,
        json_text(text));
    if (same(kind, "error")) printf("{\"mistakes\": [%s]}\n", mistakes_text());
}

void begin_mistakes(void) { told_of_mistake = take_mistake; }
