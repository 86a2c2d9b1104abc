/* python_saved.c: an instance of a module of Python as bytes or a file, and where its parameters are in its memory. */
#include "library/python.h"
#include "library/saved.h"
#include "model/init.h"
#include "model/tables.h"

#include <string.h>

static int called_load(Call_of *c) { return load_instance(c->library, c->result, c->bytes); }
static int called_load_file(Call_of *c) { return load_file_of_library(c->library, c->at); }
static int called_save_file(Call_of *c) { return save_file_of_library(c->library, c->at, c->number != 0); }
static int called_save(Call_of *c) { return save_library(c->library, c->result, c->bytes, &c->bytes, c->number != 0); }

/* (all): bytes, as library.h says of save_library(). */
PyObject *save_in_python(PyObject *self, PyObject *args)
{
    Instance *i = instance_of(self);
    Call_of c = {0};
    int all;
    if (!PyArg_ParseTuple(args, "p", &all) || !begin_call_of(i)) return NULL;
    c.number = all;
    int code = call_unlocked(i, called_save, &c);
    if (code) return raise_code(i->library, code);
    PyObject *saved = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)c.bytes);
    if (!saved) return NULL;
    c.result = PyBytes_AsString(saved);
    code = call_unlocked(i, called_save, &c);
    if (!code) return saved;
    Py_DecRef(saved);
    return raise_code(i->library, code);
}

PyObject *load_in_python(PyObject *self, PyObject *from)
{
    Instance *i = instance_of(self);
    Py_buffer v;
    if (!begin_call_of(i) || PyObject_GetBuffer(from, &v, PyBUF_SIMPLE)) return NULL;
    const int code = call_unlocked(i, called_load, &(Call_of){.result = v.buf, .bytes = (size_t)v.len});
    PyBuffer_Release(&v);
    return code ? raise_code(i->library, code) : none_of_python();
}

/* (path as bytes, all) */
PyObject *save_file_in_python(PyObject *self, PyObject *args)
{
    Instance *i = instance_of(self);
    const char *path;
    int all;
    if (!PyArg_ParseTuple(args, "yp", &path, &all) || !begin_call_of(i)) return NULL;
    const int code = call_unlocked(i, called_save_file, &(Call_of){.at = path, .number = all});
    return code ? raise_code(i->library, code) : none_of_python();
}

/* (path as bytes) */
PyObject *load_file_in_python(PyObject *self, PyObject *args)
{
    Instance *i = instance_of(self);
    const char *path;
    if (!PyArg_ParseTuple(args, "y", &path) || !begin_call_of(i)) return NULL;
    const int code = call_unlocked(i, called_load_file, &(Call_of){.at = path});
    return code ? raise_code(i->library, code) : none_of_python();
}

/* ------------------------------------------------------------------ parameters as they lie in memory */

/* Statistics are read and written where entries have them, not where files are made of them. */
static const char *living_place(const Library *l, const Saved *s)
{
    const char *at = saved_piece(s, 0), *copied = l->memory.statistics;
    for (const Lathe_tensor *k = l->model->state; s->flat == copied && k < l->model->state + l->model->states; k++) {
        const int64_t bytes = tensor_size(k) * dtype_size(k->dtype);
        if (k->role != LATHE_STATISTIC) continue;
        if (at < copied + bytes) return (const char *)l->memory.state + k->offset + (at - copied);
        copied += bytes;
    }
    return at;
}

typedef struct Listing {
    Instance *instance;
    PyObject *list;
} Listing;

/* Strides in elements. */
static void strides_of_saved(const Saved *s, int64_t *stride)
{
    int64_t apart = 1;
    for (int k = s->rank - 1; k >= 0; k--) {
        stride[k] = s->param ? s->param->stride[s->param->loops + k] : apart;
        apart *= s->dim[k];
    }
}

/* Where a layer's gradient of it is; -1: it has none. */
static long long gradient_offset(const Instance *i, const Saved *s)
{
    const Library *l = i->library;
    if (!l->memory.grads || s->flat != l->memory.params || !lathe_is_trained(l->model, s->param)) return -1;
    return (const char *)l->memory.grads + copy_place(s->param, s->copy, 0) * dtype_size(l->model->real) - i->memory;
}

/* (name, type, shape, strides in bytes, offset in the memory, that of the gradient) */
static bool list_parameter(void *with, const Saved *s)
{
    const Listing *listing = with;
    int64_t stride[LATHE_MAXRANK];
    strides_of_saved(s, stride);
    const int64_t offset = living_place(listing->instance->library, s) - listing->instance->memory;
    PyObject *row = Py_BuildValue("(ssNNLL)", s->name, type_in_python(s->type), tuple_of_numbers(s->rank, s->dim, 1),
                                  tuple_of_numbers(s->rank, stride, dtype_size(s->type)), (long long)offset,
                                  gradient_offset(listing->instance, s));
    const bool added = row && PyList_Append(listing->list, row) == 0;
    if (row) Py_DecRef(row);
    return added;
}

PyObject *parameters_in_python(PyObject *self, PyObject *unused)
{
    Listing listing = {instance_of(self), NULL};
    (void)unused;
    if (!begin_call_of(listing.instance)) return NULL;
    listing.list = PyList_New(0);
    return whole_or_none(listing.list,
                         listing.list && each_saved(listing.instance->library, false, list_parameter, &listing));
}
