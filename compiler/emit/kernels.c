/* kernels.c: the table that tells the trainer what each LAP of an entry is. */
#include "desc/target.h"
#include "emit/emit.h"
#include "lower/lower.h"

#include <string.h>

enum { COLUMNS = 100 };

/* The name of the function that the entry calls. A product is called by the name of its kernel. */
const char *kernel_called(Page *page, const Kernel *k)
{
    if (k->function) return k->function;
    if (k->kind != REPEAT || !is_one_launch(page, k)) return identifier(page, k->name);
    const char *call = persistent_call(page, k) + strlen(page->target->call);
    return copy_bytes_as_string(call, strcspn(call, "("));
}

/* Whole characters of UTF-8, of at most n bytes. */
static const char *cut_to(const char *text, int n)
{
    while (n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80) n--;
    return format("%.*s...", n, text);
}

/* Two lines; a formula that is too long for the first is cut. */
static void say_kernel(Page *page, Text *t, const Kernel *k)
{
    const char *where = k->where.file ? format("%s:%d", file_name(k->where.file), k->where.line) : "";
    const char *first = format("    {%d, \"%s\", ", k->step, kernel_called(page, k)),
               *formula = formula_text(page, k, false);
    int room = COLUMNS - (int)strlen(first) - 3;
    if ((int)strlen(formula) > room) formula = cut_to(formula, room - 3);
    say(t, "%s%s,\n", first, quoted(formula));
    say(t, "     %s, %s, %.0f, %.0f, %s},\n", quoted(k->where.path ? k->where.path : ""), quoted(where), k->flops,
        k->bytes, first_part(k) == BACKWARD ? "true" : "false");
}

static void say_kernels(Page *page, Text *t, Kernel *const *kernels, int n)
{
    for (int i = 0; i < n; i++) {
        if (kernels[i]->kind == REPEAT && !is_one_launch(page, kernels[i]))
            say_kernels(page, t, kernels[i]->body.at, kernels[i]->body.n);
        else say_kernel(page, t, kernels[i]);
    }
}

/* Entries that are steps can be profiled. On a device any launch may fail, and the message names it. */
static bool has_table(Page *page, const Program *p)
{
    return (entry_of(p->graph)->step || page->target->device) && program_kernels(page, p) && !page->library;
}

char *kernel_count(Page *page, const Program *p)
{
    return has_table(page, p) ? format("%d", program_kernels(page, p)) : "0";
}
char *kernel_table(Page *page, const Program *p)
{
    return has_table(page, p) ? format("%s_kernels", identifier(page, p->graph->name)) : "NULL";
}

/* Needs: enter_scope(page, p), its functions printed. */
void say_kernel_table(Page *page, Text *t, const Program *p)
{
    if (!has_table(page, p)) return;
    say(t, "static const Lathe_kernel %s[] = {\n    /* lap, name, formula, layer, line, flop, bytes, backward */\n",
        kernel_table(page, p));
    say_kernels(page, t, p->kernels.at, p->kernels.n);
    say(t, "};\n");
}
