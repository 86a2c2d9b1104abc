/* hdf5_api.h: the part of HDF5's C interface (1.10 and later) that reading arrays needs, so that building needs neither
 * its headers nor the library.  Values and prototypes are those of the HDF5 reference manual. */
#ifndef LATHE_DATA_HDF5_API_H
#define LATHE_DATA_HDF5_API_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

typedef int64_t Hdf5_id;       /* hid_t; negative: an error */
typedef unsigned long long Hdf5_size; /* hsize_t */

typedef struct Hdf5_error {    /* H5E_error2_t */
    Hdf5_id class, major, minor;
    unsigned line;
    const char *function, *file, *text;
} Hdf5_error;

typedef int Hdf5_each_error(unsigned n, const Hdf5_error *e, void *with);

enum { HDF5_DEFAULT = 0, HDF5_READ_ONLY = 0, HDF5_SELECT_SET = 0, HDF5_BY_NAME = 0, HDF5_RISING = 0, HDF5_INNERMOST_FIRST = 0 };
enum { HDF5_HARD_LINK = 0, HDF5_SOFT_LINK = 1 };                              /* H5L_type_t */
enum { HDF5_GROUP = 2, HDF5_DATASET = 5 };                                     /* H5I_type_t */
enum { HDF5_INTEGER = 0, HDF5_FLOAT = 1, HDF5_ENUM = 8 };                     /* H5T_class_t */
enum { HDF5_UNSIGNED = 0 };                                                    /* H5T_sign_t */
enum { HDF5_CHUNKED = 2, HDF5_VIRTUAL = 3 };                                  /* H5D_layout_t */

/* The functions used from the library: result, name, parameters. */
#define HDF5_FUNCTIONS(X)                                                                                              \
    X(int, H5dont_atexit, (void))                                                                                      \
    X(int, H5open, (void))                                                                                             \
    X(int, H5get_libversion, (unsigned *major, unsigned *minor, unsigned *release))                                    \
    X(int, H5Eset_auto2, (Hdf5_id stack, void *print, void *with))                                                     \
    X(int, H5Ewalk2, (Hdf5_id stack, int direction, Hdf5_each_error *each, void *with))                                \
    X(Hdf5_id, H5Fopen, (const char *path, unsigned flags, Hdf5_id access))                                            \
    X(int, H5Fclose, (Hdf5_id file))                                                                                   \
    X(ssize_t, H5Lget_name_by_idx, (Hdf5_id at, const char *group, int index, int order, Hdf5_size n, char *name,      \
                                    size_t room, Hdf5_id access))                                                      \
    X(Hdf5_id, H5Oopen, (Hdf5_id at, const char *name, Hdf5_id access))                                                \
    X(int, H5Oclose, (Hdf5_id object))                                                                                 \
    X(int, H5Iget_type, (Hdf5_id object))                                                                              \
    X(Hdf5_id, H5Dopen2, (Hdf5_id at, const char *name, Hdf5_id access))                                               \
    X(Hdf5_id, H5Dget_space, (Hdf5_id set))                                                                            \
    X(Hdf5_id, H5Dget_type, (Hdf5_id set))                                                                             \
    X(Hdf5_id, H5Dget_create_plist, (Hdf5_id set))                                                                     \
    X(Hdf5_size, H5Dget_storage_size, (Hdf5_id set))                                                                   \
    X(int, H5Dread, (Hdf5_id set, Hdf5_id type, Hdf5_id room, Hdf5_id from, Hdf5_id how, void *out))                   \
    X(Hdf5_id, H5Screate_simple, (int rank, const Hdf5_size *dim, const Hdf5_size *most))                              \
    X(int, H5Sget_simple_extent_ndims, (Hdf5_id space))                                                                \
    X(int, H5Sget_simple_extent_dims, (Hdf5_id space, Hdf5_size *dim, Hdf5_size *most))                                \
    X(int, H5Sselect_hyperslab, (Hdf5_id space, int how, const Hdf5_size *start, const Hdf5_size *stride,              \
                                 const Hdf5_size *count, const Hdf5_size *block))                                      \
    X(int, H5Sclose, (Hdf5_id space))                                                                                  \
    X(Hdf5_id, H5Tget_native_type, (Hdf5_id type, int direction))                                                      \
    X(int, H5Tget_class, (Hdf5_id type))                                                                               \
    X(size_t, H5Tget_size, (Hdf5_id type))                                                                             \
    X(int, H5Tget_sign, (Hdf5_id type))                                                                                \
    X(int, H5Tclose, (Hdf5_id type))                                                                                   \
    X(Hdf5_id, H5Pcreate, (Hdf5_id class))                                                                             \
    X(int, H5Pset_chunk_cache, (Hdf5_id access, size_t slots, size_t bytes, double first))                             \
    X(int, H5Pget_layout, (Hdf5_id made))                                                                              \
    X(int, H5Pget_chunk, (Hdf5_id made, int rank, Hdf5_size *dim))                                                     \
    X(int, H5Pget_external_count, (Hdf5_id made))                                                                      \
    X(int, H5Pget_nfilters, (Hdf5_id made))                                                                            \
    X(int, H5Pclose, (Hdf5_id list))

#endif
