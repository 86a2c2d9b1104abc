/* python_module.c: the module _model: what the model is, and whether this processor can run it. */
#include "math/lacks.h"
#include "library/python.h"
#include "model/tables.h"

#include <string.h>

/* Dropout, say. */
static bool draws_in_training(const Lathe_model *m)
{
    const Lathe_entry *train = find_entry(m, ENTRY_train), *e = train ? train : find_entry(m, ENTRY_layer);
    return e && tensor_with_role(e, LATHE_SEED);
}

/* The description's, for a text. */
static PyObject *describe_sampling(const Lathe_recipe *r)
{
    return Py_BuildValue("{s:d,s:L,s:d,s:d,s:d}", "temperature", r->temperature, "top_k", (long long)r->top_k, "top_p",
                         r->top_p, "min_p", r->min_p, "repetition_penalty", r->repetition_penalty);
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
    return Py_BuildValue("{s:s,s:s,s:s,s:L,s:L,s:i,s:N,s:N}", "name", m->name, "config", m->config, "precision",
                         m->precision, "parameters", (long long)m->parameter_count, "vocab", (long long)m->vocab,
                         "draws", draws_in_training(m), "sampling", describe_sampling(&m->recipe), "entries", entries);
}

static PyMethodDef functions_of_module[] = {
    {"open", open_in_python, METH_VARARGS, NULL}, {"describe", describe_in_python, METH_NOARGS, NULL}, {0}};
static PyModuleDef module_of_model = {
    PyModuleDef_HEAD_INIT, "_model", NULL, -1, functions_of_module, NULL, NULL, NULL, NULL};

/* Compiled for any processor, as the rest must not run on one that lacks its instructions. */
PyMODINIT_FUNC PyInit__model(void);
ANY_PROCESSOR PyMODINIT_FUNC PyInit__model(void)
{
    char words[PROCESSOR_WORDS];
    const char *missing = refusal_of_processor(words, sizeof words);
    if (missing) {
        PyErr_SetString(PyExc_ImportError, missing);
        return NULL;
    }
    return make_type() ? PyModule_Create(&module_of_model) : NULL;
}
