/* harness_recording.c: reads the safetensors files of tests/reference. */
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
