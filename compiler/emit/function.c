/* function.c: prints a function for each kernel (CUDA: its parts and a launcher). Kernels with the same text share a
 * function and its name: ln_1 and ln_f share ln. */
#include "desc/target.h"
#include "emit/emit.h"

#include <ctype.h>
#include <string.h>

static void take_name(Page *page, const char *name)
{
    int *number = strings_at(&page->functions.taken, name);
    *number += !*number;
}

const char *new_file_name(Page *page, const char *wish) { return unique_name(&page->functions.taken, wish); }

void start_functions(Page *page)
{
    const Module *m = page->module;
    Names own = {0};
    for (int i = 0; i < header_word_count; i++) take_name(page, header_words[i].word);
    if (page->library) take_runtime_names(page, take_name);
    take_table_names(page, take_name);
    take_entry_names(&own); /* or a name in an entry would hide a function */
    for (int i = 0; i < own.n; i++) take_name(page, own.at[i]);
    for (const char *const *word = page->target->words; *word; word++) take_name(page, *word);
    for (int i = 0; i < m->programs.n; i++) {
        const Program *p = m->programs.at[i];
        take_name(page, entry_name(page, p));
        enter_scope(page, p);
        for (int k = 0; k < p->buffers.n; k++)
            if (p->buffers.at[k]->home == WORK) take_name(page, buffer_name(page, p->buffers.at[k]));
    }
}

/* ------------------------------------------------------------------ head and call */

/* Outputs come first, then inputs, then single numbers, each in the order of first use. */
static int rank_of(const Arg *a) { return a->written ? 0 : a->by_value ? 2 : 1; }

static void in_order(const Function *f, int *order)
{
    int n = 0;
    for (int rank = 0; rank < 3; rank++)
        for (int i = 0; i < f->args.n; i++)
            if (rank_of(&f->args.at[i]) == rank) order[n++] = i;
}

static char *declaration(Page *page, const Arg *a)
{
    const char *type = c_type(a->buffer->dtype), *constant = a->written ? "" : "const ";
    if (a->by_value) return format("%s %s", type, a->name);
    if (a->flat || a->dims <= 1) return format("%s%s *RESTRICT %s", constant, type, a->name);
    Text t = {0};
    say(&t, "%s%s (*RESTRICT %s)", constant, type, a->name);
    for (int k = 1; k < a->dims; k++) {
        const int *first = a->first + k;
        const char *extent = product_in(page, a->buffer->shape, first[0], first[1]);
        say(&t, "[%s]", in_blocks(a->buffer->dtype) && k == a->dims - 1 ? row_in_blocks(extent) : extent);
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

static bool is_row_step(const Function *f) { return f->block && !same(f->block, "blockIdx.x"); }

static bool is_told_block(const Function *f, int part)
{
    return is_row_step(f) && f->parts.n && has_word(f->parts.at[part].body, f->block);
}

static void add_word(Text *t, const char *word) { say(t, "%s%s", t->n ? ", " : "", word); }

static char *parameters(const Function *f, const int *order, int part)
{
    Text t = {0};
    if (part >= 0 && is_told_block(f, part)) add_word(&t, format("int %s", f->block));
    if (f->some_rows) add_word(&t, "int from, int to");
    for (int i = 0; i < f->args.n; i++)
        if (given(f, f->args.at[order[i]].parts, part)) add_word(&t, declaration(f->page, &f->args.at[order[i]]));
    for (int i = 0; i < f->loops.n; i++)
        if (given(f, f->loop_parts.at[i], part)) add_word(&t, format("int %s", f->loop_names.at[i]));
    return t.n ? t.at : "void";
}

static char *head_text(const Function *f, const int *order, const char *name, int part)
{
    return format("%s void %s(%s)", is_row_step(f) ? "DEVICE" : "KERNEL", name, parameters(f, order, part));
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

static Function *make(Page *page, const Kernel *k)
{
    Function *f = NEW(Function);
    f->page = page;
    f->nest = k->nest;
    f->block = !k->persistent || !page->target->persists ? "blockIdx.x" : k->sliced ? "slice" : "block";
    begin_kernel(f);
    if (k->kind == ROWS) emit_rows(f, k->nest);
    else emit_index(f, k);
    end_kernel(f);
    return f;
}

static void say_function(Text *t, const char *remark, const char *head, const char *body)
{
    say_comment(t, 0, remark);
    say_wrapped(t, head);
    say_wrapped(t, body + strspn(body, "\n"));
    say(t, "\n");
}

/* A name for a function. It must differ from the launcher's arguments, which would hide it. */
static const char *function_name(const Function *f, const char *wish)
{
    for (;;) {
        const char *name = new_file_name(f->page, wish);
        bool hidden = false;
        for (int i = 0; i < f->args.n; i++) hidden |= f->parts.n && same(f->args.at[i].name, name);
        if (!hidden) return name;
    }
}

/* If a value overwrites another, the function has one pointer for both: the remark names them. */
static void say_overwritten(Page *page, Text *t, const Kernel *k)
{
    Touches touches = {0};
    own_touches(k, &touches);
    for (int i = 0; i < touches.n; i++)
        for (int j = 0; j < touches.n; j++)
            if (touches.at[i].writes && touches.at[i].buffer->in_place_of == touches.at[j].buffer)
                say(t, ";  %s overwrites %s", buffer_name(page, touches.at[i].buffer),
                    buffer_name(page, touches.at[j].buffer));
}

/* "gpt.lua:17 h.ln_1"; NULL: there is no line. */
static const char *line_asked(Where at)
{
    const char *path = at.path;
    if (!at.file) return NULL;
    return format("%s:%d%s%s", file_name(at.file), at.line, path && *path ? " " : "", path ? path : "");
}

static void add_line(Lines *lines, const char *line)
{
    for (int i = 0; line && i < lines->n; i++)
        if (same(lines->at[i], line)) return;
    if (line) push(lines, line);
}

static int values_stored(const Kernel *k)
{
    int n = 0;
    for (int i = 0; i < k->phases.n; i++)
        n += k->phases.at[i].stores.n + k->phases.at[i].row_stores.n + k->phases.at[i].column_stores.n;
    return n;
}

static void add_lines_of_stores(Lines *lines, const Kernel *k, const Operands *stores)
{
    for (int i = 0; i < stores->n; i++) {
        Where at = stores->at[i].node->where;
        bool own = at.line == k->where.line && at.file && k->where.file && same(at.file, k->where.file);
        if (!own) add_line(lines, line_asked(at));
    }
}

/* The lines of the description that ask for k, and for each value if it writes several. */
static void add_lines(Lines *lines, const Kernel *k)
{
    add_line(lines, line_asked(k->where));
    for (int i = 0; i < k->phases.n && values_stored(k) > 1; i++) {
        const Phase *p = &k->phases.at[i];
        add_lines_of_stores(lines, k, &p->stores);
        add_lines_of_stores(lines, k, &p->row_stores);
        add_lines_of_stores(lines, k, &p->column_stores);
    }
}

/* Where the description asks for this kernel, and for others that share its function. */
static void say_lines(Page *page, Text *t, const Kernel *k)
{
    enum { MOST = 3 };
    Lines lines = {0};
    add_lines(&lines, k);
    for (int i = 0; k->text && i < page->functions.printed.at[k->text - 1].lines.n; i++)
        add_line(&lines, page->functions.printed.at[k->text - 1].lines.at[i]);
    for (int i = 0; i < lines.n && i < MOST; i++) say(t, "%s%s", i ? ", " : "      ", lines.at[i]);
    if (lines.n > MOST) say(t, " and %d more", lines.n - MOST);
}

static char *remark(Page *page, const Kernel *k)
{
    Text t = {0};
    say(&t, "%s", formula_text(page, k, true));
    say_overwritten(page, &t, k);
    say_lines(page, &t, k);
    if (k->bytes > 0) say(&t, "      moves %s bytes", grouped((int64_t)k->bytes));
    return t.at;
}

/* "lstm_time: char_rnn.lua:31 lstm", for messages. */
const char *name_and_place(const Kernel *k, const char *name)
{
    const char *place = line_asked(k->where);
    return *name && place ? format("%s: %s", name, place) : name;
}

static const char *const suffixes[] = {
    [LAUNCHED_ALL] = "", [LAUNCHED_START] = "_start", [LAUNCHED_COLUMNS] = "_columns", [LAUNCHED_PLAIN] = "_plain"};

/* Is the next part a fallback for this one? */
static bool has_fallback(const Function *f, int part)
{
    return part + 1 < f->parts.n && f->parts.at[part + 1].launch->what == LAUNCHED_PLAIN;
}

/* CUDA: prints the parts as functions, and a function that launches them. A step of a loop that is one launch needs
 * no launcher. Returns the parts' names. */
static const char *const *say_parts(Text *t, const Kernel *k, const Function *f, const int *order, const char *name)
{
    Text launches = {0};
    const char **names = NEW_ARRAY(const char *, f->parts.n + 1);
    for (int i = 0; i < f->parts.n; i++) {
        const Part *p = &f->parts.at[i];
        bool first = has_fallback(f, i), second = p->launch->what == LAUNCHED_PLAIN;
        const char *suffix = suffixes[p->launch->what];
        const char *own = names[i] = *suffix ? function_name(f, format("%s%s", name, suffix)) : name;
        say_function(t, p->remark ? p->remark : remark(f->page, k), head_text(f, order, own, i), p->body);
        if (first) say_wrapped(&launches, format("    if (!plain_loop(%s))\n", quoted(name_and_place(k, name))));
        if (second) say(&launches, "    else\n");
        say_wrapped(&launches, format("%s%s", first || second ? "    " : "", launch_of(f, order, own, i)));
    }
    if (is_row_step(f)) return names;
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

enum { LONG_WISH = 48 };

/* The words with which both names begin, and those with which both end: h_attn for h_0_attn and h_1_attn. NULL: there
 * are none, or they would begin with a number, as 0_x of down_0_x and join_0_x. */
static const char *common_name(const char *a, const char *b)
{
    size_t m = strlen(a), n = strlen(b), front = 0, back = 0;
    if (same(a, b)) return a;
    for (size_t i = 0; i <= m && i <= n; i++) {
        bool end_a = !a[i] || a[i] == '_', end_b = !b[i] || b[i] == '_';
        if (end_a && end_b) front = i;
        if (a[i] != b[i] || !a[i]) break;
    }
    for (size_t i = 0; i <= m - front && i <= n - front; i++) {
        bool end_a = i == m || a[m - i - 1] == '_', end_b = i == n || b[n - i - 1] == '_';
        if (end_a && end_b) back = i;
        if (i == m || i == n || a[m - i - 1] != b[n - i - 1]) break;
    }
    if (!front && !back) return NULL;
    const char *last = a + m - back;
    if (!front && *last >= '0' && *last <= '9') return NULL;
    return format("%.*s%s%s", (int)front, a, front && back ? "_" : "", last + (front && back && *last == '_'));
}

static bool adds_two(const Kernel *k)
{
    const Phase *p = &k->phases.at[0];
    if (k->phases.n != 1 || p->each.n != 1 || p->stores.n != 1 || p->sums.n || p->columns.n || p->row.n) return false;
    const Node *n = p->each.at[0];
    return n->op == OP_add && !is_filled(n->in[0], NULL) && !is_filled(n->in[1], NULL);
}

/* The single number that a kernel computes; NULL: it computes more. */
static const Node *one_number(const Kernel *k)
{
    const Phase *p = &k->phases.at[k->phases.n - 1];
    bool alone = p->row_stores.n == 1 && !p->stores.n && !p->column_stores.n && k->space.rank == 1;
    return alone ? p->row_stores.at[0].node : NULL;
}

static bool is_mean(const Node *n)
{
    double count;
    if (n->op != OP_div || n->in[0]->op != OP_sum || !is_filled(n->in[1], &count)) return false;
    return count == (double)elements(n->in[0]->in[0]->shape) / (double)elements(n->in[0]->shape);
}

/* A word for what the kernel does, whatever its values are; NULL: there is no such word. */
static const char *deed(const Kernel *k)
{
    if (k->kind == GATHER) return "look_up";
    if (k->kind != ROWS || !k->phases.n) return NULL;
    const Node *n = one_number(k);
    return adds_two(k) ? "add_two" : !n ? NULL : is_mean(n) ? "mean" : n->op == OP_sum ? "total" : NULL;
}

/* Finds or makes the text of k. */
static void note_text(Page *page, Kernel *k)
{
    begin_scratch();
    page->anonymous = true;
    Function *plain = make(page, k);
    page->anonymous = false;
    int *order = NEW_ARRAY(int, plain->args.n + 1);
    in_order(plain, order);
    const char *text = canonical_text(plain, order), *wish = identifier(page, k->name);
    k->text = strings_get(&page->functions.texts, text);
    bool again = for_good();
    if (!k->text) {
        push(&page->functions.printed, ((struct Printed_text){.wish = copy_string(wish)}));
        *strings_at(&page->functions.texts, copy_string(text)) = k->text = page->functions.printed.n;
    } else {
        struct Printed_text *p = &page->functions.printed.at[k->text - 1];
        const char *both = same(p->wish, wish) ? wish : common_name(p->wish, wish);
        if (!both && deed(k)) both = deed(k);
        if (!both && strlen(p->wish) < LONG_WISH) both = format("%s_or_%s", p->wish, wish);
        if (both) p->wish = copy_string(both);
    }
    add_lines(&page->functions.printed.at[k->text - 1].lines, k);
    for_a_while(again);
    end_scratch();
}

static bool has_function(const Kernel *k) { return k->kind == ROWS || (k->kind >= GATHER && k->kind <= TOPK); }

void note_functions(Page *page, Kernel *const *kernels, int n)
{
    for (int i = 0; i < n; i++) {
        if (has_function(kernels[i])) note_text(page, kernels[i]);
        note_functions(page, kernels[i]->body.at, kernels[i]->body.n);
    }
}

/* The wish, if that name is free. An array may have it: then make_ln_1. Another function may have it: then
 * decode_ln_1. */
static const char *free_wish(const Function *f, const char *wish)
{
    const char *made = format("make_%s", wish), *entry = f->page->program->graph->name;
    bool function = strings_get(&f->page->functions.names, wish) || strings_get(&f->page->functions.names, made);
    bool hidden = false;
    for (int i = 0; i < f->args.n; i++) hidden |= same(f->args.at[i].name, wish);
    const char *const wishes[] = {hidden ? made : wish, function && !hidden ? wish : made,
                                  format("%s_%s", entry, wish)};
    for (int i = 0; i < COUNT_OF(wishes); i++)
        if (!strings_get(&f->page->functions.taken, wishes[i])) return wishes[i];
    return wish;
}

/* Gives kernels the names of their functions, also those that were not called themselves. */
void name_functions(Page *page, Kernel *const *kernels, int n)
{
    for (int i = 0; i < n; i++) {
        if (kernels[i]->text) kernels[i]->function = page->functions.printed.at[kernels[i]->text - 1].name;
        name_functions(page, kernels[i]->body.at, kernels[i]->body.n);
    }
}

/* Names the function and prints it. */
static void print(struct Printed_text *p, const Kernel *k, const Function *f, const int *order)
{
    p->name = function_name(f, free_wish(f, p->wish));
    *strings_at(&f->page->functions.names, p->name) = 1;
    if (f->parts.n) p->part_names = say_parts(&f->page->functions.text, k, f, order, p->name);
    else say_function(&f->page->functions.text, remark(f->page, k), head_text(f, order, p->name, 0), f->w.text.at);
}

Call kernel_call(Page *page, const Kernel *k)
{
    must(k->text);
    Call c = {.f = make(page, k)};
    c.order = NEW_ARRAY(int, c.f->args.n + 1);
    in_order(c.f, c.order);
    struct Printed_text *p = &page->functions.printed.at[k->text - 1];
    bool again = for_good();
    if (!p->name) print(p, k, c.f, c.order);
    for_a_while(again);
    c.name = p->name;
    c.part_names = p->part_names;
    return c;
}

static char *call_of(Page *page, const Kernel *k)
{
    Call c = kernel_call(page, k);
    const Function *f = c.f;
    Text t = {0};
    if (*page->target->first_argument) add_word(&t, page->target->first_argument);
    if (f->some_rows) add_word(&t, rows_of_panel(k));
    for (int i = 0; i < f->args.n; i++)
        if (given(f, f->args.at[c.order[i]].parts, -1)) add_word(&t, argument(page, &f->args.at[c.order[i]]));
    for (int i = 0; i < f->loops.n; i++)
        if (given(f, f->loop_parts.at[i], -1)) add_word(&t, loop_letter(page, f->loops.at[i]));
    return format("%s%s(%s);", page->target->call, c.name, t.n ? t.at : "");
}

/* Making a function takes much memory. Only the call and what was printed are kept. */
char *call_text(Page *page, const Kernel *k)
{
    begin_scratch();
    char *text = call_of(page, k);
    bool again = for_good();
    text = copy_string(text);
    for_a_while(again);
    end_scratch();
    return text;
}

Text *function_text(Page *page) { return &page->functions.text; }

void say_functions(Page *page, Text *t)
{
    say_bytes(t, page->functions.text.at ? page->functions.text.at : "", page->functions.text.n);
}
