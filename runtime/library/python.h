/* python.h: what the files of a module of Python share. */
#ifndef LATHE_LIBRARY_PYTHON_H
#define LATHE_LIBRARY_PYTHON_H

#include "library/library.h"
#include "library/python_abi.h"

#include <unistd.h>

typedef struct Instance {
    PyObject head;
    char *memory; /* library_bytes(), aligned in block */
    void *block;
    size_t bytes;
    Library *library;
    bool calling;  /* read and written under the interpreter's lock */
    int threads;
    pid_t process; /* whose threads it has */
} Instance;

typedef struct Call_of { /* one, as it runs without the interpreter's lock */
    Library *library;
    void *const *given, *const *wanted;
    const void *at;
    void *result;
    int64_t number;
    int32_t token;
    int seed;
    size_t bytes;
} Call_of;
typedef int Called(Call_of *c);

typedef struct Arrays { /* held ones, in the order of a table of tensors; NULL at those that are not given */
    Py_buffer *view;
    void **at;
    int n;
} Arrays;

typedef bool Is_named(const Lathe_tensor *t);

/* ---- library/python_arrays.c: NULL and false: an exception is raised */

PyObject *raise_words(PyObject *type, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
PyObject *whole_or_none(PyObject *o, bool whole); /* o, or nothing of it */
bool begin_arrays(Arrays *a, int most);
void end_arrays(Arrays *a);
bool hold_array(Arrays *a, const char *function, const Lathe_tensor *t, PyObject *from, bool written); /* from NULL: none */
/* Those of a dict by name; hold_batch(): all inputs that are given. */
bool hold_arrays(Arrays *a, const char *function, const Lathe_tensor *table, int n, Is_named *is_named, PyObject *dict, bool written);
bool hold_batch(Arrays *a, const char *function, const Lathe_entry *e, PyObject *dict);
PyObject *refuse_absent(const char *function, const Lathe_tensor *t);
bool is_given_input(const Lathe_tensor *t);
bool is_any_output(const Lathe_tensor *t);
const char *type_in_python(Lathe_dtype t); /* "float32" */
PyObject *tuple_of_numbers(int n, const int64_t *from, int64_t factor);
PyObject *list_of_tensors(const Lathe_tensor *t, int n, Is_named *is_named); /* [(name, type, shape, least, below)] */

/* ---- library/python.c */

static inline Instance *instance_of(PyObject *self) { return (Instance *)(void *)self; }
PyObject *none_of_python(void);
PyObject *raise_code(const Library *l, int code);
bool begin_call_of(Instance *i); /* of an open instance that no other thread uses; false: it raised why not */
int call_unlocked(Instance *i, Called *called, Call_of *c);
bool make_type(void); /* of instances; once */
PyObject *open_in_python(PyObject *self, PyObject *args);
bool put_in_dict(PyObject *dict, const char *key, PyObject *value); /* takes the value; false: there is none, or no memory */

/* ---- library/python_saved.c */

PyObject *save_in_python(PyObject *self, PyObject *args);
PyObject *load_in_python(PyObject *self, PyObject *from);
PyObject *save_file_in_python(PyObject *self, PyObject *args);
PyObject *load_file_in_python(PyObject *self, PyObject *args);
PyObject *parameters_in_python(PyObject *self, PyObject *unused);

#endif
