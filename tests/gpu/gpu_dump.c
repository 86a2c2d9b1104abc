/* gpu_dump.c: a case of tests/gpu.sh: a folder with a model as CUDA, and what its entry train gives on the CPU.
 *   gpu_dump FOLDER MODEL.lua ARGUMENTS…       writes FOLDER/model.cu, tables.c, model.h, plan.txt, entry.dump
 *   gpu_dump --text FOLDER MODEL.lua ARGUMENTS…    all but entry.dump */
#include "dump.h"
#include "emit/emit.h"
#include "harness.h"

#include <stdlib.h>
#include <string.h>

static const char *joined(int n, char **words)
{
    Text t = {0};
    for (int i = 0; i < n; i++) say(&t, "%s%s", i ? " " : "", words[i]);
    return t.at;
}

static void dump_or_die(FILE *to, const char *name, Lathe_dtype type, int64_t elements, const void *at)
{
    if (!dump_array(to, name, type, elements, at)) die("cannot write %s", name);
}

static void write_dump(FILE *to, Live *c, Rng *rng)
{
    int entry = entry_index(c, "train");
    must(entry >= 0);
    const Lathe_entry *e = &c->model->entry[entry];
    fill_params(c, rng);
    fill_inputs(c, entry, rng);
    call_entry(c, entry);
    double loss = loss_of(c, entry);
    dump_or_die(to, "params", c->model->real, c->model->flat_elements, c->params);
    dump_or_die(to, "grads", c->model->real, c->model->flat_elements, c->grads);
    dump_or_die(to, "loss", LATHE_F64, 1, &loss);
    for (int i = 0; i < e->inputs; i++) {
        const Lathe_tensor *x = &e->input[i];
        dump_or_die(to, format("in.%s", x->name), x->dtype, tensor_elements(x), input_at(c, entry, x->name));
    }
}

/* The CPU's side in fp32 (or fp64) whatever the GPU's precision is. */
static void dump_side(const char *folder, const char *arguments)
{
    Rng rng = rng_of(1);
    Live *c = build_model(arguments);
    FILE *to = fopen(format("%s/entry.dump", folder), "wb");
    if (!to) die("cannot write %s/entry.dump", folder);
    write_dump(to, c, &rng);
    if (fclose(to)) die("cannot write %s/entry.dump", folder);
    unload(c);
}

static const char *without_precision(const char *arguments)
{
    const char *at = strstr(arguments, " --precision "), *end = at ? strchr(at + 13, ' ') : NULL;
    if (!at || starts_with(at + 13, "fp64")) return arguments;
    return format("%.*s%s", (int)(at - arguments), arguments, end ? end : "");
}

int main(int argc, char **argv)
{
    gcc_level = NULL; /* as for users */
    bool text = argc > 1 && same(argv[1], "--text");
    argc -= text, argv += text;
    if (argc < 3) {
        fprintf(stderr, "usage: gpu_dump [--text] FOLDER MODEL.lua [ARGUMENTS…]\n");
        return 2;
    }
    const char *folder = argv[1], *arguments = joined(argc - 2, argv + 2);
    must(run_command(NULL, "mkdir -p '%s'", folder) == 0);
    const Module *m = compile_model(format("%s --target cuda", arguments));
    options.poison = false;
    emit_cuda(new_page(m), folder);
    if (!text) dump_side(folder, without_precision(arguments));
    return 0;
}
