/* export_onnx.c: `trainer export --to onnx`: a file that others' programs run.
 *
 * The program has no graph any more: `lathe export` hands it over.  Adapters stay apart, as the graph has them. */
#include "base/json_text.h"
#include "base/words.h"
#include "model/block.h"
#include "model/onnx.h"
#include "model/weights.h"
#include "trainer/adapters.h"
#include "trainer/checkpoint.h"
#include "trainer/memory.h"
#include "trainer/trainer.h"

#include <unistd.h>

int export_onnx(Trainer *t)
{
    static const Entry none[] = {NO_ENTRY};
    Memory memory;
    if (!t->graph)
        fail(EXIT_USAGE, NULL,
             "--to onnx needs the model's graph, which a trainer has no more: run `lathe export %s --to onnx --out "
             "FILE.onnx`, with --weights",
             t->model->rebuild ? t->model->rebuild : "MODEL.lua");
    if (access(t->out, F_OK) == 0 && !is_onnx(t->out))
        fail(EXIT_USAGE, t->out, "is there and no ONNX file; choose another name with --out");
    take_memory(&memory, t, false, false, none);
    load_weights(t->model, t->weights, memory.params, memory.statistics, NULL);
    if (t->adapter) take_adapter(t, t->adapter, t->weights, memory.params);
    int64_t n = write_onnx(t->out, t->graph, t->model, memory.params, memory.statistics);
    if (t->json)
        print_json(json_pack("{s:s, s:s, s:I}", "file", utf8_of(t->out), "weights", utf8_of(t->weights), "tensors",
                             (json_int_t)n));
    else show(stdout, "wrote the graph and %lld tensors of %s to %s\n", (long long)n, t->weights, t->out);
    return 0;
}
