/* harness_recording.c: reads the safetensors files of tests/reference, and compares a program with one. */
#include "harness.h"

#include <jansson.h>
#include <string.h>

Recording open_recording(const char *path)
{
    size_t bytes;
    const char *file = read_file(path, &bytes);
    must(file && bytes > 8);
    uint64_t length;
    memcpy(&length, file, 8);
    Recording r = {.header = json_loadb(file + 8, length, 0, NULL), .data = file + 8 + length};
    must(r.header);
    return r;
}

bool has_recorded(const Recording *r, const char *name) { return json_object_get(r->header, name) != NULL; }

static DType dtype_said(const char *word)
{
    static const struct {
        const char *word;
        DType dtype;
    } all[] = {{"F64", F64}, {"F32", F32}, {"I32", I32}, {"U8", BOOL}};
    for (int i = 0; i < COUNT_OF(all); i++)
        if (same(word, all[i].word)) return all[i].dtype;
    die("a tensor of type %s", word);
}

Recorded recorded(const Recording *r, const char *name)
{
    json_t *entry = json_object_get(r->header, name);
    if (!entry) die("nothing recorded as %s", name);
    json_t *shape = json_object_get(entry, "shape");
    Recorded v = {.dtype = dtype_said(json_string_value(json_object_get(entry, "dtype")))};
    for (size_t k = 0; k < json_array_size(shape); k++)
        v.shape.dim[v.shape.rank++] = json_integer_value(json_array_get(shape, k));
    v.n = elements(v.shape);
    v.at = NEW_ARRAY(double, v.n);
    const char *at = r->data + json_integer_value(json_array_get(json_object_get(entry, "data_offsets"), 0));
    for (int64_t i = 0; i < v.n; i++) v.at[i] = get_element((Lathe_dtype)v.dtype, at, i);
    return v;
}

const char *said(const Recording *r, const char *key)
{
    return json_string_value(json_object_get(json_object_get(r->header, "__metadata__"), key));
}

static void compare_recorded(const char *what, const double *got, const Recorded *expected, double bound)
{
    double norm = norm_of(expected->at, expected->n), error = norm_of_difference(got, expected->at, expected->n);
    expect(error <= bound * (norm > 0 ? norm : 1), "%s is off by %.3g (norm %.3g)", what, error, norm);
}

static void take_recorded_weights(Live *l, const Recording *file)
{
    for (int k = 0; k < l->model->params; k++)
        write_param(l, &l->model->param[k], recorded(file, format("weight.%s", l->model->param[k].name)).at);
}

int check_recorded(const char *description, const char *recording, const char *precision, double bound)
{
    Recording file = open_recording(recording);
    Live *l = build_model(format("%s --precision %s", description, precision));
    int grad = entry_index(l, "grad"), seen = 0;
    const Lathe_entry *e = &l->model->entry[grad];
    take_recorded_weights(l, &file);
    call_entry(l, grad);
    for (int k = 0; k < e->outputs; k++) {
        if (same(e->output[k].name, "loss")) continue;
        Recorded y = recorded(&file, format("y.%s", e->output[k].name));
        must(tensor_elements(&e->output[k]) == y.n);
        compare_recorded(format("%s %s", precision, e->output[k].name), read_output(l, grad, e->output[k].name), &y,
                         bound);
        seen++;
    }
    for (int k = 0; k < l->model->params; k++) {
        const Lathe_param *p = &l->model->param[k];
        Recorded g = recorded(&file, format("grad.%s", p->name));
        compare_recorded(format("%s gradient of %s", precision, p->name), read_param(l, l->grads, p), &g, bound);
    }
    unload(l);
    return seen;
}
