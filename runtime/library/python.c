/* python.c: a library as a module of Python (lathe build --python): one type, Instance, over the functions of library.h.
 * compiler/python/lathe/model.py makes of it what a person calls.
 *
 * Arrays come as buffers, which need no NumPy, and are read where they are.  The interpreter's lock is free while an entry
 * runs.  The memory of an instance lives as long as the object or a view of it. */
#include "library/library.h"
#include "library/python.h"
#include "interface/given.h"
#include "interface/needs.h"
#include "library/saved.h"
#include "model/init.h"
#include "model/place.h"
#include "model/tables.h"
#include "step/entry.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef struct Instance {
    PyObject head;
    char *memory; /* library_bytes(), aligned in block */
    void *block;
    size_t bytes;
    Library *library;
    bool calling; /* read and written under the interpreter's lock */
    pid_t process; /* whose threads it has */
} Instance;

static Instance *instance_of(PyObject *self) { return (Instance *)(void *)self; }

static PyObject *none_of_python(void)
{
    Py_IncRef(Py_None);
    return Py_None;
}

__attribute__((format(printf, 2, 3))) static PyObject *raise_words(PyObject *type, const char *fmt, ...)
{
    char words[LIBRARY_WORDS + LIBRARY_NAME];
    va_list args;
    va_start(args, fmt);
    vsnprintf(words, sizeof words, fmt, args);
    va_end(args);
    PyErr_SetString(type, words);
    return NULL;
}

static PyObject *raise_code(const Library *l, int code)
{
    PyObject *type = code == LIBRARY_DATA       ? PyExc_ValueError
                     : code == LIBRARY_DIVERGED ? PyExc_ArithmeticError
                                                : PyExc_RuntimeError;
    return raise_words(type, "%s", library_words(l, code));
}

/* ------------------------------------------------------------------ what is said of arrays */

static const char *type_in_python(Lathe_dtype t)
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
    const char *const letters = t == LATHE_I32                        ? "il"
                                : t == LATHE_BOOL                     ? "B?"
                                : t == LATHE_BF16                     ? "H"
                                : t == LATHE_F16                      ? "e"
                                : t == LATHE_F64                      ? "d"
                                                                      : "f";
    return strchr(letters, *format) != NULL;
}

static void say_dims(char *to, size_t room, int rank, const int64_t *dim)
{
    size_t n = 0;
    to[0] = 0;
    for (int k = 0; k < rank && n < room; k++) n += (size_t)snprintf(to + n, room - n, k ? ", %lld" : "%lld", (long long)dim[k]);
}

static PyObject *refuse_type(const char *function, const Lathe_tensor *t, const Py_buffer *v)
{
    const char *wanted = type_in_python(t->dtype);
    return raise_words(PyExc_TypeError, "%s: the array %s: expected numbers of type %s, found '%s' of %d bytes; use array.astype(\"%s\")",
                       function, t->name, wanted, v->format ? v->format : "B", (int)v->itemsize, wanted);
}

static PyObject *refuse_shape(const char *function, const Lathe_tensor *t, const Py_buffer *v)
{
    char wanted[128], found[128];
    int64_t dims[LATHE_MAXRANK];
    const int rank = v->ndim < LATHE_MAXRANK ? v->ndim : LATHE_MAXRANK;
    for (int k = 0; k < rank; k++) dims[k] = v->shape[k];
    say_dims(wanted, sizeof wanted, t->rank, t->dim);
    say_dims(found, sizeof found, rank, dims);
    return raise_words(PyExc_ValueError, "%s: the array %s: expected the shape (%s), found (%s); sizes are fixed when a model is built",
                       function, t->name, wanted, found);
}

static bool has_shape(const Lathe_tensor *t, const Py_buffer *v)
{
    bool fits = v->ndim == t->rank;
    for (int k = 0; fits && k < t->rank; k++) fits = v->shape[k] == t->dim[k];
    return fits;
}

/* ------------------------------------------------------------------ arrays during a call */

typedef struct Arrays { /* held ones, in the order of a table of tensors; NULL at those that are not given */
    Py_buffer *view;
    void **at;
    int n;
} Arrays;

static bool open_arrays(Arrays *a, int most)
{
    *a = (Arrays){calloc((size_t)most + 1, sizeof *a->view), calloc((size_t)most + 1, sizeof *a->at), 0};
    if (a->view && a->at) return true;
    raise_words(PyExc_MemoryError, "no memory for %d arrays", most);
    return false;
}

static void close_arrays(Arrays *a)
{
    for (int i = 0; i < a->n; i++)
        if (a->at[i]) PyBuffer_Release(&a->view[i]);
    free(a->view);
    free(a->at);
}

static bool hold_array(Arrays *a, const char *function, const Lathe_tensor *t, PyObject *from, bool written)
{
    Py_buffer *v = &a->view[a->n];
    if (!from) {
        a->n++;
        return true;
    }
    if (PyObject_GetBuffer(from, v, PyBUF_STRIDES | PyBUF_FORMAT | (written ? PyBUF_WRITABLE : 0))) return false;
    a->at[a->n++] = v->buf;
    if (!is_format(t->dtype, v)) refuse_type(function, t, v);
    else if (!has_shape(t, v)) refuse_shape(function, t, v);
    else if (!PyBuffer_IsContiguous(v, 'C'))
        raise_words(PyExc_ValueError, "%s: the array %s: expected rows one after another in memory; use numpy.ascontiguousarray(array)",
                    function, t->name);
    else return true;
    return false;
}

static PyObject *refuse_missing(const char *function, const Lathe_tensor *t)
{
    char wanted[128];
    say_dims(wanted, sizeof wanted, t->rank, t->dim);
    return raise_words(PyExc_ValueError, "%s: the array %s is missing; expected %s of the shape (%s)", function, t->name,
                       type_in_python(t->dtype), wanted);
}

typedef bool Is_named(const Lathe_tensor *t);
static bool is_given_input(const Lathe_tensor *t) { return lathe_is_given(t->role); }
static bool is_any_output(const Lathe_tensor *t) { return t->rank >= 0; }

/* What is no array of the entry. */
static bool check_names(const char *function, const Lathe_tensor *table, int n, Is_named *is_named, PyObject *dict)
{
    PyObject *key, *value;
    if (PyDict_Size(dict) < 0) return raise_words(PyExc_TypeError, "%s: expected a dict of arrays by name", function) != NULL;
    for (Py_ssize_t at = 0; PyDict_Next(dict, &at, &key, &value);) {
        const char *name = PyUnicode_AsUTF8AndSize(key, NULL);
        char known[256] = "";
        bool found = false;
        if (!name) return false;
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
static bool hold_arrays(Arrays *a, const char *function, const Lathe_tensor *table, int n, Is_named *is_named, PyObject *dict,
                        bool written)
{
    if (!check_names(function, table, n, is_named, dict)) return false;
    for (int k = 0; k < n; k++)
        if (is_named(&table[k]) && !hold_array(a, function, &table[k], PyDict_GetItemString(dict, table[k].name), written))
            return false;
    return true;
}

/* Of a batch, all of it. */
static bool hold_batch(Arrays *a, const char *function, const Lathe_entry *e, PyObject *dict)
{
    if (!hold_arrays(a, function, e->input, e->inputs, is_given_input, dict, false)) return false;
    for (int k = 0, n = 0; k < e->inputs; k++)
        if (is_given_input(&e->input[k]) && !a->at[n++]) return refuse_missing(function, &e->input[k]) != NULL;
    return true;
}

/* ------------------------------------------------------------------ calls */

/* The entry of an open instance that no other thread uses, for a call; NULL: it raised why not. */
static const Lathe_entry *begin_call_of(Instance *i, Entry entry)
{
    Library *l = i->library;
    if (!l) return raise_words(PyExc_RuntimeError, "the model is closed; open another one"), NULL;
    if (i->process != getpid())
        return raise_words(PyExc_RuntimeError, "the model was opened in another process, which has its threads; open one here"), NULL;
    if (i->calling) return raise_code(l, LIBRARY_BUSY), NULL;
    if (entry == NO_ENTRY) return l->model->entry;
    const Lathe_entry *e = entry_of_library(l, entry);
    if (!e) raise_code(l, LIBRARY_USAGE);
    return e;
}

typedef struct Call_of { /* one, as it runs without the interpreter's lock */
    Library *library;
    void *const *given, *const *wanted;
    void *result;
    int64_t number;
    int seed;
    size_t bytes;
} Call_of;
typedef int Called(Call_of *c);

static int call_unlocked(Instance *i, Called *called, Call_of *c)
{
    c->library = i->library;
    i->calling = true;
    PyThreadState *state = PyEval_SaveThread();
    const int code = called(c);
    PyEval_RestoreThread(state);
    i->calling = false;
    return code;
}

static const void *const *given_in(const Call_of *c) { return (const void *const *)(const void *)c->given; }
static int called_step(Call_of *c) { return step_library(c->library, given_in(c), c->result); }
static int called_evaluate(Call_of *c) { return evaluate_library(c->library, given_in(c), c->result); }
static int called_predict(Call_of *c) { return predict_library(c->library, given_in(c), c->wanted); }
static int called_next(Call_of *c) { return next_library(c->library, (int32_t)c->number, c->result); }
static int called_forward(Call_of *c) { return forward_library(c->library, given_in(c), c->seed, c->wanted, &c->number); }
static int called_backward(Call_of *c) { return backward_library(c->library, c->number, given_in(c), c->seed, c->wanted); }
static int called_load(Call_of *c) { return load_instance(c->library, c->result, c->bytes); }
static int called_save(Call_of *c)
{
    return save_library(c->library, c->result, c->bytes, &c->bytes, c->number != 0);
}

/* Takes the value; false: there is none, or no memory. */
static bool put_in_dict(PyObject *dict, const char *key, PyObject *value)
{
    const bool put = value && PyDict_SetItemString(dict, key, value) == 0;
    if (value) Py_DecRef(value);
    return put;
}

static PyObject *whole_or_none(PyObject *o, bool whole)
{
    if (whole || !o) return o;
    Py_DecRef(o);
    return NULL;
}

static PyObject *step_in_python(PyObject *self, PyObject *batch)
{
    Instance *i = instance_of(self);
    const Lathe_entry *e = begin_call_of(i, ENTRY_train);
    Library_step r;
    Arrays in;
    if (!e || !open_arrays(&in, e->inputs)) return NULL;
    PyObject *dict = NULL;
    if (hold_batch(&in, "step", e, batch)) {
        const int code = call_unlocked(i, called_step, &(Call_of){.given = in.at, .result = &r});
        dict = code ? raise_code(i->library, code) : PyDict_New();
    }
    close_arrays(&in);
    bool whole = dict && put_in_dict(dict, "loss", PyFloat_FromDouble(r.loss)) &&
                 put_in_dict(dict, "grad_norm", PyFloat_FromDouble(r.grad_norm)) &&
                 put_in_dict(dict, "lr", PyFloat_FromDouble(r.lr)) && put_in_dict(dict, "skipped", PyBool_FromLong(r.skipped));
    for (int k = 0; whole && k < i->library->model->losses && k < LATHE_LOSSES; k++)
        whole = put_in_dict(dict, e->output[1 + k].name, PyFloat_FromDouble(r.part[k]));
    return whole_or_none(dict, whole);
}

static PyObject *evaluate_in_python(PyObject *self, PyObject *batch)
{
    Instance *i = instance_of(self);
    const Lathe_entry *e = begin_call_of(i, ENTRY_eval);
    Arrays in;
    if (!e || !open_arrays(&in, e->inputs)) return NULL;
    double *scores = calloc((size_t)e->outputs + 1, sizeof *scores);
    PyObject *dict = NULL;
    if (scores && hold_batch(&in, "evaluate", e, batch)) {
        const int code = call_unlocked(i, called_evaluate, &(Call_of){.given = in.at, .result = scores});
        dict = code ? raise_code(i->library, code) : PyDict_New();
    }
    close_arrays(&in);
    bool whole = dict != NULL;
    for (int k = 0, n = 0; whole && k < e->outputs; k++)
        if (e->output[k].rank == 0) whole = put_in_dict(dict, e->output[k].name, PyFloat_FromDouble(scores[n++]));
    free(scores);
    return whole_or_none(dict, whole);
}

typedef struct Python_call { /* of calling an entry with two dicts of arrays, of which those of the second are written */
    const char *name;
    Entry entry;
    Called *called;
    bool all; /* every input is needed */
} Python_call;

/* Gradients of outputs are no inputs of the first half of a layer. */
static bool is_needed(const Lathe_tensor *t) { return t->role != LATHE_OUTPUT_GRADIENT; }

static bool needs_are_there(const Python_call *w, const Lathe_entry *e, const Arrays *in)
{
    for (int k = 0, n = 0; k < e->inputs; k++) {
        if (!is_given_input(&e->input[k])) continue;
        if (!in->at[n++] && (w->all || is_needed(&e->input[k]))) return refuse_missing(w->name, &e->input[k]) != NULL;
    }
    return true;
}

static bool call_of_two(Instance *i, const Python_call *w, PyObject *batch, PyObject *results, Call_of *c)
{
    const Lathe_entry *e = begin_call_of(i, w->entry);
    Arrays in, out;
    bool done = false;
    if (!e || !open_arrays(&in, e->inputs)) return false;
    if (open_arrays(&out, e->outputs)) {
        if (hold_arrays(&in, w->name, e->input, e->inputs, is_given_input, batch, false) && needs_are_there(w, e, &in) &&
            hold_arrays(&out, w->name, e->output, e->outputs, is_any_output, results, true)) {
            c->given = in.at;
            c->wanted = out.at;
            const int code = call_unlocked(i, w->called, c);
            done = !code || raise_code(i->library, code);
        }
        close_arrays(&out);
    }
    close_arrays(&in);
    return done;
}

/* (batch, outputs) */
static PyObject *predict_in_python(PyObject *self, PyObject *args)
{
    const Python_call way = {"predict", ENTRY_predict, called_predict, true};
    PyObject *batch, *results;
    Call_of c = {0};
    if (!PyArg_ParseTuple(args, "OO", &batch, &results)) return NULL;
    return call_of_two(instance_of(self), &way, batch, results, &c) ? none_of_python() : NULL;
}

/* (batch, outputs, seed): a ticket for backward(). */
static PyObject *forward_in_python(PyObject *self, PyObject *args)
{
    const Python_call way = {"forward", ENTRY_layer, called_forward, false};
    PyObject *batch, *results;
    Call_of c = {0};
    if (!PyArg_ParseTuple(args, "OOi", &batch, &results, &c.seed)) return NULL;
    return call_of_two(instance_of(self), &way, batch, results, &c) ? PyLong_FromLongLong(c.number) : NULL;
}

/* (ticket, batch with d_NAME of outputs, d_NAME of inputs, seed) */
static PyObject *backward_in_python(PyObject *self, PyObject *args)
{
    const Python_call way = {"backward", ENTRY_layer, called_backward, true};
    PyObject *batch, *results;
    long long ticket;
    Call_of c = {0};
    if (!PyArg_ParseTuple(args, "LOOi", &ticket, &batch, &results, &c.seed)) return NULL;
    c.number = ticket;
    return call_of_two(instance_of(self), &way, batch, results, &c) ? none_of_python() : NULL;
}

/* (token, scores): an array that is written, or None. */
static PyObject *next_in_python(PyObject *self, PyObject *args)
{
    Instance *i = instance_of(self);
    PyObject *scores, *none = NULL;
    int token;
    if (!PyArg_ParseTuple(args, "iO", &token, &scores)) return NULL;
    const Lathe_entry *e = begin_call_of(i, ENTRY_decode);
    Arrays out;
    if (!e || !open_arrays(&out, 1)) return NULL;
    Lathe_tensor row = *output_named(e, "logits"); /* [1][1][vocab] there */
    row.rank = 1;
    row.dim[0] = i->library->model->vocab;
    if (hold_array(&out, "next", &row, scores == Py_None ? NULL : scores, true)) {
        const int code = call_unlocked(i, called_next, &(Call_of){.number = token, .result = out.at[0]});
        none = code ? raise_code(i->library, code) : none_of_python();
    }
    close_arrays(&out);
    return none;
}

static PyObject *forget_in_python(PyObject *self, PyObject *unused)
{
    Instance *i = instance_of(self);
    (void)unused;
    if (!begin_call_of(i, NO_ENTRY)) return NULL;
    const int code = forget_library(i->library);
    return code ? raise_code(i->library, code) : none_of_python();
}

/* ------------------------------------------------------------------ saved models */

/* (all): bytes, as library.h says of save_library(). */
static PyObject *save_in_python(PyObject *self, PyObject *args)
{
    Instance *i = instance_of(self);
    Call_of c = {0};
    int all;
    if (!PyArg_ParseTuple(args, "p", &all) || !begin_call_of(i, NO_ENTRY)) return NULL;
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

static PyObject *load_in_python(PyObject *self, PyObject *from)
{
    Instance *i = instance_of(self);
    Py_buffer v;
    if (!begin_call_of(i, NO_ENTRY) || PyObject_GetBuffer(from, &v, PyBUF_SIMPLE)) return NULL;
    const int code = call_unlocked(i, called_load, &(Call_of){.result = v.buf, .bytes = (size_t)v.len});
    PyBuffer_Release(&v);
    return code ? raise_code(i->library, code) : none_of_python();
}

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

static PyObject *tuple_of_numbers(int n, const int64_t *from, int64_t factor)
{
    PyObject *tuple = PyTuple_New(n);
    for (int k = 0; tuple && k < n; k++) PyTuple_SetItem(tuple, k, PyLong_FromLongLong(from[k] * factor));
    return tuple;
}

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

static PyObject *parameters_in_python(PyObject *self, PyObject *unused)
{
    Listing listing = {instance_of(self), NULL};
    (void)unused;
    if (!begin_call_of(listing.instance, NO_ENTRY)) return NULL;
    listing.list = PyList_New(0);
    return whole_or_none(listing.list,
                         listing.list && each_saved(listing.instance->library, false, list_parameter, &listing));
}

static PyObject *steps_in_python(PyObject *self, PyObject *unused)
{
    const Library *l = instance_of(self)->library;
    (void)unused;
    return PyLong_FromLongLong(l ? steps_of_library(l) : -1);
}

/* ------------------------------------------------------------------ beginning and end */

static bool shut_instance(Instance *i)
{
    if (i->calling) return raise_code(i->library, LIBRARY_BUSY) != NULL;
    if (i->library && i->process == getpid()) close_library(i->library);
    i->library = NULL;
    return true;
}

static PyObject *close_in_python(PyObject *self, PyObject *unused)
{
    (void)unused;
    return shut_instance(instance_of(self)) ? none_of_python() : NULL;
}

static void free_instance(PyObject *self)
{
    Instance *i = instance_of(self);
    PyObject *type = (PyObject *)(void *)self->ob_type;
    shut_instance(i);
    free(i->block);
    PyObject_Free(self);
    Py_DecRef(type);
}

/* The whole memory, for views of parameters. */
static int memory_of_instance(PyObject *self, Py_buffer *view, int flags)
{
    Instance *i = instance_of(self);
    return PyBuffer_FillInfo(view, self, i->memory, (Py_ssize_t)i->bytes, 0, flags);
}

static PyMethodDef methods_of_instance[] = {{"step", step_in_python, METH_O, NULL},
                                            {"evaluate", evaluate_in_python, METH_O, NULL},
                                            {"predict", predict_in_python, METH_VARARGS, NULL},
                                            {"forward", forward_in_python, METH_VARARGS, NULL},
                                            {"backward", backward_in_python, METH_VARARGS, NULL},
                                            {"next", next_in_python, METH_VARARGS, NULL},
                                            {"forget", forget_in_python, METH_NOARGS, NULL},
                                            {"save", save_in_python, METH_VARARGS, NULL},
                                            {"load", load_in_python, METH_O, NULL},
                                            {"parameters", parameters_in_python, METH_NOARGS, NULL},
                                            {"steps", steps_in_python, METH_NOARGS, NULL},
                                            {"close", close_in_python, METH_NOARGS, NULL},
                                            {0}};

/* Functions and data have one size here, which C does not say. */
typedef union Slot_pointer {
    void *data;
    void (*deallocate)(PyObject *self);
    int (*buffer)(PyObject *self, Py_buffer *view, int flags);
} Slot_pointer;

static PyTypeObject *type_of_instance;

static bool make_type(void)
{
    const Slot_pointer dealloc = {.deallocate = free_instance}, buffer = {.buffer = memory_of_instance};
    PyType_Slot slots[] = {{Py_tp_dealloc, dealloc.data},
                           {Py_bf_getbuffer, buffer.data},
                           {Py_tp_methods, methods_of_instance},
                           {0, NULL}};
    PyType_Spec spec = {"_model.Instance", sizeof(Instance), 0, Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
    type_of_instance = (PyTypeObject *)(void *)PyType_FromSpec(&spec);
    return type_of_instance != NULL;
}

static bool take_memory(Instance *i, const Library_options *o)
{
    const char *words;
    i->bytes = library_bytes(&lathe_model, o);
    i->block = malloc(i->bytes + 64);
    if (!i->block) return raise_words(PyExc_MemoryError, "the model needs %lld bytes", (long long)i->bytes) != NULL;
    i->memory = (char *)i->block + (64 - (uintptr_t)i->block % 64);
    i->library = open_library(&lathe_model, i->memory, i->bytes, o, &words);
    return i->library || raise_words(PyExc_ValueError, "%s", words) != NULL;
}

/* (threads, seed) */
static PyObject *open_in_python(PyObject *self, PyObject *args)
{
    Library_options o = {0};
    (void)self;
    if (!PyArg_ParseTuple(args, "ii", &o.threads, &o.seed)) return NULL;
    PyObject *made = PyType_GenericAlloc(type_of_instance, 0);
    if (!made) return NULL;
    Instance *i = instance_of(made);
    i->process = getpid();
    return whole_or_none(made, take_memory(i, &o));
}

/* ------------------------------------------------------------------ what the model is */

/* [(name, type, shape, least, below)] */
static PyObject *list_of_tensors(const Lathe_tensor *t, int n, Is_named *is_named)
{
    PyObject *list = PyList_New(0);
    for (const Lathe_tensor *end = t + n; list && t < end; t++) {
        if (!is_named(t)) continue;
        PyObject *row = Py_BuildValue("(ssNLL)", t->name, type_in_python(t->dtype), tuple_of_numbers(t->rank, t->dim, 1),
                                      (long long)t->least, (long long)t->below);
        if (!row || PyList_Append(list, row)) list = whole_or_none(list, false);
        if (row) Py_DecRef(row);
    }
    return list;
}

/* Dropout, say. */
static bool draws_in_training(const Lathe_model *m)
{
    const Lathe_entry *train = find_entry(m, ENTRY_train), *e = train ? train : find_entry(m, ENTRY_layer);
    return e && tensor_with_role(e, LATHE_SEED);
}

static PyObject *describe_in_python(PyObject *self, PyObject *unused)
{
    const Lathe_model *m = &lathe_model;
    PyObject *entries = PyDict_New();
    (void)self, (void)unused;
    for (const Lathe_entry *e = m->entry; entries && e < m->entry + m->entries; e++) {
        PyObject *row = Py_BuildValue("(NN)", list_of_tensors(e->input, e->inputs, is_given_input),
                                      list_of_tensors(e->output, e->outputs, is_any_output));
        if (!put_in_dict(entries, e->name, row)) entries = whole_or_none(entries, false);
    }
    if (!entries) return NULL;
    return Py_BuildValue("{s:s,s:s,s:s,s:L,s:L,s:i,s:N}", "name", m->name, "config", m->config, "precision", m->precision,
                         "parameters", (long long)m->parameter_count, "vocab", (long long)m->vocab, "draws", draws_in_training(m), "entries", entries);
}

static PyMethodDef functions_of_module[] = {{"open", open_in_python, METH_VARARGS, NULL},
                                            {"describe", describe_in_python, METH_NOARGS, NULL},
                                            {0}};
static PyModuleDef module_of_model = {PyModuleDef_HEAD_INIT, "_model", NULL, -1, functions_of_module, NULL, NULL, NULL, NULL};

/* Compiled for any processor, as the rest must not run on one that lacks its instructions. */
#ifdef __x86_64__
#define ANY_PROCESSOR __attribute__((target("arch=x86-64")))
#define HAS_OR_SAYS(word)                                                                                              \
    if (strstr(lathe_needs, " " word) && !__builtin_cpu_supports(word)) return word;
ANY_PROCESSOR static const char *instructions_missing(void)
{
    __builtin_cpu_init();
    HAS_OR_SAYS("avx2")
    HAS_OR_SAYS("fma")
    HAS_OR_SAYS("bmi2")
    HAS_OR_SAYS("avx512f")
    HAS_OR_SAYS("avx512dq")
    HAS_OR_SAYS("avx512bw")
    HAS_OR_SAYS("avx512vl")
    HAS_OR_SAYS("avx512vnni")
    return NULL;
}
#else
#define ANY_PROCESSOR
static const char *instructions_missing(void) { return NULL; }
#endif

PyMODINIT_FUNC PyInit__model(void);
ANY_PROCESSOR PyMODINIT_FUNC PyInit__model(void)
{
    char words[160] = "this model was built for a processor with ";
    const char *missing = instructions_missing();
    if (missing) {
        strcat(words, missing);
        strcat(words, " instructions, which this one lacks; build it for an older one");
        PyErr_SetString(PyExc_ImportError, words);
        return NULL;
    }
    return make_type() ? PyModule_Create(&module_of_model) : NULL;
}
