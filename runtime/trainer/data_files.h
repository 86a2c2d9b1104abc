/* data_files.h: the files of a run's data: their hashes, and what has changed in one. */
#ifndef LATHE_TRAINER_DATA_FILES_H
#define LATHE_TRAINER_DATA_FILES_H

#include "trainer/trainer.h"

#include <jansson.h>

typedef struct Own_file {
    const char *of; /* data, val_data or tokenizer */
    char *name;     /* without the folders before what the command line names */
    char *path;
} Own_file;

typedef struct Own_files {
    int n;
    Own_file *at;
} Own_files;

Own_files files_of_run(const Trainer *t); /* those in folders by name; pipes are none of them */
json_t *file_record(const Own_file *f, int64_t step); /* ends the program (3) if it cannot be read */
/* What differs from the file that had this record, in words, from malloc: "line 312 is another"; NULL: nothing. */
char *change_of_file(const Own_file *f, const json_t *record);
void free_files(Own_files *all);

#endif
