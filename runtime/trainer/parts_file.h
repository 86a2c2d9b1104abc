/* parts_file.h: files of a checkpoint of which each of several ranks on processors writes its parts. */
#ifndef LATHE_TRAINER_PARTS_FILE_H
#define LATHE_TRAINER_PARTS_FILE_H

#include "base/file.h"
#include "interface/dealt.h"
#include "model/block.h"
#include "model/safetensors.h"
#include "step/optim.h"
#include "trainer/trainer.h"

#define TRAINED_FILE "trained.safetensors"
typedef enum Part_file { PARTS_MODEL, PARTS_TRAINED, PARTS_OPTIMIZER, PARTS_RANKS, PART_FILES } Part_file;
extern const char *const part_file_names[PART_FILES];

/* An array of which each rank has its elements. */
typedef struct Part_source {
    const char *laid; /* where it would lie whole, with elements as in the file: names them; only an address */
    const char *own;  /* of this rank */
    Lathe_dtype in_file, here;
    bool compact;     /* own: this rank's elements alone, bucket by bucket; else the whole array */
    int64_t n;
} Part_source;

typedef struct Part_piece { /* bytes of a file that lie side by side, and that one rank writes */
    int rank;
    int64_t place, bytes; /* place: behind the header */
    const void *at;       /* NULL: elements of `source` */
    const Part_source *source;
    int64_t first;
    Lathe_part part; /* of the rank, with these elements */
    int bucket;
} Part_piece;

typedef struct Part_arrays { /* what is saved */
    const Trainer *t;
    const Memory *m;
    const Optimizer *o;
    Lathe_deal deal;
} Part_arrays;

bool has_part_file(const Part_arrays *a, Part_file file);
Store_writer *start_whole_file(const Part_arrays *a, Part_file file, const char *folder, Fault *f); /* NULL: there is none */
int64_t start_part_file(const Part_arrays *a, Part_file file, const char *path, Fault *f); /* bytes of its header */
/* All pieces of a file, of all ranks, in the order of the file. */
typedef void Part_taker(void *with, const Part_piece *p);
void each_part_piece(const Part_arrays *a, Part_file file, Part_taker *take, void *with);
/* The bytes of a piece of this rank, in order. */
typedef void Part_bytes_taker(void *with, const void *at, int64_t bytes);
void bytes_of_piece(const Part_arrays *a, const Part_piece *p, Part_bytes_taker *take, void *with);

/* From a checkpoint's files: this rank's elements alone. */
void load_own_parts(const Part_arrays *a, const char *checkpoint);

#endif
