/* test_emitted_mutants.c: mistakes put into emitted CUDA, and into the header that it includes, are each seen by the
 * simulator or by comparing entries with those of the CPU target's text.  With a number as argument: of that model
 * alone; with two more, its mistakes of these numbers, from and to.
 *
 * Those of a model are all in one module, so that it is compiled once: wherever one can be made the text asks whether
 * it is its turn (`mutant == 7`).  Of each kind a few places are tried, all of them in the long run.  What one draw of
 * inputs does not show is tried with others; what changes no result is in a list, and left out. */
#include "harness_cuda.h"

#include <ctype.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum Where_made {
    IN_KERNELS = 1,
    IN_ENTRIES = 2,
    IN_HEADER = 4,
    IN_LOOPS = 8,  /* that are one launch, and the kernels that are their steps */
    IN_TABLES = 16 /* of products: a statement for each, with its name */
} Where_made;

typedef struct Kind {
    const char *name;
    Where_made in;
    const char *from, *to; /* "[*]": a name in brackets, which is said where `to` has %s; %d is the mutant's number */
    const char *seen[4];   /* one of these words is in what is said; NULL: any word */
    bool whole;            /* only where a statement begins */
    int made;
    bool ever; /* in any model */
} Kind;

static Kind kinds[] = {
    {.name = "a barrier is missing",
     .in = IN_KERNELS | IN_LOOPS | IN_HEADER,
     .from = "__syncthreads();",
     .to = "if (mutant != %d) __syncthreads();",
     .seen = {"race", "before it is written"}},
    {.name = "a mask leaves out a lane",
     .in = IN_HEADER,
     .from = "(ALL_LANES,",
     .to = "(mutant == %d ? 0x7fffffffu : ALL_LANES,",
     .seen = {"mask"}},
    {.name = "an index is one too large",
     .in = IN_KERNELS | IN_LOOPS,
     .from = "[*]",
     .to = "[%s + (mutant == %d)]",
     .seen = {"out of bounds", "differ", "race", "before it is written"}},
    {.name = "all blocks do the work of one, or none that of one",
     .in = IN_KERNELS,
     .from = "blockIdx.x",
     .to = "(mutant == %d ? gridDim.x == 1 : blockIdx.x)",
     .seen = {"race", "differ", "out of bounds"}},
    {.name = "a loop's place is one too far", .in = IN_ENTRIES, .from = "[l]", .to = "[l + (mutant == %d)]"},
    {.name = "a loop writes where it reads", .in = IN_ENTRIES, .from = "[l + 1]", .to = "[l + (mutant != %d)]"},
    {.name = "a launch is dropped",
     .in = IN_ENTRIES,
     .from = "launch_",
     .to = "mutant == %d ? (void)0 : launch_",
     .seen = {"differ"},
     .whole = true},
    {.name = "a product is dropped",
     .in = IN_ENTRIES,
     .from = "cuda_gemm(",
     .to = "mutant == %d ? (void)0 : cuda_gemm(",
     .seen = {"differ"},
     .whole = true},
    {.name = "a product is added to what was there",
     .in = IN_ENTRIES,
     .from = ", false, stream",
     .to = ", mutant == %d, stream",
     .seen = {"differ"}},
    {.name = "a product forgets what was there",
     .in = IN_ENTRIES,
     .from = " > 0, stream",
     .to = " > (mutant == %d ? 99 : 0), stream",
     .seen = {"differ"}},
    {.name = "blocks do not meet",
     .in = IN_LOOPS,
     .from = "meet(grid);",
     .to = "if (mutant != %d) meet(grid);",
     .seen = {"race", "before it is written", "differ"}},
    {.name = "the last part of a step is left out",
     .in = IN_LOOPS,
     .from = "EACH_BLOCK(slice, ",
     .to = "EACH_BLOCK(slice, -(mutant == %d) + ",
     .seen = {"race", "differ", "before it is written"}},
    {.name = "a block takes another one's part",
     .in = IN_LOOPS,
     .from = "(slice, ",
     .to = "(slice ^ (mutant == %d), ",
     .seen = {"race", "differ", "out of bounds", "before it is written"}},
    {.name = "all columns of a thread are added to its first",
     .in = IN_KERNELS,
     .from = "[c - c4]",
     .to = "[mutant == %d ? 0 : c - c4]",
     .seen = {"differ"}},
    {.name = "the sums of a warp are left out",
     .in = IN_KERNELS,
     .from = "int i = 1; i < WARPS;",
     .to = "int i = 1 + (mutant == %d); i < WARPS;",
     .seen = {"differ"}},
    {.name = "nothing follows a product",
     .in = IN_TABLES,
     .from = "GEMM_END_",
     .to = "    if (number == %d) %s.end = GEMM_END_NONE;\n",
     .seen = {"differ", "before it is written"}},
    {.name = "a product's rows are one shorter",
     .in = IN_TABLES,
     .from = ".c_m = ",
     .to = "    if (number == %d) %s.shape.c_m--;\n",
     .seen = {"differ", "dimension", "lie over each other", "race"}},
};

typedef struct Mutant {
    Kind *kind;
    const char *before, *line; /* lines of the text: the one before, and where it is made, at an @ */
} Mutant;
static VEC(Mutant) mutants; /* from number 1 on */

static void add_mutant(Kind *k, const char *before, const char *line, const char *at)
{
    int from = (int)(at - line), rest = (int)strcspn(at, "\n");
    push(&mutants,
         ((Mutant){k, format("%.*s", (int)strcspn(before, "\n"), before), format("%.*s@%.*s", from, line, rest, at)}));
    k->made++;
}

/* Loops over layers, attention, micro-batches, noise at some tokens and not at others; sums of columns in registers;
 * ends of products, and rows that are wider in memory; loops in one launch, and gates that are made where they are
 * sliced. */
enum { DIFFUSION, GPT, CHAR_RNN };
static const char *const models[] = {
    "models/diffusion.lua --set layers=2 --set width=24 --set heads=2 --set cond=6 --set seq=5 --set batch=3"
    " --set vocab=1100 --set accumulate=2 --set chain=3 --set least=0.3 --set most=3",
    "models/gpt.lua --set layers=1 --set width=520 --set heads=2 --set seq=3 --set batch=2 --set vocab=1031"
    " --set gelu=tanh",
    "models/char_rnn.lua --config tiny --set hidden=24 --set batch=5",
};

/* Mistakes that change no result, with why. */
typedef struct Harmless {
    int model;
    const char *kind, *before, *line; /* are in those of the mistake */
    const char *why;
} Harmless;

static const Harmless harmless[] = {
    {GPT, "an index is one too large", "", "largest = max_f32(largest, head_logits@[r]",
     "softmax may subtract what another row has as its largest, where that is near"},
    {GPT, "a loop's place is one too far", "", "gradients_done(&d->h@[l]",
     "one GPU does not listen; nccl.sh has several"},
    {GPT, "a loop's place is one too far", "", "sizeof d->h@[l]", "the same size"},
    {GPT, "a loop's place is one too far", "", "parameters_needed(&p->h@[l]",
     "one GPU does not listen; nccl.sh has several"},
    {GPT, "a loop's place is one too far", "", "sizeof p->h@[l]", "the same size"},
};
static int met[COUNT_OF(harmless)]; /* how many there are of each */

static bool is_harmless(int model, const Mutant *m)
{
    for (int i = 0; i < COUNT_OF(harmless); i++) {
        const Harmless *h = &harmless[i];
        if (h->model != model || !same(h->kind, m->kind->name)) continue;
        if (!strstr(m->before, h->before) || !strstr(m->line, h->line)) continue;
        met[i]++;
        return true;
    }
    return false;
}

/* ------------------------------------------------------------------ the text with all of them */

static size_t name_in_brackets(const char *at)
{
    size_t n = 1;
    if (*at != '[' || !islower((unsigned char)at[1])) return 0;
    while (islower((unsigned char)at[n]) || isdigit((unsigned char)at[n]) || at[n] == '_') n++;
    return at[n] == ']' ? n + 1 : 0;
}

/* How much of the text is what the kind changes. */
static size_t meets(const Kind *k, const char *line, const char *at)
{
    if (k->whole && (size_t)(at - line) != strspn(line, " ")) return 0;
    if (same(k->from, "[*]")) return name_in_brackets(at);
    return starts_with(at, k->from) ? strlen(k->from) : 0;
}

static void say_mutant(Text *t, const Kind *k, const char *at, size_t n)
{
    char *name = format("%.*s", (int)n - 2, at + 1), *to = copy_string(k->to);
    char *place = strstr(to, "%s"), *number = strstr(to, "%d");
    must(number);
    if (place) say(t, "%.*s%s%.*s", (int)(place - to), to, name, (int)(number - place - 2), place + 2);
    else say_bytes(t, to, (size_t)(number - to));
    say(t, "%d%s", mutants.n, number + 2);
}

/* The name of a product whose table begins here: "static Cuda_gemm NAME = {…}}; ". */
static const char *name_of_table(const char *line)
{
    static const char begin[] = "static Cuda_gemm ";
    line += sizeof begin - 1;
    return format("%.*s", (int)strcspn(line, " ="), line);
}

/* Of one row it does not matter how far apart they are. */
static bool of_one_row(const char *table, const char *end)
{
    const char *rows = strstr(table, ".M = 1,");
    return rows && rows < end;
}

/* Statements for the mistakes of a product's table. */
static void say_table(Text *t, const char *table)
{
    const char *name = name_of_table(table), *end = strstr(table, "};");
    must(end);
    for (int i = 0; i < COUNT_OF(kinds); i++) {
        Kind *k = &kinds[i];
        const char *at = k->in & IN_TABLES ? strstr(table, k->from) : NULL;
        if (!at || at > end || starts_with(at, "GEMM_END_NONE") || starts_with(at, ".c_m = 0,")) continue;
        if (starts_with(k->from, ".c_m") && of_one_row(table, end)) continue;
        add_mutant(k, "", name, name);
        const char *number = strstr(k->to, "%d"), *place = strstr(k->to, "%s");
        must(number && place && number < place);
        say(t, "%.*s%d%.*s%s%s", (int)(number - k->to), k->to, mutants.n, (int)(place - number - 2), number + 2, name,
            place + 2);
    }
}

/* The line with all that can be made in it. */
static void say_line(Text *t, const char *before, const char *line, Where_made in)
{
    for (const char *at = line; *at && *at != '\n';) {
        size_t n = 0;
        for (int i = 0; i < COUNT_OF(kinds) && !n; i++) {
            if (!(kinds[i].in & in) || !(n = meets(&kinds[i], line, at))) continue;
            add_mutant(&kinds[i], before, line, at);
            say_mutant(t, &kinds[i], at, n);
        }
        if (!n) say_bytes(t, at, n = 1);
        at += n;
    }
    say(t, "\n");
}

/* Statements are the lines that begin with blanks, between the braces of a function; those for tables of products are
 * put into another text. */
static char *mutated(const char *text, Where_made in_all, Text *tables)
{
    Text t = {0};
    Where_made in = 0;
    bool body = false;
    const char *before = "";
    for (const char *line = text; *line; before = line, line += strcspn(line, "\n") + 1) {
        if (starts_with(line, "static Cuda_gemm ") && tables) say_table(tables, line);
        if (starts_with(line, "KERNEL ")) in = IN_KERNELS;
        else if (starts_with(line, "PERSISTENT ") || starts_with(line, "DEVICE ")) in = IN_LOOPS;
        else if (starts_with(line, "static void ")) in = IN_ENTRIES;
        else if (starts_with(line, "void ") || starts_with(line, "extern ")) in = 0;
        if (*line == '{' || *line == '}') body = *line == '{';
        say_line(&t, before, line, in_all ? in_all : body ? in : 0);
        if (!line[strcspn(line, "\n")]) break;
    }
    return t.at;
}

/* In the header of one model alone: no other's text calls all of it. */
static Device device_of_mutants(const Both *b, bool in_header)
{
    Text t = {0}, tables = {0};
    char *model = mutated(read_file(format("%s/model.cu", b->folder), NULL), 0, &tables);
    char *header = in_header ? mutated(read_file("runtime/lathe_cuda.cuh", NULL), IN_HEADER, NULL) : NULL;
    say(&t, "#include <cuda_runtime.h>\n__constant__ int mutant;\n#include \"lathe_cuda.cuh\"\n%s", model);
    say(&t, "extern \"C\" void make_mutant(int number)\n{\n    mutant = number;\n%s}\n", tables.at ? tables.at : "");
    return device_of_text(b, t.at, header);
}

/* ------------------------------------------------------------------ trying them */

typedef struct Trial {
    const Device *device;
    Live *cpu;
    int number, draw;
    const char *said; /* a file */
} Trial;

#define CLOSE 1e-5 /* sums in another order come to 4e-6 */

static void try_mutant(void *user)
{
    const Trial *t = user;
    Rng rng = rng_of(5 + (uint64_t)t->draw);
    void (*make)(int);
    void *found = dlsym(t->device->library, "make_mutant");
    must(found && freopen(t->said, "w", stdout));
    memcpy(&make, &found, sizeof make);
    make(t->number);
    compare_entries(t->device, t->cpu, "mutant", 1, CLOSE, CLOSE, &rng);
}

static const char *said_of_draw(Trial *t)
{
    bool passed = run_apart(try_mutant, t);
    char *said = read_file(t->said, NULL);
    must(said);
    if (!*said) said = "it ends";
    return passed ? "" : format("%.*s", (int)strcspn(said, "\n"), said);
}

/* What is said first; "" if nothing. */
static const char *said_of(Trial *t)
{
    const char *said = "";
    for (t->draw = 0; t->draw < 3 && !*said; t->draw++) said = said_of_draw(t);
    return said;
}

static bool says(const Kind *k, const char *said)
{
    bool any = *said && !k->seen[0];
    for (int i = 0; i < COUNT_OF(k->seen) && k->seen[i]; i++) any |= strstr(said, k->seen[i]) != NULL;
    return any;
}

static int first = 1, last = 0; /* of those that are asked for by number */

/* Otherwise in the first model that has any. */
static bool chosen(const Kind *k, int number, int nth)
{
    enum { FEW = 2 };
    if (last) return first <= number && number <= last;
    if (long_run()) return true;
    return !k->ever && (k->made <= FEW || nth % (k->made / FEW) == k->made / FEW / 2);
}

static void test_mutants(int model)
{
    const char *line = models[model];
    mutants.n = 0;
    for (int i = 0; i < COUNT_OF(kinds); i++) kinds[i].made = 0;
    Both b = both_sides(compile_model(format("%s --target cuda", line)));
    Device d = device_of_mutants(&b, model == DIFFUSION);
    Trial t = {.device = &d, .cpu = build_model(line), .said = format("%s/said", b.folder)};
    int tried = 0, nth[COUNT_OF(kinds)] = {0};
    expect(!*said_of(&t), "without a mistake: %s", said_of(&t));
    for (t.number = 1; t.number <= mutants.n; t.number++) {
        const Mutant *m = &mutants.at[t.number - 1];
        bool left_out = is_harmless(model, m);
        if (!chosen(m->kind, t.number, nth[m->kind - kinds]++) || left_out) continue;
        const char *said = said_of(&t);
        expect(says(m->kind, said), "mutant %d: %s\n    %s\n    %s\n    %s", t.number, m->kind->name, m->before,
               m->line, *said ? said : "nobody sees it");
        tried++;
    }
    for (int i = 0; i < COUNT_OF(kinds); i++) kinds[i].ever |= kinds[i].made > 0;
    for (int i = 0; i < COUNT_OF(harmless); i++)
        expect(harmless[i].model != model || met[i], "harmless, and not to be made any more: %s\n    %s\n    %s",
               harmless[i].kind, harmless[i].before, harmless[i].line);
    printf("note: %d of %d mistakes put into the text of %s\n", tried, mutants.n, line);
    fflush(stdout);
    unload(t.cpu);
    close_both(&b);
}

int main(int argc, char **argv)
{
    int only = argc > 1 ? atoi(argv[1]) : -1;
    must(only < COUNT_OF(models));
    if (argc > 3) first = atoi(argv[2]), last = atoi(argv[3]);
    need_simulator();
    for (int i = 0; i < COUNT_OF(models); i++)
        if (only < 0 || i == only) test_mutants(i);
    for (int i = 0; i < COUNT_OF(kinds) && only < 0; i++)
        expect(kinds[i].ever, "in no model can it be that %s", kinds[i].name);
    return finish();
}
