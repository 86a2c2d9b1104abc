/* python_arrays.c: arrays of Python during a call: held by name, and refused with what was expected and found; what is
 * said of a model's arrays. */
#include "library/python.h"
#include "interface/given.h"
#include "model/tables.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

PyObject *raise_words(PyObject *type, const char *fmt, ...)
{
    char words[LIBRARY_WORDS + LIBRARY_NAME];
    va_list args;
    va_start(args, fmt);
    vsnprintf(words, sizeof words, fmt, args);
    va_end(args);
    PyErr_SetString(type, words);
    return NULL;
}

PyObject *whole_or_none(PyObject *o, bool whole)
{
    if (whole || !o) return o;
    Py_DecRef(o);
    return NULL;
}

PyObject *tuple_of_numbers(int n, const int64_t *from, int64_t factor)
{
    PyObject *tuple = PyTuple_New(n);
    for (int k = 0; tuple && k < n; k++) PyTuple_SetItem(tuple, k, PyLong_FromLongLong(from[k] * factor));
    return tuple;
}

/* ------------------------------------------------------------------ what is said of arrays */

const char *type_in_python(Lathe_dtype t)
{
    static const char *const words[] = {[LATHE_BOOL] = "uint8",  [LATHE_I32] = "int32",   [LATHE_F32] = "float32",
                                        [LATHE_F64] = "float64", [LATHE_BF16] = "uint16", [LATHE_F16] = "float16"};
    return words[t];
}

/* A buffer's format, as the struct module writes it. */
static bool is_format(Lathe_dtype t, const Py_buffer *v)
{
    const char *format = v->format ? v->format : "B";
    if (*format == '@' || *format == '=' || *format == '<') format++;
    if (!format[0] || format[1] || v->itemsize != dtype_size(t)) return false;
    const char *const letters = t == LATHE_I32    ? "il"
                                : t == LATHE_BOOL ? "B?"
                                : t == LATHE_BF16 ? "H"
                                : t == LATHE_F16  ? "e"
                                : t == LATHE_F64  ? "d"
                                                  : "f";
    return strchr(letters, *format) != NULL;
}

enum { SHAPE_WORDS = 24 * LATHE_MAXRANK };

/* As NumPy writes a shape: (64, 10), (16,), (). */
static const char *shape_words(int rank, const int64_t *dim, char words[SHAPE_WORDS])
{
    size_t n = (size_t)snprintf(words, SHAPE_WORDS, "(");
    for (int k = 0; k < rank && n < SHAPE_WORDS; k++)
        n += (size_t)snprintf(words + n, SHAPE_WORDS - n, k ? ", %lld" : "%lld", (long long)dim[k]);
    if (n < SHAPE_WORDS) snprintf(words + n, SHAPE_WORDS - n, rank == 1 ? ",)" : ")");
    return words;
}

enum { TYPE_WORDS = 48 };

/* As NumPy calls the numbers of a buffer. */
static const char *type_words(const Py_buffer *v, char words[TYPE_WORDS])
{
    static const struct {
        const char *letters, *name;
    } kinds[] = {{"bhilqn", "int"}, {"BHILQN", "uint"}, {"efdg", "float"}};
    const char *const format = v->format ? v->format : "B";
    const bool swapped = *format == '>' || *format == '!';
    const char *const letter = format + (swapped || *format == '@' || *format == '=' || *format == '<');
    const char *const order = swapped && v->itemsize > 1 ? " of the other byte order" : "";
    const int bits = (int)v->itemsize * 8;
    if (*letter == 'Z') snprintf(words, TYPE_WORDS, "complex%d%s", bits, order);
    else if (strchr("ws", letter[strspn(letter, "0123456789")])) snprintf(words, TYPE_WORDS, "text");
    else if (letter[1]) snprintf(words, TYPE_WORDS, "the format '%.20s'", format);
    else if (*letter == '?') snprintf(words, TYPE_WORDS, "bool");
    else if (*letter == 'O') snprintf(words, TYPE_WORDS, "object");
    else {
        snprintf(words, TYPE_WORDS, "the format '%.20s'", format);
        for (size_t k = 0; *letter && k < sizeof kinds / sizeof *kinds; k++)
            if (strchr(kinds[k].letters, *letter)) snprintf(words, TYPE_WORDS, "%s%d%s", kinds[k].name, bits, order);
    }
    return words;
}

static void refuse_type(const char *function, const Lathe_tensor *t, const Py_buffer *v)
{
    char found[TYPE_WORDS];
    const char *const wanted = type_in_python(t->dtype);
    raise_words(PyExc_TypeError, "%s: the array %s: expected %s, found %s; use numpy.asarray(%s, \"%s\")", function,
                t->name, wanted, type_words(v, found), t->name, wanted);
}

static void refuse_shape(const char *function, const Lathe_tensor *t, const Py_buffer *v)
{
    char wanted[SHAPE_WORDS], found[SHAPE_WORDS];
    int64_t dims[LATHE_MAXRANK];
    const int rank = v->ndim < LATHE_MAXRANK ? v->ndim : LATHE_MAXRANK;
    for (int k = 0; k < rank; k++) dims[k] = v->shape[k];
    raise_words(PyExc_ValueError,
                "%s: the array %s: expected the shape %s, found %s; sizes, the batch's too, are fixed when a model is "
                "built",
                function, t->name, shape_words(t->rank, t->dim, wanted), shape_words(rank, dims, found));
}

static bool has_shape(const Lathe_tensor *t, const Py_buffer *v)
{
    bool fits = v->ndim == t->rank;
    for (int k = 0; fits && k < t->rank; k++) fits = v->shape[k] == t->dim[k];
    return fits;
}

/* ------------------------------------------------------------------ arrays during a call */

bool begin_arrays(Arrays *a, int most)
{
    *a = (Arrays){calloc((size_t)most + 1, sizeof *a->view), calloc((size_t)most + 1, sizeof *a->at), 0};
    if (a->view && a->at) return true;
    raise_words(PyExc_MemoryError, "no memory for %d arrays", most);
    return false;
}

void end_arrays(Arrays *a)
{
    for (int i = 0; i < a->n; i++)
        if (a->at[i]) PyBuffer_Release(&a->view[i]);
    free(a->view);
    free(a->at);
}

static bool refuse_object(const char *function, const Lathe_tensor *t, PyObject *from)
{
    char wanted[SHAPE_WORDS];
    PyObject *name = PyType_GetName(from->ob_type);
    const char *const found = name ? PyUnicode_AsUTF8AndSize(name, NULL) : NULL;
    raise_words(PyExc_TypeError, "%s: the array %s: expected an array of %s of the shape %s, found %.100s", function,
                t->name, type_in_python(t->dtype), shape_words(t->rank, t->dim, wanted),
                found ? found : "another object");
    if (name) Py_DecRef(name);
    return false;
}

bool hold_array(Arrays *a, const char *function, const Lathe_tensor *t, PyObject *from, bool written)
{
    Py_buffer *v = &a->view[a->n];
    if (!from) {
        a->n++;
        return true;
    }
    if (!PyObject_CheckBuffer(from)) return refuse_object(function, t, from);
    if (PyObject_GetBuffer(from, v, PyBUF_STRIDES | PyBUF_FORMAT | (written ? PyBUF_WRITABLE : 0))) return false;
    a->at[a->n++] = v->buf;
    if (!is_format(t->dtype, v)) refuse_type(function, t, v);
    else if (!has_shape(t, v)) refuse_shape(function, t, v);
    else if (!PyBuffer_IsContiguous(v, 'C'))
        raise_words(PyExc_ValueError,
                    "%s: the array %s: expected rows one after another in memory; use numpy.ascontiguousarray(%s)",
                    function, t->name, t->name);
    else return true;
    return false;
}

PyObject *refuse_absent(const char *function, const Lathe_tensor *t)
{
    char wanted[SHAPE_WORDS];
    return raise_words(PyExc_ValueError, "%s: the array %s is missing; expected %s of the shape %s", function, t->name,
                       type_in_python(t->dtype), shape_words(t->rank, t->dim, wanted));
}

bool is_given_input(const Lathe_tensor *t) { return lathe_is_given(t->role); }
bool is_any_output(const Lathe_tensor *t) { return t->rank >= 0; }

/* What is no array of the entry. */
static bool are_known_names(const char *function, const Lathe_tensor *table, int n, Is_named *is_named, PyObject *dict)
{
    PyObject *key, *value;
    if (PyDict_Size(dict) < 0)
        return raise_words(PyExc_TypeError, "%s: expected a dict of arrays by name", function) != NULL;
    for (Py_ssize_t at = 0; PyDict_Next(dict, &at, &key, &value);) {
        const char *name = PyUnicode_AsUTF8AndSize(key, NULL);
        char known[256] = "";
        bool found = false;
        if (!name)
            return raise_words(PyExc_TypeError, "%s: expected the names of arrays as keys of the dict", function) !=
                   NULL;
        for (int k = 0; k < n; k++) {
            if (!is_named(&table[k])) continue;
            found |= strcmp(table[k].name, name) == 0;
            const size_t used = strlen(known);
            snprintf(known + used, sizeof known - used, "%s%s", used ? ", " : "", table[k].name);
        }
        if (found) continue;
        raise_words(PyExc_ValueError, "%s: there is no array '%.100s'; there are %s", function, name, known);
        return false;
    }
    return true;
}

/* Of a dict by name. */
bool hold_arrays(Arrays *a, const char *function, const Lathe_tensor *table, int n, Is_named *is_named, PyObject *dict,
                 bool written)
{
    if (!are_known_names(function, table, n, is_named, dict)) return false;
    for (int k = 0; k < n; k++)
        if (is_named(&table[k]) &&
            !hold_array(a, function, &table[k], PyDict_GetItemString(dict, table[k].name), written))
            return false;
    return true;
}

/* Of a batch, all of it. */
bool hold_batch(Arrays *a, const char *function, const Lathe_entry *e, PyObject *dict)
{
    if (!hold_arrays(a, function, e->input, e->inputs, is_given_input, dict, false)) return false;
    for (int k = 0, n = 0; k < e->inputs; k++)
        if (is_given_input(&e->input[k]) && !a->at[n++]) return refuse_absent(function, &e->input[k]) != NULL;
    return true;
}

/* [(name, type, shape, least, below)] */
PyObject *list_of_tensors(const Lathe_tensor *t, int n, Is_named *is_named)
{
    PyObject *list = PyList_New(0);
    for (const Lathe_tensor *end = t + n; list && t < end; t++) {
        if (!is_named(t)) continue;
        PyObject *row = Py_BuildValue("(ssNLL)", t->name, type_in_python(t->dtype),
                                      tuple_of_numbers(t->rank, t->dim, 1), (long long)t->least, (long long)t->below);
        if (!row || PyList_Append(list, row)) list = whole_or_none(list, false);
        if (row) Py_DecRef(row);
    }
    return list;
}
