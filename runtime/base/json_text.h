/* json_text.h: JSON of names and paths that may not be UTF-8, and of numbers that may not be finite. */
#ifndef LATHE_BASE_JSON_TEXT_H
#define LATHE_BASE_JSON_TEXT_H

#include <jansson.h>

/* A byte that is not UTF-8 becomes \xe9, and a backslash that would be read as such an escape becomes \x5c
 * (printable.h); NULL for NULL. */
const char *utf8_of(const char *text); /* the text itself if nothing is escaped */
json_t *word_json(const char *text);   /* null for NULL */
char *word_of_json(const json_t *word); /* the argument of word_json(), from malloc; NULL: not a string */
json_t *real_json(double x);           /* null if it is not finite */

/* Asserts that the value could be made and added, so that no member is silently missing. */
void put_json(json_t *object, const char *key, json_t *value);
void add_json(json_t *array, json_t *value);
char *json_written(const json_t *all, size_t flags); /* from malloc */
json_t *text_json(const char *text, size_t bytes); /* bytes that are not UTF-8 become U+FFFD */

#endif
