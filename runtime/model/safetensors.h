/* safetensors.h: the file format safetensors. */
#ifndef LATHE_MODEL_SAFETENSORS_H
#define LATHE_MODEL_SAFETENSORS_H

#include "base/file.h"
#include "interface/lathe_model.h"

#include <jansson.h>

typedef struct Stored { /* a tensor in a file */
    const char *name;
    const char *dtype; /* F32, F64, I32, I64, … */
    int rank;
    int64_t dim[LATHE_MAXRANK];
    const char *at; /* its bytes; may be unaligned */
    int64_t bytes;
    const char *map; /* of its file; NULL: it is not mapped */
    int64_t turned; /* of GGUF: rows of a head that are in the order of rotary pairs (unturned_place); 0: none are */
    int64_t apart;  /* of GGUF: rows of a head whose q, k and v lie apart, those of all heads together; 0: none do */
    int64_t lead;    /* of GGUF: rows of a table before the first one of the file, which are of no use */
    bool raised;     /* of GGUF: its elements are 1 more than the tensor's */
    bool transposed; /* of GGUF: its elements are in the order of [dim[1]][dim[0]] */
} Stored;

typedef struct Store { /* an open file, also a GGUF (model/gguf.h) */
    const char *path;
    int n;
    Stored *tensor; /* sorted by name */
    void *map;
    size_t map_bytes;
    json_t *header;
    bool own_names; /* names of tensors are from malloc */
} Store;

/* Reads and checks the whole header; an error ends the program (3). */
void read_store(Store *s, const char *path);
void close_store(Store *s);
const Stored *find_stored(const Store *s, const char *name); /* NULL: none */
const char *store_note(const Store *s, const char *key);     /* of put_note(); NULL: none */
int64_t stored_elements(const Stored *s);
double stored_element(const Stored *s, int64_t i);           /* F32, F64, F16, BF16, I32, I64, and those of blocks.h */
bool stored_is(const Stored *s, const char *dtypes);         /* "F32 F64" */
bool is_stored_real(const Stored *s);                        /* F32, F64, F16, BF16, or one of blocks.h */
int64_t unturned_place(const Stored *s, int64_t i);            /* of an element in its tensor; i but where it is turned, apart or transposed, or has a lead */
/* Elements first … first + n, less 1 where raised; faster than one by one where they lie in blocks. */
void read_stored(const Stored *s, int64_t first, int64_t n, double *to);
/* Drops the pages of what was read: of all elements, or those that first … first + n are the last of.  read_stored()
 * calls the second. */
void leave_stored(const Stored *s);
void leave_behind(const Stored *s, int64_t first, int64_t n);

void map_store(Store *s, const char *kind); /* s->path; kind: "a safetensors file" */

typedef struct Store_writer Store_writer;
/* Tensors are declared first, then given in the same order. */
void declare_tensor(Store_writer *w, const char *name, Lathe_dtype dtype, int rank, const int64_t *dim);
void put_note(Store_writer *w, const char *key, const char *text); /* a word of metadata, before the first element */
void put_elements(Store_writer *w, const void *at, int64_t n, Lathe_dtype dtype); /* the next n of the data */
/* Writes PATH.part; finish_store syncs and renames it.  A failure (disk full, no permission) removes PATH.part, keeps
 * an old PATH and ends the program (3). */
Store_writer *start_store(const char *path);
void finish_store(Store_writer *w);
/* Writes PATH itself; failures are recorded in f. */
Store_writer *start_store_at(const char *path, Fault *f);
/* Tells places instead of writing: for each put_elements(), `lay` gets them, with their place behind the header. */
typedef void Lay(void *with, const void *at, int64_t bytes, int64_t place);
Store_writer *start_layout(Lay *lay, void *with);             /* of no file */
Store_writer *start_header(const char *path, Fault *f);       /* writes the header alone, for others to write the rest */
bool lays_out(const Store_writer *w);
int64_t end_layout(Store_writer *w);                          /* bytes of the header; 0 of no file */
void flush_store(Store_writer *w); /* after this, the given elements are not read any more */
Mark end_store(Store_writer *w);   /* synced */

#endif
