/* lines.h: the lines of metrics.jsonl. */
#ifndef LATHE_LOOK_LINES_H
#define LATHE_LOOK_LINES_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* Numbers, words and nulls of a line, but for step and split; those of a member that has members are called MEMBER.NAME.
 * Lists are left out. */
typedef void (*Take_value)(void *to, const char *name, const json_t *value);
void each_value(const json_t *line, Take_value take, void *to);

/* The object; NULL: it is none.  NaN and infinities, which JSON has no words for, are read as the words "NaN",
 * "Infinity" and "-Infinity". */
json_t *line_json(const char *line, size_t bytes);
/* What a value counts as: null and the word "NaN" are NaN; false: it is no number. */
bool number_of_value(const json_t *value, double *x);

#endif
