/* python.c: a library as a module of Python (lathe build --python): one type, Instance, over the functions of
 * library.h. compiler/python/lathe/model.py makes of it what a person calls.
 *
 * Arrays come as buffers, which need no NumPy, and are read where they are.  The interpreter's lock is free while an
 * entry runs.  The memory of an instance lives as long as the object or a view of it. */
#include "library/python.h"
#include "interface/given.h"
#include "model/tables.h"
#include "step/entry.h"

#include <stdio.h>
#include <string.h>

PyObject *none_of_python(void)
{
    Py_IncRef(Py_None);
    return Py_None;
}

PyObject *raise_code(const Library *l, int code)
{
    PyObject *type = code == LIBRARY_DATA       ? PyExc_ValueError
                     : code == LIBRARY_DIVERGED ? PyExc_ArithmeticError
                     : code == LIBRARY_FILE     ? PyExc_OSError
                     : code == LIBRARY_NO_FILE  ? PyExc_FileNotFoundError
                                                : PyExc_RuntimeError;
    return raise_words(type, "%s", library_words(l, code));
}

/* ------------------------------------------------------------------ calls */

static void refuse_entry(const char *function, Entry entry)
{
    const char *const model = lathe_model.name;
    switch (entry) {
    case ENTRY_train:
    case ENTRY_eval:
        raise_words(PyExc_RuntimeError, "%s: %s was built without training and evaluation, for inference or as a layer",
                    function, model);
        return;
    case ENTRY_predict:
        raise_words(PyExc_RuntimeError,
                    "%s: %s has no outputs of rows: its description returns none beside the loss, or is of "
                    "texts, which next() and generate() write",
                    function, model);
        return;
    case ENTRY_decode:
        raise_words(PyExc_RuntimeError, "%s writes no texts: its description has no logits of a next token", model);
        return;
    default: raise_words(PyExc_RuntimeError, "%s: %s was not built as a layer (--layer)", function, model);
    }
}

bool begin_call_of(Instance *i)
{
    Library *l = i->library;
    if (!l) return raise_words(PyExc_RuntimeError, "the model is closed; open another one") != NULL;
    if (i->process != getpid() && (i->threads > 1 || i->calling))
        return raise_words(
                   PyExc_RuntimeError,
                   "the model was opened in another process, which has its threads, or a call that was running; "
                   "open one here (without such a call, one of threads=1 runs in both)") != NULL;
    i->process = getpid();
    return !i->calling || raise_code(l, LIBRARY_BUSY) != NULL;
}

/* The entry of an instance for a call; NULL: it raised why not. */
static const Lathe_entry *begin_entry_of(Instance *i, const char *function, Entry entry)
{
    if (!begin_call_of(i)) return NULL;
    if (!find_entry(i->library->model, entry)) return refuse_entry(function, entry), NULL;
    const Lathe_entry *e = entry_of_library(i->library, entry);
    if (!e) raise_code(i->library, LIBRARY_USAGE);
    return e;
}

int call_unlocked(Instance *i, Called *called, Call_of *c)
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
static int called_draw(Call_of *c) { return draw_library(c->library, c->result, c->at, &c->token); }

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
    const Lathe_entry *e = begin_entry_of(i, "step", ENTRY_train);
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
    const Lathe_entry *e = begin_entry_of(i, "evaluate", ENTRY_eval);
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
    const Lathe_entry *e = begin_entry_of(i, w->name, w->entry);
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

/* The entry that a text's tokens come from. */
static const Lathe_entry *begin_text_of(Instance *i, const char *function)
{
    const Lathe_entry *e = begin_entry_of(i, function, ENTRY_decode);
    if (!e || is_text_alone(i->library->model, e)) return e;
    raise_words(PyExc_RuntimeError, "%s: texts of this model need more than their tokens: a source, or rows", function);
    return NULL;
}

/* Scores: [1][1][vocab] there, [vocab] here.  from NULL: none. */
static bool hold_scores(Arrays *a, const Instance *i, const char *function, const Lathe_entry *e, PyObject *from,
                        bool written)
{
    Lathe_tensor row = *output_named(e, "logits");
    row.name = "scores";
    row.rank = 1;
    row.dim[0] = i->library->model->vocab;
    return hold_array(a, function, &row, from, written);
}

/* (token, scores): an array that is written, or None. */
static PyObject *next_in_python(PyObject *self, PyObject *args)
{
    Instance *i = instance_of(self);
    PyObject *scores, *none = NULL;
    int token;
    if (!PyArg_ParseTuple(args, "iO", &token, &scores)) return NULL;
    const Lathe_entry *e = begin_text_of(i, "next");
    Arrays out;
    if (!e || !begin_arrays(&out, 1)) return NULL;
    if (hold_scores(&out, i, "next", e, scores == Py_None ? NULL : scores, true)) {
        const int code = call_unlocked(i, called_next, &(Call_of){.number = token, .result = out.at[0]});
        none = code ? raise_code(i->library, code) : none_of_python();
    }
    end_arrays(&out);
    return none;
}

/* (scores, temperature, top_k, top_p, min_p, repetition_penalty, seed, below): a token; below 0: any. */
static PyObject *draw_in_python(PyObject *self, PyObject *args)
{
    Instance *i = instance_of(self);
    PyObject *scores, *token = NULL;
    Library_sampling how = {0};
    long long top_k, below;
    if (!PyArg_ParseTuple(args, "OdLdddiL", &scores, &how.temperature, &top_k, &how.top_p, &how.min_p,
                          &how.repetition_penalty, &how.seed, &below))
        return NULL;
    how.top_k = top_k, how.tokens = below;
    const Lathe_entry *e = begin_text_of(i, "draw");
    Arrays in;
    if (!e || !begin_arrays(&in, 1)) return NULL;
    if (hold_scores(&in, i, "draw", e, scores, false)) {
        Call_of c = {.at = in.at[0], .result = &how};
        const int code = call_unlocked(i, called_draw, &c);
        token = code == LIBRARY_USAGE ? raise_words(PyExc_ValueError, "%s", library_words(i->library, code))
                : code                ? raise_code(i->library, code)
                                      : PyLong_FromLongLong(c.token);
    }
    end_arrays(&in);
    return token;
}

static PyObject *forget_in_python(PyObject *self, PyObject *unused)
{
    Instance *i = instance_of(self);
    (void)unused;
    if (!begin_text_of(i, "forget")) return NULL;
    const int code = forget_library(i->library);
    return code ? raise_code(i->library, code) : none_of_python();
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
    if (i->library && (i->process == getpid() || i->threads < 2)) close_library(i->library);
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
                                            {"draw", draw_in_python, METH_VARARGS, NULL},
                                            {"forget", forget_in_python, METH_NOARGS, NULL},
                                            {"save", save_in_python, METH_VARARGS, NULL},
                                            {"load", load_in_python, METH_O, NULL},
                                            {"save_file", save_file_in_python, METH_VARARGS, NULL},
                                            {"load_file", load_file_in_python, METH_VARARGS, NULL},
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
    i->threads = o.threads;
    return whole_or_none(made, open_in_memory(i, &o));
}
