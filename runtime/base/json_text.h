/* json_text.h: JSON that can always be made: names and paths need not be UTF-8, numbers need not be finite. */
#ifndef LATHE_BASE_JSON_TEXT_H
#define LATHE_BASE_JSON_TEXT_H

#include <jansson.h>

/* A byte that is not UTF-8 becomes \xe9, a backslash that would be read so \x5c (printable.h); NULL of NULL. */
const char *utf8_of(const char *text); /* the text itself where it is UTF-8 and has no such backslash */
json_t *word_json(const char *text);   /* null of NULL */
char *word_of_json(const json_t *word); /* what word_json() was given, from malloc; NULL: it is no string */
json_t *real_json(double x);           /* null where it is not finite */

/* Our mistake where the value could not be made, or is not taken: nothing is left out of a file in silence. */
void put_json(json_t *object, const char *key, json_t *value);
void add_json(json_t *array, json_t *value);
char *json_written(const json_t *all, size_t flags); /* from malloc */
json_t *text_json(const char *text, size_t bytes); /* what is not UTF-8 becomes U+FFFD */

#endif
