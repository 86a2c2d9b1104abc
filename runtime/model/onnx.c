/* onnx.c: a file of ONNX: the graph as the compiler wrote it (compiler/onnx), and the weights that it names, as fp32.
 */
#include "model/onnx.h"
#include "base/file.h"
#include "base/protobuf.h"
#include "base/words.h"
#include "model/init.h"
#include "model/place.h"
#include "model/tables.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { LONGEST_WEIGHT = 1024, ROOM = 1024 };
static const int64_t most_bytes = INT32_MAX; /* of a message of protobuf */

/* ------------------------------------------------------------------ weights */

typedef struct Weight { /* a copy of a parameter or of a statistic */
    const char *name;
    const Lathe_param *param;
    int64_t copy;
    bool statistic;
} Weight;

typedef struct Weights {
    Weight *at;
    int64_t n;
} Weights;

static void add_copies(Weights *all, const Lathe_param *p, bool statistic)
{
    for (int64_t c = 0; c < copies_of_parameter(p); c++) {
        char *name = must_alloc(LONGEST_WEIGHT);
        copy_name(name, LONGEST_WEIGHT, p, c);
        all->at[all->n++] = (Weight){name, p, c, statistic};
    }
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const Weight *)a)->name, ((const Weight *)b)->name);
}

/* All that the model has, sorted by name. */
static Weights weights_of(const Lathe_model *m)
{
    Weights all = {0};
    int64_t n = 0;
    for (int i = 0; i < m->params; i++) n += copies_of_parameter(&m->param[i]);
    for (int i = 0; i < m->statistics; i++) n += copies_of_parameter(&m->statistic[i]);
    all.at = must_alloc(sizeof *all.at * (size_t)(n + 1));
    for (int i = 0; i < m->params; i++) add_copies(&all, &m->param[i], false);
    for (int i = 0; i < m->statistics; i++) add_copies(&all, &m->statistic[i], true);
    qsort(all.at, (size_t)n, sizeof *all.at, by_name);
    return all;
}

/* ------------------------------------------------------------------ the file */

typedef struct Onnx_out {
    const Lathe_model *model;
    const void *flat, *statistics;
    const char *path;
    Out *out; /* NULL: bytes are only counted */
    int64_t bytes;
} Onnx_out;

static void put_proto(Onnx_out *o, const void *at, size_t n)
{
    o->bytes += (int64_t)n;
    if (o->out) put_out(o->out, at, n);
}

static void put_proto_number(Onnx_out *o, int field, int64_t v)
{
    char room[PROTO_LONGEST];
    put_proto(o, room, proto_key(room, field, PROTO_VARINT));
    put_proto(o, room, proto_varint(room, (uint64_t)v));
}

/* What comes before n bytes of a field. */
static void put_proto_field(Onnx_out *o, int field, int64_t n)
{
    char room[PROTO_LONGEST];
    put_proto(o, room, proto_key(room, field, PROTO_BYTES));
    put_proto(o, room, proto_varint(room, (uint64_t)n));
}

static void put_head_of_tensor(Onnx_out *o, const Weight *w)
{
    for (int k = w->param->loops; k < w->param->rank; k++) put_proto_number(o, TENSOR_DIMS, w->param->dim[k]);
    put_proto_number(o, TENSOR_TYPE, ONNX_FLOAT);
    put_proto_field(o, TENSOR_NAME, (int64_t)strlen(w->name));
    put_proto(o, w->name, strlen(w->name));
    put_proto_field(o, TENSOR_BYTES, copy_elements(w->param) * (int64_t)sizeof(float));
}

static double weight_element(const Onnx_out *o, const Weight *w, int64_t i)
{
    int64_t place = copy_place(w->param, w->copy, i);
    return w->statistic ? read_element(o->model->real, o->statistics, place) : read_weight(o->model, o->flat, place);
}

static void put_weight_elements(Onnx_out *o, const Weight *w)
{
    float room[ROOM];
    int64_t n = copy_elements(w->param);
    for (int64_t first = 0; first < n && o->out; first += ROOM) {
        int64_t count = n - first < ROOM ? n - first : ROOM;
        for (int64_t i = 0; i < count; i++) room[i] = (float)weight_element(o, w, first + i);
        for (int64_t i = 0; i < count; i++)
            if (!isfinite(room[i]))
                fail(EXIT_DATA, o->path, "%s has weights that are not finite; export an earlier checkpoint", w->name);
        put_proto(o, room, sizeof *room * (size_t)count);
    }
    if (!o->out) o->bytes += n * (int64_t)sizeof *room;
}

static void put_weight(Onnx_out *o, const Weight *w)
{
    Onnx_out counted = {.model = o->model};
    put_head_of_tensor(&counted, w);
    put_weight_elements(&counted, w);
    put_proto_field(o, GRAPH_INITIALIZER, counted.bytes);
    put_head_of_tensor(o, w);
    put_weight_elements(o, w);
}

static void put_weights_of_graph(Onnx_out *o, const Onnx_part *p, const Weights *all)
{
    const char *name = p->name;
    for (int64_t k = 0; k < p->weights; k++, name += strlen(name) + 1) {
        const Weight wanted = {.name = name};
        const Weight *w = bsearch(&wanted, all->at, (size_t)all->n, sizeof wanted, by_name);
        if (!w) fail(EXIT_DATA, o->path, "the graph reads %s, which this trainer's model does not have", name);
        put_weight(o, w);
    }
}

static void put_file(Onnx_out *o, const Onnx_part *p, const Weights *all, int64_t graph_bytes)
{
    put_proto(o, p->model, (size_t)p->model_bytes);
    put_proto_field(o, MODEL_GRAPH, graph_bytes);
    put_proto(o, p->graph, (size_t)p->graph_bytes);
    put_weights_of_graph(o, p, all);
}

bool is_onnx(const char *path)
{
    struct stat about;
    unsigned char first[3] = {0}; /* the version, then the producer's name */
    if (stat(path, &about) != 0 || !S_ISREG(about.st_mode)) return false;
    FILE *f = open_stream_to_read(path);
    bool is = f && fread(first, 1, 3, f) == 3 && first[0] == 0x08 && first[2] == 0x12;
    if (f) fclose(f);
    return is;
}

int64_t write_onnx(const char *path, const char *part, const Lathe_model *m, const void *flat, const void *statistics)
{
    Onnx_part p;
    Fault fault = {0};
    Onnx_out o = {.model = m, .flat = flat, .statistics = statistics, .path = path};
    read_onnx_part(&p, part, strtoull(m->source_hash, NULL, 16));
    const Weights all = weights_of(m);
    put_weights_of_graph(&o, &p, &all);
    int64_t graph_bytes = p.graph_bytes + o.bytes;
    put_file(&o, &p, &all, graph_bytes);
    if (o.bytes - (graph_bytes - p.graph_bytes) > most_bytes)
        fail(EXIT_DATA, path, "would have %s; a file of ONNX holds at most 2 GiB, and Lathe does not divide it",
             bytes_text(graph_bytes));
    char *aside = text_of("%s.part", path);
    begin_unfinished(aside);
    o.out = open_out(aside, &fault);
    put_file(&o, &p, &all, graph_bytes);
    close_out(o.out);
    if (!replace_file(aside, path, &fault))
        fail(EXIT_DATA, path, "%s; %s or choose another place with --out", fault.text, room_remedy(fault.number));
    end_unfinished();
    free(aside);
    free(p.all);
    return p.weights;
}
