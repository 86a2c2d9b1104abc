/* util.h: what every file of the compiler leans on: memory, vectors, text, and two ways to fail. */
#ifndef UTIL_H
#define UTIL_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stddef.h>
#include <stdio.h>

/* One arena holds everything a compilation makes; it is given back whole by free_all(). */
void *alloc(size_t bytes);                              /* zeroed, 16-byte aligned */
void *copy_of(const void *from, size_t bytes);          /* may be called with bytes 0 */
void *lengthen(void *at, size_t used, size_t old, size_t bytes);    /* in place, if nothing was allocated since */
void give_back(void *at, size_t bytes);                 /* 2^k bytes that are no longer read, for alloc_again() */
void *alloc_again(size_t bytes);                        /* as alloc() */
void free_all(void);
void begin_scratch(void);                               /* what is made from now on is given back by end_scratch(), */
bool for_good(void);                                    /* but for what is made between for_good() … */
void for_a_while(bool again);                           /* and this, which is given what that returned */
void end_scratch(void);
size_t allocated_bytes(void);                           /* of the arena, since free_all() */
_Noreturn void no_memory(size_t bytes);                 /* the system has no more: says so, exit 1 */

#define NEW(T)         ((T *)alloc(sizeof(T)))
#define NEW_ARRAY(T, n) ((T *)alloc(sizeof(T) * (size_t)(n)))

/* Vectors: VEC(Node *) v = {0}; push(&v, node); v.at[i], v.n.  Old storage stays in the arena. */
#define VEC(...) struct { __VA_ARGS__ *at; int n, cap; }
#define push(v, x) \
    (*(((v)->n == (v)->cap ? (void)((v)->at = grow((v)->at, (v)->n, &(v)->cap, sizeof *(v)->at)) \
                           : (void)0), &(v)->at[(v)->n++]) = (x))
void *grow(void *at, int n, int *cap, size_t size);

/* Strings live in the arena as well. */
char *format(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
char *vformat(const char *fmt, va_list args);
char *copy_string(const char *s);
char *copy_bytes_as_string(const char *s, size_t n);
bool starts_with(const char *s, const char *prefix);
bool same(const char *a, const char *b);                /* both may be NULL */
const char *nearest(const char *word, const char *const *words, int n);   /* by edit distance, or NULL */
char *read_file(const char *path, size_t *bytes);       /* NULL where it cannot be read; errno tells */
bool write_file(const char *path, const char *text, size_t bytes);
uint64_t hash_bytes(const void *data, size_t bytes, uint64_t seed);

/* Strings -> numbers, 0 at first. */
typedef struct Strings { const char **key; int *value; int n, cap; } Strings;
int *strings_at(Strings *t, const char *s);              /* good until the next is made */
int strings_get(const Strings *t, const char *s);
const char *unique_string(Strings *taken, const char *wish);                         /* wish, wish_b, wish_c, …; taken from now on */
const char *after_the_first(int k);                                                 /* 2: b, 3: c, … 27: aa */
int number_after_the_first(const char *letters);                                    /* the same backwards; 0: no such letters */

/* Text under construction; say() appends. */
typedef struct Text { char *at; size_t n, cap; } Text;
void say(Text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void say_bytes(Text *t, const char *bytes, size_t n);

#include "base/escape.h"

/* The place where the user wrote something. file NULL: no particular place. */
typedef struct Where {
    const char *file;           /* as given on the command line: models/gpt.lua */
    int line;
    const char *path;           /* layer path: "layer.attn" ("" at the top) */
} Where;

/* The user's mistake: prints "file:line: error: …", the line itself, and exits with 1 (usage() with 2, data with 3).
 * The message says what was expected, what was found and what to do; it may have several lines. */
void warn(Where where, const char *fmt, ...) __attribute__((format(printf, 2, 3))); /* each line once */
extern bool remarks_made; /* by another compilation of the description: no more warnings, no words of print */
extern void (*told_of_mistake)(const char *kind, Where where, int column, const char *text); /* "error", "warning"; NULL: nobody is */
extern int code_of_mistakes; /* what err() ends with: 1, but where that is an answer (lathe diff) */
_Noreturn void err(Where where, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
_Noreturn void err_at(Where where, int column, const char *fmt, ...)       /* with a caret below the column, from 1 */
    __attribute__((format(printf, 3, 4)));
_Noreturn void usage_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Our mistake: says where in the compiler, and aborts. */
#define die(...) die_at(__FILE__, __LINE__, __VA_ARGS__)
_Noreturn void die_at(const char *file, int line, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
#define must(condition) ((condition) ? (void)0 : die("%s", #condition))

/* A list of an enum's members, LIST(X): X(MEMBER, "word", …) …, makes the enum itself, how many they are, and arrays. */
#define LIST_MEMBER(member, ...) member,
#define LIST_ONE(...) + 1
#define LIST_WORD(member, word, ...) [member] = word,

#define COUNT_OF(a) ((int)(sizeof(a) / sizeof *(a)))
static inline int64_t min64(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t max64(int64_t a, int64_t b) { return a > b ? a : b; }
static inline int64_t round_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

#endif
