/* fuzz.h: what the fuzz targets share.  A target is a file fuzz_NAME.c with
 *
 *     void fuzz_one(const char *path, const char *text, size_t n);
 *
 * which hands the bytes (they also lie in a file at `path`, called tokenizer.json) to the code under test.  That code
 * may return, or refuse them by exit(); it must not crash, hang, or take what is wrong.  libfuzzer makes a libFuzzer
 * program of it (engine.c); CMake makes one that runs files, a process each, with any compiler (seeds.c).  What a
 * campaign found worth keeping lies in corpus/NAME/. */
#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>

void fuzz_one(const char *path, const char *text, size_t n);

#endif
