/* memory.h: in the code under test malloc and its kin are these (engine.c), so that an input's memory can be taken
 * back. */
#ifndef FUZZ_MEMORY_H
#define FUZZ_MEMORY_H

#include <stdio.h>
#include <sys/types.h>

void *fuzz_malloc(size_t bytes);
void *fuzz_calloc(size_t n, size_t size);
void *fuzz_realloc(void *old, size_t bytes);
void fuzz_free(void *at);
FILE *fuzz_open_memstream(char **text, size_t *bytes);
ssize_t fuzz_getdelim(char **line, size_t *room, int end, FILE *f);
ssize_t fuzz_getline(char **line, size_t *room, FILE *f);

#endif
