/* cuda.c: writes the folder of a CUDA program: model.cu (kernels, and entries that launch them in order on one
 * stream), tables.c (what the trainer knows about the model), model.h, model.plan.h, plan.txt, CMakeLists.txt.
 *
 * The same code prints what a kernel computes for C and CUDA (emit/rows.c, emit/values.c, emit/view.c, emit/index.c);
 * loops and threads are the target's (emit/threads.c, emit/index_threads.c). Maps have the same bits as on the CPU
 * (nvcc -fmad=false, runtime/math/math.h on both sides), except for the quick functions of 16-bit runs. Sums have an
 * order of their own, fixed by shapes. No entry waits or allocates, and single numbers are pointers into device
 * memory, so an entry can be captured as a graph. */
#include "emit/emit.h"

static void say_model_cu(Page *page, Text *cu, Text *h)
{
    Text entries = {0}, products = {0}, attentions = {0};
    say_entries(page, &entries);
    say_header(page, h, "");
    say_cuda_products(page, &products);
    say_attentions(page, &attentions);
    say_head(page, cu, "model.cu",
             " *   First the kernels, each with what launches it; then one function per entry, which launches them\n"
             " *   in order.  All pointers are the device's; nothing waits, so that an entry can be captured.");
    if (attentions.n) say(cu, "#include \"cuda/attention_choice.cuh\"\n");
    const Text *kernels = function_text(page);
    bool persists = persistent_loops(page) > 0, keeps = kernels->n && has_word(kernels->at, "keep_row");
    say(cu, "#include \"cuda/gemm.h\"\n#include \"cuda/ids.cuh\"\n%s%s#include \"lathe_cuda.cuh\"\n\n",
        persists ? "#include \"cuda/persistent.cuh\"\n" : "", keeps ? "#include \"cuda/rows.cuh\"\n" : "");
    say_constants(page, cu);
    say_functions(page, cu);
    say_bytes(cu, products.at, products.n);
    say_bytes(cu, attentions.at, attentions.n);
    say_bytes(cu, entries.at, entries.n);
}

static void say_tables_c(Page *page, Text *c)
{
    say_head(page, c, "tables.c", " *   What the trainer knows of the model; its entries are in model.cu.");
    say(c, "#include \"lathe_rt.h\"\n#include \"step/device.h\"\n\n");
    say_runs(page, c);
    say_tables(page, c);
}

void emit_cuda(Page *page, const char *dir)
{
    Text cu = {0}, h = {0}, tables = {0};
    say_model_cu(page, &cu, &h);
    say_tables_c(page, &tables);
    make_folder(dir);
    put_file(dir, "model.cu", cu.at, cu.n);
    put_file(dir, "model.h", h.at, h.n);
    put_file(dir, "tables.c", tables.at, tables.n);
    put_buffer_tables(page, dir);
    put_plan(page, dir);
    write_build_file(dir, true);
    if (page->desc->options->bundle) write_runtime(dir, true);
}
