/* lists.c: the commands that print what is in Lathe itself. */
#include "desc/settings.h"
#include "emit/emit.h"
#include "lathe.h"
#include "line.h"
#include "passes/passes.h"
#include "runtime/base/help.h"
#include "runtime/interface/version.h"

#include <stdio.h>

int do_ops(void)
{
    static const char *const kinds[] = {OP_KINDS(LIST_WORD)};
    for (int op = 0; op < OPS; op++) {
        const OpInfo *o = &op_info[op];
        const char *text = *o->text ? o->text : *o->ints ? format("{%s}", o->ints) : "";
        printf("%-12s %-7s %2d  %-24s %s\n", o->name, kinds[o->kind], o->arity, text, o->doc);
    }
    return 0;
}

int do_settings(void)
{
    Text t = {0};
    say_settings_page(&t);
    say_text_to(stdout, t.at);
    return 0;
}

int do_passes(void)
{
    int n;
    const Pass *list = pass_list(&n);
    for (int i = 0; i < n; i++)
        printf("%-10s %-15s %s\n", list[i].name, list[i].option ? format("--no-%s", list[i].option) : "", list[i].doc);
    return 0;
}

int do_stubs(void)
{
    const char *dir = line_of.options.out_dir ? line_of.options.out_dir : line_of.model ? line_of.model : ".";
    make_folder(dir);
    front_stubs(dir);
    return 0;
}

extern const char lathe_commit[]; /* tools/commit.cmake */

int do_version(void)
{
    printf("lathe %s%s%s\ncheckpoints: format %d.%d\nlibraries: ABI %d.%d\n", LATHE_VERSION,
           *lathe_commit ? ", commit " : "", lathe_commit, LATHE_CHECKPOINT_MAJOR, LATHE_CHECKPOINT_MINOR,
           LATHE_ABI_MAJOR, LATHE_ABI_MINOR);
    return 0;
}

void print_names_of(const Desc *d)
{
    for (int i = 0; i < d->configs.n; i++) print_table_row("config", d->configs.at[i], "", "");
    for (int i = 0; i < d->knobs.n; i++) print_table_row("set", d->knobs.at[i].name, d->knobs.at[i].value, "");
}
