/* page.c: begins the sources of a program, and prints its entries and the functions that they call, for both targets.
 */
#include "emit/emit.h"
#include "passes/passes.h"

Page *new_page(const Module *m)
{
    Page *page = NEW(Page);
    page->module = m;
    page->desc = m->desc;
    page->target = m->desc->options->target;
    page->precision = precision_of(m->desc->options);
    set_sizes(page);
    name_parameters(page);
    return page;
}

const char *described(const Descriptions *list, const char *text)
{
    for (int i = 0; i < list->n; i++)
        if (same(list->at[i].text, text)) return list->at[i].name;
    return NULL;
}

/* Entries are printed first, since their calls decide which functions exist, but come last in the file. Returns their
 * prototypes. */
const char *say_entries(Page *page, Text *entries)
{
    const Module *m = page->module;
    Text heads = {0};
    start_functions(page);
    for (int i = 0; i < m->programs.n; i++) {
        enter_scope(page, m->programs.at[i]);
        note_functions(page, m->programs.at[i]->kernels.at, m->programs.at[i]->kernels.n);
    }
    for (int i = 0; i < m->programs.n; i++) {
        enter_scope(page, m->programs.at[i]);
        emit_entry(page, entries, m->programs.at[i]);
        say_wrapped(&heads, format("%s;\n", entry_head(page, m->programs.at[i])));
    }
    for (int i = 0; i < m->programs.n; i++)
        name_functions(page, m->programs.at[i]->kernels.at, m->programs.at[i]->kernels.n);
    return heads.n ? heads.at : "";
}

/* Kernels get the names that the sources would have. */
void name_kernels(Page *page)
{
    Text none = {0};
    say_entries(page, &none);
}
