/* library.c: a library: the runtime's text around the model's (build/library.c has it), and NAME.h, for which the fixed
 * text is in runtime/library/name.h.in and name.c.in. */
#include "desc/target.h"
#include "emit/emit.h"
#include "passes/passes.h"
#include "runtime/interface/given.h"
#include "runtime/interface/version.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

char *name_of_library(Page *page)
{
    return page->desc->options->python ? "_model" : identifier(page, page->desc->model);
}

/* ------------------------------------------------------------------ its structs */

/* What the library calls an entry; NULL: it has no function for it. */
static const char *function_of_library(const Program *p)
{
    switch (p->graph->entry) {
    case ENTRY_train: return "step";
    case ENTRY_eval: return "evaluate";
    case ENTRY_predict: return "predict";
    default: return NULL;
    }
}

/* The program of a function; turns have the same inputs. */
static const Program *program_called(Page *page, const char *function)
{
    const Module *m = page->module;
    for (int i = 0; i < m->programs.n; i++)
        if (function_of_library(m->programs.at[i]) && same(function_of_library(m->programs.at[i]), function))
            return m->programs.at[i];
    return NULL;
}

/* Whether a text's next token depends on that text alone, in one row. */
static bool writes_text(Page *page)
{
    const Module *m = page->module;
    bool decodes = false;
    for (int i = 0; i < m->programs.n; i++) {
        const Graph *g = m->programs.at[i]->graph;
        if (g->entry == ENTRY_encode) return false;
        decodes |= g->entry == ENTRY_decode;
    }
    return decodes && page->desc->vocab && page->desc->recipe.rows == 1;
}

static bool is_given(Page *page, const Buffer *b)
{
    for (int i = 0; i < page->desc->inputs.n && b->home == INPUTS; i++)
        if (same(page->desc->inputs.at[i].name, b->value->name)) return lathe_is_given(page->desc->inputs.at[i].role);
    return b->home == INPUTS;
}

static const char *public_type(DType t)
{
    return t == I32 ? "int32_t" : t == F64 ? "double" : t == F32 ? "float" : t == BOOL ? "uint8_t" : "uint16_t";
}

static const char *dims_of(Shape s, int from)
{
    Text t = {0};
    for (int k = from; k < s.rank; k++) say(&t, "[%lld]", (long long)s.dim[k]);
    return t.n ? t.at : "";
}

static char *in_capitals(const char *word)
{
    char *capitals = copy_string(word);
    for (char *c = capitals; *c; c++) *c = (char)toupper((unsigned char)*c);
    return capitals;
}

static char *name_in_capitals(Page *page) { return in_capitals(name_of_library(page)); }

/* const int32_t (*tokens)[64];      [12][64], below 65 */
static void say_array(Page *page, Text *t, const Buffer *b, const char *qualifier)
{
    const Tensor_spec *spec = NULL;
    for (int i = 0; i < page->desc->inputs.n && b->home == INPUTS; i++)
        if (same(page->desc->inputs.at[i].name, b->value->name)) spec = &page->desc->inputs.at[i];
    const char *name = buffer_name(page, b), *inner = dims_of(b->shape, 1);
    char *declared = *inner ? format("%s%s (*%s)%s;", qualifier, public_type(b->dtype), name, inner)
                            : format("%s%s *%s;", qualifier, public_type(b->dtype), name);
    const char *dims = b->shape.rank ? dims_of(b->shape, 0) : "one number";
    say(t, "    %-48s /* %s%s */\n", declared, dims,
        spec && spec->below ? format(", below %lld", (long long)spec->below) : "");
}

/* enum { SENSOR_STEP_ROWS = 16 }; where all inputs have as many.  Of micro-batches, how many there are. */
static void say_rows(Page *page, Text *t, const Program *p)
{
    int64_t rows = 0;
    for (int i = 0; i < p->buffers.n; i++) {
        const Buffer *b = p->buffers.at[i];
        if (!is_given(page, b)) continue;
        const int64_t own = b->shape.rank ? b->shape.dim[0] : 1;
        rows = !rows || rows == own ? own : -1;
    }
    const char *what = p->graph->entry == ENTRY_train && page->desc->recipe.accumulate > 1 ? "BATCHES" : "ROWS";
    if (rows > 0)
        say(t, "enum { %s_%s_%s = %lld };\n", name_in_capitals(page), in_capitals(function_of_library(p)), what,
            (long long)rows);
    say(t, "\n");
}

static void say_in(Page *page, Text *t, const Program *p)
{
    int n = 0;
    say(t, "typedef struct %s_%s_in {\n", name_of_library(page), function_of_library(p));
    for (int i = 0; i < p->buffers.n; i++)
        if (is_given(page, p->buffers.at[i])) say_array(page, t, p->buffers.at[i], "const "), n++;
    say(t, "%s} %s_%s_in;\n", n ? "" : "    int none;\n", name_of_library(page), function_of_library(p));
    say_rows(page, t, p);
}

static void say_arrays_out(Page *page, Text *t, const Program *p)
{
    say(t, "typedef struct %s_predict_out {\n", name_of_library(page));
    for (int i = 0; i < p->buffers.n; i++)
        if (p->buffers.at[i]->home == OUTPUTS) say_array(page, t, p->buffers.at[i], "");
    say(t, "} %s_predict_out;\n\n", name_of_library(page));
}

/* The outputs of eval that are numbers, or of train the losses by name. */
typedef VEC(const char *) Members;
static Members numbers_out(Page *page, const Program *p)
{
    Members all = {0};
    for (int i = 0; i < p->buffers.n; i++)
        if (p->buffers.at[i]->home == OUTPUTS && p->buffers.at[i]->shape.rank == 0)
            push(&all, buffer_name(page, p->buffers.at[i]));
    return all;
}

static int parts_out(Page *page) { return page->desc->losses < LATHE_LOSSES ? page->desc->losses : LATHE_LOSSES; }

static void say_numbers_out(Page *page, Text *t, const Program *p)
{
    const Members all = numbers_out(page, p);
    const bool step = same(function_of_library(p), "step");
    say(t, "typedef struct %s_%s_out {\n", name_of_library(page), function_of_library(p));
    if (step) say(t, "    double loss, grad_norm, lr; /* grad_norm: before clipping; lr: of this step */\n");
    for (int i = step; i < (step ? 1 + parts_out(page) : all.n); i++) say(t, "    double %s;\n", all.at[i]);
    if (step) say(t, "    int skipped; /* fp16: gradients overflowed, and the parameters are as before */\n");
    say(t, "} %s_%s_out;\n\n", name_of_library(page), function_of_library(p));
}

static void say_structs(Page *page, Text *t)
{
    static const char *const functions[] = {"step", "evaluate", "predict"};
    for (int i = 0; i < COUNT_OF(functions); i++) {
        const Program *p = program_called(page, functions[i]);
        if (!p) continue;
        enter_scope(page, p);
        say_in(page, t, p);
        if (same(functions[i], "predict")) say_arrays_out(page, t, p);
        else say_numbers_out(page, t, p);
    }
}

/* ------------------------------------------------------------------ the lines of name.c.in that depend on the model */

static void say_given(Page *page, Text *t, const Program *p)
{
    Text lines = {0};
    int n = 0;
    enter_scope(page, p);
    for (int i = 0; i < p->buffers.n; i++)
        if (is_given(page, p->buffers.at[i]))
            say(&lines, "        given[%d] = in->%s;\n", n++, buffer_name(page, p->buffers.at[i]));
    say(t, "    const void *given[%d] = {0};\n", n + 1);
    if (n) say(t, "    if (in) {\n%s    }\n", lines.at);
}

static void say_wanted(Page *page, Text *t, const Program *p)
{
    Text lines = {0};
    int n = 0;
    enter_scope(page, p);
    for (int i = 0; i < p->buffers.n; i++)
        if (p->buffers.at[i]->home == OUTPUTS)
            say(&lines, "        wanted[%d] = out->%s;\n", n++, buffer_name(page, p->buffers.at[i]));
    say(t, "    void *wanted[%d] = {0};\n    if (out) {\n%s    }\n", n + 1, lines.n ? lines.at : "");
}

static void say_results(Page *page, Text *t, const Program *p, bool declared)
{
    enter_scope(page, p);
    const Members all = numbers_out(page, p);
    if (declared) say(t, "    double result[%d];\n", all.n + 1);
    for (int i = 0; i < all.n && !declared; i++) say(t, "        out->%s = result[%d];\n", all.at[i], i);
}

static void say_parts(Page *page, Text *t)
{
    const Program *p = program_called(page, "step");
    enter_scope(page, p);
    const Members all = numbers_out(page, p);
    for (int i = 0; i < parts_out(page); i++) say(t, "        out->%s = result.part[%d];\n", all.at[1 + i], i);
}

static void say_abi(Page *page, Text *t)
{
    const char *name = name_in_capitals(page);
    say(t,
        "enum { %s_ABI_MAJOR = %d, %s_ABI_MINOR = %d }; /* of the functions, as semver.org means it; structs are the "
        "model's */\n",
        name, LATHE_ABI_MAJOR, name, LATHE_ABI_MINOR);
}

static void say_directive(Page *page, Text *t, const char *word)
{
    if (starts_with(word, "given ")) say_given(page, t, program_called(page, word + 6));
    else if (same(word, "wanted")) say_wanted(page, t, program_called(page, "predict"));
    else if (same(word, "results")) say_results(page, t, program_called(page, "evaluate"), true);
    else if (same(word, "scores")) say_results(page, t, program_called(page, "evaluate"), false);
    else if (same(word, "parts")) say_parts(page, t);
    else if (same(word, "structs")) say_structs(page, t);
    else if (same(word, "abi")) say_abi(page, t);
    else die("name.c.in: @%s", word);
}

/* @model, @MODEL and @title in a line. */
static void say_filled(Page *page, Text *t, const char *line)
{
    const char *name = name_of_library(page), *config = page->desc->config;
    const char *capitals = name_in_capitals(page);
    for (; *line; line++) {
        const bool model = starts_with(line, "@model"), whole = starts_with(line, "@MODEL"),
                   title = starts_with(line, "@title");
        const bool vocab = starts_with(line, "@vocab"), real = starts_with(line, "@real");
        if (model) say(t, "%s", name);
        else if (whole) say(t, "%s", capitals);
        else if (title)
            say(t, "%s%s", in_comment(file_name(page->desc->file)),
                config && *config ? format(", configuration %s", in_comment(config)) : "");
        else if (vocab) say(t, "%lld", (long long)page->desc->vocab);
        else if (real) say(t, "%s", in_doubles(page) ? "double" : "float");
        else say(t, "%c", *line);
        if (model || whole || title || vocab) line += 5;
        if (real) line += 4;
    }
    say(t, "\n");
}

/* Whether lines behind `@if WORD` are for this model: WORD is a function, `next`, `files`, or `saves` (to files). */
static bool is_in_template(Page *page, const char *word)
{
    const bool files = !page->desc->options->freestanding;
    if (same(word, "next")) return writes_text(page);
    if (same(word, "files")) return files;
    if (same(word, "saves")) return files && program_called(page, "step");
    return program_called(page, word) != NULL;
}

/* A template: `@end` ends an `@if`; other lines that are one word of @ are directives. */
static void say_template(Page *page, Text *t, const char *text)
{
    bool wanted = true;
    for (; *text; text += strcspn(text, "\n") + 1) {
        const char *line = copy_bytes_as_string(text, strcspn(text, "\n")), *word = line + strspn(line, " ");
        if (starts_with(word, "@if ")) wanted = is_in_template(page, word + 4);
        else if (same(word, "@end")) wanted = true;
        else if (!wanted) continue;
        else if (*word == '@' && !starts_with(word, "@model") && !starts_with(word, "@MODEL"))
            say_directive(page, t, word + 1);
        else say_filled(page, t, line);
    }
}

/* ------------------------------------------------------------------ the model between the halves of the runtime */

bool is_letter_of_word(char c) { return isalnum((unsigned char)c) || c == '_'; }

/* Whether `word` stands in the text. */
static bool stands_in(const char *text, const char *word)
{
    const size_t n = strlen(word);
    for (const char *at = strstr(text, word); at; at = strstr(at + 1, word))
        if ((at == text || !is_letter_of_word(at[-1])) && !is_letter_of_word(at[n])) return true;
    return false;
}

/* Calls take for each word of a text. */
static void each_runtime_word(Page *page, const char *text, void (*take)(Page *page, const char *name))
{
    Strings seen = {0};
    for (const char *at = text; *at; at++) {
        size_t n = 0;
        while (is_letter_of_word(at[n])) n++;
        if (!n) continue;
        if (!isdigit((unsigned char)*at)) {
            const char *word = copy_bytes_as_string(at, n);
            if (!(*strings_at(&seen, word))++) take(page, word);
        }
        at += n - 1;
    }
}

/* The words of NAME.h that begin with the model's name. */
static Texts own_names(Page *page)
{
    Text h = {0};
    Texts own = {0};
    Strings seen = {0};
    say_template(page, &h, library_file("name.h.in"));
    const char *name = name_of_library(page);
    for (const char *at = h.at; *at; at++) {
        size_t n = 0;
        while (is_letter_of_word(at[n])) n++;
        if (!n) continue;
        const char *word = copy_bytes_as_string(at, n);
        const char behind = n >= strlen(name) ? word[strlen(name)] : 'x';
        const bool its = strncasecmp(word, name, strlen(name)) == 0 && (!behind || behind == '_');
        if (its && !(*strings_at(&seen, word))++) push(&own, word);
        at += n - 1;
    }
    return own;
}

static const char *without_includes(const char *text)
{
    Text t = {0};
    for (; *text; text += strcspn(text, "\n") + (text[strcspn(text, "\n")] == '\n'))
        if (!starts_with(text, "#include \"")) say(&t, "%.*s\n", (int)strcspn(text, "\n"), text);
    return t.n ? t.at : "";
}

/* What makes a module of Python of it. */
static const char *text_of_python(void)
{
    static const char *const files[] = {"python_abi.h", "python.h", "python_arrays.c", "python.c", "python_saved.c", "python_module.c"};
    Text t = {0};
    for (int i = 0; i < COUNT_OF(files); i++) say(&t, "%s", without_includes(library_file(files[i])));
    return t.at;
}

void take_runtime_names(Page *page, void (*take)(Page *page, const char *name))
{
    const char *body;
    each_runtime_word(page, runtime_text(&body), take);
    if (page->desc->options->python) each_runtime_word(page, text_of_python(), take);
    take(page, name_of_library(page));
}

/* Sizes, which are in capitals as the runtime's own constants. */
static Texts sizes_of(Page *page)
{
    Texts all = {0};
    for (int i = 0; i < page->sizes.n; i++)
        if (page->sizes.at[i].used) push(&all, page->sizes.at[i].name);
    return all;
}

/* Another name for each of them that stands in the runtime, from here on, or no longer.  Some are macros of it. */
static void say_renamed(Text *t, const Texts *names, const char *runtime, const char *whose)
{
    for (int i = 0; i < names->n; i++) {
        const char *name = names->at[i];
        if (!stands_in(runtime, name)) continue;
        if (whose)
            say(t, "#pragma push_macro(\"%s\")\n#undef %s\n#define %s %s_of_%s\n", name, name, name, name, whose);
        else say(t, "#pragma pop_macro(\"%s\")\n", name);
    }
}

/* By which the runtime leaves out what the model does not use (runtime/step/optim.h, math/ways.h, math/rooms.h). */
static void say_uses(Page *page, Text *t)
{
    const Desc *d = page->desc;
    say(t, "/* What the model uses; what it does not is left out. */\n");
    say(t, "#define LATHE_USES_F64 %d\n", in_doubles(page));
    say(t, "#define LATHE_USES_BF16 %d\n", page->precision.weights == BF16);
    say(t, "#define LATHE_USES_CODED 0\n"); /* refused: build/library.c */
    say(t, "#define LATHE_USES_OPTIMIZER(kind) ((kind) == %s", optimizer_id(&d->recipe));
    for (int i = 0; i < d->turns.n; i++) say(t, " || (kind) == %s", optimizer_id(&d->turns.at[i].recipe));
    say(t, ")\n");
    if (page->by_ids.n) return; /* whose products have as many rows as there are ids */
    say(t, "#define LATHE_PRODUCTS(X)");
    for (int i = 0; i < page->product_rows.n; i++) say(t, " \\\n    X(%s)", page->product_rows.at[i]);
    say(t, "\n");
    if (page->attentions.n || page->convolutions.n) say(t, "#define LATHE_WHOLE_ROOMS 1\n");
}

static void say_whole(Page *page, Text *t)
{
    Text c = {0}, h = {0}, api = {0};
    const char *body, *runtime = runtime_text(&body);
    const bool python = page->desc->options->python;
    const Texts own = python ? (Texts){0} : own_names(page);
    say_model(page, &c, &h);
    const Texts sizes = sizes_of(page);
    if (page->desc->options->inference) say(t, "#define LATHE_INFERENCE 1\n");
    if (page->desc->options->freestanding) say(t, "#define LATHE_FREESTANDING 1\n");
    if (page->desc->options->layer) say(t, "#define LATHE_LAYER 1\n");
    say_uses(page, t);
    const char *behind_system = strstr(runtime, "\n#ifndef LATHE_") + 1; /* whose headers the names are not for */
    say_bytes(t, runtime, (size_t)(behind_system - runtime));
    say_renamed(t, &own, runtime, "runtime");
    say_bytes(t, behind_system, (size_t)(body - behind_system));
    say_renamed(t, &sizes, runtime, "model");
    say(t, "%s%s\n", without_includes(h.at), without_includes(c.at));
    say_renamed(t, &sizes, runtime, NULL);
    say(t, "%s", body);
    say_renamed(t, &own, runtime, NULL);
    if (!python) say_template(page, &api, library_file("name.c.in"));
    say(t, "%s", python ? text_of_python() : api.at);
}

void emit_library(Page *page, const char *dir)
{
    Text c = {0}, h = {0};
    Target *own = copy_of(page->target, sizeof *own);
    own->entry = "static ";
    page->target = own;
    page->library = true;
    say_whole(page, &c);
    make_folder(dir);
    put_file(dir, format("%s.c", name_of_library(page)), c.at, c.n);
    if (!page->desc->options->python) say_template(page, &h, library_file("name.h.in"));
    if (h.n) put_file(dir, format("%s.h", name_of_library(page)), h.at, h.n);
    put_plan(page, dir);
}

void emit_levels(Page *page, const char *dir)
{
    Text c = {0};
    say_template(page, &c, library_file("levels.c.in"));
    put_file(dir, format("%s-levels.c", name_of_library(page)), c.at, c.n);
}
