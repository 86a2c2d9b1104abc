/* array.h: arrays of numbers in files: rows of named inputs. */
#ifndef LATHE_DATA_ARRAY_H
#define LATHE_DATA_ARRAY_H

#include "base/hash.h"
#include "base/words.h"

/* An array in a file, in row-major order, whose rows are read when they are needed. */
typedef struct Array {
    char *place; /* for messages: its file, and its name there */
    char *name;  /* in a file of several, or of a file in a folder; NULL: none */
    int fd;      /* its own; -1: of set */
    struct Hdf5_set *set; /* a dataset of an HDF5 file; NULL: bytes of fd */
    char kind;   /* b boolean, i, u, f, B bfloat16 */
    int size;    /* bytes of an element */
    bool big;    /* the most significant byte comes first */
    int rank;
    int64_t *dim, width; /* dim [rank]; rows are along the first axis; width: elements of a row */
    int64_t data;        /* byte of the file at which the elements begin */
    int64_t heap;        /* bytes kept in memory, since the file is compressed; of a cache */
} Array;

typedef struct Array_list {
    Array **at;
    int n;
    int64_t unpacked;                                   /* bytes of those that are kept in memory */
    void (*before)(const void *with, int64_t unpacked); /* called before more are; NULL: nothing is */
    const void *with;
} Array_list;

/* All of these end the program (3) if a file is not what its name says. */
Array *open_npy(const char *path); /* C order; booleans, integers, float16 to float64, little endian */
/* Those of a file or folder that are wanted; name: of a lone array, which is.  wanted NULL: all. */
typedef bool Wanted(const void *with, const char *name);
void list_arrays(Array_list *all, const char *path, const char *name, Wanted *wanted, const void *with);
bool are_arrays(const Words *paths); /* all of them .npy */
bool holds_arrays(const char *path); /* a file of arrays by its name, or a folder with some */
void close_array(Array *a);
int64_t array_rows(const Array *a);                                 /* of a scalar: 1 */
void read_array(const Array *a, int64_t row, int64_t n, double *out); /* [n][width] */

/* ---- for the readers of formats */
enum { MOST_DIMS = 32 };
/* Bytes first … first + n - 1 of fd begin with the header of numpy.save. */
Array *npy_at(const char *place, int fd, int64_t first, int64_t n);
Array *new_array(const char *place, int fd);
void add_array(Array_list *all, Array *a, const char *name);
void read_bytes_at(const Array *a, void *to, int64_t n, int64_t offset);
void check_array_length(Array *a, int64_t bytes); /* bytes: of the elements, found; sets width */
int open_array_file(const char *path, int64_t *bytes); /* a regular file */
int open_unpacked(const char *path, int64_t *bytes, int64_t *heap); /* likewise; .gz and .zst are kept in memory */
int memory_file(const char *path); /* an empty file in memory, for what is unpacked */
void open_npz(Array_list *all, const char *path, Wanted *wanted, const void *with);
Array *open_idx(const char *path);
bool is_hdf5(const char *path); /* data/hdf5.c: FILE.h5, FILE.h5/GROUP or FILE.h5/DATASET, likewise .hdf5 */
void open_hdf5(Array_list *all, const char *path, const char *name, Wanted *wanted, const void *with);
void read_set(const Array *a, int64_t row, int64_t n, double *out);
void close_set(struct Hdf5_set *s);

#endif
