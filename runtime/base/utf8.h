/* utf8.h: UTF-8 in and out. */
#ifndef LATHE_BASE_UTF8_H
#define LATHE_BASE_UTF8_H

#include <stdbool.h>
#include <stdint.h>

enum { CODE_POINTS = 0x110000 };

/* One UTF-8 character of at most n bytes: its length, 0 if it is malformed. */
int decode_utf8(const unsigned char *at, int64_t n, uint32_t *code);
int encode_utf8(uint32_t code, char *out); /* at most 4 bytes, returns how many */
char *character_text(uint32_t code);       /* "'é' (U+00E9)" */
/* The number of bytes that text does not have: not UTF-8, or control characters other than white space and escape;
 * *first: the first of them, -1: none. */
int64_t bytes_of_no_text(const unsigned char *at, int64_t n, int64_t *first);
/* Ends the program (3) if more than a tenth of the bytes are such; with `bytes`, notes it instead.  all: notes smaller
 * numbers too. */
void check_is_text(const char *path, const unsigned char *at, int64_t n, bool bytes, bool all);
int64_t unfinished_utf8(const char *text, int64_t n); /* bytes of an incomplete character at the end */

#endif
