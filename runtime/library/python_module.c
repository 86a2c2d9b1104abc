/* python_module.c: the module _model: what the model is, and whether this processor can run it. */
#include "interface/needs.h"
#include "library/python.h"
#include "model/tables.h"

#include <string.h>

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
    return Py_BuildValue("{s:s,s:s,s:s,s:L,s:L,s:i,s:N}", "name", m->name, "config", m->config, "precision",
                         m->precision, "parameters", (long long)m->parameter_count, "vocab", (long long)m->vocab,
                         "draws", draws_in_training(m), "entries", entries);
}

static PyMethodDef functions_of_module[] = {
    {"open", open_in_python, METH_VARARGS, NULL}, {"describe", describe_in_python, METH_NOARGS, NULL}, {0}};
static PyModuleDef module_of_model = {
    PyModuleDef_HEAD_INIT, "_model", NULL, -1, functions_of_module, NULL, NULL, NULL, NULL};

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
