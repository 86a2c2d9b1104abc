/* test_emitted_mutants.c: mistakes put into emitted CUDA, and into the header that it includes, are each seen by the
 * simulator or by comparing entries with those of the CPU target's text.
 *
 * They are all in one module, so that it is compiled once: wherever one can be made the text asks whether it is its
 * turn (`mutant == 7`).  Of each kind a few places are tried, all of them in the long run. */
#include "harness_cuda.h"

#include <ctype.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum Where_made { IN_KERNELS = 1, IN_ENTRIES = 2, IN_HEADER = 4 } Where_made;

typedef struct Kind {
    const char *name;
    Where_made in;
    const char *from, *to; /* "[*]": a name in brackets, which is said where `to` has %s; %d is the mutant's number */
    const char *seen[4];   /* one of these words is in what is said; NULL: any word */
    bool whole;            /* only where a statement begins */
    int made;
} Kind;

static Kind kinds[] = {
    {.name = "a barrier is missing",
     .in = IN_KERNELS | IN_HEADER,
     .from = "__syncthreads();",
     .to = "if (mutant != %d) __syncthreads();",
     .seen = {"race", "before it is written"}},
    {.name = "a mask leaves out a lane",
     .in = IN_HEADER,
     .from = "(ALL_LANES,",
     .to = "(mutant == %d ? 0x7fffffffu : ALL_LANES,",
     .seen = {"mask"}},
    {.name = "an index is one too large",
     .in = IN_KERNELS,
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
};

typedef struct Mutant {
    Kind *kind;
    const char *line; /* of the text, where it is made */
} Mutant;
static VEC(Mutant) mutants; /* from number 1 on */

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

static void say_mutant(Text *t, Kind *k, const char *line, const char *at, size_t n)
{
    push(&mutants, ((Mutant){k, format("%.*s", (int)strcspn(line, "\n"), line)}));
    k->made++;
    char *name = format("%.*s", (int)n - 2, at + 1), *to = copy_string(k->to);
    char *place = strstr(to, "%s"), *number = strstr(to, "%d");
    must(number);
    if (place) say(t, "%.*s%s%.*s", (int)(place - to), to, name, (int)(number - place - 2), place + 2);
    else say_bytes(t, to, (size_t)(number - to));
    say(t, "%d%s", mutants.n, number + 2);
}

/* The line with all that can be made in it. */
static void say_line(Text *t, const char *line, Where_made in)
{
    for (const char *at = line; *at && *at != '\n';) {
        size_t n = 0;
        for (int i = 0; i < COUNT_OF(kinds) && !n; i++) {
            if (!(kinds[i].in & in) || !(n = meets(&kinds[i], line, at))) continue;
            say_mutant(t, &kinds[i], line, at, n);
        }
        if (!n) say_bytes(t, at, n = 1);
        at += n;
    }
    say(t, "\n");
}

/* Statements are the lines that begin with blanks, between the braces of a function. */
static char *mutated(const char *text, Where_made in_all)
{
    Text t = {0};
    Where_made in = 0;
    bool body = false;
    for (const char *line = text; *line; line += strcspn(line, "\n") + 1) {
        if (starts_with(line, "KERNEL ")) in = IN_KERNELS;
        else if (starts_with(line, "static void ")) in = IN_ENTRIES;
        else if (starts_with(line, "void ") || starts_with(line, "extern ")) in = 0;
        if (*line == '{' || *line == '}') body = *line == '{';
        say_line(&t, line, in_all ? in_all : body ? in : 0);
        if (!line[strcspn(line, "\n")]) break;
    }
    return t.at;
}

static Device device_of_mutants(const Both *b)
{
    char *model = mutated(read_file(format("%s/model.cu", b->folder), NULL), 0);
    char *header = mutated(read_file("runtime/lathe_cuda.cuh", NULL), IN_HEADER);
    Text t = {0};
    say(&t, "#include <cuda_runtime.h>\n__constant__ int mutant;\n#include \"lathe_cuda.cuh\"\n%s", model);
    say(&t, "extern \"C\" void make_mutant(int number) { mutant = number; }\n");
    return device_of_text(b, t.at, header);
}

/* ------------------------------------------------------------------ trying them */

typedef struct Trial {
    const Device *device;
    Live *cpu;
    int number;
    const char *said; /* a file */
} Trial;

static void try_mutant(void *user)
{
    const Trial *t = user;
    Rng rng = rng_of(5);
    void (*make)(int);
    void *found = dlsym(t->device->library, "make_mutant");
    must(found && freopen(t->said, "w", stdout));
    memcpy(&make, &found, sizeof make);
    make(t->number);
    compare_entries(t->device, t->cpu, "mutant", 1, 1e-4, 1e-4, &rng);
}

/* What is said first; "" if nothing. */
static const char *said_of(Trial *t)
{
    bool passed = run_apart(try_mutant, t);
    char *said = read_file(t->said, NULL);
    must(said);
    return passed ? "" : format("%.*s", (int)strcspn(said, "\n"), *said ? said : "it ends");
}

static bool says(const Kind *k, const char *said)
{
    bool any = *said && !k->seen[0];
    for (int i = 0; i < COUNT_OF(k->seen) && k->seen[i]; i++) any |= strstr(said, k->seen[i]) != NULL;
    return any;
}

static bool chosen(const Kind *k, int nth)
{
    enum { FEW = 2 };
    return long_run() || k->made <= FEW || nth % (k->made / FEW) == k->made / FEW / 2;
}

static void test_mutants(const char *line)
{
    Both b = both_sides(compile_model(format("%s --target cuda", line)));
    Device d = device_of_mutants(&b);
    Trial t = {.device = &d, .cpu = build_model(line), .said = format("%s/said", b.folder)};
    int tried = 0, nth[COUNT_OF(kinds)] = {0};
    expect(!*said_of(&t), "without a mistake: %s", said_of(&t));
    for (t.number = 1; t.number <= mutants.n; t.number++) {
        const Mutant *m = &mutants.at[t.number - 1];
        if (!chosen(m->kind, nth[m->kind - kinds]++)) continue;
        const char *said = said_of(&t);
        expect(says(m->kind, said), "mutant %d: %s\n    %s\n    %s", t.number, m->kind->name, m->line,
               *said ? said : "nobody sees it");
        tried++;
    }
    for (int i = 0; i < COUNT_OF(kinds); i++)
        expect(kinds[i].made > 0, "%s: nowhere can it be that %s", line, kinds[i].name);
    printf("note: %d mistakes put into the text of %s\n", tried, line);
    unload(t.cpu);
    close_both(&b);
}

int main(void)
{
    need_simulator();
    test_mutants(
        "models/diffusion.lua --set layers=2 --set width=24 --set heads=2 --set cond=6 --set seq=5 --set batch=3"
        " --set vocab=1100 --set accumulate=2 --set chain=3");
    return finish();
}
