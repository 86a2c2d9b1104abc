/* python.c: a library as a module of Python (lathe build --python): one type, Instance, over the functions of
 * library.h. compiler/python/lathe/model.py makes of it what a person calls.
 *
 * Arrays come as buffers, which need no NumPy, and are read where they are.  The interpreter's lock is free while an
 * entry runs.  The memory of an instance lives as long as the object or a view of it. */
#include "library/python.h"
#include "interface/given.h"
#include "library/saved.h"
#include "model/init.h"
#include "model/place.h"
#include "model/tables.h"
#include "step/entry.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef struct Instance {
    PyObject head;
    char *memory; /* library_bytes(), aligned in block */
    void *block;
    size_t bytes;
    Library *library;
    bool calling;  /* read and written under the interpreter's lock */
    pid_t process; /* whose threads it has */
} Instance;

static Instance *instance_of(PyObject *self) { return (Instance *)(void *)self; }

static PyObject *none_of_python(void)
{
    Py_IncRef(Py_None);
    return Py_None;
}

static PyObject *raise_code(const Library *l, int code)
{
    PyObject *type = code == LIBRARY_DATA       ? PyExc_ValueError
                     : code == LIBRARY_DIVERGED ? PyExc_ArithmeticError
                                                : PyExc_RuntimeError;
    return raise_words(type, "%s", library_words(l, code));
}

/* ------------------------------------------------------------------ calls */

/* The entry of an open instance that no other thread uses, for a call; NULL: it raised why not. */
static const Lathe_entry *begin_call_of(Instance *i, Entry entry)
{
    Library *l = i->library;
    if (!l) return raise_words(PyExc_RuntimeError, "the model is closed; open another one"), NULL;
    if (i->process != getpid())
        return raise_words(PyExc_RuntimeError,
                           "the model was opened in another process, which has its threads; open one here"),
               NULL;
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
    if (!c->library || i->calling) return LIBRARY_BUSY; /* code of the caller's ran since begin_call_of() */
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
static int called_forward(Call_of *c)
{
    return forward_library(c->library, given_in(c), c->seed, c->wanted, &c->number);
}
static int called_backward(Call_of *c)
{
    return backward_library(c->library, c->number, given_in(c), c->seed, c->wanted);
}
static int called_load(Call_of *c) { return load_instance(c->library, c->result, c->bytes); }
static int called_save(Call_of *c) { return save_library(c->library, c->result, c->bytes, &c->bytes, c->number != 0); }

/* Takes the value; false: there is none, or no memory. */
bool put_in_dict(PyObject *dict, const char *key, PyObject *value)
{
    const bool put = value && PyDict_SetItemString(dict, key, value) == 0;
    if (value) Py_DecRef(value);
    return put;
}

static PyObject *step_in_python(PyObject *self, PyObject *batch)
{
    Instance *i = instance_of(self);
    const Lathe_entry *e = begin_call_of(i, ENTRY_train);
    Library_step r;
    Arrays in;
    if (!e || !begin_arrays(&in, e->inputs)) return NULL;
    PyObject *dict = NULL;
    if (hold_batch(&in, "step", e, batch)) {
        const int code = call_unlocked(i, called_step, &(Call_of){.given = in.at, .result = &r});
        dict = code ? raise_code(i->library, code) : PyDict_New();
    }
    end_arrays(&in);
    bool whole = dict && put_in_dict(dict, "loss", PyFloat_FromDouble(r.loss)) &&
                 put_in_dict(dict, "grad_norm", PyFloat_FromDouble(r.grad_norm)) &&
                 put_in_dict(dict, "lr", PyFloat_FromDouble(r.lr)) &&
                 put_in_dict(dict, "skipped", PyBool_FromLong(r.skipped));
    for (int k = 0; whole && k < i->library->model->losses && k < LATHE_LOSSES; k++)
        whole = put_in_dict(dict, e->output[1 + k].name, PyFloat_FromDouble(r.part[k]));
    return whole_or_none(dict, whole);
}

static PyObject *evaluate_in_python(PyObject *self, PyObject *batch)
{
    Instance *i = instance_of(self);
    const Lathe_entry *e = begin_call_of(i, ENTRY_eval);
    Arrays in;
    if (!e || !begin_arrays(&in, e->inputs)) return NULL;
    double *scores = calloc((size_t)e->outputs + 1, sizeof *scores);
    PyObject *dict = scores ? NULL : raise_words(PyExc_MemoryError, "no memory for %d numbers", e->outputs);
    if (scores && hold_batch(&in, "evaluate", e, batch)) {
        const int code = call_unlocked(i, called_evaluate, &(Call_of){.given = in.at, .result = scores});
        dict = code ? raise_code(i->library, code) : PyDict_New();
    }
    end_arrays(&in);
    bool whole = dict != NULL;
    for (int k = 0, n = 0; whole && k < e->outputs; k++)
        if (e->output[k].rank == 0) whole = put_in_dict(dict, e->output[k].name, PyFloat_FromDouble(scores[n++]));
    free(scores);
    return whole_or_none(dict, whole);
}

typedef struct Python_call { /* of calling an entry with two dicts of arrays, of which those of the second are written
                              */
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
        if (!in->at[n++] && (w->all || is_needed(&e->input[k]))) return refuse_absent(w->name, &e->input[k]) != NULL;
    }
    return true;
}

static bool call_of_two(Instance *i, const Python_call *w, PyObject *batch, PyObject *results, Call_of *c)
{
    const Lathe_entry *e = begin_call_of(i, w->entry);
    Arrays in, out;
    bool done = false;
    if (!e || !begin_arrays(&in, e->inputs)) return false;
    if (begin_arrays(&out, e->outputs)) {
        if (hold_arrays(&in, w->name, e->input, e->inputs, is_given_input, batch, false) &&
            needs_are_there(w, e, &in) &&
            hold_arrays(&out, w->name, e->output, e->outputs, is_any_output, results, true)) {
            c->given = in.at;
            c->wanted = out.at;
            const int code = call_unlocked(i, w->called, c);
            done = !code || raise_code(i->library, code);
        }
        end_arrays(&out);
    }
    end_arrays(&in);
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

/* As NAME.h has the function next: a text's next token depends on that text alone, in one row. */
static bool is_text_alone(const Lathe_model *m, const Lathe_entry *e)
{
    return m->vocab && m->recipe.rows == 1 && !find_entry(m, ENTRY_encode) && output_named(e, "logits");
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
    if (e && !is_text_alone(i->library->model, e))
        return raise_words(PyExc_RuntimeError,
                           "next: texts of this model need more than their tokens: a source, or rows");
    if (!e || !begin_arrays(&out, 1)) return NULL;
    Lathe_tensor row = *output_named(e, "logits"); /* [1][1][vocab] there */
    row.rank = 1;
    row.dim[0] = i->library->model->vocab;
    if (hold_array(&out, "next", &row, scores == Py_None ? NULL : scores, true)) {
        const int code = call_unlocked(i, called_next, &(Call_of){.number = token, .result = out.at[0]});
        none = code ? raise_code(i->library, code) : none_of_python();
    }
    end_arrays(&out);
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

bool make_type(void)
{
    const Slot_pointer dealloc = {.deallocate = free_instance}, buffer = {.buffer = memory_of_instance};
    PyType_Slot slots[] = {
        {Py_tp_dealloc, dealloc.data}, {Py_bf_getbuffer, buffer.data}, {Py_tp_methods, methods_of_instance}, {0, NULL}};
    PyType_Spec spec = {"_model.Instance", sizeof(Instance), 0, Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
    type_of_instance = (PyTypeObject *)(void *)PyType_FromSpec(&spec);
    return type_of_instance != NULL;
}

static bool open_in_memory(Instance *i, const Library_options *o)
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
PyObject *open_in_python(PyObject *self, PyObject *args)
{
    Library_options o = {0};
    (void)self;
    if (!PyArg_ParseTuple(args, "ii", &o.threads, &o.seed)) return NULL;
    PyObject *made = PyType_GenericAlloc(type_of_instance, 0);
    if (!made) return NULL;
    Instance *i = instance_of(made);
    i->process = getpid();
    return whole_or_none(made, open_in_memory(i, &o));
}
