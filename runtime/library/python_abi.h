/* python_abi.h: what python.c calls of Python: its stable ABI, as any Python from 3.11 on has it.
 *
 * The ABI is frozen, so its few declarations are here, and a module is built without Python's headers.  With
 * LATHE_PYTHON_HEADERS they come from Python.h instead: tests/python/module.sh compiles both. */
#ifndef LATHE_LIBRARY_PYTHON_ABI_H
#define LATHE_LIBRARY_PYTHON_ABI_H

#ifdef LATHE_PYTHON_HEADERS
#define Py_LIMITED_API 0x030b0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#else

#include <stddef.h>
#include <stdint.h>

typedef ptrdiff_t Py_ssize_t;
typedef struct _typeobject PyTypeObject;
typedef struct _ts PyThreadState;
typedef struct _object {
    Py_ssize_t ob_refcnt;
    PyTypeObject *ob_type;
} PyObject;

typedef PyObject *(*PyCFunction)(PyObject *self, PyObject *args);
typedef struct PyMethodDef {
    const char *ml_name;
    PyCFunction ml_meth;
    int ml_flags;
    const char *ml_doc;
} PyMethodDef;

typedef struct PyType_Slot {
    int slot;
    void *pfunc;
} PyType_Slot;
typedef struct PyType_Spec {
    const char *name;
    int basicsize, itemsize;
    unsigned int flags;
    PyType_Slot *slots;
} PyType_Spec;

typedef struct PyModuleDef_Base {
    PyObject ob_base;
    PyObject *(*m_init)(void);
    Py_ssize_t m_index;
    PyObject *m_copy;
} PyModuleDef_Base;
typedef struct PyModuleDef {
    PyModuleDef_Base m_base;
    const char *m_name, *m_doc;
    Py_ssize_t m_size;
    PyMethodDef *m_methods;
    void *m_slots, *m_traverse, *m_clear, *m_free;
} PyModuleDef;

typedef struct Py_buffer {
    void *buf;
    PyObject *obj;
    Py_ssize_t len, itemsize;
    int readonly, ndim;
    char *format;
    Py_ssize_t *shape, *strides, *suboffsets;
    void *internal;
} Py_buffer;

#define PyModuleDef_HEAD_INIT {{1, NULL}, NULL, 0, NULL}
#define PyMODINIT_FUNC        __attribute__((visibility("default"))) PyObject *
enum { METH_VARARGS = 1, METH_NOARGS = 4, METH_O = 8 };
enum { PyBUF_SIMPLE = 0, PyBUF_WRITABLE = 1, PyBUF_FORMAT = 4, PyBUF_STRIDES = 0x18 };
enum { Py_bf_getbuffer = 1, Py_tp_dealloc = 52, Py_tp_methods = 64 };
enum { Py_TPFLAGS_DISALLOW_INSTANTIATION = 1 << 7 };

extern PyObject *PyExc_ArithmeticError, *PyExc_FileNotFoundError, *PyExc_ImportError, *PyExc_MemoryError, *PyExc_OSError,
    *PyExc_RuntimeError, *PyExc_TypeError, *PyExc_ValueError;
extern PyObject _Py_NoneStruct;
#define Py_None (&_Py_NoneStruct)

void Py_IncRef(PyObject *o);
void Py_DecRef(PyObject *o);
void PyErr_SetString(PyObject *type, const char *words);
int PyArg_ParseTuple(PyObject *args, const char *format, ...);
PyObject *PyModule_Create2(PyModuleDef *def, int version);
PyObject *PyType_FromSpec(PyType_Spec *spec);
PyObject *PyType_GenericAlloc(PyTypeObject *type, Py_ssize_t items);
void PyObject_Free(void *o);
PyThreadState *PyEval_SaveThread(void);
void PyEval_RestoreThread(PyThreadState *state);
PyObject *PyType_GetName(PyTypeObject *type);
int PyObject_CheckBuffer(PyObject *o);
int PyObject_GetBuffer(PyObject *o, Py_buffer *view, int flags);
int PyBuffer_FillInfo(Py_buffer *view, PyObject *o, void *bytes, Py_ssize_t n, int readonly, int flags);
int PyBuffer_IsContiguous(const Py_buffer *view, char order);
void PyBuffer_Release(Py_buffer *view);
PyObject *Py_BuildValue(const char *format, ...);
PyObject *PyBytes_FromStringAndSize(const char *bytes, Py_ssize_t n);
char *PyBytes_AsString(PyObject *o);
PyObject *PyDict_New(void);
Py_ssize_t PyDict_Size(PyObject *dict);
PyObject *PyDict_GetItemString(PyObject *dict, const char *key);
int PyDict_SetItemString(PyObject *dict, const char *key, PyObject *value);
int PyDict_Next(PyObject *dict, Py_ssize_t *at, PyObject **key, PyObject **value);
PyObject *PyList_New(Py_ssize_t n);
int PyList_Append(PyObject *list, PyObject *o);
PyObject *PyTuple_New(Py_ssize_t n);
int PyTuple_SetItem(PyObject *tuple, Py_ssize_t i, PyObject *o);
PyObject *PyLong_FromLongLong(long long n);
PyObject *PyFloat_FromDouble(double x);
PyObject *PyBool_FromLong(long n);
const char *PyUnicode_AsUTF8AndSize(PyObject *o, Py_ssize_t *n);

#define PyModule_Create(def) PyModule_Create2(def, 3)
#endif

#endif
