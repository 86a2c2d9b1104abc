/* emit_function.c: one function a kernel (CUDA: its parts and what launches them); kernels with the same text share it.
 */
#include "emit.h"

#include <ctype.h>
#include <string.h>

static VEC(struct Printed { const char *canonical, *name, *const *part_names; }) printed;
static struct {
    Strings texts;     /* canonical -> 1 + its place in `printed` */
    Strings functions; /* names of functions */
    Strings names;     /* all that is taken in the file: functions, and what the entries call their buffers */
} taken;
static Text functions;

static void take(const char *name)
{
    int *number = strings_at(&taken.names, name);
    *number += !*number;
}

/* The name of something of the file: taken from now on. */
static const char *new_file_name(const char *wish) { return unique_name(&taken.names, wish); }

void start_functions(const Module *m)
{
    memset(&printed, 0, sizeof printed); /* an arena may have been given back since */
    memset(&taken, 0, sizeof taken);
    Names own = {0};
    functions = (Text){0};
    start_persistent();
    for (int i = 0; header_words[i].word; i++) take(header_words[i].word);
    take_table_names(m, take);
    take_entry_names(&own); /* or an entry could not call them */
    for (int i = 0; i < own.n; i++) take(own.at[i]);
    for (const char *const *word = options.target->words; *word; word++) take(*word);
    for (int i = 0; i < m->programs.n; i++) {
        const Program *p = m->programs.at[i];
        take(entry_name(m, p));
        for (int k = 0; k < p->buffers.n; k++)
            if (p->buffers.at[k]->home == WORK) take(identifier(p->buffers.at[k]->name));
    }
}

/* ------------------------------------------------------------------ head and call */

/* Outputs, inputs, single numbers; each in the order of first use. */
static int rank_of(const Arg *a) { return a->written ? 0 : a->by_value ? 2 : 1; }

static void in_order(const Function *f, int *order)
{
    int n = 0;
    for (int rank = 0; rank < 3; rank++)
        for (int i = 0; i < f->args.n; i++)
            if (rank_of(&f->args.at[i]) == rank) order[n++] = i;
}

static char *declaration(const Arg *a)
{
    const char *type = c_type(a->buffer->dtype), *constant = a->written ? "" : "const ";
    if (a->by_value) return format("%s %s", type, a->name);
    if (a->flat || a->dims <= 1) return format("%s%s *RESTRICT %s", constant, type, a->name);
    Text t = {0};
    say(&t, "%s%s (*RESTRICT %s)", constant, type, a->name);
    for (int k = 1; k < a->dims; k++) {
        const int *first = a->first + k;
        say(&t, "[%s]", product_in(a->buffer->shape, first[0], first[1]));
    }
    return t.at;
}

bool given(const Function *f, unsigned parts, int part)
{
    return !f->parts.n || (part < 0 ? parts != 0 : parts >> part & 1);
}

bool has_word(const char *text, const char *word)
{
    size_t n = strlen(word);
    for (const char *at = strstr(text, word); at; at = strstr(at + 1, word)) {
        bool starts = at == text || !(isalnum((unsigned char)at[-1]) || at[-1] == '_');
        if (starts && !(isalnum((unsigned char)at[n]) || at[n] == '_')) return true;
    }
    return false;
}

static bool is_step(const Function *f) { return f->block && !same(f->block, "blockIdx.x"); }

static bool is_told_block(const Function *f, int part)
{
    return is_step(f) && f->parts.n && has_word(f->parts.at[part].body, f->block);
}

static void add_word(Text *t, const char *word) { say(t, "%s%s", t->n ? ", " : "", word); }

static char *parameters(const Function *f, const int *order, int part)
{
    Text t = {0};
    if (part >= 0 && is_told_block(f, part)) add_word(&t, format("int %s", f->block));
    if (f->some_rows) add_word(&t, "int from, int to");
    for (int i = 0; i < f->args.n; i++)
        if (given(f, f->args.at[order[i]].parts, part)) add_word(&t, declaration(&f->args.at[order[i]]));
    for (int i = 0; i < f->loops.n; i++)
        if (given(f, f->loop_parts.at[i], part)) add_word(&t, format("int %s", f->loop_names.at[i]));
    return t.n ? t.at : "void";
}

static char *head_text(const Function *f, const int *order, const char *name, int part)
{
    return format("%s void %s(%s)", is_step(f) ? "DEVICE" : "KERNEL", name, parameters(f, order, part));
}

/* CUDA: launch(bias_gelu, CEIL_DIV(BATCH * WIDTH, THREADS), stream, act, pre, bias); */
static char *launch_of(const Function *f, const int *order, const char *name, int part)
{
    Text t = {0};
    const Part *p = &f->parts.at[part];
    say(&t, "launch(%s, %s, %s%sstream", name, p->blocks, p->room ? p->room : "", p->room ? ", " : "");
    for (int i = 0; i < f->args.n; i++)
        if (given(f, f->args.at[order[i]].parts, part)) add_word(&t, f->args.at[order[i]].name);
    for (int i = 0; i < f->loops.n; i++)
        if (given(f, f->loop_parts.at[i], part)) add_word(&t, f->loop_names.at[i]);
    return format("    %s);\n", t.at);
}

/* ------------------------------------------------------------------ one kernel */

static Function *make(const Kernel *k)
{
    Function *f = NEW(Function);
    f->block = !k->persistent || !options.target->persists ? "blockIdx.x" : k->sliced ? "slice" : "block";
    if (k->kind == ROWS) emit_rows(f, k);
    else emit_index(f, k);
    return f;
}

static const struct Printed *shared_function(const char *canonical)
{
    int number = strings_get(&taken.texts, canonical);
    return number ? &printed.at[number - 1] : NULL;
}

/* "fused: add, mul, erf": each operation once, in order. */
static void say_fused(Text *t, const Kernel *k)
{
    Names seen = {0};
    for (int p = 0; p < k->phases.n; p++) {
        const Phase *f = &k->phases.at[p];
        const Nodes *all[] = {&f->row, &f->each, &f->sums, &f->columns};
        for (int a = 0; a < COUNT_OF(all); a++)
            for (int i = 0; i < all[a]->n; i++) {
                const char *name = op_info[all[a]->at[i]->op].name;
                if (name_taken(&seen, name)) continue;
                push(&seen, name);
                say(t, "%s%s", seen.n > 1 ? ", " : "", name);
            }
    }
    if (!seen.n) say(t, "copy");
}

static const char *place_name(const View *v) { return v->buffer ? wished_name(v->buffer) : "an index"; }

static void say_attention(Text *t, const Kernel *k)
{
    for (int i = 0; i < k->writes.n; i++) say(t, "%s%s", i ? ", " : "", place_name(&k->writes.at[i].view));
    say(t, k->node->op == OP_attention ? " = attention" : " = gradients of attention");
    for (int i = 0; i < 3; i++) say(t, "%s%s", i ? ", " : " of ", place_name(&k->reads.at[i].view));
}

static void say_index(Text *t, const Kernel *k)
{
    const char *y = k->writes.n ? place_name(&k->writes.at[0].view) : "", *x = place_name(&k->reads.at[0].view);
    const char *ids = k->reads.n > 1 ? place_name(&k->reads.at[1].view) : "";
    switch (k->kind) {
    case ATTENTION: say_attention(t, k); break;
    case GATHER: say(t, "%s = %s[%s]", y, x, ids); break;
    case SCATTER: say(t, "%s[%s] += %s, in order", y, ids, x); break;
    case OVERWRITE: say(t, "%s[%s] = %s", y, ids, place_name(&k->reads.at[2].view)); break;
    case ARGMAX: say(t, "%s = where %s is largest", y, x); break;
    case CUMSUM: say(t, "%s = running sums of %s", y, x); break;
    case TOPK: say(t, "%s = the %lld largest of %s", y, (long long)k->node->ints[1], x); break;
    case OVER_RANKS: say(t, "%s = %s, summed over the GPUs", y, x); break;
    default: say(t, "%s = %s", y, x); break;
    }
}

static void say_stored(Text *t, const Kernel *k)
{
    Names seen = {0};
    for (int p = 0; p < k->phases.n; p++) {
        const Phase *f = &k->phases.at[p];
        const Operands *all[] = {&f->row_stores, &f->stores, &f->column_stores};
        for (int a = 0; a < COUNT_OF(all); a++)
            for (int i = 0; i < all[a]->n; i++) {
                const char *name = place_name(&all[a]->at[i].view);
                if (name_taken(&seen, name)) continue;
                push(&seen, name);
                say(t, "%s%s", seen.n > 1 ? ", " : "", name);
            }
    }
}

static void say_function(Text *t, const char *remark, const char *head, const char *body)
{
    say_comment(t, 0, remark);
    say_wrapped(t, head);
    say_wrapped(t, body + strspn(body, "\n"));
    say(t, "\n");
}

/* A name for a function.  A launcher's arguments must not hide what it launches. */
static const char *function_name(const Function *f, const char *wish)
{
    for (;;) {
        const char *name = new_file_name(wish);
        bool hidden = false;
        for (int i = 0; i < f->args.n; i++) hidden |= f->parts.n && same(f->args.at[i].name, name);
        if (!hidden) return name;
    }
}

static char *remark(const Kernel *k)
{
    Text t = {0};
    say(&t, "%s", formula_text(k));
    if (k->where.file) say(&t, "      %s:%d", file_name(k->where.file), k->where.line);
    if (k->where.path && *k->where.path) say(&t, " %s", k->where.path);
    if (k->bytes > 0) say(&t, "      moves %s bytes", grouped((int64_t)k->bytes));
    return t.at;
}

/* For messages: "lstm_time: char_rnn.lua:31 lstm". */
const char *name_and_place(const Kernel *k, const char *name)
{
    const char *path = k->where.path;
    if (!*name || !k->where.file) return name;
    return format("%s: %s:%d%s%s", name, file_name(k->where.file), k->where.line, path && *path ? " " : "",
                  path ? path : "");
}

/* CUDA: the parts as functions of their own, and beside them the one that launches them, but for the steps of a loop
 * that is one launch.  Returns the parts' names. */
static const char *const *say_parts(Text *t, const Kernel *k, const Function *f, const int *order, const char *name)
{
    Text launches = {0};
    const char **names = NEW_ARRAY(const char *, f->parts.n + 1);
    for (int i = 0; i < f->parts.n; i++) {
        const Part *p = &f->parts.at[i];
        if (is_step(f) && p->when == PLAIN) continue;
        const char *own = names[i] = *p->suffix ? function_name(f, format("%s%s", name, p->suffix)) : name;
        say_function(t, p->remark ? p->remark : remark(k), head_text(f, order, own, i), p->body);
        if (p->when == FAST)
            say_wrapped(&launches, format("    if (!plain_loop(%s))\n", quoted(name_and_place(k, name))));
        if (p->when == PLAIN) say(&launches, "    else\n");
        say_wrapped(&launches, format("%s%s", p->when == ALWAYS ? "" : "    ", launch_of(f, order, own, i)));
    }
    if (is_step(f)) return names;
    say_wrapped(t, format("void launch_%s(cudaStream_t stream, %s)\n{\n", name, parameters(f, order, -1)));
    say(t, "%s}\n\n", launches.at);
    return names;
}

static char *canonical_text(const Function *f, const int *order)
{
    Text t = {0};
    if (!f->parts.n) say(&t, "%s%s", head_text(f, order, "", 0), f->w.text.at);
    for (int i = 0; i < f->parts.n; i++)
        say(&t, "%s %s%s", f->parts.at[i].blocks, head_text(f, order, "", i), f->parts.at[i].body);
    return t.at;
}

char *formula_text(const Kernel *k)
{
    Text t = {0};
    if (k->kind == ROWS) {
        say_stored(&t, k);
        say(&t, ": ");
        say_fused(&t, k);
    } else if (k->kind == GEMM) {
        const struct Gemm *g = &k->gemm;
        const View *summed = g->end == END_SUM_A ? &g->a.view : &g->b.view;
        say(&t, "%s = %s . %s", place_name(&g->c.view), place_name(&g->a.view), place_name(&g->b.view));
        if (g->end == END_SUM_A || g->end == END_SUM_B)
            say(&t, ", %s: sum of %s", place_name(&g->vector.view), place_name(summed));
        else if (g->vector.node) say(&t, " + %s", place_name(&g->vector.view));
        if (g->end == END_GELU_BACK) say(&t, ", times gelu'(%s)", place_name(&g->aux.view));
        if (g->end == END_GELU && g->aux.node) say(&t, ", which is %s", place_name(&g->aux.view));
        if (g->end == END_GELU) say(&t, ", gelu of it");
    } else if (k->kind == PANELS) {
        say(&t, "panel by panel:");
        for (int i = 0; i < k->body.n; i++) say(&t, "%s %s", i ? "," : "", k->body.at[i]->name);
    } else if (k->kind == REPEAT) {
        say(&t, "%s times in one launch:", grouped(k->loop->trip));
        for (int i = 0; i < k->body.n; i++) say(&t, "%s %s", i ? "," : "", k->body.at[i]->name);
    } else if (k->kind == PACK) {
        say(&t, "%s = %s, packed", place_name(&k->writes.at[0].view), place_name(&k->reads.at[0].view));
    } else {
        say_index(&t, k);
    }
    return t.at;
}

/* A name of its own, and the function printed under it. */
static struct Printed print_new(const Kernel *k, const Function *f, const int *order)
{
    const char *wish = identifier(k->name);
    if (strings_get(&taken.names, wish) && !strings_get(&taken.names, format("make_%s", wish)) &&
        !shared_function(wish) && !strings_get(&taken.functions, wish))
        wish = format("make_%s", wish);
    const char *name = function_name(f, wish);
    *strings_at(&taken.functions, name) = 1;
    struct Printed new = {.name = name};
    if (f->parts.n) new.part_names = say_parts(&functions, k, f, order, name);
    else say_function(&functions, remark(k), head_text(f, order, name, 0), f->w.text.at);
    return new;
}

Call kernel_call(const Kernel *k)
{
    Call c = {.f = make(k)};
    c.order = NEW_ARRAY(int, c.f->args.n + 1);
    in_order(c.f, c.order);
    anonymous = true;
    Function *plain = make(k);
    anonymous = false;
    const char *canonical = canonical_text(plain, c.order);
    const struct Printed *old = shared_function(canonical);
    if (!old) {
        bool again = for_good();
        struct Printed new = print_new(k, c.f, c.order);
        new.canonical = copy_string(canonical);
        push(&printed, new);
        *strings_at(&taken.texts, new.canonical) = printed.n;
        old = &printed.at[printed.n - 1];
        for_a_while(again);
    }
    c.name = ((Kernel *)k)->function = old->name;
    c.part_names = old->part_names;
    return c;
}

static char *call_of(const Kernel *k)
{
    Call c = kernel_call(k);
    const Function *f = c.f;
    Text t = {0};
    if (*options.target->first_argument) add_word(&t, options.target->first_argument);
    if (f->some_rows) add_word(&t, "from, to");
    for (int i = 0; i < f->args.n; i++)
        if (given(f, f->args.at[c.order[i]].parts, -1)) add_word(&t, argument(&f->args.at[c.order[i]]));
    for (int i = 0; i < f->loops.n; i++)
        if (given(f, f->loop_parts.at[i], -1)) add_word(&t, loop_letter(f->loops.at[i]));
    return format("%s%s(%s);", options.target->call, c.name, t.n ? t.at : "");
}

/* Of all the text that a kernel's function takes only the call, and what is printed of it, is kept. */
char *call_text(const Kernel *k)
{
    begin_scratch();
    char *text = call_of(k);
    bool again = for_good();
    text = copy_string(text);
    for_a_while(again);
    end_scratch();
    return text;
}

const char *file_name_of(const char *wish) { return new_file_name(wish); }
Text *function_text(void) { return &functions; }

void say_functions(Text *t) { say_bytes(t, functions.at ? functions.at : "", functions.n); }
