/* fuzz_onnx.c: a graph that is handed over for ONNX: names and messages of what is taken lie inside the file. */
#include "fuzz.h"
#include "base/words.h"
#include "model/onnx.h"

#include <stdlib.h>
#include <string.h>

static volatile char sink;

/* The description's hash is in the file itself, or all would be refused. */
static uint64_t hash_in(const char *text, size_t n)
{
    char line[128] = "";
    const char *end = n ? memchr(text, '\n', n) : NULL;
    size_t rest = end ? n - (size_t)(end + 1 - text) : 0;
    unsigned long long hash = 0;
    if (end) memcpy(line, end + 1, rest < sizeof line - 1 ? rest : sizeof line - 1);
    if (sscanf(line, "%*d %*d %*d %llx", &hash) != 1) return 0;
    return hash;
}

void fuzz_one(const char *path, const char *text, size_t n)
{
    Onnx_part p;
    read_onnx_part(&p, path, hash_in(text, n));
    const char *name = p.name, *end = p.all + p.bytes;
    for (int64_t k = 0; k < p.weights; k++, name += strlen(name) + 1) bug_if(name >= end);
    bug_if(name != p.model || p.graph != p.model + p.model_bytes || p.graph + p.graph_bytes != end);
    for (const char *at = p.model; at < end; at++) sink = *at;
    free(p.all);
}
