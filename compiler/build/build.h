/* build.h: what building for a processor (build/build.c) and for a GPU (build/cuda.c) share: commands, what they say, hashes.
 */
#ifndef BUILD_H
#define BUILD_H

#include "emit/emit.h"

#include <sys/types.h>

typedef VEC(const char *) Words;

char *in_path(const char *command); /* NULL: there is no such program */
const char *needed_compiler(void);  /* of C; or ends the program */
const char *runtime_library(void);  /* liblathe_rt.a */
void need_runtime_library(void);    /* ends the program where it is not there */
const char *look_page(void);         /* the C of reports' pages */
const char *needed_text(const char *path); /* of a file of Lathe; or ends the program */
void add_c_flags(Words *w);         /* with what sanitizers want */
void add_flags_here(Words *w, bool threads);   /* the same, without -fopenmp or with it */
void add_common_flags(Words *w, bool threads); /* those for every machine */
void add_libraries(Words *w);       /* that the runtime links */

pid_t start_logged(Words *w, const char *log); /* what the command says goes to that file */
int run_logged(Words *w, const char *log);     /* its exit status */
int exit_of(int status);                       /* from waitpid */
/* The message if a compiler refuses generated text: which compiler, which file, its words, and the comment above the
 * line in question. before: the text before the line number, "model.c:". */
_Noreturn void refused(const char *who, const char *source, const char *before, const char *log);

uint64_t hash_file(const char *path, uint64_t seed);
uint64_t hash_words(const Words *w, uint64_t seed);
uint64_t hash_command(const Words *w, uint64_t seed); /* of a compiler: also which compiler, and processor, it is now */
/* Was `what` made with that hash? If not, it counts as not made until keep_hash(). */
bool has_hash(const char *what, uint64_t hash);
void keep_hash(const char *what, uint64_t hash);

#endif
