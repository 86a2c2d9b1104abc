/* words.h: messages, failures, numbers and small text. */
#ifndef LATHE_BASE_WORDS_H
#define LATHE_BASE_WORDS_H

#include "base/bug.h"

#include <jansson.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { EXIT_ERROR = 1, EXIT_USAGE = 2, EXIT_DATA = 3, EXIT_DIVERGED = 4, EXIT_DIFFERS = 5 };

typedef struct Words {
    const char **at;
    int n;
} Words;
void add_word(Words *w, const char *word); /* w must outlive the list */

typedef struct Passage { /* a text without a 0 at its end */
    const char *at;
    int64_t bytes;
} Passage;

void name_program(const char *name); /* for messages without a place, if it is not the trainer */
/* For the user's mistakes: prints "PLACE: error: …" (PLACE NULL: "trainer: error: …") and exits with code.  The message
 * says what was expected, what was found and what to do. */
_Noreturn void fail(int code, const char *place, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
_Noreturn void end_program(int code, const char *text); /* the end of fail(), with its message */
void before_failing(bool (*tell)(int code, const char *text)); /* called by that; true: somebody else prints it */
void advise(const char *advice); /* text that fail() adds on its own line; NULL: none */
void note(const char *fmt, ...) __attribute__((format(printf, 1, 2))); /* a remark on stderr */
/* Prints with control characters, and bytes that are not UTF-8, escaped: \x1b. */
void show(FILE *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void vshow(FILE *f, const char *fmt, va_list args);
void show_raw(FILE *f, const char *text, size_t n); /* of a model or a file: escaped only on a terminal */
void keep_quiet(void); /* prints no more remarks: another process does */
void note_into(const char *path); /* … but adds them to this file; the path is kept */

void *must_alloc(size_t bytes); /* zeroed, from malloc; ends the program (1) if there is no memory */
void *must_grow(void *at, size_t bytes); /* realloc, likewise */
char *text_of(const char *fmt, ...) __attribute__((format(printf, 1, 2)));   /* from malloc */
FILE *print_to(char **text, size_t *bytes); /* to print into; *text, from malloc, is there when it is closed */
void end_print(FILE *f);
char *shell_word(const char *text);                                          /* quoted as one word for a shell */
const char *nearest_word(const char *word, const char *const *words, int n); /* by edit distance, or NULL */
char *bytes_text(int64_t bytes);                                             /* "1.4 GB" */
char *grouped_text(int64_t n);                                               /* "1,115,394" */
void print_padded(FILE *f, const char *s, int width);                        /* width counts characters, not bytes */
void print_json(json_t *all);                   /* one line on stdout; takes the reference */
bool parse_count(const char *s, int64_t *n);    /* decimal, whole string, also 1e6 */
bool parse_real(const char *s, double *x);      /* finite, whole string */
bool parse_size(const char *s, int64_t *bytes); /* 512, 64K, 1.5G: powers of 1024 */
/* Of the environment: above 0, or the usual one if it is not set; ends the program (2) where it is something else. */
double number_of_variable(const char *variable, double usual, const char *unit);
double seconds_now(void);                       /* monotonic */
double without_sign(double x);                  /* NaN without its sign, which means nothing and which printf shows */
bool has_end(const char *text, const char *end);
char *error_text(int number);                   /* strerror, lower case at its start */

#endif
