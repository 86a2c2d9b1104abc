/* test_persistent.c: loops in one launch: what entries compute, in the simulator, has the same bits for any number of
 * blocks, any order of blocks and threads, and where a launch ends at each meeting, and is what the CPU target's text
 * gives; mistakes put into the loops are seen.  Every loop that can be one launch is one here, whatever it costs. */
#include "harness_cuda.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *line;
    double bound;
} models[] = {
    {"models/char_rnn.lua --config tiny --set hidden=24 --set batch=5 --set accumulate=2", 1e-4},
    {"models/char_rnn.lua --config tiny --set hidden=24 --set batch=5 --no-waits --no-teams --no-beside --no-axes",
     1e-4},
    {"models/char_rnn.lua --config tiny --set hidden=16 --set batch=9 --set layers=2 --precision bf16", 2e-2},
    {"tests/models/library.lua", 1e-4},
    {"tests/models/recurrent.lua", 1e-4},
    {"tests/models/nested.lua --set dropout=0.3 --set reverse=true", 1e-4},
};

static uint64_t test_bits(const Both *b, Live *cpu, const char *line)
{
    static const struct {
        int processors, order;
    } ways[] = {{132, 0}, {132, 1}, {132, 2}, {1, 0}, {2, 2}, {7, 2}};
    uint64_t first = 0;
    for (int i = 0; i < COUNT_OF(ways); i++) {
        const char *said;
        b->device.processors(ways[i].processors);
        b->device.order(ways[i].order, 5);
        uint64_t bits = entry_bits(&b->device, cpu, "train", 3, &said);
        expect(!*said, "%s: %d processors: %s", line, ways[i].processors, said);
        if (i == 0) first = bits;
        expect(bits == first, "%s: %d processors, order %d: other bits", line, ways[i].processors, ways[i].order);
    }
    b->device.processors(132);
    return first;
}

/* Blocks together are refused from the so manieth launch on: from the first, or between an entry's loops. */
static void test_launches(const Both *b, Live *cpu, const char *line, uint64_t bits)
{
    const char *said;
    for (int from = 3; from > 0; from -= 2) {
        setenv("SIM_REFUSES", format("cooperative:%d", from), 1);
        for (int order = 0; order < 3; order++) {
            b->device.order(order, 5);
            uint64_t by_launches = entry_bits(&b->device, cpu, "train", 3, &said);
            expect(by_launches == bits && !*said, "%s: refused from launch %d on, order %d: %s", line, from, order,
                   *said ? said : "other bits");
        }
        unsetenv("SIM_REFUSES");
    }
}

static int count(const char *text, const char *word)
{
    int n = 0;
    for (const char *at = text; (at = strstr(at, word)); at++) n++;
    return n;
}

static void test_model(const char *line, double bound)
{
    Rng rng = rng_of(11);
    Both b = both_sides(compile_model(format("%s --target cuda --all-persist", line)));
    Live *cpu = build_model(line);
    char *text = read_file(format("%s/model.cu", b.folder), NULL);
    expect(text && strstr(text, "\nPERSISTENT void "), "%s: no loop is one launch", line);
    uint64_t bits = test_bits(&b, cpu, line);
    compare_entries(&b.device, cpu, line, 2, bound, bound, &rng);
    test_launches(&b, cpu, line, bits);
    printf("note: %s: %d loops in one launch\n", line, count(text, "\nPERSISTENT void "));
    unload(cpu);
    close_both(&b);
}

/* The loops over layers of the model's text that are one launch: forward in three entries, and backward where there is
 * room. */
static int launches_of(const char *width)
{
    const char *line = "tests/models/blocks.lua --set layers=6 --target cuda --all-persist";
    const char *folder = format("%s/blocks-%s", temp_folder(), width);
    must(run_command(NULL, "mkdir '%s'", folder) == 0);
    emit_cuda(new_page(compile_model(format("%s --set width=%s --set hidden=%s", line, width, width))), folder);
    return count(read_file(format("%s/model.cu", folder), NULL), "\nPERSISTENT void ");
}

/* Backward, warps keep sums of columns for two kernels: 8 x 800 each are 50 KB together, more than a launch may have of
 * shared memory. */
static void test_room(void)
{
    int narrow = launches_of("400"), wide = launches_of("800");
    expect(narrow == 4, "blocks.lua, 400 wide: %d loops are one launch, not 4", narrow);
    expect(wide == 3, "blocks.lua, 800 wide: %d loops are one launch, not 3: has_room() of plan/persist.c", wide);
}

/* ------------------------------------------------------------------ what a launch writes by another name than it is
 * read by */

typedef struct Named { /* of a loop's body: an array of the arena that it only reads, and one that it writes */
    Buffer *reads[99], *writes[99];
    int nreads, nwrites;
} Named;

static bool is_among(Buffer *const *all, int n, const Buffer *b)
{
    bool found = false;
    for (int i = 0; i < n; i++) found |= all[i] == b;
    return found;
}

static void note_named(Operand *o, bool writes, void *named)
{
    Named *x = named;
    Buffer *b = o->view.buffer;
    if (!b || b->home != WORK || b->in_place_of ||
        is_among(writes ? x->writes : x->reads, writes ? x->nwrites : x->nreads, b))
        return;
    if (writes) x->writes[x->nwrites++] = b;
    else x->reads[x->nreads++] = b;
}

static Kernel *first_launch(const Program *p)
{
    for (int i = 0; i < p->kernels.n; i++)
        if (p->kernels.at[i]->kind == REPEAT && p->kernels.at[i]->barrier) return p->kernels.at[i];
    return NULL;
}

static const char *text_of_module(const Module *m, const char *name)
{
    const char *folder = format("%s/%s", temp_folder(), name);
    must(run_command(NULL, "mkdir '%s'", folder) == 0);
    emit_cuda(new_page(m), folder);
    return read_file(format("%s/model.cu", folder), NULL);
}

/* An array that is only read is laid over one that is written: nvcc must not take it for constant (persistent.sh looks
 * at PTX). */
static void test_other_name(void)
{
    const Module *m = compile_model("models/char_rnn.lua --config tiny --target cuda");
    const Kernel *loop = first_launch(m->programs.at[0]);
    Named named = {0};
    must(loop);
    for (int i = 0; i < loop->body.n; i++) each_operand(loop->body.at[i], note_named, &named);
    Buffer *read = NULL;
    for (int i = 0; i < named.nreads && !read; i++)
        if (!is_among(named.writes, named.nwrites, named.reads[i])) read = named.reads[i];
    must(read && named.nwrites);
    expect(!strstr(text_of_module(m, "names"), "CHANGES("), "%s is written by no other name, and is hidden",
           read->name);
    read->offset = named.writes[0]->offset;
    expect(strstr(text_of_module(m, "over"), "    CHANGES(") != NULL,
           "%s lies over %s, which the launch writes, and nvcc may take it for constant", read->name,
           named.writes[0]->name);
}

/* ------------------------------------------------------------------ mistakes put in */

static void test_mistakes(void)
{
    static const struct {
        const char *from, *to, *word; /* NULL: other bits */
        bool refused;                 /* blocks together are */
    } mistakes[] = {
        {"        meet(grid);\n", "        __syncthreads();\n", "another block", false},
        {"    __syncthreads();\n    for", "    for", "before it is written", false},
        {"        __syncthreads();\n", "", "since the last barrier", false},
        {">(slice, from_hidden", ">(slice ^ 1, from_hidden", "another block", false},
        {"_kept = keep<", "_kept = 1 + keep<", NULL, false},
        {"{SEQ, 1}", "{SEQ, 2}", NULL, true},
        {"{SEQ, 1}", "{SEQ - 1, 1}", NULL, true},
        {"        meet(grid);\n", "", NULL, true},
        {"int t = grid.from;", "int t = 0;", NULL, true},
    };
    const char *line = "models/char_rnn.lua --config tiny --set hidden=24 --set batch=5", *said;
    Both b = both_sides(compile_model(format("%s --target cuda", line)));
    Live *cpu = build_model(line);
    uint64_t right = entry_bits(&b.device, cpu, "train", 3, &said);
    expect(!*said, "the text as it is: %s", said);
    for (int i = 0; i < COUNT_OF(mistakes); i++) {
        Device d = device_with(&b, mistakes[i].from, mistakes[i].to);
        if (mistakes[i].refused) setenv("SIM_REFUSES", "cooperative", 1);
        uint64_t bits = entry_bits(&d, cpu, "train", 3, &said);
        bool seen = mistakes[i].word ? strstr(said, mistakes[i].word) != NULL : bits != right;
        expect(seen, "\"%s\" made \"%s\": %s", mistakes[i].from, mistakes[i].to, *said ? said : "nobody sees it");
        unsetenv("SIM_REFUSES");
        dlclose(d.library);
    }
    unload(cpu);
    close_both(&b);
}

int main(void)
{
    test_room();
    test_other_name();
    need_simulator();
    for (int i = 0; i < COUNT_OF(models); i++) test_model(models[i].line, models[i].bound);
    test_mistakes();
    return finish();
}
