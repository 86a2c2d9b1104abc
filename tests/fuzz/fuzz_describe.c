/* fuzz_describe.c: descriptions made by a grammar from the input's bytes: odd names, shapes, numbers, keys and file
 * names.  What the front end takes goes through every pass and is printed; with LATHE_FUZZ_CC set, that C compiler must
 * take it without a warning. */
#include "emit/emit.h"
#include "fuzz.h"
#include "lathe.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ------------------------------------------------------------------ choices */

static struct {
    const unsigned char *at;
    size_t left;
    uint64_t state; /* goes on where the input ends */
} source;

static unsigned below(unsigned n)
{
    if (source.left) return source.left--, *source.at++ % n;
    source.state = source.state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(source.state >> 33) % n;
}

#define ONE_OF(...)                                                                                                    \
    ((const char *const[]){__VA_ARGS__}[below(sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))])

static const char *odd_bytes(void)
{
    Text t = {0};
    for (unsigned n = 1 + below(12); n; n--) say(&t, "%c", (char)(1 + below(255)));
    return t.at;
}

/* A word of C, of its headers, of the sources, or none. */
static const char *word(void)
{
    return ONE_OF("a", "w", "layer", "x_1", "asm", "typeof", "linux", "NULL", "INFINITY", "errno", "I", "bool", "M_PI",
                  "int", "class", "_Bool", "__FILE__", "_", "WIDTH", "BATCH", "KERNEL", "p", "d", "in", "out", "work",
                  "c", "i", "t", "expf", "memcpy", "tanh", "run_train", "Model_params", "pad", "__metadata__",
                  "restrict");
}

static const char *text(void)
{
    switch (below(4)) {
    case 0: return word();
    case 1:
        return format("%s%s%s", word(), ONE_OF(".", "-", " ", "/", "*/", "/*", "\"", "\\", "?\?/", "\n", "%d", "%s"),
                      word());
    case 2:
        return ONE_OF("*/ int x; /*", "\");", "\\", "\xff", "\x1b[2J", "\xe2\x80\xae", "'", "]]", "${x}", "caf\xe9");
    default: return odd_bytes();
    }
}

/* As a string of Lua. */
static const char *lua(const char *s)
{
    Text t = {0};
    say(&t, "\"");
    for (; *s; s++) say(&t, "\\%03d", (unsigned char)*s);
    say(&t, "\"");
    return t.at;
}

static const char *name(void) { return lua(below(16) ? word() : text()); }

static const char *integer(void)
{
    if (below(8)) return format("%u", 1 + below(5));
    return ONE_OF("-1", "1 << 31", "1 << 32", "(1 << 31) - 1", "1 << 62", "math.maxinteger", "math.mininteger", "2.5",
                  "-0");
}

static const char *number(void)
{
    if (below(4)) return format("%u.%u", below(4), below(100));
    return ONE_OF("1e39", "-1e308", "1 / 0", "0 / 0", "-0.0", "5e-324", "3.4e38", "16777217", "1 << 40", "\"1\"",
                  "nil");
}

/* ------------------------------------------------------------------ the grammar; x is [batch, seq, 8] before and after
 */

static void say_statement(Text *t, int depth)
{
    switch (below(15)) {
    case 0: say(t, "x = nn.%s(x)\n", ONE_OF("tanh", "gelu", "softplus", "exp", "silu", "abs", "sigmoid")); break;
    case 1: say(t, "x = x * nn.param { name = %s, shape = { 8 }, init = %s }\n", name(), number()); break;
    case 2: say(t, "x = x + nn.linear(x, { name = %s, out = 8 })\n", name()); break;
    case 3: say(t, "x = nn.layernorm(x, { name = %s })\n", name()); break;
    case 4:
        say(t, "x = x:pad(%u, %s, %s):slice(%u, 0, %s)\n", below(3), integer(), integer(), below(3), integer());
        break;
    case 5: say(t, "x = x + x:%s { %s, keep = true }\n", ONE_OF("sum", "mean"), integer()); break;
    case 6: say(t, "x = x %s %s\n", ONE_OF("+", "-", "*", "/", "^"), number()); break;
    case 7:
        say(t, "x = x:permute { 0, 2, 1 }:permute { 0, 2, 1 } + nn.constant { %s, 1, 1, 1, 1, 1, 1, %s }\n", number(),
            number());
        break;
    case 8: say(t, "x = nn.concat({ x, x }, -1):slice(-1, %s, 8, %s)\n", integer(), integer()); break;
    case 9: say(t, "x = x + nn.full({ %s, 8 }, %s):mean(0)\n", integer(), number()); break;
    case 10: say(t, "x = x:reshape { -1, %s }:reshape { c.batch, c.seq, 8 }\n", integer()); break;
    case 11: say(t, "x = x + nn.attention(x, { name = %s, heads = 2, causal = true })\n", name()); break;
    case 12: say(t, "print(x, %s)\n", lua(text())); break;
    default:
        if (depth > 1) return;
        if (below(2)) say(t, "x = nn.stack(%s, x, function(x)\n", integer());
        else say(t, "x = nn.scope(%s, function()\n", name());
        say_statement(t, depth + 1);
        say(t, "return x end)\n");
    }
}

static void say_table(Text *t, const char *key, const char *one)
{
    if (below(6) == 0)
        say(t, " %s = setmetatable({}, { __index = function() error(%s) end }),\n", key, ONE_OF("'x'", "{}", "nil"));
    else say(t, " %s = %s,\n", key, one);
}

static const char *description(const char *config)
{
    Text t = {0};
    say(&t, "return {\n config = { batch = %s, seq = %s, vocab = 256, [%s] = %s, [%s] = %s },\n",
        below(24) ? "2" : integer(), below(24) ? "4" : integer(), name(), below(2) ? "300" : number(), lua(text()),
        lua(text()));
    say(&t, " configs = { [%s] = {} },\n decode = %s,\n", lua(config), ONE_OF("nil", "false"));
    say(&t,
        " forward = function(c, input)\n local x = nn.embedding(input.tokens, { rows = c.vocab, width = 8, name = %s "
        "})\n",
        name());
    for (unsigned n = below(7); n; n--) say_statement(&t, 0);
    say(&t, " local logits = nn.linear(x, { out = c.vocab, name = %s })\n", name());
    say(&t, " return nn.cross_entropy(logits, input.targets), { [%s] = logits, [%s] = x:mean() } end,\n", lua(text()),
        lua(text()));
    if (below(3) == 0)
        say_table(&t, "train",
                  format("{ steps = %s, accumulate = %s, optimizer = optim.%s { lr = %s } }", integer(),
                         below(3) ? "1" : integer(), ONE_OF("sgd", "adamw"), number()));
    if (below(6) == 0) say_table(&t, "generate", format("{ rows = %s, tokens = %s }", integer(), integer()));
    if (below(6) == 0) say_table(&t, "hf", format("{ config = { [%s] = %s } }", lua(text()), lua(text())));
    say(&t, " data = data.text { tokenizer = %s } }\n", below(40) ? "\"bytes\"" : lua(text()));
    return t.at;
}

/* A name of a file: any bytes but / */
static const char *file_called(const char *folder)
{
    char *base = copy_string(text());
    for (char *c = base; *c; c++)
        if (*c == '/') *c = '|';
    return format("%s%s.lua", folder, base);
}

/* What the inputs before have left: each has a name of its own. */
static void remove_descriptions(const char *folder)
{
    DIR *d = opendir(folder);
    for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d))
        if (strlen(e->d_name) > 4 && same(e->d_name + strlen(e->d_name) - 4, ".lua"))
            (void)unlinkat(dirfd(d), e->d_name, 0);
    if (d) closedir(d);
}

static void take_to_compiler(const char *folder)
{
    const char *cc = getenv("LATHE_FUZZ_CC");
    if (!cc) return;
    char *line = format("%s -std=gnu11 -fopenmp -Wall -Wextra -Werror -Wno-array-bounds -fsyntax-only -Iruntime %s", cc,
                        shell_quoted(format("%smodel.c", folder)));
    if (system(line) != 0) abort();
}

static bool is_small(const Desc *d)
{
    int64_t largest = 0;
    for (int i = 0; i < d->graphs.n; i++) {
        Nodes all = {0};
        all_nodes(d->graphs.at[i], &all);
        if (all.n > 600) return false;
        for (int k = 0; k < all.n; k++) largest = max64(largest, elements(all.at[k]->shape));
    }
    return largest <= 1 << 20;
}

void fuzz_one(const char *path, const char *bytes, size_t n)
{
    source.at = (const unsigned char *)bytes, source.left = n, source.state = hash_bytes(bytes, n, 1);
    const char *folder = copy_bytes_as_string(path, (size_t)(strrchr(path, '/') - path) + 1), *config = text();
    remove_descriptions(folder);
    const char *file = file_called(folder), *made = description(config);
    if (!write_file(file, made, strlen(made))) return;
    Options options = {.target = below(4) ? &target_cpu : &target_cuda, .model_file = file, .check_stages = true};
    if (below(2)) options.config = config;
    Desc *d = front(&options);
    if (!is_small(d)) return;
    const Module *m = compile(d);
    if (options.target == &target_cuda) emit_cuda(new_page(m), folder);
    else emit_c(new_page(m), folder), take_to_compiler(folder);
}
