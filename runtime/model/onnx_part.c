/* onnx_part.c: reads a graph that `lathe export` hands over (base/protobuf.h says how it is written). */
#include "base/file.h"
#include "base/protobuf.h"
#include "base/words.h"
#include "model/onnx.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

static _Noreturn void refuse_graph(const char *path, const char *why)
{
    fail(EXIT_DATA, path, "%s; run `lathe export MODEL.lua --to onnx` again, which writes this file", why);
}

static void read_all(Onnx_part *p, const char *path)
{
    struct stat about;
    FILE *f = open_stream_to_read(path);
    if (!f) refuse_graph(path, text_of("cannot be read: %s", error_text(errno)));
    if (fstat(fileno(f), &about) != 0 || !S_ISREG(about.st_mode)) refuse_graph(path, "is no regular file");
    p->all = must_alloc((size_t)about.st_size + 1);
    p->bytes = (int64_t)fread(p->all, 1, (size_t)about.st_size, f);
    fclose(f);
}

void read_onnx_part(Onnx_part *p, const char *path, uint64_t description)
{
    unsigned long long hash;
    long long n[3];
    read_all(p, path);
    size_t first = strlen(ONNX_PART);
    bool is = p->bytes > (int64_t)first && memcmp(p->all, ONNX_PART, first) == 0;
    char *end = is ? memchr(p->all + first, '\n', (size_t)p->bytes - first) : NULL;
    if (!end || sscanf(p->all + first, ONNX_PART_NUMBERS, &n[0], &n[1], &n[2], &hash) != 4)
        refuse_graph(path, "is no graph that lathe wrote for ONNX");
    if (hash != description) refuse_graph(path, "is the graph of another description than this trainer's");
    p->weights = n[0], p->model_bytes = n[1], p->graph_bytes = n[2];
    const char *at = p->name = end + 1, *last = p->all + p->bytes;
    int64_t names = 0;
    for (; names < p->weights && at < last; names++) at += strlen(at) + 1;
    bool fits = n[1] >= 0 && n[2] >= 0 && n[1] <= p->bytes && n[2] <= p->bytes;
    if (names != p->weights || !fits || last - at != n[1] + n[2]) refuse_graph(path, "is not complete");
    p->model = at;
    p->graph = at + p->model_bytes;
}
