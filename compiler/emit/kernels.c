/* kernels.c: the table by which the trainer knows what each LAP of an entry stands for. */
#include "desc/target.h"
#include "emit/emit.h"
#include "lower/lower.h"

#include <string.h>

enum { COLUMNS = 100 };

/* The name of the function that the entry calls; products are told by what they are for. */
const char *kernel_called(const Kernel *k)
{
    if (k->function) return k->function;
    if (k->kind != REPEAT || !is_one_launch(k)) return identifier(k->name);
    const char *call = persistent_call(k) + strlen(target()->call);
    return copy_bytes_as_string(call, strcspn(call, "("));
}

/* Two lines: the formula is cut where the first is full. */
static void say_kernel(Text *t, const Kernel *k)
{
    const char *where = k->where.file ? format("%s:%d", file_name(k->where.file), k->where.line) : "";
    const char *first = format("    {%d, \"%s\", ", k->step, kernel_called(k)), *formula = formula_text(k, false);
    int room = COLUMNS - (int)strlen(first) - 3;
    if ((int)strlen(formula) > room) formula = format("%.*s...", room - 3, formula);
    say(t, "%s%s,\n", first, quoted(formula));
    say(t, "     %s, %s, %.0f, %.0f, %s},\n", quoted(k->where.path ? k->where.path : ""), quoted(where), k->flops,
        k->bytes, first_part(k) == BACKWARD ? "true" : "false");
}

static void say_kernels(Text *t, Kernel *const *kernels, int n)
{
    for (int i = 0; i < n; i++) {
        if (kernels[i]->kind == REPEAT && !is_one_launch(kernels[i]))
            say_kernels(t, kernels[i]->body.at, kernels[i]->body.n);
        else say_kernel(t, kernels[i]);
    }
}

/* Steps are what is profiled; on a device a launch of any entry may fail, and is named by it. */
static bool has_table(const Program *p) { return (entry_of(p->graph)->step || target()->device) && program_kernels(p); }

char *kernel_count(const Program *p) { return has_table(p) ? format("%d", program_kernels(p)) : "0"; }
char *kernel_table(const Program *p)
{
    return has_table(p) ? format("%s_kernels", identifier(p->graph->name)) : "NULL";
}

/* Needs: enter_scope of p, its functions printed. */
void say_kernel_table(Text *t, const Program *p)
{
    if (!has_table(p)) return;
    say(t, "static const Lathe_kernel %s[] = {\n    /* lap, name, formula, layer, line, flop, bytes, backward */\n",
        kernel_table(p));
    say_kernels(t, p->kernels.at, p->kernels.n);
    say(t, "};\n");
}
